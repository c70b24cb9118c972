#include "kernels/attention/attention.h"

#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr int kColumnsOfBlock = 256;  // attention_tiled.wgsl: columns of v that a workgroup computes
constexpr int kColumnsOfJoin = 64;    // attention_combine.wgsl: vectors of a row that a workgroup combines

// Scratch for the results of splits of the keys: this call's splits are number `first` and following, of `all`.
struct Partial {
  View view;
  std::int64_t first = 0, all = 0;
};

// A further result of the kernel that writes y.
void add_log_sums(Call& call, const std::optional<View>& log_sums) {
  call.set("log_sums", log_sums.has_value());
  if (!log_sums) return;
  call.write("log_sums", *log_sums);
  const char* names[] = {"log_sums_b", "log_sums_h", "log_sums_i"};
  for (int i = 0; i < 3; ++i) call.index_param(names[i], log_sums->strides()[i]);
}

// Operands and parameters that all forms have.
void add_operands(Call& call, const AttentionCall& a, const AttentionVariant& variant,
                  const std::optional<Partial>& partial) {
  // Without keys the kernels read none, and q stands in for the empty buffers.
  const View& k = a.keys ? a.k : a.q;
  const View& v = a.keys ? a.v : a.q;
  const bool masked = a.mask && a.keys;
  const auto width = [](const View& view) { return can_vectorise(view) && view.shape()[-1] % 4 == 0 ? 4 : 1; };
  const bool matrices = variant.kind == AttentionKind::subgroup_matrix;
  call.include("attention_common");
  if (matrices) call.include("store_f16");
  const auto add = [&](const char* name, const View& view, bool raw, bool as_matrices = false) {
    call.set(std::format("raw_{}", name), raw);
    if (as_matrices)
      call.raw(name, view, "f16", 2, gpu::Access::read);
    else if (raw)
      call.raw(name, view, "vec4<u32>", 16, gpu::Access::read);
    else
      call.read(name, view, width(view));
  };
  const auto wide = [&](const View& view) {
    return variant.kind == AttentionKind::decode && attention_load_unit(view, a) == 8;
  };
  add("q", a.q, matrices);
  add("k", k, matrices || wide(k), matrices && variant.buffers == 0);
  add("v", v, matrices || wide(v), matrices && variant.buffers == 0);
  if (partial)
    call.raw("partial", partial->view, "vec4<f32>", 16, gpu::Access::read_write);
  else
    call.write("y", a.y, width(a.y));
  if (masked) call.read("mask", *a.mask);
  add_log_sums(call, partial ? std::nullopt : a.log_sums);
  bool shared_lengths = false;
  const auto lengths = [&](const char* name, const std::optional<View>& view) {
    call.set(name, view.has_value()).set(std::format("{}_type", name), view ? weft::name(view->dtype) : "");
    if (!view) return;
    call.read(name, *view).index_param(std::format("{}_b", name), view->strides()[0]);
    if (view->buffer == (partial ? partial->view.buffer : a.y.buffer)) shared_lengths = true;
  };
  lengths("query_lengths", a.lengths.queries);
  lengths("key_lengths", a.lengths.keys);

  call.set("vec_q", width(a.q) == 4)
      .set("vec_k", width(k) == 4)
      .set("vec_v", width(v) == 4)
      .set("dim", a.dim)
      .set("value_dim", a.value_dim)
      .set("v4_all", ceil_div(a.value_dim, 4))
      .set("left", a.options.window_left >= 0)
      .set("right", a.options.window_right >= 0)
      .set("top_left", a.options.top_left)
      .set("shared_lengths", shared_lengths)
      .set("shifts", a.shifts())
      .set("mask", !masked               ? "none"
                   : a.mask_is_per_key() ? "keys"
                                         : "rows")
      .set("mask_is_boolean", masked && a.mask->dtype == DType::boolean)
      .set("kv_splits", partial.has_value())
      .set("windowed", a.keys != a.all_keys)
      .set("threads", variant.threads);
  if (!matrices) call.set("vec_y", width(a.y) == 4).set("rows", variant.rows);
  const auto strides = [&](const char* operand, const View& view, const char* last) {
    const char* names[] = {"b", "h", "i", last};
    for (int i = 0; i < 4; ++i) call.index_param(std::format("{}_{}", operand, names[i]), view.strides()[i]);
  };
  strides("q", a.q, "d");
  strides("k", k, "d");
  strides("v", v, "d");
  if (!partial) strides("y", a.y, "d");
  if (masked) strides("mask", *a.mask, "k");
  call.index_param("kv_heads", a.kv_heads)
      .index_param("group", a.group)
      .index_param("queries", a.queries)
      .index_param("keys", a.keys)
      .index_param("first_query", a.first_query)
      .index_param("all_queries", a.all_queries)
      .index_param("first_key", a.first_key)
      .index_param("all_keys", a.all_keys)
      .index_param("rows", a.rows())
      .param("window_left", static_cast<std::int32_t>(a.options.window_left))
      .param("window_right", static_cast<std::int32_t>(a.options.window_right))
      .param("scale", static_cast<float>(a.options.scale))
      .param("hidden", -std::numeric_limits<float>::infinity());
  if (partial) {
    call.index_param("kv_splits", variant.kv_splits).index_param("first_kv_split", partial->first);
    call.index_param("all_kv_splits", partial->all);
  } else {
    call.param("empty", a.empty());
  }
}

