#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/quantized_weights.h"

namespace weft::test {
namespace {

void add_quantized_cases(NamedCases& c) {
  const Number no(0);
  const Tensor x = c.floats({3, 64}), ids = c.integers({2, 3});
  const QuantizedWeights affine = quantize_weights(c.floats({8, 64}), {QuantizedScheme::affine, 4, 32});
  const AttributeMap of_affine = {{"scheme", "affine"}, {"bits", Number(4)}, {"group", Number(32)}};
  AttributeMap half = of_affine, back = of_affine;
  half["dtype"] = "f16";
  back["transposed"] = no;
  const Tensor &values = affine.values, &scales = affine.scales, &zeros = affine.zeros, row = c.floats({8});
  c.same("dequantize_weights", {values, scales, zeros}, of_affine, dequantize_weights(affine));
  c.same("dequantize_weights", {values, scales, zeros}, half, dequantize_weights(affine, DType::f16));
  c.same("quantized_matmul", {x, values, scales, zeros}, half, quantized_matmul(x, affine, {.dtype = DType::f16}));
  c.same("quantized_matmul", {row, values, scales, zeros}, back, quantized_matmul(row, affine, {.transposed = false}));
  c.same("quantized_embedding", {values, scales, zeros, Tensor(), ids}, half,
         quantized_embedding(affine, ids, DType::f16));

  const QuantizedWeights experts = quantize_weights(c.floats({4, 8, 64}), {QuantizedScheme::q8_0});
  const Tensor chosen = clamp(c.integers({3}), 0, 3), rows = c.floats({3, 2, 64});
  c.same("quantized_matmul", {rows, experts.values, Tensor(), Tensor(), Tensor(), chosen}, {{"scheme", "q8_0"}},
         quantized_matmul(rows, experts, {.chosen = chosen}));
  const QuantizedFormat tiles{.scheme = QuantizedScheme::integers, .group = 16, .group_rows = 4};
  const QuantizedWeights of_tiles = quantize_weights(c.floats({8, 64}), tiles);
  const AttributeMap as_tiles = {{"scheme", "integers"}, {"group", Number(16)}, {"group_rows", Number(4)}};
  c.same("dequantize_weights", {of_tiles.values, of_tiles.scales}, as_tiles, dequantize_weights(of_tiles));
  c.same("quantized_matmul", {x, of_tiles.values, of_tiles.scales}, as_tiles, quantized_matmul(x, of_tiles));
  c.same("quantized_embedding", {of_tiles.values, of_tiles.scales, Tensor(), Tensor(), ids}, as_tiles,
         quantized_embedding(of_tiles, ids));
  const QuantizedWeights whole = quantize_weights(c.floats({8, 64}), {.scheme = QuantizedScheme::integers});
  c.same("quantized_matmul", {x, whole.values, whole.scales}, {{"scheme", "integers"}, {"activations", "i8"}},
         quantized_matmul(x, whole, {.activations = DType::i8}));
  const QuantizedWeights padded = quantize_weights(c.floats({8, 60}), {QuantizedScheme::nbits, 4, 32});
  const AttributeMap as_padded = {
      {"scheme", "nbits"}, {"bits", Number(4)}, {"group", Number(32)}, {"columns", Number(60)}};
  const Tensor narrow = c.floats({3, 60});
  c.same("dequantize_weights", {padded.values, padded.scales}, as_padded, dequantize_weights(padded));
  c.same("quantized_matmul", {narrow, padded.values, padded.scales}, as_padded, quantized_matmul(narrow, padded));
  c.same("quantized_embedding", {padded.values, padded.scales, Tensor(), Tensor(), ids}, as_padded,
         quantized_embedding(padded, ids));

  c.refused("quantized_matmul", {narrow, values, scales, zeros}, of_affine, [&] { quantized_matmul(narrow, affine); });
  c.refused("dequantize_weights", {values}, of_affine, [&] { dequantize_weights({affine.format, values}); });
  c.refused("quantized_embedding", {experts.values, Tensor(), Tensor(), Tensor(), ids}, {{"scheme", "q8_0"}},
            [&] { quantized_embedding(experts, ids); });
}
const bool added = named_cases(add_quantized_cases);

}  // namespace
}  // namespace weft::test
