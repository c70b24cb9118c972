// Distributions with parameters: compositions of the random operations.
#include "weft/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error_context.h"
#include "core/format.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/linalg.h"
#include "weft/random.h"
#include "weft/special.h"

namespace weft::random {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor key_or_next(const Tensor& key) { return key.defined() ? key : next_key(); }

bool is_drawn(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

void check_result(DType type) {
  if (!is_drawn(type)) throw TypeError("results of {}; expected f32, f16 or bf16", name(type));
}

// A parameter as a float: of a narrow type as it is, of integers in f32.
Tensor float_parameter(std::string_view what, const TensorLike& x) {
  const Tensor* given = x.tensor();
  if (!given) return Graph::scalar(x.number(), DType::f32);
  if (!given->defined()) throw InvalidArgument("{} is an undefined Tensor", what);
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
  if (!given->defined()) throw InvalidArgument("count is an undefined Tensor");
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

Shape shape_of(const DrawShape& shape, std::initializer_list<Shape> parameters) {
  if (shape.given) return *shape.given;
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
Tensor location_scale(std::string_view function, const DrawShape& shape, const TensorLike& location,
                      const TensorLike& scale, DType dtype, const Tensor& key, Tensor (*f)(const Tensor&)) {
  return in_function(function, [&] {
    check_result(dtype);
    check_number("scale", scale, 0, kInf);
    const Tensor at = in_f32("location", location), times = in_f32("scale", scale);
    const Shape whole = shape_of(shape, {at.shape(), times.shape()});
    return drawn(at + times * f(random_signed_uniform(key_or_next(key), whole)), whole, dtype);
  });
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

}  // namespace

Tensor truncated_normal(const DrawShape& shape, const TensorLike& low, const TensorLike& high, const TensorLike& mean,
                        const TensorLike& deviation, DType dtype, const Tensor& key) {
  return in_function("random::truncated_normal", [&] {
    check_result(dtype);
    check_number("deviation", deviation, 0, kInf);
    if (!low.tensor() && !high.tensor() && !(low.number().value() < high.number().value())) {
      throw InvalidArgument("from {} to {}; expected low < high", low.number().value(), high.number().value());
    }
    const Tensor from = in_f32("low", low), to = in_f32("high", high), centre = in_f32("mean", mean),
                 scale = in_f32("deviation", deviation);
    const Shape whole = shape_of(shape, {from.shape(), to.shape(), centre.shape(), scale.shape()});
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
    return drawn(select(from <= to, x, kNaN), whole, dtype);
  });
}

Tensor gumbel(const DrawShape& shape, const TensorLike& location, const TensorLike& scale, DType dtype,
              const Tensor& key) {
  return location_scale("random::gumbel", shape, location, scale, dtype, key, gumbel_of);
}

Tensor laplace(const DrawShape& shape, const TensorLike& location, const TensorLike& scale, DType dtype,
               const Tensor& key) {
  return location_scale("random::laplace", shape, location, scale, dtype, key, laplace_of);
}

Tensor cauchy(const DrawShape& shape, const TensorLike& location, const TensorLike& scale, DType dtype,
              const Tensor& key) {
  return location_scale("random::cauchy", shape, location, scale, dtype, key, cauchy_of);
}

Tensor logistic(const DrawShape& shape, const TensorLike& location, const TensorLike& scale, DType dtype,
                const Tensor& key) {
  return location_scale("random::logistic", shape, location, scale, dtype, key, logistic_of);
}

Tensor exponential(const DrawShape& shape, const TensorLike& scale, DType dtype, const Tensor& key) {
  return in_function("random::exponential", [&] {
    check_result(dtype);
    check_number("scale", scale, 0, kInf);
    const Tensor times = in_f32("scale", scale);
    const Shape whole = shape_of(shape, {times.shape()});
    return drawn(times * exponential_of(random_signed_uniform(key_or_next(key), whole)), whole, dtype);
  });
}

Tensor gamma(const DrawShape& shape, const TensorLike& concentration, const TensorLike& scale, DType dtype,
             const Tensor& key) {
  return in_function("random::gamma", [&] {
    check_result(dtype);
    check_number("concentration", concentration, 0, kInf);
    check_number("scale", scale, 0, kInf);
    const Tensor a = float_parameter("concentration", concentration);
    const bool plain = !scale.tensor() && scale.number().value() == 1;
    const Tensor times = in_f32("scale", scale);
    const Shape whole = shape_of(shape, {a.shape(), times.shape()});
    if (plain) return random_gamma(key_or_next(key), a, whole, dtype);
    return drawn(times * random_gamma(key_or_next(key), a, whole), whole, dtype);
  });
}

Tensor log_gamma(const DrawShape& shape, const TensorLike& concentration, DType dtype, const Tensor& key) {
  return in_function("random::log_gamma", [&] {
    check_result(dtype);
    check_number("concentration", concentration, 0, kInf);
    const Tensor a = float_parameter("concentration", concentration);
    return random_gamma(key_or_next(key), a, shape_of(shape, {a.shape()}), dtype, true);
  });
}

Tensor beta(const DrawShape& shape, const TensorLike& a, const TensorLike& b, DType dtype, const Tensor& key) {
  return in_function("random::beta", [&] {
    check_result(dtype);
    check_number("a", a, 0, kInf);
    check_number("b", b, 0, kInf);
    const Tensor first = float_parameter("a", a), second = float_parameter("b", b);
    const Shape whole = shape_of(shape, {first.shape(), second.shape()});
    const auto [of_a, of_b] = split<2>(key_or_next(key));
    return cast(sigmoid(log_gamma_of(of_a, first, whole) - log_gamma_of(of_b, second, whole)), dtype);
  });
}

Tensor dirichlet(const DrawShape& shape, const Tensor& concentration, DType dtype, const Tensor& key) {
  return in_function("random::dirichlet", [&] {
    check_result(dtype);
    const Tensor a = float_parameter("concentration", concentration);
    if (a.rank() < 1) throw ShapeError("concentration is {}; expected [..., n]", to_string(concentration.type()));
    const Shape whole = with_last(shape_of(shape, {without_last(a.shape(), 1)}), a.shape().back());
    return cast(softmax(log_gamma_of(key_or_next(key), a, whole)), dtype);
  });
}

Tensor chi_square(const DrawShape& shape, const TensorLike& freedom, DType dtype, const Tensor& key) {
  return in_function("random::chi_square", [&] {
    check_result(dtype);
    check_number("freedom", freedom, 0, kInf);
    const Tensor half = in_f32("freedom", freedom) * 0.5F;
    return cast(2.0F * random_gamma(key_or_next(key), half, shape_of(shape, {half.shape()})), dtype);
  });
}

Tensor student_t(const DrawShape& shape, const TensorLike& freedom, const TensorLike& location, const TensorLike& scale,
                 DType dtype, const Tensor& key) {
  return in_function("random::student_t", [&] {
    check_result(dtype);
    check_number("freedom", freedom, 0, kInf);
    check_number("scale", scale, 0, kInf);
    const Tensor half = in_f32("freedom", freedom) * 0.5F, at = in_f32("location", location),
                 times = in_f32("scale", scale);
    const Shape whole = shape_of(shape, {half.shape(), at.shape(), times.shape()});
    const auto [of_normal, of_gamma] = split<2>(key_or_next(key));
    // The root of half / gamma(half), by logarithms, of which few degrees do not underflow.
    const Tensor root = exp((log(half) - log_gamma_of(of_gamma, half, whole)) * 0.5F);
    const Tensor z = random_normal(of_normal, DType::f32, whole);
    return drawn(at + times * z * select(half == kInf, 1.0F, root), whole, dtype);
  });
}

Tensor poisson(const DrawShape& shape, const TensorLike& rate, DType dtype, const Tensor& key) {
  return in_function("random::poisson", [&] {
    check_counts(dtype);
    check_number("rate", rate, 0, kInf);
    const Tensor mean = float_parameter("rate", rate);
    const Shape whole = shape_of(shape, {mean.shape()});
    return as_counts(random_poisson(key_or_next(key), mean, whole, drawn_as(dtype)), dtype);
  });
}

Tensor binomial(const DrawShape& shape, const TensorLike& count, const TensorLike& probability, DType dtype,
                const Tensor& key) {
  return in_function("random::binomial", [&] {
    check_counts(dtype);
    check_number("probability", probability, 0, 1);
    const Tensor n = count_parameter(count), p = float_parameter("probability", probability);
    const Shape whole = shape_of(shape, {n.shape(), p.shape()});
    return as_counts(random_binomial(key_or_next(key), n, p, whole, drawn_as(dtype)), dtype);
  });
}

Tensor geometric(const DrawShape& shape, const TensorLike& probability, DType dtype, const Tensor& key) {
  return in_function("random::geometric", [&] {
    check_counts(dtype);
    check_number("probability", probability, 0, 1);
    const Tensor p = float_parameter("probability", probability);
    return as_counts(random_geometric(key_or_next(key), p, shape_of(shape, {p.shape()}), drawn_as(dtype)), dtype);
  });
}

namespace {

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

}  // namespace

Tensor categorical(const DrawShape& shape, const Tensor& logits, int axis, const Tensor& key) {
  return in_function("random::categorical", [&] {
    Tensor x = float_parameter("logits", logits);
    const int along = normalize_axis(axis, x.rank(), "random::categorical");
    const std::int64_t n = x.shape()[along];
    if (n == 0) throw ShapeError("logits are {}; expected categories along axis {}", to_string(logits.type()), axis);
    Shape batch = x.shape();
    batch.erase(along);
    const Shape whole = shape_of(shape, {batch});
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
  });
}

Tensor multinomial(const DrawShape& shape, const TensorLike& count, const Tensor& weights, const Tensor& key) {
  return in_function("random::multinomial", [&] {
    const Tensor n = count_parameter(count), given = in_f32("weights", weights);
    if (given.rank() < 1 || given.shape().back() == 0) {
      throw ShapeError("weights are {}; expected [..., n] with n of 1 or more", to_string(weights.type()));
    }
    const Shape batch = without_last(given.shape(), 1);
    const Shape whole = shape_of(shape, {n.shape(), batch});
    const std::int64_t categories = given.shape().back();
    // Of weights whose sums are numbers.
    const Tensor greatest = max(given, -1, true);
    const Tensor sound =
        logical_and(reduce(ReduceKind::all, given >= 0, -1), squeeze(logical_and(greatest > 0, greatest < kInf), -1));
    // Sums of pairs, of pairs of these, and so on.
    std::vector<Tensor> sums{given * select(greatest > 0x1p60F, 0x1p-64F, 1.0F)};
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
  });
}

Tensor multivariate_normal(const DrawShape& shape, const Tensor& mean, const Tensor& covariance, DType dtype,
                           const Tensor& key) {
  return in_function("random::multivariate_normal", [&] {
    check_result(dtype);
    const Tensor centre = in_f32("mean", mean), c = in_f32("covariance", covariance);
    const auto fits = [&] {
      return centre.rank() >= 1 && c.rank() >= 2 && c.shape()[-1] == c.shape()[-2] &&
             c.shape()[-1] == centre.shape()[-1];
    };
    if (!fits()) {
      throw ShapeError("mean is {}, covariance {}; expected [..., n] and [..., n, n]", to_string(mean.type()),
                       to_string(covariance.type()));
    }
    const Shape whole = with_last(shape_of(shape, {without_last(centre.shape(), 1), without_last(c.shape(), 2)}),
                                  centre.shape().back());
    const Tensor l = cholesky(c), z = random_normal(key_or_next(key), DType::f32, whole);
    // Rows times lᵀ; of one covariance as one product.
    const Tensor moved =
        c.rank() == 2 && whole.rank() > 1 ? matmul(z, l.T()) : squeeze(matmul(l, expand_dims(z, -1)), -1);
    return drawn(centre + moved, whole, dtype);
  });
}

Tensor orthogonal(std::int64_t n, const Shape& batch, DType dtype, const Tensor& key) {
  return in_function("random::orthogonal", [&] {
    check_result(dtype);
    if (n < 0) throw InvalidArgument("matrices of {} rows", n);
    const QrResult f = qr(random_normal(key_or_next(key), DType::f32, with_last(with_last(batch, n), n)));
    return cast(f.q * expand_dims(select(diagonal(f.r) < 0, -1.0F, 1.0F), -2), dtype);
  });
}

Tensor choice(std::int64_t n, const Shape& shape, const ChoiceOptions& options, const Tensor& key) {
  return in_function("random::choice", [&] {
    const std::int64_t count = element_count(shape);
    if (n < 0 || (n == 0 && count > 0)) throw InvalidArgument("{} of {} elements", count, n);
    if (!options.replace && count > n) {
      throw InvalidArgument("{} of {} elements without replacement, of which there are not as many", count, n);
    }
    const Tensor own = key_or_next(key);
    if (!options.weights.defined()) {
      if (!options.replace) return reshape(slice(permutation(n, own), 0, 0, count), shape);
      const DType type = n > std::numeric_limits<std::int32_t>::max() ? DType::i64 : DType::i32;
      if (count == 0) return zeros(shape, type);
      return random_integers(own, type, shape, 0, n);
    }
    const Tensor weights = in_f32("weights", options.weights);
    if (weights.shape() != Shape{n}) {
      throw ShapeError("weights are {}; expected [{}]", to_string(options.weights.type()), n);
    }
    if (count == 0) return zeros(shape, DType::i32);
    const Tensor logits = log(weights);
    if (options.replace) return categorical(shape, logits, 0, own);
    // Less the greatest logit, so that weights of any size leave the noise its digits.
    const Tensor top = max(select(is_finite(logits), logits, -1000));
    const Tensor scores = (logits - top) + gumbel_of(random_signed_uniform(own, {n}));
    return reshape(slice(argsort(scores, 0, true), 0, 0, count), shape);
  });
}

Tensor choice(const Tensor& x, const Shape& shape, const ChoiceOptions& options, const Tensor& key) {
  return in_function("random::choice", [&] {
    if (!x.defined()) throw InvalidArgument("the operand is an undefined Tensor");
    const int along = normalize_axis(options.axis, x.rank(), "random::choice");
    return gather(x, choice(x.shape()[along], shape, options, key), along);
  });
}

}  // namespace weft::random
