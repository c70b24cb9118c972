// The CPU twin of layer normalisation.
#pragma once

#include <optional>

#include "kernels/common/rows.h"
#include "weft/cpu.h"

namespace weft::kernels {

// `rows` holds the strides of x, y and, as far as they are there, scale and bias.
void layer_norm_cpu(cpu::Executor& executor, const View& x, const std::optional<View>& scale,
                    const std::optional<View>& bias, const View& y, const Rows& rows, float epsilon);

}  // namespace weft::kernels
