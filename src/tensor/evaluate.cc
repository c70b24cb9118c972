#include "weft/evaluate.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "compiler/compile_now.h"
#include "compiler/constant_store.h"
#include "compiler/device_data.h"
#include "compiler/value_check.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "core/inline_list.h"
#include "cpu/host_pool.h"
#include "gpu/device_impl.h"
#include "graph/leaf.h"
#include "kernels/plan_cache.h"
#include "ops/elementwise.h"
#include "ops/function_row.h"
#include "tensor/pending_graph.h"
#include "tensor/run_ahead.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/memory.h"
#include "weft/process.h"

namespace weft {
namespace {

// The executables of what is evaluated on a device. They share their constants and the memory of their intermediates.
class Executables {
 public:
  explicit Executables(const Device& device) : device_(device) {
    options_.constants = make_constant_store(device);
    if (device.is_gpu() && device.gpu().capabilities().software) most_steps_ = kStepsOfSoftware;
  }
  const Device& device() const { return device_; }
  const std::shared_ptr<ConstantStore>& store() const { return options_.constants; }
  RunAhead& run_ahead() { return run_ahead_; }

  Executable get(const PendingGraph& pending) {
    std::shared_ptr<Entry> entry;
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<Entry>& slot = entries_[pending.key()];
      if (!slot) slot = std::make_shared<Entry>();
      slot->used = ++now_;
      if (slot->is_made.load(std::memory_order_acquire)) return slot->executable;
      entry = slot;
      if (entries_.size() > kMost || (steps_ > most_steps_ && entries_.size() > kFew)) drop_older_half();
    }
    // Threads that want the same one wait for one compilation.
    const std::lock_guard lock(entry->making);
    if (!entry->executable) {
      CompileOptions options = options_;
      for (const auto& [leaf, result] : pending.donated()) {
        options.donate.push_back({std::format("i{}", leaf), std::format("o{}", result)});
      }
      entry->executable = compiler::compile_now(pending.graph(), device_, options);
      entry->is_made.store(true, std::memory_order_release);
      const std::lock_guard all(mutex_);
      steps_ += entry->executable.report().steps.size();
    }
    return entry->executable;
  }

  // Those in use stay until they are not.
  void clear() {
    decltype(entries_) dropped;  // after the lock
    const std::lock_guard lock(mutex_);
    dropped.swap(entries_);
    steps_ = 0;
  }

 private:
  // Each takes some 5 to 20 KiB of the host, beside its kernels.
  static constexpr std::size_t kMost = 1024, kFew = 32;
  // A software GPU maps a page for each bind group, one a step, and a Linux process has at most 65,530 mappings.
  static constexpr std::size_t kStepsOfSoftware = 4096;
  struct Entry {
    std::uint64_t used = 0;
    std::mutex making;
    Executable executable;  // does not change once it is made
    std::atomic<bool> is_made = false;
  };

  void drop_older_half() {
    std::vector<std::uint64_t> used;
    for (const auto& [key, entry] : entries_) used.push_back(entry->used);
    const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
    std::ranges::nth_element(used, middle);
    std::erase_if(entries_, [oldest = *middle](const auto& e) { return e.second->used < oldest; });
    steps_ = 0;
    for (const auto& [key, entry] : entries_) {
      if (entry->is_made.load(std::memory_order_acquire)) steps_ += entry->executable.report().steps.size();
    }
  }

