#include "compiler/schedule.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/donate.h"
#include "compiler/passes/resolve_views.h"
#include "core/format.h"
#include "graph/leaf.h"
#include "ops/elementwise.h"
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
    if (OpPtr op = node.op().rewriting().with_iotas(iotas, node.types()[0].shape)) {
      without_iotas_.emplace(&node, std::move(op));
      return;
    }
    for (const Tensor& v : node.inputs()) {
      if (stored(v).node()->op().is_iota()) stored_iotas_.insert(stored(v).node());
    }
  }

  int add_storage(const TensorType& type, Storage::Kind kind, int index = 0) {
    schedule_.storages.push_back({.kind = kind, .index = index, .bytes = bytes_of(type)});
    return static_cast<int>(schedule_.storages.size()) - 1;
  }
  int add_storage(const Tensor& v, Storage::Kind kind, int index = 0) {
    return storage(v) = add_storage(v.type(), kind, index);
  }

  void lower(const Node& node) {
    if (node.op().is_leaf() && !node.op().constant()) return;
    if (const ConstantOp* constant = node.op().constant()) {
      schedule_.storages[add_storage(node.value(), Storage::Kind::constant)].constant = constant->data();
      return;
    }
    if (node.op().is_view()) return;
    if (node.op().is_iota() && storage(node.value()) < 0 && !stored_iotas_.contains(&node)) return;
    if (!node.op().subgraphs().empty()) return lower_control_flow(node);
    ScheduledCall call;
    const auto computes = without_iotas_.find(&node);
    call.op = computes != without_iotas_.end() ? computes->second : node.shared_op();
    call.label = label_of(node);
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

  std::string label_of(const Node& node) const {
    std::string label =
        std::format("{} {}", node.op().label(node.input_types()), weft::to_string(node.types()[0].shape));
    if (const std::string labels = graph_.impl().label_text(node); !labels.empty()) label += " " + labels;
    return label;
  }

  // ---- Branches and loops: the calls of their graphs, on the storages of their operands and results.
  void lower_control_flow(const Node& node) {
    const std::size_t at = schedule_.blocks.size();
    schedule_.blocks.push_back({.label = label_of(node), .line = node.line()});
    Block block = schedule_.blocks[at];
    const std::span<const Tensor> operands = node.inputs();
    const auto graphs = node.op().subgraphs();
    const auto next_call = [&] { return static_cast<int>(schedule_.calls.size()); };
    const ControlFlow control = node.op().control_flow()->control();
    block.kind = control.form;
    if (control.form == ControlForm::branch) {
      block.condition = operand(operands[0]);
      std::vector<StoredView> inputs;
      for (const Tensor& v : operands.subspan(1)) inputs.push_back(operand(v));
      std::vector<int> outputs;
      for (int i = 0; i < static_cast<int>(node.types().size()); ++i) outputs.push_back(result_storage(node.value(i)));
      block.first = next_call();
      insert(make_schedule(*graphs[0]), inputs, outputs, -1);
      block.middle = next_call();
      insert(make_schedule(*graphs[1]), inputs, outputs, -1);
    } else {
      const std::size_t carries = node.types().size();
      std::vector<int> carried;
      std::vector<StoredView> inputs;
      for (std::size_t i = 0; i < carries; ++i) {
        const Tensor result = node.value(static_cast<int>(i));
        carried.push_back(carry_storage(operands[i], result));
        inputs.push_back({carried.back(), 0, result.dtype(), Layout::dense(result.shape())});
      }
      for (const Tensor& v : operands.subspan(carries)) inputs.push_back(operand(v));
      block.first = block.middle = next_call();
      Schedule body = make_schedule(*graphs.back());
      // A turn writes the carries over those it began with.
      std::vector<std::pair<std::string, std::string>> pairs;
      for (std::size_t i = 0; i < carries; ++i) pairs.emplace_back(body.inputs[i].name, body.outputs[i].name);
      donate(body, pairs);
      if (control.form == ControlForm::loop) {
        const TensorType type{DType::boolean, {}};
        block.condition = {add_storage(type, Storage::Kind::intermediate), 0, type.dtype, Layout::dense(type.shape)};
        insert(make_schedule(*graphs[0]), inputs, std::span(&block.condition.storage, 1), -1);
        block.middle = next_call();
      } else {
        block.turns = control.turns;
        block.reverse = control.reverse;
        block.index = add_storage(body.numbers[0].type, Storage::Kind::number, -1);
        schedule_.storages[static_cast<std::size_t>(block.index)].number = Buffer::number();
      }
      insert(std::move(body), inputs, carried, block.index);
    }
    block.end = next_call();
    if (block.first == block.end) {
      schedule_.blocks.resize(at);
    } else {
      schedule_.blocks[at] = std::move(block);
    }
  }

  int result_storage(const Tensor& v) {
    const int known = storage(v);
    return known >= 0 ? known : add_storage(v, Storage::Kind::intermediate);
  }

  // Where a loop has a carry: what it begins with lies there already, if nothing else needs it, or is copied there.
  int carry_storage(const Tensor& initial, const Tensor& result) {
    const StoredView from = operand(initial);
    const bool alone = !initial.node()->op().is_view() && uses(initial) == 1 &&
                       schedule_.storages[static_cast<std::size_t>(from.storage)].kind == Storage::Kind::intermediate;
    if (alone && storage(result) < 0) return storage(result) = from.storage;
    const int id = result_storage(result);
    if (result.size() == 0) return id;
    ScheduledCall copy;
    copy.op = copy_op(result.dtype());
    copy.label = std::format("copy {} to a loop", weft::to_string(result.shape()));
    copy.line = result.node()->line();
    copy.inputs.push_back(from);
    copy.outputs.push_back({id, 0, result.dtype(), Layout::dense(result.shape())});
    schedule_.calls.push_back(std::move(copy));
    return id;
  }

  // How often the graph reads what a node stores, also through views; an output does so, too.
  int uses(const Tensor& v) {
    if (uses_.empty()) {
      uses_.assign(index_in_.results(), 0);
      for (const NodePtr& node : graph_.impl().nodes()) {
        if (node->op().is_view()) continue;
        for (const Tensor& x : node->inputs()) ++uses_[index_in_.result(stored(x))];
      }
      for (const GraphPort& o : graph_.impl().outputs) ++uses_[index_in_.result(stored(o.value))];
    }
    return uses_[index_in_.result(v)];
  }

  // The calls of another schedule, on these storages in place of its inputs, outputs and number.
  void insert(Schedule inner, std::span<const StoredView> inputs, std::span<const int> outputs, int number) {
    if (inner.captured > 0) throw InternalError("a graph that an op owns holds data");
    std::vector<StoredView> to;  // of which storage and offset count
    for (Storage& s : inner.storages) {
      const auto port = static_cast<std::size_t>(std::max(s.index, 0));
      if (s.kind == Storage::Kind::input) {
        to.push_back(inputs[port]);
      } else if (s.kind == Storage::Kind::output) {
        to.push_back({.storage = outputs[port]});
      } else if (s.kind == Storage::Kind::number && s.index >= 0) {
        to.push_back({.storage = number});
      } else {
        to.push_back({.storage = static_cast<int>(schedule_.storages.size())});
        schedule_.storages.push_back(std::move(s));
      }
    }
    const auto place = [&](StoredView& o) {
      const StoredView& now = to[static_cast<std::size_t>(o.storage)];
      o.storage = now.storage;
      o.offset += now.offset;
    };
    const auto first = static_cast<int>(schedule_.calls.size());
    for (ScheduledCall& call : inner.calls) {
      for (StoredView& o : call.inputs) place(o);
      for (StoredView& o : call.outputs) place(o);
      schedule_.calls.push_back(std::move(call));
    }
    for (Block& b : inner.blocks) {
      for (int* at : {&b.first, &b.middle, &b.end}) *at += first;
      if (b.kind != Block::Kind::turns) place(b.condition);
      if (b.index >= 0) b.index = to[static_cast<std::size_t>(b.index)].storage;
      schedule_.blocks.push_back(std::move(b));
    }
  }

  StoredView operand(const Tensor& v) {
    const Placement shown = placement(v);
    const Tensor& root = stored(v);
    // A view without elements may begin anywhere, past all memory too.
    const std::int64_t bit = shown.layout.count() ? shown.offset * bits(v.dtype()) : 0;
    if (bit % 8 != 0) throw Unsupported("a view of {} starts inside a byte", weft::to_string(root.type()));
    const std::uint64_t offset = static_cast<std::uint64_t>(bit / 8);
    if (storage(root) < 0) {
      throw InternalError("schedule: {} {} has no storage", root.node()->op().name(), weft::to_string(root.type()));
    }
    return {storage(root), offset, v.dtype(), shown.layout};
  }

  // The storage of a value, -1 if it has none yet.
  int& storage(const Tensor& v) { return storage_[index_in_.result(v)]; }

  const Graph& graph_;
  std::span<const Tensor> captured_;
  Graph::Impl::NodeIndices index_in_;
  Schedule schedule_;
  std::vector<int> storage_;                              // of each result
  std::vector<int> uses_;                                 // likewise; empty: not counted yet
  std::unordered_map<const Node*, OpPtr> without_iotas_;  // forms of ops that compute these operands
  std::unordered_set<const Node*> stored_iotas_;
};

