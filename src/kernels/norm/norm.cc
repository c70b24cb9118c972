#include "weft/kernels/norm.h"

#include "core/format.h"
#include "kernels/common/memory.h"
#include "kernels/norm/row_norm.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/elementwise.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kLayerNorm = "layer_norm", kRmsNorm = "rms_norm", kGroupNorm = "group_norm",
                           kInstanceNorm = "instance_norm";

int checked_first_axis(std::string_view name, int first_axis, int rank) {
  const int axis = first_axis < 0 ? first_axis + rank : first_axis;
  if (axis < 0 || axis > rank)
    throw InvalidArgument("{}: first axis {} is outside a tensor of rank {}", name, first_axis, rank);
  return axis;
}

// A weight with the shape of x's axes from `first_axis` on, as a view of x's shape.
std::optional<View> spread(std::string_view name, std::string_view operand, const std::optional<View>& weight,
                           const View& x, int first_axis) {
  if (!weight) return std::nullopt;
  check_floating(name, operand, *weight);
  Shape shape;
  for (int d = first_axis; d < x.rank(); ++d) shape.push_back(x.shape()[d]);
  if (weight->shape() != shape) {
    throw InvalidArgument("{}: {} is {}; expected the shape {} of x's axes from {} on", name, operand,
                          to_string(*weight), to_string(shape), first_axis);
  }
  return weight->broadcast_to(x.shape());
}

RowNorm last_axes(std::string_view name, RowViews views, const std::optional<View>& scale,
                  const std::optional<View>& bias, int first_axis, double epsilon) {
  check_epsilon(name, epsilon);
  const View x = views.results[0];
  first_axis = checked_first_axis(name, first_axis, x.rank());
  RowNorm norm{name,
               std::move(views),
               spread(name, "scale", scale, x, first_axis),
               spread(name, "bias", bias, x, first_axis),
               scale,
               bias};
  std::fill(norm.along.begin() + first_axis, norm.along.begin() + x.rank(), true);
  norm.epsilon = epsilon;
  return norm;
}

// A weight for each channel, as a view of x's shape.
View per_channel(std::string_view name, std::string_view operand, const View& weight, const View& x, int axis) {
  check_floating(name, operand, weight);
  if (weight.shape() != Shape{x.shape()[axis]}) {
    throw InvalidArgument("{}: {} is {}; expected shape [{}], a value a channel", name, operand, to_string(weight),
                          x.shape()[axis]);
  }
  Layout layout{x.shape(), Strides::filled(x.rank(), 0)};
  layout.strides[axis] = weight.strides()[0];
  return weight.with_layout(layout);
}

// Splits the channels' axis in two: [groups, channels of a group].
View split_channels(const View& view, int axis, std::int64_t groups) {
  Layout layout = view.layout;
  const std::int64_t lanes = layout.shape[axis] / groups;
  layout.shape.insert(axis, groups);
  layout.shape[axis + 1] = lanes;
  layout.strides.insert(axis, layout.strides[axis] * lanes);
  return view.with_layout(layout);
}

// Merges two adjacent axes of a row, in [1, rank) and not `axis`, that are contiguous with each other in all views;
// false if there are none.
bool join_axes(std::vector<View>& views, int& axis) {
  const auto joins = [&](int d) {
    return std::ranges::all_of(views, [&](const View& v) {
      return v.shape()[d] == 1 || v.shape()[d + 1] == 1 || v.strides()[d] == v.strides()[d + 1] * v.shape()[d + 1];
    });
  };
  for (int d = 1; d + 1 < views[0].rank(); ++d) {
    if (d == axis || d + 1 == axis || !joins(d)) continue;
    for (View& v : views) {
      Layout layout = v.layout;
      if (layout.shape[d + 1] == 1) layout.strides[d + 1] = layout.strides[d];
      layout.shape[d + 1] *= layout.shape[d];
      layout.shape.erase(d);
      layout.strides.erase(d);
      v = v.with_layout(layout);
    }
    axis -= axis > d ? 1 : 0;
    return true;
  }
  return false;
}

}  // namespace

void check_epsilon(std::string_view name, double epsilon) {
  if (!(epsilon >= 0)) throw InvalidArgument("{}: epsilon is {}; expected 0 or more", name, epsilon);
}

RowNorm make_layer_norm(RowViews views, const std::optional<View>& scale, const std::optional<View>& bias,
                        int first_axis, double epsilon) {
  return last_axes(kLayerNorm, std::move(views), scale, bias, first_axis, epsilon);
}

RowNorm make_rms_norm(RowViews views, const std::optional<View>& scale, int first_axis, double epsilon) {
  RowNorm norm = last_axes(kRmsNorm, std::move(views), scale, std::nullopt, first_axis, epsilon);
  norm.centred = false;
  return norm;
}

