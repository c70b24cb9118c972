// WebNN's normalizations on every device, against the formula in double.
#include <cmath>

#include "webnn/one_op.h"

namespace weft::test {
namespace {

using Values = std::vector<double>;
using webnn::Sizes;

class WebnnNormalization : public WebnnOps {};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnNormalization, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

WebnnArray array(DType type, const Sizes& shape, const Values& values) {
  return {type, shape, std::vector<Number>(values.begin(), values.end())};
}
double tolerance(DType type) { return type == DType::f32 ? 1e-5 : 2e-3; }

// The index of each axis of the element.
Sizes place(std::int64_t element, const Sizes& shape) {
  Sizes at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; element /= shape[i]) at[i] = element % shape[i];
  return at;
}
std::size_t offset(const Sizes& at, const Sizes& shape, const Sizes& axes) {
  std::int64_t o = 0;
  for (const std::int64_t a : axes) o = o * shape[static_cast<std::size_t>(a)] + at[static_cast<std::size_t>(a)];
  return static_cast<std::size_t>(o);
}

struct Weights {
  Sizes axes;  // along which they lie
  Values scale, bias;
};

// Each element with the moments of those that share its place outside of `axes`.
Values normalized(const Values& x, const Sizes& shape, const Sizes& axes, const Weights& w, double epsilon) {
  Values y;
  Sizes kept;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end())
      kept.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Sizes at = place(static_cast<std::int64_t>(i), shape);
    double n = 0, sum = 0, squares = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (offset(place(static_cast<std::int64_t>(j), shape), shape, kept) != offset(at, shape, kept)) continue;
      n += 1, sum += x[j], squares += x[j] * x[j];
    }
    const double mean = sum / n, variance = squares / n - mean * mean;
    const std::size_t k = offset(at, shape, w.axes);
    y.push_back((x[i] - mean) / std::sqrt(variance + epsilon) * (w.scale.empty() ? 1 : w.scale[k]) +
                (w.bias.empty() ? 0 : w.bias[k]));
  }
  return y;
}

Values numbers_of(std::size_t count) {
  Values v;
  for (std::size_t i = 0; i < count; ++i) v.push_back(static_cast<double>((i * 7 + 3) % 11) / 4 - 1);
  return v;
}

TEST_P(WebnnNormalization, OfLayersOverAnyAxes) {
  const Sizes shape = {2, 3, 2, 2};
  const Values x = numbers_of(24);
  struct {
    Sizes axes;
    bool given;
  } const rows[] = {{{1, 2, 3}, false}, {{3}, true},          {{0, 2}, true}, {{2, 0}, true},
                    {{0, 3, 1}, true},  {{3, 2, 1, 0}, true}, {{}, true}};
  for (const auto& row : rows) {
    Sizes sizes;
    for (const std::int64_t a : row.axes) sizes.push_back(shape[static_cast<std::size_t>(a)]);
    std::size_t count = 1;
    for (const std::int64_t s : sizes) count *= static_cast<std::size_t>(s);
    Weights w{row.axes, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
      w.scale.push_back(0.5 + static_cast<double>(i % 5) / 4);
      w.bias.push_back(static_cast<double>(i % 3) - 0.75);
    }
    for (const DType type : {DType::f32, DType::f16}) {
      webnn::Arguments options{{"epsilon", Number(0.25)}};
      if (row.given) options.emplace_back("axes", row.axes);
      const auto expected = [&](const Weights& weights) {
        return array(type, shape, normalized(x, shape, row.axes, weights, 0.25));
      };
      const WebnnArray scale = array(type, sizes, w.scale), bias = array(type, sizes, w.bias),
                       input = array(type, shape, x);
      check({"layerNormalization", {{"input", input}}, options, expected({row.axes, {}, {}}), tolerance(type)});
      check({"layerNormalization",
             {{"input", input}, {"scale", scale}, {"bias", bias}},
             options,
             expected(w),
             tolerance(type)});
      check({"layerNormalization",
             {{"input", input}, {"bias", bias}},
             options,
             expected({row.axes, {}, w.bias}),
             tolerance(type)});
    }
  }
}

