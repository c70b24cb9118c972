#include "kernels/attention/attention.h"

#include <limits>

#include "kernels/call.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr int kColumnsOfBlock = 256;  // attention_tiles.wgsl: columns of v that a workgroup computes

void check_operand(const char* name, const View& view) {
  if (view.rank() != 4) {
    throw InvalidArgument("attention: {} is {}, expected [batch, heads, length, dim]", name, to_string(view));
  }
  if (view.dtype != DType::f32 && view.dtype != DType::f16 && view.dtype != DType::bf16) {
    throw Unsupported("attention: {} is {}; f32, f16 and bf16 are supported", name, to_string(view));
  }
}

void check_size(const char* name, const View& view, int axis, const char* what, std::int64_t expected) {
  if (view.shape()[axis] == expected) return;
  throw InvalidArgument("attention: {} is {}, its axis {} ({}) must be {}", name, to_string(view), axis, what, expected);
}

bool same_view(const View& a, const View& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.dtype == b.dtype && a.layout == b.layout;
}

}  // namespace

AttentionCall::AttentionCall(const View& q, const View& k, const View& v, const std::optional<View>& mask, const View& y,
                             const AttentionOptions& options)
    : q(q), k(k), v(v), y(y), options(options) {
  check_operand("q", q);
  check_operand("k", k);
  check_operand("v", v);
  check_operand("y", y);
  batch = q.shape()[0];
  kv_heads = k.shape()[1];
  queries = q.shape()[2];
  keys = k.shape()[2];
  dim = q.shape()[3];
  value_dim = v.shape()[3];
  const std::int64_t heads = q.shape()[1];
  check_size("k", k, 0, "batch", batch);
  check_size("v", v, 0, "batch", batch);
  check_size("v", v, 1, "heads, as k's", kv_heads);
  check_size("v", v, 2, "keys, as k's", keys);
  check_size("k", k, 3, "dim, as q's", dim);
  if (dim == 0) throw InvalidArgument("attention: q is {}, its dim must not be 0", to_string(q));
  if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0) {
    throw InvalidArgument("attention: q has {} heads, not a multiple of the {} of k", heads, kv_heads);
  }
  group = kv_heads == 0 ? 1 : heads / kv_heads;
  const Shape expected{batch, heads, queries, value_dim};
  if (y.shape() != expected) {
    throw InvalidArgument("attention: y is {}, expected {}", to_string(y), weft::to_string(expected));
  }
  if (same_view(y, k) || same_view(y, v)) {
    throw InvalidArgument("attention: y may not be the same memory as k or v, which other queries still read");
  }
  if (!mask) return;
  if (mask->dtype != DType::boolean && mask->dtype != DType::f32 && mask->dtype != DType::f16 &&
      mask->dtype != DType::bf16) {
    throw Unsupported("attention: mask is {}; bool, f32, f16 and bf16 are supported", to_string(*mask));
  }
  const Shape scores{batch, heads, queries, keys};
  bool fits = mask->rank() <= 4;
  for (int i = 1; fits && i <= mask->rank(); ++i) fits = mask->shape()[-i] == 1 || mask->shape()[-i] == scores[-i];
  if (!fits) {
    throw InvalidArgument("attention: mask is {}, which does not broadcast to [batch, heads, queries, keys] = {}",
                          to_string(*mask), weft::to_string(scores));
  }
  this->mask = mask->broadcast_to(scores);
}

bool AttentionCall::mask_is_per_key() const {
  if (!mask) return false;
  const Strides& s = mask->strides();
  return (queries == 1 || s[2] == 0) && (group == 1 || s[1] == 0);
}

std::int64_t attention_workgroup_memory(const AttentionVariant& variant, const AttentionCall& call) {
  if (variant.tiles) return (variant.threads / 8 * variant.rows * 2 + 32) * 9 * 16 + variant.threads / 8 * variant.rows * 32;
  if (!variant.staged) return 0;
  const std::int64_t handed_over = variant.splits > 1 ? variant.threads / 2 * variant.rows : 0;  // rows between splits
  const std::int64_t tile = variant.tile;
  return tile * ceil_div(call.dim, 4) * 16 + std::max(tile, handed_over) * ceil_div(call.value_dim, 4) * 16 +
         (call.mask_is_per_key() ? tile * 4 : 0) + handed_over * 8;
}

AttentionVariant choose_attention(const gpu::Capabilities& capabilities, const AttentionCall& call) {
  const std::int64_t widest = std::max(call.dim, call.value_dim);
  AttentionVariant variant;
  if (capabilities.software && widest <= 128) {
    // Lanes are SIMD lanes: a workgroup of one subgroup, nothing shared, nothing to wait for. Two rows a lane halve the
    // loads of keys and values, at the price of registers that live on the stack anyway.
    variant.staged = false;
    variant.threads = static_cast<int>(workgroup_size(capabilities, 8));
    if (widest <= 64 && call.rows() > variant.threads) variant.rows = 2;
    return variant;
  }
  variant.threads = static_cast<int>(workgroup_size(capabilities, 128));
  if (widest > 64) {
    variant.tiles = true;
    variant.rows = 2;
    return variant;
  }
  // Enough invocations to fill a large GPU come first.
  constexpr std::int64_t kEnough = 32768;
  const std::int64_t rows = call.batch * call.kv_heads * call.rows();
  while (variant.splits < 8 && rows * variant.splits < kEnough && call.keys > variant.splits * variant.chunk) {
    variant.splits *= 2;
  }
  // With nobody to share the keys with, small tiles leave room for more workgroups on a core: on an H200, 321 µs with 32
  // keys and 392 with 64 at 256 × 12 heads of 32 × 128 keys; two rows an invocation took 600.
  variant.tile = variant.splits == 1 ? 32 : 64;
  while (variant.tile > variant.splits * variant.chunk &&
         attention_workgroup_memory(variant, call) > capabilities.max_workgroup_memory) {
    variant.tile /= 2;
  }
  while (variant.splits > 1 && attention_workgroup_memory(variant, call) > capabilities.max_workgroup_memory) {
    variant.splits /= 2;
  }
  return variant;
}

