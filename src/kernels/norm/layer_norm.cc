#include "kernels/common/windows.h"
#include "kernels/norm/layer_norm_cpu.h"
#include "weft/error.h"
#include "weft/kernels/norm.h"

namespace weft::kernels {
namespace {

// A view of the normalised axes' shape, as a view of x's shape.
View spread(const View& weight, std::string_view name, const View& x, int first_axis) {
  Shape shape;
  for (int d = first_axis; d < x.rank(); ++d) shape.push_back(x.shape()[d]);
  if (weight.shape() != shape) {
    throw InvalidArgument("layer_norm: {} is {}; expected the shape {} of x's axes from {} on", name, to_string(weight),
                          to_string(shape), first_axis);
  }
  return weight.broadcast_to(x.shape());
}

void check_floating(const View& view, std::string_view name) {
  if (!is_floating(view.dtype)) {
    throw InvalidArgument("layer_norm: {} is {}; expected a floating type", name, to_string(view));
  }
}

}  // namespace

void layer_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int first_axis, float epsilon) {
  if (x.shape() != y.shape()) {
    throw InvalidArgument("layer_norm: x is {}, y is {}; their shapes must be the same", to_string(x), to_string(y));
  }
  if (first_axis < 0) first_axis += x.rank();
  if (first_axis < 0 || first_axis > x.rank()) {
    throw InvalidArgument("layer_norm: first axis {} is outside a tensor of rank {}", first_axis, x.rank());
  }
  if (!(epsilon >= 0)) throw InvalidArgument("layer_norm: epsilon is {}; expected 0 or more", epsilon);

  struct Operand {
    std::string_view name;
    View view;
  };
  std::vector<Operand> operands{{"x", x}, {"y", y}};
  if (scale) operands.push_back({"scale", spread(*scale, "scale", x, first_axis)});
  if (bias) operands.push_back({"bias", spread(*bias, "bias", x, first_axis)});
  std::vector<Strides> strides;
  for (const Operand& o : operands) {
    check_floating(o.view, o.name);
    strides.push_back(o.view.strides());
  }
  if (x.count() == 0) return;
  AxisMask along{};
  std::fill(along.begin() + first_axis, along.begin() + x.rank(), true);
  const Rows rows = split_rows(x.shape(), along, strides);
  if (stream.cpu()) return layer_norm_cpu(*stream.cpu(), x, scale, bias, y, rows, epsilon);

  AxisMask outer{};
  std::fill(outer.begin(), outer.begin() + first_axis, true);
  const std::array<View, 2> views{x, y};
  if (in_windows(stream.gpu()->device().capabilities(), "layer_norm", views, outer, [&](std::span<const View> part) {
        layer_norm(stream, part[0], scale, bias, part[1], first_axis, epsilon);
      })) {
    return;
  }

  Call call(*stream.gpu(), "layer_norm");
  RowPlanOptions options{.along4 = true, .across = runs_across(rows, 0), .keep = true};
  options.across4 = vectorises_across(x, rows, 0) && vectorises_across(y, rows, 1);
  for (std::size_t k = 0; k < operands.size(); ++k) options.along4 &= vectorises_along(operands[k].view, rows, k);
  const RowPlan plan = plan_rows(call.capabilities(), rows, options);
  std::vector<std::string_view> names;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto& [name, view] = operands[k];
    if (view.dtype == DType::f64) throw Unsupported("layer_norm: {} is f64, which runs on the CPU only", name);
    names.push_back(name);
    if (k == 1) {
      call.write(name, view, plan.width);
    } else {
      call.read(name, view, k > 1 && plan.across ? 1 : plan.width);
    }
  }
  add_rows(call, rows, plan, names);
  call.include("float_rows").set("scaled", scale.has_value()).set("biased", bias.has_value());
  call.param("inverse_length", 1 / static_cast<float>(rows.length)).param("epsilon", epsilon);
  call.dispatch_groups("layer_norm", plan.groups);
}

}  // namespace weft::kernels
