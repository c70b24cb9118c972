// Batching by the ops' own rules (Op::vmap): what was recorded for one entry is recorded for a batch of entries.
#pragma once

#include <span>

#include "graph/op.h"

namespace weft {

// A tensor of that type without values, for batch().
Tensor stand_in_for(TensorType type);

// The outputs, which depend on the variables, for values with a batch in place of these: values[i] has the axis axes[i]
// for it; -1: it is the same for all entries. Of an output that depends on none with a batch the axis is -1. Undefined
// tensors stay so. Where entries and batch have more axes than a tensor can have, the batch and the first axis of the
// entries are one (ops/batch_in_order.h), and ops that have no form for that are computed for one entry after the
// other. Throws Unsupported for an op without a rule, ShapeError for outputs that have no axis left for the batch.
Batched batch(std::span<const Tensor> outputs, std::span<const Tensor> variables, std::span<const Tensor> values,
              std::span<const int> axes);

}  // namespace weft
