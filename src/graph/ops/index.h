// Picking, writing and joining by index: gathers, scatters, concat.
#pragma once

#include "graph/op.h"

namespace weft {

class GatherOp final : public Op {
 public:
  explicit GatherOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "gather"; }
  bool moves_elements() const override { return true; }
  std::optional<WeightOperand> weight_operand() const override { return WeightOperand{.operand = 0}; }
  void attributes(Attributes& f) const override { f.add("axis", axis_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  int axis_;
};

// Which elements indices choose (weft/kernels/index.h).
enum class Selecting : std::uint8_t { rows, elements, tuples };

// gather_elements along an axis, or gather_nd with batch axes.
class SelectOp final : public Op {
 public:
  SelectOp(Selecting form, int axis) : form_(form), axis_(axis) {}
  std::string_view name() const override { return form_ == Selecting::elements ? "gather_elements" : "gather_nd"; }
  double cost() const override { return 3; }
  void attributes(Attributes& f) const override { f.add(form_ == Selecting::tuples ? "batch" : "axis", axis_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  Selecting form_;
  int axis_;  // or the number of batch axes
};

// Operands: x, indices, updates. A copy of x, of which the chosen elements are combined with the updates.
class ScatterOp final : public Op {
 public:
  ScatterOp(kernels::ScatterKind op, Selecting form, int axis) : op_(op), form_(form), axis_(axis) {}
  double cost() const override { return 4; }
  std::string_view name() const override;
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool works_in_place(std::size_t operand) const override { return operand == 0; }
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  kernels::ScatterKind op_;
  Selecting form_;
  int axis_;  // or the number of batch axes
};

// Operands: x, starts.
class DynamicSliceOp final : public Op {
 public:
  DynamicSliceOp(std::vector<int> axes, Shape sizes) : axes_(std::move(axes)), sizes_(std::move(sizes)) {}
  std::string_view name() const override { return "dynamic_slice"; }
  bool moves_elements() const override { return true; }
  void attributes(Attributes& f) const override { f.add("axes", axes_).add("sizes", sizes_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  std::vector<int> axes_;
  Shape sizes_;
};

// Operands: x, update, starts.
class DynamicUpdateSliceOp final : public Op {
 public:
  explicit DynamicUpdateSliceOp(std::vector<int> axes) : axes_(std::move(axes)) {}
  std::string_view name() const override { return "dynamic_update_slice"; }
  void attributes(Attributes& f) const override { f.add("axes", axes_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool works_in_place(std::size_t operand) const override { return operand == 0; }
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  std::vector<int> axes_;
};

// Each part is copied into its place in the result.
class ConcatOp final : public Op {
 public:
  explicit ConcatOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "concat"; }
  // Of the slices that are all of a tensor: the tensor.
  Tensor simplified(std::span<const Tensor> parts) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  void attributes(Attributes& f) const override { f.add("axis", axis_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  int axis_;
};

}  // namespace weft