  const Device device_;
  CompileOptions options_;
  RunAhead run_ahead_;
  std::mutex mutex_;
  std::uint64_t now_ = 0;
  std::size_t steps_ = 0, most_steps_ = std::numeric_limits<std::size_t>::max();  // of all executables
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;
};

// Executables hold their device, so that of the devices that were used only the last few stay open for this.
struct OpenExecutables {
  std::mutex mutex;
  std::vector<std::shared_ptr<Executables>> all;  // the last used first
};
OpenExecutables& open_executables() {
  static auto& value = *new OpenExecutables;
  return value;
}

std::shared_ptr<Executables> executables_of(const Device& device) {
  constexpr std::size_t kDevices = 4;
  std::vector<std::shared_ptr<Executables>> closed;  // after the lock
  OpenExecutables& open = open_executables();
  std::vector<std::shared_ptr<Executables>>& all = open.all;
  const std::lock_guard lock(open.mutex);
  if (!all.empty() && all.front()->device() == device) return all.front();
  auto it = std::ranges::find_if(all, [&](const auto& e) { return e->device() == device; });
  if (it == all.end()) {
    it = all.insert(all.end(), std::make_shared<Executables>(device));
    IdleMemories& idle = device.is_gpu() ? device.gpu().impl().pool->idle() : cpu::HostPool::instance().idle();
    idle.add((*it)->store());
  }
  std::rotate(all.begin(), it, it + 1);
  for (std::size_t i = all.size(); i-- > 1;) {
    const bool lost = all[i]->device().is_gpu() && all[i]->device().gpu().lost();
    if (!lost && i < kDevices) continue;
    closed.push_back(std::move(all[i]));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return all.front();
}

using Leaf = PendingGraph::Leaf;

DataPtr data_ptr(const Tensor& t) {
  const DataOp* op = t.node()->op().data_op();
  return op ? op->data_ptr() : t.node()->data(t.index());
}

// Where the leaves are; without any `otherwise`, or if that is null the default device. What the host has of those on a
// lost device is moved to the default one. Throws DeviceError if that is not one device, DeviceLost.
Device device_of(PendingGraph& pending, const Device* otherwise) {
  const Leaf* first = nullptr;
  for (Leaf& leaf : pending.leaves()) {
    if (leaf.constant) continue;
    leaf.data->require_values();
    if (leaf.data->device().is_gpu() && leaf.data->device().gpu().lost()) {
      const Tensor tensor = leaf.tensor();
      if (!leaf.data->on_host()) {
        throw DeviceLost("eval: {} was on {}, which is lost, and its values were never read", to_string(tensor.type()),
                         leaf.data->device().name());
      }
      leaf.hold(data_ptr(to(tensor, default_device())));
    }
    if (!first) first = &leaf;
  }
  if (!first) return otherwise ? *otherwise : default_device();
  for (const Leaf& leaf : pending.leaves()) {
    if (leaf.constant || leaf.data->device() == first->data->device()) continue;
    throw DeviceError("eval: {} is on {}, {} on {}; move one of them with to()", to_string(first->tensor().type()),
                      first->data->device().name(), to_string(leaf.tensor().type()), leaf.data->device().name());
  }
  return first->data->device();
}

// The constant as data on the device: on the cpu the host's own bytes if they are aligned, else a copy that the
// constant keeps for later evaluations.
DataPtr constant_on(const Device& device, const Node& constant) {
  if (const DataPtr& held = constant.data(); held && static_cast<const DeviceData&>(*held).device() == device) {
    return held;
  }
  const TensorData data = constant.op().constant()->data()->data();
  const auto address = reinterpret_cast<std::uintptr_t>(data.bytes.data());
  if (!device.is_gpu() && address % static_cast<std::uintptr_t>(std::max(bits(data.dtype) / 8, 1)) == 0) {
    return std::make_shared<const DeviceData>(device,
                                              View(Buffer::borrow(data.bytes, data.owner), 0, data.dtype, data.shape));
  }
  const auto copy = std::make_shared<const DeviceData>(device, data.dtype, data.shape);
  copy->write(data.bytes);
  const DataPtr kept = copy;
  constant.set_data(std::span(&kept, 1));
  return copy;
}

void eval_whole(PendingGraph& pending, const Device* otherwise) {
  pending.prepare();
  const Device device = device_of(pending, otherwise);
  InlineList<const DeviceData*, 16> inputs, outputs;
  for (Leaf& leaf : pending.leaves()) {
    if (leaf.constant) leaf.hold(constant_on(device, *leaf.node));
    inputs.push_back(leaf.data);
  }
  // Before anything is compiled for results that do not fit.
  std::vector<DataPtr> results;
  for (const TensorType& type : pending.result_types()) {
    const auto given = [&](const auto& pair) { return pair.second == static_cast<int>(results.size()); };
    const auto donor = std::ranges::find_if(pending.donated(), given);
    if (donor == pending.donated().end()) {
      results.push_back(std::make_shared<const DeviceData>(device, type.dtype, type.shape));
    } else {
      results.push_back(pending.leaves()[static_cast<std::size_t>(donor->first)].shared());
    }
    outputs.push_back(static_cast<const DeviceData*>(results.back().get()));
  }
  const std::shared_ptr<Executables> executables = executables_of(device);
  Executable executable = executables->get(pending);
  Future<void> done;
  try {
    done = executable.run_on(inputs, outputs, pending.numbers());
  } catch (...) {
    // Part of it may have run.
    for (const auto& [leaf, result] : pending.donated()) inputs[static_cast<std::size_t>(leaf)]->spoil();
    throw;
  }
  pending.finish(results);
  if (device.is_gpu()) executables->run_ahead().submitted(std::move(done));
}

void evaluate(std::span<const Tensor> tensors, const Device* otherwise) {
  std::vector<std::vector<Tensor>> pieces;
  {
    PendingGraph pending(tensors, PendingGraph::Use::maybe_in_pieces);
    if (pending.empty()) return;
    pieces = pending.pieces();
    if (pieces.empty()) return eval_whole(pending, otherwise);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    PendingGraph piece(pieces[i], PendingGraph::Use::whole);
    if (!piece.empty()) eval_whole(piece, otherwise);
    if (i > 0) pieces[i - 1].clear();
  }
  pieces.clear();
  PendingGraph rest(tensors, PendingGraph::Use::whole);
  if (!rest.empty()) eval_whole(rest, otherwise);
}

}  // namespace

void eval_defined(std::span<const Tensor> tensors, const Device* otherwise) {
  for (const Tensor& t : tensors) {
    if (!t.defined()) throw InvalidArgument("eval: an operand is an undefined Tensor");
  }
  const InWeft inside;
  in_host_memory("eval", [&] { evaluate(tensors, otherwise); });
}
void eval(std::span<const Tensor> tensors) { eval_defined(tensors, nullptr); }
Future<void> async_eval(std::span<const Tensor> tensors) {
  eval_defined(tensors, nullptr);
  // Also when they were submitted before.
  std::vector<Future<void>> done;
  std::vector<Device> devices;
  ValueChecks checks;
  for (const Tensor& t : tensors) {
    const Tensor& stored = stored_by(t);
    for (auto& check : find_data(stored)->checks()) {
      done.push_back(check->async_require());
      checks.push_back(std::move(check));
    }
    const Device& device = stored.device();
    if (std::ranges::find(devices, device) != devices.end()) continue;
    devices.push_back(device);
    done.push_back(device.async_wait());
  }
  if (checks.empty()) return when_all(std::move(done));
  return when_all(std::move(done)).map([held = std::move(checks)] {});
}
void eval_on(std::span<const Tensor> tensors, const Device& device) { eval_defined(tensors, &device); }

Device device_of(const Tensor& x) {
  if (!x.defined()) throw InvalidArgument("device_of: the operand is an undefined Tensor");
  if (x.has_data()) return x.device();
  const Tensor dense = contiguous(x);
  PendingGraph pending(std::span(&dense, 1), PendingGraph::Use::look);
  if (!pending.empty()) pending.prepare();
  return device_of(pending, nullptr);
}

Graph Tensor::graph() const {
  if (!defined()) throw InvalidArgument("graph: the operand is an undefined Tensor");
  const Tensor dense = contiguous(*this);
  PendingGraph pending(std::span(&dense, 1), PendingGraph::Use::look);
  if (pending.empty()) {
    Graph graph;
    graph.output("o0", graph.input("i0", dtype(), shape()));
    return graph;
  }
  pending.prepare();
  return pending.graph();
}

Tensor to(const Tensor& x, const Device& device) {
  if (!x.defined()) throw InvalidArgument("to: the operand is an undefined Tensor");
  const Tensor dense = contiguous(x);
  eval(dense);
  if (dense.device() == device) return dense;
  Tensor copy(device, x.dtype(), x.shape());
  const gpu::ReadBytes bytes = data_of(dense).async_read().get();
  copy.write(bytes);
  return copy;
}

Future<Tensor> async_to(const Tensor& x, const Device& device) {
  if (!x.defined()) throw InvalidArgument("to: the operand is an undefined Tensor");
  const Tensor dense = contiguous(x);
  eval(dense);
  if (dense.device() == device) return future_of([&] { return dense; });
  return data_of(dense).async_read().map([dense, device](const gpu::ReadBytes& bytes) {
    Tensor copy(device, dense.dtype(), dense.shape());
    copy.write(bytes);
    return copy;
  });
}

namespace {

constexpr Function kContiguous = {{.name = "contiguous",
                                   .operands = {{.name = "x", .shape = "any"}},
                                   .results = {{"y", "x's shape", "x's type"}},
                                   .formula = "y = x",
                                   .summary = "the same elements in memory of their own; x itself if it is no view"},
                                  [](const Tensor& x) -> Tensor {
                                    if (find_data(x) || !x.node()->op().is_view()) return x;
                                    return apply(copy_op(x.dtype()), {x});
                                  }};

}  // namespace

Tensor contiguous(const Tensor& x) { return kContiguous(x); }

void add_evaluation_functions(FunctionRows& rows) { rows.add(kContiguous); }

// Here, since evaluation keeps memory too: that of its intermediates.
void memory::clear_cache(const Device& device) {
  std::shared_ptr<Executables> executables;
  {
    OpenExecutables& open = open_executables();
    const std::lock_guard lock(open.mutex);
    const auto it = std::ranges::find_if(open.all, [&](const auto& e) { return e->device() == device; });
    if (it != open.all.end()) executables = *it;
  }
  if (executables) {
    executables->clear();
    const gpu::CallbacksHeld held;
    const std::lock_guard lock(executables->store()->recording());
    executables->store()->drop_scratch();
  }
  if (!device.is_gpu()) return;
  kernels::PlanCache::clear(device.gpu());
  device.gpu().trim();
}

}  // namespace weft
