#include "graph/graph.h"

#include <unordered_map>

#include "core/in_quotes.h"
#include "graph/ops/leaf.h"
#include "weft/error.h"

namespace weft {

std::vector<TensorType> Node::input_types() const {
  std::vector<TensorType> types;
  for (const Value& v : inputs_) types.push_back(v.type());
  return types;
}

std::vector<std::span<const Value>> Node::input_groups() const {
  std::vector<std::span<const Value>> groups;
  std::span<const Value> rest = inputs_;
  for (const int count : op_->operand_groups()) {
    groups.push_back(rest.first(static_cast<std::size_t>(count)));
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  for (; !rest.empty(); rest = rest.subspan(1)) groups.push_back(rest.first(1));
  return groups;
}

namespace {
const Node& checked(const Node* node) {
  if (!node) throw InvalidArgument("graph: an empty Value, which stands for no tensor, was used as one");
  return *node;
}
}  // namespace

Graph& Value::graph() const { return *checked(node_).graph().owner; }
const TensorType& Value::type() const { return checked(node_).types()[index_]; }

Value Value::T() const {
  if (rank() < 2) throw InvalidArgument("T: a tensor of shape {} has no two axes to exchange", to_string(shape()));
  std::vector<int> order;
  for (int i = 0; i < rank(); ++i) order.push_back(i);
  std::swap(order[rank() - 1], order[rank() - 2]);
  return permute(*this, order);
}

Graph::Graph() : impl_(std::make_unique<Impl>()) { impl_->owner = this; }
Graph::~Graph() = default;
Graph::Graph(Graph&& other) noexcept : impl_(std::move(other.impl_)) {
  if (impl_) impl_->owner = this;
}
Graph& Graph::operator=(Graph&& other) noexcept {
  impl_ = std::move(other.impl_);
  if (impl_) impl_->owner = this;
  return *this;
}
Graph::Impl& Graph::impl() const {
  if (!impl_) throw InvalidArgument("graph: it was moved from; what it held is in another Graph");
  return *impl_;
}

Node& Graph::Impl::add(OpPtr op, std::vector<Value> operands) {
  std::vector<TensorType> types;
  for (const Value& v : operands) {
    if (&v.node()->graph() != this) throw InvalidArgument("{}: operands belong to different graphs", op->name());
    types.push_back(v.type());
  }
  std::vector<TensorType> results = op->infer(types);
  for (const TensorType& t : results) element_count(t.shape);
  nodes.push_back(std::make_unique<Node>(*this, static_cast<int>(nodes.size()), std::move(op), std::move(operands),
                                         std::move(results)));
  return *nodes.back();
}

Node& Graph::Impl::copy(const Node& node, OpPtr op, std::vector<Value> operands) {
  if (const InputOp* input = op->input()) {
    const TensorType& type = node.types()[0];
    return *owner->input(input->input_name(), type.dtype, type.shape).node();
  }
  Node& made = add(std::move(op), std::move(operands));
  made.store_as(node.stored());
  return made;
}

std::string Graph::Impl::identity() const {
  std::string text;
  const auto put = [&](Value v) { text += std::format(" %{}.{}", v.node()->id(), v.index()); };
  for (const auto& node : nodes) {
    text += node->op().identity();
    for (const Value& v : node->inputs()) put(v);
    for (const TensorType& t : node->types()) text += std::format(" {}", weft::to_string(t));
    text += Attributes().add(" stored", node->stored()).shown() + "; ";
  }
  for (const NamedValue& o : outputs) {
    text += in_quotes(o.name);
    put(o.value);
  }
  return text;
}

Value apply(OpPtr op, std::vector<Value> operands) {
  for (const Value& v : operands) {
    if (!v) throw InvalidArgument("{}: an operand is an empty Value", op->name());
  }
  if (operands.empty()) throw InternalError("{}: no operand names the graph", op->name());
  Graph::Impl& graph = operands[0].node()->graph();
  return graph.add(std::move(op), std::move(operands)).value();
}

Value Graph::input(std::string name, DType dtype, const Shape& shape) {
  for (const NamedValue& i : impl().inputs) {
    if (i.name == name) throw InvalidArgument("graph: there is an input {} already", in_quotes(name));
  }
  const Value v = impl().add(make_op<InputOp>(name, TensorType{dtype, shape}), {}).value();
  impl().inputs.push_back({std::move(name), v});
  return v;
}

Value Graph::constant(TensorData tensor, std::string name) {
  return impl().add(make_op<ConstantOp>(make_constant(std::move(tensor)), std::move(name)), {}).value();
}

void Graph::output(std::string name, Value value) {
  if (!value) throw InvalidArgument("graph: output {} is an empty Value", in_quotes(name));
  if (&value.node()->graph() != &impl()) {
    throw InvalidArgument("graph: output {} belongs to another graph", in_quotes(name));
  }
  for (const NamedValue& o : impl().outputs) {
    if (o.name == name) throw InvalidArgument("graph: there is an output {} already", in_quotes(name));
  }
  impl().outputs.push_back({std::move(name), value});
}

void Graph::verify() const {
  const auto fail = [](const Node& node, std::string_view what) {
    throw InternalError("graph: {}: {}", weft::to_string(node), what);
  };
  int id = 0;
  for (const auto& node : impl().nodes) {
    if (node->id() != id++ || &node->graph() != &impl()) fail(*node, "the node is not where it says it is");
    for (const Value& v : node->inputs()) {
      // Ids ascend along edges, so this also excludes cycles.
      if (&v.node()->graph() != &impl()) fail(*node, "an edge leaves the graph");
      if (v.node()->id() >= node->id()) fail(*node, "an operand is computed after its use");
      if (v.index() < 0 || v.index() >= static_cast<int>(v.node()->types().size())) {
        fail(*node, "an operand is a result that its node does not have");
      }
    }
    std::size_t grouped = 0;
    for (const int count : node->op().operand_groups()) {
      if (count < 1) fail(*node, "a group of operands is empty");
      grouped += static_cast<std::size_t>(count);
    }
    if (grouped != 0 && grouped != node->inputs().size()) fail(*node, "its groups of operands are not its operands");
    for (const auto& graph : node->op().subgraphs()) {
      try {
        graph->verify();
      } catch (const Error& e) {
        fail(*node, e.what());
      }
    }
    std::vector<TensorType> inferred;
    try {
      inferred = node->op().infer(node->input_types());
    } catch (const Error& e) {
      fail(*node, e.what());
    }
    if (inferred != node->types()) fail(*node, "the recorded types are not the op's");
  }
  for (const auto* list : {&impl().inputs, &impl().outputs}) {
    for (const NamedValue& v : *list) {
      if (&v.value.node()->graph() != &impl()) {
        throw InternalError("graph: {} belongs to another graph", in_quotes(v.name));
      }
    }
  }
}

std::uint64_t Graph::hash() const {
  constexpr auto mix = [](std::uint64_t h, std::uint64_t v) {
    // The finaliser of splitmix64 over a multiplicative combination.
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
  };
  const std::hash<std::string> text;
  std::vector<std::uint64_t> of(impl().nodes.size());
  for (const auto& node : impl().nodes) {
    std::uint64_t h = text(node->op().identity());
    for (const Value& v : node->inputs()) h = mix(mix(h, of[v.node()->id()]), static_cast<std::uint64_t>(v.index()));
    for (const TensorType& t : node->types()) h = mix(h, text(weft::to_string(t)));
    for (const int axis : node->stored()) h = mix(h, static_cast<std::uint64_t>(axis));
    of[node->id()] = h;
  }
  std::uint64_t h = 0;
  for (const auto* list : {&impl().inputs, &impl().outputs}) {
    for (const NamedValue& v : *list) {
      h = mix(mix(mix(h, text(v.name)), of[v.value.node()->id()]), static_cast<std::uint64_t>(v.value.index()));
    }
    h = mix(h, list->size());
  }
  return h;
}

}  // namespace weft
