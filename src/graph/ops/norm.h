// Operations on rows: softmax, norms.
#pragma once

#include "graph/op.h"
#include "kernels/common/element_work.h"
#include "weft/kernels/row_fusion.h"

namespace weft {

inline constexpr std::string_view kResultTypeMeaning = "the type of the result, instead of x's";

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

struct SoftmaxAttributes {
  int axis = -1;
  std::optional<DType> type = {};

  void fields(AttributeVisitor& v) {
    v("axis", axis, -1, "the axis along which the results add up to 1");
    v("type", type, {}, kResultTypeMeaning);
  }
};

class SoftmaxOp final : public OpOf<SoftmaxAttributes, RowOp> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "softmax"; }
  kernels::ElementWork element_work(std::size_t) const override { return kernels::softmax_work(false); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;
};

struct LogSoftmaxAttributes {
  int axis = -1;

  void fields(AttributeVisitor& v) { v("axis", axis, -1, "the axis along which the results add up to 1"); }
};

class LogSoftmaxOp final : public OpOf<LogSoftmaxAttributes, RowOp> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "log_softmax"; }
  kernels::ElementWork element_work(std::size_t) const override { return kernels::softmax_work(true); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;
};

// Of norms, whose operands are x, then scale and bias as far as they are there.
struct NormAttributes {
  enum class Kind : std::uint8_t { layer, rms, group, instance };
  Kind kind = Kind::layer;
  int axis = -1;            // the first of a row, or that of the channels
  std::int64_t groups = 0;  // of group norm
  double epsilon = 1e-5;
  bool has_scale = true, has_bias = true;  // rms has none
  std::optional<DType> type = {};          // of layer and rms

  void fields(AttributeVisitor& v);
};

// Operands: x, then scale if it is there.
class RmsNormOp final : public OpOf<NormAttributes, RowOp> {
 public:
  using OpOf::OpOf;
  std::size_t weight_count() const override { return a.has_scale; }
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::string_view name() const override { return "rms_norm"; }
  kernels::ElementWork element_work(std::size_t weights) const override { return kernels::norm_work(false, weights); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;
};

// Instance norm is group norm of each channel.
class GroupNormOp final : public OpOf<NormAttributes, RowOp> {
 public:
  using OpOf::OpOf;
  std::size_t weight_count() const override { return std::size_t{a.has_scale} + a.has_bias; }
  std::string_view name() const override {
    return a.kind == NormAttributes::Kind::group ? "group_norm" : "instance_norm";
  }
  kernels::ElementWork element_work(std::size_t weights) const override { return kernels::norm_work(true, weights); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;
};

class LayerNormOp final : public OpOf<NormAttributes, RowOp> {
 public:
  using OpOf::OpOf;
  std::size_t weight_count() const override { return std::size_t{a.has_scale} + a.has_bias; }
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::string_view name() const override { return "layer_norm"; }
  kernels::ElementWork element_work(std::size_t weights) const override { return kernels::norm_work(true, weights); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower_around(const FusedCall& call) const override;
};

// A row operation with elementwise work around it. Operands: the inputs of `prologue`, or x; the operation's weights;
// the operands of `epilogue`. Results: those of `epilogue`, or the operation's; then the further ones of `prologue`.
class FusedRowOp final : public Op {
 public:
  // `prologue`: result 0 is x. `epilogue`: input 0, its first node, is the operation's result as f32, or as f64 where x
  // is that.
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
