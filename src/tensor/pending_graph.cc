#include "tensor/pending_graph.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>

#include "compiler/device_data.h"
#include "core/format.h"
#include "core/in_quotes.h"
#include "graph/graph.h"
#include "graph/ops/leaf.h"
#include "graph/ops/linalg.h"
#include "tensor/key.h"
#include "tensor/tracing.h"
#include "transform/clone.h"
#include "weft/error.h"

namespace weft {
namespace {

// Nodes to a piece: their executable is compiled in some tens of milliseconds.
constexpr std::size_t kPiece = 2048;

// A constant of rank 0 travels as a number, if it can.
std::optional<Number> number_of(const Node& node) {
  const ConstantOp* constant = node.op().constant();
  if (!constant) return std::nullopt;
  const TensorType& type = node.types()[0];
  if (type.shape.rank() != 0 || bits(type.dtype) < 8) return std::nullopt;
  if (is_floating(type.dtype) || bits(type.dtype) < 64) {
    const auto value = constant->scalar();
    return value ? std::optional<Number>(*value) : std::nullopt;
  }
  const DTypeKind kind = info(type.dtype).kind;
  const TensorData data = constant->data()->data();
  std::uint64_t bits = 0;
  std::memcpy(&bits, data.bytes.data(), sizeof bits);
  if (kind == DTypeKind::unsigned_integer) return Number(bits);
  if (kind == DTypeKind::signed_integer) return Number(static_cast<std::int64_t>(bits));
  return std::nullopt;
}

// Longer chains of views are computed by a kernel, so that the time to follow them does not grow quadratically.
constexpr std::size_t kMostViews = 64;

// The memory that a node shows, if it is a dense view (or a chain of views) of a tensor with data.
std::optional<View> dense_view(const Node& node) {
  std::vector<const Op*> views;
  const Node* at = &node;
  for (; !at->is_computed(); at = at->inputs()[0].node()) {
    if (!at->op().is_view() || views.size() == kMostViews) return std::nullopt;
    views.push_back(&at->op());
    if (at->inputs()[0].node()->is_computed()) {
      const DeviceData& data = data_of(at->inputs()[0]);
      // A copy that the host has of a lost device's data is found by the tensor that was read, not by a view of it.
      if (data.device().is_gpu() && data.device().gpu().lost()) return std::nullopt;
      View view = data.view();
      if (bits(view.dtype) < 8) return std::nullopt;
      std::int64_t offset = 0;
      Layout layout = view.layout;
      for (std::size_t i = views.size(); i-- > 0;) {
        const auto shown = views[i]->view_layout(layout);
        if (!shown) return std::nullopt;
        offset += shown->offset;
        layout = shown->layout;
      }
      if (!layout.is_dense() || layout.count() == 0) return std::nullopt;
      return View(view.buffer, view.offset + static_cast<std::uint64_t>(offset * bits(view.dtype) / 8), view.dtype,
                  layout.shape);
    }
  }
  return std::nullopt;
}

// The data that a view, or a tensor with data, shows.
const DeviceData& shown_data(const Tensor& v) {
  const Tensor* at = &v;
  while (!at->node()->is_computed()) at = &at->node()->inputs()[0];
  return data_of(*at);
}

DataPtr data_ptr(const Tensor& t) {
  const DataOp* op = t.node()->op().data_op();
  return op ? op->data_ptr() : t.node()->data(t.index());
}

// Those of a leaf: its data's.
ValueChecks checks_of(const Node& leaf) {
  ValueChecks all;
  if (!leaf.is_computed()) return all;
  for (int i = 0; i < static_cast<int>(leaf.types().size()); ++i) add_checks(all, data_of(leaf.value(i)).checks());
  return all;
}

// For an input or a number of a Graph.
[[noreturn]] void throw_no_values(const Node& node) {
  const std::string what = node.op().input() ? "input " + in_quotes(node.op().input()->input_name())
                                             : "number " + in_quotes(node.op().number()->number_name());
  if (tracing()) {
    throw InvalidArgument(
        "eval: what depends on {} was read while compile() or vmap() traces a function, which has "
        "values only when it runs",
        node.op().input() ? node.op().input()->input_name() : what);
  }
  throw InvalidArgument("eval: {} of a Graph is needed, which has values only in a run of its executable", what);
}

}  // namespace

const Node& stored_by(const Node& node) {
  const Node* stored = &node;
  while (!stored->is_computed() && stored->op().is_view()) stored = stored->inputs()[0].node();
  return *stored;
}

PendingGraph::PendingGraph(std::span<const Tensor> wanted, Use use) {
  std::unique_lock lock(Node::graph_mutex());
  for (;;) {
    NodeIds seen;
    for (const Tensor& t : wanted) {
      const Node* root = &stored_by(*t.node());
      if (!root->op().data_op() && !root->has_data() && seen.insert(*root, 0)) roots_.push_back(root);
    }
    if (roots_.empty()) return;
    collect();
    if (!PendingDonations::any()) break;
    const auto donated = [&](const Node* node) { return !is_leaf(*node) && PendingDonations::contains(*node); };
    if (std::ranges::none_of(nodes_, donated)) break;
    PendingDonations::wait(lock);
    roots_.clear();
  }
  const auto computed =
      std::ranges::count_if(nodes_, [&](const Node* n) { return !is_leaf(*n) && !n->op().constant(); });
  large_ = use == Use::maybe_in_pieces && static_cast<std::size_t>(computed) > 2 * kPiece;
  if (!large_) choose_results();
  if (!large_ && use != Use::look) choose_donations();
  retained_ = std::make_unique<RetainedInputs>();
  retained_->retain(nodes_);
}

void PendingGraph::collect() {
  Walk found = walk(roots_, [](const Node& node) {
    if (at_data(node)) return true;
    if (node.op().input() || node.op().number()) throw_no_values(node);
    return false;
  });
  nodes_ = std::move(found.nodes);
  indices_ = std::move(found.indices);
  leaf_.assign(nodes_.size(), 0);
  // Decided once, because another thread may give a node data at any time.
  for (std::size_t k = 0; k < nodes_.size(); ++k) leaf_[k] = at_data(*nodes_[k]);
  uses_.assign(nodes_.size(), 0);
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (leaf_[k]) continue;
    for (const Tensor& v : nodes_[k]->inputs()) {
      ++uses_[index_of(*v.node())];
      if (!is_leaf(*v.node()) || !data_of(v).overwritten_since(nodes_[k]->sequence())) continue;
      throw Error(
          std::format("eval: {}{} reads {}, into which something else was written after that was described; "
                      "evaluate it before, or write to another tensor",
                      nodes_[k]->op().name(), recorded_at(nodes_[k]->line()), to_string(v.type())));
    }
  }
}

