#include "functions/named_cases.h"
#include "weft/creation.h"

namespace weft::test {
namespace {

void add_creation_cases(NamedCases& c) {
  const std::vector<std::int64_t> shape = {2, 3}, negative = {2, -3};
  c.same("full", {}, {{"shape", shape}, {"value", Number(2.5)}, {"dtype", "f16"}}, full({2, 3}, 2.5, DType::f16));
  c.same("full", {}, {{"shape", std::vector<std::int64_t>()}, {"value", Number(7)}}, full({}, 7));
  c.same("zeros", {}, {{"shape", shape}, {"dtype", "i8"}}, zeros({2, 3}, DType::i8));
  c.same("ones", {}, {{"shape", shape}, {"dtype", "u64"}}, ones({2, 3}, DType::u64));
  c.same("ones", {}, {{"shape", shape}}, ones({2, 3}));
  const AttributeMap some = {
      {"start", Number(1)}, {"stop", Number(3)}, {"count", Number(5)}, {"dtype", "f16"}, {"endpoint", Number(0)}};
  AttributeMap powers = some;
  powers["base"] = Number(2);
  c.same("geomspace", {}, some, geomspace(1, 3, 5, DType::f16, false));
  c.same("logspace", {}, powers, logspace(1, 3, 5, 2, DType::f16, false));
  c.same("logspace", {}, {{"start", Number(0)}, {"stop", Number(3)}, {"count", Number(4)}}, logspace(0, 3, 4));
  c.refused("geomspace", {}, {{"start", Number(0)}, {"stop", Number(3)}, {"count", Number(4)}},
            [] { geomspace(0, 3, 4); });
  c.refused("logspace", {}, {{"start", Number(0)}, {"stop", Number(3)}, {"count", Number(-4)}},
            [] { logspace(0, 3, -4); });
  c.refused("full", {}, {{"shape", negative}, {"value", Number(1)}}, [] { full({2, -3}, 1); });
  c.refused("zeros", {}, {{"shape", negative}}, [] { zeros({2, -3}); });
}
const bool added = named_cases(add_creation_cases);

}  // namespace
}  // namespace weft::test
