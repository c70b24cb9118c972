// Users' kernels: their WGSL, with the accessors that Weft's own kernels use.
#pragma once

#include "weft/custom_kernel.h"
#include "weft/gpu.h"

namespace weft::kernels {

// Records the kernel on dense views. Throws KernelError if its text does not compile, Unsupported if there are more
// operands than the device can bind.
void custom(gpu::Commands& commands, const CustomKernel& kernel, std::span<const View> inputs,
            std::span<const View> outputs);

// Compiles the kernel's text for these operands and discards the result. Throws like custom().
void check_custom(gpu::Commands& commands, const CustomKernel& kernel, std::span<const View> inputs,
                  std::span<const View> outputs);

}  // namespace weft::kernels
