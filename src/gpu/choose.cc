#include "gpu/choose.h"

#include <charconv>
#include <sstream>

#include "core/ascii.h"
#include "core/format.h"
#include "core/nearest.h"
#include "gpu/driver_problems.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft::gpu {

namespace {

bool means(const AdapterInfo& info, const std::string& name) {
  int index = -1;
  const char* const last = name.data() + name.size();
  if (const auto [end, error] = std::from_chars(name.data(), last, index); error == std::errc{} && end == last) {
    return info.index == index;
  }
  return info.backend == name || lower(info.name).find(name) != std::string::npos;
}

}  // namespace

std::string list_adapters() {
  std::string out;
  for (const FoundAdapter& f : found_adapters()) {
    out += std::format("{}{} ({}{}, number {})", out.empty() ? "" : ", ", f.info.name, f.info.backend,
                       f.info.software() ? ", software" : "", f.info.index);
  }
  if (!out.empty()) return out;
  for (const std::string& problem : driver_problems()) out += (out.empty() ? "" : "; ") + problem;
  return std::format("none ({})", out.empty() ? "is a Vulkan driver installed?" : out);
}

Choice choose(const std::string& asked) {
  std::string name = lower(asked), because = "asked for", source;
  if (name.empty() || name == "gpu") {
    name = lower(flag_text(Flag::device));
    source = flag_source(Flag::device);
    because = std::format("{} asks for it", source);
    if (name == "cpu") {
      if (asked.empty()) throw DeviceError("a GPU is needed here, and {} asks for the cpu", source);
      name.clear();  // the cpu is the default elsewhere; here a GPU is asked for
    }
  }
  const auto chosen = [](const FoundAdapter& f, std::string_view why) {
    return Choice{&f, std::format("{} ({}): {}", f.info.name, f.info.backend, why)};
  };
  const std::string backend = lower(flag_text(Flag::backend));
  const bool any = name.empty() || name == "gpu";
  if (any && backend.empty()) {
    if (const FoundAdapter* best = best_hardware()) {
      return chosen(*best, name.empty() ? "the best hardware adapter"
                                        : std::format("the best hardware adapter, since {} asks for a GPU",
                                                      source.empty() ? "the program" : source));
    }
  }
  std::vector<const FoundAdapter*> fit;
  for (const FoundAdapter& f : found_adapters()) {
    if (backend.empty() || f.info.backend == backend) fit.push_back(&f);
  }
  if (fit.empty()) {
    throw NoDevice(
        "no GPU adapter{}; adapters here: {}",
        backend.empty() ? "" : std::format(" with the backend '{}' ({})", backend, flag_source(Flag::backend)),
        list_adapters());
  }
  if (any) {
    const std::string which = fit.size() == 1 ? "the only adapter" : std::format("best of {} adapters", fit.size());
    return chosen(*fit.front(), backend.empty() ? which
                                                : std::format("{} with the backend that {} asks for", which,
                                                              flag_source(Flag::backend)));
  }
  for (const FoundAdapter* f : fit) {
    if (means(f->info, name)) return chosen(*f, because);
  }
  std::vector<std::string> known = {"cpu", "gpu"};
  for (const FoundAdapter* f : fit) {
    known.push_back(f->info.backend);
    // A part of the name is enough, so each of its words is one.
    std::istringstream words(f->info.name);
    for (std::string word; words >> word;) known.push_back(word);
  }
  throw DeviceError(
      "no device{} is called '{}'{}{}; there are {} and cpu",
      backend.empty() ? "" : std::format(" with the backend '{}' ({})", backend, flag_source(Flag::backend)),
      asked.empty() || lower(asked) == "gpu" ? name : asked, source.empty() ? "" : " (" + source + ")",
      nearest_text(nearest(name, known)), list_adapters());
}

}  // namespace weft::gpu
