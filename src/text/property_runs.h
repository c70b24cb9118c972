// The properties of all characters as a text, for where there is no ICU. A run of characters of one class is the
// class's number as a letter, then how many they are: digits of base 32, the lowest first, of which all but the last
// have 32 added. Digits are letters, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::text {

struct CharClass {
  std::uint8_t properties = 0, combining = 0;
  bool operator==(const CharClass&) const = default;
};

namespace detail {
// The printable characters of ASCII from '#' on, but the backslash.
constexpr std::size_t kLetters = 91;
constexpr char letter_of(std::size_t value) {
  const auto c = static_cast<char>('#' + value);
  return c < '\\' ? c : static_cast<char>(c + 1);
}
constexpr std::size_t value_of(char letter) { return static_cast<std::size_t>(letter - '#' - (letter > '\\')); }
}  // namespace detail

inline void append_run(std::string& runs, std::size_t number, std::size_t count) {
  runs += detail::letter_of(number);
  for (; count >= 32; count /= 32) runs += detail::letter_of(32 + count % 32);
  runs += detail::letter_of(count);
}

// Calls take(number of the class, how many characters) for each run.
template <class F>
void for_each_run(std::string_view runs, F&& take) {
  for (std::size_t i = 0; i < runs.size();) {
    const std::size_t number = detail::value_of(runs[i++]);
    std::size_t count = 0, digit = 32;
    for (int shift = 0; digit >= 32; shift += 5) {
      digit = detail::value_of(runs[i++]);
      count |= digit % 32 << shift;
    }
    take(number, count);
  }
}

}  // namespace weft::text
