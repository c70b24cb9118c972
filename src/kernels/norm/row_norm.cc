#include "kernels/norm/row_norm.h"

#include "kernels/common/memory.h"
#include "kernels/common/windows.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

struct Operand {
  std::string_view name;
  View view;
};

// Whether four values that x gives together, along or across rows, have one weight.
bool shared_by_four(const Rows& rows, std::size_t k, bool across) {
  const Collapsed& fast = across ? rows.outer : rows.inner;
  return !fast.shape.empty() && fast.strides[k].back() == 0;
}

}  // namespace

void check_floating(std::string_view name, std::string_view operand, const View& view) {
  if (!is_floating(view.dtype)) {
    throw InvalidArgument("{}: {} is {}; expected a floating type", name, operand, to_string(view));
  }
}

void check_norm(std::string_view name, const View& x, const View& y, float epsilon) {
  if (x.shape() != y.shape()) {
    throw InvalidArgument("{}: x is {}, y is {}; their shapes must be the same", name, to_string(x), to_string(y));
  }
  check_floating(name, "x", x);
  check_floating(name, "y", y);
  if (!(epsilon >= 0)) throw InvalidArgument("{}: epsilon is {}; expected 0 or more", name, epsilon);
}

void row_norm(Stream& stream, const RowNorm& norm) {
  std::vector<Operand> operands{{"x", norm.x}, {"y", norm.y}};
  if (norm.scale) operands.push_back({"scale", *norm.scale});
  if (norm.bias) operands.push_back({"bias", *norm.bias});
  std::vector<Strides> strides;
  for (const Operand& o : operands) {
    check_floating(norm.name, o.name, o.view);
    strides.push_back(o.view.strides());
  }
  check_memory(stream, norm.name, {norm.x, norm.scale, norm.bias}, {norm.y});
  if (norm.x.count() == 0) return;
  const Rows rows = split_rows(norm.x.shape(), norm.along, strides);
  if (stream.cpu()) return row_norm_cpu(*stream.cpu(), norm, rows);

  AxisMask across{};
  for (int d = 0; d < norm.x.rank(); ++d) across[d] = !norm.along[d];
  std::vector<View> views;
  for (const Operand& o : operands) views.push_back(o.view);
  if (in_windows(stream.gpu()->device().capabilities(), norm.name, views, across, [&](std::span<const View> part) {
        RowNorm piece = norm;
        piece.x = part[0];
        piece.y = part[1];
        if (norm.scale) piece.scale = part[2];
        if (norm.bias) piece.bias = part.back();
        row_norm(stream, piece);
      })) {
    return;
  }
  RowPlanOptions options{.along4 = true, .across4 = true, .across = runs_across(rows, 0), .keep = true};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const View& view = operands[k].view;
    options.along4 &= vectorises_along(view, rows, k) || (k > 1 && shared_by_four(rows, k, false));
    options.across4 &= vectorises_across(view, rows, k) || (k > 1 && shared_by_four(rows, k, true));
  }
  Call call(*stream.gpu(), "row_norm");
  const RowPlan plan = plan_rows(call.capabilities(), rows, options);
  std::vector<std::string_view> names;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto& [name, view] = operands[k];
    if (view.dtype == DType::f64) throw Unsupported("{}: {} is f64, which runs on the CPU only", norm.name, name);
    names.push_back(name);
    if (k == 1) {
      call.write(name, view, plan.width);
    } else {
      const bool wide = plan.width == 4 && (k == 0 || !shared_by_four(rows, k, plan.across));
      call.read(name, view, wide ? 4 : 1);
      if (k > 1) call.set(std::string(name) + "_wide", wide);
    }
  }
  add_rows(call, rows, plan, names);
  call.include("float_rows").include("moments");
  call.set("scaled", norm.scale.has_value()).set("biased", norm.bias.has_value()).set("centred", norm.centred);
  call.param("inverse_length", 1 / static_cast<float>(rows.length)).param("epsilon", norm.epsilon);
  call.dispatch_groups(norm.name, plan.groups);
}

}  // namespace weft::kernels
