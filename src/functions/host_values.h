// Values of tensors that the host has, for checks of arguments: nothing is computed or waited for.
#pragma once

#include <optional>
#include <vector>

#include "weft/tensor.h"

namespace weft {

// The elements of a constant, and of a tensor in the host's memory, nearest as doubles; none of what is still to be
// computed, of views, and of what only another device has.
std::optional<std::vector<double>> host_values(const Tensor& x);

}  // namespace weft
