#include "weft/call.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "core/format.h"
#include "core/nearest.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "weft/error.h"

namespace weft {
namespace {

std::string not_an_op(std::string_view name) {
  const auto names =
      std::views::transform(op_rows(), [](const OpRow& row) { return std::string_view(row.schema.name); });
  return std::format("there is no operation '{}'{}", name,
                     nearest_text(nearest(name, names), "; `weft ops` lists them"));
}

}  // namespace

const OpRow* find_op_row(std::string_view name) {
  static const auto& by_name = *new auto([] {
    std::map<std::string_view, const OpRow*> rows;
    for (const OpRow& row : op_rows()) rows.emplace(row.schema.name, &row);
    return rows;
  }());
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::vector<Tensor> call(std::string_view name, std::span<const Tensor> operands, const AttributeMap& attributes) {
  const OpRow* row = find_op_row(name);
  if (!row) throw InvalidArgument(not_an_op(name));
  const Schema& schema = row->schema;
  if (row->make_of_graphs) throw InvalidArgument("{} owns graphs of functions; weft/control_flow.h makes it", name);
  if (!row->call && !row->make) throw InvalidArgument("{} is an operation of the compiler's own", name);
  AttributeMap given = complete_attributes(schema, attributes);
  std::vector<bool> present;
  std::vector<Tensor> there;
  const bool repeats = !schema.inputs.empty() && schema.inputs.back().arity == Arity::repeated;
  for (std::size_t i = 0; i < std::max(schema.inputs.size(), operands.size()); ++i) {
    if (i >= schema.inputs.size() && !repeats) {
      throw InvalidArgument("{}: {} operands, expected '{}'", name, operands.size(), schema.inputs_text());
    }
    present.push_back(i < operands.size() && operands[i].defined());
    if (present.back()) {
      there.push_back(operands[i]);
    } else if (const auto& o = schema.inputs[std::min(i, schema.inputs.size() - 1)]; o.arity != Arity::optional) {
      throw InvalidArgument("{}: operand {} is {}, expected '{}'", name, o.name,
                            i < operands.size() ? "an undefined Tensor" : "missing", schema.inputs_text());
    }
  }
  if (row->call) return row->call(there, given);
  std::vector<TensorType> types;
  for (const Tensor& v : there) types.push_back(v.type());
  if (row->given) row->given(given, present);
  return results_of(apply(row->make(given, types), std::move(there)));
}

std::vector<Tensor> call(std::string_view name, std::initializer_list<Tensor> operands,
                         const AttributeMap& attributes) {
  return call(name, std::span(operands.begin(), operands.size()), attributes);
}

}  // namespace weft
