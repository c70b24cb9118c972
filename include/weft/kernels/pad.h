// Kernels that move elements by a function of each axis's index. Conventions that all kernels share are in
// weft/kernels.h. x and y have one type, any of Weft's, and one rank; the elements' bits are moved as they are.
#pragma once

#include <cstdint>
#include <span>

#include "weft/attributes.h"
#include "weft/number.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// The element for an index j outside of x's size n.
enum class PadMode : std::uint8_t {
  constant,   // the value
  edge,       // the nearest element
  reflect,    // mirrored at the edge elements, which are not repeated: j and -j are the same; 3 2 1 [0 1 2 3] 2 1 0
  symmetric,  // mirrored beyond the edge elements, which are repeated: 1 0 [0 1 2 3] 3 2
  wrap,       // j modulo n
};

inline constexpr std::string_view kPadModes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};

// What a border holds.
struct PadFill {
  PadMode mode = PadMode::constant;
  Number value = 0;

  void fields(AttributeVisitor& v) {
    v("mode", mode, PadMode::constant, kPadModes,
      "what the border holds: the value; the nearest element (edge); x mirrored at its edge elements (reflect) or "
      "beyond "
      "them, so that they are repeated (symmetric); or x again (wrap)");
    if (mode == PadMode::constant) v("value", value, 0, "the number in the border of mode constant");
  }
};

// y[i] = x[i - before]; `mode` gives the elements beyond x's edges, and reflections continue at the other edge over any
// distance. The padding after x follows from y's shape. A negative `before` crops x's first elements, a smaller y its
// last. One number for each axis. Throws InvalidArgument if x is empty along an axis that y is not, except for
// `constant`. Cropping alone needs no copy: slice (weft/kernels/copy.h) returns a view.
void pad(Stream& stream, const View& x, const View& y, std::span<const std::int64_t> before,
         PadMode mode = PadMode::constant, Number value = 0);

// y = x repeated along each axis: y[i] = x[i modulo x's size]. y's sizes are multiples of x's.
void tile(Stream& stream, const View& x, const View& y);
// Each element several times in a row: y[i] = x[i / repeats]. y's sizes are multiples of x's, which determine the
// repeats.
void repeat(Stream& stream, const View& x, const View& y);
// y[i] = x[(i - shift) modulo the size], one shift for each axis, of any sign and size. y has x's shape and shares no
// memory with it.
void roll(Stream& stream, const View& x, const View& y, std::span<const std::int64_t> shifts);

}  // namespace weft::kernels
