#include "onnx/node.h"

#include <algorithm>
#include <map>

#include "onnx/tracer.h"
#include "onnx/value.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft::onnx {
namespace {

using Type = AttributeProto::Type;

constexpr std::string_view kKinds[] = {"undefined", "a number",        "an integer",     "a text", "a tensor",
                                       "a graph",   "numbers",         "integers",       "texts",  "tensors",
                                       "graphs",    "a sparse tensor", "sparse tensors", "a type", "types"};
std::string_view kind(Type type) {
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kKinds) ? kKinds[i] : "of an unknown kind";
}

const AttributeProto* checked(const Node& node, std::string_view name, Type type) {
  const AttributeProto* a = node.attribute(name);
  if (a && a->type != type) node.fail("the attribute {} is {}, expected {}", name, kind(a->type), kind(type));
  return a;
}
const AttributeProto& required(const Node& node, std::string_view name, Type type) {
  if (const AttributeProto* a = checked(node, name, type)) return *a;
  node.fail("the attribute {} is missing", name);
}

}  // namespace

bool Node::has(std::size_t i) const { return i < operands_.size() && operands_[i] && !operands_[i]->is_none(); }

const Value& Node::value(std::size_t i) const {
  if (i >= operands_.size() || !operands_[i]) fail("operand {} is missing", i);
  return *operands_[i];
}

Tensor Node::in(std::size_t i) const {
  const Value& v = value(i);
  if (!v.is_tensor())
    fail("operand {} is {}, expected a tensor", i, v.sequence ? "a sequence" : "an optional without a value");
  return v.tensor;
}

Tensors Node::all(std::size_t i) const {
  Tensors tensors;
  for (; i < operands_.size(); ++i) tensors.push_back(in(i));
  return tensors;
}

Ints Node::integers_of(std::size_t i) const {
  (void)in(i);
  return integers_in(tracer_.elements(value(i)));
}
std::vector<double> Node::numbers_of(std::size_t i) const {
  (void)in(i);
  return numbers_in(tracer_.elements(value(i)));
}
std::int64_t Node::integer_of(std::size_t i) const {
  const Ints all = integers_of(i);
  if (all.size() != 1) fail("operand {} has {} elements, expected one", i, all.size());
  return all[0];
}
double Node::number_of(std::size_t i) const {
  const std::vector<double> all = numbers_of(i);
  if (all.size() != 1) fail("operand {} has {} elements, expected one", i, all.size());
  return all[0];
}
Tensor Node::host(std::size_t i) const {
  (void)in(i);
  return Graph::constant(tracer_.elements(value(i)));
}
Tensor Node::known(std::size_t i) const {
  const Value& v = value(i);
  return v.data ? v.tensor : Tensor();
}

std::int64_t Node::integer(std::string_view name, std::int64_t otherwise) const {
  const AttributeProto* a = checked(*this, name, Type::i);
  return a ? a->i : otherwise;
}
std::int64_t Node::integer(std::string_view name) const { return required(*this, name, Type::i).i; }
double Node::number(std::string_view name, double otherwise) const {
  const AttributeProto* a = checked(*this, name, Type::f);
  return a ? static_cast<double>(a->f) : otherwise;
}
std::string Node::text(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* a = checked(*this, name, Type::s);
  return a ? a->s : std::string(otherwise);
}
Ints Node::integers(std::string_view name, Ints otherwise) const {
  const AttributeProto* a = checked(*this, name, Type::ints);
  return a ? a->ints : std::move(otherwise);
}
std::vector<double> Node::numbers(std::string_view name, std::vector<double> otherwise) const {
  const AttributeProto* a = checked(*this, name, Type::floats);
  return a ? std::vector<double>(a->floats.begin(), a->floats.end()) : std::move(otherwise);
}
std::vector<std::string> Node::texts(std::string_view name) const {
  const AttributeProto* a = checked(*this, name, Type::strings);
  return a ? a->strings : std::vector<std::string>();
}
Tensor Node::tensor(std::string_view name) const {
  const AttributeProto* a = attribute(name);
  const Source& source = tracer_.source();
  if (a && a->type == Type::sparse_tensor && !a->sparse_tensors.empty()) {
    return Graph::constant(data_of(a->sparse_tensors[0], source.owner, *source.files));
  }
  const AttributeProto& t = required(*this, name, Type::t);
  if (t.tensors.empty()) fail("the attribute {} has no tensor", name);
  return Graph::constant(data_of(t.tensors[0], source.owner, *source.files));
}
DType Node::type(std::string_view name) const {
  const auto type = static_cast<ElementType>(integer(name));
  if (const auto found = find_dtype(type)) return *found;
  lacks("the attribute {} is {}, a type that Weft lacks", name, onnx::name(type));
}

std::optional<Ints> Node::integers(std::int64_t since, std::size_t i, std::string_view name) const {
  if (version_ >= since) return has(i) ? std::optional(integers_of(i)) : std::nullopt;
  const AttributeProto* a = checked(*this, name, Type::ints);
  return a ? std::optional(a->ints) : std::nullopt;
}

void Node::fail_with(const std::string& what) const { throw FormatError("{}", what); }
void Node::lacks_with(const std::string& what) const { throw Unsupported("{}", what); }

std::span<const OperatorRows> all_rows() {
  static const std::vector<OperatorRows> rows{elementwise_rows(),  movement_rows(),  reduction_rows(), network_rows(),
                                              region_rows(),       recurrent_rows(), attention_rows(), signal_rows(),
                                              quantization_rows(), microsoft_rows(), control_written()};
  return rows;
}

const OperatorRow* find_row(std::string_view domain, std::string_view name, std::int64_t version) {
  static const auto rows = [] {
    std::multimap<std::pair<std::string_view, std::string_view>, const OperatorRow*> by_name;
    for (const OperatorRows& file : all_rows()) {
      for (const OperatorRow& row : file.rows) by_name.emplace(std::pair(file.domain, row.name), &row);
    }
    return by_name;
  }();
  const OperatorRow* best = nullptr;
  const auto [first, last] = rows.equal_range({domain, name});
  for (auto it = first; it != last; ++it) {
    if (it->second->since <= version && (!best || it->second->since > best->since)) best = it->second;
  }
  return best;
}

int axis_of(const Node& node, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) node.fail("axis {} of a tensor of rank {}", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}
std::vector<int> axes_of(const Node& node, std::span<const std::int64_t> axes, int rank) {
  std::vector<int> result;
  for (const std::int64_t a : axes) result.push_back(axis_of(node, a, rank));
  return result;
}

}  // namespace weft::onnx
