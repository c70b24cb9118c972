// Segments: elements of one tensor that numbers of another one put together. JAX's and TensorFlow's segment functions,
// PyTorch's scatter_reduce.
//
//   Tensor y = segment_sum(x, ids, 4);    // y[s] = Σ x[i] over the i with ids[i] = s, [4, …] of x [n, …]
//
// ids are integers, one for each of x's first axis, in any order; how many segments there are is given, so that nothing
// is read back. Elements with a number that is negative or not below `segments` belong to no segment. Floats are
// combined in the order of their elements, so that results repeat to the bit; sums, products and means of narrow floats
// in f32, and rounded once. They throw InvalidArgument (an undefined Tensor, a negative number of segments), ShapeError
// and TypeError.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "weft/tensor.h"

namespace weft {

// ---- Reductions of segments: [segments, …] of x [n, …].

// The sum; 0 of no elements. Types are those of sum().
Tensor segment_sum(const Operand& x, const Operand& ids, std::int64_t segments);
// The product; 1 of no elements. Types are those of prod().
Tensor segment_prod(const Operand& x, const Operand& ids, std::int64_t segments);
// The mean; NaN of no elements. Types are those of mean().
Tensor segment_mean(const Operand& x, const Operand& ids, std::int64_t segments);
// The greatest element, NaN if there is one; of no elements -infinity, or the least number of a type that has none.
// Types are those of max().
Tensor segment_max(const Operand& x, const Operand& ids, std::int64_t segments);
// The least element, NaN if there is one; of no elements infinity, or the greatest number of a type that has none.
// Types are those of min().
Tensor segment_min(const Operand& x, const Operand& ids, std::int64_t segments);
// softmax() over the elements of each segment, in x's shape and type, floats: positive numbers of which those of one
// segment add up to 1. Elements of no segment give 0; NaN, infinity, or nothing but -infinity in a segment make it NaN.
Tensor segment_softmax(const Operand& x, const Operand& ids, std::int64_t segments);

// ---- Running extremes with their places.

// What cummax() and cummin() find, in x's shape.
struct RunningExtreme {
  Tensor values, indices;  // indices are i32, or i64 along axes of 2^31 elements and more
};
// The greatest element so far along an axis, and its position: the last of equal ones, as PyTorch has it. From the
// first NaN on values are NaN, and positions those of the last NaN so far. Of floats and integers.
RunningExtreme cummax(const Operand& x, int axis);
// The least element so far along an axis, and its position: the last of equal ones, as PyTorch has it. From the first
// NaN on values are NaN, and positions those of the last NaN so far. Of floats and integers.
RunningExtreme cummin(const Operand& x, int axis);

// ---- Orders. Throw as sort() does.

// x in an order in which the k-th element along the axis is the one that sorting puts there, none before it is greater
// and none behind it less: x sorted, which NumPy leaves open. Negative k count from the end. top_k() is faster where
// only few elements are needed. Throws IndexError for k outside of the axis.
Tensor partition(const Operand& x, std::int64_t k, int axis = -1);
// The positions from which partition() takes its elements: argsort().
Tensor argpartition(const Operand& x, std::int64_t k, int axis = -1);
// The order along an axis by several keys of one shape: by the last of them, where it is equal by the one before, and
// so on; what is equal in all stays in order. Throws InvalidArgument if there are no keys, ShapeError for shapes that
// differ.
Tensor lexsort(std::span<const Tensor> keys, int axis = -1);
// The same of a list in braces.
Tensor lexsort(std::initializer_list<Tensor> keys, int axis = -1);

}  // namespace weft
