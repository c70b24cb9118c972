// Sort and top-k.
#pragma once

#include "graph/op.h"

namespace weft {

// Results: values and indices (i32), as far as they are wanted. Of each row the first `keep`, -1: all.
class SortOp final : public Op {
 public:
  SortOp(int axis, bool descending, std::int64_t keep, bool values, bool indices)
      : axis_(axis), descending_(descending), keep_(keep), values_(values), indices_(indices) {}
  std::string_view name() const override { return keep_ < 0 ? values_ ? "sort" : "argsort" : "top_k"; }
  double cost() const override { return 60; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  std::optional<View> values_of(const Launch& call) const;
  std::optional<View> indices_of(const Launch& call) const;

  int axis_;
  bool descending_;
  std::int64_t keep_;
  bool values_, indices_;
};

}  // namespace weft
