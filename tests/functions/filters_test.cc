// Linear filters of weft/signal.h: values and gradients on every device against SciPy's and PyTorch's
// (tests/reference/filters.py), parts of signals, compiled functions and batches, and what they refuse.
#include <gmock/gmock.h>

#include <format>
#include <map>

#include "support/gradient_cases.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/indexing.h"
#include "weft/signal.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Values = std::vector<Tensor>;
using Function = Tensor (*)(const Values& x, int axis);
// y, or with states these and y joined along the axis.
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all{
      {"lfilter", [](const Values& x, int axis) { return lfilter(x[0], x[1], x[2], axis); }},
      {"lfilter_state",
       [](const Values& x, int axis) {
         const auto [y, state] = lfilter(x[0], x[1], x[2], x[3], axis);
         return concat({y, state}, axis);
       }},
      {"sosfilt", [](const Values& x, int axis) { return sosfilt(x[0], x[1], axis); }},
      {"sosfilt_state", [](const Values& x, int axis) {
         const auto [y, state] = sosfilt(x[0], x[1], x[2], axis);
         std::vector<Tensor> all = unstack(state);
         all.push_back(y);
         return concat(all, axis);
       }}};
  return all;
}

class Filters : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Filters, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(Filters, ValuesAndGradients) {
  const ReferenceCases data("filters");
  std::map<std::string, std::size_t> called;
  for (const json& c : data.list("cases.json")) {
    const std::string name = c.at("function");
    const std::size_t own = called[name]++;
    const auto inputs = data.operands(c, "inputs"), expected = data.operands(c, "outputs");
    if (device.is_gpu() && inputs[0].dtype == DType::f64) continue;
    // A software GPU spends most of its time on compiling shaders: it takes some of each function's cases.
    if ((device.is_gpu() && own % 12 != 0) || leave_out_problem()) continue;
    const int axis = c.at("attributes").at("axis");
    expect_values_and_gradients(
        data, c, [](const Tensor& t) { return t.defined(); },
        [&](const Values& x) { return functions().at(name)(x, axis); });
  }
  for (const auto& [name, f] : functions()) EXPECT_GT(called[name], 0u) << name << " has no case";
}

Tensor some(const Shape& shape) { return sin(arange(0, element_count(shape), 1, DType::f32) * 1.7f).reshape(shape); }
float largest(const Tensor& x) { return max(abs(x)).item<float>(); }

// A signal in two parts gives what it gives as a whole, and in front of it nothing is a state of zeros.
TEST_P(Filters, PartsOfASignal) {
  const Tensor x = some({2, 1300}), b = tensor({0.2f, 0.4f, 0.2f}), a = tensor({1.0f, -0.4f, 0.3f});
  const Tensor whole = lfilter(b, a, x);
  const auto first = lfilter(b, a, slice(x, 1, 0, 700), Tensor());
  const auto last = lfilter(b, a, slice(x, 1, 700, 1300), first.state);
  EXPECT_LT(largest(concat({first.y, last.y}, 1) - whole), 1e-5);
  const Tensor sos = tensor({{0.2f, 0.4f, 0.2f, 1.0f, -0.4f, 0.3f}, {1.0f, 0.5f, 0.0f, 1.0f, -0.5f, 0.0f}});
  const Tensor all = sosfilt(sos, x);
  const auto one = sosfilt(sos, slice(x, 1, 0, 33), Tensor()), rest = sosfilt(sos, slice(x, 1, 33, 1300), one.state);
  EXPECT_LT(largest(concat({one.y, rest.y}, 1) - all), 1e-5);
  // No sections change nothing, and no elements no state.
  const auto none = sosfilt(zeros({0, 6}), x, Tensor());
  EXPECT_EQ(largest(none.y - x), 0);
  EXPECT_EQ(none.state.shape(), (Shape{0, 2, 2}));
  const Tensor state = some({2, 2});
  EXPECT_EQ(largest(lfilter(b, a, zeros({2, 0}), state).state - state), 0);
}

