// Movement by index: each axis of the output walks the input's in a way of its own. Conventions that all kernels share
// are in weft/kernels.h. x and y have one type, any of Weft's, and one rank; the elements' bits are moved as they are.
#pragma once

#include <cstdint>
#include <span>

#include "weft/number.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// What stands where an index j lies outside of x's size n.
enum class PadMode : std::uint8_t {
  constant,   // the value
  edge,       // the nearest element
  reflect,    // mirrored at the edge elements, which are not repeated: j and -j are the same; 3 2 1 [0 1 2 3] 2 1 0
  symmetric,  // mirrored beyond the edge elements, which are: 1 0 [0 1 2 3] 3 2
  wrap,       // j modulo n
};

// y[i] = x[i - before], an element beyond x's edges as `mode` says; reflections go on at the far edge, however far.
// What follows x is given by y's shape. A negative `before` leaves x's first elements out, a smaller y its last. One
// number for each axis. Throws InvalidArgument if x is empty along an axis that y is not, but for `constant`. With
// neither padding nor a value to set, a part of a tensor is a view: slice (weft/kernels/copy.h).
void pad(Stream& stream, const View& x, const View& y, std::span<const std::int64_t> before,
         PadMode mode = PadMode::constant, Number value = 0);

// y = x again and again along each axis: y[i] = x[i modulo x's size]. y's sizes are multiples of x's.
void tile(Stream& stream, const View& x, const View& y);
// Each element several times in a row: y[i] = x[i / repeats]. y's sizes are multiples of x's, which say the repeats.
void repeat(Stream& stream, const View& x, const View& y);
// y[i] = x[(i - shift) modulo the size], one shift for each axis, of any sign and size. y has x's shape and memory of
// its own.
void roll(Stream& stream, const View& x, const View& y, std::span<const std::int64_t> shifts);

}  // namespace weft::kernels
