// The block formats of GGUF files: a block of adjacent elements of a row has its scales beside its codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/quantized/grids.h"
#include "weft/kernels/quantized.h"

namespace weft::kernels {

struct BlockFormat {
  QuantizedScheme scheme;
  int elements, bytes;     // of a block
  int run;                 // adjacent elements that share a scale and what is added
  bool adds;               // something is added to the product of scale and code
  int zero;                // else comes off codes as unpack() gives them
  std::string_view piece;  // the WGSL template of the functions that quantized_reader.wgsl lists
  // Decodes a block, plainly.
  void (*decode)(const std::byte* block, float* to);
  // Takes blocks apart: a byte of code for each element, for each run a scale and, where `adds`, what is added.
  void (*unpack)(const std::byte* blocks, std::int64_t count, std::uint8_t* codes, float* scale, float* added);
  std::string_view shared_piece = {};  // a template that the piece has in common with another's
  bool e8m0 = false;                   // the scale is a power of two
  int run_span = 1;                    // as QuantizedLayout::run_span()
  int run_bits = 0;                    // of codes of runs, if the piece reads these
  Grid grid = Grid::none;              // the codebook of codes
};

const BlockFormat& block_format(QuantizedScheme scheme);
// Those with a codebook (grid_blocks.cc).
std::span<const BlockFormat> grid_block_formats();

}  // namespace weft::kernels
