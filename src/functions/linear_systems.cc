// Systems, inverses and determinants by LU factors (weft/linalg.h).
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/format.h"
#include "functions/matrices.h"
#include "graph/graph.h"
#include "ops/function_row.h"
#include "ops/linalg.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/linalg.h"

namespace weft {
namespace {

void require_system(const Tensor& a, const Tensor& b, std::string_view function) {
  require_matrices(a, function, "a");
  require_square(a, function, "a");
  require_matrices(b, function, "b");
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

constexpr std::string_view kSameShape = "a's shape", kSameType = "a's type", kCommonType = "the common type";
constexpr std::string_view kBatch = "[...]", kInteger = "i32";

// ---- Systems and inverses

constexpr Function kSolveEx = {{.name = "solve_ex",
                                .operands = {kSquare, kSides},
                                .results = {{"x", kSolution, kCommonType}, {"info", kBatch, kInteger}},
                                .formula = "a x = b",
                                .summary = "the solution of a system, and whether it exists"},
                               [](const Tensor& a, const Tensor& b) -> SolveResult {
                                 constexpr std::string_view kName = "solve_ex";
                                 require_system(a, b, kName);
                                 const std::vector<Tensor> same = same_type(kName, a, b);
                                 const LuFactors f = factors_of(same[0]);
                                 const Tensor x = with_columns(
                                     same[1], [&](const Tensor& sides) { return solution(f, same[0], sides, false); });
                                 return {x, f.info};
                               }};
constexpr Function kSolve = {{.name = "solve",
                              .operands = {kSquare, kSides},
                              .results = {{"x", kSolution, kCommonType}},
                              .formula = "a x = b",
                              .summary = "the solution of a system"},
                             [](const Tensor& a, const Tensor& b) {
                               const auto [x, info] = solve_ex(a, b);
                               return checked(x, info, Failure::solve);
                             }};
constexpr Function kInvEx = {{.name = "inv_ex",
                              .operands = {kSquare},
                              .results = {{"x", kSameShape, kSameType}, {"info", kBatch, kInteger}},
                              .formula = "x = a⁻¹",
                              .summary = "the inverse of a matrix, and whether it exists"},
                             [](const Tensor& a) {
                               require_matrices(a, "inv_ex", "a");
                               require_square(a, "inv_ex", "a");
                               return solve_ex(a, identity(a.shape()[-1], a.dtype()));
                             }};
constexpr Function kInv = {{.name = "inv",
                            .operands = {kSquare},
                            .results = {{"x", kSameShape, kSameType}},
                            .formula = "x = a⁻¹",
                            .summary = "the inverse of a matrix"},
                           [](const Tensor& a) {
                             const auto [x, info] = inv_ex(a);
                             return checked(x, info, Failure::inv);
                           }};

// ---- Factors

constexpr Function kLuFactor = {{.name = "lu_factor",
                                 .operands = {kMatrix},
                                 .results = {{"lu", kSameShape, kSameType},
                                             {"pivots", "[..., min(m, n)]", kInteger},
                                             {"order", "[..., m]", kInteger},
                                             {"info", kBatch, kInteger}},
                                 .formula = "a[order[i]] = (l u)[i], lu = l - 1 + u",
                                 .summary = "the LU factors, as lu_solve() takes them"},
                                [](const Tensor& a) {
                                  require_matrices(a, "lu_factor", "a");
                                  return factors_of(a);
                                }};

struct AdjointAttributes {
  bool adjoint = false;
  void fields(AttributeVisitor& v) { v("adjoint", adjoint, false, "solves with the conjugate transpose of a"); }
};
constexpr Function kLuSolve = {
    {.name = "lu_solve",
     .operands = {{.name = "lu", .min_rank = 2, .shape = "[..., n, n]"},
                  {.name = "pivots", .arity = Arity::optional, .shape = "as lu_factor() gives them; not read"},
                  {.name = "order", .shape = "[..., n]"},
                  {.name = "info", .shape = "[...]"},
                  kSides},
     .results = {{"x", kSolution, "the factors' type"}},
     .formula = "a x = b; adjoint: aᴴ x = b",
     .summary = "the solution of a system by its LU factors"},
    [](const Tensor& lu, const Tensor& pivots, const Tensor& order, const Tensor& info, const Tensor& b,
       const AdjointAttributes& o) {
      require_system(lu, b, "lu_solve");
      // Not solution(), which knows of the matrix itself: derivatives go through the factors.
      return with_columns(cast(b, lu.dtype()),
                          [&](const Tensor& sides) { return solved_by({lu, pivots, order, info}, sides, o.adjoint); });
    }};

constexpr Function kLu = {{.name = "lu",
                           .operands = {kMatrix},
                           .results = {{"p", "[..., m, m]", kSameType},
                                       {"l", "[..., m, min(m, n)]", kSameType},
                                       {"u", "[..., min(m, n), n]", kSameType}},
                           .formula = "a = p l u",
                           .summary = "a permutation and two triangular factors whose product is the matrix"},
                          [](const Tensor& a) -> LuResult {
                            const auto [lu, pivots, order, info] = lu_factor(a);
                            const std::int64_t m = a.shape()[-2], n = a.shape()[-1], k = std::min(m, n);
                            const Tensor l = triangle(slice(lu, -1, 0, k), Triangle::lower, -1) + eye(m, k, a.dtype());
                            const Tensor u = triangle(slice(lu, -2, 0, k), Triangle::upper);
                            // Column i has its one in row order[i].
                            const Tensor p = expand_dims(order, -2) == expand_dims(arange(0, m, 1, DType::i32), -1);
                            return {cast(p, a.dtype()), l, u};
                          }};

// ---- Determinants

constexpr Function kDet = {{.name = "det",
                            .operands = {kSquare},
                            .results = {{"y", kBatch, kSameType}},
                            .formula = "y = det(a)",
                            .summary = "the determinant of a matrix"},
                           [](const Tensor& a) {
                             require_matrices(a, "det", "a");
                             require_square(a, "det", "a");
                             const LuFactors f = factors_of(a);
                             return prod(diagonal(f.lu), -1) * parity(f.pivots, a.dtype());
                           }};
constexpr Function kSlogdet = {{.name = "slogdet",
                                .operands = {kSquare},
                                .results = {{"sign", kBatch, kSameType}, {"logabsdet", kBatch, "a's type, of c64 f32"}},
                                .formula = "det(a) = sign · e^logabsdet",
                                .summary = "the sign of the determinant and the logarithm of its magnitude"},
                               [](const Tensor& a) -> SlogdetResult {
                                 require_matrices(a, "slogdet", "a");
                                 require_square(a, "slogdet", "a");
                                 const LuFactors f = factors_of(a);
                                 const Tensor d = diagonal(f.lu);
                                 return {prod(direction(d), -1) * parity(f.pivots, a.dtype()), sum(log(abs(d)), -1)};
                               }};

}  // namespace

void add_linear_systems_functions(FunctionRows& rows) {
  rows.add(kSolve, kSolveEx, kInv, kInvEx);
  rows.add(kLuFactor, kLuSolve, kLu);
  rows.add(kDet, kSlogdet);
}

// ---- The functions

Tensor solve(const Operand& a, const Operand& b) { return kSolve(a, b); }
SolveResult solve_ex(const Operand& a, const Operand& b) { return kSolveEx(a, b); }
Tensor inv(const Operand& a) { return kInv(a); }
SolveResult inv_ex(const Operand& a) { return kInvEx(a); }
LuFactors lu_factor(const Operand& a) { return kLuFactor(a); }
Tensor lu_solve(const LuFactors& factors, const Operand& b, bool adjoint) {
  return kLuSolve(factors.lu, factors.pivots, factors.order, factors.info, b, {adjoint});
}
LuResult lu(const Operand& a) { return kLu(a); }
Tensor det(const Operand& a) { return kDet(a); }
SlogdetResult slogdet(const Operand& a) { return kSlogdet(a); }

}  // namespace weft
