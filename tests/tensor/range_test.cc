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
  int on_gpu = 100;              // the greatest there: kernels that square in f32
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
      {"deviation, of reduce", 1, [](const Tensor& x) { return reduce(ReduceKind::deviation, x, {0, 1}); }},
      {"deviation of bf16", 1, [](const Tensor& x) { return deviation(cast(x, DType::bf16), 1, 1, true); }},
      {"variance", 2, [](const Tensor& x) { return variance(x, 1); }, -40, 60},
      {"nanmean", 1, [](const Tensor& x) { return nanmean(with_nan(x), 1); }},
      {"nanvar", 2, [](const Tensor& x) { return nanvar(with_nan(x), 1); }, -60, 60},
      {"nanstd", 1, [](const Tensor& x) { return nanstd(with_nan(x), 1, 1); }},
      {"nanmedian", 1, [](const Tensor& x) { return nanmedian(with_nan(x), 1); }},
      {"average", 1, [=](const Tensor& x) { return average(x, weights, 1); }},
      {"average, by weights", 0, [=](const Tensor& x) { return average(other, abs(x), 1); }},
      {"cov", 2, [](const Tensor& x) { return cov(x); }, -40, 60},
      {"cov, by weights", 0, [=](const Tensor& x) { return cov(other, 1, {}, abs(slice(x, 0, 0, 1)).reshape({40})); }},
      {"corrcoef", 0, [](const Tensor& x) { return corrcoef(x); }},
      {"median", 1, [](const Tensor& x) { return median(x, 1); }},
      {"quantile", 1, [](const Tensor& x) { return quantile(x, {0.1, 0.37}, 1); }},
      {"ptp", 1, [](const Tensor& x) { return ptp(x, 1); }},
      {"histogram's edges", 1, [](const Tensor& x) { return histogram(x, 7).edges; }},
      {"histogram's counts", 0, [](const Tensor& x) { return histogram(x, 7).counts; }},
      {"histogram's density", -1, [](const Tensor& x) { return histogram(x, 7, {.density = true}).counts; }},
      {"histogram's weights", 0,
       [=](const Tensor& x) { return histogram(other, 7, {.weights = abs(x), .density = true}).counts; }},
      {"interp, of points", 0,
       [=](const Tensor& x) {
         const Tensor points = sort(flatten(x));
         return interp(points * 0.7F, points, broadcast_to(weights, {3, 40}).flatten());
       }},
      {"interp, of values", 1,
       [=](const Tensor& x) { return interp(positions * 0.9F, positions, slice(x, 0, 0, 1).reshape({40})); }},
      {"trapezoid", 1, [](const Tensor& x) { return trapezoid(x, 0.3); }},
      {"trapezoid, of coordinates", 1, [=](const Tensor& x) { return trapezoid(other, x); }},
      {"cumulative_trapezoid", 1, [](const Tensor& x) { return cumulative_trapezoid(x, 0.3); }},
      {"gradient", 1, [](const Tensor& x) { return gradient(x, 1, 0.3, EdgeOrder::second); }},
      {"gradient, of coordinates", -1,
       [=](const Tensor& x) { return gradient(other, 1, sort(slice(x, 0, 0, 1).reshape({40})), EdgeOrder::second); }},
      {"reduce l2", 1, [](const Tensor& x) { return reduce(ReduceKind::l2, x, 1); }},
      {"abs of c64", 1, [=](const Tensor& x) { return abs(complex(x, x * 0.3F)); }},
      {"quotient of c64", -1, [=](const Tensor& x) { return real(complex(other, other) / complex(x, x * 0.3F)); }},
      {"reciprocal of c64", -1, [=](const Tensor& x) { return real(reciprocal(complex(x, x * 0.3F))); }},
      {"hypot", 1, [](const Tensor& x) { return hypot(x, 3.0F * x); }},
      {"segment_mean", 1, [](const Tensor& x) { return segment_mean(x.T(), arange(40) % 3, 3); }},
      {"layer_norm", 0, [](const Tensor& x) { return layer_norm(x, {}, {}, 0); }, -100, 100, 40},
      {"rms_norm", 0, [](const Tensor& x) { return rms_norm(x, {}, 0); }, -100, 100, 40},
      {"group_norm", 0, [](const Tensor& x) { return group_norm(x.reshape({1, 4, 30}), {}, {}, 2, 0); }, -100, 100, 40},
      {"instance_norm", 0, [](const Tensor& x) { return instance_norm(x.reshape({1, 4, 30}), {}, {}, 0); }, -100, 100,
       40},
      {"dynamic_quantize", 1, [](const Tensor& x) { return dynamic_quantize(x).scale; }},
      {"dynamic_quantize's values", 0, [](const Tensor& x) { return dynamic_quantize(x).values; }},
      {"average_pool", 1, [](const Tensor& x) { return average_pool(x.reshape({1, 1, 120}), {.window = {6}}); }},
      // (Powers of pools are those of f32.)
      {"l2_pool", 1, [](const Tensor& x) { return l2_pool(x.reshape({1, 1, 120}), {.window = {6}}); }, -40, 40},
      {"lp_pool", 1, [](const Tensor& x) { return lp_pool(x.reshape({1, 1, 120}), 3, {.window = {6}}); }, -20, 20},
      {"global_lp_pool", 1, [](const Tensor& x) { return global_lp_pool(x.reshape({1, 1, 120}), 3); }},
      {"svdvals", 1, [](const Tensor& x) { return svdvals(x); }},
      {"qr", 1, [](const Tensor& x) { return abs(qr(x).r); }},
      {"qr's q", 0, [](const Tensor& x) { return abs(qr(x.T()).q); }},
      {"eigvalsh", 1, [](const Tensor& x) { return eigvalsh(slice(x, 1, 0, 3) + slice(x, 1, 0, 3).T()); }},
      {"cholesky", 0.5,
       [=](const Tensor& x) {
         return cholesky(eye(3) * broadcast_to(max(abs(x)), {3, 3}) + matmul(other, other.T()) * 0.0F);
       }},
      {"solve", -1, [=](const Tensor& x) { return solve(slice(x, 1, 0, 3), slice(other, 1, 0, 1)); }},
      {"inv", -1, [](const Tensor& x) { return inv(slice(x, 1, 0, 3)); }},
      {"pinv", -1, [](const Tensor& x) { return pinv(slice(x, 1, 0, 5)); }},
      {"lstsq", -1, [=](const Tensor& x) { return lstsq(x.T(), other.T()).solution; }},
      {"matrix_rank", 0, [](const Tensor& x) { return matrix_rank(x); }},
      {"condition_number", 0, [](const Tensor& x) { return condition_number(x); }},
      {"condition_number, fro", 0,
       [](const Tensor& x) { return condition_number(slice(x, 1, 0, 3), MatrixNorm::fro); }},
      {"fft", 1, [](const Tensor& x) { return real(fft(x)); }},
      {"ifft", 1, [](const Tensor& x) { return real(ifft(x)); }},
      {"dct", 1, [](const Tensor& x) { return dct(x); }},
      {"convolve", 1, [=](const Tensor& x) { return convolve(flatten(x), weights); }},
      {"mse_loss", 2, [=](const Tensor& x) { return mse_loss(x, x * 0.2F); }, -40, 60},
      {"multinomial", 0,
       [](const Tensor& x) {
         return random::multinomial({5}, 1000, abs(slice(x, 0, 0, 1)).reshape({40}), random::key(7));
       }},
      {"choice", 0,
       [](const Tensor& x) {
         return random::choice(40, {9}, {.replace = false, .weights = abs(slice(x, 0, 0, 1)).reshape({40})},
                               random::key(7));
       }},
      {"choice, with replacement", 0,
       [](const Tensor& x) {
         return random::choice(40, {90}, {.weights = abs(slice(x, 0, 0, 1)).reshape({40})}, random::key(7));
       }},
  };
  for (const double ord : {0.3, 1.0, 2.0, 3.0, 7.5, 60.0, -1.0, -2.0, -30.0}) {
    all.push_back({"vector_norm " + std::to_string(ord), 1, [=](const Tensor& x) { return vector_norm(x, ord, 1); }});
  }
  for (const MatrixNorm ord :
       {MatrixNorm::fro, MatrixNorm::one, MatrixNorm::minus_inf, MatrixNorm::two, MatrixNorm::nuc}) {
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
      if (device.is_gpu() && std::abs(e) > g.on_gpu) continue;
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

// Values at the ends of the range, by their formulas.
TEST_P(RangeTest, Moments) {
  const auto values = [](const Tensor& x) { return x.to_vector<double>(); };
  const auto near = [](double v, double relative = 1e-6) { return testing::DoubleNear(v, std::abs(v) * relative); };
  const auto f32 = [](std::initializer_list<float> list) {
    return tensor({static_cast<std::int64_t>(list.size())}, list);
  };
  EXPECT_THAT(values(nanmean(f32({3e38F, kNaN, 3e38F}))), ElementsAre(near(3e38)));
  EXPECT_THAT(values(nanstd(f32({-3e38F, 3e38F, kNaN}))), ElementsAre(near(3e38)));
  EXPECT_THAT(values(nanstd(f32({-3e38F, 3e38F, 3e38F}))), ElementsAre(near(std::sqrt(8.0) * 1e38)));
  EXPECT_THAT(values(nanstd(f32({1e-30F, -1e-30F, kNaN}), {}, 1)), ElementsAre(near(std::sqrt(2.0) * 1e-30)));
  EXPECT_THAT(values(nanvar(f32({1e-18F, -1e-18F, kNaN}))), ElementsAre(near(1e-36)));
  EXPECT_THAT(values(nanvar(f32({3e38F, -3e38F}))), ElementsAre(INFINITY));
  EXPECT_THAT(values(nanvar(f32({INFINITY, 1}))), ElementsAre(testing::NanSensitiveDoubleEq(NAN)));
  EXPECT_THAT(values(deviation(f32({1e19F, 2e19F, -4e19F}))), ElementsAre(near(2.6246693e19)));
  EXPECT_THAT(values(deviation(f32({1e-20F, 3e-20F}))), ElementsAre(near(1e-20)));
  EXPECT_THAT(values(deviation(f32({-3e38F, 3e38F}), 0, 0, true)), ElementsAre(near(3e38)));
  const auto whole = [](std::uint64_t n) { return full({8}, n, DType::u64); };
  EXPECT_THAT(values(deviation(concat({whole(std::uint64_t{1} << 63), whole(0)}))),
              ElementsAre(near(std::ldexp(1.0, 62))));
  EXPECT_THAT(values(deviation(f32({INFINITY, 1}))), ElementsAre(testing::NanSensitiveDoubleEq(NAN)));
  EXPECT_THAT(values(deviation(f32({}))), ElementsAre(testing::NanSensitiveDoubleEq(NAN)));
  EXPECT_EQ(deviation(zeros({0, 2}), 1).shape(), (Shape{0}));
  const auto slope = grad([](const Tensor& t) { return deviation(t); });
  EXPECT_THAT(values(slope(f32({1e30F, 3e30F}))), ElementsAre(near(-0.5), near(0.5)));
  EXPECT_THAT(values(slope(f32({7e30F, 7e30F}))), ElementsAre(0, 0));
  // The rounding error of a large mean takes no part.
  EXPECT_THAT(values(nanvar(f32({16777216, kNaN, 16777218, 16777220, 16777222}))), ElementsAre(near(5)));
  EXPECT_THAT(values(average(f32({3e38F, 3e38F}), f32({1, 3}))), ElementsAre(near(3e38)));
  EXPECT_THAT(values(average(f32({1, 2}), f32({3e38F, 3e38F}))), ElementsAre(near(1.5)));
  EXPECT_THAT(values(average(f32({1e-25F, 3e-25F}), f32({1e-25F, 1e-25F}))), ElementsAre(near(2e-25)));
  // NumPy's corrcoef([[1, 2, 4], [2, 1, 5]]), and cov.
  const Tensor x = tensor({2, 3}, {1, 2, 4, 2, 1, 5});
  for (const float scale : {1e20F, 1e-25F, 1.0F, 6e37F}) {
    EXPECT_THAT(values(corrcoef(x * scale)),
                ElementsAre(near(1), near(0.8386278693775346), near(0.8386278693775346), near(1)))
        << scale;
  }
  const Tensor apart = x * tensor({2, 1}, {1e30F, 1e-30F});
  EXPECT_THAT(values(cov(apart)), ElementsAre(INFINITY, near(8.0 / 3), near(8.0 / 3), testing::Lt(1e-38)));
  EXPECT_THAT(values(cov(x, 1, {}, f32({3e38F, 3e38F, 3e38F}))),
              ElementsAre(near(7.0 / 3), near(8.0 / 3), near(8.0 / 3), near(13.0 / 3)));
}

// A divisor is 0 where the correction is more than the elements, as NumPy's var has it.
TEST_P(RangeTest, CorrectionsPastTheElements) {
  const Tensor x = tensor({2, 3}, {1, 2, 4, 5, 5, 5});
  const auto is_nan = testing::NanSensitiveFloatEq(kNaN);
  using Moment = Tensor (*)(const Operand&, const Axes&, double, bool);
  for (const Moment f : {Moment(variance), Moment(deviation), Moment(nanvar), Moment(nanstd)}) {
    for (const double correction : {3.0, 4.0, 1e40}) {
      EXPECT_THAT(f(x, 1, correction, false).to_vector<float>(), ElementsAre(INFINITY, is_nan)) << correction;
    }
    for (const double wrong : {-1.0, -1e-300, std::nan("")}) {
      EXPECT_THROW(f(x, 1, wrong, false), InvalidArgument) << wrong;
      EXPECT_THROW(f(cast(x, DType::i32), 1, wrong, false), InvalidArgument) << wrong;
    }
  }
  EXPECT_THROW(cov(x, -1), InvalidArgument);
  EXPECT_THROW(cov(x, std::nan("")), InvalidArgument);
}

// Distances are numbers of f64, of which f32 has not all.
TEST_P(RangeTest, DistancesThatF32DoesNotHave) {
  const auto f32 = [](std::initializer_list<float> list) {
    return tensor({static_cast<std::int64_t>(list.size())}, list);
  };
  const auto near = [](double v) { return testing::DoubleNear(v, std::abs(v) * 1e-6); };
  const auto values = [](const Tensor& x) { return x.to_vector<double>(); };
  EXPECT_THAT(values(trapezoid(f32({1e-10F, 2e-10F}), 1e40)), ElementsAre(near(1.5e30)));
  EXPECT_THAT(values(trapezoid(f32({1e20F, 2e20F}), -1e-50)), ElementsAre(near(-1.5e-30)));
  EXPECT_THAT(values(trapezoid(f32({1e-10F, 2e-10F, 4e-10F}), 1e40)), ElementsAre(near(4.5e30)));
  EXPECT_THAT(values(cumulative_trapezoid(f32({1e-10F, 2e-10F, 3e-10F}), 1e40)), ElementsAre(near(1.5e30), near(4e30)));
  EXPECT_THAT(values(gradient(f32({1e30F, 2e30F, 4e30F}), 0, 1e40)),
              ElementsAre(near(1e-10), near(1.5e-10), near(2e-10)));
  EXPECT_THAT(values(gradient(f32({1e-30F, 2e-30F, 4e-30F}), 0, 1e-50)),
              ElementsAre(near(1e20), near(1.5e20), near(2e20)));
  EXPECT_THAT(values(gradient(f32({1e30F, 2e30F, 4e30F}), 0, 3e38)),
              ElementsAre(near(1e-8 / 3), near(1.5e-8 / 3), near(2e-8 / 3)));
  EXPECT_THAT(values(gradient(f32({1e30F, 2e30F, 4e30F}), 0, -1e40, EdgeOrder::second)),
              ElementsAre(near(-0.5e-10), near(-1.5e-10), near(-2.5e-10)));
  EXPECT_THAT(values(real(trapezoid(complex(f32({1e-10F, 2e-10F}), f32({0, 0})), 1e40))), ElementsAre(near(1.5e30)));
  // Whatever the number, 0 stays 0 and an infinity infinite.
  for (const double distance : {1e40, 1e300, 1e-50, 1e-300}) {
    EXPECT_THAT(values(trapezoid(f32({0, 0}), distance)), ElementsAre(0)) << distance;
    EXPECT_THAT(values(trapezoid(f32({INFINITY, 1}), distance)), ElementsAre(INFINITY)) << distance;
    EXPECT_THAT(values(gradient(f32({1, 1}), 0, distance)), ElementsAre(0, 0)) << distance;
  }
  EXPECT_THAT(values(trapezoid(f32({1, 1}), 1e300)), ElementsAre(INFINITY));
  EXPECT_THAT(values(trapezoid(f32({1, 1}), 1e-300)), ElementsAre(0));
  EXPECT_THAT(values(hadamard_transform(f32({1e-20F, 1e-20F}), 1e45)), ElementsAre(near(2e25), 0));
  EXPECT_THAT(values(fftfreq(3, 1e-45)), ElementsAre(0, INFINITY, -INFINITY));
}

// Coordinates whose span f32 does not hold.
TEST_P(RangeTest, GradientsAtCoordinatesFarApart) {
  const auto f32 = [](std::initializer_list<float> list) {
    return tensor({static_cast<std::int64_t>(list.size())}, list);
  };
  const auto near = [](double v) { return testing::DoubleNear(v, std::abs(v) * 1e-6); };
  const auto of = [](const Tensor& f, const Tensor& at, EdgeOrder edges) {
    return gradient(f, 0, at, edges).to_vector<double>();
  };
  const Tensor f = f32({1e38F, 2e38F, 3e38F}), far = f32({-3e38F, 0, 3e38F});
  for (const EdgeOrder edges : {EdgeOrder::first, EdgeOrder::second}) {
    EXPECT_THAT(of(f, far, edges), testing::Each(near(1.0 / 3)));
    EXPECT_THAT(of(flip(f), flip(far), edges), testing::Each(near(1.0 / 3)));
    EXPECT_THAT(of(f32({-3e38F, 0, 3e38F}), far, edges), testing::Each(near(1)));
    // (Each distance is past the range, too.)
    EXPECT_THAT(of(f32({-30, 30, -30}), f32({-3e38F, 3e38F, -3e38F}), EdgeOrder::first)[0], near(1e-37));
    EXPECT_THAT(of(f32({0, 1e38F, 1e38F, 1e38F}), f32({-3e38F, 3e38F, 3.1e38F, 3.2e38F}), edges)[3],
                testing::DoubleNear(0, 1e-7));
  }
  // numpy.gradient([0, 1, 2.5, 3], [-3, -1, 0, 3], edge_order=2), of numbers 1e38 times as large; slopes are up to 1.5.
  const auto of_slopes = [](double v) { return testing::DoubleNear(v, 1e-6); };
  EXPECT_THAT(
      of(f32({0, 1e38F, 2.5e38F, 3e38F}), f32({-3e38F, -1e38F, 0, 3e38F}), EdgeOrder::second),
      ElementsAre(of_slopes(-0.166666667), of_slopes(1.16666667), of_slopes(1.16666667), of_slopes(-0.833333333)));
}

TEST_P(RangeTest, Norms) {
  const auto norm = [](std::initializer_list<float> list, double ord) {
    return vector_norm(tensor({static_cast<std::int64_t>(list.size())}, list), ord).item<double>();
  };
  const auto near = [](double v) { return testing::DoubleNear(v, std::abs(v) * 3e-6); };
  EXPECT_THAT(norm({1e15F, 1e15F}, 3), near(std::cbrt(2.0) * 1e15));
  EXPECT_THAT(norm({1e-25F, 1}, -2), near(1e-25));
  EXPECT_THAT(norm({3e37F, -4e37F}, 2), near(5e37));
  EXPECT_THAT(norm({3e-37F, -4e-37F}, 2), near(5e-37));
  EXPECT_THAT(norm({3e38F, 1e38F}, 60), near(3e38));
  EXPECT_THAT(norm({1e-30F, 1e-30F, 0}, 0.5), near(4e-30));
  EXPECT_THAT(norm({3e38F, 3e38F}, -0.5), near(0.75e38));
  EXPECT_EQ(norm({0, 1}, -3), 0);
  EXPECT_EQ(norm({0, 0}, 3), 0);
  EXPECT_EQ(norm({INFINITY, 1}, 3), INFINITY);
  EXPECT_EQ(norm({INFINITY, INFINITY}, -3), INFINITY);
  EXPECT_EQ(norm({INFINITY, 0}, 2), INFINITY);
  EXPECT_TRUE(std::isnan(norm({INFINITY, kNaN}, 2)));
  EXPECT_TRUE(std::isnan(norm({1, kNaN}, 3)));
  EXPECT_EQ(norm({}, 3), 0);
  EXPECT_EQ(norm({}, -3), INFINITY);
  // Many, in splits of a row, of which one is large.
  const Tensor many = full({300000}, 1e-25F), one = concat({many, tensor({1}, {1e30F})});
  EXPECT_THAT(vector_norm(many).item<double>(), near(std::sqrt(300000.0) * 1e-25));
  EXPECT_THAT(vector_norm(one).item<double>(), near(1e30));
  EXPECT_THAT(vector_norm(full({700, 500}, 1e25F), 2, 0).to_vector<double>(),
              testing::Each(near(std::sqrt(700.0) * 1e25)));
  EXPECT_THAT(global_lp_pool(full({1, 1, 4}, 1e20F), 3).item<double>(), near(std::cbrt(4.0) * 1e20));
  // Gradients are those of any scale.
  const auto slope = [](const Tensor& x) {
    return grad([](const Tensor& t) { return vector_norm(t, 3); })(x).to_vector<double>();
  };
  EXPECT_THAT(slope(tensor({2}, {1e30F, 2e30F})),
              ElementsAre(near(std::pow(9, -2.0 / 3)), near(4 * std::pow(9, -2.0 / 3))));
  if (device.is_gpu()) return;
  const Tensor wide = tensor({2}, std::vector<double>{3e200, -4e200});
  EXPECT_DOUBLE_EQ(vector_norm(wide).item<double>(), 5e200);
  EXPECT_DOUBLE_EQ(vector_norm(wide * 1e-300 * 1e-200).item<double>(), 5e-300);
  EXPECT_DOUBLE_EQ(vector_norm(concat({wide, wide * 1e-300})).item<double>(), 5e200);
  EXPECT_NEAR(nanstd(wide).item<double>() / 3.5e200, 1, 1e-14);
}

TEST_P(RangeTest, PointsBetween) {
  const auto f32 = [](std::initializer_list<float> list) {
    return tensor({static_cast<std::int64_t>(list.size())}, list);
  };
  const auto near = [](double v) { return testing::DoubleNear(v, std::abs(v) * 1e-6); };
  EXPECT_EQ(median(f32({-1, 1.0000001F})).item<float>(), 5.9604645e-8F);
  EXPECT_EQ(median(f32({3e38F, 3.2e38F})).item<float>(), 3.1e38F);
  EXPECT_EQ(nanmedian(f32({-1, kNaN, 1.0000001F})).item<float>(), 5.9604645e-8F);
  EXPECT_THAT(quantile(f32({-3e38F, 3e38F}), 0.25).item<double>(), near(-1.5e38));
  EXPECT_EQ(lerp(f32({-3e38F}), 3e38F, 0.5F).item<float>(), 0);
  EXPECT_THAT(lerp(f32({-3e38F}), 3e38F, 0.25F).item<double>(), near(-1.5e38));
  EXPECT_THAT(interp(f32({1e38F}), f32({-3e38F, 3e38F}), f32({0, 1})).item<double>(), near(2.0 / 3));
  EXPECT_THAT(interp(f32({0, 1}), f32({-1, 1}), f32({-3e38F, 3e38F})).to_vector<float>(), ElementsAre(0, 3e38F));
  EXPECT_THAT(trapezoid(f32({3e38F, 3e38F}), 1e-3).item<double>(), near(3e35));
  EXPECT_THAT(trapezoid(f32({1e-30F, 1e-30F}), f32({-3e38F, 3e38F})).item<double>(), near(6e8));
  EXPECT_THAT(trapezoid(f32({3e38F, -3e38F}), f32({0, 10})).item<double>(), 0);
  EXPECT_THAT(gradient(f32({-3e38F, 0, 3e38F}), 0, 10).to_vector<double>(),
              ElementsAre(near(3e37), near(3e37), near(3e37)));
  const auto [counts, edges] = histogram(f32({-3e38F, 1, 3e38F}), 4);
  EXPECT_THAT(counts.to_vector<int>(), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(edges.to_vector<double>(), ElementsAre(near(-3e38), near(-1.5e38), near(0), near(1.5e38), near(3e38)));
  const auto dense = histogram(f32({-3e38F, 1, 3e38F}), f32({-3e38F, 3e38F}), {.density = true}).counts;
  EXPECT_THAT(dense.item<double>(), testing::DoubleNear(1 / 6e38, 1.2e-38));
  EXPECT_THAT(linspace(-3e38, 3e38, 5).to_vector<float>(), ElementsAre(-3e38F, -1.5e38F, 0, 1.5e38F, 3e38F));
  EXPECT_THAT(dynamic_quantize(f32({-3e38F, 3e38F})).scale.item<double>(), near(6e38 / 255));
  EXPECT_THROW(ptp(zeros({0})), ShapeError);
  EXPECT_THROW(ptp(zeros({2, 0}), 1), ShapeError);
  EXPECT_EQ(ptp(zeros({0, 2}), 1).shape(), (Shape{0}));
  if (device.is_gpu()) return;
  EXPECT_THAT(linspace(-1.7e308, 1.7e308, 5, DType::f64).to_vector<double>(),
              ElementsAre(-1.7e308, -0.85e308, 0, 0.85e308, 1.7e308));
  EXPECT_THAT(histogram(zeros({1}, DType::f64), 2, {.range = std::pair(-1.7e308, 1.7e308)}).counts.to_vector<int>(),
              ElementsAre(0, 1));
  EXPECT_DOUBLE_EQ(median(tensor({2}, std::vector<double>{1.6e308, 1.7e308})).item<double>(), 1.65e308);
  EXPECT_EQ(median(tensor({2}, std::vector<double>{5e-324, 5e-324})).item<double>(), 5e-324);
}

// Values of mpmath. Where results are normal numbers no intermediate leaves the range of these.
TEST_P(RangeTest, Polygamma) {
  struct Value {
    int order;
    double x, y;
  };
  constexpr Value kValues[] = {{1, 0.00100000005, 1000001.55},
                               {1, 60, 0.0168063271},
                               {1, 5000, 0.000200020001},
                               {1, 9.99999998e+18, 1e-19},
                               {1, 1.00000002e+30, 9.99999985e-31},
                               {2, 0.00100000005, -1.99999972e+09},
                               {2, 700, -2.04373386e-06},
                               {2, 1e+09, -1e-18},
                               {3, 0.00100000005, 5.99999886e+12},
                               {3, 20000, 2.50018751e-13},
                               {3, 1e+09, 2e-27},
                               {9, 0.00100000005, 3.62879828e+35},
                               {9, 0.699999988, 12848255.9},
                               {9, 3, 6.53642238},
                               {9, 60, 4.30931323e-12},
                               {9, 700, 1.0056057e-21},
                               {9, 5000, 2.06624256e-29},
                               {9, 6000, 4.00391601e-30},
                               {9, 9000, 1.04125014e-31},
                               {9, 20000, 7.87677202e-35},
                               {10, 0.699999988, -183531194},
                               {10, 60, -6.5167563e-13},
                               {10, 700, -1.29384358e-23},
                               {10, 5000, -3.71960845e-32},
                               {10, 6000, -6.00637441e-33},
                               {10, 9000, -1.04130798e-34},
                               {10, 20000, -3.54463602e-38}};
  for (const auto& [order, x, y] : kValues) {
    const double got = polygamma(order, tensor({1}, {static_cast<float>(x)})).item<double>();
    EXPECT_NEAR(got / y, 1, 4e-6) << order << " " << x;
    if (device.is_gpu()) continue;
    const double exact =
        polygamma(order, tensor({1}, std::vector<double>{static_cast<double>(static_cast<float>(x))})).item<double>();
    EXPECT_NEAR(exact / y, 1, 2e-8) << order << " " << x << ", as f64";
  }
}

}  // namespace
}  // namespace weft::test
