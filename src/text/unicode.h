// What BERT's normalisation asks of a character, and canonical decomposition.
//
// The reference library takes its answers from several Unicode versions at once: general categories from 8.0,
// decomposition from 9.0, white space and lower case from a current one. Ids differ where the versions do, so we follow
// each. ICU knows all of it: a character younger than the version counts as unassigned. The few characters whose
// category changed since 8.0 stand in a table in unicode.cc. tests/text/unicode_test.cc compares every code point.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// Lower case of one character without regard to its neighbours; U+0130 alone becomes two.
void append_lower(std::string& out, char32_t c);

// Replaces a run of characters that are all kDecomposes by its canonical decomposition (NFD, Unicode 9.0).
void decompose(std::vector<char32_t>& run);

}  // namespace weft::text
