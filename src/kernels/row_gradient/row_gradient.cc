#include "kernels/row_gradient/row_gradient.h"

#include "core/format.h"
#include "kernels/norm/row_norm.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/row_gradient.h"

namespace weft::kernels {

Rows rows_of(const RowGradient& gradient) {
  std::vector<Strides> strides;
  for (const View& v : gradient.views.all()) strides.push_back(v.strides());
  return rows_along(gradient.views.shape(), gradient.along, strides);
}

namespace {

// Registers hold two values of each element, x and g: half of the steps, by twice the threads, where that is possible.
RowPlan plan_of(const gpu::Capabilities& capabilities, const Rows& rows, RowPlanOptions options,
                const std::optional<RowForm>& form) {
  options.form = form;
  RowPlan plan = plan_rows(capabilities, rows, options);
  constexpr std::uint32_t kMostElements = 32;  // of x in registers
  while (!form && !capabilities.software &&
         plan.register_steps * static_cast<std::uint32_t>(plan.width) > kMostElements) {
    options.form = RowForm{.threads_per_row = plan.threads_per_row * 2,
                           .interleave = plan.interleave,
                           .register_steps = plan.register_steps,
                           .workgroup = plan.workgroup};
    const RowPlan wider = plan_rows(capabilities, rows, options);
    if (wider.threads_per_row == plan.threads_per_row || wider.register_steps == 0) break;
    plan = wider;
  }
  return plan;
}

bool is_norm(RowGradientKind kind) { return kind == RowGradientKind::centred || kind == RowGradientKind::rms; }

// The views of one chunk or, if a row exceeds a binding, of several.
using Chunks = std::span<const RowGradient>;

// Softmax has one sum of a split, RMS norm two; other norms have the five that row_gradient_split.wgsl names and, with
// several chunks, the number of elements.
std::optional<SplitRows> splits_of(const gpu::Capabilities& capabilities, Chunks chunks,
                                   const std::optional<SplitForm>& form = {}) {
  const ChunkRows all = rows_of_chunks(chunks, [](const RowGradient& gradient) {
    const Rows rows = rows_of(gradient);
    return std::pair(rows, plan_options(gradient.views, rows));
  });
  const RowGradientKind kind = chunks[0].kind;
  const int words = !is_norm(kind) ? 1 : kind == RowGradientKind::rms ? 2 : chunks.size() == 1 ? 5 : 6;
  SplitKind split = split_kind(chunks[0].views, words);
  split.max_register_steps = 16;  // of x and g each
  return plan_split_rows(capabilities, all, split, form);
}

}  // namespace

Call start_row_gradient(Stream& stream, const char* kernel, const RowGradient& gradient, const Rows& rows,
                        const RowPlan& plan, std::int64_t length) {
  const RowViews& views = gradient.views;
  Call call(*stream.gpu(), kernel);
  const std::vector<std::string> names = add_views(call, views, rows, plan);
  add_rows(call, rows, plan, std::vector<std::string_view>(names.begin(), names.end()));
  const bool scaled = views.operands.size() > 1;
  add_fusion(call, views, plan, row_gradient_work(gradient.kind, scaled));
  constexpr std::string_view kKinds[] = {"softmax", "log_softmax", "centred", "rms"};
  call.set("kind", kKinds[static_cast<std::size_t>(gradient.kind)]).set("scaled", scaled);
  call.include("float_rows").include("row_gradient_result").set("ties", true);
  if (is_norm(gradient.kind)) {
    call.param("inverse_length", 1 / static_cast<float>(length)).param("epsilon", static_cast<float>(gradient.epsilon));
  }
  return call;
}

namespace {

void run_whole(Stream& stream, const RowGradient& gradient, const std::optional<RowForm>& form) {
  const Rows rows = rows_of(gradient);
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const RowPlan plan = plan_of(capabilities, rows, plan_options(gradient.views, rows), form);
  start_row_gradient(stream, "row_gradient", gradient, rows, plan, rows.length)
      .dispatch_groups(gradient.name, plan.groups);
}

void run_split(Stream& stream, Chunks chunks, const SplitRows& splits) {
  std::int64_t length = 0;
  for (const RowGradient& chunk : chunks) length += rows_of(chunk).length;
  run_split_rows(*stream.gpu(), chunks[0].name, splits, [&](std::size_t k) {
    Call call =
        start_row_gradient(stream, "row_gradient_split", chunks[k], rows_of(chunks[k]), splits.plan_of(k), length);
    call.include("split_rows").include("tile_fusion").set("pairs_of_x", false).set("counted", chunks.size() > 1);
    call.set("leaves", false);
    return call;
  });
}

std::vector<RowGradient> chunks_of(const RowGradient& gradient, RowChunks pieces) {
  std::vector<RowGradient> chunks;
  for (const RowChunk& piece : pieces) {
    chunks.push_back(gradient);
    chunks.back().views = gradient.views.with(piece.views);
  }
  return chunks;
}

}  // namespace

std::optional<SplitRows> split_into_parts(const gpu::Capabilities& capabilities, const RowGradient& gradient,
                                          std::int64_t part, const std::optional<SplitForm>& form) {
  const Chunks one(&gradient, 1);
  const auto in_parts = [&](const std::optional<SplitRows>& splits) {
    if (!splits || !splits->look_back || splits->balanced || splits->plan.across || splits->plan.interleave > 1) {
      return false;
    }
    const RowPlan& plan = splits->plan;
    return part % (std::int64_t{plan.threads_per_row} * plan.register_steps * plan.width) == 0;
  };
  constexpr std::int64_t kMaxSplits = 64;  // of a row, which wait for each other
  // As of other rows that look back; smaller tensors may stay in a cache.
  constexpr std::int64_t kLeastBytes = std::int64_t{32} << 20;
  constexpr std::uint32_t kThreads = 128, kMostSteps = 16, kLeastSteps = 4;
  if (form) {
    const std::optional<SplitRows> splits = splits_of(capabilities, one, form);
    return in_parts(splits) ? splits : std::nullopt;
  }
  const View& x = gradient.views.inputs[0];
  if (capabilities.software || x.count() * bits(x.dtype) / 8 < kLeastBytes) return {};
  for (std::uint32_t steps = kMostSteps; steps >= kLeastSteps; --steps) {
    std::optional<SplitRows> splits =
        splits_of(capabilities, one, SplitForm{.threads = kThreads, .register_steps = steps, .look_back = true});
    if (in_parts(splits) && splits->plan.width == 4 && splits->all_splits <= kMaxSplits) return splits;
  }
  return {};
}

void run_split_into_parts(Stream& stream, const RowGradient& gradient, const SplitRows& splits, const View& sums) {
  const Rows rows = rows_of(gradient);
  run_split_rows(*stream.gpu(), gradient.name, splits, [&](std::size_t) {
    Call call = start_row_gradient(stream, "row_gradient_split", gradient, rows, splits.plan_of(0), rows.length);
    call.include("split_rows").include("tile_fusion").set("pairs_of_x", false).set("counted", false);
    call.set("leaves", true).write("sums", sums);
    return call;
  });
}

void run_row_gradient(Stream& stream, const RowGradient& gradient) {
  const RowViews& views = gradient.views;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const auto scratch = [&](RowChunks pieces) -> std::uint64_t {
    const auto splits = splits_of(capabilities, chunks_of(gradient, pieces));
    return splits ? splits->bytes() : 0;
  };
  in_row_chunks(capabilities, gradient.name, views.all(), gradient.along, scratch, [&](RowChunks pieces) {
    const std::vector<RowGradient> chunks = chunks_of(gradient, pieces);
    const auto splits = splits_of(capabilities, chunks);
    if (splits) return run_split(stream, chunks, *splits);
    run_whole(stream, chunks[0], {});
  });
}

namespace {

void run(Stream& stream, const RowGradient& gradient) {
  const RowViews& views = gradient.views;
  const std::optional<View> no_weight;
  check_memory(stream, gradient.name, views, no_weight, no_weight);
  if (element_count(views.shape()) == 0) return;
  if (stream.cpu()) return row_gradient_cpu(*stream.cpu(), gradient, rows_of(gradient));
  refuse_f64(gradient.name, views);
  run_row_gradient(stream, gradient);
}

RowViews views_of(std::string_view name, std::string_view x_name, const View& x, const View& g, const View& dx) {
  const std::pair<std::string_view, const View*> all[] = {{x_name, &x}, {"g", &g}, {"dx", &dx}};
  for (const auto& [operand, view] : all) {
    check_floating(name, operand, *view);
    if (view->shape() == x.shape()) continue;
    throw InvalidArgument("{}: {} is {}, expected the shape of {} {}", name, operand, to_string(*view), x_name,
                          to_string(x));
  }
  return {.inputs = {x}, .operands = {g}, .results = {dx}};
}

RowGradient of_norm(std::string_view name, const RowNorm& norm) {
  RowGradient gradient{name, norm.centred ? RowGradientKind::centred : RowGradientKind::rms, norm.views, norm.along,
                       norm.epsilon};
  if (norm.scale) gradient.views.operands.push_back(*norm.scale);
  return gradient;
}

template <class Make, class... Attributes>
void gradient_by(Stream& stream, std::string_view name, const View& x, const View& g, const std::optional<View>& scale,
                 const View& dx, const Make& make, const Attributes&... attributes) {
  call(stream, CallKey(name, attributes...), {x, g, scale, dx}, [&](Stream& s) { run(s, make()); });
}

void group_gradient(Stream& stream, std::string_view name, const View& x, const View& g,
                    const std::optional<View>& scale, const View& dx, int channel_axis, std::int64_t groups,
                    double epsilon) {
  gradient_by(
      stream, name, x, g, scale, dx,
      [&] { return make_group_norm_gradient(name, x, g, scale, dx, channel_axis, groups, epsilon); }, channel_axis,
      groups, epsilon);
}

}  // namespace

RowGradient make_softmax_gradient(bool logarithm, const View& y, const View& g, const View& dx, int axis) {
  const std::string_view name = logarithm ? "log_softmax_gradient" : "softmax_gradient";
  RowViews views = views_of(name, "y", y, g, dx);
  axis = normalize_axis(axis, y.rank(), name);
  return {name, logarithm ? RowGradientKind::log_softmax : RowGradientKind::softmax, std::move(views),
          mask_of({{axis}}, y.rank())};
}

RowGradient make_layer_norm_gradient(const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                                     int first_axis, double epsilon, bool centred) {
  const std::string_view name = centred ? "layer_norm_gradient" : "rms_norm_gradient";
  RowViews views = views_of(name, "x", x, g, dx);
  return of_norm(name, centred ? make_layer_norm(std::move(views), scale, {}, first_axis, epsilon)
                               : make_rms_norm(std::move(views), scale, first_axis, epsilon));
}

RowGradient make_group_norm_gradient(std::string_view name, const View& x, const View& g,
                                     const std::optional<View>& scale, const View& dx, int channel_axis,
                                     std::int64_t groups, double epsilon) {
  RowViews views = views_of(name, "x", x, g, dx);
  return of_norm(name, make_group_norm(name, std::move(views), scale, {}, channel_axis, groups, epsilon));
}

void row_gradient_in_form(Stream& stream, const RowGradient& gradient, const RowForm& form) {
  const std::vector<View> all = gradient.views.all();
  call_once(stream, {all}, [&](Stream& s) { run_whole(s, gradient, form); });
}

void row_gradient_split_rows(Stream& stream, const RowGradient& gradient, const SplitForm& form) {
  const std::vector<View> all = gradient.views.all();
  call_once(stream, {all}, [&](Stream& s) {
    const Chunks one(&gradient, 1);
    run_split(s, one, *splits_of(s.gpu()->device().capabilities(), one, form));
  });
}

void softmax_gradient(Stream& stream, const View& y, const View& g, const View& dx, int axis) {
  gradient_by(
      stream, "softmax_gradient", y, g, {}, dx, [&] { return make_softmax_gradient(false, y, g, dx, axis); }, axis);
}
void log_softmax_gradient(Stream& stream, const View& y, const View& g, const View& dx, int axis) {
  gradient_by(
      stream, "log_softmax_gradient", y, g, {}, dx, [&] { return make_softmax_gradient(true, y, g, dx, axis); }, axis);
}
void layer_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                         int first_axis, double epsilon) {
  gradient_by(
      stream, "layer_norm_gradient", x, g, scale, dx,
      [&] { return make_layer_norm_gradient(x, g, scale, dx, first_axis, epsilon, true); }, first_axis, epsilon);
}
void rms_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                       int first_axis, double epsilon) {
  gradient_by(
      stream, "rms_norm_gradient", x, g, scale, dx,
      [&] { return make_layer_norm_gradient(x, g, scale, dx, first_axis, epsilon, false); }, first_axis, epsilon);
}
void group_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                         int channel_axis, std::int64_t groups, double epsilon) {
  if (groups < 1) throw InvalidArgument("group_norm_gradient: {} groups; expected 1 or more", groups);
  group_gradient(stream, "group_norm_gradient", x, g, scale, dx, channel_axis, groups, epsilon);
}
void instance_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale,
                            const View& dx, int channel_axis, double epsilon) {
  group_gradient(stream, "instance_norm_gradient", x, g, scale, dx, channel_axis, -1, epsilon);
}

}  // namespace weft::kernels
