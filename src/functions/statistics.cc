// Statistics as compositions of other operations (weft/statistics.h).
#include "weft/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "core/format.h"
#include "kernels/reduce/reduction.h"
#include "ops/axes.h"
#include "ops/composition.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/promotion.h"
#include "ops/range_scale.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/segments.h"

namespace weft {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// x with the axes that a function goes over as one, the last.
struct Rows {
  Tensor x;
  std::int64_t n;  // elements of a row
  Shape kept;      // the shape of one result for each row
};

Rows rows_over(const Tensor& x, const Axes& axes, bool keep_dims, std::string_view function) {
  std::vector<int> over = normalized_axes(axes, x.rank(), function);
  std::ranges::sort(over);
  std::vector<int> order;
  Shape shape, kept, row;
  for (int i = 0; i < x.rank(); ++i) {
    const bool reduced = std::ranges::count(over, i) > 0;
    if (!reduced) {
      order.push_back(i);
      shape.push_back(x.shape()[i]);
    }
    if (!reduced || keep_dims) kept.push_back(reduced ? 1 : x.shape()[i]);
  }
  for (const int a : over) row.push_back(x.shape()[a]);
  order.insert(order.end(), over.begin(), over.end());
  const std::int64_t n = element_count(row);
  shape.push_back(n);
  return {reshape(permute(x, order), shape), n, kept};
}

// ---- Quantiles

// Where a quantile is in a sorted row of n elements: at q (n + slope) + offset, counted from 0. A whole number has a
// weight of the next element by whether it is even, all between one of their own, or their fraction.
struct QuantileRule {
  double slope, offset, even, odd, between;
};
constexpr double kFraction = -1;
constexpr QuantileRule kRules[] = {
    {0, -1, 0, 0, 1},                      // inverted_cdf
    {0, -1, 0.5, 0.5, 1},                  // averaged_inverted_cdf
    {0, -1.5, 1, 0, 1},                    // closest_observation
    {0, -1, 0, 0, kFraction},              // interpolated_inverted_cdf
    {0, -0.5, 0, 0, kFraction},            // hazen
    {1, -1, 0, 0, kFraction},              // weibull
    {-1, 0, 0, 0, kFraction},              // linear
    {1.0 / 3, -2.0 / 3, 0, 0, kFraction},  // median_unbiased
    {0.25, -0.625, 0, 0, kFraction},       // normal_unbiased
    {-1, 0, 0, 0, 0},                      // lower
    {-1, 0, 0, 0, 1},                      // higher
    {-1, 0, 0, 0, 0.5},                    // midpoint
    {-1, -0.5, 0, 1, 1},                   // nearest
};

const QuantileRule& rule_of(QuantileMethod method, double q, std::string_view function) {
  if (!(q >= 0 && q <= 1)) throw InvalidArgument("{}: q is {}, expected a number from 0 to 1", function, q);
  const auto i = static_cast<std::size_t>(method);
  if (i >= std::size(kRules)) throw InvalidArgument("{}: there is no method {}", function, i);
  return kRules[i];
}

// In the type in which points between elements are computed.
Tensor widened(const Tensor& x) { return accumulated(cast(x, averaged(x.dtype()))); }

// Of sorted rows, in which NaN is last.
Tensor quantile_of_sorted(const Tensor& sorted, std::int64_t n, const QuantileRule& rule, double q) {
  const double at = q * (static_cast<double>(n) + rule.slope) + rule.offset, whole = std::floor(at);
  const bool odd = std::fmod(whole, 2) != 0;
  const double weight = at > whole ? (rule.between == kFraction ? at - whole : rule.between)
                        : odd      ? rule.odd
                                   : rule.even;
  const int last = sorted.rank() - 1;
  const auto element = [&](double i) {
    const auto k = static_cast<std::int64_t>(std::clamp(i, 0.0, static_cast<double>(n - 1)));
    return widened(slice(sorted, last, k, k + 1));
  };
  const Tensor end = widened(slice(sorted, last, n - 1, n));
  Tensor y = element(weight < 1 ? whole : whole + 1);
  if (weight > 0 && weight < 1) {
    const Tensor next = element(whole + 1);
    y = weight == 0.5 ? midpoint(y, next) : point_between(y, next, Graph::scalar(weight, y.dtype()));
  }
  return is_floating(sorted.dtype()) ? select(is_nan(end), end, y) : y;
}

// Of the first `count` [..., 1] elements of sorted rows. The place is computed in integers of 64 bits, that of
// fractions as many as the longest row leaves; what q's rounding may have moved off a whole number counts as whole.
Tensor quantile_of_counted(const Tensor& sorted, const Tensor& count, std::int64_t n, const QuantileRule& rule,
                           double q) {
  const int digits = std::clamp(61 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))), 0, 52);
  const auto fixed = [&](double v) { return std::llround(std::ldexp(v, digits)); };
  const Tensor at = count * fixed(q) + (fixed(q * rule.slope) + fixed(rule.offset));
  const Tensor whole = shift_right(at + count, digits);
  const Tensor rest = maximum(at - shift_left(whole, digits), 0);
  const DType type = widened(sorted).dtype();
  const Tensor between = rule.between == kFraction ? cast(rest, type) * Graph::scalar(std::ldexp(1.0, -digits), type)
                                                   : Graph::scalar(rule.between, type);
  const Tensor at_whole =
      select((whole & std::int64_t{1}) != 0, Graph::scalar(rule.odd, type), Graph::scalar(rule.even, type));
  const Tensor weight = select(rest > count, between, at_whole);
  const int last = sorted.rank() - 1;
  const auto element = [&](const Tensor& i) {
    return widened(gather_elements(sorted, maximum(minimum(i, count - std::int64_t{1}), 0), last));
  };
  const Tensor before = element(whole), after = element(whole + std::int64_t{1});
  return select(weight == 0.5, midpoint(before, after), point_between(before, after, weight));
}

