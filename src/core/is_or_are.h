// The verb of an operand or a list in messages.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weft {

// "are" for "indices" and "strides"; "is" for "x", "bias" and "permutation".
inline std::string_view is_or_are(std::string_view name) {
  constexpr std::array<std::string_view, 4> kSingular = {"ias", "xis", "ss", "us"};
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  return name.ends_with('s') && std::ranges::none_of(kSingular, ends) ? "are" : "is";
}

}  // namespace weft
