// The gradient of attention: checks, and the passes of attention_gradient.wgsl.
#include <algorithm>
#include <format>
#include <limits>
#include <span>

#include "kernels/attention/attention.h"
#include "kernels/call.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/matmul/variants.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kColumns = 256;  // of a gradient that a workgroup computes, at most

// Of a row of the weights in workgroup memory: padded where rows would begin in one bank.
std::int64_t pitch_of_weights(const AttentionGradientVariant& v) { return v.tile % 32 == 0 ? v.tile + 8 : v.tile; }

void check_like(const char* name, const View& view, const char* of, const View& like) {
  if (view.shape() != like.shape()) {
    throw InvalidArgument("attention_gradient: {} is {}, expected the shape {} of {}", name, to_string(view),
                          weft::to_string(like.shape()), of);
  }
  if (view.dtype != like.dtype) {
    throw InvalidArgument("attention_gradient: {} is {}, expected the type {} of {}", name, to_string(view),
                          weft::name(like.dtype), of);
  }
}

// attention()'s checks, with g in the place of the result.
AttentionCall checked(const View& q, const View& k, const View& v, const View& g, const View& log_sums,
                      const std::optional<View>& mask, const AttentionOptions& options,
                      const AttentionLengths& lengths) {
  if (q.rank() == 4 && v.rank() == 4) {
    const Shape expected{q.shape()[0], q.shape()[1], q.shape()[2], v.shape()[3]};
    if (g.shape() != expected) {
      throw InvalidArgument("attention_gradient: g is {}, expected the shape {}", to_string(g),
                            weft::to_string(expected));
    }
  }
  View result;  // in no memory, which g may share with others
  result.dtype = g.dtype;
  result.layout = g.layout;
  AttentionCall call(q, k, v, mask, result, options, lengths, log_sums);
  call.y = g;
  return call;
}

void strides(Call& call, const char* operand, const View& view, const char* last) {
  const char* names[] = {"b", "h", "i", last};
  for (int i = 0; i < view.rank(); ++i) call.index_param(std::format("{}_{}", operand, names[i]), view.strides()[i]);
}

void add_sizes(Call& call, const AttentionCall& a) {
  call.index_param("kv_heads", a.kv_heads)
      .index_param("group", a.group)
      .index_param("queries", a.queries)
      .index_param("keys", a.keys)
      .index_param("first_query", 0)
      .index_param("all_queries", a.queries)
      .index_param("first_key", 0)
      .index_param("all_keys", a.keys)
      .index_param("rows", a.rows())
      .param("window_left", static_cast<std::int32_t>(a.options.window_left))
      .param("window_right", static_cast<std::int32_t>(a.options.window_right))
      .param("scale", static_cast<float>(a.options.scale))
      .param("hidden", -std::numeric_limits<float>::infinity());
  call.set("dim", a.dim)
      .set("value_dim", a.value_dim)
      .set("top_left", a.options.top_left)
      .set("shared_lengths", false)
      .set("log_sums", false)  // they are read, not written
      .set("kv_splits", false)
      .set("windowed", false);
}

// What each row needs, into `stats`.
void record_stats(gpu::Commands& commands, const AttentionGradientCall& c, const View& stats) {
  const AttentionCall& a = c.forward;
  Call call(commands, "attention_gradient_stats");
  call.include("attention_common");
  call.read("log_sums", *a.log_sums).read("delta", c.delta);
  call.raw("stats", stats, "vec4<u32>", 16, gpu::Access::read_write);
  strides(call, "log_sums", *a.log_sums, "");
  strides(call, "delta", c.delta, "");
  const auto lengths = [&](const char* name, const std::optional<View>& view) {
    call.set(name, view.has_value()).set(std::format("{}_type", name), view ? weft::name(view->dtype) : "");
    if (view) call.read(name, *view).index_param(std::format("{}_b", name), view->strides()[0]);
  };
  lengths("query_lengths", a.lengths.queries);
  lengths("key_lengths", a.lengths.keys);
  const std::uint32_t threads = workgroup_size(call.capabilities(), 128);
  const std::int64_t rows = a.batch * a.kv_heads * a.rows();
  for (const char* operand : {"q", "k", "v"}) {  // none is read
    call.set(std::format("raw_{}", operand), true).set(std::format("vec_{}", operand), false);
  }
  call.set("threads", threads)
      .set("left", a.options.window_left >= 0)
      .set("right", a.options.window_right >= 0)
      .set("shifts", false)
      .set("mask", "none")
      .set("mask_is_boolean", false);
  add_sizes(call, a);
  call.index_param("all_rows", rows);
  call.variant("stats", "what each query needs");
  call.dispatch_groups("attention_gradient", ceil_div(rows, threads));
}

