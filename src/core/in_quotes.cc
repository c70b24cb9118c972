#include "core/in_quotes.h"

#include <format>

namespace weft {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::size_t end = text.size();
  if (end > kLongest) {
    end = kLongest;
    while (end > kLongest - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  }
  std::string result = "\"";
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) result += std::format("\\x{:02x}", byte);
    else result += c;
  }
  return result + (end < text.size() ? "…\"" : "\"");
}

}  // namespace weft