Tensor quantiles(std::string_view function, const Tensor& x, std::span<const double> q, const Axes& axes,
                 QuantileMethod method, bool keep_dims, bool skip_nan) {
  const Rows rows = rows_over(x, axes, keep_dims, function);
  const DType type = averaged(x.dtype());
  skip_nan = skip_nan && is_floating(x.dtype());
  Tensor sorted, count;
  if (rows.n > 0) {
    sorted = sort(in_bytes(rows.x));
    if (skip_nan) count = cast(count_nonzero(!is_nan(rows.x), -1, true), DType::i64);
  }
  std::vector<Tensor> results;
  for (const double share : q) {
    const QuantileRule& rule = rule_of(method, share, function);
    Tensor y = rows.n == 0 ? full_like(zeros(rows.kept, type), kNan)
               : skip_nan  ? quantile_of_counted(sorted, count, rows.n, rule, share)
                           : quantile_of_sorted(sorted, rows.n, rule, share);
    results.push_back(reshape(cast(y, type), rows.kept));
  }
  if (!results.empty()) return stack(results);
  Shape none = rows.kept;
  none.insert(0, 0);
  return broadcast_to(Graph::scalar(0, type), none);
}

Tensor one_quantile(std::string_view function, const Tensor& x, double q, const Axes& axes, QuantileMethod method,
                    bool keep_dims, bool skip_nan) {
  return squeeze(quantiles(function, x, std::span(&q, 1), axes, method, keep_dims, skip_nan), 0);
}

// x with the number in place of NaN.
Tensor without_nan(const Tensor& x, double value) {
  return is_floating(x.dtype()) ? select(is_nan(x), Graph::scalar(value, x.dtype()), x) : x;
}

// Throws ShapeError if results are asked of no elements.
void require_elements(std::string_view function, const Tensor& x, const Axes& axes) {
  const std::vector<int> over = normalized_axes(axes, x.rank(), function);
  std::int64_t results = 1, elements = 1;
  for (int i = 0; i < x.rank(); ++i) (std::ranges::count(over, i) ? elements : results) *= x.shape()[i];
  if (elements == 0 && results > 0) {
    throw ShapeError("{}: x is {}, without elements to choose from", function, to_string(x.type()));
  }
}

// The least or greatest number, NaN if there is none.
Tensor extreme(ReduceKind op, const Tensor& x, const Axes& axes, bool keep_dims) {
  const double worst = (op == ReduceKind::min ? 1 : -1) * highest(x.dtype());
  const Tensor y = reduce(op, without_nan(x, worst), axes, keep_dims);
  if (!is_floating(x.dtype())) return y;
  return select(reduce(ReduceKind::all, is_nan(x), axes, keep_dims), Graph::scalar(kNan, x.dtype()), y);
}

