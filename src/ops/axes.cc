#include "ops/axes.h"

#include <algorithm>

#include "core/format.h"
#include "weft/error.h"
#include "weft/shape.h"

namespace weft {

std::vector<int> normalized_axes(const Axes& axes, int rank, std::string_view function) {
  std::vector<int> all;
  for (const int a : axes.of(rank)) {
    all.push_back(normalize_axis(a, rank, function));
    if (std::ranges::count(all, all.back()) > 1) throw ShapeError("{}: axis {} is named twice", function, a);
  }
  return all;
}

}  // namespace weft
