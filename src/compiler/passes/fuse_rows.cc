#include "compiler/passes/fuse_rows.h"

#include "compiler/expressions.h"
#include "compiler/grouping.h"
#include "graph/ops/map.h"
#include "graph/ops/norm.h"
#include "kernels/common/row_work.h"
#include "kernels/common/windows.h"

namespace weft::compiler {
namespace {

using Group = Grouping::Group;

// A group: the row operation, what comes before it, and what comes after it, in order.
struct Parts {
  const Node* rows = nullptr;
  const Node* before = nullptr;
  std::vector<const Node*> after;
};

Value result(const Node& node) { return const_cast<Node&>(node).value(); }

Parts parts_of(const Group& group) {
  Parts p;
  for (const Node* n : group) {
    if (n->as<RowOp>()) p.rows = n;
  }
  for (const Node* n : group) {
    if (n == p.rows) continue;
    if (p.rows->inputs()[0].node() == n) p.before = n;
    else p.after.push_back(n);
  }
  return p;
}

// What `after` reads beside the row operation's result, each once.
std::vector<Value> operands_after(const Parts& p) {
  std::vector<Value> list;
  for (const Node* n : p.after) {
    for (const Value& v : n->inputs()) {
      if (v.node() != p.rows && std::ranges::find(list, v) == list.end()) list.push_back(v);
    }
  }
  return list;
}

class RowFuser {
 public:
  RowFuser(const Graph& graph, const PassContext& context) : groups_(graph), target_(context.target) {}

  Graph run() {
    for (const auto& node : groups_.graph().impl().nodes) {
      const auto* rows = node->as<RowOp>();
      if (!rows || !groups_.uses().live(*node)) continue;
      const Value x = node->inputs()[0];
      if (x.dtype() != node->types()[0].dtype || element_count(x.shape()) == 0) continue;
      const RowOp::Axes axes = rows->row_axes(x.shape());
      const kernels::RowReading reading =
          kernels::row_reading(target_.capabilities(), x.dtype(), axes.shape, axes.along);
      if (!reading.around || !lies_plainly(*node)) continue;
      const Node& maker = *x.node();
      if (candidate(maker, x.shape()) && (reading.once || worth_repeating(maker, x.dtype())) &&
          (reading.beside || groups_.uses().only(x, *node))) {
        join(maker, *node, reading);
      }
      for (const Node* user : groups_.uses().of(result(*node))) {
        if (candidate(*user, x.shape())) join(*user, *node, reading);
      }
    }
    return groups_.build(fused);
  }

 private:
  // Elementwise work of the rows' shape that is in no group yet.
  bool candidate(const Node& node, const Shape& shape) const {
    const auto* map = node.as<MapOp>();
    return map && node.types().size() == 1 && node.types()[0].shape == shape && groups_.uses().live(node) &&
           groups_.at(groups_.of(node)).size() == 1 && map->expression().nodes().size() <= kMostOperations &&
           lies_plainly(node);
  }

  // What is larger than a binding is cut as the rows are, which only suits what lies as they do.
  bool lies_plainly(const Node& node) const {
    const gpu::Capabilities* capabilities = target_.capabilities();
    return !capabilities || std::ranges::all_of(node.inputs(), [&](Value v) {
      if (!v.node()->op().is_view()) return true;
      while (v.node()->op().is_view()) v = input_of(v);
      return byte_size(v.dtype(), static_cast<std::uint64_t>(element_count(v.shape()))) <=
             kernels::window_limit(*capabilities);
    });
  }

  // Of an element, in operations of f32 (Work::amount): what reading its operands a second time and computing it again
  // cost, against storing it once and reading it twice.
  static bool worth_repeating(const Node& maker, DType type) {
    const Expression& e = maker.as<MapOp>()->expression();
    int read = 0;
    for (const Value& v : maker.inputs()) read += v.shape() == maker.types()[0].shape ? bits(v.dtype()) : 0;
    const Work again{.bytes = 0, .flops = static_cast<double>(e.operation_count()), .functions = e.cost()};
    constexpr double kBit = 10.0 / 8;
    return again.amount() + kBit * read <= kBit * 3 * bits(type);
  }

