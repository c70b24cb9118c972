#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_selection_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4}), numbers = c.integers({3, 4}), chosen = c.bools({4}), counts = c.integers({4});
  c.same("nonzero", {numbers}, {}, nonzero(numbers));
  c.same("compress", {chosen, x}, {{"axis", Number(1)}}, compress(chosen, x, 1));
  const Tensor of_all = c.bools({12});
  c.same("compress", {of_all, x}, {}, compress(of_all, x));
  c.same("repeat_by", {x, counts}, {{"axis", Number(1)}}, repeat(x, counts, 1));
  c.same("unique", {numbers}, {}, unique(numbers));
  c.refused("nonzero", {ones({})}, {}, [] { nonzero(ones({})); });
  c.refused("compress", {chosen, x}, {{"axis", Number(0)}}, [&] { compress(chosen, x, 0); });
  c.refused("repeat_by", {x, counts}, {{"axis", Number(0)}}, [&] { repeat(x, counts, 0); });
  c.refused("repeat_by", {x, x}, {{"axis", Number(0)}}, [&] { repeat(x, x, 0); });
  c.refused("repeat_by", {x, -counts - 1}, {{"axis", Number(1)}}, [&] { repeat(x, -counts - 1, 1); });
  c.refused("unique", {Tensor(cast(x, DType::c64))}, {}, [&] { unique(cast(x, DType::c64)); });
}
const bool added = named_cases(add_selection_cases);

}  // namespace
}  // namespace weft::test
