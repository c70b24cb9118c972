#include <cstring>

#include "kernels/index/gather.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/cpu_loops.h"

namespace weft::kernels {
namespace {

// Moves an element of a type of whole bytes.
void move_element(const std::byte* from, std::byte* to, int bytes) {
  switch (bytes) {
    case 1: *to = *from; break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    default: std::memcpy(to, from, 8);
  }
}

}  // namespace

void gather_cpu(cpu::Executor& executor, const Selection& problem) {
  const Strides strides[] = {problem.whole.strides(), problem.indices.strides(), problem.part.strides()};
  Collapsed c = collapse(problem.part.shape(), strides);
  if (c.shape.empty()) {
    c.shape.push_back(1);
    for (Strides& s : c.strides) s.push_back(0);
  }
  // Rows share an index if the last axis is not one of the indices' axes.
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
  cpu::say_form([&] {
    return std::pair(std::string(has_rows ? "rows" : "elements"),
                     std::format("{} rows of {}", element_count(rows[0].shape), length));
  });
  parallel(b < 8 ? one_core : executor, element_count(rows[0].shape), std::max<std::int64_t>(1, 8192 / length),
           [&](std::int64_t begin, std::int64_t end) {
             const int rank = rows[0].rank();
             Dims index = Dims::filled(rank, 0);
             std::array<std::int64_t, 3> start{};
             for (std::int64_t d = rank - 1, rest = begin; d >= 0; --d) {
               index[d] = rest % rows[0].shape[d];
               rest /= rows[0].shape[d];
               for (int k = 0; k < 3; ++k) start[k] += index[d] * rows[k].strides[d];
             }
             const auto next = [&] {
               for (int d = rank - 1; d >= 0; --d) {
                 const bool wraps = ++index[d] == rows[0].shape[d];
                 for (int k = 0; k < 3; ++k) {
                   start[k] += wraps ? rows[k].strides[d] * (1 - rows[k].shape[d]) : rows[k].strides[d];
                 }
                 if (!wraps) return;
                 index[d] = 0;
               }
             };
             for (std::int64_t i = begin; i < end; ++i, next()) {
               std::int64_t from = start[0];
               const std::int64_t tuple = start[1], to = start[2];
               for (int k = 0; k < static_cast<int>(problem.axes.size()); ++k) {
                 from += clamped_index_at(problem, tuple, k) * problem.axes[k].stride;
               }
               const std::byte* x = problem.whole.buffer.data() + problem.whole.offset;
               std::byte* y = problem.part.buffer.data() + problem.part.offset;
               if (b < 8) {
                 // One at a time, by the type's own bits.
                 for (std::int64_t j = 0; j < length; ++j) {
                   std::uint64_t value;
                   load_block(problem.whole.dtype)(x, from + j * sx, 0, 1, &value);
                   store_block(problem.part.dtype)(y, to + j * sy, 0, 1, &value);
                 }
               } else if (length == 1) {
                 move_element(x + from * b / 8, y + to * b / 8, b / 8);
               } else if (sx == 1 && sy == 1) {
                 std::memcpy(y + to * b / 8, x + from * b / 8, static_cast<std::size_t>(length) * b / 8);
               } else {
                 for (std::int64_t j = 0; j < length; ++j) {
                   move_element(x + (from + j * sx) * b / 8, y + (to + j * sy) * b / 8, b / 8);
                 }
               }
             }
           });
}

}  // namespace weft::kernels
