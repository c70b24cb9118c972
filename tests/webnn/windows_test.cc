// Convolutions and pooling with random options, against loops written from the specification's text alone: the sizes
// from "calculate conv output size" and "calculate convtranspose output size", the values from what the operations'
// descriptions say, in doubles.
#include <array>
#include <random>

#include "support/quick.h"
#include "webnn/one_op.h"

namespace weft::webnn {
namespace {

using test::WebnnArray;

struct WebnnWindows : test::WebnnOps {};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnWindows, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

constexpr std::int64_t kLargest = 4294967295;  // of an unsigned long

using Two = std::array<std::int64_t, 2>;
using Four = std::array<std::int64_t, 4>;

// A tensor of four named axes: "nchw" and "oihw" are how they lie in memory.
struct Array4 {
  std::string layout;
  Four sizes{};  // as the layout has them
  std::vector<double> values;

  Array4(std::string of, std::initializer_list<std::pair<char, std::int64_t>> named) : layout(std::move(of)) {
    std::int64_t count = 1;
    for (const auto& [axis, size] : named) {
      sizes[place_of(axis)] = size;
      count *= size;
    }
    values.resize(static_cast<std::size_t>(count));
  }
  std::size_t place_of(char axis) const { return layout.find(axis) % 4; }
  std::int64_t size(char axis) const { return sizes[place_of(axis)]; }
  double& at(std::initializer_list<std::pair<char, std::int64_t>> place) {
    Four index{};
    for (const auto& [axis, i] : place) index[place_of(axis)] = i;
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < 4; ++d) flat = flat * sizes[d] + index[d];
    return values[static_cast<std::size_t>(flat)];
  }
  WebnnArray as(DType type) const {
    WebnnArray array{type, Sizes(sizes.begin(), sizes.end()), {}};
    for (const double v : values) array.values.emplace_back(v);
    return array;
  }
};

class Problem {
 public:
  explicit Problem(std::uint32_t seed) : random_(seed) {}

