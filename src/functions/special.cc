// Special functions as compositions of elementwise operations (weft/special.h).
#include "weft/special.h"

#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "core/error_context.h"
#include "core/format.h"
#include "ops/composition.h"
#include "ops/elementwise.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// f of x in the type in which it is computed.
template <class F>
Tensor of_floats(const Tensor& x, const F& f) {
  const DType type = averaged(x.dtype());
  return cast(f(accumulated(cast(x, type))), type);
}

// The derivative of a function of single elements, by a formula of x and the result that is right at all orders: for
// functions whose own steps have none at their ends.
class OfElements final : public CustomDerivative {
 public:
  using Formula = std::function<Tensor(const Tensor& x, const Tensor& y)>;
  explicit OfElements(Formula slope) : slope_(std::move(slope)) { results = 1; }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> g) const override {
    if (!g[0].defined()) return std::vector{Tensor()};
    return std::vector{times_derivative(g[0], slope_(call.inputs[0], call.outputs[0]))};
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> t) const override {
    if (!t[0].defined()) return std::vector{Tensor()};
    return std::vector{t[0] * slope_(call.inputs[0], call.outputs[0])};
  }

 private:
  Formula slope_;
};

// A number of x's type.
Tensor number(const Tensor& x, double v) { return Graph::scalar(v, x.dtype()); }

// c[0] + c[1] x + …, by Horner's rule.
Tensor polynomial(const Tensor& x, std::span<const double> c) {
  Tensor y = number(x, c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) y = fma(y, x, number(x, c[i]));
  return y;
}

// A scalar function of operands that are converted to the float that they have in common.
Tensor of_common(ScalarOp op, std::initializer_list<const TensorLike*> operands) {
  const std::string_view function = name(op);
  try {
    for (const TensorLike* o : operands) {
      if (o->tensor()) require_defined(*o->tensor(), function);
    }
    const DType type = averaged(result_type_for(function, std::span(operands.begin(), operands.size())));
    if (type == DType::c64) throw TypeError("{}: the operands are c64, expected real numbers", function);
    std::vector<Tensor> of;
    for (const TensorLike* o : operands) of.push_back(as_tensor(function, *o, type));
    if (of.size() == 1) return unary(op, of[0]);
    return of.size() == 2 ? binary(op, of[0], of[1]) : ternary(op, of[0], of[1], of[2]);
  } catch (const Error& e) {
    throw_in_function(e, function);
  }
}

Tensor of_one(ScalarOp op, const Operand& x) {
  const TensorLike operand(x);
  return of_common(op, {&operand});
}

// x log(offset + y), with 0 in place of the NaN of 0 · log.
template <class Log>
Tensor times_log(std::string_view function, const TensorLike& x, const TensorLike& y, double lowest, const Log& log) {
  const DType type = averaged(result_type_for(function, std::array{&x, &y}));
  const Tensor a = accumulated(as_tensor(function, x, type)), b = accumulated(as_tensor(function, y, type));
  const Tensor zero = (a == 0) & ((b <= number(b, lowest)) | (b == number(b, kInfinity)));
  return cast(select(zero, 0, a * log(select(zero, 1, b))), type);
}

// log(exp(a² / 2) (a + 3) ndtr(-a)) by powers of (a - 3) / (a + 3) from -1 to 1, of degrees 13 (f32) and 28: the sums
// of as many terms of Chebyshev's series, by mpmath in 80 points. Of a >= 1, far from the ends, they have the digits of
// the first three derivatives, too.
constexpr double kScaledTail32[] = {-0.3159667522,   -0.6985919242,  0.07147342837,   0.04192770151,   -0.01497892359,
                                    -0.006893957352, 0.003359563384, 0.001768514252,  -7.477574778e-4, -5.302472279e-4,
                                    1.389155863e-4,  1.387279458e-4, -1.518670565e-5, -2.063590099e-5};
