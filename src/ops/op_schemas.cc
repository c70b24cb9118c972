#include "ops/op_schemas.h"

#include <algorithm>

#include "core/format.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/table_rows.h"
#include "ops/elementwise.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/op_rows.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {
namespace {

using kernels::kernel, kernels::one, kernels::repeated;

AttributeSchema text(std::string name, std::string meaning) {
  return {std::move(name), AttributeKind::text, {}, {}, std::move(meaning)};
}

Schema leaf(std::string name, std::string summary, std::string shape, std::vector<AttributeSchema> attributes) {
  return {.name = std::move(name),
          .family = "leaf",
          .summary = std::move(summary),
          .outputs = {one("y", std::move(shape))},
          .signatures = {{types::any}},
          .attributes = std::move(attributes)};
}

// Ops that no row makes: what comes from outside.
std::vector<Schema> leaves() {
  return {
      leaf("input", "a tensor that each run is given", "as declared", {text("name", "the name by which runs give it")}),
      leaf("constant", "a tensor that is part of the graph", "that of the data", {}),
      leaf("number", "a number that each run is given, in the parameters of its kernels", "[]",
           {text("name", "the name by which runs give it")}),
      leaf("data", "a tensor in a device's memory, which each run reads as it is then", "that of the data", {}),
      {.name = "custom",
       .family = "custom",
       .summary = "a kernel in the caller's WGSL (weft/custom_op.h)",
       .inputs = {repeated("inputs", "any")},
       .outputs = {repeated("outputs", "as the op says")},
       .signatures = {{types::any, types::any}}},
  };
}

}  // namespace

std::span<const Schema> function_schemas() {
  static const std::vector<Schema> all = [] {
    std::vector<Schema> schemas;
    for (const FunctionRow& row : function_rows()) schemas.push_back(row.schema);
    return schemas;
  }();
  return all;
}

std::vector<const Schema*> callable_schemas() {
  std::vector<const Schema*> all;
  for (const FunctionRow& row : function_rows()) all.push_back(&row.schema);
  for (const OpRow& row : op_rows()) {
    const bool callable = (row.call || row.make) && !row.make_of_graphs;
    if (callable && !find_function_row(row.schema.name)) all.push_back(&row.schema);
  }
  return all;
}

// The kernel's attributes are not the op's, whose struct lists its own.
Schema schema_of_kernel(std::string_view name, std::string shape, std::string type) {
  Schema s = kernel(name);
  if (!shape.empty()) s.outputs[0].shape = std::move(shape);
  s.outputs[0].type = std::move(type);
  for (OperandSchema& o : s.outputs) {
    if (o.name == "indices") o.type = kPositionType;
  }
  return s;
}

std::span<const OpRow> op_rows() {
  static const OpRows all = [] {
    OpRows rows;
    for (const auto add : collected_ops()) add(rows);
    return rows;
  }();
  return all;
}

std::span<const Schema> op_schemas() {
  static const std::vector<Schema> all = [] {
    std::vector<Schema> schemas = leaves();
    for (const OpRow& row : op_rows()) schemas.push_back(row.schema);
    return schemas;
  }();
  return all;
}

const Schema* find_op_schema(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const Schema*> names;
    for (const Schema& s : op_schemas()) names.emplace(s.name, &s);
    return names;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const Schema& op_schema(std::string_view name) {
  if (const Schema* s = find_op_schema(name)) return *s;
  throw InternalError("op {} has no schema", name);
}

std::vector<DType> infer_dtypes(std::string_view op, std::span<const TensorType* const> inputs,
                                std::optional<DType> asked) {
  const Schema& schema = op_schema(op);
  const TypeSignature& fits = check_inputs(schema, op, inputs, asked);
  std::vector<DType> all;
  for (std::size_t k = 0; k < schema.outputs.size(); ++k) {
    all.push_back(k == 0 && asked ? *asked : result_type(schema, fits, inputs, k));
  }
  return all;
}

DType infer_dtype(std::string_view op, std::initializer_list<const TensorType*> inputs, std::optional<DType> asked) {
  return infer_dtypes(op, std::span(inputs.begin(), inputs.size()), asked)[0];
}

}  // namespace weft
