#include "compiler/schedule.h"

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/passes/resolve_views.h"
#include "core/format.h"
#include "graph/ops/leaf.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

std::vector<int> storages_of(const std::vector<StoredView>& operands) {
  std::vector<int> list;
  std::unordered_set<int> known;
  for (const StoredView& o : operands) {
    if (known.insert(o.storage).second) list.push_back(o.storage);
  }
  return list;
}

// The largest number for what 64 bits do not hold.
std::uint64_t bytes_of(const TensorType& type) {
  const double bytes = static_cast<double>(element_count(type.shape)) * bits(type.dtype) / 8;
  return bytes < 0x1p62 ? byte_size(type) : ~std::uint64_t{0};
}

class Lowering {
 public:
  Lowering(const Graph& graph, std::span<const Tensor> captured)
      : graph_(graph), captured_(captured), index_in_(graph.impl().node_indices()), storage_(index_in_.results(), -1) {}

  Schedule run() {
    for (const GraphPort& o : graph_.impl().outputs) {
      // The kernel writes directly to the output's memory.
      add_storage(stored(o.value), Storage::Kind::output, static_cast<int>(schedule_.outputs.size()));
      schedule_.outputs.push_back({o.name, o.value.type()});
    }
    for (const GraphPort& i : graph_.impl().inputs) {
      add_storage(i.value, Storage::Kind::input, static_cast<int>(schedule_.inputs.size()));
      schedule_.inputs.push_back({i.name, i.value.type()});
    }
    for (const GraphPort& n : graph_.impl().numbers) {
      const int id = add_storage(n.value, Storage::Kind::number, static_cast<int>(schedule_.numbers.size()));
      schedule_.storages[id].number = Buffer::number();
      schedule_.number_storages.push_back(id);
      schedule_.numbers.push_back({n.name, n.value.type()});
    }
    for (const Tensor& t : captured_) {
      // A constant may have replaced all that it was needed for.
      if (index_in_(*t.node()) >= 0) add_storage(t, Storage::Kind::input, static_cast<int>(schedule_.inputs.size()));
      schedule_.inputs.push_back({{}, t.type()});
      ++schedule_.captured;
    }
    for (const NodePtr& node : graph_.impl().nodes()) compute_iotas(*node);
    for (const NodePtr& node : graph_.impl().nodes()) lower(*node);
    return std::move(schedule_);
  }

 private:
  // The value that stores what an operand shows.
  static const Tensor& stored(const Tensor& v) { return v.node()->op().is_view() ? input_of(v) : v; }
  // Where the operand lies in what is stored.
  Placement placement(const Tensor& v) const {
    // Views are resolved: their layout does not depend on how their root is stored.
    if (v.node()->op().is_view()) return *v.node()->op().view_layout({});
    return {0, v.index() == 0 ? storage_layout(graph_, *v.node()) : Layout::dense(v.shape())};
  }

  // Finds the form of an op that computes operands that are iotas; if it has none, they are stored.
  void compute_iotas(const Node& node) {
    if (node.op().is_view()) return;
    std::vector<std::optional<Placement>> iotas;
    bool any = false;
    for (const Tensor& v : node.inputs()) {
      const bool is_iota = stored(v).node()->op().is_iota();
      iotas.push_back(is_iota ? std::optional(placement(v)) : std::nullopt);
      any |= is_iota;
    }
    if (!any) return;
    if (OpPtr op = node.op().with_iotas(iotas, node.types()[0].shape)) {
      without_iotas_.emplace(&node, std::move(op));
      return;
    }
    for (const Tensor& v : node.inputs()) {
      if (stored(v).node()->op().is_iota()) stored_iotas_.insert(stored(v).node());
    }
  }

  int add_storage(const Tensor& v, Storage::Kind kind, int index = 0) {
    const auto id = static_cast<int>(schedule_.storages.size());
    schedule_.storages.push_back({.kind = kind, .index = index, .bytes = bytes_of(v.type())});
    storage(v) = id;
    return id;
  }

