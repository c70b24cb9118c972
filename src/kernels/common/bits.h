// Views as plain bits: kernels that only move elements work on unsigned integers.
#pragma once

#include <span>

#include "weft/view.h"

namespace weft::kernels {

// The same elements as unsigned integers of their size.
View as_unsigned(const View& view);

// The same memory as unsigned integers of the elements' size. 64-bit types become pairs of u32 (a last axis of 2) where
// the rank allows and no view is a number, else u64; adjacent elements are joined, up to 32 bits, as far as all of
// `views` (of one shape and one type) allow it.
void as_bits(std::span<View> views);
// The same where addresses also depend on `steps`, distances in elements, which are converted too; only elements
// adjacent along `axis` may be joined (-1: none).
void as_bits(std::span<View> views, std::span<std::int64_t> steps, int axis);

}  // namespace weft::kernels
