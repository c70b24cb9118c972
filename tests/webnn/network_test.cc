// WebNN's products, convolutions, pooling and resampling: values of each option on every device, and what is refused.
#include "support/quick.h"
#include "webnn/one_op.h"

namespace weft::webnn {
namespace {

using test::expect_refused;
using test::WebnnArray;
using test::WebnnCase;
using test::WebnnRefusal;

struct WebnnNetwork : test::WebnnOps {};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnNetwork, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

Number n(double value) { return Number(value); }
WebnnArray f32(Sizes shape, std::vector<Number> values) { return {DType::f32, std::move(shape), std::move(values)}; }
WebnnArray f16(Sizes shape, std::vector<Number> values) { return {DType::f16, std::move(shape), std::move(values)}; }
// first, first + 1, …
WebnnArray counting(Sizes shape, std::int64_t first = 0, DType type = DType::f32) {
  WebnnArray array{type, std::move(shape), {}};
  std::int64_t count = 1;
  for (const std::int64_t size : array.shape) count *= size;
  for (std::int64_t i = 0; i < count; ++i) array.values.emplace_back(first + i);
  return array;
}
WebnnArray filled(Sizes shape, double value) {
  WebnnArray array = counting(std::move(shape));
  std::ranges::fill(array.values, Number(value));
  return array;
}
// The same elements with axis `order[i]` as axis i.
WebnnArray permuted(const WebnnArray& x, const std::vector<std::size_t>& order) {
  WebnnArray y{x.type, {}, {}};
  Sizes strides(x.shape.size(), 1);
  for (std::size_t d = x.shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * x.shape[d + 1];
  for (const std::size_t d : order) y.shape.push_back(x.shape[d]);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    for (std::size_t d = order.size(); d-- > 0;) {
      at += rest % y.shape[d] * strides[order[d]];
      rest /= y.shape[d];
    }
    y.values.push_back(x.values[static_cast<std::size_t>(at)]);
  }
  return y;
}
const std::vector<std::size_t> kToNhwc = {0, 2, 3, 1};

TEST_P(WebnnNetwork, Products) {
  const auto a = counting({2, 3}, 1), b = counting({3, 2}, 1);
  const WebnnCase cases[] = {
      {"matmul", {{"a", a}, {"b", b}}, {}, f32({2, 2}, {22, 28, 49, 64})},
      {"matmul",
       {{"a", counting({2, 1, 2, 2}, 1)}, {"b", counting({2, 2, 1}, 1)}},
       {},
       f32({2, 2, 2, 1}, {5, 11, 11, 25, 17, 23, 39, 53})},
      {"gemm", {{"a", a}, {"b", b}}, {}, f32({2, 2}, {22, 28, 49, 64})},
      {"gemm", {{"a", a}, {"b", a}}, {{"aTranspose", true}}, f32({3, 3}, {17, 22, 27, 22, 29, 36, 27, 36, 45})},
      {"gemm", {{"a", a}, {"b", a}}, {{"bTranspose", true}}, f32({2, 2}, {14, 32, 32, 77})},
      {"gemm", {{"a", b}, {"b", a}}, {{"aTranspose", true}, {"bTranspose", true}}, f32({2, 2}, {22, 49, 28, 64})},
      {"gemm",
       {{"a", a}, {"b", b}, {"c", f32({2}, {1, 2})}},
       {{"alpha", n(0.5)}, {"beta", n(-1)}},
       f32({2, 2}, {10, 12, 23.5, 30})},
      {"gemm", {{"a", a}, {"b", b}, {"c", f32({2, 1}, {1, 2})}}, {}, f32({2, 2}, {23, 29, 51, 66})},
      {"gemm", {{"a", a}, {"b", b}, {"c", f32({}, {1})}}, {}, f32({2, 2}, {23, 29, 50, 65})},
      // alpha is rounded to float16 first, to 2048; 3 · 2048.75 would be 6148 there.
      {"gemm", {{"a", f16({1, 1}, {1})}, {"b", f16({1, 1}, {3})}}, {{"alpha", n(2048.75)}}, f16({1, 1}, {6144}), 0},
      // The product, 60000 · 2, is beyond float16, but not the sum.
      {"gemm",
       {{"a", f16({1, 1}, {60000})}, {"b", f16({1, 1}, {2})}, {"c", f16({1}, {60000})}},
       {{"beta", n(-1)}},
       f16({1, 1}, {60000}),
       0},
  };
  for (const WebnnCase& c : cases) {
    if (!test::leave_out_problem()) check(c);
  }
}

TEST_P(WebnnNetwork, Convolutions) {
  // One channel of 5 by 5, windows of 3 by 3.
  const auto x = counting({1, 1, 5, 5}), w = filled({1, 1, 3, 3}, 1);
  const WebnnCase cases[] = {
      {"conv2d", {{"input", x}, {"filter", w}}, {}, f32({1, 1, 3, 3}, {54, 63, 72, 99, 108, 117, 144, 153, 162})},
      {"conv2d",
       {{"input", x}, {"filter", w}},
       {{"strides", Sizes{2, 1}}},
       f32({1, 1, 2, 3}, {54, 63, 72, 144, 153, 162})},
      {"conv2d", {{"input", x}, {"filter", w}}, {{"dilations", Sizes{2, 2}}}, f32({1, 1, 1, 1}, {108})},
      {"conv2d", {{"input", x}, {"filter", w}}, {{"dilations", Sizes{1, 2}}}, f32({1, 1, 3, 1}, {63, 108, 153})},
      // [beginning height, ending height, beginning width, ending width]
      {"conv2d",
       {{"input", x}, {"filter", w}},
       {{"padding", Sizes{1, 0, 0, 2}}, {"strides", Sizes{3, 2}}},
       f32({1, 1, 2, 3}, {21, 33, 13, 144, 162, 57})},
      {"conv2d",
       {{"input", x}, {"filter", w}, {"bias", f32({1}, {1000})}},
       {{"strides", Sizes{2, 2}}},
       f32({1, 1, 2, 2}, {1054, 1072, 1144, 1162})},
      // A stride beyond the image has no effect.
      {"conv2d",
       {{"input", x}, {"filter", filled({1, 1, 5, 5}, 1)}},
       {{"strides", Sizes{4294967295, 1}}},
       f32({1, 1, 1, 1}, {300})},
      {"convTranspose2d",
       {{"input", counting({1, 1, 2, 2}, 1)}, {"filter", counting({1, 1, 2, 2}, 1)}},
       {},
       f32({1, 1, 3, 3}, {1, 4, 4, 6, 20, 16, 9, 24, 16})},
      {"convTranspose2d",
       {{"input", counting({1, 1, 2, 2}, 1)}, {"filter", counting({1, 1, 2, 2}, 1)}},
       {{"strides", Sizes{2, 2}}},
       f32({1, 1, 4, 4}, {1, 2, 2, 4, 3, 4, 6, 8, 3, 6, 4, 8, 9, 12, 12, 16})},
      {"convTranspose2d",
       {{"input", counting({1, 1, 2, 2}, 1)}, {"filter", counting({1, 1, 2, 2}, 1)}},
       {{"strides", Sizes{2, 2}}, {"outputPadding", Sizes{1, 0}}},
       f32({1, 1, 5, 4}, {1, 2, 2, 4, 3, 4, 6, 8, 3, 6, 4, 8, 9, 12, 12, 16, 0, 0, 0, 0})},
      {"convTranspose2d",
       {{"input", counting({1, 1, 2, 2}, 1)}, {"filter", counting({1, 1, 2, 2}, 1)}},
       {{"strides", Sizes{2, 2}}, {"outputSizes", Sizes{4, 5}}, {"outputPadding", Sizes{9, 9}}},
       f32({1, 1, 4, 5}, {1, 2, 2, 4, 0, 3, 4, 6, 8, 0, 3, 6, 4, 8, 0, 9, 12, 12, 16, 0})},
      {"convTranspose2d",
       {{"input", counting({1, 1, 2, 2}, 1)}, {"filter", counting({1, 1, 2, 2}, 1)}},
       {{"padding", Sizes{1, 0, 0, 1}}, {"dilations", Sizes{2, 1}}},
       // rows of [1 2; 3 4] ⊛ [1 2; -; 3 4] from the second on, without the last column
       f32({1, 1, 3, 2}, {3, 10, 3, 10, 9, 24})},
      {"convTranspose2d",
       {{"input", counting({1, 1, 1, 2}, 1)}, {"filter", counting({1, 2, 1, 1}, 1)}, {"bias", f32({2}, {10, 20})}},
       {},
       f32({1, 2, 1, 2}, {11, 12, 22, 24})},
  };
  for (const WebnnCase& c : cases) {
    if (!test::leave_out_problem()) check(c);
  }
}

// Sums and biases of float16 are rounded once, together: 2049 alone would be 2048.
TEST_P(WebnnNetwork, BiasesAreAddedBeforeRounding) {
  const auto ones = [](Sizes shape) {
    WebnnArray array = filled(std::move(shape), 1);
    array.type = DType::f16;
    return array;
  };
  for (const std::int64_t outputs : {1, 4}) {
    WebnnArray bias = ones({outputs}), y = ones({1, outputs, 1, 1});
    std::ranges::fill(bias.values, Number(-1));
    std::ranges::fill(y.values, Number(2048));
    check({"conv2d",
           {{"input", ones({1, 2049, 1, 1})}, {"filter", ones({outputs, 2049, 1, 1})}, {"bias", bias}},
           {},
           y,
           0});
    check({"convTranspose2d",
           {{"input", ones({1, 2049, 1, 1})}, {"filter", ones({2049, outputs, 1, 1})}, {"bias", bias}},
           {},
           y,
           0});
  }
}

// Depthwise: of widths that are no multiples of four, also where the whole image is.
TEST_P(WebnnNetwork, DepthwiseConvolutions) {
  for (const std::int64_t width : {3, 4, 5, 6, 9}) {
    const auto x = counting({1, 4, 3, width}), w = filled({4, 1, 2, 2}, 1);
    WebnnArray y{DType::f32, {1, 4, 2, width - 1}, {}};
    for (std::int64_t row = 0; row < 12; ++row) {
      for (std::int64_t i = 0; i + 1 < width && row % 3 < 2; ++i)
        y.values.emplace_back(4 * (row * width + i) + 2 * width + 2);
    }
    check({"conv2d", {{"input", x}, {"filter", w}}, {{"groups", n(4)}}, y});
  }
}

// Every layout of the input and the filter, in groups: the same numbers in another order.
TEST_P(WebnnNetwork, LayoutsOfConvolutions) {
  // Two groups of two channels; three outputs of each.
  const auto x = counting({1, 4, 3, 3}), w = counting({6, 2, 2, 2}, -20), bias = counting({6}, 1);
  const auto conv = run("conv2d", {{"input", x}, {"filter", w}, {"bias", bias}}, {{"groups", n(2)}})[0];
  // y[0, o, 0, 0] = Σ_c Σ_k x w + bias
  EXPECT_EQ(conv.shape, (Sizes{1, 6, 2, 2}));
  EXPECT_EQ(conv.values[0].value(), -20 * 0 - 19 * 1 - 18 * 3 - 17 * 4 - 16 * 9 - 15 * 10 - 14 * 12 - 13 * 13 + 1);
  EXPECT_EQ(conv.values[20].value(), 20 * 18 + 21 * 19 + 22 * 21 + 23 * 22 + 24 * 27 + 25 * 28 + 26 * 30 + 27 * 31 + 6);
  const std::pair<std::string, std::vector<std::size_t>> filters[] = {
      {"oihw", {0, 1, 2, 3}}, {"hwio", {2, 3, 1, 0}}, {"ohwi", {0, 2, 3, 1}}, {"ihwo", {1, 2, 3, 0}}};
  for (const auto& [layout, order] : filters) {
    check({"conv2d",
           {{"input", x}, {"filter", permuted(w, order)}, {"bias", bias}},
           {{"groups", n(2)}, {"filterLayout", layout}},
           conv});
    check({"conv2d",
           {{"input", permuted(x, kToNhwc)}, {"filter", permuted(w, order)}, {"bias", bias}},
           {{"groups", n(2)}, {"filterLayout", layout}, {"inputLayout", std::string("nhwc")}},
           permuted(conv, kToNhwc)});
  }
  const auto v = counting({4, 3, 2, 2}, -20);
  const test::WebnnOperands given = {{"input", x}, {"filter", v}, {"bias", bias}};
  const auto transposed = run("convTranspose2d", given, {{"groups", n(2)}, {"strides", Sizes{2, 2}}})[0];
  EXPECT_EQ(transposed.shape, (Sizes{1, 6, 6, 6}));
  EXPECT_EQ(transposed.values[0].value(), 0 * -20 + 9 * -8 + 1);
  EXPECT_EQ(transposed.values[215].value(), 26 * 15 + 35 * 27 + 6);
  const std::pair<std::string, std::vector<std::size_t>> transposed_filters[] = {
      {"iohw", {0, 1, 2, 3}}, {"hwoi", {2, 3, 1, 0}}, {"ohwi", {1, 2, 3, 0}}};
  for (const auto& [layout, order] : transposed_filters) {
    const Arguments options = {{"groups", n(2)}, {"strides", Sizes{2, 2}}, {"filterLayout", layout}};
    check({"convTranspose2d", {{"input", x}, {"filter", permuted(v, order)}, {"bias", bias}}, options, transposed});
    Arguments last = options;
    last.emplace_back("inputLayout", std::string("nhwc"));
    check({"convTranspose2d",
           {{"input", permuted(x, kToNhwc)}, {"filter", permuted(v, order)}, {"bias", bias}},
           last,
           permuted(transposed, kToNhwc)});
  }
}

TEST_P(WebnnNetwork, Pooling) {
  const auto x = counting({1, 1, 4, 4}, 1);
  const double inf = std::numeric_limits<double>::infinity();
  const Arguments two = {{"windowDimensions", Sizes{2, 2}}};
  const auto with = [&](Arguments more) {
    more.emplace_back("windowDimensions", Sizes{2, 2});
    return more;
  };
  const WebnnCase cases[] = {
      {"averagePool2d", {{"input", x}}, {}, f32({1, 1, 1, 1}, {8.5})},
      {"maxPool2d", {{"input", x}}, {}, f32({1, 1, 1, 1}, {16})},
      {"l2Pool2d", {{"input", x}}, {}, f32({1, 1, 1, 1}, {std::sqrt(1496.0)})},
      {"averagePool2d", {{"input", x}}, two, f32({1, 1, 3, 3}, {3.5, 4.5, 5.5, 7.5, 8.5, 9.5, 11.5, 12.5, 13.5})},
      {"maxPool2d", {{"input", x}}, with({{"strides", Sizes{2, 1}}}), f32({1, 1, 2, 3}, {6, 7, 8, 14, 15, 16})},
      {"maxPool2d", {{"input", x}}, with({{"dilations", Sizes{3, 2}}}), f32({1, 1, 1, 2}, {15, 16})},
      {"l2Pool2d", {{"input", x}}, with({{"strides", Sizes{3, 3}}}), f32({1, 1, 1, 1}, {std::sqrt(66.0)})},
      // Averages leave padding out.
      {"averagePool2d",
       {{"input", x}},
       with({{"padding", Sizes{1, 0, 0, 1}}, {"strides", Sizes{2, 2}}}),
       f32({1, 1, 2, 2}, {1.5, 3.5, 7.5, 9.5})},
      {"averagePool2d",
       {{"input", x}},
       with({{"padding", Sizes{1, 0, 0, 1}}, {"strides", Sizes{2, 2}}, {"outputShapeRounding", std::string("ceil")}}),
       f32({1, 1, 3, 3}, {1.5, 3.5, 0, 7.5, 9.5, 0, 13.5, 15.5, 0})},
      {"maxPool2d",
       {{"input", x}},
       with({{"strides", Sizes{3, 3}}, {"outputSizes", Sizes{2, 2}}}),
       f32({1, 1, 2, 2}, {6, 8, 14, 16})},
      {"maxPool2d",
       {{"input", x}},
       with({{"strides", Sizes{3, 3}}, {"outputSizes", Sizes{1, 1}}, {"outputShapeRounding", std::string("ceil")}}),
       f32({1, 1, 1, 1}, {6})},
      // A stride beyond the image, and steps within a window of one element, have no effect.
      {"averagePool2d",
       {{"input", x}},
       {{"windowDimensions", Sizes{4, 1}}, {"strides", Sizes{4294967295, 1}}, {"dilations", Sizes{1, 4294967295}}},
       f32({1, 1, 1, 4}, {7, 8, 9, 10})},
      // Windows in the padding alone.
      {"maxPool2d",
       {{"input", f32({1, 1, 1, 1}, {5})}},
       {{"windowDimensions", Sizes{1, 1}}, {"padding", Sizes{0, 0, 1, 0}}},
       f32({1, 1, 1, 2}, {-inf, 5})},
      {"averagePool2d",
       {{"input", f32({1, 1, 1, 1}, {5})}},
       {{"windowDimensions", Sizes{1, 1}}, {"padding", Sizes{0, 1, 0, 0}}},
       f32({1, 1, 2, 1}, {5, 0})},
      {"l2Pool2d",
       {{"input", f32({1, 1, 1, 1}, {-5})}},
       {{"windowDimensions", Sizes{3, 3}}, {"padding", Sizes{1, 1, 3, 3}}},
       f32({1, 1, 1, 5}, {0, 5, 5, 5, 0})},
      {"maxPool2d",
       {{"input", permuted(counting({1, 2, 2, 3}), kToNhwc)}},
       {{"windowDimensions", Sizes{1, 2}}, {"layout", std::string("nhwc")}},
       permuted(f32({1, 2, 2, 2}, {1, 2, 4, 5, 7, 8, 10, 11}), kToNhwc)},
  };
  for (const WebnnCase& c : cases) {
    if (!test::leave_out_problem()) check(c);
  }
  // Maxima of integers; those of 64 bits exactly.
  for (const DType type : {DType::i8, DType::u8, DType::i32, DType::u32, DType::i64, DType::u64}) {
    const std::int64_t base = weft::bits(type) == 64 ? (std::int64_t{1} << 60) + 1 : 1;
    const auto integers = [&](Sizes shape, const std::vector<std::int64_t>& values) {
      WebnnArray array{type, std::move(shape), {}};
      for (const std::int64_t v : values) array.values.emplace_back(base + v);
      return array;
    };
    const auto y = integers({1, 1, 4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
    check({"maxPool2d",
           {{"input", y}},
           with({{"dilations", Sizes{2, 1}}, {"strides", Sizes{1, 2}}}),
           integers({1, 1, 2, 2}, {9, 11, 13, 15})});
    check({"maxPool2d",
           {{"input", y}},
           with({{"padding", Sizes{1, 0, 0, 1}}, {"strides", Sizes{2, 3}}}),
           integers({1, 1, 2, 2}, {1, 3, 9, 11})});
    check({"maxPool2d", {{"input", y}}, {}, integers({1, 1, 1, 1}, {15})});
  }
  WebnnArray negative{DType::i64, {1, 1, 1, 1}, {std::int64_t{-5}}};
  check({"maxPool2d",
         {{"input", negative}},
         {{"windowDimensions", Sizes{1, 1}}, {"padding", Sizes{1, 0, 0, 0}}},
         {DType::i64, {1, 1, 2, 1}, {std::numeric_limits<std::int64_t>::min(), std::int64_t{-5}}}});
}

TEST_P(WebnnNetwork, Resampling) {
  const auto x = counting({1, 1, 2, 2}, 1);
  const auto linear = std::string("linear");
  const WebnnCase cases[] = {
      {"resample2d", {{"input", x}}, {}, x},
      {"resample2d",
       {{"input", x}},
       {{"scales", std::vector<double>{2, 1}}},
       f32({1, 1, 4, 2}, {1, 2, 1, 2, 3, 4, 3, 4})},
      {"resample2d",
       {{"input", counting({1, 1, 1, 4})}},
       {{"scales", std::vector<double>{1, 0.5}}},
       f32({1, 1, 1, 2}, {0, 2})},  // ceil(0.5 - 0.5), ceil(2.5 - 0.5)
      {"resample2d", {{"input", counting({1, 1, 1, 3})}}, {{"sizes", Sizes{1, 5}}}, f32({1, 1, 1, 5}, {0, 0, 1, 2, 2})},
      {"resample2d",
       {{"input", x}},
       {{"mode", linear}, {"sizes", Sizes{2, 4}}, {"scales", std::vector<double>{9, 9}}},
       f32({1, 1, 2, 4}, {1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4})},
      {"resample2d",
       {{"input", x}},
       {{"mode", linear}, {"scales", std::vector<double>{2, 2}}},
       f32({1, 1, 4, 4}, {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4})},
      {"resample2d",
       {{"input", counting({2, 2, 1, 1}, 1)}},
       {{"mode", linear}, {"sizes", Sizes{4, 2}}, {"axes", Sizes{1, 0}}},
       f32({2, 4, 1, 1}, {1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4})},
      {"resample2d",
       {{"input", counting({2, 1, 2, 1}, 1)}},
       {{"sizes", Sizes{1, 3}}, {"axes", Sizes{0, 2}}},
       f32({1, 1, 3, 1}, {1, 1, 2})},
      {"resample2d",
       {{"input", counting({1, 1, 1, 2}, 254, DType::u8)}},
       {{"mode", linear}, {"sizes", Sizes{1, 4}}},
       {DType::u8, {1, 1, 1, 4}, {254, 254, 255, 255}}},
      {"resample2d",
       {{"input", counting({1, 1, 2, 1}, -2, DType::i8)}},
       {{"sizes", Sizes{4, 1}}},
       {DType::i8, {1, 1, 4, 1}, {-2, -2, -1, -1}}},
      {"resample2d",
       {{"input", f16({1, 1, 1, 2}, {1, 2})}},
       {{"mode", linear}, {"sizes", Sizes{1, 4}}},
       f16({1, 1, 1, 4}, {1, 1.25, 1.75, 2})},
  };
  for (const WebnnCase& c : cases) {
    if (!test::leave_out_problem()) check(c);
  }
}

// The steps of convTranspose2d let groups pass that do not divide the channels; build() refuses what needs the result.
TEST(WebnnNetworkErrors, GroupsThatDoNotDivideTheChannelsAreRefusedByBuild) {
  for (const bool last : {false, true}) {
    const Context context = Context::create(Device::cpu());
    GraphBuilder b(context);
    const auto x = b.input("x", {DType::f32, last ? Sizes{1, 5, 5, 1} : Sizes{1, 1, 5, 5}});
    const auto w = b.input("w", {DType::f32, {1, 1, 2, 2}});
    const auto y = b.conv_transpose2d(x, w,
                                      {.padding = {1, 1, 1, 1},
                                       .groups = 3,
                                       .input_layout = last ? InputOperandLayout::nhwc : InputOperandLayout::nchw,
                                       .label = "a.b"});
    EXPECT_EQ(y.shape(), (last ? Sizes{1, 4, 4, 3} : Sizes{1, 3, 4, 4}));
    const auto z = b.transpose(b.relu(y));
    try {
      b.build({{"z", z}});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const OperationError& e) {
      const std::string what = last ? "float32 [1, 5, 5, 1] in layout nhwc" : "float32 [1, 1, 5, 5] in layout nchw";
      EXPECT_EQ(std::string(e.what()), "build: convTranspose2d [a.b]: input is " + what +
                                           ", of 1 channels; expected as many as 3 groups divide");
    }
  }
  // A graph that does not need it is built.
  const Context context = Context::create(Device::cpu());
  GraphBuilder b(context);
  const auto x = b.input("x", {DType::f32, {1, 2, 5, 5}}), w = b.input("w", {DType::f32, {2, 1, 2, 2}});
  b.conv_transpose2d(x, w, {.groups = 3});
  EXPECT_TRUE(b.build({{"y", b.relu(x)}}));
}

// What only the functions below notice is told in the operation's name alone, with its label once.
TEST(WebnnNetworkErrors, NameNoFunctionInside) {
  GraphBuilder b(Context::create(Device::cpu()));
  const auto x = b.input("x", {DType::f32, {1, 1, 5, 5}});
  try {
    b.average_pool2d(x, {.window_dimensions = {{2, 2}},
                         .padding = {{4294967295, 0, 0, 0}},
                         .strides = {{2147483648, 1}},
                         .label = "a.b"});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const TypeError& e) {
    EXPECT_EQ(
        std::string(e.what()),
        "averagePool2d [a.b]: 5 elements along the height have a padding of 4294967295 in front of them, expected "
        "at most 2147483647 together");
  }
}

TEST(WebnnNetworkErrors, AreThoseOfTheSteps) {
  const auto f = [](Sizes shape) { return OperandDescriptor{DType::f32, std::move(shape)}; };
  const OperandDescriptor image = f({1, 4, 5, 5}), filter = f({2, 4, 3, 3}), transposed = f({4, 2, 3, 3});
  const std::pair<std::string, OperandDescriptor> x = {"input", image}, w = {"filter", filter},
                                                  v = {"filter", transposed};
  const WebnnRefusal cases[] = {
      {"matmul",
       {{"a", f({2, 3})}, {"b", f({2, 3})}},
       {},
       "a is float32 [2, 3] and b float32 [2, 3]; expected as many rows of b as columns of a"},
      {"matmul",
       {{"a", f({2, 2, 3})}, {"b", f({3, 3, 2})}},
       {},
       "a is float32 [2, 2, 3] and b float32 [3, 3, 2]; expected axes before the last two that broadcast"},
      {"matmul", {{"a", f({3})}, {"b", f({3, 2})}}, {}, "a is float32 [3], expected a rank of 2 to 8"},
      {"matmul",
       {{"a", {DType::i32, {2, 2}}}, {"b", {DType::i32, {2, 2}}}},
       {},
       "a is int32 [2, 2], expected float32 or float16"},
      {"gemm",
       {{"a", f({2, 3})}, {"b", f({2, 3})}},
       {{"aTranspose", true}, {"bTranspose", true}},
       "a is float32 [2, 3], transposed, and b float32 [2, 3], transposed; expected as many rows of b as columns of a"},
      {"gemm",
       {{"a", f({2, 3})}, {"b", f({3, 4})}, {"c", f({2})}},
       {},
       "c is float32 [2], which does not broadcast to [2, 4]"},
      {"gemm",
       {{"a", f({2, 3})}, {"b", f({3, 4})}, {"c", f({1, 2, 4})}},
       {},
       "c is float32 [1, 2, 4], expected a rank of 0 to 2"},
      {"conv2d", {x, w}, {{"padding", Sizes{1, 1}}}, "padding is [1, 1], expected 4 numbers"},
      {"conv2d", {x, w}, {{"strides", Sizes{1}}}, "strides are [1], expected 2 numbers"},
      {"conv2d", {x, w}, {{"strides", Sizes{0, 1}}}, "strides are [0, 1], expected numbers of 1 or more"},
      {"conv2d", {x, w}, {{"dilations", Sizes{1, 0}}}, "dilations are [1, 0], expected numbers of 1 or more"},
      {"conv2d", {x, w}, {{"groups", n(0)}}, "groups is 0, expected 1 or more"},
      {"conv2d",
       {x, w},
       {{"groups", n(3)}},
       "filter is float32 [2, 4, 3, 3] in layout oihw, of 2 output and 4 input channels; expected 4 input channels of "
       "input, float32 [1, 4, 5, 5], in 3 groups of as many, and outputs that the groups divide"},
      {"conv2d", {x, w, {"bias", f({4})}}, {}, "bias is float32 [4], expected [2]"},
      {"conv2d",
       {x, {"filter", f({2, 4, 6, 3})}},
       {},
       "the window reaches over 6 elements along the height, where input has 5 with its padding; expected no more"},
      {"conv2d",
       {x, w},
       {{"dilations", Sizes{1, 4294967295}}},
       "the window reaches over 8589934591 elements along the width, where input has 5 with its padding; expected no "
       "more"},
      {"conv2d",
       {x, w},
       {{"padding", Sizes{4294967295, 0, 0, 0}}},
       "the output would be [1, 2, 4294967298, 3], expected sizes from 1 to 2147483647"},
      {"convTranspose2d",
       {x, w},
       {},
       "filter is float32 [2, 4, 3, 3] in layout iohw, of 2 input channels; expected those of input, float32 [1, 4, 5, "
       "5], which are 4"},
      {"convTranspose2d", {x, v}, {{"groups", n(0)}}, "groups is 0, expected 1 or more"},
      {"convTranspose2d",
       {x, v},
       {{"groups", n(4294967295)}},
       "4294967295 groups of 2 output channels are 8589934590, expected at most 2147483647"},
      {"convTranspose2d", {x, v, {"bias", f({3})}}, {}, "bias is float32 [3], expected [2]"},
      {"convTranspose2d",
       {x, v},
       {{"outputPadding", Sizes{0, 1}}},
       "outputPadding is [0, 1]; expected numbers below the strides, [1, 1]"},
      {"convTranspose2d",
       {x, v},
       {{"outputSizes", Sizes{7, 9}}, {"strides", Sizes{1, 1}}},
       "outputSizes are [7, 9]; expected a width from 7 to 7"},
      {"convTranspose2d",
       {x, v},
       {{"outputSizes", Sizes{10, 11}}, {"strides", Sizes{2, 2}}},
       "outputSizes are [10, 11]; expected a height from 11 to 12"},
      {"convTranspose2d", {x, v}, {{"outputSizes", Sizes{7}}}, "outputSizes are [7], expected 2 numbers"},
      {"convTranspose2d",
       {x, v},
       {{"padding", Sizes{4, 3, 0, 0}}},
       "the output would be [1, 2, 0, 7], expected sizes from 1 to 2147483647"},
      {"averagePool2d",
       {x},
       {{"windowDimensions", Sizes{0, 1}}},
       "windowDimensions are [0, 1], expected numbers of 1 or more"},
      {"averagePool2d", {x}, {{"windowDimensions", Sizes{2}}}, "windowDimensions are [2], expected 2 numbers"},
      {"l2Pool2d",
       {x},
       {{"windowDimensions", Sizes{6, 2}}},
       "the window reaches over 6 elements along the height, where input has 5 with its padding; expected no more"},
      {"maxPool2d",
       {x},
       {{"windowDimensions", Sizes{2, 2}}, {"strides", Sizes{2, 2}}, {"outputSizes", Sizes{2, 3}}},
       "outputSizes are [2, 3]; expected [2, 2] or [3, 3]"},
      {"maxPool2d",
       {x},
       {{"windowDimensions", Sizes{2, 2}}, {"outputSizes", Sizes{3, 3}}},
       "outputSizes are [3, 3]; expected [4, 4]"},
      {"maxPool2d",
       {x},
       {{"windowDimensions", Sizes{7, 2}}, {"strides", Sizes{3, 1}}, {"outputSizes", Sizes{2, 4}}},
       "outputSizes are [2, 4]; expected [1, 4]"},
      {"maxPool2d",
       {x},
       {{"windowDimensions", Sizes{8, 2}}, {"strides", Sizes{3, 1}}, {"outputShapeRounding", std::string("ceil")}},
       "the window reaches over 8 elements along the height, where input has 5 with its padding; expected no more"},
      {"averagePool2d",
       {x},
       {{"windowDimensions", Sizes{4294967295, 2}}, {"dilations", Sizes{4294967295, 1}}},
       "the window reaches over 4611686018427387904 elements along the height, where input has 5 with its padding; "
       "expected no more"},
      {"maxPool2d", {x}, {{"outputSizes", Sizes{1}}}, "outputSizes are [1], expected 2 numbers"},
      {"averagePool2d",
       {{"input", {DType::i32, {1, 1, 2, 2}}}},
       {},
       "input is int32 [1, 1, 2, 2], expected float32 or float16"},
      {"maxPool2d", {{"input", f({1, 2, 2})}}, {}, "input is float32 [1, 2, 2], expected a rank of 4"},
      {"resample2d", {x}, {{"scales", std::vector<double>{1}}}, "scales are 1 numbers, expected 2"},
      {"resample2d", {x}, {{"scales", std::vector<double>{1, -2}}}, "scales have -2, expected numbers above 0"},
      {"resample2d",
       {x},
       {{"scales", std::vector<double>{0.1, 1}}},
       "the output would have a size of 0 along axis 2, expected one from 1 to 2147483647"},
      {"resample2d", {x}, {{"sizes", Sizes{1, 0}}}, "sizes are [1, 0], expected numbers of 1 or more"},
      {"resample2d", {x}, {{"sizes", Sizes{1}}}, "sizes are [1], expected 2 numbers"},
      {"resample2d", {x}, {{"axes", Sizes{1, 1}}}, "axes are [1, 1]: axis 1 is there twice"},
      {"resample2d", {x}, {{"axes", Sizes{3, 4}}}, "axes are [3, 4], expected numbers below the rank, which is 4"},
      {"resample2d", {x}, {{"axes", Sizes{3}}}, "axes are [3], expected 2 numbers"},
      {"resample2d",
       {{"input", {DType::i32, {1, 1, 2, 2}}}},
       {},
       "input is int32 [1, 1, 2, 2], expected float32, float16, int8 or uint8"},
  };
  for (const WebnnRefusal& c : cases) expect_refused(c);
}

}  // namespace
}  // namespace weft::webnn
