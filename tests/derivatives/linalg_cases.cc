#include <array>
#include <cmath>
#include <format>
#include <limits>

#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/call.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {

void add_linalg_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<Tensor(Operands)> f,
                       double apart = 0) {
    cases.push_back({.name = std::move(name),
                     .shapes = std::move(shapes),
                     .function = [f](Operands x) { return std::vector{f(x)}; },
                     .apart = apart});
  };
  const auto definite = [](const Tensor& x) { return matmul(x, x.T()) * 0.25 + eye(x.shape()[-2], x.dtype()); };
  const auto far_from_singular = [](const Tensor& x) { return x * 0.5 + 2 * eye(x.shape()[-1], x.dtype()); };
  add("cholesky", {{4, 4}}, [=](Operands x) { return cholesky(definite(x[0])); });
  add("cholesky_upper", {{2, 3, 3}}, [=](Operands x) { return cholesky(definite(x[0]), true); });
  add("cholesky_of_one", {{3, 1, 1}}, [](Operands x) { return cholesky(square(x[0]) + 1); });
  add("cholesky_empty", {{2, 0, 0}}, [](Operands x) { return cholesky(x[0]); });
  add("cholesky_batch", {{2, 1, 3, 2}}, [=](Operands x) { return cholesky(definite(x[0])); });
  // Larger than a block of the GPU's kernels. Sums over 70 terms are off by more.
  cases.push_back({.name = "cholesky_blocks",
                   .shapes = {{70, 2}, {70}},
                   .function =
                       [](Operands x) {
                         const Tensor a = matmul(x[0], x[0].T()) * 0.1 + diag(square(x[1]) + 2);
                         return std::vector{cholesky(a)};
                       },
                   .tolerance = 20});
  add("cholesky_solve", {{3, 3}, {3, 2}}, [=](Operands x) { return cholesky_solve(x[1], cholesky(definite(x[0]))); });
  add("cholesky_solve_vector", {{3, 3}, {3}},
      [=](Operands x) { return cholesky_solve(x[1], cholesky(definite(x[0]), true), true); });
  add("cholesky_inverse", {{3, 3}}, [=](Operands x) { return cholesky_inverse(cholesky(definite(x[0]))); });
  add("log_likelihood", {{4, 4}, {4}}, [=](Operands x) {
    const Tensor l = cholesky(definite(x[0]));
    return sum(square(solve_triangular(l, x[1]))) + 2 * sum(log(diagonal(l)));
  });
  for (const bool upper : {false, true}) {
    for (const bool adjoint : {false, true}) {
      for (const bool unit : {false, true}) {
        const TriangularSolveOptions o{upper, adjoint, unit};
        const std::string name =
            std::string("solve") + (upper ? "_upper" : "_lower") + (adjoint ? "_adjoint" : "") + (unit ? "_unit" : "");
        add(name, {{3, 3}, {3, 2}}, [=](Operands x) { return solve_triangular(far_from_singular(x[0]), x[1], o); });
      }
    }
  }
  add("solve_vector", {{3, 3}, {3}}, [=](Operands x) { return solve_triangular(far_from_singular(x[0]), x[1]); });
  add("solve_of_one", {{1, 1}, {1, 4}}, [=](Operands x) { return solve_triangular(square(x[0]) + 1, x[1]); });
  add("solve_empty", {{2, 0, 0}, {0, 3}}, [](Operands x) { return solve_triangular(x[0], x[1]); });
  // One matrix for many right sides, many for one, and both.
  add("solve_one_matrix", {{3, 3}, {2, 3, 2}},
      [=](Operands x) { return solve_triangular(far_from_singular(x[0]), x[1], {.upper = true}); });
  add("solve_one_side", {{2, 3, 3}, {3, 2}},
      [=](Operands x) { return solve_triangular(far_from_singular(x[0]), x[1], {.adjoint = true}); });
  add("solve_broadcast", {{2, 1, 2, 2}, {3, 2, 2}},
      [=](Operands x) { return solve_triangular(far_from_singular(x[0]), x[1]); });
  add("solve_itself", {{3, 3}}, [=](Operands x) {
    const Tensor a = far_from_singular(x[0]);
    return solve_triangular(a, a, {.upper = true});
  });
  add("solve_by_name", {{3, 3}, {3, 2}},
      [=](Operands x) { return call("triangular_solve", std::array<Tensor, 2>{far_from_singular(x[0]), x[1]})[0]; });

  // The pivots of these matrices do not change where derivatives are measured.
  const auto pivoted = [](const Tensor& x) {
    const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
    return x * 0.2 + flip(eye(m, n, x.dtype()), {-2}) * 2;
  };
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 4, 2}, Shape{2, 4}, Shape{1, 1}}) {
    add(std::format("lu_{}_{}", shape[-2], shape[-1]), {shape},
        [=](Operands x) { return lu_factor(pivoted(x[0])).lu; });
  }
  add("lu_empty", {{0, 2}}, [](Operands x) { return lu_factor(x[0]).lu; });
  add("lu_parts", {{3, 4}}, [=](Operands x) {
    const auto [p, l, u] = lu(pivoted(x[0]));
    return matmul(l, u) + matmul(square(l), sin(u));
  });
  add("systems", {{3, 3}, {3, 2}}, [=](Operands x) { return solve(pivoted(x[0]), x[1]); });
  add("systems_vector", {{2, 3, 3}, {3}}, [=](Operands x) { return solve(pivoted(x[0]), x[1]); });
  add("systems_broadcast", {{2, 1, 2, 2}, {3, 2, 2}}, [=](Operands x) { return solve(pivoted(x[0]), x[1]); });
  add("systems_one_matrix", {{3, 3}, {2, 3, 1}}, [=](Operands x) { return solve(pivoted(x[0]), x[1]); });
  add("systems_empty", {{0, 0}, {0, 2}}, [=](Operands x) { return solve(x[0], x[1]); });
  add("systems_of_itself", {{3, 3}}, [=](Operands x) { return solve(pivoted(x[0]), sin(x[0])); });
  for (const bool turned : {false, true}) {
    add(turned ? "lu_solve_adjoint" : "lu_solve", {{3, 3}, {3, 2}},
        [=](Operands x) { return lu_solve(lu_factor(pivoted(x[0])), x[1], turned); });
    add(turned ? "solution_adjoint" : "solution", {{3, 3}, {3, 2}}, [=](Operands x) {
      const Tensor a = pivoted(x[0]);
      const LuFactors f = lu_factor(a);
      const Tensor y = lu_solve({stop_gradient(f.lu), f.pivots, f.order, f.info}, stop_gradient(x[1]), turned);
      const AttributeMap attributes{{"adjoint", Number(turned)}};
      return call("solution", std::array<Tensor, 6>{stop_gradient(y), a, x[1], stop_gradient(f.lu), f.order, f.info},
                  attributes)[0];
    });
  }
  add("checked", {{2, 3}}, [](Operands x) {
    return call("checked", std::array<Tensor, 2>{sin(x[0]), zeros({2}, DType::i32)},
                {{"failure", std::string("inv")}})[0];
  });
  add("inverse", {{2, 3, 3}}, [=](Operands x) { return inv(pivoted(x[0])); });
  add("power_of_inverse", {{2, 2}}, [=](Operands x) { return matrix_power(pivoted(x[0]), -2); });
  add("determinant", {{2, 3, 3}}, [=](Operands x) { return det(pivoted(x[0])); });
  add("determinant_of_one", {{1, 1}}, [](Operands x) { return det(x[0]); });
  add("log_of_determinant", {{3, 3}}, [=](Operands x) { return slogdet(pivoted(x[0])).logabsdet; });

  for (const double order : {2.0, 1.0, 3.0, 1.5, 0.5, -1.0}) {
    const std::string name = std::format("vector_norm_{}{}", order < 0 ? "minus_" : "", std::abs(10 * order));
    add(name, {{2, 5}}, [=](Operands x) { return vector_norm(x[0], order, 1); }, 0.2);
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  add("vector_norm_inf", {{2, 5}}, [=](Operands x) { return vector_norm(x[0], kInfinity, 1, true); }, 0.2);
  add("vector_norm_minus_inf", {{2, 5}}, [=](Operands x) { return vector_norm(x[0], -kInfinity); }, 0.2);
  add("matrix_norm", {{2, 3, 4}}, [](Operands x) { return matrix_norm(x[0]); });
  add("matrix_norm_one", {{2, 2, 3}}, [](Operands x) { return matrix_norm(x[0], MatrixNorm::one); }, 0.2);
  add(
      "matrix_norm_minus_inf", {{2, 2, 3}}, [](Operands x) { return matrix_norm(x[0], MatrixNorm::minus_inf, true); },
      0.2);
  add("inner", {{2, 3}, {4, 3}}, [](Operands x) { return inner(x[0], x[1]); });
  add("cross", {{2, 3}, {3}}, [](Operands x) { return cross(x[0], x[1]); });
  add("kron", {{2, 3}, {2, 1, 2}}, [](Operands x) { return kron(x[0], x[1]); });
  add("trace", {{2, 3, 4}}, [](Operands x) { return square(trace(x[0], 1)); });
  add("matrix_power", {{2, 2, 2}}, [](Operands x) { return matrix_power(x[0], 5); });
  add("multi_dot", {{3}, {3, 4}, {4, 1}, {1, 2}}, [](Operands x) { return multi_dot(x); });
  add("diag", {{3}}, [](Operands x) { return square(diag(x[0], -1)); });
  add("vander", {{3}}, [](Operands x) { return vander(x[0], 4); });
}

}  // namespace weft::test
