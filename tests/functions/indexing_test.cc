// Index expressions, read and updated, against NumPy (tests/reference/arrays_indexing.py), and what they refuse.
#include "weft/indexing.h"

#include <gmock/gmock.h>

#include "support/array_functions.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Tensor integers(const Shape& shape, std::vector<std::int32_t> values) {
  return tensor(DType::i32, shape, std::as_bytes(std::span(values)));
}

class IndexingTest : public OnDevice {
 protected:
  Indices indices(const json& at) const {
    std::vector<Index> all;
    for (const json& i : at) {
      if (i == "ellipsis")
        all.emplace_back(ellipsis);
      else if (i == "newaxis")
        all.emplace_back(newaxis);
      else if (i.is_number())
        all.emplace_back(i.get<std::int64_t>());
      else if (i.contains("slice"))
        all.emplace_back(slice_of(i.at("slice")));
      else
        all.emplace_back(tensor_of(data.operand(i.at("tensor"))));
    }
    return all;
  }
  static Slice slice_of(const json& s) {
    const auto end = [](const json& e) { return e.is_null() ? none : std::optional(e.get<std::int64_t>()); };
    return slice(end(s[0]), end(s[1]), s[2].get<std::int64_t>());
  }
  void expect(const Tensor& actual, const json& expected, const std::string& what) const {
    expect_close(read_view(actual), data.operand(expected), {}, what);
  }

  ReferenceCases data{"arrays"};
};

INSTANTIATE_TEST_SUITE_P(Devices, IndexingTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(IndexingTest, ExpressionsMeanWhatNumPySays) {
  std::size_t number = 0;
  for (const json& c : data.list("indexing.json")) {
    // A software GPU spends most of its time on compiling shaders.
    if ((number++ % 3 != 0 && device.is_gpu()) || leave_out_problem()) continue;
    const std::string what = std::format("case {}: {}", number - 1, c.dump());
    try {
      const Indices at = indices(c.at("at"));
      Tensor x = tensor_of(data.operand(c.at("x")));
      const auto op = c.at("op").get<std::string>();
      if (op == "get") {
        expect(x[at], c.at("y"), what);
        continue;
      }
      const Tensor before = x, view = x[{newaxis, ellipsis}];
      const bool is_number = c.at("value").contains("number");
      const Tensor tensor = is_number ? Tensor() : tensor_of(data.operand(c.at("value")));
      const TensorLike value = is_number ? number_of(c.at("value")) : TensorLike(tensor);
      if (op == "set")
        x.set(at, value);
      else if (op == "add")
        x.add_at(at, value);
      else if (op == "max")
        x.max_at(at, value);
      else if (op == "min")
        x.min_at(at, value);
      else
        FAIL() << what;
      expect(x, c.at("y"), what);
      expect(before, c.at("x"), what + ": another handle");
      expect(view[0], c.at("x"), what + ": a view made before");
    } catch (const std::exception& e) {
      ADD_FAILURE() << what << "\n" << e.what();
    }
  }
}

TEST_P(IndexingTest, UpdatesOfWhatIsComputed) {
  Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}) * 2.0;
  const Tensor old = x, row = x[0], total = sum(x);
  x.set({0, 1}, 100).add_at({ellipsis, slice(1, none)}, 1).max_at({1, all}, 9);
  EXPECT_THAT(x.read<float>(), ElementsAre(2, 101, 7, 9, 11, 13));
  EXPECT_THAT(old.read<float>(), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(row.read<float>(), ElementsAre(2, 4, 6));
  EXPECT_EQ(total.item<float>(), 42);
  x += 1;
  x *= x;
  EXPECT_THAT((x[{all, 0}].read<float>()), ElementsAre(9, 100));
  // An update by the tensor itself reads what it was.
  x.set({slice(none, none, -1)}, x);
  EXPECT_THAT((x[{all, 0}].read<float>()), ElementsAre(100, 9));
}

