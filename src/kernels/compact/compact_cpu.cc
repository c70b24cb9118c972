#include "kernels/compact/compact_cpu.h"

#include <cstring>

#include "kernels/elementwise/block_memory.h"
#include "kernels/twin.h"

namespace weft::kernels {

void compact_cpu(const CompactProblem& problem) {
  const View& mask = problem.mask;
  const View& list = problem.list;
  const LoadBlock load_mask = load_block(mask.dtype);
  const bool f64 = mask.dtype == DType::f64, f32 = !f64 && is_floating(mask.dtype);
  const bool boolean = mask.dtype == DType::boolean;
  const std::byte* const mask_bytes = mask.buffer.data() + mask.offset;
  const auto is_true = [&](std::int64_t at) {
    if (boolean) return mask_bytes[at] != std::byte{0};
    std::uint64_t v = 0;
    load_mask(mask_bytes, at, 0, 1, &v);
    if (f32) return (v & 0x7fffffffu) != 0;
    if (mask.dtype == DType::c64) return (v & 0x7fffffff7fffffffu) != 0;
    return f64 ? v << 1 != 0 : v != 0;
  };
  const int b = bits(list.dtype);
  const auto move = [&](const View& from, std::int64_t at, const View& to, std::int64_t target) {
    const std::byte* x = from.buffer.data() + from.offset;
    std::byte* y = to.buffer.data() + to.offset;
    if (b == 32) {
      std::memcpy(y + target * 4, x + at * 4, 4);
      return;
    }
    if (b >= 8) {
      std::memcpy(y + target * b / 8, x + at * b / 8, b / 8);
      return;
    }
    std::uint64_t v = 0;
    load_block(from.dtype)(x, at, 0, 1, &v);
    store_block(to.dtype)(y, target, 0, 1, &v);
  };
  const std::int64_t capacity = list.shape()[0];
  std::uint32_t k = 0;
  Dims index = Dims::filled(mask.rank(), 0);
  const bool moves = problem.form != Compaction::indices;
  for_each_offset<2>(mask.shape(), {mask.strides(), moves ? problem.moved.strides() : mask.strides()},
                     [&](std::int64_t at, std::int64_t element) {
                       if (is_true(at)) {
                         const std::int64_t place = k * list.strides()[0];
                         if (k < capacity && problem.form == Compaction::compress) move(problem.moved, element, list, place);
                         if (k < capacity && problem.form == Compaction::expand) move(list, place, problem.moved, element);
                         if (k < capacity && !moves) {
                           for (int d = 0; d < mask.rank(); ++d) {
                             const std::int64_t v = index[d];
                             std::memcpy(list.buffer.data() + list.offset + (place + d * list.strides()[1]) * b / 8, &v, b / 8);
                           }
                         }
                         ++k;
                       }
                       if (moves) return;
                       for (int d = mask.rank() - 1; d >= 0 && ++index[d] == mask.shape()[d]; --d) index[d] = 0;
                     });
  *data<std::uint32_t>(problem.count) = k;
}

}  // namespace weft::kernels
