// Inside the attention family: a checked call, its GPU variants, and the two CPU forms.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "cpu/executor.h"
#include "weft/gpu.h"
#include "weft/kernels/attention.h"
#include "weft/work.h"

namespace weft::kernels {

// Queries or keys of a call that is part of a larger one.
struct AttentionRange {
  std::int64_t first = 0, count = 0, all = 0;
};
// The number of these keys that one of these queries sees on average, at most, according to shapes alone.
double attention_mean_keys(const AttentionOptions& options, const AttentionRange& queries, const AttentionRange& keys);

// The operands of one call after checking, with the sizes they agree on.
struct AttentionCall {
  View q, k, v, y;
  std::optional<View> mask;  // broadcast to [batch, heads, queries, keys]
  std::optional<View> mask_as_given;
  AttentionOptions options;  // causal as window_right; windows that include all keys as none
  AttentionLengths lengths;
  std::optional<View> log_sums;  // f32 [batch, heads, queries]
  std::int64_t batch = 0, kv_heads = 0, group = 0, queries = 0, keys = 0, dim = 0, value_dim = 0;
  // If the call is part of a larger one: its first query and key, and the larger one's numbers of queries and keys.
  std::int64_t first_query = 0, all_queries = 0, first_key = 0, all_keys = 0;

  // Throws InvalidArgument, Unsupported.
  AttentionCall(const View& q, const View& k, const View& v, const std::optional<View>& mask, const View& y,
                const AttentionOptions& options, const AttentionLengths& lengths = {},
                const std::optional<View>& log_sums = {});

  // Factor of the result of a query that sees no key: 0 or NaN.
  float empty() const { return options.empty_is_nan ? std::numeric_limits<float>::quiet_NaN() : 0; }
  // Queries that share one head of keys and values: row r is query r % queries of head group·kv_head + r / queries.
  std::int64_t rows() const { return group * queries; }
  // True if there is a mask and it is the same for all rows of a kv_head.
  bool mask_is_per_key() const;
  // True if windows hide keys from some queries.
  bool has_window() const { return options.window_left >= 0 || options.window_right >= 0; }
  // True if queries that share a head of keys may see different ones, masks aside.
  bool shifts() const { return (has_window() || lengths.queries) && queries > 1; }
  // True if there is nothing to compute.
  bool is_empty() const { return y.count() == 0 && !(log_sums && log_sums->count() > 0); }

  // On the CPU: the keys first…end-1 of this call that a query of it sees, not counting the mask.
  struct Keys {
    std::int64_t first = 0, end = 0;
  };
  Keys seen(std::int64_t batch, std::int64_t query) const;
  double mean_keys() const {
    return attention_mean_keys(options, {first_query, queries, all_queries}, {first_key, keys, all_keys});
  }

  // The call restricted to `count` batches, heads of keys, heads of a group (of one head of keys), queries or keys from
  // `begin` on. attention_combine.wgsl combines the results of several ranges of keys.
  enum class Axis { batch, kv_heads, group, queries, keys };
  std::int64_t size(Axis axis) const;
  AttentionCall part(Axis axis, std::int64_t begin, std::int64_t count) const;
};

enum class AttentionKind : std::uint8_t {
  thread_per_query,  // attention_thread_per_query.wgsl: a thread computes a query in registers
  tiled,             // attention_tiled.wgsl: any size, through workgroup memory
  decode,            // attention_decode.wgsl: few queries over many keys, by subgroups
  subgroup_matrix,   // attention_subgroup_matrix.wgsl: f16 on cooperative matrices
};

// The work of that many queries of heads, without the bytes.
Work attention_work(double queries, double mean_keys, std::int64_t dim, std::int64_t value_dim);

// How a GPU computes attention.
struct AttentionVariant {
  AttentionKind kind = AttentionKind::thread_per_query;
  bool staged = true;       // thread_per_query: keys and values through workgroup memory
  int threads = 128;        // a workgroup
  int rows = 1;             // of a thread; decode: of a workgroup; subgroup_matrix: of a subgroup
  int splits = 1;           // thread_per_query: groups of threads among which the keys are split; a power of two
  int threads_per_row = 1;  // thread_per_query: adjacent threads that share a row's columns; 1, 2 or 4
  int chunk = 4;            // thread_per_query, decode: keys between two updates of the running maximum
  // thread_per_query: keys in workgroup memory, a multiple of splits · chunk; subgroup_matrix: keys of a step.
  int tile = 32;
  int lanes_per_key = 16;                // decode: threads that share a key; a power of two
  int subgroups_m = 1, subgroups_n = 1;  // subgroup_matrix: subgroups along rows, and along keys and columns
  int buffers = 1;                       // subgroup_matrix: of workgroup memory for keys and values: 0, 1 or 2
  gpu::MatrixShape unit{};               // subgroup_matrix: what a subgroup multiplies at once
  int kv_splits = 1;  // workgroups among which the keys are split; attention_combine.wgsl combines them
};

// "thread_per_query_128x1_split2", "tiled_128x2_kv_splits8".
std::string to_string(const AttentionVariant& variant);

// A variant on cooperative matrices; nothing if the device supports none that fit.
std::optional<AttentionVariant> attention_subgroup_matrix(const gpu::Capabilities& capabilities, int subgroups_m,
                                                          int subgroups_n, int rows, int tile, int buffers);
// True if the variant's result of a small problem of the call's sizes was right on the device. The verdict is cached.
bool passes_attention_self_test(const gpu::Device& device, const AttentionVariant& variant, const AttentionCall& call);
// True if the device and the operands allow the variant.
bool attention_can_run(const AttentionVariant& variant, const AttentionCall& call,
                       const gpu::Capabilities& capabilities);
// `scratch`: bytes that splits of the keys may use.
AttentionVariant choose_attention(const gpu::Capabilities& capabilities, const AttentionCall& call,
                                  std::uint64_t scratch, bool subgroup_matrix = true);
// True if eight 16-bit elements along the last axis can be loaded at once.
bool loads_eights(const View& view);
// decode: elements of keys or values in one load: 8 of a 16-bit type, or 4.
int attention_load_unit(const View& view, const AttentionCall& call);
// Rows (AttentionCall::rows) of a workgroup.
std::int64_t attention_block_rows(const AttentionVariant& variant);
// Bytes of workgroup memory that the variant takes.
std::int64_t attention_workgroup_memory(const AttentionVariant& variant, const AttentionCall& call);
// subgroup_matrix: head sizes padded to whole matrices, and the columns that are loaded, and stored, at once.
struct MatrixHeads {
  std::int64_t q_dim = 0, o_dim = 0, q_round = 0, o_round = 0;
};
MatrixHeads attention_matrix_heads(const AttentionVariant& variant, const AttentionCall& call);
// Bytes of scratch of a split of the keys.
std::uint64_t attention_split_bytes(const AttentionCall& call);

// Records the call by that variant. Calls that exceed a binding are cut; pieces that the variant cannot run take
// another.
void attention_gpu(gpu::Commands& commands, const AttentionCall& call, const AttentionVariant& variant);

// check_memory() of a call's views.
void check_attention_memory(Stream& stream, const AttentionCall& call);

// The CPU's kernel: vectorised over queries, on all cores.
void attention_cpu(cpu::Executor& executor, const AttentionCall& call);

// The same by two passes over each row of scores, in f64 on one thread: devices' self-tests and tests compare with it.
void attention_plain(const AttentionCall& call);

// ---- The gradient

// The operands of a call after checking; forward.y is g, the result's cotangent, and forward.log_sums an operand.
struct AttentionGradientCall {
  AttentionCall forward;
  View delta, dq, dk, dv;

