#include "kernels/source.h"

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

struct Replaced {
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> texts;
};
Replaced& replaced() {
  static Replaced& all = *new Replaced;
  return all;
}

}  // namespace

ReplacedSource::ReplacedSource(std::string name, std::string text) : name_(std::move(name)) {
  const std::lock_guard held(replaced().mutex);
  replaced().texts.insert_or_assign(name_, std::move(text));
}
ReplacedSource::~ReplacedSource() {
  const std::lock_guard held(replaced().mutex);
  replaced().texts.erase(name_);
}

std::string kernel_source(std::string_view name) {
  {
    const std::lock_guard held(replaced().mutex);
    if (const auto found = replaced().texts.find(name); found != replaced().texts.end()) return found->second;
  }
  return built_source(name);
}

std::string built_source(std::string_view name) {
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
