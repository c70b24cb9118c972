#include "compiler/passes/common_subexpressions.h"

#include <algorithm>
#include <format>
#include <unordered_map>
#include <vector>

#include "compiler/rewrite.h"
#include "core/visits.h"

namespace weft::compiler {
namespace {

// True if the node is one operation on two operands that commutes.
bool commutes(const Node& node) {
  using enum ScalarOp;
  constexpr ScalarOp kOps[] = {add,           mul,         ScalarOp::min, ScalarOp::max, ScalarOp::gcd,
                               ScalarOp::lcm, equal,       not_equal,     logical_and,   logical_or,
                               logical_xor,   bitwise_and, bitwise_or,    bitwise_xor};
  const Expression* e = node.op().elementwise();
  if (!e || e->input_count() != 2 || e->nodes().size() != 3) return false;
  const Expression::Node& last = e->nodes()[2];
  return last.args[0] != last.args[1] && e->outputs() == std::vector{2} &&
         std::ranges::find(kOps, last.op) != std::end(kOps);
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

}  // namespace

Graph common_subexpressions(const Graph& graph, const PassContext&) {
  struct Known {
    const Node* node;            // of the old graph
    std::vector<Tensor> inputs;  // in the new one
  };
  Rewriter r(graph);
  std::unordered_multimap<std::size_t, Known> known;  // by the op's identity and the inputs
  return r.run([&](const Node& node) -> Tensor {
    if (node.op().is_leaf() && !node.op().constant()) return {};
    Known own{&node, r.at(node.inputs())};
    const auto place = [](const Tensor& v) { return std::pair(v.node()->sequence(), v.index()); };
    if (commutes(node)) std::ranges::sort(own.inputs, {}, place);
    std::size_t hash = hash_of(node.op());
    for (const Tensor& v : own.inputs) {
      hash = (hash ^ std::hash<const void*>()(v.node()) ^ static_cast<std::size_t>(v.index())) * 0x9e3779b97f4a7c15u;
    }
    const auto [begin, end] = known.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      count_visits();
      if (!std::ranges::equal(it->second.inputs, own.inputs, same)) continue;
      if (!same_op(it->second.node->op(), node.op())) continue;
      return r.at(it->second.node->value());
    }
    known.emplace(hash, std::move(own));
    return r.copy(node);
  });
}

}  // namespace weft::compiler
