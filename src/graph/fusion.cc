#include "graph/fusion.h"

#include <algorithm>

#include "core/visits.h"

namespace weft {
namespace {

// Among so few nodes the equal one is found faster without a table.
constexpr std::size_t kFew = 16;

std::uint64_t hash_of(const Expression::Node& node) {
  std::uint64_t h = static_cast<std::uint64_t>(node.op) << 8 | static_cast<std::uint64_t>(node.type);
  const auto mix = [&](std::uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  };
  for (const int a : node.args) mix(static_cast<std::uint64_t>(a));
  mix(node.bits);
  return h;
}

}  // namespace

int SharedNodes::find(const Expression::Node& node) {
  const auto& nodes = e_.nodes();
  if (nodes.size() <= kFew) {
    const auto same = std::ranges::find(nodes, node);
    return same != nodes.end() ? static_cast<int>(same - nodes.begin()) : -1;
  }
  for (; indexed_ < nodes.size(); ++indexed_) {
    if (nodes[indexed_].op != ScalarOp::input) known_.emplace(hash_of(nodes[indexed_]), static_cast<int>(indexed_));
  }
  const auto [begin, end] = known_.equal_range(hash_of(node));
  for (auto it = begin; it != end; ++it) {
    if (nodes[static_cast<std::size_t>(it->second)] == node) return it->second;
  }
  return -1;
}

int SharedNodes::put(const Expression::Node& node) {
  count_visits();
  const int known = find(node);
  return known >= 0 ? known : e_.append(node);
}

std::vector<int> splice(Expression& to, const Expression& from, std::span<const int> args) {
  SharedNodes nodes(to);
  return splice(nodes, from, args);
}

std::vector<int> splice(SharedNodes& to, const Expression& from, std::span<const int> args) {
  std::vector<int> made;
  made.reserve(from.nodes().size());
  for (Expression::Node node : from.nodes()) {
    if (node.op == ScalarOp::input) {
      made.push_back(args[node.input]);
      continue;
    }
    for (int& a : node.args) {
      if (a >= 0) a = made[a];
    }
    made.push_back(to.put(node));
  }
  std::vector<int> outputs;
  for (const int o : from.outputs()) outputs.push_back(made[o]);
  return outputs;
}

std::vector<int> converted_inputs(Expression& e, std::span<const TensorType> to, std::span<const TensorType> from) {
  std::vector<int> nodes;
  for (const TensorType& t : to) nodes.push_back(e.input(t.dtype));
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = e.cast(nodes[i], from[i].dtype);
  return nodes;
}

}  // namespace weft
