#include "kernels/attention/attention.h"

#include <limits>
#include <span>
#include <vector>

#include "kernels/call.h"
#include "kernels/common/memory.h"
#include "kernels/common/windows.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr int kColumnsOfBlock = 256;  // attention_tiles.wgsl: columns of v that a workgroup computes
constexpr int kColumnsOfJoin = 64;    // attention_combine.wgsl: vectors of a row that a workgroup joins

// Operands and parameters that all forms have.
void add_operands(Call& call, const AttentionCall& a, const AttentionVariant& variant,
                  const std::optional<View>& partial) {
  // Without keys nothing reads them, and q stands in for their empty buffers.
  const View& k = a.keys ? a.k : a.q;
  const View& v = a.keys ? a.v : a.q;
  const bool masked = a.mask && a.keys;
  const auto width = [](const View& view) { return can_vectorise(view) && view.shape()[-1] % 4 == 0 ? 4 : 1; };
  const bool matrices = variant.kind == AttentionKind::matrices;
  call.include("attention_common");
  const auto add = [&](const char* name, const View& view, bool raw, bool as_matrices = false) {
    call.set(std::format("raw_{}", name), raw);
    if (as_matrices) call.raw(name, view, "f16", 2, gpu::Access::read);
    else if (raw) call.raw(name, view, "vec4<u32>", 16, gpu::Access::read);
    else call.read(name, view, width(view));
  };
  const auto wide = [&](const View& view) {
    return variant.kind == AttentionKind::few && attention_load_unit(view, a) == 8;
  };
  add("q", a.q, matrices);
  add("k", k, matrices || wide(k), matrices && variant.buffers == 0);
  add("v", v, matrices || wide(v), matrices && variant.buffers == 0);
  if (partial) call.raw("partial", *partial, "vec4<f32>", 16, gpu::Access::read_write);
  else call.write("y", a.y, width(a.y));
  if (masked) call.read("mask", *a.mask);
  bool shared_lengths = false;
  const auto lengths = [&](const char* name, const std::optional<View>& view) {
    call.set(name, view.has_value()).set(std::format("{}_type", name), view ? weft::name(view->dtype) : "");
    if (!view) return;
    call.read(name, *view).index_param(std::format("{}_b", name), view->strides()[0]);
    if (view->buffer == (partial ? partial->buffer : a.y.buffer)) shared_lengths = true;
  };
  lengths("query_lengths", a.lengths.queries);
  lengths("key_lengths", a.lengths.keys);

  call.set("vec_q", width(a.q) == 4)
      .set("vec_k", width(k) == 4)
      .set("vec_v", width(v) == 4)
      .set("vec_y", width(a.y) == 4)
      .set("dim", a.dim)
      .set("value_dim", a.value_dim)
      .set("v4_all", ceil_div(a.value_dim, 4))
      .set("left", a.options.window_left >= 0)
      .set("right", a.options.window_right >= 0)
      .set("top_left", a.options.top_left)
      .set("shared_lengths", shared_lengths)
      .set("mask", !masked ? "none" : a.mask_is_per_key() ? "keys" : "rows")
      .set("mask_is_boolean", masked && a.mask->dtype == DType::boolean)
      .set("parts", partial.has_value())
      .set("threads", variant.threads);
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
      .index_param("rows", a.rows())
      .param("window_left", static_cast<std::int32_t>(a.options.window_left))
      .param("window_right", static_cast<std::int32_t>(a.options.window_right))
      .param("scale", a.options.scale)
      .param("hidden", -std::numeric_limits<float>::infinity());
  if (partial) call.index_param("parts", variant.parts);
  else call.param("empty", a.empty());
}

// Joins what the parts left in `partial`.
void record_combine(gpu::Commands& commands, const AttentionCall& a, const AttentionVariant& variant,
                    const View& partial) {
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
  call.index_param("parts", variant.parts)
      .index_param("heads", a.kv_heads * a.group)
      .index_param("queries", a.queries)
      .index_param("column_blocks", column_blocks)
      .index_param("blocks", rows * column_blocks)
      .param("empty", a.empty());
  call.variant(std::format("combine_{}", variant.parts), "joins the parts of the keys");
  call.dispatch_groups("attention", rows * column_blocks);
}

