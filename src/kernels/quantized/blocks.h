// The block formats of GGUF files: a block of adjacent elements of a row has its scales beside its codes.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/kernels/quantized.h"

namespace weft::kernels {

struct BlockFormat {
  QuantizedScheme scheme;
  int elements, bytes;     // of a block
  int run;                 // adjacent elements that share a scale and what is added
  bool adds;               // something is added to the product of scale and code
  std::string_view piece;  // the WGSL template of the functions that quantized_reader.wgsl lists
  // Decodes a block.
  void (*decode)(const std::byte* block, float* to);
};

const BlockFormat& block_format(QuantizedScheme scheme);

}  // namespace weft::kernels