TEST_P(Filters, CompiledMappedAndDifferentiatedTwice) {
  const Tensor x = some({3, 100}), b = tensor({0.5f, 0.25f}), a = tensor({1.0f, -0.5f, 0.125f});
  const auto f = [&](const Tensor& t) { return lfilter(b, a, t); };
  EXPECT_LT(largest(compile(f)(x) - f(x)), 1e-5);
  EXPECT_LT(largest(vmap(f)(x) - f(x)), 1e-5);
  // Of each row its own filter.
  const Tensor several = stack({a, a * 2, tensor({1.0f, 0.0f, -0.25f})});
  const Tensor mapped = vmap([&](const Tensor& t, const Tensor& own) { return lfilter(b, own, t); })(x, several);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(largest(mapped[{i}] - lfilter(b, several[{i}], x[{i}])), 1e-5);
  }
  const auto loss = [&](const Tensor& own) { return sum(square(lfilter(b, own, x))); };
  const Tensor v = tensor({0.5f, -1.0f, 0.25f});
  const float step = 1e-2f;
  const Tensor by_differences = (grad(loss)(a + v * step) - grad(loss)(a - v * step)) / (2 * step);
  const Tensor exact = hvp(loss)(a, v);
  EXPECT_LT(largest(by_differences - exact), 2e-2f * largest(exact));
}

// Among functions that fuse with it, against the cpu's values.
TEST_P(Filters, FusedWithNeighbours) {
  const auto f = [](const Tensor& x) {
    const Tensor b = tensor({0.5f, 0.25f}), a = tensor({1.0f, -0.5f, 0.125f});
    const Tensor y = tanh(lfilter(b, a, x * 0.5f + 1) * 2 - x);
    return lfilter(a, b * 4, y, 0) + sum(y, {0});
  };
  const auto gradient = grad([&](const Tensor& x) { return sum(square(f(x))); });
  const Tensor x = some({33, 257});
  const Tensor y = to(compile(f)(x), Device::cpu()), dx = to(compile(gradient)(x), Device::cpu());
  const DefaultDeviceScope there(Device::cpu());
  const Tensor x_there = to(x, Device::cpu()), expected = gradient(x_there);
  EXPECT_LT(largest(y - f(x_there)), 1e-4);
  EXPECT_LT(largest(dx - expected), 1e-4f * largest(expected));
}

TEST(FilterErrors, AreTyped) {
  const Tensor x = ones({2, 10}), b = ones({2}), a = ones({3}), sos = ones({2, 6});
  EXPECT_THROW(lfilter({}, a, x), InvalidArgument);
  EXPECT_THROW(lfilter(b, a, Tensor()), InvalidArgument);
  EXPECT_THAT(refused_by([&] { lfilter(ones({0}), a, x); }), HasSubstr("lfilter: b is f32 [0], expected a coeff"));
  EXPECT_THROW(lfilter(b, ones({0}), x), ShapeError);
  EXPECT_THROW(lfilter(ones({1, 2}), a, x), ShapeError);
  EXPECT_THROW(lfilter(b, a, ones({})), ShapeError);
  EXPECT_THROW(lfilter(b, a, x, 2), InvalidArgument);
  EXPECT_THAT(refused_by([&] { lfilter(b, a, x, ones({2, 3})); }),
              HasSubstr("lfilter: the state is f32 [2, 3], expected [2, 2]"));
  EXPECT_THROW(lfilter(b, a, x, ones({2})), ShapeError);
  EXPECT_THROW(lfilter(b, a, cast(x, DType::c64), ones({2, 2}, DType::f64)), TypeError);
  EXPECT_THROW(sosfilt(ones({2, 5}), x), ShapeError);
  EXPECT_THROW(sosfilt(ones({6}), x), ShapeError);
  EXPECT_THROW(sosfilt(sos, x, ones({1, 2, 2})), ShapeError);
  EXPECT_THROW(sosfilt(sos, x, ones({2, 2, 3})), ShapeError);
  EXPECT_THROW(sosfilt(sos, ones({})), ShapeError);
  // The host has the values of constants.
  const auto constant = [](const Shape& shape, const std::vector<float>& values) {
    return Graph::constant(TensorData::copy_of(DType::f32, shape, std::as_bytes(std::span(values))));
  };
  EXPECT_THAT(refused_by([&] { lfilter(b, constant({2}, {0, 1}), x); }), HasSubstr("lfilter: a[0] is 0"));
  EXPECT_THAT(refused_by([&] { sosfilt(constant({1, 6}, {1, 0, 0, 0, 1, 0}), x); }),
              HasSubstr("sosfilt: a[0] of section 0 is 0"));
}

}  // namespace
}  // namespace weft::test