// Results are what is wanted, and intermediates to which handles or other graphs refer.
void PendingGraph::choose_results() {
  std::vector<char> stored(nodes_.size(), 0);
  for (const Node* root : roots_) stored[index_of(*root)] = 1;
  std::vector<std::size_t> by(nodes_.size());  // the node that stores what a view shows
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const Node& node = *nodes_[k];
    by[k] = !leaf_[k] && node.op().is_view() ? by[index_of(*node.inputs()[0].node())] : k;
    if (node.holders() <= uses_[k] || leaf_[k] || node.op().constant()) continue;
    if (!nodes_[by[k]]->op().constant()) stored[by[k]] = 1;
  }
  // What a read asks for beside the values.
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (leaf_[k] || !nodes_[k]->as<CheckedOp>()) continue;
    checked_.push_back(k);
    const std::size_t info = by[index_of(*nodes_[k]->inputs()[1].node())];
    if (!nodes_[info]->op().constant()) stored[info] = 1;
  }
  result_.assign(nodes_.size(), -1);
  int next = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (!stored[k] || leaf_[k]) continue;
    result_[k] = next;
    next += static_cast<int>(nodes_[k]->types().size());
    results_.emplace_back(*nodes_[k]);
  }
}

// True if only nodes that are computed now refer to the leaf, and no view of it remains.
bool PendingGraph::may_donate(std::size_t leaf) const {
  const Node& node = *nodes_[leaf];
  if (node.types().size() != 1 || node.owners() > uses_[leaf] || !data_of(node.value()).alone()) return false;
  // Graphs and compiled functions hold the data of a tensor that they captured, not the node that computed it.
  if (data_ptr(node.value()).use_count() > 2) return false;
  std::vector<std::size_t> open{leaf};
  while (!open.empty()) {
    const Node& shown = *nodes_[open.back()];
    open.pop_back();
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (leaf_[k] || !nodes_[k]->op().is_view() || nodes_[k]->inputs()[0].node() != &shown) continue;
      if (nodes_[k]->owners() > uses_[k]) return false;
      open.push_back(k);
    }
  }
  return true;
}

