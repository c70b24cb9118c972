// The functions that WGSL may call without declaring them: those of src/kernels/common/*.wgsl.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft::kernels {

// The declarations of the library that `text` uses, with what those use, each once. A name that `text` declares by
// itself is left out. Where `device_math` says so, which is asked only if it matters, declarations of device_math.wgsl
// take the place of others of the same name.
std::string library_for(std::string_view text, const std::function<bool()>& device_math);

// Whether device_math.wgsl declares `name`.
bool has_device_form(std::string_view name);

}  // namespace weft::kernels
