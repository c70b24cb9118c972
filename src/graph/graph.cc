#include "graph/graph.h"

#include <algorithm>
#include <ranges>

#include "core/format.h"
#include "core/in_quotes.h"
#include "graph/leaf.h"
#include "graph/walk.h"
#include "weft/error.h"

namespace weft {

Graph::Graph(std::string name) : impl_(std::make_unique<Impl>()) { impl_->name = std::move(name); }
Graph::~Graph() = default;
Graph::Graph(const Graph& other) : impl_(std::make_unique<Impl>(other.impl())) {}
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(Graph other) noexcept {
  impl_ = std::move(other.impl_);
  return *this;
}
Graph::Impl::Impl(const Impl& other)
    : inputs(other.inputs),
      numbers(other.numbers),
      outputs(other.outputs),
      stored(other.stored),
      labels(other.labels),
      name(other.name),
      retained_(other.retained_),
      input_names_(other.input_names_),
      number_names_(other.number_names_),
      output_names_(other.output_names_) {
  const std::lock_guard lock(other.mutex_);
  collected_ = other.collected_;
}
Graph::Impl& Graph::impl() const {
  if (!impl_) throw InvalidArgument("graph: it was moved from; what it held is in another Graph");
  return *impl_;
}

Tensor Graph::input(std::string name, DType dtype, const Shape& shape) {
  Tensor v = apply(make_op<InputOp>(name, TensorType{dtype, shape}, impl().name), {});
  impl().add_input(std::move(name), v);
  return v;
}

Tensor Graph::number(std::string name, DType dtype) {
  if (bits(dtype) < 8)
    throw InvalidArgument("graph: number {} is {}; numbers have 8 bits or more", in_quotes(name), weft::name(dtype));
  Tensor v = apply(make_op<NumberOp>(name, dtype, impl().name), {});
  impl().add_number(std::move(name), v);
  return v;
}

Tensor Graph::constant(TensorData tensor, std::string name) {
  return apply(make_op<ConstantOp>(make_constant(std::move(tensor)), std::move(name)), {});
}

void Graph::Impl::add_port(std::vector<GraphPort>& ports, Names& names, const char* what, std::string name,
                           Tensor value) {
  if (!names.insert(name).second) throw InvalidArgument("graph: there is {} {} already", what, in_quotes(name));
  ports.push_back({std::move(name), std::move(value)});
  collected_.reset();
}

void Graph::Impl::add_input(std::string name, Tensor value) {
  add_port(inputs, input_names_, "an input", std::move(name), std::move(value));
}
void Graph::Impl::add_number(std::string name, Tensor value) {
  add_port(numbers, number_names_, "a number", std::move(name), std::move(value));
}
void Graph::Impl::add_output(std::string name, Tensor value) {
  add_port(outputs, output_names_, "an output", std::move(name), std::move(value));
}

std::string Graph::Impl::stored_text(const Node& node) const {
  const std::vector<int>& order = stored_order(node);
  if (order.empty()) return {};
  Dims axes;
  for (const int axis : order) axes.push_back(axis);
  return " stored=" + weft::to_string(axes);
}

const std::vector<int>& Graph::Impl::stored_order(const Node& node) const {
  static const std::vector<int> own;
  const auto it = stored.find(node.sequence());
  return it == stored.end() ? own : it->second;
}

std::string Graph::Impl::label_text(const Node& node) const {
  std::string text = node.label() ? in_quotes(*node.label()) : std::string();
  if (const auto it = labels.find(node.sequence()); it != labels.end()) {
    for (const std::string* label : it->second) {
      if (label != node.label()) text += (text.empty() ? "" : "+") + in_quotes(*label);
    }
  }
  return text;
}

const std::string& Graph::name() const { return impl().name; }

static std::vector<Graph::Port> described(std::span<const GraphPort> ports) {
  std::vector<Graph::Port> all;
  for (const GraphPort& p : ports) all.push_back({p.name, p.value.type()});
  return all;
}
std::vector<Graph::Port> Graph::inputs() const { return described(impl().inputs); }
std::vector<Graph::Port> Graph::numbers() const { return described(impl().numbers); }
std::vector<Graph::Port> Graph::outputs() const { return described(impl().outputs); }

static auto values(std::span<const GraphPort> ports) { return std::views::transform(ports, &GraphPort::value); }

std::vector<Tensor> Graph::Impl::captured() const {
  std::vector<Tensor> found;
  if (std::ranges::none_of(nodes(), [](const NodePtr& n) { return n->op().data_op() != nullptr; })) return found;
  NodeIds seen;
  for (const Node* node : reach(values(outputs), seen, at_leaves)) {
    if (node->op().data_op()) found.push_back(node->value());
  }
  return found;
}

static bool needs(const Tensor& value, const Node& node) {
  NodeIds seen;
  reach(std::span(&value, 1), seen, at_leaves);
  return seen.contains(node);
}

// For an input or number of another graph, which one of the outputs needs.
[[noreturn]] static void throw_mixed(const std::string& graph, std::span<const GraphPort> outputs,
                                     const Node& foreign) {
  const auto output = std::ranges::find_if(outputs, [&](const GraphPort& o) { return needs(o.value, foreign); });
  const InputOp* input = foreign.op().input();
  const std::string& owner = input ? input->graph_name() : foreign.op().number()->graph_name();
  throw InvalidArgument("graph: output {}{} needs {} {}{}; a graph computes of its own inputs alone",
                        in_quotes(output->name), graph.empty() ? "" : " of graph " + in_quotes(graph),
                        input ? "input" : "number",
                        in_quotes(input ? input->input_name() : foreign.op().number()->number_name()),
                        owner.empty() ? ", which is another graph's" : " of graph " + in_quotes(owner));
}

const Graph::Impl::Collected& Graph::Impl::collected() const {
  const std::lock_guard lock(mutex_);
  if (collected_) return *collected_;
  auto all = std::make_shared<Collected>();
  NodeIds seen;
  std::vector<const Node*> nodes;
  for (const auto* ports : {&inputs, &numbers, &outputs}) {
    for (const Node* node : reach(values(*ports), seen, at_leaves)) {
      if (ports == &outputs && (node->op().input() || node->op().number())) throw_mixed(name, outputs, *node);
      nodes.push_back(node);
    }
  }
  Walk walk = in_order(std::move(nodes), std::move(seen));
  all->nodes.reserve(walk.nodes.size());
  all->first_results.reserve(walk.nodes.size() + 1);
  std::size_t results = 0;
  for (const Node* node : walk.nodes) {
    node->set_index_hint(static_cast<int>(all->nodes.size()));
    all->first_results.push_back(results);
    results += node->types().size();
    all->nodes.emplace_back(*node);
  }
  all->first_results.push_back(results);
  all->ids = std::move(walk.indices);
  collected_ = std::move(all);
  return *collected_;
}

std::string Graph::Impl::identity() const {
  std::string text;
  const auto put = [&](const Tensor& v) { text += std::format(" %{}.{}", id(*v.node()), v.index()); };
  for (const auto& node : nodes()) {
    text += node->op().identity();
    for (const Tensor& v : node->inputs()) put(v);
    for (const TensorType& t : node->types()) text += std::format(" {}", weft::to_string(t));
    text += stored_text(*node) + "; ";
  }
  for (const GraphPort& o : outputs) {
    text += in_quotes(o.name);
    put(o.value);
  }
  return text;
}

void Graph::verify() const {
  const auto fail = [&](const Node& node, std::string_view what) {
    throw InternalError("graph: {}: {}", weft::to_string(node, *this), what);
  };
  int id = 0;
  for (const auto& node : impl().nodes()) {
    for (const Tensor& v : node->inputs()) {
      // Ids ascend along edges, so this also excludes cycles.
      const int from = impl().id(*v.node());
      if (from < 0) fail(*node, "an edge leaves the graph");
      if (from >= id) fail(*node, "an operand is computed after its use");
      if (v.index() < 0 || v.index() >= static_cast<int>(v.node()->types().size())) {
        fail(*node, "an operand is a result that its node does not have");
      }
    }
    ++id;
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
    if (!std::ranges::equal(inferred, node->types())) fail(*node, "the recorded types are not the op's");
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
  const auto& nodes = impl().nodes();
  const Impl::NodeIndices index_in = impl().node_indices();
  std::vector<std::uint64_t> of(nodes.size());
  const auto of_tensor = [&](std::uint64_t h, const Tensor& v) {
    return mix(mix(h, of[static_cast<std::size_t>(index_in(*v.node()))]), static_cast<std::uint64_t>(v.index()));
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    std::uint64_t h = text(node.op().identity());
    for (const Tensor& v : node.inputs()) h = of_tensor(h, v);
    for (const TensorType& t : node.types()) h = mix(h, text(weft::to_string(t)));
    for (const int axis : impl().stored_order(node)) h = mix(h, static_cast<std::uint64_t>(axis));
    of[i] = h;
  }
  std::uint64_t h = 0;
  for (const auto* list : {&impl().inputs, &impl().numbers, &impl().outputs}) {
    for (const GraphPort& v : *list) h = of_tensor(mix(h, text(v.name)), v.value);
    h = mix(h, list->size());
  }
  return h;
}

bool Graph::equals(const Graph& other) const {
  const Impl &a = impl(), &b = other.impl();
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return false;
  if (a.numbers.size() != b.numbers.size()) return false;
  if (a.nodes().size() != b.nodes().size()) return false;
  // Which node of the other graph each node must be. Equal sharing is part of being equal, so it must be one to one.
  const Impl::NodeIndices index_in_a = a.node_indices(), index_in_b = b.node_indices();
  std::vector<const Node*> partner(a.nodes().size(), nullptr);
  std::vector<char> taken(b.nodes().size(), 0);
  std::vector<std::pair<const Node*, const Node*>> open;
  const auto pair = [&](const Tensor& x, const Tensor& y) {
    if (x.index() != y.index()) return false;
    const Node*& known = partner[static_cast<std::size_t>(index_in_a(*x.node()))];
    if (known) return known == y.node();
    char& used = taken[static_cast<std::size_t>(index_in_b(*y.node()))];
    if (used) return false;
    used = 1;
    known = y.node();
    open.emplace_back(x.node(), y.node());
    return true;
  };
  const auto pair_ports = [&](const std::vector<GraphPort>& x, const std::vector<GraphPort>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].name != y[i].name || !pair(x[i].value, y[i].value)) return false;
    }
    return true;
  };
  if (!pair_ports(a.inputs, b.inputs) || !pair_ports(a.numbers, b.numbers)) return false;
  if (!pair_ports(a.outputs, b.outputs)) return false;
  while (!open.empty()) {
    const auto [x, y] = open.back();
    open.pop_back();
    if (!std::ranges::equal(x->types(), y->types()) || x->inputs().size() != y->inputs().size()) return false;
    if (x->shared_op() != y->shared_op() && x->op().identity() != y->op().identity()) return false;
    if (a.stored_order(*x) != b.stored_order(*y)) return false;
    for (std::size_t i = 0; i < x->inputs().size(); ++i) {
      if (!pair(x->inputs()[i], y->inputs()[i])) return false;
    }
  }
  return true;
}

}  // namespace weft
