// Segments and orders as compositions of other operations (weft/segments.h).
#include "weft/segments.h"

#include <limits>

#include "core/format.h"
#include "graph/graph.h"
#include "ops/composition.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/index.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"

namespace weft {
namespace {

// The numbers of the segments as indices, of which those of no segment are past the last one.
Tensor checked_ids(std::string_view function, const Tensor& x, const Tensor& ids, std::int64_t segments) {
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
                     std::int64_t segments) {
  const Tensor at = checked_ids(function, x, ids, segments);
  const DType type = summed(x.dtype());
  return cast(combined(op, accumulated(cast(x, type)), at, segments, op == ScatterKind::add ? 0 : 1), type);
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
                       bool greatest) {
  const Tensor at = checked_ids(function, x, ids, segments);
  return combined(greatest ? ScatterKind::max : ScatterKind::min, x, at, segments, of_none(x.dtype(), greatest));
}

RunningExtreme running(std::string_view function, ScanKind op, const Tensor& x, int axis) {
  const int along = normalize_axis(axis, x.rank(), function);
  const Tensor whole = in_bytes(x), values = scan(op, whole, along);
  // A place is the last one that had the value.
  Shape one = Shape::filled(x.rank(), 1);
  one[along] = x.shape()[along];
  const Tensor place = reshape(arange(0, x.shape()[along], 1, position_type(x.shape()[along])), one);
  const Tensor has = is_floating(x.dtype()) ? (x == values) | is_nan(x) : whole == values;
  return {cast(values, x.dtype()), scan(ScanKind::max, select(has, place, 0), along)};
}

void check_place(std::string_view function, const Tensor& x, std::int64_t k, int axis) {
  const std::int64_t n = x.shape()[normalize_axis(axis, x.rank(), function)];
  if (k < -n || k >= n) {
    throw IndexError("{}: k is {}, outside of axis {} of x {}", function, k, axis, to_string(x.type()));
  }
}

// ---- Reductions of segments

struct SegmentAttributes {
  std::int64_t segments = 0;
  void fields(AttributeVisitor& v) { v("segments", segments, "how many segments there are"); }
};

constexpr FunctionOperand kIds = {.name = "ids", .types = types::integers, .shape = "[n]"};
constexpr std::string_view kSegments = "[segments, …]", kElements = "[n, …]";

constexpr Function kSegmentSum = {{.name = "segment_sum",
                                   .operands = {{.name = "x", .shape = kElements}, kIds},
                                   .results = {{"y", kSegments, "as of sum"}},
                                   .formula = "y[s] = Σ x[i], ids[i] = s",
                                   .summary = "the sum of each segment"},
                                  [](const Tensor& x, const Tensor& ids, const SegmentAttributes& a) {
                                    return segment_total("segment_sum", ScatterKind::add, x, ids, a.segments);
                                  }};
constexpr Function kSegmentProd = {{.name = "segment_prod",
                                    .operands = {{.name = "x", .shape = kElements}, kIds},
                                    .results = {{"y", kSegments, "as of prod"}},
                                    .formula = "y[s] = Π x[i], ids[i] = s",
                                    .summary = "the product of each segment"},
                                   [](const Tensor& x, const Tensor& ids, const SegmentAttributes& a) {
                                     return segment_total("segment_prod", ScatterKind::mul, x, ids, a.segments);
                                   }};
constexpr Function kSegmentMean = {
    {.name = "segment_mean",
     .operands = {{.name = "x", .shape = kElements}, kIds},
     .results = {{"y", kSegments, "as of mean"}},
     .formula = "y[s] = Σ x[i] / #{i}, ids[i] = s",
     .summary = "the mean of each segment; NaN of no elements"},
    [](const Tensor& x, const Tensor& ids, const SegmentAttributes& a) {
      const Tensor at = checked_ids("segment_mean", x, ids, a.segments);
      const DType type = averaged(x.dtype());
      const Tensor wide = accumulated(cast(x, type));
      Shape each = Shape::filled(x.rank(), 1);
      each[0] = x.shape()[0];
      const Tensor ones = broadcast_to(Graph::scalar(1, position_type(x.shape()[0])), each);
      const Tensor counts = combined(ScatterKind::add, ones, at, a.segments, 0), none = counts == 0;
      // (The NaN of a segment without elements is a constant.)
      const Tensor means = combined(ScatterKind::add, wide, at, a.segments, 0) / cast(maximum(counts, 1), wide.dtype());
      return cast(select(none, Graph::scalar(std::numeric_limits<double>::quiet_NaN(), wide.dtype()), means), type);
    }};
constexpr Function kSegmentMax = {{.name = "segment_max",
                                   .operands = {{.name = "x", .types = types::numbers, .shape = kElements}, kIds},
                                   .results = {{"y", kSegments, "x's type"}},
                                   .formula = "y[s] = max x[i], ids[i] = s",
                                   .summary = "the greatest element of each segment"},
                                  [](const Tensor& x, const Tensor& ids, const SegmentAttributes& a) {
                                    return segment_extreme("segment_max", x, ids, a.segments, true);
                                  }};
constexpr Function kSegmentMin = {{.name = "segment_min",
                                   .operands = {{.name = "x", .types = types::numbers, .shape = kElements}, kIds},
                                   .results = {{"y", kSegments, "x's type"}},
                                   .formula = "y[s] = min x[i], ids[i] = s",
                                   .summary = "the least element of each segment"},
                                  [](const Tensor& x, const Tensor& ids, const SegmentAttributes& a) {
                                    return segment_extreme("segment_min", x, ids, a.segments, false);
                                  }};
constexpr Function kSegmentSoftmax = {
    {.name = "segment_softmax",
     .operands = {{.name = "x", .types = types::floats, .shape = kElements}, kIds},
     .results = {{"y", kElements, "x's type"}},
     .formula = "y[i] = exp(x[i]) / Σ exp(x[j]), ids[j] = ids[i]",
     .summary = "softmax over the elements of each segment; 0 of elements of none"},
    [](const Tensor& x, const Tensor& ids, const SegmentAttributes& a) -> Tensor {
      const Tensor at = checked_ids("segment_softmax", x, ids, a.segments);
      if (a.segments == 0 || x.size() == 0) return zeros_like(x);
      const Tensor wide = accumulated(x);
      // The greatest only scales, and has no part in the derivative.
      const Tensor still = identity(wide, IdentityKind::stop_gradient);
      const double least = -std::numeric_limits<double>::infinity();
      const Tensor highest = combined(ScatterKind::max, still, at, a.segments, least);
      Shape each = Shape::filled(x.rank(), 1);
      each[0] = x.shape()[0];
      const Tensor inside = reshape(at < a.segments, each);
      // (What belongs to no segment takes no part in the derivative either.)
      const Tensor weights = exp(select(inside, wide - gather(highest, at), 0));
      const Tensor shares = weights / gather(combined(ScatterKind::add, weights, at, a.segments, 0), at);
      return cast(select(inside, shares, 0), x.dtype());
    }};

// ---- Running extremes

struct RunningAttributes {
  int axis = 0;
  void fields(AttributeVisitor& v) { v("axis", axis, "the axis along which it goes"); }
};
constexpr Function kCummax = {
    {.name = "cummax",
     .operands = {{"x", types::numbers}},
     .results = {{"values", "x's shape", "x's type"}, {"indices", "x's shape", kPositionType}},
     .formula = "values[i] = max(x[0], …, x[i]) = x[indices[i]]",
     .summary = "the greatest element so far along an axis, and its last position"},
    [](const Tensor& x, const RunningAttributes& a) { return running("cummax", ScanKind::max, x, a.axis); }};
constexpr Function kCummin = {
    {.name = "cummin",
     .operands = {{"x", types::numbers}},
     .results = {{"values", "x's shape", "x's type"}, {"indices", "x's shape", kPositionType}},
     .formula = "values[i] = min(x[0], …, x[i]) = x[indices[i]]",
     .summary = "the least element so far along an axis, and its last position"},
    [](const Tensor& x, const RunningAttributes& a) { return running("cummin", ScanKind::min, x, a.axis); }};

// ---- Orders

struct PartitionAttributes {
  std::int64_t k = 0;
  int axis = -1;
  void fields(AttributeVisitor& v) {
    v("k", k, "the place of which the element is the one that sorting puts there; a negative one counts from the end");
    v("axis", axis, -1, "the axis of the order");
  }
};
constexpr Function kPartition = {
    {.name = "partition",
     .operands = {{"x"}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y[i] ≤ y[k] ≤ y[j], i < k < j",
     .summary = "x in an order in which no element before place k is greater, and none behind it less"},
    [](const Tensor& x, const PartitionAttributes& a) {
      check_place("partition", x, a.k, a.axis);
      return sort(x, a.axis);
    }};
constexpr Function kArgpartition = {{.name = "argpartition",
                                     .operands = {{"x"}},
                                     .results = {{"y", "x's shape", kPositionType}},
                                     .formula = "x[y] = partition(x, k)",
                                     .summary = "the positions from which partition takes its elements"},
                                    [](const Tensor& x, const PartitionAttributes& a) {
                                      check_place("argpartition", x, a.k, a.axis);
                                      return argsort(x, a.axis);
                                    }};
constexpr Function kLexsort = {
    {.name = "lexsort",
     .operands = {{.name = "keys", .arity = Arity::repeated}},
     .results = {{"y", "the keys' shape", kPositionType}},
     .formula = "y = argsort by keys[n - 1], of equal ones by keys[n - 2], …",
     .summary = "the order by several keys of one shape, the last of them first"},
    [](std::span<const Tensor> keys, const AxisAttributes& a) {
      if (keys.empty()) throw InvalidArgument("lexsort: no key was given");
      Tensor order;
      for (const Tensor& key : keys) {
        if (key.shape() != keys[0].shape()) {
          throw ShapeError("lexsort: keys are {} and {}, expected equal shapes", to_string(keys[0].type()),
                           to_string(key.type()));
        }
        // Sorting is stable: by the next key, in the order of those before.
        order = order.defined() ? gather_elements(order, argsort(gather_elements(key, order, a.axis), a.axis), a.axis)
                                : argsort(key, a.axis);
      }
      return order;
    }};

}  // namespace

void add_segments_functions(FunctionRows& rows) {
  rows.add(kSegmentSum, kSegmentProd, kSegmentMean, kSegmentMax, kSegmentMin, kSegmentSoftmax);
  rows.add(kCummax, kCummin, kPartition, kArgpartition, kLexsort);
}

// ---- The functions

Tensor segment_sum(const Operand& x, const Operand& ids, std::int64_t segments) {
  return kSegmentSum(x, ids, {segments});
}
Tensor segment_prod(const Operand& x, const Operand& ids, std::int64_t segments) {
  return kSegmentProd(x, ids, {segments});
}
Tensor segment_mean(const Operand& x, const Operand& ids, std::int64_t segments) {
  return kSegmentMean(x, ids, {segments});
}
Tensor segment_max(const Operand& x, const Operand& ids, std::int64_t segments) {
  return kSegmentMax(x, ids, {segments});
}
Tensor segment_min(const Operand& x, const Operand& ids, std::int64_t segments) {
  return kSegmentMin(x, ids, {segments});
}
Tensor segment_softmax(const Operand& x, const Operand& ids, std::int64_t segments) {
  return kSegmentSoftmax(x, ids, {segments});
}

RunningExtreme cummax(const Operand& x, int axis) { return kCummax(x, {axis}); }
RunningExtreme cummin(const Operand& x, int axis) { return kCummin(x, {axis}); }

Tensor partition(const Operand& x, std::int64_t k, int axis) { return kPartition(x, {k, axis}); }
Tensor argpartition(const Operand& x, std::int64_t k, int axis) { return kArgpartition(x, {k, axis}); }
Tensor lexsort(std::span<const Tensor> keys, int axis) { return kLexsort(keys, {axis}); }
Tensor lexsort(std::initializer_list<Tensor> keys, int axis) {
  return lexsort(std::span(keys.begin(), keys.size()), axis);
}

}  // namespace weft
