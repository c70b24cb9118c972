// The path of a product's elements from the accumulator to y (matmul_store.wgsl).
#pragma once

#include "kernels/call.h"
#include "kernels/matmul/problem.h"

namespace weft::kernels {

// What a kernel stores at once: four adjacent elements of a row (store_result) where rows allow it, or single ones
// (store_element, and store_result too).
enum class StoreUnit : std::uint8_t { row_of_four, element };

// Throws InvalidArgument unless the epilogue takes a product of that type and its operands' types, and gives y's.
void check_epilogue(std::string_view kernel, const Epilogue& epilogue, DType product, const View& y);

// Adds y and the epilogue's operands to a call whose batch dimensions are set. Returns the number of elements that are
// stored at once.
int add_outputs(Call& call, const MatmulProblem& problem, const Expression* expression, StoreUnit unit);

// The same for a slice of a split k: partial sums in f32, dense [slices, batch…, m, n], in `sums`.
void add_partial_outputs(Call& call, const MatmulProblem& problem, const View& sums, StoreUnit unit);

}  // namespace weft::kernels
