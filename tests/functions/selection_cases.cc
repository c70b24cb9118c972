#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_selection_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4}), numbers = c.integers({3, 4}), chosen = tensor({0, 2, -1, 0}), scalar = ones({});
  c.same("nonzero", {numbers}, {}, nonzero(numbers));
  c.refused("nonzero", {scalar}, {}, [&] { nonzero(scalar); });
  c.same("compress", {chosen, x}, {{"axis", Number(-1)}}, compress(chosen, x, -1));
  const Tensor odd = flatten(numbers) % 2 == 1;
  c.same("compress", {odd, x}, {}, compress(odd, x));
  c.refused("compress", {chosen, x}, {{"axis", Number(0)}}, [&] { compress(chosen, x, 0); });
  const Tensor counts = tensor({2, 0, 1, 3});
  c.same("repeat_each", {x, counts}, {{"axis", Number(1)}}, repeat(x, counts, 1));
  c.refused("repeat_each", {x, x}, {{"axis", Number(1)}}, [&] { repeat(x, x, 1); });
  c.refused("repeat_each", {x, counts}, {{"axis", Number(0)}}, [&] { repeat(x, counts, 0); });
  c.refused("repeat_each", {x, chosen}, {{"axis", Number(1)}}, [&] { repeat(x, chosen, 1); });
  c.same("unique", {numbers}, {}, unique(numbers));
}
const bool added = named_cases(add_selection_cases);

}  // namespace
}  // namespace weft::test
