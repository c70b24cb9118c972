#include "weft/expression.h"

#include <algorithm>

#include <cmath>
#include <complex>
#include <cstring>
#include <format>

#include "core/format.h"
#include "kernels/elementwise/scalar_ops.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft {
namespace {

std::string constant_text(const Expression::Node& node) {
  float f = 0;
  const auto b = static_cast<std::uint32_t>(node.bits);
  switch (node.type) {
    case DType::f32:
      f = std::bit_cast<float>(b);
      break;
    case DType::f16:
      f = float16::from_bits(static_cast<std::uint16_t>(b));
      break;
    case DType::bf16:
      f = bfloat16::from_bits(static_cast<std::uint16_t>(b));
      break;
    case DType::boolean:
      return b ? "true" : "false";
    default:
      return std::format("0x{:x}:{}", node.bits, name(node.type));
  }
  if (std::isnan(f)) return std::format("0x{:x}:{}", node.bits, name(node.type));
  return std::format("{}:{}", f, name(node.type));
}

}  // namespace

int Expression::input(DType type) {
  nodes_.push_back({.op = ScalarOp::input, .type = type, .input = inputs_++});
  return static_cast<int>(nodes_.size()) - 1;
}

int Expression::constant(Number value, DType type) { return constant_bits(value.bits(type), type); }

int Expression::constant_bits(std::uint64_t bits, DType type) {
  nodes_.push_back({.op = ScalarOp::constant, .type = type, .bits = bits});
  return static_cast<int>(nodes_.size()) - 1;
}

int Expression::append(const Node& node) {
  switch (node.op) {
    case ScalarOp::input:
      return input(node.type);
    case ScalarOp::constant:
      return constant_bits(node.bits, node.type);
    case ScalarOp::cast:
      return nodes_[node.args[0]].type == node.type ? round(node.args[0]) : cast(node.args[0], node.type);
    default:
      return apply(node.op, std::span(node.args).first(static_cast<std::size_t>(kernels::info(node.op).arity)));
  }
}

int Expression::apply(ScalarOp op, std::span<const int> args) {
  const kernels::ScalarOpInfo& row = kernels::info(op);
  if (!row.computes()) {
    throw InvalidArgument("expression: {} is made by its own function, not by apply", row.name);
  }
  if (static_cast<int>(args.size()) != row.arity) {
    throw InvalidArgument("expression: {} takes {} operands, got {}", row.name, row.arity, args.size());
  }
  Node node{.op = op};
  int i = 0;
  for (int arg : args) {
    if (arg < 0 || arg >= static_cast<int>(nodes_.size())) {
      throw InvalidArgument("expression: {}: operand {} is node {}, there are {}", row.name, i, arg, nodes_.size());
    }
    node.args[i++] = arg;
  }
  // Operands that must have the same type: all but the condition of select.
  const int first = row.first_value();
  if (first && nodes_[node.args[0]].type != DType::boolean) {
    throw TypeError("expression: select: the condition is bool, got {}", name(nodes_[node.args[0]].type));
  }
  const DType type = nodes_[node.args[first]].type;
  for (int k = first; k < row.arity; ++k) {
    const DType other = nodes_[node.args[k]].type;
    if (other != type) {
      throw TypeError("expression: {}: operands are {} and {}; cast one of them", row.name, name(type), name(other));
    }
  }
  if (!(kernels::type_set(type) & row.types)) {
    throw TypeError("expression: {} takes {}, got {}", row.name, kernels::type_names(row.types), name(type));
  }
  switch (row.yields) {
    case kernels::Yields::same:
      node.type = type;
      break;
    case kernels::Yields::boolean:
      node.type = DType::boolean;
      break;
    case kernels::Yields::real:
      node.type = type == DType::c64 ? DType::f32 : type;
      break;
    case kernels::Yields::complex:
      node.type = DType::c64;
      break;
  }
  nodes_.push_back(node);
  return static_cast<int>(nodes_.size()) - 1;
}

int Expression::cast(int value, DType type) {
  if (value < 0 || value >= static_cast<int>(nodes_.size())) {
    throw InvalidArgument("expression: cast: the operand is node {}, there are {}", value, nodes_.size());
  }
  if (nodes_[value].type == type) return value;
  nodes_.push_back({.op = ScalarOp::cast, .type = type, .args = {value, -1, -1}});
  return static_cast<int>(nodes_.size()) - 1;
}

