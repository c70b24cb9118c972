// Windows added up to a whole.
#pragma once

#include "graph/op.h"
#include "weft/kernels/fold.h"

namespace weft {

// The operand is [n, C, window…, places…].
class FoldOp final : public Op {
 public:
  FoldOp(Dims sizes, kernels::FoldOptions options) : sizes_(sizes), options_(options) {}
  std::string_view name() const override { return "fold"; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  Dims sizes_;  // of the result's spatial axes
  kernels::FoldOptions options_;
};

}  // namespace weft
