// Removes operations that change nothing, if that is exact for every value, signed zeros and NaN included.
//   %1 = map{mul(x0, 1)} %0, map{sub(x0, 0)}, map{add(x0, -0)}   →   %0
//   neg(neg(x)), cast<f16>(cast<f32>(x: f16)), select(c, x, x)   →   x
//   select(c, 1, 0) → cast(c)     div(x, 4) → mul(x, 0.25)     pow(x, 2) → square(x)     abs(neg(x)) → abs(x)
//   permute of permute, reshape of reshape, broadcast of broadcast, slices and splits of the whole → one view or none
// Not x + 0, which makes +0 of -0, nor x · 0 of floats. Operations on numbers alone are computed.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph simplify(const Graph& graph, const PassContext& context);

// The simplified expression: it has the same inputs and outputs, and no node that no output needs.
Expression simplified(const Expression& expression);

}  // namespace weft::compiler
