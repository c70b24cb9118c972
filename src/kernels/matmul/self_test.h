// The test of the matrix product: a variant on cooperative matrices is used only after a right result on the device.
#pragma once

#include "kernels/matmul/variants.h"

namespace weft::kernels {

// True if the device's result of a small problem by this variant was right, with operands of the same layouts as
// `problem`'s. The verdict is cached.
bool passes_matrix_self_test(const gpu::Device& device, const MatmulVariant& variant, const MatmulProblem& problem);

}  // namespace weft::kernels
