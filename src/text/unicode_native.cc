#include "text/unicode.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "core/format.h"
#include "core/utf8.h"
#include "weft/error.h"

namespace weft::text {
namespace {

constexpr char32_t kCodePoints = 0x110000;
constexpr int kCategoryVersion = 8;
constexpr int kDecompositionVersion = 9;
constexpr int kWordVersion = 16;

// Characters with another category in Unicode 8.0 than now: properties to set and to clear.
struct Change {
  char32_t c;
  std::uint8_t set, clear;
};
constexpr Change kChanged[] = {
    {0x166d, kPunctuation, 0}, {0x1734, kNonspacing, 0}, {0x1885, 0, kNonspacing},
    {0x1886, 0, kNonspacing},  {0xa9bd, 0, kNonspacing}, {0x111c9, kPunctuation, kNonspacing},
    {0x1171e, kNonspacing, 0},
};

struct Range {
  char32_t first, last;
};
// The reference begins one block at 2B920 instead of 2B820, and vocabularies were made with it.
constexpr Range kIdeographs[] = {
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
    {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
};
constexpr Range kHangul = {0xac00, 0xd7a3};

bool contains(Range range, char32_t c) { return c >= range.first && c <= range.last; }

bool in_version(char32_t c, int major) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] && (age[0] < major || (age[0] == major && age[1] == 0));
}

const icu::Normalizer2& nfd() {
  static const icu::Normalizer2& instance = [&]() -> const icu::Normalizer2& {
    UErrorCode error = U_ZERO_ERROR;
    const auto* normalizer = icu::Normalizer2::getNFDInstance(error);
    if (U_FAILURE(error)) {
      throw IoError("ICU cannot load its normalization data ({}); install its data package", u_errorName(error));
    }
    return *normalizer;
  }();
  return instance;
}

// All properties of all characters, a byte each. Built once, from ICU's ranges of equal category.
class PropertyTable {
 public:
  PropertyTable() : table_(new std::uint8_t[kCodePoints]()) {
    u_enumCharTypes(
        [](const void* self, UChar32 first, UChar32 limit, UCharCategory category) -> UBool {
          static_cast<PropertyTable*>(const_cast<void*>(self))
              ->add(static_cast<char32_t>(first), static_cast<char32_t>(limit), category);
          return true;
        },
        this);
    for (const Change& change : kChanged) table_[change.c] = (table_[change.c] | change.set) & ~change.clear;
    for (const Range& range : kIdeographs) {
      for (char32_t c = range.first; c <= range.last; ++c) table_[c] |= kIdeograph;
    }
    for (char32_t c = 0x21; c < 0x7f; ++c) {
      if (!(table_[c] & kWord) || c == '_') table_[c] |= kPunctuation;
    }
    for (const char32_t c : {U'\t', U'\n', U'\r'}) table_[c] &= ~kControl;
    for (const char32_t c : {U'\0', U'\ufffd'}) table_[c] |= kControl;
  }

  std::uint8_t operator[](char32_t c) const { return table_[c]; }

 private:
  void add(char32_t first, char32_t limit, UCharCategory category) {
    const auto mask = U_MASK(category);
    if (mask & (U_GC_CN_MASK | U_GC_CS_MASK)) return;
    std::uint8_t by_category = 0;
    if (mask & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) by_category = kControl;
    if (mask & U_GC_P_MASK) by_category = kPunctuation;
    if (mask & U_GC_MN_MASK) by_category = kNonspacing;
    if (category == U_PRIVATE_USE_CHAR) {  // 137,468 characters since Unicode 2.0, without further properties
      std::fill(&table_[first], &table_[limit], by_category);
      return;
    }
    for (char32_t c = first; c < limit; ++c) {
      std::uint8_t& entry = table_[c];
      if (by_category && in_version(c, kCategoryVersion)) entry |= by_category;
      if (mask & (U_GC_Z_MASK | U_GC_CC_MASK) && u_isUWhiteSpace(static_cast<UChar32>(c))) entry |= kSpace;
      if (is_word(c, mask)) entry |= kWord;
      if (mask & (U_GC_L_MASK | U_GC_NL_MASK | U_GC_SO_MASK) && changes_case(c)) entry |= kChangesCase;
      if (decomposes(c, mask)) entry |= kDecomposes;
    }
  }

  static bool is_word(char32_t c, std::uint32_t mask) {
    constexpr auto kAlways = U_GC_L_MASK | U_GC_M_MASK | U_GC_ND_MASK | U_GC_NL_MASK | U_GC_PC_MASK;
    const auto u = static_cast<UChar32>(c);
    const bool word = (mask & kAlways) || (mask & U_GC_SO_MASK && u_hasBinaryProperty(u, UCHAR_ALPHABETIC)) ||
                      (mask & U_GC_CF_MASK && u_hasBinaryProperty(u, UCHAR_JOIN_CONTROL));
    return word && (plain_ideograph(c) || in_version(c, kWordVersion));
  }

  static bool changes_case(char32_t c) {
    return !plain_ideograph(c) && u_tolower(static_cast<UChar32>(c)) != static_cast<UChar32>(c);
  }

  static bool decomposes(char32_t c, std::uint32_t mask) {
    if (plain_ideograph(c)) return false;
    if (contains(kHangul, c)) return true;
    const auto u = static_cast<UChar32>(c);
    const bool does =
        (mask & U_GC_M_MASK && u_getCombiningClass(u)) || u_getIntPropertyValue(u, UCHAR_NFD_QUICK_CHECK) == UNORM_NO;
    return does && in_version(c, kDecompositionVersion);
  }

  // Most characters are in these blocks, and all of them are old and plain letters, so ICU need not be asked.
  static bool plain_ideograph(char32_t c) {
    return contains({0x3400, 0x4db5}, c) || contains({0x4e00, 0x9fa5}, c) || contains({0x20000, 0x2a6d6}, c);
  }

  std::unique_ptr<std::uint8_t[]> table_;
};

}  // namespace

std::uint8_t properties(char32_t c) {
  static const PropertyTable table;
  return table[c];
}

void append_lower(std::string& out, char32_t c) {
  append_utf8(out, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
  if (c == 0x130) append_utf8(out, 0x307);  // the one unconditional mapping to two characters
}

std::uint8_t combining_class(char32_t c) { return u_getCombiningClass(static_cast<UChar32>(c)); }

Decomposition decompose(char32_t c) {
  thread_local icu::UnicodeString parts;
  if (!nfd().getDecomposition(static_cast<UChar32>(c), parts)) return {.characters = {c}, .count = 1};
  Decomposition result;
  for (int i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
    result.characters.at(result.count++) = static_cast<char32_t>(parts.char32At(i));
  }
  return result;
}

}  // namespace weft::text
