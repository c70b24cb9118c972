// Blocks whose scales come from a search, which quantize_blocks.wgsl and block_search_cpu.cc do step by step alike.
//
// A block's numbers are multiplied by a power of two first, so that the largest magnitude is between 1 and 4, and so
// are those of each run while its scale is searched for; what is 2^30 times smaller is then 0. So no product is too
// small for f32, and devices that take denormal numbers for 0 find the same bits. Of usual numbers these are the bits
// of ggml's quantize_row_*_ref (ggml-quants.c), compiled without fused multiplications and additions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/kernels/quantized.h"

namespace weft::kernels {

// How a run's scale is searched for.
enum class Search : std::uint8_t {
  offsets,    // a scale and what comes off, by least squares for the codes of some scales: q2_k, q4_k, q5_k
  scales,     // the scale that fits best of some, with the codes of each: q6_k
  refined,    // the codes one by one, for the scale that fits them: q3_k
  nonlinear,  // as scales, of numbers of iq4_nl's table: iq4_nl, iq4_xs
  ternary,    // none: a block's largest magnitude is its scale: tq1_0, tq2_0
};
inline constexpr std::string_view kSearches[] = {"offsets", "scales", "refined", "nonlinear", "ternary"};

struct BlockSearch {
  QuantizedScheme scheme;
  Search search;
  int run;   // elements that share a scale
  int half;  // codes are from -half to half - 1, or (offsets) from 0 to 2 half - 1
  // The largest code of a scale, or (signed ones) the magnitude of the least.
  int of_scale = 0;
  // Of offsets: the scale of try t is range / (2 half - 1 + first + t / 10), and numbers weigh as much as they are, and
  // errors as their magnitude; else a number weighs as much as it and the root of the mean square, and errors are
  // squared.
  float first = 0;
  int tries = 0;
  bool magnitudes = false;
};
inline constexpr BlockSearch kBlockSearches[] = {
    {QuantizedScheme::q2_k, Search::offsets, 16, 2, 15, -0.5f, 16, true},
    {QuantizedScheme::q3_k, Search::refined, 16, 4, 32},
    {QuantizedScheme::q4_k, Search::offsets, 32, 8, 63, -1, 21, false},
    {QuantizedScheme::q5_k, Search::offsets, 32, 16, 63, -0.5f, 16, false},
    {QuantizedScheme::q6_k, Search::scales, 16, 32, 128},
    {QuantizedScheme::iq4_nl, Search::nonlinear, 32, 8, 0},
    {QuantizedScheme::iq4_xs, Search::nonlinear, 32, 8, 32},
    {QuantizedScheme::tq1_0, Search::ternary, 16, 2, 0},
    {QuantizedScheme::tq2_0, Search::ternary, 16, 2, 0},
};

// Null: of no such scheme.
inline const BlockSearch* block_search(QuantizedScheme scheme) {
  for (const BlockSearch& s : kBlockSearches) {
    if (s.scheme == scheme) return &s;
  }
  return nullptr;
}

// Stores a block of these numbers.
void encode_block(const BlockSearch& search, const float* x, std::byte* block);

}  // namespace weft::kernels
