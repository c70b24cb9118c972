// The element types that a kernel of the table takes.
#pragma once

#include <string>

#include "weft/kernels/table.h"

namespace weft::app {

// "x: numbers, c64; y: as x", with attributes at their defaults. Found out by calling the kernel on the CPU on tensors
// of an element: what its own checks accept. "floats" and the like are the types of weft/dtype.h of that kind, packed
// ones among the integers; "numbers" are floats and integers, "as x" is the type of x, whatever that is.
std::string kernel_types(const kernels::KernelInfo& kernel);

}  // namespace weft::app
