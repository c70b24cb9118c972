#include "weft/kernels/softmax.h"

#include "kernels/plan_cache.h"
#include "kernels/softmax/softmax_cpu.h"
#include "kernels/softmax/softmax_parts.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

AxisMask along(int axis) {
  AxisMask mask{};
  mask[axis] = true;
  return mask;
}

Rows rows_of(const RowViews& views, int axis) {
  std::vector<Strides> strides;
  for (const View& v : views.all()) strides.push_back(v.strides());
  return split_rows(views.shape(), along(axis), strides);
}

RowPlanOptions options_of(const RowViews& views, const Rows& rows) {
  RowPlanOptions options = plan_options(views, rows);
  options.packs = keeps_words(views);
  return options;
}

// The views of one window or, where a row is longer than a binding, of several.
using Windows = std::span<const RowViews>;

// A part's statistics are its maximum and its sum.
std::optional<RowParts> parts_of(const gpu::Capabilities& capabilities, Windows windows, int axis,
                                 const std::optional<PartsForm>& form = {}) {
  std::vector<Rows> rows;
  std::vector<RowPlanOptions> options;
  for (const RowViews& w : windows) {
    rows.push_back(rows_of(w, axis));
    options.push_back(options_of(w, rows.back()));
  }
  PartKind kind = part_kind(windows[0], 2);
  kind.by_columns = true;
  if (windows.size() == 1 && in_column_words(windows[0], options[0])) kind.column_words = 1;
  return plan_parts(capabilities, rows, common_options(options), kind, form);
}

Call start(Stream& stream, const char* kernel, const RowViews& views, const Rows& rows, const RowPlan& plan, bool log) {
  Call call(*stream.gpu(), kernel);
  const std::vector<std::string> names = add_views(call, views, rows, plan);
  add_rows(call, rows, plan, std::vector<std::string_view>(names.begin(), names.end()));
  add_work(call, views, plan, softmax_work(log));
  call.include("float_rows").set("logarithm", log).set("ties", false);
  return call;
}

void run_in_parts(Stream& stream, std::string_view name, Windows windows, int axis, bool log, const RowParts& parts) {
  run_parts(*stream.gpu(), name, parts, [&](std::size_t window) {
    const RowViews& views = windows[window];
    const DType x = views.inputs[0].dtype;
    const Rows rows = rows_of(views, axis);
    const RowPlan plan = parts.plan_of(window);
    Call call = start(stream, parts.column_words ? "softmax_columns" : "softmax_parts", views, rows, plan, log);
    call.include("row_parts").include("tile_work");
    if (parts.column_words) {
      const bool in_f16 = x == DType::f16 && stream.gpu()->device().capabilities().f16;
      if (in_f16) call.enable("f16");
      call.set("in_f16", in_f16).set("found_words", true);
      add_column_words(call, parts, x, views.result_type(), plan.team / 2);  // half of the columns at a time
      call.set("words_of_x", true);
      return call;
    }
    const bool words = keeps_words(views) && steps_in_fours(views, rows, plan, 0);
    call.set("words_of_x", words).set("x_is_f16", x == DType::f16);
    call.set("narrow_y", bits(views.result_type()) <= 16);
    call.set("rounds", rounds_only(views));
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
  const bool packed = plan.packed && steps_in_fours(views, rows, plan, 0);
  if (packed) call.nothing();
  call.set("packed", packed).set("rounds", rounds_only(views)).dispatch_groups(name, plan.groups);
}

std::vector<RowViews> windows_of(const RowViews& views, RowWindows pieces) {
  std::vector<RowViews> windows;
  for (const RowWindow& piece : pieces) windows.push_back(views.with(piece.views));
  return windows;
}

// The scratch that chunks of such rows take.
auto scratch_of(const gpu::Capabilities& capabilities, const RowViews& views, int axis) {
  return [&capabilities, &views, axis](RowWindows pieces) -> std::uint64_t {
    const auto parts = parts_of(capabilities, windows_of(views, pieces), axis);
    return parts ? parts->bytes() : 0;
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
  in_row_windows(capabilities, name, views.all(), along(axis), scratch, [&](RowWindows pieces) {
    const std::vector<RowViews> windows = windows_of(views, pieces);
    const auto parts = parts_of(capabilities, windows, axis);
    if (parts) return run_in_parts(stream, name, windows, axis, log, *parts);
    run_whole(stream, name, windows[0], axis, log, {});
  });
}

void softmax_plain(Stream& stream, const View& x, const View& y, int axis, bool log) {
  call(stream, CallKey(name_of(log), axis), {x, y},
       [&](Stream& s) { run(s, row_views(name_of(log), x, y), axis, log); });
}

void softmax_fused(Stream& stream, std::span<const View> inputs, std::span<const View> outputs, int axis,
                   const RowWork& work, bool log) {
  call(stream, CallKey(name_of(log), axis, work.before, work.after), {inputs, work.operands, outputs},
       [&](Stream& s) { run(s, row_views(name_of(log), inputs, outputs, work), axis, log); });
}

}  // namespace

void softmax(Stream& stream, const View& x, const View& y, int axis) { softmax_plain(stream, x, y, axis, false); }
void log_softmax(Stream& stream, const View& x, const View& y, int axis) { softmax_plain(stream, x, y, axis, true); }

void softmax(Stream& stream, std::span<const View> inputs, std::span<const View> outputs, int axis,
             const RowWork& work) {
  softmax_fused(stream, inputs, outputs, axis, work, false);
}
void log_softmax(Stream& stream, std::span<const View> inputs, std::span<const View> outputs, int axis,
                 const RowWork& work) {
  softmax_fused(stream, inputs, outputs, axis, work, true);
}

void softmax_in_form(Stream& stream, const RowViews& views, int axis, bool logarithm, const RowForm& form) {
  const std::vector<View> all = views.all();
  call_once(stream, {all}, [&](Stream& s) { run_whole(s, name_of(logarithm), views, axis, logarithm, form); });
}

void softmax_in_parts(Stream& stream, const RowViews& views, int axis, bool logarithm, const PartsForm& form) {
  const std::vector<View> all = views.all();
  call_once(stream, {all}, [&](Stream& s) {
    const RowParts parts = *parts_of(s.gpu()->device().capabilities(), std::span(&views, 1), axis, form);
    run_in_parts(s, name_of(logarithm), std::span(&views, 1), axis, logarithm, parts);
  });
}

}  // namespace weft::kernels