int Expression::round(int value) {
  const Node& node = nodes_.at(static_cast<std::size_t>(value));
  if (!kernels::info(node.op).computes() || !is_floating(node.type) || bits(node.type) >= 32) return value;
  nodes_.push_back({.op = ScalarOp::cast, .type = node.type, .args = {value, -1, -1}});
  return static_cast<int>(nodes_.size()) - 1;
}

void Expression::output(int node) {
  if (node < 0 || node >= static_cast<int>(nodes_.size())) {
    throw InvalidArgument("expression: output is node {}, there are {}", node, nodes_.size());
  }
  outputs_.push_back(node);
}

std::string Expression::to_string() const {
  // Nodes that are used more than once get a name, so that the text grows with the nodes and not with the paths.
  std::vector<int> uses(nodes_.size(), 0);
  std::vector<bool> live(nodes_.size(), false);
  for (int o : outputs_) {
    live[o] = true;
    ++uses[o];
  }
  for (int i = static_cast<int>(nodes_.size()) - 1; i >= 0; --i) {
    if (!live[i]) continue;
    for (int a : nodes_[i].args) {
      if (a < 0) continue;
      live[a] = true;
      ++uses[a];
    }
  }
  const auto is_leaf = [&](int n) { return kernels::info(nodes_[n].op).leaf(); };
  const auto is_named = [&](int n) { return !is_leaf(n) && live[n] && uses[n] > 1; };
  // Numbered in their order, so that equal expressions have one text however they were made.
  std::vector<int> names(nodes_.size(), 0);
  int named = 0;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    if (is_named(i)) names[i] = ++named;
  }
  std::string body;
  // Appends an operation, with the operands that only it uses written out.
  const auto write = [&](int root) {
    struct Open {
      int node, next;
    };
    std::vector<Open> open;
    const auto begin = [&](int n) {
      const Node& node = nodes_[n];
      if (node.op == ScalarOp::input) {
        body += std::format("x{}", node.input);
      } else if (node.op == ScalarOp::constant) {
        body += constant_text(node);
      } else {
        body +=
            node.op == ScalarOp::cast ? std::format("cast<{}>(", name(node.type)) : std::format("{}(", name(node.op));
        open.push_back({n, 0});
      }
    };
    begin(root);
    while (!open.empty()) {
      Open& top = open.back();
      const Node& node = nodes_[top.node];
      if (top.next == arity(node.op)) {
        body += ")";
        open.pop_back();
        continue;
      }
      if (top.next > 0) body += ", ";
      const int arg = node.args[top.next++];
      if (is_named(arg))
        body += std::format("%{}", names[arg]);
      else
        begin(arg);
    }
  };
  std::string head = "(";
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& node = nodes_[i];
    if (node.op == ScalarOp::input) {
      head += std::format("{}x{}:{}", node.input ? ", " : "", node.input, name(node.type));
    } else if (is_named(i)) {
      body += std::format("%{} = ", names[i]);
      write(i);
      body += "; ";
    }
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (k > 0) body += ", ";
    if (is_named(outputs_[k]))
      body += std::format("%{}", names[outputs_[k]]);
    else
      write(outputs_[k]);
  }
  return head + ") " + body;
}

int Expression::operation_count() const {
  return static_cast<int>(std::ranges::count_if(nodes_, [](const Node& n) { return kernels::info(n.op).computes(); }));
}

double Expression::cost() const {
  double sum = 0;
  const auto on_the_way = [](DType type) {
    return bits(type) < 8 ? 0.4 : bits(type) == 8 && is_floating(type) ? 0.3 : 0.0;
  };
  for (const Node& n : nodes_) {
    if (n.op == ScalarOp::input) {
      sum += on_the_way(n.type);
    } else if (n.op != ScalarOp::constant) {
      const double slower = kernels::info(n.op).function() && n.type == DType::f64 ? 10 : 1;
      sum += kernels::info(n.op).cost * slower;
    }
  }
  for (const int o : outputs_) sum += on_the_way(nodes_[o].type);
  return sum;
}

}  // namespace weft
