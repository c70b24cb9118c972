// What messages of WebNN are made of.
#pragma once

#include <string>
#include <string_view>

#include "weft/webnn/context.h"

namespace weft::webnn {

// A text of the caller's for a line of a message: control characters and those that change the direction of text are
// escaped as \u{202e}, and what is no UTF-8 as \x80.
std::string printable(std::string_view text);

// "float32 [2, 3]"
std::string to_string(DType type, const Sizes& shape);
std::string to_string(const Sizes& sizes);
// "float32, float16 or int8"
std::string names(TypeSet types);

}  // namespace weft::webnn
