#include "text/piece_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "core/utf8.h"

namespace weft::text {
namespace {

// Short strings over few letters of one, two and three bytes, so that they share prefixes.
rc::Gen<std::string> small_text(int longest) {
  return rc::gen::map(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5)),
                      [longest](std::vector<int> letters) {
                        constexpr std::string_view kLetters[] = {"a", "b", "c", "\u00e9", "\u4e2d"};
                        std::string text;
                        for (std::size_t i = 0; i < letters.size() && i < static_cast<std::size_t>(longest); ++i) {
                          text += kLetters[letters[i]];
                        }
                        return text;
                      });
}

RC_GTEST_PROP(PieceTable, FindsWhatAMapFinds, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(small_text(5));
  PieceTable table;
  std::map<std::string, std::int32_t> expected;
  for (const auto& piece : pieces) {
    if (piece.empty()) continue;
    const auto id = static_cast<std::int32_t>(expected.size());
    RC_ASSERT(table.insert(piece, id) == expected.emplace(piece, id).second);
  }
  RC_ASSERT(table.size() == expected.size());
  for (const auto& [piece, id] : expected) RC_ASSERT(table.find(piece) == id);

  const auto text = *small_text(12);
  PieceTable::Match longest{-1, 0};
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const auto found = expected.find(text.substr(0, size));
    if (found != expected.end()) longest = {found->second, size};
    RC_ASSERT(table.find(text.substr(0, size)) == (found == expected.end() ? -1 : found->second));
  }
  const auto match = table.longest(text);
  RC_ASSERT(match.id == longest.id);
  RC_ASSERT(match.size == longest.size);
}

TEST(PieceTable, EmptyFindsNothing) {
  const PieceTable table;
  EXPECT_EQ(table.find("a"), -1);
  EXPECT_EQ(table.longest("a").size, 0u);
  EXPECT_EQ(PieceTable(100).longest("").size, 0u);
}

TEST(PieceTable, GrowsFarBeyondItsFirstSize) {
  PieceTable table(1);
  for (int i = 0; i < 50000; ++i) ASSERT_TRUE(table.insert(std::to_string(i), i));
  for (int i = 0; i < 50000; ++i) ASSERT_EQ(table.find(std::to_string(i)), i);
  EXPECT_EQ(table.longest("499999").id, 49999);
}

}  // namespace
}  // namespace weft::text
