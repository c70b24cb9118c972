// Windows added up to a whole.
#pragma once

#include "graph/op.h"
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
class FoldOp final : public OpOf<FoldAttributes> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "fold"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

}  // namespace weft
