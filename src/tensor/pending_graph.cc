#include "tensor/pending_graph.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <ranges>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/visits.h"
#include "graph/clone.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "tensor/key.h"
#include "tensor/tracing.h"
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
      data.require_values();
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

// Of a node with data.
const DataPtr& data_ptr(const Node& node, int i = 0) {
  const DataOp* op = node.op().data_op();
  return op ? op->data_ptr() : node.data(i);
}
const DeviceData& data_of(const Node& node, int i = 0) { return static_cast<const DeviceData&>(*data_ptr(node, i)); }

// The data that a view of data shows.
const DeviceData& shown_data(const Node& view) {
  const Tensor* at = &view.inputs()[0];
  while (!at->node()->is_computed()) at = &at->node()->inputs()[0];
  return data_of(*at->node(), at->index());
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

void PendingGraph::Leaf::hold(DataPtr other) {
  held = std::move(other);
  data = static_cast<const DeviceData*>(held.get());
}

DataPtr PendingGraph::Leaf::shared() const { return held ? held : data_ptr(*node, index); }

PendingGraph::PendingGraph(std::span<const Tensor> wanted, Use use) {
  std::unique_lock lock(Node::graph_mutex());
  for (;;) {
    collect(wanted);
    if (items_.empty()) return;
    if (!PendingDonations::any()) break;
    const auto donated = [](const Item& item) { return !item.leaf && PendingDonations::contains(*item.node); };
    if (std::ranges::none_of(items_, donated)) break;
    PendingDonations::wait(lock);
  }
  const auto computed = std::ranges::count_if(items_, [](const Item& i) { return !i.leaf && !i.constant; });
  large_ = use == Use::maybe_in_pieces && static_cast<std::size_t>(computed) > 2 * kPiece;
  if (!large_) choose_results();
  if (!large_ && use != Use::look) choose_donations();
  for (const Item& item : items_) {
    if (item.operand_count > 0) item.node->begin_retaining();
  }
  retains_ = true;
}

void PendingGraph::end_retaining() {
  if (!std::exchange(retains_, false)) return;
  // Operands come before their users, so that none is asked after it is gone.
  for (const Item& item : items_) {
    if (item.operand_count > 0) item.node->end_retaining();
  }
}

// A breadth-first search, which is the same for equal graphs.
void PendingGraph::collect(std::span<const Tensor> wanted) {
  items_.clear();
  operands_.clear();
  items_.reserve(8);
  operands_.reserve(16);
  NodeIds seen;
  for (const Tensor& t : wanted) {
    const Node& root = weft::stored_by(*t.node());
    if (!root.op().data_op() && !root.has_data()) items_[add(root, seen)].stored = true;
  }
  for (Index k = 0; k < items_.size(); ++k) {
    if (items_[k].leaf) continue;
    const std::span<const Tensor> inputs = items_[k].node->inputs();
    count_visits(1 + inputs.size());
    items_[k].first_operand = static_cast<Index>(operands_.size());
    items_[k].operand_count = static_cast<Index>(inputs.size());
    for (const Tensor& v : inputs) operands_.push_back(add(*v.node(), seen));
  }
  sort();
  count_uses();
}

PendingGraph::Index PendingGraph::add(const Node& node, NodeIds& seen) {
  const auto next = static_cast<Index>(items_.size());
  if (!seen.insert(node, static_cast<int>(next))) return static_cast<Index>(seen.find(node));
  Item& item = items_.emplace_back(Item{&node});
  item.found = next;
  // Whether it has data is decided once, because another thread may give it some at any time.
  if (!node.inputs().empty()) {
    item.leaf = node.has_data();
    if (item.leaf) return next;  // whose op is rarely in cache
    item.view = node.op().is_view();
    item.checks = node.op().value_check() != nullptr;
    return next;
  }
  item.leaf = node.is_computed();
  if (item.leaf) return next;
  item.constant = node.op().constant() != nullptr;
  if (!item.constant && (node.op().input() || node.op().number())) throw_no_values(node);
  return next;
}

// Into the order in which the nodes were made.
void PendingGraph::sort() {
  const auto sequence = [](const Item& item) { return item.node->sequence(); };
  // A search finds users first, so that this is nearly the order. (What is nearly in order, quicksort sorts slowly.)
  std::ranges::reverse(items_);
  const auto last = static_cast<Index>(items_.size()) - 1;
  if (std::ranges::is_sorted(items_, {}, sequence)) {
    for (Index& operand : operands_) operand = last - operand;
    return;
  }
  std::ranges::stable_sort(items_, {}, sequence);
  std::vector<Index> place(items_.size());
  for (Index k = 0; k < items_.size(); ++k) place[items_[k].found] = k;
  for (Index& operand : operands_) operand = place[operand];
}

void PendingGraph::count_uses() {
  for (const Item& item : items_) {
    const std::span<const Index> operands = operands_of(item);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Item& operand = items_[operands[i]];
      ++operand.uses;
      const Tensor& v = item.node->inputs()[i];
      if (!operand.leaf || !data_of(*v.node(), v.index()).overwritten_since(item.node->sequence())) continue;
      throw Error(
          std::format("eval: {}{} reads {}, into which something else was written after that was described; "
                      "evaluate it before, or write to another tensor",
                      item.node->op().name(), recorded_at(item.node->line()), to_string(v.type())));
    }
  }
}

