// Views of what is computed from indices.
#pragma once

#include "graph/node.h"

namespace weft {

// The elements of a view computed for themselves, if what it shows is elementwise work on iotas and single elements
// alone, and has more elements than the view: then nothing computes or stores the whole. Else an undefined tensor. A
// variable of a derivative is none of these, whatever its value is made of.
//   slice{from 5 to 7} (2 · iota(2^40))   →   2 · (iota(2) + 5)
Tensor computed_view(const Tensor& view);

}  // namespace weft
