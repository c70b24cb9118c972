// Copies and fills on the CPU.
#include <cstring>

#include "kernels/common/bits.h"
#include "kernels/common/transpose.h"
#include "kernels/copy/copy.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/elementwise.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// Copies rows along the last axis, with the axis before it in blocks, so that a transposition stays in the cache.
template <class T>
void copy_plane(const T* x, T* y, std::int64_t rows, std::int64_t length, const std::int64_t (&sx)[2],
                const std::int64_t (&sy)[2]) {
  if (sx[1] == 1 && sy[1] == 1) {
    for (std::int64_t r = 0; r < rows; ++r) std::memmove(y + r * sy[0], x + r * sx[0], length * sizeof(T));
    return;
  }
  constexpr std::int64_t kBlock = 16;
  const bool turns = sx[0] == 1 && sy[1] == 1;
  for (std::int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    for (std::int64_t j0 = 0; j0 < length; j0 += kBlock) {
      const std::int64_t i1 = std::min(rows, i0 + kBlock);
      const std::int64_t j1 = std::min(length, j0 + kBlock);
      if (turns && i1 - i0 == kBlock && j1 - j0 == kBlock) {
        for (std::int64_t i = i0; i < i1; i += 8) {
          for (std::int64_t j = j0; j < j1; j += 8) transpose8(x + i + j * sx[1], sx[1], y + i * sy[0] + j, sy[0]);
        }
        continue;
      }
      for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j) y[i * sy[0] + j * sy[1]] = x[i * sx[0] + j * sx[1]];
      }
    }
  }
}

}  // namespace

void copy_bits_cpu(cpu::Executor& executor, const View& x, const View& y) {
  View views[] = {x, y};
  if (bits(x.dtype) < 64) as_bits(views);
  if (bits(views[0].dtype) < 8) {
    Expression e;
    e.output(e.input(views[0].dtype));
    return map(executor, "copy", e, std::span(views, 1), std::span(views + 1, 1));
  }
  const Strides strides[] = {views[0].strides(), views[1].strides()};
  Collapsed c = sort_and_collapse(views[1].shape(), strides, 1);
  // Moves the axis along which x is fastest to the place before the last.
  const int rank = c.shape.rank();
  if (rank > 2) {
    int fast = rank - 2;
    for (int i = 0; i < rank - 1; ++i) {
      if (c.strides[0][i] && std::abs(c.strides[0][i]) < std::abs(c.strides[0][fast])) fast = i;
    }
    std::swap(c.shape[fast], c.shape[rank - 2]);
    for (Strides& s : c.strides) std::swap(s[fast], s[rank - 2]);
  }
  const std::int64_t length = c.shape[-1];
  const std::int64_t rows = rank > 1 ? c.shape[-2] : 1;
  const std::int64_t sx[2] = {rank > 1 ? c.strides[0][-2] : 0, c.strides[0][-1]};
  const std::int64_t sy[2] = {rank > 1 ? c.strides[1][-2] : 0, c.strides[1][-1]};
  Layout outer[2] = {{c.shape, c.strides[0]}, {c.shape, c.strides[1]}};
  for (Layout& l : outer) {
    for (int k = 0; k < std::min(rank, 2); ++k) {
      l.shape.pop_back();
      l.strides.pop_back();
    }
  }
  // A piece is some rows of a plane, or a part of one row.
  constexpr std::int64_t kPiece = 1 << 15;
  const std::int64_t piece_length = std::min(length, kPiece);
  const std::int64_t piece_rows = std::min(rows, std::max<std::int64_t>(kPiece / piece_length, 1));
  const std::int64_t across = (length + piece_length - 1) / piece_length;
  const std::int64_t down = (rows + piece_rows - 1) / piece_rows;
  with_bits(bits(views[0].dtype), [&]<class T>() {
    const T* from = data<const T>(views[0]);
    T* to = data<T>(views[1]);
    parallel(executor, element_count(outer[0].shape) * across * down, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t column = i % across * piece_length;
        const std::int64_t row = i / across % down * piece_rows;
        const std::int64_t plane = i / across / down;
        copy_plane(from + offset_of(outer[0], plane) + row * sx[0] + column * sx[1],
                   to + offset_of(outer[1], plane) + row * sy[0] + column * sy[1], std::min(piece_rows, rows - row),
                   std::min(piece_length, length - column), sx, sy);
      }
    });
  });
}

void fill_cpu(cpu::Executor& executor, std::uint64_t value, const View& y) {
  // One element in memory, broadcast.
  const View x(Buffer::host(8), 0, y.dtype, {});
  std::memcpy(x.buffer.data(), &value, 8);
  View from = x;
  from.layout = x.layout.broadcast_to(y.shape());
  copy_bits_cpu(executor, from, y);
}

}  // namespace weft::kernels
