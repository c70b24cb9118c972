#include "transform/derivatives.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <unordered_map>

#include "core/format.h"
#include "graph/ops/identity.h"
#include "graph/rules.h"
#include "transform/clone.h"
#include "weft/error.h"

namespace weft {

Dependence::Dependence(std::span<const Tensor> outputs, std::span<const Tensor> variables)
    : retained_(std::make_shared<RetainedInputs>()) {
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
    retained_->retain(walk_.nodes);
  }
  depends_.assign(nodes().size(), 0);
  for (std::size_t k = 0; k < nodes().size(); ++k) {
    const Node& node = *nodes()[k];
    depends_[k] =
        is_variable(node) ||
        (!stop(node) && std::ranges::any_of(node.inputs(), [&](const Tensor& v) { return depends(*v.node()); }));
  }
}

void Dependence::restrict_to_inexact() {
  for (std::size_t k = 0; k < nodes().size(); ++k) {
    const Node& node = *nodes()[k];
    if (!depends_[k] || is_variable(node)) continue;
    depends_[k] = std::ranges::any_of(node.types(), [](const TensorType& t) { return is_inexact(t.dtype); }) &&
                  std::ranges::any_of(node.inputs(),
                                      [&](const Tensor& v) { return is_inexact(v.dtype()) && depends(*v.node()); });
  }
}

namespace {

std::vector<Tensor> results_of(const Node& node) {
  std::vector<Tensor> results;
  for (int i = 0; i < static_cast<int>(node.types().size()); ++i) results.push_back(node.value(i));
  return results;
}

[[noreturn]] void throw_no_rule(const Node& node, std::string_view what) {
  throw Unsupported("{} of {}{}", what, node.op().name(), recorded_at(node.line()));
}

// A node, what its derivatives are asked for, and the rules that there are.
struct Asked {
  const Node& node;
  std::vector<Tensor> outputs;
  std::vector<char> wanted;

  Differentiated given() const { return {node.inputs(), outputs, wanted}; }
};

// What a rule gave is what the driver expects of it.
void check(const Node& node, std::string_view rule, std::span<const Tensor> given, std::span<const TensorType> types) {
  if (given.size() != types.size()) {
    throw InternalError("{} of {}: {} derivatives, expected {}", rule, node.op().name(), given.size(), types.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined() || given[i].type() == types[i]) continue;
    throw InternalError("{} of {}: derivative {} is {}, expected {}", rule, node.op().name(), i,
                        to_string(given[i].type()), to_string(types[i]));
  }
}

// Operands with variables of their own in place of those that are wanted, and these.
struct Variables {
  std::vector<Tensor> inputs, variables;
};
Variables variables_for(const Asked& asked) {
  Variables v;
  for (std::size_t i = 0; i < asked.wanted.size(); ++i) {
    const Tensor& x = asked.node.inputs()[i];
    v.variables.push_back(asked.wanted[i] ? identity(x) : Tensor());
    v.inputs.push_back(asked.wanted[i] ? v.variables.back() : x);
  }
  return v;
}

std::vector<Tensor> vjp(const Asked& asked, std::span<const Tensor> cotangents) {
  const Node& node = asked.node;
  if (auto own = node.op().vjp(asked.given(), cotangents)) return std::move(*own);
  const Variables v = variables_for(asked);
  const std::vector<Tensor> results = node.op().decomposed(v.inputs);
  if (results.empty()) throw_no_rule(node, "no derivative");
  return pull_back(results, cotangents, v.variables);
}

// The transpose of a function that is linear in `from`, which gives `to`: its tangents for those of `to`.
std::vector<Tensor> transposed(std::span<const Tensor> to, std::span<const Tensor> tangents,
                               std::span<const Tensor> from) {
  std::vector<Tensor> ends, given;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!to[i].defined() || !tangents[i].defined()) continue;
    ends.push_back(to[i]);
    given.push_back(tangents[i]);
  }
  return pull_back(ends, given, from);
}

