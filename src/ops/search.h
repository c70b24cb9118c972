// Positions in sorted lists.
#pragma once

#include "graph/op.h"
#include "ops/batch_in_order.h"
#include "weft/kernels/search.h"

namespace weft {

// Operands: the list and the values, of one type. The result is of position_type().
class SearchOp final : public OpOf<kernels::SearchOptions, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "searchsorted"; }
  double cost() const override { return 1; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

}  // namespace weft
