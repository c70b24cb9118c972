// Linear algebra on the CPU: sums in f64.
#pragma once

#include "cpu/executor.h"
#include "weft/kernels/linalg.h"

namespace weft::kernels {

// Lower triangles; views as the launchers check them.
void cholesky_cpu(cpu::Executor& executor, const View& a, const View& l, const View& info);
void lu_cpu(cpu::Executor& executor, const View& a, const View& lu, const View& pivots, const View& order,
            const View& info);
// a is lower triangular, `conjugates`: by its conjugates.
void triangular_solve_cpu(cpu::Executor& executor, const View& a, const View& b, const View& x, bool unit,
                          bool conjugates);

}  // namespace weft::kernels
