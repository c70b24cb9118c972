#include "webnn/message.h"

#include <format>

#include "core/utf8.h"

namespace weft::webnn {

namespace {

// Unicode's Cc, and the format characters of Unicode Technical Report 36 that reorder or hide text.
bool is_hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view valid = text.substr(0, find_invalid_utf8(text));
    for (std::size_t at = 0; at < valid.size();) {
      const char32_t c = decode_utf8(valid, at);
      if (is_hidden(c))
        out += std::format("\\u{{{:x}}}", static_cast<std::uint32_t>(c));
      else
        append_utf8(out, c);
    }
    text.remove_prefix(valid.size());
    if (text.empty()) break;
    out += std::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(1);
  }
  return out;
}

std::string to_string(const Sizes& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

std::string to_string(DType type, const Sizes& shape) {
  return std::format("{} {}", data_type_name(type), to_string(shape));
}

std::string names(TypeSet types) {
  std::string text;
  int left = types.size();
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (!types.contains(type)) continue;
    text += data_type_name(type);
    --left;
    if (left > 0) text += left > 1 ? ", " : " or ";
  }
  return text;
}

}  // namespace weft::webnn
