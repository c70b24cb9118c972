// Segments and orders as compositions of other operations (weft/segments.h).
#include "weft/segments.h"

#include <limits>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/functions.h"
#include "graph/graph.h"
#include "graph/ops/identity.h"
#include "graph/ops/index.h"
#include "graph/promotion.h"
#include "graph/rules.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"

namespace weft {
namespace {

// The numbers of the segments as indices, of which those of no segment are past the last one.
Tensor checked_ids(std::string_view function, const Tensor& x, const Tensor& ids, std::int64_t segments) {
  require_defined(x, function, "x");
  require_integers(ids, function, "ids are");
  if (segments < 0) throw InvalidArgument("{}: {} segments", function, segments);
  if (x.rank() == 0 || ids.rank() != 1 || ids.size() != x.shape()[0]) {
    throw ShapeError("{}: ids are {}, expected rank 1 and one for each element of the first axis of x {}", function,
                     to_string(ids.type()), to_string(x.type()));
  }
  const DType type = position_type(segments);  // which has `segments`, too
  return select((ids >= 0) & (ids < segments), cast(ids, type), Graph::scalar(segments, type));
}

// The elements of each segment combined with its first value.
Tensor combined(ScatterKind op, const Tensor& x, const Tensor& ids, std::int64_t segments, Number first) {
  Shape shape = x.shape();
  shape[0] = segments;
  const Tensor y = broadcast_to(Graph::scalar(first, x.dtype()), shape);
  if (segments == 0 || x.size() == 0) return y;
  const ScatterAttributes attributes{{Selecting::rows, 0}, op, Repeats::in_order};
  return apply(make_op<ScatterOp>(attributes), {y, ids, x});
}

Tensor segment_total(std::string_view function, ScatterKind op, const Tensor& x, const Tensor& ids,
                     std::int64_t segments) try {
  const Tensor at = checked_ids(function, x, ids, segments);
  const DType type = summed(x.dtype());
  return cast(combined(op, accumulated(cast(x, type)), at, segments, op == ScatterKind::add ? 0 : 1), type);
} catch (const Error& e) {
  throw_in_function(e, function);
}

// The value that max() or min() has of no elements.
Number of_none(DType type, bool greatest) {
  if (is_floating(type)) return (greatest ? -1 : 1) * highest(type);
  const int width = bits(type);
  if (!is_signed(type)) return greatest ? std::uint64_t{0} : ~std::uint64_t{0} >> (64 - width);
  const std::int64_t most = static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - width));
  return greatest ? -most - 1 : most;
}

Tensor segment_extreme(std::string_view function, const Tensor& x, const Tensor& ids, std::int64_t segments,
                       bool greatest) try {
  const Tensor at = checked_ids(function, x, ids, segments);
  if (!is_floating(x.dtype()) && !is_integer(x.dtype())) {
    throw TypeError("{}: x is {}, expected floats or integers", function, to_string(x.type()));
  }
  return combined(greatest ? ScatterKind::max : ScatterKind::min, x, at, segments, of_none(x.dtype(), greatest));
} catch (const Error& e) {
  throw_in_function(e, function);
}

RunningExtreme running(std::string_view function, ScanKind op, const Tensor& x, int axis) try {
  require_defined(x, function);
  const int along = normalize_axis(axis, x.rank(), function);
  const Tensor whole = in_bytes(x), values = scan(op, whole, along);
  // A place is the last one that had the value.
  Shape one = Shape::filled(x.rank(), 1);
  one[along] = x.shape()[along];
  const Tensor place = reshape(arange(0, x.shape()[along], 1, position_type(x.shape()[along])), one);
  const Tensor has = is_floating(x.dtype()) ? (x == values) | is_nan(x) : whole == values;
  return {cast(values, x.dtype()), scan(ScanKind::max, select(has, place, 0), along)};
} catch (const Error& e) {
  throw_in_function(e, function);
}

void check_place(std::string_view function, const Tensor& x, std::int64_t k, int axis) {
  require_defined(x, function);
  const std::int64_t n = x.shape()[normalize_axis(axis, x.rank(), function)];
  if (k < -n || k >= n) {
    throw IndexError("{}: k is {}, outside of axis {} of x {}", function, k, axis, to_string(x.type()));
  }
}

}  // namespace

