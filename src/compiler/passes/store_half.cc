#include "compiler/passes/store_half.h"

#include <map>
#include <set>

#include "compiler/constant_store.h"
#include "compiler/expressions.h"
#include "compiler/precision.h"
#include "compiler/rewrite.h"
#include "graph/ops/attention.h"
#include "graph/ops/index.h"
#include "graph/ops/leaf.h"
#include "graph/ops/map.h"
#include "graph/ops/matmul.h"
#include "graph/ops/norm.h"
#include "graph/ops/reduce.h"
#include "kernels/reduce/reduction.h"
#include "weft/error.h"
#include "weft/kernels/matmul.h"
#include "weft/log.h"

namespace weft::compiler {
namespace {

Value root_of(Value v) {
  while (v.node()->op().is_view()) v = input_of(v);
  return v;
}

// Where v's elements lie in its root; nothing if strides cannot say it.
std::optional<Placement> placement(Value v) {
  if (!v.node()->op().is_view()) return Placement{0, Layout::dense(v.shape())};
  auto from = placement(input_of(v));
  if (!from) return std::nullopt;
  auto place = v.node()->op().place(from->layout);
  if (place) place->offset += from->offset;
  return place;
}

// The weights of a node: what may be converted once, before anything runs. The right operand of a product, and the
// table of a lookup.
Value weights_of(const Node& node) {
  const int operand = node.as<MatmulOp>() ? 1 : node.as<GatherOp>() ? 0 : -1;
  if (operand < 0) return {};
  const Value v = node.inputs()[operand];
  if (node.types()[0].dtype == DType::c64) return {};
  return v.dtype() == DType::f32 && op_of<ConstantOp>(root_of(v)) ? v : Value();
}

class Narrower {
 public:
  Narrower(const Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), uses_(graph), exact_(graph.impl().nodes.size()),
        made_(graph.impl().nodes.size()) {}

  Graph run() {
    decide();
    for (const auto& node : graph_.impl().nodes) {
      if (uses_.live(*node)) made_[node->id()] = emit(*node);
    }
    for (const NamedValue& o : graph_.impl().outputs) to_.output(o.name, as(o.value, o.value.dtype()));
    return std::move(to_);
  }

 private:
  // Which weights are f16, and which nodes must have exact operands and results.
  void decide() {
    const auto& nodes = graph_.impl().nodes;
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      const Node& node = **it;
      if (!uses_.live(node)) continue;
      if (const Value w = weights_of(node)) {
        PrecisionDecision d = judge(node, w);
        if (d.f16) half_.insert(root_of(w).node());
        // One use that must be exact decides for all.
        else full_.insert(root_of(w).node());
        // Rounding before a product that cannot bear it is as bad as rounding in it.
        const bool measured = context_.options.precision == Precision::automatic;
        if (!d.f16 && measured && node.as<MatmulOp>()) exact_[node.id()] = 1;
        if (log_topic("precision")) {
          log_message(LogLevel::info, std::format("precision: {} {}: {}", d.weights, d.f16 ? "f16" : "f32", d.reason));
        }
        if (context_.decisions) context_.decisions->insert(context_.decisions->begin(), std::move(d));
      }
      if (!exact_[node.id()]) continue;
      for (const Value& v : node.inputs()) exact_[v.node()->id()] = 1;
    }
  }

  PrecisionDecision judge(const Node& node, Value weights) const {
    const CompileOptions& options = context_.options;
    const auto& constant = *op_of<ConstantOp>(root_of(weights));
    const std::string& name = constant.constant_name();
    PrecisionDecision d{.weights = std::format("{}{}{}", name, name.empty() ? "" : " ", to_string(weights.type()))};
    const auto say = [&](bool f16, std::string reason) {
      d.f16 = f16;
      d.reason = std::move(reason);
      return d;
    };
    for (const auto& [part, f16] : options.force_f16) {
      if (!part.empty() && name.find(part) != std::string::npos) return say(f16, std::format("forced by '{}'", part));
    }
    const auto cost = [&](const std::function<double()>& measure) {
      return options.constants ? options.constants->f16_error(*constant.constant(), measure) : measure();
    };
    const auto range = [&] {
      return leaves_f16(constant.constant()->data()) ? std::numeric_limits<double>::infinity() : 0;
    };
    const auto place = placement(weights);
    const bool product = node.as<MatmulOp>() && weights.rank() >= 2 && place;
    if (options.precision == Precision::f16 || !product) {
      // The range alone is looked at: kept apart from what is measured on products.
      const double error = options.precision == Precision::f16 ? range() : cost(range);
      return std::isinf(error) ? say(false, "a weight is past f16's range") : say(true, "within f16's range");
    }
    if (exact_[node.id()]) return say(false, "what comes after it needs exact operands");
    d.error = cost([&] { return f16_error(constant.constant()->data(), *place); });
    if (std::isinf(d.error)) return say(false, "a weight or a result comes near the end of f16's range");
    const double bound = options.f16_error_bound.value_or(kF16ErrorBound);
    return say(d.error <= bound, std::format("error {:.2g}, the bound is {:.2g}", d.error, bound));
  }

