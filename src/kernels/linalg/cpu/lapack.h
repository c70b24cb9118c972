// Routines of LAPACK, and BLAS' triangular solve, in builds that have them (WEFT_LAPACK in cmake/dependencies.cmake).
// Nothing else in Weft calls that library.
#pragma once

#include <complex>
#include <cstdint>

namespace weft::kernels {

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};

// The routines for elements of type T: float, double or std::complex<float>. Names, arguments and results (info) are
// LAPACK's. Matrices are stored by columns, the first elements of two columns `ld` apart; workspaces are the routines'
// own; where there is no memory for them, OutOfMemory is thrown.
//
// What they do with NaN and infinities differs between versions of LAPACK, but it is never a hang or a fault.
template <class T>
struct Lapack {
  using Real = typename RealOf<T>::Type;
  // a = uᴴ u ('U') or l lᴴ ('L'), in a's triangle.
  int (*potrf)(char triangle, int n, T* a, int lda);
  // a = p l u; row i was interchanged with row pivots[i], counted from 1.
  int (*getrf)(int m, int n, T* a, int lda, int* pivots);
  // Solves op(a) x = b (side 'L') or x op(a) = b ('R') in b, [m, n]; op is 'N', 'T' or 'C'; diagonal 'U' or 'N'.
  void (*trsm)(char side, char triangle, char op, char diagonal, int m, int n, const T* a, int lda, T* b, int ldb);
  // a = q r: r in the upper triangle, and below it and in tau, [min(m, n)], the reflectors whose product q is.
  int (*geqrf)(int m, int n, T* a, int lda, T* tau);
  // The first n columns of the product of k such reflectors, in a, [m, n].
  int (*orgqr)(int m, int n, int k, T* a, int lda, const T* tau);
  // Eigenvalues w in ascending order, and if jobs is 'V' (not 'N') eigenvectors in a; reads that triangle alone.
  int (*syevd)(char jobs, char triangle, int n, T* a, int lda, Real* w);
  // a = u diag(s) vt. jobs 'A': all of u and vt; 'S': the first min(m, n) columns and rows; 'N': s alone. Destroys a.
  int (*gesdd)(char jobs, int m, int n, T* a, int lda, Real* s, T* u, int ldu, T* vt, int ldvt);
};

// Null in a build without LAPACK, where the setting `lapack` is off, and for matrices with sides that its integers do
// not hold.
template <class T>
const Lapack<T>* lapack(std::int64_t longest_side);
extern template const Lapack<float>* lapack<float>(std::int64_t);
extern template const Lapack<double>* lapack<double>(std::int64_t);
extern template const Lapack<std::complex<float>>* lapack<std::complex<float>>(std::int64_t);

}  // namespace weft::kernels