// Where the least or greatest number is first.
Tensor first_extreme(std::string_view function, ReduceKind op, const Tensor& x, const Axes& axes, bool keep_dims) {
  require_elements(function, x, axes);
  if (!is_floating(x.dtype())) {
    return op == ReduceKind::min ? argmin(x, axes, keep_dims) : argmax(x, axes, keep_dims);
  }
  return argmax(x == extreme(op, x, axes, true), axes, keep_dims);
}

// What is not NaN over the axes, whose moments are taken. Results have size 1 along the axes.
struct Numbers {
  Numbers(const Tensor& all, const Axes& over)
      : axes(over),
        missing(is_nan(all)),
        count(cast(count_nonzero(!missing, axes, true), all.dtype())),
        scale(all, axes),
        x(select(missing, 0, scale.scaled(all))),
        mean(sum(x, axes, true) / count) {}

  // The sum of squared distances from the mean, less what the mean's rounding error adds to it, over the count less the
  // correction.
  Tensor variance(double correction) const {
    const Tensor apart = select(missing, 0, x - mean), rest = sum(apart, axes, true);
    const Tensor squares = maximum(sum(square(apart), axes, true) - rest * (rest / count), 0);
    return squares / maximum(count - correction, 0);
  }
  Tensor result(const Tensor& y, bool keep_dims, DType type) const {
    return cast(keep_dims ? y : squeeze(y, axes), type);
  }

  const Axes& axes;
  Tensor missing, count;
  RangeScale scale;
  Tensor x;     // scaled, with 0 in place of NaN
  Tensor mean;  // of x
};

constexpr std::string_view kMethods[] = {"inverted_cdf",
                                         "averaged_inverted_cdf",
                                         "closest_observation",
                                         "interpolated_inverted_cdf",
                                         "hazen",
                                         "weibull",
                                         "linear",
                                         "median_unbiased",
                                         "normal_unbiased",
                                         "lower",
                                         "higher",
                                         "midpoint",
                                         "nearest"};

struct QuantileAttributes {
  double q = 0.5;
  Axes axes = {};
  QuantileMethod method = QuantileMethod::linear;
  bool keep_dims = false;
  void fields(AttributeVisitor& v) {
    v("q", q, "the share of the elements that the result is not below, from 0 to 1");
    v("axes", axes, {}, "the elements' axes; without them all");
    v("method", method, QuantileMethod::linear, kMethods, "how it is taken between two elements");
    v("keep_dims", keep_dims, false, "leave the axes in the result, with size 1");
  }
};
struct QuantilesAttributes {
  std::vector<double> q = {};
  Axes axes = {};
  QuantileMethod method = QuantileMethod::linear;
  bool keep_dims = false;
  void fields(AttributeVisitor& v) {
    v("q", q, "the shares, each from 0 to 1");
    v("axes", axes, {}, "the elements' axes; without them all");
    v("method", method, QuantileMethod::linear, kMethods, "how one is taken between two elements");
    v("keep_dims", keep_dims, false, "leave the axes in the result, with size 1");
  }
};

constexpr std::string_view kSameOrF32 = "x's type; of integers and bool f32";

// ---- Order

constexpr Function kMedian = {{.name = "median",
                               .operands = {{"x", types::real}},
                               .results = {{"y", kReducedShape, kSameOrF32}},
                               .formula = "y = quantile(x, 0.5)",
                               .summary = "the element in the middle, or the mean of the two there"},
                              [](const Tensor& x, const ReductionAttributes& a) {
                                return one_quantile("median", x, 0.5, a.axes, QuantileMethod::linear, a.keep_dims,
                                                    false);
                              }};
constexpr Function kNanmedian = {{.name = "nanmedian",
                                  .operands = {{"x", types::real}},
                                  .results = {{"y", kReducedShape, kSameOrF32}},
                                  .formula = "y = nanquantile(x, 0.5)",
                                  .summary = "the median of the elements that are not NaN"},
                                 [](const Tensor& x, const ReductionAttributes& a) {
                                   return one_quantile("nanmedian", x, 0.5, a.axes, QuantileMethod::linear, a.keep_dims,
                                                       true);
                                 }};
