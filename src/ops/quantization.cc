// Quantisation as elementwise operations and products (weft/quantization.h).
#include "weft/quantization.h"

#include <cmath>
#include <format>
#include <string>
#include <utility>
#include <vector>

#include "core/format.h"
#include "graph/graph.h"
#include "kernels/quantize/expressions.h"
#include "ops/axes.h"
#include "ops/elementwise.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

using kernels::kQuantizedTypes, kernels::kScaleTypes, kernels::kShiftedTypes;

void require(std::string_view function, std::string_view what, const Tensor& x, TypeSet types) {
  if (types.contains(x.dtype())) return;
  throw TypeError("{}: {} is {}, expected {}", function, what, to_string(x.type()), to_string(types));
}

// Zero points may be missing: an undefined Tensor.
bool is_given(const TensorLike& x) { return !x.tensor() || x.tensor()->defined(); }
TensorLike as_operand(const ZeroPoint& zero_point) {
  return zero_point.value() ? *zero_point.value() : TensorLike(Tensor());
}

// ---- Types

Tensor scale_of(std::string_view function, const TensorLike& scale, DType of_number) {
  if (!scale.tensor()) return Graph::scalar(scale.number(), of_number);
  require(function, "the scale", *scale.tensor(), kScaleTypes);
  return *scale.tensor();
}

// The type of a quantised result.
DType quantized_type(std::string_view function, const TensorLike& zero_point, std::optional<DType> asked) {
  const Tensor* zero = is_given(zero_point) ? zero_point.tensor() : nullptr;
  const DType type = asked.value_or(zero ? zero->dtype() : DType::i8);
  if (kQuantizedTypes.contains(type)) return type;
  throw TypeError("{}: the result's type is {}, expected one of {}", function, name(type), to_string(kQuantizedTypes));
}

// The zero point as a tensor of the quantised type; undefined if there is none.
Tensor zero_of(std::string_view function, const TensorLike& zero_point, DType type, TypeSet shifted) {
  if (!is_given(zero_point)) return {};
  if (!shifted.contains(type)) {
    throw TypeError("{}: a zero point is given, but {} has none; expected one of {}", function, name(type),
                    to_string(shifted));
  }
  if (const Tensor* zero = zero_point.tensor()) {
    if (zero->dtype() == type) return *zero;
    throw TypeError("{}: the zero point is {}, expected {}, as the quantised values", function, to_string(zero->type()),
                    name(type));
  }
  if (!zero_point.number().integral()) {
    throw TypeError("{}: the zero point is {}, expected an integer of {}", function, to_string(zero_point.number()),
                    name(type));
  }
  return as_tensor(function, zero_point, type);
}

// ---- Granularity

// The operands of an elementwise operation, which broadcast to x, whose shape is another one for blocks.
struct Placed {
  Tensor x, scale, zero;
};

struct Granularity {
  std::string_view function;
  int axis = 1;
  std::int64_t block = 0;

  Placed place(const Tensor& x, const Tensor& scale, const Tensor& zero) const {
    if (block < 0)
      throw InvalidArgument("{}: blocks of {} elements, expected 1 or more, or 0 for none", function, block);
    if (zero.defined() && zero.size() != 1 && zero.shape() != scale.shape()) {
      throw ShapeError("{}: the zero point is {} and the scale {}, expected one shape", function,
                       to_string(zero.type()), to_string(scale.type()));
    }
    if (block > 0) return in_blocks(x, scale, zero);
    return {x, along(x, scale), zero.defined() ? along(x, zero) : zero};
  }

 private:
  static Tensor single(const Tensor& v) { return v.rank() == 0 ? v : reshape(v, {}); }

