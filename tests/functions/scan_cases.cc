#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_scan_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4, 5});
  c.same("scan", {x}, {{"op", "max"}, {"axis", 1}, {"reverse", 1}, {"exclusive", 1}},
         scan(ScanKind::max, x, 1, {.reverse = true, .exclusive = true}));
  c.same("scan", {x}, {{"op", "log_sum_exp"}}, scan(ScanKind::log_sum_exp, x, -1));
  c.refused("scan", {x}, {{"axis", 3}}, [&] { scan(ScanKind::sum, x, 3); });
  c.same("cumsum", {x}, {{"axis", 0}}, cumsum(x, 0));
  const Tensor packed = cast(c.integers({3}), DType::i4);
  c.refused("cumsum", {packed}, {}, [&] { cumsum(packed, -1); });
}
const bool added = named_cases(add_scan_cases);

}  // namespace
}  // namespace weft::test
