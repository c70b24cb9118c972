#include "weft/traced.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "compiler/device_data.h"
#include "graph/graph.h"
#include "graph/ops/leaf.h"
#include "tensor/expressions.h"
#include "tensor/key.h"
#include "tensor/run_ahead.h"
#include "tensor/tracing.h"
#include "weft/error.h"
#include "weft/evaluate.h"

namespace weft {
namespace {

thread_local int tracing_depth = 0;

}  // namespace

bool tracing() { return tracing_depth > 0; }
TracingScope::TracingScope() { ++tracing_depth; }
TracingScope::~TracingScope() { --tracing_depth; }

namespace detail {
namespace {

// Calls `visit` for each node that these tensors need, down to nodes with data, until it returns false for one: then
// the operands of that one are left out. The recipes lock must be held.
template <class Visit>
void visit_nodes(std::span<const Tensor> tensors, Visit&& visit) {
  NodeIds seen;
  std::vector<const Node*> open;
  for (const Tensor& t : tensors) {
    if (t.defined()) open.push_back(t.node());
  }
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    if (node.is_computed() || !seen.insert(node, 0)) continue;
    if (!visit(node)) continue;
    for (const Tensor& v : node.inputs()) open.push_back(v.node());
  }
}

// A constant, or views of one, which take no time in a call.
bool shows_constant(const Node& node) { return stored_by(node).op().constant() != nullptr; }

// Evaluates what the results need of tensors that were made before the trace began, which are those that the function
// captured.
void evaluate_captured(std::span<const Tensor> results, std::uint64_t began) {
  std::vector<Tensor> captured;
  {
    const std::shared_lock lock(Node::recipes_lock());
    visit_nodes(results, [&](const Node& node) {
      if (node.sequence() >= began) return true;
      if (!shows_constant(node)) captured.push_back(node.value());
      return false;
    });
  }
  eval(captured);
}

// Where a result comes from.
struct Source {
  enum class Kind : std::uint8_t { undefined, argument, captured, computed } kind = Kind::undefined;
  std::size_t index = 0;  // among the arguments, or among the outputs of the executable
  Tensor tensor;          // the captured one
};

struct Entry {
  Entry(const Device& d) : device(d) {}  // NOLINT
  const Device device;
  std::uint64_t used = 0;
  std::mutex making;  // of what follows
  std::atomic<bool> made = false;
  Executable executable;  // none if nothing is computed
  RunAhead run_ahead;
  std::vector<TensorType> outputs;
  std::vector<Source> sources;  // of each result
  std::shared_ptr<const void> value;
};

bool is_lost(const Device& device) { return device.is_gpu() && device.gpu().lost(); }

std::string where(const Tensor& t) { return std::format("{} on {}", to_string(t.type()), t.device().name()); }

// The device of the arguments, which have data. Throws DeviceError.
Device device_of(std::span<const Tensor> arguments) {
  const Tensor* first = nullptr;
  for (const Tensor& t : arguments) {
    if (!t.defined()) continue;
    if (!first) first = &t;
    if (t.device() == first->device()) continue;
    throw DeviceError("a compiled function's arguments are on two devices: {}, and {}; move one of them with to()",
                      where(*first), where(t));
  }
  return first ? first->device() : default_device();
}

// Evaluates the arguments, all at once; views of them, which have no data of their own, become copies.
void evaluate(std::vector<Tensor>& arguments) {
  std::vector<Tensor> missing;
  for (Tensor& t : arguments) {
    if (!t.defined() || find_data(t)) continue;
    t = contiguous(t);
    missing.push_back(t);
  }
  if (!missing.empty()) eval(missing);
}

}  // namespace

struct TracedCalls::State {
  explicit State(CompileOptions o) : options(std::move(o)) {}
  static constexpr std::size_t kMost = 256;

  std::shared_ptr<Entry> entry_of(const std::string& key, const Device& device);
  std::shared_ptr<ConstantStore> constants_of(const Device& device);
  void make(Entry& entry, std::span<const Tensor> arguments, const Trace& trace);