constexpr Function kQuantile = {{.name = "quantile",
                                 .operands = {{"x", types::real}},
                                 .results = {{"y", kReducedShape, kSameOrF32}},
                                 .formula = "#{x ≤ y} ≥ q · #x",
                                 .summary = "what a share q of the elements is not above"},
                                [](const Tensor& x, const QuantileAttributes& a) {
                                  return one_quantile("quantile", x, a.q, a.axes, a.method, a.keep_dims, false);
                                }};
constexpr Function kNanquantile = {{.name = "nanquantile",
                                    .operands = {{"x", types::real}},
                                    .results = {{"y", kReducedShape, kSameOrF32}},
                                    .formula = "#{x ≤ y} ≥ q · #x",
                                    .summary = "the quantile of the elements that are not NaN"},
                                   [](const Tensor& x, const QuantileAttributes& a) {
                                     return one_quantile("nanquantile", x, a.q, a.axes, a.method, a.keep_dims, true);
                                   }};
constexpr Function kQuantiles = {{.name = "quantiles",
                                  .operands = {{"x", types::real}},
                                  .results = {{"y", "[quantiles, …], then as quantile", kSameOrF32}},
                                  .formula = "y[i] = quantile(x, q[i])",
                                  .summary = "several quantiles, along a new first axis",
                                  .form_of = "quantile"},
                                 [](const Tensor& x, const QuantilesAttributes& a) {
                                   return quantiles("quantile", x, a.q, a.axes, a.method, a.keep_dims, false);
                                 }};
constexpr Function kNanquantiles = {
    {.name = "nanquantiles",
     .operands = {{"x", types::real}},
     .results = {{"y", "[quantiles, …], then as quantile", kSameOrF32}},
     .formula = "y[i] = nanquantile(x, q[i])",
     .summary = "several quantiles of the elements that are not NaN, along a new first axis",
     .form_of = "nanquantile"},
    [](const Tensor& x, const QuantilesAttributes& a) {
      return quantiles("nanquantile", x, a.q, a.axes, a.method, a.keep_dims, true);
    }};
constexpr Function kMode = {
    {.name = "mode",
     .operands = {{"x", types::real}},
     .results = {{"values", kReducedShape, "x's type"}, {"counts", "as values", kPositionType}},
     .formula = "values = the most frequent x, counts = #{x = values}",
     .summary = "the most frequent element, of several the least, and how often it occurs"},
    [](const Tensor& x, const ReductionAttributes& a) -> Mode {
      const Rows rows = rows_over(x, a.axes, a.keep_dims, "mode");
      const std::int64_t n = rows.n;
      if (n == 0) throw ShapeError("mode: x is {}, without elements to choose from", to_string(x.type()));
      const Tensor sorted = sort(in_bytes(rows.x));
      const int last = sorted.rank() - 1;
      // Equal elements are neighbours: how many there are of one up to each place.
      const Tensor place = broadcast_to(arange(0, n, 1, position_type(n)), sorted.shape());
      const Tensor differs = slice(sorted, last, 1, n) != slice(sorted, last, 0, n - 1);
      const Tensor begin = select(differs, slice(place, last, 1, n), 0);
      const Tensor begins = concat({full_like(slice(place, last, 0, 1), 0), begin}, last);
      const Tensor length = place - scan(ScanKind::max, begins, last) + 1;
      Tensor value = gather_elements(sorted, argmax(length, last, true), last), count = max(length, last, true);
      if (is_floating(x.dtype())) {
        const Tensor end = slice(sorted, last, n - 1, n), nans = count_nonzero(is_nan(sorted), last, true);
        value = select(is_nan(end), end, value);
        count = select(is_nan(end), nans, count);
      }
      return {reshape(cast(value, x.dtype()), rows.kept), reshape(count, rows.kept)};
    }};

// ---- Without NaN

constexpr std::string_view kSameType = "x's type", kAsSum = "as sum";

constexpr Function kNansum = {
    {.name = "nansum",
     .operands = {{"x", types::real}},
     .results = {{"y", kReducedShape, kAsSum}},
     .formula = "y = Σ x",
     .summary = "the sum of the elements that are not NaN"},
    [](const Tensor& x, const ReductionAttributes& a) { return sum(without_nan(x, 0), a.axes, a.keep_dims); }};
constexpr Function kNanprod = {
    {.name = "nanprod",
     .operands = {{"x", types::real}},
     .results = {{"y", kReducedShape, kAsSum}},
     .formula = "y = Π x",
     .summary = "the product of the elements that are not NaN"},
    [](const Tensor& x, const ReductionAttributes& a) { return prod(without_nan(x, 1), a.axes, a.keep_dims); }};
