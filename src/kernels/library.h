// The functions that WGSL may call without declaring them: those of src/kernels/common/*.wgsl.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft::kernels {

// Whether a function of this name may be device_math.wgsl's or device_narrow_math.wgsl's; asked only if it matters.
using DeviceForms = std::function<bool(std::string_view function)>;

// The declarations of the library that `text` uses, with what those use, each once. A name that `text` declares by
// itself is left out. Where `device_forms` says so declarations of device_math.wgsl and device_narrow_math.wgsl take
// the place of others of the same name.
std::string library_for(std::string_view text, const DeviceForms& device_forms);

// Whether one of these declares `name`, and whether another file does, for all devices.
bool has_device_form(std::string_view name);
bool has_common_form(std::string_view name);

}  // namespace weft::kernels
