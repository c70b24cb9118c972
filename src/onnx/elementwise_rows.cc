// Operators on single elements: arithmetic, functions, logic, casts, comparisons and choices; and random numbers.
#include <bit>
#include <limits>
#include <optional>

#include "onnx/node.h"
#include "onnx/tracer.h"
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

}  // namespace

OperatorRows elementwise_rows() { return {"", kRows}; }

}  // namespace weft::onnx
