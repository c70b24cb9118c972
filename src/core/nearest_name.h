// What a message says of a name that is not there: which one was probably meant, and which there are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// The name that the fewest edits (insertions, deletions, replacements of a byte; Levenshtein, 1966) turn into the given
// one, the first of equally near ones; none if that takes more edits than half of the bytes of the longer one.
std::optional<std::string_view> nearest_name(std::string_view name, std::span<const std::string_view> names);

// `; it has "library", "queries"; the nearest name is "queries"`. Of many names the first few are listed. Without any:
// "; it has none".
std::string names_there_are(std::string_view name, std::span<const std::string_view> names);

}  // namespace weft
