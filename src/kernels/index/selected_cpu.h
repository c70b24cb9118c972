// Elements of the whole that indices select, on the CPU: a block of tuples of indices at a time.
#pragma once

#include <limits>

#include "kernels/common/blocks_cpu.h"
#include "kernels/index/selection.h"

namespace weft::kernels {

// The rows of the whole that the part's tuples of indices select, in the order of the part.
class SelectedElements {
 public:
  static constexpr int kMost = 512;                                                // tuples of a block
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();  // of a tuple that selects nothing

  // `dims` has the strides of whole, indices and part, which begin at `start`. Indices outside are clamped, or select
  // nothing.
  SelectedElements(const Selection& selection, bool clamps, Collapsed dims,
                   const std::array<std::int64_t, 3>& start = {});

  std::int64_t blocks() const { return blocks_.count(); }
  std::int64_t tuples() const { return blocks_.size(); }  // of the largest block
  // Elements of a row, and their strides.
  std::int64_t length() const { return length_; }
  std::int64_t whole_stride() const { return whole_stride_; }
  std::int64_t part_stride() const { return part_stride_; }

  // A block's rows: their first elements.
  struct Rows {
    int count;
    bool adjacent;  // in the part: part[i] is part[0] + i, and only part[0] is set
    std::int64_t whole[kMost], part[kMost];
    std::int64_t part_of(int i) const { return adjacent ? part[0] + i : part[i]; }
  };
  // Those whose first index is not in [low, high) have kNone in `whole`, as those that select nothing.
  void find(std::int64_t block, std::int64_t low, std::int64_t high, Rows& rows) const;

 private:
  const Selection& selection_;
  bool clamps_;
  std::int64_t length_ = 1, whole_stride_ = 0, part_stride_ = 0;
  Collapsed dims_;
  std::array<std::int64_t, 3> start_;
  ElementBlocks blocks_;
  std::array<std::vector<std::int64_t>, 3> offsets_;
};

}  // namespace weft::kernels
