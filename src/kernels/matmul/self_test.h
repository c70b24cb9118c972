// The proof of the matrix product: a form on cooperative matrices is used once it has been right on the device.
#pragma once

#include "kernels/matmul/variants.h"

namespace weft::kernels {

// True if the device multiplied a small problem rightly by this variant, with operands that lie as `problem`'s do.
// Asked again, it remembers.
bool matrices_proven(const gpu::Device& device, const MatmulVariant& variant, const MatmulProblem& problem);

}  // namespace weft::kernels
