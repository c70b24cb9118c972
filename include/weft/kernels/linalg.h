// Linear algebra on matrices, and on batches of them: decompositions and triangular systems. Conventions that all
// kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/attributes.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

struct CholeskyOptions {
  bool upper = false;

  void fields(AttributeVisitor& v) { v.brief("upper", upper, false, "u with a = uᴴ u instead of l with a = l lᴴ"); }
};

// l, lower triangular with a positive diagonal, such that a = l lᴴ; for `upper` u, upper triangular, with a = uᴴ u. a
// and l [..., n, n] of one type: f32, c64, or on the CPU f64. Only that triangle of a is read, and of its diagonal the
// real part; the other triangle of l is 0. info i32 [...]: 0, or for a matrix that is not positive definite (or has NaN
// or an infinity there) the order k of its first leading minor that is not; then the lower
// triangle of l is NaN from its column k on (the upper one of u from its row k on). l may be a's very view.
//
// As LAPACK's potrf, which the CPU calls where the library was built with it: in the type itself, on GPUs in f32 (on
// the CPU without LAPACK sums are in f64). On GPUs small matrices are a workgroup's each, large ones go by blocks whose
// updates are matrix products. Throws InvalidArgument; f64 on a GPU is Unsupported.
void cholesky(Stream& stream, const View& a, const View& l, const View& info, const CholeskyOptions& options = {});

// The factors of a, [..., m, n], with partial pivoting: a's row order[i] is row i of l · u. lu has a's shape and holds
// u on and above its diagonal, and below it l, whose diagonal is 1. pivots i32 [..., min(m, n)]: in step k rows k and
// pivots[k], counted from 0, were interchanged; order i32 [..., m]: what comes of all of them. info i32 [...]: 0, or
// the order k of the first u(k, k), counted from 1, that is exactly 0; the factors are right then, but u is singular. a
// and lu are of one type: f32, c64, or on the CPU f64. lu may be a's very view.
//
// As LAPACK's getrf: a pivot has the largest magnitude of its column, of complex numbers the largest |re| + |im|.
// Throws InvalidArgument; f64 on a GPU is Unsupported.
void lu(Stream& stream, const View& a, const View& lu, const View& pivots, const View& order, const View& info);

struct TriangularSolveOptions {
  bool upper = false;    // a is upper triangular
  bool adjoint = false;  // solves with aᴴ
  bool unit = false;     // a's diagonal is taken as 1, and not read

  void fields(AttributeVisitor& v) {
    v("upper", upper, false, "a is upper triangular, instead of lower");
    v.brief("adjoint", adjoint, false, "solves with the conjugate transpose of a");
    v.brief("unit", unit, false, "a's diagonal is 1, whatever it holds");
  }
};

// x with a x = b, for a triangular a [..., n, n], of which only that triangle is read, and b and x [..., n, m], of one
// type: f32, c64, or on the CPU f64. Leading dimensions of a and b broadcast. A 0 on the diagonal gives infinities and
// NaN, as a division does. x may be b's very view. As BLAS' trsm. Throws InvalidArgument; f64 on a GPU is Unsupported.
void triangular_solve(Stream& stream, const View& a, const View& b, const View& x,
                      const TriangularSolveOptions& options = {});

// What qr() gives, with k = min(m, n).
enum class QrMode : std::uint8_t {
  reduced,   // q [..., m, k], r [..., k, n]
  complete,  // q [..., m, m], r [..., m, n]
  r,         // r [..., k, n] alone: q has no columns, [..., m, 0]
};
inline constexpr std::string_view kQrModes[] = {"reduced", "complete", "r"};
struct QrOptions {
  QrMode mode = QrMode::reduced;

  void fields(AttributeVisitor& v) {
    v("mode", mode, QrMode::reduced, kQrModes,
      "reduced: q has min(m, n) columns; complete: m; r: none, and only r is computed");
  }
};

// a = q r for a [..., m, n], with q's columns orthonormal and r upper triangular; shapes are those of the mode. r's
// diagonal is real and of any sign, that of LAPACK's reflections. A matrix with NaN or an infinity has NaN everywhere
// in q and in r's upper triangle. a, q and r are of one type: f32, c64, or on the CPU f64; q and r share no memory with
// a.
//
// As LAPACK's geqrf and orgqr (ungqr): by Householder reflections, in the type itself, on GPUs in f32. Columns are
// scaled by powers of two first, so that no square overflows, and errors are small beside each column's own norm.
// Source of large matrices' blocks: Schreiber and Van Loan, "A storage-efficient WY representation for products of
// Householder transformations", 1989. Throws InvalidArgument; f64 on a GPU is Unsupported.
void qr(Stream& stream, const View& a, const View& q, const View& r, const QrOptions& options = {});

