// Gradients of norms of rows with those of their weights.
#include <algorithm>
#include <bit>

#include "core/format.h"
#include "kernels/common/chunks.h"
#include "kernels/plan_cache.h"
#include "kernels/plan_state.h"
#include "kernels/row_gradient/row_gradient.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/row_gradient.h"

namespace weft::kernels {
namespace {

// A norm's gradient, with where those of its weights go; `scale` as it was given.
struct WeightGradient {
  RowGradient of_x;
  View dscale;
  std::optional<View> dbias;
  int first_axis = 0;

  bool centred() const { return of_x.kind == RowGradientKind::centred; }
};

// Slots of threads that go through rows (row_gradient_weights.wgsl).
struct Slots {
  RowPlan plan;
  std::int64_t count = 0, turns = 0;
};

// Elements that a thread holds: of x, g, the scale, and the two sums each.
constexpr std::int64_t kElements = 16;
// Threads that fill a large GPU with so many registers each.
constexpr std::int64_t kThreads = 1 << 16;

// Nothing: rows are too long for the registers of a workgroup, do not lie along memory, or exceed a binding.
std::optional<Slots> slots_of(const gpu::Capabilities& capabilities, const WeightGradient& gradient, const Rows& rows) {
  const RowViews& views = gradient.of_x.views;
  const auto exceeds = [&](const View& v) {
    return span_bytes(v) > chunk_limit(capabilities) || v.count() > kMaxElements;
  };
  if (std::ranges::any_of(views.all(), exceeds) || gradient.dscale.rank() == kMaxRank) return {};
  RowPlanOptions options = plan_options(views, rows);
  const bool along = options.access.has(RowAccess::along);
  if (!along && options.across) return {};
  options.access = {};
  if (along) options.access.allow(RowAccess::along);
  const std::int64_t width = along ? 4 : 1, steps = rows.length / width;
  const auto largest = std::bit_floor(std::min(capabilities.max_workgroup_size, 512u));
  const auto power = [](std::int64_t n) { return std::bit_ceil(static_cast<std::uint32_t>(n)); };
  const auto neighbours = std::bit_floor(static_cast<std::uint32_t>(std::min<std::int64_t>(steps, 8)));
  if (steps * width > std::int64_t{largest} * kElements) return {};
  RowForm form{.threads_per_row = std::max(power(ceil_div(steps * width, kElements)), neighbours)};
  form.register_steps = static_cast<std::uint32_t>(ceil_div(steps, std::int64_t{form.threads_per_row}));
  form.workgroup = form.threads_per_row < 64 ? std::min(largest, 256u) : 0;
  options.form = form;
  Slots slots{.plan = plan_rows(capabilities, rows, options)};
  const RowPlan& plan = slots.plan;
  if (plan.register_steps == 0 || plan.threads_per_row != form.threads_per_row) return {};
  const std::int64_t beside = plan.workgroup / plan.threads_per_row;
  const std::int64_t enough = (capabilities.software ? 1 << 11 : kThreads) / plan.threads_per_row;
  slots.count = ceil_div(std::clamp<std::int64_t>(enough, 1, rows.count), beside) * beside;
  slots.turns = ceil_div(rows.count, slots.count);
  const auto bytes = static_cast<std::uint64_t>(slots.count * 2 * rows.length) * 4;
  return bytes <= chunk_limit(capabilities) ? std::optional(slots) : std::nullopt;
}

// x and g are read once.
void run_in_slots(Stream& stream, const WeightGradient& gradient, const Rows& rows, const Slots& slots) {
  const std::int64_t sums = gradient.dbias ? 2 : 1;
  GpuScratch scratch(*stream.gpu());
  const View memory = scratch.take(static_cast<std::uint64_t>(slots.count * sums * rows.length) * 4);
  Call call = start_row_gradient(stream, "row_gradient_weights", gradient.of_x, rows, slots.plan, rows.length);
  call.write("sums", View(memory.buffer, memory.offset, DType::f32, {slots.count, sums, rows.length}),
             slots.plan.width);
  call.set("biased", gradient.dbias.has_value());
  call.index_param("slots", slots.count).index_param("turns", slots.turns).index_param("row_elements", rows.length);
  call.dispatch_groups(gradient.of_x.name, slots.count / (slots.plan.workgroup / slots.plan.threads_per_row));
  const auto add_up = [&](std::int64_t which, const View& result) {
    // [slots, the weight's shape]
    Layout layout = Layout::dense(result.shape());
    layout.shape.insert(0, slots.count);
    layout.strides.insert(0, sums * rows.length);
    View part(memory.buffer, memory.offset + static_cast<std::uint64_t>(which * rows.length) * 4, DType::f32,
              layout.shape, layout.strides);
    reduce(stream, ReduceKind::sum, part, result, std::array{0});
  };
  add_up(0, gradient.dscale);
  if (gradient.dbias) add_up(1, *gradient.dbias);
}

// By kernels of their own: the rows' statistics, then sums over the rows.
void run_apart(Stream& stream, const WeightGradient& gradient) {
  const View &x = gradient.of_x.views.inputs[0], &g = gradient.of_x.views.operands[0];
  std::vector<int> along, others;
  Shape rows = x.shape();
  for (int d = 0; d < x.rank(); ++d) (d < gradient.first_axis ? others : along).push_back(d);
  for (const int d : along) rows[d] = 1;
  GpuScratch scratch(*stream.gpu());
  const auto per_row = [&] {
    const View memory = scratch.take((static_cast<std::uint64_t>(element_count(rows)) * 4 + 15) / 16 * 16);
    return View(memory.buffer, memory.offset, DType::f32, rows);
  };
  // g · (x - mean) / sqrt(square + epsilon), where `square` is the variance, or the mean square.
  Expression e;
  const auto input = [&](DType type) { return e.cast(e.input(type), DType::f32); };
  int n = input(x.dtype);
  const int cotangent = input(g.dtype), square = input(DType::f32);
  const View squares = per_row();
  std::vector<View> operands{g, squares};
  if (gradient.centred()) {
    n = e.apply(ScalarOp::sub, {n, input(DType::f32)});
    operands.push_back(per_row());
    reduce(stream, ReduceKind::mean, x, operands.back(), along);
    reduce(stream, ReduceKind::variance, x, squares, along);
  } else {
    Expression of_square;
    of_square.output(of_square.apply(ScalarOp::square, {of_square.cast(of_square.input(x.dtype), DType::f32)}));
    reduce(stream, ReduceKind::mean, x, squares, along, 0, {.prologue = {&of_square, {}}});
  }
  const int factor =
      e.apply(ScalarOp::rsqrt, {e.apply(ScalarOp::add, {square, e.constant(gradient.of_x.epsilon, DType::f32)})});
  e.output(e.apply(ScalarOp::mul, {cotangent, e.apply(ScalarOp::mul, {n, factor})}));
  reduce(stream, ReduceKind::sum, x, gradient.dscale, others, 0, {.prologue = {&e, operands}});
  if (gradient.dbias) reduce(stream, ReduceKind::sum, g, *gradient.dbias, others);
}

void run(Stream& stream, const WeightGradient& gradient) {
  const RowGradient& of_x = gradient.of_x;
  const RowViews& views = of_x.views;
  const std::optional<View> no_weight;
  check_memory(stream, of_x.name, views, no_weight, no_weight);
  check_memory(stream, of_x.name, {{"x", views.inputs[0]}, {"operand", views.operands}, {"dx", views.results[0]}},
               {{"dscale", gradient.dscale}, {"dbias", gradient.dbias}}, Sharing::none);
  const auto clear = [&](const View& v) { fill(stream, 0, v); };
  if (element_count(views.shape()) == 0) {
    clear(gradient.dscale);
    if (gradient.dbias) clear(*gradient.dbias);
    return;
  }
  if (stream.cpu()) {
    const Rows rows = rows_of(of_x);
    row_gradient_weights_cpu(*stream.cpu(), of_x, rows, gradient.dscale, gradient.dbias);
    return row_gradient_cpu(*stream.cpu(), of_x, rows);
  }
  refuse_f64(of_x.name, views);
  for (const auto& v : {std::optional(gradient.dscale), gradient.dbias}) {
    if (v && v->dtype == DType::f64) throw Unsupported("{}: {} runs on the CPU only", of_x.name, to_string(*v));
  }
  const Rows rows = rows_of(of_x);
  if (const auto slots = slots_of(stream.gpu()->device().capabilities(), gradient, rows)) {
    return run_in_slots(stream, gradient, rows, *slots);
  }
  run_apart(stream, gradient);  // first: dx may be x or g
  run_row_gradient(stream, of_x);
}

void check_weight_gradient(std::string_view name, std::string_view operand, const View& v, const View& scale) {
  if (is_floating(v.dtype) && v.shape() == scale.shape()) return;
  throw InvalidArgument("{}: {} is {}; expected floats in the shape of scale {}", name, operand, to_string(v),
                        to_string(scale));
}

void weights_gradient(Stream& stream, std::string_view name, bool centred, const View& x, const View& g,
                      const View& scale, const View& dx, const View& dscale, const std::optional<View>& dbias,
                      int first_axis, float epsilon) {
  call(stream, CallKey(name, first_axis, epsilon), {x, g, scale, dx, dscale, dbias}, [&](Stream& s) {
    WeightGradient gradient{make_layer_norm_gradient(x, g, scale, dx, first_axis, epsilon, centred), dscale, dbias,
                            first_axis < 0 ? first_axis + x.rank() : first_axis};
    gradient.of_x.name = name;
    check_weight_gradient(name, "dscale", dscale, scale);
    if (dbias) check_weight_gradient(name, "dbias", *dbias, scale);
    run(s, gradient);
  });
}

}  // namespace

void layer_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                          const View& dscale, const View& dbias, int first_axis, float epsilon) {
  weights_gradient(stream, "layer_norm_gradients", true, x, g, scale, dx, dscale, dbias, first_axis, epsilon);
}
void rms_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                        const View& dscale, int first_axis, float epsilon) {
  weights_gradient(stream, "rms_norm_gradients", false, x, g, scale, dx, dscale, {}, first_axis, epsilon);
}

}  // namespace weft::kernels
