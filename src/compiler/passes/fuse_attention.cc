#include "compiler/passes/fuse_attention.h"

#include <algorithm>
#include <cmath>

#include "compiler/heads.h"
#include "compiler/mask_window.h"
#include "compiler/rewrite.h"
#include "compiler/terms.h"
#include "core/visits.h"
#include "ops/attention.h"
#include "weft/kernels/attention.h"

namespace weft::compiler {
namespace {

struct Scores {
  Tensor product;  // q·kᵀ
  double scale = 1;
  Tensor mask;
  std::optional<MaskWindow> window;  // of constant masks
  int operations = 0;                // between the product and the softmax
};

constexpr int kMostOperations = 32;

// Follows the scores from the softmax back to the product, through multiplications by numbers and a mask added or
// selected. `user` is the node that reads `s.product`.
std::optional<Scores> trace(const Uses& uses, WindowMasks& masks, Scores s, const Node& user) {
  count_visits();
  if (!uses.only(s.product, user) || s.operations == kMostOperations) return std::nullopt;
  const Node& node = *s.product.node();
  if (is_plain(node, OpPattern::matmul)) return s;
  if (!node.op().elementwise() || node.types().size() != 1) return std::nullopt;
  const Expression& e = *node.op().elementwise();
  const Expression::Node& top = e.nodes()[e.outputs()[0]];
  // The operand that argument i of the topmost operation reads, if it reads one.
  const auto operand = [&](int i) {
    const Expression::Node& n = e.nodes()[top.args[i]];
    return n.op == ScalarOp::input ? node.inputs()[n.input] : Tensor();
  };
  const auto go_on = [&](int i, double factor, Tensor mask) -> std::optional<Scores> {
    const Tensor scores = operand(i);
    if (!scores.defined() || scores.shape() != s.product.shape()) return std::nullopt;
    Scores next = s;
    next.product = scores;
    ++next.operations;
    next.scale *= factor;
    // One factor equals several in turn as long as their products stay in the range of normal numbers.
    const double magnitude = std::abs(next.scale);
    if (factor != 1 && !(magnitude > 0x1p-60 && magnitude < 0x1p60)) return std::nullopt;
    // What the mask hides must remain hidden after scaling.
    if (mask.defined() && !(s.scale > 1e-20)) return std::nullopt;
    if (mask.defined() && !s.window && (next.window = masks.find(mask, scores.shape()[-2], scores.shape()[-1])))
      mask = {};
    // The kernel adds the mask to the scaled scores: seen from the softmax, the mask comes before any scale, and only
    // once.
    if (mask.defined() && (s.mask.defined() || s.scale != 1)) return std::nullopt;
    if (mask.defined()) next.mask = mask;
    return trace(uses, masks, next, node);
  };
  const auto number_at = [&](int i) { return number(e.nodes()[top.args[i]]); };
  switch (top.op) {
    case ScalarOp::mul:
      for (const int i : {0, 1}) {
        if (const auto factor = number_at(1 - i)) return go_on(i, *factor, {});
      }
      return std::nullopt;
    case ScalarOp::div:
      if (const auto divisor = number_at(1)) return go_on(0, 1 / *divisor, {});
      return std::nullopt;
    case ScalarOp::add:
      for (const int i : {0, 1}) {
        if (!operand(1 - i).defined()) continue;
        if (auto found = go_on(i, 1, operand(1 - i))) return found;
      }
      return std::nullopt;
    case ScalarOp::select:
      if (!operand(0).defined() || !number_at(2) || !hides(*number_at(2))) return std::nullopt;
      if (std::isfinite(*number_at(2))) {
        // Lower than every score, but a query without visible keys would still give such keys weights.
        const auto window = masks.find(operand(0), node.types()[0].shape[-2], node.types()[0].shape[-1]);
        if (s.window || !window || !window->every_query_sees) return std::nullopt;
      }
      return go_on(1, 1, operand(0));
    default:
      return std::nullopt;
  }
}

bool attends(DType type) { return type == DType::f32 || type == DType::f16 || type == DType::bf16; }

// The attention with its mask replaced by a window, if the mask is one.
Tensor with_window(const Rewriter& r, WindowMasks& masks, const Node& node, const MaskOperand& mask) {
  const auto at = static_cast<std::size_t>(mask.operand);
  const auto window = masks.find(node.inputs()[at], mask.queries, mask.keys);
  if (!window) return {};
  std::vector<Tensor> operands = r.at(node.inputs());
  operands.erase(operands.begin() + mask.operand);
  return apply(node.op().rewriting().with_window(*window), std::move(operands));
}

}  // namespace

Graph fuse_attention(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  WindowMasks masks;
  return r.run([&](const Node& node) -> Tensor {
    if (const auto mask = node.op().rewriting().mask_operand(node.input_types()))
      return with_window(r, masks, node, *mask);
    if (!is_plain(node, OpPattern::matmul)) return {};
    const Tensor weights = node.inputs()[0];
    const Tensor v = node.inputs()[1];
    if (!is(weights, OpPattern::softmax) || !r.uses().only(weights, node)) return {};
    if (weights.node()->op().integers("axis") != Dims{weights.rank() - 1}) return {};

    const auto found = trace(r.uses(), masks, {.product = input_of(weights)}, *weights.node());
    if (!found) return {};
    const Scores& s = *found;
    double scale = s.scale;
    const Tensor q = without_scale(r.at(input_of(s.product, 0)), scale);
    const Tensor k = without_scale(r.at(input_of(s.product, 1)), scale).T();
    const Tensor mask = s.mask.defined() ? r.at(s.mask) : Tensor();
    const TensorType& type = node.types()[0];
    const Shape heads(std::span(type.shape.begin(), type.shape.end() - 2));
    const auto folded = fold_heads({q, k, r.at(v), mask}, heads);
    if (!folded || q.shape()[-1] == 0) return {};
    std::vector<Tensor> operands{folded->q, folded->k, folded->v};
    if (mask.defined()) operands.push_back(folded->mask);
    const auto known = [](const Tensor& o) { return attends(o.dtype()) || o.dtype() == DType::boolean; };
    if (!attends(type.dtype) || !std::ranges::all_of(operands, known)) return {};
    kernels::AttentionOptions options;
    options.scale = scale;
    // Softmax of a row of -inf gives NaN; without keys there is no row.
    options.empty_is_nan = k.shape()[-2] > 0;
    if (s.window) set_window(options, *s.window);
    const std::optional<DType> result = type.dtype == q.dtype() ? std::nullopt : std::optional(type.dtype);
    AttentionAttributes attention{.options = options, .type = result};
    return reshape(apply(make_op<AttentionOp>(attention), std::move(operands)), type.shape);
  });
}

}  // namespace weft::compiler