// Combines the results of `kv_splits` splits in `partial`.
void record_combine(gpu::Commands& commands, const AttentionCall& a, const View& partial, std::int64_t kv_splits) {
  Call call(commands, "attention_combine");
  const std::uint32_t threads = workgroup_size(call.capabilities(), 128);
  const int width = can_vectorise(a.y) && a.value_dim % 4 == 0 ? 4 : 1;
  const std::int64_t v4 = ceil_div(a.value_dim, 4), column_blocks = ceil_div(v4, kColumnsOfJoin);
  call.raw("partial", partial, "vec4<f32>", 16, gpu::Access::read).write("y", a.y, width);
  call.set("threads", threads).set("vec_y", width == 4).set("value_dim", a.value_dim).set("v4", v4);
  call.set("columns", std::min<std::int64_t>(v4, kColumnsOfJoin));
  const char* names[] = {"y_b", "y_h", "y_i", "y_d"};
  for (int i = 0; i < 4; ++i) call.index_param(names[i], a.y.strides()[i]);
  const std::int64_t rows = a.batch * a.kv_heads * a.rows();
  call.index_param("kv_splits", kv_splits)
      .index_param("heads", a.kv_heads * a.group)
      .index_param("queries", a.queries)
      .index_param("column_blocks", column_blocks)
      .index_param("blocks", rows * column_blocks)
      .param("empty", a.empty());
  add_log_sums(call, a.log_sums);
  if (a.log_sums) call.param("hidden", -std::numeric_limits<float>::infinity());
  call.variant(std::format("combine_{}", kv_splits), "joins the parts of the keys");
  call.dispatch_groups("attention", rows * column_blocks);
}

std::string_view why(const AttentionVariant& v) {
  if (v.kind == AttentionKind::subgroup_matrix) return "cooperative matrices, whose self-test passed";
  if (v.kind == AttentionKind::decode) return "few queries of a head: lanes share a key, and all queries what is read";
  if (v.kv_splits > 1) return "few queries: workgroups share out the keys";
  if (v.threads_per_row > 1) return "neighbours share queries: what is read of a key serves several";
  return v.kind == AttentionKind::tiled ? "heads wider than an invocation's registers" : "an invocation a query";
}

