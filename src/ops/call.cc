#include "weft/call.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <vector>

#include "core/format.h"
#include "core/nearest.h"
#include "graph/graph.h"
#include "ops/function_row.h"
#include "ops/op_rows.h"
#include "weft/error.h"

namespace weft {
namespace {

std::string not_an_op(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OpRow& row : op_rows()) names.emplace_back(row.schema.name);
  for (const FunctionRow& row : function_rows()) names.emplace_back(row.schema.name);
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

namespace {

// Which of the schema's inputs are given. Throws InvalidArgument for operands that are too many, missing or undefined.
std::vector<bool> present_operands(const Schema& schema, std::span<const TensorLike> operands) {
  const bool repeats = !schema.inputs.empty() && schema.inputs.back().arity == Arity::repeated;
  std::vector<bool> present;
  for (std::size_t i = 0; i < std::max(schema.inputs.size(), operands.size()); ++i) {
    if (i >= schema.inputs.size() && !repeats) {
      throw InvalidArgument("{}: {} operands, expected '{}'", schema.name, operands.size(), schema.inputs_text());
    }
    present.push_back(i < operands.size() && (!operands[i].tensor() || operands[i].tensor()->defined()));
    if (present.back()) continue;
    if (const auto& o = schema.inputs[std::min(i, schema.inputs.size() - 1)]; o.arity != Arity::optional) {
      throw InvalidArgument("{}: operand {} is {}, expected '{}'", schema.name, o.name,
                            i < operands.size() ? "an undefined Tensor" : "missing", schema.inputs_text());
    }
  }
  return present;
}

std::vector<Tensor> call(const FunctionRow& row, std::span<const TensorLike> operands, const AttributeMap& attributes) {
  const AttributeMap given = complete_attributes(row.schema, attributes);
  present_operands(row.schema, operands);
  return row.call(row.function, {row.schema.name, operands, given});
}

std::vector<Tensor> call(const OpRow& row, std::span<const TensorLike> operands, const AttributeMap& attributes) {
  const Schema& schema = row.schema;
  const std::string_view name = schema.name;
  if (row.make_of_graphs) throw InvalidArgument("{} owns graphs of functions; weft/control_flow.h makes it", name);
  if (!row.call && !row.make) throw InvalidArgument("{} is an operation of the compiler's own", name);
  AttributeMap given = complete_attributes(schema, attributes);
  const std::vector<bool> present = present_operands(schema, operands);
  const bool has_numbers = std::ranges::any_of(operands, [](const TensorLike& o) { return !o.tensor(); });
  if (const auto scalar = has_numbers ? scalar_op(name) : std::nullopt) {
    if (operands.size() == 2) return {binary(*scalar, operands[0], operands[1])};
    if (operands.size() == 3) return {ternary(*scalar, operands[0], operands[1], operands[2])};
  }
  std::vector<Tensor> there;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].tensor()) {
      throw InvalidArgument("{}: {} is a number, expected a tensor", name,
                            schema.inputs[std::min(i, schema.inputs.size() - 1)].name);
    }
    if (present[i]) there.push_back(*operands[i].tensor());
  }
  if (row.call) return row.call(there, given);
  std::vector<TensorType> types;
  for (const Tensor& v : there) types.push_back(v.type());
  if (row.given) row.given(given, present);
  return results_of(apply(row.make(given, types), std::move(there)));
}

}  // namespace

std::vector<Tensor> call(std::string_view name, std::span<const TensorLike> operands, const AttributeMap& attributes) {
  if (const FunctionRow* row = find_function_row(name)) return call(*row, operands, attributes);
  if (const OpRow* row = find_op_row(name)) return call(*row, operands, attributes);
  throw InvalidArgument(not_an_op(name));
}

std::vector<Tensor> call(std::string_view name, std::span<const Tensor> operands, const AttributeMap& attributes) {
  const std::vector<TensorLike> all(operands.begin(), operands.end());
  return call(name, std::span(all), attributes);
}

std::vector<Tensor> call(std::string_view name, std::initializer_list<TensorLike> operands,
                         const AttributeMap& attributes) {
  return call(name, std::span(operands.begin(), operands.size()), attributes);
}

}  // namespace weft
