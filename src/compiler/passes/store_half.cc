#include "compiler/passes/store_half.h"

#include <format>
#include <map>
#include <set>

#include "compiler/constant_store.h"
#include "compiler/precision.h"
#include "compiler/rewrite.h"
#include "graph/clone.h"
#include "graph/leaf.h"
#include "weft/error.h"
#include "weft/log.h"

namespace weft::compiler {
namespace {

// The layout of v in the memory of its root; nothing if strides cannot express it.
std::optional<Placement> placement(const Tensor& v) {
  std::vector<const Op*> views;
  Tensor root = v;
  for (; root.node()->op().is_view(); root = input_of(root)) views.push_back(&root.node()->op());
  std::optional<Placement> shown = Placement{0, Layout::dense(root.shape())};
  for (; shown && !views.empty(); views.pop_back()) {
    const std::int64_t offset = shown->offset;
    shown = views.back()->view_layout(shown->layout);
    if (shown) shown->offset += offset;
  }
  return shown;
}

// The weights of a node, if they are a constant that may be stored as f16, which converts it once before anything runs.
Tensor weights_of(const Node& node) {
  const auto weights = node.op().rewriting().weight_operand();
  if (!weights || node.types()[0].dtype == DType::c64) return {};
  const Tensor v = node.inputs()[static_cast<std::size_t>(weights->operand)];
  return v.dtype() == DType::f32 && constant_op(root_of(v)) ? v : Tensor();
}

class Narrower {
 public:
  Narrower(const Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), rewriter_(graph), exact_(graph.impl().nodes().size()) {}

  Graph run() {
    decide();
    for (const NodePtr& node : graph_.impl().nodes()) emit(*node);
    return rewriter_.finish([&](const GraphPort& o) { return as(o.value, o.value.dtype()); });
  }

 private:
  // Decides which weights are f16, and which nodes must have exact operands and results.
  void decide() {
    const auto& nodes = graph_.impl().nodes();
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      const Node& node = **it;
      if (const Tensor w = weights_of(node); w.defined()) {
        PrecisionDecision d = judge(node, w);
        if (d.f16) half_.insert(root_of(w).node());
        // One use that must be exact decides for all uses.
        else
          full_.insert(root_of(w).node());
        // Rounding before a product that does not tolerate it is as bad as rounding in it.
        const bool measured = context_.options.precision == Precision::automatic;
        if (!d.f16 && measured && node.op().rewriting().weight_operand()->summed) exact_[id(node)] = 1;
        if (log_topic("precision")) {
          log_message(LogLevel::info, std::format("precision: {} {}: {}", d.weights, d.f16 ? "f16" : "f32", d.reason));
        }
        if (context_.decisions) context_.decisions->insert(context_.decisions->begin(), std::move(d));
      }
      if (!exact_[id(node)]) continue;
      for (const Tensor& v : node.inputs()) exact_[id(*v.node())] = 1;
    }
  }

  PrecisionDecision judge(const Node& node, const Tensor& weights) const {
    const CompileOptions& options = context_.options;
    const ConstantOp& constant = *constant_op(root_of(weights));
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
      return options.constants ? options.constants->f16_error(*constant.data(), measure) : measure();
    };
    const auto range = [&] {
      return leaves_f16(constant.data()->data()) ? std::numeric_limits<double>::infinity() : 0;
    };
    const auto shown = placement(weights);
    const bool product = node.op().rewriting().weight_operand()->summed && weights.rank() >= 2 && shown;
    if (options.precision == Precision::f16 || !product) {
      // Only the range is checked. Precision::f16 does not use the store's cache, which holds errors measured on
      // products.
      const double error = options.precision == Precision::f16 ? range() : cost(range);
      return std::isinf(error) ? say(false, "a weight is past f16's range") : say(true, "within f16's range");
    }
    if (exact_[id(node)]) return say(false, "what comes after it needs exact operands");
    d.error = cost([&] { return f16_error(constant.data()->data(), *shown); });
    if (std::isinf(d.error)) return say(false, "a weight or a result comes near the end of f16's range");
    const double bound = options.f16_error_bound.value_or(kF16ErrorBound);
    return say(d.error <= bound, std::format("error {:.2g}, the bound is {:.2g}", d.error, bound));
  }

