// Keys of plans of calls with quantised weights.
#pragma once

#include <string_view>

#include "kernels/plan_cache.h"
#include "weft/kernels/quantized.h"

namespace weft::kernels {

inline const View* pointer(const std::optional<View>& view) { return view ? &*view : nullptr; }

template <class... Options>
CallKey quantized_key(std::string_view kernel, const QuantizedFormat& f, const Options&... options) {
  return CallKey(kernel, f.scheme, f.bits, f.group, f.group_rows, f.columns, options...);
}

}  // namespace weft::kernels
