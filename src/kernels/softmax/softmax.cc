#include "weft/kernels/softmax.h"

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

// The views of one window or, where a row is longer than a binding, of several.
using Windows = std::span<const RowViews>;

// A part's statistics are its maximum and its sum.
std::optional<RowParts> parts_of(const gpu::Capabilities& capabilities, Windows windows, int axis,
                                 const std::optional<PartsForm>& form = {}) {
  std::vector<Rows> rows;
  RowPlanOptions options{.along4 = true, .across4 = true};
  for (const RowViews& w : windows) {
    rows.push_back(rows_of(w, axis));
    const RowPlanOptions own = plan_options(w, rows.back());
    options = {.along4 = options.along4 && own.along4,
               .across4 = options.across4 && own.across4,
               .across = own.across,
               .keep = true};
  }
  return plan_parts(capabilities, rows, options, bits(windows[0].inputs[0].dtype), DType::f32, 2, form);
}

void run_in_parts(Stream& stream, std::string_view name, Windows windows, int axis, bool log, const RowParts& parts,
                  const std::optional<View>& workspace) {
  run_parts(stream, name, parts, workspace, [&](std::size_t window) {
    const View &x = windows[window].inputs[0], &y = windows[window].results[0];
    Call call(*stream.gpu(), "softmax_parts");
    call.read("x", x, parts.plan.width).write("y", y, parts.plan.width);
    const Rows rows = rows_of(windows[window], axis);
    add_rows(call, rows, parts.plan_of(window), std::array<std::string_view, 2>{"x", "y"});
    call.include("float_rows").set("logarithm", log);
    call.set("words_of_x", parts.plan.width == 4 && bits(x.dtype) == 16).set("x_is_f16", x.dtype == DType::f16);
    call.set("narrow_y", bits(y.dtype) <= 16);
    return call;
  });
}

void run_whole(Stream& stream, std::string_view name, const RowViews& views, int axis, bool log,
               const std::optional<RowForm>& form) {
  const Rows rows = rows_of(views, axis);
  RowPlanOptions options = plan_options(views, rows);
  options.form = form;
  Call call(*stream.gpu(), "softmax");
  const RowPlan plan = plan_rows(call.capabilities(), rows, options);
  const std::vector<std::string> names = add_views(call, views, rows, plan);
  add_rows(call, rows, plan, std::vector<std::string_view>(names.begin(), names.end()));
  add_work(call, views, plan);
  call.include("float_rows").set("logarithm", log);
  call.dispatch_groups(name, plan.groups);
}

// What such windows take of a workspace.
std::uint64_t scratch_of(const gpu::Capabilities& capabilities, Windows windows, int axis) {
  const auto parts = windows[0].has_work() ? std::nullopt : parts_of(capabilities, windows, axis);
  return parts ? parts->bytes() : 0;
}

// Calls `run` with the views' windows: in_row_windows().
void in_windows_of(const gpu::Capabilities& capabilities, std::string_view name, const RowViews& views, int axis,
                   const std::function<void(Windows)>& run) {
  const auto windows_of = [&](RowWindowViews pieces) {
    std::vector<RowViews> windows;
    for (const auto& piece : pieces) windows.push_back(views.with(piece));
    return windows;
  };
  in_row_windows(capabilities, name, views.all(), along(axis),
                 [&](RowWindowViews pieces) { return scratch_of(capabilities, windows_of(pieces), axis); },
                 [&](RowWindowViews pieces) { run(windows_of(pieces)); });
}

std::string_view name_of(bool log) { return log ? "log_softmax" : "softmax"; }

void run(Stream& stream, const RowViews& views, int axis, bool log, const std::optional<View>& workspace) {
  const std::string_view name = name_of(log);
  axis = normalize_axis(axis, views.shape().rank(), name);
  check_memory(stream, name, views, {}, {}, workspace);
  if (element_count(views.shape()) == 0) return;
  if (stream.cpu()) return softmax_cpu(*stream.cpu(), views, rows_of(views, axis), log);
  refuse_f64(name, views);
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  in_windows_of(capabilities, name, views, axis, [&](Windows windows) {
    refuse_windows(name, views, windows.size());
    const auto parts = views.has_work() ? std::nullopt : parts_of(capabilities, windows, axis);
    if (parts && (windows.size() > 1 || holds(workspace, *parts))) {
      return run_in_parts(stream, name, windows, axis, log, *parts, workspace);
    }
    run_whole(stream, name, windows[0], axis, log, {});
  });
}

}  // namespace

void softmax(Stream& stream, const View& x, const View& y, int axis, const std::optional<View>& workspace) {
  run(stream, row_views(name_of(false), x, y), axis, false, workspace);
}

void log_softmax(Stream& stream, const View& x, const View& y, int axis, const std::optional<View>& workspace) {
  run(stream, row_views(name_of(true), x, y), axis, true, workspace);
}

void softmax(Stream& stream, std::span<const View> inputs, std::span<const View> outputs, int axis,
             const RowWork& work) {
  run(stream, row_views(name_of(false), inputs, outputs, work), axis, false, {});
}

void log_softmax(Stream& stream, std::span<const View> inputs, std::span<const View> outputs, int axis,
                 const RowWork& work) {
  run(stream, row_views(name_of(true), inputs, outputs, work), axis, true, {});
}

std::uint64_t softmax_workspace(Stream& stream, const View& x, const View& y, int axis) {
  axis = normalize_axis(axis, x.rank(), name_of(false));
  const RowViews views = row_views(name_of(false), x, y);
  if (!stream.gpu() || x.count() == 0) return 0;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  std::uint64_t bytes = 0;
  in_windows_of(capabilities, name_of(false), views, axis, [&](Windows windows) {
    bytes = std::max(bytes, scratch_of(capabilities, windows, axis));
  });
  return bytes;
}

void softmax_in_form(Stream& stream, const View& x, const View& y, int axis, bool logarithm, const RowForm& form) {
  run_whole(stream, name_of(logarithm), row_views(name_of(logarithm), x, y), axis, logarithm, form);
}

void softmax_in_form(Stream& stream, std::span<const View> inputs, std::span<const View> outputs, int axis,
                     bool logarithm, const RowWork& work, const RowForm& form) {
  run_whole(stream, name_of(logarithm), row_views(name_of(logarithm), inputs, outputs, work), axis, logarithm, form);
}

void softmax_in_parts(Stream& stream, const View& x, const View& y, int axis, bool logarithm, const View& workspace,
                      const PartsForm& form) {
  const RowViews views = row_views(name_of(logarithm), x, y);
  const RowParts parts = *parts_of(stream.gpu()->device().capabilities(), std::span(&views, 1), axis, form);
  run_in_parts(stream, name_of(logarithm), std::span(&views, 1), axis, logarithm, parts, workspace);
}

std::uint64_t softmax_in_parts_workspace(Stream& stream, const View& x, const View& y, int axis,
                                         const PartsForm& form) {
  const RowViews views = row_views(name_of(false), x, y);
  return parts_of(stream.gpu()->device().capabilities(), std::span(&views, 1), axis, form)->bytes();
}

}  // namespace weft::kernels
