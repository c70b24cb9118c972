#include "kernels/common/memory.h"
#include "kernels/softmax/softmax_cpu.h"
#include "kernels/softmax/softmax_parts.h"
#include "weft/error.h"
#include "weft/kernels/softmax.h"

namespace weft::kernels {
namespace {

Rows rows_of(const View& x, const View& y, int axis) {
  AxisMask along{};
  along[axis] = true;
  const std::array<Strides, 2> strides{x.strides(), y.strides()};
  return split_rows(x.shape(), along, strides);
}

RowPlanOptions options_of(const View& x, const View& y, const Rows& rows) {
  return {.along4 = vectorises_along(x, rows, 0) && vectorises_along(y, rows, 1),
          .across4 = vectorises_across(x, rows, 0) && vectorises_across(y, rows, 1),
          .across = runs_across(rows, 0),
          .keep = true};
}

// x and y, in one window or, where a row is longer than a binding, in several.
using Windows = RowWindowViews;

// A part's statistics are its maximum and its sum.
std::optional<RowParts> parts_of(const gpu::Capabilities& capabilities, Windows windows, int axis,
                                 const std::optional<PartsForm>& form = {}) {
  std::vector<Rows> rows;
  RowPlanOptions options{.along4 = true, .across4 = true};
  for (const auto& w : windows) {
    rows.push_back(rows_of(w[0], w[1], axis));
    const RowPlanOptions own = options_of(w[0], w[1], rows.back());
    options = {.along4 = options.along4 && own.along4,
               .across4 = options.across4 && own.across4,
               .across = own.across,
               .keep = true};
  }
  return plan_parts(capabilities, rows, options, bits(windows[0][0].dtype), DType::f32, 2, form);
}

// What windows of such rows take of a workspace.
auto scratch_of(const gpu::Capabilities& capabilities, int axis) {
  return [&capabilities, axis](Windows windows) {
    const auto parts = parts_of(capabilities, windows, axis);
    return parts ? parts->bytes() : 0;
  };
}

void run_in_parts(Stream& stream, std::string_view name, Windows windows, int axis, bool log, const RowParts& parts,
                  const std::optional<View>& workspace) {
  run_parts(stream, name, parts, workspace, [&](std::size_t window) {
    const View &x = windows[window][0], &y = windows[window][1];
    Call call(*stream.gpu(), "softmax_parts");
    call.read("x", x, parts.plan.width).write("y", y, parts.plan.width);
    add_rows(call, rows_of(x, y, axis), parts.plan_of(window), std::array<std::string_view, 2>{"x", "y"});
    call.include("float_rows").set("logarithm", log);
    return call;
  });
}

void run_whole(Stream& stream, std::string_view name, const View& x, const View& y, int axis, bool log,
               const std::optional<RowForm>& form) {
  const Rows rows = rows_of(x, y, axis);
  RowPlanOptions options = options_of(x, y, rows);
  options.form = form;
  Call call(*stream.gpu(), "softmax");
  const RowPlan plan = plan_rows(call.capabilities(), rows, options);
  call.read("x", x, plan.width).write("y", y, plan.width);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  call.include("float_rows").set("logarithm", log);
  call.dispatch_groups(name, plan.groups);
}

AxisMask along(int axis) {
  AxisMask mask{};
  mask[axis] = true;
  return mask;
}

void run(Stream& stream, const View& x, const View& y, int axis, bool log, const std::optional<View>& workspace) {
  const std::string_view name = log ? "log_softmax" : "softmax";
  if (x.shape() != y.shape()) {
    throw InvalidArgument("{}: x is {}, y is {}; their shapes must be the same", name, to_string(x), to_string(y));
  }
  for (const View* v : {&x, &y}) {
    if (!is_floating(v->dtype)) {
      throw InvalidArgument("{}: {} is {}; expected a floating type", name, v == &x ? "x" : "y", to_string(*v));
    }
  }
  axis = normalize_axis(axis, x.rank(), name);
  check_memory(stream, name, {x}, {y}, Sharing::same_view, workspace);
  if (x.count() == 0) return;
  if (stream.cpu()) return softmax_cpu(*stream.cpu(), x, y, rows_of(x, y, axis), log);
  for (const View* v : {&x, &y}) {
    if (v->dtype == DType::f64) throw Unsupported("{}: f64 runs on the CPU only, WGSL has no such type", name);
  }
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  in_row_windows(capabilities, name, std::array{x, y}, along(axis), scratch_of(capabilities, axis), [&](Windows windows) {
    const auto parts = parts_of(capabilities, windows, axis);
    if (parts && (windows.size() > 1 || holds(workspace, *parts))) {
      return run_in_parts(stream, name, windows, axis, log, *parts, workspace);
    }
    run_whole(stream, name, windows[0][0], windows[0][1], axis, log, {});
  });
}

}  // namespace

void softmax(Stream& stream, const View& x, const View& y, int axis, const std::optional<View>& workspace) {
  run(stream, x, y, axis, false, workspace);
}

void log_softmax(Stream& stream, const View& x, const View& y, int axis, const std::optional<View>& workspace) {
  run(stream, x, y, axis, true, workspace);
}

std::uint64_t softmax_workspace(Stream& stream, const View& x, const View& y, int axis) {
  axis = normalize_axis(axis, x.rank(), "softmax");
  if (!stream.gpu() || x.count() == 0) return 0;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  std::uint64_t bytes = 0;
  const auto scratch = scratch_of(capabilities, axis);
  in_row_windows(capabilities, "softmax", std::array{x, y}, along(axis), scratch, [&](Windows windows) {
    bytes = std::max(bytes, scratch(windows));
  });
  return bytes;
}

void softmax_in_form(Stream& stream, const View& x, const View& y, int axis, bool logarithm, const RowForm& form) {
  run_whole(stream, "softmax", x, y, axis, logarithm, form);
}

void softmax_in_parts(Stream& stream, const View& x, const View& y, int axis, bool logarithm, const View& workspace,
                      const PartsForm& form) {
  const std::vector<View> window{x, y};
  const RowParts parts = *parts_of(stream.gpu()->device().capabilities(), std::span(&window, 1), axis, form);
  run_in_parts(stream, "softmax", std::span(&window, 1), axis, logarithm, parts, workspace);
}

std::uint64_t softmax_in_parts_workspace(Stream& stream, const View& x, const View& y, int axis, const PartsForm& form) {
  const std::vector<View> window{x, y};
  return parts_of(stream.gpu()->device().capabilities(), std::span(&window, 1), axis, form)->bytes();
}

}  // namespace weft::kernels