  std::size_t id(const Node& node) const { return static_cast<std::size_t>(rewriter_.id(node)); }

  // The value in the given type.
  Tensor as(const Tensor& old, DType type) {
    const Tensor& now = rewriter_.at(old);
    if (now.dtype() == type) return now;
    Tensor& converted = converted_[{now.node(), now.index(), type}];
    if (!converted.defined()) converted = cast(now, type);
    return converted;
  }

  // A constant's f16 form under the same views.
  Tensor weights(const Tensor& old) {
    std::vector<const Node*> views;
    Tensor root = old;
    for (; root.node()->op().is_view(); root = input_of(root)) views.push_back(root.node());
    Tensor now = as(root, half_.contains(root.node()) && !full_.contains(root.node()) ? DType::f16 : DType::f32);
    for (; !views.empty(); views.pop_back()) now = clone(*views.back(), {now});
    return now;
  }

  void emit(const Node& node) {
    std::vector<Tensor> inputs = rewriter_.at(node.inputs());
    if (const Tensor w = weights_of(node); w.defined())
      inputs[static_cast<std::size_t>(node.op().rewriting().weight_operand()->operand)] = weights(w);
    std::vector<TensorType> types;
    for (const Tensor& v : inputs) types.push_back(v.type());
    const std::vector<TensorType> before = node.input_types();
    OpPtr op = node.shared_op();
    if (types != before && !op->moves_elements()) {
      op = op->rewriting().with_types(before, types, allowed(node));
      if (!op) {
        op = node.shared_op();
        for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = as(node.inputs()[i], before[i].dtype);
      }
    }
    const bool unchanged = op == node.shared_op() && std::ranges::equal(inputs, rewriter_.at(node.inputs()), same);
    if (unchanged)
      rewriter_.copy(node);
    else
      rewriter_.copy(node, std::move(op), std::move(inputs));
  }

  // The type in which each result may be stored.
  std::vector<DType> allowed(const Node& node) const {
    std::vector<DType> types;
    for (std::size_t k = 0; k < node.types().size(); ++k) {
      const bool narrow = node.types()[k].dtype == DType::f32 && !exact_[id(node)] &&
                          !only_output(node.value(static_cast<int>(k))) && keeps_range(node.op(), k);
      types.push_back(narrow ? DType::f16 : node.types()[k].dtype);
    }
    return types;
  }

  // True if the value goes only to an output of the graph, for which a narrow form would be converted back.
  bool only_output(const Tensor& v) const { return rewriter_.uses().is_output(v) && rewriter_.uses().of(v).empty(); }

  // True if the measurement of automatic also holds for what is computed from the op's result.
  bool keeps_range(const Op& op, std::size_t result) const {
    if (context_.options.precision != Precision::automatic) return true;
    const auto within = [](const Expression* e, std::size_t output) {
      return !e || stays_in_range(*e, e->outputs()[output]);
    };
    if (op.elementwise()) return within(op.elementwise(), result);
    const Fusion fusion = op.fusing().fusion();
    const std::size_t own = fusion.epilogue ? fusion.epilogue->outputs().size() : 1;
    return result < own ? within(fusion.epilogue, result) : within(fusion.prologue, result - own + 1);
  }

  const Graph& graph_;
  const PassContext& context_;
  Rewriter rewriter_;
  std::set<const Node*> half_, full_;  // constants
  std::vector<char> exact_;            // of each old node
  std::map<std::tuple<const Node*, int, DType>, Tensor> converted_;
};

}  // namespace

Graph store_half(const Graph& graph, const PassContext& context) {
  if (context.options.precision.value_or(Precision::strict) == Precision::strict) return graph;
  return Narrower(graph, context).run();
}

}  // namespace weft::compiler
