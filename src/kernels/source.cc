#include "kernels/source.h"

#include <cstdint>
#include <format>
#include <fstream>
#include <sstream>

#include "weft/error.h"

namespace weft::kernels {

std::string kernel_source(std::string_view name) {
  for (const KernelSource* s = kKernelSources; s->name; ++s) {
    if (s->name != name) continue;
#ifdef WEFT_KERNEL_DIR
    if (std::ifstream file(s->path); file) {
      std::ostringstream text;
      text << file.rdbuf();
      return text.str();
    }
#endif
    return s->text;
  }
  throw InternalError("no WGSL template named '{}'", name);
}

std::string_view sources_fingerprint() {
#ifdef WEFT_KERNEL_DIR
  return {};
#else
  static const std::string fingerprint = [] {
    std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
    for (const KernelSource* s = kKernelSources; s->name; ++s) {
      for (const char c : std::string_view(s->text)) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return std::format("{:016x}", h);
  }();
  return fingerprint;
#endif
}

}  // namespace weft::kernels
