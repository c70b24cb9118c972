#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {
namespace {

void add_linear_systems_cases(NamedCases& c) {
  const Tensor a = c.positive_definite({2, 3, 3}), b = c.floats({3, 4}), side = c.floats({3}), wide = c.floats({3, 4});
  const Tensor singular = ones({3, 3}), half = c.floats({3, 3}, DType::f16);
  c.same("solve", {a, b}, {}, solve(a, b));
  c.same("solve", {a, side}, {}, solve(a, side));
  c.same("solve_ex", {singular, b}, {}, solve_ex(singular, b));
  c.same("inv", {a}, {}, inv(a));
  c.same("inv_ex", {singular}, {}, inv_ex(singular));
  c.same("lu_factor", {wide}, {}, lu_factor(wide));
  const LuFactors f = lu_factor(a);
  c.same("lu_solve", {f.lu, f.pivots, f.order, f.info, b}, {{"adjoint", Number(1)}}, lu_solve(f, b, true));
  c.same("lu_solve", {f.lu, Tensor(), f.order, f.info, side}, {}, lu_solve(f, side));
  c.same("lu", {wide}, {}, lu(wide));
  c.same("det", {a}, {}, det(a));
  c.same("slogdet", {a}, {}, slogdet(a));
  c.refused("solve", {wide, b}, {}, [&] { solve(wide, b); });
  c.refused("inv", {half}, {}, [&] { inv(half); });
  c.refused("det", {side}, {}, [&] { det(side); });
}
const bool added = named_cases(add_linear_systems_cases);

}  // namespace
}  // namespace weft::test
