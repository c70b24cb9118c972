// Quantization. The scale and the zero point have one shape, whose sizes divide those of the input: each of their
// elements is that of a block of the input's.
#include "weft/quantization.h"

#include "webnn/message.h"
#include "webnn/op_rows.h"

namespace weft::webnn {

namespace {

constexpr TypeSet kQuantizedTypes = TypeSet{DType::u8, DType::i8, DType::u32, DType::i32} | kPackedDataTypes;

// The operands in a shape in which scale and zero point broadcast to the input.
struct Blocks {
  weft::Tensor input, scale, zero_point;
};

Blocks in_blocks(const Call& c, const Operand& input, const Operand& scales, const Operand& zero_points) {
  const Sizes& shape = input.shape();
  if (scales.shape() != zero_points.shape()) {
    c.fail("scale is {} and zeroPoint {}, expected one shape", to_string(scales.shape()),
           to_string(zero_points.shape()));
  }
  // An extension: of a lower rank they broadcast.
  Sizes blocks = scales.shape();
  if (blocks.size() > shape.size()) {
    c.fail("scale is {}, expected no more axes than the input, which is {}", to_string(blocks), to_string(shape));
  }
  blocks.insert(blocks.begin(), shape.size() - blocks.size(), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] % blocks[i] == 0) continue;
    c.fail("scale is {}, expected sizes that divide those of the input, which is {}", to_string(scales.shape()),
           to_string(shape));
  }
  weft::Tensor scale = reshape(tensor_of(scales), to_shape(blocks));
  weft::Tensor zero_point = reshape(tensor_of(zero_points), to_shape(blocks));
  // An axis of blocks becomes two, as long as there may be more; then scales are repeated.
  Shape split, outer;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool whole = blocks[i] == 1 || blocks[i] == shape[i];
    const auto left = static_cast<int>(shape.size() - i);
    if (!whole && split.rank() + left < kMaxRank) {
      split.push_back(blocks[i]), outer.push_back(blocks[i]);
      split.push_back(shape[i] / blocks[i]), outer.push_back(1);
      continue;
    }
    if (!whole) {
      const auto axis = static_cast<int>(i);
      scale = repeat(scale, shape[i] / blocks[i], axis);
      zero_point = repeat(zero_point, shape[i] / blocks[i], axis);
    }
    split.push_back(shape[i]), outer.push_back(whole ? blocks[i] : shape[i]);
  }
  return {reshape(tensor_of(input), split), reshape(scale, outer), reshape(zero_point, outer)};
}

Tensors dequantize_map(const Call& c, const Operand& input, const Operand& scale, const Operand& zero_point,
                       const OperatorOptions&) {
  const Blocks b = in_blocks(c, input, scale, zero_point);
  return {reshape(dequantize(b.input, b.scale, b.zero_point), to_shape(input.shape()))};
}
Tensors quantize_map(const Call& c, const Operand& input, const Operand& scale, const Operand& zero_point,
                     const OperatorOptions&) {
  const Blocks b = in_blocks(c, input, scale, zero_point);
  return {reshape(quantize(b.input, b.scale, b.zero_point), to_shape(input.shape()))};
}

}  // namespace

void add_quantization_rows(std::vector<Op>& rows) {
  rows.push_back(op_row({.name = "dequantizeLinear",
                         .section = "#api-mlgraphbuilder-dequantizelinear",
                         .arguments = {operand("input", kQuantizedTypes), operand("scale", kFloatTypes),
                                       operand_as("zeroPoint", "input")},
                         .outputs = {result_as("scale")}},
                        dequantize_map));
  rows.push_back(op_row({.name = "quantizeLinear",
                         .section = "#api-mlgraphbuilder-quantizelinear",
                         .arguments = {operand("input", kFloatTypes), operand_as("scale", "input"),
                                       operand("zeroPoint", kQuantizedTypes)},
                         .outputs = {result_as("zeroPoint")}},
                        quantize_map));
}

}  // namespace weft::webnn
