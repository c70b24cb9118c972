#include "functions/named_cases.h"
#include "weft/creation.h"

namespace weft::test {
namespace {

using Integers = std::vector<std::int64_t>;

void add_creation_cases(NamedCases& c) {
  const AttributeMap shaped = {{"shape", Integers{2, 3}}, {"dtype", std::string("i16")}};
  AttributeMap filled = shaped;
  filled["value"] = Number(300.5);
  c.same("full", {}, filled, full({2, 3}, 300.5, DType::i16));
  c.same("full", {}, {{"shape", Integers{}}, {"value", Number(1.5)}}, full({}, 1.5));
  c.same("zeros", {}, shaped, zeros({2, 3}, DType::i16));
  c.same("ones", {}, shaped, ones({2, 3}, DType::i16));
  c.same("ones", {}, {{"shape", Integers{4}}}, ones({4}));
  c.refused("full", {}, {{"shape", Integers{2, -3}}, {"value", Number(1)}}, [] { full({2, -3}, 1); });
  c.refused("zeros", {}, {{"shape", Integers{-1}}}, [] { zeros({-1}); });
}
const bool added = named_cases(add_creation_cases);

}  // namespace
}  // namespace weft::test