void record(gpu::Commands& commands, const AttentionCall& a, const AttentionVariant& v,
            const std::optional<Partial>& partial) {
  const bool tiles = v.kind == AttentionKind::tiled;
  static constexpr std::string_view kTemplates[] = {"attention_thread_per_query", "attention_tiled", "attention_decode",
                                                    "attention_subgroup_matrix"};
  Call call(commands, kTemplates[static_cast<int>(v.kind)]);
  add_operands(call, a, v, partial);
  const bool bounded = a.has_window() || a.lengths.queries || a.lengths.keys || v.kv_splits > 1;
  const std::int64_t block_rows = attention_block_rows(v);
  std::int64_t column_blocks = 1;
  if (tiles) {
    column_blocks = ceil_div(a.value_dim, kColumnsOfBlock);
    call.set("slices", ceil_div(std::min<std::int64_t>(a.value_dim, kColumnsOfBlock), 32))
        .set("bounded", bounded || a.keys % 32 != 0)
        .index_param("column_blocks", column_blocks);
  } else if (v.kind == AttentionKind::subgroup_matrix) {
    call.enable("f16").enable("subgroups").enable("chromium_experimental_subgroup_matrix");
    call.set("subgroups_m", v.subgroups_m).set("subgroups_n", v.subgroups_n).set("sub_rows", v.rows);
    call.set("tile", v.tile).set("buffers", v.buffers);
    call.set("unit_m", v.unit.m).set("unit_n", v.unit.n).set("unit_k", v.unit.k);
    const MatrixHeads heads = attention_matrix_heads(v, a);
    call.set("q_dim", heads.q_dim).set("o_dim", heads.o_dim);
    call.set("q_round", heads.q_round).set("o_round", heads.o_round);
  } else if (v.kind == AttentionKind::decode) {
    const auto shares = [&](const char* name, const View& view, std::int64_t size) {
      const int unit = attention_load_unit(view, a);
      call.set(std::format("{}_unit", name), unit)
          .set(std::format("{}_per", name), ceil_div(size, v.lanes_per_key * unit));
      call.set(std::format("{}_type", name), weft::name(view.dtype));
    };
    shares("k", a.keys ? a.k : a.q, a.dim);
    shares("v", a.keys ? a.v : a.q, a.value_dim);
    call.set("lanes_per_key", v.lanes_per_key).set("chunk", v.chunk).enable("subgroups");
  } else {
    if (v.threads_per_row > 1) call.enable("subgroups");
    call.set("d4", ceil_div(a.dim, 4))
        .set("v4", ceil_div(a.value_dim, 4))
        .set("bounded", bounded || a.keys % v.chunk != 0)
        .set("staged", v.staged)
        .set("splits", v.splits)
        .set("threads_per_row", v.threads_per_row)
        .set("chunk", v.chunk)
        .set("tile", v.tile)
        .set("v_rows", std::max(v.tile, v.splits > 1 ? v.threads / 2 * v.rows : 0));
  }
  const std::int64_t row_blocks = ceil_div(a.rows(), block_rows);
  const std::int64_t blocks = a.batch * a.kv_heads * row_blocks * column_blocks * v.kv_splits;
  call.index_param("row_blocks", row_blocks).index_param("blocks", blocks);
  Work work = attention_work(static_cast<double>(a.batch * a.kv_heads * a.rows()), a.mean_keys(), a.dim, a.value_dim);
  if (v.kind == AttentionKind::subgroup_matrix) work.arithmetic = Arithmetic::matrix;
  call.cost(work);
  call.variant(to_string(v), why(v));
  call.dispatch_groups("attention", blocks);
}

// Bytes from the first to the last element that a binding of these views must hold.
std::uint64_t span_bytes(std::span<const View> views) {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (const View& v : views) {
    if (v.count() == 0) continue;
    const auto [low, high] = v.layout.offset_range();
    const std::int64_t size = bits(v.dtype) / 8;
    first = std::min(first, v.offset + static_cast<std::uint64_t>(low * size));
    last = std::max(last, v.offset + static_cast<std::uint64_t>((high + 1) * size));
  }
  return last > first ? last - first : 0;
}

using Axis = AttentionCall::Axis;

// The axes of an operand, besides the batch: queries of all heads, keys of all their heads, or both.
enum class Of : std::uint8_t { queries, keys, scores, batch };
struct BoundView {
  View view;
  Of of;
};

// The distance in elements from the operand's first to its last index along an axis of the call.
std::int64_t reach(const AttentionCall& a, const BoundView& operand, Axis axis) {
  const auto along = [&](int d, std::int64_t heads = 1) {
    return std::abs(operand.view.strides()[d]) * heads * (a.size(axis) - 1);
  };
  const bool by_query = operand.of == Of::queries || operand.of == Of::scores;
  if (operand.of == Of::batch && axis != Axis::batch) return 0;
  switch (axis) {
    case Axis::batch:
      return along(0);
    case Axis::kv_heads:
      return along(1, by_query ? a.group : 1);
    case Axis::group:
      return by_query && a.kv_heads == 1 ? along(1) : 0;
    case Axis::queries:
      return by_query ? along(2) : 0;
    case Axis::keys:
      return operand.of == Of::queries ? 0 : along(operand.of == Of::scores ? 3 : 2);
  }
  return 0;
}

// The operands of each binding. `direct`: y is written by the kernel that reads the keys, so that all operands in its
// buffer share its binding.
std::vector<std::vector<BoundView>> bindings(const AttentionCall& a, bool direct) {
  std::vector<std::vector<BoundView>> bindings{{{a.y, Of::queries}}};
  const auto add = [&](const std::optional<View>& view, Of of) {
    if (!view) return;
    if (direct && view->buffer == a.y.buffer)
      bindings[0].push_back({*view, of});
    else
      bindings.push_back({{*view, of}});
  };
  add(a.q, Of::queries);
  add(a.k, Of::keys);
  add(a.v, Of::keys);
  add(a.mask, Of::scores);
  add(a.lengths.queries, Of::batch);
  add(a.lengths.keys, Of::batch);
  if (a.log_sums) bindings.push_back({{*a.log_sums, Of::queries}});
  return bindings;
}

