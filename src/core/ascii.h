// Text in ASCII.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Letters of ASCII as small ones, all else unchanged, whatever the locale.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

}  // namespace weft
