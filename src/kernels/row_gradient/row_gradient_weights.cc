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

// A norm's gradient, with where those of its weights go.
struct WeightGradient {
  RowGradient of_x;
  View index;         // on the CPU: a scale whose elements are adjacent, in the place of the given one in `of_x`
  View x, g, dscale;  // as they were given
  std::optional<View> dbias;
  int weight_axis = 0, weight_axes = 0;  // those of x in `of_x` along which the weights lie
  std::int64_t groups = 0;               // of a norm of channels: how many a sample has; else 0

  bool centred() const { return of_x.kind == RowGradientKind::centred; }
  // A gradient of a weight, in the shape of these axes.
  View as_weight(const View& v) const {
    if (v.rank() == weight_axes) return v;
    const std::int64_t lanes = v.shape()[0] / groups;
    return v.with_layout({Shape{groups, lanes}, Strides{v.strides()[0] * lanes, v.strides()[0]}});
  }
};

bool exceeds(const gpu::Capabilities& capabilities, const View& v) {
  return span_bytes(v) > chunk_limit(capabilities) || v.count() > kMaxElements;
}

// Elements that a thread holds: of x, g, the scale, and the two sums each.
constexpr std::int64_t kElements = 16;
// Threads that share a row.
std::uint32_t most_threads(const gpu::Capabilities& capabilities) {
  return std::bit_floor(std::min(capabilities.max_workgroup_size, 512u));
}

// Of rows in registers that lie along memory. Nothing: they do not, or are too long for a workgroup.
std::optional<RowPlan> plan_in_registers(const gpu::Capabilities& capabilities, const Rows& rows, bool along,
                                         bool across) {
  if (!along && across) return {};
  RowPlanOptions options{.across = false, .reads = RowReads::again};
  if (along) options.access.allow(RowAccess::along);
  const std::int64_t width = along ? 4 : 1, steps = rows.length / width;
  const std::uint32_t largest = most_threads(capabilities);
  if (rows.length > largest * kElements) return {};
  const auto power = [](std::int64_t n) { return std::bit_ceil(static_cast<std::uint32_t>(n)); };
  const auto neighbours = std::bit_floor(static_cast<std::uint32_t>(std::min<std::int64_t>(steps, 8)));
  RowForm form{.threads_per_row = std::max(power(ceil_div(rows.length, kElements)), neighbours)};
  form.register_steps = static_cast<std::uint32_t>(ceil_div(steps, std::int64_t{form.threads_per_row}));
  form.workgroup = form.threads_per_row < 64 ? std::min(largest, 256u) : 0;
  options.form = form;
  RowPlan plan = plan_rows(capabilities, rows, options);
  if (plan.register_steps == 0 || plan.threads_per_row != form.threads_per_row) return {};
  return plan;
}
std::optional<RowPlan> plan_in_registers(const gpu::Capabilities& capabilities, const RowViews& views,
                                         const Rows& rows) {
  if (std::ranges::any_of(views.all(), [&](const View& v) { return exceeds(capabilities, v); })) return {};
  const RowPlanOptions options = plan_options(views, rows);
  return plan_in_registers(capabilities, rows, options.access.has(RowAccess::along), options.across);
}

View numbers(GpuScratch& scratch, const Shape& shape) {
  const View memory = scratch.take((static_cast<std::uint64_t>(element_count(shape)) * 4 + 15) / 16 * 16);
  return View(memory.buffer, memory.offset, DType::f32, shape);
}

// ---- Weights along rows

// Slots of threads that go through rows (row_gradient_weights.wgsl).
struct Slots {
  RowPlan plan;
  std::int64_t count = 0, turns = 0;
};
// Threads that fill a large GPU with so many registers each.
constexpr std::int64_t kThreads = 1 << 16;