void attention_gpu(gpu::Commands& commands, const AttentionCall& a, const AttentionVariant& variant) {
  Call call(commands, variant.tiles ? "attention_tiles" : "attention_lanes");
  // Without keys nothing reads them, and q stands in for their empty buffers.
  const View& k = a.keys ? a.k : a.q;
  const View& v = a.keys ? a.v : a.q;
  const bool masked = a.mask && a.keys;
  auto width = [](const View& view) { return can_vectorise(view) && view.shape()[-1] % 4 == 0 ? 4 : 1; };
  call.include("attention_common")
      .read("q", a.q, width(a.q))
      .read("k", k, width(k))
      .read("v", v, width(v))
      .write("y", a.y, width(a.y));
  if (masked) call.read("mask", *a.mask);

  call.set("vec_q", width(a.q) == 4)
      .set("vec_k", width(k) == 4)
      .set("vec_v", width(v) == 4)
      .set("vec_y", width(a.y) == 4)
      .set("dim", a.dim)
      .set("value_dim", a.value_dim)
      .set("causal", a.options.causal)
      .set("mask", !masked ? "none" : a.mask_is_per_key() ? "keys" : "rows")
      .set("mask_is_boolean", masked && a.mask->dtype == DType::boolean)
      .set("threads", variant.threads)
      .set("rows", variant.rows);
  std::int64_t block_rows = 0, column_blocks = 1;
  if (variant.tiles) {
    block_rows = variant.threads / 8 * variant.rows;
    column_blocks = ceil_div(a.value_dim, kColumnsOfBlock);
    call.set("slices", ceil_div(std::min<std::int64_t>(a.value_dim, kColumnsOfBlock), 32))
        .set("bounded", a.options.causal || a.keys % 32 != 0)
        .index_param("column_blocks", column_blocks);
  } else {
    block_rows = variant.threads / variant.splits * variant.rows;
    call.set("d4", ceil_div(a.dim, 4))
        .set("v4", ceil_div(a.value_dim, 4))
        .set("bounded", a.options.causal || a.keys % variant.chunk != 0)
        .set("staged", variant.staged)
        .set("splits", variant.splits)
        .set("chunk", variant.chunk)
        .set("tile", variant.tile)
        .set("v_rows", std::max(variant.tile, variant.splits > 1 ? variant.threads / 2 * variant.rows : 0));
  }

  const char* names[] = {"b", "h", "i", "d"};
  auto strides = [&](const char* operand, const View& view, const char* last) {
    for (int i = 0; i < 4; ++i) {
      call.index_param(std::format("{}_{}", operand, i < 3 ? names[i] : last), view.strides()[i]);
    }
  };
  strides("q", a.q, "d");
  strides("k", k, "d");
  strides("v", v, "d");
  strides("y", a.y, "d");
  if (masked) strides("mask", *a.mask, "k");
  const std::int64_t row_blocks = ceil_div(a.rows(), block_rows);
  const std::int64_t blocks = a.batch * a.kv_heads * row_blocks * column_blocks;
  call.index_param("kv_heads", a.kv_heads)
      .index_param("group", a.group)
      .index_param("queries", a.queries)
      .index_param("keys", a.keys)
      .index_param("rows", a.rows())
      .index_param("row_blocks", row_blocks)
      .index_param("blocks", blocks)
      .param("scale", a.options.scale)
      .param("hidden", -std::numeric_limits<float>::infinity());
  const double scores = static_cast<double>(a.batch * a.kv_heads * a.rows() * a.keys) * (a.options.causal ? 0.5 : 1);
  call.cost({.flops = scores * static_cast<double>(2 * a.dim + 2 * a.value_dim + 5)});
  call.variant(variant.tiles ? std::format("tiles_{}x{}", variant.threads, variant.rows)
                             : std::format("lanes_{}x{}_split{}", variant.threads, variant.rows, variant.splits),
               variant.tiles ? "many queries: keys are staged for a tile of them"
                             : "few queries: lanes go over the keys");
  call.dispatch_groups("attention", blocks);
}

void attention(Stream& stream, const View& q, const View& k, const View& v, const std::optional<View>& mask, const View& y,
               const AttentionOptions& options) {
  const AttentionCall call(q, k, v, mask, y, options);
  if (y.count() == 0) return;
  if (gpu::Commands* commands = stream.gpu()) {
    attention_gpu(*commands, call, choose_attention(commands->device().capabilities(), call));
  } else {
    attention_cpu(*stream.cpu(), call);
  }
}

}  // namespace weft::kernels
