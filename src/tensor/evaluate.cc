#include "weft/evaluate.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "compiler/device_data.h"
#include "core/in_quotes.h"
#include "graph/graph.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/leaf.h"
#include "weft/compile.h"
#include "weft/error.h"

namespace weft {
namespace {

// What one evaluation computes: the nodes between tensors with data and those that are wanted, in the order in which
// they were made. The key says all of it but the data and the numbers.
class Expressions {
 public:
  explicit Expressions(std::span<const Tensor> wanted) {
    const std::shared_lock lock(Node::recipes_lock());
    std::vector<const Node*> roots;
    for (const Tensor& t : wanted) {
      const Node* root = &stored_by(*t.node());
      if (!has_data(*root)) roots.push_back(root);
    }
    if (roots.empty()) return;
    collect(roots);
    choose_results(roots);
    pin(roots);
    describe();
  }

  bool empty() const { return results_.empty(); }
  const std::string& key() const { return key_; }
  const std::vector<Tensor>& leaves() const { return leaves_; }
  const std::vector<Number>& numbers() const { return numbers_; }
  std::vector<TensorType> result_types() const {
    std::vector<TensorType> types;
    for (const NodePtr& node : results_) types.insert(types.end(), node->types().begin(), node->types().end());
    return types;
  }

  // The graph whose inputs, numbers and outputs are the leaves, numbers and results, in order.
  Graph graph() const {
    const WithoutLabelScope none;
    Graph graph;
    std::unordered_map<const Node*, Tensor> made;
    std::size_t leaf = 0, number = 0;
    const auto at = [&](const Tensor& v) {
      const Tensor& first = made.at(v.node());
      return v.index() == 0 ? first : result(first, v.index());
    };
    std::unordered_map<const Node*, std::vector<Tensor>> data;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      std::vector<Tensor>& results = data[leaves_[i].node()];
      results.resize(std::max<std::size_t>(results.size(), static_cast<std::size_t>(leaves_[i].index()) + 1));
      results[static_cast<std::size_t>(leaves_[i].index())] =
          graph.input(std::format("i{}", leaf++), leaves_[i].dtype(), leaves_[i].shape());
    }
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const Node* node = nodes_[k];
      if (leaf_[k]) continue;
      if (is_number(*node)) {
        made.emplace(node, graph.number(std::format("n{}", number++), node->types()[0].dtype));
        continue;
      }
      std::vector<Tensor> operands;
      for (const Tensor& v : node->inputs()) {
        const auto it = data.find(v.node());
        operands.push_back(it != data.end() ? it->second[static_cast<std::size_t>(v.index())] : at(v));
      }
      const Tensor value = apply(node->shared_op(), std::move(operands));
      if (node->label()) value.node()->set_label(node->label());
      made.emplace(node, value);
    }
    int output = 0;
    for (const NodePtr& node : results_) {
      for (std::size_t i = 0; i < node->types().size(); ++i) {
        graph.output(std::format("o{}", output++), result(made.at(node.get()), static_cast<int>(i)));
      }
    }
    return graph;
  }

  // Gives the results their data, and lets go of what led to them.
  void finish(std::span<const Tensor> data) {
    for (const NodePtr& node : results_) {
      std::vector<DataPtr> own;
      for (std::size_t i = 0; i < node->types().size(); ++i) {
        own.push_back(data[i].node()->op().data_op()->data_ptr());
      }
      data = data.subspan(own.size());
      node->set_data(std::move(own));
    }
    pins_.reset();
    for (const NodePtr& node : results_) node->drop_recipe();
  }