std::optional<Slots> slots_of(const gpu::Capabilities& capabilities, const WeightGradient& gradient, const Rows& rows) {
  if (gradient.groups || gradient.dscale.rank() == kMaxRank) return {};
  const auto plan = plan_in_registers(capabilities, gradient.of_x.views, rows);
  if (!plan) return {};
  Slots slots{.plan = *plan};
  const std::int64_t beside = plan->workgroup / plan->threads_per_row;
  const std::int64_t enough = (capabilities.software ? 1 << 11 : kThreads) / plan->threads_per_row;
  slots.count = ceil_div(std::clamp<std::int64_t>(enough, 1, rows.count), beside) * beside;
  slots.turns = ceil_div(rows.count, slots.count);
  const auto bytes = static_cast<std::uint64_t>(slots.count * 2 * rows.length) * 4;
  return bytes <= chunk_limit(capabilities) ? std::optional(slots) : std::nullopt;
}

// x and g are read once.
void run_in_slots(Stream& stream, const WeightGradient& gradient, const Rows& rows, const Slots& slots) {
  const std::int64_t sums = gradient.dbias ? 2 : 1;
  GpuScratch scratch(*stream.gpu());
  const View memory = numbers(scratch, {slots.count, sums, rows.length});
  Call call = start_row_gradient(stream, "row_gradient_weights", gradient.of_x, rows, slots.plan, rows.length);
  call.write("sums", memory, slots.plan.width);
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

// ---- Weights of channels, whose pixels are adjacent (row_gradient_sums.wgsl)

// Whether a channel of a sample is a row of the norm, which then is read once.
std::optional<RowPlan> plan_of_channels(const gpu::Capabilities& capabilities, const WeightGradient& gradient,
                                        const Rows& rows) {
  if (!gradient.groups || gradient.weight_axis != 1 || gradient.weight_axes != 1) return {};
  const auto plan = plan_in_registers(capabilities, gradient.of_x.views, rows);
  const auto bytes = static_cast<std::uint64_t>(rows.count) * 2 * 4;
  return plan && bytes <= chunk_limit(capabilities) ? plan : std::nullopt;
}

void run_channels(Stream& stream, const WeightGradient& gradient, const Rows& rows, const RowPlan& plan) {
  GpuScratch scratch(*stream.gpu());
  const std::int64_t channels = gradient.groups;
  const View memory = numbers(scratch, {rows.count / channels, channels, 2});
  Call call = start_row_gradient(stream, "row_gradient_sums", gradient.of_x, rows, plan, rows.length);
  call.write("sums", memory).dispatch_groups(gradient.of_x.name, plan.groups);
  const auto add_up = [&](std::uint64_t which, const View& result) {
    const View part(memory.buffer, memory.offset + which * 4, DType::f32, {rows.count / channels, channels},
                    {channels * 2, 2});
    reduce(stream, ReduceKind::sum, part, result, std::array{0});
  };
  add_up(0, gradient.dscale);
  if (gradient.dbias) add_up(1, *gradient.dbias);
}

// Segments of the channels of each sample.
struct Segments {
  View x, g;  // [samples, channels, segments of a channel, segment]
  Rows rows;
  RowPlan plan;
};

std::optional<Segments> segments_of(const gpu::Capabilities& capabilities, const WeightGradient& gradient) {
  const View &x = gradient.x, &g = gradient.g;
  if (!gradient.groups || gradient.weight_axis != 1) return {};
  if (exceeds(capabilities, x) || exceeds(capabilities, g)) return {};
  AxisMask pixels{};
  for (int d = 2; d < x.rank(); ++d) pixels[d] = true;
  const Rows channels = rows_along(x.shape(), pixels, std::array{x.strides(), g.strides()});
  if (channels.inner.shape.rank() > 1) return {};
  const std::int64_t length = segment_of(channels.length, most_threads(capabilities) * kElements);
  if (length == 0) return {};
  const auto cut = [&](const View& v, std::size_t k) {
    const std::int64_t step = channels.inner.shape.empty() ? 1 : channels.inner.strides[k][0];
    return v.with_layout({{x.shape()[0], x.shape()[1], channels.length / length, length},
                          {v.strides()[0], v.strides()[1], length * step, step}});
  };
  Segments s{.x = cut(x, 0), .g = cut(g, 1), .rows = {}, .plan = {}};
  s.rows = rows_along(s.x.shape(), mask_of(std::array{3}, 4), std::array{s.x.strides(), s.g.strides()});
  const bool along = vectorises_along(s.x, s.rows, 0) && vectorises_along(s.g, s.rows, 1);
  const auto plan = plan_in_registers(capabilities, s.rows, along, runs_across(s.rows, 0));
  if (!plan || static_cast<std::uint64_t>(s.rows.count) * 5 * 4 > chunk_limit(capabilities)) return {};
  s.plan = *plan;
  return s;
}

// What segments leave, f32 [samples, channels, segments of a channel, 5], becomes the gradients of the weights.
void join_segments(Stream& stream, const WeightGradient& gradient, const View& left) {
  const std::int64_t samples = left.shape()[0], channels = left.shape()[1], segments = left.shape()[2];
  const std::int64_t groups = gradient.groups, lanes = channels / groups;
  GpuScratch scratch(*stream.gpu());
  // [samples, groups, channels of a group, segments]
  const Shape shape{samples, groups, lanes, segments}, of_groups{samples, groups, 1, 1};
  const auto field = [&](std::uint64_t which) {
    return View(left.buffer, left.offset + which * 4, DType::f32, shape,
                {channels * segments * 5, lanes * segments * 5, segments * 5, 5});
  };
  const View means = field(0), rests = field(1), variances = field(2), totals = field(3), products = field(4);
  const View centre = numbers(scratch, of_groups), variance = numbers(scratch, of_groups),
             off = numbers(scratch, shape);
  const std::array within{2, 3}, others{0, 3};
  const auto input = [](Expression& e) { return e.input(DType::f32); };
  // Means are relative to that of the row's first segment, so that a large mean costs no digits.
  View first = means;
  first.layout.shape = of_groups;
  const auto distance = [&](Expression& e) {
    const int mean = input(e), from = input(e);
    return e.apply(ScalarOp::add, {e.apply(ScalarOp::sub, {mean, from}), input(e)});
  };
  {
    Expression e;
    e.output(distance(e));
    const std::array operands{first, rests};
    reduce(stream, ReduceKind::mean, means, centre, within, 0, {.prologue = {&e, operands}});
  }
  {
    Expression e;
    const int away = distance(e);
    e.output(e.apply(ScalarOp::sub, {away, input(e)}));
    map(stream, e, std::array{means, first, rests, centre}, std::array{off});
  }
  {
    Expression e;  // of a segment + off²
    const int away = input(e);
    e.output(e.apply(ScalarOp::add, {input(e), e.apply(ScalarOp::square, {away})}));
    reduce(stream, ReduceKind::mean, off, variance, within, 0, {.prologue = {&e, std::span(&variances, 1)}});
  }
  const auto weight = [&](const View& v) {
    const std::int64_t step = v.strides()[0];
    return v.with_layout({{groups, lanes}, {lanes * step, step}});
  };
  Expression e;  // (products + off · total) / sqrt(variance + epsilon)
  const int away = input(e);
  const int factor =
      e.apply(ScalarOp::rsqrt, {e.apply(ScalarOp::add, {input(e), e.constant(gradient.of_x.epsilon, DType::f32)})});
  const int moved = e.apply(ScalarOp::mul, {away, input(e)});
  e.output(e.apply(ScalarOp::mul, {factor, e.apply(ScalarOp::add, {input(e), moved})}));
  const std::array operands{variance, totals, products};
  reduce(stream, ReduceKind::sum, off, weight(gradient.dscale), others, 0, {.prologue = {&e, operands}});
  if (gradient.dbias) reduce(stream, ReduceKind::sum, totals, weight(*gradient.dbias), others);
}

// Without dx.
void run_segments(Stream& stream, const WeightGradient& gradient, const Segments& s) {
  const std::int64_t samples = s.x.shape()[0], channels = s.x.shape()[1], segments = s.x.shape()[2];
  GpuScratch scratch(*stream.gpu());
  const View memory = numbers(scratch, {samples, channels, segments, 5});
  Call call(*stream.gpu(), "row_gradient_sums");
  const RowViews read{.inputs = {s.x}, .operands = {s.g}};
  const std::vector<std::string> names = add_views(call, read, s.rows, s.plan);
  add_rows(call, s.rows, s.plan, std::vector<std::string_view>(names.begin(), names.end()));
  const auto elements = static_cast<double>(s.x.count());
  call.epilogue(nullptr, s.plan.width).cost(work_of({8, 0}, elements, nullptr, elements, nullptr));
  call.include("float_rows").include("row_gradient_result").set("kind", "centred").set("scaled", false);
  call.set("ties", true);
  call.param("inverse_length", 1 / static_cast<float>(s.rows.length)).write("sums", memory);
  call.dispatch_groups(gradient.of_x.name, s.plan.groups);
  join_segments(stream, gradient, memory);
}

// The same by dx's tiles, each of which is a segment (row_gradient_split.wgsl).
std::optional<SplitRows> tiles_of(const gpu::Capabilities& capabilities, const WeightGradient& gradient,
                                  const std::optional<SplitForm>& form = {}) {
  if (!gradient.groups || gradient.weight_axis != 1) return {};
  const std::vector<View> all = gradient.of_x.views.all();
  if (std::ranges::any_of(all, [&](const View& v) { return exceeds(capabilities, v); })) return {};
  const std::int64_t pixels = gradient.x.count() / (gradient.x.shape()[0] * gradient.dscale.count());
  return split_into_parts(capabilities, gradient.of_x, pixels, form);
}

void run_tiles(Stream& stream, const WeightGradient& gradient, const SplitRows& tiles) {
  const std::int64_t samples = gradient.x.shape()[0], channels = gradient.dscale.count();
  GpuScratch scratch(*stream.gpu());
  const View memory = numbers(scratch, {samples, channels, tiles.all_splits * gradient.groups / channels, 5});
  run_split_into_parts(stream, gradient.of_x, tiles, memory);
  join_segments(stream, gradient, memory);
}

// ---- Others: by kernels of their own for the rows' statistics, then sums over the rows

void run_apart(Stream& stream, const WeightGradient& gradient) {
  const View &x = gradient.of_x.views.inputs[0], &g = gradient.of_x.views.operands[0];
  std::vector<int> along, others;
  Shape rows = x.shape();
  for (int d = 0; d < x.rank(); ++d) {
    if (gradient.of_x.along[d]) {
      along.push_back(d);
      rows[d] = 1;
    }
    if (d < gradient.weight_axis || d >= gradient.weight_axis + gradient.weight_axes) others.push_back(d);
  }
  GpuScratch scratch(*stream.gpu());
  // g · ((x - mean) - rest) / sqrt(square + epsilon): `square` is the variance, or the mean square, and `rest` the
  // mean's own rounding error.
  const auto input_of = [](Expression& of, DType type) { return of.cast(of.input(type), DType::f32); };
  Expression e;
  int n = input_of(e, x.dtype);
  const int cotangent = input_of(e, g.dtype), square = input_of(e, DType::f32);
  const View squares = numbers(scratch, rows);
  std::vector<View> operands{g, squares};
  if (gradient.centred()) {
    const View mean = numbers(scratch, rows), rest = numbers(scratch, rows);
    Expression deviation;
    const int of_x = input_of(deviation, x.dtype);
    deviation.output(deviation.apply(ScalarOp::sub, {of_x, input_of(deviation, DType::f32)}));
    reduce(stream, ReduceKind::mean, x, mean, along);
    reduce(stream, ReduceKind::mean, x, rest, along, 0, {.prologue = {&deviation, std::span(&mean, 1)}});
    reduce(stream, ReduceKind::variance, x, squares, along);
    for (const View& v : {mean, rest}) {
      n = e.apply(ScalarOp::sub, {n, input_of(e, DType::f32)});
      operands.push_back(v);
    }
  } else {
    Expression of_square;
    of_square.output(of_square.apply(ScalarOp::square, {of_square.cast(of_square.input(x.dtype), DType::f32)}));
    reduce(stream, ReduceKind::mean, x, squares, along, 0, {.prologue = {&of_square, {}}});
  }
  const int factor =
      e.apply(ScalarOp::rsqrt, {e.apply(ScalarOp::add, {square, e.constant(gradient.of_x.epsilon, DType::f32)})});
  e.output(e.apply(ScalarOp::mul, {cotangent, e.apply(ScalarOp::mul, {n, factor})}));
  reduce(stream, ReduceKind::sum, x, gradient.as_weight(gradient.dscale), others, 0, {.prologue = {&e, operands}});
  if (gradient.dbias) reduce(stream, ReduceKind::sum, g, gradient.as_weight(*gradient.dbias), others);
}

void run(Stream& stream, const WeightGradient& gradient) {
  const RowGradient& of_x = gradient.of_x;
  const RowViews& views = of_x.views;
  const std::optional<View> no_weight;
  check_memory(stream, of_x.name, views, no_weight, no_weight);
  check_memory(stream, of_x.name, {{"x", views.inputs[0]}, {"operand", views.operands}, {"dx", views.results[0]}},
               {{"dscale", gradient.dscale}, {"dbias", gradient.dbias}}, Sharing::none);
  if (element_count(views.shape()) == 0) {
    fill(stream, 0, gradient.dscale);
    if (gradient.dbias) fill(stream, 0, *gradient.dbias);
    return;
  }
  if (stream.cpu()) {
    return row_gradient_weights_cpu(*stream.cpu(), of_x, gradient.index, gradient.dscale, gradient.dbias);
  }
  refuse_f64(of_x.name, views);
  for (const auto& v : {std::optional(gradient.dscale), gradient.dbias}) {
    if (v && v->dtype == DType::f64) throw Unsupported("{}: {} runs on the CPU only", of_x.name, to_string(*v));
  }
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const Rows rows = rows_of(of_x);
  if (const auto slots = slots_of(capabilities, gradient, rows)) return run_in_slots(stream, gradient, rows, *slots);
  if (const auto plan = plan_of_channels(capabilities, gradient, rows)) {
    return run_channels(stream, gradient, rows, *plan);
  }
  if (const auto tiles = tiles_of(capabilities, gradient)) return run_tiles(stream, gradient, *tiles);
  // First the weights': dx may be x or g.
  if (const auto segments = segments_of(capabilities, gradient))
    run_segments(stream, gradient, *segments);
  else
    run_apart(stream, gradient);
  run_row_gradient(stream, of_x);
}

void check_weight_gradient(std::string_view name, std::string_view operand, const View& v, const View& scale) {
  if (is_floating(v.dtype) && v.shape() == scale.shape()) return;
  throw InvalidArgument("{}: {} is {}; expected floats in the shape of scale {}", name, operand, to_string(v),
                        to_string(scale));
}

// `make`: the gradient of x with that scale; `describe`: where its weights lie.
template <class Make, class Describe, class... Attributes>
void gradients_by(Stream& stream, std::string_view name, const View& x, const View& g, const View& scale,
                  const View& dx, const View& dscale, const std::optional<View>& dbias, const Make& make,
                  const Describe& describe, const Attributes&... attributes) {
  call(stream, CallKey(name, attributes...), {x, g, scale, dx, dscale, dbias}, [&](Stream& s) {
    WeightGradient gradient{.of_x = make(scale), .index = {}, .x = x, .g = g, .dscale = dscale, .dbias = dbias};
    gradient.of_x.name = name;
    check_weight_gradient(name, "dscale", dscale, scale);
    if (dbias) check_weight_gradient(name, "dbias", *dbias, scale);
    if (s.cpu()) {
      const View dense(Buffer::host(static_cast<std::uint64_t>(scale.count()) * 4), 0, DType::f32, scale.shape());
      gradient.index = make(dense).views.operands[1];
    }
    describe(gradient);
    run(s, gradient);
  });
}

void gradients_of_rows(Stream& stream, std::string_view name, bool centred, const View& x, const View& g,
                       const View& scale, const View& dx, const View& dscale, const std::optional<View>& dbias,
                       int first_axis, double epsilon) {
  const auto make = [&](const View& weight) {
    return make_layer_norm_gradient(x, g, weight, dx, first_axis, epsilon, centred);
  };
  const auto describe = [&](WeightGradient& gradient) {
    gradient.weight_axes = scale.rank();
    gradient.weight_axis = x.rank() - scale.rank();
  };
  gradients_by(stream, name, x, g, scale, dx, dscale, dbias, make, describe, first_axis, epsilon);
}

// groups < 0: a group for each channel.
void describe_channels(WeightGradient& gradient, std::int64_t groups) {
  const std::int64_t channels = gradient.dscale.count();
  gradient.groups = groups < 0 ? channels : groups;
  gradient.weight_axes = gradient.groups == channels ? 1 : 2;
  for (gradient.weight_axis = 1; gradient.of_x.along[gradient.weight_axis];) ++gradient.weight_axis;
}

void gradients_of_channels(Stream& stream, std::string_view name, const View& x, const View& g, const View& scale,
                           const View& dx, const View& dscale, const View& dbias, int channel_axis, std::int64_t groups,
                           double epsilon) {
  const auto make = [&](const View& weight) {
    return make_group_norm_gradient(name, x, g, weight, dx, channel_axis, groups, epsilon);
  };
  const auto describe = [&](WeightGradient& gradient) { describe_channels(gradient, groups); };
  gradients_by(stream, name, x, g, scale, dx, dscale, dbias, make, describe, channel_axis, groups, epsilon);
}

}  // namespace

