// Kernels of users: their WGSL behind the accessors that Weft's own kernels have.
#pragma once

#include "weft/custom_op.h"
#include "weft/gpu.h"

namespace weft::kernels {

// Records the kernel on dense views. Throws KernelError (its text does not compile), Unsupported (more operands than
// the device binds).
void custom(gpu::Commands& commands, const CustomKernel& kernel, std::span<const View> inputs,
            std::span<const View> outputs);

// Compiles the kernel's text for these operands, and keeps nothing. Throws as custom() does.
void check_custom(gpu::Commands& commands, const CustomKernel& kernel, std::span<const View> inputs,
                  std::span<const View> outputs);

}  // namespace weft::kernels
