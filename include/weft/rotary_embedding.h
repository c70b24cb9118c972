// Rotary position embeddings, of the forms that language models use.
//
//   Tensor q = rotary_embedding(x, {.offset = cached});                          // [batch, heads, sequence, dim]
//   Tensor gpt_j = rotary_embedding(x, {.dims = 64, .interleaved = true});
//   Tensor yarn = rotary_embedding(x, {.positions = ids, .frequencies = scaled, .attention_factor = 1.2});
//   Tensor onnx = rotary_embedding(x, {.positions = ids, .cos = cos_cache, .sin = sin_cache});
#pragma once

#include <cstdint>
#include <optional>

#include "weft/tensor.h"

namespace weft {

struct RotaryEmbeddingOptions {
  Operand positions = {};    // [sequence], or with x's first axes in front: [batch, sequence]; default: 0, 1, 2, …
  Operand offsets = {};      // [], [batch] or more of x's first axes: added to the positions
  Operand frequencies = {};  // [dims / 2]: radians from one position to the next; default: base^(-2i / dims)
  // Instead of angles: tables [positions, dims / 2] whose rows the positions choose, or values of each position
  // [..., sequence, dims / 2]. Their last axis may also have dims elements, laid out as x's.
  Operand cos = {}, sin = {};
  std::optional<std::int64_t> dims = {};  // how many elements of the last axis are rotated, the first; default: all
  std::int64_t offset = 0;                // added to the positions
  double base = 10000, scale = 1;         // of frequencies; positions are multiplied by the scale
  double attention_factor = 1;            // multiplies what is rotated: YaRN's
  bool interleaved = false;               // pairs are neighbours; else element i belongs to i + dims / 2
  bool inverse = false;                   // rotates backwards, which undoes a rotation, and is its transpose
  int axis = -2;                          // x's axis of positions
};

// ---- Rotary position embeddings.

// Rotates each pair (a, b) among the first `dims` elements of x's last axis by angle θ = scale · (position + offset) ·
// frequency: (a cos θ - b sin θ, b cos θ + a sin θ). Elements behind them stay what they are. x [..., sequence, dim] of
// rank 2 to 7 is f32, f16 or bf16, computed in f32, or f64 (on the cpu); the result has its type and shape. Positions,
// offsets and values of cosines broadcast against x's first axes. In f32 an angle at position p is off by up to p ·
// 2^-22 radians, as in PyTorch and MLX. Derivatives are those for x, the frequencies, the tables, and positions that
// are floats. MLX's rope, ONNX's RotaryEmbedding; half pairs are GPT-NeoX's and Llama's, interleaved ones GPT-J's.
// Throws InvalidArgument (an undefined Tensor, dims that are odd or too many, an option that another excludes, an axis
// that x does not have, a base or factor that is not finite), ShapeError and TypeError. Sources: Su et al., "RoFormer:
// Enhanced Transformer with Rotary Position Embedding", 2021; Peng et al., "YaRN: Efficient Context Window Extension of
// Large Language Models", 2023.
Tensor rotary_embedding(const Operand& x, const RotaryEmbeddingOptions& options = {});

}  // namespace weft
