// Batches in batches of so many axes that entries and batches together have more than a tensor can have: nested calls
// of vmap() against a loop over all entries.
#include "transform/batch.h"

#include <gmock/gmock.h>

#include <functional>

#include "support/on_device.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/indexing.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using One = std::function<Tensor(const Tensor&)>;

class BatchTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, BatchTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

Tensor numbers(const Shape& shape) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < element_count(shape); ++i) x.push_back(static_cast<float>(i * 7 % 23) * 0.1f - 1);
  return tensor(shape, x);
}

// The function for each entry along the first axes, as many as are said.
One nested(const One& f, int axes) {
  One g = f;
  for (int i = 0; i < axes; ++i) g = [g](const Tensor& x) { return vmap(g)(x); };
  return g;
}
Tensor looped(const One& f, const Tensor& x, int axes) {
  std::int64_t count = 1;
  Shape entry, shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < axes) {
      count *= x.shape()[i];
      shape.push_back(x.shape()[i]);
    } else {
      entry.push_back(x.shape()[i]);
    }
  }
  Shape rows = entry;
  rows.insert(0, count);
  const Tensor all = reshape(x, rows);
  std::vector<Tensor> results;
  for (std::int64_t i = 0; i < count; ++i) results.push_back(f(contiguous(all[{i}])));
  const Tensor made = stack(results);
  for (int i = 1; i < made.rank(); ++i) shape.push_back(made.shape()[i]);
  return reshape(made, shape);
}

void expect_equal(const std::function<Tensor()>& function, const Tensor& want, const std::string& what) {
  Tensor got;
  EXPECT_NO_THROW(got = function()) << what;
  if (!got.defined()) return;
  EXPECT_EQ(got.shape(), want.shape()) << what;
  EXPECT_THAT(cast(got, DType::f32).to_vector<float>(),
              Pointwise(FloatNear(2e-5f), cast(want, DType::f32).to_vector<float>()))
      << what;
}

Tensor column(const Tensor& v) { return expand_dims(v, -1); }
Tensor row(const Tensor& v) { return expand_dims(v, -2); }

// Of vectors of 3: each has entries of two or three axes inside.
std::vector<std::pair<std::string, One>> functions_of_vectors() {
  const Tensor w = numbers({3, 3}), many = numbers({2, 3, 3});
  const std::vector<std::int64_t> wide{1, 0, 2};
  const auto cube = [](const Tensor& v) {
    return reshape(v, {3, 1, 1}) * sin(reshape(v, {1, 3, 1})) + reshape(v, {1, 1, 3});
  };
  return {
      {"elementwise", [](const Tensor& v) { return sum(column(v) * sin(row(v)), {1}); }},
      {"three axes", [=](const Tensor& v) { return sum(cube(v), {0, 2}); }},
      {"first and last", [=](const Tensor& v) { return sum(max(cube(v), {1}), {0}) * 2; }},
      {"all", [=](const Tensor& v) { return sum(cube(v)); }},
      {"kept", [=](const Tensor& v) { return reshape(mean(cube(v), {0, 1}, true), {3}); }},
      {"deviation", [=](const Tensor& v) { return variance(cube(v), {0, 2}); }},
      {"shared operands", [=](const Tensor& v) { return sum((column(v) + w) * many, {0, 2}); }},
      {"numbers", [=](const Tensor& v) { return sum(where(cube(v) > 0.5f, cube(v) * 2, v[{0}]), {1, 2}); }},
      {"matmul", [=](const Tensor& v) { return sum(matmul(column(v) * w, cos(row(v)) + w), {0}); }},
      {"matmul of more", [=](const Tensor& v) { return sum(matmul(many * v, expand_dims(w * v, 0)), {0, 1}); }},
      {"matmul of one that is shared", [=](const Tensor& v) { return sum(matmul(w, row(v) * column(v)), {1}); }},
      {"permute", [=](const Tensor& v) { return sum(permute(cube(v), {2, 0, 1}) * many[{0}], {1, 2}); }},
      {"reshape", [=](const Tensor& v) { return max(reshape(column(v) * row(v), {9}) * 2, {0}); }},
      {"broadcast", [=](const Tensor& v) { return sum(broadcast_to(reshape(v, {3, 1, 1}), {3, 2, 2}) * 2, {0, 1}); }},
      {"slice", [=](const Tensor& v) { return sum(slice(cube(v), 1, 1, 3) * 3, {1, 2}); }},
      {"slice of the first",
       [=](const Tensor& v) { return sum(flip(slice(cube(v), 0, 0, 2), {0}) * cube(v)[{slice(1, 3)}]); }},
      {"softmax", [=](const Tensor& v) { return softmax(cube(v), 1)[{0, 2}] + log_softmax(cube(v), 0)[{1, 1}]; }},
      {"running sums", [=](const Tensor& v) { return sum(scan(ScanKind::sum, cube(v), 0), {1, 2}); }},
      {"sort", [=](const Tensor& v) { return sort(cube(v), 2)[{1, 0}]; }},
      {"concat", [=](const Tensor& v) { return sum(concat({cube(v), many, cube(v) * 2}, 0), {0, 1}) * 0.1f; }},
      {"gather", [=](const Tensor& v) { return sum(gather(cube(v), tensor({2, 0}), 1) * 2, {1, 2}); }},
      {"pad",
       [=](const Tensor& v) {
         return sum(roll(pad(cube(v), wide, wide, PadMode::edge) * sin(sum(v)), wide), {0, 2})[{slice(1, 4)}];
       }},
      {"stop_gradient", [=](const Tensor& v) { return sum(stop_gradient(cube(v)) * v, {0, 1}); }},
  };
}

