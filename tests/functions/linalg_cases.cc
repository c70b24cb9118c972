#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {
namespace {

void add_linalg_cases(NamedCases& c) {
  const Number yes(1);
  const Tensor a = c.positive_definite({2, 3, 3}), b = c.floats({2, 3, 4}), side = c.floats({3});
  const Tensor wide = c.floats({2, 3, 4}), l = cholesky(a), u = cholesky(a, true);
  c.same("cholesky", {a}, {}, cholesky(a));
  c.same("cholesky", {a}, {{"upper", yes}}, cholesky(a, true));
  c.same("cholesky_ex", {a}, {{"upper", yes}}, cholesky_ex(a, true));
  c.same("solve_triangular", {u, b}, {{"upper", yes}, {"adjoint", yes}, {"unit", yes}},
         solve_triangular(u, b, {.upper = true, .adjoint = true, .unit = true}));
  c.same("solve_triangular", {l, side}, {}, solve_triangular(l, side));
  c.same("cholesky_solve", {b, u}, {{"upper", yes}}, cholesky_solve(b, u, true));
  c.same("cholesky_inverse", {u}, {{"upper", yes}}, cholesky_inverse(u, true));
  c.refused("cholesky", {wide}, {}, [&] { cholesky(wide); });
  c.refused("cholesky_ex", {side}, {}, [&] { cholesky_ex(side); });
  const Tensor whole = c.integers({3, 3});
  c.refused("solve_triangular", {whole, side}, {}, [&] { solve_triangular(whole, side); });

  c.same("vector_norm", {wide}, {{"ord", Number(3)}, {"axes", std::vector<std::int64_t>{0, -1}}, {"keep_dims", yes}},
         vector_norm(wide, 3, {0, -1}, true));
  c.same("vector_norm", {wide}, {}, vector_norm(wide));
  c.same("matrix_norm", {wide}, {{"ord", "minus_inf"}, {"keep_dims", yes}},
         matrix_norm(wide, MatrixNorm::minus_inf, true));
  c.same("matrix_norm", {wide}, {}, matrix_norm(wide));
  c.refused("vector_norm", {wide}, {{"ord", Number(NAN)}}, [&] { vector_norm(wide, NAN); });

  const Tensor x = c.floats({2, 3}), y = c.floats({2, 3});
  c.same("inner", {x, y}, {}, inner(x, y));
  c.same("cross", {x.T(), y.T()}, {{"axis", Number(0)}}, cross(x.T(), y.T(), 0));
  c.same("cross", {x, y}, {}, cross(x, y));
  c.same("kron", {x, y}, {}, kron(x, y));
  c.same("matrix_power", {whole}, {{"n", Number(3)}}, matrix_power(whole, 3));
  c.same("matrix_power", {a}, {{"n", Number(-2)}}, matrix_power(a, -2));
  c.same("expm", {a}, {}, expm(a));
  c.refused("expm", {x}, {}, [&] { expm(x); });
  c.same("multi_dot", {x, y.T(), x}, {}, multi_dot({x, y.T(), x}));
  c.refused("inner", {x, c.floats({4})}, {}, [&] { inner(x, c.floats({4})); });
  c.refused("cross", {x, y}, {{"axis", Number(2)}}, [&] { cross(x, y, 2); });
  c.refused("multi_dot", {x, y}, {}, [&] { multi_dot({x, y}); });

  c.same("matrix_transpose", {wide}, {}, matrix_transpose(wide));
  c.same("trace", {whole}, {{"offset", Number(1)}, {"dtype", "f32"}}, trace(whole, 1, DType::f32));
  c.same("diag", {side}, {{"offset", Number(-1)}}, diag(side, -1));
  c.same("diag", {whole}, {{"offset", Number(1)}}, diag(whole, 1));
  c.same("vander", {side}, {{"columns", Number(5)}, {"increasing", yes}}, vander(side, 5, true));
  c.same("vander", {side}, {}, vander(side));
  c.refused("diag", {wide}, {}, [&] { diag(wide); });
  c.refused("vander", {side}, {{"columns", Number(-1)}}, [&] { vander(side, -1); });
}
const bool added = named_cases(add_linalg_cases);

}  // namespace
}  // namespace weft::test