constexpr std::string_view kPasses[] = {"queries", "keys"};

void record(gpu::Commands& commands, const AttentionGradientCall& c, const AttentionGradientVariant& variant,
            AttentionPass pass, const View& stats, const std::optional<View>& slopes = {}) {
  const AttentionCall& a = c.forward;
  const bool matrices = variant.kind == AttentionKind::subgroup_matrix;
  const bool of_keys = pass == AttentionPass::keys;
  Call call(commands, matrices ? "attention_gradient_matrix" : "attention_gradient");
  call.include("attention_common");
  if (matrices) call.include("store_f16");
  // Operands without elements are not read; others stand in for their empty buffers.
  const View& some = a.q.count() ? a.q : a.k.count() ? a.k : a.v.count() ? a.v : a.y;
  const auto there = [&](const View& view) -> const View& { return view.count() ? view : some; };
  const bool masked = a.mask && a.mask->count();
  const auto width = [](const View& view) { return can_vectorise(view) && view.shape()[-1] % 4 == 0 ? 4 : 1; };
  const auto read = [&](const char* name, const View& view) {
    if (matrices)
      call.raw(name, view, "vec4<u32>", 16, gpu::Access::read);
    else
      call.read(name, view, width(view));
    strides(call, name, view, "d");
  };
  const auto write = [&](const char* name, const View& view) {
    if (view.count()) call.write(name, view, width(view));
    strides(call, name, view, "d");
  };
  read("q", there(a.q));
  read("k", there(a.k));
  read("v", there(a.v));
  read("g", there(a.y));
  for (const auto& [name, view] : {std::pair("q", &a.q), {"k", &a.k}, {"v", &a.v}}) {
    call.set(std::format("vec_{}", name), width(there(*view)) == 4).set(std::format("raw_{}", name), matrices);
  }
  if (!matrices) {
    call.set("vec_g", width(there(a.y)) == 4).set("vec_dq", !of_keys && width(c.dq) == 4);
    call.set("vec_dk", of_keys && width(c.dk) == 4).set("vec_dv", of_keys && width(c.dv) == 4);
  }
  if (masked) {
    call.read("mask", *a.mask);
    strides(call, "mask", *a.mask, "k");
  }
  call.raw("stats", stats, "vec4<u32>", 16, gpu::Access::read);
  if (of_keys) {
    write("dk", c.dk);
    write("dv", c.dv);
    if (slopes) call.raw("slopes", *slopes, "vec4<u32>", 16, gpu::Access::read_write);
  } else {
    write("dq", c.dq);
  }

  std::int64_t own_block = 0, column_blocks = 1;
  if (matrices) {
    call.enable("f16").enable("subgroups").enable("chromium_experimental_subgroup_matrix");
    own_block = variant.subgroups / 2 * variant.rows;
    call.set("pairs", variant.subgroups / 2).set("sub_rows", variant.rows).set("tile", variant.tile);
    call.set("pitch_w", pitch_of_weights(variant)).set("stores_slopes", slopes.has_value());
    call.set("columns", attention_gradient_columns(variant, a));
    call.set("unit_m", variant.unit.m).set("unit_n", variant.unit.n).set("unit_k", variant.unit.k);
  } else {
    const auto slices = [](std::int64_t size) { return ceil_div(std::min(size, kColumns), 32); };
    column_blocks = ceil_div(of_keys ? std::max(a.dim, a.value_dim) : a.dim, kColumns);
    own_block = variant.threads / 8 * variant.rows;
    call.set("rows", variant.rows)
        .set("columns", kColumns)
        .set("q_slices", slices(a.dim))
        .set("v_slices", slices(a.value_dim))
        .index_param("column_blocks", column_blocks);
  }
  const std::int64_t own_blocks = ceil_div(of_keys ? a.keys : a.rows(), own_block);
  const std::int64_t blocks = a.batch * a.kv_heads * own_blocks * column_blocks;
  call.set("pass", kPasses[static_cast<int>(pass)])
      .set("threads", variant.threads)
      .set("bounded", a.has_window() || a.lengths.queries || a.lengths.keys)
      .set("query_lengths", false)
      .set("query_lengths_type", "")
      .set("key_lengths", false)
      .set("key_lengths_type", "")
      .set("left", false)
      .set("right", false)
      .set("shifts", a.shifts())
      .set("mask", masked ? "rows" : "none")
      .set("mask_is_boolean", masked && a.mask->dtype == DType::boolean);
  add_sizes(call, a);
  call.index_param("own_blocks", own_blocks).index_param("blocks", blocks);
  // Both passes compute the scores and a product with v; the first one more with k, the second two more.
  const double scores = static_cast<double>(a.batch * a.kv_heads * a.rows()) * a.mean_keys();
  const std::int64_t of_score = of_keys ? 4 * a.dim + 4 * a.value_dim : 4 * a.dim + 2 * a.value_dim;
  Work work{.flops = scores * static_cast<double>(of_score), .functions = scores};
  if (matrices) work.arithmetic = Arithmetic::matrix;
  call.cost(work);
  call.variant(std::format("{}_{}", kPasses[static_cast<int>(pass)], to_string(variant)),
               matrices  ? "cooperative matrices, whose self-test passed"
               : of_keys ? "tiles of queries in workgroup memory"
                         : "tiles of keys in workgroup memory");
  call.dispatch_groups("attention_gradient", blocks);
}

