// Distributions with parameters: compositions of the random operations.
#include "weft/distributions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "core/format.h"
#include "ops/function_row.h"
#include "tensor/random_key.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/linalg.h"
#include "weft/random.h"
#include "weft/special.h"

namespace weft::random {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool is_drawn(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

void check_result(DType type) {
  if (!is_drawn(type)) throw TypeError("results of {}; expected f32, f16 or bf16", name(type));
}

// The shape of a result, if it is given.
struct ShapeAttributes {
  std::optional<Shape> shape = {};
  void fields(AttributeVisitor& v) {
    v("shape", shape, {}, "of the result; without it that to which the parameters broadcast");
  }
};
struct DrawAttributes : ShapeAttributes {
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) {
    ShapeAttributes::fields(v);
    v("dtype", dtype, DType::f32, "of the result");
  }
};
struct CountAttributes : ShapeAttributes {
  DType dtype = DType::i32;
  void fields(AttributeVisitor& v) {
    ShapeAttributes::fields(v);
    v("dtype", dtype, DType::i32, "of the result");
  }
};
struct OrthogonalAttributes {
  std::int64_t n = 0;
  Shape batch = {};
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) {
    v("n", n, "how many rows and columns");
    v("batch", batch, {}, "the axes in front of the matrices'");
    v("dtype", dtype, DType::f32, "of the result");
  }
};
struct CategoricalAttributes : ShapeAttributes {
  int axis = -1;
  void fields(AttributeVisitor& v) {
    ShapeAttributes::fields(v);
    v("axis", axis, -1, "the categories' axis");
  }
};
struct ChoiceAttributes {
  std::optional<std::int64_t> n = {};
  Shape shape = {};
  bool replace = true;
  int axis = 0;
  void fields(AttributeVisitor& v) {
    v("n", n, {}, "how many indices there are, where x is not given");
    v("shape", shape, "how many are drawn");
    v("replace", replace, true, "draw one any number of times");
    v("axis", axis, 0, "the axis of x");
  }
};

constexpr std::string_view kParameter = "a number, or one that broadcasts to the shape";
constexpr FunctionOperand parameter(std::string_view name) { return {.name = name, .shape = kParameter}; }
constexpr FunctionOperand optional_parameter(std::string_view name) {
  return {.name = name, .arity = Arity::optional, .shape = kParameter};
}
constexpr FunctionResult kDrawn = {"y", "shape; without one the parameters' common shape", "dtype"};

// The number, 0 or 1, where an optional parameter is left out.
const TensorLike& parameter_or(const TensorLike& x, std::size_t number) {
  static const auto& numbers = *new std::array<TensorLike, 2>{0, 1};
  return x.tensor() && !x.tensor()->defined() ? numbers[number] : x;
}
// What a caller of a C++ function gives is not left out.
const TensorLike& defined(std::string_view function, std::string_view what, const TensorLike& x) {
  if (!x.tensor() || x.tensor()->defined()) return x;
  throw InvalidArgument("{}: {} is an undefined Tensor", function, what);
}

// A parameter as a float: of a narrow type as it is, of integers in f32.
Tensor float_parameter(std::string_view what, const TensorLike& x) {
  const Tensor* given = x.tensor();
  if (!given) return Graph::scalar(x.number(), DType::f32);
  if (is_drawn(given->dtype())) return *given;
  if (is_integer(given->dtype()) || given->dtype() == DType::boolean) return cast(*given, DType::f32);
  throw TypeError("{} is {}; expected f32, f16, bf16 or integers", what, name(given->dtype()));
}
Tensor in_f32(std::string_view what, const TensorLike& x) { return cast(float_parameter(what, x), DType::f32); }

// A number of trials as i32, or i64 where i32 may not hold it.
Tensor count_parameter(const TensorLike& x) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Tensor* given = x.tensor();
  if (!given) {
    const Number& n = x.number();
    const double value = n.value();
    if (!(value >= 0 && std::trunc(value) == value && (n.integral() ? n.as_int64().has_value() : value < 0x1p63))) {
      throw InvalidArgument("count is {}; expected a whole number from 0 to 2^63 - 1", to_string(n));
    }
    const auto whole = static_cast<std::int64_t>(*n.integer());
    return Graph::scalar(whole, whole > std::numeric_limits<std::int32_t>::max() ? DType::i64 : DType::i32);
  }
  const DType type = given->dtype();
  if (type == DType::i32 || type == DType::i64) return *given;
  if (!is_integer(type) && type != DType::boolean) throw TypeError("count is {}; expected integers", name(type));
  if (bits(type) < 32) return cast(*given, DType::i32);
  return cast(type == DType::u64 ? minimum(*given, kMost) : *given, DType::i64);
}

