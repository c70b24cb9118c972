// What an op lets the compiler and transformations do with it, in groups of hooks: an op has those that apply to it
// (OpOf in graph/op.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/fusion.h"
#include "kernels/common/element_work.h"
#include "weft/graph.h"
#include "weft/kernels/fusion.h"
#include "weft/view.h"

namespace weft {

namespace gpu {
struct Capabilities;
}
class Op;
struct BatchInOrder;
struct QuantizedOperands;
using OpPtr = std::shared_ptr<const Op>;

// A layout whose first element lies `offset` elements past the operand's first.
struct Placement {
  std::int64_t offset = 0;
  Layout layout;
};

// A view op computes nothing: its result is operand 0's memory under another layout.
class ViewInterface {
 public:
  virtual ~ViewInterface() = default;
  // That layout, for an operand of layout `x`; nothing if no strides express it, in which case the operand must be
  // copied first.
  virtual std::optional<Placement> view_layout(const Layout& x) const = 0;
};

// Of branches and loops. Operands: of a branch the condition and what both graphs take; of a loop the carries, which
// each turn makes again, and what every turn sees.
enum class ControlForm : std::uint8_t {
  branch,  // graphs: where the condition is true, where it is false
  loop,    // graphs: the condition, the body
  turns,   // the body, of carries, what every turn sees, and its number, an i32
};
struct ControlFlow {
  ControlForm form;
  std::int64_t turns = 0;  // of ControlForm::turns
  bool reverse = false;    // the last number comes first
};

class ControlFlowInterface {
 public:
  virtual ~ControlFlowInterface() = default;
  virtual std::span<const std::shared_ptr<const Graph>> subgraphs() const = 0;
  // The op with its graphs replaced by others of the same inputs and outputs.
  virtual OpPtr with_subgraphs(std::vector<std::shared_ptr<const Graph>> graphs) const = 0;
  virtual ControlFlow control() const = 0;
  // What the op on these operands becomes before it is scheduled: the branch of a condition that is known, a loop whose
  // operands are all carries, or what every turn sees. Empty: it stays as it is.
  virtual std::vector<Tensor> expanded(std::span<const Tensor> inputs) const = 0;
};

// Elementwise work fused into the op's kernel (graph/fusion.h). FusedOp (ops/fused.h) adds it to an op.
class FusionInterface {
 public:
  virtual ~FusionInterface() = default;
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

// A mask that attention adds to its scores or selects them by, or that hides none: which of the operands, and the
// scores that each matrix of it is for.
struct MaskOperand {
  int operand;
  std::int64_t queries, keys;
};

// The keys that a query sees, as in kernels::AttentionOptions.
struct MaskWindow {
  std::int64_t left = -1, right = -1;
  bool top_left = false;
  bool every_query_sees = true;  // at least one key
};

// Other forms of the op.
class RewriteInterface {
 public:
  virtual ~RewriteInterface() = default;
  // The op of the same operands that gives the same results and others after them: where a graph has both, that one
  // alone is computed (a maximum and where it was, of which a derivative needs the second). Null: there is none.
  virtual OpPtr with_more_results() const;
  // A simpler form of the op on these operands that is exact for every value; empty: there is none.
  virtual Tensor simplified(std::span<const Tensor> operands) const;
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
  virtual std::vector<int> joined_axes(std::span<const TensorType> inputs) const;
  // The op with some operands computed in the kernel: those with a placement are views of an iota, whose element at an
  // offset is that offset. The new op's operands are the others. Null: it must read them from memory.
  virtual OpPtr with_iotas(std::span<const std::optional<Placement>> operands, const Shape& result) const;
  // Attention's mask, if it has one that a window may replace; and the op without that operand, with the window.
  virtual std::optional<MaskOperand> mask_operand(std::span<const TensorType> inputs) const;
  virtual OpPtr with_window(const MaskWindow& window) const;
  // Of OpPattern::dequantized_weights: which its operands are.
  virtual const QuantizedOperands* quantized_operands() const { return nullptr; }
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

// Rules of derivatives and batching record what they compute on the tensors that they are given. An undefined tensor
// among derivatives stands for zeros, in both directions. Nothing instead of a vector: there is no rule of its own, and
// that of the decomposition is taken (transform/derivatives.h, transform/batch.h).
class DerivativeInterface {
 public:
  virtual ~DerivativeInterface() = default;
  // Reverse mode: the cotangents of the inputs that are wanted, given those of the outputs.
  virtual Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const;
  // Forward mode: the tangents of the outputs, given those of the inputs. Without a rule it is the transpose of vjp().
  virtual Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const;
};

class BatchingInterface {
 public:
  virtual ~BatchingInterface() = default;
  // The op on each entry along axis axes[i] of input i; -1: that input is the same for all entries.
  virtual std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const;
  // The same for a batch for which the entries have too many axes (ops/batch_in_order.h): the results, of any shape,
  // their elements entry after entry; empty: one entry is computed after the other.
  virtual std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const;
};

// Of an op whose results may turn out not to exist, which its operand 1, i32 of any shape, says: it is 0 where the
// matrix of that place in the batch has one.
class ValueCheckInterface {
 public:
  virtual ~ValueCheckInterface() = default;
  // What the error says: of which matrix, the first whose info is not 0.
  virtual std::string message(std::span<const std::int32_t> info, const Shape& batch) const = 0;
};

// Those of ops that have none.
extern const FusionInterface kNoFusion;
extern const RewriteInterface kNoRewrites;
extern const DerivativeInterface kNoDerivatives;
extern const BatchingInterface kNoBatching;

}  // namespace weft
