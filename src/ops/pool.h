// Pooling, and its gradients.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/pool.h"
#include "weft/pooling.h"

namespace weft {

enum class PoolFunction : std::uint8_t { max, max_with_indices, average, lp, max_gradient, average_gradient };

// Numbers are those of the spatial axes; empty ones have the defaults of PoolOptions.
struct PoolAttributes {
  PoolFunction function = PoolFunction::max;
  Dims window = {}, strides = {}, dilations = {}, padding = {}, padding_after = {};
  bool ceil_mode = false;
  bool adaptive = false;   // then windows follow from the sizes alone
  Dims output_sizes = {};  // how many windows there are, instead of what follows from the padding
  Dims sizes = {};         // of gradients: the sizes of the spatial axes of x
  bool count_padding = true;
  std::int64_t divisor = 0;
  double p = 2;
  bool channels_last = false;  // of all operands and results
  std::optional<DType> type = {};

  bool is_gradient() const {
    return function == PoolFunction::max_gradient || function == PoolFunction::average_gradient;
  }
  bool is_average() const { return function == PoolFunction::average || function == PoolFunction::average_gradient; }
  void fields(AttributeVisitor& v);
};

// Operands: of max, average and lp x, of max_gradient dy and indices, of average_gradient dy.
class PoolOp final
    : public OpOf<PoolAttributes, FusionInterface, RewriteInterface, DerivativeInterface, BatchedSamples> {
 public:
  using OpOf::OpOf;
  FusionStage fusion_stage() const override { return FusionStage::reduction; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;

  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::string label(std::span<const TensorType> inputs) const override;
  OpPtr with_more_results() const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;

 private:
  // How often an element of x is read, on average, for a result of that shape.
  double reads(const Shape& x, const Shape& y) const;
};

}  // namespace weft
