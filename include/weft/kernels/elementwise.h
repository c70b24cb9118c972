// Elementwise operations. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <span>
#include <string_view>

#include "weft/expressions.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// outputs[k][i] = expression(inputs[0][i], inputs[1][i], …)[k]. All outputs have one shape; inputs broadcast to it.
// View types are those of the expression's inputs and outputs.
void map(Stream& stream, const Expression& expression, std::span<const View> inputs, std::span<const View> outputs);

// y[i] = op(x[i]); x broadcasts to y.
void unary(Stream& stream, ScalarOp op, const View& x, const View& y);
// y[i] = op(a[i], b[i]); a and b broadcast to y and have one type.
void binary(Stream& stream, ScalarOp op, const View& a, const View& b, const View& y);
// a, b and c have one type and broadcast to y: fma(a, b, c), clamp(x, low, high), lerp(a, b, t).
// A GPU may round, and overflow, between fma's product and its sum.
void ternary(Stream& stream, ScalarOp op, const View& a, const View& b, const View& c, const View& y);
// y = condition ? a : b, elementwise; condition is boolean.
void select(Stream& stream, const View& condition, const View& a, const View& b, const View& y);

// A function by its name (weft/expressions.h), with its parameters: elementwise(stream, "leaky_relu", {{x}}, y,
// {{0.2}}).
void elementwise(Stream& stream, std::string_view name, std::span<const View> inputs, const View& y,
                 std::span<const double> parameters = {});

}  // namespace weft::kernels
