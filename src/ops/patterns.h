// Rules of derivatives and batching that many ops follow: an op names them among its interfaces (OpOf) instead of
// having rules of its own.
#pragma once

#include "graph/op.h"
#include "ops/batch_in_order.h"

namespace weft {

// Linear in operand 0, whatever the others are: the tangent of the result is the op on the tangent of that operand.
class LinearInFirst : public DerivativeInterface {
 public:
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const final;
  virtual OpPtr this_op() const = 0;
};

// An op on the matrices of the last two axes, which takes any axes in front of them: entries are more matrices.
class BatchedMatrices : public BatchingInterface {
 public:
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const final;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const final;
  virtual OpPtr this_op() const = 0;
};

// An op on each sample along the first axis of all operands and results: entries are more samples.
class BatchedSamples : public BatchingInterface {
 public:
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const final;
  virtual OpPtr this_op() const = 0;
};

// An op along one axis, whose operands have the same axes: the op along the next one.
class BatchedAlongAxis : public BatchingInterface {
 public:
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const final;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const final;
  virtual int batched_axis() const = 0;
  // The op along another axis.
  virtual OpPtr along(int axis) const = 0;
};

}  // namespace weft
