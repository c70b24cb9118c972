// Decompositions of matrices into orthonormal factors, and what these solve (weft/linalg.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/matrices.h"
#include "graph/ops/eigh.h"
#include "graph/ops/linalg.h"
#include "graph/ops/qr.h"
#include "graph/ops/svd.h"
#include "graph/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/linalg.h"

namespace weft {

// ---- Orthonormal factors and least squares

QrResult qr(const Operand& a, QrMode mode) try {
  require_matrices(a, "qr", "a");
  require_rank(a, 2, "qr", "a");
  const Tensor q = apply(make_op<QrOp>(kernels::QrOptions{mode}), {a});
  return {q, result(q, 1)};
} catch (const Error& e) {
  throw_in_function(e, "qr");
}

namespace {

// Of each triangle 0, or the place, counted from 1, of the first element on its diagonal that is no more than `rcond`
// times the largest one.
Tensor first_negligible(const Tensor& r, double rcond) {
  const Tensor size = abs(diagonal(r));
  Shape batch = size.shape();
  batch.pop_back();
  if (size.shape()[-1] == 0) return zeros_of({DType::i32, batch});
  const Tensor negligible = logical_not(greater(size, max(size, {-1}, true) * rcond));
  const Tensor first = cast(argmax(cast(negligible, DType::i32), -1), DType::i32) + 1;
  return where(reduce(ReduceKind::any, negligible, {-1}, false), first, Graph::scalar(0, DType::i32));
}

}  // namespace

LstsqResult lstsq(const Operand& a, const Operand& b, std::optional<double> rcond) try {
  constexpr std::string_view kName = "lstsq";
  require_matrices(a, kName, "a");
  require_matrices(b, kName, "b");
  require_rank(a, 2, kName, "a");
  require_rank(b, 1, kName, "b");
  const std::vector<Tensor> same = same_type(kName, a, b);
  const Tensor& matrix = same[0];
  const bool vector = b.rank() == 1;
  const Tensor sides = vector ? expand_dims(same[1], 1) : same[1];
  const std::int64_t m = matrix.shape()[-2], n = matrix.shape()[-1];
  if (sides.shape()[-2] != m) {
    throw ShapeError("{}: a is {} and b {}; expected b with {} rows", kName, to_string(a.type()), to_string(b.type()),
                     m);
  }
  if (!rcond) rcond = std::ldexp(static_cast<double>(std::max(m, n)), matrix.dtype() == DType::f64 ? -52 : -23);
  const auto [q, r] = qr(m >= n ? matrix : adjoint(matrix));
  Tensor x = m >= n ? solve_triangular(r, matmul(adjoint(q), sides), {.upper = true})
                    : matmul(q, solve_triangular(r, sides, {.upper = true, .adjoint = true}));
  Tensor residuals = reduce(ReduceKind::sum_squares, abs(sides - matmul(matrix, x)), {-2}, false);
  if (vector) {
    x = squeeze(x, -1);
    residuals = squeeze(residuals, -1);
  }
  return {x, residuals, first_negligible(r, *rcond)};
} catch (const Error& e) {
  throw_in_function(e, "lstsq");
}

// ---- Eigenvalues

EighExResult eigh_ex(const Operand& a, bool upper) try {
  require_matrices(a, "eigh_ex", "a");
  require_square(a, "eigh_ex", "a");
  const Tensor values = apply(make_op<EighOp>(EighAttributes{{upper}, true}), {a});
  return {values, result(values, 2), result(values, 1)};
} catch (const Error& e) {
  throw_in_function(e, "eigh_ex");
}

EighResult eigh(const Operand& a, bool upper) {
  return in_function("eigh", [&]() -> EighResult {
    const EighExResult all = eigh_ex(a, upper);
    return {all.values, all.vectors};
  });
}

Tensor eigvalsh(const Operand& a, bool upper) try {
  require_matrices(a, "eigvalsh", "a");
  require_square(a, "eigvalsh", "a");
  return apply(make_op<EighOp>(EighAttributes{{upper}, false}), {a});
} catch (const Error& e) {
  throw_in_function(e, "eigvalsh");
}

// ---- Singular values

SvdResult svd(const Operand& a, bool full_matrices) try {
  require_matrices(a, "svd", "a");
  require_rank(a, 2, "svd", "a");
  const Tensor u = apply(make_op<SvdOp>(kernels::SvdOptions{full_matrices}), {a});
  return {u, result(u, 1), result(u, 2)};
} catch (const Error& e) {
  throw_in_function(e, "svd");
}

Tensor svdvals(const Operand& a) try {
  require_matrices(a, "svdvals", "a");
  require_rank(a, 2, "svdvals", "a");
  return apply(make_op<SvdvalsOp>(SvdvalsAttributes{}), {a});
} catch (const Error& e) {
  throw_in_function(e, "svdvals");
}

namespace {

// Which singular values [..., k] of a count as more than 0.
Tensor counts(const Tensor& s, const Tensor& a, std::optional<double> rtol, std::string_view function) {
  if (!rtol) {
    const std::int64_t size = std::max(a.shape()[-2], a.shape()[-1]);
    rtol = std::ldexp(static_cast<double>(size), a.dtype() == DType::f64 ? -52 : -23);
  }
  if (std::isnan(*rtol)) throw InvalidArgument("{}: rtol is NaN", function);
  return greater(s, extreme(s, true, {-1}, true) * *rtol);
}

}  // namespace

Tensor pinv(const Operand& a, std::optional<double> rtol) try {
  require_matrices(a, "pinv", "a");
  require_rank(a, 2, "pinv", "a");
  const auto [u, s, vh] = svd(a, false);
  const Tensor positive = counts(s, a, rtol, "pinv");
  const Tensor inverse = select(positive, 1 / select(positive, s, 1), 0);
  const Tensor y = matmul(adjoint(vh) * expand_dims(cast(inverse, u.dtype()), -2), adjoint(u));
  return pseudo_inverse(a, y);
} catch (const Error& e) {
  throw_in_function(e, "pinv");
}

Tensor matrix_rank(const Operand& a, std::optional<double> rtol) try {
  require_matrices(a, "matrix_rank", "a");
  require_rank(a, 2, "matrix_rank", "a");
  return count_nonzero(counts(svdvals(a), a, rtol, "matrix_rank"), {-1});
} catch (const Error& e) {
  throw_in_function(e, "matrix_rank");
}

Tensor condition_number(const Operand& a, MatrixNorm ord) try {
  require_matrices(a, "condition_number", "a");
  require_rank(a, 2, "condition_number", "a");
  const bool of_two = ord == MatrixNorm::two || ord == MatrixNorm::minus_two;
  if (!of_two) require_square(a, "condition_number", "a");
  if (a.shape()[-2] == 0 || a.shape()[-1] == 0) {
    throw ShapeError("condition_number: a is {}; expected matrices that are not empty", to_string(a.type()));
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!is_spectral(ord) && ord != MatrixNorm::fro) {
    const auto [inverse, info] = inv_ex(a);
    return select(equal(info, 0), matrix_norm(a, ord) * matrix_norm(inverse, ord), kInfinity);
  }
  const Tensor s = svdvals(a), least = extreme(s, false, {-1}, false), greatest = extreme(s, true, {-1}, false);
  const auto over = [](const Tensor& x, const Tensor& by) { return select(equal(by, 0), kInfinity, x / by); };
  if (ord == MatrixNorm::two) return over(greatest, least);
  if (ord == MatrixNorm::minus_two) return over(least, greatest);
  return select(equal(least, 0), kInfinity, spectral_norm(s, ord) * spectral_norm(1 / s, ord));
} catch (const Error& e) {
  throw_in_function(e, "condition_number");
}

}  // namespace weft
