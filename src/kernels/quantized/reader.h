// Quantised weights as an operand of GPU kernels.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/call.h"
#include "kernels/matmul/problem.h"
#include "kernels/quantized/formats.h"

namespace weft::kernels {

struct ReadOptions {
  // Products with a scale are rounded to this type before something is added.
  std::optional<DType> round_products = {};
  // Whole runs of 32 elements are read, of a layout with in_runs().
  bool runs = false;
  // They may be read as codes that are larger by a number, which comes off sums of products, if these may have some
  // times more rounding errors.
  bool coarse = false;
};

// Adds the weights' elements [first, first + count) to a call as the operand `name`: load_<name>(i) gives element
// first + i in f32, load4_<name>(i) four where first and i are multiples of four and layout.in_fours()
// (quantized_reader.wgsl).
void read_quantized(Call& call, std::string_view name, const QuantizedMatrix& w, const QuantizedLayout& layout,
                    std::int64_t first, std::int64_t count, const ReadOptions& options = {});

// Bytes that a binding of the values of these elements takes; the largest number if an index does not count them.
std::uint64_t quantized_bytes(const QuantizedLayout& layout, std::int64_t first, std::int64_t count);

}  // namespace weft::kernels
