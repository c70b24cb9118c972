// The properties of characters that BERT's normalisation needs, and canonical decomposition.
//
// The reference library combines several Unicode versions: general categories from 8.0, decomposition from 9.0, white
// space and lower case from a current one. Ids differ where the versions do, so Weft follows each. ICU provides all of
// it (unicode_native.cc): a character newer than the version counts as unassigned, and the few whose category changed
// since 8.0 are in a table. In a page it is a table of ICU's properties (property_table.h), since JavaScript knows
// categories of the browser's version alone, with JavaScript's lower case and decomposition (unicode_web.cc).
// tests/text/unicode_test.cc compares every code point, in both.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::text {

// Properties of a code point, or-ed together.
enum CharProperty : std::uint8_t {
  kSpace = 1,         // White_Space
  kControl = 2,       // Cc, Cf or Co but tab, line feed and carriage return; also U+0000 and U+FFFD
  kPunctuation = 4,   // P*, and all of ASCII's symbols
  kNonspacing = 8,    // Mn
  kIdeograph = 16,    // the blocks that BERT calls Chinese
  kDecomposes = 32,   // has a canonical decomposition or a combining class: NFD may change or move it
  kChangesCase = 64,  // lower case differs
  kWord = 128,        // \w of regular expressions: alphabetic, mark, decimal digit, connector, join control
};

// Or-ed CharProperty. `c` must be below 0x110000.
std::uint8_t properties(char32_t c);

// Lower case of one character independent of its neighbours; only U+0130 becomes two.
void append_lower(std::string& out, char32_t c);

// The canonical combining class: 0 for a character that starts a sequence.
std::uint8_t combining_class(char32_t c);

// The canonical decomposition of a character that is kDecomposes (NFD, Unicode 9.0), before it is put into canonical
// order with its neighbours.
struct Decomposition {
  std::array<char32_t, 4> characters{};  // no character has more
  std::size_t count = 0;
  std::u32string_view view() const { return {characters.data(), count}; }
};
Decomposition decompose(char32_t c);

}  // namespace weft::text
