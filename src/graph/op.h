// An operation of the graph: the types of its results, the kernel that computes them, and what the compiler and
// transformations may do with it. These depend on no class of ops: they ask for the interfaces that an op has
// (graph/op_interfaces.h), each a group of hooks.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_interfaces.h"
#include "kernels/common/element_work.h"
#include "weft/attributes.h"
#include "weft/graph.h"
#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"
#include "weft/work.h"

namespace weft {

class ConstantOp;
class CustomDerivative;
class DataOp;
class InputOp;
class NumberOp;

// Data of a tensor. Layers above the graph derive from it.
class Data {
 public:
  virtual ~Data() = default;
};
using DataPtr = std::shared_ptr<const Data>;

// One launch of an op's kernels: its operands in memory, and the stream that the calls go to. `fusion`: the prologue
// and epilogue of an op that fuses them; their operands have the shapes of the tensors that they are combined with.
struct Launch {
  Stream& stream;
  std::span<const View> inputs;
  std::span<const View> outputs;
  kernels::Fusion fusion = {};
};

// A reduction without prologue or epilogue.
struct Reduction {
  ReduceKind op;
  std::span<const int> axes;  // ascending
  double correction = 0;      // of variance and deviation: comes off n
};

// `steps` times the arithmetic of `per_step`.
struct OwnWork {
  kernels::ElementWork per_step;
  double steps = 0;
  Arithmetic arithmetic = {};
};

// The formulas that passes recognise are made of these; an op says which one it is.
enum class OpPattern : std::uint8_t {
  none,
  matmul,
  conv,
  softmax,
  dequantized_weights,  // RewriteInterface::quantized_operands() says how
  reshape,
  permute,
  broadcast,
  repeat,
};

// A call on the cpu with all made that is the same in every run.
using PreparedCall = std::function<void(CpuExecutor&)>;

// Of the leaves: what a run is given, and what is known before it.
enum class LeafKind : std::uint8_t { none, input, constant, data, number };

class Op : public std::enable_shared_from_this<Op> {
 public:
  explicit Op(LeafKind leaf = LeafKind::none) : leaf_(leaf) {}
  virtual ~Op() { delete identity_.load(std::memory_order_relaxed); }
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  virtual std::string_view name() const = 0;
  // Lists its attributes, which the visitor must not change.
  virtual void visit(AttributeVisitor&) const {}
  // What distinguishes it from ops of the same name and attributes; not printed.
  virtual std::string hidden_identity() const { return {}; }

  // An attribute that is an integer or integers, by its name; nothing if the op has none of that name.
  std::optional<Dims> integers(std::string_view attribute) const;

  // Types of the results. Throws InvalidArgument when the operands do not fit.
  virtual std::vector<TensorType> infer(std::span<const TensorType> inputs) const = 0;

  // ---- Kinds
  // The leaves: inputs, constants, data and numbers. Null for all other ops.
  const InputOp* input() const;
  const ConstantOp* constant() const;
  const DataOp* data_op() const;
  const NumberOp* number() const;
  bool is_leaf() const { return leaf_ != LeafKind::none; }

  // The expression of an elementwise op, whose operands broadcast; null for all other ops.
  virtual const Expression* elementwise() const { return nullptr; }
  virtual std::optional<Reduction> reduction() const { return std::nullopt; }
  virtual OpPattern pattern() const { return OpPattern::none; }
  // True if element i of its result is i.
  virtual bool is_iota() const { return false; }
  // True if each element of the result is an unchanged element of operand 0: a view, a lookup, a repetition.
  virtual bool moves_elements() const { return is_view(); }
  // Adjacent operands that represent one tensor, such as packed values with their scales and zero points: the size of
  // each group. Empty: each operand is a group of its own.
  virtual std::vector<int> operand_groups() const { return {}; }
  // The results, made of other operations, from which derivatives, batching and fallbacks follow; empty: it is not made
  // of others.
  virtual std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const;

  // ---- Interfaces. An op that does not have one of the first four has the one whose hooks do nothing.
  virtual const FusionInterface& fusing() const { return kNoFusion; }
  virtual const RewriteInterface& rewriting() const { return kNoRewrites; }
  virtual const DerivativeInterface& derivatives() const { return kNoDerivatives; }
  virtual const BatchingInterface& batching() const { return kNoBatching; }
  virtual const ViewInterface* view() const { return nullptr; }
  virtual const ControlFlowInterface* control_flow() const { return nullptr; }
  virtual const ValueCheckInterface* value_check() const { return nullptr; }
  // Of an op by which a program gives derivatives of its own to results (ops/custom_derivative.h).
  virtual const CustomDerivative* custom_derivative() const { return nullptr; }

