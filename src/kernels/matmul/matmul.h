// Internal entry points of the matrix product: for tests and tuning, and for kernels that contain a product.
#pragma once

#include <cstdint>

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

// The reference: a plain loop with double accumulation, with which tests compare everything.
void matmul_reference(const MatmulProblem& problem, const Expression* epilogue);

// The product on the executor's cores.
void matmul_cpu(cpu::Executor& executor, const MatmulProblem& problem, const Expression* epilogue);

}  // namespace weft::kernels
