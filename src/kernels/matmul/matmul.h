// Internal entry points of the matrix product: for tests and tuning, and for kernels that contain a product.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/executor.h"
#include "kernels/matmul/problem.h"
#include "kernels/matmul/variants.h"

namespace weft::kernels {

// Records `problem` by a given variant; problems that exceed a binding are cut. Throws Unsupported if the device cannot
// run the variant.
void matmul_by(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
               const MatmulVariant& variant);

// The same by a variant of kind tile or subgroup_matrix that does not split k, after copying those operands that it
// would load element by element to rows that begin at multiples of its loads. The problem must fit bindings.
void matmul_of_copies(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                      const MatmulVariant& variant);

// Records a product of windows (MatmulProblem::windows), which fits bindings, by that variant; null: by the one that
// suits it, on a device that is no software device if they are not in memory, with k split only if `scratch` bytes hold
// the sums. Throws Unsupported.
void matmul_of_windows(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                       const MatmulVariant* variant, std::uint64_t scratch);

// Records a product with an operand that is read (MatmulProblem::reader), by that variant; null: by the one that suits
// it.
void matmul_of_read(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                    const MatmulVariant* variant);

// The product on the executor's cores.
void matmul_cpu(cpu::Executor& executor, const MatmulProblem& problem, const Expression* epilogue);
// The same for a left operand that is no matrix in memory: gather(batch, row, rows, k, depth, to, pitch) writes columns
// k … k + depth of those rows, `pitch` numbers apart. problem.a has the shape alone, in Sum: f32 or f64, which the sums
// are, or i16, whose sums are i32; then b is of a type of cpu/pairs.h.
template <class Sum>
using GatherRows = std::function<void(std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t k,
                                      std::int64_t depth, Sum* to, std::int64_t pitch)>;
template <class Sum>
void matmul_cpu_of_rows(cpu::Executor& executor, const MatmulProblem& problem, const Expression* epilogue,
                        const GatherRows<Sum>& gather);

}  // namespace weft::kernels
