// Sampling at the positions of a grid.
#pragma once

#include "graph/op.h"
#include "weft/kernels/grid_sample.h"

namespace weft {

class GridSampleOp final : public Op {
 public:
  explicit GridSampleOp(kernels::SampleOptions options) : options_(options) {}
  std::string_view name() const override { return "grid_sample"; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  kernels::SampleOptions options_;  // of [batch, channels, …]; channels last is a permuted view
};

}  // namespace weft
