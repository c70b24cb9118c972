#include <cmath>

#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_reduce_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4, 5}), i = c.integers({3, 4});
  AttributeMap kept = {{"axes", std::vector<std::int64_t>{0, -1}}, {"keep_dims", 1}};
  const Axes over = {0, -1};
  c.same("argmax", {x}, kept, argmax(x, over, true));
  c.same("argmin", {x}, kept, argmin(x, over, true));
  c.same("argmin", {i}, {}, argmin(i));
  c.refused("argmax", {x}, {{"axes", 3}}, [&] { argmax(x, 3); });
  const Tensor none = c.floats({2, 0});
  c.refused("argmin", {none}, {{"axes", 1}}, [&] { argmin(none, 1); });
  AttributeMap sample = kept;
  sample["correction"] = 1;
  c.same("variance", {x}, sample, variance(x, over, 1, true));
  c.same("variance", {i}, {{"axes", 1}}, variance(i, 1));
  c.same("deviation", {x}, sample, deviation(x, over, 1, true));
  c.refused("deviation", {x}, {{"axes", std::vector<std::int64_t>{0, 0}}}, [&] { deviation(x, {0, 0}); });
  c.refused("variance", {x}, {{"correction", Number(-1)}}, [&] { variance(x, {}, -1); });
  c.refused("deviation", {x}, {{"correction", Number(-0.5)}}, [&] { deviation(x, {}, -0.5); });
  const double nan = std::nan("");
  c.refused("variance", {x}, {{"correction", Number(nan)}}, [&] { variance(x, {}, nan); });
  for (const auto& [name, kind] : {std::pair("l1", ReduceKind::l1),
                                   {"log_sum_exp", ReduceKind::log_sum_exp},
                                   {"any", ReduceKind::any},
                                   {"count", ReduceKind::count},
                                   {"deviation", ReduceKind::deviation}}) {
    kept["op"] = name;
    c.same("reduce", {x}, kept, reduce(kind, x, over, true));
  }
  c.same("reduce", {x}, {}, reduce(ReduceKind::sum, x, {}));
}
const bool added = named_cases(add_reduce_cases);

}  // namespace
}  // namespace weft::test
