// Numerical functions as compositions of other operations (weft/numeric.h).
#include "weft/numeric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/functions.h"
#include "graph/promotion.h"
#include "graph/rules.h"
#include "kernels/fft/plan.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/fft.h"

namespace weft {
namespace {

// Of rank 1.
void require_line(const Tensor& x, std::string_view function, std::string_view operand) {
  require_defined(x, function, operand);
  if (x.rank() == 1) return;
  throw ShapeError("{}: {} {}, expected rank 1", function, operand, to_string(x.type()));
}

Tensor averaged_of(const Tensor& x) { return cast(x, averaged(x.dtype())); }

// Elements begin, begin + 1, … of an axis, `count` of them.
Tensor part(const Tensor& x, int axis, std::int64_t begin, std::int64_t count) {
  return slice(x, axis, begin, begin + count);
}

// The type of x as floats with such coordinates.
DType common_type(std::string_view function, const Tensor& x, const Tensor& coordinates) {
  return averaged(result_type_for(function, std::array<Tensor, 2>{x, coordinates}));
}

// Coordinates of the samples along an axis, with y's rank.
Tensor along(std::string_view function, const Tensor& y, const Tensor& coordinates, int axis) {
  require_real(coordinates, function, "coordinates are");
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

// The areas between neighbours along an axis.
Tensor areas(std::string_view function, const Tensor& y, const Tensor* coordinates, double distance, int axis) {
  require_defined(y, function);
  const int a = normalize_axis(axis, y.rank(), function);
  const DType type =
      coordinates && coordinates->defined() ? common_type(function, y, *coordinates) : averaged(y.dtype());
  const Tensor v = accumulated(cast(y, type));
  const std::int64_t n = std::max<std::int64_t>(v.shape()[a] - 1, 0), first = std::min<std::int64_t>(v.shape()[a], 1);
  // (Halves, whose sum is in range.)
  const Tensor means = part(v, a, first, n) * 0.5 + part(v, a, 0, n) * 0.5;
  if (!coordinates) return distance == 1 ? means : means * Graph::scalar(distance, v.dtype());
  const Tensor at = accumulated(cast(along(function, y, *coordinates, a), type));
  const Tensor from = part(at, a, 0, n), to = part(at, a, first, n), k = difference_factor(to, from);
  return means * (to * k - from * k) * (3 - 2 * k);  // 1 / k
}

Tensor integral(const Tensor& y, const Tensor* coordinates, double distance, int axis) try {
  const Tensor each = areas("trapezoid", y, coordinates, distance, axis);
  const DType type = coordinates ? common_type("trapezoid", y, *coordinates) : averaged(y.dtype());
  return cast(sum(each, axis), type);
} catch (const Error& e) {
  throw_in_function(e, "trapezoid");
}

Tensor running_integral(const Tensor& y, const Tensor* coordinates, double distance, int axis,
                        std::optional<double> initial) try {
  const Tensor each = areas("cumulative_trapezoid", y, coordinates, distance, axis);
  const DType type = coordinates ? common_type("cumulative_trapezoid", y, *coordinates) : averaged(y.dtype());
  Tensor result = cast(cumsum(each, axis), type);
  if (!initial || y.size() == 0) return result;
  const int a = normalize_axis(axis, y.rank(), "cumulative_trapezoid");
  Shape first = y.shape();
  first[a] = 1;
  return concat({broadcast_to(Graph::scalar(*initial, type), first), result}, a);
} catch (const Error& e) {
  throw_in_function(e, "cumulative_trapezoid");
}

// By differences of neighbours, with these distances from one sample to the next.
Tensor differences(const Tensor& f, int axis, const Tensor& distances, EdgeOrder edges) {
  const std::int64_t n = f.shape()[axis];
  const auto distance = [&](std::int64_t i) { return distances.rank() == 0 ? distances : part(distances, axis, i, 1); };
  const auto sample = [&](std::int64_t i) { return part(f, axis, i, 1); };
  std::vector<Tensor> parts;
  // The parabola through three samples at an end; `outer` and `inner` are the places of their slopes.
  const auto end = [&](std::int64_t outer, std::int64_t inner) {
    const auto slope_at = [&](std::int64_t i) { return difference_quotient(sample(i + 1), sample(i), distance(i)); };
    const Tensor slope = slope_at(outer);
    if (edges == EdgeOrder::first) return slope;
    const Tensor d = distance(outer);
    return slope - (slope_at(inner) - slope) * (d / (d + distance(inner)));
  };
  parts.push_back(end(0, 1));
  if (n > 2 && distances.rank() == 0) {
    parts.push_back(difference_quotient(part(f, axis, 2, n - 2), part(f, axis, 0, n - 2), distances + distances));
  } else if (n > 2) {
    const Tensor slopes = difference_quotient(part(f, axis, 1, n - 1), part(f, axis, 0, n - 1), distances);
    const Tensor left = part(distances, axis, 0, n - 2), right = part(distances, axis, 1, n - 2), both = left + right;
    parts.push_back(part(slopes, axis, 0, n - 2) * (right / both) + part(slopes, axis, 1, n - 2) * (left / both));
  }
  parts.push_back(end(n - 2, n - 3));
  return concat(parts, axis);
}

Tensor gradient_along(const Tensor& f, int axis, const Tensor* coordinates, double distance, EdgeOrder edges) try {
  require_defined(f, "gradient");
  const int a = normalize_axis(axis, f.rank(), "gradient");
  const std::int64_t least = edges == EdgeOrder::first ? 2 : 3;
  if (f.shape()[a] < least) {
    throw ShapeError("gradient: axis {} of {} has less than {} samples", axis, to_string(f.type()), least);
  }
  if (!coordinates) {
    const Tensor v = accumulated(averaged_of(f));
    return cast(differences(v, a, Graph::scalar(distance, v.dtype()), edges), averaged(f.dtype()));
  }
  require_line(*coordinates, "gradient", "coordinates are");
  const DType type = common_type("gradient", f, *coordinates);
  const Tensor v = accumulated(cast(f, type));
  return cast(differences(v, a, diff(cast(along("gradient", f, *coordinates, a), v.dtype()), a), edges), type);
} catch (const Error& e) {
  throw_in_function(e, "gradient");
}

}  // namespace

Tensor interp(const Operand& x, const Operand& points, const Operand& values, const InterpOptions& options) try {
  require_defined(x, "interp", "x");
  require_line(points, "interp", "points are");
  require_line(values, "interp", "values are");
  std::int64_t n = points.size();
  if (n == 0 || values.size() != n) {
    throw ShapeError("interp: points are {} and values {}, expected as many, one at least", to_string(points.type()),
                     to_string(values.type()));
  }
  const DType type = averaged(result_type_for("interp", std::array<Tensor, 3>{x, points, values}));
  if (type == DType::c64) throw TypeError("interp: operands are c64, expected real numbers");
  Tensor v = accumulated(cast(x, type)), at = accumulated(cast(points, type)), f = accumulated(cast(values, type));
  if (options.period) {
    // One period of points in order, and the nearest ones of those before and after it.
    const double p = std::abs(*options.period);
    if (!(p > 0 && p < std::numeric_limits<double>::infinity())) {
      throw InvalidArgument("interp: the period is {}, expected a finite number that is not 0", *options.period);
    }
    const Tensor period = Graph::scalar(p, v.dtype());
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
    return given && !options.period ? Graph::scalar(*given, f.dtype()) : reshape(part(f, 0, i, 1), {});
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
  y = select(v < first, bound(options.left, 0), select(v > last, bound(options.right, n - 1), y));
  return cast(select(is_nan(v), v, y), type);
} catch (const Error& e) {
  throw_in_function(e, "interp");
}

Tensor trapezoid(const Operand& y, double distance, int axis) { return integral(y, nullptr, distance, axis); }
Tensor trapezoid(const Operand& y, const Operand& coordinates, int axis) { return integral(y, &coordinates, 0, axis); }
Tensor cumulative_trapezoid(const Operand& y, double distance, int axis, std::optional<double> initial) {
  return running_integral(y, nullptr, distance, axis, initial);
}
Tensor cumulative_trapezoid(const Operand& y, const Operand& coordinates, int axis, std::optional<double> initial) {
  return running_integral(y, &coordinates, 0, axis, initial);
}

Tensor gradient(const Operand& f, int axis, double distance, EdgeOrder edges) {
  return gradient_along(f, axis, nullptr, distance, edges);
}
Tensor gradient(const Operand& f, int axis, const Operand& coordinates, EdgeOrder edges) {
  return gradient_along(f, axis, &coordinates, 0, edges);
}
std::vector<Tensor> gradient(const Operand& f) {
  require_defined(f, "gradient");
  std::vector<Tensor> all;
  for (int i = 0; i < f.rank(); ++i) all.push_back(gradient_along(f, i, nullptr, 1, EdgeOrder::first));
  return all;
}

Tensor unwrap(const Operand& x, int axis, double period, std::optional<double> discontinuity) try {
  require_defined(x, "unwrap");
  if (!is_floating(x.dtype())) throw TypeError("unwrap: x is {}, expected a floating type", to_string(x.type()));
  if (!(period > 0)) throw InvalidArgument("unwrap: the period is {}, expected more than 0", period);
  const int a = normalize_axis(axis, x.rank(), "unwrap");
  if (x.shape()[a] < 2) return x;
  const Tensor v = accumulated(x), step = diff(v, a);
  const Tensor half = Graph::scalar(period / 2, v.dtype()), whole = Graph::scalar(period, v.dtype());
  const Tensor inside = remainder(step + half, whole) - half;
  // Steps by half the period keep their direction.
  const Tensor kept = select((inside == -half) & (step > 0), half, inside);
  const Tensor moved = select(abs(step) < std::max(discontinuity.value_or(0), period / 2), 0, kept - step);
  return cast(concat({part(v, a, 0, 1), part(v, a, 1, x.shape()[a] - 1) + cumsum(moved, a)}, a), x.dtype());
} catch (const Error& e) {
  throw_in_function(e, "unwrap");
}

// ---- Convolution

namespace {

Tensor convolved(std::string_view function, const Tensor& x, const Tensor& y, ConvolveMode mode, bool reverse) try {
  require_line(x, function, "a is");
  require_line(y, function, "b is");
  const DType type = result_type_for(function, std::array<Tensor, 2>{x, y});
  if (!is_floating(type) && !(is_integer(type) && bits(type) >= 8 && bits(type) <= 32)) {
    throw TypeError("{}: a is {} and b {}, expected floats or integers of 8 to 32 bits", function, to_string(x.type()),
                    to_string(y.type()));
  }
  const Tensor a = cast(x, type), b = cast(y, type);
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
  if (least >= kLong && type == DType::f32) {
    const std::int64_t size = kernels::smooth_length(n + m - 1);
    const Tensor full = irfft(rfft(a, size) * rfft(reverse ? flip(b) : b, size), size);
    return part(full, 0, least - 1 - before, most - least + 1 + before + after);
  }
  // conv() does not turn the window round.
  const bool exchanged = n < m;
  const Tensor signal = exchanged ? (reverse ? flip(b) : b) : a;
  const Tensor window = exchanged ? flip(a) : (reverse ? b : flip(b));
  return flatten(conv(reshape(signal, {1, 1, most}), reshape(window, {1, 1, least}), {},
                      {.padding = {before}, .padding_after = {after}}));
} catch (const Error& e) {
  throw_in_function(e, function);
}

}  // namespace

Tensor convolve(const Operand& a, const Operand& b, ConvolveMode mode) {
  return convolved("convolve", a, b, mode, false);
}
Tensor correlate(const Operand& a, const Operand& b, ConvolveMode mode) {
  return convolved("correlate", a, b, mode, true);
}

// ---- Polynomials

Tensor polyval(const Operand& coefficients, const Operand& x) try {
  require_line(coefficients, "polyval", "coefficients are");
  require_defined(x, "polyval", "x");
  const DType type = result_type_for("polyval", std::array<Tensor, 2>{coefficients, x});
  const Tensor v = accumulated(cast(x, averaged(type))), c = cast(coefficients, v.dtype());
  Tensor y = zeros_like(v);
  for (std::int64_t i = 0; i < c.size(); ++i) y = y * v + reshape(part(c, 0, i, 1), {});
  return cast(y, averaged(type));
} catch (const Error& e) {
  throw_in_function(e, "polyval");
}

}  // namespace weft
