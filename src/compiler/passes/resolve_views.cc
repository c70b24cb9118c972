#include "compiler/passes/resolve_views.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/rewrite.h"
#include "core/visits.h"
#include "ops/elementwise.h"
#include "ops/view.h"

namespace weft::compiler {
namespace {

Layout stored_layout(const Shape& shape, std::span<const int> order) {
  if (order.empty()) return Layout::dense(shape);
  const Layout permuted = Layout::dense(Layout::dense(shape).permuted(order).shape);
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int>(i);
  return permuted.permuted(back);
}

// The order of axes in which nodes store their results.
using Orders = NodeMap<std::vector<int>>;

// The layout of a value's elements in the result that its root stores.
struct Located {
  Tensor root;
  Placement placement;
};

// Follows the chain of views, with the roots stored in the order of `orders`. A view without strides is a root of its
// own, dense, because a copy will be inserted there.
class Locator {
 public:
  explicit Locator(const Orders& orders) : orders_(orders) {}

  Located operator()(const Tensor& v) {
    count_visits();
    Located found{v, Placement{0, Layout::dense(v.shape())}};
    if (v.node()->op().is_view()) {
      if (const Located* known = known_.find(*v.node())) return *known;
      const Located from = (*this)(input_of(v));
      if (const auto placement = v.node()->op().view_layout(from.placement.layout)) {
        found = {from.root, Placement{from.placement.offset + placement->offset, placement->layout}};
      } else {
        copied_.push_back(from);
      }
      known_[*v.node()] = found;
    } else if (const auto* order = orders_.find(*v.node()); order && v.index() == 0) {
      found.placement.layout = stored_layout(v.shape(), *order);
    }
    return found;
  }

  // The operands of the views that strides cannot express.
  const std::vector<Located>& copied() const { return copied_; }

 private:
  const Orders& orders_;
  NodeMap<Located> known_;
  std::vector<Located> copied_;
};

// The order of the root's axes in which `placement` is dense, if it only exchanges them.
std::optional<std::vector<int>> dense_order(const Shape& root, const Placement& placement) {
  const Layout own = Layout::dense(root);
  if (placement.offset != 0 || placement.layout.rank() != own.rank()) return std::nullopt;
  std::vector<int> order;
  std::vector<char> taken(static_cast<std::size_t>(own.rank()), 0);
  for (int i = 0; i < own.rank(); ++i) {
    int axis = -1;
    for (int k = 0; k < own.rank() && axis < 0; ++k) {
      const bool same =
          placement.layout.shape[i] == root[k] && (placement.layout.strides[i] == own.strides[k] || root[k] == 1);
      if (!taken[k] && same) axis = k;
    }
    if (axis < 0) return std::nullopt;
    taken[axis] = 1;
    order.push_back(axis);
  }
  return order;
}

// Chooses the order of axes in which kernels store their results, as a later reshape or output needs it.
Orders choose_orders(const Graph& graph, const Uses& uses) {
  const Orders none;
  Locator locate(none);
  for (const NodePtr& node : graph.impl().nodes()) {
    if (node->op().is_view()) locate(node->value());
  }
  std::vector<Located> wishes = locate.copied();
  for (const NodePtr& node : graph.impl().nodes()) {
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      if (!node->op().takes_strides_of(i)) wishes.push_back(locate(node->inputs()[i]));
    }
  }
  for (const GraphPort& o : graph.impl().outputs) wishes.push_back(locate(o.value));
  Orders chosen;
  for (const Located& wish : wishes) {
    const Node& root = *wish.root.node();
    if (root.op().is_leaf() || root.op().is_view() || root.types().size() != 1 || !root.op().takes_strides()) continue;
    if (wish.placement.layout.is_dense() || uses.is_output(wish.root) || chosen.contains(root)) continue;
    if (auto order = dense_order(wish.root.shape(), wish.placement)) chosen[root] = std::move(*order);
  }
  return chosen;
}

// For a resolved view: true if its elements are contiguous in order.
bool is_dense(const Tensor& v) { return v.node()->op().view_layout({})->layout.is_dense(); }

}  // namespace

Layout storage_layout(const Graph& graph, const Node& node) {
  return stored_layout(node.types()[0].shape, graph.impl().stored_order(node));
}

Graph resolve_views(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  const auto orders = choose_orders(graph, r.uses());
  Locator locate(orders);

  const auto reading = [&](const Tensor& v) {
    const Located found = locate(v);
    const Tensor& root = r.at(found.root);
    const bool whole = found.placement.offset == 0 && found.placement.layout == Layout::dense(root.shape()) &&
                       !orders.contains(*found.root.node());
    return whole ? root : apply(make_op<StridedOp>(StridedAttributes{found.placement}), {root});
  };
  const auto copy = [&](const Tensor& v) { return apply(copy_op(v.dtype()), {v}); };

  for (const NodePtr& node : graph.impl().nodes()) {
    if (node->op().is_view()) {
      if (locate(node->value()).root.node() == node.get()) r.set(node->value(), copy(reading(node->inputs()[0])));
      continue;
    }
    std::vector<Tensor> operands;
    for (const Tensor& v : node->inputs()) {
      const Tensor operand = reading(v);
      const bool dense =
          node->op().takes_strides_of(operands.size()) || !operand.node()->op().is_view() || is_dense(operand);
      operands.push_back(dense ? operand : copy(operand));
    }
    const Tensor kernel = node->op().is_leaf() ? r.copy(*node) : r.copy(*node, node->shared_op(), std::move(operands));
    if (const auto* order = orders.find(*node)) r.store(kernel, *order);
  }

  std::set<std::pair<const Node*, int>> claimed;
  return r.finish([&](const GraphPort& o) {
    const Located found = locate(o.value);
    const Tensor& root = r.at(found.root);
    const bool whole = !root.node()->op().is_leaf() && found.placement.offset == 0 &&
                       found.placement.layout.is_dense() &&
                       found.placement.layout.count() == element_count(root.shape());
    if (!whole || !claimed.emplace(root.node(), root.index()).second) return copy(reading(o.value));
    return reading(o.value);
  });
}

}  // namespace weft::compiler
