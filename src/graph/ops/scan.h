// Scans along an axis.
#pragma once

#include "graph/op.h"

namespace weft {

class ScanOp final : public Op {
 public:
  ScanOp(kernels::ScanKind op, int axis, kernels::ScanOptions options) : op_(op), axis_(axis), options_(options) {}
  std::string_view name() const override;
  Work work(const Launch& call) const override;
  void attributes(Attributes& f) const override {
    f.add("axis", axis_);
    if (options_.reverse) f.add("reverse", true);
    if (options_.exclusive) f.add("exclusive", true);
  }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  kernels::ScanKind op_;
  int axis_;
  kernels::ScanOptions options_;
};

}  // namespace weft
