// Common to both devices' elementwise kernels.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "cpu/executor.h"
#include "weft/expression.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// An input without memory: a number, which is not part of the pipeline, and which may grow along the axes.
struct Virtual {
  DType type;              // f32, i32, u32 or u64, like the expression's input
  std::uint64_t bits = 0;  // the number, in that type
  Strides strides = {};    // i32 and u32: increments along the output's axes; empty: none
};

// How a GPU's thread takes elements; 0: chosen by device, types and sizes.
struct MapForm {
  int width = 0;   // elements of a group: 4, or for narrow types as many as 16 bytes hold (8, 16) if views allow it
  int unroll = 0;  // groups
};

// A checked call. Axes are sorted so that the first output's fastest is last, and merged as far as all operands allow.
struct ElementwiseProblem {
  std::string_view name;  // of the kernel, for messages
  const Expression& expression;
  std::span<const View> inputs, outputs;
  Shape shape;                             // at least one axis
  std::vector<Strides> strides;            // of the inputs, the outputs, and the virtual inputs, in this order
  std::span<const Virtual> virtuals = {};  // the expression's last inputs
  MapForm form = {};
};

// kernels::map on views and, after them, virtual inputs.
void map(Stream& stream, const Expression& expression, std::span<const View> inputs, std::span<const Virtual> virtuals,
         std::span<const View> outputs);

// The same on the CPU for memory that the views' buffers have when it runs.
std::function<void(cpu::Executor&)> prepared_map(const Expression& expression, std::span<const View> inputs,
                                                 std::span<const Virtual> virtuals, std::span<const View> outputs);

void map_gpu(gpu::Commands& commands, const ElementwiseProblem& problem);
void elementwise_cpu(cpu::Executor& executor, const ElementwiseProblem& problem);

// kernels::map under another name.
void map(Stream& stream, std::string_view name, const Expression& expression, std::span<const View> inputs,
         std::span<const View> outputs, const MapForm& form = {});

// The expression's inputs are the views, followed by the virtual inputs.
void map(Stream& stream, std::string_view name, const Expression& expression, std::span<const View> inputs,
         std::span<const Virtual> virtuals, std::span<const View> outputs);

// Sorts the axes by descending `strides[leading]`, then merges them (collapse); the rank is at least 1.
Collapsed sort_and_collapse(const Shape& shape, std::span<const Strides> strides, std::size_t leading);

}  // namespace weft::kernels
