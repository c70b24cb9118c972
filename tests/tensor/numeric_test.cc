// Numerical and special functions against NumPy and SciPy (tests/reference/numeric.py), derivatives, what they refuse.
#include "weft/numeric.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "support/function_cases.h"
#include "support/on_device.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/indexing.h"
#include "weft/special.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsNan;
using testing::Not;

std::optional<double> given(const ArrayCall& c, const char* name) {
  return c.arguments.contains(name) ? std::optional(c.arguments.at(name).get<double>()) : std::nullopt;
}
ConvolveMode mode_of(const ArrayCall& c) {
  static const std::map<std::string, ConvolveMode> kNames{
      {"full", ConvolveMode::full}, {"same", ConvolveMode::same}, {"valid", ConvolveMode::valid}};
  return kNames.at(c.arguments.at("mode").get<std::string>());
}

const FunctionTable& numeric() {
  static const FunctionTable all = [] {
    FunctionTable table;
    table["interp"] = [](const ArrayCall& c) {
      return std::vector{interp(c.tensors[0], c.tensors[1], c.tensors[2],
                                {.left = given(c, "left"), .right = given(c, "right"), .period = given(c, "period")})};
    };
    table["trapezoid"] = [](const ArrayCall& c) {
      const int axis = argument(c, "axis", -1);
      return std::vector{c.tensors[1].defined() ? trapezoid(c.tensors[0], c.tensors[1], axis)
                                                : trapezoid(c.tensors[0], argument(c, "distance", 1.0), axis)};
    };
    table["cumulative_trapezoid"] = [](const ArrayCall& c) {
      const int axis = argument(c, "axis", -1);
      const auto initial = given(c, "initial");
      return std::vector{c.tensors[1].defined()
                             ? cumulative_trapezoid(c.tensors[0], c.tensors[1], axis, initial)
                             : cumulative_trapezoid(c.tensors[0], argument(c, "distance", 1.0), axis, initial)};
    };
    table["gradient"] = [](const ArrayCall& c) {
      const int axis = argument(c, "axis", -1);
      const EdgeOrder edges = argument(c, "edges", 1) == 1 ? EdgeOrder::first : EdgeOrder::second;
      return std::vector{c.tensors[1].defined() ? gradient(c.tensors[0], axis, c.tensors[1], edges)
                                                : gradient(c.tensors[0], axis, argument(c, "distance", 1.0), edges)};
    };
    table["unwrap"] = [](const ArrayCall& c) {
      return std::vector{unwrap(c.tensors[0], argument(c, "axis", -1), argument(c, "period", 2 * std::numbers::pi),
                                given(c, "discontinuity"))};
    };
    table["convolve"] = [](const ArrayCall& c) {
      return std::vector{convolve(c.tensors[0], c.tensors[1], mode_of(c))};
    };
    table["correlate"] = [](const ArrayCall& c) {
      return std::vector{correlate(c.tensors[0], c.tensors[1], mode_of(c))};
    };
    table["polyval"] = [](const ArrayCall& c) { return std::vector{polyval(c.tensors[0], c.tensors[1])}; };
    table["einsum"] = [](const ArrayCall& c) {
      return std::vector{einsum(c.arguments.at("subscripts").get<std::string>(), c.tensors)};
    };
    table["polygamma"] = [](const ArrayCall& c) {
      return std::vector{polygamma(argument(c, "order", 0), c.tensors[0])};
    };
    const auto one = [&](const char* name, Tensor (*f)(const Operand&)) {
      table[name] = [f](const ArrayCall& c) { return std::vector{f(c.tensors[0])}; };
    };
    one("sinc", sinc);
    one("entr", entr);
    one("logit", logit);
    one("ndtr", ndtr);
    one("log_ndtr", log_ndtr);
    one("ndtri", ndtri);
    one("i0", i0);
    one("i0e", i0e);
    one("i1", i1);
    one("i1e", i1e);
    table["xlogy"] = [](const ArrayCall& c) { return std::vector{xlogy(c.tensors[0], c.tensors[1])}; };
    table["gammainc"] = [](const ArrayCall& c) { return std::vector{gammainc(c.tensors[0], c.tensors[1])}; };
    table["gammaincc"] = [](const ArrayCall& c) { return std::vector{gammaincc(c.tensors[0], c.tensors[1])}; };
    table["betainc"] = [](const ArrayCall& c) {
      return std::vector{betainc(c.tensors[0], c.tensors[1], c.tensors[2])};
    };
    table["xlog1py"] = [](const ArrayCall& c) { return std::vector{xlog1py(c.tensors[0], c.tensors[1])}; };
    return table;
  }();
  return all;
}