// Results are what is wanted, and intermediates to which handles or other graphs refer.
void PendingGraph::choose_results() {
  for (Index k = 0; k < items_.size(); ++k) {
    Item& item = items_[k];
    item.stored_by = item.view ? items_[operands_[item.first_operand]].stored_by : k;
    if (item.leaf || item.constant || item.node->holders() <= item.uses) continue;
    Item& by = items_[item.stored_by];
    by.stored |= !by.constant;
  }
  // What a read asks for beside the values.
  for (const Item& item : items_) {
    if (!item.checks) continue;
    checks_ = true;
    Item& info = items_[items_[operands_[item.first_operand + 1]].stored_by];
    info.stored |= !info.constant;
  }
  int next = 0;
  for (Index k = 0; k < items_.size(); ++k) {
    Item& item = items_[k];
    if (!item.stored || item.leaf) continue;
    item.result = next;
    next += static_cast<int>(item.node->types().size());
    results_.push_back(k);
  }
}

bool PendingGraph::reads(const Item& item, Index operand) const {
  return std::ranges::find(operands_of(item), operand) != operands_of(item).end();
}

// True if only nodes that are computed now refer to the leaf, and no view of it remains.
bool PendingGraph::may_donate(Index leaf) const {
  const Node& node = *items_[leaf].node;
  if (node.types().size() != 1 || node.owners() > items_[leaf].uses || !data_of(node).alone()) return false;
  // Graphs and compiled functions hold the data of a tensor that they captured, not the node that computed it.
  if (data_ptr(node).use_count() > 1) return false;
  std::vector<Index> open{leaf};
  while (!open.empty()) {
    const Index shown = open.back();
    open.pop_back();
    for (Index k = 0; k < items_.size(); ++k) {
      const Item& view = items_[k];
      if (!view.view || operands_[view.first_operand] != shown) continue;
      if (view.node->owners() > view.uses) return false;
      open.push_back(k);
    }
  }
  return true;
}

// The leaf of which the node's result is a copy with some elements replaced.
std::optional<PendingGraph::Index> PendingGraph::donor_of(Index index) const {
  bool updates = false;
  for (;;) {
    const Item& item = items_[index];
    if (item.leaf) return updates ? std::optional(index) : std::nullopt;
    if (item.operand_count == 0 || item.node->op().elementwise() || !item.node->op().works_in_place(0)) {
      return std::nullopt;
    }
    updates = true;
    const Tensor& from = item.node->inputs()[0];
    if (from.index() != 0 || from.type() != item.node->types()[0]) return std::nullopt;
    index = operands_[item.first_operand];
  }
}

void PendingGraph::choose_donations() {
  for (const Index k : results_) {
    const auto leaf = donor_of(k);
    const auto taken = [&](const auto& pair) { return pair.first == *leaf; };
    if (!leaf || std::ranges::any_of(donor_indices_, taken) || !may_donate(*leaf)) continue;
    // Nodes that keep their operands for a derivative will read them again.
    const auto keeps = [&](const Item& item) { return item.node->keeps_inputs() && reads(item, *leaf); };
    if (std::ranges::any_of(items_, keeps)) continue;
    donor_indices_.emplace_back(*leaf, k);
    for (const Item& item : items_) {
      if (reads(item, *leaf)) pending_donations_.add(*item.node);
    }
  }
}

