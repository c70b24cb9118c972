// Cholesky and LU factors and triangular systems by LAPACK: what linalg_cpu.h declares, of any strides.
#pragma once

#include "cpu/executor.h"
#include "kernels/linalg/lapack.h"
#include "kernels/linalg/linalg_cpu.h"
#include "weft/view.h"

namespace weft::kernels {

template <class T>
void cholesky_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& l, const View& info);
template <class T>
void lu_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& lu, const View& pivots,
               const View& order, const View& info);
template <class T>
void triangular_solve_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& b,
                             const View& x, const TriangularForm& t);

}  // namespace weft::kernels