const FunctionTable& fits() {
  static const FunctionTable all = [] {
    FunctionTable table;
    for (const char* name : {"convolve", "correlate"}) table[name] = numeric().at(name);
    table["polyfit"] = [](const ArrayCall& c) {
      return std::vector{
          polyfit(c.tensors[0], c.tensors[1], argument(c, "degree", 0), c.tensors[2], given(c, "rcond"))};
    };
    const auto compare = [&](const char* name, auto f) {
      table[name] = [f](const ArrayCall& c) {
        return std::vector{f(c.tensors[0], c.tensors[1], argument(c, "rtol", 1e-5), argument(c, "atol", 1e-8),
                             argument(c, "equal_nan", false))};
      };
    };
    compare("isclose", isclose);
    compare("allclose", allclose);
    const auto type = [](const ArrayCall& c) { return *dtype_from_name(argument(c, "dtype", std::string())); };
    table["logspace"] = [=](const ArrayCall& c) {
      return std::vector{logspace(argument(c, "start", 0.0), argument(c, "stop", 0.0), argument(c, "count", 0),
                                  argument(c, "base", 10.0), type(c), argument(c, "endpoint", true))};
    };
    table["geomspace"] = [=](const ArrayCall& c) {
      return std::vector{geomspace(argument(c, "start", 0.0), argument(c, "stop", 0.0), argument(c, "count", 0),
                                   type(c), argument(c, "endpoint", true))};
    };
    return table;
  }();
  return all;
}

class NumericTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, NumericTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(NumericTest, ValuesAreNumPysAndSciPys) { expect_reference_values("numeric", "numeric.json", numeric()); }

TEST_P(NumericTest, SignalsOfAllTypesFitsAndComparisonsAreNumPys) {
  expect_reference_values("numeric", "fits.json", fits());
}

// By closed forms: the slope of a line through samples, and what one sample adds to it.
TEST_P(NumericTest, FitsHaveDerivatives) {
  const Tensor x = tensor({0, 1, 2, 3}, DType::f32), y = tensor({1, 3, 2, 5}, DType::f32);
  const auto slope = [&](const Tensor& t) { return polyfit(x, t, 1)[{0}]; };
  // (x - mean x) / Σ (x - mean x)².
  EXPECT_THAT(grad(slope)(y).to_vector<float>(), ElementsAre(FloatNear(-0.3f, 1e-5f), FloatNear(-0.1f, 1e-5f),
                                                             FloatNear(0.1f, 1e-5f), FloatNear(0.3f, 1e-5f)));
  // A weight of 0 leaves a sample out.
  const Tensor w = tensor({1, 1, 0, 1}, DType::f32);
  EXPECT_THAT(polyfit(x, y, 2, w).to_vector<float>(),
              ElementsAre(FloatNear(-1.0f / 3, 1e-4f), FloatNear(7.0f / 3, 1e-4f), FloatNear(1, 1e-4f)));
}

TEST_P(NumericTest, LongSignalsOf64BitsAreExact) {
  const Tensor ones = full({3000}, Number(std::int64_t{1} << 40), DType::i64);
  const Tensor y = convolve(ones, ones);
  EXPECT_EQ(y.size(), 5999);
  EXPECT_EQ(y[{2999}].item<std::int64_t>(), 0);  // 3000 · 2^80, modulo 2^64
  const Tensor small = convolve(ones, full({2000}, 3, DType::i64), ConvolveMode::valid);
  EXPECT_EQ(min(small).item<std::int64_t>(), (std::int64_t{1} << 40) * 6000);
  EXPECT_EQ(max(small).item<std::int64_t>(), (std::int64_t{1} << 40) * 6000);
}