constexpr Function kNanmin = {
    {.name = "nanmin",
     .operands = {{"x", types::real}},
     .results = {{"y", kReducedShape, kSameType}},
     .formula = "y = min x",
     .summary = "the least element that is not NaN"},
    [](const Tensor& x, const ReductionAttributes& a) { return extreme(ReduceKind::min, x, a.axes, a.keep_dims); }};
constexpr Function kNanmax = {
    {.name = "nanmax",
     .operands = {{"x", types::real}},
     .results = {{"y", kReducedShape, kSameType}},
     .formula = "y = max x",
     .summary = "the greatest element that is not NaN"},
    [](const Tensor& x, const ReductionAttributes& a) { return extreme(ReduceKind::max, x, a.axes, a.keep_dims); }};
constexpr Function kNanmean = {{.name = "nanmean",
                                .operands = {{"x", types::real}},
                                .results = {{"y", kReducedShape, kSameOrF32}},
                                .formula = "y = Σ x / #x",
                                .summary = "the mean of the elements that are not NaN"},
                               [](const Tensor& x, const ReductionAttributes& a) {
                                 if (!is_floating(x.dtype())) return mean(x, a.axes, a.keep_dims);
                                 const Numbers n(accumulated(x), a.axes);
                                 return n.result(n.scale.undone(n.mean), a.keep_dims, x.dtype());
                               }};
constexpr Function kNanvar = {{.name = "nanvar",
                               .operands = {{"x", types::real}},
                               .results = {{"y", kReducedShape, kSameOrF32}},
                               .formula = "y = Σ (x - nanmean(x))² / (#x - correction)",
                               .summary = "the variance of the elements that are not NaN"},
                              [](const Tensor& x, const MomentAttributes& a) {
                                kernels::check_correction("nanvar", a.correction);
                                if (!is_floating(x.dtype())) return variance(x, a.axes, a.correction, a.keep_dims);
                                const Numbers n(accumulated(x), a.axes);
                                return n.result(n.scale.undone(n.scale.undone(n.variance(a.correction))), a.keep_dims,
                                                x.dtype());
                              }};
constexpr Function kNanstd = {{.name = "nanstd",
                               .operands = {{"x", types::real}},
                               .results = {{"y", kReducedShape, kSameOrF32}},
                               .formula = "y = sqrt(nanvar(x))",
                               .summary = "the standard deviation of the elements that are not NaN"},
                              [](const Tensor& x, const MomentAttributes& a) {
                                kernels::check_correction("nanstd", a.correction);
                                if (!is_floating(x.dtype())) return deviation(x, a.axes, a.correction, a.keep_dims);
                                const Numbers n(accumulated(x), a.axes);
                                // Its derivative counts as 0 where nothing varies, as that of deviation().
                                const Tensor variance = n.variance(a.correction), none = variance == 0;
                                return n.result(n.scale.undone(select(none, 0, sqrt(select(none, 1, variance)))),
                                                a.keep_dims, x.dtype());
                              }};
constexpr Function kNanargmin = {
    {.name = "nanargmin",
     .operands = {{"x", types::real}},
     .results = {{"y", kReducedShape, kPositionType}},
     .formula = "x[y] = nanmin(x)",
     .summary = "the position of the least element that is not NaN, of equal ones the first"},
    [](const Tensor& x, const ReductionAttributes& a) {
      return first_extreme("nanargmin", ReduceKind::min, x, a.axes, a.keep_dims);
    }};
constexpr Function kNanargmax = {
    {.name = "nanargmax",
     .operands = {{"x", types::real}},
     .results = {{"y", kReducedShape, kPositionType}},
     .formula = "x[y] = nanmax(x)",
     .summary = "the position of the greatest element that is not NaN, of equal ones the first"},
    [](const Tensor& x, const ReductionAttributes& a) {
      return first_extreme("nanargmax", ReduceKind::max, x, a.axes, a.keep_dims);
    }};
constexpr Function kNancumsum = {
    {.name = "nancumsum",
     .operands = {{"x", types::real}},
     .results = {{"y", "x's shape", "as cumulative_sum"}},
     .formula = "y[i] = x[0] + … + x[i]",
     .summary = "the running sum, with 0 in place of NaN"},
    [](const Tensor& x, const OptionalAxisAttributes& a) { return cumulative_sum(without_nan(x, 0), a.axis); }};
