#include "compiler/passes/fuse_elementwise.h"

#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "graph/ops/map.h"

namespace weft::compiler {
namespace {

// The operands of a region, each once.
class Operands {
 public:
  void add(Value v) {
    if (std::ranges::find(values_, v) == values_.end()) values_.push_back(v);
  }
  int number(Value v) const { return static_cast<int>(std::ranges::find(values_, v) - values_.begin()); }
  std::vector<Value>& values() { return values_; }

 private:
  std::vector<Value> values_;
};

// True if all users of a Map's result had better compute it themselves: it is cheap, disappears then, and what they
// read instead of it is no more than what writing and reading it costs.
bool worth_repeating(const Rewriter& r, Value v) {
  const Node& producer = *r.at(v).node();
  if (!is_cheap(producer.as<MapOp>()->expression()) || r.uses().is_output(v)) return false;
  const auto& users = r.uses().of(v);
  if (!std::ranges::all_of(users, [](const Node* n) { return n->as<MapOp>() != nullptr; })) return false;
  std::size_t reads = 0;
  for (const Value& operand : producer.inputs()) reads += operand.shape() == v.shape();
  return users.size() * reads <= reads + 1 + users.size();
}

}  // namespace

Graph fuse_elementwise(const Graph& graph, const PassContext& context) {
  Rewriter r(graph);
  const auto limit = static_cast<std::size_t>(context.target.max_operands) - 1;  // and the result
  return r.run([&](const Node& node) -> Value {
    const auto* map = node.as<MapOp>();
    if (!map || node.types().size() != 1) return {};
    const Shape& shape = node.types()[0].shape;

    // The producers that go into this node. What they read is final: producers come first.
    const auto& inputs = node.inputs();
    std::vector<const MapOp*> inner(inputs.size(), nullptr);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value now = r.at(inputs[i]);
      const auto* producer = op_of<MapOp>(now);
      if (!producer || now.node()->types().size() != 1) continue;
      if (now.shape() != shape && !is_cheap(producer->expression())) continue;
      if (!r.uses().only(inputs[i], node) && !worth_repeating(r, inputs[i])) continue;
      inner[i] = producer;
    }
    const auto all_operands = [&] {
      Operands all;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Value now = r.at(inputs[i]);
        if (!inner[i]) all.add(now);
        else for (const Value& v : now.node()->inputs()) all.add(v);
      }
      return all;
    };
    // Too many operands: the producers that bring most of them stay outside.
    Operands operands = all_operands();
    while (operands.values().size() > limit) {
      int widest = -1;
      std::size_t most = 1;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inner[i] || r.at(inputs[i]).node()->inputs().size() < most) continue;
        most = r.at(inputs[i]).node()->inputs().size();
        widest = static_cast<int>(i);
      }
      if (widest < 0) return {};
      inner[static_cast<std::size_t>(widest)] = nullptr;
      operands = all_operands();
    }
    const bool fused = std::ranges::any_of(inner, [](const MapOp* m) { return m != nullptr; });
    if (!fused) return {};

    Expression e;
    std::vector<int> numbers;
    for (const Value& v : operands.values()) numbers.push_back(e.input(v.dtype()));
    std::vector<int> args;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value now = r.at(inputs[i]);
      if (!inner[i]) {
        args.push_back(numbers[operands.number(now)]);
        continue;
      }
      std::vector<int> inner_args;
      for (const Value& v : now.node()->inputs()) inner_args.push_back(numbers[operands.number(v)]);
      args.push_back(splice(e, inner[i]->expression(), inner_args)[0]);
    }
    e.output(splice(e, map->expression(), args)[0]);
    return apply(make_op<MapOp>(std::move(e)), operands.values());
  });
}

}  // namespace weft::compiler
