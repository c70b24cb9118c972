// Eigenvalues and eigenvectors of matrices of any kind, and matrix exponentials: values on every device against NumPy's
// and mpmath's, gradients against PyTorch's (tests/reference/eig.py), types and errors. Derivatives in general are in
// tests/derivatives.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/call.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/linalg.h"
#include "weft/random.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Number64 = std::complex<float>;

class EigTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, EigTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

// How far two sets are from each other: each number meets the nearest of those that are left.
double distance(std::span<const Number64> x, std::span<const Number64> y) {
  std::vector<Number64> left(y.begin(), y.end());
  double far = 0;
  for (const Number64 a : x) {
    if (std::isnan(a.real())) {
      if (std::ranges::none_of(left, [](Number64 b) { return std::isnan(b.real()); })) return INFINITY;
      continue;
    }
    const auto nearest = std::ranges::min_element(left, {}, [&](Number64 b) {
      return std::isnan(b.real())
                 ? std::numeric_limits<double>::max()
                 : std::hypot(static_cast<double>(a.real()) - b.real(), static_cast<double>(a.imag()) - b.imag());
    });
    far = std::max(far, std::hypot(static_cast<double>(a.real()) - nearest->real(),
                                   static_cast<double>(a.imag()) - nearest->imag()));
    left.erase(nearest);
  }
  return far;
}

TEST_P(EigTest, ValuesAreThoseOfOthers) {
  const ReferenceCases cases("eig");
  for (const json& c : cases.list("functions.json")) {
    const View input = cases.operands(c, "inputs")[0], expected = cases.operands(c, "outputs")[0];
    if (device.is_gpu() && (input.dtype == DType::f64 || leave_out_problem())) continue;
    const Tensor a = tensor_of(input);
    if (c.at("kernel") == "expm") {
      const Tensor y = expm(a);
      ASSERT_EQ(y.type(), (TensorType{expected.dtype, expected.shape()})) << c.dump();
      expect_close(read_view(contiguous(y)), expected, ReferenceCases::tolerance(c), c.dump());
      continue;
    }
    // As sets: rounding decides which of nearly equal real parts is first.
    const Tensor alone = eigvals(a), together = eig(a).values;
    ASSERT_EQ(alone.type(), (TensorType{DType::c64, expected.shape()})) << c.dump();
    const std::vector<Number64> all = tensor_of(expected).to_vector<Number64>();
    const std::int64_t n = expected.shape()[-1];
    const double bound = c.at("absolute");
    for (const Tensor& w : {alone, together}) {
      const std::vector<Number64> own = w.to_vector<Number64>();
      for (std::size_t first = 0; first < own.size(); first += static_cast<std::size_t>(n)) {
        const auto part = [&](const std::vector<Number64>& x) {
          return std::span(x).subspan(first, static_cast<std::size_t>(n));
        };
        EXPECT_LE(distance(part(own), part(all)), bound) << c.dump();
      }
    }
  }
}

// The functions of tests/reference/eig.py.
TEST_P(EigTest, GradientsArePyTorchs) {
  const ReferenceCases cases("eig");
  for (const json& c : cases.list("gradients.json")) {
    const View input = cases.operands(c, "inputs")[0], expected = cases.operands(c, "outputs")[0];
    const std::string name = c.at("kernel");
    const auto f = [&](const Tensor& a) {
      const std::int64_t n = a.shape()[-1];
      const Tensor all = linspace(-1, 2, 16, DType::f32), weights = slice(all, 0, 0, n);
      if (name == "cubes") {
        const Tensor w = eigvals(a);
        return sum(real(w * w * w));
      }
      if (name == "of_values") {
        const Tensor w = eigvals(a), x = real(w), y = imag(w);
        return sum(square(x) * weights) + sum(square(y) * weights) + sum(x * y);
      }
      const auto [w, v] = eig(a);
      if (name == "squares") return sum(square(abs(v)) * reshape(slice(all, 0, 0, n * n), {n, n})) + sum(real(w));
      return sum(square(abs(matmul(cast(expand_dims(weights, 0), DType::c64), v))) * weights);
    };
    const Tensor y = grad(f)(tensor_of(input));
    expect_close(read_view(contiguous(y)), expected, ReferenceCases::tolerance(c), c.dump());
  }
}

// Of a function of a matrix, which is by its eigenvalues what the exponential is by squaring.
TEST_P(EigTest, AFunctionOfTheEigenvaluesIsOneOfTheMatrix) {
  for (const DType type : {DType::f32, DType::c64}) {
    const Tensor x = random::normal({3, 5, 5}) * 0.5;
    const Tensor a = type == DType::c64 ? complex(x, x.T()) : x;
    const auto [w, v] = eig(a);
    const Tensor y = matmul(v * expand_dims(exp(w), -2), inv(v));
    EXPECT_LE(max(abs(y - cast(expm(a), DType::c64))).item<float>(), 1e-4);
    EXPECT_LE(max(abs(sum(w, -1) - cast(trace(a), DType::c64))).item<float>(), 1e-5);
  }
}