constexpr Function kNancumprod = {
    {.name = "nancumprod",
     .operands = {{"x", types::real}},
     .results = {{"y", "x's shape", "as cumulative_prod"}},
     .formula = "y[i] = x[0] · … · x[i]",
     .summary = "the running product, with 1 in place of NaN"},
    [](const Tensor& x, const OptionalAxisAttributes& a) { return cumulative_prod(without_nan(x, 1), a.axis); }};

struct NanToNumAttributes {
  double nan = 0;
  std::optional<double> positive_infinity = {}, negative_infinity = {};
  void fields(AttributeVisitor& v) {
    v("nan", nan, 0, "what takes the place of NaN");
    v("positive_infinity", positive_infinity, {}, "what takes the place of ∞; without it the type's greatest number");
    v("negative_infinity", negative_infinity, {}, "what takes the place of -∞; without it the type's least number");
  }
};
constexpr Function kNanToNum = {
    {.name = "nan_to_num",
     .operands = {{"x", types::real}},
     .results = {{"y", "x's shape", kSameType}},
     .formula = "y = x, or what takes its place",
     .summary = "numbers in place of NaN and of the infinities"},
    [](const Tensor& x, const NanToNumAttributes& a) -> Tensor {
      if (!is_floating(x.dtype())) return x;
      const double most = finfo(x.dtype()).max;
      const bool is_symmetric = !a.positive_infinity && !a.negative_infinity;
      const Tensor infinite = is_symmetric ? copysign(Graph::scalar(most, x.dtype()), x)
                                           : select(x > 0, Graph::scalar(a.positive_infinity.value_or(most), x.dtype()),
                                                    Graph::scalar(a.negative_infinity.value_or(-most), x.dtype()));
      return select(is_finite(x), x, select(is_nan(x), Graph::scalar(a.nan, x.dtype()), infinite));
    }};

// ---- Spread, means with weights, covariances

constexpr Function kPtp = {{.name = "ptp",
                            .operands = {{"x", types::real}},
                            .results = {{"y", kReducedShape, kSameType}},
                            .formula = "y = max(x) - min(x)",
                            .summary = "the greatest element less the least one"},
                           [](const Tensor& x, const ReductionAttributes& a) {
                             require_elements("ptp", x, a.axes);
                             return max(x, a.axes, a.keep_dims) - min(x, a.axes, a.keep_dims);
                           }};
constexpr Function kAverage = {
    {.name = "average",
     .operands = {{"x"}, {.name = "weights", .shape = "x's shape, or [elements along the axis]"}},
     .results = {{"y", kReducedShape, "the common type; of integers and bool f32"}},
     .formula = "y = Σ weights · x / Σ weights",
     .summary = "the mean of weighted elements"},
    [](const Tensor& x, const Tensor& weights, const ReductionAttributes& a) {
      const DType type = averaged(result_type_for("average", std::array<Tensor, 2>{x, weights}));
      Tensor w = accumulated(cast(weights, type));
      const bool along_axis = w.shape() != x.shape();
      w = RangeScale(w, along_axis ? Axes() : a.axes).scaled(w);
      if (along_axis) {
        const std::vector<int> over = normalized_axes(a.axes, x.rank(), "average");
        if (over.size() != 1 || w.rank() != 1 || w.size() != x.shape()[over[0]]) {
          throw ShapeError("average: weights are {}, expected x's shape {} or one for each element of a single axis",
                           to_string(weights.type()), to_string(x.shape()));
        }
        Shape along = Shape::filled(x.rank(), 1);
        along[over[0]] = w.size();
        w = broadcast_to(reshape(w, along), x.shape());
      }
      const Tensor v = accumulated(cast(x, type));
      const RangeScale scale(v, a.axes);
      const Tensor y = scale.undone(sum(scale.scaled(v) * w, a.axes, true) / sum(w, a.axes, true));
      return cast(a.keep_dims ? y : squeeze(y, a.axes), type);
    }};

// The variables of cov() and corrcoef(), scaled, as rows.
struct Variables {
  explicit Variables(const Tensor& given) : scale(given, -1), rows(scale.scaled(given)) {}

