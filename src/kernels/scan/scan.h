#pragma once

#include <string_view>

#include "weft/kernels/scan.h"

namespace weft::kernels {

// The kinds' names, in their order.
inline constexpr std::string_view kScanKinds[] = {"sum", "prod", "max", "min", "log_sum_exp"};
// The name of the kernel: "scan_sum".
std::string_view scan_name(ScanKind op);

}  // namespace weft::kernels
