#include "kernels/common/windows.h"
#include "kernels/softmax/softmax_cpu.h"
#include "weft/error.h"
#include "weft/kernels/softmax.h"

namespace weft::kernels {
namespace {

void run(Stream& stream, const View& x, const View& y, int axis, bool log) {
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
  if (x.count() == 0) return;
  AxisMask along{};
  along[axis] = true;
  const std::array<Strides, 2> strides{x.strides(), y.strides()};
  const Rows rows = split_rows(x.shape(), along, strides);
  if (stream.cpu()) return softmax_cpu(*stream.cpu(), x, y, rows, log);
  for (const View* v : {&x, &y}) {
    if (v->dtype == DType::f64) throw Unsupported("{}: f64 runs on the CPU only, WGSL has no such type", name);
  }

  AxisMask others{};
  for (int d = 0; d < x.rank(); ++d) others[d] = d != axis;
  const std::array<View, 2> views{x, y};
  if (in_windows(stream.gpu()->device().capabilities(), "softmax", views, others,
                 [&](std::span<const View> part) { softmax(stream, part[0], part[1], axis); })) {
    return;
  }

  Call call(*stream.gpu(), "softmax");
  const RowPlan plan = plan_rows(call.capabilities(), rows,
                                 {.along4 = vectorises_along(x, rows, 0) && vectorises_along(y, rows, 1),
                                  .across4 = vectorises_across(x, rows, 0) && vectorises_across(y, rows, 1),
                                  .across = runs_across(rows, 0),
                                  .keep = true});
  call.read("x", x, plan.width).write("y", y, plan.width);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  call.include("float_rows").set("logarithm", log);
  call.dispatch_groups(name, plan.groups);
}

}  // namespace

void softmax(Stream& stream, const View& x, const View& y, int axis) { run(stream, x, y, axis, false); }

void log_softmax(Stream& stream, const View& x, const View& y, int axis) { run(stream, x, y, axis, true); }

}  // namespace weft::kernels
