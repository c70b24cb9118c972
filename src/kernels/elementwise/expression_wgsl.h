// WGSL of an expression.
#pragma once

#include <string>
#include <string_view>

#include "weft/expression.h"

namespace weft::kernels {

// fn expression(x0: T0, x1: T1, …) -> T, where a value of a data type has its compute_type() (call.h): f32, i32, u32,
// vec2<u32> for 64-bit integers; booleans are u32, 0 or 1. Width 4 takes and gives vec4 of them (no 64-bit types then).
// With several outputs the result is a struct <name>_results with members y0, y1, …
// The text calls functions of the library, which Call adds. Throws Unsupported for f64.
std::string expression_wgsl(const Expression& expression, int width, std::string_view name = "expression");

}  // namespace weft::kernels
