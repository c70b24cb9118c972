#include "compiler/passes/fuse_elementwise.h"

#include <algorithm>
#include <map>

#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "core/visits.h"

namespace weft::compiler {
namespace {

// What one kernel computes at most. An element of so many operations takes longer to compute than to store and load on
// every device, so that dividing them costs nothing, and compilers take time for large functions that grows faster than
// their size.
constexpr std::size_t kMostOperations = 512;
constexpr double kMostCost = 40;  // Expression::cost

// Decides first for every Map which producers go into it, by the old graph alone, and then makes those Maps that
// something else reads, each once.
class Fuser {
 public:
  Fuser(const Graph& graph, std::size_t most_operands)
      : r_(graph), most_operands_(most_operands), maps_(graph.impl().nodes().size()), needed_(maps_.size(), 0) {}

  Graph run() {
    const auto& nodes = r_.from().impl().nodes();
    for (const NodePtr& node : nodes) decide(*node);
    for (const GraphPort& o : r_.from().impl().outputs) needed_[index_in(*o.value.node())] = 1;
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      const Map& map = maps_[index_in(**it)];
      if (map.expression && !needed_[index_in(**it)]) continue;
      for (const Tensor& v : map.fuses() ? map.operands : (*it)->inputs()) needed_[index_in(*v.node())] = 1;
    }
    for (const NodePtr& node : nodes) {
      const Map& map = maps_[index_in(*node)];
      if (!map.expression || !map.fuses()) {
        if (!map.expression || needed_[index_in(*node)]) r_.copy(*node);
      } else if (needed_[index_in(*node)]) {
        make(*node);
      }
    }
    return r_.finish();
  }

 private:
  // A Map with the producers that are computed in it.
  struct Map {
    const Expression* expression = nullptr;  // its own; null: the node is no Map, or one of several results
    std::vector<const Node*> inner;          // of each operand: the producer, or null: it is read
    std::vector<Tensor> operands;            // that all of it reads; each once if it fuses anything
    std::size_t operations = 0;              // at most
    double cost = 0;                         // Expression::cost
    bool cheap = false;                      // is_cheap()
    bool repeated = false;                   // all its readers compute it themselves

    bool fuses() const {
      return std::ranges::any_of(inner, [](const Node* n) { return n != nullptr; });
    }
  };

  // An expression under construction.
  struct Composed {
    Region region;
    std::map<const Node*, int> results;  // of the Maps in it
    std::vector<const Node*> parts;      // in order
  };

  std::size_t index_in(const Node& node) const { return static_cast<std::size_t>(r_.id(node)); }
  const Map& map_of(const Node& node) const { return maps_[index_in(node)]; }

  void decide(const Node& node) {
    const Expression* own = node.op().elementwise();
    if (!own || node.types().size() != 1) return;
    count_visits();
    Map& map = maps_[index_in(node)];
    map.expression = own;
    const auto& inputs = node.inputs();
    map.inner.assign(inputs.size(), nullptr);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Node& producer = *inputs[i].node();
      const Map& from = map_of(producer);
      if (!from.expression) continue;
      if (inputs[i].shape() != node.types()[0].shape && !from.cheap) continue;
      if (r_.uses().only(inputs[i], node) || from.repeated) map.inner[i] = &producer;
    }
    limit(node, map);
    if (!map.fuses()) map.operands.assign(inputs.begin(), inputs.end());
    map.cheap = is_cheap(node, map);
    map.repeated = worth_repeating(node, map);
  }