// The leaf of which the node's result is a copy with some elements replaced.
std::optional<std::size_t> PendingGraph::donor_of(std::size_t index) const {
  bool updates = false;
  for (;;) {
    const Node& node = *nodes_[index];
    if (leaf_[index]) return updates ? std::optional(index) : std::nullopt;
    if (node.inputs().empty() || node.op().elementwise() || !node.op().works_in_place(0)) return std::nullopt;
    updates = true;
    const Tensor& from = node.inputs()[0];
    if (from.index() != 0 || from.type() != node.types()[0]) return std::nullopt;
    index = index_of(*from.node());
  }
}

void PendingGraph::choose_donations() {
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (result_[k] < 0) continue;
    const auto leaf = donor_of(k);
    const auto taken = [&](const auto& pair) { return pair.first == *leaf; };
    if (!leaf || std::ranges::any_of(donor_indices_, taken) || !may_donate(*leaf)) continue;
    // Nodes that keep their operands for a derivative will read them again.
    const auto keeps = [&](std::size_t u) {
      const auto uses = [&](const Tensor& v) { return v.node() == nodes_[*leaf]; };
      return !leaf_[u] && nodes_[u]->keeps_inputs() && std::ranges::any_of(nodes_[u]->inputs(), uses);
    };
    if (std::ranges::any_of(std::views::iota(std::size_t{0}, nodes_.size()), keeps)) continue;
    donor_indices_.emplace_back(*leaf, k);
    for (std::size_t u = 0; u < nodes_.size(); ++u) {
      const auto uses = [&](const Tensor& v) { return v.node() == nodes_[*leaf]; };
      if (!leaf_[u] && std::ranges::any_of(nodes_[u]->inputs(), uses)) pending_donations_.add(*nodes_[u]);
    }
  }
}