std::uint64_t span_of(std::span<const BoundView> operands) {
  std::vector<View> views;
  for (const BoundView& o : operands) views.push_back(o.view);
  return span_bytes(views);
}

bool fits(const gpu::Capabilities& capabilities, const AttentionCall& a, bool direct) {
  return std::ranges::all_of(bindings(a, direct), [&](const std::vector<BoundView>& operands) {
    return span_of(operands) <= chunk_limit(capabilities);
  });
}

// The axis to cut so that every operand fits a binding, keys only if no other is needed; none if all fit.
std::optional<Axis> axis_to_cut(const gpu::Capabilities& capabilities, const AttentionCall& a, bool direct) {
  const auto all = bindings(a, direct), of_one_key = bindings(a.part(Axis::keys, 0, 1), direct);
  std::optional<Axis> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (span_of(all[i]) <= chunk_limit(capabilities)) continue;
    const bool by_keys = !direct && span_of(of_one_key[i]) <= chunk_limit(capabilities);
    std::int64_t longest = 0;
    std::optional<Axis> axis;
    for (const BoundView& operand : all[i]) {
      for (const Axis candidate : {Axis::batch, Axis::kv_heads, Axis::group, Axis::queries, Axis::keys}) {
        if (candidate == Axis::keys && !by_keys) continue;
        if (const std::int64_t r = reach(a, operand, candidate); r > longest) longest = r, axis = candidate;
      }
    }
    if (!axis) {
      throw Unsupported("attention: {} takes {} bytes where it cannot be cut; this device binds {}",
                        to_string(all[i][0].view), span_of(all[i]), capabilities.max_binding);
    }
    if (axis != Axis::keys) return axis;
    result = axis;
  }
  return result;
}

// Chunks of the keys of a call, or the whole call. Not `direct`: results go through scratch.
struct KeyChunks {
  std::vector<AttentionCall> calls;
  bool direct;
};

// Calls `run` with pieces of a call that fit bindings.
void in_key_chunks(const gpu::Capabilities& capabilities, const AttentionCall& a,
                   const std::function<void(const KeyChunks&)>& run) {
  if (fits(capabilities, a, true)) return run({{a}, true});
  const auto halve = [&](Axis axis) {
    const std::int64_t size = a.size(axis), half = ceil_div(size, 2);
    in_key_chunks(capabilities, a.part(axis, 0, half), run);
    in_key_chunks(capabilities, a.part(axis, half, size - half), run);
  };
  AttentionCall query = a;
  for (const Axis axis : {Axis::batch, Axis::kv_heads, Axis::group, Axis::queries}) query = query.part(axis, 0, 1);
  const bool direct = fits(capabilities, query, true);
  if (const auto axis = axis_to_cut(capabilities, a, direct); axis && axis != Axis::keys) return halve(*axis);

  std::int64_t size = a.keys;
  while (!fits(capabilities, a.part(Axis::keys, 0, size), direct)) size = first_half(size);
  const std::int64_t count = size == a.keys ? 1 : ceil_div(a.keys, size);
  // The scratch of one split of each chunk must fit a binding.
  if (!direct && attention_split_bytes(a) * static_cast<std::uint64_t>(count) > chunk_limit(capabilities)) {
    Axis widest = Axis::queries;
    for (const Axis axis : {Axis::group, Axis::kv_heads, Axis::batch}) {
      if ((axis != Axis::group || a.kv_heads == 1) && a.size(axis) > a.size(widest)) widest = axis;
    }
    if (a.size(widest) > 1) return halve(widest);
  }
  KeyChunks chunks{{}, direct};
  for (std::int64_t w = 0; w < count; ++w) {
    chunks.calls.push_back(a.part(Axis::keys, w * size, std::min(size, a.keys - w * size)));
  }
  run(chunks);
}

// The variant for each chunk: `variant`, where it can run, or one from `choose`, which may use its share of the bytes
// of scratch.
std::vector<AttentionVariant> variants_of(
    const gpu::Capabilities& capabilities, const KeyChunks& chunks, const AttentionVariant* variant,
    std::uint64_t bytes, const std::function<AttentionVariant(const AttentionCall&, std::uint64_t)>& choose) {
  std::vector<AttentionVariant> variants;
  for (const AttentionCall& call : chunks.calls) {
    const bool given = variant && (chunks.calls.size() == 1 || attention_can_run(*variant, call, capabilities));
    variants.push_back(given ? *variant : choose(call, variant ? 0 : bytes / chunks.calls.size()));
  }
  return variants;
}

std::int64_t kv_splits_of(std::span<const AttentionVariant> variants) {
  std::int64_t kv_splits = 0;
  for (const AttentionVariant& v : variants) kv_splits += v.kv_splits;
  return kv_splits;
}

