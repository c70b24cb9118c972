#include "ops/iota_view.h"

#include <algorithm>
#include <limits>
#include <map>
#include <shared_mutex>
#include <unordered_map>

#include "core/visits.h"
#include "graph/graph.h"
#include "ops/elementwise.h"
#include "ops/identity.h"
#include "ops/iota.h"
#include "ops/view.h"

namespace weft {
namespace {

// Larger expressions are computed whole, so that slicing again and again what grows meanwhile takes linear time.
constexpr std::size_t kMostNodes = 64;
// Nodes that are made: one that is seen through several views is made for each.
constexpr int kMostMade = 256;

// A variable of a derivative, or what else is another tensor for derivatives than its operand.
bool hides_operand(const Node& node) { return node.as<IdentityOp>() || node.op().custom_derivative(); }

bool single(const Tensor& v) { return element_count(v.shape()) == 1; }

// Sums of ramps along the axes: the numbers of the elements that the placement shows, which run-time numbers say, so
// that slices at other places are the same executable.
Tensor numbers_at(const Placement& view, DType dtype) {
  struct Ramp {
    std::int64_t count, step;
    Shape shape;
  };
  const Layout& layout = view.layout;
  std::vector<Ramp> ramps;
  for (int d = layout.rank(); d-- > 0;) {
    const std::int64_t n = layout.shape[d], step = layout.strides[d];
    if (n == 1 || step == 0) continue;
    if (ramps.empty() || ramps.back().count * ramps.back().step != step) {
      ramps.push_back({1, step, Shape::filled(layout.rank(), 1)});
    }
    ramps.back().count *= n;
    ramps.back().shape[d] = n;
  }
  Expression e;
  std::vector<Tensor> operands;
  const auto number = [&](std::int64_t value) {
    operands.push_back(Graph::scalar(value, dtype));
    return e.input(dtype);
  };
  int sum = -1;
  const auto add = [&](int term) { sum = sum < 0 ? term : e.apply(ScalarOp::add, {sum, term}); };
  for (const Ramp& ramp : ramps) {
    const Tensor i = reshape(iota(ramp.count), ramp.shape);
    operands.push_back(i);
    const int index = e.cast(e.input(i.dtype()), dtype);
    add(ramp.step == 1 ? index : e.apply(ScalarOp::mul, {index, number(ramp.step)}));
  }
  if (view.offset != 0 || sum < 0) add(number(view.offset));
  if (operands.size() == 1 && operands[0].dtype() == dtype) return operands[0];
  e.output(sum);
  return apply(make_op<ElementwiseOp>(std::move(e)), std::move(operands));
}

// Of element `index` among those of the shape in order: where strides find it.
Tensor number_under(const Tensor& index, const Shape& shape, const Strides& strides, std::int64_t offset) {
  const DType type = index.dtype();
  const Strides both[] = {dense_strides(shape), strides};
  const Collapsed c = collapse(shape, both);
  Expression e;
  const int i = e.input(type);
  int sum = e.constant(offset, type);
  for (int d = 0; d < c.shape.rank(); ++d) {
    if (c.strides[1][d] == 0) continue;
    int along = i;
    if (c.strides[0][d] != 1) along = e.apply(ScalarOp::div, {along, e.constant(c.strides[0][d], type)});
    if (d > 0) along = e.apply(ScalarOp::rem, {along, e.constant(c.shape[d], type)});
    sum = e.apply(ScalarOp::add, {sum, e.apply(ScalarOp::mul, {along, e.constant(c.strides[1][d], type)})});
  }
  e.output(sum);
  return apply(make_op<ElementwiseOp>(std::move(e)), {index});
}

class ComputedView {
 public:
  // False if what the view shows is made of more than indices.
  bool collect(const Tensor& shown) {
    const std::shared_lock lock(Node::graph_mutex());
    std::vector<Tensor> open{shown};
    while (!open.empty()) {
      const Tensor v = std::move(open.back());
      open.pop_back();
      count_visits();
      if (single(v) || operands_.contains(v.node())) continue;
      const Node& node = *v.node();
      const Op& op = node.op();
      if (node.is_computed() || operands_.size() == kMostNodes || hides_operand(node)) return false;
      if (!op.is_iota() && !op.is_view() && !(op.elementwise() && node.types().size() == 1)) return false;
      operands_.emplace(&node, std::vector(node.inputs().begin(), node.inputs().end()));
      largest_ = std::max(largest_, element_count(v.shape()));
      open.insert(open.end(), node.inputs().begin(), node.inputs().end());
    }
    return true;
  }

