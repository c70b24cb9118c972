// Inside the attention family: a checked call, its GPU variants, and the two CPU forms.
#pragma once

#include <optional>

#include "weft/cpu.h"
#include "weft/gpu.h"
#include "weft/kernels/attention.h"

namespace weft::kernels {

// The operands of one call after checking, with the sizes they agree on.
struct AttentionCall {
  View q, k, v, y;
  std::optional<View> mask;  // broadcast to [batch, heads, queries, keys]
  AttentionOptions options;
  std::int64_t batch = 0, kv_heads = 0, group = 0, queries = 0, keys = 0, dim = 0, value_dim = 0;

  // Throws InvalidArgument, Unsupported.
  AttentionCall(const View& q, const View& k, const View& v, const std::optional<View>& mask, const View& y,
                const AttentionOptions& options);

  // Queries that share one head of keys and values: row r is query r % queries of head group·kv_head + r / queries.
  std::int64_t rows() const { return group * queries; }
  // The mask is there and says the same for all rows of a kv_head.
  bool mask_is_per_key() const;
};

// How a GPU computes it.
struct AttentionVariant {
  bool tiles = false;   // attention_tiles.wgsl (any size), else attention_lanes.wgsl (all in registers)
  bool staged = true;   // lanes: keys and values through workgroup memory
  int threads = 128;    // a workgroup
  int rows = 1;         // of an invocation
  int splits = 1;       // lanes: groups of invocations that share out the keys; a power of two
  int chunk = 4;        // lanes: keys between two looks at the running maximum
  int tile = 32;        // lanes: keys in workgroup memory, a multiple of splits · chunk
};

AttentionVariant choose_attention(const gpu::Capabilities& capabilities, const AttentionCall& call);
// Bytes of workgroup memory that it takes.
std::int64_t attention_workgroup_memory(const AttentionVariant& variant, const AttentionCall& call);

void attention_gpu(gpu::Commands& commands, const AttentionCall& call, const AttentionVariant& variant);

// What the device `cpu` runs: vectorised over queries, on all cores.
void attention_cpu(cpu::Executor& executor, const AttentionCall& call);

// The oracle: two passes over a row of scores in f64.
void attention_twin(const AttentionCall& call);

}  // namespace weft::kernels
