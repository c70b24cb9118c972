// Linear algebra: Cholesky and QR factors and systems that they solve, eigenvalues, norms and products of matrices, with
// the names of the array API standard, NumPy and SciPy. matmul() is in weft/graph.h; outer(), vecdot(), tensordot(),
// einsum(), tril(), triu() and diagonal() are in weft/array.h.
//
//   Tensor l = cholesky(covariance);                            // covariance = l lᵀ
//   Tensor weights = cholesky_solve(y, l);                      // covariance · weights = y
//   Tensor log_det = 2 * sum(log(diagonal(l)));
//
// Matrices are the last two axes, and those in front are a batch. All functions have derivatives of any order.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "weft/axes.h"
#include "weft/kernels/linalg.h"
#include "weft/tensor.h"

namespace weft {

using kernels::QrMode;
using kernels::TriangularSolveOptions;

// What cholesky_ex() gives.
struct CholeskyResult {
  Tensor l;     // the factor
  Tensor info;  // i32 [...]: 0, or the order of the first leading minor that is not positive definite
};

// What qr() gives.
struct QrResult {
  Tensor q;  // orthonormal columns
  Tensor r;  // upper triangular
};

// What lstsq() gives, for k right sides.
struct LstsqResult {
  Tensor solution;   // [..., n, k], or [..., n] of a vector b
  Tensor residuals;  // [..., k], or [...]: the sums of squared magnitudes of b - a · solution
  Tensor info;       // i32 [...]: 0, or which diagonal element of r is the first, counted from 1, that is negligible
};

// What eigh() gives.
struct EighResult {
  Tensor values;   // [..., n], ascending
  Tensor vectors;  // [..., n, n], as columns
};
// What eigh_ex() gives.
struct EighExResult {
  Tensor values;
  Tensor vectors;
  Tensor info;  // i32 [...]: 0, or 1 where they were not found
};

// Which norm of a matrix.
enum class MatrixNorm : std::uint8_t {
  fro,        // the root of the sum of squared magnitudes
  one,        // the greatest sum of magnitudes of a column
  inf,        // the greatest sum of magnitudes of a row
  minus_one,  // the least sum of a column
  minus_inf,  // the least sum of a row
};

// ---- Cholesky factors and triangular systems. In f32 and c64, on the cpu also in f64: narrower floats and integers
// are a TypeError, cast them. Operands of two of these types are converted to the type that they have in common. Sums
// are computed in that type, on the cpu without LAPACK in f64. Throw InvalidArgument (an undefined Tensor), ShapeError (matrices that
// are not square, sizes that do not fit, batches that do not broadcast) and TypeError.

// l, lower triangular with a positive diagonal, so that a = l lᴴ; for `upper` u, upper triangular, with a = uᴴ u. a is
// Hermitian and positive definite, of shape [..., n, n]; only that triangle of it is read, and of the diagonal the real
// part. Of another a the factor is NaN in the rows and columns from the first on that does not exist, which
// cholesky_ex() tells: nothing is thrown, since nothing is computed yet. a's gradient is Hermitian, as PyTorch's.
// NumPy's and PyTorch's cholesky.
Tensor cholesky(const Operand& a, bool upper = false);
// The same factor, and for each matrix whether it exists: see CholeskyResult. PyTorch's cholesky_ex.
CholeskyResult cholesky_ex(const Operand& a, bool upper = false);
// x with a x = b for a triangular a [..., n, n], of which only that triangle is read, lower unless options.upper; with
// options.adjoint aᴴ x = b; with options.unit a's diagonal is taken as 1. b is [..., n, m], or [n] for a single right
// side, and x then [..., n]; the axes in front broadcast. A 0 on the diagonal gives infinities and NaN, as a division
// does. SciPy's and PyTorch's solve_triangular.
Tensor solve_triangular(const Operand& a, const Operand& b, const TriangularSolveOptions& options = {});
// x with a x = b, given a's Cholesky factor: a = l lᴴ, or for `upper` a = lᴴ l. b as of solve_triangular(). PyTorch's
// cholesky_solve, SciPy's cho_solve.
Tensor cholesky_solve(const Operand& b, const Operand& l, bool upper = false);
// The inverse of a, given its Cholesky factor. To solve systems cholesky_solve() is faster and more accurate. PyTorch's
// cholesky_inverse.
Tensor cholesky_inverse(const Operand& l, bool upper = false);

// ---- Orthonormal factors and least squares. Types, and errors, are those of Cholesky factors.

// a = q r for a [..., m, n], with orthonormal columns of q and an upper triangle r. With k = min(m, n): q [..., m, k]
// and r [..., k, n] if mode is `reduced`, q [..., m, m] and r [..., m, n] if it is `complete`; for `r` r [..., k, n]
// alone, which takes half of the time, and a q without columns. r's diagonal is real and of any sign, as LAPACK's. A
// matrix with NaN or an infinity has NaN everywhere in q and in r's upper triangle. a's gradient is PyTorch's, for
// m < n that of the first m columns' factors; there is none (Unsupported) of `complete` for m > n, whose last columns
// of q are not determined. NumPy's and PyTorch's qr.
QrResult qr(const Operand& a, QrMode mode = QrMode::reduced);
// The x of a x = b with the least sum of squared magnitudes of b - a x, and for m < n the shortest of those that are
// exact, by QR factors of a [..., m, n] or of its adjoint; a must be of full rank. b is [..., m, k], or [m] for a
// single right side; the axes in front broadcast. Columns are not exchanged, as in LAPACK's gels: for a matrix that is
// not of full rank x is large, infinite or NaN, and only `info` tells, by a diagonal element of r that is no more than
// `rcond` times the largest (by default max(m, n) · 2^-23, of f64 2^-52). It is an estimate: a matrix may be close to
// singular and r's diagonal not show it. NumPy's and PyTorch's lstsq (its driver gels); both of them also solve by
// singular values.
LstsqResult lstsq(const Operand& a, const Operand& b, std::optional<double> rcond = {});

// ---- Eigenvalues and eigenvectors of Hermitian matrices. Types and errors are those of Cholesky factors. Errors of
// the eigenvalues are small beside the largest one of a matrix.

// w and v with a v = v diag(w) for a Hermitian a [..., n, n]: the eigenvalues, ascending, in f32 for c64, and as v's
// columns eigenvectors of norm 1. Only that triangle of a is read, and of the diagonal the real part. Of a matrix with
// NaN or an infinity, and in the unheard-of case that the iteration does not converge, which eigh_ex() tells, nothing
// is thrown; results of the former are NaN. An eigenvector's sign, of c64 its phase, is not normalised: it is the same
// in each run, but another one on another device. So a function that has a gradient must not depend on it, which is not
// checked, unlike in PyTorch. a's gradient is Hermitian, as PyTorch's, and infinite or NaN for equal eigenvalues if it
// is one through eigenvectors. NumPy's and PyTorch's eigh.
EighResult eigh(const Operand& a, bool upper = false);
// The same, and for each matrix whether they were found. LAPACK's info.
EighExResult eigh_ex(const Operand& a, bool upper = false);
// The eigenvalues alone, whose gradient always exists. NumPy's and PyTorch's eigvalsh.
Tensor eigvalsh(const Operand& a, bool upper = false);

// ---- Norms of vectors and matrices. Magnitudes are of x's type, of c64 and of integers and bool f32; sums of f16 and
// bf16 are computed in f32. Gradients are PyTorch's: 0 at 0, and elements of equal magnitude share that of a maximum.
// Throw InvalidArgument (an undefined Tensor) and ShapeError.

// (Σ |x|^ord)^(1/ord) over the axes, all by default: of any ord, also fractions and negative numbers. Of infinity and
// -infinity it is the greatest and the least magnitude, of 0 how many elements are not 0. Of no elements 0, or infinity
// for negative ord. The array API's vector_norm; NumPy's norm with axes.
Tensor vector_norm(const Operand& x, double ord = 2, const Axes& axes = {}, bool keep_dims = false);
// The norm of each matrix, the last two axes of x. Of no rows or columns 0, or infinity for the least of no sums. The
// array API's matrix_norm but for the spectral ones.
Tensor matrix_norm(const Operand& x, MatrixNorm ord = MatrixNorm::fro, bool keep_dims = false);

// ---- Products. Operands are converted to the type that they have in common, which the result has; integers wrap.
// Throw InvalidArgument (an undefined Tensor), ShapeError and TypeError (bool, and types of less than 8 bits).

// The sum of products over the last axis of both: a's other axes, then b's. Nothing is conjugated, unlike in vecdot().
// An operand of rank 0 multiplies the other one. NumPy's inner.
Tensor inner(const Operand& a, const Operand& b);
// The cross product of vectors of 3 elements along an axis of both, counted as in vecdot(); the other axes broadcast.
// The array API's cross.
Tensor cross(const Operand& a, const Operand& b, int axis = -1);
// The Kronecker product: each element of a times all of b, [a's sizes · b's sizes]; of fewer axes than the other one
// has an operand gets more in front. Throws ShapeError for more than 4 axes. NumPy's kron.
Tensor kron(const Operand& a, const Operand& b);
// The product of n copies of each matrix of x [..., m, m], by about 2 · log2(n) products; of n = 0 the identity. Throws
// InvalidArgument for a negative n. NumPy's matrix_power.
Tensor matrix_power(const Operand& x, std::int64_t n);
// The product of two or more matrices in the order that takes the fewest multiplications, which depends on the sizes
// alone. The first one may be a row [n] and the last one a column [n], whose axes the result lacks. Source: Cormen,
// Leiserson, Rivest and Stein, "Introduction to Algorithms", 15.2. NumPy's multi_dot.
Tensor multi_dot(std::span<const Tensor> matrices);
// The same of a list in braces.
Tensor multi_dot(std::initializer_list<Tensor> matrices);

// ---- Parts and forms of matrices. Throw InvalidArgument (an undefined Tensor) and ShapeError.

// x with its last two axes exchanged, of any type: x.T(), a view.
Tensor matrix_transpose(const Operand& x);
// The sum of the diagonal of the last two axes, or of the one that many above it. Types are those of sum(): x is
// converted to `dtype` first, if one is given. The array API's trace; NumPy's is of the first two axes.
Tensor trace(const Operand& x, std::int64_t offset = 0, std::optional<DType> dtype = {});
// Of x [n] the matrix with x on its diagonal, or on the one that many above it, and zeros elsewhere; of a matrix that
// diagonal. Of any type. NumPy's and PyTorch's diag.
Tensor diag(const Operand& x, std::int64_t offset = 0);
// The powers of each element of x [..., n] as a row: [..., n, columns], from x^(columns - 1) down to 1, or `increasing`
// from 1 up; `columns` is n by default. Each is the product of the one before and x. Types are those of prod(). NumPy's
// vander; PyTorch's increases. Throws InvalidArgument for negative columns, TypeError for types that prod() does not
// take.
Tensor vander(const Operand& x, std::optional<std::int64_t> columns = {}, bool increasing = false);

}  // namespace weft