  Tensor make(const Tensor& view) {
    const Tensor& shown = input_of(view);
    const int chain = behind(kNoView, view.node()->shared_op());
    Tensor y = through(shown, chain);
    if (!y.defined() && made_ <= kMostMade) {
      const auto view = layout_behind(shown.shape(), chain);
      const DType type = largest_ > std::numeric_limits<std::int32_t>::max() ? DType::i64 : DType::i32;
      if (view) y = at(shown, numbers_at(*view, type));
    }
    return y.defined() ? broadcast_to(y, view.shape()) : y;
  }

 private:
  // Views, from the one that is wanted to the innermost; each list is a number, the same for equal lists.
  static constexpr int kNoView = -1;
  struct Link {
    int before;
    OpPtr view;
  };
  int behind(int chain, const OpPtr& view) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const Link& link = links_[i];
      const bool same = link.view == view || link.view->identity() == view->identity();
      if (link.before == chain && same) return static_cast<int>(i);
    }
    links_.push_back({chain, view});
    return static_cast<int>(links_.size()) - 1;
  }
  std::optional<Placement> layout_behind(const Shape& shape, int chain) const {
    Placement all{0, Layout::dense(shape)};
    for (; chain != kNoView; chain = links_[static_cast<std::size_t>(chain)].before) {
      const auto next = links_[static_cast<std::size_t>(chain)].view->view_layout(all.layout);
      if (!next) return std::nullopt;
      all = {all.offset + next->offset, next->layout};
    }
    return all;
  }

  // What the views show of v; undefined if no strides find it, or if it is too much.
  Tensor through(const Tensor& v, int chain) {
    if (single(v)) return reshape(v, {});
    Tensor& y = through_[{v.node(), chain}];
    if (y.defined() || ++made_ > kMostMade) return y;
    const Op& op = v.node()->op();
    const std::vector<Tensor>& operands = operands_.at(v.node());
    if (op.is_iota()) {
      const auto view = layout_behind(v.shape(), chain);
      return y = view ? numbers_at(*view, v.dtype()) : Tensor();
    }
    if (op.is_view()) return y = through(operands[0], behind(chain, v.node()->shared_op()));
    std::vector<Tensor> seen;
    for (const Tensor& u : operands) {
      const bool whole = single(u) || u.shape() == v.shape();
      seen.push_back(through(u, whole ? chain : behind(chain, make_op<BroadcastOp>(BroadcastAttributes{v.shape()}))));
      if (!seen.back().defined()) return {};
    }
    return y = apply(v.node()->shared_op(), std::move(seen));
  }

  // The elements of v with these numbers in its order.
  Tensor at(const Tensor& v, const Tensor& index) {
    if (single(v)) return reshape(v, {});
    Tensor& y = at_[{v.node(), index.node()}];
    if (y.defined() || ++made_ > kMostMade) return y;
    const Op& op = v.node()->op();
    const std::vector<Tensor>& operands = operands_.at(v.node());
    if (op.is_iota()) return y = cast(index, v.dtype());
    if (op.is_view()) {
      const auto view = op.view_layout(Layout::dense(operands[0].shape()));
      if (!view) return {};
      return y = at(operands[0], number_under(index, v.shape(), view->layout.strides, view->offset));
    }
    std::vector<Tensor> chosen;
    for (const Tensor& u : operands) {
      const bool whole = single(u) || u.shape() == v.shape();
      const Strides strides = Layout::dense(u.shape()).broadcast_to(v.shape()).strides;
      chosen.push_back(at(u, whole ? index : number_under(index, v.shape(), strides, 0)));
      if (!chosen.back().defined()) return {};
    }
    return y = apply(v.node()->shared_op(), std::move(chosen));
  }

  std::unordered_map<const Node*, std::vector<Tensor>> operands_;
  std::int64_t largest_ = 0;  // elements of a tensor
  std::vector<Link> links_;
  int made_ = 0;
  std::map<std::pair<const Node*, int>, Tensor> through_;
  std::map<std::pair<const Node*, const Node*>, Tensor> at_;
};

}  // namespace

Tensor computed_view(const Tensor& view) {
  const Tensor& shown = input_of(view);
  if (element_count(view.shape()) >= element_count(shown.shape())) return {};
  // Most views show data; those of a single element store no more than that. (Views keep their operand.)
  const Tensor* stored = &shown;
  for (std::size_t views = 0; stored->node()->op().is_view() && !hides_operand(*stored->node()); ++views) {
    count_visits();
    if (views == kMostNodes) return {};
    stored = &input_of(*stored);
  }
  const Op& op = stored->node()->op();
  if (stored->node()->is_computed() || single(*stored) || !(op.elementwise() || op.is_iota())) return {};
  ComputedView computed;
  return computed.collect(shown) ? computed.make(view) : Tensor();
}

}  // namespace weft
