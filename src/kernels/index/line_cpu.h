// Selections along one axis by adjacent indices, on the CPU: as most gathers and scatters of single elements are, which
// then need no lists of elements.
#pragma once

#include <optional>

#include "kernels/common/rows.h"
#include "kernels/index/selection.h"

namespace weft::kernels {

struct IndexLine {
  std::int64_t count;         // indices
  std::int64_t size, stride;  // of the axis
  std::int64_t part_stride;   // from one element of the part to the next
  bool is_long;               // the indices are i64, not i32
  const std::byte* indices;

  // Of the part's axes, collapsed for the whole, the indices and the part; none if the selection is no such line.
  static std::optional<IndexLine> of(const Selection& s, const Collapsed& dims) {
    const bool known = s.indices.dtype == DType::i32 || s.indices.dtype == DType::i64;
    if (!known || s.starts || s.axes.size() != 1 || dims.shape.rank() != 1) return std::nullopt;
    if (dims.strides[0][0] != 0 || dims.strides[1][0] != 1 || bits(s.whole.dtype) < 8) return std::nullopt;
    return IndexLine{dims.shape[0],
                     s.axes[0].size,
                     s.axes[0].stride,
                     dims.strides[2][0],
                     s.indices.dtype == DType::i64,
                     s.indices.buffer.data() + s.indices.offset};
  }
  // Calls f(indices) with them in their type.
  template <class F>
  void with_indices(F&& f) const {
    if (is_long)
      f(reinterpret_cast<const std::int64_t*>(indices));
    else
      f(reinterpret_cast<const std::int32_t*>(indices));
  }
};

}  // namespace weft::kernels
