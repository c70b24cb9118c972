#include "kernels/common/spatial.h"

#include "core/format.h"
#include "core/is_or_are.h"
#include "weft/error.h"

namespace weft::kernels {

Dims numbers_of_axes(std::string_view kernel, std::string_view what, const Dims& given, const Dims& otherwise,
                     std::int64_t least) {
  if (given.empty()) return otherwise;
  if (given.rank() != otherwise.rank()) {
    throw ShapeError("{}: {} numbers of {}, expected one for each of {} spatial axes", kernel, given.rank(), what,
                     otherwise.rank());
  }
  for (const std::int64_t v : given) {
    if (v >= least && v < kFarthest) continue;
    throw InvalidArgument("{}: {} {} {}, expected numbers from {} to {}", kernel, what, is_or_are(what),
                          to_string(given), least, kFarthest - 1);
  }
  return given;
}

WindowFit fit_windows_along(std::string_view kernel, int axis, std::int64_t elements, std::int64_t size,
                            std::int64_t stride, std::int64_t dilation, std::int64_t before, std::int64_t after) {
  if (const auto fit = fit_windows(elements, size, stride, dilation, before, after)) return *fit;
  throw ShapeError(
      "{}: along spatial axis {} a window of {} elements, {} apart, or {} elements with a padding of {} and {}, passes "
      "2^63",
      kernel, axis, size, dilation, elements, before, after);
}

std::int64_t windows_extent_along(std::string_view kernel, int axis, std::int64_t count, std::int64_t stride,
                                  std::int64_t size, std::int64_t dilation) {
  if (const auto extent = windows_extent(count, stride, size, dilation)) return *extent;
  throw ShapeError("{}: {} windows of {} elements, {} apart, at every element {} along spatial axis {} pass 2^63",
                   kernel, count, size, dilation, stride, axis);
}

}  // namespace weft::kernels
