// An operation of the graph: the types of its results, the kernel that computes them, and hooks that tell the compiler
// what it may do with the op. The compiler depends on no class of ops, only on these hooks.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/fusion.h"
#include "kernels/common/element_work.h"
#include "weft/attributes.h"
#include "weft/graph.h"
#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"
#include "weft/work.h"

namespace weft {

namespace gpu {
struct Capabilities;
}
class ConstantOp;
class DataOp;
class InputOp;
class NumberOp;
class Op;
using OpPtr = std::shared_ptr<const Op>;

// Data of a tensor. Layers above the graph derive from it.
class Data {
 public:
  virtual ~Data() = default;
};
using DataPtr = std::shared_ptr<const Data>;

// A layout whose first element lies `offset` elements past the operand's first.
struct Placement {
  std::int64_t offset = 0;
  Layout layout;
};

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

// The operand of an op that is often a large constant, which may be stored in a narrower type.
struct WeightOperand {
  int operand = 0;
  bool summed = false;  // [..., k, n], and results are sums over k: rounding it can be measured (compiler/precision.h)
};

// The channel axes of a product's weights (operand 1) and of its result, counted from the end where negative: scaling
// the weights along the first scales the result along the second. Without `weights`, no scale of the weights does so.
struct ChannelAxes {
  std::optional<int> weights;
  int result = -1;
};

// `steps` times the arithmetic of `per_step`.
struct OwnWork {
  kernels::ElementWork per_step;
  double steps = 0;
  Arithmetic arithmetic = {};
};

// A node whose derivatives a rule gives. `wanted`: of each input, whether derivatives for it are needed; they never are
// of integers and booleans.
struct Differentiated {
  std::span<const Tensor> inputs, outputs;
  std::span<const char> wanted;
};

// An op on each entry of a batch: its outputs, which have the axes axes[i] for it.
struct Batched {
  std::vector<Tensor> outputs;
  std::vector<int> axes;
};

// What a rule gives; nothing: there is none.
using Derivatives = std::optional<std::vector<Tensor>>;

class CustomDerivative;
struct BatchInOrder;

// A call on the cpu with all made that is the same in every run.
using PreparedCall = std::function<void(CpuExecutor&)>;

class Op : public std::enable_shared_from_this<Op> {
 public:
  Op() = default;
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
  virtual const InputOp* input() const { return nullptr; }
  virtual const ConstantOp* constant() const { return nullptr; }
  virtual const DataOp* data_op() const { return nullptr; }
  virtual const NumberOp* number() const { return nullptr; }
  bool is_leaf() const { return input() || constant() || data_op() || number(); }

  // A view op computes nothing: its result is operand 0's memory under another layout. view_layout() returns that
  // layout for an operand of layout `x`; nothing if no strides express it, in which case the operand must be copied
  // first.
  virtual bool is_view() const { return false; }
  virtual std::optional<Placement> view_layout(const Layout& x) const;

  // True if each element of the result is an unchanged element of operand 0: a view, a lookup, a repetition.
  virtual bool moves_elements() const { return is_view(); }
  // The expression of an elementwise op, whose operands broadcast; null for all other ops.
  virtual const Expression* elementwise() const { return nullptr; }
  virtual std::optional<Reduction> reduction() const { return std::nullopt; }
  // True if element i of its result is i.
  virtual bool is_iota() const { return false; }

  // Adjacent operands that represent one tensor, such as packed values with their scales and zero points: the size of
  // each group. Empty: each operand is a group of its own.
  virtual std::vector<int> operand_groups() const { return {}; }

  // Graphs that it owns: branches, the body of a loop. Verifying, printing, hashing and the passes walk into them.
  virtual std::span<const std::shared_ptr<const Graph>> subgraphs() const { return {}; }
  // The op with its graphs replaced by others of the same inputs and outputs.
  virtual OpPtr with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const;

  // ---- Rewriting
  // The op of the same operands that gives the same results and others after them: where a graph has both, that one
  // alone is computed (a maximum and where it was, of which a derivative needs the second). Null: there is none.
  virtual OpPtr with_more_results() const { return nullptr; }
  // A simpler form of the op on these operands that is exact for every value; empty: there is none.
  virtual Tensor simplified(std::span<const Tensor> operands) const;

