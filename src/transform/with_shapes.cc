// A graph on inputs of other shapes: its nodes made again, so that each op infers its results anew.
#include <algorithm>

#include "core/format.h"
#include "core/in_quotes.h"
#include "graph/clone.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "ops/op_rows.h"
#include "transform/subgraph.h"
#include "weft/error.h"

namespace weft {
namespace {

std::string types_text(std::span<const TensorType> types) {
  std::string text;
  for (const TensorType& t : types) text += (text.empty() ? "" : ", ") + to_string(t);
  return types.empty() ? "nothing" : text;
}

// 'reshape{shape=[2, 4]} "heads" (recorded at program.cc:12)'
std::string described(const Node& node) {
  return node.op().to_string() + (node.label() ? " " + in_quotes(*node.label()) : std::string()) +
         recorded_at(node.line());
}

// What the compiler alone makes, of the layouts that tensors have.
bool is_of_compiler(const Node& node) {
  const OpRow* row = find_op_row(node.op().name());
  return row && !row->make && !row->make_of_graphs;
}

Graph with_types(const Graph& from, std::span<const TensorType> types);

// The op's graphs for operands of these types. Their inputs are the op's last operands; of an operand that has an axis
// more than the input, a turn of a loop sees a slice.
OpPtr with_graphs_of(const Node& node, std::span<const TensorType> operands) {
  std::vector<GraphPtr> graphs;
  const std::vector<TensorType> before = node.input_types();
  for (const GraphPtr& graph : node.op().subgraphs()) {
    std::vector<TensorType> types = input_types(*graph);
    const std::size_t first = operands.size() - types.size();
    for (std::size_t i = 0; i < types.size(); ++i) {
      const bool is_slice = before[first + i].shape.rank() > types[i].shape.rank();
      types[i] = operands[first + i];
      if (is_slice) types[i].shape.erase(0);
    }
    graphs.push_back(std::make_shared<const Graph>(with_types(*graph, types)));
  }
  return node.op().control_flow()->with_subgraphs(std::move(graphs));
}

// An axis of an elementwise operation's operand that was not broadcast, and would be now, to what does not depend on
// the graph's inputs: a tensor that the program made in a size of x's. -1: there is none.
int axis_that_would_be_broadcast(const Node& node, std::span<const Tensor> operands, const NodeIds& of_inputs) {
  if (!node.op().elementwise()) return -1;
  for (std::size_t fixed = 0; fixed < operands.size(); ++fixed) {
    if (of_inputs.contains(*node.inputs()[fixed].node())) continue;
    const Shape& size = operands[fixed].shape();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Shape &before = node.inputs()[i].shape(), &after = operands[i].shape();
      for (int d = 1; d <= std::min(size.rank(), after.rank()); ++d) {
        if (size[-d] > 1 && before[-d] == size[-d] && after[-d] == 1) return size.rank() - d;
      }
    }
  }
  return -1;
}

// The node on what its operands have become. `of_inputs`: what of the graph depends on its inputs.
void make_again(const Node& node, ResultMap& now, const NodeIds& of_inputs) {
  const std::vector<Tensor> operands = now.at(node.inputs());
  const std::vector<TensorType> types = types_of(operands);
  if (is_of_compiler(node)) {
    throw Unsupported(
        "with_shapes: {} was made by the compiler for the shapes that it has; give it the graph that was "
        "recorded",
        described(node));
  }
  const Tensor made = [&] {
    // Of a node in the graphs that this one owns.
    const OpPtr op = node.op().subgraphs().empty() ? node.shared_op() : with_graphs_of(node, types);
    try {
      if (const int axis = axis_that_would_be_broadcast(node, operands, of_inputs); axis >= 0) {
        throw ShapeError("{}: an operand would be broadcast along axis {}, which it was not", node.op().name(), axis);
      }
      return clone(node, op, operands);
    } catch (const InvalidArgument& e) {
      throw ShapeError(
          "with_shapes: {} was recorded for {}, and does not take {}: {}. Sizes that are numbers in a graph stay: "
          "record "
          "them by rules (-1, flatten_axes(), unflatten(), slices up to the end), or record the graph for these shapes",
          described(node), types_text(node.input_types()), types_text(types), e.what());
    }
  }();
  for (int i = 0; i < static_cast<int>(node.types().size()); ++i) now.set(node.value(i), result(made, i));
}

Graph with_types(const Graph& from, std::span<const TensorType> types) {
  const Graph::Impl& impl = from.impl();
  if (!impl.stored.empty()) {
    throw Unsupported(
        "with_shapes: the compiler made the graph for the shapes that it has; give it the one that was "
        "recorded");
  }
  Graph to(from.name());
  ResultMap now;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto& [name, value] = impl.inputs[i];
    if (value.type() == types[i]) {
      to.impl().add_input(name, value);
      continue;
    }
    const Tensor input = to.input(name, types[i].dtype, types[i].shape);
    input.node()->set_label(value.node()->label());
    input.node()->set_line(value.node()->line());
    now.set(value, input);
  }
  for (const GraphPort& n : impl.numbers) to.impl().add_number(n.name, n.value);
  NodeIds of_inputs;
  for (const NodePtr& node : impl.nodes()) {
    const auto depends = [&](const Tensor& v) { return of_inputs.contains(*v.node()); };
    if (node->op().input() || std::ranges::any_of(node->inputs(), depends)) of_inputs.insert(*node, 0);
    if (std::ranges::none_of(node->inputs(), [&](const Tensor& v) { return now.find(v).defined(); })) continue;
    make_again(*node, now, of_inputs);
  }
  for (const auto& [sequence, labels] : impl.labels) {
    const auto node = std::ranges::find(impl.nodes(), sequence, [](const NodePtr& n) { return n->sequence(); });
    if (node != impl.nodes().end()) to.impl().labels[now.at((*node)->value()).node()->sequence()] = labels;
  }
  for (const GraphPort& o : impl.outputs) to.impl().add_output(o.name, now.at(o.value));
  return to;
}

}  // namespace

Graph Graph::with_shapes(std::span<const NamedShape> shapes) const {
  const WithoutLabelScope scope;  // nodes have the labels of those that they are made of
  const std::vector<GraphPort>& ports = impl().inputs;
  std::vector<TensorType> types = input_types(*this);
  std::vector<char> given(ports.size(), 0);
  for (const auto& [name, shape] : shapes) {
    const auto port = std::ranges::find(ports, name, &GraphPort::name);
    if (port == ports.end()) {
      std::string known;
      for (const GraphPort& p : ports) known += (known.empty() ? "" : ", ") + in_quotes(p.name);
      throw InvalidArgument("with_shapes: no input is called {}; there are {}", in_quotes(name),
                            known.empty() ? "none" : known);
    }
    const auto i = static_cast<std::size_t>(port - ports.begin());
    if (given[i]++) throw InvalidArgument("with_shapes: input {} is given twice", in_quotes(name));
    if (shape.rank() != types[i].shape.rank()) {
      throw ShapeError("with_shapes: input {} is {}, expected {} axes as in {}", in_quotes(name),
                       weft::to_string(shape), types[i].shape.rank(), weft::to_string(types[i]));
    }
    for (const std::int64_t size : shape) {
      if (size < 0)
        throw ShapeError("with_shapes: input {} is {}, which has a negative size", in_quotes(name),
                         weft::to_string(shape));
    }
    types[i].shape = shape;
  }
  return with_types(*this, types);
}

}  // namespace weft
