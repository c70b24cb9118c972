// Statistics: quantiles, functions that leave NaN out, covariances, histograms. NumPy's functions of these names.
//
//   Tensor m = median(x, 1);                        // of each row
//   Tensor q = quantile(x, {0.25, 0.5, 0.75});      // [3]
//   auto [counts, edges] = histogram(x, 10);
//
// Axes may be negative, and are all of them by default; keep_dims leaves them in the result, with size 1. Floats keep
// their type, integers and bool give f32 where a fraction may result. They record what is to be computed, but for
// bincount(), whose result is as long as the data say. They throw InvalidArgument (an undefined Tensor), ShapeError and
// TypeError (c64).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "weft/axes.h"
#include "weft/tensor.h"

namespace weft {

// How a quantile is taken between two elements: the nine methods of Hyndman and Fan, "Sample quantiles in statistical
// packages", 1996, in their order, and NumPy's four older ones.
enum class QuantileMethod : std::uint8_t {
  inverted_cdf,
  averaged_inverted_cdf,
  closest_observation,
  interpolated_inverted_cdf,
  hazen,
  weibull,
  linear,
  median_unbiased,
  normal_unbiased,
  lower,
  higher,
  midpoint,
  nearest,
};

// ---- Order. They sort. A row with NaN gives NaN, and so does one without elements. Between a number and an infinity
// is the infinity (NumPy's quantile has NaN there), between -infinity and infinity NaN. Half way between two elements
// the result is rounded once; elsewhere it is within 2 ULP of the one that is greater in magnitude. The derivative goes
// to the elements between which the result lies.

// The element in the middle of those over the axes, or the mean of the two there.
Tensor median(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// What a share q of the elements over the axes is not above. Throws InvalidArgument unless q is in [0, 1].
Tensor quantile(const Operand& x, double q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear,
                bool keep_dims = false);
// Several quantiles, along a new first axis.
Tensor quantile(const Operand& x, std::span<const double> q, const Axes& axes = {},
                QuantileMethod method = QuantileMethod::linear, bool keep_dims = false);
// The same of a list in braces.
Tensor quantile(const Operand& x, std::initializer_list<double> q, const Axes& axes = {},
                QuantileMethod method = QuantileMethod::linear, bool keep_dims = false);
// median() of the elements that are not NaN; NaN if there are none.
Tensor nanmedian(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// quantile() of the elements that are not NaN; NaN if there are none.
Tensor nanquantile(const Operand& x, double q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear,
                   bool keep_dims = false);
// Several quantiles, along a new first axis.
Tensor nanquantile(const Operand& x, std::span<const double> q, const Axes& axes = {},
                   QuantileMethod method = QuantileMethod::linear, bool keep_dims = false);
// The same of a list in braces.
Tensor nanquantile(const Operand& x, std::initializer_list<double> q, const Axes& axes = {},
                   QuantileMethod method = QuantileMethod::linear, bool keep_dims = false);

// What mode() finds.
struct Mode {
  Tensor values, counts;  // counts are i32, or i64 among 2^31 elements and more
};
// The most frequent value over the axes, of several the least, in x's type, and how often it occurs: SciPy's
// stats.mode. Rows with NaN give NaN, and how many NaN there are. Throws ShapeError if there are no elements.
Mode mode(const Operand& x, const Axes& axes = {}, bool keep_dims = false);

// ---- Without NaN: the functions without "nan" in their name, of the elements that are not NaN. Of integers and bool
// they are those functions. nanmean(), nanvar() and nanstd() sum scaled numbers: only a result that its type does not
// hold overflows, on every device.

// sum() of the numbers; 0 of none.
Tensor nansum(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// prod() of the numbers; 1 of none.
Tensor nanprod(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// The least number; of floats NaN if there is none.
Tensor nanmin(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// The greatest number; of floats NaN if there is none.
Tensor nanmax(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// mean() of the numbers; NaN of none.
Tensor nanmean(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// variance() of the numbers, by whose count less the correction the sum is divided; NaN of none.
Tensor nanvar(const Operand& x, const Axes& axes = {}, double correction = 0, bool keep_dims = false);
// The square root of nanvar().
Tensor nanstd(const Operand& x, const Axes& axes = {}, double correction = 0, bool keep_dims = false);
// The position of the least number, the first of equal ones, in row-major order over the axes; 0 if all are NaN, where
// NumPy throws. Throws ShapeError if there are no elements.
Tensor nanargmin(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// The position of the greatest number, the first of equal ones, in row-major order over the axes; 0 if all are NaN,
// where NumPy throws. Throws ShapeError if there are no elements.
Tensor nanargmax(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// cumulative_sum() with 0 in place of NaN.
Tensor nancumsum(const Operand& x, std::optional<int> axis = {});
// cumulative_prod() with 1 in place of NaN.
Tensor nancumprod(const Operand& x, std::optional<int> axis = {});
// x with other values in place of NaN and of the infinities, by default 0 and x's type's greatest and least number.
Tensor nan_to_num(const Operand& x, double nan = 0, std::optional<double> positive_infinity = {},
                  std::optional<double> negative_infinity = {});

// ---- Spread, means with weights, covariances. average(), cov() and corrcoef() sum scaled numbers, as nanmean() does.

// The greatest element less the least one, in x's type; NaN if there is one. Throws ShapeError if there are no
// elements. NumPy's ptp.
Tensor ptp(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// Σ weights · x / Σ weights over the axes. The weights are of x's shape, or of rank 1 and as long as the one axis.
// Throws ShapeError for others. Weights that add up to 0 give NaN or an infinity, where NumPy throws.
Tensor average(const Operand& x, const Operand& weights, const Axes& axes = {}, bool keep_dims = false);
// The covariances of variables, the rows of x: [variables, observations] gives [variables, variables], and x of rank 1
// one number. They are divided by the observations less the correction, which is 1 by default, as NumPy's and
// PyTorch's. frequencies [observations]: how often each was made; weights [observations]: how much each counts.
// Divisors that are not more than 0 are 0. Throws InvalidArgument for a correction that is negative or NaN, ShapeError
// for other shapes.
Tensor cov(const Operand& x, double correction = 1, const Operand& frequencies = {}, const Operand& weights = {});
// The correlations of variables, the rows of x: their covariances divided by their deviations, within [-1, 1]. NaN of
// those that do not vary.
Tensor corrcoef(const Operand& x);

// ---- Histograms and counts. Counts are i32, or i64 among 2^31 elements and more, and sums of weights of the type of
// sum(); both repeat to the bit.

struct HistogramOptions {
  std::optional<std::pair<double, double>> range = {};  // the outer edges; default: x's least and greatest element
  Operand weights = {};                                 // of x's shape: what each element counts; default 1
  bool density = false;  // counts divided by their sum and the widths of the bins, floats of which the integral is 1
};
struct Histogram {
  Tensor counts;  // [bins]
  Tensor edges;   // [bins + 1], ascending
};
// How many elements of x lie in each of `bins` intervals of equal width. Each holds its lower edge, and the last one
// both. Elements outside, and NaN, are not counted. The edges are of x's type, of integers and bool f32, in which x is
// compared with them. Where the range is a single number it is that ± ½; without a range NaN or an infinity in x makes
// the edges NaN and the counts 0 (NumPy throws). Where the type has fewer numbers in the range than there are bins,
// neighbouring edges are equal: such a bin of width 0 is empty and of density 0, but the last one holds its edge, with
// an infinite density. Densities of no elements are NaN. Throws InvalidArgument for less than one bin, and for a range
// that descends, is not finite, or is not within the edges' type.
Histogram histogram(const Operand& x, std::int64_t bins = 10, const HistogramOptions& options = {});
// The same in intervals between given edges, ascending, of rank 1 and two elements at least. Edges that do not ascend
// throw InvalidArgument if the host has them: a constant, and what is no view and is on the cpu or was read before. Of
// others the counts are -1 then, of floats NaN; they are not waited for.
Histogram histogram(const Operand& x, const Operand& edges, const HistogramOptions& options = {});

struct Histogram2dOptions {
  // The outer edges, without given ones; default: the least and the greatest element.
  std::optional<std::pair<double, double>> x_range = {}, y_range = {};
  Operand weights = {};  // of x's shape: what each pair counts; default 1
  bool density = false;  // counts divided by their sum and the areas of the bins, floats of which the integral is 1
};
struct Histogram2d {
  Tensor counts;   // [x_bins, y_bins]
  Tensor x_edges;  // [x_bins + 1], ascending
  Tensor y_edges;  // [y_bins + 1]
};
// How many pairs of elements of x and y, of one shape, lie in each of the bins, each with an interval of equal width
// for x and one for y. Edges, types and errors are those of histogram() for x and for y; a pair of which one element is
// outside, or NaN, is not counted. NumPy's histogram2d.
Histogram2d histogram2d(const Operand& x, const Operand& y, std::int64_t x_bins = 10, std::int64_t y_bins = 10,
                        const Histogram2dOptions& options = {});
// The same in bins between given edges, as histogram() takes them, without ranges.
Histogram2d histogram2d(const Operand& x, const Operand& y, const Operand& x_edges, const Operand& y_edges,
                        const Histogram2dOptions& options = {});
// Which interval between the bins' edges, of rank 1 and ascending or descending, each element of x is in: i with
// bins[i - 1] <= x < bins[i], of descending edges bins[i - 1] > x >= bins[i]; 0 and the number of edges outside. NaN is
// taken for the largest number. With right = true an interval holds its other edge. i32, or i64 of 2^31 edges and more.
// Bins that neither ascend nor descend throw InvalidArgument if the host has them, as edges of histogram() do; of
// others the result is -1.
Tensor digitize(const Operand& x, const Operand& bins, bool right = false);
// How often each of 0, 1, … is in x, integers of rank 1, or with weights, of x's shape, the sum of theirs. The result
// goes up to the greatest number, and is no shorter than `minimum_length`; segment_sum() has one of a given length.
// Waits for the greatest number. Throws InvalidArgument for negative numbers in x.
Tensor bincount(const Operand& x, const Operand& weights = {}, std::int64_t minimum_length = 0);

}  // namespace weft