 private:
  static bool has_data(const Node& node) { return node.op().data_op() || node.has_data(); }
  // A constant of rank 0 travels as a number, if it can.
  static std::optional<Number> number_of(const Node& node) {
    const TensorType& type = node.types()[0];
    const ConstantOp* constant = node.op().constant();
    if (!constant || type.shape.rank() != 0 || bits(type.dtype) < 8) return std::nullopt;
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
  static bool is_number(const Node& node) { return number_of(node).has_value(); }
  // A view has no memory of its own: what it shows is stored by another node.
  static const Node& stored_by(const Node& node) {
    const Node* stored = &node;
    while (!has_data(*stored) && stored->op().is_view()) stored = stored->inputs()[0].node();
    return *stored;
  }

  void collect(std::span<const Node* const> roots) {
    const auto reach = [&](const Node& node) {
      if (places_.insert(node, 0)) nodes_.push_back(&node);
    };
    for (const Node* root : roots) reach(*root);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const Node& node = *nodes_[k];
      if (has_data(node)) continue;
      if (node.op().input() || node.op().number()) {
        throw InvalidArgument("eval: {} of a Graph is needed, which has values only in a run of its executable",
                              node.op().input() ? "input " + in_quotes(node.op().input()->input_name())
                                                : "number " + in_quotes(node.op().number()->number_name()));
      }
      for (const Tensor& v : node.inputs()) reach(*v.node());
    }
    std::ranges::sort(nodes_, {}, &Node::sequence);
    leaf_.resize(nodes_.size());
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      places_.set(*nodes_[k], static_cast<int>(k));
      leaf_[k] = has_data(*nodes_[k]);
    }
  }

  // Whether it had data when that was asked once and for all: other threads may be computing it.
  bool is_leaf(const Node& node) const { return leaf_[place_of(node)] != 0; }
  std::size_t place_of(const Node& node) const { return static_cast<std::size_t>(places_.find(node)); }

  // What is wanted, and what somebody holds beside the expression itself.
  void choose_results(std::span<const Node* const> roots) {
    std::vector<std::int64_t> uses(nodes_.size(), 0);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (leaf_[k]) continue;
      for (const Tensor& v : nodes_[k]->inputs()) ++uses[place_of(*v.node())];
    }
    std::vector<char> stored(nodes_.size(), 0);
    for (const Node* root : roots) stored[place_of(*root)] = 1;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const Node* by = nodes_[k];
      if (by->owners() <= uses[k] || leaf_[k] || by->op().constant()) continue;
      while (!is_leaf(*by) && by->op().is_view()) by = by->inputs()[0].node();
      if (!by->op().constant()) stored[place_of(*by)] = 1;
    }
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (stored[k] && !leaf_[k]) results_.emplace_back(*nodes_[k]);
    }
  }

  void pin(std::span<const Node* const> roots) {
    // The lock is held shared already.
    pins_ = std::make_unique<RecipePins>();
    for (const Node* root : roots) pins_->pin_locked(*root);
  }

  void describe() {
    // Numbers of the computed nodes, which are the same for equal expressions.
    std::vector<std::uint64_t> ids(nodes_.size(), 0);
    std::uint64_t computed = 0;
    std::map<std::pair<const Node*, int>, std::size_t> leaf_ids;
    const auto put = [&](std::uint64_t v) {
      do key_ += static_cast<char>((v & 127) | (v > 127 ? 128 : 0));
      while (v >>= 7);
    };
    const auto put_type = [&](const TensorType& type) {
      put(static_cast<std::uint64_t>(type.dtype));
      put(static_cast<std::uint64_t>(type.shape.rank()));
      for (const std::int64_t n : type.shape) put(static_cast<std::uint64_t>(n));
    };
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const Node& node = *nodes_[k];
      if (leaf_[k]) continue;
      ids[k] = computed++;
      if (const auto number = number_of(node)) {
        key_ += 'n';
        put_type(node.types()[0]);
        numbers_.push_back(*number);
        continue;
      }
      const std::string identity = node.op().identity();
      key_ += 'o';
      put(identity.size());
      key_ += identity;
      put(node.inputs().size());
      for (const Tensor& v : node.inputs()) {
        const std::size_t place = place_of(*v.node());
        if (leaf_[place]) {
          const auto [it, fresh] = leaf_ids.emplace(std::pair(v.node(), v.index()), leaves_.size());
          key_ += 'd';
          put(it->second);
          if (!fresh) continue;
          leaves_.push_back(v);
          put_type(v.type());
        } else {
          key_ += 'e';
          put(ids[place]);
          put(static_cast<std::uint64_t>(v.index()));
        }
      }
      for (const TensorType& type : node.types()) put_type(type);
    }
    key_ += 'r';
    for (const NodePtr& node : results_) put(ids[place_of(*node)]);
  }

  std::vector<const Node*> nodes_;
  NodeIds places_;
  std::vector<char> leaf_;
  std::vector<NodePtr> results_;
  std::unique_ptr<RecipePins> pins_;
  std::vector<Tensor> leaves_;
  std::vector<Number> numbers_;
  std::string key_;
};