std::uint64_t stats_bytes(const AttentionCall& a) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(a.batch * a.kv_heads * a.rows(), 1)) * 16;
}

// Bytes of the scores' cotangents that are stored at a time, at most; they share a binding with the stats. On an H100
// half as much leaves cores idle: the products of four heads of 4,096 × 128 take 1.6 times as long as those of eight.
std::uint64_t most_slopes(const gpu::Capabilities& capabilities, const AttentionCall& a) {
  const std::uint64_t limit = chunk_limit(capabilities), others = stats_bytes(a) + 256;
  return std::min(std::uint64_t{256} << 20, limit - std::min(limit, others));
}

std::uint64_t slopes_of_head(const AttentionCall& a) { return static_cast<std::uint64_t>(a.rows() * a.keys) * 2; }

// The pass of keys, which stores the scores' cotangents, and their product with k; of as many heads at a time as fit
// `most` bytes.
void record_with_slopes(gpu::Commands& commands, const AttentionGradientCall& c,
                        const AttentionGradientVariant& variant, const View& stats, std::uint64_t most) {
  const AttentionCall& a = c.forward;
  const std::uint64_t bytes = static_cast<std::uint64_t>(a.batch * a.kv_heads) * slopes_of_head(a);
  if (bytes > most) {
    const auto axis = a.batch > 1 ? AttentionCall::Axis::batch : AttentionCall::Axis::kv_heads;
    const std::int64_t size = a.size(axis), half = ceil_div(size, 2);
    const std::int64_t first = half * (a.batch > 1 ? a.kv_heads : 1) * a.rows() * 16;
    const View rest(stats.buffer, stats.offset + static_cast<std::uint64_t>(first), DType::u8, {stats.count() - first});
    record_with_slopes(commands, c.part(axis, 0, half), variant, stats, most);
    return record_with_slopes(commands, c.part(axis, half, size - half), variant, rest, most);
  }
  GpuScratch scratch(commands);
  const View slopes = scratch.take(bytes);
  record(commands, c, variant, AttentionPass::keys, stats, slopes);
  // The heads of a group side by side.
  const auto grouped = [&](const View& view, std::int64_t heads, std::int64_t head) {
    const Strides& s = view.strides();
    return view.with_layout(
        {{a.batch, a.kv_heads, a.group, view.shape()[2], view.shape()[3]}, {s[0], heads * s[1], head, s[2], s[3]}});
  };
  View keys = a.k;
  if (a.mask) {
    // NaN and infinities of a key must not meet the queries that do not see it, whose cotangents of its score are 0;
    // the score of such a key is NaN to the others, and so is its cotangent.
    const View memory = scratch.take(static_cast<std::uint64_t>(a.k.count()) * 2);
    keys = View(memory.buffer, memory.offset, DType::f16, a.k.shape());
    Expression finite;
    const auto x = finite.input(DType::f16);
    finite.output(
        finite.apply(ScalarOp::select, {finite.apply(ScalarOp::is_finite, {x}), x, finite.constant(0, DType::f16)}));
    map(commands, finite, {{a.k}}, {{keys}});
  }
  const View dq = grouped(c.dq, a.group, c.dq.strides()[1]), k = grouped(keys, 1, 0);
  const std::int64_t rows = a.rows(), head = a.keys * rows;
  const View ds(slopes.buffer, slopes.offset, DType::f16, {a.batch, a.kv_heads, a.group, a.queries, a.keys},
                {a.kv_heads * head, head, a.queries, 1, rows});
  Expression scaled;
  scaled.output(
      scaled.cast(scaled.apply(ScalarOp::mul, {scaled.input(DType::f32), scaled.constant(a.options.scale, DType::f32)}),
                  c.dq.dtype));
  matmul(commands, ds, k, dq, {&scaled, {}});
}

