#include "compiler/passes/common_subexpressions.h"

#include <algorithm>
#include <bit>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/rewrite.h"
#include "core/visits.h"
#include "kernels/elementwise/scalar_ops.h"

namespace weft::compiler {
namespace {

// True if the node is one operation on two operands that commutes.
bool commutes(const Node& node) {
  const Expression* e = node.op().elementwise();
  if (!e || e->input_count() != 2 || e->nodes().size() != 3) return false;
  const Expression::Node& last = e->nodes()[2];
  return last.args[0] != last.args[1] && e->outputs() == std::vector{2} && kernels::info(last.op).facts.commutative;
}

// Equal for ops of equal identity. Of Maps without their text, which is longer than what it is made of.
std::size_t hash_of(const Op& op) {
  const Expression* e = op.elementwise();
  if (!e) return std::hash<std::string>()(op.identity());
  std::size_t sum = e->nodes().size();
  for (const Expression::Node& n : e->nodes()) {
    std::uint64_t h = static_cast<std::uint64_t>(n.op) << 8 | static_cast<std::uint64_t>(n.type);
    h = (h ^ n.bits * 0xbf58476d1ce4e5b9u) * 0x9e3779b97f4a7c15u;
    sum += h ^ (h >> 31);  // in any order
  }
  return sum;
}

bool same_op(const Op& a, const Op& b) {
  if (&a == &b) return true;
  const Expression *x = a.elementwise(), *y = b.elementwise();
  return (x && y && *x == *y) || a.identity() == b.identity();
}

// Nodes that give the results of others, and more (Op::with_more_results).
class WithMore {
 public:
  explicit WithMore(const Graph& graph) {
    for (const NodePtr& node : graph.impl().nodes()) {
      count_visits();
      if (const OpPtr more = node->op().rewriting().with_more_results()) nodes_.try_emplace(key(*more, *node), nullptr);
    }
    if (nodes_.empty()) return;
    for (const NodePtr& node : graph.impl().nodes()) {
      count_visits();
      if (node->types().size() < 2) continue;
      if (const auto it = nodes_.find(key(node->op(), *node)); it != nodes_.end() && !it->second)
        it->second = node.get();
    }
  }
  // Null: there is none for that node.
  const Node* find(const Node& node) const {
    if (nodes_.empty()) return nullptr;
    const OpPtr more = node.op().rewriting().with_more_results();
    return more ? nodes_.at(key(*more, node)) : nullptr;
  }

 private:
  // Of that op on the node's operands.
  static std::string key(const Op& op, const Node& node) {
    std::string text = op.identity();
    for (const Tensor& v : node.inputs()) {
      const std::uint64_t id[] = {v.node()->sequence(), static_cast<std::uint64_t>(v.index())};
      text.append(reinterpret_cast<const char*>(id), sizeof id);
    }
    return text;
  }

  std::unordered_map<std::string, const Node*> nodes_;
};

}  // namespace

Graph common_subexpressions(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  const WithMore with_more(graph);
  // The operands in the new graph, in the order in which equal nodes have them.
  const auto operands = [&](const Node& node) {
    std::vector<Tensor> inputs = r.at(node.inputs());
    const auto order = [](const Tensor& v) { return std::pair(v.node()->sequence(), v.index()); };
    if (commutes(node)) std::ranges::sort(inputs, {}, order);
    return inputs;
  };
  // Nodes of the old graph that stay, by a hash of op and operands: a table of a power of two of slots, the next one if
  // one is taken.
  struct Slot {
    std::uint64_t hash = 0;
    const Node* node = nullptr;
  };
  std::vector<Slot> known(std::bit_ceil(2 * graph.impl().nodes().size() + 1));
  const auto once = [&](const Node& node) {
    const std::vector<Tensor> own = operands(node);
    std::uint64_t hash = hash_of(node.op());
    for (const Tensor& v : own) {
      hash = (hash ^ v.node()->sequence() ^ static_cast<std::uint64_t>(v.index()) << 48) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    std::size_t at = hash & (known.size() - 1);
    for (; known[at].node; at = (at + 1) & (known.size() - 1)) {
      count_visits();
      if (known[at].hash != hash || !same_op(known[at].node->op(), node.op())) continue;
      if (std::ranges::equal(operands(*known[at].node), own, same)) return r.at(known[at].node->value());
    }
    known[at] = {hash, &node};
    return r.copy(node);
  };
  return r.run([&](const Node& node) -> Tensor {
    if (node.op().is_leaf() && !node.op().constant()) return {};
    const Node* const more = with_more.find(node);
    if (!more) return once(node);
    if (!r.has(more->value())) {
      const Tensor made = once(*more);
      for (int i = 0; i < static_cast<int>(more->types().size()); ++i) r.set(more->value(i), result(made, i));
    }
    return r.at(more->value());
  });
}

}  // namespace weft::compiler
