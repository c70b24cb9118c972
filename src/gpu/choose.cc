#include "gpu/choose.h"

#include <charconv>

#include "core/ascii.h"
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
    out += std::format("{}{}: {} ({}{})", out.empty() ? "" : ", ", f.info.index, f.info.name, f.info.backend,
                       f.info.software() ? ", software" : "");
  }
  return out.empty() ? "none (is a Vulkan driver installed?)" : out;
}

Choice choose(const std::string& asked) {
  std::string name = lower(asked), because = "asked for";
  if (name.empty() || name == "gpu") {
    name = lower(flag_text(Flag::adapter));
    because = "WEFT_ADAPTER asks for it";
  }
  const auto chosen = [](const FoundAdapter& f, std::string_view why) {
    return Choice{&f, std::format("{} ({}): {}", f.info.name, f.info.backend, why)};
  };
  const std::string backend = lower(flag_text(Flag::backend));
  const bool any = name.empty() || name == "gpu";
  if (any && backend.empty()) {
    if (const FoundAdapter* best = best_hardware()) return chosen(*best, "the best hardware adapter");
  }
  std::vector<const FoundAdapter*> fit;
  for (const FoundAdapter& f : found_adapters()) {
    if (backend.empty() || f.info.backend == backend) fit.push_back(&f);
  }
  if (fit.empty()) {
    throw NoDevice("no GPU adapter{}; adapters here: {}",
                   backend.empty() ? "" : std::format(" with the backend '{}' (WEFT_BACKEND)", backend),
                   list_adapters());
  }
  if (any) {
    return chosen(*fit.front(), fit.size() == 1 ? "the only adapter" : std::format("best of {} adapters", fit.size()));
  }
  for (const FoundAdapter* f : fit) {
    if (means(f->info, name)) return chosen(*f, because);
  }
  throw DeviceError("no adapter{} is called '{}'; adapters here: {}",
                    backend.empty() ? "" : std::format(" with the backend '{}' (--backend, WEFT_BACKEND)", backend),
                    name, list_adapters());
}

}  // namespace weft::gpu
