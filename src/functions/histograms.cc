// Histograms as compositions of other operations (weft/statistics.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/format.h"
#include "functions/host_values.h"
#include "ops/composition.h"
#include "ops/function_row.h"
#include "ops/promotion.h"
#include "ops/range_scale.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/segments.h"
#include "weft/statistics.h"

namespace weft {
namespace {

constexpr std::string_view kSameOrF32 = "x's type; of integers and bool f32";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Which of neighbours that are sorted the other way round, in an order in which NaN is last.
bool falls(double before, double after) { return after < before || (std::isnan(before) && !std::isnan(after)); }
Tensor falls(const Tensor& before, const Tensor& after) {
  const Tensor less = after < before;
  return is_floating(before.dtype()) ? less | (is_nan(before) & !is_nan(after)) : less;
}

// Whether edges are in order, or with `or_falling` in the reverse order: a bool [], or undefined where it is known.
// Throws InvalidArgument where the host has their values, and they are not.
Tensor in_order(std::string_view function, std::string_view what, const Tensor& edges, bool or_falling) {
  const std::int64_t n = edges.size();
  if (n < 2) return {};
  if (const auto values = host_values(edges)) {
    const auto sorted = [&](bool down) {
      const auto wrong = [&](double a, double b) { return down ? falls(b, a) : falls(a, b); };
      return std::ranges::adjacent_find(*values, wrong) == values->end();
    };
    if (sorted(false) || (or_falling && sorted(true))) return {};
    throw InvalidArgument("{}: {} {}, whose elements do not ascend{}", function, what, to_string(edges.type()),
                          or_falling ? ", nor descend" : "");
  }
  const Tensor e = in_bytes(edges), before = slice(e, 0, 0, n - 1), after = slice(e, 0, 1, n);
  const auto none = [](const Tensor& wrong) { return !reduce(ReduceKind::any, wrong, {}); };
  return or_falling ? none(falls(before, after)) | none(falls(after, before)) : none(falls(before, after));
}

constexpr std::int64_t kMostBins = std::int64_t{1} << 40;  // more would not fit any memory

// The edges of bins, and whether they are in order (see in_order()).
struct Edges {
  Tensor edges, in_order;

