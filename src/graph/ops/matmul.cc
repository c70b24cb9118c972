#include "graph/ops/matmul.h"

#include "graph/graph.h"
#include "weft/error.h"
#include "weft/kernels/matmul.h"

namespace weft {

std::vector<TensorType> MatmulOp::infer(std::span<const TensorType> in) const {
  const Shape& a = in[0].shape;
  const Shape& b = in[1].shape;
  const auto fail = [&](std::string_view why) {
    throw InvalidArgument("matmul: a {} and b {}: {}", weft::to_string(a), weft::to_string(b), why);
  };
  if (a.rank() < 2 || b.rank() < 2) fail("both need two dimensions or more");
  const bool mixed = in[0].dtype != in[1].dtype;
  const bool doubles = in[0].dtype == DType::f64 || in[1].dtype == DType::f64;
  if (!is_floating(in[0].dtype) || !is_floating(in[1].dtype) || (mixed && doubles)) {
    throw InvalidArgument("matmul: a is {} and b is {}; expected float types", weft::to_string(in[0]),
                          weft::to_string(in[1]));
  }
  if (a[-1] != b[-2]) fail(std::format("inner sizes {} and {} differ", a[-1], b[-2]));
  Shape shape;
  try {
    shape = broadcast(Shape(std::span(a.begin(), a.end() - 2)), Shape(std::span(b.begin(), b.end() - 2)));
  } catch (const InvalidArgument& e) {
    fail(std::format("leading dimensions: {}", e.what()));
  }
  shape.push_back(a[-2]);
  shape.push_back(b[-1]);
  if (!epilogue_) return {{mixed ? DType::f32 : in[0].dtype, shape}};
  if (epilogue_->input_count() != static_cast<int>(in.size()) - 1) {
    throw InvalidArgument("matmul: {} operands for an epilogue of {}", in.size() - 2, epilogue_->input_count() - 1);
  }
  for (std::size_t i = 2; i < in.size(); ++i) {
    if (broadcast(in[i].shape, shape) != shape) {
      fail(std::format("the epilogue's operand {} does not broadcast to the result", weft::to_string(in[i].shape)));
    }
  }
  return {{epilogue_->output_type(0), shape}};
}

void MatmulOp::lower(const Launch& call) const {
  kernels::Epilogue epilogue;
  if (epilogue_) epilogue = {&*epilogue_, call.inputs.subspan(2)};
  kernels::matmul(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], epilogue, call.workspace);
}

Work MatmulOp::work(const Launch& call) const {
  Work w = Op::work(call);
  const int after = epilogue_ ? epilogue_->operation_count() : 0;
  w.flops = static_cast<double>(call.outputs[0].count()) * (2.0 * static_cast<double>(call.inputs[0].shape()[-1]) + after);
  // A device without matrix units does what it can (Calibration::rate).
  if (call.inputs[0].dtype == DType::f16) w.arithmetic = Arithmetic::matrix;
  return w;
}

std::uint64_t MatmulOp::workspace(const Launch& call) const {
  return kernels::matmul_workspace(call.stream, call.inputs[0], call.inputs[1], call.outputs[0]);
}

std::string MatmulOp::label(std::span<const TensorType> in) const {
  std::string s = "matmul";
  if (!epilogue_) return s;
  const Shape shape = infer(in)[0].shape;
  const auto& nodes = epilogue_->nodes();
  for (const Expression::Node& node : nodes) {
    if (node.op == ScalarOp::input || node.op == ScalarOp::constant || node.op == ScalarOp::cast) continue;
    // An addition goes by what is added: one row for all rows, or a tensor of the result's shape.
    std::string_view what = weft::name(node.op);
    for (int arg : node.args) {
      while (arg >= 0 && nodes[arg].op == ScalarOp::cast) arg = nodes[arg].args[0];
      if (node.op != ScalarOp::add || arg < 0 || nodes[arg].op != ScalarOp::input || nodes[arg].input == 0) continue;
      const Shape& operand = in[nodes[arg].input + 1].shape;
      if (operand == shape) what = "residual";
      else if (element_count(operand) == shape[-1] && operand[-1] == shape[-1]) what = "bias";
    }
    s += std::format("+{}", what);
  }
  return s;
}

Value matmul(Value a, Value b) {
  if (!a || !b) throw InvalidArgument("matmul: an operand is an empty Value");
  return apply(make_op<MatmulOp>(), {a, b});
}

}  // namespace weft
