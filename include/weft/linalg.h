// Linear algebra: systems, inverses and determinants, Cholesky, LU and QR factors, least squares, eigenvalues, singular
// values, norms and products of matrices, with the names of the array API standard, NumPy and SciPy. matmul() is in
// weft/graph.h; outer(), vecdot(), tensordot(), einsum(), tril(), triu() and diagonal() are in weft/array.h.
//
//   Tensor x = solve(a, b);                                     // a x = b
//   Tensor l = cholesky(covariance);                            // covariance = l lᵀ
//   Tensor weights = cholesky_solve(y, l);                      // covariance · weights = y
//   Tensor log_det = 2 * sum(log(diagonal(l)));
//
// Matrices are the last two axes, and those in front are a batch. All functions have derivatives of any order.
//
// Whether a matrix is singular, or not positive definite, is known when it has been computed, and tensors are computed
// when they are read: solve(), inv() and cholesky() throw nothing for it, but the first read of what depends on their
// result throws LinAlgError. In functions that compile() or vmap() traces, and in a Graph, nobody reads, and the
// results that do not exist are NaN. solve_ex(), inv_ex() and cholesky_ex() give NaN everywhere, and say which are so.
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

// LU factors with partial pivoting, of a [..., m, n]: row i of l u is a's row order[i].
struct LuFactors {
  Tensor lu;      // of a's shape: u on and above the diagonal, below it l, whose diagonal is 1
  Tensor pivots;  // i32 [..., min(m, n)]: in step k rows k and pivots[k], counted from 0, were exchanged
  Tensor order;   // i32 [..., m]: what comes of all of these exchanges
  Tensor info;    // i32 [...]: 0, or the order k of the first u(k, k), counted from 1, that is 0
};

// What lu() gives: a = p l u.
struct LuResult {
  Tensor p;  // the permutation [..., m, m], of zeros and ones in a's type
  Tensor l;  // [..., m, k] of k = min(m, n): lower triangular, with a diagonal of ones
  Tensor u;  // [..., k, n]: upper triangular
};

// What solve_ex() and inv_ex() give.
struct SolveResult {
  Tensor x;     // the solution, or the inverse; NaN where there is none
  Tensor info;  // i32 [...]: 0, or for a singular matrix which of its pivots is 0, counted from 1
};

