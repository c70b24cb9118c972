// What the ops share that sum products of two operands: matrix products and convolutions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/op.h"

namespace weft {

// The type of a product that is not asked for another, of types that go together: that of both operands, or that of the
// sums.
DType product_result(DType a, DType b);

// The type that is asked for of a product of operands of these types; nothing if that is the usual one.
std::optional<DType> asked_result(DType a, DType b, DType wanted);

// "matmul+bias+gelu_erf+residual": the operations of an epilogue, whose operands but its first have these types; an
// addition goes by what is added. `shape`: of the result, whose channels lie along `channel_axis`.
std::string product_label(std::string_view op, const std::optional<Expression>& epilogue,
                          std::span<const TensorType> operands, const Shape& shape, int channel_axis);

// Of that many products for each element of the result.
OwnWork product_work(std::span<const View> inputs, std::span<const View> outputs, double products);

}  // namespace weft
