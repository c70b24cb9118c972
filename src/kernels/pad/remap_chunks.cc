// Padding and similar operations on tensors that exceed a binding: y is cut, and each part binds the elements of x that
// it reads.
#include "core/format.h"
#include "kernels/call.h"
#include "kernels/common/chunks.h"
#include "kernels/pad/remap.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

std::int64_t floor_mod(std::int64_t a, std::int64_t n) { return (a % n + n) % n; }

// The least and the greatest index of x along the axis; nothing if y reads none.
std::optional<std::array<std::int64_t, 2>> reach(const RemapProblem& problem, const RemapAxis& a) {
  const std::int64_t last = a.to - 1;
  if (!a.mapped) return std::array<std::int64_t, 2>{0, last};
  switch (problem.mode) {
    case Remap::constant:
    case Remap::keep: {
      const std::int64_t low = std::max<std::int64_t>(a.shift, 0), high = std::min(a.shift + last, a.from - 1);
      if (low > high) return std::nullopt;
      return std::array{low, high};
    }
    case Remap::edge:
    case Remap::repeat:
      return std::array{remapped(problem, a, 0), remapped(problem, a, last)};
    case Remap::wrap:
    case Remap::reflect:
    case Remap::symmetric:
      break;
  }
  const std::int64_t begin = floor_mod(a.shift, a.period), end = begin + last;
  if (end >= a.period) {
    // Past the period's end it starts at 0 again.
    if (problem.mode == Remap::wrap || last >= a.period) return std::array<std::int64_t, 2>{0, a.from - 1};
  }
  const std::int64_t first = remapped(problem, a, 0), final = remapped(problem, a, last);
  if (problem.mode == Remap::wrap) return std::array{first, final};
  // Up to the middle of the period and down again.
  const std::int64_t top = a.from - 1;
  const bool turns = (begin <= top && end >= top) || end >= a.period + top;
  return std::array{end >= a.period ? 0 : std::min(first, final), turns ? top : std::max(first, final)};
}

// Limits x to the range of elements that y reads.
RemapProblem with_window(RemapProblem problem) {
  std::int64_t low = problem.x_origin, high = low;
  for (int d = 0; d < problem.rank; ++d) {
    const RemapAxis& a = problem.axes[d];
    const auto r = reach(problem, a);
    if (!r) {
      low = high = 0;
      break;
    }
    low += std::min((*r)[0] * a.x_stride, (*r)[1] * a.x_stride);
    high += std::max((*r)[0] * a.x_stride, (*r)[1] * a.x_stride);
  }
  const std::int64_t b = bits(problem.x.dtype);
  if (b < 8) low -= floor_mod(low, 8 / b);
  problem.x.offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(problem.x.offset) + low * b / 8);
  problem.x.layout = {{high - low + 1}, {1}};
  problem.x_origin -= low;
  Shape shape;
  Strides strides;
  for (int d = 0; d < problem.rank; ++d) {
    shape.push_back(problem.axes[d].to);
    strides.push_back(problem.axes[d].y_stride);
  }
  problem.y.layout = {shape, strides};
  return problem;
}

RemapProblem chunk_along(RemapProblem problem, int axis, std::int64_t begin, std::int64_t size, std::string_view name) {
  RemapAxis& a = problem.axes[axis];
  if (begin * a.y_stride * bits(problem.y.dtype) % 8 != 0) {
    throw Unsupported("{}: y {} cannot be cut for this device's bindings: its parts begin inside a byte", name,
                      to_string(*problem.given_y));
  }
  problem.y.offset = kernels::chunk_along(problem.y, axis, begin, size).offset;
  a.to = size;
  if (a.mapped) {
    a.shift += begin;
  } else {
    a.from = size;
    problem.x_origin += begin * a.x_stride;
  }
  return problem;
}

}  // namespace

void in_remap_chunks(const gpu::Capabilities& capabilities, std::string_view name, const RemapProblem& problem,
                     const std::function<void(const RemapProblem&)>& run) {
  const RemapProblem whole = with_window(problem);
  const std::uint64_t limit = chunk_limit(capabilities);
  const bool y_far = span_bytes(whole.y) > limit || whole.y.count() > kMaxElements, x_far = span_bytes(whole.x) > limit;
  if (!y_far && !x_far) return run(whole);
  int axis = -1;
  std::int64_t longest = 0;
  for (int d = 0; d < problem.rank; ++d) {
    const RemapAxis& a = problem.axes[d];
    std::int64_t length = std::abs(a.y_stride) * (a.to - 1);
    if (!y_far) {
      const auto r = reach(problem, a);
      length = a.to > 1 && r ? std::abs(a.x_stride) * ((*r)[1] - (*r)[0]) : 0;
    }
    if (length > longest) longest = length, axis = d;
  }
  if (axis < 0) {
    throw Unsupported("{}: {} cannot be cut for this device's bindings of {} bytes", name,
                      y_far ? "y " + to_string(*problem.given_y) : "x " + to_string(*problem.given_x),
                      capabilities.max_binding);
  }
  const std::int64_t size = problem.axes[axis].to, half = first_half(size);
  RemapProblem cut = problem;
  cut.y.layout = whole.y.layout;
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    in_remap_chunks(capabilities, name, chunk_along(cut, axis, begin, count, name), run);
  }
}

}  // namespace weft::kernels