TEST_P(EigTest, BatchesAndCompiledFunctions) {
  const Tensor a = random::normal({2, 3, 4, 4});
  const auto [w, v] = eig(a);
  const Tensor mapped = vmap([](const Tensor& x) { return eigvals(x); })(a);
  EXPECT_EQ(max(abs(mapped - w)).item<float>(), 0);
  const Tensor compiled = compile([](const Tensor& x) { return eig(x).vectors; })(a);
  EXPECT_EQ(max(abs(compiled - v)).item<float>(), 0);
  EXPECT_LE(max(abs(vmap([](const Tensor& x) { return expm(x); })(a) - expm(a))).item<float>(), 1e-5);
  EXPECT_LE(max(abs(matmul(cast(a, DType::c64), v) - v * expand_dims(w, -2))).item<float>(), 1e-5);
}

// A matrix with NaN throws nothing, and changes no other one.
TEST_P(EigTest, MatricesThatAreNoNumbers) {
  const Tensor bad = eye(3) * std::numeric_limits<float>::quiet_NaN();
  const auto [w, v] = eig(stack({eye(3), bad}));
  const std::vector<Number64> values = w.to_vector<Number64>();
  EXPECT_EQ(values[2], Number64(1));
  EXPECT_TRUE(std::isnan(values[3].real()) && std::isnan(values[5].imag()));
  EXPECT_FALSE(any(is_finite(real(slice(v, 0, 1, 2)))).item<bool>());
  const Tensor y = expm(stack({eye(3) * 0, bad}));
  EXPECT_EQ(max(abs(slice(y, 0, 0, 1) - eye(3))).item<float>(), 0);
  EXPECT_FALSE(any(is_finite(slice(y, 0, 1, 2))).item<bool>());
}

// Values whose gradient needs the eigenvectors: the eigenproblem is computed once, with both.
TEST(EigGraph, IsComputedOnce) {
  Graph g;
  const Tensor a = g.input("a", DType::f32, {4, 4});
  const auto [y, gradient] = value_and_grad([](const Tensor& x) { return sum(square(real(eigvals(x)))); })(a);
  g.output("y", y);
  g.output("gradient", gradient);
  const std::string text = compile(g, Device::cpu()).report().graph;
  const std::size_t first = text.find(" eig");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find(" eig", first + 4), std::string::npos) << text;
}

class EigTypes : public testing::Test {
 protected:
  Graph g;
  const Tensor none, a = g.input("a", DType::f32, {2, 3, 3}), wide = g.input("w", DType::f32, {3, 4}),
                     half = g.input("h", DType::f16, {3, 3}), v = g.input("v", DType::f32, {3}),
                     c = g.input("c", DType::c64, {3, 3}), d = g.input("d", DType::f64, {3, 3}),
                     empty = g.input("e", DType::f32, {2, 0, 0});
};

TEST_F(EigTypes, AreInferred) {
  EXPECT_EQ(eig(a).values.type(), (TensorType{DType::c64, {2, 3}}));
  EXPECT_EQ(eig(a).vectors.type(), (TensorType{DType::c64, {2, 3, 3}}));
  EXPECT_EQ(eigvals(c).type(), (TensorType{DType::c64, {3}}));
  EXPECT_EQ(eigvals(empty).type(), (TensorType{DType::c64, {2, 0}}));
  EXPECT_EQ(expm(a).type(), a.type());
  EXPECT_EQ(expm(d).type(), d.type());
  EXPECT_EQ(expm(c).type(), c.type());
  EXPECT_EQ(expm(empty).type(), empty.type());
}

TEST_F(EigTypes, SaysWhatDoesNotFit) {
  const auto refused = [](auto&& call) { return refused_by(call); };
  const auto says = [](const char* text) { return HasSubstr(text); };
  EXPECT_THAT(refused([&] { eig(none); }), says("eig: the operand is an undefined Tensor"));
  EXPECT_THAT(refused([&] { eig(half); }), says("eig: a is f16 [3, 3]; expected f32 or c64: cast it"));
  EXPECT_THAT(refused([&] { eig(d); }), says("eig: a is f64 [3, 3]; expected f32 or c64: cast it"));
  EXPECT_THAT(refused([&] { eig(wide); }), says("eig: a is f32 [3, 4]; expected square matrices"));
  EXPECT_THAT(refused([&] { eigvals(v); }), says("eigvals: a is f32 [3], expected rank 2"));
  EXPECT_THAT(refused([&] { eigvals(d); }), says("eigvals: a is f64 [3, 3]"));
  EXPECT_THAT(refused([&] { expm(wide); }), says("expm: a is f32 [3, 4]; expected square matrices"));
  EXPECT_THAT(refused([&] { expm(half); }), says("expm: a is f16 [3, 3]"));
  EXPECT_THAT(refused([&] { expm(v); }), says("expm: a is f32 [3]"));
  const auto by_name = [&](std::vector<Tensor> x) { return refused([&] { call("eig", x); }); };
  EXPECT_THAT(by_name({wide}), says("eig: a is f32 [3, 4]"));
  EXPECT_THAT(by_name({half}), says("eig: "));
  EXPECT_THAT(by_name({}), says("eig"));
}

}  // namespace
}  // namespace weft::test
