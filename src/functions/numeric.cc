// Numerical functions as compositions of other operations (weft/numeric.h).
#include "weft/numeric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "functions/sliding_products.h"
#include "kernels/fft/plan.h"
#include "ops/composition.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/promotion.h"
#include "ops/range_scale.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/fft.h"
#include "weft/linalg.h"

namespace weft {
namespace {

constexpr std::string_view kCommonOrF32 = "the common type; of integers and bool f32";

// Elements begin, begin + 1, … of an axis, `count` of them.
Tensor part(const Tensor& x, int axis, std::int64_t begin, std::int64_t count) {
  return slice(x, axis, begin, begin + count);
}

// Coordinates of the samples along an axis, with y's rank.
Tensor along(std::string_view function, const Tensor& y, const Tensor& coordinates, int axis) {
  Tensor at = coordinates;
  if (at.rank() == 1) {
    Shape shape = Shape::filled(y.rank(), 1);
    shape[axis] = at.size();
    at = reshape(at, shape);
  }
  if (at.rank() != y.rank() || at.shape()[axis] != y.shape()[axis] || !broadcasts_to(at.shape(), y.shape())) {
    throw ShapeError("{}: coordinates are {}, expected one for each sample along axis {} of {}", function,
                     to_string(coordinates.type()), axis, to_string(y.type()));
  }
  return at;
}

// The type of integrals and of derivatives. Coordinates are undefined where samples are at equal distances.
DType result_type_of(std::string_view function, const Tensor& y, const Tensor& coordinates) {
  if (!coordinates.defined()) return averaged(y.dtype());
  return averaged(result_type_for(function, std::array<Tensor, 2>{y, coordinates}));
}

// The areas between neighbours along an axis.
Tensor areas(std::string_view function, const Tensor& y, const Tensor& coordinates, double distance, int axis) {
  const int a = normalize_axis(axis, y.rank(), function);
  const DType type = result_type_of(function, y, coordinates);
  const Tensor v = accumulated(cast(y, type));
  const std::int64_t n = std::max<std::int64_t>(v.shape()[a] - 1, 0), first = std::min<std::int64_t>(v.shape()[a], 1);
  // (Halves, whose sum is in range.)
  const Tensor means = part(v, a, first, n) * 0.5 + part(v, a, 0, n) * 0.5;
  if (!coordinates.defined()) return multiplied_by(means, distance);
  const Tensor at = accumulated(cast(along(function, y, coordinates, a), type));
  const Tensor from = part(at, a, 0, n), to = part(at, a, first, n), k = difference_factor(to, from);
  return means * (to * k - from * k) * (3 - 2 * k);  // 1 / k
}

// By differences of neighbours at these coordinates, or without them at this distance.
Tensor differences(const Tensor& f, int axis, const Tensor& at, double distance, EdgeOrder edges) {
  const std::int64_t n = f.shape()[axis];
  // From sample i to the one that is `apart` samples further on, of `count` samples.
  const auto slopes = [&](std::int64_t i, std::int64_t count, std::int64_t apart) {
    const Tensor from = part(f, axis, i, count), to = part(f, axis, i + apart, count), k = difference_factor(to, from);
    const Tensor rise = to * k - from * k;
    if (!at.defined()) return divided_by(rise, static_cast<double>(apart) * distance) * (3 - 2 * k);  // 1 / k
    const Tensor begin = part(at, axis, i, count), end = part(at, axis, i + apart, count);
    const Tensor half = difference_factor(end, begin);
    return rise / (end * half - begin * half) * (half * (3 - 2 * k));
  };
  // The distances before and after samples from i on, each as a share of their sum, which may be past the range.
  struct Shares {
    Tensor before, after;
  };
  const auto shares = [&](std::int64_t i, std::int64_t count) -> Shares {
    const Tensor from = part(at, axis, i - 1, count), mid = part(at, axis, i, count), to = part(at, axis, i + 1, count);
    const Tensor k = select(is_finite((mid - from) + (to - mid)), 1.0, 0.5);
    const Tensor before = mid * k - from * k, after = to * k - mid * k, both = before + after;
    return {before / both, after / both};
  };
  // At an end that of two samples, or of the parabola through three, of which `mid` is the second one.
  const auto end = [&](std::int64_t outer, std::int64_t inner, std::int64_t mid) {
    const Tensor slope = slopes(outer, 1, 1);
    if (edges == EdgeOrder::first) return slope;
    const Tensor next = slopes(inner, 1, 1), k = difference_factor(next, slope), difference = next * k - slope * k;
    if (!at.defined()) return slope - difference * (1.5 - k);  // ½ / k
    const Shares of = shares(mid, 1);
    return slope - difference * ((outer < inner ? of.before : of.after) * (3 - 2 * k));
  };
  std::vector<Tensor> parts{end(0, 1, 1)};
  if (n > 2 && !at.defined()) parts.push_back(slopes(0, n - 2, 2));
  if (n > 2 && at.defined()) {
    const Tensor each = slopes(0, n - 1, 1);
    const Shares of = shares(1, n - 2);
    parts.push_back(part(each, axis, 0, n - 2) * of.after + part(each, axis, 1, n - 2) * of.before);
  }
  parts.push_back(end(n - 2, n - 3, n - 2));
  return concat(parts, axis);
}

Tensor gradient_along(const Tensor& f, int axis, const Tensor& coordinates, double distance, EdgeOrder edges) {
  const int a = normalize_axis(axis, f.rank(), "gradient");
  const std::int64_t least = edges == EdgeOrder::first ? 2 : 3;
  if (f.shape()[a] < least) {
    throw ShapeError("gradient: axis {} of {} has less than {} samples", axis, to_string(f.type()), least);
  }
  const DType type = result_type_of("gradient", f, coordinates);
  const Tensor v = accumulated(cast(f, type));
  Tensor at;
  if (coordinates.defined()) {
    at = cast(along("gradient", f, coordinates, a), v.dtype() == DType::c64 ? DType::f32 : v.dtype());
  }
  return cast(differences(v, a, at, distance, edges), type);
}

// A period as a number of f32 or f64, in which it is neither 0 nor infinite, nor is its half.
double period_in(std::string_view function, double period, DType type) {
  using Single = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  const bool is_double = type == DType::f64;
  const double least = is_double ? Double::min() : static_cast<double>(Single::min());
  const double most = is_double ? Double::max() : static_cast<double>(Single::max());
  if (period >= 2 * least && period <= most) return period;
  throw InvalidArgument("{}: the period is {}, expected {} to {}, which are {}", function, period, 2 * least, most,
                        name(type));
}

// ---- Interpolation, integrals and differences

struct InterpAttributes {
  std::optional<double> left = {}, right = {}, period = {};
  void fields(AttributeVisitor& v) {
    v("left", left, {}, "the result below the first point; without it the first value");
    v("right", right, {}, "the result above the last point; without it the last value");
    v("period", period, {}, "after how much the line repeats: points are in any order then, without left and right");
  }
};
constexpr Function kInterp = {
    {.name = "interp",
     .operands = {{"x", types::real},
                  {.name = "points", .types = types::real, .min_rank = 1, .max_rank = 1, .shape = "[n]"},
                  {.name = "values", .types = types::real, .min_rank = 1, .max_rank = 1, .shape = "[n]"}},
     .results = {{"y", "x's shape", kCommonOrF32}},
     .formula = "y = values[i] + (x - points[i]) · (values[i + 1] - values[i]) / (points[i + 1] - points[i])",
     .summary = "the line through points, which ascend, at x"},
    [](const Tensor& x, const Tensor& points, const Tensor& values, const InterpAttributes& a) {
      std::int64_t n = points.size();
      if (n == 0 || values.size() != n) {
        throw ShapeError("interp: points are {} and values {}, expected as many, one at least",
                         to_string(points.type()), to_string(values.type()));
      }
      const DType type = averaged(result_type_for("interp", std::array<Tensor, 3>{x, points, values}));
      Tensor v = accumulated(cast(x, type)), at = accumulated(cast(points, type)), f = accumulated(cast(values, type));
      if (a.period) {
        // One period of points in order, and the nearest ones of those before and after it.
        const Tensor period = Graph::scalar(period_in("interp", std::abs(*a.period), v.dtype()), v.dtype());
        v = remainder(v, period);
        at = remainder(at, period);
        const Tensor order = argsort(at, 0);
        at = gather(at, order);
        f = gather(f, order);
        at = concat({part(at, 0, n - 1, 1) - period, at, part(at, 0, 0, 1) + period}, 0);
        f = concat({part(f, 0, n - 1, 1), f, part(f, 0, 0, 1)}, 0);
        n += 2;
      }
      const auto bound = [&](const std::optional<double>& given, std::int64_t i) {
        return given && !a.period ? Graph::scalar(*given, f.dtype()) : reshape(part(f, 0, i, 1), {});
      };
      // (What is not chosen below has numbers for derivatives, too.)
      const Tensor first = reshape(part(at, 0, 0, 1), {}), last = reshape(part(at, 0, n - 1, 1), {});
      const Tensor inside = select(v >= first, select(v <= last, v, last), first);
      // The last point that is not above x, as far as another one follows.
      const Tensor below = clamp(searchsorted(at, inside, Side::right) - 1, 0, std::max<std::int64_t>(n - 2, 0));
      const Tensor next = minimum(below + 1, n - 1);
      const Tensor from = gather(at, below), to = gather(at, next);
      const Tensor low = gather(f, below), high = gather(f, next);
      const Tensor apart = to > from, k = difference_factor(to, from);
      const Tensor share = select(apart, (inside * k - from * k) / select(apart, to * k - from * k, 1), 1);
      Tensor y = point_between(low, high, share);
      y = select(v < first, bound(a.left, 0), select(v > last, bound(a.right, n - 1), y));
      return cast(select(is_nan(v), v, y), type);
    }};

constexpr std::string_view kDistanceMeaning = "from one sample to the next, without coordinates";
constexpr std::string_view kOfSamples = "y's type; of integers and bool f32; with coordinates the common type of both";
constexpr FunctionOperand kCoordinates = {.name = "coordinates",
                                          .types = types::real,
                                          .arity = Arity::optional,
                                          .shape = "[samples], or y's rank, broadcast to y's shape"};

struct TrapezoidAttributes {
  double distance = 1;
  int axis = -1;
  void fields(AttributeVisitor& v) {
    v("distance", distance, 1, kDistanceMeaning);
    v("axis", axis, -1, "the axis of the samples");
  }
};
constexpr Function kTrapezoid = {
    {.name = "trapezoid",
     .operands = {{"y"}, kCoordinates},
     .results = {{"integral", "y's shape without the axis", kOfSamples}},
     .formula = "integral = Σ_i (coordinates[i + 1] - coordinates[i]) · (y[i] + y[i + 1]) / 2",
     .summary = "the integral along an axis by the trapezoidal rule"},
    [](const Tensor& y, const Tensor& coordinates, const TrapezoidAttributes& a) {
      const DType type = result_type_of("trapezoid", y, coordinates);
      const int axis = normalize_axis(a.axis, y.rank(), "trapezoid");
      const std::int64_t n = y.shape()[axis];
      if (coordinates.defined() || n < 2) {
        return cast(sum(areas("trapezoid", y, coordinates, a.distance, axis), axis), type);
      }
      // Each sample but the first and the last is in two areas: the sum of them all reads each once. (Samples times the
      // distance, whose sum is in range.)
      const Tensor v = accumulated(cast(y, type));
      const auto scaled = [&](const Tensor& t) { return multiplied_by(t, a.distance); };
      const auto half = [&](std::int64_t i) { return squeeze(scaled(part(v, axis, i, 1)) * 0.5, axis); };
      return cast(sum(scaled(part(v, axis, 1, n - 2)), axis) + (half(0) + half(n - 1)), type);
    }};

struct CumulativeTrapezoidAttributes : TrapezoidAttributes {
  std::optional<double> initial = {};
  void fields(AttributeVisitor& v) {
    TrapezoidAttributes::fields(v);
    v("initial", initial, {}, "what the result begins with, which is as long as y then");
  }
};
constexpr Function kCumulativeTrapezoid = {
    {.name = "cumulative_trapezoid",
     .operands = {{"y"}, kCoordinates},
     .results = {{"integral", "y's shape, with one element less along the axis; with initial y's shape", kOfSamples}},
     .formula = "integral[k] = Σ_i (coordinates[i + 1] - coordinates[i]) · (y[i] + y[i + 1]) / 2, i ≤ k",
     .summary = "the integral up to each sample but the first, by the trapezoidal rule"},
    [](const Tensor& y, const Tensor& coordinates, const CumulativeTrapezoidAttributes& a) {
      const Tensor each = areas("cumulative_trapezoid", y, coordinates, a.distance, a.axis);
      const DType type = result_type_of("cumulative_trapezoid", y, coordinates);
      Tensor result = cast(cumsum(each, a.axis), type);
      if (!a.initial || y.size() == 0) return result;
      const int axis = normalize_axis(a.axis, y.rank(), "cumulative_trapezoid");
      Shape first = y.shape();
      first[axis] = 1;
      return concat({broadcast_to(Graph::scalar(*a.initial, type), first), result}, axis);
    }};

constexpr std::string_view kEdgeOrders[] = {"first", "second"};
struct GradientAttributes {
  int axis = 0;
  double distance = 1;
  EdgeOrder edges = EdgeOrder::first;
  void fields(AttributeVisitor& v) {
    v("axis", axis, "the axis of the samples");
    v("distance", distance, 1, kDistanceMeaning);
    v("edges", edges, EdgeOrder::first, kEdgeOrders,
      "of how many samples the derivatives at both ends are: two (first), or three, exact for parabolas (second)");
  }
};
constexpr Function kGradient = {
    {.name = "gradient",
     .operands = {{"f"},
                  {.name = "coordinates",
                   .types = types::real,
                   .arity = Arity::optional,
                   .min_rank = 1,
                   .max_rank = 1,
                   .shape = "[samples]"}},
     .results = {{"y", "f's shape", "f's type; of integers and bool f32; with coordinates the common type of both"}},
     .formula = "y[i] = (f[i + 1] - f[i - 1]) / (coordinates[i + 1] - coordinates[i - 1])",
     .summary = "the derivative along an axis by differences of neighbours, at any distances exact for parabolas"},
    [](const Tensor& f, const Tensor& coordinates, const GradientAttributes& a) {
      return gradient_along(f, a.axis, coordinates, a.distance, a.edges);
    }};
constexpr Function kGradients = {
    {.name = "gradients",
     .operands = {{"f"}},
     .results = {{"y", "f's shape", "f's type; of integers and bool f32", Arity::repeated}},
     .formula = "y[k] = gradient(f, k)",
     .summary = "the derivatives along all axes of samples at distance 1",
     .form_of = "gradient"},
    [](const Tensor& f) {
      std::vector<Tensor> all;
      for (int i = 0; i < f.rank(); ++i) all.push_back(gradient_along(f, i, {}, 1, EdgeOrder::first));
      return all;
    }};

struct UnwrapAttributes {
  int axis = -1;
  double period = 2 * std::numbers::pi;
  std::optional<double> discontinuity = {};
  void fields(AttributeVisitor& v) {
    v("axis", axis, -1, "the axis along which it goes");
    v("period", period, 2 * std::numbers::pi, "of what multiples are added");
    v("discontinuity", discontinuity, {}, "the greatest difference that stays; half the period at least");
  }
};
constexpr Function kUnwrap = {
    {.name = "unwrap",
     .operands = {{"x", types::floats}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y = x + k · period",
     .summary = "multiples of the period added so that neighbours differ by no more than half of it"},
    [](const Tensor& x, const UnwrapAttributes& u) -> Tensor {
      const int a = normalize_axis(u.axis, x.rank(), "unwrap");
      const Tensor v = accumulated(x);
      const double period = period_in("unwrap", u.period, v.dtype());
      if (x.shape()[a] < 2) return x;
      const Tensor step = diff(v, a);
      const Tensor half = Graph::scalar(period / 2, v.dtype()), whole = Graph::scalar(period, v.dtype());
      const Tensor inside = remainder(step + half, whole) - half;
      // Steps by half the period keep their direction.
      const Tensor kept = select((inside == -half) & (step > 0), half, inside);
      const Tensor moved = select(abs(step) < std::max(u.discontinuity.value_or(0), u.period / 2), 0, kept - step);
      return cast(concat({part(v, a, 0, 1), part(v, a, 1, x.shape()[a] - 1) + cumsum(moved, a)}, a), x.dtype());
    }};

// ---- Convolution

Tensor convolved(std::string_view function, const Tensor& x, const Tensor& y, ConvolveMode mode, bool reverse) {
  const DType type = result_type_for(function, std::array<Tensor, 2>{x, y});
  if (bits(type) < 8) {
    throw TypeError("{}: a is {} and b {}, expected numbers of 8 bits or more, or bool", function, to_string(x.type()),
                    to_string(y.type()));
  }
  const Tensor a = cast(x, type), given = cast(y, type), b = reverse && type == DType::c64 ? conj(given) : given;
  const std::int64_t n = a.size(), m = b.size(), least = std::min(n, m), most = std::max(n, m);
  if (least == 0) {
    throw ShapeError("{}: a is {} and b {}, expected elements", function, to_string(a.type()), to_string(b.type()));
  }
  // Zeros on both sides of the longer one: for the full result one less than the shorter one has.
  std::int64_t before = 0, after = 0;
  if (mode == ConvolveMode::full) before = after = least - 1;
  if (mode == ConvolveMode::same) {
    after = (least - 1) / 2;
    before = least - 1 - after;
    if (reverse && n < m) std::swap(before, after);  // as NumPy's, of which correlate(a, b) is correlate(b, a) reversed
  }
  constexpr std::int64_t kLong = 1024;
  if (least >= kLong && (type == DType::f32 || type == DType::c64)) {
    const std::int64_t size = kernels::smooth_length(n + m - 1);
    const Tensor other = reverse ? flip(b) : b;
    const Tensor full = type == DType::c64 ? ifft(fft(a, size) * fft(other, size), size)
                                           : irfft(rfft(a, size) * rfft(other, size), size);
    return part(full, 0, least - 1 - before, most - least + 1 + before + after);
  }
  // sliding_products() does not turn the window round.
  const bool exchanged = n < m;
  const Tensor signal = exchanged ? (reverse ? flip(b) : b) : a;
  const Tensor window = exchanged ? flip(a) : (reverse ? b : flip(b));
  return flatten(sliding_products(reshape(signal, {1, most}), window, before, after));
}

template <ConvolveMode kDefault>
struct ConvolveAttributes {
  ConvolveMode mode = kDefault;
  void fields(AttributeVisitor& v) {
    v("mode", mode, kDefault, kConvolveModes,
      "which places are computed: all at which the signals overlap (full), the middle of these, as many as the longer "
      "signal has (same), or those at which they overlap in full (valid)");
  }
};
constexpr FunctionOperand kSignalA = {.name = "a", .min_rank = 1, .max_rank = 1, .shape = "[n]"};
constexpr FunctionOperand kSignalB = {.name = "b", .min_rank = 1, .max_rank = 1, .shape = "[m]"};
constexpr FunctionResult kConvolved = {"y", "[n + m - 1]; same: [max(n, m)]; valid: [|n - m| + 1]",
                                       "the common type; of integers as sum()"};

constexpr Function kConvolve = {
    {.name = "convolve",
     .operands = {kSignalA, kSignalB},
     .results = {kConvolved},
     .formula = "y[i] = Σ_j a[j] · b[i - j]",
     .summary = "the convolution of two signals"},
    [](const Tensor& a, const Tensor& b, const ConvolveAttributes<ConvolveMode::full>& attributes) {
      return convolved("convolve", a, b, attributes.mode, false);
    }};
constexpr Function kCorrelate = {
    {.name = "correlate",
     .operands = {kSignalA, kSignalB},
     .results = {kConvolved},
     .formula = "y[i] = Σ_j a[i + j] · conj(b[j])",
     .summary = "the correlation of two signals"},
    [](const Tensor& a, const Tensor& b, const ConvolveAttributes<ConvolveMode::valid>& attributes) {
      return convolved("correlate", a, b, attributes.mode, true);
    }};

// ---- Polynomials

constexpr Function kPolyval = {
    {.name = "polyval",
     .operands = {{.name = "coefficients", .min_rank = 1, .max_rank = 1, .shape = "[n]"}, {"x"}},
     .results = {{"y", "x's shape", kCommonOrF32}},
     .formula = "y = coefficients[0] · x^(n - 1) + … + coefficients[n - 1]",
     .summary = "the polynomial at x, by Horner's rule"},
    [](const Tensor& coefficients, const Tensor& x) {
      const DType type = result_type_for("polyval", std::array<Tensor, 2>{coefficients, x});
      const Tensor v = accumulated(cast(x, averaged(type))), c = cast(coefficients, v.dtype());
      Tensor y = zeros_like(v);
      for (std::int64_t i = 0; i < c.size(); ++i) y = y * v + reshape(part(c, 0, i, 1), {});
      return cast(y, averaged(type));
    }};

struct PolyfitAttributes {
  std::int64_t degree = 0;
  std::optional<double> rcond = {};
  void fields(AttributeVisitor& v) {
    v("degree", degree, "the greatest power");
    v("rcond", rcond, {}, "which part of the largest singular value counts as 0; without it n roundings");
  }
};
constexpr Function kPolyfit = {
    {.name = "polyfit",
     .operands = {{.name = "x", .types = types::real, .min_rank = 1, .max_rank = 1, .shape = "[n]"},
                  {.name = "y", .min_rank = 1, .max_rank = 2, .shape = "[n], or [n, k]"},
                  {.name = "weights",
                   .types = types::real,
                   .arity = Arity::optional,
                   .min_rank = 1,
                   .max_rank = 1,
                   .shape = "[n]"}},
     .results = {{"coefficients", "[degree + 1], or [degree + 1, k]", kCommonOrF32}},
     .formula = "coefficients = argmin_c Σ_i |weights[i] · (y[i] - polyval(c, x[i]))|²",
     .summary = "the polynomial that comes nearest to samples, by least squares"},
    [](const Tensor& x, const Tensor& y, const Tensor& weights, const PolyfitAttributes& a) {
      constexpr std::string_view kName = "polyfit";
      // (Columns past 2^40 would fit no memory.)
      if (a.degree < 0 || a.degree > std::int64_t{1} << 40) {
        throw InvalidArgument("{}: the degree is {}, expected 0 or more", kName, a.degree);
      }
      const std::int64_t n = x.size();
      if (n == 0 || y.shape()[0] != n || (weights.defined() && weights.size() != n)) {
        throw ShapeError("{}: x is {}, y {}{}; expected as many samples in each, one at least", kName,
                         to_string(x.type()), to_string(y.type()),
                         weights.defined() ? std::format(", weights are {}", to_string(weights.type())) : "");
      }
      std::vector<Tensor> operands{x, y};
      if (weights.defined()) operands.push_back(weights);
      const DType type = averaged(result_type_for(kName, operands));
      const DType wide = type == DType::c64 ? DType::f32 : accumulated(Graph::scalar(0, type)).dtype();
      Tensor powers = vander(cast(x, wide), a.degree + 1);
      Tensor sides = type == DType::c64 ? cast(y, type) : cast(y, wide);
      if (weights.defined()) {
        const Tensor w = expand_dims(cast(weights, wide), 1);
        powers = powers * w;
        sides = sides * (y.rank() == 1 ? squeeze(w, 1) : w);
      }
      // Columns of norm 1, so that the condition is not that of the powers' magnitudes.
      const Tensor norms = vector_norm(powers, 2, {0}, true), scale = select(norms == 0, 1, norms);
      const double rcond = a.rcond.value_or(std::ldexp(static_cast<double>(n), wide == DType::f64 ? -52 : -23));
      const Tensor c = lstsq_svd(powers / scale, sides, rcond).solution;
      return cast(c / (y.rank() == 1 ? squeeze(scale, 0) : scale.T()), type);
    }};

}  // namespace

void add_numeric_functions(FunctionRows& rows) {
  rows.add(kInterp, kTrapezoid, kCumulativeTrapezoid, kGradient, kGradients, kUnwrap);
  rows.add(kConvolve, kCorrelate, kPolyval, kPolyfit);
}

// ---- The functions

Tensor interp(const Operand& x, const Operand& points, const Operand& values, const InterpOptions& options) {
  return kInterp(x, points, values, {options.left, options.right, options.period});
}

Tensor trapezoid(const Operand& y, double distance, int axis) { return kTrapezoid(y, {}, {distance, axis}); }
Tensor trapezoid(const Operand& y, const Operand& coordinates, int axis) {
  require_defined(coordinates, "trapezoid", "coordinates");
  return kTrapezoid(y, coordinates, {.axis = axis});
}
Tensor cumulative_trapezoid(const Operand& y, double distance, int axis, std::optional<double> initial) {
  return kCumulativeTrapezoid(y, {}, {{distance, axis}, initial});
}
Tensor cumulative_trapezoid(const Operand& y, const Operand& coordinates, int axis, std::optional<double> initial) {
  require_defined(coordinates, "cumulative_trapezoid", "coordinates");
  return kCumulativeTrapezoid(y, coordinates, {{.axis = axis}, initial});
}

Tensor gradient(const Operand& f, int axis, double distance, EdgeOrder edges) {
  return kGradient(f, {}, {axis, distance, edges});
}
Tensor gradient(const Operand& f, int axis, const Operand& coordinates, EdgeOrder edges) {
  require_defined(coordinates, "gradient", "coordinates");
  return kGradient(f, coordinates, {.axis = axis, .edges = edges});
}
std::vector<Tensor> gradient(const Operand& f) { return kGradients(f); }

Tensor unwrap(const Operand& x, int axis, double period, std::optional<double> discontinuity) {
  return kUnwrap(x, {axis, period, discontinuity});
}

Tensor convolve(const Operand& a, const Operand& b, ConvolveMode mode) { return kConvolve(a, b, {mode}); }
Tensor correlate(const Operand& a, const Operand& b, ConvolveMode mode) { return kCorrelate(a, b, {mode}); }

Tensor polyval(const Operand& coefficients, const Operand& x) { return kPolyval(coefficients, x); }
Tensor polyfit(const Operand& x, const Operand& y, std::int64_t degree, const Operand& weights,
               std::optional<double> rcond) {
  return kPolyfit(x, y, weights, {degree, rcond});
}

}  // namespace weft
