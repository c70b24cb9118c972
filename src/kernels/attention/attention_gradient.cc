// The gradient of attention: checks, and the passes of attention_gradient.wgsl.
#include <algorithm>
#include <format>
#include <limits>

#include "kernels/attention/attention.h"
#include "kernels/call.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/attention_gradient.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kColumns = 256;  // of a gradient that a workgroup computes, at most

void check_like(const char* name, const View& view, const char* of, const View& like) {
  if (view.shape() != like.shape()) {
    throw InvalidArgument("attention_gradient: {} is {}, expected the shape {} of {}", name, to_string(view),
                          weft::to_string(like.shape()), of);
  }
  if (view.dtype != DType::f32 && view.dtype != DType::f16 && view.dtype != DType::bf16) {
    throw Unsupported("attention_gradient: {} is {}; f32, f16 and bf16 are supported", name, to_string(view));
  }
}

// attention()'s checks, with g in the place of the result.
AttentionCall checked(const View& q, const View& k, const View& v, const View& g, const std::optional<View>& mask,
                      const AttentionOptions& options, const AttentionLengths& lengths) {
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
  AttentionCall call(q, k, v, mask, result, options, lengths);
  call.y = g;
  return call;
}

enum class Pass : std::uint8_t { rows, queries, keys };
constexpr std::string_view kPasses[] = {"rows", "queries", "keys"};

void record(gpu::Commands& commands, const AttentionGradientCall& c, const AttentionGradientVariant& variant, Pass pass,
            const View& stats) {
  const AttentionCall& a = c.forward;
  Call call(commands, "attention_gradient");
  call.include("attention_common");
  // Operands without elements are not read; others stand in for their empty buffers.
  const View& some = a.q.count() ? a.q : a.k;
  const auto there = [&](const View& view) -> const View& { return view.count() ? view : some; };
  const View &q = there(a.q), &k = there(a.k), &v = there(a.v), &g = there(a.y);
  const bool masked = a.mask && a.mask->count();
  const auto width = [](const View& view) { return can_vectorise(view) && view.shape()[-1] % 4 == 0 ? 4 : 1; };
  const auto strides = [&](const char* operand, const View& view, const char* last) {
    const char* names[] = {"b", "h", "i", last};
    for (int i = 0; i < view.rank(); ++i) call.index_param(std::format("{}_{}", operand, names[i]), view.strides()[i]);
  };
  const auto read = [&](const char* name, const View& view) {
    call.read(name, view, width(view)).set(std::format("vec_{}", name), width(view) == 4);
    strides(name, view, "d");
  };
  const auto write = [&](const char* name, const View& view) {
    call.set(std::format("vec_{}", name), width(view) == 4);
    if (view.count()) call.write(name, view, width(view));
    strides(name, view, "d");
  };
  call.set("raw_q", false).set("raw_k", false).set("raw_v", pass == Pass::rows);
  read("q", q);
  read("k", k);
  if (pass != Pass::rows) {
    read("v", v);
    read("g", g);
  }
  if (masked) {
    call.read("mask", *a.mask);
    strides("mask", *a.mask, "k");
  }
  if (pass == Pass::rows) {
    call.read("delta", c.delta);
    strides("delta", c.delta, "");
  }
  call.raw("stats", stats, "vec4<u32>", 16, pass == Pass::rows ? gpu::Access::read_write : gpu::Access::read);
  if (pass == Pass::queries) write("dq", c.dq);
  if (pass == Pass::keys) {
    write("dk", c.dk);
    write("dv", c.dv);
  }
  bool shared_lengths = false;
  const auto lengths = [&](const char* name, const std::optional<View>& view) {
    const bool needed = view && pass == Pass::rows;
    call.set(name, needed).set(std::format("{}_type", name), needed ? weft::name(view->dtype) : "");
    if (!needed) return;
    call.read(name, *view).index_param(std::format("{}_b", name), view->strides()[0]);
    if (view->buffer == stats.buffer) shared_lengths = true;
  };
  lengths("query_lengths", a.lengths.queries);
  lengths("key_lengths", a.lengths.keys);

  const auto slices = [](std::int64_t size) { return ceil_div(std::min(size, kColumns), 32); };
  const std::int64_t columns = pass == Pass::keys ? std::max(a.dim, a.value_dim) : a.dim;
  const std::int64_t column_blocks = pass == Pass::rows ? 1 : ceil_div(columns, kColumns);
  const std::int64_t own = pass == Pass::keys ? a.keys : a.rows();
  const std::int64_t own_blocks = ceil_div(own, variant.threads / 8 * variant.rows);
  const std::int64_t blocks = a.batch * a.kv_heads * own_blocks * column_blocks;
  call.set("pass", kPasses[static_cast<int>(pass)])
      .set("threads", variant.threads)
      .set("rows", variant.rows)
      .set("dim", a.dim)
      .set("value_dim", a.value_dim)
      .set("columns", kColumns)
      .set("q_slices", slices(a.dim))
      .set("v_slices", slices(a.value_dim))
      .set("bounded", a.has_window() || a.lengths.queries || a.lengths.keys)
      .set("left", pass == Pass::rows && a.options.window_left >= 0)
      .set("right", pass == Pass::rows && a.options.window_right >= 0)
      .set("top_left", a.options.top_left)
      .set("shared_lengths", shared_lengths)
      .set("mask", masked ? "rows" : "none")
      .set("mask_is_boolean", masked && a.mask->dtype == DType::boolean)
      .set("kv_splits", false)
      .set("windowed", false);
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
      .param("scale", a.options.scale)
      .param("hidden", -std::numeric_limits<float>::infinity())
      .index_param("own_blocks", own_blocks)
      .index_param("column_blocks", column_blocks)
      .index_param("blocks", blocks);
  // Each pass computes the scores; the second a product with v and one with k, the third one more.
  const double scores = static_cast<double>(a.batch * a.kv_heads * a.rows()) * a.mean_keys();
  const std::int64_t of_score = pass == Pass::rows      ? 2 * a.dim
                                : pass == Pass::queries ? 4 * a.dim + 2 * a.value_dim
                                                        : 4 * a.dim + 4 * a.value_dim;
  call.cost({.flops = scores * static_cast<double>(of_score), .functions = scores});
  call.variant(std::format("{}_{}x{}", kPasses[static_cast<int>(pass)], variant.threads, variant.rows),
               pass == Pass::rows      ? "the sums of weights of each query"
               : pass == Pass::queries ? "tiles of keys in workgroup memory"
                                       : "tiles of queries in workgroup memory");
  call.dispatch_groups("attention_gradient", blocks);
}

