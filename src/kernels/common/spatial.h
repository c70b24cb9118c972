// Options with a number for each spatial axis: of convolutions, pooling and windows.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/windows.h"
#include "weft/shape.h"

namespace weft::kernels {

// Such numbers are less than that, so that positions stay far from the ends of 64 bits.
inline constexpr std::int64_t kFarthest = std::int64_t{1} << 31;

// `given`, or if it is empty `otherwise`, which has a number for each axis. `what` is the option's name. Throws
// ShapeError unless they are as many, InvalidArgument unless each is from `least` to before kFarthest.
Dims numbers_of_axes(std::string_view kernel, std::string_view what, const Dims& given, const Dims& otherwise,
                     std::int64_t least);

// fit_windows() and windows_extent() (core/windows.h) along a spatial axis. They throw ShapeError where these are
// nothing.
WindowFit fit_windows_along(std::string_view kernel, int axis, std::int64_t elements, std::int64_t size,
                            std::int64_t stride, std::int64_t dilation, std::int64_t before, std::int64_t after);
std::int64_t windows_extent_along(std::string_view kernel, int axis, std::int64_t count, std::int64_t stride,
                                  std::int64_t size, std::int64_t dilation);

}  // namespace weft::kernels
