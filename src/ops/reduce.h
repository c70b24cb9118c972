// Reductions over axes.
#pragma once

#include "graph/op.h"
#include "ops/batch_in_order.h"

namespace weft {

struct ReduceAttributes {
  ReduceKind kind = ReduceKind::sum;
  std::vector<int> axes = {};  // ascending, once the shape is known
  bool keep_dims = false;
  double correction = 0;  // of variance and deviation: comes off n

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v);
};

class ReduceOp final
    : public OpOf<ReduceAttributes, FusionInterface, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  std::optional<Reduction> reduction() const override { return Reduction{a.kind, a.axes, a.correction}; }
  FusionStage fusion_stage() const override { return FusionStage::reduction; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

struct ArgReduceAttributes {
  kernels::ArgKind kind = kernels::ArgKind::max;
  std::vector<int> axes = {};
  bool keep_dims = false;

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v);
};

// Where the least or the greatest is: i32.
class ArgReduceOp final : public OpOf<ArgReduceAttributes, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return a.kind == kernels::ArgKind::max ? "argmax" : "argmin"; }
  double cost() const override { return 0.3; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

}  // namespace weft