constexpr double kScaledTail64[] = {
    -0.3159667522822945425,   -0.6985919295826190042,   0.07147343255220708516,   0.04192790611003162437,
    -0.01497896539695299025,  -0.006896222189109292255, 0.003359582499692998292,  0.001779676094474683769,
    -7.466865395828377477e-4, -5.589562356118173666e-4, 1.340937348367328739e-4,  1.795396568593147228e-4,
    -5.71561511909344209e-6,  -5.236097385396051634e-5, -9.896545136551154568e-6, 1.228331635097205638e-5,
    5.77714755847796225e-6,   -1.74160983225187867e-6,  -1.952101397000140451e-6, -1.403311077191514245e-7,
    4.031334963142053818e-7,  1.669645735830710699e-7,  -2.207793950640581392e-8, -4.838562790603773267e-8,
    -1.560287668835405081e-8, 6.864177376571927205e-9,  5.110038539092187454e-9,  -3.551241640165846568e-10,
    -5.647851175219645532e-10};

// sqrt(x) exp(-x) I(x) for x > 8 by powers of 16 / x - 1: Chebyshev's interpolation in 64 points, by mpmath.
constexpr double kLarge[2][23] = {
    {0.4021765094450080845,     0.003360551983667750452,  0.0001362160743898473518, 1.114303380070897892e-5,
     1.483847665125026576e-6,   2.973596046562711721e-7,  8.872034383314143721e-8,  3.932889375114633810e-8,
     2.156625145310435468e-8,   7.534355843803342194e-9,  -6.849338188286769671e-9, -1.332609440576638694e-8,
     -5.038106487903284095e-9,  7.335968710816153927e-9,  6.560138746917057210e-9,  -3.134627642924078899e-9,
     -4.575553424534973612e-9,  1.105055879442434637e-9,  2.196892137882900464e-9,  -2.803381997886999738e-10,
     -6.633287112547083476e-10, 3.629355229718732963e-11, 9.365086892818190825e-11},
    {0.389398459025872321,     -0.009749577193235634673,  -0.0002192357638317243023, -1.503854720950185767e-5,
     -1.834910235895538462e-6, -3.483853438037633182e-7,  -1.000109565963654041e-7,  -4.313196489977733194e-8,
     -2.339250374801858229e-8, -8.409182040442918071e-9,  6.840138997706958213e-9,   1.395855100138595449e-8,
     5.593370101790610080e-9,  -7.444441477197270053e-9,  -6.983839624895865900e-9,  3.086886736722725310e-9,
     4.810597405089944031e-9,  -1.059454416044316611e-9,  -2.297004161885200925e-9,  2.634077109513648497e-10,
     6.917089294193807042e-10, -3.365431853180176521e-11, -9.752397204138194791e-11}};

// exp(-|x|) I(x), and with `scaled` = false I(x).
Tensor bessel(const Tensor& x, int order, bool scaled) {
  return of_floats(x, [&](const Tensor& v) {
    constexpr double kSmall = 8;
    // (By the sign, with derivatives that are NaN of NaN.)
    const Tensor magnitude = v * sign(v), small = magnitude <= kSmall;
    // Up to there the power series, whose terms are all positive: Σ (x² / 4)^k / (k! (k + order)!).
    double c[26] = {1};
    for (int k = 1; k < 26; ++k) c[k] = c[k - 1] / (k * (k + order));
    const Tensor near = select(small, v, 0), far = select(small, kSmall, magnitude);
    Tensor inner = polynomial(square(near) * number(v, 0.25), c);
    if (order == 1) inner = inner * near * number(v, 0.5);
    if (scaled) inner = inner * exp(-abs(near));
    Tensor outer = polynomial(number(v, 16) / far - 1, kLarge[order]) / sqrt(far);
    if (!scaled) {
      // (The product is finite where exp(x) overflows.)
      const Tensor half = exp(far * number(v, 0.5));
      outer = select(far == number(v, kInfinity), exp(far), outer * half * half);
    }
    if (order == 1) outer = copysign(outer, v);
    return select(small, inner, outer);
  });
}

