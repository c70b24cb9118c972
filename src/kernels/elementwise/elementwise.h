// What both sides of an elementwise call start from.
#pragma once

#include <span>
#include <vector>

#include "weft/cpu.h"
#include "weft/expression.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// An input without memory: a number that is no part of the pipeline, and that may grow along the axes.
struct Virtual {
  DType type;              // f32, i32, u32 or u64, as the expression's input has it
  std::uint64_t bits = 0;  // the number's, in that type
  Strides strides = {};    // i32 and u32: what each step along an axis of the output adds; none: nothing
};

// How a GPU's thread takes elements; 0: as the device, types and sizes say.
struct MapForm {
  int width = 0;   // neighbours in a group: 4, or of narrow types as many as 16 bytes hold (8, 16) where views allow it
  int unroll = 0;  // groups
};

// A checked call: the axes sorted so that the first output's fastest is last, and merged over all operands.
struct ElementwiseProblem {
  std::string_view name;            // of the kernel, for messages
  const Expression& expression;
  std::span<const View> inputs, outputs;
  Shape shape;                      // at least one axis
  std::vector<Strides> strides;     // of the inputs, then of the outputs, then of the virtual inputs
  std::span<const Virtual> virtuals = {};  // the expression's last inputs
  MapForm form = {};
};

void map_gpu(gpu::Commands& commands, const ElementwiseProblem& problem);
void elementwise_cpu(cpu::Executor& executor, const ElementwiseProblem& problem);

// kernels::map under another name.
void map(Stream& stream, std::string_view name, const Expression& expression, std::span<const View> inputs,
         std::span<const View> outputs, const MapForm& form = {});

// The expression's inputs are those of the views, then the virtual ones.
void map(Stream& stream, std::string_view name, const Expression& expression, std::span<const View> inputs,
         std::span<const Virtual> virtuals, std::span<const View> outputs);

// The axes in the order in which `strides[leading]` is largest first, then merged (collapse); rank at least 1.
Collapsed sort_and_collapse(const Shape& shape, std::span<const Strides> strides, std::size_t leading);

}  // namespace weft::kernels