// A loop that fills a tensor, whose results are read now and then.
TEST_P(IndexingTest, ManyUpdates) {
  Tensor x = zeros({10, 4});
  std::vector<Tensor> kept;
  for (int i = 0; i < 10; ++i) {
    x.set(i, full({4}, i));
    if (i % 3 == 0) kept.push_back(x);
    if (i == 5) {
      EXPECT_EQ(sum(x).item<float>(), 4 * 15);
    }
  }
  EXPECT_EQ(sum(x).item<float>(), 4 * 45);
  EXPECT_EQ(sum(kept[1]).item<float>(), 4 * 6);
  EXPECT_EQ(sum(kept[2]).item<float>(), 4 * 21);
  EXPECT_EQ(sum(kept[0]).item<float>(), 0);
}

TEST_P(IndexingTest, PlacesOutsideInTensors) {
  const Tensor x = tensor({4}, {1, 2, 3, 4}), outside = integers({4}, {0, 4, -5, 100});
  EXPECT_THAT(x[outside].read<float>(), ElementsAre(1, 4, 1, 4)) << "clamped";
  EXPECT_THAT(at_set(x, outside, 9).read<float>(), ElementsAre(9, 2, 3, 4)) << "ignored";
  EXPECT_THAT(at_add(x, outside, 9).read<float>(), ElementsAre(10, 2, 3, 4));
  const Tensor y = tensor({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(at_max(y, {integers({3}, {0, 1, 2}), integers({3}, {1, -3, 0})}, 9).read<float>(),
              ElementsAre(1, 9, 3, 4));
}

TEST_P(IndexingTest, Duplicates) {
  const Tensor x = zeros({3}, DType::i32), at = integers({5}, {1, 1, 2, -2, 1});
  EXPECT_THAT(at_add(x, at, 1).read<std::int32_t>(), ElementsAre(0, 4, 1));
  EXPECT_THAT(at_max(x, at, integers({5}, {3, -1, 2, 7, 5})).read<std::int32_t>(), ElementsAre(0, 7, 2));
  EXPECT_THAT(at_min(x, at, integers({5}, {3, -1, 2, 7, 5})).read<std::int32_t>(), ElementsAre(0, -1, 0));
  const int one = at_set(x, at, integers({5}, {3, -1, 2, 7, 5})).read<std::int32_t>()[1];
  EXPECT_THAT(one, testing::AnyOf(3, -1, 7, 5)) << "any of them";
}

TEST_P(IndexingTest, Masks) {
  Tensor x = tensor({2, 3}, {1, -2, 3, -4, 5, -6});
  EXPECT_THAT(x[x < 0].read<float>(), ElementsAre(-2, -4, -6));
  EXPECT_EQ(x[x > 100].shape(), Shape({0}));
  EXPECT_THAT((x[{integers({2}, {1, 0}) == 1, slice(1, none)}].read<float>()), ElementsAre(-2, 3));
  x.set(x < 0, 0);
  EXPECT_THAT(x.read<float>(), ElementsAre(1, 0, 3, 0, 5, 0));
  x.add_at(x > 2, full({}, 10)).set(x == 0, tensor({3}, {7, 8, 9}));
  EXPECT_THAT(x.read<float>(), ElementsAre(1, 7, 13, 8, 15, 9));
  // Values are converted to the tensor's type first, whichever way the mask is applied.
  Tensor i = integers({3}, {1, 2, 3});
  const Tensor every = ones({3}, DType::boolean);
  EXPECT_THAT(at_add(i, every, 1.75).read<std::int32_t>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(at_add(i, all, 1.75).read<std::int32_t>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(at_max(i, every, full({}, 2.5)).read<std::int32_t>(), ElementsAre(2, 2, 3));
  EXPECT_THROW(at_set(zeros({3}, DType::u8), every, 256), TypeError);
  EXPECT_THROW(at_set(zeros({3}, DType::u8), all, -1), TypeError);
  // An axis of a mask without elements chooses none of any axis.
  const Tensor none_of_two = zeros({0, 3}, DType::boolean), none = zeros({0}, DType::boolean);
  EXPECT_EQ(x[none_of_two].shape(), Shape({0}));
  EXPECT_EQ(x[none].shape(), Shape({0, 3}));
  EXPECT_EQ((x[{all, none}].shape()), Shape({2, 0}));
  EXPECT_THAT(at_set(x, none, 5).read<float>(), ElementsAre(1, 7, 13, 8, 15, 9));
  EXPECT_THAT(at_add(x, none_of_two, zeros({0})).read<float>(), ElementsAre(1, 7, 13, 8, 15, 9));
  EXPECT_THROW(at_set(zeros({3}, DType::u8), none, 256), TypeError);
  EXPECT_THROW((x[zeros({0, 2}, DType::boolean)]), IndexError);
}

TEST_P(IndexingTest, EndsOfTheRange) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  const Tensor x = tensor({3}, {1, 2, 3});
  EXPECT_THAT(x[slice(kLeast, kMost)].read<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(x[slice(kMost, kLeast, -1)].read<float>(), ElementsAre(3, 2, 1));
  EXPECT_THAT(x[slice(none, none, kMost)].read<float>(), ElementsAre(1));
  EXPECT_THAT(x[slice(none, none, kLeast)].read<float>(), ElementsAre(3));
  EXPECT_THAT(x[slice(kLeast, kLeast)].read<float>(), IsEmpty());
  EXPECT_THAT(x[slice(kMost, none)].read<float>(), IsEmpty());
  EXPECT_THAT(at_set(x, slice(kMost, none), 5).read<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(at_set(x, slice(none, none, kLeast), 5).read<float>(), ElementsAre(1, 2, 5));
}

TEST_P(IndexingTest, ManyAxes) {
  Tensor x = arange(256).reshape({2, 2, 2, 2, 2, 2, 2, 2});
  EXPECT_THAT((x[{0, newaxis, 1, newaxis, 1, 1, 1, 1, 1}].read<std::int32_t>()), ElementsAre(126, 127));
  EXPECT_THAT(
      (x[{1, 1, 1, 1, 1, ellipsis, integers({2}, {1, 0}), integers({2}, {0, 1}), newaxis}].read<std::int32_t>()),
      ElementsAre(250, 254, 249, 253));
  x.set({0, newaxis, 0, newaxis, 0, 0, 0, 0, 0}, 7);
  EXPECT_THAT((x[{0, 0, 0, 0, 0, 0}].read<std::int32_t>()), ElementsAre(7, 7, 2, 3));
  EXPECT_THROW(x[newaxis], IndexError);
  EXPECT_THROW((x[integers({2, 2, 2}, {0, 1, 0, 1, 0, 1, 0, 1})]), IndexError);
}

TEST_P(IndexingTest, Refusals) {
  const Tensor x = zeros({2, 3}), mask = zeros({2, 2}, DType::boolean);
  EXPECT_THROW(x[2], IndexError);
  EXPECT_THROW(x[-3], IndexError);
  EXPECT_THROW((x[{0, 0, 0}]), IndexError);
  EXPECT_THROW((x[{ellipsis, ellipsis}]), IndexError);
  EXPECT_THROW(x[slice(0, 1, 0)], IndexError);
  EXPECT_THROW(x[mask], IndexError);
  EXPECT_THROW((x[{all, mask}]), IndexError);
  EXPECT_THROW(x[zeros({2})], IndexError);
  EXPECT_THROW((x[{integers({2}, {0, 1}), integers({3}, {0, 1, 2})}]), IndexError);
  EXPECT_THROW((x[{newaxis, newaxis, newaxis, newaxis, newaxis, newaxis, newaxis}]), IndexError);
  EXPECT_THROW(zeros({})[0], IndexError);
  EXPECT_THROW(zeros({0})[integers({1}, {0})], ShapeError);
  EXPECT_THROW(x[Tensor()], InvalidArgument);
  EXPECT_THROW(at_set(x, {0, 3}, 1), IndexError);
  EXPECT_THROW(at_set(x, mask, 1), IndexError);
  EXPECT_THROW(at_set(x, {0}, zeros({2})), ShapeError);
  EXPECT_THROW(at_add(x, {all, 0}, zeros({3})), ShapeError);
  EXPECT_THROW(at_set(x, integers({2}, {0, 1}), zeros({3, 3})), ShapeError);
  EXPECT_THROW(at_add(zeros({2}, DType::boolean), 0, true), TypeError);
  EXPECT_THAT(refused_by([&] { (void)x[5]; }), HasSubstr("index: index 5 is outside of axis 0 of f32 [2, 3]"));
  EXPECT_THAT(refused_by([&] { at_add(x, 0, zeros({2})); }), HasSubstr("at_add: the value is f32 [2]"));
}

}  // namespace
}  // namespace weft::test
