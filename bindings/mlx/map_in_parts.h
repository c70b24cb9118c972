#pragma once

#include <vector>

#include "call.h"

namespace mlx::core::webgpu {

// weft::kernels::map() of any number of operands: where they are more than the device binds at once, intermediate
// results are stored.
void map_in_parts(Call& call, const weft::Expression& e, const std::vector<weft::View>& inputs,
                  const std::vector<weft::View>& outputs);

}  // namespace mlx::core::webgpu