// The executables of expressions on a device. They share their constants and the memory of their intermediates.
class Executables {
 public:
  explicit Executables(const Device& device) : device_(device) { options_.constants = make_constant_store(device); }
  const Device& device() const { return device_; }

  Executable get(const Expressions& expressions) {
    std::shared_ptr<Entry> entry;
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<Entry>& slot = entries_[expressions.key()];
      if (!slot) slot = std::make_shared<Entry>();
      slot->used = ++now_;
      entry = slot;
      if (entries_.size() > kMost) drop_older_half();
    }
    // Threads that want the same one wait for one compilation.
    const std::lock_guard lock(entry->making);
    if (!entry->executable) entry->executable = compile(expressions.graph(), device_, options_);
    return entry->executable;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  struct Entry {
    std::uint64_t used = 0;
    std::mutex making;
    Executable executable;
  };

  void drop_older_half() {
    const std::uint64_t oldest = now_ - kMost / 2;
    std::erase_if(entries_, [&](const auto& e) { return e.second->used < oldest; });
  }

  const Device device_;
  CompileOptions options_;
  std::mutex mutex_;
  std::uint64_t now_ = 0;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;
};

// Executables hold their device, so that of the devices that were used only the last few stay open for this.
std::shared_ptr<Executables> executables_of(const Device& device) {
  constexpr std::size_t kDevices = 4;
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::vector<std::shared_ptr<Executables>>;  // the last used first
  std::vector<std::shared_ptr<Executables>> closed;                   // after the lock
  const std::lock_guard lock(mutex);
  auto it = std::ranges::find_if(all, [&](const auto& e) { return e->device() == device; });
  if (it == all.end()) it = all.insert(all.end(), std::make_shared<Executables>(device));
  std::rotate(all.begin(), it, it + 1);
  for (std::size_t i = all.size(); i-- > 1;) {
    const bool lost = all[i]->device().is_gpu() && all[i]->device().gpu().lost();
    if (!lost && i < kDevices) continue;
    closed.push_back(std::move(all[i]));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return all.front();
}

struct Default {
  std::mutex mutex;
  std::optional<Device> device;
};
Default& the_default() {
  static auto& value = *new Default;
  return value;
}

// Where the leaves are. Throws InvalidArgument if that is not one device.
Device device_of(std::span<const Tensor> leaves) {
  if (leaves.empty()) return default_device();
  const Tensor& first = leaves[0];
  for (const Tensor& t : leaves.subspan(1)) {
    if (t.device() == first.device()) continue;
    throw InvalidArgument("eval: {} is on {}, {} on {}; move one of them", to_string(first.type()),
                          first.device().name(), to_string(t.type()), t.device().name());
  }
  return first.device();
}

}  // namespace

void eval(std::span<const Tensor> tensors) {
  for (const Tensor& t : tensors) (void)t.type();  // throws for an undefined one
  Expressions expressions(tensors);
  if (expressions.empty()) return;
  const Device device = device_of(expressions.leaves());
  Executable executable = executables_of(device)->get(expressions);
  std::vector<Tensor> results;
  for (const TensorType& type : expressions.result_types()) results.emplace_back(device, type.dtype, type.shape);
  executable.run(expressions.leaves(), results, expressions.numbers());
  expressions.finish(results);
}

Tensor to(const Tensor& x, const Device& device) {
  const Tensor dense = contiguous(x);
  eval(dense);
  if (dense.device() == device) return dense;
  Tensor copy(device, x.dtype(), x.shape());
  const gpu::ReadBytes bytes = data_of(dense).async_read().get();
  copy.write(bytes);
  return copy;
}

Tensor contiguous(const Tensor& x) {
  if (!x.defined()) throw InvalidArgument("contiguous: the operand is an undefined Tensor");
  if (x.has_data() || !x.node()->op().is_view()) return x;
  return apply(copy_op(x.dtype()), {x});
}

Device default_device() {
  Default& d = the_default();
  const std::lock_guard lock(d.mutex);
  if (!d.device) d.device = Device::open();
  return *d.device;
}

void set_default_device(const Device& device) {
  Default& d = the_default();
  const std::lock_guard lock(d.mutex);
  d.device = device;
}

Tensor full(const Shape& shape, Number value, DType dtype) {
  return broadcast_to(Graph::scalar(value, dtype), shape);
}

Tensor tensor(DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  Tensor t(default_device(), dtype, shape);
  t.write(bytes);
  return t;
}

}  // namespace weft