// Throws InvalidArgument for a number outside of [low, high]; tensors are not looked at.
void check_number(std::string_view what, const TensorLike& x, double low, double high) {
  if (x.tensor()) return;
  const double v = x.number().value();
  if (!(v >= low && v <= high)) {
    throw InvalidArgument(
        "{} is {}; expected a number {}", what, v,
        std::isinf(high) ? std::format("of {} or more", low) : std::format("from {} to {}", low, high));
  }
}
constexpr double kInf = std::numeric_limits<double>::infinity();

Shape shape_of(const std::optional<Shape>& given, std::initializer_list<Shape> parameters) {
  if (given) return *given;
  Shape all;
  for (const Shape& s : parameters) all = broadcast(all, s);
  return all;
}
// What was computed of numbers of the shape and of parameters, which must not have made it larger.
Tensor drawn(const Tensor& x, const Shape& shape, DType type) { return cast(broadcast_to(x, shape), type); }

// A shape without its last `n` axes, and with a size behind.
Shape without_last(Shape shape, int n) {
  for (int i = 0; i < n; ++i) shape.pop_back();
  return shape;
}
Shape with_last(Shape shape, std::int64_t size) {
  shape.push_back(size);
  return shape;
}

// The functions of v, which is evenly distributed over (-1, 1): two tails that are equally precise.
Tensor exponential_of(const Tensor& v) {
  const Tensor half = abs(v) * 0.5F;
  return -select(v < 0, log(half), log1p(-half));
}
Tensor gumbel_of(const Tensor& v) { return -log(exponential_of(v)); }
Tensor laplace_of(const Tensor& v) { return copysign(log(abs(v)), v); }
Tensor logistic_of(const Tensor& v) {
  const Tensor a = abs(v);
  return copysign(log1p(2.0F * (1.0F - a) / a), v);
}
Tensor cauchy_of(const Tensor& v) {
  const Tensor a = abs(v), t = tan(minimum(a, 1.0F - a) * static_cast<float>(std::numbers::pi / 2));
  return copysign(select(a < 0.5F, 1.0F / t, t), v);
}

// location + scale · f(v).
Tensor location_scale(const TensorLike& location, const TensorLike& scale, const Tensor& key, const DrawAttributes& a,
                      Tensor (*f)(const Tensor&)) {
  check_result(a.dtype);
  const TensorLike& multiple = parameter_or(scale, 1);
  check_number("scale", multiple, 0, kInf);
  const Tensor at = in_f32("location", parameter_or(location, 0)), times = in_f32("scale", multiple);
  const Shape whole = shape_of(a.shape, {at.shape(), times.shape()});
  return drawn(at + times * f(random_signed_uniform(key_or_next(key), whole)), whole, a.dtype);
}

// The type in which counts of a type are drawn, and these in that type.
DType drawn_as(DType dtype) {
  if (dtype == DType::i8 || dtype == DType::i16) return DType::i32;
  return is_floating(dtype) ? DType::f32 : dtype;
}
Tensor as_counts(const Tensor& y, DType dtype) {
  if (dtype == DType::i8 || dtype == DType::i16) return cast(minimum(y, dtype == DType::i8 ? 127 : 32767), dtype);
  return cast(y, dtype);
}
void check_counts(DType dtype) {
  if (is_drawn(dtype) || (is_integer(dtype) && is_signed(dtype) && bits(dtype) >= 8)) return;
  throw TypeError("counts of {}; expected i8, i16, i32, i64, f32, f16 or bf16", name(dtype));
}

// (x - mean) / deviation of a bound, which has no derivative where it is infinite.
Tensor standardised(const Tensor& x, const Tensor& mean, const Tensor& deviation) {
  const Tensor infinite = is_inf(x);
  return select(infinite, x, (select(infinite, 0.0F, x) - mean) / deviation);
}

Tensor log_gamma_of(const Tensor& key, const Tensor& concentration, const Shape& shape) {
  return random_gamma(key, concentration, shape, DType::f32, true);
}

// ---- Numbers

