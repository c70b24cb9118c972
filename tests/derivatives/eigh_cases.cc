#include <array>

#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/call.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {

// Functions that no sign of an eigenvector changes, of matrices whose eigenvalues are apart.
void add_eigh_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<Tensor(Operands)> f) {
    cases.push_back({.name = std::move(name), .shapes = std::move(shapes), .function = [f](Operands x) {
                       return std::vector{f(x)};
                     }});
  };
  const auto apart = [](const Tensor& x) {
    const std::int64_t n = x.shape()[-1];
    return (x + x.T()) * 0.15 + diag(linspace(0, 3.0 * static_cast<double>(n - 1), n, x.dtype()));
  };
  const auto function_of = [](const EighResult& e, const Tensor& values) {
    return matmul(e.vectors * expand_dims(values, -2), e.vectors.T());
  };
  add("eigvalsh", {{4, 4}}, [=](Operands x) { return eigvalsh(apart(x[0])); });
  add("eigvalsh_upper", {{2, 3, 3}}, [=](Operands x) { return square(eigvalsh(apart(x[0]), true)); });
  add("eigh_values", {{3, 3}}, [=](Operands x) { return eigh(apart(x[0])).values; });
  add("eigh_squares", {{4, 4}}, [=](Operands x) { return square(eigh(apart(x[0])).vectors); });
  add("eigh_function", {{2, 3, 3}}, [=](Operands x) {
    const EighResult e = eigh(apart(x[0]), true);
    return function_of(e, tanh(e.values * 0.2));
  });
  add("eigh_largest", {{2, 1, 3, 3}}, [=](Operands x) {
    const Tensor v = slice(eigh(apart(x[0])).vectors, 3, 2, 3);
    return matmul(v, v.T());
  });
  add("eigh_of_one", {{3, 1, 1}}, [](Operands x) {
    const EighResult e = eigh(x[0]);
    return e.values + sum(square(e.vectors), -1);
  });
  add("eigh_empty", {{2, 0, 0}}, [](Operands x) { return square(eigh(x[0]).vectors); });
  add("eigh_of_another", {{2, 2}, {3, 3}}, [=](Operands x) { return eigvalsh(kron(apart(x[0]) * 0.1, apart(x[1]))); });
  add("eigh_by_name", {{3, 3}}, [=](Operands x) {
    const std::vector<Tensor> all = call("eigh", std::array<Tensor, 1>{apart(x[0])});
    return all[0] + sum(square(all[1]) * linspace(0, 1, 3, x[0].dtype()), -1);
  });
  // Hermitian matrices of the complex numbers whose real and imaginary parts are the operands.
  cases.push_back({.name = "eigh_complex",
                   .shapes = {{3, 3}, {3, 3}},
                   .function =
                       [=](Operands x) {
                         const Tensor a =
                             complex(cast(apart(x[0]), DType::f32), cast((x[1] - x[1].T()) * 0.15, DType::f32));
                         const EighResult e = eigh(a);
                         return std::vector{e.values, square(abs(e.vectors))};
                       },
                   .on_f64 = false});
  // Larger than what a workgroup of the GPU's kernels takes. Sums over 70 terms are off by more.
  cases.push_back({.name = "eigh_blocks",
                   .shapes = {{70, 2}},
                   .function =
                       [](Operands x) {
                         const Tensor far = diag(linspace(0, 140, 70, x[0].dtype()));
                         const EighResult e = eigh(matmul(x[0], x[0].T()) * 0.1 + far);
                         return std::vector{e.values, square(slice(e.vectors, 1, 0, 2))};
                       },
                   .second = false,
                   .tolerance = 20});
}

}  // namespace weft::test
