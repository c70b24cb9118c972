#include "weft/traced.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "compiler/compile_now.h"
#include "compiler/device_data.h"
#include "compiler/forms.h"
#include "core/format.h"
#include "graph/differentiation.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "graph/walk.h"
#include "tensor/key.h"
#include "tensor/pending_graph.h"
#include "tensor/run_ahead.h"
#include "tensor/tracing.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/log.h"

namespace weft {
namespace {

thread_local int tracing_depth = 0;

}  // namespace

bool tracing() { return tracing_depth > 0; }
TracingScope::TracingScope() { ++tracing_depth; }
TracingScope::~TracingScope() { --tracing_depth; }

namespace detail {
namespace {

// A constant, or views of one, which take no time in a call.
bool shows_constant(const Node& node) { return stored_by(node).op().constant() != nullptr; }

// Evaluates what the results need of tensors that were made before the trace began, which are those that the function
// captured; on the device if they depend on no data.
void evaluate_captured(std::span<const Tensor> results, std::uint64_t began, const Device& device) {
  std::vector<Tensor> captured;
  {
    const std::shared_lock lock(Node::graph_mutex());
    NodeIds seen;
    const auto stop = [&](const Node& node) { return at_data(node) || node.sequence() < began; };
    for (const Node* node : reach(results, seen, stop)) {
      if (!stop(*node) || at_data(*node) || shows_constant(*node)) continue;
      captured.push_back(node->value());
    }
  }
  eval_on(captured, device);
}

// The tensors that a trace captured: those that it needs and that were there before it began. All compiled functions of
// the process hold each of them once, so that it can be told when there is no other handle: then the variable that held
// it was given another tensor.
class Captures {
 public:
  Captures(std::span<const Tensor> results, std::uint64_t began) {
    const std::shared_lock retained(Node::graph_mutex());
    NodeIds seen;
    const auto stop = [&](const Node& node) { return node.sequence() < began; };
    Held& held = all_held();
    const std::lock_guard lock(held.mutex);
    for (const Node* node : reach(results, seen, stop)) {
      if (!stop(*node)) continue;
      nodes_.push_back(node);
      ++held.nodes.try_emplace(node, NodePtr(*node), 0).first->second.second;
    }
  }
  ~Captures() {
    std::vector<NodePtr> dropped;  // after the lock
    Held& held = all_held();
    const std::lock_guard lock(held.mutex);
    for (const Node* node : nodes_) {
      const auto it = held.nodes.find(node);
      if (--it->second.second > 0) continue;
      dropped.push_back(std::move(it->second.first));
      held.nodes.erase(it);
    }
  }
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  bool replaced() const {
    return std::ranges::any_of(nodes_, [](const Node* node) { return node->handles() == 1; });
  }

