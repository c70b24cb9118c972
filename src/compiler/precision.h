// The error of storing a weight as f16, in the products that use it.
#pragma once

#include "graph/op.h"

namespace weft::compiler {

// For f32 weights [k, n], or batches of such, with layout `placement` in `weights`. The result is the largest error of
// a column, as kF16ErrorBound (weft/compile.h) defines it, with inputs and weights rounded to f16; infinite if a weight
// is past f16's range, or if inputs of size 1 bring a result near it. The probe inputs are waves of low frequency that
// begin and end at zero and random numbers. Weights that oscillate cancel the waves, so that the rounding error
// remains; random numbers show weights that are too small for f16.
double f16_error(const TensorData& weights, const Placement& placement);

// True if a value is so little larger than the inputs of its expression that what was measured on those holds for it:
// sums, factors of up to 16 in all, activations. Not squares, exponentials, products and quotients of inputs, which may
// leave f16's range.
bool stays_in_range(const Expression& e, int node);

// True if a number is past f16's range.
bool leaves_f16(const TensorData& numbers);

}  // namespace weft::compiler