Tensor segment_sum(const Operand& x, const Operand& ids, std::int64_t segments) {
  return segment_total("segment_sum", ScatterKind::add, x, ids, segments);
}
Tensor segment_prod(const Operand& x, const Operand& ids, std::int64_t segments) {
  return segment_total("segment_prod", ScatterKind::mul, x, ids, segments);
}

Tensor segment_mean(const Operand& x, const Operand& ids, std::int64_t segments) try {
  const Tensor at = checked_ids("segment_mean", x, ids, segments);
  const DType type = averaged(x.dtype());
  const Tensor wide = accumulated(cast(x, type));
  Shape each = Shape::filled(x.rank(), 1);
  each[0] = x.shape()[0];
  const Tensor ones = broadcast_to(Graph::scalar(1, position_type(x.shape()[0])), each);
  const Tensor counts = combined(ScatterKind::add, ones, at, segments, 0), none = counts == 0;
  // (The NaN of a segment without elements is a constant.)
  const Tensor means = combined(ScatterKind::add, wide, at, segments, 0) / cast(maximum(counts, 1), wide.dtype());
  return cast(select(none, Graph::scalar(std::numeric_limits<double>::quiet_NaN(), wide.dtype()), means), type);
} catch (const Error& e) {
  throw_in_function(e, "segment_mean");
}

Tensor segment_max(const Operand& x, const Operand& ids, std::int64_t segments) {
  return segment_extreme("segment_max", x, ids, segments, true);
}
Tensor segment_min(const Operand& x, const Operand& ids, std::int64_t segments) {
  return segment_extreme("segment_min", x, ids, segments, false);
}

Tensor segment_softmax(const Operand& x, const Operand& ids, std::int64_t segments) try {
  const Tensor at = checked_ids("segment_softmax", x, ids, segments);
  if (!is_floating(x.dtype())) {
    throw TypeError("segment_softmax: x is {}, expected a floating type", to_string(x.type()));
  }
  if (segments == 0 || x.size() == 0) return zeros_like(x);
  const Tensor wide = accumulated(x);
  // The greatest only scales, and has no part in the derivative.
  const Tensor still = identity(wide, IdentityKind::stop_gradient);
  const Tensor highest = combined(ScatterKind::max, still, at, segments, -std::numeric_limits<double>::infinity());
  Shape each = Shape::filled(x.rank(), 1);
  each[0] = x.shape()[0];
  const Tensor inside = reshape(at < segments, each);
  // (What belongs to no segment takes no part in the derivative either.)
  const Tensor weights = exp(select(inside, wide - gather(highest, at), 0));
  const Tensor shares = weights / gather(combined(ScatterKind::add, weights, at, segments, 0), at);
  return cast(select(inside, shares, 0), x.dtype());
} catch (const Error& e) {
  throw_in_function(e, "segment_softmax");
}

RunningExtreme cummax(const Operand& x, int axis) { return running("cummax", ScanKind::max, x, axis); }
RunningExtreme cummin(const Operand& x, int axis) { return running("cummin", ScanKind::min, x, axis); }

// ---- Orders

Tensor partition(const Operand& x, std::int64_t k, int axis) {
  return in_function("partition", [&] {
    check_place("partition", x, k, axis);
    return sort(x, axis);
  });
}
Tensor argpartition(const Operand& x, std::int64_t k, int axis) {
  return in_function("argpartition", [&] {
    check_place("argpartition", x, k, axis);
    return argsort(x, axis);
  });
}

Tensor lexsort(std::span<const Tensor> keys, int axis) try {
  if (keys.empty()) throw InvalidArgument("lexsort: no key was given");
  Tensor order;
  for (const Tensor& key : keys) {
    require_defined(key, "lexsort", "a key");
    if (key.shape() != keys[0].shape()) {
      throw ShapeError("lexsort: keys are {} and {}, expected equal shapes", to_string(keys[0].type()),
                       to_string(key.type()));
    }
    // Sorting is stable: by the next key, in the order of those before.
    order = order.defined() ? gather_elements(order, argsort(gather_elements(key, order, axis), axis), axis)
                            : argsort(key, axis);
  }
  return order;
} catch (const Error& e) {
  throw_in_function(e, "lexsort");
}

Tensor lexsort(std::initializer_list<Tensor> keys, int axis) {
  return lexsort(std::span(keys.begin(), keys.size()), axis);
}

}  // namespace weft
