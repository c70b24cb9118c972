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

// The template of that name; in debug builds as it stands in the source tree now. Throws InternalError.
std::string kernel_source(std::string_view name);

}  // namespace weft::kernels
