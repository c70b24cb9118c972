// Numbers of every size: what grows with its operands by a power does so to the ends of the range, on every device.
// Scaling by powers of two is exact, so that a function is its own reference; values at the very ends are those of the
// formulas.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/on_device.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/fft.h"
#include "weft/linalg.h"
#include "weft/losses.h"
#include "weft/numeric.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/random.h"
#include "weft/segments.h"
#include "weft/signal.h"
#include "weft/special.h"
#include "weft/statistics.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using Tensors = std::vector<Tensor>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// f is of `degree` in its first operand: f(s · x, …) = s^degree · f(x, …).
struct Growing {
  std::string name;
  double degree;
  std::function<Tensor(const Tensor&)> f;
  int least = -100, most = 100;  // exponents of s
};

Tensor numbers(const Shape& shape, std::uint64_t seed) {
  return random::uniform(shape, -1, 1, DType::f32, random::key(seed));
}
Tensor with_nan(const Tensor& x) { return select(arange(x.size()).reshape(x.shape()) % 3 == 1, kNaN, x); }

std::vector<Growing> growing() {
  const Tensor weights = random::uniform({40}, 0.5, 2, DType::f32, random::key(2)), other = numbers({3, 40}, 3);
  const Tensor positions = cumsum(abs(numbers({40}, 4)) + 0.01F, 0);
  std::vector<Growing> all = {
      {"mean", 1, [](const Tensor& x) { return mean(x, 1); }},
      {"deviation", 1, [](const Tensor& x) { return deviation(x, 1); }},
      {"variance", 2, [](const Tensor& x) { return variance(x, 1); }, -60, 60},
      {"nanmean", 1, [](const Tensor& x) { return nanmean(with_nan(x), 1); }},
      {"nanvar", 2, [](const Tensor& x) { return nanvar(with_nan(x), 1); }, -60, 60},
      {"nanstd", 1, [](const Tensor& x) { return nanstd(with_nan(x), 1, 1); }},
      {"nanmedian", 1, [](const Tensor& x) { return nanmedian(with_nan(x), 1); }},
      {"average", 1, [=](const Tensor& x) { return average(x, weights, 1); }},
      {"average, by weights", 0, [=](const Tensor& x) { return average(other, abs(x), 1); }},
      {"cov", 2, [](const Tensor& x) { return cov(x); }, -60, 60},
      {"cov, by weights", 0, [=](const Tensor& x) { return cov(other, 1, {}, abs(slice(x, 0, 0, 1)).reshape({40})); }},
      {"corrcoef", 0, [](const Tensor& x) { return corrcoef(x); }},
      {"median", 1, [](const Tensor& x) { return median(x, 1); }},
      {"quantile", 1, [](const Tensor& x) { return quantile(x, {0.1, 0.37}, 1); }},
      {"ptp", 1, [](const Tensor& x) { return ptp(x, 1); }},
      {"histogram's edges", 1, [](const Tensor& x) { return histogram(x, 7).edges; }},
      {"histogram's counts", 0, [](const Tensor& x) { return histogram(x, 7).counts; }},
      {"histogram's density", -1, [](const Tensor& x) { return histogram(x, 7, {.density = true}).counts; }},
      {"histogram's weights", 0, [=](const Tensor& x) {
         return histogram(other, 7, {.weights = abs(x), .density = true}).counts;
       }},
      {"interp, of points", 0, [=](const Tensor& x) {
         const Tensor points = sort(flatten(x));
         return interp(points * 0.7F, points, broadcast_to(weights, {3, 40}).flatten());
       }},
      {"interp, of values", 1, [=](const Tensor& x) {
         return interp(positions * 0.9F, positions, slice(x, 0, 0, 1).reshape({40}));
       }},
      {"trapezoid", 1, [](const Tensor& x) { return trapezoid(x, 0.3); }},
      {"trapezoid, of coordinates", 1, [=](const Tensor& x) { return trapezoid(other, x); }},
      {"cumulative_trapezoid", 1, [](const Tensor& x) { return cumulative_trapezoid(x, 0.3); }},
      {"gradient", 1, [](const Tensor& x) { return gradient(x, 1, 0.3, EdgeOrder::second); }},
      {"gradient, of coordinates", -1, [=](const Tensor& x) {
         return gradient(other, 1, sort(slice(x, 0, 0, 1).reshape({40})), EdgeOrder::second);
       }},
      {"reduce l2", 1, [](const Tensor& x) { return reduce(ReduceKind::l2, x, 1); }},
      {"abs of c64", 1, [=](const Tensor& x) { return abs(complex(x, x * 0.3F)); }},
      {"quotient of c64", -1, [=](const Tensor& x) { return real(complex(other, other) / complex(x, x * 0.3F)); }},
      {"reciprocal of c64", -1, [=](const Tensor& x) { return real(reciprocal(complex(x, x * 0.3F))); }},
      {"hypot", 1, [](const Tensor& x) { return hypot(x, 3.0F * x); }},
      {"segment_mean", 1, [](const Tensor& x) { return segment_mean(x.T(), arange(40) % 3, 3); }},
      {"layer_norm", 0, [](const Tensor& x) { return layer_norm(x, {}, {}, 0); }},
      {"rms_norm", 0, [](const Tensor& x) { return rms_norm(x, {}, 0); }},
      {"group_norm", 0, [](const Tensor& x) { return group_norm(x.reshape({1, 4, 30}), {}, {}, 2, 0); }},
      {"instance_norm", 0, [](const Tensor& x) { return instance_norm(x.reshape({1, 4, 30}), {}, {}, 0); }},
      {"dynamic_quantize", 1, [](const Tensor& x) { return dynamic_quantize(x).scale; }},
      {"dynamic_quantize's values", 0, [](const Tensor& x) { return dynamic_quantize(x).values; }},
      {"average_pool", 1, [](const Tensor& x) { return average_pool(x.reshape({1, 1, 120}), {.window = {6}}); }},
      {"l2_pool", 1, [](const Tensor& x) { return l2_pool(x.reshape({1, 1, 120}), {.window = {6}}); }},
      {"lp_pool", 1, [](const Tensor& x) { return lp_pool(x.reshape({1, 1, 120}), 3, {.window = {6}}); }},
      {"global_lp_pool", 1, [](const Tensor& x) { return global_lp_pool(x.reshape({1, 1, 120}), 3); }},
      {"svdvals", 1, [](const Tensor& x) { return svdvals(x); }},
      {"qr", 1, [](const Tensor& x) { return abs(qr(x).r); }},
      {"qr's q", 0, [](const Tensor& x) { return abs(qr(x.T()).q); }},
      {"eigvalsh", 1, [](const Tensor& x) { return eigvalsh(slice(x, 1, 0, 3) + slice(x, 1, 0, 3).T()); }},
      {"cholesky", 0.5, [=](const Tensor& x) {
         return cholesky(eye(3) * broadcast_to(max(abs(x)), {3, 3}) + matmul(other, other.T()) * 0.0F);
       }},
      {"solve", -1, [=](const Tensor& x) { return solve(slice(x, 1, 0, 3), slice(other, 1, 0, 1)); }},
      {"inv", -1, [](const Tensor& x) { return inv(slice(x, 1, 0, 3)); }},
      {"pinv", -1, [](const Tensor& x) { return pinv(slice(x, 1, 0, 5)); }},
      {"lstsq", -1, [=](const Tensor& x) { return lstsq(x.T(), other.T()).solution; }},
      {"matrix_rank", 0, [](const Tensor& x) { return matrix_rank(x); }},
      {"condition_number", 0, [](const Tensor& x) { return condition_number(x); }},
      {"condition_number, fro", 0, [](const Tensor& x) {
         return condition_number(slice(x, 1, 0, 3), MatrixNorm::fro);
       }},
      {"fft", 1, [](const Tensor& x) { return real(fft(x)); }},
      {"ifft", 1, [](const Tensor& x) { return real(ifft(x)); }},
      {"dct", 1, [](const Tensor& x) { return dct(x); }},
      {"convolve", 1, [=](const Tensor& x) { return convolve(flatten(x), weights); }},
      {"mse_loss", 2, [=](const Tensor& x) { return mse_loss(x, x * 0.2F); }, -60, 60},
      {"multinomial", 0, [](const Tensor& x) {
         return random::multinomial({5}, 1000, abs(slice(x, 0, 0, 1)).reshape({40}), random::key(7));
       }},
      {"choice", 0, [](const Tensor& x) {
         return random::choice(40, {9}, {.replace = false, .weights = abs(slice(x, 0, 0, 1)).reshape({40})},
                               random::key(7));
       }},
      {"choice, with replacement", 0, [](const Tensor& x) {
         return random::choice(40, {90}, {.weights = abs(slice(x, 0, 0, 1)).reshape({40})}, random::key(7));
       }},
  };
  for (const double ord : {0.3, 1.0, 2.0, 3.0, 7.5, 60.0, -1.0, -2.0, -30.0}) {
    all.push_back({"vector_norm " + std::to_string(ord), 1, [=](const Tensor& x) { return vector_norm(x, ord, 1); }});
  }
  for (const MatrixNorm ord : {MatrixNorm::fro, MatrixNorm::one, MatrixNorm::minus_inf, MatrixNorm::two, MatrixNorm::nuc}) {
    all.push_back({"matrix_norm " + std::to_string(static_cast<int>(ord)), 1,
                   [=](const Tensor& x) { return matrix_norm(x, ord); }});
  }
  return all;
}

class RangeTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, RangeTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(RangeTest, FunctionsGrowWithTheirOperands) {
  const Tensor x = numbers({3, 40}, 1);
  for (const Growing& g : growing()) {
    const auto base = g.f(x).to_vector<double>();
    double size = 0;
    for (const double v : base) size = std::max(size, std::abs(v));
    for (int e = g.least; e <= g.most; e += 20) {
      const auto y = g.f(x * std::ldexp(1.0F, e)).to_vector<double>();
      ASSERT_EQ(y.size(), base.size()) << g.name;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double scaled = std::ldexp(y[i], static_cast<int>(-g.degree * e));
        if (std::abs(scaled - base[i]) <= 2e-5 * size) continue;
        ADD_FAILURE() << g.name << " of numbers times 2^" << e << ": element " << i << " is " << y[i] << ", times 2^"
                      << -g.degree * e << " " << scaled << ", expected " << base[i];
        break;
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
