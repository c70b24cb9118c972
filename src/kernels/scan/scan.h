#pragma once

#include <string_view>

#include "weft/kernels/scan.h"

namespace weft::kernels {

// The name of the kernel: "scan_sum".
std::string_view scan_name(ScanKind op);

}  // namespace weft::kernels