  // What automatic has measured holds for what is made of it, too.
  bool keeps_range(const Expression& e, int node) const {
    return context_.options.precision != Precision::automatic || stays_in_range(e, node);
  }

  const Value& stored(Value old) const { return made_[old.node()->id()][old.index()]; }

  // The value in the type asked for.
  Value as(Value old, DType type) {
    const Value now = stored(old);
    if (now.dtype() == type) return now;
    Value& converted = converted_[{now.node(), now.index(), type}];
    if (!converted) converted = cast(now, type);
    return converted;
  }

  // A constant's f16 form under the same views.
  Value weights(Value old) {
    if (old.node()->op().is_view()) return apply(old.node()->shared_op(), {weights(input_of(old))});
    return as(old, half_.contains(old.node()) && !full_.contains(old.node()) ? DType::f16 : DType::f32);
  }

  std::vector<Value> copy(const Node& node, OpPtr op, std::vector<Value> inputs) {
    Node& made = to_.impl().add(std::move(op), std::move(inputs));
    made.store_as(node.stored());
    std::vector<Value> values;
    for (std::size_t i = 0; i < node.types().size(); ++i) values.push_back(made.value(static_cast<int>(i)));
    return values;
  }

  std::vector<Value> emit(const Node& node) {
    if (const auto* input = node.as<InputOp>()) {
      return {to_.input(input->input_name(), node.types()[0].dtype, node.types()[0].shape)};
    }
    const TensorType& type = node.types().empty() ? TensorType{} : node.types()[0];
    std::vector<Value> inputs;
    for (const Value& v : node.inputs()) inputs.push_back(stored(v));
    if (const Value w = weights_of(node)) inputs[node.as<MatmulOp>() ? 1 : 0] = weights(w);
    const bool narrowed = std::ranges::any_of(inputs, [&](const Value& v) {
      const Value& old = node.inputs()[static_cast<std::size_t>(&v - inputs.data())];
      return v.dtype() != old.dtype();
    });
    if (!narrowed) return copy(node, node.shared_op(), std::move(inputs));
    const bool narrow = type.dtype == DType::f32 && !exact_[node.id()] && !wanted(node, 0);
    const auto* product = node.as<MatmulOp>();
    const Expression* epilogue = product && product->epilogue() ? &*product->epilogue() : nullptr;
    const bool tame = !epilogue || keeps_range(*epilogue, epilogue->outputs()[0]);
    const DType result = narrow && tame ? DType::f16 : type.dtype;

    if (node.op().is_view() || node.as<GatherOp>()) return copy(node, node.shared_op(), std::move(inputs));
    if (const auto* map = node.as<MapOp>()) return emit_map(node, *map, std::move(inputs));
    if (const auto* op = node.as<MatmulOp>()) return emit_product(node, *op, std::move(inputs), result);
    if (const auto* op = node.as<ReduceOpNode>()) return emit_reduction(node, *op, std::move(inputs));
    if (const auto* op = node.as<AttentionOp>()) {
      return copy(node, make_op<AttentionOp>(op->with_result(result)), std::move(inputs));
    }
    if (const auto* op = node.as<SoftmaxOp>()) {
      return copy(node, make_op<SoftmaxOp>(op->axis(), result), std::move(inputs));
    }
    if (const auto* op = node.as<LayerNormOp>()) return copy(node, op->with_result(result), std::move(inputs));
    if (const auto* op = node.as<RmsNormOp>()) return copy(node, op->with_result(result), std::move(inputs));
    if (const auto* op = node.as<RowWorkOp>()) return emit_rows(node, *op, std::move(inputs));
    const bool all = std::ranges::all_of(inputs, [](Value v) { return v.dtype() == DType::f16; });
    if (node.as<ConcatOp>() && all) return copy(node, node.shared_op(), std::move(inputs));
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = as(node.inputs()[i], node.inputs()[i].dtype());
    return copy(node, node.shared_op(), std::move(inputs));
  }

  // Inputs of `e` for stored values, converted to what they were: the arguments of the old expression from `first` on.
  static void add_inputs(Expression& e, std::vector<int>& args, const Node& node, std::span<const Value> inputs,
                         std::size_t first) {
    std::vector<int> numbers;
    for (std::size_t i = first; i < inputs.size(); ++i) numbers.push_back(e.input(inputs[i].dtype()));
    for (std::size_t i = first; i < inputs.size(); ++i) {
      args.push_back(e.cast(numbers[i - first], node.inputs()[i].dtype()));
    }
  }

