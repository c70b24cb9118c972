// The functions of the Python array API standard 2025.12 beside those of weft/graph.h: reductions that promote,
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

// ---- Creation: like x in shape, and in type unless one is given (dtype); x's data are not needed.

// A tensor of x's shape with this value everywhere, a broadcast that takes no memory. NumPy's full_like.
Tensor full_like(const Operand& x, Number value, std::optional<DType> dtype = {});
// Zeros in x's shape.
Tensor zeros_like(const Operand& x, std::optional<DType> dtype = {});
// Ones in x's shape.
Tensor ones_like(const Operand& x, std::optional<DType> dtype = {});
// The identity matrix [n, n].
inline Tensor eye(std::int64_t n, DType dtype = DType::f32) { return eye(n, n, dtype); }
// 0, 1, … before stop, of the type that arange(0, stop) has: i32 for integers that it holds, f32 for fractions.
inline Tensor arange(Number stop) { return arange(0, stop); }
// How the axes of meshgrid() are ordered. ij: as the tensors are given, PyTorch's default; xy: with the first two
// exchanged, NumPy's default.
enum class GridOrder : std::uint8_t { xy, ij };
// The coordinates of a grid: of tensors of n, m, … elements and rank 1 (or 0) as many of shape [n, m, …], in which the
// k-th varies along axis k alone. They keep their types, and take no memory. Throws ShapeError for a tensor of more
// axes and for more than eight tensors.
std::vector<Tensor> meshgrid(std::span<const Tensor> axes, GridOrder order = GridOrder::xy);
// The same of a list in braces.
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> axes, GridOrder order = GridOrder::xy);
// x on and below a diagonal of its last two axes, zeros above it. `diagonal` counts upwards from the main one.
Tensor tril(const Operand& x, std::int64_t diagonal = 0);
// x on and above a diagonal of its last two axes, zeros below it. `diagonal` counts upwards from the main one.
Tensor triu(const Operand& x, std::int64_t diagonal = 0);

