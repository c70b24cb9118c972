// How many windows there are along an axis, and over how many elements they reach: of convolutions, pooling, unfold,
// views of windows and frames of signals. All numbers count elements. A result is nothing where it, or what it is made
// of, passes 64 bits.
#pragma once

#include <cstdint>
#include <optional>

#include "core/checked.h"

namespace weft {

// From the first element of a window to behind its last one.
constexpr std::optional<std::int64_t> window_reach(std::int64_t size, std::int64_t dilation = 1) {
  std::int64_t reach = 0;
  if (multiply_overflows(size - 1, dilation, reach) || add_overflows(reach, 1, reach)) return std::nullopt;
  return reach;
}

// From the first element of the first window to behind the last element of the last one.
constexpr std::optional<std::int64_t> windows_extent(std::int64_t count, std::int64_t stride, std::int64_t size,
                                                     std::int64_t dilation = 1) {
  const auto reach = window_reach(size, dilation);
  std::int64_t extent = 0;
  if (!reach || multiply_overflows(count - 1, stride, extent) || add_overflows(extent, *reach, extent)) {
    return std::nullopt;
  }
  return extent;
}

struct WindowFit {
  std::int64_t reach = 0;   // of a window
  std::int64_t padded = 0;  // the elements of the axis and its padding
  std::int64_t count = 0;   // of the windows that lie within these
  bool partial = false;     // a further one begins within them, and reaches over their end
};

// The windows of `size` elements, `dilation` apart, at every element `stride` of an axis of `elements` with `before`
// and `after` more around them, which are negative where elements are left out. `size`, `stride` and `dilation` are 1
// or more.
constexpr std::optional<WindowFit> fit_windows(std::int64_t elements, std::int64_t size, std::int64_t stride,
                                               std::int64_t dilation = 1, std::int64_t before = 0,
                                               std::int64_t after = 0) {
  const auto reach = window_reach(size, dilation);
  std::int64_t padded = 0, room = 0;
  if (!reach || add_overflows(elements, before, padded) || add_overflows(padded, after, padded) ||
      add_overflows(padded, -*reach, room)) {
    return std::nullopt;
  }
  // (The quotient before the 1 is added: with a stride of 1 there are as many as elements.)
  if (room < 0) return WindowFit{*reach, padded, 0, room > -stride};
  return WindowFit{*reach, padded, room / stride + 1, room % stride != 0};
}

// Their count with a partial one, if that begins before element `end`, counted from the start of the padding: where
// pooling rounds up, its last window begins in the operand or in the padding before it.
constexpr std::int64_t windows_rounded_up(const WindowFit& fit, std::int64_t stride, std::int64_t end) {
  std::int64_t begin = 0;
  return fit.count + (fit.partial && !multiply_overflows(fit.count, stride, begin) && begin < end);
}

}  // namespace weft