TEST_P(NumericTest, Derivatives) {
  const auto of = [](const Tensor& x, const auto& f) { return grad([&](const Tensor& t) { return sum(f(t)); })(x); };
  const Tensor points = tensor({0, 1, 3}, DType::f32), values = tensor({1, 3, 2}, DType::f32);
  const Tensor x = tensor({-1.f, 0.f, 0.5f, 2.f, 3.f, 4.f});
  EXPECT_THAT(of(x, [&](const Tensor& t) { return interp(t, points, values); }).to_vector<float>(),
              ElementsAre(0, 2, 2, -0.5f, -0.5f, 0));
  EXPECT_THAT(of(values, [&](const Tensor& t) { return interp(x, points, t); }).to_vector<float>(),
              ElementsAre(2.5f, 1, 2.5f));
  // log(y) and x / y, where the value is not put by hand.
  const Tensor a = tensor({0.f, 0.f, 2.f}), b = tensor({2.f, 0.f, 4.f});
  EXPECT_THAT(of(a, [&](const Tensor& t) { return xlogy(t, b); }).to_vector<float>(),
              ElementsAre(FloatNear(std::log(2.f), 1e-6f), 0, FloatNear(std::log(4.f), 1e-6f)));
  EXPECT_THAT(of(b, [&](const Tensor& t) { return xlogy(a, t); }).to_vector<float>(), ElementsAre(0, 0, 0.5f));
  // sinc''(0) = -π² / 3, i0' = i1, ndtri'(½) = √(2π).
  const Tensor zero = zeros({1});
  EXPECT_THAT(
      of(zero, [&](const Tensor& t) { return of(t, [](const Tensor& u) { return sinc(u); }); }).to_vector<float>(),
      Each(FloatNear(-3.2898681f, 1e-4f)));
  const Tensor z = tensor({-9.f, -1.f, 0.f, 2.f, 9.f});
  const auto slope = of(z, [](const Tensor& t) { return i0(t); }).to_vector<float>(), one = i1(z).to_vector<float>();
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(slope[i], one[i], 1e-5f * (1 + std::abs(one[i])));
  EXPECT_THAT(of(tensor({0.5f}), [](const Tensor& t) { return ndtri(t); }).to_vector<float>(),
              Each(FloatNear(2.5066283f, 1e-5f)));
  // Nowhere NaN, at the ends either.
  const Tensor ends = tensor({0.25f, 0.5f, 0.75f, 0.01f, 0.999f});
  for (const auto f : {logit, ndtri, entr, log_ndtr, ndtr, i1e}) {
    EXPECT_THAT(of(ends, f).to_vector<float>(), Each(Not(IsNan())));
  }
}

