// Numbers that operations have as attributes are doubles: what is computed in f64 sees all of their digits.
#include <gmock/gmock.h>

#include <cmath>

#include "support/on_device.h"
#include "weft/array.h"
#include "weft/attributes.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/kernels/attention.h"

namespace weft::test {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

// Small rows, so that epsilon counts; it is no f32.
constexpr double kEpsilon = 0.1;
const std::vector<double> kX = {0.01, 0.05, -0.02, 0.03};

double factor_of(bool centred) {
  double mean = 0, square = 0;
  for (const double v : kX) mean += v / 4;
  for (const double v : kX) square += (v - (centred ? mean : 0)) * (v - (centred ? mean : 0)) / 4;
  return 1 / std::sqrt(square + kEpsilon);
}
std::vector<double> normalised(bool centred) {
  double mean = 0;
  for (const double v : kX) mean += centred ? v / 4 : 0;
  std::vector<double> y;
  for (const double v : kX) y.push_back((v - mean) * factor_of(centred));
  return y;
}
// Of Σ w y for weights w = 1, 2, 3, 4.
std::vector<double> gradient(bool centred) {
  const std::vector<double> n = normalised(centred);
  double of_g = 0, of_gn = 0;
  for (int i = 0; i < 4; ++i)
    of_g += centred ? (i + 1) / 4.0 : 0, of_gn += (i + 1) * n[static_cast<std::size_t>(i)] / 4;
  std::vector<double> dx;
  for (int i = 0; i < 4; ++i) {
    dx.push_back(factor_of(centred) * (i + 1 - of_g - n[static_cast<std::size_t>(i)] * of_gn));
  }
  return dx;
}

class F64Attributes : public testing::Test {
 protected:
  F64Attributes() { set_default_device(Device::cpu()); }
  ~F64Attributes() override { set_default_device(before_); }

  using Function = std::function<Tensor(const Tensor&)>;
  void expect(const char* name, const Function& f, bool centred) {
    SCOPED_TRACE(name);
    const Tensor x = tensor(Shape{1, 4}, kX, DType::f64), w = tensor({1.0, 2.0, 3.0, 4.0}, DType::f64);
    EXPECT_THAT(f(x).to_vector<double>(), Pointwise(DoubleNear(1e-15), normalised(centred)));
    const auto loss = [&](const Tensor& v) { return sum(f(v) * w); };
    EXPECT_THAT(grad(loss)(x).to_vector<double>(), Pointwise(DoubleNear(1e-13), gradient(centred)));
    // In forward mode, which takes the decomposition's derivatives, and the second derivatives in both.
    const auto along = [&](const Tensor& v) {
      return jvp(loss)(v, tensor(Shape{1, 4}, {1.0, 0.0, 0.0, 0.0}, DType::f64)).second;
    };
    EXPECT_NEAR(along(x).item<double>(), gradient(centred)[0], 1e-13);
    const auto twice = [&](const Tensor& v) { return sum(grad(loss)(v) * w); };
    const double step = 1e-5;
    const Tensor e = tensor(Shape{1, 4}, {step, 0.0, 0.0, 0.0}, DType::f64);
    const double slope = (twice(x + e).item<double>() - twice(x - e).item<double>()) / (2 * step);
    EXPECT_NEAR(grad(twice)(x).to_vector<double>()[0], slope, 1e-8 * std::abs(slope));
  }

 private:
  Device before_ = default_device();
};

TEST_F(F64Attributes, OfNorms) {
  const auto ones = [](std::int64_t n) { return broadcast_to(tensor(1.0, DType::f64), {n}); };
  const auto as_channel = [](const Tensor& x) { return reshape(x, {1, 1, 4}); };
  const auto back = [](const Tensor& y) { return reshape(y, {1, 4}); };
  expect("layer_norm", [](const Tensor& x) { return layer_norm(x, {}, {}, kEpsilon); }, true);
  expect("layer_norm, scaled", [&](const Tensor& x) { return layer_norm(x, ones(4), {}, kEpsilon); }, true);
  expect("rms_norm", [](const Tensor& x) { return rms_norm(x, {}, kEpsilon); }, false);
  expect("rms_norm, scaled", [&](const Tensor& x) { return rms_norm(x, ones(4), kEpsilon); }, false);
  expect("group_norm", [&](const Tensor& x) { return back(group_norm(as_channel(x), {}, {}, 1, kEpsilon)); }, true);
  expect(
      "instance_norm", [&](const Tensor& x) { return back(instance_norm(as_channel(x), ones(1), {}, kEpsilon)); },
      true);
  expect(
      "batch_norm",
      [&](const Tensor& x) {
        const Tensor v = as_channel(x);
        return back(batch_norm(v, mean(v, {0, 2}), variance(v, {0, 2}), {}, {}, kEpsilon));
      },
      true);
  // As the compiler finds it among sums and products.
  expect(
      "a norm of single operations",
      [](const Tensor& x) {
        const Tensor d = x - mean(x, {-1}, true);
        return d / sqrt(mean(square(d), {-1}, true) + kEpsilon);
      },
      true);
}

// Texts of attributes, which caches and files of graphs are made of.
TEST_F(F64Attributes, HaveTheTextOfTheDouble) {
  EXPECT_EQ(to_text(kernels::AttentionOptions{.scale = 0.1}), "scale=0.1");
  const auto options = from_map<kernels::AttentionOptions>("attention", {{"scale", 0.1}});
  EXPECT_EQ(options.scale, 0.1);
}

}  // namespace
}  // namespace weft::test