std::vector<std::vector<Tensor>> PendingGraph::pieces() const {
  std::vector<std::vector<Tensor>> all;
  const std::size_t n = items_.size();
  if (!large_) return all;
  // Where each node is used last; what is wanted at the end is computed with the piece that it is in.
  std::vector<std::size_t> last(n, 0);
  for (std::size_t k = 0; k < n; ++k) {
    for (const Index operand : operands_of(items_[k])) last[operand] = k;
  }
  const auto counts = [&](std::size_t k) { return !items_[k].leaf && !items_[k].constant && !items_[k].view; };
  // How many results are needed after each index. A view needs its operand as long as it is needed itself.
  for (std::size_t k = n; k-- > 0;) {
    if (!items_[k].view) continue;
    std::size_t& shown = last[operands_[items_[k].first_operand]];
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
      if (!counts(k) || (last[k] < cut && !items_[k].stored)) continue;
      for (std::size_t i = 0; i < items_[k].node->types().size(); ++i)
        wanted.push_back(items_[k].node->value(static_cast<int>(i)));
    }
    all.push_back(std::move(wanted));
    begin = cut;
  }
  return all;
}

std::vector<TensorType> PendingGraph::result_types() const {
  std::vector<TensorType> types;
  for (const Index k : results_) {
    const std::span<const TensorType> own = items_[k].node->types();
    types.insert(types.end(), own.begin(), own.end());
  }
  return types;
}

Graph PendingGraph::graph() const {
  const WithoutLabelScope none;
  Graph graph;
  ResultMap made;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const Tensor leaf = leaves_[i].tensor();
    made.set(leaf, graph.input(std::format("i{}", i), leaf.dtype(), leaf.shape()));
  }
  std::size_t number = 0;
  for (const Item& item : items_) {
    const Node& node = *item.node;
    if (item.leaf || !item.needed || made.contains(node)) continue;
    if (number_of(node))
      made.set(node.value(), graph.number(std::format("n{}", number++), node.types()[0].dtype));
    else
      clone(node, made);
  }
  int output = 0;
  for (const Index k : results_) {
    const Node& node = *items_[k].node;
    for (int i = 0; i < static_cast<int>(node.types().size()); ++i) {
      graph.output(std::format("o{}", output++), made.at(node.value(i)));
    }
  }
  return graph;
}

void PendingGraph::finish(std::span<const DataPtr> data) {
  for (const Index k : results_) {
    const std::size_t count = items_[k].node->types().size();
    items_[k].node->set_data(data.first(count));
    data = data.subspan(count);
  }
  pass_checks_on();
  pending_donations_.release();
  end_retaining();
}

void PendingGraph::pass_checks_on() {
  if (leaf_checks_.empty() && !checks_) return;
  std::vector<ValueChecks> of(items_.size());
  for (auto& [leaf, checks] : leaf_checks_) of[leaf] = std::move(checks);
  for (Index k = 0; k < items_.size(); ++k) {
    const Item& item = items_[k];
    for (const Index operand : operands_of(item)) add_checks(of[k], of[operand]);
    if (!item.checks) continue;
    // (Info is data now, if it is no view of them that only strides express, and no constant.)
    const Tensor& info = item.node->inputs()[1];
    if (const DataPtr& data = data_ptr(*info.node(), info.index())) {
      add_checks(of[k],
                 {std::make_shared<const ValueCheck>(item.node->shared_op(), info.type(), data, item.node->line())});
    }
  }
  for (const Index k : results_) {
    if (of[k].empty()) continue;
    const Node& node = *items_[k].node;
    for (int i = 0; i < static_cast<int>(node.types().size()); ++i) data_of(node, i).set_checks(of[k]);
  }
}

