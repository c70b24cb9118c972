// Sampling at the positions of a grid, and its gradients.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/grid_sample.h"

namespace weft {

// What is computed: samples; the gradient for x, of which `sizes` are the spatial axes; that for the grid.
enum class SampleFunction : std::uint8_t { sample, gradient, grid_gradient };

struct GridSampleAttributes {
  SampleFunction function = SampleFunction::sample;
  kernels::SampleOptions options = {};  // of [batch, channels, …]; channels last is a permuted view
  Dims sizes = {};

  void fields(AttributeVisitor& v) {
    options.fields(v);
    if (function == SampleFunction::gradient) v("sizes", sizes, "the sizes of the result's spatial axes");
  }
};

class GridSampleOp final : public OpOf<GridSampleAttributes, DerivativeInterface, BatchedSamples> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  // Of the gradient for the grid.
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
};

}  // namespace weft
