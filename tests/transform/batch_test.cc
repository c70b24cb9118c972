// Batches in batches of so many axes that entries and batches together have more than a tensor can have: nested calls
// of vmap() against a loop over all entries.
#include "transform/batch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/on_device.h"
#include "support/quick.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/linalg.h"
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
  const std::vector<float> wanted = cast(want, DType::f32).to_vector<float>();
  // Kernels of other shapes round elsewhere, relative to the terms of sums, of which the largest result tells.
  float largest = 0;
  for (const float w : wanted) largest = std::max(largest, std::isfinite(w) ? std::abs(w) : 0.0f);
  EXPECT_THAT(cast(got, DType::f32).to_vector<float>(), Pointwise(FloatNear(2e-5f + 0x1p-18f * largest), wanted))
      << what;
}

Tensor column(const Tensor& v) { return expand_dims(v, -1); }
Tensor row(const Tensor& v) { return expand_dims(v, -2); }

// Of vectors of 3: each has entries of two or three axes inside.
std::vector<std::pair<std::string, One>> functions_of_vectors() {
  const Tensor w = numbers({3, 3}), many = numbers({2, 3, 3});
  const std::vector<std::int64_t> wide{1, 0, 2}, twice{2, 1, 2};
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
      // One entry after the other.
      {"tile", [=](const Tensor& v) { return sum(tile(cube(v), twice) * 0.5f, {0, 2}); }},
      {"inverse", [=](const Tensor& v) { return sum(inv(cube(sin(v) * 0.1f) + eye(3)) * many[{0}], {0, 2}); }},
      {"instance norm",
       [=](const Tensor& v) { return sum(square(instance_norm(cube(v) * many[{0}], {}, {}, 0.5)), {0, 1}); }},
      // Derivatives of their own.
      {"checkpoint",
       [=](const Tensor& v) {
         return sum(checkpoint([=](const Tensor& c) { return sin(c) * c + many[{1}] * v; })(cube(v)), {0, 2});
       }},
      {"custom_vjp",
       [=](const Tensor& v) {
         using Operands = std::tuple<Tensor, Tensor>;
         const auto f = custom_vjp([](const Tensor& c, const Tensor& w) { return c * c * w * 0.1f; },
                                   [](const Operands& x, const Tensor&, const Tensor& g) {
                                     const auto& [c, w] = x;
                                     return Operands(0.2f * g * c * w, 0.1f * g * c * c);
                                   });
         return sum(f(cube(v), broadcast_to(v, {3, 3, 3})), {0, 1}) +
                sum(f(cube(v), broadcast_to(many[{0}], {3, 3, 3})), {0, 1});
       }},
      {"custom_jvp",
       [=](const Tensor& v) {
         const auto f = custom_jvp([](const Tensor& c) { return sin(c); },
                                   [](const std::tuple<Tensor>& x, const Tensor&, const std::tuple<Tensor>& t) {
                                     return cos(std::get<0>(x)) * std::get<0>(t);
                                   });
         return sum(f(cube(v)), {0, 2});
       }},
      // Branches and loops.
      {"cond",
       [=](const Tensor& v) {
         return sum(cond(
                        sum(v) > 0, [=](const Tensor& c) { return c * c * v; }, [](const Tensor& c) { return sin(c); },
                        cube(v)),
                    {0, 1});
       }},
      {"cond of one condition",
       [=](const Tensor& v) {
         return sum(cond(
                        sum(w) > 0, [=](const Tensor& c) { return c * c * v; }, [](const Tensor& c) { return sin(c); },
                        cube(v)),
                    {0, 1});
       }},
      {"fori_loop",
       [=](const Tensor& v) {
         return sum(
             fori_loop(0, 3, [=](const Tensor&, const Tensor& c) { return sin(c) * v + many[{0}]; }, cube(v)), {0, 2});
       }},
      {"scan",
       [=](const Tensor& v) {
         const auto [last, all] =
             scan([=](const Tensor& s, const Tensor& u) { return std::pair(sin(s) * u + v, s * row(u[{0}])); },
                  cube(v)[{0}], cube(v) * many[{slice(none, 1)}]);
         return sum(last, {0}) + sum(all, {0, 1});
       }},
  };
}

