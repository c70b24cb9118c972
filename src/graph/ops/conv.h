// Convolutions, with what happens to each element before it is stored.
#pragma once

#include "graph/op.h"
#include "graph/ops/product.h"
#include "weft/convolution.h"
#include "weft/kernels/conv.h"

namespace weft {

enum class ConvKind : std::uint8_t { conv, transpose, filter_gradient };

// Operands: of conv x and w, of conv_transpose x and w, of conv_filter_gradient x and dy; then the epilogue's.
class ConvOp final : public Op {
 public:
  // `sizes`: of the result's spatial axes. channels_last: of x, of dy and of the result, if these are no filters.
  // result: the type without an epilogue, instead of a product's usual one.
  ConvOp(ConvKind kind, kernels::ConvOptions options, Dims sizes, bool channels_last, std::optional<DType> result = {},
         std::optional<Expression> epilogue = {})
      : kind_(kind),
        options_(options),
        sizes_(sizes),
        channels_last_(channels_last),
        result_(result),
        epilogue_(std::move(epilogue)) {}

  Fusion fusion() const override { return {.epilogue = epilogue_ ? &*epilogue_ : nullptr}; }
  FusionStage fusion_stage() const override;
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::optional<WeightOperand> weight_operand() const override;
  // See graph/ops/product.h.
  std::optional<ChannelAxes> channel_axes() const;

  std::string_view name() const override;
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  Shape result_shape(const Shape& a, const Shape& b) const;

  ConvKind kind_;
  kernels::ConvOptions options_;
  Dims sizes_;
  bool channels_last_;
  std::optional<DType> result_;
  std::optional<Expression> epilogue_;
};

}  // namespace weft
