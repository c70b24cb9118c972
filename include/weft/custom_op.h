// Custom kernels: a piece of WGSL with declared operands becomes an operation of a graph.
//
//   auto kernel = std::make_shared<CustomKernel>();
//   kernel->name = "scale_rows";
//   kernel->inputs = {"x", "factor"};
//   kernel->outputs = {"y"};
//   kernel->wgsl = "fn kernel(i: u32) { store_y(i, load_x(i) * load_factor(i / p.x_n1)); }";
//   kernel->infer = [](std::span<const TensorType> in) { return std::vector{in[0]}; };
//   Tensor y = custom(kernel, std::vector{x, factor})[0];
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "weft/custom_kernel.h"
#include "weft/graph.h"

namespace weft {

// The results of the kernel on the operands, which are dense on all devices. It must be a pure function of its
// operands: equal calls are computed once. There is at least one input. Throws InvalidArgument: names or counts that do
// not fit, no inputs, unknown extensions, text that is not UTF-8, negative `threads`, and what `infer` throws.
std::vector<Tensor> custom(std::shared_ptr<const CustomKernel> kernel, std::span<const Tensor> inputs);

}  // namespace weft