// Cotangents that are variables.
std::vector<Tensor> unknown_cotangents(std::span<const Tensor> outputs) {
  std::vector<Tensor> unknown;
  for (const Tensor& y : outputs) {
    unknown.push_back(y.defined() && is_inexact(y.dtype()) ? identity(zeros_of(y.type())) : Tensor());
  }
  return unknown;
}

std::vector<Tensor> jvp(const Asked& asked, std::span<const Tensor> tangents) {
  const Node& node = asked.node;
  if (auto own = node.op().jvp(asked.given(), tangents)) return std::move(*own);
  const Variables v = variables_for(asked);
  const std::vector<Tensor> results = node.op().decomposed(v.inputs);
  if (!results.empty()) return push_forward(results, v.variables, tangents);
  const std::vector<Tensor> unknown = unknown_cotangents(asked.outputs);
  const auto own = node.op().vjp(asked.given(), unknown);
  if (!own) throw_no_rule(node, "no derivative");
  return transposed(*own, tangents, unknown);
}

// The nodes that are results of calls with derivatives of their own, by call.
class CustomCalls {
 public:
  explicit CustomCalls(const Dependence& dependence) {
    for (const Node* node : dependence.nodes()) {
      if (const CustomDerivative* call = node->op().custom_derivative()) calls_[call].push_back(node);
    }
  }
  // In the order in which they were made.
  const std::vector<const Node*>& results(const CustomDerivative& call) const { return calls_.at(&call); }

 private:
  std::unordered_map<const CustomDerivative*, std::vector<const Node*>> calls_;
};

int result_index(const Node& node) { return node.as<CustomResultOp>()->index(); }

// A call's operands, its results as far as they are known, and which operands are wanted.
struct AskedCall {
  std::span<const Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<char> wanted;
  Differentiated given() const { return {inputs, outputs, wanted}; }
};

AskedCall asked_call(const CustomDerivative& call, std::span<const Node* const> results, const Dependence& dependence) {
  AskedCall asked{std::span(results[0]->inputs()).subspan(1), {}, {}};
  asked.outputs.resize(static_cast<std::size_t>(call.results));
  for (const Node* node : results) asked.outputs[static_cast<std::size_t>(result_index(*node))] = node->value();
  for (const Tensor& v : asked.inputs) asked.wanted.push_back(is_inexact(v.dtype()) && dependence.depends(*v.node()));
  return asked;
}

Asked asked(const Node& node, const Dependence& dependence) {
  Asked a{node, results_of(node), {}};
  for (const Tensor& v : node.inputs()) a.wanted.push_back(is_inexact(v.dtype()) && dependence.depends(*v.node()));
  return a;
}

}  // namespace

