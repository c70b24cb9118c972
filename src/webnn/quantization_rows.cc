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

Blocks in_blocks(const Call& c) {
  const Sizes& shape = c.shape("input");
  if (c.shape("scale") != c.shape("zeroPoint")) {
    c.fail("scale is {} and zeroPoint {}, expected one shape", to_string(c.shape("scale")),
           to_string(c.shape("zeroPoint")));
  }
  // An extension: of a lower rank they broadcast.
  Sizes blocks = c.shape("scale");
  if (blocks.size() > shape.size()) {
    c.fail("scale is {}, expected no more axes than the input, which is {}", to_string(blocks), to_string(shape));
  }
  blocks.insert(blocks.begin(), shape.size() - blocks.size(), 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] % blocks[i] == 0) continue;
    c.fail("scale is {}, expected sizes that divide those of the input, which is {}", to_string(c.shape("scale")),
           to_string(shape));
  }
  weft::Tensor scale = reshape(c.operand("scale"), to_shape(blocks));
  weft::Tensor zero_point = reshape(c.operand("zeroPoint"), to_shape(blocks));
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
  return {reshape(c.operand("input"), split), reshape(scale, outer), reshape(zero_point, outer)};
}

}  // namespace

void add_quantization_rows(std::vector<Op>& rows) {
  rows.push_back({{.name = "dequantizeLinear",
                   .section = "#api-mlgraphbuilder-dequantizelinear",
                   .arguments = {operand("input", kQuantizedTypes), operand("scale", kFloatTypes),
                                 operand_as("zeroPoint", "input")},
                   .outputs = {result_as("scale")}},
                  [](const Call& c) {
                    const auto [input, scale, zero_point] = in_blocks(c);
                    return std::vector{reshape(dequantize(input, scale, zero_point), to_shape(c.shape("input")))};
                  }});
  rows.push_back({{.name = "quantizeLinear",
                   .section = "#api-mlgraphbuilder-quantizelinear",
                   .arguments = {operand("input", kFloatTypes), operand_as("scale", "input"),
                                 operand("zeroPoint", kQuantizedTypes)},
                   .outputs = {result_as("zeroPoint")}},
                  [](const Call& c) {
                    const auto [input, scale, zero_point] = in_blocks(c);
                    return std::vector{reshape(quantize(input, scale, zero_point), to_shape(c.shape("input")))};
                  }});
}

}  // namespace weft::webnn