// Values are mpmath's; SciPy's have fewer digits far below 0. At poles they are SciPy's.
TEST_P(NumericTest, PolygammaBelowZero) {
  const std::vector<double> points{-0.0625, -0.25, -0.5, -1.4375, -2.75, -7.5, -30.5, -100.25};
  const std::pair<int, std::vector<double>> values[] = {
      {1,
       {257.80897111788568, 18.541879647671606, 8.9348022005446793, 9.7545354800250343, 19.433868949488464,
        9.7447662821704326, 9.8373491328206849, 19.729283325349363}},
      {2,
       {8189.1359360580448, 122.69736678366236, -0.82879664423432, 12.572279151485866, -124.11765305971518,
        -0.015564511795903923, -0.0010403121873537829, 124.02500820691771}},
      {3,
       {393224.32088379258, 1555.7633125348506, 193.40909103400244, 226.32123755968005, 1558.4897512832936,
        194.81430592764459, 194.81811496853311, 1558.5454545884687}},
      {4,
       {25165789.830849302, 24473.199394184583, -3.4742498266672252, 1072.2093278420328, -24481.624740671533,
        -0.001446124964677197, -6.4912478498421525e-6, 24481.574782764288}},
      {10,
       {6.3838524717969398e+19, 15220204428462.791, -42108.858768975492, 30251007438.334922, -15220204740670.251,
        -0.00031534172813904273, -4.4063565878741952e-10, 15220204740668.341}},
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> poles{0.0, -0.0, -1, -2, -17, -1e10, -infinity};
  for (const DType type : {DType::f32, DType::f64}) {
    if (type == DType::f64 && device.is_gpu()) continue;
    for (const auto& [order, expected] : values) {
      const auto y = polygamma(order, tensor(points, type)).to_vector<double>();
      for (std::size_t i = 0; i < points.size(); ++i) {
        EXPECT_NEAR(y[i], expected[i], std::abs(expected[i]) * (type == DType::f64 ? 1e-14 : 4e-6))
            << order << " of " << name(type) << " at " << points[i];
      }
    }
    // Of any order, also where powers are past the range on the way.
    std::vector<int> orders{1, 2, 8, 41};
    if (!device.is_gpu()) orders.insert(orders.end(), {7, 30, 100, 101, 1000, std::numeric_limits<int>::max()});
    for (const int order : orders) {
      const double pole = order % 2 ? infinity : -infinity;
      const auto y = polygamma(order, tensor(poles, type)).to_vector<double>();
      for (std::size_t i = 0; i + 1 < poles.size(); ++i) EXPECT_EQ(y[i], pole) << order << " at " << poles[i];
      EXPECT_TRUE(std::isnan(y.back())) << order;
      const Tensor others = tensor({infinity, 0.5, 5.0, 1e3, 1e6, -0.5, -1.25, -20.5, -1e-3}, type);
      const auto finite = polygamma(order, others).to_vector<double>();
      EXPECT_EQ(std::abs(finite[0]), 0) << order;
      EXPECT_THAT(finite, Each(Not(IsNan()))) << order;
    }
    const auto y = polygamma(0, tensor(poles, type)).to_vector<double>();
    EXPECT_EQ(y[0], -infinity);
    EXPECT_EQ(y[1], infinity);
    for (std::size_t i = 2; i < y.size(); ++i) EXPECT_TRUE(std::isnan(y[i])) << poles[i];
  }
}

// By the densities of the gamma and the beta distribution; at the ends their limits.
TEST_P(NumericTest, DerivativesOfIncompleteFunctions) {
  const auto of = [](const Tensor& x, const auto& f) { return grad([&](const Tensor& t) { return sum(f(t)); })(x); };
  const Tensor x = tensor({0.f, 0.5f, 2.f});
  const Tensor exponential = of(x, [](const Tensor& t) { return gammainc(1, t); });
  EXPECT_THAT(exponential.to_vector<float>(),
              ElementsAre(1, FloatNear(0.60653066f, 1e-6f), FloatNear(0.13533528f, 1e-6f)));
  const Tensor upper = of(x, [](const Tensor& t) { return gammaincc(2, t); });
  EXPECT_THAT(upper.to_vector<float>(), ElementsAre(0, FloatNear(-0.30326533f, 1e-6f), FloatNear(-0.27067057f, 1e-6f)));
  const Tensor p = tensor({0.f, 0.25f, 1.f});
  EXPECT_THAT(of(p, [](const Tensor& t) { return betainc(1, 1, t); }).to_vector<float>(), ElementsAre(1, 1, 1));
  const Tensor slope = of(p, [](const Tensor& t) { return betainc(2, 3, t); });  // 12 t (1 - t)²
  EXPECT_THAT(slope.to_vector<float>(), ElementsAre(0, FloatNear(1.6875f, 2e-6f), 0));
  // x = -log(1 - p) of the exponential distribution, and √p.
  const Tensor q = tensor({0.f, 0.5f, 0.75f, 1.f});
  const Tensor quantile = of(q, [](const Tensor& t) { return gammaincinv(1, t); });
  EXPECT_THAT(quantile.to_vector<float>(), ElementsAre(1, FloatNear(2, 4e-6f), FloatNear(4, 8e-6f), INFINITY));
  const Tensor falling = of(q, [](const Tensor& t) { return gammainccinv(1, t); });
  EXPECT_THAT(falling.to_vector<float>(),
              ElementsAre(-INFINITY, FloatNear(-2, 4e-6f), FloatNear(-1.3333333f, 4e-6f), FloatNear(-1, 4e-6f)));
  const Tensor root = of(q, [](const Tensor& t) { return betaincinv(2, 1, t); });
  EXPECT_THAT(root.to_vector<float>(), ElementsAre(INFINITY, FloatNear(0.70710678f, 3e-6f),
                                                   FloatNear(0.57735027f, 3e-6f), FloatNear(0.5f, 3e-6f)));
  EXPECT_THROW(grad([](const Tensor& a) { return gammaincinv(a, 0.5); })(ones({})), Unsupported);
  EXPECT_THROW(grad([](const Tensor& a) { return betaincinv(a, 1, 0.5); })(ones({})), Unsupported);
  EXPECT_THROW(grad([](const Tensor& a) { return gammainc(a, 2); })(ones({})), Unsupported);
  EXPECT_THROW(grad([](const Tensor& a) { return betainc(a, 1, 0.5); })(ones({})), Unsupported);
}

// Ends, limits, and arguments past the domain; integers are computed as f32.
TEST_P(NumericTest, EndsOfInversesAndBesselFunctions) {
  const float inf = INFINITY, nan = NAN;
  const auto same = [](const Tensor& x, const std::vector<float>& want) {
    const std::vector<float> got = x.to_vector<float>();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
          << "element " << i << " is " << got[i] << ", not " << want[i];
    }
  };
  const Tensor p = tensor({0.f, -0.f, 1.f, -0.25f, 1.5f, nan});
  same(gammaincinv(2.5, p), {0, 0, inf, nan, nan, nan});
  same(gammainccinv(2.5, p), {inf, inf, 0, nan, nan, nan});
  same(betaincinv(2.5, 0.5, p), {0, 0, 1, nan, nan, nan});
  const Tensor a = tensor({0.f, inf, -1.f, nan});
  same(gammaincinv(a, 0.5), {nan, nan, nan, nan});
  same(gammaincinv(a, 1), {inf, inf, nan, nan});
  same(betaincinv(a, 2, 0.5), {nan, 1, nan, nan});
  same(betaincinv(2, a, 0.5), {nan, 0, nan, nan});
  same(betaincinv(a, a, 0.5), {nan, nan, nan, nan});
  // p^1000 is past the range.
  same(betaincinv(1e-3, 1, tensor({0.25f, 0.75f})), {0, 0});
  const Tensor x = tensor({0.f, -0.f, inf, -inf, nan, -1.f});
  same(j0(x), {1, 1, 0, 0, nan, j0(tensor({1.f})).to_vector<float>()[0]});
  same(j1(x), {0, 0, 0, 0, nan, -j1(tensor({1.f})).to_vector<float>()[0]});
  for (const auto f : {y0, y1}) same(f(x), {-inf, -inf, 0, nan, nan, nan});
  for (const auto f : {k0, k1, k0e, k1e}) same(f(x), {inf, inf, 0, nan, nan, nan});
  EXPECT_EQ(j0(tensor({1, 2})).dtype(), DType::f32);
  EXPECT_EQ(k1(ones({0}, DType::f16)).dtype(), DType::f16);
}