constexpr Function kTruncatedNormal = {
    {.name = "random::truncated_normal",
     .operands = {parameter("low"), parameter("high"), optional_parameter("mean"), optional_parameter("deviation"),
                  kKeyOperand},
     .results = {kDrawn},
     .formula = "y ~ exp(-((y - mean) / deviation)² / 2), low ≤ y ≤ high",
     .summary = "normally distributed numbers between two bounds"},
    [](const TensorLike& low, const TensorLike& high, const TensorLike& mean, const TensorLike& deviation,
       const Tensor& key, const DrawAttributes& attributes) {
      check_result(attributes.dtype);
      const TensorLike &m = parameter_or(mean, 0), &d = parameter_or(deviation, 1);
      check_number("deviation", d, 0, kInf);
      if (!low.tensor() && !high.tensor() && !(low.number().value() < high.number().value())) {
        throw InvalidArgument("from {} to {}; expected low < high", low.number().value(), high.number().value());
      }
      const Tensor from = in_f32("low", low), to = in_f32("high", high), centre = in_f32("mean", m),
                   scale = in_f32("deviation", d);
      const Shape whole = shape_of(attributes.shape, {from.shape(), to.shape(), centre.shape(), scale.shape()});
      const Tensor v = random_signed_uniform(key_or_next(key), whole), half = abs(v) * 0.5F;
      // Mirrored where most of the interval is above the mean, so that a is the bound with the longer tail.
      const Tensor a0 = standardised(from, centre, scale), b0 = standardised(to, centre, scale), mirrored = a0 + b0 > 0;
      const Tensor a = select(mirrored, -b0, a0), b = select(mirrored, -a0, b0);
      const Tensor below_a = ndtr(a), below_b = ndtr(b), width = below_b - below_a;
      const Tensor from_top = logical_and(v > 0, b > 0);
      const Tensor p = select(from_top, ndtr(-b) + half * width, below_a + select(v < 0, half, 1.0F - half) * width);
      // Beyond what f32 has probabilities for the bound that is nearer to the mean.
      const Tensor quantile = ndtri(select(below_b > 0, p, 0.5F));
      const Tensor z = select(below_b > 0, clamp(select(from_top, -quantile, quantile), a, b), b);
      const Tensor x = clamp(centre + scale * select(mirrored, -z, z), from, to);
      return drawn(select(from <= to, x, kNaN), whole, attributes.dtype);
    }};
