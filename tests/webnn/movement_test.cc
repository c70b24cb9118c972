// WebNN's operations that move elements: values of several types on every device, shapes, and what is refused.
#include "support/quick.h"
#include "webnn/one_op.h"

namespace weft::webnn {
namespace {

using test::expect_array;
using test::expect_refused;
using test::WebnnArray;
using test::WebnnCase;
using test::WebnnRefusal;

struct WebnnMovement : test::WebnnOps {};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnMovement, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::i64, DType::u8};

// Numbers other than 0 are past 2^32 in types of 64 bits.
WebnnArray of(DType type, Sizes shape, std::vector<int> numbers) {
  WebnnArray array{type, std::move(shape), {}};
  for (const int n : numbers) {
    array.values.emplace_back(weft::bits(type) == 64 && n != 0 ? std::int64_t{n} + (std::int64_t{1} << 40) : n);
  }
  return array;
}
Number n(std::int64_t value) { return Number(value); }

std::vector<WebnnCase> movements(DType t) {
  const auto ten = of(t, {4, 3}, {1, 2, 3, 10, 11, 12, 20, 21, 22, 30, 31, 32});
  const auto six = of(t, {2, 3}, {1, 2, 3, 4, 5, 6});
  const WebnnArray four{DType::i32, {2, 2}, {3, 1, -1, 0}};
  return {
      {"expand",
       {{"input", of(t, {2, 1}, {1, 2})}},
       {{"newShape", Sizes{2, 2, 3}}},
       of(t, {2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2})},
      {"expand", {{"input", of(t, {}, {7})}}, {{"newShape", Sizes{3}}}, of(t, {3}, {7, 7, 7})},
      {"reshape", {{"input", six}}, {{"newShape", Sizes{3, 1, 2}}}, of(t, {3, 1, 2}, {1, 2, 3, 4, 5, 6})},
      {"reshape", {{"input", of(t, {1, 1}, {5})}}, {{"newShape", Sizes{}}}, of(t, {}, {5})},
      {"transpose", {{"input", six}}, {}, of(t, {3, 2}, {1, 4, 2, 5, 3, 6})},
      {"transpose",
       {{"input", of(t, {1, 2, 3}, {1, 2, 3, 4, 5, 6})}},
       {{"permutation", Sizes{2, 0, 1}}},
       of(t, {3, 1, 2}, {1, 4, 2, 5, 3, 6})},
      {"transpose", {{"input", of(t, {}, {5})}}, {}, of(t, {}, {5})},
      {"reverse", {{"input", six}}, {}, of(t, {2, 3}, {6, 5, 4, 3, 2, 1})},
      {"reverse", {{"input", six}}, {{"axes", Sizes{1}}}, of(t, {2, 3}, {3, 2, 1, 6, 5, 4})},
      {"reverse", {{"input", six}}, {{"axes", Sizes{}}}, six},
      {"slice", {{"input", ten}}, {{"starts", Sizes{1, 0}}, {"sizes", Sizes{2, 2}}}, of(t, {2, 2}, {10, 11, 20, 21})},
      {"slice",
       {{"input", ten}},
       {{"starts", Sizes{0, 0}}, {"sizes", Sizes{4, 3}}, {"strides", Sizes{3, 2}}},
       of(t, {2, 2}, {1, 3, 30, 32})},
      {"slice", {{"input", of(t, {}, {5})}}, {{"starts", Sizes{}}, {"sizes", Sizes{}}}, of(t, {}, {5})},
      {"tile",
       {{"input", of(t, {1, 2}, {1, 2})}},
       {{"repetitions", Sizes{2, 2}}},
       of(t, {2, 4}, {1, 2, 1, 2, 1, 2, 1, 2})},
      {"triangular",
       {{"input", of(t, {3, 3}, {7, 1, 2, 9, 4, 8, 2, 6, 3})}},
       {},
       of(t, {3, 3}, {7, 1, 2, 0, 4, 8, 0, 0, 3})},
      {"triangular",
       {{"input", of(t, {3, 3}, {7, 1, 2, 9, 4, 8, 2, 6, 3})}},
       {{"diagonal", n(1)}},
       of(t, {3, 3}, {0, 1, 2, 0, 0, 8, 0, 0, 0})},
      {"triangular",
       {{"input", of(t, {3, 3}, {7, 1, 2, 9, 4, 8, 2, 6, 3})}},
       {{"upper", false}, {"diagonal", n(-1)}},
       of(t, {3, 3}, {0, 0, 0, 9, 0, 0, 2, 6, 0})},
      {"triangular",
       {{"input", of(t, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}},
       {{"upper", false}},
       of(t, {2, 2, 2}, {1, 0, 3, 4, 5, 0, 7, 8})},
      {"pad",
       {{"input", of(t, {2}, {1, 2})}},
       {{"beginningPadding", Sizes{1}}, {"endingPadding", Sizes{2}}},
       of(t, {5}, {0, 1, 2, 0, 0})},
      {"pad",
       {{"input", six}},
       {{"beginningPadding", Sizes{1, 2}}, {"endingPadding", Sizes{0, 1}}, {"mode", std::string("edge")}},
       of(t, {3, 6}, {1, 1, 1, 2, 3, 3, 1, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 6})},
      {"pad",
       {{"input", six}},
       {{"beginningPadding", Sizes{1, 2}}, {"endingPadding", Sizes{0, 1}}, {"mode", std::string("reflection")}},
       of(t, {3, 6}, {6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5})},
      {"pad",
       {{"input", six}},
       {{"beginningPadding", Sizes{0, 3}}, {"endingPadding", Sizes{1, 0}}, {"mode", std::string("symmetric")}},
       of(t, {3, 6}, {3, 2, 1, 1, 2, 3, 6, 5, 4, 4, 5, 6, 6, 5, 4, 4, 5, 6})},
      {"gather",
       {{"input", ten}, {"indices", {DType::i32, {2}, {3, -3}}}},
       {},
       of(t, {2, 3}, {30, 31, 32, 10, 11, 12})},
      {"gather",
       {{"input", ten}, {"indices", {DType::u32, {2, 2}, {0, 1, 1, 2}}}},
       {{"axis", n(1)}},
       of(t, {4, 2, 2}, {1, 2, 2, 3, 10, 11, 11, 12, 20, 21, 21, 22, 30, 31, 31, 32})},
      {"gather", {{"input", of(t, {3}, {1, 2, 3})}, {"indices", {DType::i64, {}, {1}}}}, {}, of(t, {}, {2})},
      // Outside: clamped.
      {"gather",
       {{"input", of(t, {3}, {1, 2, 3})}, {"indices", {DType::i64, {4}, {7, -9, std::int64_t{1} << 40, -1}}}},
       {},
       of(t, {4}, {3, 1, 3, 3})},
      {"gather",
       {{"input", of(t, {3}, {1, 2, 3})}, {"indices", {DType::u32, {1}, {4294967295u}}}},
       {},
       of(t, {1}, {3})},
      {"gatherElements",
       {{"input", ten}, {"indices", {DType::i32, {2, 3}, {3, 1, 1, 2, 0, -1}}}},
       {},
       of(t, {2, 3}, {30, 11, 12, 20, 2, 32})},
      {"gatherElements",
       {{"input", ten}, {"indices", {DType::u32, {4, 1}, {2, 1, 0, 9}}}},
       {{"axis", n(1)}},
       of(t, {4, 1}, {3, 11, 20, 32})},
      {"gatherND",
       {{"input", of(t, {2, 2}, {1, 2, 3, 4})}, {"indices", {DType::u32, {3, 2}, {0, 0, 1, 1, 1, 0}}}},
       {},
       of(t, {3}, {1, 4, 3})},
      {"gatherND",
       {{"input", of(t, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, {"indices", {DType::i64, {2, 2}, {0, 1, -1, 0}}}},
       {},
       of(t, {2, 2}, {3, 4, 5, 6})},
      {"gatherND", {{"input", six}, {"indices", {DType::i32, {2}, {1, 2}}}}, {}, of(t, {}, {6})},
      {"scatterElements",
       {{"input", ten},
        {"indices", {DType::i32, {2, 3}, {3, 1, 1, 2, 0, 3}}},
        {"updates", of(t, {2, 3}, {101, 102, 103, 104, 105, 106})}},
       {},
       of(t, {4, 3}, {1, 105, 3, 10, 102, 103, 104, 21, 22, 101, 31, 106})},
      {"scatterElements",
       {{"input", ten},
        {"indices", {DType::i64, {4, 1}, {2, 1, -3, 2}}},
        {"updates", of(t, {4, 1}, {101, 102, 103, 104})}},
       {{"axis", n(1)}},
       of(t, {4, 3}, {1, 2, 101, 10, 102, 12, 103, 21, 22, 30, 31, 104})},
      {"scatterND",
       {{"input", of(t, {8}, {0, 1, 2, 3, 4, 5, 6, 7})},
        {"indices", {DType::i32, {4, 1}, {4, 3, 1, -1}}},
        {"updates", of(t, {4}, {101, 102, 103, 104})}},
       {},
       of(t, {8}, {0, 103, 2, 102, 101, 5, 6, 104})},
      {"scatterND",
       {{"input", of(t, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})},
        {"indices", {DType::u32, {2, 2}, {0, 1, 1, 0}}},
        {"updates", of(t, {2, 2}, {101, 102, 103, 104})}},
       {},
       of(t, {2, 2, 2}, {0, 1, 101, 102, 103, 104, 6, 7})},
      {"scatterND",
       {{"input", six}, {"indices", {DType::i32, {1, 1, 2}, {1, 1}}}, {"updates", of(t, {1, 1}, {101})}},
       {},
       of(t, {2, 3}, {1, 2, 3, 4, 101, 6})},
  };
}

TEST_P(WebnnMovement, Values) {
  for (const DType type : kTypes) {
    for (const WebnnCase& c : movements(type)) {
      if (!test::leave_out_problem()) check(c);
    }
  }
}

TEST_P(WebnnMovement, NumbersBeyondTheTensor) {
  const WebnnArray x = of(DType::f32, {2, 2}, {1, 2, 3, 4}), zeros = of(DType::f32, {2, 2}, {0, 0, 0, 0});
  for (const std::int64_t far : {std::int64_t{2147483647}, std::int64_t{-2147483648}}) {
    for (const bool upper : {true, false}) {
      check({"triangular", {{"input", x}}, {{"diagonal", n(far)}, {"upper", upper}}, upper == (far < 0) ? x : zeros});
    }
  }
  check({"slice",
         {{"input", x}},
         {{"starts", Sizes{0, 0}}, {"sizes", Sizes{2, 2}}, {"strides", Sizes{4294967295, 1}}},
         of(DType::f32, {1, 2}, {1, 2})});
}

TEST_P(WebnnMovement, ThePaddingIsCastToTheInputsType) {
  const Arguments one = {{"beginningPadding", Sizes{1}}, {"endingPadding", Sizes{0}}};
  const auto padded = [&](DType type, const Number& value, const Number& expected) {
    Arguments arguments = one;
    arguments.emplace_back("value", value);
    check({"pad", {{"input", {type, {1}, {1}}}}, arguments, {type, {2}, {expected, 1}}});
  };
  padded(DType::i8, 2.5, 2);  // to even
  padded(DType::i8, 3.5, 4);
  padded(DType::i8, 300, 127);
  padded(DType::u8, -1, 0);
  padded(DType::i64, std::int64_t{9007199254740993}, std::int64_t{9007199254740993});
  padded(DType::u64, std::uint64_t{18446744073709551615u}, std::uint64_t{18446744073709551615u});
  padded(DType::f32, std::nan(""), std::nan(""));
  padded(DType::f16, 1e9, std::numeric_limits<double>::infinity());
}

// Of many updates of one element the last one stays, whatever order a device works in.
TEST_P(WebnnMovement, TheLastUpdateWins) {
  constexpr std::int64_t kUpdates = 5000, kSize = 7;
  for (const DType type : {DType::f32, DType::i64, DType::u8}) {
    WebnnArray x{type, {kSize}, std::vector<Number>(kSize, Number(1))};
    WebnnArray indices{DType::i32, {kUpdates}, {}}, updates{type, {kUpdates}, {}};
    WebnnArray expected = x;
    for (std::int64_t i = 0; i < kUpdates; ++i) {
      const std::int64_t at = i * i % (kSize - 1), value = i % 113 + 2;
      indices.values.emplace_back(at);
      updates.values.emplace_back(value);
      expected.values[static_cast<std::size_t>(at)] = Number(value);
    }
    check({"scatterElements", {{"input", x}, {"indices", indices}, {"updates", updates}}, {}, expected});
    indices.shape = {kUpdates, 1};
    check({"scatterND", {{"input", x}, {"indices", indices}, {"updates", updates}}, {}, expected});
  }
  check({"scatterND",
         {{"input", {DType::f32, {2, 2}, {1, 2, 3, 4}}},
          {"indices", {DType::i32, {3, 1}, {1, 0, 1}}},
          {"updates", {DType::f32, {3, 2}, {5, 6, 7, 8, 9, 10}}}},
         {},
         {DType::f32, {2, 2}, {7, 8, 9, 10}}});
}

TEST_P(WebnnMovement, Concat) {
  Context context = Context::create(test::device_named(GetParam()));
  GraphBuilder b(context);
  const auto x = b.constant({DType::f32, {2, 1}}, std::vector<float>{1, 2});
  const auto y = b.constant({DType::f32, {2, 2}}, std::vector<float>{3, 4, 5, 6});
  const Operand joined = b.concat({x, y, x}, 1), one = b.concat({y}, 0);
  EXPECT_EQ(joined.shape(), (Sizes{2, 4}));
  const auto graph = b.build({{"joined", joined}, {"one", one}});
  auto first = context.create_tensor({DType::f32, {2, 4}, true, false});
  auto second = context.create_tensor({DType::f32, {2, 2}, true, false});
  context.dispatch(graph, {}, {{"joined", first}, {"one", second}});
  std::vector<float> values(8), same(4);
  context.read_tensor(first, std::as_writable_bytes(std::span(values))).get();
  context.read_tensor(second, std::as_writable_bytes(std::span(same))).get();
  EXPECT_EQ(values, (std::vector<float>{1, 3, 4, 1, 2, 5, 6, 2}));
  EXPECT_EQ(same, (std::vector<float>{3, 4, 5, 6}));
}

TEST_P(WebnnMovement, Split) {
  const test::WebnnOperands x = {{"input", {DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}}}};
  const auto columns = run("split", x, {{"splits", n(3)}, {"axis", n(1)}});
  ASSERT_EQ(columns.size(), 3u);
  for (int i = 0; i < 3; ++i)
    expect_array(columns[static_cast<std::size_t>(i)], {DType::f32, {2, 1}, {i + 1, i + 4}}, 0);
  const auto rows = run("split", x, {{"splits", n(2)}});
  ASSERT_EQ(rows.size(), 2u);
  expect_array(rows[1], {DType::f32, {1, 3}, {4, 5, 6}}, 0);
  const auto parts = run("split", x, {{"splits", Sizes{1, 2}}, {"axis", n(1)}});
  ASSERT_EQ(parts.size(), 2u);
  expect_array(parts[0], {DType::f32, {2, 1}, {1, 4}}, 0);
  expect_array(parts[1], {DType::f32, {2, 2}, {2, 3, 5, 6}}, 0);
}

TEST(WebnnMovementErrors, AreThoseOfTheSteps) {
  const OperandDescriptor x{DType::f32, {2, 3}}, scalar{DType::f32, {}};
  const auto index = [](Sizes shape, DType type = DType::i32) { return OperandDescriptor{type, std::move(shape)}; };
  const Sizes huge = {4294967295};
  const WebnnRefusal cases[] = {
      {"expand",
       {{"input", x}},
       {{"newShape", Sizes{3, 3}}},
       "input is float32 [2, 3], which does not broadcast to newShape, [3, 3]"},
      {"expand",
       {{"input", {DType::f32, {1}}}},
       {{"newShape", huge}},
       "the output would be [4294967295], expected sizes from 1 to 2147483647"},
      {"expand",
       {{"input", {DType::f32, {1}}}},
       {{"newShape", Sizes{65536, 65536}}},
       "the output would be [65536, 65536], expected at most 2147483647 elements"},
      {"reshape",
       {{"input", x}},
       {{"newShape", Sizes{5}}},
       "newShape is [5], of 5 elements; input is float32 [2, 3], of 6"},
      {"reshape",
       {{"input", x}},
       {{"newShape", Sizes{0, 3}}},
       "the output would be [0, 3], expected sizes from 1 to 2147483647"},
      {"transpose", {{"input", x}}, {{"permutation", Sizes{0}}}, "permutation is [0], expected 2 numbers"},
      {"transpose",
       {{"input", x}},
       {{"permutation", Sizes{0, 2}}},
       "permutation is [0, 2], expected numbers below the rank, which is 2"},
      {"transpose", {{"input", x}}, {{"permutation", Sizes{1, 1}}}, "permutation is [1, 1]: axis 1 is there twice"},
      {"reverse", {{"input", x}}, {{"axes", Sizes{2}}}, "axes are [2], expected numbers below the rank, which is 2"},
      {"reverse", {{"input", x}}, {{"axes", Sizes{0, 0}}}, "axes are [0, 0]: axis 0 is there twice"},
      {"slice", {{"input", x}}, {{"starts", Sizes{0}}, {"sizes", Sizes{1, 1}}}, "starts are [0], expected 2 numbers"},
      {"slice",
       {{"input", x}},
       {{"starts", Sizes{0, 0}}, {"sizes", Sizes{1, 0}}},
       "sizes are [1, 0], expected numbers of 1 or more"},
      {"slice",
       {{"input", x}},
       {{"starts", Sizes{0, 0}}, {"sizes", Sizes{1, 1}}, {"strides", Sizes{0, 1}}},
       "strides are [0, 1], expected numbers of 1 or more"},
      {"slice",
       {{"input", x}},
       {{"starts", Sizes{0, 2}}, {"sizes", Sizes{1, 2}}},
       "starts are [0, 2] and sizes [1, 2]; expected a part of input, float32 [2, 3], but it ends at 4 along axis 1"},
      {"split",
       {{"input", x}},
       {{"splits", n(2)}, {"axis", n(1)}},
       "splits is 2; expected a number from 1 to 8192 that divides the size of axis 1 of input, float32 [2, 3]"},
      {"split",
       {{"input", x}},
       {{"splits", n(0)}},
       "splits is 0; expected a number from 1 to 8192 that divides the size of axis 0 of input, float32 [2, 3]"},
      {"split",
       {{"input", x}},
       {{"splits", Sizes{1, 2}}},
       "splits are [1, 2], which add up to 3; expected 2, the size of axis 0 of input, float32 [2, 3]"},
      {"split", {{"input", x}}, {{"splits", Sizes{0, 2}}}, "splits are [0, 2], expected numbers of 1 or more"},
      {"split", {{"input", x}}, {{"splits", Sizes{}}}, "splits are 0 sizes, expected 1 to 8192"},
      {"split",
       {{"input", x}},
       {{"splits", n(1)}, {"axis", n(2)}},
       "axis is 2, expected one below the rank, which is 2"},
      {"tile", {{"input", x}}, {{"repetitions", Sizes{2}}}, "repetitions are [2], expected 2 numbers"},
      {"tile", {{"input", x}}, {{"repetitions", Sizes{0, 1}}}, "repetitions are [0, 1], expected numbers of 1 or more"},
      {"tile",
       {{"input", x}},
       {{"repetitions", Sizes{4294967295, 4294967295}}},
       "the output would be [8589934590, 12884901885], expected sizes from 1 to 2147483647"},
      {"triangular", {{"input", {DType::f32, {3}}}}, {}, "input is float32 [3], expected a rank of 2 to 8"},
      {"pad",
       {{"input", scalar}},
       {{"beginningPadding", Sizes{}}, {"endingPadding", Sizes{}}},
       "input is float32 [], expected a rank of 1 to 8"},
      {"pad",
       {{"input", x}},
       {{"beginningPadding", Sizes{1}}, {"endingPadding", Sizes{1, 1}}},
       "beginningPadding is [1], expected 2 numbers"},
      {"pad",
       {{"input", x}},
       {{"beginningPadding", Sizes{0, 0}}, {"endingPadding", Sizes{2, 0}}, {"mode", std::string("reflection")}},
       "endingPadding is [2, 0]; expected at most 1 for axis 0 of input, float32 [2, 3], in mode reflection"},
      {"pad",
       {{"input", x}},
       {{"beginningPadding", Sizes{3, 0}}, {"endingPadding", Sizes{0, 0}}, {"mode", std::string("symmetric")}},
       "beginningPadding is [3, 0]; expected at most 2 for axis 0 of input, float32 [2, 3], in mode symmetric"},
      {"pad",
       {{"input", x}},
       {{"beginningPadding", Sizes{4294967295, 0}}, {"endingPadding", Sizes{4294967295, 0}}},
       "the output would be [8589934592, 3], expected sizes from 1 to 2147483647"},
      {"gather",
       {{"input", x}, {"indices", index({1}, DType::u64)}},
       {},
       "indices are uint64 [1], expected int32, int64 or uint32"},
      {"gather", {{"input", scalar}, {"indices", index({1})}}, {}, "input is float32 [], expected a rank of 1 to 8"},
      {"gather",
       {{"input", x}, {"indices", index({1})}},
       {{"axis", n(2)}},
       "axis is 2, expected one below the rank, which is 2"},
      {"gather",
       {{"input", x}, {"indices", index({1, 1, 1, 1, 1, 1, 1, 1})}},
       {},
       "the output would be [1, 1, 1, 1, 1, 1, 1, 1, 3], expected a rank of at most 8"},
      {"gatherElements",
       {{"input", x}, {"indices", index({2})}},
       {},
       "indices are int32 [2], expected the rank of input, float32 [2, 3]"},
      {"gatherElements",
       {{"input", x}, {"indices", index({1, 2})}},
       {},
       "indices are int32 [1, 2], expected the shape of input, float32 [2, 3], but for axis 0"},
      {"gatherND",
       {{"input", x}, {"indices", index({1, 3})}},
       {},
       "indices are int32 [1, 3], coordinates of 3 numbers; expected at most the rank of input, float32 [2, 3]"},
      {"gatherND", {{"input", x}, {"indices", index({})}}, {}, "indices are int32 [], expected a rank of 1 to 8"},
      {"scatterElements",
       {{"input", x}, {"indices", index({1, 3})}, {"updates", {DType::f32, {2, 3}}}},
       {},
       "updates are float32 [2, 3], expected [1, 3]"},
      {"scatterElements",
       {{"input", x}, {"indices", index({1, 3})}, {"updates", {DType::f16, {1, 3}}}},
       {},
       "updates are float16 [1, 3], expected float32, as input"},
      {"scatterND",
       {{"input", x}, {"indices", index({4, 1})}, {"updates", {DType::f32, {4, 2}}}},
       {},
       "updates are float32 [4, 2], expected [4, 3]"},
  };
  for (const WebnnRefusal& c : cases) expect_refused(c);

  GraphBuilder b(Context::create(Device::cpu()));
  const auto input = [&](DType type, Sizes shape) { return b.input("x", {type, std::move(shape)}); };
  const auto refused = [&](const std::vector<Operand>& inputs, std::int64_t axis) -> std::string {
    try {
      b.concat(inputs, axis);
    } catch (const TypeError& e) {
      return e.what();
    }
    return "nothing";
  };
  const Operand two = input(DType::f32, {2, 3});
  EXPECT_EQ(refused({}, 0), "concat: inputs are 0 operands, expected 1 to 8192");
  EXPECT_EQ(refused({two}, 2), "concat: axis is 2, expected one below the rank, which is 2");
  for (const Operand& other : {input(DType::f32, {2, 4}), input(DType::i32, {2, 3}), input(DType::f32, {2, 3, 1})}) {
    EXPECT_EQ(refused({two, other}, 0),
              std::format("concat: input 1 is {} {}, expected the type and shape of input 0, "
                          "float32 [2, 3], but for axis 0",
                          data_type_name(other.data_type()), to_string(Shape(std::span(other.shape())))));
  }
  const Operand large = input(DType::u8, {1, 1073741824});
  EXPECT_EQ(refused({large, large}, 1),
            "concat: the output would be [1, 2147483648], expected sizes from 1 to 2147483647");
}

}  // namespace
}  // namespace weft::webnn
