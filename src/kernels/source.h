// The WGSL templates that the build embeds.
#pragma once

#include <string>
#include <string_view>

namespace weft::kernels {

struct KernelSource {
  const char* name;  // file name without its ending
  const char* path;  // in the source tree
  const char* text;
};
extern const KernelSource kKernelSources[];  // ends with a null name
extern const char kSourcesFingerprint[];

// The template of that name; in debug builds its current text in the source tree. Throws InternalError.
std::string kernel_source(std::string_view name);
// The same, whatever tests put in its place.
std::string built_source(std::string_view name);

// For tests: while it lives, the template of that name has this text.
class ReplacedSource {
 public:
  ReplacedSource(std::string name, std::string text);
  ~ReplacedSource();
  ReplacedSource(const ReplacedSource&) = delete;
  ReplacedSource& operator=(const ReplacedSource&) = delete;

 private:
  std::string name_;
};

// Identifies the text of all templates in the keys of caches; empty where they may change while the process runs.
std::string_view sources_fingerprint();

}  // namespace weft::kernels
