#include "kernels/family.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <vector>

#include "kernels/source.h"
#include "weft/kernels/table.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kOther = "other";

// The folder of the template of that name; empty if there is none, or if all families share it.
std::string_view folder_of_template(std::string_view name) {
  for (const KernelSource* s = kKernelSources; s->name; ++s) {
    if (s->name != name) continue;
    std::string_view path = s->path;
    path = path.substr(0, path.rfind('/'));
    const std::string_view folder = path.substr(path.rfind('/') + 1);
    return folder == "common" ? std::string_view() : folder;
  }
  return {};
}

std::string_view exact(std::string_view name) {
  // A reduction's dispatches have its name alone, as "max"; those of the elementwise function are "elementwise".
  if (const KernelInfo* k = find(std::string("reduce_").append(name))) return k->family;
  if (const KernelInfo* k = find(name)) return k->family;
  return folder_of_template(name);
}

// Of red, green and blue, for a hue in turns, saturation and lightness from 0 to 1 (CSS Color Module Level 4).
std::string hex(double hue, double saturation, double lightness) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue * 12, 12), a = saturation * std::min(lightness, 1 - lightness);
    return static_cast<int>(std::lround(255 * (lightness - a * std::max(-1.0, std::min({k - 3, 9 - k, 1.0})))));
  };
  return std::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

}  // namespace

std::span<const std::string_view> kernel_families() {
  static const auto& all = *new auto([] {
    std::vector<std::string_view> families;
    for (const KernelInfo& k : table()) {
      if (std::ranges::find(families, k.family) == families.end()) families.push_back(k.family);
    }
    families.push_back(kOther);
    return families;
  }());
  return all;
}

std::string_view kernel_family(std::string_view name) {
  if (name == "map") return "elementwise";
  const auto known = kernel_families();
  // "matmul_reduce" as a template, "transpose_tiles" by its folder, "matmul+bias" by what it begins with.
  for (std::size_t end = name.size(); end > 0 && end != std::string_view::npos;
       end = name.find_last_not_of("abcdefghijklmnopqrstuvwxyz0123456789", end - 1)) {
    const std::string_view family = exact(name.substr(0, end));
    if (!family.empty() && std::ranges::find(known, family) != known.end()) return family;
  }
  return kOther;
}

std::size_t family_index(std::string_view family) {
  const auto known = kernel_families();
  return static_cast<std::size_t>(std::ranges::find(known, family) - known.begin());
}

std::string family_colour(std::string_view family, bool dark) {
  if (family == kOther) return dark ? "#8a939d" : "#8a919a";
  // Neighbours are a golden section of a turn apart, and every second one is lighter.
  const std::size_t i = family_index(family);
  const double hue = std::fmod(0.6 + 0.618034 * static_cast<double>(i), 1), lift = i % 2 ? 0.08 : 0;
  return dark ? hex(hue, 0.62, 0.62 + lift) : hex(hue, 0.62, 0.42 + lift);
}

std::string family_colours(bool dark) {
  std::string text;
  const auto known = kernel_families();
  for (std::size_t i = 0; i < known.size(); ++i) {
    text += std::format("{}--f{}: {};", i ? " " : "", i, family_colour(known[i], dark));
  }
  return text;
}

}  // namespace weft::kernels
