// Axes as functions get them, counted from the front.
#pragma once

#include <string_view>
#include <vector>

#include "weft/axes.h"

namespace weft {

// In the order in which they were given. Throws ShapeError if one is outside of the rank or named twice.
std::vector<int> normalized_axes(const Axes& axes, int rank, std::string_view function);

}  // namespace weft
