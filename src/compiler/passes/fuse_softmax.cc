#include "compiler/passes/fuse_softmax.h"

#include "compiler/rewrite.h"
#include "compiler/terms.h"

namespace weft::compiler {
namespace {

// The axis of the reduction, if it is of this kind over one axis.
std::optional<int> reduced_axis(const Node* node, ReduceKind wanted) {
  const auto found = node ? node->op().reduction() : std::nullopt;
  return found && found->op == wanted && found->axes.size() == 1 ? std::optional(found->axes[0]) : std::nullopt;
}

struct Softmax {
  Tensor x;
  int axis = 0;
};

// exp(shifted) / denominator, where `shifted` is x minus its maximum and `denominator` the sum of its exponentials.
std::optional<Softmax> match(const Term& shifted, const Term& denominator, const Shape& shape) {
  if (!shifted.is(ScalarOp::sub) || !denominator.value().defined()) return std::nullopt;
  const Tensor x = shifted.arg(0).value();
  const Tensor top = shifted.arg(1).value();
  if (!x.defined() || !top.defined() || x.shape() != shape) return std::nullopt;
  const Node* sum = spread_reduction(denominator.value(), shape);
  const Node* max = spread_reduction(top, shape);
  const auto axis = reduced_axis(sum, ReduceKind::sum);
  if (!axis || axis != reduced_axis(max, ReduceKind::max) || !same(max->inputs()[0], x)) return std::nullopt;
  const Term numerator(sum->inputs()[0]);
  if (!numerator.is(ScalarOp::exp) || !(numerator.arg(0) == shifted)) return std::nullopt;
  return Softmax{x, *axis};
}

std::optional<Softmax> match_plain(const Term& y, const Shape& shape) {
  const auto quotient = [&](const Term& numerator, const Term& denominator) {
    return numerator.is(ScalarOp::exp) ? match(numerator.arg(0), denominator, shape) : std::nullopt;
  };
  if (y.is(ScalarOp::div)) return quotient(y.arg(0), y.arg(1));
  if (!y.is(ScalarOp::mul)) return std::nullopt;
  for (const int i : {0, 1}) {
    if (!y.arg(i).is(ScalarOp::reciprocal)) continue;
    if (auto found = quotient(y.arg(1 - i), y.arg(i).arg(0))) return found;
  }
  return std::nullopt;
}

// True if nothing but `user` has the value, or what views of it come from.
bool has_alone(const Uses& uses, Tensor v, const Node* user) {
  for (; uses.only(v, *user); v = user->inputs()[0]) {
    user = v.node();
    if (!user->op().is_view()) return true;
  }
  return false;
}

// A log-sum-exp that is also used elsewhere is computed anyhow: subtracting it is elementwise work.
std::optional<Softmax> match_logarithm(const Term& y, const Shape& shape, const Uses& uses, const Node& user) {
  if (!y.is(ScalarOp::sub)) return std::nullopt;
  if (y.arg(1).is(ScalarOp::log)) return match(y.arg(0), y.arg(1).arg(0), shape);
  const Tensor x = y.arg(0).value();
  const Tensor sum = y.arg(1).value();
  if (!x.defined() || !sum.defined() || x.shape() != shape) return std::nullopt;
  const Node* node = spread_reduction(sum, shape);
  const auto axis = reduced_axis(node, ReduceKind::log_sum_exp);
  return axis && same(node->inputs()[0], x) && has_alone(uses, sum, &user) ? std::optional(Softmax{x, *axis})
                                                                           : std::nullopt;
}

}  // namespace

Graph fuse_softmax(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    if (!node.op().elementwise() || node.types().size() != 1 || !is_floating(node.types()[0].dtype)) return {};
    const Term y(node.value());
    const Shape& shape = node.types()[0].shape;
    const auto usable = [&](const std::optional<Softmax>& found) {
      return found && found->x.dtype() == node.types()[0].dtype;
    };
    if (const auto found = match_plain(y, shape); usable(found)) return softmax(r.at(found->x), found->axis);
    if (const auto found = match_logarithm(y, shape, r.uses(), node); usable(found))
      return log_softmax(r.at(found->x), found->axis);
    return {};
  });
}

}  // namespace weft::compiler