 private:
  struct Held {
    std::mutex mutex;
    std::unordered_map<const Node*, std::pair<NodePtr, int>> nodes;  // and how many captures hold it
  };
  static Held& all_held() {
    static auto& value = *new Held;
    return value;
  }
  std::vector<const Node*> nodes_;
};

// Where a result comes from.
struct Source {
  enum class Kind : std::uint8_t { undefined, argument, captured, made, computed } kind = Kind::undefined;
  std::size_t index = 0;  // among the arguments, or among the outputs of the executable; of a captured node
  const Node* captured = nullptr;
  Tensor made;  // with data, while it was traced
};

// What a trace became.
struct Made {
  Made(std::span<const Tensor> results, std::uint64_t began) : captures(results, began) {}
  const Captures captures;
  Executable executable;  // none if nothing is computed
  std::vector<TensorType> outputs;
  std::vector<Source> sources;                                 // of each result
  std::vector<std::pair<std::size_t, std::size_t>> donations;  // (output, argument whose memory it takes)
  std::shared_ptr<const void> value;
};

struct Entry {
  explicit Entry(const Device& d) : device(d) {}
  const Device device;  // in the key by its address, which this keeps from being used again
  RunAhead run_ahead;
  compiler::MadeOnce<std::shared_ptr<Made>> made;
};

// An argument as the function sees it, and as the executable gets it.
struct Argument {
  Tensor seen;
  Tensor given;                // with data: of axes that are only broadcast, one element
  std::vector<int> broadcast;  // those axes
  bool donated = false;
};

bool is_lost(const Device& device) { return device.is_gpu() && device.gpu().lost(); }

std::string where(const Tensor& t) { return std::format("{} on {}", to_string(t.type()), t.device().name()); }

// The device of the arguments, which have data. Throws DeviceError.
Device device_of(std::span<const Argument> arguments) {
  const Tensor* first = nullptr;
  for (const auto& [seen, t, axes, donated] : arguments) {
    if (!t.defined()) continue;
    if (!first) first = &t;
    if (t.device() == first->device()) continue;
    throw DeviceError("a compiled function's arguments are on two devices: {}, and {}; move one of them with to()",
                      where(*first), where(t));
  }
  return first ? first->device() : default_device();
}

// The axes along which a view shows the same elements again and again.
std::vector<int> broadcast_axes(const Tensor& view) {
  const std::shared_lock lock(Node::graph_mutex());
  std::vector<const Op*> views;
  const Node* at = view.node();
  for (; !at->is_computed() && at->op().is_view(); at = at->inputs()[0].node()) {
    views.push_back(&at->op());
    if (at->inputs()[0].index() != 0) return {};
  }
  Layout layout = Layout::dense(at->types()[0].shape);
  for (std::size_t i = views.size(); i-- > 0;) {
    const auto shown = views[i]->view_layout(layout);
    if (!shown) return {};
    layout = shown->layout;
  }
  std::vector<int> axes;
  for (int d = 0; d < layout.rank(); ++d) {
    if (layout.shape[d] > 1 && layout.strides[d] == 0) axes.push_back(d);
  }
  return axes;
}

// Evaluates the arguments, all at once. Views, which have no data of their own, become copies, but for axes that are
// broadcast.
std::vector<Argument> evaluate(std::span<const Tensor> arguments) {
  std::vector<Argument> all;
  std::vector<Tensor> missing;
  for (const Tensor& t : arguments) {
    Argument& a = all.emplace_back(Argument{t, t, {}, false});
    if (!t.defined() || find_data(t)) continue;
    a.broadcast = broadcast_axes(t);
    for (const int axis : a.broadcast) a.given = slice(a.given, axis, 0, 1);
    a.given = contiguous(a.given);
    if (a.broadcast.empty()) a.seen = a.given;
    missing.push_back(a.given);
  }
  if (!missing.empty()) eval(missing);
  return all;
}

// Whether nobody has the argument's data but the call and one handle of the caller's.
bool may_donate(const Argument& a) {
  if (!a.given.defined() || !a.broadcast.empty() || !same(a.seen, a.given)) return false;
  const Node& node = *a.given.node();
  constexpr int kOwn = 3;  // seen, given, the caller's
  if (node.types().size() != 1 || node.owners() > kOwn) return false;
  const DataOp* op = node.op().data_op();
  const DataPtr& data = op ? op->data_ptr() : node.data(0);
  return data && data.use_count() == 1 && static_cast<const DeviceData*>(data.get())->alone();
}

// Outputs in the memory of donated arguments of their types.
std::vector<std::pair<std::size_t, std::size_t>> donations_of(const Made& made, std::span<const Argument> arguments) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const auto returned = [&](std::size_t k) {
    return std::ranges::any_of(made.sources,
                               [&](const Source& s) { return s.kind == Source::Kind::argument && s.index == k; });
  };
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (!arguments[k].donated || returned(k)) continue;
    for (std::size_t j = 0; j < made.outputs.size(); ++j) {
      if (made.outputs[j] != arguments[k].given.type()) continue;
      if (std::ranges::find(pairs, j, &std::pair<std::size_t, std::size_t>::first) != pairs.end()) continue;
      pairs.emplace_back(j, k);
      break;
    }
  }
  return pairs;
}

}  // namespace

struct TracedCalls::State {
  explicit State(CompileOptions o) : options(std::move(o)) {}
  static constexpr std::size_t kMost = 256;

