#include "text/normalizer.h"

#include <cstdint>
#include <map>

#include "core/utf8.h"
#include "text/unicode.h"

namespace weft::text {
namespace {

constexpr char kDropped = '\x80';  // no ASCII character

}  // namespace

Normalizer::Normalizer(const NormalizerOptions& options)
    : clean_text_(options.clean_text),
      handle_chinese_chars_(options.handle_chinese_chars),
      strip_accents_(options.strip_accents.value_or(options.lowercase)),
      lowercase_(options.lowercase) {
  for (int i = 0; i < 128; ++i) {
    const auto known = properties(static_cast<char32_t>(i));
    char c = static_cast<char>(i);
    if (clean_text_ && known & kSpace) c = ' ';
    if (lowercase_ && c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    ascii_[i] = clean_text_ && known & kControl ? kDropped : c;
  }
}

void Normalizer::normalize(std::string_view text, std::string& out) const {
  out.reserve(out.size() + text.size() + text.size() / 2);
  const auto emit = [&](char32_t c, std::string& target) {
    if (lowercase_ && properties(c) & kChangesCase)
      append_lower(target, c);
    else
      append_utf8(target, c);
  };
  // Canonical order: combining characters without another between them are sorted by class, stably. They wait here, by
  // their class; only the few that are kept, which are spacing marks.
  std::map<std::uint8_t, std::string> waiting;
  const auto flush = [&] {
    for (const auto& [combining, text_of_class] : waiting) out += text_of_class;
    waiting.clear();
  };
  const auto decomposed = [&](char32_t whole) {
    const Decomposition parts = decompose(whole);
    for (const char32_t c : parts.view()) {
      const std::uint8_t combining = combining_class(c);
      if (!combining) flush();
      if (!(properties(c) & kNonspacing)) emit(c, combining ? waiting[combining] : out);
    }
  };

  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      ++at;
      if (ascii_[byte] == kDropped) continue;
      flush();
      out.push_back(ascii_[byte]);
      continue;
    }
    char32_t c = decode_utf8(text, at);
    const auto known = properties(c);
    if (clean_text_ && known & kControl) continue;
    if (clean_text_ && known & kSpace) c = ' ';
    const bool spaced = handle_chinese_chars_ && known & kIdeograph;
    if (spaced) {
      flush();
      out.push_back(' ');
    }
    if (strip_accents_ && known & kDecomposes && c != ' ') {
      // A mark that is dropped does not change the order of the others.
      if (!(known & kNonspacing && combining_class(c))) decomposed(c);
    } else {
      flush();
      if (!(strip_accents_ && known & kNonspacing)) emit(c, out);
    }
    if (spaced) {
      flush();
      out.push_back(' ');
    }
  }
  flush();
}

}  // namespace weft::text
