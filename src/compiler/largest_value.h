// Helps to find the step in which numbers go wrong.
#pragma once

#include <string>

#include "weft/view.h"

namespace weft::compiler {

// The largest absolute value in a view of host memory, as text: "3.25", "NaN" if there is one, "none" without elements,
// "-" for types that are no real numbers.
std::string largest_value(const View& view);

}  // namespace weft::compiler
