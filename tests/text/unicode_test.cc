// Every code point against digests of the reference library's behaviour.
#include "text/unicode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <format>
#include <nlohmann/json.hpp>

#include "core/utf8.h"
#include "support/generated.h"
#include "text/normalizer.h"

namespace weft::text {
namespace {

using nlohmann::json;

const json& reference() {
  static const json value = json::parse(test::read_data("unicode.json"));
  return value;
}

// Compares, for each block of code points (without surrogates), a digest of what `line` appends for each.
template <class Line>
void expect_blocks(const json& expected, Line&& line) {
  const std::size_t block = reference()["block"];
  std::vector<std::string> digests;
  std::string text;
  std::size_t count = 0;
  const auto finish = [&] {
    digests.push_back(std::format("{:016x}", test::hash_bytes(text)));
    text.clear();
  };
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    line(text, c);
    if (++count % block == 0) finish();
  }
  if (!text.empty()) finish();
  ASSERT_EQ(digests.size(), expected.size());
  for (std::size_t i = 0; i < digests.size(); ++i) {
    EXPECT_EQ(digests[i], expected[i].get<std::string>()) << "in block " << i << " of " << block << " code points";
  }
}

NormalizerOptions options_of(const json& entry) {
  NormalizerOptions options{entry["clean_text"], entry["handle_chinese_chars"], std::nullopt, entry["lowercase"]};
  if (!entry["strip_accents"].is_null()) options.strip_accents = entry["strip_accents"].get<bool>();
  return options;
}

TEST(Unicode, NormalizesEveryCodePointAsTheReference) {
  for (const auto& entry : reference()["normalizers"]) {
    SCOPED_TRACE(entry["clean_text"].dump() + entry["handle_chinese_chars"].dump() + entry["strip_accents"].dump());
    const Normalizer normalizer(options_of(entry));
    std::string input;
    expect_blocks(entry["code_points"], [&](std::string& out, char32_t c) {
      input = "A";
      append_utf8(input, c);
      input += "\u0301b";
      normalizer.normalize(input, out);
      out += '\n';
    });
  }
}

TEST(Unicode, NormalizesGeneratedStringsAsTheReference) {
  for (const auto& entry : reference()["normalizers"]) {
    const Normalizer normalizer(options_of(entry));
    std::string all;
    for (std::uint64_t i = 0; i < 3000; ++i) normalizer.normalize(test::generated_string(i), all);
    EXPECT_EQ(std::format("{:016x}", test::hash_bytes(all)), entry["generated"].get<std::string>());
  }
}

TEST(Unicode, ClassifiesEveryCodePointAsTheReference) {
  expect_blocks(reference()["word_classes"], [](std::string& out, char32_t c) {
    out += properties(c) & kSpace ? 's' : properties(c) & kPunctuation ? 'p' : 'w';
  });
}

TEST(Unicode, KnowsWordCharactersAsTheReference) {
  expect_blocks(reference()["word_characters"],
                [](std::string& out, char32_t c) { out += properties(c) & kWord ? 'w' : '-'; });
}

TEST(Unicode, Decomposes) {
  const std::pair<char32_t, std::u32string> cases[] = {
      {U'\u00e9', U"e\u0301"},
      {U'\u1e69', U"s\u0323\u0307"},  // two steps
      {U'\u0301', U"\u0301"},
      {U'\uac01', U"\u1100\u1161\u11a8"},  // Hangul with and
      {U'\uac00', U"\u1100\u1161"},        // without a final
      {U'\ud7a3', U"\u1112\u1175\u11c2"},
      {U'\u0344', U"\u0308\u0301"},
      {U'\u1f82', U"\u03b1\u0313\u0300\u0345"},
      {U'\U0001d15e', U"\U0001d157\U0001d165"},
      {U'\U0002f800', U"\u4e3d"},
  };
  for (const auto& [c, expected] : cases) EXPECT_EQ(decompose(c).view(), expected);
}

// One number for all of them, on ICU and in a page: in this, marks that normalisation drops are not told apart.
TEST(Unicode, PropertiesLowerCaseAndDecompositionsAreTheSameEverywhere) {
  std::string all;
  const auto append = [&](char32_t c) { all += std::format(" {:x}", static_cast<std::uint32_t>(c)); };
  for (char32_t c = 0; c < 0x110000; ++c) {
    const std::uint8_t known = properties(c);
    if (!known) continue;
    append(c);
    all += std::format(":{}", known);
    if (known & kChangesCase) append_lower(all, c);
    if (!(known & kDecomposes)) continue;
    all += std::format(":{}", combining_class(c));
    std::ranges::for_each(decompose(c).view(), append);
  }
  EXPECT_EQ(std::format("{:016x}", test::hash_bytes(all)), "6a3303772efecf2d");
}

// Expected: ''.join(c for c in unicodedata.normalize('NFD', text) if unicodedata.category(c) != 'Mn') of Python.
TEST(Unicode, MarksThatAreKeptAreInCanonicalOrder) {
  const Normalizer normalizer(
      {.clean_text = false, .handle_chinese_chars = false, .strip_accents = true, .lowercase = false});
  struct Case {
    std::u32string text, expected;
  };
  const Case cases[] = {
      {U"a\u302e\U0001d165", U"a\U0001d165\u302e"},          // class 216 before 224
      {U"a\u302e\u302f\u302e", U"a\u302e\u302f\u302e"},      // equal classes keep their order
      {U"a\u302e\u0301\U0001d165b", U"a\U0001d165\u302eb"},  // over a mark that is dropped
      {U"a\u302e\u034f\U0001d165", U"a\u302e\U0001d165"},    // a starter keeps them apart, dropped or not
      {U"\u302e\U0001d15e", U"\u302e\U0001d157\U0001d165"},  // and so does a part of a decomposition
      {U"a\u302e\u0f76\U0001d165", U"a\u302e\U0001d165"},   {U"\u0301\u00e9\u0323", U"e"},
  };
  for (const auto& [text, expected] : cases) {
    std::string input, output, wanted;
    for (const char32_t c : text) append_utf8(input, c);
    for (const char32_t c : expected) append_utf8(wanted, c);
    normalizer.normalize(input, output);
    EXPECT_EQ(output, wanted);
  }
}

}  // namespace
}  // namespace weft::text
