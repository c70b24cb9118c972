#include "core/utf8.h"

#include <gtest/gtest.h>

namespace weft::text {
namespace {

TEST(Utf8, RoundTripsEveryCodePoint) {
  std::string text;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    text.clear();
    append_utf8(text, c);
    ASSERT_EQ(find_invalid_utf8(text), text.size()) << static_cast<std::uint32_t>(c);
    std::size_t at = 0;
    ASSERT_EQ(decode_utf8(text, at), c);
    ASSERT_EQ(at, text.size());
  }
}

TEST(Utf8, FindsTheFirstInvalidByte) {
  using namespace std::string_literals;
  const std::string bad[] = {
      "\x80",
      "\xbf",
      "\xc0\x80",
      "\xc1\xbf",
      "\xc2",
      "\xc2\x41",
      "\xc2\xc2",  // lone, overlong, cut short
      "\xe0\x80\x80",
      "\xe0\x9f\xbf",
      "\xe1\x80",
      "\xe1\x80\x41",
      "\xe1\x41\x80",
      "\xed\xa0\x80",
      "\xed\xbf\xbf",  // surrogates
      "\xf0\x80\x80\x80",
      "\xf0\x8f\xbf\xbf",
      "\xf0\x90\x80",
      "\xf1\x80\x80\x41",
      "\xf4\x90\x80\x80",
      "\xf5\x80\x80\x80",
      "\xff",
      "\xfe",  // past U+10FFFF
  };
  for (const std::string& bytes : bad) {
    // Alone, after every number of good bytes up to some machine words, and with good bytes after it.
    for (std::size_t before = 0; before < 20; ++before) {
      EXPECT_EQ(find_invalid_utf8(std::string(before, 'a') + bytes), before);
      EXPECT_EQ(find_invalid_utf8(std::string(before, 'a') + bytes + "aaaaaaaaaaaaaaaa"), before);
      EXPECT_EQ(find_invalid_utf8("é" + std::string(before, 'a') + bytes), before + 2);
    }
  }
  for (const std::string& good :
       {""s, "a"s, "\0"s, "\x7f"s, "\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"s}) {
    EXPECT_EQ(find_invalid_utf8(good), good.size());
  }
}

}  // namespace
}  // namespace weft::text
