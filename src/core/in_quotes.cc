#include "core/in_quotes.h"

#include <format>

#include "core/utf8.h"

namespace weft {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::size_t end = text.size();
  if (end > kLongest) {
    end = kLongest;
    while (end > kLongest - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  }
  std::string result = "\"";
  const auto add_escaped = [&](char c) { result += std::format("\\x{:02x}", static_cast<unsigned char>(c)); };
  for (std::string_view left = text.substr(0, end); !left.empty();) {
    const std::string_view valid = left.substr(0, find_invalid_utf8(left));
    for (const char c : valid) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        add_escaped(c);
      else
        result += c;
    }
    left.remove_prefix(valid.size());
    if (left.empty()) break;
    add_escaped(left[0]);
    left.remove_prefix(1);
  }
  return result + (end < text.size() ? "…\"" : "\"");
}

}  // namespace weft