  std::vector<Value> emit_map(const Node& node, const MapOp& map, std::vector<Value> inputs) {
    Expression e;
    std::vector<int> args;
    add_inputs(e, args, node, inputs, 0);
    const std::vector<int> results = splice(e, map.expression(), args);
    // What is as large as a narrow operand is worth storing narrow too.
    const std::int64_t size = element_count(node.types()[0].shape);
    const bool large = std::ranges::any_of(inputs, [&](const Value& v) {
      return v.dtype() == DType::f16 && element_count(v.shape()) == size;
    });
    for (std::size_t k = 0; k < results.size(); ++k) {
      const bool narrow = large && node.types()[k].dtype == DType::f32 && !exact_[node.id()] && !wanted(node, k) &&
                          keeps_range(e, results[k]);
      e.output(narrow ? e.cast(results[k], DType::f16) : results[k]);
    }
    return copy(node, make_op<MapOp>(std::move(e)), std::move(inputs));
  }

  // Straight to an output of the graph: a narrow form would only be converted back.
  bool wanted(const Node& node, std::size_t k) const {
    const Value v = const_cast<Node&>(node).value(static_cast<int>(k));
    return uses_.is_output(v) && uses_.of(v).empty();
  }

  std::vector<Value> emit_product(const Node& node, const MatmulOp& op, std::vector<Value> inputs, DType result) {
    const DType plain = inputs[0].dtype() == inputs[1].dtype() ? inputs[0].dtype() : DType::f32;
    if (!op.epilogue()) {
      return copy(node, plain == result ? make_op<MatmulOp>() : make_op<MatmulOp>(result), std::move(inputs));
    }
    Expression e;
    std::vector<int> args{e.input(kernels::product_type(inputs[0].dtype(), inputs[1].dtype()))};
    add_inputs(e, args, node, inputs, 2);
    e.output(e.cast(splice(e, *op.epilogue(), args)[0], result));
    return copy(node, make_op<MatmulOp>(std::move(e)), std::move(inputs));
  }

  std::vector<Value> emit_reduction(const Node& node, const ReduceOpNode& op, std::vector<Value> inputs) {
    Expression before;
    std::vector<int> args;
    const std::size_t first = op.input_count();
    add_inputs(before, args, node, std::span(inputs).first(first), 0);
    const std::vector<int> values = op.before() ? splice(before, *op.before(), args) : args;
    before.output(values[0]);
    for (std::size_t k = 1; op.before() && k < values.size(); ++k) {
      const bool narrow = node.types()[k].dtype == DType::f32 && !exact_[node.id()] && !wanted(node, k) &&
                          kernels::reduces_in_fours(node.types()[k].shape, op.axes()) &&
                          keeps_range(before, values[k]);
      before.output(narrow ? before.cast(values[k], DType::f16) : values[k]);
    }
    std::optional<Expression> after;
    if (op.after()) {
      after.emplace();
      std::vector<int> rest{after->input(DType::f32)};
      add_inputs(*after, rest, node, inputs, first);
      after->output(splice(*after, *op.after(), rest)[0]);
    }
    return copy(node, op.with_work(std::move(before), std::move(after)), std::move(inputs));
  }

  // Weights stay as they are stored: the kernel takes any float type.
  std::vector<Value> emit_rows(const Node& node, const RowWorkOp& op, std::vector<Value> inputs) {
    const std::span<const Value> all(inputs);
    const std::size_t first = op.input_count(), weights = op.weight_count();
    std::size_t k = 0;  // results
    const auto stored = [&](Expression& e, int value) {
      const bool narrow = node.types()[k].dtype == DType::f32 && !exact_[node.id()] && !wanted(node, k) &&
                          keeps_range(e, value);
      ++k;
      return narrow ? e.cast(value, DType::f16) : value;
    };
    // What follows the operation.
    Expression after;
    const DType result = op.after()                             ? op.after()->nodes()[0].type
                         : node.types()[0].dtype == DType::f64 ? DType::f64
                                                               : DType::f32;
    std::vector<int> args{after.input(result)};
    if (op.after()) {
      add_inputs(after, args, node, all, first + weights);
      for (const int value : splice(after, *op.after(), args)) after.output(stored(after, value));
    } else {
      after.output(stored(after, after.cast(args[0], node.types()[0].dtype)));
    }
    // What comes before it.
    std::optional<Expression> before;
    if (op.before()) {
      before.emplace();
      args.clear();
      add_inputs(*before, args, node, all.first(first), 0);
      const std::vector<int> values = splice(*before, *op.before(), args);
      before->output(values[0]);
      for (std::size_t i = 1; i < values.size(); ++i) before->output(stored(*before, values[i]));
    }
    return copy(node, make_op<RowWorkOp>(op.rows(), weights, std::move(before), std::move(after)), std::move(inputs));
  }

  const Graph& graph_;
  const PassContext& context_;
  Uses uses_;
  std::set<const Node*> half_, full_;     // constants
  std::vector<char> exact_;               // of each old node
  std::vector<std::vector<Value>> made_;  // of each old node
  std::map<std::tuple<Node*, int, DType>, Value> converted_;
  Graph to_;
};

}  // namespace

Graph store_half(const Graph& graph, const PassContext& context) {
  if (context.options.precision.value_or(Precision::strict) == Precision::strict) return without_dead(graph);
  return Narrower(graph, context).run();
}

}  // namespace weft::compiler
