// Quotes names from outside for a line of a message.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// The text in double quotes: control characters and bytes that are no UTF-8 escaped, cut after about 80 bytes (never
// inside a UTF-8 character).
std::string in_quotes(std::string_view text);

}  // namespace weft
