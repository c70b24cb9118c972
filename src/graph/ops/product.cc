#include "graph/ops/product.h"

#include "core/format.h"
#include "graph/node.h"
#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "weft/error.h"
#include "weft/kernels/matmul.h"

namespace weft {

DType product_result(DType a, DType b) {
  if (a == DType::c64 || b == DType::c64) return DType::c64;
  return is_floating(a) && a == b ? a : kernels::product_type(a, b);
}

TensorType with_epilogue(std::string_view op, const std::optional<Expression>& epilogue, std::span<const TensorType> in,
                         const TensorType& plain) {
  if (!epilogue) return plain;
  if (plain.dtype == DType::c64) throw TypeError("{}: c64 takes no epilogue", op);
  if (epilogue->input_count() != static_cast<int>(in.size()) - 1) {
    throw InvalidArgument("{}: {} operands for an epilogue of {}", op, in.size() - 2, epilogue->input_count() - 1);
  }
  for (const TensorType& t : in.subspan(2)) {
    if (broadcasts_to(t.shape, plain.shape)) continue;
    throw ShapeError("{}: the epilogue's operand {} does not broadcast to the result {}", op, weft::to_string(t.shape),
                     weft::to_string(plain.shape));
  }
  return {epilogue->output_type(0), plain.shape};
}

Expression epilogue_with_types(const Expression& epilogue, std::span<const TensorType> from,
                               std::span<const TensorType> to, DType result) {
  Expression e;
  std::vector<int> args{e.input(kernels::product_type(to[0].dtype, to[1].dtype))};
  for (const int node : converted_inputs(e, to.subspan(2), from.subspan(2))) args.push_back(node);
  e.output(e.cast(splice(e, epilogue, args)[0], result));
  return e;
}

std::optional<ChannelAxes> channel_axes(const Node& node) {
  if (node.op().fusion().epilogue || node.inputs().size() != 2) return std::nullopt;
  if (node.as<MatmulOp>()) return ChannelAxes{.weights = -1, .result = -1};
  const auto* conv = node.as<ConvOp>();
  return conv ? conv->channel_axes() : std::nullopt;
}

std::string product_label(std::string_view op, const std::optional<Expression>& epilogue,
                          std::span<const TensorType> in, const Shape& shape, int channel_axis) {
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
      const Shape& operand = in[static_cast<std::size_t>(nodes[arg].input) + 1].shape;
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

Work product_work(const Work& plain, const Launch& call, double products, const std::optional<Expression>& epilogue) {
  Work w = plain;
  const auto elements = static_cast<double>(call.outputs[0].count());
  w.functions = epilogue ? elements * epilogue->cost() : 0;
  w.flops = elements * (2 * products + (epilogue ? epilogue->operation_count() : 0));
  // A device without matrix units does what it can (Calibration::rate).
  if (call.inputs[0].dtype == DType::f16) w.arithmetic = Arithmetic::matrix;
  return w;
}

}  // namespace weft
