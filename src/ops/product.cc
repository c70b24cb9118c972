#include "ops/product.h"

#include "core/format.h"
#include "weft/error.h"
#include "weft/kernels/matmul.h"

namespace weft {

DType product_result(DType a, DType b) {
  if (a == DType::c64 || b == DType::c64) return DType::c64;
  return is_floating(a) && a == b ? a : kernels::product_type(a, b);
}

std::optional<DType> asked_result(DType a, DType b, DType wanted) {
  return wanted == product_result(a, b) ? std::nullopt : std::optional(wanted);
}

std::string product_label(std::string_view op, const std::optional<Expression>& epilogue,
                          std::span<const TensorType> operands, const Shape& shape, int channel_axis) {
  std::string s(op);
  if (!epilogue) return s;
  const std::int64_t channels = shape[channel_axis];
  const auto& nodes = epilogue->nodes();
  for (const Expression::Node& node : nodes) {
    if (node.op == ScalarOp::input || node.op == ScalarOp::constant || node.op == ScalarOp::cast) continue;
    std::string_view what = weft::name(node.op);
    for (int arg : node.args) {
      while (arg >= 0 && nodes[arg].op == ScalarOp::cast) arg = nodes[arg].args[0];
      if (node.op != ScalarOp::add || arg < 0 || nodes[arg].op != ScalarOp::input || nodes[arg].input == 0) continue;
      const Shape& operand = operands[static_cast<std::size_t>(nodes[arg].input) - 1].shape;
      const int at = channel_axis - (shape.rank() - operand.rank());
      if (operand == shape)
        what = "residual";
      else if (element_count(operand) == channels && at >= 0 && operand[at] == channels)
        what = "bias";
    }
    s += std::format("+{}", what);
  }
  return s;
}

OwnWork product_work(std::span<const View> in, std::span<const View> out, double products) {
  // A device without matrix units does what it can (Calibration::rate).
  return {.per_step = {.flops = 2 * products},
          .steps = static_cast<double>(out[0].count()),
          .arithmetic = in[0].dtype == DType::f16 ? Arithmetic::matrix : Arithmetic::f32};
}

}  // namespace weft
