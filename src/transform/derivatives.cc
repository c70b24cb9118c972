#include "transform/derivatives.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "core/format.h"
#include "graph/clone.h"
#include "ops/identity.h"
#include "ops/rules.h"
#include "weft/error.h"

namespace weft {

Dependence::Dependence(std::span<const Tensor> outputs, std::span<const Tensor> variables, Along along) {
  std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
  for (const Tensor& v : variables) {
    if (!v.defined()) continue;
    variables_.insert(*v.node(), 0);
    oldest = std::min(oldest, v.node()->sequence());
  }
  // What is older than all variables depends on none of them.
  const auto stop = [&](const Node& node) {
    return node.sequence() <= oldest || variables_.contains(node) || at_leaves(node);
  };
  {
    const std::unique_lock lock(Node::graph_mutex());
    walk_ = walk(outputs, stop);
    retained_.retain(walk_.nodes);
  }
  const auto counts = [&](DType type) { return along == Along::all || is_inexact(type); };
  depends_.assign(nodes().size(), 0);
  for (std::size_t k = 0; k < nodes().size(); ++k) {
    const Node& node = *nodes()[k];
    depends_[k] =
        is_variable(node) ||
        (!stop(node) && std::ranges::any_of(node.types(), [&](const TensorType& t) { return counts(t.dtype); }) &&
         std::ranges::any_of(node.inputs(), [&](const Tensor& v) { return counts(v.dtype()) && depends(*v.node()); }));
    if (depends_[k] && node.op().custom_derivative()) calls_[CustomResultOp::call_of(node)].push_back(&node);
  }
}

namespace {

// What derivatives are asked for: an op on its operands, or a call with derivatives of its own.
struct Asked {
  const Node& node;  // of a call the first of its results
  const CustomDerivative* call;
  std::span<const Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<char> wanted;
  // What each output is among the nodes: of a call it may be no node, or several.
  std::vector<std::vector<Tensor>> found = {};

  Differentiated given() const { return {inputs, outputs, wanted}; }
  Derivatives vjp(std::span<const Tensor> cotangents) const {
    return call ? call->vjp(given(), cotangents) : node.op().derivatives().vjp(given(), cotangents);
  }
  Derivatives jvp(std::span<const Tensor> tangents) const {
    return call ? call->jvp(given(), tangents) : node.op().derivatives().jvp(given(), tangents);
  }
};

// Nothing: the node is a further result of a call.
std::optional<Asked> asked(const Node& node, const Dependence& dependence) {
  Asked a{node, node.op().custom_derivative(), node.inputs(), {}, {}};
  if (a.call) {
    const auto& results = dependence.results_of_call(node);
    if (results.front() != &node) return std::nullopt;
    a.inputs = CustomResultOp::operands_of(node);
    a.found.resize(static_cast<std::size_t>(a.call->results));
    for (const Node* r : results) a.found[CustomResultOp::index_of(*r)].push_back(r->value());
    for (int i = 0; i < a.call->results; ++i) {
      const auto& nodes = a.found[static_cast<std::size_t>(i)];
      a.outputs.push_back(nodes.empty() ? CustomResultOp::result_of(node, i) : nodes.front());
    }
  } else {
    for (int i = 0; i < static_cast<int>(node.types().size()); ++i) {
      a.outputs.push_back(node.value(i));
      a.found.push_back({node.value(i)});
    }
  }
  for (const Tensor& v : a.inputs) a.wanted.push_back(is_inexact(v.dtype()) && dependence.depends(*v.node()));
  return a;
}

// The rule gave what the driver expects of it: a derivative for each of these.
void check(const Asked& asked, std::string_view rule, std::span<const Tensor> given, std::span<const Tensor> of) {
  const std::string_view op = asked.node.op().name();
  if (given.size() != of.size()) {
    throw InternalError("{} of {}: {} derivatives, expected {}", rule, op, given.size(), of.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined() || !of[i].defined() || given[i].type() == of[i].type()) continue;
    throw InternalError("{} of {}: derivative {} is {}, expected {}", rule, op, i, to_string(given[i].type()),
                        to_string(of[i].type()));
  }
}

// Operands with variables of their own in place of those that are wanted, and the results made of these; none: it is
// not made of other operations.
struct Decomposition {
  std::vector<Tensor> variables, results;
};
Decomposition decomposed(const Asked& asked) {
  Decomposition made;
  if (asked.call) return made;
  std::vector<Tensor> inputs(asked.inputs.begin(), asked.inputs.end());
  made.variables.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (asked.wanted[i]) inputs[i] = made.variables[i] = identity(inputs[i]);
  }
  made.results = asked.node.op().decomposed(inputs);
  return made;
}

// Derivatives that are variables, for those of `of` that have some.
std::vector<Tensor> unknown(std::span<const Tensor> of) {
  std::vector<Tensor> variables;
  for (const Tensor& x : of) {
    const bool has = x.defined() && is_inexact(x.dtype());
    variables.push_back(has ? identity(zeros_of(x.type())) : Tensor());
  }
  return variables;
}

// The transpose of a linear function from `from` to `to`. Throws Unsupported if there is no such function.
std::vector<Tensor> transposed(const Asked& asked, const Derivatives& to, std::span<const Tensor> derivatives,
                               std::span<const Tensor> from) {
  if (!to) throw Unsupported("no derivative of {}{}", asked.node.op().name(), recorded_at(asked.node.line()));
  return pull_back(*to, derivatives, from);
}

std::vector<Tensor> vjp(const Asked& asked, std::span<const Tensor> cotangents) {
  if (auto own = asked.vjp(cotangents)) return std::move(*own);
  const Decomposition parts = decomposed(asked);
  if (!parts.results.empty()) return pull_back(parts.results, cotangents, parts.variables);
  std::vector<Tensor> wanted(asked.inputs.begin(), asked.inputs.end());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!asked.wanted[i]) wanted[i] = {};
  }
  const std::vector<Tensor> tangents = unknown(wanted);
  return transposed(asked, asked.jvp(tangents), cotangents, tangents);
}

