// How a product's element leaves a kernel: the WGSL between the accumulator and y.
#pragma once

#include "kernels/call.h"
#include "kernels/matmul/problem.h"

namespace weft::kernels {

// Adds y, the epilogue's operands and the text of matmul_store.wgsl to a call whose batch dimensions are set. It then
// has outputs(coords, slice), store_result(…) and store_element(…). `y_width` 4 needs rows_vectorise(problem.y).
void add_outputs(Call& call, const MatmulProblem& problem, const Expression* expression);

// The same for a slice of a split k: partial sums in f32, dense [slices, batch…, m, n] in `workspace`.
void add_partial_outputs(Call& call, const MatmulProblem& problem, const View& workspace);

}  // namespace weft::kernels