// Bytes of scratch; 0 if the results are written directly.
std::uint64_t bytes_of(const KeyChunks& chunks, std::int64_t kv_splits) {
  return chunks.direct && kv_splits == 1
             ? 0
             : attention_split_bytes(chunks.calls[0]) * static_cast<std::uint64_t>(kv_splits);
}

// Chunks, and splits of them, write results to scratch, which a last dispatch combines.
void record_chunks(gpu::Commands& commands, const KeyChunks& chunks, std::span<const AttentionVariant> variants) {
  const AttentionCall& a = chunks.calls[0];
  const std::int64_t kv_splits = kv_splits_of(variants);
  const std::uint64_t needed = bytes_of(chunks, kv_splits), most = commands.device().capabilities().max_binding;
  if (needed == 0) return record(commands, a, variants[0], {});
  if (needed > most) {
    throw Unsupported("attention: what {} chunks of the keys leave for each other takes {} bytes; this device binds {}",
                      kv_splits, needed, most);
  }
  GpuScratch scratch(commands);
  const View memory = scratch.take(needed);
  Partial partial{View(memory.buffer, memory.offset, DType::f32, {static_cast<std::int64_t>(needed / 4)}), 0,
                  kv_splits};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    record(commands, chunks.calls[i], variants[i], partial);
    partial.first += variants[i].kv_splits;
  }
  record_combine(commands, a, partial.view, kv_splits);
}

}  // namespace

void check_attention_memory(Stream& stream, const AttentionCall& a) {
  check_memory(stream, "attention", {{"q", a.q}}, {{"y", a.y}}, Sharing::same_view);
  check_memory(stream, "attention", {{"q", a.q}}, {{"log_sums", a.log_sums}}, Sharing::none);
  check_memory(stream, "attention",
               {{"k", a.k},
                {"v", a.v},
                {"mask", a.mask, a.mask_as_given},
                {"query_lengths", a.lengths.queries},
                {"key_lengths", a.lengths.keys}},
               {{"y", a.y}, {"log_sums", a.log_sums}}, Sharing::none);
}

namespace {

void launch(gpu::Commands& commands, const AttentionCall& a, const AttentionVariant* variant) {
  check_attention_memory(commands, a);
  if (a.value_dim == 0) {
    // Only the sums are wanted: of values of one column, which are anything.
    GpuScratch scratch(commands);
    AttentionCall one = a;
    one.value_dim = 1;
    one.v = chunk_along(a.k, 3, 0, 1);
    const Shape shape{a.batch, a.kv_heads * a.group, a.queries, 1};
    const auto bytes = static_cast<std::uint64_t>(element_count(shape)) * 4;
    const View memory = scratch.take(bytes);
    one.y = View(memory.buffer, memory.offset, DType::f32, shape);
    return launch(commands, one, variant);
  }
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const auto choose = [&](const AttentionCall& call, std::uint64_t most) {
    const AttentionVariant choice = choose_attention(capabilities, call, most);
    const bool failed =
        choice.kind == AttentionKind::subgroup_matrix && !passes_attention_self_test(commands.device(), choice, call);
    return failed ? choose_attention(capabilities, call, most, false) : choice;
  };
  in_key_chunks(capabilities, a, [&](const KeyChunks& chunks) {
    record_chunks(commands, chunks, variants_of(capabilities, chunks, variant, capabilities.max_binding / 2, choose));
  });
}

}  // namespace

void attention_gpu(gpu::Commands& commands, const AttentionCall& a, const AttentionVariant& variant) {
  call_once(commands, {a.q, a.k, a.v, a.mask, a.lengths.queries, a.lengths.keys, a.y, a.log_sums},
            [&](Stream& s) { launch(*s.gpu(), a, &variant); });
}

void attention(Stream& stream, const View& q, const View& k, const View& v, const std::optional<View>& mask,
               const View& y, const AttentionOptions& options, const AttentionLengths& lengths,
               const std::optional<View>& log_sums) {
  CallKey key("attention", options.scale, options.causal, options.window_left, options.window_right, options.top_left,
              options.empty_is_nan);
  call(stream, std::move(key), {q, k, v, mask, lengths.queries, lengths.keys, y, log_sums}, [&](Stream& s) {
    const AttentionCall call(q, k, v, mask, y, options, lengths, log_sums);
    if (call.is_empty()) return;
    if (gpu::Commands* commands = s.gpu())
      launch(*commands, call, nullptr);
    else
      attention_cpu(*s.cpu(), call);
  });
}

}  // namespace weft::kernels