// Marks what results need. A dense view of data is an input like data itself; the nodes that only it uses are not
// needed.
void PendingGraph::choose_needed() {
  for (const Index k : results_) items_[k].needed = true;
  for (std::size_t k = items_.size(); k-- > 0;) {
    Item& item = items_[k];
    if (!item.needed || item.leaf) continue;
    // Memory that a result takes over must be bound once only, so its views are not inputs.
    const auto donates = [&](const auto& pair) { return pair.first == item.stored_by; };
    if (item.view && std::ranges::none_of(donor_indices_, donates)) {
      if (auto shown = dense_view(*item.node)) {
        item.shown = static_cast<int>(shown_.size());
        shown_.push_back(*std::move(shown));
        continue;
      }
    }
    for (const Index operand : operands_of(item)) items_[operand].needed = true;
  }
}

// The leaf's number; a new one if it has none.
int PendingGraph::leaf_number(const Tensor& v, Index index) {
  Item& item = items_[index];
  int& number =
      v.index() == 0 ? item.leaf_number : further_leaves_.try_emplace(std::pair(index, v.index()), -1).first->second;
  if (number >= 0) return number;
  number = static_cast<int>(leaves_.size());
  Leaf& leaf = leaves_.emplace_back(Leaf{v.node(), v.index(), item.constant, nullptr});
  if (item.shown >= 0) {
    const View& view = shown_[static_cast<std::size_t>(item.shown)];
    leaf.hold(std::make_shared<const DeviceData>(shown_data(*item.node).device(), view));
  } else if (!item.constant) {
    leaf.data = &data_of(*v.node(), v.index());
  }
  return number;
}

void PendingGraph::prepare() {
  // Now, since a result may take the memory of a leaf over, and that then has the result's checks.
  for (Index k = 0; k < items_.size(); ++k) {
    if (!items_[k].leaf) continue;
    ValueChecks checks;
    const Node& node = *items_[k].node;
    for (int i = 0; i < static_cast<int>(node.types().size()); ++i) add_checks(checks, data_of(node, i).checks());
    if (!checks.empty()) leaf_checks_.emplace_back(k, std::move(checks));
  }
  choose_needed();
  make_key();
}

void PendingGraph::make_key() {
  // The nodes that are computed are numbered in order, which is the same for equal graphs.
  int computed = 0;
  key_.reserve(64 * items_.size());
  for (Index k = 0; k < items_.size(); ++k) {
    Item& item = items_[k];
    const Node& node = *item.node;
    if (item.leaf || !item.needed || item.shown >= 0) continue;
    item.id = computed++;
    if (const auto number = item.constant ? number_of(node) : std::nullopt) {
      key_ += 'n';
      put_number(key_, static_cast<std::uint64_t>(node.types()[0].dtype));
      numbers_.push_back(*number);
      continue;
    }
    if (item.constant) {
      // Constants are inputs, as data are: an executable keeps none of them.
      key_ += 'c';
      put_number(key_, static_cast<std::uint64_t>(leaf_number(node.value(), k)));
      put_type(key_, node.types()[0]);
      continue;
    }
    const std::string& identity = node.op().identity();
    key_ += 'o';
    put_number(key_, identity.size());
    key_ += identity;
    const std::span<const Index> operands = operands_of(item);
    put_number(key_, operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Tensor& v = node.inputs()[i];
      const Item& operand = items_[operands[i]];
      if (operand.leaf || operand.shown >= 0) {
        const std::size_t before = leaves_.size();
        const int number = leaf_number(v, operands[i]);
        key_ += 'd';
        put_number(key_, static_cast<std::uint64_t>(number));
        if (leaves_.size() > before) put_type(key_, v.type());
      } else {
        key_ += 'e';
        put_number(key_, static_cast<std::uint64_t>(operand.id));
        put_number(key_, static_cast<std::uint64_t>(v.index()));
      }
    }
  }
  key_ += 'r';
  for (const Index k : results_) put_number(key_, static_cast<std::uint64_t>(items_[k].id));
  for (const auto& [leaf, result] : donor_indices_) {
    const int number = items_[leaf].leaf_number;
    if (number < 0) continue;  // only views of it are read: it is no input
    donated_.emplace_back(number, items_[result].result);
    key_ += 'g';
    put_number(key_, static_cast<std::uint64_t>(donated_.back().first));
    put_number(key_, static_cast<std::uint64_t>(donated_.back().second));
  }
}

}  // namespace weft
