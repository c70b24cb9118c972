// The functions of the Python array API standard 2024.12 beside those of weft/graph.h: reductions that promote,
// manipulation, searching, products. docs/tensors.md lists the standard's names with ours.
//
// Axes may be negative. All of them record what is to be computed, as every function of tensors does, but those that
// say so: the size of their result depends on data, so they evaluate it, read one number and wait; they cannot be
// traced by compile(), and throw InvalidArgument there. They throw ShapeError and TypeError.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/axes.h"
#include "weft/graph.h"
#include "weft/tensor.h"

namespace weft {

// ---- Creation: like x in shape, and in type unless one is given; linear in no data of x.
Tensor full_like(const Operand& x, Number value, std::optional<DType> dtype = {});
Tensor zeros_like(const Operand& x, std::optional<DType> dtype = {});
Tensor ones_like(const Operand& x, std::optional<DType> dtype = {});
inline Tensor eye(std::int64_t n, DType dtype = DType::f32) { return eye(n, n, dtype); }
inline Tensor arange(Number stop) { return arange(0, stop); }
// Coordinates of a grid: tensors of rank 1 become as many of the grid's rank. xy: the first two axes exchanged, as
// NumPy's default; else ij.
enum class GridOrder : std::uint8_t { xy, ij };
std::vector<Tensor> meshgrid(std::span<const Tensor> axes, GridOrder order = GridOrder::xy);
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> axes, GridOrder order = GridOrder::xy);
// x on and below (tril) or above (triu) a diagonal of its last two axes, zeros elsewhere.
Tensor tril(const Operand& x, std::int64_t diagonal = 0);
Tensor triu(const Operand& x, std::int64_t diagonal = 0);

// ---- Elementwise.
inline Tensor where(const Operand& condition, const TensorLike& if_true, const TensorLike& if_false) {
  return select(condition, if_true, if_false);
}
// a / b in fractions: integers and bool are computed as f32.
Tensor divide(const TensorLike& a, const TensorLike& b);
inline Tensor positive(const Operand& x) { return x; }

// ---- Statistics. sum, prod and cumulative ones of integers below 32 bits and bool are i32, of such unsigned ones u32,
// unless a type is given; mean, variance and deviation of integers are f32.
Tensor sum(const Operand& x, const Axes& axes = {}, bool keep_dims = false, std::optional<DType> dtype = {});
Tensor prod(const Operand& x, const Axes& axes = {}, bool keep_dims = false, std::optional<DType> dtype = {});
Tensor mean(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor max(const Operand& x, const Axes& axes = {}, bool keep_dims = false);  // NaN if there is one
Tensor min(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor any(const Operand& x, const Axes& axes = {}, bool keep_dims = false);            // all() is in weft/indexing.h
Tensor count_nonzero(const Operand& x, const Axes& axes = {}, bool keep_dims = false);  // i32, or i64
// With `include_initial` they begin with 0 or 1, and are one longer.
Tensor cumulative_sum(const Operand& x, std::optional<int> axis = {}, std::optional<DType> dtype = {},
                      bool include_initial = false);
Tensor cumulative_prod(const Operand& x, std::optional<int> axis = {}, std::optional<DType> dtype = {},
                       bool include_initial = false);
// The n-th difference of neighbours along an axis; prepend and append, where defined, are joined to x first.
Tensor diff(const Operand& x, int axis = -1, int n = 1, const Operand& prepend = {}, const Operand& append = {});

// ---- Manipulation.
std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors);
// Converts to result_type first. Without an axis, of the flattened parts.
Tensor concat(std::initializer_list<Tensor> parts, std::optional<int> axis = 0);
Tensor stack(std::span<const Tensor> parts, int axis = 0);
Tensor stack(std::initializer_list<Tensor> parts, int axis = 0);
std::vector<Tensor> unstack(const Operand& x, int axis = 0);
Tensor flip(const Operand& x, const Axes& axes = {});
Tensor moveaxis(const Operand& x, const Axes& from, const Axes& to);
Tensor flatten(const Operand& x);
// Without axes: of the flattened tensor, in x's shape.
Tensor roll(const Operand& x, std::int64_t shift);
Tensor roll(const Operand& x, std::initializer_list<std::int64_t> shifts, const Axes& axes);
Tensor tile(const Operand& x, std::initializer_list<std::int64_t> counts);  // of any length, as NumPy's
Tensor repeat(const Operand& x, std::int64_t count);                        // of the flattened tensor
// Element i of an axis counts[i] times. Waits for the sum of the counts.
Tensor repeat(const Operand& x, const Operand& counts, int axis);
Tensor diagonal(const Operand& x, std::int64_t offset = 0);  // of the last two axes; a view

// ---- Products. Types that matmul() has no kernel for are multiplied and summed.
Tensor outer(const Operand& a, const Operand& b);
// The sum of conj(a) · b along an axis of both.
Tensor vecdot(const Operand& a, const Operand& b, int axis = -1);
// The sum of products over the last `axes` of a and the first of b; or over a's axes and b's, pair by pair.
Tensor tensordot(const Operand& a, const Operand& b, int axes = 2);
Tensor tensordot(const Operand& a, const Operand& b, const Axes& a_axes, const Axes& b_axes);
// NumPy's einsum: "ij,jk->ik", "...i,...i->...", "ii". Operands are contracted from left to right.
Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands);
Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands);

// ---- Searching. Where the values would be inserted into a sorted tensor of rank 1 to keep it so: before equal ones,
// or after. i32, as all positions here, or i64 where there are 2^31 elements and more. NaN is largest.
enum class Side : std::uint8_t { left, right };
Tensor searchsorted(const Operand& sorted, const Operand& values, Side side = Side::left);
// The elements of x where the condition, which is as long as the axis, is true. Without an axis, of the flattened
// tensor. Waits.
Tensor compress(const Operand& condition, const Operand& x, std::optional<int> axis = {});
// For each axis the indices of the elements that are not 0, in row-major order; i32. Waits.
std::vector<Tensor> nonzero(const Operand& x);
// The distinct elements of x in ascending order; each NaN is distinct, as in the standard. Waits.
struct Unique {
  Tensor values;
  Tensor indices;  // i32: of the first element of each value, in the flattened tensor
  Tensor inverse;  // i32, x's shape: where in `values` each element is
  Tensor counts;   // i32
};
Unique unique(const Operand& x);

}  // namespace weft
