// The decompositions of linalg_cpu.h, qr_cpu.h, eigh_cpu.h and svd_cpu.h by LAPACK. Matrices whose results its versions
// differ in, or that it gives up, go by loops.
#pragma once

#include <optional>

#include "cpu/executor.h"
#include "kernels/linalg/cpu/lapack.h"
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
template <class T>
void qr_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& q, const View& r);
template <class T>
void eigh_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& w, const View& info,
                 const std::optional<View>& v, bool upper);
template <class T>
void svd_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View* u, const View& s,
                const View* vh, const View& info);

}  // namespace weft::kernels