  // A scale or a zero point so that it broadcasts to x.
  Tensor along(const Tensor& x, const Tensor& v) const {
    if (v.size() == 1) return single(v);
    if (v.rank() == x.rank() && broadcasts_to(v.shape(), x.shape())) return v;
    std::string expected;
    if (v.rank() == 1) {
      const int a = normalize_axis(axis, x.rank(), function);
      if (v.shape()[0] == x.shape()[a]) {
        Shape shape = Shape::filled(x.rank(), 1);
        shape[a] = v.shape()[0];
        return reshape(v, shape);
      }
      expected = std::format("[{}] for axis {}, ", x.shape()[a], a);
    }
    throw ShapeError(
        "{}: the scale is {} for x {}; expected one element, {}or rank {} and sizes that broadcast to x's "
        "(blocks: options.block)",
        function, to_string(v.type()), to_string(x.type()), expected, x.rank());
  }

  Placed in_blocks(const Tensor& x, const Tensor& scale, const Tensor& zero) const {
    const int a = normalize_axis(axis, x.rank(), function);
    const std::int64_t n = x.shape()[a], blocks = n / block + (n % block != 0);
    Shape expected = x.shape();
    expected[a] = blocks;
    if (scale.shape() != expected) {
      throw ShapeError("{}: the scale is {} for x {} in blocks of {} along axis {}, expected {}", function,
                       to_string(scale.type()), to_string(x.type()), block, a, to_string(expected));
    }
    const auto each = [&](const Tensor& v, const auto& place) {
      return !v.defined() ? v : v.size() == 1 ? single(v) : place(v);
    };
    if (n % block != 0) {
      // The last block is short, which no view says.
      const auto repeated = [&](const Tensor& v) { return slice(repeat(v, block, a), a, 0, n); };
      return {x, each(scale, repeated), each(zero, repeated)};
    }
    if (x.rank() == kMaxRank) {
      throw ShapeError("{}: x {} in blocks would have {} axes, at most {} are possible", function, to_string(x.type()),
                       x.rank() + 1, kMaxRank);
    }
    Shape shape(std::span(x.shape().begin(), x.shape().begin() + a));
    shape.push_back(blocks);
    shape.push_back(block);
    for (int i = a + 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
    const auto outer = [&](const Tensor& v) { return expand_dims(v, a + 1); };
    return {reshape(x, shape), each(scale, outer), each(zero, outer)};
  }
};

Tensor map(Expression expression, const Placed& p, const Shape& shape) {
  std::vector<Tensor> inputs{p.x, p.scale};
  if (p.zero.defined()) inputs.push_back(p.zero);
  const Tensor y = apply(make_op<ElementwiseOp>(std::move(expression)), std::move(inputs));
  return y.shape() == shape ? y : reshape(y, shape);
}

using MakeExpression = Expression (*)(DType x, DType scale, bool has_zero_point, DType q,
                                      const kernels::QuantizeOptions& options);

Tensor to_quantized(std::string_view function, MakeExpression make, const Tensor& x, const TensorLike& scale,
                    const TensorLike& zero_point, const QuantizeOptions& o) {
  const Tensor s = scale_of(function, scale, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  const DType q = quantized_type(function, zero_point, o.dtype);
  const Tensor zero = zero_of(function, zero_point, q, kShiftedTypes);
  const Placed p = Granularity{function, o.axis, o.block}.place(x, s, zero);
  return map(make(x.dtype(), s.dtype(), zero.defined(), q, {.saturate = o.saturate}), p, x.shape());
}

// The derivatives of fake quantisation, PyTorch's: of x as if it did not round, and so 0 where it saturates; none of
// the scale and the zero point. Operands as the operation has them.
class StraightThrough final : public CustomDerivative {
 public:
  explicit StraightThrough(Expression in_range) : in_range_(std::move(in_range)) { results = 1; }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> cotangents) const override {
    std::vector<Tensor> all(call.inputs.size());
    if (call.wanted[0]) all[0] = passed(call, cotangents[0]);
    return all;
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> tangents) const override {
    return std::vector{tangents[0].defined() ? passed(call, tangents[0]) : Tensor()};
  }

 private:
  Tensor passed(const Differentiated& call, const Tensor& t) const {
    const Tensor in_range = apply(make_op<ElementwiseOp>(in_range_), call.inputs);
    return select(in_range, t, 0);
  }

  Expression in_range_;
};

// ---- Products

constexpr TypeSet kBytes{DType::i8, DType::u8};

// The zero point of a product's operand; undefined if it has none.
Tensor product_zero(std::string_view function, std::string_view what, const Tensor& zero, const Tensor& of) {
  if (!zero.defined() || zero.dtype() == of.dtype()) return zero;
  throw TypeError("{}: the zero point of {} is {}, expected {}", function, what, to_string(zero.type()),
                  name(of.dtype()));
}

void require_broadcast(std::string_view function, std::string_view what, const Tensor& v, const Shape& to) {
  if (!v.defined() || v.size() == 1 || broadcasts_to(v.shape(), to)) return;
  throw ShapeError("{}: {} is {}, expected one element or a shape that broadcasts to {}", function, what,
                   to_string(v.type()), to_string(to));
}

// One element as a number, so that it broadcasts to anything.
Tensor plain(const Tensor& v) { return v.defined() && v.size() == 1 && v.rank() > 0 ? reshape(v, {}) : v; }

// x - zero of 8-bit integers, which 16 bits hold.
Tensor shifted(const Tensor& x, const Tensor& zero) {
  return zero.defined() ? cast(x, DType::i16) - cast(zero, DType::i16) : x;
}

// The sums' scale divided by the result's.
Tensor multiplier(std::string_view function, const Tensor& a_scale, const Tensor& b_scale, const Tensor& y_scale) {
  for (const auto& [what, scale] :
       {std::pair("the first scale", &a_scale), {"the second scale", &b_scale}, {"the result's scale", &y_scale}}) {
    require(function, what, *scale, kScaleTypes);
  }
  const auto as_f32 = [](const Tensor& v) { return cast(plain(v), DType::f32); };
  return div_rn(as_f32(a_scale) * as_f32(b_scale), as_f32(y_scale));
}

Tensor requantized(std::string_view function, const Tensor& sums, const Tensor& scale, const Tensor& zero_point,
                   DType dtype, int axis) {
  require_broadcast(function, "the result's zero point", zero_point, sums.shape());
  // Scales of fewer axes than the sums are those of the last ones; of one axis along `axis`.
  Tensor s = scale, zero = plain(zero_point);
  const auto padded = [&](const Tensor& v) {
    if (v.size() == 1 || v.rank() == sums.rank()) return v;
    Shape shape = Shape::filled(sums.rank(), 1);
    for (int i = 0; i < v.rank(); ++i) shape[sums.rank() - v.rank() + i] = v.shape()[i];
    return reshape(v, shape);
  };
  if (s.rank() != 1) s = padded(s);
  if (zero.defined() && zero.rank() != 0)
    zero = broadcast_to(padded(zero), sums.shape()), s = broadcast_to(s, sums.shape());
  const std::optional<DType> type = zero.defined() ? std::nullopt : std::optional(dtype);
  return to_quantized(function, kernels::requantize_expression, sums, s, zero, {.dtype = type, .axis = axis});
}

Tensor convolved(std::string_view function, const Tensor& x, const Tensor& w, const Tensor& x_zero,
                 const Tensor& w_zero, const Tensor& bias, const ConvOptions& o) {
  const Tensor zx = plain(product_zero(function, "x", x_zero, x));
  Tensor zw = plain(product_zero(function, "w", w_zero, w));
  if (zx.defined() && zx.rank() != 0) {
    throw ShapeError("{}: the zero point of x is {}, expected one element", function, to_string(zx.type()));
  }
  if (zw.defined() && zw.rank() != 0) {
    if (zw.rank() != 1 || zw.size() != w.shape()[0]) {
      throw ShapeError("{}: the zero point of w is {}, expected one element or [{}]", function, to_string(zw.type()),
                       w.shape()[0]);
    }
    Shape shape = Shape::filled(w.rank(), 1);
    shape[0] = zw.size();
    zw = reshape(zw, shape);
  }
  // Outside of x there are zeros, which stand for x_zero when it is taken off before.
  return conv(shifted(x, zx), shifted(w, zw), bias, o);
}

// ---- Rows

constexpr std::string_view kSameShape = "x's shape", kZeroShape = "one element, or the scale's shape";
constexpr std::string_view kScaleShape = "one element, [n] along axis, x's rank, or a number for each block";
constexpr std::string_view kQuantizedType = "dtype; without one the zero point's, or i8";
constexpr std::string_view kQuantizedResult = "that of y_zero; without one dtype";
constexpr FunctionOperand kScale = {.name = "scale", .shape = kScaleShape};
constexpr FunctionOperand kZero = {.name = "zero_point", .arity = Arity::optional, .shape = kZeroShape};

constexpr std::string_view kAxisMeaning = "the axis of a scale of rank 1, and of blocks";
constexpr std::string_view kBlockMeaning = "how many elements along axis share a scale; 0: no blocks";

struct QuantizeAttributes : QuantizeOptions {
  void fields(AttributeVisitor& v) {
    v("dtype", dtype, {}, "the type of the result; without one the zero point's, or i8");
    v("axis", axis, 1, kAxisMeaning);
    v("block", block, 0, kBlockMeaning);
    v("saturate", saturate, true, "8-bit floats that are too large become the largest number, else infinity or NaN");
  }
};
constexpr Function kQuantize = {
    {.name = "quantize",
     .operands = {{"x", kScaleTypes}, kScale, kZero},
     .results = {{"y", kSameShape, kQuantizedType}},
     .formula = "y = saturate(round(x / scale) + zero_point)",
     .summary = "x as integers or 8-bit floats times a scale; ties go to the even integer"},
    [](const Tensor& x, const TensorLike& scale, const TensorLike& zero_point, const QuantizeAttributes& o) {
      return to_quantized("quantize", kernels::quantize_expression, x, scale, zero_point, o);
    }};
constexpr Function kRequantize = {
    {.name = "requantize",
     .operands = {{"x", kScaleTypes | DType::i32}, kScale, kZero},
     .results = {{"y", kSameShape, kQuantizedType}},
     .formula = "y = saturate(round(x · scale) + zero_point)",
     .summary = "the i32 sums of a product of quantised numbers, quantised again"},
    [](const Tensor& x, const TensorLike& scale, const TensorLike& zero_point, const QuantizeAttributes& o) {
      return to_quantized("requantize", kernels::requantize_expression, x, scale, zero_point, o);
    }};

struct DequantizeAttributes : DequantizeOptions {
  void fields(AttributeVisitor& v) {
    v("dtype", dtype, {}, "the type of the result; without one the scale's, of a number f32");
    v("axis", axis, 1, kAxisMeaning);
    v("block", block, 0, kBlockMeaning);
  }
};
constexpr Function kDequantize = {
    {.name = "dequantize",
     .operands = {{"q", kQuantizedTypes}, kScale, kZero},
     .results = {{"y", "q's shape", "dtype; without one the scale's, of a number f32"}},
     .formula = "y = (q - zero_point) · scale",
     .summary = "the numbers that quantised ones stand for"},
    [](const Tensor& q, const TensorLike& scale, const TensorLike& zero_point, const DequantizeAttributes& o) {
      constexpr std::string_view kName = "dequantize";
      const Tensor s = scale_of(kName, scale, o.dtype == DType::f64 ? DType::f64 : DType::f32);
      const DType type = o.dtype.value_or(s.dtype());
      if (!kScaleTypes.contains(type)) {
        throw TypeError("dequantize: the result's type is {}, expected one of {}", name(type), to_string(kScaleTypes));
      }
      const Tensor zero = zero_of(kName, zero_point, q.dtype(), kShiftedTypes);
      const Placed p = Granularity{kName, o.axis, o.block}.place(q, s, zero);
      return map(kernels::dequantize_expression(q.dtype(), s.dtype(), zero.defined(), type), p, q.shape());
    }};

struct FakeQuantizeAttributes : FakeQuantizeOptions {
  void fields(AttributeVisitor& v) {
    v("low", low, -128, "the least integer");
    v("high", high, 127, "the greatest integer");
    v("axis", axis, 1, kAxisMeaning);
    v("block", block, 0, kBlockMeaning);
  }
};
constexpr Function kFakeQuantize = {
    {.name = "fake_quantize",
     .operands = {{"x", kScaleTypes}, kScale, kZero},
     .results = {{"y", kSameShape, "x's type"}},
     .formula = "y = (min(max(round(x / scale) + zero_point, low), high) - zero_point) · scale",
     .summary = "what quantising leaves of x"},
    [](const Tensor& x, const TensorLike& scale, const TensorLike& zero_point, const FakeQuantizeAttributes& o) {
      constexpr std::string_view kName = "fake_quantize";
      const kernels::IntegerRange range{o.low, o.high};
      kernels::check_range(kName, range);
      const Tensor s = scale_of(kName, scale, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
      Tensor zero;
      if (is_given(zero_point)) {
        if (const Tensor* t = zero_point.tensor()) {
          require(kName, "the zero point", *t, types::numbers);
          // Types that a kernel takes and that hold every value; no range reaches as far as the largest u64.
          const DType type = t->dtype();
          if (type == DType::u64) {
            zero = cast(minimum(*t, std::numeric_limits<std::int64_t>::max()), DType::i64);
          } else if (is_integer(type)) {
            zero = cast(*t, type == DType::i64 || type == DType::u32 ? DType::i64 : DType::i32);
          } else {
            zero = cast(*t, x.dtype() == DType::f64 && type == DType::f64 ? type : DType::f32);
          }
        } else {
          const Number& n = zero_point.number();
          const bool whole = n.value() == std::trunc(n.value()) && fits(n, DType::i32);
          zero = Graph::scalar(n, whole ? DType::i32 : x.dtype() == DType::f64 ? DType::f64 : DType::f32);
        }
      }
      const std::optional<DType> zero_type = zero.defined() ? std::optional(zero.dtype()) : std::nullopt;
      const Placed p = Granularity{kName, o.axis, o.block}.place(x, s, zero);
      std::vector<Tensor> operands{p.x, p.scale};
      if (p.zero.defined()) operands.push_back(p.zero);
      const Tensor y = apply(
          make_op<ElementwiseOp>(kernels::fake_quantize_expression(x.dtype(), s.dtype(), zero_type, range)), operands);
      const auto derivative =
          std::make_shared<const StraightThrough>(kernels::in_range_expression(x.dtype(), s.dtype(), zero_type, range));
      const Tensor made = with_derivative(derivative, std::vector{y}, operands)[0];
      return made.shape() == x.shape() ? made : reshape(made, x.shape());
    }};

struct DynamicQuantizeAttributes : DynamicQuantizeOptions {
  void fields(AttributeVisitor& v) {
    v("dtype", dtype, DType::u8, "the type of the values");
    v("axes", axes, {}, "over which a scale is shared; without them all axes");
    v("symmetric", symmetric, false, "without a zero point");
  }
};
constexpr Function kDynamicQuantize = {
    {.name = "dynamic_quantize",
     .operands = {{"x", kScaleTypes}},
     .results = {{"values", kSameShape, "dtype"},
                 {"scale", "[], or x's shape with 1 for the axes", "f32, f64 of f64"},
                 {"zero_point", "the scale's shape; symmetric: none", "dtype"}},
     .formula = "values = quantize(x, scale, zero_point)",
     .summary = "x quantised by its own range, with the scale and the zero point"},
    [](const Tensor& x, const DynamicQuantizeAttributes& o) -> Quantized {
      constexpr std::string_view kName = "dynamic_quantize";
      const TypeSet expected = (o.symmetric ? kQuantizedTypes : kShiftedTypes) - TypeSet{DType::i32, DType::u32};
      if (!expected.contains(o.dtype) || (o.symmetric && !is_signed(o.dtype))) {
        throw TypeError("dynamic_quantize: the result's type is {}, expected {}one of {}", name(o.dtype),
                        o.symmetric ? "with a sign, " : "", to_string(expected));
      }
      const bool all = static_cast<int>(normalized_axes(o.axes, x.rank(), kName).size()) == x.rank();
      const DType type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
      const auto [low, high] = kernels::quantized_range(o.dtype);
      const auto number = [&](double value) { return Graph::scalar(value, type); };
      const auto usable = [&](const Tensor& scale) { return select(scale == 0, number(1), scale); };
      // Over no elements there is no range.
      if (x.size() == 0)
        throw ShapeError("dynamic_quantize: x is {}, which has no elements to measure", to_string(x.type()));
      if (o.symmetric) {
        const Tensor scale = usable(div_rn(cast(max(abs(x), o.axes, !all), type), number(high)));
        return {quantize(x, scale, {}, {.dtype = o.dtype}), scale, {}};
      }
      const Tensor least = minimum(cast(min(x, o.axes, !all), type), number(0));
      const Tensor most = maximum(cast(max(x, o.axes, !all), type), number(0));
      // (A range past that of the type, in parts.)
      const Tensor range = most - least, steps = number(high - low);
      const Tensor scale =
          usable(select(is_finite(range), div_rn(range, steps), div_rn(most, steps) - div_rn(least, steps)));
      const Tensor zero = cast(round(clamp(number(low) - div_rn(least, scale), number(low), number(high))), o.dtype);
      return {quantize(x, scale, zero), scale, zero};
    }};

constexpr FunctionOperand zero_operand(std::string_view name, std::string_view shape) {
  return {.name = name, .arity = Arity::optional, .shape = shape};
}
constexpr std::string_view kOfRows = "one element, or [..., m, 1]", kOutputs = "one element, or [outputs]";
constexpr std::string_view kOfColumns = "one element, [n], or [..., 1, n]", kOne = "one element";

constexpr Function kMatmulInteger = {
    {.name = "matmul_integer",
     .operands = {{.name = "a", .types = kBytes, .shape = "[..., m, k]"},
                  {.name = "b", .types = kBytes, .shape = "[..., k, n]"},
                  zero_operand("a_zero", kOfRows),
                  zero_operand("b_zero", kOfColumns)},
     .results = {{"y", "[..., m, n]", "i32"}},
     .formula = "y[…, m, n] = Σ_k (a[…, m, k] - a_zero) · (b[…, k, n] - b_zero)",
     .summary = "the product of quantised matrices without their scales"},
    [](const Tensor& a, const Tensor& b, const Tensor& a_zero, const Tensor& b_zero) {
      constexpr std::string_view kName = "matmul_integer";
      if (a.rank() < 2 || b.rank() < 2) {
        throw ShapeError("matmul_integer: a is {} and b {}, expected [..., m, k] and [..., k, n]", to_string(a.type()),
                         to_string(b.type()));
      }
      const Tensor za = plain(product_zero(kName, "a", a_zero, a)), zb = plain(product_zero(kName, "b", b_zero, b));
      Shape rows = a.shape(), columns = b.shape();
      rows[-1] = 1, columns[-2] = 1;
      require_broadcast(kName, "the zero point of a", za, rows);
      require_broadcast(kName, "the zero point of b", zb, columns);
      // Σ (a - za) (b - zb) = Σ a b - zb Σ a - za (Σ b - k zb): the sums are of rows and columns, and the rest is done
      // where the product's kernel stores it. All of it wraps alike.
      Tensor y = matmul(a, b);
      const auto wide = [](const Tensor& v) { return cast(v, DType::i32); };
      if (zb.defined()) y = y - wide(zb) * wide(sum(a, -1, true));
      if (za.defined()) {
        Tensor of_b = wide(sum(b, -2, true));
        if (zb.defined()) of_b = of_b - wide(zb) * static_cast<std::int32_t>(a.shape()[-1]);
        y = y - wide(za) * of_b;
      }
      return y;
    }};

struct ConvIntegerAttributes : ConvOptions {
  void fields(AttributeVisitor& v) {
    v("strides", strides, {}, "elements of x from an output to the next, for each spatial axis; none: 1");
    v("dilations", dilations, {}, "elements of x from an element of the filter to the next; none: 1");
    v("padding", padding, {}, "elements x_zero in front of x, negative: elements that are left out; none: 0");
    v("padding_after", padding_after, {}, "the same behind x; none: as padding");
    v("groups", groups, 1, "how many groups of channels there are, each with filters of its own");
    v("channels_last", channels_last, false, "the channels are the last axis of x and y");
  }
};
constexpr FunctionOperand kImage = {.name = "x", .types = kBytes, .shape = "as of conv"};
constexpr FunctionOperand kFilter = {.name = "w", .types = kBytes, .shape = "as of conv"};

constexpr Function kConvInteger = {
    {.name = "conv_integer",
     .operands = {kImage, kFilter, zero_operand("x_zero", kOne), zero_operand("w_zero", kOutputs)},
     .results = {{"y", "as of conv", "i32"}},
     .formula = "y = conv(x - x_zero, w - w_zero)",
     .summary = "the convolution of quantised tensors without their scales"},
    [](const Tensor& x, const Tensor& w, const Tensor& x_zero, const Tensor& w_zero, const ConvIntegerAttributes& o) {
      return convolved("conv_integer", x, w, x_zero, w_zero, {}, o);
    }};

struct ResultAttributes {
  DType dtype = DType::i8;
  void fields(AttributeVisitor& v) { v("dtype", dtype, DType::i8, "the type of the result without a zero point"); }
};
constexpr Function kQlinearMatmul = {
    {.name = "qlinear_matmul",
     .operands = {{.name = "a", .types = kBytes, .shape = "[..., m, k]"},
                  {.name = "a_scale", .shape = kOfRows},
                  zero_operand("a_zero", kOfRows),
                  {.name = "b", .types = kBytes, .shape = "[..., k, n]"},
                  {.name = "b_scale", .shape = kOfColumns},
                  zero_operand("b_zero", kOfColumns),
                  {.name = "y_scale", .shape = kOfColumns},
                  zero_operand("y_zero", kOfColumns)},
     .results = {{"y", "[..., m, n]", kQuantizedResult}},
     .formula = "y = quantize(matmul(dequantize(a), dequantize(b)))",
     .summary = "the product of quantised matrices, quantised"},
    [](const Tensor& a, const Tensor& a_scale, const Tensor& a_zero, const Tensor& b, const Tensor& b_scale,
       const Tensor& b_zero, const Tensor& y_scale, const Tensor& y_zero, const ResultAttributes& o) {
      constexpr std::string_view kName = "qlinear_matmul";
      const Tensor sums = matmul_integer(a, b, a_zero, b_zero);
      const Tensor scale = multiplier(kName, a_scale, b_scale, y_scale);
      require_broadcast(kName, "the scale", scale, sums.shape());
      return requantized(kName, sums, scale, y_zero, o.dtype, -1);
    }};

struct QlinearConvAttributes : ConvIntegerAttributes {
  DType dtype = DType::i8;
  void fields(AttributeVisitor& v) {
    v("dtype", dtype, DType::i8, "the type of the result without a zero point");
    ConvIntegerAttributes::fields(v);
  }
};
constexpr Function kQlinearConv = {
    {.name = "qlinear_conv",
     .operands = {kImage,
                  {.name = "x_scale", .shape = kOne},
                  zero_operand("x_zero", kOne),
                  kFilter,
                  {.name = "w_scale", .shape = kOutputs},
                  zero_operand("w_zero", kOutputs),
                  {.name = "y_scale", .shape = kOne},
                  zero_operand("y_zero", kOne),
                  zero_operand("bias", "[outputs]")},
     .results = {{"y", "as of conv", kQuantizedResult}},
     .formula = "y = quantize(conv(dequantize(x), dequantize(w)) + bias)",
     .summary = "the convolution of quantised tensors, quantised"},
    [](const Tensor& x, const Tensor& x_scale, const Tensor& x_zero, const Tensor& w, const Tensor& w_scale,
       const Tensor& w_zero, const Tensor& y_scale, const Tensor& y_zero, const Tensor& bias,
       const QlinearConvAttributes& o) {
      constexpr std::string_view kName = "qlinear_conv";
      if (bias.defined()) require(kName, "the bias", bias, DType::i32);
      for (const auto& [what, v] :
           {std::pair("x's scale", &x_scale), {"the result's scale", &y_scale}, {"the result's zero point", &y_zero}}) {
        if (!v->defined() || v->size() == 1) continue;
        throw ShapeError("qlinear_conv: {} is {}, expected one element", what, to_string(v->type()));
      }
      if (w_scale.size() != 1 && w_scale.shape() != Shape{w.shape()[0]}) {
        throw ShapeError("qlinear_conv: w's scale is {}, expected one element or one for each output",
                         to_string(w_scale.type()));
      }
      const Tensor sums = convolved(kName, x, w, x_zero, w_zero, bias, o);
      const Tensor scale = multiplier(kName, x_scale, w_scale, y_scale);
      return requantized(kName, sums, scale, y_zero, o.dtype, o.channels_last ? -1 : 1);
    }};

}  // namespace

void add_quantization_functions(FunctionRows& rows) {
  rows.add(kQuantize, kRequantize, kDequantize, kFakeQuantize, kDynamicQuantize);
  rows.add(kMatmulInteger, kConvInteger, kQlinearMatmul, kQlinearConv);
}

// ---- The functions

Tensor quantize(const Operand& x, const TensorLike& scale, const ZeroPoint& zero_point, const QuantizeOptions& o) {
  return kQuantize(x, scale, as_operand(zero_point), {o});
}
Tensor dequantize(const Operand& q, const TensorLike& scale, const ZeroPoint& zero_point, const DequantizeOptions& o) {
  return kDequantize(q, scale, as_operand(zero_point), {o});
}
Tensor requantize(const Operand& x, const TensorLike& scale, const ZeroPoint& zero_point, const QuantizeOptions& o) {
  return kRequantize(x, scale, as_operand(zero_point), {o});
}
Tensor fake_quantize(const Operand& x, const TensorLike& scale, const ZeroPoint& zero_point,
                     const FakeQuantizeOptions& o) {
  return kFakeQuantize(x, scale, as_operand(zero_point), {o});
}
Quantized dynamic_quantize(const Operand& x, const DynamicQuantizeOptions& o) { return kDynamicQuantize(x, {o}); }

Tensor matmul_integer(const Operand& a, const Operand& b, const Operand& a_zero, const Operand& b_zero) {
  return kMatmulInteger(a, b, a_zero, b_zero);
}
Tensor conv_integer(const Operand& x, const Operand& w, const Operand& x_zero, const Operand& w_zero,
                    const ConvOptions& o) {
  return kConvInteger(x, w, x_zero, w_zero, {o});
}
Tensor qlinear_matmul(const QuantizedOperand& a, const QuantizedOperand& b, const QuantizedResult& y) {
  return kQlinearMatmul(a.values, a.scale, a.zero_point, b.values, b.scale, b.zero_point, y.scale, y.zero_point,
                        {y.dtype});
}
Tensor qlinear_conv(const QuantizedOperand& x, const QuantizedOperand& w, const QuantizedResult& y, const Operand& bias,
                    const ConvOptions& o) {
  return kQlinearConv(x.values, x.scale, x.zero_point, w.values, w.scale, w.zero_point, y.scale, y.zero_point, bias,
                      {{o}, y.dtype});
}

}  // namespace weft
