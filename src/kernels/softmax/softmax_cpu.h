// The CPU twin of softmax and, with `log`, log_softmax.
#pragma once

#include "kernels/common/rows.h"
#include "weft/cpu.h"

namespace weft::kernels {

// x and y have one shape; `rows` holds their strides in that order.
void softmax_cpu(cpu::Executor& executor, const View& x, const View& y, const Rows& rows, bool log);

}  // namespace weft::kernels
