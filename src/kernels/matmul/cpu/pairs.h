// Products of integers of up to 16 bits on the CPU: two neighbours along k are multiplied and summed by one instruction
// (pmaddwd, vpdpwssd), in 32 bits that wrap. b is stored as panels, [pairs of k][width][2], in its own type; a tile of
// y stays in registers while k advances.
#pragma once

#include <cstdint>

#include "weft/dtype.h"

namespace weft::kernels {

// One panel's part of a product: y[rows][width] = a[rows][2 · pairs] · b, or, with `add`, is added to y.
struct PairRun {
  const std::int16_t* a = nullptr;  // contiguous along k, row stride a_row
  std::int64_t a_row = 0;
  const void* b = nullptr;
  std::uint32_t* y = nullptr;  // row stride `pitch`
  std::int64_t pitch = 0;
  std::int64_t rows = 0, pairs = 0;
  bool add = false;
};

// The types that b may have: i8, u8, i16.
inline constexpr int kPairTypes = 3;
// The index of the type; -1: another one.
inline int pair_type(DType type) {
  switch (type) {
    case DType::i8:
      return 0;
    case DType::u8:
      return 1;
    case DType::i16:
      return 2;
    default:
      return -1;
  }
}

// The loops for one instruction set.
struct PairLoops {
  const char* name;  // for profiles
  int width;         // columns of a panel
  void (*panel[kPairTypes])(const PairRun&);
};

// The loops for this processor.
const PairLoops& pair_loops();
// The same in standard C++.
const PairLoops& standard_pair_loops();

}  // namespace weft::kernels
