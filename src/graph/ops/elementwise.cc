#include "graph/ops/elementwise.h"

#include <algorithm>

#include "graph/graph.h"
#include "weft/error.h"
#include "weft/kernels/elementwise.h"

namespace weft {
namespace {

// Wide regions keep their labels short.
constexpr int kShown = 6;

Value map(Expression expression, std::vector<Value> inputs) {
  return apply(make_op<ElementwiseOp>(std::move(expression)), std::move(inputs));
}

void require_value(Value v, std::string_view op) {
  if (!v) throw InvalidArgument("{}: an operand is an empty Value", op);
}

// Operand `b` of a binary operation is a number of a's type.
Value with_number(ScalarOp op, Value a, double b, bool number_first) {
  require_value(a, name(op));
  Expression e;
  const int x = e.input(a.dtype());
  const int c = e.constant(b, a.dtype());
  e.output(number_first ? e.apply(op, {c, x}) : e.apply(op, {x, c}));
  return map(std::move(e), {a});
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

Value unary(ScalarOp op, Value x) {
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

Value binary(ScalarOp op, Value a, Value b) {
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

Value ternary(ScalarOp op, Value a, Value b, Value c) {
  if (op == ScalarOp::select) return select(a, b, c);
  for (const Value v : {a, b, c}) require_value(v, name(op));
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

Value clamp(Value x, double low, double high) {
  require_value(x, "clamp");
  Expression e;
  const int v = e.input(x.dtype());
  const int a = e.constant(low, x.dtype());
  e.output(e.apply(ScalarOp::clamp, {v, a, e.constant(high, x.dtype())}));
  return map(std::move(e), {x});
}

Value elementwise(std::string_view name, std::span<const Value> operands, std::span<const double> parameters) {
  std::vector<DType> types;
  for (const Value v : operands) {
    require_value(v, name);
    types.push_back(v.dtype());
  }
  return map(function_expression(name, types, parameters), {operands.begin(), operands.end()});
}

Value elementwise(std::string_view name, std::initializer_list<Value> operands,
                  std::initializer_list<double> parameters) {
  return elementwise(name, std::span(operands.begin(), operands.size()),
                     std::span(parameters.begin(), parameters.size()));
}

Value select(Value condition, Value if_true, Value if_false) {
  for (const Value v : {condition, if_true, if_false}) require_value(v, "select");
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

Value cast(Value x, DType dtype) {
  require_value(x, "cast");
  if (x.dtype() == dtype) return x;
  Expression e;
  e.output(e.cast(e.input(x.dtype()), dtype));
  return map(std::move(e), {x});
}

Value operator+(Value a, double b) { return with_number(ScalarOp::add, a, b, false); }
Value operator-(Value a, double b) { return with_number(ScalarOp::sub, a, b, false); }
Value operator*(Value a, double b) { return with_number(ScalarOp::mul, a, b, false); }
Value operator/(Value a, double b) { return with_number(ScalarOp::div, a, b, false); }
Value operator*(double a, Value b) { return with_number(ScalarOp::mul, b, a, true); }
Value operator-(double a, Value b) { return with_number(ScalarOp::sub, b, a, true); }

Value gelu(Value x, Gelu form) {
  switch (form) {
    case Gelu::erf: return unary(ScalarOp::gelu_erf, x);
    case Gelu::tanh: return unary(ScalarOp::gelu_tanh, x);
    case Gelu::quick: return unary(ScalarOp::gelu_quick, x);
  }
  throw InvalidArgument("gelu: {} is none of its forms", static_cast<int>(form));
}

Value Graph::scalar(Number value, DType dtype) {
  const std::uint64_t bits = value.bits(dtype);
  const auto bytes = std::as_bytes(std::span(&bits, 1)).first(byte_size(dtype, 1));
  return constant(TensorData::copy_of(dtype, {}, bytes));
}

}  // namespace weft
