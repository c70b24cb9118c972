#include "graph/op_schemas.h"

#include <algorithm>

#include "kernels/table_rows.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {
namespace {

using kernels::as, kernels::boolean, kernels::choice, kernels::integer, kernels::integers, kernels::kernel,
    kernels::number, kernels::repeated;

AttributeSchema text(std::string name) { return {std::move(name), AttributeKind::text, {}, {}}; }

constexpr std::string_view kPadModes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
constexpr std::string_view kScatterOps[] = {"assign", "add", "mul", "min", "max"};

// An op that a kernel of the same name computes. Attributes that say shapes are the op's own: a kernel sees them in its
// output.
Schema of_kernel(std::string_view name, std::vector<AttributeSchema> more = {}) {
  Schema s = kernel(name);
  std::erase_if(s.attributes, [&](const AttributeSchema& a) {
    return std::ranges::find(more, a.name, &AttributeSchema::name) != more.end();
  });
  s.attributes.insert(s.attributes.end(), more.begin(), more.end());
  return s;
}

Schema scatters(std::string_view name, AttributeSchema where) {
  Schema s = kernel(name);
  s.summary = "a copy of x, of which chosen elements are combined with updates";
  s.inputs = {{"x"}, {"indices"}, {"updates"}};
  s.signatures = {{types::any, types::indices, as(0), as(0)}};
  s.attributes = {choice("op", kScatterOps), std::move(where)};
  return s;
}

// The kernel writes to y; the op makes a copy of x first, unless x may be overwritten.
Schema updates_part() {
  Schema s = kernel("dynamic_update_slice");
  s.summary = "a copy of x with the part that begins at an index from data replaced";
  s.inputs = {{"x"}, {"update"}, {"starts"}};
  s.signatures = {{types::any, as(0), types::indices, as(0)}};
  return s;
}

Schema view(std::string name, std::string summary, std::vector<AttributeSchema> attributes) {
  return {.name = std::move(name),
          .family = "view",
          .summary = std::move(summary),
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .signatures = {{types::any, as(0)}},
          .attributes = std::move(attributes)};
}

Schema leaf(std::string name, std::string summary, std::vector<AttributeSchema> attributes) {
  return {.name = std::move(name),
          .family = "leaf",
          .summary = std::move(summary),
          .outputs = {{"y"}},
          .signatures = {{types::any}},
          .attributes = std::move(attributes)};
}

std::vector<Schema> make_schemas() {
  std::vector<Schema> all{
      leaf("input", "a tensor that each run is given", {text("name")}),
      leaf("constant", "a tensor that is part of the graph", {}),
      leaf("number", "a number that each run is given, in the parameters of its kernels", {text("name")}),
      leaf("data", "a tensor in a device's memory, which each run reads as it is then", {}),
      view("reshape", "the same elements in another shape", {integers("shape")}),
      view("permute", "the axes in another order", {integers("order")}),
      view("broadcast", "axes of one element, and missing ones, repeated", {integers("shape")}),
      view("slice", "elements begin, begin + step, … before end along an axis",
           {integer("axis"), integer("begin"), integer("end"), integer("step", 1)}),
      view("strided", "strides into a stored tensor; the compiler makes it of the other views",
           {integer("offset"), integers("shape"), integers("strides")}),
      {.name = "custom",
       .family = "custom",
       .summary = "a kernel in the caller's WGSL (weft/custom_op.h)",
       .inputs = {repeated("inputs")},
       .outputs = {repeated("outputs")},
       .signatures = {{types::any, types::any}}},
      of_kernel("pad", {integers("before"), integers("after"), choice("mode", kPadModes), number("value", 0)}),
      of_kernel("tile", {integers("counts")}),
      of_kernel("repeat", {integers("counts")}),
      of_kernel("dynamic_slice", {integers("sizes")}),
      updates_part(),
      scatters("scatter", integer("axis", 0)),
      scatters("scatter_elements", integer("axis", 0)),
      scatters("scatter_nd", integer("batch", 0)),
      of_kernel("one_hot", {integer("classes"), text("dtype")}),
      of_kernel("top_k", {integer("k")}),
  };
  const auto add = [&](Schema s) {
    if (std::ranges::find(all, s.name, &Schema::name) == all.end()) all.push_back(std::move(s));
  };
  for (const kernels::KernelInfo& k : kernels::table()) {
    if (k.family == "reduce") add(of_kernel(k.name, {boolean("keep_dims", false)}));
    if (k.family == "conv") add(of_kernel(k.name, {integers("sizes"), boolean("channels_last", false)}));
    if (k.family == "random") add(of_kernel(k.name, {integers("shape"), text("dtype")}));
    // What others do in a graph is done by ops above, or when it is built.
    for (const std::string_view family : {"elementwise", "scan", "softmax", "norm", "matmul", "attention"}) {
      if (k.family == family && k.name != "batch_norm") add(of_kernel(k.name));
    }
  }
  for (const std::string_view name : {"gather", "gather_elements", "gather_nd", "concat", "roll", "triangle", "sort"}) {
    add(of_kernel(name));
  }
  add(of_kernel("argsort"));
  return all;
}

}  // namespace

std::span<const Schema> op_schemas() {
  static const std::vector<Schema> all = make_schemas();
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
