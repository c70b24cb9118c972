// The elements of x that each element of y is made of, along one axis, and their weights.
#pragma once

#include <vector>

#include "weft/kernels/resize.h"

namespace weft::kernels {

// Row i, for element i of y: `count` elements of x from `first` on, with weights[i · pitch …]. All are inside of x. No
// elements: the result is the options' value, or a gradient's 0.
struct AxisTable {
  int axis = 0;
  std::int64_t from = 0;   // x's size
  std::int64_t pitch = 1;  // the most elements of a row
  double ratio = 1;        // of y's size to x's, also of parts
  std::vector<std::int64_t> first, count;
  std::vector<double> weights;

  std::int64_t to() const { return static_cast<std::int64_t>(first.size()); }
  const double* row(std::int64_t i) const { return weights.data() + i * pitch; }
  // Whether y is x, along this axis.
  bool is_identity() const;
  // Whether weights of 0 lie between others of a row: what they belong to does not count, even if it is infinite.
  bool has_zeros() const;
};

// Whether a scale is the quotient of the sizes, which then say positions exactly.
bool sizes_say(double scale, std::int64_t from, std::int64_t to);

// Rows begin…end-1 of options that fit the shapes, of `to` rows; all without them.
AxisTable axis_table(const ResizeOptions& options, int axis, std::int64_t from, std::int64_t to);
AxisTable axis_table(const ResizeOptions& options, int axis, std::int64_t from, std::int64_t to, std::int64_t begin,
                     std::int64_t end);
// The same of the gradient, from y's elements to x's: rows are x's.
AxisTable gradient_table(const ResizeOptions& options, int axis, std::int64_t from, std::int64_t to, std::int64_t begin,
                         std::int64_t end);
// About how many elements a row has at most.
std::int64_t row_length(const ResizeOptions& options, int axis, std::int64_t from, std::int64_t to, bool gradient);
// Rows begin…end-1, which read x's elements from `x_begin` on; `x_size`: up to the last that they read.
AxisTable part_of(const AxisTable& table, std::int64_t begin, std::int64_t end, std::int64_t& x_begin,
                  std::int64_t& x_size);
AxisTable part_of(AxisTable table, std::int64_t& x_begin, std::int64_t& x_size);  // all of its rows

// The weights as multiples of 2^-kWeightBits whose sum is as near to the exact one as they can be.
constexpr int kWeightBits = 14;
void integer_weights(const AxisTable& table, std::int64_t row, std::int32_t* weights);
std::vector<std::int32_t> integer_weights(const AxisTable& table, std::int64_t row);

}  // namespace weft::kernels
