// What the ops share that sum products of two operands, and take an epilogue: matrix products and convolutions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/op.h"

namespace weft {

class Node;

// The type of a product that is not asked for another, of types that go together: that of both operands, or that of the
// sums.
DType product_result(DType a, DType b);

// The result's type with its epilogue, whose operands are inputs 2 and on. Throws ShapeError, TypeError.
TensorType with_epilogue(std::string_view op, const std::optional<Expression>& epilogue,
                         std::span<const TensorType> inputs, const TensorType& plain);

// The epilogue for operands that are stored as `to` instead of `from`, with a result of that type.
Expression epilogue_with_types(const Expression& epilogue, std::span<const TensorType> from,
                               std::span<const TensorType> to, DType result);

// Axes of a product's weights, its operand 1, and of its result, from the end where negative: the result of weights
// that are scaled along their axis is the result scaled along its own.
struct ChannelAxes {
  int weights, result;
};

// Those of a product or convolution without an epilogue; nothing for other ops.
std::optional<ChannelAxes> channel_axes(const Node& node);

// "matmul+bias+gelu_erf+residual": the operations of an epilogue; an addition goes by what is added.
std::string product_label(std::string_view op, const std::optional<Expression>& epilogue,
                          std::span<const TensorType> inputs, const Shape& shape, int channel_axis);

// Of that many products for each element of the result, with its epilogue.
Work product_work(const Work& plain, const Launch& call, double products, const std::optional<Expression>& epilogue);

}  // namespace weft
