// Builds texts piece by piece, where std::format would take most of the time.
#pragma once

#include <charconv>
#include <concepts>
#include <format>
#include <string>
#include <string_view>

namespace weft {

inline void append_part(std::string& text, std::string_view part) { text += part; }
inline void append_part(std::string& text, char part) { text += part; }
template <std::integral T>
void append_part(std::string& text, T part) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
}

// Appends texts, characters and integers.
template <class... Parts>
void str_append(std::string& text, const Parts&... parts) {
  (append_part(text, parts), ...);
}

template <class... Parts>
std::string str_cat(const Parts&... parts) {
  std::string text;
  str_append(text, parts...);
  return text;
}

}  // namespace weft
