// A call of grid_sample whose operands fit each other.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "cpu/executor.h"
#include "weft/gpu.h"
#include "weft/kernels/grid_sample.h"

namespace weft::kernels {

// Of a gradient, x stands for dx, or y for dy.
struct SampleCall {
  View x, grid, y;
  SampleOptions options;
  std::optional<View> dgrid = std::nullopt;  // of the gradient for the grid
  int spatial() const { return x.rank() - 2; }
};

// Throws InvalidArgument and Unsupported, naming `kernel`, unless the operands fit each other.
void check_sample(std::string_view kernel, const SampleCall& call);

// How a kernel's threads lie: along y's elements as they follow each other in memory, with `block` channels each.
struct SampleThreads {
  Shape shape;
  Strides x, grid, y, dgrid;  // of a thread's first element; x's at its first element
  int channel = 0;            // the coordinate of the channels
};
SampleThreads sample_threads(const SampleCall& call, std::int64_t block);
// Whether y's channels are adjacent in memory.
bool has_adjacent_channels(const SampleCall& call);
// Whether x and y can be taken four channels at a time.
bool takes_four_channels(const SampleCall& call);

class Call;
// The parameters and template variables of grid_positions.wgsl; `threads` a workgroup.
void add_positions(Call& call, const SampleCall& sample, bool slopes, std::uint32_t threads);

// Calls `record` with parts that fit bindings, cut along the batch, the places, and the channels if `cuts_channels`.
void in_sample_parts(gpu::Commands& commands, std::string_view kernel, const SampleCall& call, bool cuts_channels,
                     const std::function<void(const SampleCall&)>& record);

void grid_sample_gpu(gpu::Commands& commands, const SampleCall& call);
void grid_sample_cpu(cpu::Executor& executor, const SampleCall& call);
// Writes x.
void grid_sample_gradient_cpu(cpu::Executor& executor, const SampleCall& call);
// Writes dgrid.
void grid_sample_grid_gradient_cpu(cpu::Executor& executor, const SampleCall& call, const View& dgrid);

}  // namespace weft::kernels
