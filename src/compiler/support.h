// What of a graph a device cannot run.
#pragma once

#include "compiler/schedule.h"
#include "weft/device.h"

namespace weft::compiler {

// Asks every call's op (Op::unsupported). Throws one Unsupported that lists all that the device cannot run, each with
// its op, label and types, and why:
//   cpu cannot run 1 of 2 kernels:
//     custom "scale_rows [4, 3]" of f32 [4, 3], f32 [4] → f32 [4, 3]: custom kernel "scale_rows" has no CPU function
void check_support(const Schedule& schedule, const Device& device);

}  // namespace weft::compiler
