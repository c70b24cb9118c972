#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/segments.h"

namespace weft::test {
namespace {

void add_segments_cases(NamedCases& c) {
  const Tensor x = c.floats({6, 3}), ids = tensor({0, 2, 1, 0, 5, -1});
  const AttributeMap four = {{"segments", Number(4)}};
  c.same("segment_sum", {x, ids}, four, segment_sum(x, ids, 4));
  c.same("segment_prod", {x, ids}, four, segment_prod(x, ids, 4));
  c.same("segment_mean", {x, ids}, four, segment_mean(x, ids, 4));
  c.same("segment_max", {x, ids}, four, segment_max(x, ids, 4));
  c.same("segment_min", {x, ids}, four, segment_min(x, ids, 4));
  c.same("segment_softmax", {x, ids}, four, segment_softmax(x, ids, 4));
  const Tensor few = tensor({0, 1});
  c.refused("segment_sum", {x, few}, four, [&] { segment_sum(x, few, 4); });
  c.refused("segment_prod", {x, x}, four, [&] { segment_prod(x, x, 4); });
  c.refused("segment_mean", {x, ids}, {{"segments", Number(-1)}}, [&] { segment_mean(x, ids, -1); });
  c.refused("segment_max", {x > 0, ids}, four, [&] { segment_max(x > 0, ids, 4); });
  c.refused("segment_softmax", {ids, ids}, four, [&] { segment_softmax(ids, ids, 4); });

  c.same("cummax", {x}, {{"axis", Number(1)}}, cummax(x, 1));
  c.same("cummin", {x}, {{"axis", Number(0)}}, cummin(x, 0));
  c.refused("cummax", {x > 0}, {{"axis", Number(0)}}, [&] { cummax(x > 0, 0); });
  c.refused("cummin", {x}, {{"axis", Number(2)}}, [&] { cummin(x, 2); });

  c.same("partition", {x}, {{"k", Number(2)}, {"axis", Number(0)}}, partition(x, 2, 0));
  c.same("argpartition", {x}, {{"k", Number(-1)}, {"axis", Number(0)}}, argpartition(x, -1, 0));
  c.refused("partition", {x}, {{"k", Number(3)}}, [&] { partition(x, 3); });
  c.refused("argpartition", {x}, {{"k", Number(-4)}}, [&] { argpartition(x, -4); });
  const Tensor first = c.integers({6, 3}), second = c.integers({6, 3});
  c.same("lexsort", {first, second}, {{"axis", Number(0)}}, lexsort({first, second}, 0));
  c.refused("lexsort", {first, ids}, {}, [&] { lexsort({first, ids}); });
}
const bool added = named_cases(add_segments_cases);

}  // namespace
}  // namespace weft::test