std::vector<Tensor> pull_back(std::span<const Tensor> outputs, std::span<const Tensor> cotangents,
                              std::span<const Tensor> variables) {
  Dependence dependence(outputs, variables);
  dependence.restrict_to_inexact();
  const CustomCalls calls(dependence);
  std::vector<std::vector<Tensor>> sums(dependence.nodes().size());
  const auto add_to = [&](const Tensor& v, const Tensor& cotangent) {
    if (!cotangent.defined() || !dependence.depends(*v.node())) return;
    auto& of_node = sums[static_cast<std::size_t>(dependence.index_of(*v.node()))];
    of_node.resize(v.node()->types().size());
    Tensor& sum = of_node[static_cast<std::size_t>(v.index())];
    sum = sum_of(sum, cotangent);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].defined()) add_to(outputs[i], cotangents[i]);
  }
  for (std::size_t k = sums.size(); k-- > 0;) {
    const Node& node = *dependence.nodes()[k];
    if (!dependence.depends(node) || dependence.is_variable(node)) continue;
    const AsNodeScope scope(node, "backward");
    if (const CustomDerivative* call = node.op().custom_derivative()) {
      const auto& results = calls.results(*call);
      if (results.front() != &node) continue;  // once all of them have their cotangents
      const AskedCall of_call = asked_call(*call, results, dependence);
      std::vector<Tensor> given(static_cast<std::size_t>(call->results));
      for (const Node* r : results) {
        auto& sum = sums[static_cast<std::size_t>(dependence.index_of(*r))];
        if (!sum.empty()) given[static_cast<std::size_t>(result_index(*r))] = std::exchange(sum[0], {});
      }
      if (std::ranges::none_of(given, &Tensor::defined)) continue;
      auto made = call->vjp(of_call.given(), given);
      if (!made) {
        // The transpose of its jvp, which is linear in the tangents.
        std::vector<Tensor> tangents;
        for (std::size_t i = 0; i < of_call.inputs.size(); ++i) {
          tangents.push_back(of_call.wanted[i] ? identity(zeros_of(of_call.inputs[i].type())) : Tensor());
        }
        const auto own = call->jvp(of_call.given(), tangents);
        if (!own) throw_no_rule(node, "no derivative");
        made = transposed(*own, given, tangents);
      }
      std::vector<TensorType> types;
      for (const Tensor& v : of_call.inputs) types.push_back(v.type());
      check(node, "vjp", *made, types);
      for (std::size_t i = 0; i < made->size(); ++i) {
        if (of_call.wanted[i]) add_to(of_call.inputs[i], (*made)[i]);
      }
      continue;
    }
    std::vector<Tensor> given = std::move(sums[k]);
    sums[k].clear();
    if (given.empty()) continue;
    const Asked of_node = asked(node, dependence);
    const std::vector<Tensor> made = vjp(of_node, given);
    check(node, "vjp", made, node.input_types());
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (of_node.wanted[i]) add_to(node.inputs()[i], made[i]);
    }
  }
  std::vector<Tensor> wanted;
  for (const Tensor& v : variables) {
    const int k = v.defined() ? dependence.index_of(*v.node()) : -1;
    const bool any = k >= 0 && !sums[static_cast<std::size_t>(k)].empty();
    wanted.push_back(any ? sums[static_cast<std::size_t>(k)][static_cast<std::size_t>(v.index())] : Tensor());
  }
  return wanted;
}

std::vector<Tensor> push_forward(std::span<const Tensor> outputs, std::span<const Tensor> variables,
                                 std::span<const Tensor> tangents) {
  Dependence dependence(outputs, variables);
  dependence.restrict_to_inexact();
  const CustomCalls calls(dependence);
  ResultMap known;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].defined() && tangents[i].defined()) known.set(variables[i], tangents[i]);
  }
  const auto of = [&](std::span<const Tensor> values) {
    std::vector<Tensor> found;
    for (const Tensor& v : values) found.push_back(known.find(v));
    return found;
  };
  for (const Node* n : dependence.nodes()) {
    const Node& node = *n;
    if (!dependence.depends(node) || dependence.is_variable(node)) continue;
    const AsNodeScope scope(node, "tangent");
    if (const CustomDerivative* call = node.op().custom_derivative()) {
      const auto& results = calls.results(*call);
      if (results.front() != n) continue;
      const AskedCall of_call = asked_call(*call, results, dependence);
      const std::vector<Tensor> given = of(of_call.inputs);
      if (std::ranges::none_of(given, &Tensor::defined)) continue;
      auto made = call->jvp(of_call.given(), given);
      if (!made) {
        const std::vector<Tensor> unknown = unknown_cotangents(of_call.outputs);
        const auto own = call->vjp(of_call.given(), unknown);
        if (!own) throw_no_rule(node, "no derivative");
        made = transposed(*own, given, unknown);
      }
      for (const Node* r : results) {
        const Tensor& t = (*made)[static_cast<std::size_t>(result_index(*r))];
        if (t.defined()) known.set(r->value(), t);
      }
      continue;
    }
    const std::vector<Tensor> given = of(node.inputs());
    if (std::ranges::none_of(given, &Tensor::defined)) continue;
    Asked of_node = asked(node, dependence);
    for (std::size_t i = 0; i < given.size(); ++i) of_node.wanted[i] = given[i].defined();
    const std::vector<Tensor> made = jvp(of_node, given);
    check(node, "jvp", made, node.types());
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (made[i].defined()) known.set(node.value(static_cast<int>(i)), made[i]);
    }
  }
  return of(outputs);
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
