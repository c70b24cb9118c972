// The one kernel behind pad, tile, repeat and roll, and behind parts of packed tensors that start inside a byte.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "weft/cpu.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// How an output's index c along an axis becomes the input's.
enum class Remap : std::uint8_t {
  constant,   // c + shift (modulo 2³²), the value where that is outside
  keep,       // the same, but the output stays as it is there
  edge,       // c + shift, clamped
  wrap,       // (c + shift) % period
  reflect,    // u = (c + shift) % period; min(u, period - u)
  symmetric,  // the same; min(u, period - 1 - u)
  repeat,     // (c + shift) / period
};

struct RemapAxis {
  std::int64_t from = 0, to = 0;              // sizes of x and y
  std::int64_t x_stride = 0, y_stride = 0;
  std::int64_t shift = 0, period = 1;
  bool mapped = false;                        // else c itself
};

// x and y as unsigned integers of one size; y is not empty. The axes are those of y, merged where they can be.
struct RemapProblem {
  View x, y;
  const View *given_x, *given_y;  // as the caller has them, for messages
  Remap mode;
  std::uint64_t value = 0;  // bits of an element
  std::array<RemapAxis, kMaxRank> axes{};
  int rank = 0;
  std::int64_t x_origin = 0;  // the element of x's view that the axes' zeros name; it may lie outside of it
};

// The input's index, or -1 for outside.
std::int64_t remapped(const RemapProblem& problem, const RemapAxis& axis, std::int64_t c);

void remap_gpu(gpu::Commands& commands, std::string_view name, const RemapProblem& problem);
// Calls `run` with parts of the problem whose views fit bindings; x of each is the run of elements that it takes from.
void in_remap_chunks(const gpu::Capabilities& capabilities, std::string_view name, const RemapProblem& problem,
                     const std::function<void(const RemapProblem&)>& run);
void remap_cpu(cpu::Executor& executor, const RemapProblem& problem);

// y[i] = x[i - before] (modes constant and keep; edge), where `before` has a number for each axis.
void place(Stream& stream, std::string_view name, Remap mode, const View& x, const View& y,
           std::span<const std::int64_t> before, std::uint64_t value = 0);

}  // namespace weft::kernels
