// NumPy's .npy files as host views, for reference values made by the scripts in tests/reference.
#pragma once

#include <string>

#include "weft/view.h"

namespace weft::test {

// `name` is a path below tests/data. Types: f4, f2, f8, i1…i8, u1…u8, b1, c8, little endian, C order.
// Throws FormatError and IoError.
View load_npy(const std::string& name);

}  // namespace weft::test
