// Tensors computed from indices: 0, 1, 2, …, and expressions of it. They hold no data: kernels that use them compute
// them, and the numbers that a program changes are given to each run.
#pragma once

#include "graph/op.h"

namespace weft {

// [count]: 0, 1, 2, …
struct IotaAttributes {
  std::int64_t count = 0;

  void fields(AttributeVisitor& v) { v("count", count, "how many there are"); }
};

class IotaOp final : public OpOf<IotaAttributes> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "iota"; }
  bool is_iota() const override { return true; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;  // a sum for each element, as the kernel counts
};

// i32; i64 where it has more than 2^31 elements.
Tensor iota(std::int64_t count);

// [count]: start + i · step. Integers wrap. Floats are as exact as those computed in double and rounded once.
Tensor ramp(const Number& start, const Number& step, std::int64_t count, DType dtype);
// [count], floats: from start to stop, which is the last one, whatever rounding does between them.
Tensor ramp_between(double start, double stop, std::int64_t count, DType dtype);
// [rows, columns]: 1 where (column - row) `compare`s with the diagonal, else 0.
Tensor band(std::int64_t rows, std::int64_t columns, DType dtype, ScalarOp compare, std::int64_t diagonal);

}  // namespace weft
