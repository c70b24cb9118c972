#include <cstring>
#include <optional>

#include "kernels/elementwise/block_memory.h"
#include "kernels/pad/remap.h"
#include "kernels/cpu_loops.h"

namespace weft::kernels {

void remap_cpu(cpu::Executor& all_cores, const RemapProblem& problem) {
  // A table of each axis' mapping.
  std::array<std::vector<std::int64_t>, kMaxRank> from;
  Layout outer;
  const int last = problem.rank - 1;
  for (int d = 0; d < problem.rank; ++d) {
    const RemapAxis& a = problem.axes[d];
    for (std::int64_t c = 0; c < a.to; ++c) from[d].push_back(remapped(problem, a, c));
    if (d == last) break;
    outer.shape.push_back(a.to);
    outer.strides.push_back(a.y_stride);
  }
  const RemapAxis& row = problem.axes[last];
  const bool keep = problem.mode == Remap::keep;
  const int b = bits(problem.x.dtype);
  const std::byte* x = problem.x.buffer.data() + problem.x.offset;
  std::byte* y = problem.y.buffer.data() + problem.y.offset;
  const LoadBlock load = load_block(problem.x.dtype);
  const StoreBlock store = store_block(problem.y.dtype);
  // Copies one element of x, or the value. Offsets in reversed views are negative, so "outside" needs std::optional.
  const auto copy_one = [&](std::int64_t to, std::optional<std::int64_t> at) {
    if (b >= 8) {
      std::memcpy(y + to * b / 8, at ? x + *at * b / 8 : reinterpret_cast<const std::byte*>(&problem.value), b / 8);
      return;
    }
    std::uint64_t v = problem.value;
    if (at) load_block(problem.x.dtype)(x, *at, 0, 1, &v);
    store_block(problem.y.dtype)(y, to, 0, 1, &v);
  };
  cpu::Executor one_core(1);  // packed elements share bytes
  cpu::Executor& executor = b < 8 ? one_core : all_cores;
  parallel(executor, element_count(outer.shape), std::max<std::int64_t>(16384 / row.to, 1),
           [&](std::int64_t begin, std::int64_t end) {
             constexpr std::int64_t kNumbers = 1024;
             std::uint64_t numbers[kNumbers];
             for (std::int64_t r = begin; r < end; ++r) {
               std::int64_t source = 0;
               bool inside = true;
               std::int64_t rest = r;
               for (int d = last - 1; d >= 0; --d) {
                 const std::int64_t i = from[d][rest % problem.axes[d].to];
                 rest /= problem.axes[d].to;
                 inside &= i >= 0;
                 source += i * problem.axes[d].x_stride;
               }
               const std::int64_t target = offset_of(outer, r);
               if (b < 8 && !keep) {
                 // Packed elements, many at a time, as numbers.
                 for (std::int64_t first = 0; first < row.to; first += kNumbers) {
                   const std::int64_t end_of_piece = std::min(first + kNumbers, row.to);
                   for (std::int64_t c = first; c < end_of_piece;) {
                     const std::int64_t i = inside ? from[last][c] : -1;
                     std::int64_t run = 1;
                     if (i < 0) {
                       numbers[c - first] = problem.value;
                     } else {
                       while (c + run < end_of_piece && from[last][c + run] == i + run) ++run;
                       load(x, source + i * row.x_stride, row.x_stride, static_cast<int>(run), numbers + (c - first));
                     }
                     c += run;
                   }
                   store(y, target + first * row.y_stride, row.y_stride, static_cast<int>(end_of_piece - first),
                         numbers);
                 }
                 continue;
               }
               for (std::int64_t c = 0; c < row.to;) {
                 const std::int64_t i = inside ? from[last][c] : -1;
                 std::int64_t run = 1;
                 if (b >= 8 && i >= 0 && row.x_stride == 1 && row.y_stride == 1) {
                   while (c + run < row.to && from[last][c + run] == i + run) ++run;
                   std::memcpy(y + (target + c) * b / 8, x + (source + i) * b / 8,
                               static_cast<std::size_t>(run * b / 8));
                 } else if (i >= 0 || !keep) {
                   copy_one(target + c * row.y_stride, i < 0 ? std::nullopt : std::optional(source + i * row.x_stride));
                 }
                 c += run;
               }
             }
           });
}

}  // namespace weft::kernels
