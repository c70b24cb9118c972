#include "graph/node.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <source_location>
#include <unordered_set>

#include "core/error_context.h"
#include "core/format.h"
#include "core/in_quotes.h"
#include "core/inline_list.h"
#include "weft/error.h"
#include "weft/label.h"

namespace weft {
namespace {

std::atomic<std::uint64_t> sequences{0};

// Nodes that this thread will delete after the one that it is deleting, so that long chains need no recursion.
thread_local const Node* waiting = nullptr;
thread_local bool deleting = false;

// The joined label of the thread's label scopes; null: there are none.
thread_local const std::string* scope_label = nullptr;

// How many arguments of this thread's calls exist now, and the line of the outermost call.
thread_local int operand_depth = 0;
thread_local SourceLine call_line;

// Whether the file is one of Weft's own sources: calls from there are not recorded as lines of the user's program.
bool is_own(const char* file) {
  static const std::string_view root = [] {
    const std::string_view here = std::source_location::current().file_name();
    return here.substr(0, here.size() - std::string_view("graph/node.cc").size());
  }();
  // Most calls come from the file of the call before.
  thread_local std::pair<const char*, bool> last{nullptr, false};
  if (last.first != file) last = {file, std::string_view(file).starts_with(root)};
  return last.second;
}

}  // namespace

Tensor Node::make(OpPtr op, std::span<const Tensor> inputs, std::span<const TensorType> types) {
  static_assert(alignof(Node) % alignof(TensorType) == 0 && alignof(TensorType) % alignof(Tensor) == 0);
  static_assert(std::is_trivially_destructible_v<TensorType>);
  void* const memory =
      ::operator new(sizeof(Node) + types.size() * sizeof(TensorType) + inputs.size() * sizeof(Tensor));
  return (new (memory) Node(std::move(op), inputs, types))->value();
}

Node::Node(OpPtr op, std::span<const Tensor> inputs, std::span<const TensorType> types)
    : op_(std::move(op)),
      type_count_(static_cast<std::uint32_t>(types.size())),
      input_count_(static_cast<std::uint32_t>(inputs.size())),
      sequence_(sequences.fetch_add(1, std::memory_order_relaxed)),
      line_(operand_depth > 0 ? call_line : SourceLine{}),
      label_(scope_label) {
  std::ranges::uninitialized_copy(types, std::span(types_begin(), types.size()));
  std::ranges::uninitialized_copy(inputs, std::span(inputs_begin(), inputs.size()));
  for (const Tensor& v : inputs) {
    v.node()->uses_.fetch_add(1, std::memory_order_release);
    const DifferentiationPtr& run = v.node()->differentiation();
    if (!run || run == differentiation_ || !run->active()) continue;
    if (!differentiation_ || run->depth() > differentiation_->depth()) differentiation_ = run;
  }
}

Node::~Node() {
  if (differentiation_) differentiation_->forget(*this);
  end_inputs(input_count_);
  delete[] results_.load(std::memory_order_relaxed);
}

void Node::end_inputs(std::uint32_t count) const {
  const std::span inputs(inputs_begin(), count);
  for (const Tensor& v : inputs) v.node()->uses_.fetch_sub(1, std::memory_order_release);
  std::ranges::destroy(inputs);
}

std::optional<NodePtr> Node::retain_if_alive() const {
  std::int64_t owners = owners_.load(std::memory_order_relaxed);
  while (owners > 0 && !owners_.compare_exchange_weak(owners, owners + 1, std::memory_order_relaxed)) {
  }
  if (owners <= 0) return std::nullopt;
  NodePtr held;
  held.node_ = this;
  return held;
}

void Operand::begin(const std::source_location& line) {
  if (!node()) return;
  counted_ = true;
  node()->begin_operand();
  if (operand_depth++ > 0) return;
  call_line = is_own(line.file_name()) ? SourceLine{} : SourceLine{line.file_name(), line.line()};
}

void Operand::end() {
  if (!counted_) return;
  if (node()) node()->end_operand();
  --operand_depth;
}

std::string recorded_at(const SourceLine& line) {
  if (!line.file || !*line.file) return {};
  const std::string_view path = line.file;
  return std::format(" (recorded at {}:{})", path.substr(path.find_last_of("/\\") + 1), line.number);
}

std::uint64_t Node::next_sequence() { return sequences.load(std::memory_order_relaxed); }

void Node::destroy() const {
  next_ = std::exchange(waiting, this);
  if (deleting) return;
  deleting = true;
  while (const Node* node = waiting) {
    waiting = node->next_;
    node->~Node();
    ::operator delete(const_cast<Node*>(node));
  }
  deleting = false;
}

std::vector<TensorType> Node::input_types() const {
  std::vector<TensorType> types;
  types.reserve(input_count_);
  for (const Tensor& v : inputs()) types.push_back(v.type());
  return types;
}

std::vector<std::span<const Tensor>> Node::input_groups() const {
  std::vector<std::span<const Tensor>> groups;
  std::span<const Tensor> rest = inputs();
  for (const int count : op_->operand_groups()) {
    groups.push_back(rest.first(static_cast<std::size_t>(count)));
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  for (; !rest.empty(); rest = rest.subspan(1)) groups.push_back(rest.first(1));
  return groups;
}

void Node::set_data(std::span<const DataPtr> data) const {
  std::unique_ptr<DataPtr[]> made(new DataPtr[data.size()]);
  std::ranges::copy(data, made.get());
  const DataPtr* none = nullptr;
  if (results_.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) (void)made.release();
}

std::shared_mutex& Node::graph_mutex() {
  static auto& lock = *new std::shared_mutex;
  return lock;
}

void Node::release_inputs() const {
  if (differentiation() && has_data() && differentiation_->keep(*this)) return;
  std::uint32_t dropped = 0;  // which end after the lock is released
  {
    const std::unique_lock lock(graph_mutex());
    if (has_data() && retainers_.load(std::memory_order_relaxed) == 0) dropped = std::exchange(input_count_, 0);
  }
  end_inputs(dropped);
}

std::vector<Tensor> results_of(const Tensor& t) {
  std::vector<Tensor> all;
  for (int i = 0; i < static_cast<int>(t.node()->types().size()); ++i) all.push_back(result(t, i));
  return all;
}

void Node::end_differentiation() const {
  if (!differentiation_ || differentiation_ended_.exchange(true)) return;
  differentiation_->forget(*this);
  if (has_data()) release_inputs();
}

RetainedInputs::~RetainedInputs() {
  for (const NodePtr& node : nodes_) node->end_retaining();
}

namespace {

struct DonatedNodes {
  std::unordered_set<const Node*> nodes;
  std::condition_variable_any released;
};
DonatedNodes& donated() {
  static auto& all = *new DonatedNodes;
  return all;
}

}  // namespace

void PendingDonations::add(const Node& node) {
  if (donated().nodes.insert(&node).second) nodes_.push_back(&node);
}

void PendingDonations::release() {
  if (nodes_.empty()) return;
  {
    const std::unique_lock lock(Node::graph_mutex());
    for (const Node* node : nodes_) donated().nodes.erase(node);
  }
  nodes_.clear();
  donated().released.notify_all();
}

bool PendingDonations::any() { return !donated().nodes.empty(); }
bool PendingDonations::contains(const Node& node) { return donated().nodes.contains(&node); }
void PendingDonations::wait(std::unique_lock<std::shared_mutex>& lock) { donated().released.wait(lock); }

void RetainedInputs::retain(std::span<const Node* const> nodes) {
  nodes_.reserve(nodes.size());
  for (const Node* node : nodes) {
    node->begin_retaining();
    nodes_.emplace_back(*node);
  }
}

Tensor::Tensor(const Node* node, int index) : node_(node), index_(index) {
  if (node_) node_->retain();
}
Tensor::Tensor(const Tensor& other) : Tensor(other.node_, other.index_) {}
Tensor::~Tensor() {
  if (node_) node_->release();
}

const TensorType& Tensor::type_for(std::string_view method) const {
  if (!node_) throw InvalidArgument("{}: the operand is an undefined Tensor, which stands for no tensor", method);
  return node_->types()[static_cast<std::size_t>(index_)];
}

Tensor apply(OpPtr op, std::span<const Tensor> operands) {
  InlineList<TensorType, 4> types;
  for (const Tensor& v : operands) {
    if (!v.defined()) throw InvalidArgument("{}: an operand is an undefined Tensor", op->name());
    types.push_back(v.type());
  }
  const auto infer = [&] {
    std::vector<TensorType> results = op->infer(types);
    in_context([&] { return op->name(); },
               [&] {
                 for (const TensorType& t : results) element_count(t.shape);
               });
    return results;
  };
  const std::vector<TensorType> results =
      scope_label ? in_context([] { return in_quotes(*scope_label); }, infer) : infer();
  return Node::make(std::move(op), operands, results);
}

const std::string* interned_label(std::string_view text) {
  static std::mutex mutex;
  static auto& all = *new std::set<std::string, std::less<>>();
  const std::string whole = scope_label ? std::format("{}.{}", *scope_label, text) : std::string(text);
  if (whole.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  return &*all.insert(whole).first;
}

WithoutLabelScope::WithoutLabelScope()
    : before_(std::exchange(scope_label, nullptr)),
      depth_before_(std::exchange(operand_depth, 0)),
      line_before_(call_line) {}
WithoutLabelScope::~WithoutLabelScope() {
  scope_label = before_;
  operand_depth = depth_before_;
  call_line = line_before_;
}

AsNodeScope::AsNodeScope(const Node& node, std::string_view word)
    : before_(scope_label), depth_before_(std::exchange(operand_depth, 1)), line_before_(call_line) {
  call_line = node.line();
  const std::string* label = node.label();
  scope_label = nullptr;
  if (label)
    scope_label = word.empty() || label->ends_with(word) ? label : interned_label(*label + " " + std::string(word));
}
AsNodeScope::~AsNodeScope() {
  scope_label = before_;
  operand_depth = depth_before_;
  call_line = line_before_;
}

LabelScope::LabelScope(std::string_view label) : before_(scope_label) { scope_label = interned_label(label); }
LabelScope::~LabelScope() { scope_label = before_; }

SourceLineScope::SourceLineScope(const char* file, std::uint32_t line)
    : file_before_(call_line.file), line_before_(call_line.number), depth_before_(std::exchange(operand_depth, 1)) {
  call_line = {file, line};
}
SourceLineScope::~SourceLineScope() {
  operand_depth = depth_before_;
  call_line = {file_before_, line_before_};
}

std::string Tensor::label() const { return node_ && node_->label() ? *node_->label() : std::string(); }

Tensor& Tensor::set_label(std::string_view label) {
  (void)type_for("set_label");
  node_->set_label(interned_label(label));
  return *this;
}

}  // namespace weft
