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

}  // namespace weft::kernels
