#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_view_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 1, 2});
  using Integers = std::vector<std::int64_t>;
  c.same("broadcast_to", {x}, {{"shape", Integers{2, 3, 4, 2}}}, broadcast_to(x, {2, 3, 4, 2}));
  c.refused("broadcast_to", {x}, {{"shape", Integers{3, 4, 3}}}, [&] { broadcast_to(x, {3, 4, 3}); });
  c.refused("broadcast_to", {x}, {{"shape", Integers{3, -1, 2}}}, [&] { broadcast_to(x, {3, -1, 2}); });
}
const bool added = named_cases(add_view_cases);

}  // namespace
}  // namespace weft::test