constexpr std::string_view kSameOrF32 = "x's type; of integers and bool f32";
constexpr FunctionOperand kX = {"x", types::real};
constexpr FunctionResult kOfX = {"y", "x's shape", kSameOrF32};

constexpr Function kSinc = {
    {.name = "sinc",
     .operands = {kX},
     .results = {kOfX},
     .formula = "y = sin(πx) / (πx)",
     .summary = "the normalised sinc function: 1 at 0, exactly 0 at other integers"},
    [](const Tensor& x) {
      return of_floats(x, [](const Tensor& v) {
        constexpr double kPi = std::numbers::pi, kNear = 0.5;
        // sin(πx) by the distance to the nearest integer, which is exact; near 0, for all derivatives, the series.
        const Tensor whole = round(v), rest = v - whole, near = abs(v) < kNear;
        std::vector<double> c{1};  // (-1)^k / (2k + 1)!
        for (int k = 1, terms = v.dtype() == DType::f64 ? 14 : 9; k < terms; ++k)
          c.push_back(-c.back() / (2 * k * (2 * k + 1)));
        const Tensor odd = abs(whole) - 2 * floor(abs(whole) * number(v, 0.5)) == 1;
        const Tensor sine = sin(rest * number(v, kPi)), divisor = select(near, 1, v * number(v, kPi));
        const Tensor far = select(odd, -sine, sine) / divisor, y = select(near, v * number(v, kPi), 0);
        return select(near, polynomial(square(y), c), far);
      });
    }};
constexpr Function kXlogy = {
    {.name = "xlogy",
     .operands = {{"x", types::real}, {"y", types::real}},
     .results = {{"z", "the operands' common shape", "the common type; of integers and bool f32"}},
     .formula = "z = x · ln y",
     .summary = "the product with a logarithm; 0 where x is 0 and y not NaN"},
    [](const TensorLike& x, const TensorLike& y) {
      return times_log("xlogy", x, y, 0, [](const Tensor& v) { return log(v); });
    }};
constexpr Function kXlog1py = {
    {.name = "xlog1py",
     .operands = {{"x", types::real}, {"y", types::real}},
     .results = {{"z", "the operands' common shape", "the common type; of integers and bool f32"}},
     .formula = "z = x · ln(1 + y)",
     .summary = "the product with log1p(y); 0 where x is 0 and y not NaN"},
    [](const TensorLike& x, const TensorLike& y) {
      return times_log("xlog1py", x, y, -1, [](const Tensor& v) { return log1p(v); });
    }};
constexpr Function kEntr = {
    {.name = "entr",
     .operands = {kX},
     .results = {kOfX},
     .formula = "y = -x · ln x",
     .summary = "what the sum of is an entropy: 0 at 0, -∞ below"},
    [](const Tensor& x) {
      return of_floats(x, [](const Tensor& v) {
        static const auto derivative =
            std::make_shared<const OfElements>([](const Tensor& at, const Tensor&) { return -log(at) - 1; });
        const Tensor inside = (v > 0) | is_nan(v), safe = select(inside, v, 1);
        const Tensor y = select(inside, -safe * log(safe), select(v < 0, number(v, -kInfinity), 0));
        return with_derivative(derivative, std::vector{y}, std::vector{v})[0];
      });
    }};
