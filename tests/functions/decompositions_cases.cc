#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {
namespace {

void add_decompositions_cases(NamedCases& c) {
  const Number yes(1), no(0);
  const Tensor a = c.positive_definite({2, 3, 3}), high = c.floats({2, 5, 3}), side = c.floats({5});
  const Tensor b = c.floats({5, 2});
  c.same("qr", {high}, {}, qr(high));
  c.same("qr", {high}, {{"complete", yes}}, qr(high, QrMode::complete));
  c.same("qr", {high}, {{"mode", "r"}}, qr(high, QrMode::r));
  c.same("lstsq", {high, b}, {{"rcond", Number(0.5)}}, lstsq(high, b, 0.5));
  c.same("lstsq", {high, side}, {}, lstsq(high, side));
  c.same("lstsq_svd", {high, b}, {{"rcond", Number(0.5)}}, lstsq_svd(high, b, 0.5));
  c.same("lstsq_svd", {high, side}, {}, lstsq_svd(high, side));
  c.refused("lstsq_svd", {high, b}, {{"rcond", Number(-1)}}, [&] { lstsq_svd(high, b, -1); });
  c.refused("qr", {side}, {}, [&] { qr(side); });
  c.refused("lstsq", {high, a}, {}, [&] { lstsq(high, a); });

  c.same("eigh", {a}, {{"upper", yes}}, eigh(a, true));
  c.same("eigh_ex", {a}, {{"upper", yes}}, eigh_ex(a, true));
  c.same("eigvalsh", {a}, {{"upper", yes}}, eigvalsh(a, true));
  c.refused("eigh", {high}, {}, [&] { eigh(high); });

  c.same("eig", {a}, {}, eig(a));
  c.same("eigvals", {a}, {}, eigvals(a));
  c.refused("eig", {high}, {}, [&] { eig(high); });
  c.refused("eigvals", {high}, {}, [&] { eigvals(high); });

  c.same("svd", {high}, {}, svd(high));
  c.same("svd", {high}, {{"full_matrices", no}}, svd(high, false));
  c.same("svdvals", {high}, {}, svdvals(high));
  c.same("pinv", {high}, {{"rtol", Number(0.25)}}, pinv(high, 0.25));
  c.same("pinv", {high}, {}, pinv(high));
  c.same("matrix_rank", {high}, {{"rtol", Number(0.5)}}, matrix_rank(high, 0.5));
  c.same("condition_number", {high}, {}, condition_number(high));
  c.same("condition_number", {a}, {{"ord", "one"}}, condition_number(a, MatrixNorm::one));
  c.refused("pinv", {high}, {{"rtol", Number(NAN)}}, [&] { pinv(high, NAN); });
  c.refused("condition_number", {high}, {{"ord", "fro"}}, [&] { condition_number(high, MatrixNorm::fro); });
}
const bool added = named_cases(add_decompositions_cases);

}  // namespace
}  // namespace weft::test