  std::int64_t from(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool once_in(int n) { return from(1, n) == 1; }
  void fill(Array4& x) {
    for (double& v : x.values) v = static_cast<double>(from(-8, 8));
  }
  std::string one_of(std::initializer_list<std::string> all) {
    return all.begin()[from(0, static_cast<std::int64_t>(all.size()) - 1)];
  }

  // Strides, also such that skip to the end and past it.
  Two strides() { return {stride(), stride()}; }
  Two dilations() { return {once_in(3) ? from(2, 3) : 1, once_in(3) ? from(2, 3) : 1}; }
  Four padding() { return once_in(2) ? Four{} : Four{from(0, 3), from(0, 3), from(0, 3), from(0, 3)}; }

 private:
  std::int64_t stride() { return once_in(12) ? kLargest - from(0, 1) : once_in(6) ? from(4, 9) : from(1, 3); }

  std::mt19937 random_;
};

template <std::size_t n>
Sizes list(const std::array<std::int64_t, n>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// ( inputSize - ( filterSize - 1 ) * dilation - 1 + beginningPadding + endingPadding ) / stride + 1, which is rounded.
long double conv_output_size(std::int64_t input, std::int64_t filter, std::int64_t begin, std::int64_t end,
                             std::int64_t stride, std::int64_t dilation) {
  const long double effective = static_cast<long double>(filter - 1) * static_cast<long double>(dilation) + 1;
  return (static_cast<long double>(input) - effective + static_cast<long double>(begin + end)) /
             static_cast<long double>(stride) +
         1;
}

constexpr int kProblems = 100;

TEST_P(WebnnWindows, ConvolutionsAreTheFormulas) {
  int done = 0;
  for (std::uint32_t seed = 0; done < kProblems; ++seed) {
    Problem p(seed);
    const std::int64_t groups = p.from(1, 3), batch = p.from(1, 2);
    Array4 x(p.one_of({"nchw", "nhwc"}),
             {{'n', batch}, {'c', groups * p.from(1, 2)}, {'h', p.from(1, 7)}, {'w', p.from(1, 7)}});
    Array4 w(p.one_of({"oihw", "hwio", "ohwi", "ihwo"}),
             {{'o', groups * p.from(1, 2)}, {'i', x.size('c') / groups}, {'h', p.from(1, 3)}, {'w', p.from(1, 3)}});
    const Two strides = p.strides(), dilations = p.dilations();
    const Four padding = p.padding();
    Two sizes{};
    for (std::size_t d = 0; d < 2; ++d) {
      sizes[d] = static_cast<std::int64_t>(std::floor(conv_output_size(x.size("hw"[d]), w.size("hw"[d]), padding[2 * d],
                                                                       padding[2 * d + 1], strides[d], dilations[d])));
    }
    if (sizes[0] < 1 || sizes[1] < 1) continue;
    if (done++; test::leave_out_problem()) continue;
    p.fill(x), p.fill(w);
    const bool has_bias = p.once_in(2);
    WebnnArray bias{DType::f32, {w.size('o')}, {}};
    for (std::int64_t o = 0; o < w.size('o'); ++o) bias.values.emplace_back(p.from(-9, 9));
    Array4 y(x.layout, {{'n', batch}, {'c', w.size('o')}, {'h', sizes[0]}, {'w', sizes[1]}});
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t o = 0; o < w.size('o'); ++o) {
        for (std::int64_t h = 0; h < sizes[0]; ++h) {
          for (std::int64_t v = 0; v < sizes[1]; ++v) {
            double sum = has_bias ? bias.values[static_cast<std::size_t>(o)].value() : 0;
            for (std::int64_t i = 0; i < w.size('i'); ++i) {
              for (std::int64_t kh = 0; kh < w.size('h'); ++kh) {
                for (std::int64_t kw = 0; kw < w.size('w'); ++kw) {
                  const std::int64_t ih = h * strides[0] + kh * dilations[0] - padding[0];
                  const std::int64_t iw = v * strides[1] + kw * dilations[1] - padding[2];
                  if (ih < 0 || iw < 0 || ih >= x.size('h') || iw >= x.size('w')) continue;
                  const std::int64_t c = o / (w.size('o') / groups) * w.size('i') + i;
                  sum += x.at({{'n', n}, {'c', c}, {'h', ih}, {'w', iw}}) *
                         w.at({{'o', o}, {'i', i}, {'h', kh}, {'w', kw}});
                }
              }
            }
            y.at({{'n', n}, {'c', o}, {'h', h}, {'w', v}}) = sum;
          }
        }
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::WebnnOperands operands = {{"input", x.as(DType::f32)}, {"filter", w.as(DType::f32)}};
    if (has_bias) operands.emplace_back("bias", bias);
    const auto got = run("conv2d", operands,
                         {{"inputLayout", x.layout},
                          {"filterLayout", w.layout},
                          {"groups", Number(groups)},
                          {"strides", list(strides)},
                          {"dilations", list(dilations)},
                          {"padding", list(padding)}});
    test::expect_array(got[0], y.as(DType::f32), 0);
    if (HasFailure()) return;
  }
}

TEST_P(WebnnWindows, TransposedConvolutionsAreTheFormulas) {
  int done = 0;
  for (std::uint32_t seed = 0; done < kProblems; ++seed) {
    Problem p(seed);
    const std::int64_t groups = p.from(1, 3), batch = p.from(1, 2);
    Array4 x(p.one_of({"nchw", "nhwc"}),
             {{'n', batch}, {'c', groups * p.from(1, 2)}, {'h', p.from(1, 4)}, {'w', p.from(1, 4)}});
    Array4 w(p.one_of({"iohw", "hwoi", "ohwi"}),
             {{'o', p.from(1, 2)}, {'i', x.size('c')}, {'h', p.from(1, 3)}, {'w', p.from(1, 3)}});
    Two strides = {p.from(1, 4), p.from(1, 4)}, more{};
    const Two dilations = p.dilations();
    const Four padding = p.padding();
    const bool sized = p.once_in(2);
    Two sizes{};
    for (std::size_t d = 0; d < 2; ++d) {
      // A single element has no neighbour that a stride leads to.
      if (x.size("hw"[d]) == 1 && p.once_in(2)) strides[d] = kLargest;
      more[d] = p.from(0, std::min<std::int64_t>(strides[d], 4) - 1);
      sizes[d] = (x.size("hw"[d]) - 1) * strides[d] + (w.size("hw"[d]) - 1) * dilations[d] + 1 - padding[2 * d] -
                 padding[2 * d + 1] + more[d];
    }
    if (sizes[0] < 1 || sizes[1] < 1) continue;
    if (done++; test::leave_out_problem()) continue;
    p.fill(x), p.fill(w);
    Array4 y(x.layout, {{'n', batch}, {'c', w.size('o') * groups}, {'h', sizes[0]}, {'w', sizes[1]}});
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t c = 0; c < x.size('c'); ++c) {
        for (std::int64_t h = 0; h < x.size('h'); ++h) {
          for (std::int64_t v = 0; v < x.size('w'); ++v) {
            for (std::int64_t o = 0; o < w.size('o'); ++o) {
              for (std::int64_t kh = 0; kh < w.size('h'); ++kh) {
                for (std::int64_t kw = 0; kw < w.size('w'); ++kw) {
                  const std::int64_t oh = h * strides[0] + kh * dilations[0] - padding[0];
                  const std::int64_t ow = v * strides[1] + kw * dilations[1] - padding[2];
                  if (oh < 0 || ow < 0 || oh >= sizes[0] || ow >= sizes[1]) continue;
                  const std::int64_t to = c / (x.size('c') / groups) * w.size('o') + o;
                  y.at({{'n', n}, {'c', to}, {'h', oh}, {'w', ow}}) +=
                      x.at({{'n', n}, {'c', c}, {'h', h}, {'w', v}}) * w.at({{'o', o}, {'i', c}, {'h', kh}, {'w', kw}});
                }
              }
            }
          }
        }
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto got = run("convTranspose2d", {{"input", x.as(DType::f32)}, {"filter", w.as(DType::f32)}},
                         {{"inputLayout", x.layout},
                          {"filterLayout", w.layout},
                          {"groups", Number(groups)},
                          {"strides", list(strides)},
                          {"dilations", list(dilations)},
                          {"padding", list(padding)},
                          {sized ? "outputSizes" : "outputPadding", list(sized ? sizes : more)}});
    test::expect_array(got[0], y.as(DType::f32), 0);
    if (HasFailure()) return;
  }
}

// The sizes of both roundings, and outputSizes, which choose one. Padding takes no part in maxima, averages and norms
// (docs/webnn.md: of windows in the padding alone the maximum is the least value, the others are 0).
TEST_P(WebnnWindows, PoolsAreTheFormulas) {
  const std::string ops[] = {"averagePool2d", "l2Pool2d", "maxPool2d"};
  int done = 0;
  for (std::uint32_t seed = 0; done < kProblems; ++seed) {
    Problem p(seed);
    const std::string& op = ops[p.from(0, 2)];
    Array4 x(p.one_of({"nchw", "nhwc"}),
             {{'n', p.from(1, 2)}, {'c', p.from(1, 3)}, {'h', p.from(1, 7)}, {'w', p.from(1, 7)}});
    const bool whole = p.once_in(6), up = p.once_in(2), sized = p.once_in(3);
    const Two strides = p.strides();
    Two dilations = p.dilations(), window = {x.size('h'), x.size('w')}, sizes{};
    const Four padding = p.padding();
    for (std::size_t d = 0; d < 2; ++d) {
      if (!whole) window[d] = p.once_in(12) && up ? kLargest : p.from(1, 4);
      if (!whole && window[d] > 1 && up && p.once_in(12)) dilations[d] = kLargest;
      const auto exact =
          conv_output_size(x.size("hw"[d]), window[d], padding[2 * d], padding[2 * d + 1], strides[d], dilations[d]);
      sizes[d] = static_cast<std::int64_t>(up ? std::ceil(exact) : std::floor(exact));
    }
    if (sizes[0] < 1 || sizes[1] < 1) continue;
    if (done++; test::leave_out_problem()) continue;
    p.fill(x);
    Array4 y(x.layout, {{'n', x.size('n')}, {'c', x.size('c')}, {'h', sizes[0]}, {'w', sizes[1]}});
    for (std::int64_t n = 0; n < x.size('n'); ++n) {
      for (std::int64_t c = 0; c < x.size('c'); ++c) {
        for (std::int64_t h = 0; h < sizes[0]; ++h) {
          for (std::int64_t v = 0; v < sizes[1]; ++v) {
            double most = -std::numeric_limits<double>::infinity(), sum = 0, squares = 0;
            int count = 0;
            for (std::int64_t kh = 0; kh < std::min<std::int64_t>(window[0], 16); ++kh) {
              for (std::int64_t kw = 0; kw < std::min<std::int64_t>(window[1], 16); ++kw) {
                const std::int64_t ih = h * strides[0] + kh * dilations[0] - padding[0];
                const std::int64_t iw = v * strides[1] + kw * dilations[1] - padding[2];
                if (ih < 0 || iw < 0 || ih >= x.size('h') || iw >= x.size('w')) continue;
                const double e = x.at({{'n', n}, {'c', c}, {'h', ih}, {'w', iw}});
                most = std::max(most, e);
                sum += e;
                squares += e * e;
                ++count;
              }
            }
            y.at({{'n', n}, {'c', c}, {'h', h}, {'w', v}}) = op == "maxPool2d"  ? most
                                                             : op == "l2Pool2d" ? std::sqrt(squares)
                                                             : count            ? sum / count
                                                                                : 0;
          }
        }
      }
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + op);
    Arguments arguments = {
        {"layout", x.layout}, {"strides", list(strides)}, {"dilations", list(dilations)}, {"padding", list(padding)}};
    if (!whole) arguments.emplace_back("windowDimensions", list(window));
    if (sized) arguments.emplace_back("outputSizes", list(sizes));
    if (!sized || p.once_in(2)) {
      arguments.emplace_back("outputShapeRounding", std::string((sized ? p.once_in(2) : up) ? "ceil" : "floor"));
    }
    test::expect_array(run(op, {{"input", x.as(DType::f32)}}, arguments)[0], y.as(DType::f32), 2e-6);
    if (HasFailure()) return;
  }
}

// The last stage of a ResNet on pictures of 32 by 32, and other axes of one window that leaves a remainder.
TEST_P(WebnnWindows, OneWindowKeepsItsStride) {
  const auto image = [](std::int64_t size) {
    WebnnArray x{DType::f32, {1, 1, size, size}, {}};
    for (std::int64_t i = 0; i < size * size; ++i) x.values.emplace_back(i);
    return x;
  };
  const WebnnArray one{DType::f32, {1, 1, 1, 1}, {Number(1)}};
  const WebnnArray nine{DType::f32, {1, 1, 3, 3}, std::vector<Number>(9, Number(1))};
  check({"conv2d",
         {{"input", image(2)}, {"filter", one}},
         {{"strides", Sizes{2, 2}}},
         {DType::f32, {1, 1, 1, 1}, {0.0}}});
  check({"conv2d",
         {{"input", image(4)}, {"filter", nine}},
         {{"strides", Sizes{2, 2}}},
         {DType::f32, {1, 1, 1, 1}, {45.0}}});
  check({"conv2d",
         {{"input", image(4)}, {"filter", nine}},
         {{"strides", Sizes{kLargest, 1}}, {"padding", Sizes{0, 4294967294, 0, 0}}},
         {DType::f32, {1, 1, 2, 2}, {45.0, 54.0, 0.0, 0.0}}});
}

// Height 3, window 4, stride 2: ceil(0.5) = 1.
TEST_P(WebnnWindows, PoolsTakeWindowsLargerThanTheInputWhereSizesAreRoundedUp) {
  const WebnnArray x{DType::f32, {1, 1, 3, 2}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}};
  const Arguments options = {
      {"windowDimensions", Sizes{4, 2}}, {"strides", Sizes{2, 1}}, {"outputShapeRounding", std::string("ceil")}};
  check({"averagePool2d", {{"input", x}}, options, {DType::f32, {1, 1, 1, 1}, {3.5}}});
  check({"maxPool2d", {{"input", x}}, options, {DType::f32, {1, 1, 1, 1}, {6.0}}});
  check({"l2Pool2d", {{"input", x}}, options, {DType::f32, {1, 1, 1, 1}, {std::sqrt(91.0)}}});
  check({"maxPool2d",
         {{"input", x}},
         {{"windowDimensions", Sizes{4, 2}}, {"strides", Sizes{2, 1}}, {"outputSizes", Sizes{1, 1}}},
         {DType::f32, {1, 1, 1, 1}, {6.0}}});
}

}  // namespace
}  // namespace weft::webnn