void run(gpu::Commands& commands, const AttentionGradientCall& c, std::span<const AttentionGradientVariant> forced) {
  const AttentionCall& a = c.forward;
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const std::int64_t rows = a.batch * a.kv_heads * a.rows();
  const std::uint64_t limit = chunk_limit(capabilities);
  const View* largest = nullptr;
  for (const View* view : {&a.q, &a.k, &a.v, &a.y, &c.dq, &c.dk, &c.dv, &c.delta, &*a.log_sums}) {
    if (view->count() && span_bytes(*view) > limit) largest = view;
  }
  if (!largest && a.mask && a.mask->count() && span_bytes(*a.mask) > limit) largest = &*a.mask;
  if (largest || static_cast<std::uint64_t>(rows) * 16 > limit) {
    // Batches and heads of keys do not depend on each other.
    const auto axis = a.batch > 1 ? AttentionCall::Axis::batch : AttentionCall::Axis::kv_heads;
    const std::int64_t size = a.size(axis), half = ceil_div(size, 2);
    if (size > 1) {
      run(commands, c.part(axis, 0, half), forced);
      return run(commands, c.part(axis, half, size - half), forced);
    }
    throw Unsupported("attention_gradient: one head of {} takes more than the {} bytes that this device binds",
                      to_string(largest ? *largest : a.q), limit);
  }
  GpuScratch scratch(commands);
  const View stats = scratch.take(stats_bytes(a));
  if (rows > 0) record_stats(commands, c, stats);
  const auto chosen = [&](AttentionPass pass) {
    if (!forced.empty()) return forced[static_cast<std::size_t>(pass)];
    const AttentionGradientVariant choice = choose_attention_gradient(capabilities, c, pass);
    const bool failed = choice.kind == AttentionKind::subgroup_matrix &&
                        !passes_attention_gradient_self_test(commands.device(), choice, a);
    return failed ? choose_attention_gradient(capabilities, c, pass, false) : choice;
  };
  const AttentionGradientVariant of_keys = chosen(AttentionPass::keys);
  if (of_keys.stores_slopes) return record_with_slopes(commands, c, of_keys, stats, most_slopes(capabilities, a));
  if (c.dq.count() > 0) record(commands, c, chosen(AttentionPass::queries), AttentionPass::queries, stats);
  if (c.dk.count() > 0 || c.dv.count() > 0) record(commands, c, of_keys, AttentionPass::keys, stats);
}

void check_memory_of(Stream& stream, const AttentionGradientCall& c) {
  const AttentionCall& a = c.forward;
  check_memory(stream, "attention_gradient",
               {{"q", a.q},
                {"k", a.k},
                {"v", a.v},
                {"g", a.y},
                {"log_sums", a.log_sums},
                {"delta", c.delta},
                {"mask", a.mask, a.mask_as_given},
                {"query_lengths", a.lengths.queries},
                {"key_lengths", a.lengths.keys}},
               {{"dq", c.dq}, {"dk", c.dk}, {"dv", c.dv}}, Sharing::none);
}

// `forced`: the variants of both passes, or none.
void launch(gpu::Commands& commands, const AttentionGradientCall& c, std::span<const AttentionGradientVariant> forced) {
  check_memory_of(commands, c);
  if (c.dq.count() == 0 && c.dk.count() == 0 && c.dv.count() == 0) return;
  run(commands, c, forced);
}

}  // namespace

AttentionGradientCall::AttentionGradientCall(const View& q, const View& k, const View& v, const View& g,
                                             const View& log_sums, const View& delta, const std::optional<View>& mask,
                                             const View& dq, const View& dk, const View& dv,
                                             const AttentionOptions& options, const AttentionLengths& lengths)
    : forward(checked(q, k, v, g, log_sums, mask, options, lengths)), delta(delta), dq(dq), dk(dk), dv(dv) {
  check_like("dq", dq, "q", q);
  check_like("dk", dk, "k", k);
  check_like("dv", dv, "v", v);
  const Shape expected{q.shape()[0], q.shape()[1], q.shape()[2]};
  if (delta.shape() != expected || delta.dtype != DType::f32) {
    throw InvalidArgument("attention_gradient: delta is {}, expected f32 {}", to_string(delta),
                          weft::to_string(expected));
  }
}

