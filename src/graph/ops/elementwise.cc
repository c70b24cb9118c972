#include "graph/ops/elementwise.h"

#include <algorithm>

#include "graph/graph.h"
#include "weft/error.h"
#include "weft/kernels/elementwise.h"

namespace weft {
namespace {

// Wide regions keep their labels short.
constexpr int kShown = 6;

Tensor map(Expression expression, std::vector<Tensor> inputs) {
  return apply(make_op<ElementwiseOp>(std::move(expression)), std::move(inputs));
}

void require_value(const Tensor& v, std::string_view op) {
  if (!v.defined()) throw InvalidArgument("{}: an operand is an undefined Tensor", op);
}

// Operand `b` of a binary operation is a number of a's type.
Tensor with_number(ScalarOp op, const Tensor& a, double b, bool number_first) {
  require_value(a, name(op));
  // A value of its own, which the compiler moves into the expression, and evaluation gives at each run.
  const Tensor c = Graph::scalar(b, a.dtype());
  return number_first ? binary(op, c, a) : binary(op, a, c);
}

// Broadcasts and names the operation when that fails.
Shape joined(std::string_view op, const Shape& a, const Shape& b) {
  try {
    return broadcast(a, b);
  } catch (const InvalidArgument& e) {
    throw InvalidArgument("{}: {}", op, e.what());
  }
}

}  // namespace

std::string operations(const Expression& expression) {
  std::string s;
  int count = 0;
  for (const Expression::Node& node : expression.nodes()) {
    if (node.op == ScalarOp::input || node.op == ScalarOp::constant) continue;
    if (++count > kShown) return s + "+…";
    s += (s.empty() ? "" : "+") + std::string(weft::name(node.op));
  }
  return s.empty() ? "copy" : s;
}

std::string operations_around(std::string_view name, const std::optional<Expression>& before,
                              const std::optional<Expression>& after) {
  std::string s(name);
  if (before) s = operations(*before) + "+" + s;
  if (after) s += "+" + operations(*after);
  return s;
}

OpPtr copy_op(DType dtype) {
  Expression e;
  e.output(e.input(dtype));
  return make_op<ElementwiseOp>(std::move(e));
}

std::vector<TensorType> ElementwiseOp::infer(std::span<const TensorType> inputs) const {
  const std::string op = inputs.empty() ? std::string("map") : operations(expression_);
  if (static_cast<int>(inputs.size()) != expression_.input_count()) {
    throw InvalidArgument("{}: {} operands for an expression of {}", op, inputs.size(), expression_.input_count());
  }
  Shape shape;
  for (const TensorType& t : inputs) shape = joined(op, shape, t.shape);
  for (const Expression::Node& node : expression_.nodes()) {
    if (node.op == ScalarOp::input && inputs[node.input].dtype != node.type) {
      throw InvalidArgument("{}: operand {} is {}, the expression takes {}", op, node.input,
                            weft::name(inputs[node.input].dtype), weft::name(node.type));
    }
  }
  std::vector<TensorType> results;
  for (std::size_t i = 0; i < expression_.outputs().size(); ++i) {
    results.push_back({expression_.output_type(static_cast<int>(i)), shape});
  }
  return results;
}

OpPtr ElementwiseOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                                std::span<const DType> results) const {
  Expression e;
  const std::vector<int> values = splice(e, expression_, converted_inputs(e, to, from));
  const std::int64_t size = element_count(infer(from)[0].shape);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const bool large = std::ranges::any_of(to, [&](const TensorType& t) {
      return t.dtype == results[k] && element_count(t.shape) == size;
    });
    e.output(large ? e.cast(values[k], results[k]) : values[k]);
  }
  return make_op<ElementwiseOp>(std::move(e));
}

void ElementwiseOp::lower(const Launch& call) const {
  kernels::map(call.stream, expression_, call.inputs, call.outputs);
}

std::string ElementwiseOp::label(std::span<const TensorType>) const { return operations(expression_); }

Tensor unary(ScalarOp op, const Tensor& x) {
  require_value(x, name(op));
  Expression e;
  e.output(e.apply(op, {e.input(x.dtype())}));
  return map(std::move(e), {x});
}

Work ElementwiseOp::work(const Launch& call) const {
  Work w = Op::work(call);
  w.flops = static_cast<double>(call.outputs[0].count()) * expression_.operation_count();
  w.functions = static_cast<double>(call.outputs[0].count()) * expression_.cost();
  return w;
}

