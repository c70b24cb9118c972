// The CPU twin of reduce.
#pragma once

#include "kernels/common/rows.h"
#include "weft/cpu.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {

// `rows` holds the strides of x and y. Floats accumulate in double.
void reduce_cpu(cpu::Executor& executor, ReduceOp op, const View& x, const View& y, const Rows& rows);

}  // namespace weft::kernels
