#include "core/nearest.h"

#include <algorithm>
#include <format>
#include <utility>
#include <vector>

#include "core/ascii.h"
#include "core/in_quotes.h"

namespace weft {

std::size_t edit_distance(std::string_view left, std::string_view right) {
  const std::string a = lower(left), b = lower(right);
  // Three rows of the table: the one in the making and the two before it.
  std::vector<std::size_t> line(b.size() + 1), above(b.size() + 1), above_that;
  for (std::size_t j = 0; j <= b.size(); ++j) line[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    above_that = std::exchange(above, line);
    line[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      line[j] = std::min({above[j] + 1, line[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        line[j] = std::min(line[j], above_that[j - 2] + 1);
      }
    }
  }
  return line.back();
}

void Nearest::offer(std::string_view name) {
  const std::size_t distance = edit_distance(word_, name);
  if (distance > std::max(word_.size(), name.size()) / 2) return;
  if (distance > distance_ || (distance == distance_ && name >= name_)) return;
  distance_ = distance;
  name_ = name;
}

std::string names_there_are(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t kListed = 8;
  if (names.empty()) return "; it has none";
  std::string text = "; it has ";
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i) text += (i ? ", " : "") + in_quotes(names[i]);
  if (names.size() > kListed) text += std::format(" and {} more", names.size() - kListed);
  // Where there is one name it is the only one that can be meant.
  const std::string near = nearest(name, names);
  return text + (!near.empty() && names.size() > 1 ? "; the nearest name is " + in_quotes(near) : "");
}

}  // namespace weft
