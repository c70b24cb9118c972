#pragma once

#include "call.h"

namespace mlx::core::webgpu {

// Where elements are: `base` (null: 0), which is one integer, plus each element's index times the strides. i64, of that
// shape.
weft::View index_sum(Call& call, const array* base, const weft::Shape& shape, const weft::Strides& strides);

}  // namespace mlx::core::webgpu