  // Throws InvalidArgument, Unsupported.
  AttentionGradientCall(const View& q, const View& k, const View& v, const View& g, const View& log_sums,
                        const View& delta, const std::optional<View>& mask, const View& dq, const View& dk,
                        const View& dv, const AttentionOptions& options, const AttentionLengths& lengths = {});
  // The call restricted to `count` batches or heads of keys from `begin` on.
  AttentionGradientCall part(AttentionCall::Axis axis, std::int64_t begin, std::int64_t count) const;
};

// A GPU computes it in two passes: dq for blocks of queries, over tiles of keys; dk and dv for blocks of keys, over
// tiles of queries. Or the latter stores what makes dq.
enum class AttentionPass : std::uint8_t { queries, keys };

// How it computes a pass.
struct AttentionGradientVariant {
  // tiled: attention_gradient.wgsl, any size and type; subgroup_matrix: attention_gradient_matrix.wgsl
  AttentionKind kind = AttentionKind::tiled;
  int threads = 128;        // a workgroup
  int subgroups = 0;        // subgroup_matrix: of a workgroup, an even number
  int rows = 2;             // queries or keys of the block: of a thread; subgroup_matrix: of a pair of subgroups
  int tile = 32;            // keys or queries of a tile; 32 if tiled
  gpu::MatrixShape unit{};  // subgroup_matrix: what a subgroup multiplies at once
  // subgroup_matrix, the pass of keys: it stores the scores' cotangents, of some heads at a time, and a matrix product
  // makes dq of them in the place of the other pass, which would compute them again. Without windows and lengths.
  bool stores_slopes = false;
};
// "tiled_128x2", "subgroup_matrix_128_rows32_tile16_by_16x16x16".
std::string to_string(const AttentionGradientVariant& variant);
// A variant on cooperative matrices; nothing if the device supports none that fit.
std::optional<AttentionGradientVariant> attention_gradient_matrix(const gpu::Capabilities& capabilities, int pairs,
                                                                  int rows, int tile);
// Bytes of workgroup memory that the variant takes, and its head sizes, which are padded to whole matrices.
std::int64_t attention_gradient_memory(const AttentionGradientVariant& variant, const AttentionCall& call);
std::int64_t attention_gradient_columns(const AttentionGradientVariant& variant, const AttentionCall& call);
// True if the device and the operands allow the variant.
bool attention_gradient_can_run(const AttentionGradientVariant& variant, const AttentionGradientCall& call,
                                const gpu::Capabilities& capabilities);
AttentionGradientVariant choose_attention_gradient(const gpu::Capabilities& capabilities,
                                                   const AttentionGradientCall& call, AttentionPass pass,
                                                   bool subgroup_matrix = true);
// True if the variant's results of a small problem of the call's sizes were right on the device. The verdict is cached.
bool passes_attention_gradient_self_test(const gpu::Device& device, const AttentionGradientVariant& variant,
                                         const AttentionCall& call);
// Records the call, its passes by these variants.
void attention_gradient_gpu(gpu::Commands& commands, const AttentionGradientCall& call,
                            const AttentionGradientVariant& of_queries, const AttentionGradientVariant& of_keys);

// The CPU's kernel and the reference.
void attention_gradient_cpu(cpu::Executor& executor, const AttentionGradientCall& call);

}  // namespace weft::kernels
