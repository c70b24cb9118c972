#include "ops/rules.h"

#include "graph/node.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {

bool is_inexact(DType type) { return is_floating(type) || type == DType::c64; }

Tensor sum_of(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a + b; }

Tensor zeros_of(const TensorType& type) { return zeros(type.shape, type.dtype); }

Tensor or_zeros(const Tensor& x, const TensorType& type) { return x.defined() ? x : zeros_of(type); }

Tensor accumulated(const Tensor& x) { return is_floating(x.dtype()) && bits(x.dtype()) < 32 ? cast(x, DType::f32) : x; }

Tensor summed_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::vector<int> axes;
  const int more = x.rank() - shape.rank();
  for (int i = 0; i < x.rank(); ++i) {
    if (i < more || (shape[i - more] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  }
  return reshape(axes.empty() ? x : reduce(ReduceKind::sum, x, axes, true), shape);
}

std::int64_t batch_size(std::span<const Tensor> inputs, std::span<const int> axes) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (axes[i] >= 0) return inputs[i].shape()[axes[i]];
  }
  throw InternalError("batching: no operand has a batch");
}

Tensor batch_first(const Tensor& x, int axis, std::int64_t size) {
  if (axis < 0) {
    Shape shape = x.shape();
    shape.insert(0, size);
    return broadcast_to(x, shape);
  }
  return axis == 0 ? x : moveaxis(x, axis, 0);
}

Tensor batch_broadcast(const Tensor& x, int axis, int rank) {
  if (axis < 0) return x;
  const Tensor first = batch_first(x, axis, 0);
  Shape shape = first.shape();
  while (shape.rank() < rank + 1) shape.insert(1, 1);
  return reshape(first, shape);
}

Tensor entries_merged(const Tensor& x, int axis, std::int64_t size) {
  const Tensor first = batch_first(x, axis, size);
  Shape shape = first.shape();
  shape[1] *= size;
  shape.erase(0);
  return reshape(first, shape);
}

Tensor entries_unmerged(const Tensor& x, std::int64_t size, std::int64_t first) {
  Shape shape = x.shape();
  shape[0] = first;
  shape.insert(0, size);
  return reshape(x, shape);
}

Batched batched_samples(const OpPtr& op, std::span<const Tensor> inputs, std::span<const int> axes) {
  const std::int64_t size = batch_size(inputs, axes), samples = inputs[0].shape()[axes[0] == 0 ? 1 : 0];
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back(entries_merged(inputs[i], axes[i], size));
  const Tensor y = apply(op, std::move(operands));
  Batched made;
  for (int i = 0; i < static_cast<int>(y.node()->types().size()); ++i) {
    made.outputs.push_back(entries_unmerged(result(y, i), size, samples));
    made.axes.push_back(0);
  }
  return made;
}

Batched batched(Tensor output) { return {{std::move(output)}, {0}}; }

}  // namespace weft