struct EighOptions {
  bool upper = false;

  void fields(AttributeVisitor& v) { v.brief("upper", upper, false, "reads a's upper triangle instead of the lower"); }
};

// The eigenvalues w [..., n] of Hermitian matrices a [..., n, n], ascending, and if v is given eigenvectors, of norm 1,
// as its columns: a v = v diag(w), v [..., n, n]. Only that triangle of a is read, and of its diagonal the real part.
// The sign of an eigenvector, of complex numbers its phase, and the basis of equal eigenvalues' vectors are any, but
// the same in each run. info i32 [...]: 0; 1 where the iteration did not converge, or a has NaN or an infinity, and
// then w and v are NaN. a and v are of one type: f32, c64, or on the CPU f64; w is of that type, f32 for c64. w and v
// share no memory with a.
//
// The elements of a v - v diag(w) are some 2^-22 times a's largest eigenvalue or less, as LAPACK's syevd has them. On
// GPUs by Jacobi's iteration: small matrices each by a workgroup, large ones by blocks, whose v is computed also where
// it is not asked for. The CPU makes matrices tridiagonal first. Throws InvalidArgument; f64 on a GPU is Unsupported.
void eigh(Stream& stream, const View& a, const View& w, const View& info, const std::optional<View>& v,
          const EighOptions& options = {});

// The eigenvalues w [..., n] of matrices a [..., n, n] of any kind, in the order of their real parts, equal ones in
// that of the imaginary parts, and if v is given eigenvectors, of norm 1, as its columns: a v = v diag(w), v [..., n,
// n]. The largest element of each vector is real and positive. Of real matrices eigenvalues that are not real are exact
// pairs of conjugates, and so are their vectors; those of real eigenvalues are real. info i32 [...]: 0; 1 where the
// iteration did not converge, or a has NaN or an infinity, and then w and v are NaN. a is f32 or c64, w and v are c64;
// they share no memory with a.
//
// w are the eigenvalues of a matrix that differs from a by some n 2^-24 times its norm, as LAPACK's geev has them;
// where eigenvalues depend much on the matrix, as multiple ones of a matrix that is not normal do, they may be off by
// far more, and vectors be almost the same. By balancing, reflections that make a matrix Hessenberg, and QR steps with
// shifts; of a matrix' triangle the vectors are found by substitution. On GPUs a workgroup does all but the last for a
// matrix, in device memory: many small matrices take all of the GPU, a large one only a small part of it, for about 25
// n³ operations. The CPU computes in f64. Throws InvalidArgument. Source: Golub and Van Loan, "Matrix Computations",
// 4th edition, 7.4 to 7.6.
void eig(Stream& stream, const View& a, const View& w, const View& info, const std::optional<View>& v);

struct SvdOptions {
  bool full_matrices = true;  // u and vh are square

  void fields(AttributeVisitor& v) {
    v.brief("full_matrices", full_matrices, true, "u and vh are square, instead of min(m, n) columns and rows");
  }
};

// The singular value decomposition a = u · diag(s) · vh of a [..., m, n]: s [..., k], k = min(m, n), descending; the
// columns of u [..., m, k] and the rows of vh [..., k, n] are orthonormal. full_matrices: u is [..., m, m] and vh
// [..., n, n], completed by vectors that are orthogonal to the others. info i32 [...]: 0, or 1 where the iteration did
// not converge; a matrix with NaN or an infinity has u, s and vh of NaN and info 1. a, u and vh are of one type: f32,
// c64, or on the CPU f64; s has that type, for c64 f32. Of each vector the sign, or the phase, is arbitrary, and
// vectors of equal values are an arbitrary basis of what they span.
//
// By one-sided Jacobi iteration: small matrices each by a workgroup, large ones by pairs of blocks of columns, whose
// updates are matrix products. Errors are those of rounding relative to s[0]. Throws InvalidArgument; f64 on a GPU is
// Unsupported. Source: Golub and Van Loan, "Matrix Computations", 4th edition, 8.6.
void svd(Stream& stream, const View& a, const View& u, const View& s, const View& vh, const View& info,
         const SvdOptions& options = {});
// The same without the vectors, in less time.
void svdvals(Stream& stream, const View& a, const View& s, const View& info);

}  // namespace weft::kernels
