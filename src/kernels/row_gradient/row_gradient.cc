#include "kernels/row_gradient/row_gradient.h"

#include "core/format.h"
#include "kernels/norm/row_norm.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/row_gradient.h"

namespace weft::kernels {
namespace {

Rows rows_of(const RowGradient& gradient) {
  std::vector<Strides> strides;
  for (const View& v : gradient.views.all()) strides.push_back(v.strides());
  return rows_along(gradient.views.shape(), gradient.along, strides);
}

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

void run_whole(Stream& stream, const RowGradient& gradient, std::int64_t length, const std::optional<RowForm>& form) {
  const RowViews& views = gradient.views;
  const Rows rows = rows_of(gradient);
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const RowPlan plan = plan_of(capabilities, rows, plan_options(views, rows), form);
  Call call(*stream.gpu(), "row_gradient");
  const std::vector<std::string> names = add_views(call, views, rows, plan);
  add_rows(call, rows, plan, std::vector<std::string_view>(names.begin(), names.end()));
  const bool scaled = views.operands.size() > 1;
  add_fusion(call, views, plan, row_gradient_work(gradient.kind, scaled));
  constexpr std::string_view kKinds[] = {"softmax", "log_softmax", "centred", "rms"};
  const bool norm = gradient.kind == RowGradientKind::centred || gradient.kind == RowGradientKind::rms;
  call.include("float_rows").set("kind", kKinds[static_cast<std::size_t>(gradient.kind)]).set("scaled", scaled);
  call.set("ties", true).set("packed", false);
  if (norm) call.param("inverse_length", 1 / static_cast<float>(length)).param("epsilon", gradient.epsilon);
  call.dispatch_groups(gradient.name, plan.groups);
}

void run(Stream& stream, const RowGradient& gradient) {
  const RowViews& views = gradient.views;
  const std::optional<View> no_weight;
  check_memory(stream, gradient.name, views, no_weight, no_weight);
  if (element_count(views.shape()) == 0) return;
  if (stream.cpu()) return row_gradient_cpu(*stream.cpu(), gradient, rows_of(gradient));
  refuse_f64(gradient.name, views);
  const std::int64_t length = rows_of(gradient).length;
  const auto no_scratch = [](RowChunks) -> std::uint64_t { return 0; };
  in_row_chunks(stream.gpu()->device().capabilities(), gradient.name, views.all(), gradient.along, no_scratch,
                [&](RowChunks pieces) {
                  if (pieces.size() > 1) {
                    throw Unsupported("{}: a row of {} is longer than this device binds", gradient.name,
                                      to_string(views.inputs[0]));
                  }
                  RowGradient piece = gradient;
                  piece.views = views.with(pieces[0].views);
                  run_whole(stream, piece, length, {});
                });
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
                    float epsilon) {
  gradient_by(
      stream, name, x, g, scale, dx,
      [&] {
        return of_norm(name,
                       make_group_norm(name, views_of(name, "x", x, g, dx), scale, {}, channel_axis, groups, epsilon));
      },
      channel_axis, groups, epsilon);
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
                                     int first_axis, float epsilon, bool centred) {
  const std::string_view name = centred ? "layer_norm_gradient" : "rms_norm_gradient";
  RowViews views = views_of(name, "x", x, g, dx);
  return of_norm(name, centred ? make_layer_norm(std::move(views), scale, {}, first_axis, epsilon)
                               : make_rms_norm(std::move(views), scale, first_axis, epsilon));
}

void row_gradient_in_form(Stream& stream, const RowGradient& gradient, const RowForm& form) {
  const std::vector<View> all = gradient.views.all();
  call_once(stream, {all}, [&](Stream& s) { run_whole(s, gradient, rows_of(gradient).length, form); });
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
                         int first_axis, float epsilon) {
  gradient_by(
      stream, "layer_norm_gradient", x, g, scale, dx,
      [&] { return make_layer_norm_gradient(x, g, scale, dx, first_axis, epsilon, true); }, first_axis, epsilon);
}
void rms_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                       int first_axis, float epsilon) {
  gradient_by(
      stream, "rms_norm_gradient", x, g, scale, dx,
      [&] { return make_layer_norm_gradient(x, g, scale, dx, first_axis, epsilon, false); }, first_axis, epsilon);
}
void group_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                         int channel_axis, std::int64_t groups, float epsilon) {
  if (groups < 1) throw InvalidArgument("group_norm_gradient: {} groups; expected 1 or more", groups);
  group_gradient(stream, "group_norm_gradient", x, g, scale, dx, channel_axis, groups, epsilon);
}
void instance_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale,
                            const View& dx, int channel_axis, float epsilon) {
  group_gradient(stream, "instance_norm_gradient", x, g, scale, dx, channel_axis, -1, epsilon);
}

}  // namespace weft::kernels
