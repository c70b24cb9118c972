#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/sets.h"
#include "weft/statistics.h"

namespace weft::test {
namespace {

void add_set_cases(NamedCases& c) {
  const Tensor x = c.integers({3, 4}), set = c.integers({3}), flat = c.integers({9}), weights = c.floats({9});
  c.same("isin", {x, set}, {{"inverted", Number(1)}}, isin(x, set, true));
  c.same("isin", {x, set}, {}, isin(x, set));
  c.same("intersect1d", {x, set}, {}, intersect1d(x, set));
  c.same("setdiff1d", {x, set}, {}, setdiff1d(x, set));
  c.same("union1d", {x, set}, {}, union1d(x, set));
  c.same("setxor1d", {x, set}, {}, setxor1d(x, set));
  c.same("bincount", {flat, weights}, {{"minimum_length", Number(12)}}, bincount(flat, weights, 12));
  c.same("bincount", {flat}, {}, bincount(flat));
  const Tensor complex = cast(x, DType::c64), large = cast(x, DType::u64), lesser = cast(set, DType::i64);
  c.refused("isin", {complex, set}, {}, [&] { isin(complex, set); });
  c.refused("union1d", {large, lesser}, {}, [&] { union1d(large, lesser); });
  c.refused("bincount", {flat}, {{"minimum_length", Number(-1)}}, [&] { bincount(flat, {}, -1); });
  c.refused("bincount", {x}, {}, [&] { bincount(x); });
  c.refused("bincount", {-flat - 1}, {}, [&] { bincount(-flat - 1); });
}
const bool added = named_cases(add_set_cases);

}  // namespace
}  // namespace weft::test
