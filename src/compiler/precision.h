// What storing a weight as f16 costs the products that it is in.
#pragma once

#include "graph/op.h"

namespace weft::compiler {

// Weights [k, n], or batches of such, that lie as `place` says in `weights`, f32. The result is the largest error of a
// column, as kF16ErrorBound (weft/compile.h) counts it, with inputs and weights rounded to f16; infinite if a weight is
// past f16's range, or if inputs of size 1 bring a result near it. The inputs tried are waves of low frequency that
// begin and end at zero, which weights that oscillate cancel, so that the rounding is what is left, and random numbers,
// which show weights too small for f16.
double f16_error(const TensorData& weights, const Placement& place);

// True if a value is at most so much larger than the inputs of its expression that what was measured on those holds for
// it: sums, factors of up to 16 in all, activations. Not squares, exponentials, products and quotients of inputs, which
// may leave f16's range.
bool stays_in_range(const Expression& e, int node);

// True if a number is past f16's range.
bool leaves_f16(const TensorData& numbers);

}  // namespace weft::compiler