  void join(const Node& map, const Node& rows, const kernels::RowReading& reading) {
    const int from = groups_.of(map), into = groups_.of(rows);
    const Group all = groups_.joined(from, into);
    const Parts p = parts_of(all);
    const bool before = p.before == &map;
    // What is made before the rows is there for the row operation alone: not as a weight, nor for what comes after.
    for (std::size_t i = 1; p.before && i < p.rows->inputs().size(); ++i) {
      if (p.rows->inputs()[i].node() == p.before) return;
    }
    const std::vector<Value> after = operands_after(p);
    for (const Value& v : after) {
      if (Grouping::member(all, *v.node())) return;
    }
    std::size_t operations = 0;
    for (const Node* n : p.after) operations += n->as<MapOp>()->expression().nodes().size();
    if (!before && operations > kMostOperations) return;
    const std::size_t inputs = (p.before ? p.before->inputs().size() : 1) + p.rows->inputs().size() - 1 + after.size();
    const std::size_t bound = inputs + groups_.results(all).size() + (reading.scratch ? 1 : 0);
    if (bound > static_cast<std::size_t>(target_.max_operands)) return;
    if (groups_.may_join(from, into)) groups_.join(from, into);
  }

  static std::vector<Value> fused(Graph& to, const Group& group, std::span<const Value> results,
                                  const Grouping::At& at) {
    const Parts p = parts_of(group);
    const auto wanted = [&](const Node* n) { return n && std::ranges::find(results, result(*n)) != results.end(); };
    std::vector<Value> operands;
    std::optional<Expression> before, after;
    if (p.before) {
      before = p.before->as<MapOp>()->expression();
      if (wanted(p.before)) before->output(before->outputs()[0]);
      for (const Value& v : p.before->inputs()) operands.push_back(at(v));
    } else {
      operands.push_back(at(p.rows->inputs()[0]));
    }
    for (std::size_t i = 1; i < p.rows->inputs().size(); ++i) operands.push_back(at(p.rows->inputs()[i]));

    std::vector<const Node*> made;  // in the order of the new node's results
    if (p.after.empty()) {
      made.push_back(p.rows);
    } else {
      const DType type = p.rows->types()[0].dtype;
      const std::vector<Value> more = operands_after(p);
      Expression e;
      const int y = e.input(type == DType::f64 ? type : DType::f32);
      std::vector<int> numbers;
      for (const Value& v : more) {
        numbers.push_back(e.input(v.dtype()));
        operands.push_back(at(v));
      }
      const int rounded = e.cast(y, type);
      if (wanted(p.rows)) {
        e.output(rounded);
        made.push_back(p.rows);
      }
      for (const Node* n : p.after) {
        std::vector<int> args;
        for (const Value& v : n->inputs()) {
          const auto k = static_cast<std::size_t>(std::ranges::find(more, v) - more.begin());
          args.push_back(v.node() == p.rows ? rounded : numbers[k]);
        }
        e.output(splice(e, n->as<MapOp>()->expression(), args)[0]);
        made.push_back(n);
      }
      after = std::move(e);
    }
    if (wanted(p.before)) made.push_back(p.before);

    const auto rows = std::dynamic_pointer_cast<const RowOp>(p.rows->shared_op());
    const std::size_t weights = p.rows->inputs().size() - 1;
    Node& node =
        to.impl().add(make_op<RowWorkOp>(rows, weights, std::move(before), std::move(after)), std::move(operands));
    std::vector<Value> values;
    for (const Value& v : results) {
      values.push_back(node.value(static_cast<int>(std::ranges::find(made, v.node()) - made.begin())));
    }
    return values;
  }

  Grouping groups_;
  const Target& target_;
};

}  // namespace

Graph fuse_rows(const Graph& graph, const PassContext& context) { return RowFuser(graph, context).run(); }

}  // namespace weft::compiler
