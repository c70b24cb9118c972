// The common kernel of pad, tile, repeat and roll, and of parts of packed tensors that start inside a byte.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "cpu/executor.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// The mapping from an output's index c along an axis to the input's.
enum class Remap : std::uint8_t {
  constant,   // c + shift (modulo 2³²); `value` outside of x
  keep,       // the same, but the output is unchanged outside of x
  edge,       // c + shift, clamped
  wrap,       // (c + shift) % period
  reflect,    // u = (c + shift) % period; min(u, period - u)
  symmetric,  // the same; min(u, period - 1 - u)
  repeat,     // (c + shift) / period
};

struct RemapAxis {
  std::int64_t from = 0, to = 0;  // sizes of x and y
  std::int64_t x_stride = 0, y_stride = 0;
  std::int64_t shift = 0, period = 1;
  bool mapped = false;  // else the index is c itself
};

// x and y as unsigned integers of one size; y is not empty. The axes are those of y, merged where possible.
struct RemapProblem {
  View x, y;
  const View *given_x, *given_y;  // as the caller passed them, for messages
  Remap mode;
  std::uint64_t value = 0;  // bits of an element
  std::array<RemapAxis, kMaxRank> axes{};
  int rank = 0;
  std::int64_t x_origin = 0;  // the element of x's view for index 0 of all axes; may be outside of it
};

// The input's index, or -1 if it is outside.
std::int64_t remapped(const RemapProblem& problem, const RemapAxis& axis, std::int64_t c);

void remap_gpu(gpu::Commands& commands, std::string_view name, const RemapProblem& problem);
// Calls `run` with parts of the problem whose views fit bindings; the x of each is the range of elements that it reads.
void in_remap_chunks(const gpu::Capabilities& capabilities, std::string_view name, const RemapProblem& problem,
                     const std::function<void(const RemapProblem&)>& run);
void remap_cpu(cpu::Executor& executor, const RemapProblem& problem);

// y[i] = x[i - before] (modes constant, keep and edge); `before` has a number for each axis.
void place(Stream& stream, std::string_view name, Remap mode, const View& x, const View& y,
           std::span<const std::int64_t> before, std::uint64_t value = 0);

}  // namespace weft::kernels
