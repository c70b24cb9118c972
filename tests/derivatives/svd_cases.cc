#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {

// The diagonal keeps values apart; what is differentiated does not depend on the signs of vectors.
void add_svd_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<std::vector<Tensor>(Operands)> f,
                       double tolerance = 1) {
    cases.push_back(
        {.name = std::move(name), .shapes = std::move(shapes), .function = std::move(f), .tolerance = tolerance});
  };
  const auto apart = [](const Tensor& x) {
    const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
    return x * 0.25 + eye(m, n, x.dtype()) * cast(arange(1, n + 1), x.dtype());
  };
  const auto all = [](const SvdResult& f) {
    const std::int64_t k = f.s.shape()[-1];
    const Tensor u = slice(f.u, f.u.rank() - 1, 0, k), vh = slice(f.vh, f.vh.rank() - 2, 0, k);
    return std::vector{f.s, square(u), square(vh), matmul(u, vh)};
  };
  add("svd", {{3, 3}}, [=](Operands x) { return all(svd(apart(x[0]))); }, 4);
  add("svd_tall", {{2, 4, 2}}, [=](Operands x) { return all(svd(apart(x[0]), false)); }, 4);
  add("svd_wide", {{2, 4}}, [=](Operands x) { return all(svd(apart(x[0]), false)); }, 4);
  add("svd_full", {{4, 2}}, [=](Operands x) { return all(svd(apart(x[0]))); }, 4);
  add("svd_u", {{3, 2}}, [=](Operands x) { return std::vector{square(svd(apart(x[0]), false).u)}; }, 4);
  add("svd_vh", {{2, 3}}, [=](Operands x) { return std::vector{square(svd(apart(x[0]), false).vh)}; }, 4);
  add("svd_s", {{3, 2}}, [=](Operands x) { return std::vector{svd(apart(x[0]), false).s}; });
  add("svd_of_one", {{2, 1, 1}}, [=](Operands x) { return all(svd(square(x[0]) + 1)); });
  add("svd_row", {{1, 3}}, [=](Operands x) { return all(svd(apart(x[0]), false)); });
  add("svd_empty", {{2, 0, 0}}, [=](Operands x) { return all(svd(x[0])); });
  add("svd_no_columns", {{3, 0}}, [=](Operands x) { return all(svd(x[0], false)); });
  add("svdvals", {{2, 3, 2}}, [=](Operands x) { return std::vector{svdvals(apart(x[0]))}; });
  add("svdvals_wide", {{2, 4}}, [=](Operands x) { return std::vector{svdvals(apart(x[0]))}; });
  add("svdvals_empty", {{0, 3}}, [=](Operands x) { return std::vector{svdvals(x[0])}; });
  add("pinv", {{4, 2}}, [=](Operands x) { return std::vector{pinv(apart(x[0]))}; });
  add("pinv_wide", {{2, 2, 3}}, [=](Operands x) { return std::vector{pinv(apart(x[0]))}; });
  // Of rank 2, which stays.
  add(
      "pinv_of_lower_rank", {{4, 2}, {2, 3}},
      [=](Operands x) { return std::vector{pinv(matmul(apart(x[0]), apart(x[1])), 1e-4)}; }, 4);
  add("lstsq_svd", {{4, 2}, {4, 2}}, [=](Operands x) {
    const LstsqSvdResult y = lstsq_svd(apart(x[0]), x[1]);
    return std::vector{y.solution, y.residuals, y.singular_values};
  });
  add("lstsq_svd_wide", {{2, 2, 3}, {2}},
      [=](Operands x) { return std::vector{lstsq_svd(apart(x[0]), x[1]).solution}; });
  // Of rank 2, which stays.
  add(
      "lstsq_svd_of_lower_rank", {{4, 2}, {2, 3}, {4, 1}},
      [=](Operands x) { return std::vector{lstsq_svd(matmul(apart(x[0]), apart(x[1])), x[2], 1e-4).solution}; }, 4);
  add("matrix_norm_two", {{2, 3, 2}},
      [=](Operands x) { return std::vector{matrix_norm(apart(x[0]), MatrixNorm::two)}; });
  add("matrix_norm_minus_two", {{2, 3}},
      [=](Operands x) { return std::vector{matrix_norm(apart(x[0]), MatrixNorm::minus_two, true)}; });
  add("matrix_norm_nuc", {{3, 3}}, [=](Operands x) { return std::vector{matrix_norm(apart(x[0]), MatrixNorm::nuc)}; });
  add("condition", {{3, 2}}, [=](Operands x) { return std::vector{condition_number(apart(x[0]))}; });
  add("condition_fro", {{2, 3, 3}},
      [=](Operands x) { return std::vector{condition_number(apart(x[0]), MatrixNorm::fro)}; });
  add("condition_nuc", {{2, 2}},
      [=](Operands x) { return std::vector{condition_number(apart(x[0]), MatrixNorm::nuc)}; });
}

}  // namespace weft::test
