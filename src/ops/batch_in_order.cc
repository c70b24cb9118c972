#include "ops/batch_in_order.h"

#include <algorithm>

#include "graph/node.h"
#include "weft/array.h"
#include "weft/graph.h"

namespace weft {
namespace {

std::int64_t product(const Shape& shape, int first, int end) {
  std::int64_t count = 1;
  for (int i = first; i < end; ++i) count *= shape[i];
  return count;
}

}  // namespace

Shape shape_in_order(const Shape& entry, std::int64_t size) {
  Shape shape = entry;
  if (shape.rank() == 0)
    shape.push_back(size);
  else
    shape[0] *= size;
  return shape;
}

Tensor broadcast_in_order(const BatchInOrder& batch, std::size_t input, const Shape& result) {
  const Tensor& x = batch.inputs[input];
  const Shape& entry = batch.entries[input].shape;
  const bool has_batch = batch.has_batch[input], has_first = entry.rank() == result.rank();
  const bool spans = has_first && entry[0] == result[0];
  if (!has_batch && !(spans && result[0] != 1)) return x;  // as it broadcasts
  Shape behind = entry;
  if (has_first) behind.erase(0);
  const std::int64_t count = element_count(behind);
  while (behind.rank() < result.rank() - 1) behind.insert(0, 1);
  Shape shape = behind;
  shape.insert(0, batch.size * result[0]);
  if (has_batch && spans) return reshape(x, shape);
  const Tensor apart = reshape(x, {has_batch ? batch.size : 1, spans ? result[0] : 1, count});
  return reshape(broadcast_to(apart, {batch.size, result[0], count}), shape);
}

Tensor permute_in_order(const Tensor& x, std::int64_t size, const Shape& entry, std::span<const int> order) {
  // Axes that stay beside each other are one.
  std::vector<std::pair<int, int>> runs;  // [first, end) of x's axes, in the new order
  for (const int axis : order) {
    if (!runs.empty() && runs.back().second == axis)
      ++runs.back().second;
    else
      runs.emplace_back(axis, axis + 1);
  }
  if (std::ssize(runs) < kMaxRank) {
    std::vector<std::pair<int, int>> as_in_x = runs;
    std::ranges::sort(as_in_x);
    Shape shape{size};
    for (const auto& [first, end] : as_in_x) shape.push_back(product(entry, first, end));
    std::vector<int> of_runs{0};
    for (const auto& run : runs)
      of_runs.push_back(1 + static_cast<int>(std::ranges::find(as_in_x, run) - as_in_x.begin()));
    return permute(reshape(x, shape), of_runs);
  }
  // First the axis that comes first, then the others, which are one less.
  std::vector<int> first_alone{order[0]}, others;
  for (int i = 0; i < entry.rank(); ++i) {
    if (i != order[0]) first_alone.push_back(i);
  }
  for (const int axis : order.subspan(1)) others.push_back(axis - (axis > order[0] ? 1 : 0));
  Shape rest = entry;
  rest.erase(order[0]);
  return permute_in_order(permute_in_order(x, size, entry, first_alone), size * entry[order[0]], rest, others);
}

std::vector<Tensor> samples_in_order(const OpPtr& op, const BatchInOrder& batch, int last) {
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    const Shape& entry = batch.entries[i].shape;
    const int front = entry.rank() - last;
    for (int axis = 0; axis < front; ++axis) {
      if (batch.entries[0].shape.rank() - last != front || batch.entries[0].shape[axis] != entry[axis]) return {};
    }
    Tensor x = batch.inputs[i];
    if (!batch.has_batch[i]) x = broadcast_to(reshape(x, {1, x.size()}), {batch.size, x.size()});
    Shape shape{batch.size * product(entry, 0, front)};
    for (int axis = front; axis < entry.rank(); ++axis) shape.push_back(entry[axis]);
    operands.push_back(reshape(x, shape));
  }
  return results_of(apply(op, std::move(operands)));
}

Tensor along_axis_in_order(const BatchInOrder& batch, std::size_t input, int axis, int count) {
  const Shape& entry = batch.entries[input].shape;
  Tensor x = batch.inputs[input];
  if (!batch.has_batch[input]) x = broadcast_to(reshape(x, {1, x.size()}), {batch.size, x.size()});
  const int end = axis + count;
  return reshape(x,
                 {batch.size * product(entry, 0, axis), product(entry, axis, end), product(entry, end, entry.rank())});
}

}  // namespace weft