  // Elementwise work fused into its kernel (graph/fusion.h). FusedOp (ops/fused.h) adds it to an op.
  virtual Fusion fusion() const { return {.operand = prologue_operand()}; }
  // Which operand a prologue may compute.
  virtual int prologue_operand() const { return 0; }
  virtual FusionStage fusion_stage() const { return FusionStage::none; }
  // What its kernel can fuse on a device (null: the CPU).
  virtual FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                                 std::span<const TensorType> outputs) const;
  // True if its kernels take an epilogue on some device, whatever fusion_spec() says of one: a fused op was fused for a
  // device that takes it.
  virtual bool takes_epilogue() const { return false; }
  // True if, with a prologue or epilogue, a result may overwrite an operand of the same layout.
  virtual bool works_in_place_fused() const { return false; }
  // The op's own arithmetic, to which work() adds that of prologue and epilogue; nothing: work() does not count it so.
  virtual std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const;

  // The same arithmetic on operands that are stored as `to` instead of `from`. Result k is stored as results[k] or
  // stays what it was; the op chooses. Null: it has no such form.
  virtual OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                           std::span<const DType> results) const;
  // The operand that the precision pass may store in a narrower type if it is a constant.
  virtual std::optional<WeightOperand> weight_operand() const { return std::nullopt; }
  // Of products: along which axis a scale of the weights scales the result.
  virtual std::optional<ChannelAxes> channel_axes() const { return std::nullopt; }
  // Several ops of one operand 0 may be one: with each of the operands 1, 2, … joined along its axis of this list, it
  // gives their results joined along the last axis. Empty: it does not.
  virtual std::vector<int> joined_axes(std::span<const TensorType>) const { return {}; }

  // ---- Derivatives and batching: rules, which record what they compute on the tensors that they are given. An
  // undefined tensor among derivatives stands for zeros, in both directions. Nothing instead of a vector: there is no
  // rule of its own, and that of its decomposition is taken (transform/derivatives.h, transform/batch.h).
  // The results, made of other operations; empty: it is not made of others.
  virtual std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const;
  // Reverse mode: the cotangents of the inputs that are wanted, given those of the outputs.
  virtual Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const;
  // Forward mode: the tangents of the outputs, given those of the inputs. Without a rule it is the transpose of vjp().
  virtual Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const;
  // The op on each entry along axis axes[i] of input i; -1: that input is the same for all entries.
  virtual std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const;
  // The same for a batch for which the entries have too many axes (ops/batch_in_order.h): the results, of any shape,
  // their elements entry after entry; empty: one entry is computed after the other.
  virtual std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const;
  // True if its result may turn out not to exist: operand 1 says so (CheckedOp).
  virtual bool checks_values() const { return false; }
  // Of an op by which a program gives derivatives of its own to results (ops/custom_derivative.h).
  virtual const CustomDerivative* custom_derivative() const { return nullptr; }

  // ---- Running
  // False if its kernels need dense operands and results; others are copied first.
  virtual bool takes_strides() const { return true; }
  // The same of one operand.
  virtual bool takes_strides_of([[maybe_unused]] std::size_t operand) const { return takes_strides(); }
  // Whether a result may overwrite that operand if both have the same layout: each element is written by the thread
  // that read it.
  virtual bool works_in_place([[maybe_unused]] std::size_t operand) const { return false; }
  // The op with some operands computed in the kernel: those with a placement are views of an iota, whose element at an
  // offset is that offset. The new op's operands are the others. Null: it must read them from memory.
  virtual OpPtr with_iotas(std::span<const std::optional<Placement>> operands, const Shape& result) const;
  // False if it has no CPU implementation, so that constants cannot be folded through it.
  virtual bool has_reference() const { return true; }

  // The same call on every device. Views may have any strides.
  virtual void lower(const Launch& call) const;
  // The call for views of the cpu whose buffers are given other memory from run to run (Buffer::point_at); null: there
  // is nothing to prepare, and each run calls lower(). The operands' views need not outlive this.
  virtual PreparedCall prepared(const Launch&) const { return nullptr; }
  // A reason why the stream's device cannot run the call, beyond what planning its kernels finds; nothing: it can.
  virtual std::optional<std::string> unsupported(const Launch&) const { return std::nullopt; }

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
  mutable std::atomic<const std::string*> identity_{nullptr};
};

// An op whose attributes are a plain struct (weft/attributes.h). Base: Op, or a class between.
template <class A, class Base = Op>
class OpOf : public Base {
 public:
  using AttributesType = A;
  explicit OpOf(A attributes) : a(std::move(attributes)) {}
  void visit(AttributeVisitor& v) const final { const_cast<A&>(a).fields(v); }

  const A a;
};

// The work of a kernel that touches the call's operands once.
Work with_bytes(const Launch& call, Work work);

}  // namespace weft
