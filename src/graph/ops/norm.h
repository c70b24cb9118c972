// Operations on rows: softmax, norms.
#pragma once

#include "graph/op.h"
#include "kernels/common/element_work.h"
#include "weft/kernels/row_fusion.h"

namespace weft {

// One that takes elementwise work around it into its kernel. Operand 0 is x, all others are weights.
class RowOp : public Op {
 public:
  // A row's axes, in the shape as which the kernel sees x.
  struct Axes {
    Shape shape;
    std::array<bool, kMaxRank> along{};
  };
  virtual Axes row_axes(const Shape& x) const = 0;
  virtual std::size_t weight_count() const { return 0; }
  FusionStage fusion_stage() const final { return FusionStage::row; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const final;
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const final;
  // What it does for each element of x, with so many weights.
  virtual kernels::ElementWork element_work(std::size_t weights) const = 0;
  Work work(const Launch& call) const final;
  // The kernel's call with work around it.
  struct FusedCall {
    Stream& stream;
    std::span<const View> inputs, weights, outputs;
    kernels::RowFusion work;
  };
  virtual void lower_around(const FusedCall& call) const = 0;
  // With none.
  void lower(const Launch& call) const final { lower_around(alone(call)); }

 private:
  static FusedCall alone(const Launch& call) {
    return {call.stream, call.inputs.first(1), call.inputs.subspan(1), call.outputs, {}};
  }
};

class SoftmaxOp final : public RowOp {
 public:
  // The result has x's type unless `result` names one; so too below.
  explicit SoftmaxOp(int axis, std::optional<DType> result = {}) : axis_(axis), result_(result) {}
  std::string_view name() const override { return "softmax"; }
  kernels::ElementWork element_work(std::size_t) const override { return kernels::softmax_work(false); }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  OpPtr with_types(std::span<const TensorType>, std::span<const TensorType>,
                   std::span<const DType> results) const override {
    return std::make_shared<const SoftmaxOp>(axis_, results[0]);
  }
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;

 private:
  int axis_;
  std::optional<DType> result_;
};

class LogSoftmaxOp final : public RowOp {
 public:
  explicit LogSoftmaxOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "log_softmax"; }
  kernels::ElementWork element_work(std::size_t) const override { return kernels::softmax_work(true); }
  void attributes(Attributes& f) const override { f.add("axis", axis_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;

 private:
  int axis_;
};

// Operands: x, then scale if it is there.
class RmsNormOp final : public RowOp {
 public:
  RmsNormOp(int first_axis, double epsilon, bool has_scale, std::optional<DType> result = {})
      : first_axis_(first_axis), epsilon_(epsilon), has_scale_(has_scale), result_(result) {}
  std::size_t weight_count() const override { return has_scale_; }
  OpPtr with_types(std::span<const TensorType>, std::span<const TensorType>,
                   std::span<const DType> results) const override {
    return std::make_shared<const RmsNormOp>(first_axis_, epsilon_, has_scale_, results[0]);
  }
  std::string_view name() const override { return "rms_norm"; }
  kernels::ElementWork element_work(std::size_t weights) const override {
    return kernels::norm_work(false, weights);
  }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;

 private:
  int first_axis_;
  double epsilon_;
  bool has_scale_;
  std::optional<DType> result_;
};

// Operands: x, then scale and bias as far as they are there. 0 groups: each channel is one, instance norm.
class GroupNormOp final : public RowOp {
 public:
  GroupNormOp(int channel_axis, std::int64_t groups, double epsilon, bool has_scale, bool has_bias)
      : channel_axis_(channel_axis), groups_(groups), epsilon_(epsilon), has_scale_(has_scale), has_bias_(has_bias) {}
  std::size_t weight_count() const override { return std::size_t{has_scale_} + has_bias_; }
  std::string_view name() const override { return groups_ ? "group_norm" : "instance_norm"; }
  kernels::ElementWork element_work(std::size_t weights) const override {
    return kernels::norm_work(true, weights);
  }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;

 private:
  int channel_axis_;
  std::int64_t groups_;
  double epsilon_;
  bool has_scale_, has_bias_;
};

// Operands: x, then scale and bias as far as they are there.
class LayerNormOp final : public RowOp {
 public:
  LayerNormOp(int first_axis, double epsilon, bool has_scale, bool has_bias, std::optional<DType> result = {})
      : first_axis_(first_axis), epsilon_(epsilon), has_scale_(has_scale), has_bias_(has_bias), result_(result) {}
  std::size_t weight_count() const override { return std::size_t{has_scale_} + has_bias_; }
  OpPtr with_types(std::span<const TensorType>, std::span<const TensorType>,
                   std::span<const DType> results) const override {
    return std::make_shared<const LayerNormOp>(first_axis_, epsilon_, has_scale_, has_bias_, results[0]);
  }
  std::string_view name() const override { return "layer_norm"; }
  kernels::ElementWork element_work(std::size_t weights) const override {
    return kernels::norm_work(true, weights);
  }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;

 private:
  int first_axis_;
  double epsilon_;
  bool has_scale_, has_bias_;
  std::optional<DType> result_;
};

// A row operation with elementwise work around it. Operands: the inputs of `prologue`, or x; the operation's weights; the
// operands of `epilogue`. Results: those of `epilogue`, or the operation's; then the further ones of `prologue`.
class FusedRowOp final : public Op {
 public:
  // `prologue`: result 0 is x. `epilogue`: input 0, its first node, is the operation's result as f32, or as f64 where x is
  // that.
  FusedRowOp(std::shared_ptr<const RowOp> rows, std::optional<Expression> prologue, std::optional<Expression> epilogue)
      : rows_(std::move(rows)),
        weights_(rows_->weight_count()),
        prologue_(std::move(prologue)),
        epilogue_(std::move(epilogue)) {}

  Fusion fusion() const override {
    return {.prologue = prologue_ ? &*prologue_ : nullptr, .epilogue = epilogue_ ? &*epilogue_ : nullptr};
  }
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const override {
    return rows_->with_fusion(std::move(prologue), std::move(epilogue));
  }
  // Weights stay as they are stored: the kernel takes any float type.
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::string_view name() const override { return rows_->name(); }
  // Further results of `prologue` are stored before weights and the operands of `epilogue` are read.
  bool works_in_place(std::size_t) const override {
    return !prologue_ || prologue_->outputs().size() == 1 || (weights_ == 0 && !epilogue_);
  }
  Work work(const Launch& call) const override;
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override { rows_->lower_around(fusion(call)); }
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  // Of the operands, those before the operation.
  std::size_t input_count() const { return prologue_ ? static_cast<std::size_t>(prologue_->input_count()) : 1; }
  RowOp::FusedCall fusion(const Launch& call) const;
  std::shared_ptr<const RowOp> rows_;
  std::size_t weights_;
  std::optional<Expression> prologue_, epilogue_;
};

}  // namespace weft
