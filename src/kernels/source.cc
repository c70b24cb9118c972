#include "kernels/source.h"

#include <fstream>
#include <sstream>

#include "core/format.h"
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
  return kSourcesFingerprint;
#endif
}

}  // namespace weft::kernels