  // Less the means. Those of the rest take out the rounding error of the first ones.
  template <class Mean>
  Tensor centred(const Mean& mean) const {
    const Tensor apart = rows - mean(rows);
    return apart - mean(apart);
  }

  RangeScale scale;
  Tensor rows;
};

Variables variables_of(const Tensor& x) {
  const Shape shape{x.rank() == 2 ? x.shape()[0] : 1, x.shape()[-1]};
  return Variables(accumulated(cast(reshape(x, shape), averaged(x.dtype()))));
}

constexpr FunctionOperand kObservations = {.name = "x",
                                           .types = types::real,
                                           .min_rank = 1,
                                           .max_rank = 2,
                                           .shape = "[variables, observations] or [observations]"};

struct CovAttributes {
  double correction = 1;
  void fields(AttributeVisitor& v) {
    v("correction", correction, 1, "what the number of observations is lessened by for the divisor; 0 or more");
  }
};
constexpr Function kCov = {
    {.name = "cov",
     .operands = {kObservations,
                  {.name = "frequencies", .arity = Arity::optional, .shape = "[observations]"},
                  {.name = "weights", .arity = Arity::optional, .shape = "[observations]"}},
     .results = {{"y", "[variables, variables]; of x of rank 1 []", kSameOrF32}},
     .formula = "y[i, j] = Σ (x[i] - mean x[i]) (x[j] - mean x[j]) / (observations - correction)",
     .summary = "the covariances of variables"},
    [](const Tensor& x, const Tensor& frequencies, const Tensor& weights, const CovAttributes& a) {
      kernels::check_correction("cov", a.correction);
      const Variables variables = variables_of(x);
      const Tensor& v = variables.rows;
      const std::int64_t n = v.shape()[-1];
      const auto of_observations = [&](const Tensor& w, std::string_view what) {
        if (w.rank() != 1 || w.size() != n) {
          throw ShapeError("cov: {} are {}, expected one for each of {} observations", what, to_string(w.type()), n);
        }
        return cast(w, v.dtype());
      };
      Tensor w;
      if (frequencies.defined()) w = of_observations(frequencies, "frequencies");
      Tensor important;
      if (weights.defined()) {
        important = of_observations(weights, "weights");
        important = RangeScale(important, {}).scaled(important);
        w = w.defined() ? w * important : important;
      }
      Tensor centred, divisor;
      if (w.defined()) {
        const Tensor total = sum(w);
        centred = variables.centred([&](const Tensor& t) { return sum(t * w, 1, true) / total; });
        divisor = total - (important.defined() ? sum(w * important) / total * a.correction
                                               : Tensor(Graph::scalar(a.correction, v.dtype())));
        divisor = maximum(divisor, 0);
      } else {
        centred = variables.centred([](const Tensor& t) { return mean(t, 1, true); });
        divisor = Graph::scalar(std::max(static_cast<double>(n) - a.correction, 0.0), v.dtype());
      }
      const Tensor products = matmul(w.defined() ? centred * w : centred, centred.T()) / divisor;
      const Tensor y = RangeScale::undone_products(products, variables.scale);
      return cast(x.rank() == 1 ? reshape(y, {}) : y, averaged(x.dtype()));
    }};
constexpr Function kCorrcoef = {{.name = "corrcoef",
                                 .operands = {kObservations},
                                 .results = {{"y", "[variables, variables]; of x of rank 1 []", kSameOrF32}},
                                 .formula = "y[i, j] = cov(x)[i, j] / sqrt(cov(x)[i, i] · cov(x)[j, j])",
                                 .summary = "the correlations of variables"},
                                [](const Tensor& x) {
                                  const Tensor v =
                                      variables_of(x).centred([](const Tensor& t) { return mean(t, 1, true); });
                                  const Tensor c = matmul(v, v.T());
                                  Tensor y = c / c;
                                  if (x.rank() == 2) {
                                    const Tensor deviations = sqrt(diagonal(c));
                                    const Tensor r = c / expand_dims(deviations, 1) / deviations;
                                    // Cut by comparisons, and so of NaN itself with its derivatives.
                                    y = select(r >= 1, 1, select(r <= -1, -1, r));
                                  }
                                  return cast(x.rank() == 1 ? reshape(y, {}) : y, averaged(x.dtype()));
                                }};

}  // namespace

