#include "weft/kernels/softmax.h"

#include "kernels/plan_cache.h"
#include "kernels/softmax/softmax_cpu.h"
#include "kernels/softmax/softmax_split.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

Rows rows_of(const RowViews& views, int axis) {
  std::vector<Strides> strides;
  for (const View& v : views.all()) strides.push_back(v.strides());
  return rows_along(views.shape(), mask_of({{axis}}, views.shape().rank()), strides);
}

RowPlanOptions options_of(const RowViews& views, const Rows& rows) {
  RowPlanOptions options = plan_options(views, rows);
  if (keeps_pairs(views)) options.words = RowWords::if_they_help;
  return options;
}

// The views of one chunk or, if a row exceeds a binding, of several.
using Chunks = std::span<const RowViews>;

// A split's statistics are its maximum and its sum.
std::optional<SplitRows> splits_of(const gpu::Capabilities& capabilities, Chunks chunks, int axis,
                                   const std::optional<SplitForm>& form = {}) {
  const ChunkRows all = rows_of_chunks(chunks, [&](const RowViews& views) {
    Rows rows = rows_of(views, axis);
    RowPlanOptions options = options_of(views, rows);
    return std::pair(std::move(rows), std::move(options));
  });
  SplitKind kind = split_kind(chunks[0], 2);
  kind.by_columns = true;
  if (chunks.size() == 1 && in_column_pairs(chunks[0], all.options[0])) kind.column_pairs = 1;
  auto splits = plan_split_rows(capabilities, all, kind, form);
  if (splits) splits->packed_partials = splits->column_pairs;
  return splits;
}

bool has_narrow_result(const RowViews& views) { return bits(views.result_type()) <= 16; }

Call start(Stream& stream, const char* kernel, const RowViews& views, const Rows& rows, const RowPlan& plan, bool log) {
  Call call(*stream.gpu(), kernel);
  const std::vector<std::string> names = add_views(call, views, rows, plan);
  add_rows(call, rows, plan, std::vector<std::string_view>(names.begin(), names.end()));
  add_fusion(call, views, plan, softmax_work(log));
  call.include("float_rows").include("exp_below").set("logarithm", log).set("ties", false);
  call.set("compensated", !log && !has_narrow_result(views));
  return call;
}

void run_split(Stream& stream, std::string_view name, Chunks chunks, int axis, bool log, const SplitRows& splits) {
  run_split_rows(*stream.gpu(), name, splits, [&](std::size_t chunk) {
    const RowViews& views = chunks[chunk];
    const DType x = views.inputs[0].dtype;
    const Rows rows = rows_of(views, axis);
    const RowPlan plan = splits.plan_of(chunk);
    Call call = start(stream, splits.column_pairs ? "softmax_columns" : "softmax_split", views, rows, plan, log);
    call.include("split_rows").include("tile_fusion").set("x_is_f16", x == DType::f16);
    if (splits.column_pairs) {
      const bool in_f16 = x == DType::f16 && stream.gpu()->device().capabilities().f16;
      if (in_f16) call.enable("f16");
      call.set("in_f16", in_f16);
      add_column_pairs(call, splits, views.result_type(),
                       plan.threads_per_row / 2);  // for half of the columns at a time
      call.set("pairs_of_x", true);
      return call;
    }
    const bool words = keeps_pairs(views) && steps_are_vec4(views, rows, plan, 0);
    call.set("pairs_of_x", words).set("rounds", rounds_only(views)).set("narrow_y", has_narrow_result(views));
    return call;
  });
}

void run_whole(Stream& stream, std::string_view name, const RowViews& views, int axis, bool log,
               const std::optional<RowForm>& form) {
  const Rows rows = rows_of(views, axis);
  RowPlanOptions options = options_of(views, rows);
  options.form = form;
  const RowPlan plan = plan_rows(stream.gpu()->device().capabilities(), rows, options);
  Call call = start(stream, "softmax", views, rows, plan, log);
  const bool packed = plan.packed && steps_are_vec4(views, rows, plan, 0);
  if (packed) call.opaque_zero().opaque_start();
  // Compilers take x · (1 / x) for 1, which it is not for the NaN of a row of one element.
  call.set("one_step", plan.steps == 1);
  call.set("packed", packed).set("rounds", rounds_only(views)).dispatch_groups(name, plan.groups);
}

std::vector<RowViews> chunks_of(const RowViews& views, RowChunks pieces) {
  std::vector<RowViews> chunks;
  for (const RowChunk& piece : pieces) chunks.push_back(views.with(piece.views));
  return chunks;
}

// The scratch for chunks of such rows.
auto scratch_of(const gpu::Capabilities& capabilities, const RowViews& views, int axis) {
  return [&capabilities, &views, axis](RowChunks pieces) -> std::uint64_t {
    const auto splits = splits_of(capabilities, chunks_of(views, pieces), axis);
    return splits ? splits->bytes() : 0;
  };
}

std::string_view name_of(bool log) { return log ? "log_softmax" : "softmax"; }

void run(Stream& stream, const RowViews& views, int axis, bool log) {
  const std::string_view name = name_of(log);
  axis = normalize_axis(axis, views.shape().rank(), name);
  const std::optional<View> no_weight;
  check_memory(stream, name, views, no_weight, no_weight);
  if (element_count(views.shape()) == 0) return;
  if (stream.cpu()) return softmax_cpu(*stream.cpu(), views, rows_of(views, axis), log);
  refuse_f64(name, views);
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const auto scratch = scratch_of(capabilities, views, axis);
  in_row_chunks(capabilities, name, views.all(), mask_of({{axis}}, views.shape().rank()), scratch,
                [&](RowChunks pieces) {
                  const std::vector<RowViews> chunks = chunks_of(views, pieces);
                  const auto splits = splits_of(capabilities, chunks, axis);
                  if (splits) return run_split(stream, name, chunks, axis, log, *splits);
                  run_whole(stream, name, chunks[0], axis, log, {});
                });
}

void by_rows(Stream& stream, const View& x, const View& y, int axis, const Fusion& fusion, bool log) {
  const auto& [prologue, epilogue] = fusion;
  call(stream, CallKey(name_of(log), axis, prologue.expression, epilogue.expression),
       {x, prologue.operands, epilogue.operands, y, epilogue.outputs, prologue.outputs},
       [&](Stream& s) { run(s, row_views(name_of(log), x, y, fusion), axis, log); });
}

}  // namespace

void softmax(Stream& stream, const View& x, const View& y, int axis, const Fusion& fusion) {
  by_rows(stream, x, y, axis, fusion, false);
}
void log_softmax(Stream& stream, const View& x, const View& y, int axis, const Fusion& fusion) {
  by_rows(stream, x, y, axis, fusion, true);
}

void softmax_in_form(Stream& stream, const RowViews& views, int axis, bool logarithm, const RowForm& form) {
  const std::vector<View> all = views.all();
  call_once(stream, {all}, [&](Stream& s) { run_whole(s, name_of(logarithm), views, axis, logarithm, form); });
}

void softmax_split_rows(Stream& stream, const RowViews& views, int axis, bool logarithm, const SplitForm& form) {
  const std::vector<View> all = views.all();
  call_once(stream, {all}, [&](Stream& s) {
    const SplitRows splits = *splits_of(s.gpu()->device().capabilities(), std::span(&views, 1), axis, form);
    run_split(s, name_of(logarithm), std::span(&views, 1), axis, logarithm, splits);
  });
}

}  // namespace weft::kernels