TEST_P(NumericTest, GradientsAlongAllAxes) {
  const Tensor f = tensor({{1, 2, 4}, {3, 8, 16}}, DType::f32);
  const std::vector<Tensor> g = gradient(f);  // numpy.gradient
  ASSERT_EQ(g.size(), 2u);
  EXPECT_THAT(g[0].to_vector<float>(), ElementsAre(2, 6, 12, 2, 6, 12));
  EXPECT_THAT(g[1].to_vector<float>(), ElementsAre(1, 1.5f, 2, 5, 6.5f, 8));
}

// In the order of the fewest products: results between are small.
TEST(Numeric, EinsumChoosesItsOrder) {
  const auto work = [](std::string_view subscripts, std::initializer_list<Tensor> operands) {
    return einsum(subscripts, operands).graph().to_string();
  };
  const Tensor tall = zeros({300, 2}), wide = zeros({2, 300}), column = zeros({300, 1});
  EXPECT_THAT(work("ij,jk,kl->il", {tall, wide, column}), Not(HasSubstr("300, 300")));
  EXPECT_THAT(work("ij,kl,jk->il", {tall, column, wide}), Not(HasSubstr("300, 300")));
  // From left to right a result would have ten axes.
  const Tensor pair = ones({2, 2}), one = ones({2});
  EXPECT_EQ(einsum("ab,cd,ef,gh,ij,a,c,e,g,i,b,d,f,h,j->",
                   {pair, pair, pair, pair, pair, one, one, one, one, one, one, one, one, one, one})
                .item<float>(),
            1024);
}

