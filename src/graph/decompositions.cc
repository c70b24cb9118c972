// Decompositions of matrices into orthonormal factors, and what these solve (weft/linalg.h).
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/matrices.h"
#include "graph/ops/eigh.h"
#include "graph/ops/linalg.h"
#include "graph/ops/qr.h"
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

}  // namespace weft