TEST_P(BatchTest, NestedBatchesAreMergedWhereEightAxesDoNotSuffice) {
  const Tensor x = numbers({2, 1, 2, 1, 1, 2, 1, 3});
  for (const auto& [name, f] : functions_of_vectors()) {
    expect_equal([&] { return nested(f, 7)(x); }, looped(f, x, 7), name);
    // Of each entry, and of the sum over all of them.
    const One gradient = grad([&](const Tensor& v) { return sum(sin(f(v))); });
    const Tensor gradients = looped(gradient, x, 7);
    expect_equal([&] { return nested(gradient, 7)(x); }, gradients, name + ", gradients");
    if (device.is_gpu()) continue;  // software GPUs are slow to compile
    expect_equal([&] { return compile(nested(f, 7))(x); }, looped(f, x, 7), name + ", compiled");
    expect_equal([&] { return grad([&](const Tensor& all) { return sum(sin(nested(f, 7)(all))); })(x); }, gradients,
                 name + ", gradient of the sum");
    const One tangent = [&](const Tensor& v) { return jvp(f)(v, cos(v)).second; };
    expect_equal([&] { return nested(tangent, 7)(x); }, looped(tangent, x, 7), name + ", tangents");
  }
  const One place = [](const Tensor& v) { return argmax(column(v) * row(v), {1}); };
  expect_equal([&] { return nested(place, 7)(x); }, looped(place, x, 7), "argmax");
}

TEST_P(BatchTest, EachArgumentHasBatchesOfItsOwn) {
  // A table of f for all pairs of entries, reduced to what has room.
  const Tensor a = numbers({2, 2, 2, 1, 3}), b = numbers({3, 1, 2, 3});
  const auto f = [](const Tensor& u, const Tensor& v) { return sum(matmul(column(u), row(v)) * sin(row(u))); };
  const auto over_b = [&](const Tensor& u) { return nested([&](const Tensor& v) { return f(u, v); }, 3)(b); };
  expect_equal([&] { return nested(over_b, 4)(a); },
               looped([&](const Tensor& u) { return looped([&](const Tensor& v) { return f(u, v); }, b, 3); }, a, 4),
               "pairs");
}

// One batch of what makes eight axes by itself, in which no two that stay are beside each other.
TEST_P(BatchTest, EntriesOfEightAxes) {
  const Tensor x = numbers({3, 2, 2, 1, 3});
  const auto eight = [](const Tensor& t) {
    return reshape(t, {2, 1, 2, 1, 1, 1, 3, 1}) * reshape(cos(t), {1, 2, 1, 2, 1, 1, 1, 3});
  };
  const std::vector<std::pair<std::string, One>> functions = {
      {"alternating", [=](const Tensor& t) { return max(eight(t), {0, 2, 4, 6}); }},
      {"alternating, kept", [=](const Tensor& t) { return sum(max(eight(t), {1, 3, 5, 7}, true), {0}); }},
      {"reversed", [=](const Tensor& t) { return sum(permute(eight(t), {7, 6, 5, 4, 3, 2, 1, 0}) * 2, {0, 3, 4}); }},
      {"mixed", [=](const Tensor& t) { return mean(permute(eight(t), {3, 0, 7, 2, 5, 1, 6, 4}), {1, 4}); }},
  };
  for (const auto& [name, f] : functions) {
    expect_equal([&] { return vmap(f)(x); }, looped(f, x, 1), name);
    const One gradient = grad([&](const Tensor& t) { return sum(sin(f(t))); });
    expect_equal([&] { return vmap(gradient)(x); }, looped(gradient, x, 1), name + ", gradients");
  }
  // Batches and entries without elements.
  const auto& f = functions[0].second;
  EXPECT_EQ(vmap(f)(zeros({0, 2, 2, 1, 3})).shape(), Shape({0, 2, 2, 1, 3}));
  const auto none = [](const Tensor& t) {
    return sum(reshape(t, {0, 1, 1, 1, 1, 1, 1, 2}) * reshape(sum(t, {0}), {1, 1, 1, 1, 1, 1, 2, 1}), {0, 1, 2});
  };
  EXPECT_EQ(vmap(none)(zeros({3, 0, 2})).shape(), Shape({3, 1, 1, 1, 2, 2}));
}

TEST_P(BatchTest, TooManyAxes) {
  const Tensor x = numbers({2, 1, 2, 1, 1, 2, 1, 3});
  // Results of nine axes, and an op that has no form for so many.
  EXPECT_THROW(nested([](const Tensor& v) { return column(v) * row(v); }, 7)(x), ShapeError);
  const std::vector<std::int64_t> counts{2, 1};
  const auto fails = [&] { nested([&](const Tensor& v) { return sum(tile(column(v) * row(v), counts)); }, 7)(x); };
  EXPECT_THROW(fails(), ShapeError);
  EXPECT_THAT(thrown_by(fails),
              testing::AllOf(HasSubstr("more than 8 axes"), HasSubstr("reshaped to one"), HasSubstr("batch_test.cc")));
}

}  // namespace
}  // namespace weft::test