TEST(Numeric, RefuseWhatDoesNotFit) {
  const Tensor x = tensor({1, 2, 3}, DType::f32), c = cast(x, DType::c64), square = zeros({2, 2});
  EXPECT_THROW(interp(x, x, zeros({2})), ShapeError);
  EXPECT_THROW(interp(x, zeros({0}), zeros({0})), ShapeError);
  EXPECT_THROW(interp(c, x, x), TypeError);
  // (f32 has no 1e40, and 0 for 1e-50.)
  for (const double period :
       {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e40, 1e-50}) {
    EXPECT_THROW(interp(x, x, x, {.period = period}), InvalidArgument) << period;
    EXPECT_THROW(unwrap(x, 0, period), InvalidArgument) << period;
  }
  EXPECT_THROW(trapezoid(x, zeros({2})), ShapeError);
  EXPECT_THROW(trapezoid(x, c), TypeError);
  EXPECT_THROW(gradient(x, 0, square), ShapeError);
  EXPECT_THROW(gradient(zeros({1}), 0), ShapeError);
  EXPECT_THROW(gradient(zeros({2}), 0, 1, EdgeOrder::second), ShapeError);
  EXPECT_THROW(unwrap(cast(x, DType::i32)), TypeError);
  EXPECT_THROW(unwrap(x, 0, -1), InvalidArgument);
  EXPECT_THROW(convolve(x, square), ShapeError);
  EXPECT_THROW(convolve(x, zeros({0})), ShapeError);
  EXPECT_THROW(convolve(zeros({3}, DType::i4), zeros({3}, DType::i4)), TypeError);
  EXPECT_THROW(correlate(zeros({3}, DType::u64), zeros({3}, DType::i8)), TypeError);
  EXPECT_THROW(polyfit(x, x, -1), InvalidArgument);
  EXPECT_THROW(polyfit(x, zeros({0}), 1), ShapeError);
  EXPECT_THROW(polyfit(zeros({0}), zeros({0}), 1), ShapeError);
  EXPECT_THROW(polyfit(x, x, 1, zeros({1})), ShapeError);
  EXPECT_THROW(polyfit(c, x, 1), TypeError);
  EXPECT_THROW(polyfit(x, x, 1, {}, -1), InvalidArgument);
  EXPECT_THROW(isclose(x, x, -1), InvalidArgument);
  EXPECT_THROW(allclose(x, x, 0, std::numeric_limits<double>::quiet_NaN()), InvalidArgument);
  EXPECT_THROW(isclose(x, zeros({7, 5, 2})), ShapeError);
  EXPECT_THROW(isclose(x, Tensor()), InvalidArgument);
  EXPECT_THROW(logspace(0, 1, -1), InvalidArgument);
  EXPECT_THROW(logspace(0, 1, 3, 10, DType::i32), TypeError);
  EXPECT_THROW(geomspace(0, 1, 3), InvalidArgument);
  EXPECT_THROW(geomspace(-1, 1, 3), InvalidArgument);
  EXPECT_THROW(geomspace(1, std::numeric_limits<double>::infinity(), 3), InvalidArgument);
  EXPECT_THROW(eval(geomspace(1, 2, std::int64_t{1} << 62)), Error);
  EXPECT_THROW(polyval(square, x), ShapeError);
  EXPECT_THROW(sinc(c), TypeError);
  EXPECT_THROW(xlogy(c, x), TypeError);
  EXPECT_THROW(ndtri({}), InvalidArgument);
  EXPECT_THROW(gammainc(c, x), TypeError);
  EXPECT_THROW(betainc(x, x, c), TypeError);
  EXPECT_THROW(gammaincc(x, zeros({2})), ShapeError);
  EXPECT_THROW(gammainc(Tensor(), x), InvalidArgument);
  EXPECT_THROW(polygamma(-1, x), InvalidArgument);
  EXPECT_THAT(refused_by([&] { correlate(x, zeros({0})); }), HasSubstr("correlate: "));
}

}  // namespace
}  // namespace weft::test
