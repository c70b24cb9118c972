// Shapes, strides and layouts: the places of a tensor's elements in memory. Sizes and strides count elements, not
// bytes.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

inline constexpr int kMaxRank = 8;

// A short list of at most kMaxRank integers, kept in place. Throws InvalidArgument when more are given.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  explicit Dims(std::span<const std::int64_t> values) {
    for (const std::int64_t v : values) push_back(v);
  }
  // `rank` numbers that are all `value`.
  static Dims filled(int rank, std::int64_t value);

  int rank() const { return rank_; }
  int size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  // Negative indices count from the end, as in NumPy; no bounds check beyond that.
  std::int64_t operator[](int i) const { return values_[i < 0 ? i + rank_ : i]; }
  std::int64_t& operator[](int i) { return values_[i < 0 ? i + rank_ : i]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }
  std::int64_t* begin() { return values_.data(); }        // for loops over the numbers
  std::int64_t* end() { return values_.data() + rank_; }  // behind the last number
  std::int64_t back() const { return values_[rank_ - 1]; }

  // Appends a number. Throws ShapeError past kMaxRank numbers.
  void push_back(std::int64_t value) {
    if (rank_ == kMaxRank) refuse_more();
    values_[static_cast<std::size_t>(rank_++)] = value;
  }
  // Puts a number in front of number `at`, or behind the last if that is rank(). Throws ShapeError past kMaxRank
  // numbers.
  void insert(int at, std::int64_t value);
  // Removes number `at`.
  void erase(int at);
  // Removes the last number.
  void pop_back();

  bool operator==(const Dims& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i) {
      if (begin()[i] != other.begin()[i]) return false;
    }
    return true;
  }

 private:
  [[noreturn]] static void refuse_more();
  std::array<std::int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

// The shape of an input.
struct NamedShape {
  std::string name;
  Shape shape;
};

// "[2, 3, 4]"; "[]" for a scalar.
std::string to_string(const Dims& dims);

// Number of elements; 1 for a scalar. Throws InvalidArgument on a negative size or a product past 2⁶³.
std::int64_t element_count(const Shape& shape);

// Row-major strides of a dense tensor.
Strides dense_strides(const Shape& shape);

// NumPy's broadcast of two shapes. Throws InvalidArgument when they do not fit.
Shape broadcast(const Shape& a, const Shape& b);

// Whether a tensor of shape `from` can be read as one of shape `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

// Turns an axis that may be negative into [0, rank). Throws InvalidArgument outside [-rank, rank).
int normalize_axis(int axis, int rank, std::string_view where);

// A shape and its strides in memory. Strides may be zero (broadcast) or negative (reversed).
struct Layout {
  Shape shape = {};
  Strides strides = {};

  // The row-major layout of the shape without gaps.
  static Layout dense(const Shape& shape) { return {shape, dense_strides(shape)}; }

  int rank() const { return shape.rank(); }
  std::int64_t count() const { return element_count(shape); }
  // True if the elements are contiguous in row-major order (sizes of 1 may have any stride).
  bool is_dense() const;
  // Smallest and largest element offset that any index reaches; {0, 0} when there is no element.
  std::array<std::int64_t, 2> offset_range() const;

  // The same elements with the axes in another order.
  Layout permuted(std::span<const int> order) const;
  // The same elements seen as `target` by NumPy's broadcast (stride 0). Throws InvalidArgument.
  Layout broadcast_to(const Shape& target) const;
  // The same elements in the same order under another shape; false if strides cannot express it.
  bool reshaped(const Shape& target, Layout& result) const;

  bool operator==(const Layout&) const = default;
};

// Merges neighbouring dimensions that are contiguous with each other under all of `strides`, and drops sizes of 1, so
// that kernels loop over as few dimensions as possible. All lists share `shape`.
//   shape [2, 3, 4], strides {[12, 4, 1], [0, 0, 1]}  →  shape [6, 4], strides {[4, 1], [0, 1]}
struct Collapsed {
  Shape shape;
  std::vector<Strides> strides;
};
// Merges the dimensions of lists of strides over one shape, as the example above.
Collapsed collapse(const Shape& shape, std::span<const Strides> strides);

}  // namespace weft
