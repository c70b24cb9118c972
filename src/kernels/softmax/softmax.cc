#include "kernels/common/memory.h"
#include "kernels/common/windows.h"
#include "kernels/elementwise/map.h"
#include "kernels/softmax/softmax_cpu.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/softmax.h"

namespace weft::kernels {
namespace {

bool row_is_long(const gpu::Capabilities& capabilities, std::string_view name, const View& x, const View& y, int axis) {
  return std::ranges::any_of(std::array{x, y}, [&](View row) {
    for (int d = 0; d < row.rank(); ++d) {
      if (d != axis) row.layout.shape[d] = 1;
    }
    return axis_to_cut(capabilities, name, row, every_axis()) >= 0;
  });
}

// Rows that are longer than a binding: their maxima and sums by reductions, which take them in windows.
class LongRows {
 public:
  LongRows(const View& x, int axis, const View& workspace) : x_(x), axis_(axis) {
    Shape one = x.shape();
    one[axis] = 1;
    const std::uint64_t bytes = (static_cast<std::uint64_t>(element_count(one)) * sizeof(float) + 15) / 16 * 16;
    top_ = View(workspace.buffer, workspace.offset, DType::f32, one);
    sum_ = View(workspace.buffer, workspace.offset + bytes, DType::f32, one);
    rest_ = workspace.offset + 2 * bytes;
    exponentials_.output(exponentials_.apply(ScalarOp::exp, {below(exponentials_)}));
  }
  // What the workspace of another LongRows must hold.
  std::uint64_t bytes(Stream& stream) const {
    return rest_ + std::max(reduce_workspace(stream, ReduceOp::max, x_, top_, std::array{axis_}),
                            reduce_workspace(stream, ReduceOp::sum, std::array{x_, top_}, sum_, std::array{axis_}, {&exponentials_}));
  }
  void run(Stream& stream, std::string_view name, const View& y, const View& workspace, bool log) const {
    const auto left = workspace.count() - static_cast<std::int64_t>(rest_ - workspace.offset);
    const View rest(workspace.buffer, rest_, DType::u8, {left});
    reduce(stream, ReduceOp::max, x_, top_, std::array{axis_}, rest);
    reduce(stream, ReduceOp::sum, std::array{x_, top_}, sum_, std::array{axis_}, {&exponentials_}, rest);
    Expression e;
    const int d = below(e), sum = e.input(DType::f32);
    const int result = log ? e.apply(ScalarOp::sub, {d, e.apply(ScalarOp::log, {sum})})
                           : e.apply(ScalarOp::div, {e.apply(ScalarOp::exp, {d}), sum});
    e.output(y.dtype == DType::f32 ? result : e.cast(result, y.dtype));
    const View inputs[] = {x_, top_, sum_};
    map(stream, name, e, inputs, std::span(&y, 1));
  }

 private:
  // x less its maximum.
  int below(Expression& e) const {
    const int x = e.input(x_.dtype), top = e.input(DType::f32);
    return e.apply(ScalarOp::sub, {x_.dtype == DType::f32 ? x : e.cast(x, DType::f32), top});
  }

  View x_, top_, sum_;
  int axis_;
  std::uint64_t rest_ = 0;  // where the workspace goes on
  Expression exponentials_;
};

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
  AxisMask along{};
  along[axis] = true;
  const std::array<Strides, 2> strides{x.strides(), y.strides()};
  const Rows rows = split_rows(x.shape(), along, strides);
  if (stream.cpu()) return softmax_cpu(*stream.cpu(), x, y, rows, log);
  for (const View* v : {&x, &y}) {
    if (v->dtype == DType::f64) throw Unsupported("{}: f64 runs on the CPU only, WGSL has no such type", name);
  }

  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  if (row_is_long(capabilities, name, x, y, axis)) {
    const std::uint64_t needed = softmax_workspace(stream, x, y, axis);
    if (!workspace || !workspace->is_dense() || workspace->dtype != DType::u8 ||
        workspace->count() < static_cast<std::int64_t>(needed)) {
      throw Unsupported("{}: rows of {} are longer than this device's bindings of {} bytes; that takes a workspace of {} "
                        "bytes, given {}", name, to_string(x), capabilities.max_binding, needed,
                        workspace ? to_string(*workspace) : "none");
    }
    return LongRows(x, axis, *workspace).run(stream, name, y, *workspace, log);
  }
  AxisMask others{};
  for (int d = 0; d < x.rank(); ++d) others[d] = d != axis;
  const std::array<View, 2> views{x, y};
  if (in_windows(capabilities, name, views, others,
                 [&](std::span<const View> part) { run(stream, part[0], part[1], axis, log, {}); })) {
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

void softmax(Stream& stream, const View& x, const View& y, int axis, const std::optional<View>& workspace) {
  run(stream, x, y, axis, false, workspace);
}

void log_softmax(Stream& stream, const View& x, const View& y, int axis, const std::optional<View>& workspace) {
  run(stream, x, y, axis, true, workspace);
}

std::uint64_t softmax_workspace(Stream& stream, const View& x, const View& y, int axis) {
  axis = normalize_axis(axis, x.rank(), "softmax");
  if (!stream.gpu() || x.count() == 0) return 0;
  if (!row_is_long(stream.gpu()->device().capabilities(), "softmax", x, y, axis)) return 0;
  const auto enough = static_cast<std::int64_t>(8 * x.count() / x.shape()[axis] + 64);
  const View none(Buffer::placeholder(static_cast<std::uint64_t>(enough)), 0, DType::u8, {enough});
  return LongRows(x, axis, none).bytes(stream);
}

}  // namespace weft::kernels