AttentionGradientCall AttentionGradientCall::part(AttentionCall::Axis axis, std::int64_t begin,
                                                  std::int64_t count) const {
  AttentionGradientCall c = *this;
  c.forward = forward.part(axis, begin, count);
  const bool batch = axis == AttentionCall::Axis::batch;
  const std::int64_t heads = batch ? 1 : forward.group;
  for (View* of_queries : {&c.delta, &c.dq}) {
    *of_queries = chunk_along(*of_queries, batch ? 0 : 1, begin * heads, count * heads);
  }
  for (View* of_keys : {&c.dk, &c.dv}) *of_keys = chunk_along(*of_keys, batch ? 0 : 1, begin, count);
  return c;
}

std::string to_string(const AttentionGradientVariant& v) {
  if (v.kind == AttentionKind::tiled) return std::format("tiled_{}x{}", v.threads, v.rows);
  return std::format("subgroup_matrix_{}_rows{}_tile{}_by_{}x{}x{}{}", v.threads, v.rows, v.tile, v.unit.m, v.unit.n,
                     v.unit.k, v.stores_slopes ? "_slopes" : "");
}

std::optional<AttentionGradientVariant> attention_gradient_matrix(const gpu::Capabilities& capabilities, int pairs,
                                                                  int rows, int tile) {
  const auto unit = matrix_unit(capabilities, DType::f16);
  if (!unit) return std::nullopt;
  return AttentionGradientVariant{.kind = AttentionKind::subgroup_matrix,
                                  .threads = pairs * 2 * static_cast<int>(capabilities.subgroup_max),
                                  .subgroups = pairs * 2,
                                  .rows = rows,
                                  .tile = tile,
                                  .unit = *unit};
}

std::int64_t attention_gradient_columns(const AttentionGradientVariant& v, const AttentionCall& a) {
  const std::int64_t step = 2 * std::int64_t{v.tile};  // each subgroup of a pair sums half of dq's columns, in tiles
  return ceil_div(std::max(a.dim, a.value_dim), step) * step;
}

std::int64_t attention_gradient_memory(const AttentionGradientVariant& v, const AttentionCall& a) {
  if (v.kind == AttentionKind::tiled) {
    const std::int64_t block = v.threads / 8 * v.rows;
    return (2 * block + 32) * 9 * 16 + std::max<std::int64_t>(block, 32) * 16 + 16;
  }
  const std::int64_t columns = attention_gradient_columns(v, a);
  return 4 * v.tile * (columns + 16) * 2 + v.subgroups * v.rows * ((v.tile + 4) * 4 + pitch_of_weights(v) * 2) +
         v.tile * 32 + 48;
}

bool attention_gradient_can_run(const AttentionGradientVariant& v, const AttentionGradientCall& c,
                                const gpu::Capabilities& capabilities) {
  const AttentionCall& a = c.forward;
  if (v.threads > static_cast<int>(capabilities.max_workgroup_size)) return false;
  if (v.kind == AttentionKind::tiled) {
    return v.threads % 8 == 0 && attention_gradient_memory(v, a) <= capabilities.max_workgroup_memory;
  }
  const auto unit = matrix_unit(capabilities, DType::f16);
  if (!unit || v.unit != *unit || a.q.count() == 0 || a.v.count() == 0) return false;
  for (const View* operand : {&a.q, &a.k, &a.v, &a.y}) {
    if (operand->dtype != DType::f16 || !loads_eights(*operand)) return false;
  }
  for (const View* result : {&c.dq, &c.dk, &c.dv}) {
    if (!can_vectorise(*result) || result->shape()[3] % 4 != 0) return false;
  }
  const auto m = static_cast<int>(unit->m), n = static_cast<int>(unit->n), k = static_cast<int>(unit->k);
  const int pair = 2 * static_cast<int>(capabilities.subgroup_max);
  if (v.threads * 2 != v.subgroups * pair || v.rows % m != 0 || pair % v.rows != 0) return false;
  if (v.tile % n != 0 || v.tile % k != 0 || v.tile % (pair / v.rows * 8) != 0 || v.tile > v.threads) return false;
  if (v.stores_slopes && (a.queries % 8 != 0 || slopes_of_head(a) > most_slopes(capabilities, a))) return false;
  // The product would take what hidden keys have, which may be NaN, and most of its work would be in vain.
  if (v.stores_slopes && (a.has_window() || a.lengths.queries || a.lengths.keys)) return false;
  // The product loads k as vectors of words, and then cannot write to the same buffer.
  if (v.stores_slopes && c.dq.buffer == a.k.buffer) return false;
  constexpr std::int64_t kWidest = 256;
  return attention_gradient_columns(v, a) <= kWidest &&
         attention_gradient_memory(v, a) <= capabilities.max_workgroup_memory;
}

