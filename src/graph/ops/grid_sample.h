// Sampling at the positions of a grid, and its gradients.
#pragma once

#include "graph/op.h"
#include "weft/kernels/grid_sample.h"

namespace weft {

// What is computed: samples; the gradient for x, of which `sizes` are the spatial axes; that for the grid.
enum class SampleFunction : std::uint8_t { sample, gradient, grid_gradient };

class GridSampleOp final : public Op {
 public:
  explicit GridSampleOp(kernels::SampleOptions options, SampleFunction function = SampleFunction::sample,
                        Dims sizes = {})
      : options_(options), function_(function), sizes_(std::move(sizes)) {}
  std::string_view name() const override;
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  kernels::SampleOptions options_;  // of [batch, channels, …]; channels last is a permuted view
  SampleFunction function_;
  Dims sizes_;
};

}  // namespace weft