std::vector<Tensor> jvp(const Asked& asked, std::span<const Tensor> tangents) {
  if (auto own = asked.jvp(tangents)) return std::move(*own);
  const Decomposition parts = decomposed(asked);
  if (!parts.results.empty()) return push_forward(parts.results, parts.variables, tangents);
  const std::vector<Tensor> cotangents = unknown(asked.outputs);
  return transposed(asked, asked.vjp(cotangents), tangents, cotangents);
}

// What the table has for each; undefined tensors have nothing.
std::vector<Tensor> found(const ResultMap& table, std::span<const Tensor> of) {
  std::vector<Tensor> all;
  for (const Tensor& v : of) all.push_back(v.defined() ? table.find(v) : Tensor());
  return all;
}

}  // namespace

std::vector<Tensor> pull_back(const Dependence& dependence, std::span<const Tensor> outputs,
                              std::span<const Tensor> cotangents, std::span<const Tensor> variables) {
  ResultMap sums;
  const auto add = [&](const Tensor& v, const Tensor& cotangent) {
    if (!v.defined() || !cotangent.defined() || !dependence.depends(*v.node())) return;
    sums.set(v, sum_of(sums.find(v), cotangent));
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) add(outputs[i], cotangents[i]);
  for (std::size_t k = dependence.nodes().size(); k-- > 0;) {
    const Node& node = *dependence.nodes()[k];
    if (!dependence.depends(node) || dependence.is_variable(node)) continue;
    // (A call's first result is reached when all of them have their cotangents.)
    const auto of_node = asked(node, dependence);
    if (!of_node) continue;
    std::vector<Tensor> given;
    for (const auto& nodes : of_node->found) {
      Tensor& sum = given.emplace_back();
      for (const Tensor& v : nodes) sum = sum_of(sum, sums.find(v));
    }
    if (std::ranges::none_of(given, &Tensor::defined)) continue;
    const AsNodeScope scope(node, "backward");
    const std::vector<Tensor> made = vjp(*of_node, given);
    check(*of_node, "vjp", made, of_node->inputs);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (of_node->wanted[i]) add(of_node->inputs[i], made[i]);
    }
  }
  return found(sums, variables);
}

std::vector<Tensor> pull_back(std::span<const Tensor> outputs, std::span<const Tensor> cotangents,
                              std::span<const Tensor> variables) {
  return pull_back(Dependence(outputs, variables, Dependence::Along::inexact), outputs, cotangents, variables);
}

std::vector<Tensor> push_forward(const Dependence& dependence, std::span<const Tensor> outputs,
                                 std::span<const Tensor> variables, std::span<const Tensor> tangents) {
  ResultMap known;
  const auto set = [&](const Tensor& v, const Tensor& tangent) {
    if (v.defined() && tangent.defined()) known.set(v, tangent);
  };
  for (std::size_t i = 0; i < variables.size(); ++i) set(variables[i], tangents[i]);
  for (const Node* node : dependence.nodes()) {
    if (!dependence.depends(*node) || dependence.is_variable(*node)) continue;
    auto of_node = asked(*node, dependence);
    if (!of_node) continue;
    const std::vector<Tensor> given = found(known, of_node->inputs);
    if (std::ranges::none_of(given, &Tensor::defined)) continue;
    for (std::size_t i = 0; i < given.size(); ++i) of_node->wanted[i] = given[i].defined();
    const AsNodeScope scope(*node, "tangent");
    const std::vector<Tensor> made = jvp(*of_node, given);
    check(*of_node, "jvp", made, of_node->outputs);
    for (std::size_t i = 0; i < made.size(); ++i) {
      for (const Tensor& v : of_node->found[i]) set(v, made[i]);
    }
  }
  return found(known, outputs);
}

std::vector<Tensor> push_forward(std::span<const Tensor> outputs, std::span<const Tensor> variables,
                                 std::span<const Tensor> tangents) {
  return push_forward(Dependence(outputs, variables, Dependence::Along::inexact), outputs, variables, tangents);
}

std::vector<Tensor> merge_equal(std::span<const Tensor> outputs, std::uint64_t since) {
  Walk all;
  RetainedInputs retained;
  {
    const std::unique_lock lock(Node::graph_mutex());
    all = walk(outputs, [&](const Node& node) { return node.sequence() < since || at_leaves(node); });
    retained.retain(all.nodes);
  }
  ResultMap now;
  std::unordered_map<std::string, Tensor> known;
  for (const Node* node : all.nodes) {
    if (node->sequence() < since || at_leaves(*node)) continue;
    std::string key = node->op().identity();
    for (const Tensor& v : now.at(node->inputs())) {
      const std::uint64_t id[] = {v.node()->sequence(), static_cast<std::uint64_t>(v.index())};
      key.append(reinterpret_cast<const char*>(id), sizeof id);
    }
    if (node->op().custom_derivative()) key += std::format("{}", node->sequence());
    const auto [it, fresh] = known.try_emplace(std::move(key));
    if (fresh) {
      clone_if_changed(*node, now);
      it->second = now.at(node->value());
      continue;
    }
    for (int i = 0; i < static_cast<int>(node->types().size()); ++i) now.set(node->value(i), result(it->second, i));
  }
  return now.at(outputs);
}

}  // namespace weft