// For each storage the last step that needs its memory, or -1: that reads it, of what a loop reads in each turn the
// step behind the loop; or that writes it again, as the second branch does what the first one gives.
std::vector<int> last_uses(const Schedule& schedule) {
  std::vector<int> last(schedule.storages.size(), -1), written(schedule.storages.size(), -1);
  const auto read = [&](int id, int step) { last[id] = std::max(last[id], step); };
  for (int step = 0; step < static_cast<int>(schedule.calls.size()); ++step) {
    for (const int id : schedule.calls[step].reads()) read(id, step);
    for (const int id : schedule.calls[step].writes()) {
      if (written[id] < 0)
        written[id] = step;
      else
        read(id, step);
    }
  }
  for (const Block& b : schedule.blocks) {
    // A branch's condition is read in front of it.
    if (b.kind != Block::Kind::turns) read(b.condition.storage, b.kind == Block::Kind::branch ? b.first : b.middle);
  }
  for (std::size_t k = 0; k < schedule.blocks.size(); ++k) {
    const Block& b = schedule.blocks[k];
    if (!b.repeats()) continue;
    const auto read_again = [&](int id) {
      if (written[id] < b.first) read(id, b.end);
    };
    for (int step = b.first; step < b.end; ++step) std::ranges::for_each(schedule.calls[step].reads(), read_again);
    for (std::size_t i = k + 1; i < schedule.blocks.size() && schedule.blocks[i].first < b.end; ++i) {
      if (schedule.blocks[i].kind != Block::Kind::turns) read_again(schedule.blocks[i].condition.storage);
    }
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
  const std::vector<int> last = last_uses(schedule);
  std::vector<char> written(schedule.storages.size(), 0);
  for (std::size_t step = 0; step < schedule.calls.size(); ++step) {
    const ScheduledCall& call = schedule.calls[step];
    std::vector<int> replaced;
    for (const StoredView& result : call.outputs) {
      // What several calls write, such as a loop's carry, has its memory from the first.
      if (std::exchange(written[result.storage], 1)) continue;
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
      const int storage = replaces[result.storage];
      if (storage >= 0 && p.item_of[result.storage] < 0) p.item_of[result.storage] = p.item_of[storage];
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
  const std::vector<int> last = last_uses(schedule);
  for (std::size_t id = 0; id < last.size(); ++id) {
    if (p.item_of[id] < 0) continue;
    PlanItem& item = p.items[p.item_of[id]];
    item.last = std::max(item.last, std::min(last[id], static_cast<int>(p.steps.size()) - 1));
  }
  p.plan = plan_memory(p.items, p.steps, max_buffer);
  return p;
}

InnerBlocks inside_first(std::span<const Block> blocks) {
  const Block& outer = blocks[0];
  const auto first_at = [&](int call) {
    return static_cast<std::size_t>(std::ranges::lower_bound(blocks.subspan(1), call, {}, &Block::first) -
                                    blocks.begin());
  };
  const std::size_t middle = first_at(outer.middle), end = first_at(outer.end);
  return {blocks.subspan(1, middle - 1), blocks.subspan(middle, end - middle)};
}

Schedule make_schedule(const Graph& graph, std::span<const Tensor> captured) { return Lowering(graph, captured).run(); }

}  // namespace weft::compiler