  const CompileOptions options;
  mutable std::mutex mutex;  // of what follows
  std::uint64_t now = 0;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries;
  std::vector<std::pair<Device, std::shared_ptr<ConstantStore>>> stores;
};

std::shared_ptr<Entry> TracedCalls::State::entry_of(const std::string& key, const Device& device) {
  std::vector<std::shared_ptr<Entry>> dropped;  // after the lock
  const std::lock_guard lock(mutex);
  std::shared_ptr<Entry>& slot = entries[key];
  const bool fresh = !slot;
  // The device is in the key by its address, which the entry keeps from being used again.
  if (fresh) slot = std::make_shared<Entry>(device);
  slot->used = ++now;
  const std::shared_ptr<Entry> entry = slot;
  if (!fresh) return entry;
  const auto drop = [&](auto it) {
    dropped.push_back(std::move(it->second));
    return entries.erase(it);
  };
  for (auto it = entries.begin(); it != entries.end();) it = is_lost(it->second->device) ? drop(it) : std::next(it);
  if (entries.size() > kMost) drop(std::ranges::min_element(entries, {}, [](const auto& e) { return e.second->used; }));
  return entry;
}

std::shared_ptr<ConstantStore> TracedCalls::State::constants_of(const Device& device) {
  if (options.constants) return options.constants;
  const std::lock_guard lock(mutex);
  std::erase_if(stores, [](const auto& s) { return is_lost(s.first); });
  const auto it = std::ranges::find(stores, device, &std::pair<Device, std::shared_ptr<ConstantStore>>::first);
  return it != stores.end() ? it->second : stores.emplace_back(device, make_constant_store(device)).second;
}

void TracedCalls::State::make(Entry& entry, std::span<const Tensor> arguments, const Trace& trace) {
  Graph graph;
  std::vector<Tensor> stand_ins;
  const std::uint64_t began = Node::next_sequence();
  for (const Tensor& t : arguments) {
    stand_ins.push_back(t.defined() ? graph.input(std::format("argument {}", stand_ins.size()), t.dtype(), t.shape())
                                    : Tensor());
  }
  TracedResults traced;
  {
    const TracingScope scope;
    traced = trace(stand_ins);
  }
  evaluate_captured(traced.tensors, began);
  std::vector<Source> sources;
  std::vector<TensorType> outputs;
  std::map<std::pair<const Node*, int>, std::size_t> output_of;
  std::map<const Node*, std::size_t> argument_of;
  for (std::size_t i = 0; i < stand_ins.size(); ++i) {
    if (stand_ins[i].defined()) argument_of.emplace(stand_ins[i].node(), i);
  }
  for (const Tensor& t : traced.tensors) {
    if (!t.defined()) {
      sources.emplace_back();
      continue;
    }
    if (const auto argument = argument_of.find(t.node()); argument != argument_of.end()) {
      sources.push_back({Source::Kind::argument, argument->second, {}});
    } else if (t.node()->is_computed()) {
      sources.push_back({Source::Kind::captured, 0, t});
    } else {
      const auto [it, fresh] = output_of.emplace(std::pair(t.node(), t.index()), outputs.size());
      if (fresh) {
        graph.output(std::format("result {}", outputs.size()), t);
        outputs.push_back(t.type());
      }
      sources.push_back({Source::Kind::computed, it->second, {}});
    }
  }
  Executable executable;
  if (!outputs.empty()) {
    for (const Tensor& t : graph.impl().captured()) {
      if (t.device() == entry.device) continue;
      throw DeviceError(
          "a compiled function runs on {}, where its arguments are, and captured a tensor {}; move one of "
          "them with to()",
          entry.device.name(), where(t));
    }
    CompileOptions with_store = options;
    with_store.constants = constants_of(entry.device);
    executable = compile(graph, entry.device, with_store);
  }
  entry.executable = std::move(executable);
  entry.outputs = std::move(outputs);
  entry.sources = std::move(sources);
  entry.value = std::move(traced.value);
  entry.made = true;
}

TracedCalls::TracedCalls(CompileOptions options) : state_(std::make_unique<State>(std::move(options))) {
  if (state_->options.donate.empty()) return;
  throw InvalidArgument("compile: CompileOptions::donate names inputs and outputs of a Graph; a function has none");
}
TracedCalls::~TracedCalls() = default;

bool TracedCalls::inlines(std::span<const Tensor> arguments) {
  if (tracing()) return true;
  if (std::ranges::all_of(arguments, [](const Tensor& t) { return !t.defined() || find_data(t); })) return false;
  bool needs_input = false;
  const std::shared_lock lock(Node::recipes_lock());
  visit_nodes(arguments, [&](const Node& node) {
    needs_input = needs_input || node.op().input() || node.op().number();
    return !needs_input;
  });
  return needs_input;
}

TracedResults TracedCalls::call(std::string key, std::vector<Tensor> arguments, const Trace& trace) {
  evaluate(arguments);
  const Device device = device_of(arguments);
  put_number(key, device.is_gpu() ? reinterpret_cast<std::uintptr_t>(&device.gpu().impl()) : 0);
  for (const Tensor& t : arguments) {
    put_number(key, t.defined());
    if (t.defined()) put_type(key, t.type());
  }
  const std::shared_ptr<Entry> entry = state_->entry_of(key, device);
  {
    // Threads that want the same one wait for one of them.
    const std::lock_guard lock(entry->making);
    if (!entry->made) state_->make(*entry, arguments, trace);
  }
  std::vector<Tensor> outputs;
  if (entry->executable) {
    for (const TensorType& type : entry->outputs) outputs.emplace_back(device, type.dtype, type.shape);
    std::vector<Tensor> inputs;
    std::ranges::copy_if(arguments, std::back_inserter(inputs), &Tensor::defined);
    entry->run_ahead.submitted(entry->executable.run(inputs, outputs));
  }
  TracedResults results{entry->value, {}};
  for (const Source& s : entry->sources) {
    switch (s.kind) {
      case Source::Kind::undefined:
        results.tensors.emplace_back();
        break;
      case Source::Kind::argument:
        results.tensors.push_back(arguments[s.index]);
        break;
      case Source::Kind::captured:
        results.tensors.push_back(s.tensor);
        break;
      case Source::Kind::computed:
        results.tensors.push_back(outputs[s.index]);
        break;
    }
  }
  return results;
}

std::size_t TracedCalls::cached() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<std::size_t>(
      std::ranges::count_if(state_->entries, [](const auto& e) { return e.second->made.load(); }));
}

void TracedCalls::clear() {
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries;  // dropped after the lock
  const std::lock_guard lock(state_->mutex);
  entries.swap(state_->entries);
  state_->stores.clear();
}

}  // namespace detail
}  // namespace weft
