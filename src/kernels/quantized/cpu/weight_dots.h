// Products of few rows with weights of four or eight bits, which are decoded in registers. Of four bits, each group's
// sixteen possible weights are computed first, and codes select among them; bytes are converted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantized/formats.h"

namespace weft::kernels {

// A column of a product: adjacent elements of one row of weights.
struct WeightColumn {
  const std::byte* codes = nullptr;  // of blocks: with their scales
  // Of others, for each 16 << shift elements.
  const float *scale = nullptr, *zero = nullptr;
};

// y[rows][cols] = a[rows][depth] · the columns, or, with `add`, is added to y. `depth` is whole blocks, or sixteens.
struct WeightRun {
  const float* a = nullptr;  // row stride a_row
  std::int64_t a_row = 0;
  const WeightColumn* columns = nullptr;
  std::int64_t rows = 0, cols = 0, depth = 0;
  const float* numbers = nullptr;  // of codes of four bits
  // Of blocks: what one takes, and where its codes begin.
  int block_bytes = 0, codes_at = 0;
  int shift = 0;       // of others, see WeightColumn
  float* y = nullptr;  // row stride `pitch`
  std::int64_t pitch = 0;
  bool add = false;
  std::int64_t ahead = 0;  // from a column's codes to those that are read some columns later
  float* kept = nullptr;   // the decoded columns, with row stride kept_row; null: they are not kept
  std::int64_t kept_row = 0;
};

enum class WeightForm : std::uint8_t {
  nibble_blocks,  // of 32: an f16 scale, codes of elements 0 to 15 in low and 16 to 31 in high halves of bytes;
                  // with a bias, that is a second f16
  e8m0_blocks,    // the same with half of an E8M0 scale
  k_blocks,       // q4_k
  byte_blocks,    // q8_0
  nibbles,        // adjacent elements in adjacent halves of bytes
  bytes,
  signed_bytes,
};
inline constexpr int kWeightForms = 7;

// Multiplies up to kWeightRows rows and kWeightCols columns.
using WeightLoop = void (*)(const WeightRun&);
inline constexpr std::int64_t kWeightRows = 4, kWeightCols = 4;

// The loop of that form for this processor. `zero`: none: weights are number · scale; bias: zero is added to it; any
// other: it comes off the number first. Null where there is none, without instructions that select among sixteen
// numbers, and for compilers without GNU's vectors: then weights are decoded (WeightDecoder::row) and multiplied.
WeightLoop weight_loop(WeightForm form, ZeroForm zero);

}  // namespace weft::kernels