RowNorm make_group_norm(std::string_view name, RowViews views, const std::optional<View>& scale,
                        const std::optional<View>& bias, int channel_axis, std::int64_t groups, double epsilon) {
  check_epsilon(name, epsilon);
  const View x = views.results[0];
  int axis = normalize_axis(channel_axis, x.rank(), name);
  if (axis == 0)
    throw InvalidArgument("{}: axis 0 of x {} counts the samples, it cannot be the channels' too", name, to_string(x));
  const std::int64_t channels = x.shape()[axis];
  if (groups < 0) groups = channels;
  if (channels > 0 && (groups == 0 || channels % groups != 0)) {
    throw InvalidArgument("{}: {} channels do not make {} groups (x {}, axis {})", name, channels, groups, to_string(x),
                          axis);
  }
  RowNorm norm{name, std::move(views)};
  if (scale) norm.scale = per_channel(name, "scale", *scale, x, axis);
  if (bias) norm.bias = per_channel(name, "bias", *bias, x, axis);
  norm.scale_as_given = scale;
  norm.bias_as_given = bias;
  norm.epsilon = epsilon;
  if (x.count() == 0) return norm;
  if (groups != channels) {
    std::vector<View> all = norm.views.all();
    const std::size_t count = all.size();
    for (const auto& weight : {norm.scale, norm.bias}) {
      if (weight) all.push_back(*weight);
    }
    if (x.rank() == kMaxRank && !join_axes(all, axis)) {
      throw Unsupported("{}: x is {}; of rank {} two neighbouring axes of a row must lie as one", name, to_string(x),
                        kMaxRank);
    }
    for (View& v : all) v = split_channels(v, axis, groups);
    if (bias) norm.bias = all.back();
    if (scale) norm.scale = all[count];
    norm.views = norm.views.with(std::span(all).first(count));
  }
  // All axes but the samples and the groups.
  for (int d = 1; d < norm.views.shape().rank(); ++d) norm.along[d] = d != axis;
  return norm;
}

namespace {

// A norm of the views that a call names.
template <class... Attributes, class Make>
void norm(Stream& stream, std::string_view name, const View& x, const std::optional<View>& scale,
          const std::optional<View>& bias, const View& y, const Fusion& fusion, const Make& make,
          const Attributes&... attributes) {
  const auto& [prologue, epilogue] = fusion;
  call(stream, CallKey(name, attributes..., prologue.expression, epilogue.expression),
       {x, prologue.operands, scale, bias, epilogue.operands, y, epilogue.outputs, prologue.outputs},
       [&](Stream& s) { row_norm(s, make(row_views(name, x, y, fusion))); });
}

void group_norm_by(std::string_view name, Stream& stream, const View& x, const std::optional<View>& scale,
                   const std::optional<View>& bias, const View& y, int channel_axis, std::int64_t groups,
                   double epsilon, const Fusion& fusion) {
  const auto make = [&](RowViews views) {
    return make_group_norm(name, std::move(views), scale, bias, channel_axis, groups, epsilon);
  };
  norm(stream, name, x, scale, bias, y, fusion, make, channel_axis, groups, epsilon);
}

}  // namespace

void layer_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int first_axis, double epsilon, const Fusion& fusion) {
  const auto make = [&](RowViews views) { return make_layer_norm(std::move(views), scale, bias, first_axis, epsilon); };
  norm(stream, kLayerNorm, x, scale, bias, y, fusion, make, first_axis, epsilon);
}

void rms_norm(Stream& stream, const View& x, const std::optional<View>& scale, const View& y, int first_axis,
              double epsilon, const Fusion& fusion) {
  const auto make = [&](RowViews views) { return make_rms_norm(std::move(views), scale, first_axis, epsilon); };
  norm(stream, kRmsNorm, x, scale, std::nullopt, y, fusion, make, first_axis, epsilon);
}

void group_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int channel_axis, std::int64_t groups, double epsilon, const Fusion& fusion) {
  if (groups < 1) throw InvalidArgument("group_norm: {} groups; expected 1 or more", groups);
  group_norm_by(kGroupNorm, stream, x, scale, bias, y, channel_axis, groups, epsilon, fusion);
}

void instance_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                   const View& y, int channel_axis, double epsilon, const Fusion& fusion) {
  group_norm_by(kInstanceNorm, stream, x, scale, bias, y, channel_axis, -1, epsilon, fusion);
}

void batch_norm(Stream& stream, const View& x, const View& mean, const View& variance, const std::optional<View>& scale,
                const std::optional<View>& bias, const View& y, int channel_axis, double epsilon) {
  call(stream, CallKey("batch_norm", channel_axis, epsilon), {x, mean, variance, scale, bias, y}, [&](Stream& s) {
    constexpr std::string_view kName = "batch_norm";
    (void)row_views(kName, x, y);  // checks them
    check_epsilon(kName, epsilon);
    const int axis = normalize_axis(channel_axis, x.rank(), kName);
    check_memory(s, kName, {{"x", x}, {"mean", mean}, {"variance", variance}, {"scale", scale}, {"bias", bias}},
                 {{"y", y}});
    std::vector<View> inputs{x, per_channel(kName, "mean", mean, x, axis),
                             per_channel(kName, "variance", variance, x, axis)};
    if (scale) inputs.push_back(per_channel(kName, "scale", *scale, x, axis));
    if (bias) inputs.push_back(per_channel(kName, "bias", *bias, x, axis));

    DType type = DType::f32;
    for (const View& v : inputs) type = v.dtype == DType::f64 ? DType::f64 : type;
    if (y.dtype == DType::f64) type = DType::f64;
    Expression e;
    std::vector<int> in;
    for (const View& v : inputs) in.push_back(e.cast(e.input(v.dtype), type));
    int factor = e.apply(ScalarOp::rsqrt, {e.apply(ScalarOp::add, {in[2], e.constant(epsilon, type)})});
    if (scale) factor = e.apply(ScalarOp::mul, {factor, in[3]});
    int result = e.apply(ScalarOp::mul, {e.apply(ScalarOp::sub, {in[0], in[1]}), factor});
    if (bias) result = e.apply(ScalarOp::add, {result, in.back()});
    e.output(e.cast(result, y.dtype));
    map(s, e, inputs, std::span(&y, 1));
  });
}

}  // namespace weft::kernels
