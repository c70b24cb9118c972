// Operations on single elements.
#include "webnn/op_rows.h"

namespace weft::webnn {

void add_elementwise_rows(std::vector<Op>& rows) {
  const auto binary = [&](std::string name, TypeSet types, Map map) {
    rows.push_back({{.name = std::move(name),
                     .section = "#api-mlgraphbuilder-binary",
                     .arguments = {operand("a", types), operand_as("b", "a")},
                     .outputs = {result_as("a")}},
                    map});
  };
  binary("add", kDataTypes, [](const Call& c) {
    if (!broadcast(c.shape("a"), c.shape("b"))) c.fail("a and b do not broadcast");
    return std::vector{c.operand("a") + c.operand("b")};
  });
}

}  // namespace weft::webnn
