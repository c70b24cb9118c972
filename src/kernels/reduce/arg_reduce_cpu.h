// The CPU's arg_reduce.
#pragma once

#include "cpu/executor.h"
#include "kernels/common/rows.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {

// `rows` holds the strides of x and y.
void arg_reduce_cpu(cpu::Executor& executor, ArgKind op, const View& x, const View& y, const Rows& rows);

}  // namespace weft::kernels
