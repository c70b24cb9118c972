#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_contract_cases(NamedCases& c) {
  const Tensor a = c.floats({2, 3, 4}), b = c.floats({3, 4, 5}), v = c.floats({4}), w = c.floats({2, 3, 4});
  const Tensor packed = c.integers({3, 4, 5}, DType::i4);
  c.same("outer", {v, a}, {}, outer(v, a));
  c.same("vecdot", {a, v}, {}, vecdot(a, v));
  c.same("vecdot", {a, w}, {{"axis", Number(1)}}, vecdot(a, w, 1));
  c.same("tensordot", {a, b}, {}, tensordot(a, b));
  c.same("tensordot", {v, v}, {{"axes", Number(0)}}, tensordot(v, v, 0));
  c.same("tensordot_pairs", {a, b},
         {{"a_axes", std::vector<std::int64_t>{2, 1}}, {"b_axes", std::vector<std::int64_t>{1, 0}}},
         tensordot(a, b, {2, 1}, {1, 0}));
  c.same("tensordot_pairs", {a, w}, {}, tensordot(a, w, Axes(), Axes()));
  c.same("einsum", {a, b, v}, {{"subscripts", "ijk,jkl,k->li"}}, einsum("ijk,jkl,k->li", {a, b, v}));
  c.refused("outer", {v, packed}, {}, [&] { outer(v, packed); });
  c.refused("tensordot", {a, b}, {{"axes", Number(4)}}, [&] { tensordot(a, b, 4); });
  c.refused("tensordot_pairs", {a, b}, {{"a_axes", Number(0)}, {"b_axes", Number(0)}},
            [&] { tensordot(a, b, Axes(0), Axes(0)); });
  c.refused("einsum", {a, b}, {{"subscripts", "ijk,jk"}}, [&] { einsum("ijk,jk", {a, b}); });
}
const bool added = named_cases(add_contract_cases);

}  // namespace
}  // namespace weft::test
