#include <cstring>

#include "kernels/index/gather.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/twin.h"

namespace weft::kernels {
namespace {

std::int64_t clamped(const View& indices, std::int64_t at, std::int64_t size) {
  std::int64_t index = 0;
  load_block(indices.dtype)(indices.buffer.data() + indices.offset, at, 0, 1, &index);
  if (info(indices.dtype).kind == DTypeKind::unsigned_integer) {
    return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(size - 1)));
  }
  if (index < 0) index = index < -size ? 0 : index + size;
  return std::min(index, size - 1);
}

}  // namespace

void gather_cpu(cpu::Executor& executor, const GatherProblem& problem) {
  const Strides strides[] = {problem.x.strides(), problem.indices.strides(), problem.y.strides()};
  Collapsed c = collapse(problem.y.shape(), strides);
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
  const int b = bits(problem.x.dtype);
  cpu::Executor one_core(1);  // packed elements share bytes
  parallel(b < 8 ? one_core : executor, element_count(rows[0].shape), std::max<std::int64_t>(1, 8192 / length),
           [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t i = begin; i < end; ++i) {
               const std::int64_t index = clamped(problem.indices, offset_of(rows[1], i), problem.axis_size);
               const std::int64_t from = offset_of(rows[0], i) + index * problem.axis_stride;
               const std::int64_t to = offset_of(rows[2], i);
               const std::byte* x = problem.x.buffer.data() + problem.x.offset;
               std::byte* y = problem.y.buffer.data() + problem.y.offset;
               if (b < 8) {
                 // One at a time by the type's own bits.
                 for (std::int64_t j = 0; j < length; ++j) {
                   std::uint64_t value;
                   load_block(problem.x.dtype)(x, from + j * sx, 0, 1, &value);
                   store_block(problem.y.dtype)(y, to + j * sy, 0, 1, &value);
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
