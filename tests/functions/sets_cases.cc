#include "functions/named_cases.h"
#include "weft/graph.h"
#include "weft/sets.h"
#include "weft/statistics.h"

namespace weft::test {
namespace {

void add_sets_cases(NamedCases& c) {
  const Tensor x = c.integers({3, 4}), set = c.floats({20}), complex = cast(set, DType::c64);
  c.same("isin", {x, set}, {{"inverted", Number(1)}}, isin(x, set, true));
  c.same("isin", {x, set}, {}, isin(x, set));
  c.same("intersect1d", {x, set}, {}, intersect1d(x, set));
  c.same("union1d", {x, set}, {}, union1d(x, set));
  c.same("setdiff1d", {x, set}, {}, setdiff1d(x, set));
  c.same("setxor1d", {x, set}, {}, setxor1d(x, set));
  c.refused("isin", {x, complex}, {}, [&] { isin(x, complex); });
  c.refused("union1d", {complex, x}, {}, [&] { union1d(complex, x); });

  const Tensor counted = c.integers({20}), negative = tensor({1, -2});
  c.same("bincount", {counted}, {{"minimum_length", Number(9)}}, bincount(counted, {}, 9));
  c.same("bincount", {counted, set}, {}, bincount(counted, set));
  c.refused("bincount", {counted}, {{"minimum_length", Number(-1)}}, [&] { bincount(counted, {}, -1); });
  c.refused("bincount", {x}, {}, [&] { bincount(x); });
  c.refused("bincount", {counted, x}, {}, [&] { bincount(counted, x); });
  c.refused("bincount", {negative}, {}, [&] { bincount(negative); });
}
const bool added = named_cases(add_sets_cases);

}  // namespace
}  // namespace weft::test
