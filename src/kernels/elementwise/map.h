// What both sides of an elementwise call start from.
#pragma once

#include <span>
#include <vector>

#include "weft/cpu.h"
#include "weft/expression.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// A checked call: the axes sorted so that the first output's fastest is last, and merged over all operands.
struct MapProblem {
  std::string_view name;            // of the kernel, for messages
  const Expression& expression;
  std::span<const View> inputs, outputs;
  Shape shape;                      // at least one axis
  std::vector<Strides> strides;     // of the inputs, then of the outputs
  // The expression's last inputs, if it has more than there are views: u32 values that are no part of the pipeline.
  std::span<const std::uint32_t> parameters = {};
};

void map_gpu(gpu::Commands& commands, const MapProblem& problem);
void map_cpu(cpu::Executor& executor, const MapProblem& problem);

// kernels::map under another name.
void map(Stream& stream, std::string_view name, const Expression& expression, std::span<const View> inputs,
         std::span<const View> outputs);

// On a GPU only: inputs after those of the views are `parameters` (u32), which are not part of the pipeline.
void map_gpu(gpu::Commands& commands, std::string_view name, const Expression& expression, std::span<const View> inputs,
             std::span<const std::uint32_t> parameters, std::span<const View> outputs);

// The axes in the order in which `strides[leading]` is largest first, then merged (collapse); rank at least 1.
Collapsed sort_and_collapse(const Shape& shape, std::span<const Strides> strides, std::size_t leading);

}  // namespace weft::kernels
