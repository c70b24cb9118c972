// Quantised weights: made, as floats, and as an operand of products.
#pragma once

#include "graph/op.h"
#include "weft/kernels/quantized.h"
#include "weft/quantized_weights.h"

namespace weft {

// The operands of weights: values, and which of the others there are.
struct QuantizedOperands {
  kernels::QuantizedFormat format = {};
  bool scales = false, zeros = false, groups = false;

  std::size_t count() const { return 1 + std::size_t{scales} + std::size_t{zeros} + std::size_t{groups}; }
  // `present`: which operands of a schema there are, the scales of which are number `first`.
  void given(const std::vector<bool>& present, std::size_t first) {
    scales = present[first];
    zeros = present[first + 1];
    groups = present[first + 2];
  }
  void fields(AttributeVisitor& v) {
    format.fields(v);
    v.brief("scales", scales, false, "whether scales are among the operands");
    v.brief("zeros", zeros, false, "whether zeros are among the operands");
    v.brief("groups", groups, false, "whether the groups of rows are among the operands");
  }
};

struct QuantizeWeightsAttributes {
  kernels::QuantizedFormat format = {};
  QuantizeWeightsOptions types = {};

  void fields(AttributeVisitor& v) {
    format.fields(v);
    types.fields(v);
  }
};

// Results: values, scales?, zeros?.
class QuantizeWeightsOp final : public OpOf<QuantizeWeightsAttributes, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "quantize_weights"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  // Of x; results are dense.
  bool takes_strides() const override { return false; }
  bool takes_strides_of(std::size_t) const override { return true; }
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct DequantizeWeightsAttributes {
  QuantizedOperands weights = {};
  DType type = DType::f32;

  void given(const std::vector<bool>& present) { weights.given(present, 1); }
  void fields(AttributeVisitor& v) {
    weights.fields(v);
    v("type", type, DType::f32, "the type of the result");
  }
};

class DequantizeWeightsOp final
    : public OpOf<DequantizeWeightsAttributes, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "dequantize_weights"; }
  OpPattern pattern() const override { return OpPattern::dequantized_weights; }
  const QuantizedOperands* quantized_operands() const override { return &a.weights; }
  std::vector<int> operand_groups() const override { return {static_cast<int>(a.weights.count())}; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool takes_strides_of(std::size_t) const override { return false; }
  void lower(const Launch& call) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct QuantizedMatmulAttributes {
  QuantizedOperands weights = {};
  bool transposed = true, chosen = false;
  std::optional<DType> type = {};

  void given(const std::vector<bool>& present) {
    weights.given(present, 2);
    chosen = present[5];
  }
  void fields(AttributeVisitor& v) {
    weights.fields(v);
    v("transposed", transposed, true, "multiplies by the weights' transpose");
    v.brief("chosen", chosen, false, "whether the choice of matrices is among the operands");
    v("type", type, {}, "the type of the result, instead of x's");
  }
};

// Operands: x, values, scales?, zeros?, groups?, chosen?.
class QuantizedMatmulOp final : public OpOf<QuantizedMatmulAttributes, FusionInterface, RewriteInterface,
                                            DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "quantized_matmul"; }
  std::vector<int> operand_groups() const override {
    std::vector<int> groups{1, static_cast<int>(a.weights.count())};
    if (a.chosen) groups.push_back(1);
    return groups;
  }
  FusionStage fusion_stage() const override { return FusionStage::product; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::vector<int> joined_axes(std::span<const TensorType> inputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool takes_strides_of(std::size_t operand) const override;
  void lower(const Launch& call) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

}  // namespace weft
