// WGSL of an expression.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kernels/elementwise/opaque_nodes.h"
#include "kernels/library.h"
#include "weft/expression.h"

namespace weft::kernels {

// Declares fn expression(x0: T0, x1: T1, …) -> T, where T is the compute_type() of a data type: f32, i32, u32,
// vec2<u32> for 64-bit integers; booleans are u32, 0 or 1. With width 4 arguments and results are vec4 of them (without
// 64-bit types). With several outputs the result is a struct <name>_results with fields y0, y1, …
// `reassociates_fp`: as in Capabilities.
// The text calls functions of the library and may use p.opaque_zero; Call declares both. Throws Unsupported for f64.
std::string expression_wgsl(const Expression& expression, int width, bool reassociates_fp,
                            std::string_view name = "expression", ExpressionRole role = ExpressionRole::map);
// True if the text may use p.opaque_zero.
bool names_opaque_zero(const Expression& expression, bool reassociates_fp, ExpressionRole role = ExpressionRole::map);

// True if the expression has one output and functions that test each element for a slow path: those of narrow floats,
// fewer of them with a device's own forms, and some of f32 with these. Then there is fn expression_fast(x0: vec4<T0>,
// …, far: ptr<function, bool>) -> vec4<T>, the same without a branch for each element. Where it sets `far`, the values
// are invalid.
bool has_fast_path(const Expression& expression, const DeviceForms& device_forms);
std::string expression_fast_wgsl(const Expression& expression, const DeviceForms& device_forms, bool reassociates_fp);
// True if the result is that of such a function: its error below 2^-14 keeps it from being exactly between two floats.
bool ends_without_ties(const Expression& expression);
// True if the single result is a value of its type before it is rounded: an operand, say, or the larger of two.
bool needs_no_rounding(const Expression& expression);

}  // namespace weft::kernels