  // Leaves out producers until the rest fits into a kernel: of too many operands those that bring most of them, of too
  // many operations the longest.
  void limit(const Node& node, Map& map) {
    const auto& inputs = node.inputs();
    const auto leave_out = [&](auto size) {
      int largest = -1;
      std::size_t most = 1;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!map.inner[i] || size(map_of(*map.inner[i])) < most) continue;
        most = size(map_of(*map.inner[i]));
        largest = static_cast<int>(i);
      }
      if (largest >= 0) map.inner[static_cast<std::size_t>(largest)] = nullptr;
      return largest >= 0;
    };
    for (;;) {
      map.operands.clear();
      map.operations = std::max<std::size_t>(map.expression->nodes().size() - inputs.size(), 1);
      map.cost = map.expression->cost();
      std::vector<const Node*> counted;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Node* producer = map.inner[i];
        if (!producer) {
          add_once(map.operands, inputs[i]);
          continue;
        }
        if (std::ranges::find(counted, producer) != counted.end()) continue;
        counted.push_back(producer);
        const Map& from = map_of(*producer);
        for (const Tensor& v : from.operands) add_once(map.operands, v);
        count_visits(from.operands.size());
        map.operations += from.operations;
        map.cost += from.cost;
      }
      if (counted.empty()) return;
      if (map.operands.size() > most_operands_) {
        if (!leave_out([](const Map& m) { return m.operands.size(); })) map.inner.assign(inputs.size(), nullptr);
      } else if (map.operations > kMostOperations || map.cost > kMostCost) {
        leave_out([](const Map& m) { return m.operations; });
      } else {
        return;
      }
    }
  }

  // What is_cheap() says of all of the Map. What is not cheap alone is not cheap with others.
  bool is_cheap(const Node& node, const Map& map) const {
    if (!compiler::is_cheap(*map.expression)) return false;
    if (!map.fuses()) return true;
    const auto dear = [&](const Node* n) { return n && !map_of(*n).cheap; };
    if (std::ranges::any_of(map.inner, dear)) return false;
    Composed all;
    compose(node, all);
    return compiler::is_cheap(all.region.expression);
  }

  // True if all users of a Map's result should compute it themselves: it is cheap, is then not needed in memory, and
  // reading its operands instead costs no more than writing and reading it.
  bool worth_repeating(const Node& node, const Map& map) const {
    const Tensor v = node.value();
    if (!map.cheap || r_.uses().is_output(v)) return false;
    const auto& users = r_.uses().of(v);
    count_visits(users.size());
    if (!std::ranges::all_of(users, [](const Node* n) { return n->op().elementwise() != nullptr; })) return false;
    std::size_t reads = 0;
    for (const Tensor& operand : map.operands) reads += operand.shape() == v.shape();
    return users.size() * reads <= reads + 1 + users.size();
  }

  // Adds the Map and what is in it to the expression. Returns its operands' nodes. (No deeper than kMostOperations:
  // each Map counts as one at least.)
  std::vector<int> operands(const Node& node, Composed& all) const {
    const Map& map = map_of(node);
    std::vector<int> args;
    for (std::size_t i = 0; i < map.inner.size(); ++i) {
      args.push_back(map.inner[i] ? compose(*map.inner[i], all) : all.region.at(node.inputs()[i]));
    }
    return args;
  }
  int compose(const Node& node, Composed& all) const {
    if (const auto known = all.results.find(&node); known != all.results.end()) return known->second;
    for (const Tensor& v : map_of(node).operands) all.region.at(v);
    const int result = all.region.splice(*map_of(node).expression, operands(node, all))[0];
    all.results.emplace(&node, result);
    all.parts.push_back(&node);
    return result;
  }

  void make(const Node& node) {
    Composed all;
    const std::vector<int> args = operands(node, all);
    for (Tensor& v : all.region.inputs) v = r_.at(v);
    const Tensor made = all.region.node(*map_of(node).expression, args);
    for (const Node* part : all.parts) r_.add_labels(*made.node(), *part);
    r_.add_labels(*made.node(), node);
    r_.set(node.value(), made);
  }

  Rewriter r_;
  std::size_t most_operands_;
  std::vector<Map> maps_;     // of each node
  std::vector<char> needed_;  // in memory
};

}  // namespace

Graph fuse_elementwise(const Graph& graph, const PassContext& context) {
  // One storage buffer is for the result.
  return Fuser(graph, static_cast<std::size_t>(context.target.max_operands) - 1).run();
}

}  // namespace weft::compiler
