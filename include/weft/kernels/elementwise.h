// Elementwise operations. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <span>

#include "weft/expression.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// outputs[k][i] = expression(inputs[0][i], inputs[1][i], …)[k]. All outputs have one shape; inputs broadcast to it.
// View types are those of the expression's inputs and outputs.
void map(Stream& stream, const Expression& expression, std::span<const View> inputs, std::span<const View> outputs);

void unary(Stream& stream, ScalarOp op, const View& x, const View& y);
// a and b broadcast to y and have one type.
void binary(Stream& stream, ScalarOp op, const View& a, const View& b, const View& y);
// y = condition ? a : b, elementwise; condition is boolean.
void select(Stream& stream, const View& condition, const View& a, const View& b, const View& y);

}  // namespace weft::kernels
