#include "graph/ops/matmul.h"

#include "graph/graph.h"
#include "weft/error.h"
#include "weft/kernels/matmul.h"

namespace weft {

namespace {

bool is_summed_as_i32(DType type) { return is_integer(type) && bits(type) >= 8 && bits(type) <= 32; }

// The type of a product that is not asked for another; nothing if the types don't go together.
std::optional<DType> usual_result(DType a, DType b) {
  if (is_summed_as_i32(a) && is_summed_as_i32(b)) return DType::i32;
  const auto complex_or_float = [](DType t) { return t == DType::c64 || (is_floating(t) && t != DType::f64); };
  if ((a == DType::c64 && complex_or_float(b)) || (b == DType::c64 && complex_or_float(a))) return DType::c64;
  if (!is_floating(a) || !is_floating(b)) return std::nullopt;
  if (a == b) return a;
  return a == DType::f64 || b == DType::f64 ? std::nullopt : std::optional(DType::f32);
}

// Whether sums of that type can be stored as `asked`.
bool stores(DType usual, DType asked) {
  if (usual == DType::i32) return asked == DType::i32 || asked == DType::u32;
  return usual == DType::c64 ? asked == usual : is_floating(asked);
}

}  // namespace

std::vector<TensorType> MatmulOp::infer(std::span<const TensorType> in) const {
  const Shape& a = in[0].shape;
  const Shape& b = in[1].shape;
  const auto fail = [&](std::string_view why) {
    throw InvalidArgument("matmul: a {} and b {}: {}", weft::to_string(a), weft::to_string(b), why);
  };
  if (a.rank() < 2 || b.rank() < 2) fail("both need two dimensions or more");
  const std::optional<DType> usual = usual_result(in[0].dtype, in[1].dtype);
  if (!usual) {
    throw InvalidArgument(
        "matmul: a is {} and b is {}; expected float types, integers of 8 to 32 bits, or c64 with c64 or "
        "a float type",
        weft::to_string(in[0]), weft::to_string(in[1]));
  }
  if (result_ && !stores(*usual, *result_)) {
    throw InvalidArgument("matmul: of {} and {} as {}; expected {}", weft::name(in[0].dtype), weft::name(in[1].dtype),
                          weft::name(*result_),
                          *usual == DType::i32   ? "i32 or u32"
                          : *usual == DType::c64 ? "c64"
                                                 : "a float type");
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
  if (!epilogue_) return {{result_.value_or(*usual), shape}};
  if (*usual == DType::c64) throw InvalidArgument("matmul: c64 takes no epilogue");
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

FusionSpec MatmulOp::fusion_spec(const gpu::Capabilities*, std::span<const TensorType> in,
                                 std::span<const TensorType> out) const {
  if (out[0].dtype == DType::c64) return {};
  return {.epilogue_outputs = 1,
          .epilogue_input = kernels::product_type(in[0].dtype, in[1].dtype),
          .work = static_cast<double>(element_count(out[0].shape)) * static_cast<double>(in[0].shape[-1])};
}

OpPtr MatmulOp::with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const {
  if (prologue || !epilogue) throw InternalError("matmul: it takes an epilogue alone");
  return make_op<MatmulOp>(*std::move(epilogue));
}

OpPtr MatmulOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                           std::span<const DType> results) const {
  const DType a = to[0].dtype, b = to[1].dtype;
  if (!epilogue_) return results[0] == (a == b ? a : DType::f32) ? make_op<MatmulOp>() : make_op<MatmulOp>(results[0]);
  Expression e;
  std::vector<int> args{e.input(kernels::product_type(a, b))};
  for (const int node : converted_inputs(e, to.subspan(2), from.subspan(2))) args.push_back(node);
  e.output(e.cast(splice(e, *epilogue_, args)[0], results[0]));
  return make_op<MatmulOp>(std::move(e));
}

void MatmulOp::lower(const Launch& call) const {
  kernels::Epilogue epilogue;
  if (epilogue_) epilogue = {&*epilogue_, call.inputs.subspan(2)};
  kernels::matmul(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], epilogue);
}

Work MatmulOp::work(const Launch& call) const {
  Work w = Op::work(call);
  const int after = epilogue_ ? epilogue_->operation_count() : 0;
  w.functions = epilogue_ ? static_cast<double>(call.outputs[0].count()) * epilogue_->cost() : 0;
  w.flops =
      static_cast<double>(call.outputs[0].count()) * (2.0 * static_cast<double>(call.inputs[0].shape()[-1]) + after);
  // A device without matrix units does what it can (Calibration::rate).
  if (call.inputs[0].dtype == DType::f16) w.arithmetic = Arithmetic::matrix;
  return w;
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

Value matmul(Value a, Value b, std::optional<DType> result) {
  if (!a || !b) throw InvalidArgument("matmul: an operand is an empty Value");
  const std::optional<DType> usual = usual_result(a.dtype(), b.dtype());
  return apply(!result || result == usual ? make_op<MatmulOp>() : make_op<MatmulOp>(*result), {a, b});
}

}  // namespace weft
