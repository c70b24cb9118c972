// Operators on single elements: arithmetic, functions, logic, casts, comparisons and choices; and random numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "onnx/node.h"
#include "onnx/tracer.h"
#include "onnx/value.h"
#include "onnx/write.h"
#include "weft/array.h"
#include "weft/device.h"
#include "weft/distributions.h"
#include "weft/graph.h"

namespace weft::onnx {

namespace {

// A row of one result.
template <Tensor (*f)(const Node&)>
Tensors one(const Node& n) {
  return {f(n)};
}

// Results have the operand's type, also of functions that Weft computes in f32 for integers.
template <ScalarOp op>
Tensors unary_of(const Node& n) {
  const Tensor x = n.in(0);
  return {cast(unary(op, x), x.dtype())};
}
// The same with a result of bool.
template <ScalarOp op>
Tensors test_of(const Node& n) {
  return {unary(op, n.in(0))};
}
template <ScalarOp op>
Tensors binary_of(const Node& n) {
  return {binary(op, n.in(0), n.in(1))};
}

Tensor folded(const Node& n, ScalarOp op) {
  const Tensors parts = n.all();
  if (parts.empty()) n.fail("it has no operands, expected at least one");
  Tensor y = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) y = binary(op, y, parts[i]);
  return y;
}
// Of any number of operands, which broadcast.
template <ScalarOp op>
Tensors fold_of(const Node& n) {
  return {folded(n, op)};
}
Tensor mean_of(const Node& n) { return folded(n, ScalarOp::add) / static_cast<double>(n.size()); }

// f(x), computed in f32 unless x is a wide float, and rounded to x's type once.
template <class F>
Tensor in_f32(const Tensor& x, const F& f) {
  const bool wide = x.dtype() == DType::f32 || x.dtype() == DType::f64;
  return cast(f(wide ? x : cast(x, DType::f32)), x.dtype());
}

// ---- Arithmetic

// With the divisor's sign, or with `fmod` the dividend's.
Tensor mod(const Node& n) {
  const Tensor a = n.in(0), b = n.in(1);
  if (n.integer("fmod", 0) != 0) return rem(a, b);
  if (is_floating(a.dtype())) n.fail("fmod is 0 and the operands are {}; expected 1 for floats", name(a.dtype()));
  return remainder(a, b);
}

// The exponent may have another type; the result has the base's.
Tensor power(const Node& n) {
  const Tensor a = n.in(0);
  Tensor b = n.in(1);
  const DType base = a.dtype(), exponent = b.dtype();
  // These have no type in common. (A negative exponent of an unsigned base wraps, and gives 0 as that power does.)
  if (base == DType::u64 && is_integer(exponent)) b = cast(b, DType::u64);
  if (exponent == DType::u64 && is_integer(base) && is_signed(base)) b = cast(b, DType::i64);
  return cast(pow(a, b), base);
}

Tensor bit_shift(const Node& n) {
  const std::string direction = n.text("direction");
  if (direction == "LEFT") return shift_left(n.in(0), n.in(1));
  if (direction == "RIGHT") return shift_right(n.in(0), n.in(1));
  n.fail("direction is '{}', expected LEFT or RIGHT", direction);
}

// Before opset 11 the bounds are attributes, which are the range of f32 where they are left out.
Tensor clip_by_attributes(const Node& n) {
  constexpr double most = std::numeric_limits<float>::max();
  return clamp(n.in(0), Number(n.number("min", -most)), Number(n.number("max", most)));
}
Tensor clip(const Node& n) {
  const Tensor x = n.in(0), low = n.maybe(1), high = n.maybe(2);
  if (low.defined() && high.defined()) return clamp(x, low, high);
  if (low.defined()) return maximum(x, low);
  if (high.defined()) return minimum(x, high);
  return x;
}

// ---- Activations

constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

Tensor selu_of(const Node& n) {
  const double alpha = n.number("alpha", kSeluAlpha), gamma = n.number("gamma", kSeluGamma);
  return in_f32(n.in(0), [&](const Tensor& x) { return elu(x, alpha) * gamma; });
}

Tensor prelu(const Node& n) {
  const Tensor x = n.in(0);
  Tensor slope = n.in(1);
  // Before opset 7 a slope for each channel is a vector.
  if (n.version() < 7 && slope.rank() == 1 && slope.size() > 1) {
    for (int d = 2; d < x.rank(); ++d) slope = expand_dims(slope, slope.rank());
  }
  return select(x < Number(0), x * slope, x);
}

Tensor gelu_of(const Node& n) {
  const std::string form = n.text("approximate", "none");
  if (form != "none" && form != "tanh") n.fail("approximate is '{}', expected none or tanh", form);
  return gelu(n.in(0), form == "tanh" ? Gelu::tanh : Gelu::erf);
}

Tensor swish(const Node& n) {
  const double alpha = n.number("alpha", 1);
  if (alpha == 1) return silu(n.in(0));
  return in_f32(n.in(0), [&](const Tensor& x) { return x * sigmoid(x * alpha); });
}

// 0 within [-lambd, lambd]; beyond it the magnitude is less by `bias`.
Tensor shrink(const Node& n) {
  const double limit = n.number("lambd", 0.5), bias = n.number("bias", 0);
  return in_f32(n.in(0), [&](const Tensor& x) {
    return select(x < -limit, x + bias, select(x > limit, x - bias, zeros_like(x)));
  });
}

// ---- Tests

Tensor is_inf_of(const Node& n) {
  const Tensor x = n.in(0);
  const bool negative = n.integer("detect_negative", 1) != 0, positive = n.integer("detect_positive", 1) != 0;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (negative && positive) return is_inf(x);
  if (!negative && !positive) return zeros_like(x, DType::boolean);
  return x == (positive ? infinity : -infinity);
}

// ---- Types

bool is_f8(DType type) { return type == DType::f8e4m3 || type == DType::f8e5m2; }

// x in another type. Out of the range of an 8-bit float it is the greatest number of the type (saturate), or what
// rounding gives, infinity or NaN.
Tensor converted(const Tensor& x, DType to, bool saturate) {
  if (x.dtype() == to) return x;
  if (is_f8(to) && saturate) {
    const double most = to == DType::f8e4m3 ? 448 : 57344;
    return cast(clamp(cast(x, x.dtype() == DType::f64 ? DType::f64 : DType::f32), -most, most), to);
  }
  // Of floats out of range of less than 8 bits the low bits are kept, as of integers.
  if (is_floating(x.dtype()) && is_integer(to) && bits(to) < 8) return cast(cast(x, DType::i32), to);
  return cast(x, to);
}
bool saturates(const Node& n) { return n.integer("saturate", 1) != 0; }

// The bits as those of another type.
Tensor bit_cast_of(const Node& n) {
  const Tensor x = n.in(0);
  const DType from = x.dtype(), to = n.type("to");
  if (bits(from) != bits(to)) {
    n.fail("to is {}, expected a type of {} bits as that of the operand", name(to), bits(from));
  }
  if (from == to) return x;
  if (is_integer(from) && is_integer(to)) return cast(x, to);
  const Tensor known = n.known(0);
  if (!known.defined()) n.lacks("{} to {} of a tensor whose elements are not known", name(from), name(to));
  std::vector<std::byte> bytes(byte_size(from, static_cast<std::uint64_t>(x.size())));
  const DefaultDeviceScope there(Device::cpu());
  known.read_bytes(bytes);
  return Graph::constant(TensorData::copy_of(to, x.shape(), bytes));
}

// ---- Random numbers, which have no reference: each is drawn with the distribution of its operator.

Tensor key_of(const Node& n) {
  if (!n.attribute("seed")) return n.tracer().random_key(n, std::nullopt);
  return n.tracer().random_key(n, std::bit_cast<std::uint64_t>(n.number("seed", 0)));
}

// Drawn in a type that Weft draws, f32 for f64.
template <class Draw>
Tensor drawn(DType type, const Draw& draw) {
  return type == DType::f64 ? cast(draw(DType::f32), type) : draw(type);
}
Tensor normal(const Node& n, const Shape& shape, DType type) {
  return drawn(
      type, [&](DType as) { return random_normal(key_of(n), as, shape, n.number("mean", 0), n.number("scale", 1)); });
}
Tensor uniform(const Node& n, const Shape& shape, DType type) {
  return drawn(type,
               [&](DType as) { return random_uniform(key_of(n), as, shape, n.number("low", 0), n.number("high", 1)); });
}
template <Tensor (*draw)(const Node&, const Shape&, DType)>
Tensors random_of(const Node& n) {
  return {draw(n, Shape(n.integers("shape")), n.type("dtype", DType::f32))};
}
// In the shape of the operand, and in its type unless another one is given.
template <Tensor (*draw)(const Node&, const Shape&, DType)>
Tensors random_like(const Node& n) {
  const Tensor x = n.in(0);
  return {draw(n, x.shape(), n.type("dtype", x.dtype()))};
}

Tensor bernoulli(const Node& n) {
  const Tensor p = n.in(0);
  const Tensor u = random_uniform(key_of(n), DType::f32, p.shape());
  return cast(u < p, n.type("dtype", p.dtype()));
}

// From logarithms of weights [batch, classes], a number of classes for each row.
Tensor multinomial(const Node& n) {
  Tensor logits = n.in(0);
  if (logits.rank() != 2) n.fail("the operand is {}, expected [batch, classes]", to_string(logits.shape()));
  if (logits.dtype() == DType::f64) logits = cast(logits, DType::f32);
  const Shape shape = {logits.shape()[0], n.integer("sample_size", 1), logits.shape()[1]};
  const Tensor each = broadcast_to(expand_dims(logits, 1), shape);
  return cast(random_categorical(key_of(n), each, -1), n.type("dtype", DType::i32));
}

Tensors with_mask(const Node& n, const Tensor& y, const Tensor& mask) {
  if (!n.wants(1)) return {y};
  return {y, mask};
}
// What is kept is all, before opset 12 always; the mask is of x's type before opset 10.
Tensors dropout_of_inference(const Node& n) {
  const Tensor x = n.in(0);
  return with_mask(n, x, ones_like(x, n.version() < 10 ? x.dtype() : DType::boolean));
}
Tensors dropout(const Node& n) {
  const bool training = n.has(2) && n.number_of(2) != 0;
  const double ratio = !training ? 0 : n.has(1) ? n.number_of(1) : 0.5;
  if (ratio == 0) return dropout_of_inference(n);
  const Tensor x = n.in(0);
  const Tensor key = n.tracer().random_key(
      n, n.attribute("seed") ? std::optional(static_cast<std::uint64_t>(n.integer("seed"))) : std::nullopt);
  const Tensor kept = random_uniform(key, DType::f32, x.shape()) >= ratio;
  return with_mask(n, select(kept, x * (1 / (1 - ratio)), zeros_like(x)), kept);
}

constexpr OperatorRow kRows[] = {
    // ---- Arithmetic
    {"Abs", unary_of<ScalarOp::abs>},
    {"Add", binary_of<ScalarOp::add>},
    {"BitShift", one<bit_shift>, 11},
    {"Ceil", unary_of<ScalarOp::ceil>},
    {"Clip", one<clip_by_attributes>},
    {"Clip", one<clip>, 11},
    {"Div", binary_of<ScalarOp::div>},
    {"Floor", unary_of<ScalarOp::floor>},
    {"Max", fold_of<ScalarOp::max>},
    {"Mean", one<mean_of>},
    {"Min", fold_of<ScalarOp::min>},
    {"Mod", one<mod>, 10},
    {"Mul", binary_of<ScalarOp::mul>},
    {"Neg", unary_of<ScalarOp::neg>},
    {"Pow", one<power>},
    {"Reciprocal", unary_of<ScalarOp::reciprocal>},
    {"Round", unary_of<ScalarOp::round>, 11},
    {"Sign", unary_of<ScalarOp::sign>, 9},
    {"Sub", binary_of<ScalarOp::sub>},
    {"Sum", fold_of<ScalarOp::add>},

    // ---- Functions
    {"Acos", unary_of<ScalarOp::acos>},
    {"Acosh", unary_of<ScalarOp::acosh>, 9},
    {"Asin", unary_of<ScalarOp::asin>},
    {"Asinh", unary_of<ScalarOp::asinh>, 9},
    {"Atan", unary_of<ScalarOp::atan>},
    {"Atanh", unary_of<ScalarOp::atanh>, 9},
    {"Cos", unary_of<ScalarOp::cos>},
    {"Cosh", unary_of<ScalarOp::cosh>, 9},
    {"Erf", unary_of<ScalarOp::erf>, 9},
    {"Exp", unary_of<ScalarOp::exp>},
    {"Log", unary_of<ScalarOp::log>},
    {"Sin", unary_of<ScalarOp::sin>},
    {"Sinh", unary_of<ScalarOp::sinh>, 9},
    {"Sqrt", unary_of<ScalarOp::sqrt>},
    {"Tan", unary_of<ScalarOp::tan>},
    {"Tanh", unary_of<ScalarOp::tanh>},

    // ---- Activations
    {"Celu", one<[](const Node& n) { return celu(n.in(0), n.number("alpha", 1)); }>, 12},
    {"Elu", one<[](const Node& n) { return elu(n.in(0), n.number("alpha", 1)); }>},
    {"Gelu", one<gelu_of>, 20},
    {"HardSigmoid",
     one<[](const Node& n) { return hardsigmoid(n.in(0), n.number("alpha", 0.2), n.number("beta", 0.5)); }>},
    {"HardSwish", one<[](const Node& n) { return hardswish(n.in(0)); }>, 14},
    {"LeakyRelu", one<[](const Node& n) { return leaky_relu(n.in(0), n.number("alpha", 0.01)); }>},
    {"Mish", unary_of<ScalarOp::mish>, 18},
    {"PRelu", one<prelu>},
    {"Relu", unary_of<ScalarOp::relu>},
    {"Selu", one<selu_of>},
    {"Shrink", one<shrink>, 9},
    {"Sigmoid", unary_of<ScalarOp::sigmoid>},
    {"Softplus", unary_of<ScalarOp::softplus>},
    {"Softsign", one<[](const Node& n) { return softsign(n.in(0)); }>},
    {"Swish", one<swish>, 24},
    {"ThresholdedRelu",
     one<[](const Node& n) { return elementwise("threshold", {n.in(0)}, {n.number("alpha", 1), 0}); }>, 10},

    // ---- Comparisons, tests, logic and bits
    {"And", binary_of<ScalarOp::logical_and>},
    {"BitwiseAnd", binary_of<ScalarOp::bitwise_and>, 18},
    {"BitwiseNot", unary_of<ScalarOp::bitwise_not>, 18},
    {"BitwiseOr", binary_of<ScalarOp::bitwise_or>, 18},
    {"BitwiseXor", binary_of<ScalarOp::bitwise_xor>, 18},
    {"Equal", binary_of<ScalarOp::equal>},
    {"Greater", binary_of<ScalarOp::greater>},
    {"GreaterOrEqual", binary_of<ScalarOp::greater_equal>, 12},
    {"IsInf", one<is_inf_of>, 10},
    {"IsNaN", test_of<ScalarOp::is_nan>, 9},
    {"Less", binary_of<ScalarOp::less>},
    {"LessOrEqual", binary_of<ScalarOp::less_equal>, 12},
    {"Not", test_of<ScalarOp::logical_not>},
    {"Or", binary_of<ScalarOp::logical_or>},
    {"Where", one<[](const Node& n) { return select(n.in(0), n.in(1), n.in(2)); }>, 9},
    {"Xor", binary_of<ScalarOp::logical_xor>},

    // ---- Types
    {"BitCast", one<bit_cast_of>, 26, "of floats and bool only where the elements are known"},
    {"Cast", one<[](const Node& n) { return converted(n.in(0), n.type("to"), saturates(n)); }>, 6},
    {"CastLike", one<[](const Node& n) { return converted(n.in(0), n.in(1).dtype(), saturates(n)); }>, 15},
    {"Identity", one<[](const Node& n) { return n.in(0); }>},

    // ---- Random numbers
    {"Bernoulli", one<bernoulli>, 15, {}, true},
    {"Dropout", dropout_of_inference},
    {"Dropout", dropout, 12, {}, true},
    {"Multinomial", one<multinomial>, 7, {}, true},
    {"RandomNormal", random_of<normal>, 1, {}, true},
    {"RandomNormalLike", random_like<normal>, 1, {}, true},
    {"RandomUniform", random_of<uniform>, 1, {}, true},
    {"RandomUniformLike", random_like<uniform>, 1, {}, true},
};

// ---- Read backwards: operations of single elements. A row's operands have one type, but for the condition of a
// selection.

bool is_bool(const Written& w) { return w.dtype() == DType::boolean; }
std::string truth_node(const Written& w, std::string_view op) { return w.nodes(op, w.all(), 1)[0]; }

// Of bool another operator.
template <const char* of_numbers, const char* of_bool>
std::string chosen(const Written& w) {
  return truth_node(w, is_bool(w) ? of_bool : of_numbers);
}
constexpr char kMin[] = "Min", kMax[] = "Max", kAnd[] = "And", kOr[] = "Or", kXor[] = "Xor", kNot[] = "Not";
constexpr char kQuotient[] = "Div", kModulo[] = "Mod";
constexpr char kBitAnd[] = "BitwiseAnd", kBitOr[] = "BitwiseOr", kBitXor[] = "BitwiseXor", kBitNot[] = "BitwiseNot";

// A number of the operands' type.
std::string number(const Written& w, double value) { return w.scalar(value, w.dtype()); }
std::string whole(const Written& w, std::int64_t value) { return w.scalar(value, w.dtype()); }

std::string negated_equal(const Written& w) { return w.node("Not", {w.node("Equal", {w.in(0), w.in(1)})}); }

// ONNX's division of integers by 0, and of the least one by -1, is undefined; here 0 and itself.
bool nonzero_constant(const Written& w, std::size_t i) {
  const auto data = w.constant_operand(i);
  if (!data) return false;
  const std::vector<std::int64_t> all = integers_in(*data);
  return std::ranges::none_of(all, [](std::int64_t v) { return v == 0 || v == -1; });
}
template <class F>
std::string guarded(const Written& w, const F& f) {
  const std::string zero = whole(w, 0), none = w.node("Equal", {w.in(1), zero});
  std::string safe = w.node("Where", {none, whole(w, 1), w.in(1)}), a = w.in(0);
  if (!is_signed(w.dtype())) return w.node("Where", {none, zero, f(a, safe)});
  // By -1 the negative, and nothing left.
  const std::string minus = w.node("Equal", {w.in(1), whole(w, -1)});
  safe = w.node("Where", {minus, whole(w, 1), safe});
  return w.node("Where", {none, zero, w.node("Where", {minus, f(w.node("Sub", {zero, a}), safe), f(a, safe)})});
}
ValueNames integer_div(const Written& w) {
  return {guarded(w, [&](const std::string& a, const std::string& b) { return w.node("Div", {a, b}); })};
}
std::string floor_of_quotient(const Written& w, const std::string& a, const std::string& b) {
  if (is_floating(w.dtype())) return w.node("Floor", {w.node("Div", {a, b})});
  const std::string rest = w.node("Mod", {a, b});
  return w.node("Div", {w.node("Sub", {a, rest}), b});
}
std::string floor_divide_written(const Written& w) {
  if (is_floating(w.dtype())) return floor_of_quotient(w, w.in(0), w.in(1));
  return guarded(w, [&](const std::string& a, const std::string& b) { return floor_of_quotient(w, a, b); });
}
// The rest of a division, whose sign is the divisor's, or with `fmod` the dividend's.
template <std::int64_t fmod>
std::string integer_rest(const Written& w) {
  const std::string zero = whole(w, 0);
  std::string none = w.node("Equal", {w.in(1), zero});
  if (is_signed(w.dtype())) none = w.node("Or", {none, w.node("Equal", {w.in(1), whole(w, -1)})});
  const std::string safe = w.node("Where", {none, whole(w, 1), w.in(1)});
  return w.node("Where", {none, zero, w.node("Mod", {w.in(0), safe}, {{"fmod", fmod}})});
}
std::string remainder_written(const Written& w) {
  if (!is_floating(w.dtype())) return integer_rest<0>(w);
  return w.node("Sub", {w.in(0), w.node("Mul", {floor_of_quotient(w, w.in(0), w.in(1)), w.in(1)})});
}

// The same operator whatever the operands, or where it is not safe the body of a function (by its own row).
std::string direct_or(const Written& w, std::string_view op, bool direct) {
  if (!direct) w.lacks("{} of {}", w.op(), name(w.dtype()));
  return truth_node(w, op);
}

// Of floats alone, as ONNX has it.
std::string only_floats(const Written& w, std::string_view op) { return direct_or(w, op, is_floating(w.dtype())); }

std::string relu_written(const Written& w) {
  return is_floating(w.dtype()) ? truth_node(w, "Relu") : w.node("Max", {w.in(0), whole(w, 0)});
}
std::string clamp_written(const Written& w) {
  const bool numbers = w.rank(1) == 0 && w.rank(2) == 0;
  if (numbers && !is_bool(w)) return w.node("Clip", {w.in(0), w.in(1), w.in(2)});
  const std::string_view most = is_bool(w) ? "And" : "Min", least = is_bool(w) ? "Or" : "Max";
  return w.node(most, {w.node(least, {w.in(0), w.in(1)}), w.in(2)});
}
std::string trunc_written(const Written& w) {
  const std::string below = w.node("Less", {w.in(0), number(w, 0)});
  return w.node("Where", {below, w.node("Ceil", {w.in(0)}), w.node("Floor", {w.in(0)})});
}
std::string is_finite_written(const Written& w) {
  const std::string x =
      w.dtype() == DType::f32 || w.dtype() == DType::f64 ? w.in(0) : w.cast(w.in(0), w.dtype(), DType::f32);
  return w.node("Not", {w.node("Or", {w.node("IsInf", {x}), w.node("IsNaN", {x})})});
}
std::string is_inf_written(const Written& w) {
  const bool wide = w.dtype() == DType::f32 || w.dtype() == DType::f64;
  return w.node("IsInf", {wide ? w.in(0) : w.cast(w.in(0), w.dtype(), DType::f32)});
}
std::string is_nan_written(const Written& w) { return w.node("IsNaN", {w.in(0)}); }
std::string gelu_written(const Written& w) { return w.node("Gelu", {w.in(0)}); }
std::string gelu_tanh_written(const Written& w) {
  return w.node("Gelu", {w.in(0)}, {{"approximate", std::string("tanh")}});
}

// x op y, in the operands' type.
std::string times(const Written& w, const std::string& x, double factor) {
  return w.node("Mul", {x, number(w, factor)});
}
std::string plus(const Written& w, const std::string& x, double term) { return w.node("Add", {x, number(w, term)}); }

std::string negative_sign(const Written& w, const std::string& x) {
  const std::string zero = number(w, 0);
  const std::string less = w.node("Less", {x, zero});
  if (!is_floating(w.dtype())) return less;
  return w.node("Or",
                {less, w.node("And", {w.node("Equal", {x, zero}), w.node("Less", {w.node("Reciprocal", {x}), zero})})});
}
std::string copysign_written(const Written& w) {
  const std::string size = w.node("Abs", {w.in(0)});
  return w.node("Where", {negative_sign(w, w.in(1)), w.node("Neg", {size}), size});
}
std::string expm1_written(const Written& w) {
  // tanh(x / 2) · (exp(x) + 1), which keeps the digits of a small x.
  return w.node("Mul", {w.node("Tanh", {times(w, w.in(0), 0.5)}), plus(w, w.node("Exp", {w.in(0)}), 1)});
}
std::string log1p_of(const Written& w, const std::string& x) {
  // x · log(u) / (u - 1) of u = 1 + x makes up for the digits that u lost (Kahan).
  const std::string u = plus(w, x, 1), above = plus(w, u, -1), log = w.node("Log", {u}), zero = number(w, 0);
  const std::string exact = w.node("Or", {w.node("Equal", {above, zero}), w.node("Equal", {above, x})});
  const std::string scaled = w.node("Mul", {log, w.node("Div", {x, w.node("Where", {exact, number(w, 1), above})})});
  return w.node("Where", {w.node("Equal", {above, zero}), x, w.node("Where", {exact, log, scaled})});
}
std::string log1p_written(const Written& w) { return log1p_of(w, w.in(0)); }
std::string logaddexp_written(const Written& w) {
  const std::string most = w.node("Max", {w.in(0), w.in(1)}), least = w.node("Min", {w.in(0), w.in(1)});
  const std::string same = w.node("Equal", {most, least});
  const std::string apart = w.node("Where", {same, number(w, 0), w.node("Sub", {least, most})});
  return w.node("Add", {most, log1p_of(w, w.node("Exp", {apart}))});
}
std::string atan2_written(const Written& w) {
  constexpr double pi = 3.14159265358979323846;
  const std::string &y = w.in(0), &x = w.in(1), zero = number(w, 0);
  const std::string down = negative_sign(w, y), left = negative_sign(w, x);
  const std::string infinite = w.node("And", {w.node("Equal", {w.node("Abs", {x}), number(w, HUGE_VAL)}),
                                              w.node("Equal", {w.node("Abs", {y}), number(w, HUGE_VAL)})});
  const std::string none = w.node("And", {w.node("Equal", {x, zero}), w.node("Equal", {y, zero})});
  const std::string size =
      w.node("Div", {w.node("Abs", {y}), w.node("Where", {none, number(w, 1), w.node("Abs", {x})})});
  std::string angle = w.node("Atan", {w.node("Where", {infinite, number(w, 1), size})});
  angle = w.node("Where", {left, w.node("Sub", {number(w, pi), angle}), angle});
  return w.node("Where", {down, w.node("Neg", {angle}), angle});
}
std::string hypot_written(const Written& w) {
  const std::string a = w.node("Abs", {w.in(0)}), b = w.node("Abs", {w.in(1)});
  const std::string most = w.node("Max", {a, b}), least = w.node("Min", {a, b});
  const std::string flat =
      w.node("Or", {w.node("Equal", {most, number(w, 0)}), w.node("Equal", {most, number(w, HUGE_VAL)})});
  const std::string slope = w.node("Div", {least, w.node("Where", {flat, number(w, 1), most})});
  const std::string root = w.node("Sqrt", {plus(w, w.node("Mul", {slope, slope}), 1)});
  return w.node("Where", {flat, most, w.node("Mul", {most, root})});
}
// The lesser or greater; of a NaN the other one.
template <const char* op>
std::string of_numbers(const Written& w) {
  if (!is_floating(w.dtype())) return chosen<op, op == kMin ? kAnd : kOr>(w);
  const std::string both = w.node(op, {w.in(0), w.in(1)});
  return w.node("Where",
                {w.node("IsNaN", {w.in(0)}), w.in(1), w.node("Where", {w.node("IsNaN", {w.in(1)}), w.in(0), both})});
}
std::string lerp_written(const Written& w) {
  const std::string way = w.node("Sub", {w.in(1), w.in(0)});
  const std::string first = w.node("Add", {w.in(0), w.node("Mul", {way, w.in(2)})});
  const std::string rest = w.node("Sub", {number(w, 1), w.in(2)});
  const std::string last = w.node("Sub", {w.in(1), w.node("Mul", {way, rest})});
  return w.node("Where", {w.node("Less", {w.in(2), number(w, 0.5)}), first, last});
}

// Shifts by the width or more give 0, or of a negative number to the right -1.
DType unsigned_of(DType type) {
  switch (type) {
    case DType::i8:
      return DType::u8;
    case DType::i16:
      return DType::u16;
    case DType::i32:
      return DType::u32;
    case DType::i64:
      return DType::u64;
    default:
      return type;
  }
}
std::string shift_written(const Written& w) {
  const DType type = w.dtype(), bare = unsigned_of(type);
  if (bits(type) < 8) w.lacks("of {}", name(type));
  const bool right = w.op() == "shift_right";
  const std::string zero = w.scalar(0, bare), amount = w.cast(w.in(1), type, bare);
  const std::string less = w.node("Less", {amount, w.scalar(bits(type), bare)});
  const std::string safe = w.node("Where", {less, amount, zero});
  const auto shifted = [&](const std::string& x) {
    const std::string y = w.node("BitShift", {x, safe}, {{"direction", std::string(right ? "RIGHT" : "LEFT")}});
    return w.node("Where", {less, y, zero});
  };
  const std::string x = w.cast(w.in(0), type, bare);
  if (!right || bare == type) return w.cast(shifted(x), bare, type);
  const std::string below = w.node("Less", {w.in(0), w.scalar(0, type)});
  const std::string down = w.node("BitwiseNot", {shifted(w.node("BitwiseNot", {x}))});
  return w.cast(w.node("Where", {below, down, shifted(x)}), bare, type);
}

// Rows of integers are functions where ONNX leaves results undefined; of floats, and by constants that are safe, they
// are the operator.
template <const char* op, ValueNames (*of_integers)(const Written&)>
ValueNames divided(const Written& w) {
  if (is_floating(w.dtype()) || nonzero_constant(w, 1)) {
    WrittenAttributes attributes;
    if (op == kModulo) attributes.push_back({"fmod", std::int64_t{1}});
    return w.nodes(op, w.all(), 1, std::move(attributes));
  }
  return w.function(of_integers);
}

// ONNX's powers of integers are of 32 and 64 bits, and those by negative exponents are not defined.
std::string integer_power(const Written& w) {
  const auto as_i64 = [&](std::int64_t v) { return w.scalar(v, DType::i64); };
  const std::string a = w.cast(w.in(0), w.dtype(), DType::i64), b = w.cast(w.in(1), w.dtype(), DType::i64);
  std::string y = w.node("Pow", {a, w.node("Max", {b, as_i64(0)})});
  if (is_signed(w.dtype())) {
    const std::string odd = w.node("Mod", {b, as_i64(2)}), one = w.node("Equal", {a, as_i64(1)});
    const std::string sign = w.node("Sub", {as_i64(1), w.node("Mul", {odd, as_i64(2)})});
    const std::string minus = w.node("Where", {w.node("Equal", {a, as_i64(-1)}), sign, as_i64(0)});
    y = w.node("Where", {w.node("Less", {b, as_i64(0)}), w.node("Where", {one, as_i64(1), minus}), y});
  }
  return w.cast(y, DType::i64, w.dtype());
}
ValueNames pow_written(const Written& w) {
  return is_floating(w.dtype()) ? w.nodes("Pow", w.all(), 1) : w.function(written<integer_power>);
}

std::string neg_written(const Written& w) {
  const bool has_sign = is_floating(w.dtype()) || is_signed(w.dtype());
  return has_sign ? truth_node(w, "Neg") : w.node("Sub", {whole(w, 0), w.in(0)});
}
// ONNX compares numbers alone.
template <const char* op>
std::string compared(const Written& w) {
  if (!is_bool(w)) return truth_node(w, op);
  return w.node(op, {w.cast(w.in(0), DType::boolean, DType::i32), w.cast(w.in(1), DType::boolean, DType::i32)});
}
constexpr char kLess[] = "Less", kLessOrEqual[] = "LessOrEqual", kGreater[] = "Greater",
               kGreaterOrEqual[] = "GreaterOrEqual";

constexpr WriteRow kWritten[] = {
    // ---- Arithmetic
    by("neg", written<neg_written>),
    same_as("abs", "Abs"),
    same_as("sign", "Sign"),
    by("ceil", written<[](const Written& w) { return only_floats(w, "Ceil"); }>),
    by("floor", written<[](const Written& w) { return only_floats(w, "Floor"); }>),
    by("round", written<[](const Written& w) { return only_floats(w, "Round"); }>),
    by("trunc", written<trunc_written>),
    same_as("sqrt", "Sqrt"),
    as_function("rsqrt", written<[](const Written& w) { return w.node("Reciprocal", {w.node("Sqrt", {w.in(0)})}); }>),
    as_function("cbrt", written<[](const Written& w) {
                  return w.node("Mul", {w.node("Sign", {w.in(0)}),
                                        w.node("Pow", {w.node("Abs", {w.in(0)}), number(w, 1.0 / 3)})});
                }>),
    same_as("reciprocal", "Reciprocal"),
    // (A product that goes into a sum may be rounded with it.)
    as_function("square", written<[](const Written& w) { return w.node("Mul", {w.in(0), w.in(0)}); }>),
    same_as("add", "Add"),
    same_as("sub", "Sub"),
    same_as("mul", "Mul"),
    by("div", divided<kQuotient, integer_div>),
    as_function("div_rn", written<[](const Written& w) { return w.node("Div", {w.in(0), w.in(1)}); }>),
    as_function("floor_divide", written<floor_divide_written>),
    by("rem", divided<kModulo, written<integer_rest<1>>>),
    as_function("remainder", written<remainder_written>),
    by("pow", pow_written),
    by("min", written<chosen<kMin, kAnd>>),
    by("max", written<chosen<kMax, kOr>>),
    as_function("fmin", written<of_numbers<kMin>>),
    as_function("fmax", written<of_numbers<kMax>>),
    as_function("fma",
                written<[](const Written& w) { return w.node("Add", {w.node("Mul", {w.in(0), w.in(1)}), w.in(2)}); }>),
    by("clamp", written<clamp_written>),
    as_function("lerp", written<lerp_written>),
    as_function("copysign", written<copysign_written>),
    as_function("signbit", written<[](const Written& w) { return negative_sign(w, w.in(0)); }>),
    as_function("hypot", written<hypot_written>),

    // ---- Functions
    same_as("exp", "Exp"),
    as_function("exp2", written<[](const Written& w) { return w.node("Pow", {number(w, 2), w.in(0)}); }>),
    as_function("expm1", written<expm1_written>),
    same_as("log", "Log"),
    as_function("log2",
                written<[](const Written& w) { return times(w, w.node("Log", {w.in(0)}), 1.44269504088896340736); }>),
    as_function("log10",
                written<[](const Written& w) { return times(w, w.node("Log", {w.in(0)}), 0.43429448190325182765); }>),
    as_function("log1p", written<log1p_written>),
    as_function("logaddexp", written<logaddexp_written>),
    same_as("sin", "Sin"),
    same_as("cos", "Cos"),
    same_as("tan", "Tan"),
    same_as("asin", "Asin"),
    same_as("acos", "Acos"),
    same_as("atan", "Atan"),
    as_function("atan2", written<atan2_written>),
    same_as("sinh", "Sinh"),
    same_as("cosh", "Cosh"),
    same_as("tanh", "Tanh"),
    same_as("asinh", "Asinh"),
    same_as("acosh", "Acosh"),
    same_as("atanh", "Atanh"),
    same_as("erf", "Erf"),
    as_function("erfc",
                written<[](const Written& w) { return w.node("Sub", {number(w, 1), w.node("Erf", {w.in(0)})}); }>),

    // ---- Activations
    same_as("sigmoid", "Sigmoid"),
    as_function(
        "logsigmoid",
        written<[](const Written& w) { return w.node("Neg", {w.node("Softplus", {w.node("Neg", {w.in(0)})})}); }>),
    same_as("softplus", "Softplus"),
    same_as("mish", "Mish"),
    by("relu", written<relu_written>),
    by("gelu_erf", written<gelu_written>),
    by("gelu_tanh", written<gelu_tanh_written>),
    as_function("gelu_quick", written<[](const Written& w) {
                  return w.node("Mul", {w.in(0), w.node("Sigmoid", {times(w, w.in(0), 1.702)})});
                }>),
    as_function("silu",
                written<[](const Written& w) { return w.node("Mul", {w.in(0), w.node("Sigmoid", {w.in(0)})}); }>),

    // ---- Comparisons, tests, logic and bits
    same_as("equal", "Equal"),
    by("not_equal", written<negated_equal>),
    by("less", written<compared<kLess>>),
    by("less_equal", written<compared<kLessOrEqual>>),
    by("greater", written<compared<kGreater>>),
    by("greater_equal", written<compared<kGreaterOrEqual>>),
    by("is_nan", written<is_nan_written>),
    by("is_inf", written<is_inf_written>),
    by("is_finite", written<is_finite_written>),
    same_as("logical_not", "Not"),
    same_as("logical_and", "And"),
    same_as("logical_or", "Or"),
    same_as("logical_xor", "Xor"),
    by("bitwise_not", written<chosen<kBitNot, kNot>>),
    by("bitwise_and", written<chosen<kBitAnd, kAnd>>),
    by("bitwise_or", written<chosen<kBitOr, kOr>>),
    by("bitwise_xor", written<chosen<kBitXor, kXor>>),
    as_function("shift_left", written<shift_written>),
    as_function("shift_right", written<shift_written>),
    same_as("select", "Where"),
};

}  // namespace

OperatorRows elementwise_rows() { return {"", kRows, kWritten}; }

}  // namespace weft::onnx
