// WGSL of values: constants, conversions between types, and the guard that hides a value from compilers.
#pragma once

#include <string_view>

#include "kernels/elementwise/wgsl_tree.h"
#include "weft/expression.h"

namespace weft::kernels {

// Throws Unsupported: what f64 does there needs 64-bit floats.
[[noreturn]] void refuse_f64(std::string_view what);

// The family in which a type computes: 'f' f32, 'i' i32, 'u' u32, 'l' i64 and 'm' u64 as vec2<u32>, 'c' complex as
// vec2<f32>. Throws Unsupported for f64.
char wgsl_family(DType type);

// The value of a constant of a float type of up to 32 bits.
float constant_f32(const Expression::Node& constant);
WgslTree::Id constant_wgsl(WgslTree& tree, const Expression::Node& constant);

// The value of the type's family as one of the type: integers wrap, floats round.
WgslTree::Id wrapped(WgslTree& tree, DType type, WgslTree::Id value);
// The value of the first type as one of the second. f64 is two words, which only casts support.
WgslTree::Id converted(WgslTree& tree, DType from, DType to, WgslTree::Id value);
// Rewrites a conversion to f16, which packs and unpacks the value. NVIDIA's compiler (580.159) removes both; an opaque
// zero between them preserves the rounding.
void keep_half_rounding(WgslTree& tree, WgslTree::Id conversion);
// The value, made opaque to compilers: its bits are changed by a zero that they do not know.
WgslTree::Id hidden(WgslTree& tree, DType type, WgslTree::Id value);

}  // namespace weft::kernels
