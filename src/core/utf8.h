// UTF-8 as defined by Unicode's table 3-7: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Position of the first byte that begins no valid character; text.size() if there is none.
std::size_t find_invalid_utf8(std::string_view text);

// The character at `at`, which is advanced past it. `text` must be valid.
inline char32_t decode_utf8(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return ++at, lead;
  char32_t c;
  if (lead < 0xe0) {
    c = (lead & 0x1f) << 6 | (byte(1) & 0x3f);
    at += 2;
  } else if (lead < 0xf0) {
    c = (lead & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    at += 3;
  } else {
    c = (lead & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
    at += 4;
  }
  return c;
}

inline void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

// True for a continuation byte.
inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace weft