  bool is_view() const { return view() != nullptr; }
  // Of a view: that of operand 0 of layout `x`.
  std::optional<Placement> view_layout(const Layout& x) const { return view()->view_layout(x); }
  // Graphs that it owns: branches, the body of a loop. Verifying, printing, hashing and the passes walk into them.
  std::span<const std::shared_ptr<const Graph>> subgraphs() const {
    return control_flow() ? control_flow()->subgraphs() : std::span<const std::shared_ptr<const Graph>>();
  }

  // ---- Running
  // False if its kernels need dense operands and results; others are copied first.
  virtual bool takes_strides() const { return true; }
  // The same of one operand.
  virtual bool takes_strides_of([[maybe_unused]] std::size_t operand) const { return takes_strides(); }
  // Whether a result may overwrite that operand if both have the same layout: each element is written by the thread
  // that read it.
  virtual bool works_in_place([[maybe_unused]] std::size_t operand) const { return false; }
  // False if it has no CPU implementation, so that constants cannot be folded through it.
  virtual bool has_reference() const { return true; }

  // The same call on every device. Views may have any strides.
  virtual void lower(const Launch& call) const;
  // The call for views of the cpu whose buffers are given other memory from run to run (Buffer::point_at); null: there
  // is nothing to prepare, and each run calls lower(). The operands' views need not outlive this.
  virtual PreparedCall prepared(const Launch&) const { return nullptr; }
  // A reason why the stream's device cannot run the call, beyond what planning its kernels finds; nothing: it can.
  virtual std::optional<std::string> unsupported(const Launch&) const { return std::nullopt; }

  // The op's own arithmetic, to which work() adds that of prologue and epilogue; nothing: work() does not count it so.
  virtual std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const;
  // Bytes and arithmetic of `call`, for profiles and estimates: by default each operand is read or written once, with
  // the arithmetic of own_work() and cost(). The kernel's dispatches report the same.
  virtual Work work(const Launch& call) const;
  // The approximate time per element of the largest operand, in the unit of Expression::cost.
  virtual double cost() const { return 0; }

  // Its name in schedules and profiles: "matmul+bias+gelu_erf".
  virtual std::string label(std::span<const TensorType>) const { return std::string(name()); }

  // "softmax{axis=1}"; with the hidden fields the op's identity, which is made once.
  std::string to_string() const;
  const std::string& identity() const;

 private:
  const LeafKind leaf_ = LeafKind::none;
  mutable std::atomic<const std::string*> identity_{nullptr};
};

// An op whose attributes are a plain struct (weft/attributes.h), with the interfaces that it has.
template <class A, class... Interfaces>
class OpOf : public Op, public Interfaces... {
 public:
  using AttributesType = A;
  explicit OpOf(A attributes, LeafKind leaf = LeafKind::none) : Op(leaf), a(std::move(attributes)) {}
  void visit(AttributeVisitor& v) const final { const_cast<A&>(a).fields(v); }

  const FusionInterface& fusing() const final { return either<FusionInterface>(kNoFusion); }
  const RewriteInterface& rewriting() const final { return either<RewriteInterface>(kNoRewrites); }
  const DerivativeInterface& derivatives() const final { return either<DerivativeInterface>(kNoDerivatives); }
  const BatchingInterface& batching() const final { return either<BatchingInterface>(kNoBatching); }
  const ViewInterface* view() const final { return either<ViewInterface>(); }
  const ControlFlowInterface* control_flow() const final { return either<ControlFlowInterface>(); }
  const ValueCheckInterface* value_check() const final { return either<ValueCheckInterface>(); }
  // Of interfaces whose rules apply the op again.
  virtual OpPtr this_op() const { return shared_from_this(); }

  const A a;

 private:
  template <class I>
  static constexpr bool has = (std::is_base_of_v<I, Interfaces> || ...);
  template <class I>
  const I& either(const I& none) const {
    if constexpr (has<I>)
      return *this;
    else
      return none;
  }
  template <class I>
  const I* either() const {
    if constexpr (has<I>)
      return this;
    else
      return nullptr;
  }
};

// The work of a kernel that touches the call's operands once.
Work with_bytes(const Launch& call, Work work);

}  // namespace weft
