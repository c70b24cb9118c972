#include <cstring>

#include "kernels/index/gather.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/twin.h"

namespace weft::kernels {
namespace {

// Clamped to the axis.
std::int64_t clamped(const Selection& s, std::int64_t at, int component) {
  const std::int64_t index = index_at(s, at, component);
  if (index >= 0) return index;
  std::int64_t raw = 0;
  load_block(s.indices.dtype)(s.indices.buffer.data() + s.indices.offset, at + component * s.component_stride, 0, 1, &raw);
  return raw < 0 && is_signed(s.indices.dtype) ? 0 : s.axes[component].size - 1;
}

}  // namespace

void gather_cpu(cpu::Executor& executor, const Selection& problem) {
  const Strides strides[] = {problem.whole.strides(), problem.indices.strides(), problem.part.strides()};
  Collapsed c = collapse(problem.part.shape(), strides);
  if (c.shape.empty()) {
    c.shape.push_back(1);
    for (Strides& s : c.strides) s.push_back(0);
  }
  // Rows of one index if the last axis is not one of the indices' own.
  const bool has_rows = c.strides[1].back() == 0;
  const std::int64_t length = has_rows ? c.shape.back() : 1;
  const std::int64_t sx = c.strides[0].back();
  const std::int64_t sy = c.strides[2].back();
  Layout rows[3];
  for (int k = 0; k < 3; ++k) {
    rows[k] = {c.shape, c.strides[k]};
    if (has_rows) {
      rows[k].shape.pop_back();
      rows[k].strides.pop_back();
    }
  }
  const int b = bits(problem.whole.dtype);
  cpu::Executor one_core(1);  // packed elements share bytes
  parallel(b < 8 ? one_core : executor, element_count(rows[0].shape), std::max<std::int64_t>(1, 8192 / length),
           [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t i = begin; i < end; ++i) {
               std::int64_t from = offset_of(rows[0], i);
               const std::int64_t tuple = offset_of(rows[1], i);
               for (int k = 0; k < static_cast<int>(problem.axes.size()); ++k) from += clamped(problem, tuple, k) * problem.axes[k].stride;
               const std::int64_t to = offset_of(rows[2], i);
               const std::byte* x = problem.whole.buffer.data() + problem.whole.offset;
               std::byte* y = problem.part.buffer.data() + problem.part.offset;
               if (b < 8) {
                 // One at a time by the type's own bits.
                 for (std::int64_t j = 0; j < length; ++j) {
                   std::uint64_t value;
                   load_block(problem.whole.dtype)(x, from + j * sx, 0, 1, &value);
                   store_block(problem.part.dtype)(y, to + j * sy, 0, 1, &value);
                 }
               } else if (sx == 1 && sy == 1) {
                 std::memcpy(y + to * b / 8, x + from * b / 8, static_cast<std::size_t>(length) * b / 8);
               } else {
                 for (std::int64_t j = 0; j < length; ++j) {
                   std::memcpy(y + (to + j * sy) * b / 8, x + (from + j * sx) * b / 8, b / 8);
                 }
               }
             }
           });
}

}  // namespace weft::kernels