std::vector<std::vector<Tensor>> PendingGraph::pieces() const {
  std::vector<std::vector<Tensor>> all;
  const std::size_t n = nodes_.size();
  if (!large_) return all;
  // Where each node is used last; what is wanted at the end is computed with the piece that it is in.
  std::vector<std::size_t> last(n, 0);
  std::vector<char> root(n, 0);
  for (const Node* node : roots_) root[index_of(*node)] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    if (leaf_[k]) continue;
    for (const Tensor& v : nodes_[k]->inputs()) last[index_of(*v.node())] = k;
  }
  const auto counts = [&](std::size_t k) {
    return !leaf_[k] && !nodes_[k]->op().constant() && !nodes_[k]->op().is_view();
  };
  // How many results are needed after each index. A view needs its operand as long as it is needed itself.
  for (std::size_t k = n; k-- > 0;) {
    if (leaf_[k] || !nodes_[k]->op().is_view()) continue;
    std::size_t& shown = last[index_of(*nodes_[k]->inputs()[0].node())];
    shown = std::max(shown, last[k]);
  }
  std::vector<std::int64_t> change(n + 1, 0);
  for (std::size_t k = 0; k < n; ++k) {
    if (!counts(k) || last[k] <= k) continue;
    ++change[k + 1];
    --change[last[k] + 1];
  }
  std::vector<std::int64_t> needed(n + 1, 0);
  for (std::size_t k = 1; k <= n; ++k) needed[k] = needed[k - 1] + change[k];
  for (std::size_t begin = 0; n - begin > 2 * kPiece;) {
    std::size_t cut = begin + kPiece;
    for (std::size_t k = cut; k > begin + kPiece / 2; --k) {
      if (needed[k] < needed[cut]) cut = k;
    }
    std::vector<Tensor> wanted;
    for (std::size_t k = begin; k < cut; ++k) {
      if (!counts(k) || (last[k] < cut && !root[k])) continue;
      for (std::size_t i = 0; i < nodes_[k]->types().size(); ++i)
        wanted.push_back(nodes_[k]->value(static_cast<int>(i)));
    }
    all.push_back(std::move(wanted));
    begin = cut;
  }
  return all;
}

std::vector<TensorType> PendingGraph::result_types() const {
  std::vector<TensorType> types;
  for (const NodePtr& node : results_) types.insert(types.end(), node->types().begin(), node->types().end());
  return types;
}

Graph PendingGraph::graph() const {
  const WithoutLabelScope none;
  Graph graph;
  ResultMap made;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const auto& [node, index] = leaf_of_[i];
    made.set(node->value(index), graph.input(std::format("i{}", i), leaves_[i].dtype(), leaves_[i].shape()));
  }
  std::size_t number = 0;
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const Node& node = *nodes_[k];
    if (leaf_[k] || !needed_[k] || made.contains(node)) continue;
    if (number_of(node))
      made.set(node.value(), graph.number(std::format("n{}", number++), node.types()[0].dtype));
    else
      clone(node, made);
  }
  int output = 0;
  for (const NodePtr& node : results_) {
    for (int i = 0; i < static_cast<int>(node->types().size()); ++i) {
      graph.output(std::format("o{}", output++), made.at(node->value(i)));
    }
  }
  return graph;
}

void PendingGraph::finish(std::span<const Tensor> data) {
  for (const NodePtr& node : results_) {
    std::vector<DataPtr> own;
    for (std::size_t i = 0; i < node->types().size(); ++i) {
      own.push_back(data_ptr(data[i]));
    }
    data = data.subspan(own.size());
    node->set_data(std::move(own));
  }
  pass_checks_on();
  pending_donations_.release();
  retained_.reset();  // releases the operands
}

void PendingGraph::pass_checks_on() {
  if (leaf_checks_.empty() && checked_.empty()) return;
  std::vector<ValueChecks> of(nodes_.size());
  for (auto& [leaf, checks] : leaf_checks_) of[leaf] = std::move(checks);
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const Node& node = *nodes_[k];
    if (leaf_[k]) continue;
    for (const Tensor& v : node.inputs()) add_checks(of[k], of[index_of(*v.node())]);
    if (!std::ranges::binary_search(checked_, k)) continue;
    // (Info is data now, if it is no view of them that only strides express, and no constant.)
    if (const DataPtr info = data_ptr(node.inputs()[1])) {
      add_checks(of[k], {std::make_shared<const ValueCheck>(node.shared_op(), node.inputs()[1].type(), info)});
    }
  }
  for (const NodePtr& node : results_) {
    const ValueChecks& checks = of[index_of(*node)];
    if (checks.empty()) continue;
    for (int i = 0; i < static_cast<int>(node->types().size()); ++i) data_of(node->value(i)).set_checks(checks);
  }
}

