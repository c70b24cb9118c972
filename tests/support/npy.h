// NumPy's .npy files as host views, for reference values made by the scripts in tests/reference.
#pragma once

#include <string>

#include "weft/view.h"

namespace weft::test {

// `name` is a path below tests/data; the array is in C order.
// Throws FormatError and IoError.
View load_npy(const std::string& name);

}  // namespace weft::test
