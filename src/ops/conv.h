// Convolutions.
#pragma once

#include "graph/op.h"
#include "ops/product.h"
#include "weft/convolution.h"
#include "weft/kernels/conv.h"

namespace weft {

enum class ConvKind : std::uint8_t { conv, transpose, filter_gradient };

// Numbers are those of the spatial axes; empty ones have the defaults of ConvOptions.
struct ConvAttributes {
  ConvKind kind = ConvKind::conv;
  Dims strides = {}, dilations = {}, padding = {}, padding_after = {};
  std::int64_t groups = 1;
  Dims output_padding = {};    // of transposed ones
  Dims output_sizes = {};      // of transposed ones, instead of what follows from the padding
  Dims window = {};            // of filters' gradients: the sizes of the filter
  bool channels_last = false;  // of x, of dy and of the result, if these are no filters
  std::optional<DType> type = {};

  void fields(AttributeVisitor& v);
};

// Operands: of conv and conv_transpose x and w, of conv_filter_gradient x and dy.
class ConvOp final
    : public OpOf<ConvAttributes, FusionInterface, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  FusionStage fusion_stage() const override;
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::optional<WeightOperand> weight_operand() const override;
  std::optional<ChannelAxes> channel_axes() const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;

  std::string_view name() const override;
  OpPattern pattern() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;

 private:
  // Of the result's spatial axes.
  Dims sizes(const TensorType& x, const TensorType& second, const struct ConvGeometry& g) const;
  Shape result_shape(const Shape& a, const Shape& b, const Dims& sizes) const;
};

}  // namespace weft
