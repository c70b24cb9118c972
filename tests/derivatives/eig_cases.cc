#include <array>

#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/call.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {

// Functions that no phase of an eigenvector changes, of matrices whose eigenvalues are apart; and matrix exponentials.
void add_eig_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  // Eigenvalues are c64, whatever the type: there is none of f64.
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<Tensor(Operands)> f) {
    cases.push_back({.name = std::move(name),
                     .shapes = std::move(shapes),
                     .function = [f](Operands x) { return std::vector{f(x)}; },
                     .on_f64 = false});
  };
  const auto apart = [](const Tensor& x) {
    const std::int64_t n = x.shape()[-1];
    return x * 0.2 + diag(linspace(0, 3.0 * static_cast<double>(n - 1), n, x.dtype()));
  };
  // With pairs of conjugates: a skew matrix is far larger.
  const auto turning = [](const Tensor& x) {
    const std::int64_t n = x.shape()[-1];
    const Tensor turn = diag(linspace(4, 2.0 + 2.0 * static_cast<double>(n), n - 1, x.dtype()), 1);
    return x * 0.2 + (turn - turn.T());
  };
  add("eigvals", {{4, 4}}, [=](Operands x) { return real(eigvals(apart(x[0]))); });
  add("eigvals_of_pairs", {{4, 4}}, [=](Operands x) { return square(imag(eigvals(turning(x[0])))) * 0.1; });
  add("eigvals_complex", {{2, 3, 3}, {2, 3, 3}}, [=](Operands x) {
    const Tensor w = eigvals(complex(apart(x[0]), x[1] * 0.2));
    return concat({real(w), imag(w)}, -1);
  });
  add("eig_squares", {{3, 3}}, [=](Operands x) { return square(abs(eig(apart(x[0])).vectors)); });
  add("eig_function", {{2, 3, 3}}, [=](Operands x) {
    const auto [w, v] = eig(apart(x[0]));
    return real(matmul(v * expand_dims(w * w, -2), inv(v))) * 0.1;
  });
  add("eig_of_one", {{3, 1, 1}}, [](Operands x) {
    const auto [w, v] = eig(x[0]);
    return real(w) + sum(square(abs(v)), -1);
  });
  add("eig_empty", {{2, 0, 0}}, [](Operands x) { return square(abs(eig(x[0]).vectors)); });
  add("eig_by_name", {{3, 3}}, [=](Operands x) {
    const std::vector<Tensor> all = call("eig", std::array<Tensor, 1>{apart(x[0])});
    return real(all[0]) + sum(square(abs(all[1])) * linspace(0, 1, 3, x[0].dtype()), -1);
  });

  const auto real_one = [&](std::string name, std::vector<Shape> shapes, std::function<Tensor(Operands)> f) {
    cases.push_back({.name = std::move(name), .shapes = std::move(shapes), .function = [f](Operands x) {
                       return std::vector{f(x)};
                     }});
  };
  real_one("expm", {{3, 3}}, [](Operands x) { return expm(x[0] * 0.3); });
  real_one("expm_batch", {{2, 4, 4}}, [](Operands x) { return expm(x[0] * 0.5) * 0.1; });
  real_one("expm_squared_often", {{3, 3}}, [](Operands x) { return expm((x[0] - x[0].T()) * 3); });
  real_one("expm_of_one", {{2, 1, 1}}, [](Operands x) { return expm(x[0]); });
  real_one("expm_empty", {{2, 0, 0}}, [](Operands x) { return expm(x[0]); });
  cases.push_back({.name = "expm_complex",
                   .shapes = {{3, 3}, {3, 3}},
                   .function =
                       [](Operands x) {
                         const Tensor y = expm(complex(cast(x[0], DType::f32) * 0.3, cast(x[1], DType::f32) * 0.3));
                         return std::vector{real(y), imag(y)};
                       },
                   .on_f64 = false});
}

}  // namespace weft::test
