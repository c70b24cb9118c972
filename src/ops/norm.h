// Operations on rows: softmax, norms.
#pragma once

#include "graph/op.h"
#include "kernels/common/element_work.h"
#include "kernels/norm/norm_options.h"
#include "ops/patterns.h"

namespace weft {

inline constexpr std::string_view kResultTypeMeaning = "the type of the result, instead of x's";

// One that takes elementwise work around it into its kernel. Operand 0 is x, all others are weights.
class RowInterface : public FusionInterface {
 public:
  // A row's axes, in the shape as which the kernel sees x.
  struct Axes {
    Shape shape;
    std::array<bool, kMaxRank> along{};
  };
  virtual Axes row_axes(const Shape& x) const = 0;
  // What it does for each element of x, with so many weights.
  virtual kernels::ElementWork element_work(std::size_t weights) const = 0;
  FusionStage fusion_stage() const final { return FusionStage::row; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const final;
  bool takes_epilogue() const final { return true; }
  bool works_in_place_fused() const final { return true; }
};

OwnWork row_work(const RowInterface& rows, std::span<const View> inputs, std::span<const View> outputs);

// An op on rows of attributes A, with other interfaces.
template <class A, class... Interfaces>
class RowOpOf : public OpOf<A, RowInterface, Interfaces...> {
 public:
  using OpOf<A, RowInterface, Interfaces...>::OpOf;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const final {
    return row_work(*this, inputs, outputs);
  }
};

struct SoftmaxAttributes {
  int axis = -1;
  std::optional<DType> type = {};

  void normalise(std::string_view op, std::span<const TensorType> inputs);

  void fields(AttributeVisitor& v) {
    v("axis", axis, -1, "the axis along which the results add up to 1");
    v("type", type, {}, kResultTypeMeaning);
  }
};

class SoftmaxOp final : public RowOpOf<SoftmaxAttributes, RewriteInterface, DerivativeInterface, BatchedAlongAxis> {
 public:
  using RowOpOf::RowOpOf;
  std::string_view name() const override { return "softmax"; }
  OpPattern pattern() const override { return OpPattern::softmax; }
  kernels::ElementWork element_work(std::size_t) const override { return kernels::softmax_work(false); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  Axes row_axes(const Shape& x) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  int batched_axis() const override { return a.axis; }
  OpPtr along(int axis) const override;
};

struct LogSoftmaxAttributes {
  int axis = -1;

  void normalise(std::string_view op, std::span<const TensorType> inputs);

  void fields(AttributeVisitor& v) { v("axis", axis, -1, "the axis along which the results add up to 1"); }
};

class LogSoftmaxOp final : public RowOpOf<LogSoftmaxAttributes, DerivativeInterface, BatchedAlongAxis> {
 public:
  using RowOpOf::RowOpOf;
  std::string_view name() const override { return "log_softmax"; }
  kernels::ElementWork element_work(std::size_t) const override { return kernels::softmax_work(true); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  int batched_axis() const override { return a.axis; }
  OpPtr along(int axis) const override;
};

// Of norms, whose operands are x, then scale and bias as far as they are there.
struct NormAttributes : kernels::NormOptions {
  bool has_scale = true, has_bias = true;  // rms has none
  std::optional<DType> type = {};          // of layer and rms

  void given(const std::vector<bool>& present) {
    has_scale = present[1];
    has_bias = present.size() > 2 && present[2];
  }
  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v);
};

// The axes of a norm's rows, in the shape as which its kernel sees x.
RowInterface::Axes norm_axes(const NormAttributes& a, const Shape& x);

// Operands: x, then scale if it is there.
class RmsNormOp final : public RowOpOf<NormAttributes, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using RowOpOf::RowOpOf;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::string_view name() const override { return "rms_norm"; }
  kernels::ElementWork element_work(std::size_t weights) const override { return kernels::norm_work(false, weights); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

// Instance norm is group norm of each channel.
class GroupNormOp final : public RowOpOf<NormAttributes, DerivativeInterface, BatchingInterface> {
 public:
  using RowOpOf::RowOpOf;
  std::string_view name() const override { return a.kind == kernels::NormKind::group ? "group_norm" : "instance_norm"; }
  kernels::ElementWork element_work(std::size_t weights) const override { return kernels::norm_work(true, weights); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

class LayerNormOp final : public RowOpOf<NormAttributes, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using RowOpOf::RowOpOf;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::string_view name() const override { return "layer_norm"; }
  kernels::ElementWork element_work(std::size_t weights) const override { return kernels::norm_work(true, weights); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Axes row_axes(const Shape& x) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct SoftmaxGradientAttributes {
  bool logarithm = false;
  int axis = -1;

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v) { v("axis", axis, -1, "the axis along which the softmax adds up to 1"); }
};

// The cotangent of x, of a softmax's (or its logarithm's) result y and the cotangent of that. It has y's type.
class SoftmaxGradientOp final : public OpOf<SoftmaxGradientAttributes, BatchedAlongAxis> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return a.logarithm ? "log_softmax_gradient" : "softmax_gradient"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  int batched_axis() const override { return a.axis; }
  OpPtr along(int axis) const override;
};

// Of the norm with the same attributes.
struct NormGradientAttributes : kernels::NormOptions {
  bool has_scale = true;

  void given(const std::vector<bool>& present) { has_scale = present[2]; }
  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v);
  NormAttributes of_norm() const { return {*this, has_scale, false}; }
};

// The cotangent of a norm's x, of x, the cotangent of the result, and the scale if it is there. It has x's type.
class NormGradientOp final : public OpOf<NormGradientAttributes, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

// The same of a norm with a scale, with the cotangents of the scale and, except of RMS norm, of a bias of the same
// type, whether there is one or not.
class NormGradientsOp final : public OpOf<NormGradientAttributes> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
};

}  // namespace weft
