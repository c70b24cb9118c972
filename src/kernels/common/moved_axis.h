// Views with an axis in another place.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "weft/view.h"

namespace weft::kernels {

// Axis `from` becomes axis `to`; the others keep their order.
inline Layout moved_axis(const Layout& layout, int from, int to) {
  std::vector<int> order(static_cast<std::size_t>(layout.rank()));
  std::iota(order.begin(), order.end(), 0);
  if (from < to)
    std::rotate(order.begin() + from, order.begin() + from + 1, order.begin() + to + 1);
  else
    std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
  return layout.permuted(order);
}
inline View moved_axis(const View& view, int from, int to) {
  return view.with_layout(moved_axis(view.layout, from, to));
}

}  // namespace weft::kernels
