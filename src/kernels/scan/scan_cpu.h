// The CPU's scan.
#pragma once

#include "cpu/executor.h"
#include "kernels/common/rows.h"
#include "weft/kernels/scan.h"

namespace weft::kernels {

// `rows` has the strides of x and y. Floats accumulate in double.
void scan_cpu(cpu::Executor& executor, ScanKind op, const View& x, const View& y, const Rows& rows,
              const ScanOptions& options);

}  // namespace weft::kernels