  void lower(const Node& node) {
    if (node.op().is_leaf() && !node.op().constant()) return;
    if (const ConstantOp* constant = node.op().constant()) {
      schedule_.storages[add_storage(node.value(), Storage::Kind::constant)].constant = constant->data();
      return;
    }
    if (node.op().is_view()) return;
    if (node.op().is_iota() && storage(node.value()) < 0 && !stored_iotas_.contains(&node)) return;
    ScheduledCall call;
    const auto computes = without_iotas_.find(&node);
    call.op = computes != without_iotas_.end() ? computes->second : node.shared_op();
    call.label = std::format("{} {}", node.op().label(node.input_types()), weft::to_string(node.types()[0].shape));
    if (const std::string labels = graph_.impl().label_text(node); !labels.empty()) call.label += " " + labels;
    call.line = node.line();
    bool empty = true;
    for (std::size_t i = 0; i < node.types().size(); ++i) {
      const Tensor v = node.value(static_cast<int>(i));
      const TensorType& type = node.types()[i];
      const int known = storage(v);
      const int id = known >= 0 ? known : add_storage(v, Storage::Kind::intermediate);
      call.outputs.push_back({id, 0, type.dtype, i == 0 ? storage_layout(graph_, node) : Layout::dense(type.shape)});
      empty &= element_count(type.shape) == 0;
    }
    for (const Tensor& v : node.inputs()) {
      if (computes != without_iotas_.end() && stored(v).node()->op().is_iota()) continue;
      call.inputs.push_back(operand(v));
    }
    if (empty) return;
    schedule_.calls.push_back(std::move(call));
  }

  StoredView operand(const Tensor& v) {
    const Placement shown = placement(v);
    const Tensor& root = stored(v);
    const std::int64_t bit = shown.offset * bits(v.dtype());
    if (bit % 8 != 0) throw Unsupported("a view of {} starts inside a byte", weft::to_string(root.type()));
    const std::uint64_t offset = shown.layout.count() ? static_cast<std::uint64_t>(bit / 8) : 0;
    return {storage(root), offset, v.dtype(), shown.layout};
  }

  // The storage of a value, -1 if it has none yet.
  int& storage(const Tensor& v) { return storage_[index_in_.result(v)]; }

  const Graph& graph_;
  std::span<const Tensor> captured_;
  Graph::Impl::NodeIndices index_in_;
  Schedule schedule_;
  std::vector<int> storage_;  // of each result
  std::unordered_map<const Node*, OpPtr> without_iotas_;  // forms of ops that compute these operands
  std::unordered_set<const Node*> stored_iotas_;
};

// For each storage the last step that reads it, or -1.
std::vector<int> last_readers(const Schedule& schedule) {
  std::vector<int> last(schedule.storages.size(), -1);
  for (std::size_t step = 0; step < schedule.calls.size(); ++step) {
    for (const int id : schedule.calls[step].reads()) last[id] = static_cast<int>(step);
  }
  return last;
}

// The intermediate whose memory `result` may take, or -1: it has the same size, and `free` says that no later step
// reads it.
int replaced_by(const Schedule& schedule, const ScheduledCall& call, const StoredView& result,
                const std::function<bool(int storage)>& free) {
  const Storage& target = schedule.storages[result.storage];
  if (target.kind != Storage::Kind::intermediate) return -1;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.op->works_in_place(i)) continue;
    const StoredView& x = call.inputs[i];
    const Storage& source = schedule.storages[x.storage];
    if (source.kind != Storage::Kind::intermediate || source.bytes != target.bytes) continue;
    if (free(x.storage) && reads_in_place(call, x.storage, result)) return x.storage;
  }
  return -1;
}

}  // namespace

std::vector<int> ScheduledCall::reads() const { return storages_of(inputs); }

