#include "compiler/heads.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "compiler/terms.h"
#include "graph/clone.h"

namespace weft::compiler {
namespace {

struct Repeated {
  Tensor of;
  std::int64_t count = 1;
};

// Views and scales beyond so many are not looked through.
constexpr int kDeepest = 16;

// The value that v repeats along the axis, each element `count` times in a row.
Repeated without_repeats(const Tensor& v, int axis, int depth = 0) {
  if (depth == kDeepest) return {v};
  const Op& op = v.node()->op();
  if (is(v, OpPattern::permute)) {
    const Dims order = *op.integers("order");
    const Repeated inner = without_repeats(input_of(v), static_cast<int>(order[axis]), depth + 1);
    const std::array<Tensor, 1> of{inner.of};
    return {op.rewriting().simplified(of), inner.count};
  }
  if (is(v, OpPattern::repeat)) {
    const Dims counts = *op.integers("counts");
    Dims others = counts;
    others[axis] = 1;
    if (others != Dims::filled(v.rank(), 1)) return {v};
    return {input_of(v), counts[axis]};
  }
  if (is(v, OpPattern::broadcast)) {
    const Tensor x = input_of(v);
    const int from = axis - (v.rank() - x.rank());
    if (from >= 0 && x.shape()[from] != 1) return {v};
    Shape shape = v.shape();
    shape[axis] = 1;
    return {broadcast_to(x, shape), v.shape()[axis]};
  }
  if (is(v, OpPattern::reshape)) {
    const Tensor x = input_of(v);
    Shape merged = x.shape();
    if (merged.rank() != v.rank() + 1) return {v};
    merged[axis] *= merged[axis + 1];
    merged.erase(axis + 1);
    if (merged != v.shape()) return {v};
    const Repeated inner = without_repeats(x, axis + 1, depth + 1);
    if (inner.count != x.shape()[axis + 1]) return {v};
    merged[axis] = x.shape()[axis];
    return {reshape(inner.of, merged), inner.count};
  }
  return {v};
}

// The layout of a value's elements; a copy is inserted first where strides cannot express it.
Layout layout_of(const Tensor& v) {
  std::vector<const Node*> views;
  Tensor root = v;
  for (; root.node()->op().is_view(); root = input_of(root)) views.push_back(root.node());
  Layout layout = Layout::dense(root.shape());
  for (; !views.empty(); views.pop_back()) {
    const auto shown = views.back()->op().view_layout(layout);
    layout = shown ? shown->layout : Layout::dense(views.back()->types()[0].shape);
  }
  return layout;
}

std::int64_t product(const Shape& sizes, int begin, int end) {
  return std::accumulate(sizes.begin() + begin, sizes.begin() + end, std::int64_t{1}, std::multiplies<>());
}

// [batch, heads, …] of axes of which the first `batch_end` are the batch, and those up to `end` the heads.
Shape folded(const Shape& heads, int batch_end, int end, const Shape& last) {
  return {product(heads, 0, batch_end), product(heads, batch_end, end), last[0], last[1]};
}

// The last axis split in two, of which the second is `count` long.
Shape split(Shape heads, std::int64_t count) {
  const bool one = heads.back() == 1;
  if (!one) heads[-1] /= count;
  heads.push_back(one ? 1 : count);
  return heads;
}

// An operand whose axes before the last two are seen as `heads`.
struct HeadOperand {
  Tensor value;
  Shape heads, last;

