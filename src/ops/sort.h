// Sort and top-k.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"

namespace weft {

enum class SortFunction : std::uint8_t { sort, argsort, top_k };

struct SortAttributes {
  SortFunction function = SortFunction::sort;
  int axis = -1;
  std::int64_t k = 0;       // of top_k
  bool descending = false;  // of top_k: `largest`, whose default is true

  void normalise(std::string_view op, std::span<const TensorType> inputs) {
    axis = normalize_axis(axis, inputs[0].shape.rank(), op);
  }
  void fields(AttributeVisitor& v) {
    v("axis", axis, -1, "the axis along which elements are compared");
    if (function == SortFunction::top_k) {
      v("k", k, "how many elements are wanted");
      v("largest", descending, true, "the greatest elements, descending; else the least, ascending");
    } else {
      v.brief("descending", descending, false, "the greatest element first");
    }
  }
};

// Results: of sort values, of argsort indices (position_type()), of top_k both.
class SortOp final : public OpOf<SortAttributes, DerivativeInterface, BatchedAlongAxis> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  double cost() const override { return 60; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  int batched_axis() const override { return a.axis; }
  OpPtr along(int axis) const override;
};

}  // namespace weft