TEST_P(BatchTest, NestedBatchesAreMergedWhereEightAxesDoNotSuffice) {
  const Tensor x = numbers({2, 1, 2, 1, 1, 2, 1, 3});
  for (const auto& [name, f] : functions_of_vectors()) {
    if (leave_out_problem()) continue;
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
  const One until = [](const Tensor& v) {
    return sum(while_loop([](const Tensor& m) { return sum(abs(m)) < 30; }, [](const Tensor& m) { return m * 2; },
                          column(v) * row(v) + 0.1f),
               {0});
  };
  expect_equal([&] { return nested(until, 7)(x); }, looped(until, x, 7), "while_loop");
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

// What all entries share may have eight axes, too; its gradient is the sum over the batch.
TEST_P(BatchTest, GradientsOfSharedTensorsOfEightAxes) {
  const Tensor p = numbers({2, 1, 2, 1, 1, 1, 3, 1}), xs = tensor({1.0f, -0.5f, 2.0f});
  using Operands = std::tuple<Tensor, Tensor>;
  const auto product = custom_vjp([](const Tensor& m, const Tensor& x) { return m * x; },
                                  [](const Operands& in, const Tensor&, const Tensor& g) {
                                    return Operands(g * std::get<1>(in), sum(g * std::get<0>(in)));
                                  });
  const auto third = [](const Tensor& m, const Tensor& x) {
    return fori_loop(0, 3, [&](const Tensor&, const Tensor& s) { return sin(s * x); }, m);
  };
  const std::vector<std::pair<std::string, std::function<Tensor(const Tensor&, const Tensor&)>>> functions = {
      {"elementwise", [](const Tensor& m, const Tensor& x) { return sum(sin(m * x)); }},
      {"custom_vjp", [=](const Tensor& m, const Tensor& x) { return sum(sin(product(m, x))); }},
      {"checkpoint", [](const Tensor& m, const Tensor& x) { return checkpoint([&] { return sum(sin(m * x)); })(); }},
      {"fori_loop", [=](const Tensor& m, const Tensor& x) { return sum(third(m, x)); }},
      {"cond",
       [](const Tensor& m, const Tensor& x) { return sum(cond(x > 0, [&] { return m * x; }, [&] { return m; })); }},
  };
  for (const auto& [name, f] : functions) {
    if (leave_out_problem()) continue;
    const One in_a_batch =
        grad([&](const Tensor& m) { return sum(vmap([&](const Tensor& x) { return f(m, x); })(xs)); });
    const One one_by_one = grad([&](const Tensor& m) {
      Tensor all = f(m, xs[{0}]);
      for (int i = 1; i < 3; ++i) all = all + f(m, xs[{i}]);
      return all;
    });
    expect_equal([&] { return in_a_batch(p); }, one_by_one(p), name);
    expect_equal([&] { return compile(in_a_batch)(p); }, one_by_one(p), name + ", compiled");
    // In a loop without a batch as well.
    const One second = [&](const Tensor& m) {
      return grad(
          [&](const Tensor& t) { return sum(square(grad([&](const Tensor& u) { return f(u, xs[{0}]); })(t))); })(m);
    };
    EXPECT_EQ(second(p).shape(), p.shape()) << name;
  }
}

// Results have no axis left for the batch, whether they depend on it or not.
TEST_P(BatchTest, TooManyAxes) {
  const Tensor x = numbers({2, 1, 2, 1, 1, 2, 1, 3});
  const auto expect_refused = [&](const One& f, const std::string& line) {
    const auto call = [&] { nested(f, 7)(x); };
    EXPECT_THROW(call(), ShapeError);
    EXPECT_THAT(thrown_by(call), testing::AllOf(HasSubstr("the result of f32"), HasSubstr("more than 8 axes"),
                                                HasSubstr("reshaped to one"), HasSubstr(line)));
  };
  expect_refused([](const Tensor& v) { return column(v) * row(v); }, "batch_test.cc");
  expect_refused([](const Tensor&) { return zeros({1, 1, 1, 1, 1, 1, 1, 2}); }, "");
}

}  // namespace
}  // namespace weft::test
