// Batches of entries with so many axes that another one, for the batch, would be more than a tensor can have: the
// elements of the entries lie one after the other, and the batch and the first axis of an entry are one axis,
// [batch * n, …]. Nested batches become so one axis of the product of their sizes (transform/batch.h). Ops compute them
// by Op::vmap_in_order().
#pragma once

#include <span>
#include <vector>

#include "graph/op.h"

namespace weft {

// Of at least one operand with a batch.
struct BatchInOrder {
  std::int64_t size;                    // of the batch
  std::span<const Tensor> inputs;       // those with a batch: of any shape, their elements entry after entry
  std::span<const char> has_batch;      // of each input; without one it is the same for all entries
  std::span<const TensorType> entries;  // the inputs' types in one entry
  std::span<const TensorType> results;  // and those of the results
};

// [size * n, …] of an entry [n, …]; [size] of one without axes.
Shape shape_in_order(const Shape& entry, std::int64_t size);
// The operand `input` in the shape in which an op that broadcasts its operands takes it for results of the shape
// shape_in_order(result), where `result` has kMaxRank axes.
Tensor broadcast_in_order(const BatchInOrder& batch, std::size_t input, const Shape& result);
// The entries with their axes in another order.
Tensor permute_in_order(const Tensor& x, std::int64_t size, const Shape& entry, std::span<const int> order);
// The operand `input` as [size * axes in front, n, axes behind]: for ops along one axis, which is then axis 1. `count`
// axes stand for it.
Tensor along_axis_in_order(const BatchInOrder& batch, std::size_t input, int axis, int count = 1);
// The results of an op whose operands have the same axes in front of their last ones, `last` of each, and that takes
// any there: of matrices 2.
std::vector<Tensor> samples_in_order(const OpPtr& op, const BatchInOrder& batch, int last);
// Each axis for which wanted(axis) holds, one after the other: along(x) is the op along axis 1.
template <class Wanted, class Along>
Tensor each_axis_in_order(const BatchInOrder& batch, Wanted&& wanted, Along&& along) {
  Tensor y = batch.inputs[0];
  TensorType entry = batch.entries[0];
  BatchInOrder now = batch;
  now.inputs = std::span(&y, 1);
  now.entries = std::span(&entry, 1);
  for (int axis = 0; axis < entry.shape.rank(); ++axis) {
    if (!wanted(axis)) continue;
    y = along(axis, along_axis_in_order(now, 0, axis));
    entry.shape[axis] = y.shape()[1];
  }
  return y;
}

}  // namespace weft
