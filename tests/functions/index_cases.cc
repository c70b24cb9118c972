#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_index_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 7, 2});
  const std::vector<std::int64_t> sizes{2, 0, 5};
  c.same("split", {x}, {{"sizes", sizes}, {"axis", 1}}, split(x, sizes, 1));
  c.same("split", {x}, {{"sizes", std::vector<std::int64_t>{1, 2}}}, split(x, std::vector<std::int64_t>{1, 2}, 0));
  c.refused("split", {x}, {{"sizes", sizes}, {"axis", -1}}, [&] { split(x, sizes, -1); });

  const Tensor rows = c.integers({1, 4, 2}), one = c.floats({1, 7, 2}), many = c.integers({3, 4, 1});
  c.same("gather_elements", {x, rows}, {{"axis", 1}}, gather_elements(x, rows, 1));
  c.same("gather_elements", {one, many}, {{"axis", -2}}, gather_elements(one, many, -2));
  c.refused("gather_elements", {x, c.integers({2, 4, 2})}, {{"axis", 1}},
            [&] { gather_elements(x, c.integers({2, 4, 2}), 1); });

  const Tensor updates = c.floats({3, 4, 2});
  c.same("scatter_elements", {x, rows, updates}, {{"op", "add"}, {"axis", 1}},
         scatter_elements(ScatterKind::add, x, rows, updates, 1));
  c.same("scatter_elements", {one, many, updates}, {{"op", "max"}, {"axis", 1}, {"repeats", "in_order"}},
         scatter_elements(ScatterKind::max, one, many, updates, 1));
  c.refused("scatter_elements", {x, rows, c.floats({3, 5, 2})}, {{"axis", 1}},
            [&] { scatter_elements(ScatterKind::assign, x, rows, c.floats({3, 5, 2}), 1); });
}
const bool added = named_cases(add_index_cases);

}  // namespace
}  // namespace weft::test