// ---- Elementwise.
// if_true where the condition is true, else if_false: select().
inline Tensor where(const Operand& condition, const TensorLike& if_true, const TensorLike& if_false) {
  return select(condition, if_true, if_false);
}
// a / b in fractions, NumPy's divide and true_divide: integers and bool are computed as f32, where operator/ cuts the
// fraction off. x / 0 is an infinity, 0 / 0 NaN.
Tensor divide(const TensorLike& a, const TensorLike& b);
// Whether |a - b| ≤ atol + rtol · |b|, or a = b, as infinities are: bool. With equal_nan NaN is close to NaN, else to
// nothing. Operands of any types that have one in common; differences of integers are exact, and compared in f32.
// NumPy's and PyTorch's isclose. Throws InvalidArgument for a tolerance that is negative or NaN.
Tensor isclose(const TensorLike& a, const TensorLike& b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
// Whether that is so of all elements: a bool [], true of none. NumPy's and PyTorch's allclose, whose bool is on the
// host.
Tensor allclose(const TensorLike& a, const TensorLike& b, double rtol = 1e-5, double atol = 1e-8,
                bool equal_nan = false);
// x itself.
inline Tensor positive(const Operand& x) { return x; }

// ---- Statistics over the axes, all of them by default; keep_dims leaves them in the result, with size 1. variance()
// and deviation() are in weft/graph.h, with argmax() and argmin().

// The sum; 0 of no elements. Of x's type, but of integers below 32 bits and bool i32, of such unsigned ones u32 (NumPy
// widens to 64 bits); integers wrap. x is converted to `dtype` first, if one is given; in bool the sum is any().
Tensor sum(const Operand& x, const Axes& axes = {}, bool keep_dims = false, std::optional<DType> dtype = {});
// The product; 1 of no elements. Types are those of sum(); in bool the product is all().
Tensor prod(const Operand& x, const Axes& axes = {}, bool keep_dims = false, std::optional<DType> dtype = {});
// The mean; NaN of no elements. Of integers and bool f32, else of x's type.
Tensor mean(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// The greatest element, NaN if there is one; NumPy's max, PyTorch's amax. Of floats and integers, in x's type; bool and
// c64 are a TypeError. Of no elements the least value: -infinity or the least integer.
Tensor max(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// The least element, NaN if there is one; NumPy's min, PyTorch's amin. Types are those of max(). Of no elements the
// greatest value: infinity or the greatest integer.
Tensor min(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// Whether some element is not 0 (NaN is not), bool; false of no elements. Of any type. all() is in weft/indexing.h.
Tensor any(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// How many elements are not 0, of any type: i32, or i64 among 2^31 elements and more.
Tensor count_nonzero(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// The running sum along an axis, which may be left out for rank 1 (else ShapeError). Types are those of sum(). With
// include_initial it begins with 0 and is one longer. NumPy's cumsum is of the flattened tensor without an axis.
Tensor cumulative_sum(const Operand& x, std::optional<int> axis = {}, std::optional<DType> dtype = {},
                      bool include_initial = false);
// The running product along an axis, which may be left out for rank 1 (else ShapeError). Types are those of sum(). With
// include_initial it begins with 1 and is one longer.
Tensor cumulative_prod(const Operand& x, std::optional<int> axis = {}, std::optional<DType> dtype = {},
                       bool include_initial = false);
// The n-th difference of neighbours along an axis, each time one shorter; of bool whether they differ. prepend and
// append, where defined, are joined to x first, in the type that they have in common. Throws InvalidArgument for
// negative n.
Tensor diff(const Operand& x, int axis = -1, int n = 1, const Operand& prepend = {}, const Operand& append = {});

// ---- Manipulation, of any type. Views are free.

// The tensors broadcast to the shape that they have in common, each in its own type. Throws ShapeError if there is
// none.
std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors);
// The shape to which shapes broadcast, [] of none. Throws ShapeError if there is none.
Shape broadcast_shapes(std::span<const Shape> shapes);
// The same of a list in braces.
Shape broadcast_shapes(std::initializer_list<Shape> shapes);
// New axes of size 1 at these places of the result, in any order: of x [2, 3], {0, -1} gives [1, 2, 3, 1]. Throws
// ShapeError where a place is named twice.
Tensor expand_dims(const Operand& x, const Axes& axes);
// x without these axes. Throws ShapeError unless the size of each is 1, and where one is named twice.
Tensor squeeze(const Operand& x, const Axes& axes);
// The parts one after the other along an axis, converted to the type that they have in common. Without an axis, of the
// flattened parts. NumPy's concatenate, PyTorch's cat. Throws ShapeError for other sizes that differ, InvalidArgument
// if there are no parts.
Tensor concat(std::initializer_list<Tensor> parts, std::optional<int> axis = 0);
// The parts, of one shape, side by side along a new axis of the result, converted to the type that they have in common.
// Throws ShapeError for shapes that differ, InvalidArgument if there are no parts.
Tensor stack(std::span<const Tensor> parts, int axis = 0);
// The same of a list in braces.
Tensor stack(std::initializer_list<Tensor> parts, int axis = 0);
// The slices of x along an axis, without that axis: as many as its size. PyTorch's unbind.
std::vector<Tensor> unstack(const Operand& x, int axis = 0);
// x in reverse order along the axes, of all by default: a view.
Tensor flip(const Operand& x, const Axes& axes = {});
// x with axis from[i] in the place to[i] of the result and the others in their order: a view. Throws ShapeError unless
// both name as many axes, none twice.
Tensor moveaxis(const Operand& x, const Axes& from, const Axes& to);
// The elements in row-major order, of rank 1. NumPy's ravel.
Tensor flatten(const Operand& x);
// x with one axis in place of those from `first` to `last`, whose size is their product: a rule, by which a graph has
// other shapes (Graph::with_shapes()). PyTorch's flatten of dimensions. Throws InvalidArgument for axes that x does not
// have, ShapeError if the first is behind the last.
Tensor flatten_axes(const Operand& x, int first, int last = -1);
// x with several axes, of these sizes, in place of one: flatten_axes()'s reverse, and a rule as well. One of the sizes
// may be -1, which follows from the others. PyTorch's unflatten. Throws InvalidArgument for an axis that x does not
// have, ShapeError if the sizes do not multiply to the axis's.
//
//   q = permute(unflatten(q, -1, {heads, -1}), {0, 2, 1, 3});   // [batch, length, width] by heads
Tensor unflatten(const Operand& x, int axis, const Shape& sizes);
// The elements, in row-major order, moved up by so many places in x's shape; those that leave the end come in at the
// beginning.
Tensor roll(const Operand& x, std::int64_t shift);
// x with the elements of axes[i] moved up by shifts[i] places; those that leave the end come in at the beginning. One
// shift is for all axes, and shifts of one axis that is named twice add up. Throws ShapeError for another number of
// shifts.
Tensor roll(const Operand& x, std::initializer_list<std::int64_t> shifts, const Axes& axes);
// x repeated as a whole along its last axes, counts[i] times; more counts than axes give new axes in front. NumPy's
// tile. Throws InvalidArgument for a negative count.
Tensor tile(const Operand& x, std::initializer_list<std::int64_t> counts);
// Each element of the flattened tensor `count` times in a row. Throws InvalidArgument for a negative count.
Tensor repeat(const Operand& x, std::int64_t count);
// Element i of an axis counts[i] times; counts are integers, of rank 1 or one for all. Waits for their sum. Throws
// InvalidArgument for a negative count, OutOfMemory for a sum past 2^40.
Tensor repeat(const Operand& x, const Operand& counts, int axis);
// The diagonal of the last two axes (NumPy's default is the first two), or the one that many above it, as the last axis
// of the result. Throws ShapeError for x of less than two axes.
Tensor diagonal(const Operand& x, std::int64_t offset = 0);

// ---- Products. The operands are converted to the type that they have in common, which the result has; integers wrap.
// Those of less than 8 bits are a TypeError.

// Each element of a times each of b, both flattened: [size of a, size of b]. Throws TypeError for bool.
Tensor outer(const Operand& a, const Operand& b);
// The sum of conj(a) · b along an axis of both, counted from the end (of equal ranks also from the front); the other
// axes broadcast. Throws ShapeError if its sizes differ, TypeError for bool.
Tensor vecdot(const Operand& a, const Operand& b, int axis = -1);
// The sum of products over the last `axes` axes of a and as many first ones of b; the result has the axes that are
// left, a's in front. 0 axes: the products of all pairs. Of bool it is whether some product is true. Throws ShapeError
// if sizes differ.
Tensor tensordot(const Operand& a, const Operand& b, int axes = 2);
// The same over a's axes and b's, pair by pair.
Tensor tensordot(const Operand& a, const Operand& b, const Axes& a_axes, const Axes& b_axes);
// NumPy's einsum: "ij,jk->ik", "...i,...i->...", "ii". Operands are contracted in the order of the fewest products, of
// more than ten as a greedy search finds it. Throws InvalidArgument (malformed subscripts, or of another number of
// operands) and ShapeError (sizes or numbers of axes that differ).
Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands);
// The same of a list in braces.
Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands);

// ---- Searching. Positions and counts are i32, or i64 where there are 2^31 elements and more.

// Before elements that are equal to a value, or after them.
enum class Side : std::uint8_t { left, right };

// Where the values would be inserted into a tensor of rank 1, in ascending order, to keep it so; of the values' shape.
// Both are converted to the type that they have in common; NaN is largest, as in sort(). Of what is not sorted the
// result is some position. Throws ShapeError for another rank.
Tensor searchsorted(const Operand& sorted, const Operand& values, Side side = Side::left);
// The elements of x where the condition, of any type, rank 1 and as long as the axis (else ShapeError), is not 0.
// Without an axis, of the flattened tensor. Waits.
Tensor compress(const Operand& condition, const Operand& x, std::optional<int> axis = {});
// For each axis the indices of the elements that are not 0, each of rank 1, in row-major order. NumPy's nonzero. Throws
// ShapeError for x of rank 0. Waits.
std::vector<Tensor> nonzero(const Operand& x);
// What unique() finds.
struct Unique {
  Tensor values;   // of rank 1, ascending
  Tensor indices;  // of the first element of each value, in the flattened tensor
  Tensor inverse;  // of x's shape: where in `values` each element is
  Tensor counts;   // how often each value occurs
};

// The distinct elements of x in ascending order; each NaN is distinct, as in the standard (NumPy's unique_all), and
// comes last. Throws TypeError for c64. Waits.
Unique unique(const Operand& x);

}  // namespace weft
