// Gradients of complex numbers, in PyTorch's convention: the cotangent of z = x + iy for a real L is dL/dx + i dL/dy,
// so that a holomorphic f pulls g back to g conj(f'(z)). Expected values are those formulas, in double.
#include <gmock/gmock.h>

#include <complex>

#include "support/on_device.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

using C = std::complex<double>;
using Single = std::complex<float>;
using Numbers = std::vector<C>;

const Numbers kZ = {{1, 2}, {-0.5, 1.5}, {0.25, -2}, {-1, -0.75}, {2, 0.5}, {0.75, -0.25}};
const Numbers kG = {{0.5, -1}, {2, 0.25}, {-1, 1}, {0.75, 0.5}, {-0.25, -2}, {1.5, 1}};

Tensor complex_tensor(const Shape& shape, const Numbers& values, std::int64_t count) {
  std::vector<Single> single;
  for (std::int64_t i = 0; i < count; ++i) single.emplace_back(values[static_cast<std::size_t>(i)]);
  return tensor(shape, single);
}

class ComplexDerivativesTest : public OnDevice {
 protected:
  static void expect(const Tensor& got, const Numbers& expected, std::string_view what) {
    ASSERT_EQ(got.dtype(), DType::c64) << what;
    const auto values = got.read<Single>();
    ASSERT_EQ(values.size(), expected.size()) << what;
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_LT(std::abs(C(values[i]) - expected[i]), 2e-5 * std::max(1.0, std::abs(expected[i])))
          << what << ", element " << i << ": " << values[i] << ", expected " << expected[i];
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, ComplexDerivativesTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(ComplexDerivativesTest, HolomorphicFunctions) {
  const C w(0.5, -1.5);
  const auto other = [&](const Tensor& z) { return broadcast_to(complex(tensor(0.5f), tensor(-1.5f)), z.shape()); };
  const struct {
    const char* name;
    std::function<Tensor(const Tensor&)> function;
    std::function<C(C)> derivative;
  } cases[] = {
      {"neg", [](const Tensor& z) { return -z; }, [](C) { return C(-1); }},
      {"square", [](const Tensor& z) { return square(z); }, [](C z) { return 2.0 * z; }},
      {"reciprocal", [](const Tensor& z) { return unary(ScalarOp::reciprocal, z); },
       [](C z) { return -1.0 / (z * z); }},
      {"exp", [](const Tensor& z) { return exp(z); }, [](C z) { return std::exp(z); }},
      {"add", [&](const Tensor& z) { return other(z) + z; }, [](C) { return C(1); }},
      {"sub", [&](const Tensor& z) { return other(z) - z; }, [](C) { return C(-1); }},
      {"mul", [&](const Tensor& z) { return z * other(z); }, [&](C) { return w; }},
      {"div", [&](const Tensor& z) { return z / other(z); }, [&](C) { return 1.0 / w; }},
      {"div_by", [&](const Tensor& z) { return other(z) / z; }, [&](C z) { return -w / (z * z); }},
      {"fma", [&](const Tensor& z) { return ternary(ScalarOp::fma, z, other(z), z); }, [&](C) { return w + 1.0; }},
      {"select", [&](const Tensor& z) { return select(greater(real(z), 0), z, other(z) * z); },
       [&](C z) { return z.real() > 0 ? C(1) : w; }},
      {"cube", [](const Tensor& z) { return z * z * z; }, [](C z) { return 3.0 * z * z; }},
  };
  const Tensor z = complex_tensor({6}, kZ, 6), g = complex_tensor({6}, kG, 6);
  for (const auto& c : cases) {
    Numbers expected, tangents;
    for (std::size_t i = 0; i < 6; ++i) {
      expected.push_back(kG[i] * std::conj(c.derivative(kZ[i])));
      tangents.push_back(kG[i] * c.derivative(kZ[i]));
    }
    expect(vjp(c.function)(z).second(g), expected, c.name);
    expect(jvp(c.function)(z, g).second, tangents, std::string(c.name) + ", forward mode");
  }
}

TEST_P(ComplexDerivativesTest, FunctionsOfParts) {
  const struct {
    const char* name;
    std::function<Tensor(const Tensor&)> function;
    std::function<C(C)> gradient;  // dL/dx + i dL/dy of the sum of results
  } cases[] = {
      {"real", [](const Tensor& z) { return real(z); }, [](C) { return C(1, 0); }},
      {"imag", [](const Tensor& z) { return imag(z); }, [](C) { return C(0, 1); }},
      {"abs", [](const Tensor& z) { return abs(z); }, [](C z) { return z / std::abs(z); }},
      {"angle", [](const Tensor& z) { return unary(ScalarOp::angle, z); },
       [](C z) { return C(0, 1) * z / std::norm(z); }},
      {"conj", [](const Tensor& z) { return real(z * conj(z)); }, [](C z) { return 2.0 * z; }},
      {"complex", [](const Tensor& z) { return real(complex(imag(z), real(z)) * z); },  // 0 everywhere
       [](C) { return C(0); }},
  };
  const Tensor z = complex_tensor({6}, kZ, 6);
  for (const auto& c : cases) {
    Numbers expected;
    for (const C& v : kZ) expected.push_back(c.gradient(v));
    const auto total = [&](const Tensor& x) { return sum(c.function(x)); };
    expect(grad(total)(z), expected, c.name);
  }
  expect(grad([](const Tensor& x) { return sum(abs(x)); })(complex_tensor({1}, {{0, 0}}, 1)), {{0, 0}}, "abs at 0");
}

TEST_P(ComplexDerivativesTest, Reductions) {
  const Tensor z = complex_tensor({2, 3}, kZ, 6), g = complex_tensor({2}, kG, 2);
  Numbers of_sum, of_mean, of_prod;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::size_t row = i / 3;
    C others = 1;
    for (std::size_t k = 3 * row; k < 3 * row + 3; ++k) others *= k == i ? C(1) : kZ[k];
    of_sum.push_back(kG[row]);
    of_mean.push_back(kG[row] / 3.0);
    of_prod.push_back(kG[row] * std::conj(others));
  }
  expect(vjp([](const Tensor& x) { return sum(x, {1}); })(z).second(g), of_sum, "sum");
  expect(vjp([](const Tensor& x) { return mean(x, {1}); })(z).second(g), of_mean, "mean");
  expect(vjp([](const Tensor& x) { return prod(x, {1}); })(z).second(g), of_prod, "prod");

  // With zeros: one, and two.
  const Numbers zeros = {{1, 2}, {0, 0}, {0.5, -1}, {0, 0}, {2, 1}, {0, 0}};
  const Numbers expected = {0, kG[0] * std::conj(zeros[0] * zeros[2]), 0, 0, 0, 0};
  expect(vjp([](const Tensor& x) { return prod(x, {1}); })(complex_tensor({2, 3}, zeros, 6)).second(g), expected,
         "prod with zeros");
}

TEST_P(ComplexDerivativesTest, Scans) {
  const Tensor z = complex_tensor({3}, kZ, 3), g = complex_tensor({3}, kG, 3);
  const C a = kZ[0], b = kZ[1], c = kZ[2];
  expect(vjp([](const Tensor& x) { return cumsum(x, 0); })(z).second(g), {kG[0] + kG[1] + kG[2], kG[1] + kG[2], kG[2]},
         "sum");
  expect(vjp([](const Tensor& x) { return scan(ScanKind::prod, x, 0); })(z).second(g),
         {kG[0] + kG[1] * std::conj(b) + kG[2] * std::conj(b * c), kG[1] * std::conj(a) + kG[2] * std::conj(a * c),
          kG[2] * std::conj(a * b)},
         "prod");
}

}  // namespace
}  // namespace weft::test
