// WGSL of an expression.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kernels/library.h"
#include "weft/expression.h"

namespace weft::kernels {

// fn expression(x0: T0, x1: T1, …) -> T, where a value of a data type has its compute_type() (call.h): f32, i32, u32,
// vec2<u32> for 64-bit integers; booleans are u32, 0 or 1. Width 4 takes and gives vec4 of them (no 64-bit types then).
// With several outputs the result is a struct <name>_results with members y0, y1, …
// `feeds_compute`: the kernel computes with the results; else it only stores them. `reassociates_fp`: as in Capabilities.
// The text calls functions of the library and may name p.opaque_zero; Call has both. Throws Unsupported for f64.
std::string expression_wgsl(const Expression& expression, int width, bool reassociates_fp,
                            std::string_view name = "expression", bool feeds_compute = false);
// Whether the text may name p.opaque_zero.
bool names_opaque_zero(const Expression& expression, bool reassociates_fp);

// Whether an expression has one output and functions that test each element for a long way: those of narrow floats,
// fewer with a device's own forms, and some of f32 with these. Then there is fn
// expression_fast( x0: vec4<T0>, …, far: ptr<function, bool>) -> vec4<T>, the same without a branch for each element.
// Where `far` becomes true the values are of no use.
bool has_fast_path(const Expression& expression, const DeviceForms& device_forms);
std::string expression_fast_wgsl(const Expression& expression, const DeviceForms& device_forms, bool reassociates_fp);
// Whether the result is such a function's, which an error below 2^-14 keeps from being exactly between two floats.
bool ends_without_ties(const Expression& expression);
// Whether the one result is a value of its type before it is rounded: an operand's, say, or the larger of two.
bool needs_no_rounding(const Expression& expression);

}  // namespace weft::kernels