void PendingGraph::prepare() {
  // Now, since a result may take the memory of a leaf over, and that then has the result's checks.
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    if (!leaf_[k]) continue;
    if (ValueChecks checks = checks_of(*nodes_[k]); !checks.empty()) leaf_checks_.emplace_back(k, std::move(checks));
  }
  // The computed nodes are numbered in order, which is the same for equal graphs.
  std::vector<std::uint64_t> ids(nodes_.size(), 0);
  std::uint64_t computed = 0;
  // A dense view of data is an input like data itself; the nodes that only it uses are not needed.
  std::vector<std::optional<View>> shown(nodes_.size());
  needed_.assign(nodes_.size(), 0);
  for (const NodePtr& node : results_) needed_[index_of(*node)] = 1;
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    if (!needed_[k] || leaf_[k]) continue;
    // Memory that a result takes over must be bound once only, so its views are not inputs.
    const auto donates = [&](const auto& pair) { return nodes_[pair.first] == &stored_by(*nodes_[k]); };
    if (nodes_[k]->op().is_view() && std::ranges::none_of(donor_indices_, donates) &&
        (shown[k] = dense_view(*nodes_[k]))) {
      continue;
    }
    for (const Tensor& v : nodes_[k]->inputs()) needed_[index_of(*v.node())] = 1;
  }
  std::vector<std::int64_t> first_leaf(nodes_.size(), -1);  // of result 0
  std::map<std::pair<std::size_t, int>, std::int64_t> further_leaves;
  const auto leaf_id = [&](const Tensor& v, std::size_t index) {
    std::int64_t& known =
        v.index() == 0 ? first_leaf[index] : further_leaves.try_emplace(std::pair(index, v.index()), -1).first->second;
    if (known >= 0) return static_cast<std::size_t>(known);
    known = static_cast<std::int64_t>(leaves_.size());
    leaf_of_.emplace_back(v.node(), v.index());
    leaves_.push_back(shown[index] ? Tensor(shown_data(v).device(), *shown[index]) : v);
    return leaves_.size() - 1;
  };
  key_.reserve(64 * nodes_.size());
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const Node& node = *nodes_[k];
    if (leaf_[k] || !needed_[k] || shown[k]) continue;
    ids[k] = computed++;
    if (const auto number = number_of(node)) {
      key_ += 'n';
      put_number(key_, static_cast<std::uint64_t>(node.types()[0].dtype));
      numbers_.push_back(*number);
      continue;
    }
    if (node.op().constant()) {
      // Constants are inputs, as data are: an executable keeps none of them.
      key_ += 'c';
      put_number(key_, leaf_id(node.value(), k));
      put_type(key_, node.types()[0]);
      continue;
    }
    const std::string& identity = node.op().identity();
    key_ += 'o';
    put_number(key_, identity.size());
    key_ += identity;
    put_number(key_, node.inputs().size());
    for (const Tensor& v : node.inputs()) {
      const std::size_t index = index_of(*v.node());
      if (leaf_[index] || shown[index]) {
        const std::size_t before = leaves_.size(), id = leaf_id(v, index);
        key_ += 'd';
        put_number(key_, id);
        if (id == before) put_type(key_, v.type());
      } else {
        key_ += 'e';
        put_number(key_, ids[index]);
        put_number(key_, static_cast<std::uint64_t>(v.index()));
      }
    }
  }
  key_ += 'r';
  for (const NodePtr& node : results_) put_number(key_, ids[index_of(*node)]);
  for (const auto& [leaf, index] : donor_indices_) {
    // If only views of it are read, the leaf is no input.
    const auto it = std::ranges::find(leaf_of_, std::pair<const Node*, int>(nodes_[leaf], 0));
    if (it == leaf_of_.end()) continue;
    donated_.emplace_back(static_cast<int>(it - leaf_of_.begin()), result_[index]);
    key_ += 'g';
    put_number(key_, static_cast<std::uint64_t>(donated_.back().first));
    put_number(key_, static_cast<std::uint64_t>(donated_.back().second));
  }
}

}  // namespace weft
