// The functions that WGSL may call without declaring them: those of src/kernels/common/*.wgsl.
#pragma once

#include <string>
#include <string_view>

namespace weft::kernels {

// The declarations of the library that `text` uses, with what those use, each once. A name that `text` declares by
// itself is left out.
std::string library_for(std::string_view text);

}  // namespace weft::kernels
