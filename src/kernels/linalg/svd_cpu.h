// Singular values on the CPU: by LAPACK, in the type itself, or by loops, in f64.
#pragma once

#include "cpu/executor.h"
#include "weft/kernels/linalg.h"

namespace weft::kernels {

// Views as the launchers check them; u and vh are null where the values alone are asked for.
void svd_cpu(cpu::Executor& executor, const View& a, const View* u, const View& s, const View* vh, const View& info);
// The form without LAPACK.
void svd_loops(cpu::Executor& executor, const View& a, const View* u, const View& s, const View* vh, const View& info);

}  // namespace weft::kernels
