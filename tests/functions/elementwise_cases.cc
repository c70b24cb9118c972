#include "functions/named_cases.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_elementwise_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4}), y = c.floats({4}), column = c.floats({3, 1}), i = c.integers({3, 4});
  c.same("cast", {x}, {{"dtype", "i32"}}, cast(x, DType::i32));
  c.same("cast", {x}, {{"dtype", "f32"}}, cast(x, DType::f32));
  c.same("gelu", {x}, {{"form", "tanh"}}, gelu(x, Gelu::tanh));
  c.same("gelu", {x}, {{"form", "quick"}}, gelu(x, Gelu::quick));
  c.same("gelu", {i}, {}, gelu(i));
  const Tensor z = cast(x, DType::c64);
  c.refused("gelu", {z}, {{"form", "tanh"}}, [&] { gelu(z, Gelu::tanh); });
  c.same("maximum", {x, y}, {}, maximum(x, y));
  c.same("maximum", {x, 0.5}, {}, maximum(x, 0.5));
  c.same("minimum", {column, y}, {}, minimum(column, y));
  c.same("minimum", {2, i}, {}, minimum(2, i));

  c.same("unary", {x}, {{"op", "exp"}}, exp(x));
  c.same("binary", {x, y}, {{"op", "sub"}}, x - y);
  c.same("binary", {2, i}, {{"op", "pow"}}, pow(2, i));
  c.same("ternary", {x, -1, y}, {{"op", "clamp"}}, clamp(x, -1, y));
  c.same("ternary", {x > 0, y, 0}, {{"op", "select"}}, select(x > 0, y, 0));
  c.refused("unary", {x}, {{"op", "add"}},
            [] { throw InvalidArgument("unary: op is \"add\", expected the name of an operation on 1 operand"); });
  c.refused("binary", {x, y}, {{"op", "plus"}},
            [] { throw InvalidArgument("binary: op is \"plus\", expected the name of an operation on 2 operands"); });
  c.same("elementwise", {x}, {{"name", "hardtanh"}, {"parameters", std::vector<double>{-0.5, 0.75}}},
         elementwise("hardtanh", {x}, {-0.5, 0.75}));
  c.same("elementwise", {x, y}, {{"name", "atan2"}}, elementwise("atan2", {x, y}));
}
const bool added = named_cases(add_elementwise_cases);

}  // namespace
}  // namespace weft::test
