// Which type values of several types have in common (result_type in weft/graph.h).
#pragma once

#include "weft/dtype.h"
#include "weft/number.h"

namespace weft {

// Whether the integer is a value of this integer type.
bool fits(const Number& integer, DType dtype);

}  // namespace weft
