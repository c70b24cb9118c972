// Windows added up to a whole.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/fold.h"

namespace weft {

struct FoldAttributes {
  Dims sizes = {};
  kernels::FoldOptions options = {};

  void fields(AttributeVisitor& v) {
    v("sizes", sizes, "the sizes of the result's spatial axes");
    options.fields(v);
  }
};

// The operand is [n, C, window…, places…].
class FoldOp final : public OpOf<FoldAttributes, LinearInFirst, BatchedSamples> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "fold"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
};

}  // namespace weft
