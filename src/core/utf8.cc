#include "core/utf8.h"

#include <cstdint>
#include <cstring>

namespace weft {
namespace {

// Lead bytes from `first` to `last`: how many bytes follow, and the range of the first of those.
struct Lead {
  unsigned char first, last;
  int following;
  unsigned char low, high;
};
constexpr Lead kLeads[] = {
    {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf}, {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f},
    {0xee, 0xef, 2, 0x80, 0xbf}, {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

// Bytes of the non-ASCII character at the start of `text`; 0 if there is none.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const Lead& lead : kLeads) {
    if (byte(0) < lead.first || byte(0) > lead.last) continue;
    const auto size = static_cast<std::size_t>(lead.following) + 1;
    if (text.size() < size || byte(1) < lead.low || byte(1) > lead.high) return 0;
    for (std::size_t i = 2; i < size; ++i) {
      if (!is_continuation(text[i])) return 0;
    }
    return size;
  }
  return 0;
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word;
    if (text.size() - at >= sizeof word) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if (!(word & 0x8080808080808080u)) {
        at += sizeof word;
        continue;
      }
    }
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const std::size_t size = character_size(text.substr(at));
    if (!size) return at;
    at += size;
  }
  return at;
}

}  // namespace weft