  HeadOperand(const Tensor& v, int rank) : value(v) {
    Shape shape = v.shape();
    while (shape.rank() < rank) shape.insert(0, 1);
    heads = Shape(std::span(shape.begin(), shape.end() - 2));
    last = Shape(std::span(shape.end() - 2, shape.end()));
  }
  // Axes that are all present, or all broadcast, can be merged into one.
  bool merges(const Shape& all, int begin, int end) const {
    const bool there = std::equal(heads.begin() + begin, heads.begin() + end, all.begin() + begin);
    return there || product(heads, begin, end) == 1;
  }
  bool folds(const Shape& all, int batch_end, int end) const {
    Layout result;
    return merges(all, 0, batch_end) && merges(all, batch_end, end) && product(heads, end, heads.rank()) == 1 &&
           layout_of(value).reshaped(folded(heads, batch_end, end, last), result);
  }
  Tensor fold(int batch_end, int end) const { return reshape(value, folded(heads, batch_end, end, last)); }
};

}  // namespace

std::optional<AttentionOperands> fold_heads(const AttentionOperands& operands, const Shape& heads) {
  const int rank = heads.rank() + 2;
  Tensor k = operands.k, v = operands.v;
  std::int64_t count = 1;  // heads of queries that share one head of keys, as k and v show
  if (heads.rank() > 0 && rank < kMaxRank && k.rank() == rank && v.rank() == rank) {
    const Repeated keys = without_repeats(k, rank - 3), values = without_repeats(v, rank - 3);
    if (keys.count == values.count && keys.count > 1) {
      count = keys.count;
      k = keys.of;
      v = values.of;
    }
  }
  Shape all = heads;
  HeadOperand q(operands.q, rank), keys(k, rank), values(v, rank),
      mask(operands.mask.defined() ? operands.mask : q.value, rank);
  if (count > 1) {
    for (Shape* shape : {&all, &q.heads, &mask.heads}) *shape = split(*shape, count);
    for (Shape* shape : {&keys.heads, &values.heads}) shape->push_back(1);
  }
  const int n = all.rank();
  // The weights of a head that several heads of values share would be computed once for each of these.
  for (int i = 0; i < n; ++i) {
    if (q.heads[i] != all[i] && keys.heads[i] != all[i]) return std::nullopt;
  }

  // Axes 0…batch_end-1 become the batch, those up to kv_end the heads of keys, the rest the heads that share one of
  // those.
  const auto fold = [&](int batch_end, int kv_end) -> std::optional<AttentionOperands> {
    if (!q.folds(all, batch_end, n) || !mask.folds(all, batch_end, n)) return std::nullopt;
    if (!keys.folds(all, batch_end, kv_end) || !values.folds(all, batch_end, kv_end)) return std::nullopt;
    const auto whole = [&](const HeadOperand& o, int end) {
      return broadcast_to(o.fold(batch_end, end), folded(all, batch_end, end, o.last));
    };
    return AttentionOperands{whole(q, n), whole(keys, kv_end), whole(values, kv_end),
                             operands.mask.defined() ? mask.fold(batch_end, n) : Tensor()};
  };
  std::vector<int> ends(static_cast<std::size_t>(n) + 1);
  std::iota(ends.begin(), ends.end(), 0);
  if (n > 0) std::swap(ends[0], ends[1]);  // usually the first axis is the batch
  for (const int batch_end : ends) {
    for (int kv_end = batch_end; kv_end <= n; ++kv_end) {
      if (auto found = fold(batch_end, kv_end)) return found;
    }
  }
  return std::nullopt;
}

namespace {

Tensor without_scale(const Tensor& v, double& scale, int depth) {
  if (depth == kDeepest) return v;
  const Node& node = *v.node();
  if (node.op().moves_elements() && node.inputs().size() == 1) {
    const Tensor x = input_of(v), without = without_scale(x, scale, depth + 1);
    return same(without, x) ? v : clone(node, {without});
  }
  const Expression* own = node.op().elementwise();
  if (!own || node.types().size() != 1 || node.inputs().size() != 1) return v;
  const Tensor x = input_of(v);
  const Expression& e = *own;
  const Expression::Node& top = e.nodes()[e.outputs()[0]];
  if ((top.op != ScalarOp::mul && top.op != ScalarOp::div) || x.type() != v.type()) return v;
  for (const int i : {0, 1}) {
    if (e.nodes()[top.args[i]].op != ScalarOp::input || (i == 1 && top.op == ScalarOp::div)) continue;
    auto factor = number(e.nodes()[top.args[1 - i]]);
    if (factor && top.op == ScalarOp::div) factor = 1 / *factor;
    int exponent;
    if (!factor || !(std::abs(*factor) <= 1) || std::abs(std::frexp(*factor, &exponent)) != 0.5) continue;
    scale *= *factor;
    return without_scale(x, scale, depth + 1);
  }
  return v;
}

}  // namespace

Tensor without_scale(const Tensor& v, double& scale) { return without_scale(v, scale, 0); }

}  // namespace weft::compiler
