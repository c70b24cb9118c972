// The CPU's softmax and, with `log`, log_softmax.
#pragma once

#include "cpu/executor.h"
#include "kernels/common/row_fusion.h"

namespace weft::kernels {

// `rows` has the strides of all views in their order.
void softmax_cpu(cpu::Executor& executor, const RowViews& views, const Rows& rows, bool log);

}  // namespace weft::kernels