constexpr Function kGumbel = {
    {.name = "random::gumbel",
     .operands = {optional_parameter("location"), optional_parameter("scale"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y = location + scale · z, z ~ exp(-z - exp(-z))",
     .summary = "numbers with the Gumbel distribution"},
    [](const TensorLike& location, const TensorLike& scale, const Tensor& key, const DrawAttributes& a) {
      return location_scale(location, scale, key, a, gumbel_of);
    }};
constexpr Function kLaplace = {
    {.name = "random::laplace",
     .operands = {optional_parameter("location"), optional_parameter("scale"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y = location + scale · z, z ~ exp(-|z|) / 2",
     .summary = "numbers with the Laplace distribution"},
    [](const TensorLike& location, const TensorLike& scale, const Tensor& key, const DrawAttributes& a) {
      return location_scale(location, scale, key, a, laplace_of);
    }};
constexpr Function kCauchy = {
    {.name = "random::cauchy",
     .operands = {optional_parameter("location"), optional_parameter("scale"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y = location + scale · z, z ~ 1 / (π (1 + z²))",
     .summary = "numbers with the Cauchy distribution"},
    [](const TensorLike& location, const TensorLike& scale, const Tensor& key, const DrawAttributes& a) {
      return location_scale(location, scale, key, a, cauchy_of);
    }};
constexpr Function kLogistic = {
    {.name = "random::logistic",
     .operands = {optional_parameter("location"), optional_parameter("scale"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y = location + scale · log(u / (1 - u)), u evenly from 0 to 1",
     .summary = "numbers with the logistic distribution"},
    [](const TensorLike& location, const TensorLike& scale, const Tensor& key, const DrawAttributes& a) {
      return location_scale(location, scale, key, a, logistic_of);
    }};
constexpr Function kExponential = {
    {.name = "random::exponential",
     .operands = {optional_parameter("scale"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y ~ exp(-y / scale) / scale",
     .summary = "numbers with the exponential distribution"},
    [](const TensorLike& scale, const Tensor& key, const DrawAttributes& a) {
      check_result(a.dtype);
      const TensorLike& by = parameter_or(scale, 1);
      check_number("scale", by, 0, kInf);
      const Tensor times = in_f32("scale", by);
      const Shape whole = shape_of(a.shape, {times.shape()});
      return drawn(times * exponential_of(random_signed_uniform(key_or_next(key), whole)), whole, a.dtype);
    }};
constexpr Function kGamma = {
    {.name = "random::gamma",
     .operands = {parameter("concentration"), optional_parameter("scale"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y ~ y^(concentration - 1) · exp(-y / scale)",
     .summary = "numbers with the gamma distribution"},
    [](const TensorLike& concentration, const TensorLike& scale, const Tensor& key, const DrawAttributes& a) {
      check_result(a.dtype);
      const TensorLike& by = parameter_or(scale, 1);
      check_number("concentration", concentration, 0, kInf);
      check_number("scale", by, 0, kInf);
      const Tensor alpha = float_parameter("concentration", concentration);
      const bool plain = !by.tensor() && by.number().value() == 1;
      const Tensor times = in_f32("scale", by);
      const Shape whole = shape_of(a.shape, {alpha.shape(), times.shape()});
      if (plain) return random_gamma(key_or_next(key), alpha, whole, a.dtype);
      return drawn(times * random_gamma(key_or_next(key), alpha, whole), whole, a.dtype);
    }};
constexpr Function kLogGamma = {
    {.name = "random::log_gamma",
     .operands = {parameter("concentration"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y = log(random::gamma(concentration))",
     .summary = "the logarithms of numbers with the gamma distribution, finite also where these underflow"},
    [](const TensorLike& concentration, const Tensor& key, const DrawAttributes& a) {
      check_result(a.dtype);
      check_number("concentration", concentration, 0, kInf);
      const Tensor alpha = float_parameter("concentration", concentration);
      return random_gamma(key_or_next(key), alpha, shape_of(a.shape, {alpha.shape()}), a.dtype, true);
    }};
constexpr Function kBeta = {
    {.name = "random::beta",
     .operands = {parameter("a"), parameter("b"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y ~ y^(a - 1) · (1 - y)^(b - 1)",
     .summary = "numbers with the beta distribution"},
    [](const TensorLike& a, const TensorLike& b, const Tensor& key, const DrawAttributes& attributes) {
      check_result(attributes.dtype);
      check_number("a", a, 0, kInf);
      check_number("b", b, 0, kInf);
      const Tensor first = float_parameter("a", a), second = float_parameter("b", b);
      const Shape whole = shape_of(attributes.shape, {first.shape(), second.shape()});
      const auto [of_a, of_b] = split<2>(key_or_next(key));
      return cast(sigmoid(log_gamma_of(of_a, first, whole) - log_gamma_of(of_b, second, whole)), attributes.dtype);
    }};
constexpr Function kDirichlet = {
    {.name = "random::dirichlet",
     .operands = {{.name = "concentration", .shape = "[..., n]"}, kKeyOperand},
     .results = {{"y", "shape, then [n]; without one concentration's shape", "dtype"}},
     .formula = "y ~ Π y[i]^(concentration[i] - 1), Σ y[i] = 1",
     .summary = "probabilities along a last axis with the Dirichlet distribution"},
    [](const Tensor& concentration, const Tensor& key, const DrawAttributes& a) {
      check_result(a.dtype);
      const Tensor alpha = float_parameter("concentration", concentration);
      if (alpha.rank() < 1) throw ShapeError("concentration is {}; expected [..., n]", to_string(concentration.type()));
      const Shape whole = with_last(shape_of(a.shape, {without_last(alpha.shape(), 1)}), alpha.shape().back());
      return cast(softmax(log_gamma_of(key_or_next(key), alpha, whole)), a.dtype);
    }};
constexpr Function kChiSquare = {
    {.name = "random::chi_square",
     .operands = {parameter("freedom"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y = 2 · random::gamma(freedom / 2)",
     .summary = "numbers with the chi-square distribution"},
    [](const TensorLike& freedom, const Tensor& key, const DrawAttributes& a) {
      check_result(a.dtype);
      check_number("freedom", freedom, 0, kInf);
      const Tensor half = in_f32("freedom", freedom) * 0.5F;
      return cast(2.0F * random_gamma(key_or_next(key), half, shape_of(a.shape, {half.shape()})), a.dtype);
    }};
constexpr Function kStudentT = {
    {.name = "random::student_t",
     .operands = {parameter("freedom"), optional_parameter("location"), optional_parameter("scale"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y = location + scale · z / sqrt(random::chi_square(freedom) / freedom), z normal",
     .summary = "numbers with Student's distribution"},
    [](const TensorLike& freedom, const TensorLike& location, const TensorLike& scale, const Tensor& key,
       const DrawAttributes& a) {
      check_result(a.dtype);
      const TensorLike &centre = parameter_or(location, 0), &by = parameter_or(scale, 1);
      check_number("freedom", freedom, 0, kInf);
      check_number("scale", by, 0, kInf);
      const Tensor half = in_f32("freedom", freedom) * 0.5F, at = in_f32("location", centre),
                   times = in_f32("scale", by);
      const Shape whole = shape_of(a.shape, {half.shape(), at.shape(), times.shape()});
      const auto [of_normal, of_gamma] = split<2>(key_or_next(key));
      // The root of half / gamma(half), by logarithms, of which few degrees do not underflow.
      const Tensor root = exp((log(half) - log_gamma_of(of_gamma, half, whole)) * 0.5F);
      const Tensor z = random_normal(of_normal, DType::f32, whole);
      return drawn(at + times * z * select(half == kInf, 1.0F, root), whole, a.dtype);
    }};
constexpr Function kMultivariateNormal = {
    {.name = "random::multivariate_normal",
     .operands = {{.name = "mean", .shape = "[..., n]"}, {.name = "covariance", .shape = "[..., n, n]"}, kKeyOperand},
     .results = {{"y", "shape, then [n]; without one that of the mean and the covariance", "dtype"}},
     .formula = "y = mean + l z, covariance = l lᵀ, z normal",
     .summary = "normal vectors of a mean and a covariance"},
    [](const Tensor& mean, const Tensor& covariance, const Tensor& key, const DrawAttributes& a) {
      check_result(a.dtype);
      const Tensor centre = in_f32("mean", mean), c = in_f32("covariance", covariance);
      const auto fits = [&] {
        return centre.rank() >= 1 && c.rank() >= 2 && c.shape()[-1] == c.shape()[-2] &&
               c.shape()[-1] == centre.shape()[-1];
      };
      if (!fits()) {
        throw ShapeError("mean is {}, covariance {}; expected [..., n] and [..., n, n]", to_string(mean.type()),
                         to_string(covariance.type()));
      }
      const Shape whole = with_last(shape_of(a.shape, {without_last(centre.shape(), 1), without_last(c.shape(), 2)}),
                                    centre.shape().back());
      const Tensor l = cholesky(c), z = random_normal(key_or_next(key), DType::f32, whole);
      // Rows times lᵀ; of one covariance as one product.
      const Tensor moved =
          c.rank() == 2 && whole.rank() > 1 ? matmul(z, l.T()) : squeeze(matmul(l, expand_dims(z, -1)), -1);
      return drawn(centre + moved, whole, a.dtype);
    }};
constexpr Function kOrthogonal = {
    {.name = "random::orthogonal",
     .operands = {kKeyOperand},
     .results = {{"y", "[batch…, n, n]", "dtype"}},
     .formula = "yᵀ y = 1",
     .summary = "orthogonal matrices, evenly distributed"},
    [](const Tensor& key, const OrthogonalAttributes& a) {
      check_result(a.dtype);
      if (a.n < 0) throw InvalidArgument("matrices of {} rows", a.n);
      const QrResult f = qr(random_normal(key_or_next(key), DType::f32, with_last(with_last(a.batch, a.n), a.n)));
      return cast(f.q * expand_dims(select(diagonal(f.r) < 0, -1.0F, 1.0F), -2), a.dtype);
    }};

// ---- Counts

constexpr Function kPoisson = {{.name = "random::poisson",
                                .operands = {parameter("rate"), kKeyOperand},
                                .results = {kDrawn},
                                .formula = "y ~ rate^y · exp(-rate) / y!",
                                .summary = "counts with the Poisson distribution"},
                               [](const TensorLike& rate, const Tensor& key, const CountAttributes& a) {
                                 check_counts(a.dtype);
                                 check_number("rate", rate, 0, kInf);
                                 const Tensor mean = float_parameter("rate", rate);
                                 const Shape whole = shape_of(a.shape, {mean.shape()});
                                 return as_counts(random_poisson(key_or_next(key), mean, whole, drawn_as(a.dtype)),
                                                  a.dtype);
                               }};
constexpr Function kBinomial = {
    {.name = "random::binomial",
     .operands = {parameter("count"), parameter("probability"), kKeyOperand},
     .results = {kDrawn},
     .formula = "y ~ binomial(count, y) · probability^y · (1 - probability)^(count - y)",
     .summary = "how many of a number of trials succeed"},
    [](const TensorLike& count, const TensorLike& probability, const Tensor& key, const CountAttributes& a) {
      check_counts(a.dtype);
      check_number("probability", probability, 0, 1);
      const Tensor n = count_parameter(count), p = float_parameter("probability", probability);
      const Shape whole = shape_of(a.shape, {n.shape(), p.shape()});
      return as_counts(random_binomial(key_or_next(key), n, p, whole, drawn_as(a.dtype)), a.dtype);
    }};
constexpr Function kGeometric = {{.name = "random::geometric",
                                  .operands = {parameter("probability"), kKeyOperand},
                                  .results = {kDrawn},
                                  .formula = "y ~ probability · (1 - probability)^(y - 1)",
                                  .summary = "the number of trials up to and with the first that succeeds"},
                                 [](const TensorLike& probability, const Tensor& key, const CountAttributes& a) {
                                   check_counts(a.dtype);
                                   check_number("probability", probability, 0, 1);
                                   const Tensor p = float_parameter("probability", probability);
                                   const Shape whole = shape_of(a.shape, {p.shape()});
                                   return as_counts(random_geometric(key_or_next(key), p, whole, drawn_as(a.dtype)),
                                                    a.dtype);
                                 }};

// ---- Categories and choices

// `count` draws of one distribution [n], searched in the sums of its probabilities.
Tensor searched(const Tensor& key, const Tensor& logits, std::int64_t count) {
  const Tensor most = max(logits), weights = select(logits == most, 1.0F, exp(logits - most));
  const std::int64_t n = logits.size();
  const Tensor sums = cumsum(weights, 0), total = slice(sums, 0, n - 1, n);
  // Below the total also after rounding, so that it is found in a step of the sums.
  const Tensor u = minimum(abs(random_signed_uniform(key, {count})) * total, total * (1 - 0x1p-24F));
  const Tensor at = minimum(searchsorted(sums, u, Side::right), n - 1);
  // Sums that are rounded in another order may have steps where the probability is 0.
  const Tensor found = select(gather(weights, at) > 0, cast(at, DType::i32), cast(argmax(logits), DType::i32));
  return select(logical_and(most > -kInf, total > 0), found, -1);
}

constexpr std::int64_t kManyDraws = 16;

constexpr Function kCategorical = {
    {.name = "random::categorical",
     .operands = {{.name = "logits", .shape = "rank 1 or more"}, kKeyOperand},
     .results = {{"y", "shape; without one logits' shape without the axis", "i32"}},
     .formula = "y = argmax(logits + random::gumbel(logits' shape)) along axis",
     .summary = "indices along an axis, each with a probability in proportion to the exponential of its logit"},
    [](const Tensor& logits, const Tensor& key, const CategoricalAttributes& a) {
      Tensor x = float_parameter("logits", logits);
      const int along = normalize_axis(a.axis, x.rank(), "random::categorical");
      const std::int64_t n = x.shape()[along];
      if (n == 0) {
        throw ShapeError("logits are {}; expected categories along axis {}", to_string(logits.type()), a.axis);
      }
      Shape batch = x.shape();
      batch.erase(along);
      const Shape whole = shape_of(a.shape, {batch});
      const std::int64_t draws = element_count(whole);
      const Tensor own = key_or_next(key);
      if (element_count(batch) == 1 && draws >= kManyDraws && broadcast(batch, whole) == whole) {
        return reshape(searched(own, cast(reshape(x, {n}), DType::f32), draws), whole);
      }
      std::vector<int> order;
      for (int d = 0; d < x.rank(); ++d) {
        if (d != along) order.push_back(d);
      }
      order.push_back(along);
      x = permute(x, order);
      return random_categorical(own, broadcast_to(x, with_last(whole, n)), -1);
    }};
constexpr Function kMultinomial = {
    {.name = "random::multinomial",
     .operands = {parameter("count"), {.name = "weights", .shape = "[..., n]"}, kKeyOperand},
     .results = {{"y", "shape, then [n]; without one weights' shape",
                  "i32; i64 for a count past its range, or of a type with such numbers"}},
     .formula = "Σ y[i] = count, y[i] in proportion to weights[i]",
     .summary = "how often each of some categories is drawn"},
    [](const TensorLike& count, const Tensor& weights, const Tensor& key, const ShapeAttributes& a) {
      const Tensor n = count_parameter(count), each = in_f32("weights", weights);
      if (each.rank() < 1 || each.shape().back() == 0) {
        throw ShapeError("weights are {}; expected [..., n] with n of 1 or more", to_string(weights.type()));
      }
      const Shape batch = without_last(each.shape(), 1);
      const Shape whole = shape_of(a.shape, {n.shape(), batch});
      const std::int64_t categories = each.shape().back();
      // Of weights whose sums are numbers.
      const Tensor greatest = max(each, -1, true);
      const Tensor sound =
          logical_and(reduce(ReduceKind::all, each >= 0, -1), squeeze(logical_and(greatest > 0, greatest < kInf), -1));
      // Sums of pairs, of pairs of these, and so on.
      std::vector<Tensor> sums{each * select(greatest > 0x1p60F, 0x1p-64F, 1.0F)};
      while (sums.back().shape().back() > 1) {
        Tensor x = sums.back();
        const std::int64_t size = x.shape().back();
        if (size % 2 == 1) {
          const Dims before = Dims::filled(x.rank(), 0);
          Dims after = before;
          after[-1] = 1;
          x = pad(x, std::span(before.begin(), before.end()), std::span(after.begin(), after.end()));
          sums.back() = x;
        }
        const int last = x.rank() - 1;
        sums.push_back(slice(x, last, 0, size, 2) + slice(x, last, 1, size + size % 2, 2));
      }
      Tensor counts = expand_dims(broadcast_to(select(sound, n, -1), whole), -1);
      const Tensor own = key_or_next(key);
      const Tensor keys = split(own, static_cast<std::int64_t>(sums.size()));
      for (std::size_t level = sums.size() - 1; level-- > 0;) {
        const Tensor& x = sums[level];
        const int last = x.rank() - 1;
        const std::int64_t size = x.shape().back(), pairs = size / 2;
        const Tensor left = slice(x, last, 0, size, 2), right = slice(x, last, 1, size, 2), both = left + right;
        // The rarer half is drawn, whose probability has all digits.
        const Tensor rarer = select(both > 0, div_rn(minimum(left, right), both), 0.0F);
        const Shape of_pairs = with_last(whole, pairs);
        counts = slice(counts, counts.rank() - 1, 0, pairs);
        const Tensor few =
            random_binomial(key_at(keys, static_cast<std::int64_t>(level)), counts, rarer, of_pairs, n.dtype());
        const Tensor many = select(counts < 0, -1, counts - few), left_is_rarer = left < right;
        const Tensor parts[] = {select(left_is_rarer, few, many), select(left_is_rarer, many, few)};
        counts = reshape(stack(parts, whole.rank() + 1), with_last(whole, size));
      }
      return slice(counts, counts.rank() - 1, 0, categories);
    }};

// Indices below n.
Tensor chosen(std::int64_t n, const Shape& shape, bool replace, const Tensor& given_weights, const Tensor& key) {
  const std::int64_t count = element_count(shape);
  if (n < 0 || (n == 0 && count > 0)) throw InvalidArgument("{} of {} elements", count, n);
  if (!replace && count > n) {
    throw InvalidArgument("{} of {} elements without replacement, of which there are not as many", count, n);
  }
  const Tensor own = key_or_next(key);
  if (!given_weights.defined()) {
    if (!replace) return reshape(slice(permutation(n, own), 0, 0, count), shape);
    const DType type = n > std::numeric_limits<std::int32_t>::max() ? DType::i64 : DType::i32;
    if (count == 0) return zeros(shape, type);
    return random_integers(own, type, shape, 0, n);
  }
  const Tensor weights = in_f32("weights", given_weights);
  if (weights.shape() != Shape{n}) {
    throw ShapeError("weights are {}; expected [{}]", to_string(given_weights.type()), n);
  }
  if (count == 0) return zeros(shape, DType::i32);
  const Tensor logits = log(weights);
  if (replace) return categorical(shape, logits, 0, own);
  // Less the greatest logit, so that weights of any size leave the noise its digits.
  const Tensor top = max(select(is_finite(logits), logits, -1000));
  const Tensor scores = (logits - top) + gumbel_of(random_signed_uniform(own, {n}));
  return reshape(slice(argsort(scores, 0, true), 0, 0, count), shape);
}

constexpr Function kChoice = {{.name = "random::choice",
                               .operands = {{.name = "x", .arity = Arity::optional, .shape = "rank 1 or more"},
                                            {.name = "weights", .arity = Arity::optional, .shape = "[n]"},
                                            kKeyOperand},
                               .results = {{"y", "shape; of x its shape with this in place of the axis",
                                            "i32; i64 from 2^31 indices on; of x its type"}},
                               .formula = "y[i…] = one of [0, 1, …, n - 1], or of x",
                               .summary = "random indices, or the slices of x along an axis at such"},
                              [](const Tensor& x, const Tensor& weights, const Tensor& key, const ChoiceAttributes& a) {
                                if (!x.defined()) {
                                  if (!a.n) throw InvalidArgument("neither x nor n is given");
                                  return chosen(*a.n, a.shape, a.replace, weights, key);
                                }
                                if (a.n) throw InvalidArgument("both x and n are given, expected one of them");
                                const int along = normalize_axis(a.axis, x.rank(), "random::choice");
                                return gather(x, chosen(x.shape()[along], a.shape, a.replace, weights, key), along);
                              }};

}  // namespace

// ---- The functions

Tensor truncated_normal(const DrawShape& shape, const TensorLike& low, const TensorLike& high, const TensorLike& mean,
                        const TensorLike& deviation, DType dtype, const Tensor& key) {
  constexpr std::string_view kName = "random::truncated_normal";
  return kTruncatedNormal(low, high, defined(kName, "mean", mean), defined(kName, "deviation", deviation), key,
                          {{shape.given}, dtype});
}
Tensor gumbel(const DrawShape& shape, const TensorLike& location, const TensorLike& scale, DType dtype,
              const Tensor& key) {
  constexpr std::string_view kName = "random::gumbel";
  return kGumbel(defined(kName, "location", location), defined(kName, "scale", scale), key, {{shape.given}, dtype});
}
Tensor laplace(const DrawShape& shape, const TensorLike& location, const TensorLike& scale, DType dtype,
               const Tensor& key) {
  constexpr std::string_view kName = "random::laplace";
  return kLaplace(defined(kName, "location", location), defined(kName, "scale", scale), key, {{shape.given}, dtype});
}
Tensor cauchy(const DrawShape& shape, const TensorLike& location, const TensorLike& scale, DType dtype,
              const Tensor& key) {
  constexpr std::string_view kName = "random::cauchy";
  return kCauchy(defined(kName, "location", location), defined(kName, "scale", scale), key, {{shape.given}, dtype});
}
Tensor logistic(const DrawShape& shape, const TensorLike& location, const TensorLike& scale, DType dtype,
                const Tensor& key) {
  constexpr std::string_view kName = "random::logistic";
  return kLogistic(defined(kName, "location", location), defined(kName, "scale", scale), key, {{shape.given}, dtype});
}
Tensor exponential(const DrawShape& shape, const TensorLike& scale, DType dtype, const Tensor& key) {
  return kExponential(defined("random::exponential", "scale", scale), key, {{shape.given}, dtype});
}
Tensor gamma(const DrawShape& shape, const TensorLike& concentration, const TensorLike& scale, DType dtype,
             const Tensor& key) {
  return kGamma(concentration, defined("random::gamma", "scale", scale), key, {{shape.given}, dtype});
}
Tensor log_gamma(const DrawShape& shape, const TensorLike& concentration, DType dtype, const Tensor& key) {
  return kLogGamma(concentration, key, {{shape.given}, dtype});
}
Tensor beta(const DrawShape& shape, const TensorLike& a, const TensorLike& b, DType dtype, const Tensor& key) {
  return kBeta(a, b, key, {{shape.given}, dtype});
}
Tensor dirichlet(const DrawShape& shape, const Tensor& concentration, DType dtype, const Tensor& key) {
  return kDirichlet(concentration, key, {{shape.given}, dtype});
}
Tensor chi_square(const DrawShape& shape, const TensorLike& freedom, DType dtype, const Tensor& key) {
  return kChiSquare(freedom, key, {{shape.given}, dtype});
}
Tensor student_t(const DrawShape& shape, const TensorLike& freedom, const TensorLike& location, const TensorLike& scale,
                 DType dtype, const Tensor& key) {
  constexpr std::string_view kName = "random::student_t";
  return kStudentT(freedom, defined(kName, "location", location), defined(kName, "scale", scale), key,
                   {{shape.given}, dtype});
}
Tensor multivariate_normal(const DrawShape& shape, const Tensor& mean, const Tensor& covariance, DType dtype,
                           const Tensor& key) {
  return kMultivariateNormal(mean, covariance, key, {{shape.given}, dtype});
}
Tensor orthogonal(std::int64_t n, const Shape& batch, DType dtype, const Tensor& key) {
  return kOrthogonal(key, {n, batch, dtype});
}

Tensor poisson(const DrawShape& shape, const TensorLike& rate, DType dtype, const Tensor& key) {
  return kPoisson(rate, key, {{shape.given}, dtype});
}
Tensor binomial(const DrawShape& shape, const TensorLike& count, const TensorLike& probability, DType dtype,
                const Tensor& key) {
  return kBinomial(count, probability, key, {{shape.given}, dtype});
}
Tensor geometric(const DrawShape& shape, const TensorLike& probability, DType dtype, const Tensor& key) {
  return kGeometric(probability, key, {{shape.given}, dtype});
}

Tensor categorical(const DrawShape& shape, const Tensor& logits, int axis, const Tensor& key) {
  return kCategorical(logits, key, {{shape.given}, axis});
}
Tensor multinomial(const DrawShape& shape, const TensorLike& count, const Tensor& weights, const Tensor& key) {
  return kMultinomial(count, weights, key, {shape.given});
}
Tensor choice(std::int64_t n, const Shape& shape, const ChoiceOptions& options, const Tensor& key) {
  return kChoice({}, options.weights, key, {n, shape, options.replace, options.axis});
}
Tensor choice(const Tensor& x, const Shape& shape, const ChoiceOptions& options, const Tensor& key) {
  if (!x.defined()) throw InvalidArgument("random::choice: the operand is an undefined Tensor");
  return kChoice(x, options.weights, key, {{}, shape, options.replace, options.axis});
}

}  // namespace weft::random

namespace weft {

void add_distribution_functions(FunctionRows& rows) {
  using namespace random;
  rows.add(kTruncatedNormal, kGumbel, kLaplace, kCauchy, kLogistic, kExponential, kGamma, kLogGamma, kBeta, kDirichlet,
           kChiSquare, kStudentT, kMultivariateNormal, kOrthogonal, kPoisson, kBinomial, kGeometric, kCategorical,
           kMultinomial, kChoice);
}

}  // namespace weft
