// Linear algebra on the CPU: by LAPACK, in the type itself, or by loops, whose sums are in f64.
#pragma once

#include "cpu/executor.h"
#include "weft/kernels/linalg.h"

namespace weft::kernels {

// Lower triangles; views as the launchers check them.
void cholesky_cpu(cpu::Executor& executor, const View& a, const View& l, const View& info);
void lu_cpu(cpu::Executor& executor, const View& a, const View& lu, const View& pivots, const View& order,
            const View& info);

struct TriangularForm {
  bool upper;       // a's upper triangle counts, instead of the lower one
  bool unit;        // its diagonal is 1
  bool conjugates;  // its elements' conjugates count
};
void triangular_solve_cpu(cpu::Executor& executor, const View& a, const View& b, const View& x,
                          const TriangularForm& form);

// The forms without LAPACK.
void lu_loops(cpu::Executor& executor, const View& a, const View& lu, const View& pivots, const View& order,
              const View& info);
void triangular_solve_loops(cpu::Executor& executor, const View& a, const View& b, const View& x,
                            const TriangularForm& form);

}  // namespace weft::kernels
