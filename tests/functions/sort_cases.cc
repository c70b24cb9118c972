#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_sort_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 5});
  const AttributeMap down = {{"axis", Number(0)}, {"descending", Number(1)}};
  c.same("sort", {x}, down, sort(x, 0, true));
  c.same("argsort", {x}, down, argsort(x, 0, true));
  c.same("top_k", {x}, {{"k", Number(2)}, {"axis", Number(0)}, {"largest", Number(0)}}, top_k(x, 2, 0, false));
  c.refused("top_k", {x}, {{"k", Number(-1)}}, [&] { top_k(x, -1); });
}
const bool added = named_cases(add_sort_cases);

}  // namespace
}  // namespace weft::test
