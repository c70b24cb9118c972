// Views as plain bits: what moves elements without looking at them works on unsigned integers.
#pragma once

#include <span>

#include "weft/view.h"

namespace weft::kernels {

// The same elements as unsigned integers of their size.
View as_unsigned(const View& view);

// The same memory as unsigned integers of the elements' size. Types of 64 bits become pairs of u32 (a last axis of 2)
// where the rank allows, else u64; neighbours are taken together, up to 32 bits, as long as all of `views` (of one
// shape and one type) allow it.
void as_bits(std::span<View> views);
// The same where addresses are also made of `steps`, distances in elements that change with it, and only neighbours
// along `axis` may be taken together (-1: none).
void as_bits(std::span<View> views, std::span<std::int64_t> steps, int axis);

}  // namespace weft::kernels
