// The known name that a misspelt one probably means, for messages.
#pragma once

#include <cstddef>
#include <format>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// Letters that were inserted, left out or replaced, and neighbours that changed places, between the two; case is
// ignored. Method: the restricted distance of Damerau, "A technique for computer detection and correction of spelling
// errors", 1964.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Takes names one by one and keeps the one at the least distance from `word`, of several the first in the alphabet.
class Nearest {
 public:
  explicit Nearest(std::string_view word) : word_(word) {}
  void offer(std::string_view name);
  // Empty if more than half of the longer one's letters differ, because then it is no advice.
  const std::string& name() const { return name_; }

 private:
  std::string_view word_;
  std::string name_;
  std::size_t distance_ = static_cast<std::size_t>(-1);
};

// The nearest of a range of names; empty if none is near. `name_of` makes a name of an element.
template <class Range, class NameOf>
std::string nearest(std::string_view word, const Range& range, NameOf&& name_of) {
  Nearest n(word);
  for (const auto& element : range) n.offer(std::invoke(name_of, element));
  return n.name();
}
template <class Range>
std::string nearest(std::string_view word, const Range& names) {
  return nearest(word, names, [](const auto& name) { return std::string_view(name); });
}

// "; the nearest name is 'model'", or `otherwise` if there is none.
inline std::string nearest_text(const std::string& name, std::string_view otherwise = "") {
  return name.empty() ? std::string(otherwise) : std::format("; the nearest name is '{}'", name);
}

// `; it has "library", "queries"; the nearest name is "queries"`. Of many names the first few are listed. Without any:
// "; it has none".
std::string names_there_are(std::string_view name, std::span<const std::string_view> names);

}  // namespace weft
