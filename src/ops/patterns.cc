#include "ops/patterns.h"

#include "graph/graph.h"
#include "ops/rules.h"

namespace weft {
namespace {

// Results whose first axis is that of the batch.
Batched all_first(const OpPtr& op, std::span<const Tensor> inputs, std::span<const int> axes) {
  const std::int64_t size = batch_size(inputs, axes);
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back(batch_first(inputs[i], axes[i], size));
  std::vector<Tensor> results = results_of(apply(op, std::move(operands)));
  std::vector<int> first(results.size(), 0);
  return {std::move(results), std::move(first)};
}

}  // namespace

Derivatives LinearInFirst::jvp(const Differentiated& node, std::span<const Tensor> tangents) const {
  if (!tangents[0].defined()) return std::vector<Tensor>(node.outputs.size());
  std::vector<Tensor> operands(node.inputs.begin(), node.inputs.end());
  operands[0] = tangents[0];
  return results_of(apply(this_op(), std::move(operands)));
}

std::optional<Batched> BatchedMatrices::vmap(std::span<const Tensor> inputs, std::span<const int> axes) const {
  return all_first(this_op(), inputs, axes);
}

std::vector<Tensor> BatchedMatrices::vmap_in_order(const BatchInOrder& batch) const {
  return samples_in_order(this_op(), batch, 2);
}

std::optional<Batched> BatchedSamples::vmap(std::span<const Tensor> inputs, std::span<const int> axes) const {
  return batched_samples(this_op(), inputs, axes);
}

std::optional<Batched> BatchedAlongAxis::vmap(std::span<const Tensor> inputs, std::span<const int> axes) const {
  return all_first(along(batched_axis() + 1), inputs, axes);
}

std::vector<Tensor> BatchedAlongAxis::vmap_in_order(const BatchInOrder& batch) const {
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    operands.push_back(along_axis_in_order(batch, i, batched_axis()));
  }
  return results_of(apply(along(1), std::move(operands)));
}

}  // namespace weft
