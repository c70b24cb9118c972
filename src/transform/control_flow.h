// Branches and loops as ops that own graphs (Op::subgraphs). What a graph computes of is its inputs alone: what a
// branch or body takes from outside is an operand of the op. The compiler turns them into blocks of a schedule
// (compiler/schedule.h).
//
// Derivatives compute a branch or a turn of a loop again, so that only the carries of each turn are kept.
#pragma once

#include <array>
#include <functional>

#include "graph/op.h"
#include "transform/subgraph.h"

namespace weft {

template <class A, std::size_t count, class... Interfaces>
class ControlFlowOp : public OpOf<A, ControlFlowInterface, Interfaces...> {
 public:
  using Graphs = std::array<GraphPtr, count>;
  ControlFlowOp(A attributes, Graphs graphs)
      : OpOf<A, ControlFlowInterface, Interfaces...>(std::move(attributes)), graphs_(std::move(graphs)) {}
  std::span<const GraphPtr> subgraphs() const final { return graphs_; }
  bool takes_strides() const final { return false; }
  bool has_reference() const final { return false; }

 protected:
  const Graphs graphs_;
};

struct CondAttributes {
  void fields(AttributeVisitor&) {}
};

// Operands: the predicate, and what both graphs take. Results: the first graph's where the predicate is true, else the
// second's.
class CondOp final : public ControlFlowOp<CondAttributes, 2, DerivativeInterface, BatchingInterface> {
 public:
  using ControlFlowOp::ControlFlowOp;
  std::string_view name() const override { return "cond"; }
  OpPtr with_subgraphs(std::vector<GraphPtr> graphs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  ControlFlow control() const override { return {ControlForm::branch}; }
  // Of a predicate that is a constant: the branch.
  std::vector<Tensor> expanded(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;

 private:
  // With branches of these operands, to which what they take from outside is appended.
  OpPtr branches_of(std::vector<Tensor>& operands, const std::array<SubgraphFunction, 2>& functions) const;
};

struct WhileLoopAttributes {
  int carries = 0;

  void fields(AttributeVisitor& v) { v("carries", carries, "how many of the operands each turn makes again"); }
};

// Operands: the carries, and what every turn sees. Graphs of all of them: the condition, one boolean, and the body,
// which gives the next carries.
class WhileLoopOp final : public ControlFlowOp<WhileLoopAttributes, 2, DerivativeInterface, BatchingInterface> {
 public:
  using ControlFlowOp::ControlFlowOp;
  std::string_view name() const override { return "while_loop"; }
  OpPtr with_subgraphs(std::vector<GraphPtr> graphs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  ControlFlow control() const override { return {ControlForm::loop}; }
  std::vector<Tensor> expanded(std::span<const Tensor>) const override { return {}; }
  // Throws Unsupported: what the turns computed is not kept.
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct ScanLoopAttributes {
  std::int64_t length = 0;  // of one that slices operands -1
  int carries = 0, slices = 0;
  bool reverse = false, keep_carries = false;

  void fields(AttributeVisitor& v) {
    v("length", length, "how many turns there are; -1: as many as the operands that are sliced have slices");
    v("carries", carries, "how many of the operands each turn makes again");
    v("slices", slices, 0, "how many operands behind them each turn sees a slice of, along the first axis");
    v("reverse", reverse, false, "from the last slice to the first");
    v("keep_carries", keep_carries, false, "the carries in front of each turn are results too");
  }
};

// Operands: carries, what is sliced, and what every turn sees. The body, of the carries, the turn's slices and the
// rest, gives the next carries and what the turn adds to the stacked results; its number is the index of the slice, an
// i32. Results: the last carries; the stacked results; with keep_carries the stacked carries that the turns began with.
class ScanLoopOp final
    : public ControlFlowOp<ScanLoopAttributes, 1, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using ControlFlowOp::ControlFlowOp;
  std::string_view name() const override { return "scan_loop"; }  // (scan() of graph.h is another)
  OpPtr with_subgraphs(std::vector<GraphPtr> graphs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  OpPtr with_more_results() const override;  // with keep_carries
  // How many turns there are for operands of these types.
  std::int64_t turns(std::span<const TensorType> inputs) const;
  ControlFlow control() const override { return {ControlForm::turns, a.length, a.reverse}; }
  // The loop as one whose operands are all carries, or what every turn sees: the compiler's form. Empty: it is.
  std::vector<Tensor> expanded(std::span<const Tensor> inputs) const override;
  // With keep_carries: the loop whose body gives them. Where turns or a batch have no room for their axis: the loop on
  // lists of elements.
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;

 private:
  // The loop on lists of elements in the place of what has so many axes that turns or a batch have no room for theirs;
  // empty: nothing has.
  std::vector<Tensor> on_lists(std::span<const Tensor> inputs) const;
  // With a body of operands that have these types in a turn; what it takes from outside is appended to them.
  OpPtr loop_of(const ScanLoopAttributes& attributes, std::span<const TensorType> types, std::vector<Tensor>& operands,
                const SubgraphFunction& body) const;
};
// The types that a turn sees of such operands: of what is sliced those of a slice.
std::vector<TensorType> types_in_turn(std::span<const Tensor> operands, std::size_t carries, std::size_t slices);
// A loop over slices: the body, of the carries, a slice of each and what all turns see, gives the next carries and what
// is stacked.
std::vector<Tensor> scanned(std::span<const Tensor> carries, std::span<const Tensor> slices,
                            std::span<const Tensor> shared, bool reverse,
                            const std::function<std::vector<Tensor>(std::span<const Tensor>)>& body);

}  // namespace weft