AttentionGradientVariant choose_attention_gradient(const gpu::Capabilities& capabilities,
                                                   const AttentionGradientCall& c, AttentionPass pass,
                                                   bool subgroup_matrix) {
  const AttentionCall& a = c.forward;
  const std::int64_t widest = std::max(a.dim, a.value_dim);
  // What little work there is does not repay compiling it.
  constexpr double kWorth = 2.5e8;  // FLOP
  const double flops = 2 * static_cast<double>(a.batch * a.kv_heads * a.rows() * (a.dim + a.value_dim)) * a.mean_keys();
  if (subgroup_matrix && !capabilities.software && flops > kWorth) {
    // On an H100 in f16, [1, 32, 4096, 128]: 3.33 ms with four pairs and slopes, 4.70 without, 4.74 with two pairs and
    // slopes; causal 2.90 ms without slopes, 3.65 with. [32, 12, 128, 64], whose keys are few: 70 µs with two pairs, 76
    // with four. The driver gives 48 KiB to all workgroups of a core, so that there is one workgroup in any case.
    const bool few = widest <= 64 && a.keys <= 128;
    for (const int pairs : {few ? 2 : 4, 2}) {
      auto v = widest <= 128 ? attention_gradient_matrix(capabilities, pairs, 32, 16)
                             : attention_gradient_matrix(capabilities, pairs, 16, 32);
      if (!v) break;
      v->stores_slopes = pass == AttentionPass::keys;
      if (!attention_gradient_can_run(*v, c, capabilities)) v->stores_slopes = false;
      if (attention_gradient_can_run(*v, c, capabilities)) return *v;
    }
  }
  // On an H100, [1, 32, 4096, 128] in f32: 58 ms with this choice; with 128 × 4 for the queries 65, with 128 × 2 for
  // the keys 67. Registers hold the sums of four items of two heads' columns.
  constexpr std::int64_t kWide = 160;
  AttentionGradientVariant v;
  const bool many = pass == AttentionPass::queries && widest > 64;
  v.threads = static_cast<int>(workgroup_size(capabilities, many ? 256 : 128));
  v.rows = !many && a.dim + a.value_dim <= 2 * kWide ? 4 : 2;
  while (v.rows > 1 && attention_gradient_memory(v, a) > capabilities.max_workgroup_memory) v.rows /= 2;
  return v;
}

void attention_gradient_gpu(gpu::Commands& commands, const AttentionGradientCall& c,
                            const AttentionGradientVariant& of_queries, const AttentionGradientVariant& of_keys) {
  const AttentionGradientVariant forced[] = {of_queries, of_keys};
  const AttentionCall& a = c.forward;
  call_once(commands,
            {a.q, a.k, a.v, a.y, a.log_sums, c.delta, a.mask, a.lengths.queries, a.lengths.keys, c.dq, c.dk, c.dv},
            [&](Stream& s) { launch(*s.gpu(), c, forced); });
}

void attention_gradient(Stream& stream, const View& q, const View& k, const View& v, const View& g,
                        const View& log_sums, const View& delta, const std::optional<View>& mask, const View& dq,
                        const View& dk, const View& dv, const AttentionOptions& options,
                        const AttentionLengths& lengths) {
  CallKey key("attention_gradient", options.scale, options.causal, options.window_left, options.window_right,
              options.top_left, options.empty_is_nan);
  call(stream, std::move(key), {q, k, v, g, log_sums, delta, mask, lengths.queries, lengths.keys, dq, dk, dv},
       [&](Stream& s) {
         const AttentionGradientCall c(q, k, v, g, log_sums, delta, mask, dq, dk, dv, options, lengths);
         if (gpu::Commands* commands = s.gpu()) return launch(*commands, c, {});
         check_memory_of(s, c);
         attention_gradient_cpu(*s.cpu(), c);
       });
}

}  // namespace weft::kernels