// What slogdet() gives: the determinant is sign · e^logabsdet.
struct SlogdetResult {
  Tensor sign;       // of a's type: 1, -1 or 0, of c64 a number of magnitude 1, or 0
  Tensor logabsdet;  // the logarithm of the magnitude, of c64 in f32; -infinity for a determinant of 0
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

// What lstsq_svd() gives, for k right sides.
struct LstsqSvdResult {
  Tensor solution;         // [..., n, k], or [..., n] of a vector b
  Tensor residuals;        // [..., k], or [...]: the sums of squared magnitudes of b - a · solution
  Tensor rank;             // i32 [...]: how many singular values count as more than 0
  Tensor singular_values;  // [..., min(m, n)], descending, of c64 in f32
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
  Tensor info;  // i32 [...]: 0, or 1 where a has NaN or an infinity, or the iteration did not converge
};

// What eig() gives.
struct EigResult {
  Tensor values;   // c64 [..., n]
  Tensor vectors;  // c64 [..., n, n], as columns
};

// What svd() gives, with k = min(m, n).
struct SvdResult {
  Tensor u;   // [..., m, m], or [..., m, k]: orthonormal columns
  Tensor s;   // [..., k]: the singular values, descending
  Tensor vh;  // [..., n, n], or [..., k, n]: orthonormal rows
};

// Which norm of a matrix.
enum class MatrixNorm : std::uint8_t {
  fro,        // the root of the sum of squared magnitudes
  one,        // the greatest sum of magnitudes of a column
  inf,        // the greatest sum of magnitudes of a row
  minus_one,  // the least sum of a column
  minus_inf,  // the least sum of a row
  two,        // the greatest singular value
  minus_two,  // the least singular value
  nuc,        // the sum of the singular values
};

// ---- Cholesky factors and triangular systems. In f32 and c64, on the cpu also in f64: narrower floats and integers
// are a TypeError, cast them. Operands of two of these types are converted to the type that they have in common. Sums
// are computed in that type, on the cpu without LAPACK in f64. Throw InvalidArgument (an undefined Tensor), ShapeError
// (matrices that are not square, sizes that do not fit, batches that do not broadcast) and TypeError.

// l, lower triangular with a positive diagonal, so that a = l lᴴ; for `upper` u, upper triangular, with a = uᴴ u. a is
// Hermitian and positive definite, of shape [..., n, n]; only that triangle of it is read, and of the diagonal the real
// part. Of another a the factor is NaN in the rows and columns from the first on that does not exist, and reading it
// throws LinAlgError. a's gradient is Hermitian, as PyTorch's. NumPy's and PyTorch's cholesky.
Tensor cholesky(const Operand& a, bool upper = false);
// The same factor, and for each matrix whether it exists: nothing throws. PyTorch's cholesky_ex.
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

// ---- Systems, by LU factors with partial pivoting. Types, conversions and errors are those above.

// x with a x = b, for a square a [..., n, n]. b is [..., n, m], or [n] for a single right side, and x then [..., n];
// the axes in front broadcast. Of a singular a, one of whose pivots is exactly 0, x is NaN, and reading it throws
// LinAlgError; of one that is nearly so x is only inaccurate, which condition_number() tells. NumPy's, PyTorch's and
// the array API's solve.
Tensor solve(const Operand& a, const Operand& b);
// The same solution, and for each matrix of a whether it exists: nothing throws. PyTorch's solve_ex.
SolveResult solve_ex(const Operand& a, const Operand& b);
// The inverse of a [..., n, n]; of a singular one as solve(). To solve systems solve() is faster and more accurate.
// NumPy's, PyTorch's and the array API's inv.
Tensor inv(const Operand& a);
// The same inverse, and for each matrix whether it exists. PyTorch's inv_ex.
SolveResult inv_ex(const Operand& a);
// The determinant of a [..., n, n], [...]: 1 of no rows. It overflows and underflows easily, slogdet() does not. The
// gradient is NaN where a is singular. NumPy's, PyTorch's and the array API's det.
Tensor det(const Operand& a);
// The determinant's sign and the logarithm of its magnitude: see SlogdetResult. The gradient is NaN where a is
// singular. NumPy's, PyTorch's and the array API's slogdet.
SlogdetResult slogdet(const Operand& a);
// The factors in the form in which lu_solve() takes them, of a [..., m, n]. Those of a singular matrix exist. SciPy's
// lu_factor, PyTorch's lu_factor_ex.
LuFactors lu_factor(const Operand& a);
// x with a x = b by a's factors, or with aᴴ x = b: for many systems with one matrix. b is as of solve(); of a singular
// a x is NaN, as solve_ex() gives it. SciPy's and PyTorch's lu_solve.
Tensor lu_solve(const LuFactors& factors, const Operand& b, bool adjoint = false);
// The factors as matrices: see LuResult. PyTorch's lu, SciPy's with its default options.
LuResult lu(const Operand& a);

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
// singular and r's diagonal not show it. PyTorch's lstsq (its driver gels); lstsq_svd() takes any rank.
LstsqResult lstsq(const Operand& a, const Operand& b, std::optional<double> rcond = {});

// ---- Eigenvalues and eigenvectors of Hermitian matrices. Types and errors are those of Cholesky factors. Errors of
// the eigenvalues are small beside the largest one of a matrix.

// w and v with a v = v diag(w) for a Hermitian a [..., n, n]: the eigenvalues, ascending, in f32 for c64, and as v's
// columns eigenvectors of norm 1. Only that triangle of a is read, and of the diagonal the real part. A matrix with NaN
// or an infinity has NaN everywhere in w and v; nothing is thrown, eigh_ex() tells. The sign of an eigenvector, of c64
// its phase, is not normalised: it is the same in each run, but may be another one on another device. A function that
// is differentiated must not depend on it, which nothing tests. a's gradient is Hermitian; where eigenvalues are equal,
// one through eigenvectors is infinite or NaN, as PyTorch's. NumPy's and PyTorch's eigh.
EighResult eigh(const Operand& a, bool upper = false);
// The same, and for each matrix whether they were found. LAPACK's info.
EighExResult eigh_ex(const Operand& a, bool upper = false);
// The eigenvalues alone, whose gradient always exists. NumPy's and PyTorch's eigvalsh.
Tensor eigvalsh(const Operand& a, bool upper = false);

// ---- Eigenvalues and eigenvectors of matrices of any kind, by balancing and QR steps with shifts. In f32 and c64:
// there is no complex type of two f64, so that f64 is a TypeError as narrower floats and integers are, cast them. The
// cpu computes in f64. Other errors are those of Cholesky factors.

// w and v with a v = v diag(w) for a square a [..., n, n]: the eigenvalues in the order of their real parts, equal ones
// in that of the imaginary parts (NumPy's and PyTorch's are in no order), and as v's columns eigenvectors of norm 1,
// with a largest element that is real and positive. Of a real a eigenvalues that are not real are exact pairs of
// conjugates, with vectors that are conjugates too, and a real eigenvalue's vector is real. Where rounding decides the
// order, or which element is the largest, it may be another one on another device. A matrix with NaN or an infinity has
// NaN everywhere in w and v, as has one whose iteration does not converge within 30 n steps; the others of a batch are
// as without it. Multiple eigenvalues of a matrix that lacks eigenvectors (a defective one) are off by the root, square
// or higher, of a rounding, and their vectors are almost the same. On GPUs a workgroup takes each matrix: a single
// large one takes longer there than on a cpu.
//
// a's derivatives are PyTorch's: infinite or NaN where eigenvalues are equal and vectors take part, or vectors are
// linearly dependent; a function that is differentiated must not depend on the phase of vectors, which nothing tests.
// NumPy's and PyTorch's eig.
EigResult eig(const Operand& a);
// The eigenvalues alone, in less time. Their derivatives are infinite or NaN where vectors are linearly dependent.
// NumPy's and PyTorch's eigvals.
Tensor eigvals(const Operand& a);

// ---- Singular values. Types, and errors, are those of Cholesky factors. Of a matrix with NaN or an infinity all
// results are NaN.

// a = u · diag(s) · vh of a [..., m, n]; see SvdResult. With full_matrices u and vh are square, completed by vectors
// that are orthogonal to the others. s is of a's type, of c64 f32. Of each pair of vectors the sign, or the phase, is
// arbitrary, and vectors of equal values are an arbitrary basis of what they span. a's gradient is PyTorch's: infinite
// or NaN if vectors take part and values are equal, or 0 where a is not square; the vectors that only complete u and vh
// have none; and of complex matrices what is differentiated must not depend on the phases of vectors. NumPy's and
// PyTorch's svd.
SvdResult svd(const Operand& a, bool full_matrices = true);
// The singular values [..., min(m, n)] alone, descending, which takes less time. NumPy's and PyTorch's svdvals.
Tensor svdvals(const Operand& a);
// The x of a x = b with the least sum of squared magnitudes of b - a x, and of several the shortest, by the singular
// values of a [..., m, n], of any rank: those of no more than `rcond` times the largest count as 0, by default max(m,
// n) times the distance from 1 to the next number (2^-23, of f64 2^-52). b is [..., m, k], or [m] for a single right
// side; the axes in front broadcast. It takes a multiple of the time of lstsq(), whose results it has where a is of
// full rank. Residuals are given of every rank, where NumPy and PyTorch leave them empty unless m > n. The gradient is
// that of matrices of the same rank. NaN or an infinity in a matrix makes its solution NaN, and its rank 0. Source:
// Golub and Kahan, "Calculating the singular values and pseudo-inverse of a matrix", 1965. NumPy's lstsq, PyTorch's
// with its drivers gelsd and gelss. Throws also InvalidArgument for an rcond that is negative or NaN.
LstsqSvdResult lstsq_svd(const Operand& a, const Operand& b, std::optional<double> rcond = {});
// The pseudo-inverse of Moore and Penrose, [..., n, m]. Singular values of no more than `rtol` times the largest count
// as 0; by default max(m, n) times the distance from 1 to the next number (2^-23, of f64 2^-52). Its gradient is that
// of matrices of the same rank, as PyTorch's. The array API's, NumPy's and PyTorch's pinv.
Tensor pinv(const Operand& a, std::optional<double> rtol = {});
// How many singular values of each matrix are more than `rtol` times the largest, i32; rtol as in pinv(). Of a matrix
// with NaN or an infinity 0. The array API's, NumPy's and PyTorch's matrix_rank.
Tensor matrix_rank(const Operand& a, std::optional<double> rtol = {});
// By how much solving with a magnifies errors: the norm of each matrix times that of its inverse, infinity of a
// singular one. For `two` the greatest singular value over the least, for `minus_two` its inverse; for other norms a is
// square. a is not empty (else ShapeError). NumPy's and PyTorch's cond.
Tensor condition_number(const Operand& a, MatrixNorm ord = MatrixNorm::two);

// ---- Norms of vectors and matrices. Magnitudes are of x's type, of c64 and of integers and bool f32; sums of f16 and
// bf16 are computed in f32. Powers are those of scaled magnitudes: only a norm that its type does not hold overflows.
// Gradients are PyTorch's: 0 at 0, and elements of equal magnitude share that of a maximum. Throw InvalidArgument (an
// undefined Tensor) and ShapeError.

// (Σ |x|^ord)^(1/ord) over the axes, all by default: of any ord, also fractions and negative numbers. Of infinity and
// -infinity it is the greatest and the least magnitude, of 0 how many elements are not 0. Of no elements 0, or infinity
// for negative ord. The array API's vector_norm; NumPy's norm with axes.
Tensor vector_norm(const Operand& x, double ord = 2, const Axes& axes = {}, bool keep_dims = false);
// The norm of each matrix, the last two axes of x. Of no rows or columns 0, or infinity for the least of no sums or
// values. The array API's matrix_norm.
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
// The product of n copies of each matrix of x [..., m, m], by about 2 · log2(n) products; of n = 0 the identity, of a
// negative n the power of the inverse, for which x is f32, c64 or f64. NumPy's matrix_power.
Tensor matrix_power(const Operand& x, std::int64_t n);
// The exponential of each matrix of a [..., n, n], Σ_k aᵏ / k!, by scaling and squaring: in f32 and c64, on the cpu
// also in f64; others are a TypeError, cast them. Its error is a few times n 2^-24 (of f64 2^-53) times the condition
// of the exponential, which is the norm of a or more. Nothing is read to find out how often a matrix is squared: of any
// it takes 21 products of matrices, of f64 30. A matrix with NaN or an infinity, or whose size, in f32 and c64 95,000
// and in f64 10⁷, is such that rounding of its elements decides the result, is NaN; the size is the norm, or the roots
// of the norms of its powers where these are less. Where elements overflow, others may be NaN. SciPy's and PyTorch's
// expm.
Tensor expm(const Operand& a);
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