std::vector<int> ScheduledCall::writes() const {
  std::vector<int> list = storages_of(outputs);
  if (scratch >= 0) list.push_back(scratch);
  return list;
}

std::vector<View> placeholder_views(const Schedule& schedule, std::span<const StoredView> operands) {
  std::vector<View> list;
  for (const StoredView& o : operands) {
    View v;
    const Storage& storage = schedule.storages[o.storage];
    const std::uint64_t bytes = std::max<std::uint64_t>(storage.bytes, 1);
    v.buffer = storage.number ? storage.number : Buffer::placeholder((bytes + 3) / 4 * 4, (bytes + 15) / 16 * 16);
    v.offset = o.offset;
    v.dtype = o.dtype;
    v.layout = o.layout;
    list.push_back(std::move(v));
  }
  return list;
}

bool same_view(const StoredView& a, const StoredView& b) {
  if (a.offset != b.offset || bits(a.dtype) != bits(b.dtype) || a.layout.shape != b.layout.shape) return false;
  for (int d = 0; d < a.layout.shape.rank(); ++d) {
    if (a.layout.shape[d] > 1 && a.layout.strides[d] != b.layout.strides[d]) return false;
  }
  return true;
}

bool reads_in_place(const ScheduledCall& call, int storage, const StoredView& result) {
  bool reads = false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const StoredView& x = call.inputs[i];
    if (x.storage != storage) continue;
    reads = true;
    // With two types, four elements could not be read at once.
    if (!call.op->works_in_place(i) || x.dtype != result.dtype || !same_view(x, result)) return false;
  }
  return reads;
}

std::vector<int> results_in_place(const Schedule& schedule) {
  std::vector<int> replaces(schedule.storages.size(), -1);
  for (std::size_t id = 0; id < schedule.storages.size(); ++id) replaces[id] = schedule.storages[id].donor;
  const std::vector<int> last = last_readers(schedule);
  for (std::size_t step = 0; step < schedule.calls.size(); ++step) {
    const ScheduledCall& call = schedule.calls[step];
    std::vector<int> replaced;
    for (const StoredView& result : call.outputs) {
      const int storage = replaced_by(schedule, call, result, [&](int id) {
        return last[id] == static_cast<int>(step) && std::ranges::find(replaced, id) == replaced.end();
      });
      if (storage < 0) continue;
      replaced.push_back(storage);
      replaces[result.storage] = storage;
    }
  }
  return replaces;
}

PlannedSchedule plan_schedule(const Schedule& schedule, std::uint64_t max_buffer) {
  PlannedSchedule p;
  p.item_of.assign(schedule.storages.size(), -1);
  const std::vector<int> replaces = results_in_place(schedule);
  for (const ScheduledCall& call : schedule.calls) {
    const int step = static_cast<int>(p.steps.size());
    for (const StoredView& result : call.outputs) {
      if (const int storage = replaces[result.storage]; storage >= 0) p.item_of[result.storage] = p.item_of[storage];
    }
    const auto items_of = [&](const std::vector<int>& storages) {
      std::vector<int> items;
      for (const int id : storages) {
        if (schedule.storages[id].kind != Storage::Kind::intermediate) continue;
        if (p.item_of[id] < 0) {
          p.item_of[id] = static_cast<int>(p.items.size());
          p.items.push_back({schedule.storages[id].bytes, step, step});
        }
        p.items[p.item_of[id]].last = step;
        items.push_back(p.item_of[id]);
      }
      return items;
    };
    std::vector<int> reads = items_of(call.reads());
    p.steps.push_back({std::move(reads), items_of(call.writes())});
  }
  p.plan = plan_memory(p.items, p.steps, max_buffer);
  return p;
}

Schedule make_schedule(const Graph& graph, std::span<const Tensor> captured) { return Lowering(graph, captured).run(); }

}  // namespace weft::compiler
