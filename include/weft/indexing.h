// Indexing as in NumPy: x[{1, slice(0, 10), all, -1}], x[mask], x.set({ellipsis, 0}, value).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "weft/axes.h"
#include "weft/tensor.h"

namespace weft {

// Elements begin, begin + step, … before end, as Python's begin:end:step: negative numbers count from the end of the
// axis, what lies outside is cut off, and none means from the first or to the last in the direction of the step.
struct Slice {
  std::optional<std::int64_t> begin = {}, end = {};
  std::int64_t step = 1;
};
inline constexpr std::nullopt_t none = std::nullopt;
// A slice as an index: x[{slice(1, none), slice(none, none, 2)}] is Python's x[1:, ::2].
inline Slice slice(std::optional<std::int64_t> begin, std::optional<std::int64_t> end, std::int64_t step = 1) {
  return {begin, end, step};
}

// `all` is a whole axis as an index, and the function that NumPy calls so.
struct All {
  // Whether all elements over the axes are true (other than 0); of no elements: true.
  Tensor operator()(const Operand& x, const Axes& axes = {}, bool keep_dims = false) const {
    return x.all(axes, keep_dims);
  }
};
inline constexpr All all;
// As many whole axes as are needed.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis;
// An axis of size 1 that the result has and x has not.
struct NewAxis {};
inline constexpr NewAxis newaxis;

// What one position of an index says: an integer, a slice, or a tensor of integers or bool.
class Index {
 public:
  template <std::integral T>
    requires(!std::same_as<T, bool>)                    // in NumPy True is no 1
  Index(T i) : value_(static_cast<std::int64_t>(i)) {}  // NOLINT: implicit, as are the next
  Index(Slice s) : value_(s) {}                         // NOLINT
  Index(All) : value_(Slice{}) {}                       // NOLINT
  Index(Ellipsis e) : value_(e) {}                      // NOLINT
  Index(NewAxis n) : value_(n) {}                       // NOLINT
  Index(const Tensor& t) : value_(t) {}                 // NOLINT

  using Value = std::variant<std::int64_t, Slice, Ellipsis, NewAxis, Tensor>;
  const Value& value() const { return value_; }

 private:
  Value value_;
};

// One index for each of the first axes of a tensor; axes behind them are whole. Integers, slices, ellipsis and newaxis
// give a view. Tensors of integers broadcast with each other, and choose elements together, as in NumPy; their axes
// stand where the first of them stands if they are neighbours, which an ellipsis between them ends, else in front.
// Indices in them that lie outside are clamped when read, and ignored when written. A bool tensor of n axes stands for
// n index tensors: the places where it is true; one of no axis for a new axis, of size 1 or 0. Their number is read, so
// that this waits and cannot be traced (use select() there).
class Indices {
 public:
  Indices(std::initializer_list<Index> indices) : indices_(indices) {}
  Indices(std::vector<Index> indices) : indices_(std::move(indices)) {}  // NOLINT
  template <class T>
    requires std::convertible_to<const T&, Index>
  Indices(const T& index) : indices_{Index(index)} {}  // NOLINT

  std::span<const Index> values() const { return indices_; }

 private:
  std::vector<Index> indices_;
};

// A new tensor like x, in which the elements x[at] are replaced by or combined with `value`, which broadcasts to them
// and is converted to x's type. add, max and min count an element as often as index tensors name it; of several that
// replace one element, the last one stays, and has the cotangent of a derivative. Throw IndexError, ShapeError, and
// TypeError for an integer outside of the range of x's type.

// x with those elements replaced by the value: JAX's x.at[…].set.
Tensor at_set(const Operand& x, const Indices& at, const TensorLike& value);
// x with the value added to those elements.
Tensor at_add(const Operand& x, const Indices& at, const TensorLike& value);
// x with those elements replaced by the greater of themselves and the value; NaN if one is NaN.
Tensor at_max(const Operand& x, const Indices& at, const TensorLike& value);
// x with those elements replaced by the lesser of themselves and the value; NaN if one is NaN.
Tensor at_min(const Operand& x, const Indices& at, const TensorLike& value);

}  // namespace weft
