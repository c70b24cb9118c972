// Transposition of small squares, in registers where the compiler has GNU's vectors.
#pragma once

#include <cstdint>

#include "core/compiler.h"

namespace weft::kernels {

// y[i * y_row + j] = x[j * x_row + i] for 8 × 8 elements of 64, 32, 16 or 8 bits. Always inlined, so that it is
// compiled for the caller's instruction set.
template <class T>
WEFT_INLINE void transpose8(const T* x, std::int64_t x_row, T* y, std::int64_t y_row) {
#if WEFT_GNU
  typedef T V __attribute__((vector_size(8 * sizeof(T)), aligned(sizeof(T)), may_alias));
  V r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = *reinterpret_cast<const V*>(x + i * x_row);
  // Interleaves rows i and i + 4 three times: each time an index bit moves from the row to the column.
  for (int step = 0; step < 3; ++step) {
    for (int i = 0; i < 4; ++i) {
      s[2 * i] = __builtin_shufflevector(r[i], r[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      s[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; ++i) r[i] = s[i];
  }
  for (int i = 0; i < 8; ++i) *reinterpret_cast<V*>(y + i * y_row) = r[i];
#else
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) y[i * y_row + j] = x[j * x_row + i];
  }
#endif
}

}  // namespace weft::kernels
