// Products of few rows with weights of four bits, which are decoded in registers: each group's sixteen possible weights
// are computed first, and codes select among them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantized/formats.h"

namespace weft::kernels {

// A column of a product: adjacent elements of one row of weights.
struct NibbleColumn {
  const std::byte* codes = nullptr;  // of blocks: with their scales
  // Of others, for each sixteen elements.
  const float *scale = nullptr, *zero = nullptr;
};

// y[rows][cols] = a[rows][depth] · the columns, or, with `add`, is added to y. `depth` is whole blocks, or sixteens.
struct NibbleRun {
  const float* a = nullptr;  // row stride a_row
  std::int64_t a_row = 0;
  const NibbleColumn* columns = nullptr;
  std::int64_t rows = 0, cols = 0, depth = 0;
  // Of blocks: the numbers of the codes, what a block takes, and where its codes begin.
  const float* numbers = nullptr;
  int block_bytes = 0, codes_at = 0;
  float* y = nullptr;  // row stride `pitch`
  std::int64_t pitch = 0;
  bool add = false;
  std::int64_t ahead = 0;  // from a column's codes to those that are read some columns later
  float* kept = nullptr;   // the decoded columns, with row stride kept_row; null: they are not kept
  std::int64_t kept_row = 0;
};

enum class NibbleForm : std::uint8_t {
  blocks,         // of 32: an f16 scale, codes of elements 0 to 15 in low and 16 to 31 in high halves of bytes
  blocks_adding,  // with a second f16, which is added
  blocks_e8m0,    // with half of an E8M0 scale
  k_blocks,       // q4_k
  product,        // adjacent elements in adjacent halves: number · scale
  subtracting,    // (number - zero) · scale
  adding,         // number · scale + zero
};
inline constexpr int kNibbleForms = 7;

// Multiplies up to kNibbleRows rows and kNibbleCols columns.
using NibbleLoop = void (*)(const NibbleRun&);
inline constexpr std::int64_t kNibbleRows = 4, kNibbleCols = 4;

// The loop of that form for this processor; null without instructions that select among sixteen numbers, and for
// compilers without GNU's vectors: then weights are decoded (WeightDecoder::row) and multiplied.
NibbleLoop nibble_loop(NibbleForm form);

}  // namespace weft::kernels
