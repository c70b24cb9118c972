// The matrix product's inner entries: for tests and tuning, and for kernels that contain a product.
#pragma once

#include <cstdint>

#include "kernels/matmul/problem.h"
#include "kernels/matmul/variants.h"

namespace weft::kernels {

// Records `problem` by one certain variant; larger ones than a binding holds in parts. Throws Unsupported if the
// device cannot run it.
void matmul_by(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
               const MatmulVariant& variant);

// The same by a variant of kind tile or matrices that does not split k, of copies of those operands that it would load
// element by element, in rows that begin at multiples of its loads. Fits one window.
void matmul_of_copies(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                      const MatmulVariant& variant);

// The plain twin: a loop with double accumulation. What tests compare everything with.
void matmul_reference(const MatmulProblem& problem, const Expression* epilogue);

// The product on the executor's cores.
void matmul_cpu(cpu::Executor& executor, const MatmulProblem& problem, const Expression* epilogue);

}  // namespace weft::kernels