  std::shared_ptr<Entry> entry_of(std::string key, const Device& device);
  std::shared_ptr<ConstantStore> constants_of(const Device& device);
  std::shared_ptr<Made> make(const Device& device, std::span<const Argument> arguments, const Trace& trace);

  const CompileOptions options;
  std::once_flag told;  // that functions are traced again
  compiler::Forms<std::string, Entry> forms{kMost};
  std::mutex mutex;  // of what follows
  std::vector<std::pair<Device, std::shared_ptr<ConstantStore>>> stores;
};

std::shared_ptr<Entry> TracedCalls::State::entry_of(std::string key, const Device& device) {
  bool is_new = false;
  std::shared_ptr<Entry> entry = forms.find(std::move(key), [&] {
    is_new = true;
    return std::make_shared<Entry>(device);
  });
  if (is_new) forms.drop_if([](const std::string&, const Entry& e) { return is_lost(e.device); });
  return entry;
}

std::shared_ptr<ConstantStore> TracedCalls::State::constants_of(const Device& device) {
  if (options.constants) return options.constants;
  const std::lock_guard lock(mutex);
  std::erase_if(stores, [](const auto& s) { return is_lost(s.first); });
  const auto it = std::ranges::find(stores, device, &std::pair<Device, std::shared_ptr<ConstantStore>>::first);
  return it != stores.end() ? it->second : stores.emplace_back(device, make_constant_store(device)).second;
}

std::shared_ptr<Made> TracedCalls::State::make(const Device& device, std::span<const Argument> arguments,
                                               const Trace& trace) {
  Graph graph;
  std::vector<Tensor> stand_ins;
  const std::uint64_t began = Node::next_sequence();
  for (const auto& [seen, t, axes, donated] : arguments) {
    Tensor& stand_in = stand_ins.emplace_back();
    if (!t.defined()) continue;
    stand_in = graph.input(std::format("argument {}", stand_ins.size() - 1), t.dtype(), t.shape());
    if (!axes.empty()) stand_in = broadcast_to(stand_in, seen.shape());
  }
  TracedResults traced;
  {
    const TracingScope scope;
    traced = trace(stand_ins);
  }
  evaluate_captured(traced.tensors, began, device);
  auto made = std::make_shared<Made>(traced.tensors, began);
  std::vector<Source>& sources = made->sources;
  std::vector<TensorType>& outputs = made->outputs;
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
      sources.push_back({Source::Kind::argument, argument->second});
    } else if (t.node()->is_computed() && t.node()->sequence() < began) {
      sources.push_back({Source::Kind::captured, static_cast<std::size_t>(t.index()), t.node()});
    } else if (t.node()->is_computed()) {
      sources.push_back({Source::Kind::made, 0, nullptr, t});
    } else {
      const auto [it, fresh] = output_of.emplace(std::pair(t.node(), t.index()), outputs.size());
      if (fresh) {
        graph.output(std::format("result {}", outputs.size()), t);
        outputs.push_back(t.type());
      }
      sources.push_back({Source::Kind::computed, it->second});
    }
  }
  if (!outputs.empty()) {
    for (const Tensor& t : graph.impl().captured()) {
      if (t.device() == device) continue;
      throw DeviceError(
          "a compiled function runs on {}, where its arguments are, and captured a tensor {}; move one of "
          "them with to()",
          device.name(), where(t));
    }
    CompileOptions with_store = options;
    with_store.constants = constants_of(device);
    made->donations = donations_of(*made, arguments);
    for (const auto& [j, k] : made->donations) {
      with_store.donate.emplace_back(std::format("argument {}", k), std::format("result {}", j));
    }
    made->executable = compiler::compile_now(graph, device, with_store);
  }
  made->value = std::move(traced.value);
  return made;
}

TracedCalls::TracedCalls(CompileOptions options) : state_(std::make_unique<State>(std::move(options))) {
  if (state_->options.donate.empty()) return;
  throw InvalidArgument("compile: CompileOptions::donate names inputs and outputs of a Graph; a function has none");
}
TracedCalls::~TracedCalls() = default;