TEST_P(WebnnNormalization, OfLayersOfFewAxes) {
  check({"layerNormalization",
         {{"input", array(DType::f32, {}, {7})}, {"bias", array(DType::f32, {}, {2})}},
         {},
         array(DType::f32, {}, {2})});
  check({"layerNormalization", {{"input", array(DType::f32, {3}, {7, 1, 2})}}, {}, array(DType::f32, {3}, {0, 0, 0})});
}

TEST_P(WebnnNormalization, OfInstances) {
  const Values x = numbers_of(24), scale = {0.5, 2, -1}, bias = {1, 0, -2};
  struct {
    const char* layout;
    Sizes shape, axes;
    std::int64_t channels;
  } const rows[] = {{"nchw", {2, 3, 2, 2}, {2, 3}, 1}, {"nhwc", {2, 2, 2, 3}, {1, 2}, 3}};
  for (const auto& row : rows) {
    for (const DType type : {DType::f32, DType::f16}) {
      const webnn::Arguments options{{"layout", std::string(row.layout)}, {"epsilon", Number(0.125)}};
      const WebnnArray input = array(type, row.shape, x);
      const auto expected = [&](const Weights& w) {
        return array(type, row.shape, normalized(x, row.shape, row.axes, w, 0.125));
      };
      check(
          {"instanceNormalization", {{"input", input}}, options, expected({{row.channels}, {}, {}}), tolerance(type)});
      check({"instanceNormalization",
             {{"input", input}, {"scale", array(type, {3}, scale)}},
             options,
             expected({{row.channels}, scale, {}}),
             tolerance(type)});
      check({"instanceNormalization",
             {{"input", input}, {"scale", array(type, {3}, scale)}, {"bias", array(type, {3}, bias)}},
             options,
             expected({{row.channels}, scale, bias}),
             tolerance(type)});
    }
  }
}