std::string_view why(const AttentionVariant& v) {
  if (v.kind == AttentionKind::matrices) return "cooperative matrices, which have proved themselves here";
  if (v.kind == AttentionKind::few) return "few queries of a head: lanes share a key, and all queries what is read";
  if (v.parts > 1) return "few queries: workgroups share out the keys";
  return v.kind == AttentionKind::tiles ? "heads wider than an invocation's registers" : "an invocation a query";
}

void record(gpu::Commands& commands, const AttentionCall& a, const AttentionVariant& v,
            const std::optional<View>& workspace) {
  std::optional<View> partial;
  if (v.parts > 1) {
    const std::uint64_t needed = attention_workspace_bytes(v, a), most = commands.device().capabilities().max_binding;
    if (needed > most) {
      throw Unsupported("attention: {} needs a workspace of {} bytes; this device binds {}", to_string(v), needed,
                        most);
    }
    if (!workspace || workspace->buffer.size() - workspace->offset < needed || workspace->offset % 16 != 0) {
      throw InvalidArgument("attention: {} needs a workspace of {} bytes at a multiple of 16, given {}", to_string(v),
                            needed, workspace ? to_string(*workspace) : "none");
    }
    partial = View(workspace->buffer, workspace->offset, DType::f32, {static_cast<std::int64_t>(needed / 4)});
  }
  const bool tiles = v.kind == AttentionKind::tiles;
  static constexpr std::string_view kTemplates[] = {"attention_lanes", "attention_tiles", "attention_few",
                                                    "attention_matrices"};
  Call call(commands, kTemplates[static_cast<int>(v.kind)]);
  add_operands(call, a, v, partial);
  const bool bounded = a.has_window() || a.lengths.queries || a.lengths.keys || v.parts > 1;
  const std::int64_t block_rows = attention_block_rows(v);
  std::int64_t column_blocks = 1;
  call.set("rows", v.rows);
  if (tiles) {
    column_blocks = ceil_div(a.value_dim, kColumnsOfBlock);
    call.set("slices", ceil_div(std::min<std::int64_t>(a.value_dim, kColumnsOfBlock), 32))
        .set("bounded", bounded || a.keys % 32 != 0)
        .index_param("column_blocks", column_blocks);
  } else if (v.kind == AttentionKind::matrices) {
    call.enable("f16").enable("subgroups").enable("chromium_experimental_subgroup_matrix");
    call.set("subgroups_m", v.subgroups_m).set("subgroups_n", v.subgroups_n).set("sub_rows", v.rows);
    call.set("tile", v.tile).set("buffers", v.buffers);
    call.set("unit_m", v.unit.m).set("unit_n", v.unit.n).set("unit_k", v.unit.k);
  } else if (v.kind == AttentionKind::few) {
    const auto shares = [&](const char* name, const View& view, std::int64_t size) {
      const int unit = attention_load_unit(view, a);
      call.set(std::format("{}_unit", name), unit).set(std::format("{}_per", name), ceil_div(size, v.lanes * unit));
      call.set(std::format("{}_type", name), weft::name(view.dtype));
    };
    shares("k", a.keys ? a.k : a.q, a.dim);
    shares("v", a.keys ? a.v : a.q, a.value_dim);
    call.set("lanes", v.lanes).set("chunk", v.chunk).enable("subgroups");
  } else {
    call.set("d4", ceil_div(a.dim, 4))
        .set("v4", ceil_div(a.value_dim, 4))
        .set("bounded", bounded || a.keys % v.chunk != 0)
        .set("staged", v.staged)
        .set("splits", v.splits)
        .set("chunk", v.chunk)
        .set("tile", v.tile)
        .set("v_rows", std::max(v.tile, v.splits > 1 ? v.threads / 2 * v.rows : 0));
  }
  const std::int64_t row_blocks = ceil_div(a.rows(), block_rows);
  const std::int64_t blocks = a.batch * a.kv_heads * row_blocks * column_blocks * v.parts;
  call.index_param("row_blocks", row_blocks).index_param("blocks", blocks);
  Work work = attention_work(static_cast<double>(a.batch * a.kv_heads * a.rows()), a.mean_keys(), a.dim, a.value_dim);
  if (v.kind == AttentionKind::matrices) work.arithmetic = Arithmetic::matrix;
  call.cost(work);
  call.variant(to_string(v), why(v));
  call.dispatch_groups("attention", blocks);
  if (partial) record_combine(commands, a, v, *partial);
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

// The axis to halve so that every operand fits a binding; none if all fit. What lies in y's buffer shares its binding.
std::optional<AttentionCall::Axis> axis_to_halve(const AttentionCall& a, const gpu::Capabilities& capabilities) {
  using Axis = AttentionCall::Axis;
  const std::uint64_t limit = window_limit(capabilities);
  struct Operand {
    View view;
    bool of_keys;
  };
  std::vector<std::vector<Operand>> bindings{{{a.y, false}}};
  const auto add = [&](const View& view, bool of_keys) {
    if (view.buffer == a.y.buffer) bindings[0].push_back({view, of_keys});
    else bindings.push_back({{view, of_keys}});
  };
  add(a.q, false);
  add(a.k, true);
  add(a.v, true);
  if (a.mask) add(*a.mask, false);
  for (const auto& operands : bindings) {
    std::vector<View> views;
    for (const Operand& o : operands) views.push_back(o.view);
    if (span_bytes(views) <= limit) continue;
    std::int64_t longest = 0;
    std::optional<Axis> axis;
    for (const auto& [view, of_keys] : operands) {
      const auto consider = [&](Axis candidate, int d, std::int64_t step = 1) {
        const std::int64_t reach = std::abs(view.strides()[d]) * step * (a.size(candidate) - 1);
        if (reach > longest) longest = reach, axis = candidate;
      };
      consider(Axis::batch, 0);
      consider(Axis::kv_heads, 1, of_keys ? 1 : a.group);
      if (of_keys) continue;
      if (a.kv_heads == 1) consider(Axis::group, 1);
      consider(Axis::queries, 2);
    }
    if (!axis) {
      throw Unsupported("attention: {} takes {} bytes where it cannot be cut; this device binds {}",
                        to_string(views[0]), span_bytes(views), capabilities.max_binding);
    }
    return axis;
  }
  return std::nullopt;
}

}  // namespace

