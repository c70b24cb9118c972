// How weights are quantised: what quantize_weights.cc, encode_cpu.cc and quantize_weights.wgsl have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/quantized/formats.h"

namespace weft::kernels {

// What gives the scale of a group, and codes.
enum class EncodeRule : std::uint8_t {
  affine,     // MLX's rule from the least to the greatest number
  micro,      // the magnitude: E2M1 or E4M3, scales of 8 bits
  integers,   // ONNX's rule for integers
  floats,     // the magnitude: 8-bit floats
  largest,    // ggml's rule from the number of largest magnitude: q4_0, q5_0
  bounds,     // from the least to the greatest number: q4_1, q5_1
  magnitude,  // q8_0
  power,      // ggml_mxfp4
  search,     // for a scale of each run of a block (block_search.h)
};
inline constexpr std::string_view kEncodeRules[] = {"affine", "micro",     "integers", "floats", "largest",
                                                    "bounds", "magnitude", "power",    "search"};

struct Encoding {
  EncodeRule rule = EncodeRule::affine;
  int bits = 0;               // of a code
  float least = 0, most = 0;  // codes, as numbers
  bool shifts = false;        // integers have zero points
};

// Groups whose numbers are all smaller are taken for zeros: whether devices flush denormal numbers does not matter
// then.
inline constexpr float kLeastMagnitude = 0x1p-100f;
// The least scale of affine weights.
inline constexpr float kLeastAffineScale = 1e-7f;

// The layout of the matrix to be stored, with blocks as groups.
QuantizedLayout encoded_layout(std::string_view kernel, const QuantizedMatrix& w);
// Throws Unsupported for schemes that are only read, InvalidArgument for integers that cannot hold both signs.
Encoding encoding_of(std::string_view kernel, const TensorType& values, const QuantizedLayout& l);

// What weights are stored as.
struct StoredTypes {
  QuantizedFormat format;  // of nbits with the columns
  TensorType values;
  std::optional<TensorType> scales, zeros;
};
// The same of weights x. Without a type of their own values are i8, or what the scheme has, and scales are x's type
// where they are numbers (f32 of f64), else u8. `zeros`: integers and nbits have zero points. Throws ShapeError for
// rows that are not whole groups, and what encoding_of() throws.
StoredTypes stored_types(std::string_view kernel, const QuantizedFormat& format, const TensorType& x,
                         std::optional<DType> values, std::optional<DType> scales, bool zeros);

// Elements that are stored one after the other without others between: a block, or as many of a group as fill words.
int elements_of_run(const QuantizedLayout& l);
// Bits of a row of values.
std::int64_t row_bits(const QuantizedLayout& l);

}  // namespace weft::kernels