void add_statistics_functions(FunctionRows& rows) {
  rows.add(kMedian, kNanmedian, kQuantile, kNanquantile, kQuantiles, kNanquantiles, kMode);
  rows.add(kNansum, kNanprod, kNanmin, kNanmax, kNanmean, kNanvar, kNanstd, kNanargmin, kNanargmax, kNancumsum,
           kNancumprod, kNanToNum);
  rows.add(kPtp, kAverage, kCov, kCorrcoef);
}

// ---- The functions

Tensor median(const Operand& x, const Axes& axes, bool keep_dims) { return kMedian(x, {axes, keep_dims}); }
Tensor nanmedian(const Operand& x, const Axes& axes, bool keep_dims) { return kNanmedian(x, {axes, keep_dims}); }

Tensor quantile(const Operand& x, double q, const Axes& axes, QuantileMethod method, bool keep_dims) {
  return kQuantile(x, {q, axes, method, keep_dims});
}
Tensor quantile(const Operand& x, std::span<const double> q, const Axes& axes, QuantileMethod method, bool keep_dims) {
  return kQuantiles(x, {{q.begin(), q.end()}, axes, method, keep_dims});
}
Tensor quantile(const Operand& x, std::initializer_list<double> q, const Axes& axes, QuantileMethod method,
                bool keep_dims) {
  return kQuantiles(x, {q, axes, method, keep_dims});
}
Tensor nanquantile(const Operand& x, double q, const Axes& axes, QuantileMethod method, bool keep_dims) {
  return kNanquantile(x, {q, axes, method, keep_dims});
}
Tensor nanquantile(const Operand& x, std::span<const double> q, const Axes& axes, QuantileMethod method,
                   bool keep_dims) {
  return kNanquantiles(x, {{q.begin(), q.end()}, axes, method, keep_dims});
}
Tensor nanquantile(const Operand& x, std::initializer_list<double> q, const Axes& axes, QuantileMethod method,
                   bool keep_dims) {
  return kNanquantiles(x, {q, axes, method, keep_dims});
}

Mode mode(const Operand& x, const Axes& axes, bool keep_dims) { return kMode(x, {axes, keep_dims}); }

Tensor nansum(const Operand& x, const Axes& axes, bool keep_dims) { return kNansum(x, {axes, keep_dims}); }
Tensor nanprod(const Operand& x, const Axes& axes, bool keep_dims) { return kNanprod(x, {axes, keep_dims}); }
Tensor nanmin(const Operand& x, const Axes& axes, bool keep_dims) { return kNanmin(x, {axes, keep_dims}); }
Tensor nanmax(const Operand& x, const Axes& axes, bool keep_dims) { return kNanmax(x, {axes, keep_dims}); }
Tensor nanmean(const Operand& x, const Axes& axes, bool keep_dims) { return kNanmean(x, {axes, keep_dims}); }
Tensor nanvar(const Operand& x, const Axes& axes, double correction, bool keep_dims) {
  return kNanvar(x, {{axes, keep_dims}, correction});
}
Tensor nanstd(const Operand& x, const Axes& axes, double correction, bool keep_dims) {
  return kNanstd(x, {{axes, keep_dims}, correction});
}
Tensor nanargmin(const Operand& x, const Axes& axes, bool keep_dims) { return kNanargmin(x, {axes, keep_dims}); }
Tensor nanargmax(const Operand& x, const Axes& axes, bool keep_dims) { return kNanargmax(x, {axes, keep_dims}); }
Tensor nancumsum(const Operand& x, std::optional<int> axis) { return kNancumsum(x, {axis}); }
Tensor nancumprod(const Operand& x, std::optional<int> axis) { return kNancumprod(x, {axis}); }
Tensor nan_to_num(const Operand& x, double nan, std::optional<double> positive_infinity,
                  std::optional<double> negative_infinity) {
  return kNanToNum(x, {nan, positive_infinity, negative_infinity});
}

Tensor ptp(const Operand& x, const Axes& axes, bool keep_dims) { return kPtp(x, {axes, keep_dims}); }
Tensor average(const Operand& x, const Operand& weights, const Axes& axes, bool keep_dims) {
  return kAverage(x, weights, {axes, keep_dims});
}
Tensor cov(const Operand& x, double correction, const Operand& frequencies, const Operand& weights) {
  return kCov(x, frequencies, weights, {correction});
}
Tensor corrcoef(const Operand& x) { return kCorrcoef(x); }

}  // namespace weft