bool TracedCalls::inlines(std::span<const Tensor> arguments) {
  // A derivative goes through the function's operations.
  if (tracing() || differentiating()) return true;
  if (std::ranges::all_of(arguments, [](const Tensor& t) { return !t.defined() || find_data(t); })) return false;
  const std::shared_lock lock(Node::graph_mutex());
  NodeIds seen;
  return std::ranges::any_of(reach(arguments, seen, at_data),
                             [](const Node* node) { return node->op().input() || node->op().number(); });
}

TracedResults TracedCalls::call(std::string key, std::vector<Tensor> tensors, const Trace& trace,
                                std::span<const std::size_t> donated) {
  std::vector<Argument> arguments = evaluate(tensors);
  tensors.clear();
  for (const std::size_t k : donated) arguments[k].donated = may_donate(arguments[k]);
  const Device device = device_of(arguments);
  put_number(key, device.is_gpu() ? reinterpret_cast<std::uintptr_t>(&device.gpu().impl()) : 0);
  for (const auto& [seen, given, axes, is_donated] : arguments) {
    put_number(key, seen.defined());
    if (!seen.defined()) continue;
    if (!donated.empty()) put_number(key, is_donated);
    put_type(key, seen.type());
    put_number(key, axes.size());
    for (const int axis : axes) put_number(key, static_cast<std::uint64_t>(axis));
  }
  const std::shared_ptr<Entry> entry = state_->entry_of(std::move(key), device);
  const auto is_current = [&](const std::shared_ptr<Made>& made) {
    if (!made->captures.replaced()) return true;
    std::call_once(state_->told, [] {
      log(LogLevel::warning,
          "a compiled function is traced again, since a tensor that it captured was replaced; "
          "what changes from call to call costs less as an argument");
    });
    return false;
  };
  const std::shared_ptr<Made> made =
      entry->made.get(is_current, [&] { return state_->make(device, arguments, trace); });
  std::vector<Tensor> outputs;
  if (made->executable) {
    for (std::size_t j = 0; j < made->outputs.size(); ++j) {
      const auto donor = std::ranges::find(made->donations, j, &std::pair<std::size_t, std::size_t>::first);
      if (donor != made->donations.end())
        outputs.push_back(arguments[donor->second].given);
      else
        outputs.emplace_back(device, made->outputs[j].dtype, made->outputs[j].shape);
    }
    std::vector<Tensor> inputs;
    for (const Argument& a : arguments) {
      if (a.given.defined()) inputs.push_back(a.given);
    }
    entry->run_ahead.submitted(made->executable.run(inputs, outputs));
  }
  TracedResults results{made->value, {}};
  for (const Source& s : made->sources) {
    switch (s.kind) {
      case Source::Kind::undefined:
        results.tensors.emplace_back();
        break;
      case Source::Kind::argument:
        results.tensors.push_back(arguments[s.index].seen);
        break;
      case Source::Kind::captured:
        results.tensors.push_back(s.captured->value(static_cast<int>(s.index)));
        break;
      case Source::Kind::made:
        results.tensors.push_back(s.made);
        break;
      case Source::Kind::computed:
        results.tensors.push_back(outputs[s.index]);
        break;
    }
  }
  return results;
}

Graph TracedCalls::graph(std::span<const Tensor> arguments, const Trace& trace) {
  Graph graph;
  std::vector<Tensor> stand_ins;
  for (const Tensor& t : arguments) {
    Tensor& stand_in = stand_ins.emplace_back();
    if (t.defined()) {
      stand_in = graph.input(std::format("argument {}", stand_ins.size() - 1), t.dtype(), t.shape());
    }
  }
  const TracingScope scope;
  const std::vector<Tensor> results = trace(stand_ins).tensors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].defined()) graph.output(std::format("result {}", i), results[i]);
  }
  return graph;
}

std::size_t TracedCalls::cached() const {
  return state_->forms.count_if([](const Entry& e) { return e.made.is_made(); });
}

void TracedCalls::clear() {
  state_->forms.clear();
  std::vector<std::pair<Device, std::shared_ptr<ConstantStore>>> stores;  // dropped after the lock
  const std::lock_guard lock(state_->mutex);
  stores.swap(state_->stores);
}

}  // namespace detail
}  // namespace weft
