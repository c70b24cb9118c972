// Systems, inverses and determinants by LU factors (weft/linalg.h).
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/matrices.h"
#include "graph/ops/linalg.h"
#include "graph/rules.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/linalg.h"

namespace weft {
namespace {

LuFactors factors_of(const Tensor& a) {
  const Tensor lu = apply(make_op<LuOp>(LuAttributes()), {a});
  return {lu, result(lu, 1), result(lu, 2), result(lu, 3)};
}

void require_system(const Tensor& a, const Tensor& b, std::string_view function) {
  require_matrices(a, function, "a");
  require_square(a, function, "a");
  require_matrices(b, function, "b");
  require_rank(b, 1, function, "b");
  const std::int64_t n = a.shape()[-1], rows = b.rank() == 1 ? b.shape()[0] : b.shape()[-2];
  if (rows == n) return;
  throw ShapeError("{}: a is {} and b {}, which has {} rows, expected {}", function, to_string(a.type()),
                   to_string(b.type()), rows, n);
}

// -1 for an odd number of exchanges, else 1, in that type.
Tensor parity(const Tensor& pivots, DType type) {
  const Tensor moved = pivots != arange(0, pivots.shape()[-1], 1, DType::i32);
  return cast(prod(select(moved, -1, 1), -1), type);
}

// 1 for a positive number, of complex numbers x / |x|, and 0 for 0.
Tensor direction(const Tensor& x) {
  if (x.dtype() != DType::c64) return sign(x);
  const Tensor size = abs(x), zero = size == 0;
  return select(zero, zeros_like(x), x / cast(select(zero, ones_like(size), size), x.dtype()));
}

}  // namespace

SolveResult solve_ex(const Operand& a, const Operand& b) try {
  constexpr std::string_view kName = "solve_ex";
  require_system(a, b, kName);
  const std::vector<Tensor> same = same_type(kName, a, b);
  const LuFactors f = factors_of(same[0]);
  const Tensor x = with_columns(same[1], [&](const Tensor& sides) { return solution(f, same[0], sides, false); });
  return {x, f.info};
} catch (const Error& e) {
  throw_in_function(e, "solve_ex");
}

Tensor solve(const Operand& a, const Operand& b) {
  return in_function("solve", [&] {
    const auto [x, info] = solve_ex(a, b);
    return checked(x, info, Failure::solve);
  });
}

SolveResult inv_ex(const Operand& a) try {
  require_matrices(a, "inv_ex", "a");
  require_square(a, "inv_ex", "a");
  return solve_ex(a, identity(a.shape()[-1], a.dtype()));
} catch (const Error& e) {
  throw_in_function(e, "inv_ex");
}

Tensor inv(const Operand& a) {
  return in_function("inv", [&] {
    const auto [x, info] = inv_ex(a);
    return checked(x, info, Failure::inv);
  });
}

LuFactors lu_factor(const Operand& a) try {
  require_matrices(a, "lu_factor", "a");
  require_rank(a, 2, "lu_factor", "a");
  return factors_of(a);
} catch (const Error& e) {
  throw_in_function(e, "lu_factor");
}

Tensor lu_solve(const LuFactors& factors, const Operand& b, bool adjoint) try {
  const Tensor& lu = factors.lu;
  require_system(lu, b, "lu_solve");
  for (const Tensor& t : {factors.order, factors.info}) require(t, "lu_solve", "of the factors, order or info");
  // Not solution(), which knows of the matrix itself: derivatives go through the factors.
  return with_columns(cast(b, lu.dtype()), [&](const Tensor& sides) { return solved_by(factors, sides, adjoint); });
} catch (const Error& e) {
  throw_in_function(e, "lu_solve");
}

LuResult lu(const Operand& a) try {
  const auto [lu, pivots, order, info] = lu_factor(a);
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], k = std::min(m, n);
  const Tensor l = triangle(slice(lu, -1, 0, k), Triangle::lower, -1) + eye(m, k, a.dtype());
  const Tensor u = triangle(slice(lu, -2, 0, k), Triangle::upper);
  // Column i has its one in row order[i].
  const Tensor p = expand_dims(order, -2) == expand_dims(arange(0, m, 1, DType::i32), -1);
  return {cast(p, a.dtype()), l, u};
} catch (const Error& e) {
  throw_in_function(e, "lu");
}

Tensor det(const Operand& a) try {
  require_matrices(a, "det", "a");
  require_square(a, "det", "a");
  const LuFactors f = factors_of(a);
  return prod(diagonal(f.lu), -1) * parity(f.pivots, a.dtype());
} catch (const Error& e) {
  throw_in_function(e, "det");
}

SlogdetResult slogdet(const Operand& a) try {
  require_matrices(a, "slogdet", "a");
  require_square(a, "slogdet", "a");
  const LuFactors f = factors_of(a);
  const Tensor d = diagonal(f.lu);
  return {prod(direction(d), -1) * parity(f.pivots, a.dtype()), sum(log(abs(d)), -1)};
} catch (const Error& e) {
  throw_in_function(e, "slogdet");
}

}  // namespace weft
