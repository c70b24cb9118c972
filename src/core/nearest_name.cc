#include "core/nearest_name.h"

#include <algorithm>
#include <format>
#include <vector>

#include "core/in_quotes.h"

namespace weft {
namespace {

constexpr std::size_t kListed = 8;

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> line(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) line[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = line[0];
    line[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = line[j];
      line[j] = std::min({line[j] + 1, line[j - 1] + 1, changed});
    }
  }
  return line.back();
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view name, std::span<const std::string_view> names) {
  const auto nearest = std::ranges::min_element(names, {}, [&](std::string_view known) { return edits(name, known); });
  // A name that shares less than half of its letters is no advice.
  if (nearest == names.end()) return {};
  const std::size_t half = std::max(name.size(), nearest->size()) / 2;
  return edits(name, *nearest) <= std::max<std::size_t>(half, 1) ? std::optional(*nearest) : std::nullopt;
}

std::string names_there_are(std::string_view name, std::span<const std::string_view> names) {
  if (names.empty()) return "; it has none";
  std::string text = "; it has ";
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i) text += (i ? ", " : "") + in_quotes(names[i]);
  if (names.size() > kListed) text += std::format(" and {} more", names.size() - kListed);
  // Where there is one name it is the only one that can be meant.
  const auto nearest = nearest_name(name, names);
  return text + (nearest && names.size() > 1 ? "; the nearest name is " + in_quotes(*nearest) : "");
}

}  // namespace weft