constexpr Function kLogit = {
    {.name = "logit",
     .operands = {kX},
     .results = {kOfX},
     .formula = "y = ln(x / (1 - x))",
     .summary = "the inverse of sigmoid"},
    [](const Tensor& x) {
      return of_floats(x, [](const Tensor& v) {
        // 1 / (x (1 - x)), the same at both zeros, and NaN outside, where the steps' own derivatives are numbers;
        // around ½ by the distance from it, so that what is 0 there is exact near it.
        static const auto derivative = std::make_shared<const OfElements>([](const Tensor& at, const Tensor&) {
          const Tensor inside = (at >= 0) & (at <= 1), near = abs(at - number(at, 0.5)) < number(at, 0.25);
          const Tensor middle = 4 / (1 - square(select(near, 2 * at - 1, 0)));
          const Tensor slope = select(near, middle, reciprocal(maximum(at, 0)) + reciprocal(1 - at));
          // (Derivatives of this reciprocal are NaN at all orders.)
          return select(inside, slope, reciprocal(at * number(at, std::numeric_limits<double>::quiet_NaN())));
        });
        // From ¼ on 2x - 1 is exact, below it nothing cancels in the difference of logarithms.
        const Tensor low = v < number(v, 0.25), a = select(low, v, number(v, 0.25)), b = select(low, number(v, 0.5), v);
        const Tensor y = select(low, log(a) - log1p(-a), 2 * atanh(2 * b - 1));
        return with_derivative(derivative, std::vector{y}, std::vector{v})[0];
      });
    }};
constexpr Function kNdtr = {{.name = "ndtr",
                             .operands = {kX},
                             .results = {kOfX},
                             .formula = "y = ½ erfc(-x / √2)",
                             .summary = "the probability that a standard normal number is below x"},
                            [](const Tensor& x) {
                              return of_floats(x, [](const Tensor& v) {
                                return erfc(v * number(v, -1 / std::numbers::sqrt2)) * number(v, 0.5);
                              });
                            }};
constexpr Function kLogNdtr = {
    {.name = "log_ndtr",
     .operands = {kX},
     .results = {kOfX},
     .formula = "y = ln ndtr(x)",
     .summary = "the logarithm of ndtr, without underflow"},
    [](const Tensor& x) {
      return of_floats(x, [](const Tensor& v) {
        // Below -1 it is -x² / 2 and what is left, of which the derivatives do not cancel.
        const Tensor far = v < -1, high = v > 0, middle = select(far, -1, v);
        // (|x| by its sign: of both sides the derivative counts at 0, too.)
        const Tensor tail = erfc(select(high, middle, -middle) * number(v, 1 / std::numbers::sqrt2)) * number(v, 0.5);
        const Tensor near = select(high, log1p(-tail), log(select(high, 1, tail)));
        const Tensor a = select(far, -v, 1), shifted = a + 3, u = 1 - number(v, 6) / shifted;
        const bool wide = v.dtype() == DType::f64;
        const Tensor rest = polynomial(u, wide ? std::span<const double>(kScaledTail64) : kScaledTail32);
        return select(far, (rest - log(shifted)) - square(a) * number(v, 0.5), near);
      });
    }};