void check_attention_memory(Stream& stream, const AttentionCall& a, const std::optional<View>& workspace) {
  check_memory(stream, "attention", {a.q}, {a.y}, Sharing::same_view, workspace);
  check_memory(stream, "attention", {a.k, a.v, a.mask, a.lengths.queries, a.lengths.keys}, {a.y}, Sharing::none,
               workspace);
}

void attention_gpu(gpu::Commands& commands, const AttentionCall& a, const AttentionVariant* variant,
                   const std::optional<View>& workspace) {
  check_attention_memory(commands, a, workspace);
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  if (const auto axis = axis_to_halve(a, capabilities)) {
    const std::int64_t size = a.size(*axis), half = ceil_div(size, 2);
    attention_gpu(commands, a.part(*axis, 0, half), variant, workspace);
    attention_gpu(commands, a.part(*axis, half, size - half), variant, workspace);
    return;
  }
  const std::uint64_t bytes = workspace ? workspace->buffer.size() - workspace->offset : 0;
  if (variant) return record(commands, a, *variant, workspace);
  const std::uint64_t most = std::min(bytes, capabilities.max_binding);
  AttentionVariant choice = choose_attention(capabilities, a, most);
  if (choice.kind == AttentionKind::matrices && !attention_proven(commands.device(), choice, a)) {
    choice = choose_attention(capabilities, a, most, false);
  }
  record(commands, a, choice, workspace);
}

void attention(Stream& stream, const View& q, const View& k, const View& v, const std::optional<View>& mask,
               const View& y, const AttentionOptions& options, const AttentionLengths& lengths,
               const std::optional<View>& workspace) {
  const AttentionCall call(q, k, v, mask, y, options, lengths);
  if (y.count() == 0) return;
  if (gpu::Commands* commands = stream.gpu()) attention_gpu(*commands, call, nullptr, workspace);
  else attention_cpu(*stream.cpu(), call);
}

std::uint64_t attention_workspace(Stream& stream, const View& q, const View& k, const View& v,
                                  const std::optional<View>& mask, const View& y, const AttentionOptions& options,
                                  const AttentionLengths& lengths) {
  gpu::Commands* commands = stream.gpu();
  const AttentionCall call(q, k, v, mask, y, options, lengths);
  if (!commands || y.count() == 0) return 0;
  const gpu::Capabilities& capabilities = commands->device().capabilities();
  if (axis_to_halve(call, capabilities)) return 0;  // large enough by itself
  return attention_workspace_bytes(choose_attention(capabilities, call, capabilities.max_binding / 2), call);
}

}  // namespace weft::kernels
