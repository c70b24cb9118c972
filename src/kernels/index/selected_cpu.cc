#include "kernels/index/selected_cpu.h"

#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/block_memory.h"

namespace weft::kernels {
namespace {

// Rows that are shorter, or have an index for each element, are taken as elements.
constexpr std::int64_t kShortest = 16;
constexpr std::int64_t kElements = 8192;  // of the rows of a block

// How the indices of an axis are read.
struct Reading {
  std::int64_t size, stride;
  bool has_sign;
  bool wraps;   // negative ones count from the end
  bool clamps;  // those outside move to the first or the last element; else they select nothing
  std::int64_t low, high;
};

// elements[i] = first + i · stride, or first + offsets[i].
WEFT_VECTOR_CLONES
void list_elements(std::int64_t first, std::int64_t stride, const std::int64_t* offsets, int n,
                   std::int64_t* WEFT_RESTRICT elements) {
  if (offsets) {
    for (int i = 0; i < n; ++i) elements[i] = first + offsets[i];
  } else {
    for (int i = 0; i < n; ++i) elements[i] = first + i * stride;
  }
}

// Adds what the indices move in the whole, or sets kNone, which stays.
WEFT_VECTOR_CLONES
void add_indices(const Reading& r, const std::int64_t* indices, int n, std::int64_t* whole) {
  for (int i = 0; i < n; ++i) {
    const bool negative = r.has_sign & (indices[i] < 0);
    std::int64_t index = indices[i] + ((negative & r.wraps) ? r.size : 0);
    const bool inside = static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(r.size);
    index = inside ? index : negative ? 0 : r.size - 1;
    const bool found =
        (whole[i] != SelectedElements::kNone) & (inside | r.clamps) & (index >= r.low) & (index < r.high);
    whole[i] = found ? whole[i] + index * r.stride : SelectedElements::kNone;
  }
}

Collapsed without_row(Collapsed dims, std::int64_t length) {
  if (length > 1) {
    dims.shape.pop_back();
    for (Strides& s : dims.strides) s.pop_back();
  }
  if (dims.shape.empty()) {
    dims.shape.push_back(1);
    for (Strides& s : dims.strides) s.push_back(0);
  }
  return dims;
}
std::int64_t row_length(const Collapsed& dims) {
  return !dims.shape.empty() && dims.strides[1].back() == 0 && dims.shape.back() >= kShortest ? dims.shape.back() : 1;
}

}  // namespace

SelectedElements::SelectedElements(const Selection& selection, bool clamps, Collapsed dims,
                                   const std::array<std::int64_t, 3>& start)
    : selection_(selection),
      clamps_(clamps),
      length_(row_length(dims)),
      whole_stride_(length_ > 1 ? dims.strides[0].back() : 0),
      part_stride_(length_ > 1 ? dims.strides[2].back() : 0),
      dims_(without_row(std::move(dims), length_)),
      start_(start),
      blocks_(dims_.shape, std::clamp<std::int64_t>(kElements / length_, 1, kMost),
              std::clamp<std::int64_t>(kElements / length_, 1, kMost)) {
  for (int k = 0; k < 3; ++k) offsets_[k] = blocks_.offsets(dims_.strides[k]);
}

void SelectedElements::find(std::int64_t block, std::int64_t low, std::int64_t high, Rows& rows) const {
  const ElementBlocks::Block b = blocks_[block];
  const auto first = [&](int k) { return start_[k] + blocks_.offset(b, dims_.strides[k]); };
  rows.count = static_cast<int>(b.count);
  rows.adjacent = offsets_[2].empty() && dims_.strides[2].back() == 1;
  const auto list = [&](int k, int n, std::int64_t* elements) {
    list_elements(first(k), dims_.strides[k].back(), offsets_[k].empty() ? nullptr : offsets_[k].data(), n, elements);
  };
  list(0, rows.count, rows.whole);
  list(2, rows.adjacent ? 1 : rows.count, rows.part);
  const View& indices = selection_.indices;
  const std::byte* const memory = indices.buffer.data() + indices.offset;
  const std::int64_t tuples = first(1);
  const bool has_sign = is_signed(indices.dtype);
  for (int k = 0; k < static_cast<int>(selection_.axes.size()); ++k) {
    std::int64_t numbers[kMost];  // registers of integers have 64 bits
    const std::int64_t at = tuples + k * selection_.component_stride;
    if (offsets_[1].empty())
      load_block(indices.dtype)(memory, at, dims_.strides[1].back(), rows.count, numbers);
    else
      gather_block(indices.dtype)(memory, at, offsets_[1].data(), rows.count, numbers);
    add_indices({.size = selection_.axes[k].size,
                 .stride = selection_.axes[k].stride,
                 .has_sign = has_sign,
                 .wraps = !selection_.starts,
                 .clamps = clamps_,
                 .low = k == 0 ? low : 0,
                 .high = k == 0 ? high : std::numeric_limits<std::int64_t>::max()},
                numbers, rows.count, rows.whole);
  }
}

}  // namespace weft::kernels
