// Reductions over axes.
#pragma once

#include "graph/op.h"

namespace weft {

class ReduceOpNode final : public Op {
 public:
  // `axes` ascend.
  ReduceOpNode(ReduceOp op, std::vector<int> axes, bool keep_dims)
      : op_(op), axes_(std::move(axes)), keep_dims_(keep_dims) {}
  std::string_view name() const override;
  void fields(Fields& f) const override {
    f.add("axes", axes_);
    if (keep_dims_) f.add("keep_dims", true);
  }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  ReduceOp op_;
  std::vector<int> axes_;
  bool keep_dims_;
};

}  // namespace weft