bool group_norm_gradients_in_tiles(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                                   const View& dscale, const View& dbias, int channel_axis, std::int64_t groups,
                                   double epsilon, const SplitForm& form) {
  bool suits = false;
  call_once(stream, {x, g, scale, dx, dscale, dbias}, [&](Stream& s) {
    WeightGradient gradient{
        .of_x = make_group_norm_gradient("group_norm_gradients", x, g, scale, dx, channel_axis, groups, epsilon),
        .index = {},
        .x = x,
        .g = g,
        .dscale = dscale,
        .dbias = dbias};
    describe_channels(gradient, groups);
    const auto tiles = tiles_of(s.gpu()->device().capabilities(), gradient, form);
    suits = tiles.has_value();
    if (suits) run_tiles(s, gradient, *tiles);
  });
  return suits;
}

std::int64_t segment_of(std::int64_t length, std::int64_t most) {
  constexpr std::int64_t kLeast = 64;
  if (length <= most) return length;
  for (std::int64_t count = ceil_div(length, most); length / count >= kLeast; ++count) {
    if (length % count == 0) return length / count;
  }
  return 0;
}

void layer_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                          const View& dscale, const View& dbias, int first_axis, double epsilon) {
  gradients_of_rows(stream, "layer_norm_gradients", true, x, g, scale, dx, dscale, dbias, first_axis, epsilon);
}
void rms_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                        const View& dscale, int first_axis, double epsilon) {
  gradients_of_rows(stream, "rms_norm_gradients", false, x, g, scale, dx, dscale, {}, first_axis, epsilon);
}
void group_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                          const View& dscale, const View& dbias, int channel_axis, std::int64_t groups,
                          double epsilon) {
  if (groups < 1) throw InvalidArgument("group_norm_gradients: {} groups; expected 1 or more", groups);
  gradients_of_channels(stream, "group_norm_gradients", x, g, scale, dx, dscale, dbias, channel_axis, groups, epsilon);
}
void instance_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                             const View& dscale, const View& dbias, int channel_axis, double epsilon) {
  gradients_of_channels(stream, "instance_norm_gradients", x, g, scale, dx, dscale, dbias, channel_axis, -1, epsilon);
}

}  // namespace weft::kernels
