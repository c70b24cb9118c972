#pragma once

#include <string_view>

#include "weft/kernels/fft.h"

namespace weft::kernels {

// The name of the kernel: "fft_complex".
std::string_view fft_name(FftKind kind);

}  // namespace weft::kernels
