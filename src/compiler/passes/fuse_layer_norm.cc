#include "compiler/passes/fuse_layer_norm.h"

#include "compiler/rewrite.h"
#include "compiler/terms.h"
#include "ops/norm.h"

namespace weft::compiler {
namespace {

struct Norm {
  Tensor x, scale, bias;
  double epsilon = 0;
  int first_axis = 0;
  bool centred = true;  // layer norm; else RMS norm
};

// The operand of a mean over the last axes, from `first_axis` on.
std::optional<Tensor> mean_of(const Term& mean, const Shape& shape, int& first_axis) {
  const Node* node = mean.value().defined() ? spread_reduction(mean.value(), shape) : nullptr;
  if (!node) return std::nullopt;
  const Reduction mean_op = *node->op().reduction();
  if (mean_op.op != ReduceKind::mean || mean_op.axes.empty()) return std::nullopt;
  first_axis = mean_op.axes[0];
  if (first_axis + static_cast<int>(mean_op.axes.size()) != shape.rank()) return std::nullopt;
  return node->inputs()[0];
}

bool is_square(const Term& t, const Term& of) {
  if (t.is(ScalarOp::square)) return t.arg(0) == of;
  if (t.is(ScalarOp::mul)) return t.arg(0) == of && t.arg(1) == of;
  return t.is(ScalarOp::pow) && t.arg(0) == of && t.arg(1).number() == 2.0;
}

// True for the variance of the norm's x over its axes, as a reduction of its own.
bool is_variance(const Term& t, const Norm& norm) {
  const Node* node = t.value().defined() ? spread_reduction(t.value(), norm.x.shape()) : nullptr;
  if (!node || !same(node->inputs()[0], norm.x)) return false;
  const Reduction variance = *node->op().reduction();
  if (variance.op != ReduceKind::variance || variance.correction != 0) return false;
  const auto rank = static_cast<std::size_t>(norm.x.rank() - norm.first_axis);
  return variance.axes.size() == rank && variance.axes[0] == norm.first_axis;
}

// deviation · 1 / root, where `inside` is the operand of the root.
std::optional<Norm> match(const Term& deviation, const Term& inside, const Shape& shape, bool centred) {
  if (!inside.is(ScalarOp::add) || (centred && !deviation.is(ScalarOp::sub))) return std::nullopt;
  Norm norm;
  norm.centred = centred;
  norm.x = norm.centred ? deviation.arg(0).value() : deviation.value();
  if (!norm.x.defined() || norm.x.shape() != shape) return std::nullopt;
  norm.first_axis = -1;
  if (norm.centred) {
    const auto mean = mean_of(deviation.arg(1), shape, norm.first_axis);
    if (!mean || !same(*mean, norm.x)) return std::nullopt;
  }
  for (const int i : {0, 1}) {
    const auto epsilon = inside.arg(i).number();
    if (epsilon && !(*epsilon >= 0)) continue;  // no norm accepts it
    int first_axis = -1;
    if (norm.centred && epsilon && is_variance(inside.arg(1 - i), norm)) {
      norm.epsilon = *epsilon;
      return norm;
    }
    const auto squares = mean_of(inside.arg(1 - i), shape, first_axis);
    if (!epsilon || !squares || !is_square(Term(*squares), deviation)) continue;
    if (norm.centred && first_axis != norm.first_axis) continue;
    norm.first_axis = first_axis;
    norm.epsilon = *epsilon;
    return norm;
  }
  return std::nullopt;
}

std::optional<Norm> match(const Term& deviation, const Term& inside, const Shape& shape) {
  auto found = match(deviation, inside, shape, true);
  return found ? found : match(deviation, inside, shape, false);
}

std::optional<Norm> plain(const Term& y, const Shape& shape) {
  if (y.is(ScalarOp::div) && y.arg(1).is(ScalarOp::sqrt)) return match(y.arg(0), y.arg(1).arg(0), shape);
  if (!y.is(ScalarOp::mul)) return std::nullopt;
  for (const int i : {0, 1}) {
    if (!y.arg(i).is(ScalarOp::rsqrt)) continue;
    if (auto found = match(y.arg(1 - i), y.arg(i).arg(0), shape)) return found;
  }
  return std::nullopt;
}

// True for a value of the shape of the norm's axes, in any number of dimensions.
bool is_affine(const Term& t, const Norm& norm) {
  const Tensor v = t.value();
  if (!v.defined() || v.dtype() != norm.x.dtype()) return false;
  const Shape& x = norm.x.shape();
  for (int i = 1; i <= v.rank(); ++i) {
    const std::int64_t wanted = x.rank() - i >= norm.first_axis ? x[-i] : 1;
    if (v.shape()[-i] != wanted) return false;
  }
  return v.rank() >= x.rank() - norm.first_axis;
}

// A norm, perhaps with a scale.
std::optional<Norm> scaled(const Term& y, const Shape& shape) {
  if (auto found = plain(y, shape)) return found;
  if (!y.is(ScalarOp::mul)) return std::nullopt;
  for (const int i : {0, 1}) {
    auto found = plain(y.arg(i), shape);
    if (!found || !is_affine(y.arg(1 - i), *found)) continue;
    found->scale = y.arg(1 - i).value();
    return found;
  }
  return std::nullopt;
}

// A norm, perhaps with a scale and then a bias.
std::optional<Norm> find(const Term& y, const Shape& shape) {
  if (!y.is(ScalarOp::add)) return scaled(y, shape);
  for (const int i : {0, 1}) {
    auto found = scaled(y.arg(i), shape);
    if (!found || !found->centred || !is_affine(y.arg(1 - i), *found)) continue;
    found->bias = y.arg(1 - i).value();
    return found;
  }
  return std::nullopt;
}

Tensor rms_norm(const Tensor& x, int first_axis, const Tensor& scale, double epsilon) {
  std::vector<Tensor> operands{x};
  if (scale.defined()) operands.push_back(scale);
  const kernels::NormOptions options{.kind = kernels::NormKind::rms, .axis = first_axis, .epsilon = epsilon};
  return apply(make_op<RmsNormOp>(NormAttributes{options, scale.defined(), false}), std::move(operands));
}

}  // namespace

Graph fuse_layer_norm(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    if (!node.op().elementwise() || node.types().size() != 1 || !is_floating(node.types()[0].dtype)) return {};
    const Shape& shape = node.types()[0].shape;
    const auto norm = find(Term(node.value()), shape);
    if (!norm || norm->x.dtype() != node.types()[0].dtype) return {};
    const Shape axes(std::span(shape.begin() + norm->first_axis, shape.end()));
    const auto affine = [&](const Tensor& v) { return v.defined() ? reshape(r.at(v), axes) : Tensor(); };
    if (!norm->centred) return rms_norm(r.at(norm->x), norm->first_axis, affine(norm->scale), norm->epsilon);
    return layer_norm(r.at(norm->x), affine(norm->scale), affine(norm->bias), norm->epsilon, norm->first_axis);
  });
}

}  // namespace weft::compiler