Tensor binary(ScalarOp op, const Tensor& a, const Tensor& b) {
  require_value(a, name(op));
  require_value(b, name(op));
  if (a.dtype() != b.dtype()) {
    throw InvalidArgument("{}: a is {} and b is {}; both must have one type (cast one of them)", name(op),
                          to_string(a.type()), to_string(b.type()));
  }
  Expression e;
  const int x = e.input(a.dtype());
  const int y = e.input(b.dtype());
  e.output(e.apply(op, {x, y}));
  return map(std::move(e), {a, b});
}

Tensor ternary(ScalarOp op, const Tensor& a, const Tensor& b, const Tensor& c) {
  if (op == ScalarOp::select) return select(a, b, c);
  for (const Tensor& v : {a, b, c}) require_value(v, name(op));
  if (a.dtype() != b.dtype() || a.dtype() != c.dtype()) {
    throw InvalidArgument("{}: operands are {}, {} and {}; all must have one type (cast the others)", name(op),
                          to_string(a.type()), to_string(b.type()), to_string(c.type()));
  }
  Expression e;
  const int x = e.input(a.dtype());
  const int y = e.input(b.dtype());
  const int z = e.input(c.dtype());
  e.output(e.apply(op, {x, y, z}));
  return map(std::move(e), {a, b, c});
}

Tensor clamp(const Tensor& x, double low, double high) {
  require_value(x, "clamp");
  Expression e;
  const int v = e.input(x.dtype());
  const int a = e.constant(low, x.dtype());
  e.output(e.apply(ScalarOp::clamp, {v, a, e.constant(high, x.dtype())}));
  return map(std::move(e), {x});
}

Tensor elementwise(std::string_view name, std::span<const Tensor> operands, std::span<const double> parameters) {
  std::vector<DType> types;
  for (const Tensor& v : operands) {
    require_value(v, name);
    types.push_back(v.dtype());
  }
  return map(function_expression(name, types, parameters), {operands.begin(), operands.end()});
}

Tensor elementwise(std::string_view name, std::initializer_list<Tensor> operands,
                  std::initializer_list<double> parameters) {
  return elementwise(name, std::span(operands.begin(), operands.size()),
                     std::span(parameters.begin(), parameters.size()));
}

Tensor select(const Tensor& condition, const Tensor& if_true, const Tensor& if_false) {
  for (const Tensor& v : {condition, if_true, if_false}) require_value(v, "select");
  if (condition.dtype() != DType::boolean || if_true.dtype() != if_false.dtype()) {
    throw InvalidArgument("select: condition is {}, choices are {} and {}; expected bool and one type for both",
                          to_string(condition.type()), to_string(if_true.type()), to_string(if_false.type()));
  }
  Expression e;
  const int c = e.input(DType::boolean);
  const int x = e.input(if_true.dtype());
  const int y = e.input(if_false.dtype());
  e.output(e.apply(ScalarOp::select, {c, x, y}));
  return map(std::move(e), {condition, if_true, if_false});
}

Tensor cast(const Tensor& x, DType dtype) {
  require_value(x, "cast");
  if (x.dtype() == dtype) return x;
  Expression e;
  e.output(e.cast(e.input(x.dtype()), dtype));
  return map(std::move(e), {x});
}

Tensor operator+(const Tensor& a, double b) { return with_number(ScalarOp::add, a, b, false); }
Tensor operator-(const Tensor& a, double b) { return with_number(ScalarOp::sub, a, b, false); }
Tensor operator*(const Tensor& a, double b) { return with_number(ScalarOp::mul, a, b, false); }
Tensor operator/(const Tensor& a, double b) { return with_number(ScalarOp::div, a, b, false); }
Tensor operator+(double a, const Tensor& b) { return with_number(ScalarOp::add, b, a, true); }
Tensor operator/(double a, const Tensor& b) { return with_number(ScalarOp::div, b, a, true); }
Tensor operator*(double a, const Tensor& b) { return with_number(ScalarOp::mul, b, a, true); }
Tensor operator-(double a, const Tensor& b) { return with_number(ScalarOp::sub, b, a, true); }

Tensor gelu(const Tensor& x, Gelu form) {
  switch (form) {
    case Gelu::erf: return unary(ScalarOp::gelu_erf, x);
    case Gelu::tanh: return unary(ScalarOp::gelu_tanh, x);
    case Gelu::quick: return unary(ScalarOp::gelu_quick, x);
  }
  throw InvalidArgument("gelu: {} is none of its forms", static_cast<int>(form));
}

Tensor Graph::scalar(Number value, DType dtype) {
  const std::uint64_t bits = value.bits(dtype);
  const auto bytes = std::as_bytes(std::span(&bits, 1)).first(byte_size(dtype, 1));
  return constant(TensorData::copy_of(dtype, {}, bytes));
}

}  // namespace weft
