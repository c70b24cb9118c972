// What rules of derivatives and of batching have in common (graph/op.h).
#pragma once

#include <span>
#include <vector>

#include "graph/op.h"

namespace weft {

// Types that have derivatives: floats and complex numbers.
bool is_inexact(DType type);

// ---- Derivatives
// The sum of both; either may be undefined, and stands for zeros.
Tensor sum_of(const Tensor& a, const Tensor& b);
// Zeros of that type, which take no memory.
Tensor zeros_of(const TensorType& type);
// The tensor, or zeros of the type where it is undefined.
Tensor or_zeros(const Tensor& x, const TensorType& type);
// In the type in which sums of such numbers are computed: f32 of narrower floats.
Tensor accumulated(const Tensor& x);
// The transpose of broadcasting from `shape`: sums along the axes that were broadcast.
Tensor summed_to(const Tensor& x, const Shape& shape);

// ---- Batching: operands whose axis `axis` is that of the batch; -1: they are the same for all entries.
// The size of the batch.
std::int64_t batch_size(std::span<const Tensor> inputs, std::span<const int> axes);
// With the batch as the first axis; of operands without one with a first axis of that size, which takes no memory.
Tensor batch_first(const Tensor& x, int axis, std::int64_t size);
// With the batch as the first axis, and axes of size 1 behind it so that each entry has that rank; operands without one
// stay as they are, for ops that broadcast.
Tensor batch_broadcast(const Tensor& x, int axis, int rank);
// The entries one after the other along their own first axis, for ops whose first axis is a batch already; and back to
// `size` entries, whose first axis is `first` long.
Tensor entries_merged(const Tensor& x, int axis, std::int64_t size);
Tensor entries_unmerged(const Tensor& x, std::int64_t size, std::int64_t first);
// The batch of an op that computes each sample, along the first axis of all operands and results, by itself: entries
// are more samples.
Batched batched_samples(const OpPtr& op, std::span<const Tensor> inputs, std::span<const int> axes);
// The rank of an entry.
inline int entry_rank(const Tensor& x, int axis) { return x.rank() - (axis >= 0 ? 1 : 0); }
// The one output of an op with the batch as its first axis.
Batched batched(Tensor output);

}  // namespace weft
