// In a page: properties are those of the versions in unicode.h, whatever the browser's version, from a table. Lower
// case and decompositions are JavaScript's, which may not change for characters that have them.
#include <emscripten.h>

#include <algorithm>
#include <memory>

#include "core/utf8.h"
#include "text/property_runs.h"
#include "text/property_table.h"
#include "text/unicode.h"

namespace weft::text {
namespace {

// clang-format off
// Writes the characters of a character's lower case or decomposition; returns how many.
EM_JS(int, lower_case, (char32_t c, char32_t* out), {
  const all = Array.from(String.fromCodePoint(c).toLowerCase(), (part) => part.codePointAt(0));
  HEAPU32.set(all, out >>> 2);
  return all.length;
});
EM_JS(int, canonical_decomposition, (char32_t c, char32_t* out), {
  const all = Array.from(String.fromCodePoint(c).normalize("NFD"), (part) => part.codePointAt(0));
  HEAPU32.set(all, out >>> 2);
  return all.length;
});
// clang-format on

// The number of its class for each character.
class ClassTable {
 public:
  ClassTable() : table_(new std::uint8_t[0x110000]) {
    std::uint8_t* at = table_.get();
    for_each_run(kPropertyRuns, [&](std::size_t number, std::size_t count) {
      at = std::fill_n(at, count, static_cast<std::uint8_t>(number));
    });
  }
  const CharClass& operator[](char32_t c) const { return kCharClasses[table_[c]]; }

 private:
  std::unique_ptr<std::uint8_t[]> table_;
};

const CharClass& class_of(char32_t c) {
  static const ClassTable table;
  return table[c];
}

}  // namespace

std::uint8_t properties(char32_t c) { return class_of(c).properties; }

void append_lower(std::string& out, char32_t c) {
  char32_t parts[4];
  const int count = lower_case(c, parts);
  for (int i = 0; i < count; ++i) append_utf8(out, parts[i]);
}

std::uint8_t combining_class(char32_t c) { return class_of(c).combining; }

Decomposition decompose(char32_t c) {
  Decomposition result;
  result.count = static_cast<std::size_t>(canonical_decomposition(c, result.characters.data()));
  return result;
}

}  // namespace weft::text