  std::int64_t bins() const { return edges.size() - 1; }
  // Which bin each element of x is in: -1 or bins() outside, as NaN is.
  Tensor bin_of(std::string_view function, const Tensor& x) const {
    const DType type = result_type_for(function, std::array<Tensor, 2>{in_bytes(x), in_bytes(edges)});
    const Tensor v = cast(flatten(x), type), e = cast(edges, type), last = slice(e, 0, bins(), bins() + 1);
    const Tensor above = searchsorted(e, v, Side::right);  // 0 below the edges, bins + 1 above them and of NaN
    return select(v == last, bins(), above) - 1;
  }
};

// Of `bins` bins of equal width over a range, two numbers, or over x's; or given edges.
Edges edges_of(std::string_view function, const Tensor& x, const Tensor& given, std::int64_t bins,
               std::span<const double> range) {
  if (given.defined()) {
    if (given.rank() != 1 || given.size() < 2) {
      throw ShapeError("{}: edges are {}, expected rank 1 and two elements at least", function,
                       to_string(given.type()));
    }
    if (!range.empty()) throw InvalidArgument("{}: a range beside edges", function);
    return {given, in_order(function, "edges are", given, false)};
  }
  if (bins < 1) throw InvalidArgument("{}: {} bins, expected 1 or more", function, bins);
  if (bins > kMostBins) throw OutOfMemory("{}: {} bins", function, bins);
  const DType type = averaged(x.dtype());
  if (!range.empty()) {
    if (range.size() != 2) throw InvalidArgument("{}: the range is of {} numbers, expected 2", function, range.size());
    double first = range[0], last = range[1];
    const double most = finfo(type).max;
    if (!(std::abs(first) <= most && std::abs(last) <= most && first <= last)) {
      throw InvalidArgument("{}: the range is from {} to {}, expected finite numbers of {} that ascend", function,
                            first, last, name(type));
    }
    if (first == last) {
      first -= 0.5;
      last += 0.5;
    }
    return {linspace(first, last, bins + 1, type), {}};
  }
  if (x.size() == 0) return {linspace(0, 1, bins + 1, type), {}};
  const Tensor v = x.dtype() == DType::boolean ? cast(x, DType::u8) : Tensor(x);
  const Tensor low = cast(min(v), type), high = cast(max(v), type), single = low == high;
  const auto end = [&](const Tensor& found, double more) {
    return select(is_finite(low) & is_finite(high), select(single, found + more, found), kNan);
  };
  const Tensor from = end(low, -0.5), to = end(high, 0.5);
  const Tensor shares = linspace(0, 1, bins + 1, accumulated(from).dtype());
  return {cast(lerp(accumulated(from), accumulated(to), shares), type), {}};
}

// Counts of bins, or sums of weights.
Tensor counted(std::string_view function, const Tensor& x, const Tensor& bin, const Tensor& weights,
               std::int64_t bins) {
  if (!weights.defined()) return segment_sum(full_like(bin, 1, position_type(x.size())), bin, bins);
  if (weights.shape() != x.shape()) {
    throw ShapeError("{}: weights are {}, expected x's shape {}", function, to_string(weights.type()),
                     to_string(x.shape()));
  }
  return segment_sum(flatten(weights), bin, bins);
}

// Counts divided by their sum and the widths of the bins along each axis. That of an empty bin of width 0 is 0.
Tensor density_of(const Tensor& counts, std::initializer_list<Tensor> edges) {
  const DType type = averaged(counts.dtype());
  const Tensor all = accumulated(cast(counts, type)), scaled = RangeScale(all, {}).scaled(all);
  Tensor shares = scaled / sum(scaled);
  int axis = 0;
  for (const Tensor& e : edges) {
    const std::int64_t bins = e.size() - 1;
    Shape along = Shape::filled(counts.rank(), 1);
    along[axis++] = bins;
    const Tensor at = accumulated(cast(e, averaged(e.dtype())));
    const Tensor lower = reshape(slice(at, 0, 0, bins), along), upper = reshape(slice(at, 0, 1, bins + 1), along);
    // Also of bins whose width is past the range.
    const Tensor width = upper - lower, half = upper * 0.5 - lower * 0.5;
    const Tensor none = (width == 0) & (shares == 0);
    shares = select(is_finite(width), shares / select(none, 1, width), shares * 0.5 / half);
  }
  return cast(shares, type);
}

// What stands for counts where edges are not in order.
Tensor where_in_order(const Tensor& in_order, const Tensor& counts) {
  if (!in_order.defined()) return counts;
  return select(in_order, counts, Graph::scalar(is_inexact(counts.dtype()) ? kNan : -1, counts.dtype()));
}

struct HistogramAttributes {
  std::int64_t bins = 10;
  std::vector<double> range = {};
  bool density = false;
  void fields(AttributeVisitor& v) {
    v("bins", bins, 10, "how many bins of equal width there are, without edges");
    v("range", range, {}, "the outer edges, two numbers; without them x's least and greatest element");
    v("density", density, false, "divide the counts by their sum and the widths of the bins");
  }
};
constexpr Function kHistogram = {
    {.name = "histogram",
     .operands = {{"x", types::real},
                  {.name = "edges", .types = types::real, .arity = Arity::optional, .shape = "[bins + 1]"},
                  {.name = "weights", .arity = Arity::optional, .shape = "x's shape"}},
     .results = {{"counts", "[bins]", "i32; i64 from 2^31 elements on; the weights' sum's"},
                 {"edges", "[bins + 1]", kSameOrF32}},
     .formula = "counts[k] = #{edges[k] ≤ x < edges[k + 1]}",
     .summary = "how many elements lie in each of the bins; the last one holds both of its edges"},
    [](const Tensor& x, const Tensor& edges, const Tensor& weights, const HistogramAttributes& a) -> Histogram {
      const Edges own = edges_of("histogram", x, edges, a.bins, a.range);
      Tensor counts = counted("histogram", x, own.bin_of("histogram", x), weights, own.bins());
      if (a.density) counts = density_of(counts, {own.edges});
      return {where_in_order(own.in_order, counts), own.edges};
    }};

struct Histogram2dAttributes {
  std::int64_t x_bins = 10, y_bins = 10;
  std::vector<double> x_range = {}, y_range = {};
  bool density = false;
  void fields(AttributeVisitor& v) {
    v("x_bins", x_bins, 10, "how many bins of equal width there are for x, without edges");
    v("y_bins", y_bins, 10, "how many bins of equal width there are for y, without edges");
    v("x_range", x_range, {}, "the outer edges for x, two numbers; without them its least and greatest element");
    v("y_range", y_range, {}, "the outer edges for y, two numbers; without them its least and greatest element");
    v("density", density, false, "divide the counts by their sum and the areas of the bins");
  }
};
constexpr Function kHistogram2d = {
    {.name = "histogram2d",
     .operands = {{"x", types::real},
                  {.name = "y", .types = types::real, .shape = "x's shape"},
                  {.name = "x_edges", .types = types::real, .arity = Arity::optional, .shape = "[x_bins + 1]"},
                  {.name = "y_edges", .types = types::real, .arity = Arity::optional, .shape = "[y_bins + 1]"},
                  {.name = "weights", .arity = Arity::optional, .shape = "x's shape"}},
     .results = {{"counts", "[x_bins, y_bins]", "i32; i64 from 2^31 elements on; the weights' sum's"},
                 {"x_edges", "[x_bins + 1]", kSameOrF32},
                 {"y_edges", "[y_bins + 1]", "y's type; of integers and bool f32"}},
     .formula = "counts[i, j] = #{x_edges[i] ≤ x < x_edges[i + 1] and y_edges[j] ≤ y < y_edges[j + 1]}",
     .summary = "how many pairs of elements lie in each of the bins; the last ones hold both of their edges"},
    [](const Tensor& x, const Tensor& y, const Tensor& x_edges, const Tensor& y_edges, const Tensor& weights,
       const Histogram2dAttributes& a) -> Histogram2d {
      constexpr std::string_view kName = "histogram2d";
      if (x.shape() != y.shape()) {
        throw ShapeError("{}: x is {} and y {}, expected the same shape", kName, to_string(x.type()),
                         to_string(y.type()));
      }
      const Edges rows = edges_of(kName, x, x_edges, a.x_bins, a.x_range);
      const Edges columns = edges_of(kName, y, y_edges, a.y_bins, a.y_range);
      const std::int64_t m = rows.bins(), n = columns.bins();
      if (m > kMostBins / n) throw OutOfMemory("{}: {} times {} bins", kName, m, n);
      const DType position = position_type(m * n);
      const Tensor i = cast(rows.bin_of(kName, x), position), j = cast(columns.bin_of(kName, y), position);
      const Tensor bin = select((i >= 0) & (i < m) & (j >= 0) & (j < n), i * n + j, -1);
      Tensor counts = reshape(counted(kName, x, bin, weights, m * n), {m, n});
      if (a.density) counts = density_of(counts, {rows.edges, columns.edges});
      counts = where_in_order(columns.in_order, where_in_order(rows.in_order, counts));
      return {counts, rows.edges, columns.edges};
    }};

struct DigitizeAttributes {
  bool right = false;
  void fields(AttributeVisitor& v) { v("right", right, false, "bins hold their other edge"); }
};
constexpr Function kDigitize = {
    {.name = "digitize",
     .operands = {{"x", types::real}, {.name = "bins", .types = types::real, .min_rank = 1, .max_rank = 1}},
     .results = {{"y", "x's shape", "i32; i64 of 2^31 edges and more"}},
     .formula = "bins[y - 1] ≤ x < bins[y]",
     .summary = "which interval between edges, which ascend or descend, each element is in"},
    [](const Tensor& x, const Tensor& bins, const DigitizeAttributes& a) {
      const Side side = a.right ? Side::left : Side::right;
      const std::int64_t n = bins.size();
      const Tensor v = in_bytes(x), edges = in_bytes(bins), sorted = in_order("digitize", "bins are", bins, true);
      if (n < 2) return searchsorted(edges, v, side);
      const Tensor descends = falls(slice(edges, 0, 0, 1), slice(edges, 0, n - 1, n));
      const Tensor at = searchsorted(select(descends, flip(edges), edges), v, side);
      const Tensor found = select(reshape(descends, {}), n - at, at);
      return sorted.defined() ? select(sorted, found, -1) : found;
    }};

std::vector<double> list_of(const std::optional<std::pair<double, double>>& range) {
  if (!range) return {};
  return {range->first, range->second};
}

}  // namespace

void add_histograms_functions(FunctionRows& rows) { rows.add(kHistogram, kHistogram2d, kDigitize); }

Histogram histogram(const Operand& x, std::int64_t bins, const HistogramOptions& options) {
  return kHistogram(x, {}, options.weights, {bins, list_of(options.range), options.density});
}
Histogram histogram(const Operand& x, const Operand& edges, const HistogramOptions& options) {
  if (!edges.defined()) throw InvalidArgument("histogram: edges is an undefined Tensor");
  return kHistogram(x, edges, options.weights, {.range = list_of(options.range), .density = options.density});
}
Tensor digitize(const Operand& x, const Operand& bins, bool right) { return kDigitize(x, bins, {right}); }

Histogram2d histogram2d(const Operand& x, const Operand& y, std::int64_t x_bins, std::int64_t y_bins,
                        const Histogram2dOptions& o) {
  return kHistogram2d(x, y, {}, {}, o.weights, {x_bins, y_bins, list_of(o.x_range), list_of(o.y_range), o.density});
}
Histogram2d histogram2d(const Operand& x, const Operand& y, const Operand& x_edges, const Operand& y_edges,
                        const Histogram2dOptions& o) {
  require_defined(x_edges, "histogram2d", "x_edges");
  require_defined(y_edges, "histogram2d", "y_edges");
  return kHistogram2d(x, y, x_edges, y_edges, o.weights,
                      {.x_range = list_of(o.x_range), .y_range = list_of(o.y_range), .density = o.density});
}

}  // namespace weft
