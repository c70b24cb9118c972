// Picking and joining: gather, concat.
#pragma once

#include "graph/op.h"

namespace weft {

class GatherOp final : public Op {
 public:
  explicit GatherOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "gather"; }
  void fields(Fields& f) const override { f.add("axis", axis_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  int axis_;
};

// Each part is copied into its place in the result.
class ConcatOp final : public Op {
 public:
  explicit ConcatOp(int axis) : axis_(axis) {}
  int axis() const { return axis_; }
  std::string_view name() const override { return "concat"; }
  void fields(Fields& f) const override { f.add("axis", axis_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  int axis_;
};

}  // namespace weft
