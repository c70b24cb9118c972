// The functions that WGSL may call without declaring them: those of src/kernels/common/*.wgsl.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft::kernels {

// True if the function of this name may come from device_math.wgsl or device_narrow_math.wgsl; called only where that
// matters.
using DeviceForms = std::function<bool(std::string_view function)>;

// Returns the library's declarations that `text` uses, and those that they use, each once, except names that `text`
// declares itself. Where `device_forms` allows, declarations of device_math.wgsl and device_narrow_math.wgsl replace
// others of the same name.
std::string library_for(std::string_view text, const DeviceForms& device_forms);

// True if one of these two files declares `name`; true if another file does, for all devices.
bool has_device_form(std::string_view name);
bool has_common_form(std::string_view name);

}  // namespace weft::kernels
