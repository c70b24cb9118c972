// The elements of a tensor in blocks on the CPU, so that what a loop costs is shared by hundreds of elements also where
// rows are short.
#pragma once

#include <vector>

#include "kernels/call.h"
#include "kernels/cpu_loops.h"

namespace weft::kernels {

// The elements of a shape of rank 1 or more without an empty axis, in row-major order. A block is some indices of an
// axis with all of the axes after it; of long rows it is a part of one.
class ElementBlocks {
 public:
  struct Block {
    std::int64_t outer;  // the row-major index over the axes before axis()
    std::int64_t begin;  // along axis()
    std::int64_t count;  // elements
  };

  // Blocks of short rows have up to `most` elements, parts of long rows up to `longest`.
  ElementBlocks(const Shape& shape, std::int64_t most, std::int64_t longest)
      : shape_(shape), axis_(shape.rank() - 1), has_long_rows_(shape.back() >= most / 4) {
    while (!has_long_rows_ && axis_ > 0 && inner_ * shape[axis_] <= most) inner_ *= shape[axis_--];
    // Blocks of about the same size; parts of rows in multiples of 64, so that packed elements of two share no byte.
    const std::int64_t fits = has_long_rows_ ? longest : most / inner_, pieces = ceil_div(shape[axis_], fits);
    along_ = ceil_div(shape[axis_], pieces);
    if (has_long_rows_ && along_ > 64) along_ = ceil_div(along_, 64) * 64;
    across_ = ceil_div(shape[axis_], along_);
    outer_ = Shape(std::span(shape.begin(), static_cast<std::size_t>(axis_)));
  }

  bool has_long_rows() const { return has_long_rows_; }
  int axis() const { return axis_; }
  std::int64_t inner() const { return inner_; }          // elements of an index of the axis
  std::int64_t size() const { return along_ * inner_; }  // elements of the largest block
  std::int64_t count() const { return element_count(outer_) * across_; }

  Block operator[](std::int64_t i) const {
    const std::int64_t begin = i % across_ * along_;
    return {i / across_, begin, std::min(along_, shape_[axis_] - begin) * inner_};
  }
  // The offset of the block's first element.
  std::int64_t offset(const Block& block, const Strides& strides) const {
    std::int64_t offset = block.begin * strides[axis_], index = block.outer;
    for (int d = axis_ - 1; d >= 0; --d) {
      offset += index % shape_[d] * strides[d];
      index /= shape_[d];
    }
    return offset;
  }
  // The offsets of a block's elements from its first one; empty if they are `strides.back()` apart.
  std::vector<std::int64_t> offsets(const Strides& strides) const {
    bool even = true;
    for (int d = along_ > 1 ? axis_ : axis_ + 1; d + 1 < shape_.rank(); ++d) {
      even &= strides[d] == strides[d + 1] * shape_[d + 1];
    }
    if (even) return {};
    std::vector<std::int64_t> all{0};
    for (int d = axis_; d < shape_.rank(); ++d) {
      const std::vector<std::int64_t> before = std::move(all);
      all.clear();
      for (const std::int64_t offset : before) {
        for (std::int64_t i = 0; i < (d == axis_ ? along_ : shape_[d]); ++i) all.push_back(offset + i * strides[d]);
      }
    }
    return all;
  }

 private:
  Shape shape_, outer_;
  int axis_;
  bool has_long_rows_;
  std::int64_t inner_ = 1, along_ = 1, across_ = 1;
};

}  // namespace weft::kernels