TEST_P(WebnnNormalization, OfBatches) {
  const Values x = numbers_of(12), mean = {0.25, -0.5}, variance = {1, 4}, scale = {2, -0.5}, bias = {1, -1};
  struct {
    Sizes shape;
    int axis;  // below 0: the default
  } const rows[] = {{{3, 2, 2}, -1}, {{2, 6}, 0}, {{2, 3, 2}, 2}, {{2}, 0}};
  for (const auto& row : rows) {
    const auto axis = static_cast<std::size_t>(row.axis < 0 ? 1 : row.axis);
    std::size_t count = 1;
    for (const std::int64_t s : row.shape) count *= static_cast<std::size_t>(s);
    const Values input(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
    for (const bool scaled : {false, true}) {
      Values y;
      for (std::size_t i = 0; i < count; ++i) {
        const auto k = static_cast<std::size_t>(place(static_cast<std::int64_t>(i), row.shape)[axis]);
        const double v = (input[i] - mean[k]) / std::sqrt(variance[k] + 0.5);
        y.push_back(scaled ? v * scale[k] + bias[k] : v);
      }
      for (const DType type : {DType::f32, DType::f16}) {
        WebnnOperands operands{{"input", array(type, row.shape, input)},
                               {"mean", array(type, {2}, mean)},
                               {"variance", array(type, {2}, variance)}};
        if (scaled)
          operands.insert(operands.end(), {{"scale", array(type, {2}, scale)}, {"bias", array(type, {2}, bias)}});
        webnn::Arguments options{{"epsilon", Number(0.5)}};
        if (row.axis >= 0) options.emplace_back("axis", Number(row.axis));
        check({"batchNormalization", operands, options, array(type, row.shape, y), tolerance(type)});
      }
    }
  }
}

TEST(WebnnNormalizationRows, SayWhatDoesNotFit) {
  const webnn::OperandDescriptor x{DType::f32, {1, 2, 5, 5}}, i32{DType::i32, {1, 2, 5, 5}}, two{DType::f32, {2}},
      five{DType::f32, {5}}, half{DType::f16, {2}}, matrix{DType::f32, {2, 1}};
  const char* const batch = "batchNormalization";
  expect_refused({batch,
                  {{"input", i32}, {"mean", two}, {"variance", two}},
                  {},
                  "input is int32 [1, 2, 5, 5], expected float32 or float16"});
  expect_refused({batch,
                  {{"input", x}, {"mean", half}, {"variance", two}},
                  {},
                  "mean is float16 [2], expected float32, as input"});
  expect_refused(
      {batch, {{"input", x}, {"mean", matrix}, {"variance", two}}, {}, "mean is float32 [2, 1], expected a rank of 1"});
  expect_refused({batch,
                  {{"input", x}, {"mean", five}, {"variance", two}},
                  {},
                  "mean is [5], expected [2] for axis 1 of the input, which is [1, 2, 5, 5]"});
  expect_refused({batch,
                  {{"input", x}, {"mean", five}, {"variance", two}},
                  {{"axis", Number(2)}},
                  "variance is [2], expected [5] for axis 2 of the input, which is [1, 2, 5, 5]"});
  expect_refused({batch,
                  {{"input", x}, {"mean", two}, {"variance", two}, {"scale", matrix}},
                  {},
                  "scale is float32 [2, 1], expected a rank of 1"});
  expect_refused({batch,
                  {{"input", x}, {"mean", two}, {"variance", two}, {"scale", five}},
                  {},
                  "scale is [5], expected [2] for axis 1 of the input, which is [1, 2, 5, 5]"});
  expect_refused({batch,
                  {{"input", x}, {"mean", two}, {"variance", two}, {"bias", five}},
                  {},
                  "bias is [5], expected [2] for axis 1 of the input, which is [1, 2, 5, 5]"});
  expect_refused({batch,
                  {{"input", x}, {"mean", two}, {"variance", two}},
                  {{"axis", Number(4)}},
                  "axis is 4, expected one below the rank, which is 4"});
  const char* const instance = "instanceNormalization";
  expect_refused({instance, {{"input", two}}, {}, "input is float32 [2], expected a rank of 4"});
  expect_refused({instance, {{"input", i32}}, {}, "input is int32 [1, 2, 5, 5], expected float32 or float16"});
  expect_refused({instance, {{"input", x}, {"scale", half}}, {}, "scale is float16 [2], expected float32, as input"});
  expect_refused({instance,
                  {{"input", x}, {"scale", two}},
                  {{"layout", std::string("nhwc")}},
                  "scale is [2], expected [5] for axis 3 of the input, which is [1, 2, 5, 5]"});
  expect_refused({instance,
                  {{"input", x}, {"bias", five}},
                  {},
                  "bias is [5], expected [2] for axis 1 of the input, which is [1, 2, 5, 5]"});
  const char* const layer = "layerNormalization";
  expect_refused({layer, {{"input", i32}}, {}, "input is int32 [1, 2, 5, 5], expected float32 or float16"});
  expect_refused(
      {layer, {{"input", x}}, {{"axes", Sizes{1, 4}}}, "axes are [1, 4], expected numbers below the rank, which is 4"});
  expect_refused({layer, {{"input", x}}, {{"axes", Sizes{1, 1}}}, "axes are [1, 1]: axis 1 is there twice"});
  expect_refused({layer,
                  {{"input", x}, {"scale", two}},
                  {},
                  "scale is [2], expected [2, 5, 5], the sizes of the axes of the input, which is [1, 2, 5, 5]"});
  expect_refused({layer,
                  {{"input", x}, {"bias", {DType::f32, {2, 5}}}},
                  {{"axes", Sizes{2, 1}}},
                  "bias is [2, 5], expected [5, 2], the sizes of the axes of the input, which is [1, 2, 5, 5]"});
}

}  // namespace
}  // namespace weft::test
