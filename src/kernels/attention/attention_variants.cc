// Chooses the variant of the attention kernels for a call.
#include <algorithm>
#include <format>
#include <numeric>

#include "kernels/attention/attention.h"
#include "kernels/call.h"
#include "kernels/matmul/variants.h"

namespace weft::kernels {
namespace {

// Workgroups of 128 threads that saturate a large GPU's memory, and the number of keys below which a split is not worth
// its second pass.
constexpr std::int64_t kEnoughGroups = 512;
constexpr std::int64_t kLeastKeys = 256;

// The number of workgroups that work on different rows.
std::int64_t row_groups(const AttentionVariant& v, const AttentionCall& a) {
  return a.batch * a.kv_heads * ceil_div(a.rows(), attention_block_rows(v));
}

// Elements of one operand that a thread of kind `decode` holds for all its rows.
std::int64_t held(const AttentionVariant& v, std::int64_t size, int unit) {
  return v.rows * ceil_div(size, v.lanes_per_key * unit) * unit;
}

// The largest multiple of `step` that divides `size` and is at most `most`; 0 if there is none.
std::int64_t largest_part(std::int64_t size, std::int64_t step, std::int64_t most) {
  std::int64_t part = most / step * step;
  while (part > 0 && size % part != 0) part -= step;
  return part;
}

bool can_run_subgroup_matrix(const AttentionVariant& v, const AttentionCall& a, const gpu::Capabilities& capabilities) {
  const auto unit = matrix_unit(capabilities, DType::f16);
  if (!unit || v.unit != *unit || a.keys == 0) return false;
  for (const View* operand : {&a.q, &a.k, &a.v}) {
    if (operand->dtype != DType::f16 || attention_load_unit(*operand, a) != 8) return false;
  }
  if (!can_vectorise(a.y) || a.value_dim % 4 != 0) return false;
  // Loads directly from storage take a stride that is no less than a row, neither reversed nor broadcast.
  if (v.buffers == 0 && (a.k.strides()[2] < a.dim || a.v.strides()[2] < a.value_dim)) return false;
  // They take whole tiles: none may extend past the keys or a sequence's length, or have keys that some rows do not
  // see, whose values may be NaN.
  if (v.buffers == 0 && (a.keys % v.tile != 0 || a.has_window() || a.mask || a.lengths.queries || a.lengths.keys)) {
    return false;
  }
  const auto m = static_cast<int>(unit->m), n = static_cast<int>(unit->n), k = static_cast<int>(unit->k);
  const int block = v.subgroups_m * v.rows, threads_per_row = v.threads / block;
  if (v.threads % block != 0 || v.rows % m != 0 || v.tile % (threads_per_row * 4) != 0 ||
      threads_per_row % v.subgroups_n != 0)
    return false;
  if (v.tile % (n * v.subgroups_n) != 0 || v.tile % k != 0) return false;
  constexpr std::int64_t kWidest = 256;
  const MatrixHeads heads = attention_matrix_heads(v, a);
  if (v.buffers == 0 && (heads.q_dim != a.dim || heads.o_dim != a.value_dim)) return false;
  return a.dim <= kWidest && a.value_dim <= kWidest && heads.q_round > 0 && heads.o_round > 0;
}

// The variant on cooperative matrices for heads of this size, from sweeps on an H200 before its workgroup memory was
// aligned; nothing if none can run, or if the work is too little to repay compiling it.
std::optional<AttentionVariant> best_subgroup_matrix(const AttentionCall& a, const gpu::Capabilities& capabilities) {
  constexpr double kWorth = 2.5e8;  // FLOP
  const double flops = 2 * static_cast<double>(a.batch * a.kv_heads * a.rows() * (a.dim + a.value_dim)) * a.mean_keys();
  if (capabilities.minimum || capabilities.software || flops < kWorth) return std::nullopt;
  const std::int64_t widest = std::max(a.dim, a.value_dim);
  constexpr std::int64_t kManyRows = 512;
  const auto v = widest > 128            ? attention_subgroup_matrix(capabilities, 8, 1, 16, 32, 1)
                 : widest > 64           ? attention_subgroup_matrix(capabilities, 4, 2, 32, 32, 1)
                 : a.rows() >= kManyRows ? attention_subgroup_matrix(capabilities, 4, 1, 32, 16, 2)
                                         : attention_subgroup_matrix(capabilities, 4, 1, 16, 16, 2);
  return v && attention_can_run(*v, a, capabilities) ? v : std::nullopt;
}

// Two rows for two or more adjacent threads, so that a load of a key serves two rows and each thread holds part of
// their columns; nothing where that cannot run. From sweeps on an H200, in TFLOP/s, for 8 × 8 heads of 1,000 tokens in
// f32, head sizes 32, 64, 96, 128, 160: 27.8, 26.0, 26.6, 23.8, 23.0; in workgroups of 128 threads 27.3, 23.9, 24.5,
// 12.4, 12.6; with one row a thread 22.3, 20.8, 19.8, 12.6; tiled 12.1 to 12.4. Head size 256: four threads a row 16.9,
// tiled 11.6.
std::optional<AttentionVariant> best_thread_per_query(const AttentionCall& a, const gpu::Capabilities& capabilities) {
  constexpr std::int64_t kWide = 160, kWidest = 256, kManyBlocks = 128, kFewRows = 32;
  const std::int64_t widest = std::max(a.dim, a.value_dim);
  if (capabilities.software || widest > kWidest || a.rows() <= kFewRows) return std::nullopt;
  const bool wide = widest > kWide;
  AttentionVariant v{
      .threads = 256, .rows = 2, .threads_per_row = wide ? 4 : 2, .chunk = wide ? 4 : 8, .tile = wide ? 16 : 32};
  if (row_groups(v, a) < kManyBlocks || a.rows() <= attention_block_rows(v) / 2) v.threads = 128;
  if (a.rows() <= attention_block_rows(v) / 2) v.threads_per_row *= 2;
  v.threads = static_cast<int>(workgroup_size(capabilities, static_cast<std::uint32_t>(v.threads)));
  while (v.tile > v.chunk && attention_workgroup_memory(v, a) > capabilities.max_workgroup_memory) v.tile /= 2;
  return attention_can_run(v, a, capabilities) ? std::optional(v) : std::nullopt;
}

}  // namespace

std::optional<AttentionVariant> attention_subgroup_matrix(const gpu::Capabilities& capabilities, int subgroups_m,
                                                          int subgroups_n, int rows, int tile, int buffers) {
  const auto unit = matrix_unit(capabilities, DType::f16);
  if (!unit) return std::nullopt;
  AttentionVariant v{.kind = AttentionKind::subgroup_matrix,
                     .rows = rows,
                     .tile = tile,
                     .subgroups_m = subgroups_m,
                     .subgroups_n = subgroups_n,
                     .buffers = buffers,
                     .unit = *unit};
  v.threads = subgroups_m * subgroups_n * static_cast<int>(capabilities.subgroup_max);
  return v;
}

MatrixHeads attention_matrix_heads(const AttentionVariant& v, const AttentionCall& a) {
  const std::int64_t threads_per_row = std::max<std::int64_t>(v.threads / attention_block_rows(v), 1);
  const std::int64_t q_step = std::lcm<std::int64_t>(v.unit.k, threads_per_row * 8);
  const std::int64_t o_step = std::lcm<std::int64_t>(v.unit.n * v.subgroups_n, threads_per_row * 4);
  MatrixHeads heads{.q_dim = ceil_div(a.dim, q_step) * q_step, .o_dim = ceil_div(a.value_dim, o_step) * o_step};
  heads.q_round = largest_part(heads.q_dim, q_step, v.tile);
  heads.o_round = largest_part(heads.o_dim, o_step, v.tile);
  return heads;
}

bool loads_eights(const View& view) {
  if (bits(view.dtype) != 16 || view.offset % 16 != 0) return false;
  if (view.strides()[3] != 1 || view.shape()[3] % 8 != 0) return false;
  for (int i = 0; i < 3; ++i) {
    if (view.shape()[i] != 1 && view.strides()[i] % 8 != 0) return false;
  }
  return true;
}

int attention_load_unit(const View& view, const AttentionCall& call) {
  return view.buffer != call.y.buffer && loads_eights(view) ? 8 : 4;
}

std::int64_t attention_block_rows(const AttentionVariant& v) {
  switch (v.kind) {
    case AttentionKind::thread_per_query:
      return v.threads / v.splits / v.threads_per_row * v.rows;
    case AttentionKind::tiled:
      return v.threads / 8 * v.rows;
    case AttentionKind::decode:
      return v.rows;
    case AttentionKind::subgroup_matrix:
      return v.subgroups_m * v.rows;
  }
  return 0;
}

std::string to_string(const AttentionVariant& v) {
  const std::string kv_splits = v.kv_splits > 1 ? std::format("_kv_splits{}", v.kv_splits) : "";
  if (v.kind == AttentionKind::tiled) return std::format("tiled_{}x{}{}", v.threads, v.rows, kv_splits);
  if (v.kind == AttentionKind::subgroup_matrix) {
    return std::format("subgroup_matrix_{}x{}_rows{}_tile{}_buffers{}_by_{}x{}x{}{}", v.subgroups_m, v.subgroups_n,
                       v.rows, v.tile, v.buffers, v.unit.m, v.unit.n, v.unit.k, kv_splits);
  }
  if (v.kind == AttentionKind::decode) {
    return std::format("decode_{}x{}_lanes{}_chunk{}{}", v.threads, v.rows, v.lanes_per_key, v.chunk, kv_splits);
  }
  const std::string threads_per_row = v.threads_per_row > 1 ? std::format("_row_threads{}", v.threads_per_row) : "";
  return std::format("thread_per_query_{}x{}_split{}{}{}", v.threads, v.rows, v.splits, threads_per_row, kv_splits);
}

std::int64_t attention_workgroup_memory(const AttentionVariant& v, const AttentionCall& call) {
  // Of lengths, and of whether some value is infinite.
  const bool lengths = call.lengths.queries || call.lengths.keys, selects = call.mask || call.shifts();
  const std::int64_t flags = (lengths ? 16 : 0) + (selects ? 16 : 0);
  if (v.kind == AttentionKind::tiled) {
    return (v.threads / 8 * v.rows * 2 + 32) * 9 * 16 + v.threads / 8 * v.rows * 32 + flags;
  }
  if (v.kind == AttentionKind::subgroup_matrix) {
    const MatrixHeads heads = attention_matrix_heads(v, call);
    const std::int64_t block = v.subgroups_m * v.rows, n = v.subgroups_n, k = heads.q_dim + 8,
                       values = heads.o_dim + 8 * n;
    const std::int64_t rows = v.buffers == 2 ? k + values : v.buffers == 1 ? std::max(k, values) : 0;
    return v.tile * rows * 2 + block * ((v.tile + 4 * n) * 4 + (v.tile + 8) * 2 + 4) + v.subgroups_m * n * 64 +
           v.tile * 4 + v.threads * 4 + 16 + flags;
  }
  if (v.kind == AttentionKind::decode) return v.threads / v.lanes_per_key * v.rows * 8 + v.threads * 16 + flags;
  if (!v.staged) return 0;
  const std::int64_t handed_over = v.splits > 1 ? v.threads / 2 * v.rows : 0;  // passed between splits, for `rows` rows
  const std::int64_t tile = v.tile;
  return tile * ceil_div(call.dim, 4) * 16 + std::max(tile, handed_over) * ceil_div(call.value_dim, 4) * 16 +
         (call.mask_is_per_key() ? tile * 4 : 0) + handed_over * 8 + flags;
}

bool attention_can_run(const AttentionVariant& v, const AttentionCall& call, const gpu::Capabilities& capabilities) {
  if (v.threads > static_cast<int>(capabilities.max_workgroup_size)) return false;
  if (attention_workgroup_memory(v, call) > capabilities.max_workgroup_memory) return false;
  if (v.kind == AttentionKind::tiled) return v.threads % 8 == 0;
  if (v.kind == AttentionKind::decode) {
    constexpr std::int64_t kMaxHeld = 64;  // values in registers, and as many again for the results
    return capabilities.subgroups && v.lanes_per_key <= static_cast<int>(capabilities.subgroup_min) &&
           v.threads % v.lanes_per_key == 0 && held(v, call.dim, attention_load_unit(call.k, call)) <= kMaxHeld &&
           held(v, call.value_dim, attention_load_unit(call.v, call)) <= kMaxHeld;
  }
  if (v.kind == AttentionKind::subgroup_matrix) return can_run_subgroup_matrix(v, call, capabilities);
  // Threads of a row take whole groups of four columns, from workgroup memory, and shuffle where the whole workgroup is
  // converged.
  const std::int64_t fours = v.threads_per_row * std::int64_t{4};
  if (v.threads_per_row > 1 &&
      (!v.staged || v.splits > 1 || call.dim % fours != 0 || call.value_dim % fours != 0 || !capabilities.subgroups ||
       v.threads_per_row > static_cast<int>(capabilities.subgroup_min))) {
    return false;
  }
  // Wider heads would need more registers than any GPU has.
  return std::max(call.dim, call.value_dim) <= 128 * std::int64_t{v.threads_per_row} &&
         v.threads % (v.splits * v.threads_per_row) == 0 && v.tile % (v.splits * v.chunk) == 0;
}

std::uint64_t attention_split_bytes(const AttentionCall& call) {
  return static_cast<std::uint64_t>(call.batch * call.kv_heads * call.rows() * (ceil_div(call.value_dim, 4) + 1)) * 16;
}

AttentionVariant choose_attention(const gpu::Capabilities& capabilities, const AttentionCall& call,
                                  std::uint64_t scratch, bool allow_subgroup_matrix) {
  const std::int64_t widest = std::max(call.dim, call.value_dim);
  AttentionVariant variant;
  if (capabilities.software && widest <= 128) {
    // Lanes are SIMD lanes: a workgroup of one subgroup, without sharing or barriers. Two rows a lane halve the loads
    // of keys and values, at the price of registers, which are on the stack anyway.
    variant.staged = false;
    variant.threads = static_cast<int>(workgroup_size(capabilities, 8));
    if (widest <= 64 && call.rows() > variant.threads) variant.rows = 2;
    return variant;
  }
  variant.threads = static_cast<int>(workgroup_size(capabilities, 128));
  AttentionVariant decode = variant;
  decode.kind = AttentionKind::decode;
  const int unit = std::min(attention_load_unit(call.k, call), attention_load_unit(call.v, call));
  decode.lanes_per_key = 4;
  while (decode.lanes_per_key < 16 && decode.lanes_per_key * unit < widest) decode.lanes_per_key *= 2;
  constexpr std::int64_t kFew = 16, kRows = 8;
  const std::int64_t blocks = ceil_div(call.rows(), kRows);
  decode.rows = static_cast<int>(ceil_div(call.rows(), std::max<std::int64_t>(blocks, 1)));
  while (decode.rows > 1 && !attention_can_run(decode, call, capabilities)) decode.rows = (decode.rows + 1) / 2;
  // Enough threads to fill a large GPU.
  constexpr std::int64_t kEnough = 32768;
  const std::int64_t rows = call.batch * call.kv_heads * call.rows();
  // With fewer keys than its lanes take at once `decode` leaves lanes idle: 67 µs a layer of 32 × 12 heads, 16 queries
  // and 16 keys.
  const bool many_keys = call.rows() <= 4 || call.keys >= decode.threads / decode.lanes_per_key * decode.chunk;
  if (!capabilities.software && call.rows() <= kFew && many_keys && attention_can_run(decode, call, capabilities)) {
    variant = decode;
  } else if (const auto m = allow_subgroup_matrix ? best_subgroup_matrix(call, capabilities) : std::nullopt) {
    return *m;
  } else if (const auto threads_per_row = best_thread_per_query(call, capabilities);
             threads_per_row && (widest > 64 || rows >= kEnough)) {
    variant = *threads_per_row;
  } else if (widest > 64) {
    variant.kind = AttentionKind::tiled;
    variant.rows = 2;
  } else {
    while (variant.splits < 8 && rows * variant.splits < kEnough && call.keys > variant.splits * variant.chunk) {
      variant.splits *= 2;
    }
    // Without splits, small tiles leave room for more workgroups on a core. On an H200, 256 × 12 heads of 32 × 128 keys
    // take 321 µs with tiles of 32 keys and 392 µs with 64; with two rows a thread 600 µs.
    variant.tile = variant.splits == 1 ? 32 : 64;
    while (attention_workgroup_memory(variant, call) > capabilities.max_workgroup_memory) {
      if (variant.tile > variant.splits * variant.chunk)
        variant.tile /= 2;
      else if (variant.splits > 1)
        variant.splits /= 2;
      else
        break;
    }
  }
  if (capabilities.software) return variant;
  const std::int64_t wanted = std::min(kEnoughGroups / row_groups(variant, call), call.keys / kLeastKeys);
  if (wanted > 1) {
    const auto affordable = static_cast<std::int64_t>(scratch / attention_split_bytes(call));
    variant.kv_splits = static_cast<int>(std::max<std::int64_t>(1, std::min({wanted, affordable, std::int64_t{256}})));
  }
  return variant;
}

}  // namespace weft::kernels