constexpr Function kNdtri = {
    {.name = "ndtri",
     .operands = {{"p", types::real}},
     .results = {{"y", "p's shape", "p's type; of integers and bool f32"}},
     .formula = "ndtr(y) = p",
     .summary = "the inverse of ndtr"},
    [](const Tensor& p) {
      return of_floats(p, [](const Tensor& v) {
        constexpr double kCentre[2][8] = {
            {3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
             45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727},
            {1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867,
             39307.89580009271061, 28729.085735721942674, 5226.495278852545925}};
        constexpr double kTail[2][8] = {
            {1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504,
             1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833, 7.7454501427834140764e-4},
            {1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455, 0.14810397642748007459,
             0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9}};
        constexpr double kFar[2][8] = {
            {6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123,
             0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
            {1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525, 7.868691311456132591e-4,
             1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15}};
        const auto rational = [&](const Tensor& r, const double (&c)[2][8]) {
          return polynomial(r, c[0]) / polynomial(r, c[1]);
        };
        const Tensor inside = (v > 0) & (v < 1), q = v - number(v, 0.5), centre = abs(q) <= number(v, 0.425);
        const Tensor near = select(centre, q, 0);
        const Tensor middle = near * rational(number(v, 0.180625) - square(near), kCentre);
        const Tensor low = q < 0, tail = inside & !centre;
        const Tensor r = sqrt(-log(select(tail, select(low, v, 1 - v), number(v, 0.05)))), far = r > 5;
        const Tensor outer =
            select(far, rational(select(far, r, 5) - 5, kFar), rational(select(far, 5, r) - number(v, 1.6), kTail));
        const Tensor ends =
            select(v == 0, number(v, -kInfinity),
                   select(v == 1, number(v, kInfinity), number(v, std::numeric_limits<double>::quiet_NaN())));
        // The reciprocal of the normal density at the result.
        static const auto derivative = std::make_shared<const OfElements>([](const Tensor&, const Tensor& y) {
          return exp(square(y) * number(y, 0.5)) * number(y, std::sqrt(2 * std::numbers::pi));
        });
        const Tensor y = select(centre, middle, select(tail, select(low, -outer, outer), ends));
        return with_derivative(derivative, std::vector{y}, std::vector{v})[0];
      });
    }};

// x to a whole power of 1 or more.
Tensor whole_power(const Tensor& x, double exponent) {
  constexpr double kMost = 64;
  if (exponent > kMost) return pow(x, number(x, exponent));
  Tensor y, factor = x;
  for (int rest = static_cast<int>(exponent);; factor = square(factor)) {
    if (rest % 2 == 1) y = y.defined() ? y * factor : factor;
    rest /= 2;
    if (rest == 0) return y;
  }
}

// Γ(s) Σ (x + k)^-s over all integers k, of rest = x - round(x): π^s Q(cos πx) / sin(πx)^s, where Q is a polynomial
// with coefficients of 0 or more, which for s of 2 is 1, and of s + 1 is Q' (1 - c²) + s c Q.
Tensor sum_over_integers(const Tensor& rest, double s) {
  const double root = std::exp(std::lgamma(s) / s);  // of Γ(s): with it factors are as large as the result
  const bool odd = std::fmod(s, 2) == 1;
  if (s > (rest.dtype() == DType::f64 ? 101 : 41)) {
    // The nearest terms, whose sum in f32 is past the range; of an odd power those of 1/2 and -1/2 cancel.
    const auto term = [&](int k) { return whole_power(number(rest, root) / (rest + k), s); };
    const Tensor nearest = term(0), sum = select(is_inf(nearest), nearest, nearest + (term(1) + term(-1)));
    return odd ? select(abs(rest) == number(rest, 0.5), 0, sum) : sum;
  }
  const auto degree = static_cast<std::size_t>(s) - 2;
  std::vector<double> q(degree + 1);  // Q / Γ(s)
  q[0] = 1;
  for (std::size_t n = 1; n <= degree; ++n) {
    std::vector<double> next(degree + 1);
    for (std::size_t i = 0; i < n; ++i) {
      const double slope = static_cast<double>(i) / (static_cast<double>(n) + 1) * q[i];
      if (i > 0) next[i - 1] += slope;
      next[i + 1] += q[i] - slope;
    }
    q = std::move(next);
  }
  std::vector<double> c;  // of every second power, the others being 0
  for (std::size_t i = degree % 2; i <= degree; i += 2) c.push_back(q[i]);
  // The cosine is exact also near its zero; as the first factor it leaves none of the others infinite beside it.
  const Tensor pi = number(rest, std::numbers::pi), cosine = sin((0.5 - abs(rest)) * pi);
  const Tensor factor = number(rest, root * std::numbers::pi) / sin(rest * pi);
  const double first = std::floor(s / 2);
  const Tensor even = polynomial(square(cosine), c);
  return (odd ? even * cosine : even) * whole_power(factor, first) * whole_power(factor, s - first);
}

// The derivative of that order, 1 or more, of digamma.
Tensor polygamma_of(const Tensor& v, double order) {
  // Hurwitz's zeta function, ζ(s, x) = Σ (x + k)^-s: ten terms, and the rest by Euler and Maclaurin's formula.
  constexpr int kTerms = 10;
  constexpr double kBernoulli[] = {1.0 / 6,  -1.0 / 30,       1.0 / 42, -1.0 / 30,
                                   5.0 / 66, -691.0 / 2730.0, 7.0 / 6,  -3617.0 / 510};  // B₂, B₄, …
  const double s = order + 1, sign = std::fmod(order, 2) == 1 ? 1 : -1;
  // Below 0 by the reflection, of 1 - x.
  const Tensor negative = v < 0, from = select(negative, 1 - v, v);
  const Tensor a = from + number(v, kTerms), r = reciprocal(a);
  double c[std::size(kBernoulli)], factor = 0.5;  // s (s + 1) … (s + 2j - 2) / s^(2j - 1) / (2j)!
  for (std::size_t i = 0; i < std::size(c); ++i) {
    const double j = static_cast<double>(i) + 1;
    c[i] = kBernoulli[i] * factor;
    factor *= (1 + (2 * j - 1) / s) * (1 + 2 * j / s) / ((2 * j + 1) * (2 * j + 2));
  }
  const Tensor powers = square(r * number(v, s));
  const Tensor rest = polynomial(powers, c) * powers * number(v, 1 / s) + r * number(v, 0.5) + number(v, 1 / (s - 1));
  // Γ(s) (x + k)^-s as the power s of a quotient, so that all terms are as large as the result, and of large x
  // 2^40 times that, since the terms are less than their sum.
  constexpr double kLarge = 100, kUp = 40;
  const Tensor large = from > number(v, kLarge);
  const auto term = [&](const Tensor& at, double power) {
    const auto root = [&](double up) { return number(v, std::exp((std::lgamma(s) + up * std::log(2.0)) / power)); };
    return whole_power(select(large, root(kUp), root(0)) / at, power);
  };
  Tensor zeta = term(from + number(v, kTerms - 1), s);
  for (int k = kTerms - 1; k-- > 0;) zeta = zeta + term(from + number(v, k), s);
  // (Of large orders the rest is infinite, or diverges, where the first term is all of the sum.)
  zeta = select(is_inf(zeta), zeta, zeta + term(a, s - 1) * rest) *
         select(large, number(v, std::ldexp(1.0, static_cast<int>(-kUp))), 1);
  // (Where both are past the range it is the sum.)
  const Tensor part = v - round(v), sum = sum_over_integers(part, s) * number(v, sign);
  const Tensor y = select(negative, sum - select(is_inf(sum), 0, zeta), zeta * number(v, sign));
  const Tensor pole = (part == 0) & (v <= 0), value = select(pole, number(v, sign * kInfinity), y);
  const auto slope = std::make_shared<const OfElements>(
      [order](const Tensor& at, const Tensor&) { return polygamma_of(at, order + 1); });
  return with_derivative(slope, std::vector{value}, std::vector{v})[0];
}

struct PolygammaAttributes {
  int order = 0;
  void fields(AttributeVisitor& v) { v("order", order, "how often digamma is differentiated"); }
};
constexpr Function kPolygamma = {{.name = "polygamma",
                                  .operands = {kX},
                                  .results = {kOfX},
                                  .formula = "y = (d/dx)^order digamma(x)",
                                  .summary = "the polygamma function"},
                                 [](const Tensor& x, const PolygammaAttributes& a) {
                                   const int order = a.order;
                                   if (order < 0)
                                     throw InvalidArgument("polygamma: the order is {}, expected 0 or more", order);
                                   if (order == 0) return digamma(x);
                                   return of_floats(x, [order](const Tensor& v) { return polygamma_of(v, order); });
                                 }};
constexpr Function kI0 = {{.name = "i0",
                           .operands = {kX},
                           .results = {kOfX},
                           .formula = "y = I₀(x)",
                           .summary = "the modified Bessel function of the first kind of order 0"},
                          [](const Tensor& x) { return bessel(x, 0, false); }};
constexpr Function kI0e = {{.name = "i0e",
                            .operands = {kX},
                            .results = {kOfX},
                            .formula = "y = exp(-|x|) · I₀(x)",
                            .summary = "i0 without overflow"},
                           [](const Tensor& x) { return bessel(x, 0, true); }};
constexpr Function kI1 = {{.name = "i1",
                           .operands = {kX},
                           .results = {kOfX},
                           .formula = "y = I₁(x)",
                           .summary = "the modified Bessel function of the first kind of order 1"},
                          [](const Tensor& x) { return bessel(x, 1, false); }};
constexpr Function kI1e = {{.name = "i1e",
                            .operands = {kX},
                            .results = {kOfX},
                            .formula = "y = exp(-|x|) · I₁(x)",
                            .summary = "i1 without overflow"},
                           [](const Tensor& x) { return bessel(x, 1, true); }};

}  // namespace