void run(gpu::Commands& commands, const AttentionGradientCall& c, const AttentionGradientVariant& variant) {
  const AttentionCall& a = c.forward;
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const std::int64_t rows = a.batch * a.kv_heads * a.rows();
  const std::uint64_t limit = chunk_limit(capabilities);
  const View* largest = nullptr;
  for (const View* view : {&a.q, &a.k, &a.v, &a.y, &c.dq, &c.dk, &c.dv, &c.delta}) {
    if (view->count() && span_bytes(*view) > limit) largest = view;
  }
  if (!largest && a.mask && a.mask->count() && span_bytes(*a.mask) > limit) largest = &*a.mask;
  if (largest || static_cast<std::uint64_t>(rows) * 16 > limit) {
    // Batches and heads of keys do not depend on each other.
    const auto axis = a.batch > 1 ? AttentionCall::Axis::batch : AttentionCall::Axis::kv_heads;
    const std::int64_t size = a.size(axis), half = ceil_div(size, 2);
    if (size > 1) {
      run(commands, c.part(axis, 0, half), variant);
      return run(commands, c.part(axis, half, size - half), variant);
    }
    throw Unsupported("attention_gradient: one head of {} takes more than the {} bytes that this device binds",
                      to_string(largest ? *largest : a.q), limit);
  }
  GpuScratch scratch(commands);
  const View stats = scratch.take(static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1)) * 16);
  if (rows > 0) record(commands, c, variant, Pass::rows, stats);
  if (rows > 0) record(commands, c, variant, Pass::queries, stats);
  if (a.k.count() > 0) record(commands, c, variant, Pass::keys, stats);
}

void launch(gpu::Commands& commands, const AttentionGradientCall& c, const AttentionGradientVariant* variant) {
  if (c.dq.count() == 0 && c.dk.count() == 0) return;
  run(commands, c, variant ? *variant : choose_attention_gradient(commands.device().capabilities(), c.forward));
}

}  // namespace

AttentionGradientCall::AttentionGradientCall(const View& q, const View& k, const View& v, const View& g,
                                             const View& delta, const std::optional<View>& mask, const View& dq,
                                             const View& dk, const View& dv, const AttentionOptions& options,
                                             const AttentionLengths& lengths)
    : forward(checked(q, k, v, g, mask, options, lengths)), delta(delta), dq(dq), dk(dk), dv(dv) {
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

AttentionGradientVariant choose_attention_gradient(const gpu::Capabilities& capabilities, const AttentionCall& a) {
  AttentionGradientVariant v;
  // Two heads' columns of four items a thread are all that registers hold.
  constexpr std::int64_t kWide = 160;
  v.threads = static_cast<int>(workgroup_size(capabilities, 128));
  v.rows = a.dim + a.value_dim <= 2 * kWide ? 4 : 2;
  while (v.rows > 1 && attention_gradient_memory(v) > capabilities.max_workgroup_memory) v.rows /= 2;
  return v;
}

std::int64_t attention_gradient_memory(const AttentionGradientVariant& v) {
  const std::int64_t block = v.threads / 8 * v.rows;
  return (2 * block + 32) * 9 * 16 + std::max<std::int64_t>(block, 32) * 32 + 32;
}

void attention_gradient_gpu(gpu::Commands& commands, const AttentionGradientCall& c,
                            const AttentionGradientVariant& variant) {
  const AttentionCall& a = c.forward;
  call_once(commands, {a.q, a.k, a.v, a.y, c.delta, a.mask, a.lengths.queries, a.lengths.keys, c.dq, c.dk, c.dv},
            [&](Stream& s) { launch(*s.gpu(), c, &variant); });
}

void attention_gradient(Stream& stream, const View& q, const View& k, const View& v, const View& g, const View& delta,
                        const std::optional<View>& mask, const View& dq, const View& dk, const View& dv,
                        const AttentionOptions& options, const AttentionLengths& lengths) {
  CallKey key("attention_gradient", options.scale, options.causal, options.window_left, options.window_right,
              options.top_left, options.empty_is_nan);
  call(stream, std::move(key), {q, k, v, g, delta, mask, lengths.queries, lengths.keys, dq, dk, dv}, [&](Stream& s) {
    const AttentionGradientCall c(q, k, v, g, delta, mask, dq, dk, dv, options, lengths);
    check_memory(s, "attention_gradient",
                 {{"q", q},
                  {"k", k},
                  {"v", v},
                  {"g", g},
                  {"delta", delta},
                  {"mask", c.forward.mask, mask},
                  {"query_lengths", lengths.queries},
                  {"key_lengths", lengths.keys}},
                 {{"dq", dq}, {"dk", dk}, {"dv", dv}}, Sharing::none);
    if (gpu::Commands* commands = s.gpu())
      launch(*commands, c, nullptr);
    else
      attention_gradient_cpu(*s.cpu(), c);
  });
}

}  // namespace weft::kernels
