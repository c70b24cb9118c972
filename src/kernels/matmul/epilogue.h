// How a product's element leaves a kernel: what lies between the accumulator and y (matmul_store.wgsl).
#pragma once

#include "kernels/call.h"
#include "kernels/matmul/problem.h"

namespace weft::kernels {

// What a kernel hands over: four neighbouring elements of a row (store_result) where rows allow it, or single ones
// (store_element, and store_result too).
enum class StoreUnit : std::uint8_t { row_of_four, element };

// Adds y and the epilogue's operands to a call whose batch dimensions are set. Returns the elements of a store.
int add_outputs(Call& call, const MatmulProblem& problem, const Expression* expression, StoreUnit unit);

// The same for a slice of a split k: partial sums in f32, dense [slices, batch…, m, n] in `sums`.
void add_partial_outputs(Call& call, const MatmulProblem& problem, const View& sums, StoreUnit unit);

}  // namespace weft::kernels