void add_special_functions(FunctionRows& rows) {
  rows.add(kSinc, kXlogy, kXlog1py, kEntr, kLogit, kNdtr, kLogNdtr, kNdtri, kPolygamma, kI0, kI0e, kI1, kI1e);
}

// ---- The functions

Tensor sinc(const Operand& x) { return kSinc(x); }
Tensor xlogy(const TensorLike& x, const TensorLike& y) { return kXlogy(x, y); }
Tensor xlog1py(const TensorLike& x, const TensorLike& y) { return kXlog1py(x, y); }
Tensor entr(const Operand& x) { return kEntr(x); }
Tensor logit(const Operand& x) { return kLogit(x); }
Tensor ndtr(const Operand& x) { return kNdtr(x); }
Tensor log_ndtr(const Operand& x) { return kLogNdtr(x); }
Tensor ndtri(const Operand& p) { return kNdtri(p); }
Tensor polygamma(int order, const Operand& x) { return kPolygamma(x, {order}); }
Tensor i0(const Operand& x) { return kI0(x); }
Tensor i0e(const Operand& x) { return kI0e(x); }
Tensor i1(const Operand& x) { return kI1(x); }
Tensor i1e(const Operand& x) { return kI1e(x); }

// Without rows: an operation has each of these names. The functions convert operands to the float that they have in
// common.
Tensor gammainc(const TensorLike& a, const TensorLike& x) { return of_common(ScalarOp::gammainc, {&a, &x}); }
Tensor gammaincc(const TensorLike& a, const TensorLike& x) { return of_common(ScalarOp::gammaincc, {&a, &x}); }
Tensor betainc(const TensorLike& a, const TensorLike& b, const TensorLike& x) {
  return of_common(ScalarOp::betainc, {&a, &b, &x});
}
Tensor gammaincinv(const TensorLike& a, const TensorLike& p) { return of_common(ScalarOp::gammaincinv, {&a, &p}); }
Tensor gammainccinv(const TensorLike& a, const TensorLike& q) { return of_common(ScalarOp::gammainccinv, {&a, &q}); }
Tensor betaincinv(const TensorLike& a, const TensorLike& b, const TensorLike& p) {
  return of_common(ScalarOp::betaincinv, {&a, &b, &p});
}
Tensor j0(const Operand& x) { return of_one(ScalarOp::j0, x); }
Tensor j1(const Operand& x) { return of_one(ScalarOp::j1, x); }
Tensor y0(const Operand& x) { return of_one(ScalarOp::y0, x); }
Tensor y1(const Operand& x) { return of_one(ScalarOp::y1, x); }
Tensor k0(const Operand& x) { return of_one(ScalarOp::k0, x); }
Tensor k0e(const Operand& x) { return of_one(ScalarOp::k0e, x); }
Tensor k1(const Operand& x) { return of_one(ScalarOp::k1, x); }
Tensor k1e(const Operand& x) { return of_one(ScalarOp::k1e, x); }

}  // namespace weft
