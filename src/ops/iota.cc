#include "ops/iota.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>

#include "core/format.h"
#include "cpu/executor.h"
#include "graph/graph.h"
#include "ops/elementwise.h"
#include "ops/op_rows.h"
#include "weft/error.h"
#include "weft/kernels/generate.h"
#include "weft/schema.h"

namespace weft {
namespace {

constexpr std::int64_t kLongest32 = std::int64_t{1} << 31;

// In what a ramp is computed. `scaled`: in 64-bit integers, which then become f32 and are multiplied by a number twice
// (a power of two, which alone may not fit f32).
struct Arithmetic {
  DType type;
  bool scaled = false;
  auto operator<=>(const Arithmetic&) const = default;
};

enum class Form : std::uint8_t { from_start, from_both_ends };

// i · step + start; or from both ends: that in the first half, and stop - (last - i) · step in the second one.
// Operands: i, start, step, then half, last and stop, then the scale.
OpPtr make_ramp_op(Form form, Arithmetic in, DType index, DType dtype) {
  using enum ScalarOp;
  Expression e;
  const int i = e.input(index), start = e.input(in.type), step = e.input(in.type);
  const auto steps = [&](int count) { return e.apply(mul, {e.cast(count, in.type), step}); };
  int y = e.apply(add, {steps(i), start});
  if (form == Form::from_both_ends) {
    const int half = e.input(index), last = e.input(index), stop = e.input(in.type);
    const int back = e.apply(sub, {stop, steps(e.apply(sub, {last, i}))});
    y = e.apply(select, {e.apply(less, {i, half}), y, back});
  }
  if (in.scaled) {
    // Rounded to 52 bits, as a double would be, so that the thousandth step of 0.001 from -1 is 0.
    y = e.apply(bitwise_and, {e.apply(add, {y, e.constant(512, in.type)}), e.constant(-1024, in.type)});
    const int scale = e.input(DType::f32);
    y = e.apply(mul, {e.apply(mul, {e.cast(y, DType::f32), scale}), scale});
  }
  e.output(e.cast(y, dtype));
  return make_op<ElementwiseOp>(std::move(e));
}

// Made once for each of a few kinds.
OpPtr ramp_op(Form form, Arithmetic in, DType index, DType dtype) {
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::map<std::tuple<Form, Arithmetic, DType, DType>, OpPtr>;
  const std::lock_guard lock(mutex);
  OpPtr& op = made[{form, in, index, dtype}];
  if (!op) op = make_ramp_op(form, in, index, dtype);
  return op;
}

// The exponent of a number's lowest bit.
int lowest_bit(double x) {
  int exponent;
  const auto bits = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  constexpr int kNone = 1 << 20;
  return bits ? exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(bits)) : kNone;
}

// How floats that reach as far as `reach` from 0, and are sums of start and multiples of step, are computed.
struct FloatRamp {
  Arithmetic in{DType::f32};
  int exponent = 0;  // of the scale
};

// None: neither form of arithmetic holds them.
std::optional<FloatRamp> float_ramp(double start, double step, double reach) {
  if (reach == 0) return FloatRamp();
  // Scales are normal numbers of f32, and so are most results.
  constexpr int kHighest = 128, kLowest = -188;
  if (!std::isfinite(reach)) return std::nullopt;
  const int above = std::ilogb(reach) + 1;  // reach < 2^above
  if (above > kHighest || above < kLowest) return std::nullopt;
  // f32 is exact if everything is a multiple of a bit that is at most 23 below the highest.
  const int lowest = std::min(lowest_bit(start), lowest_bit(step));
  if (above - lowest <= 24 && lowest >= -126 && above < kHighest) return FloatRamp();
  // Integers of 62 bits: more than a double has, less what adding up the step's error costs.
  const int exponent = above - 62;
  return FloatRamp{{DType::i64, true}, exponent + (exponent & 1)};
}

// The number in the ramp's arithmetic.
Tensor number_in(const FloatRamp& ramp, double value) {
  if (!ramp.in.scaled) return Graph::scalar(value, ramp.in.type);
  return Graph::scalar(static_cast<std::int64_t>(std::llrint(std::ldexp(value, -ramp.exponent))), DType::i64);
}

// Whether the ramp's arithmetic gives a number that it begins or ends with as f32 has it. Scaled integers do not where
// the number is many orders of magnitude less than how far the ramp reaches.
bool is_exact_in(const FloatRamp& ramp, double value) {
  if (!ramp.in.scaled) return true;
  const std::int64_t v = (std::llrint(std::ldexp(value, -ramp.exponent)) + 512) & -1024;
  return static_cast<float>(std::ldexp(static_cast<double>(v), ramp.exponent)) == static_cast<float>(value);
}

// Data that a kernel computes on the host: for f64, which GPUs store but do not compute, and for numbers past the range
// of f32.
template <class F>
Tensor made_on_host(DType dtype, const Shape& shape, F&& f) {
  const std::int64_t count = element_count(shape);
  // More than 64 bits count is more than there is.
  const std::uint64_t bytes =
      count < std::int64_t{1} << 59 ? byte_size(dtype, static_cast<std::uint64_t>(count)) : ~std::uint64_t{0};
  const auto memory = std::make_shared<const Buffer>(Buffer::host(bytes));
  const View y(*memory, 0, dtype, shape);
  cpu::Executor executor;
  if (count > 0) f(executor, y);
  const std::span<const std::byte> elements(count > 0 ? memory->data() : nullptr, static_cast<std::size_t>(bytes));
  return Graph::constant({dtype, shape, elements, memory});
}

void check_type(std::string_view function, DType dtype, TypeSet types, std::string_view expected) {
  if (types.contains(dtype)) return;
  throw TypeError("{}: the result is {}, expected {}", function, name(dtype), expected);
}

}  // namespace

std::vector<TensorType> IotaOp::infer(std::span<const TensorType>) const {
  return {{a.count > kLongest32 ? DType::i64 : DType::i32, {a.count}}};
}

void IotaOp::lower(const Launch& call) const { kernels::arange(call.stream, 0, 1, call.outputs[0]); }

Work IotaOp::work(const Launch& call) const {
  Work w = Op::work(call);
  w.flops = static_cast<double>(a.count);
  return w;
}

Tensor iota(std::int64_t count) { return apply(make_op<IotaOp>(IotaAttributes{count}), {}); }

Tensor ramp(const Number& start, const Number& step, std::int64_t count, DType dtype) {
  check_type("arange", dtype, types::numbers, "a number");
  const Tensor i = iota(count);
  if (is_integer(dtype)) {
    const auto first = start.integer(), by = step.integer();
    if (!first || !by) {
      throw InvalidArgument("arange: from {} by {} in {}; expected numbers that 64 bits hold", start.value(),
                            step.value(), name(dtype));
    }
    // Wider integers wrap to narrower ones in the end.
    const bool has_sign = info(dtype).kind == DTypeKind::signed_integer;
    const bool wide = bits(dtype) == 64;
    const DType type = wide ? dtype : has_sign ? DType::i32 : DType::u32;
    const auto in_type = [&](std::uint64_t v) {
      if (wide) return has_sign ? Number(static_cast<std::int64_t>(v)) : Number(v);
      return has_sign ? Number(static_cast<std::int32_t>(v)) : Number(static_cast<std::uint32_t>(v));
    };
    return apply(ramp_op(Form::from_start, {type}, i.dtype(), dtype),
                 {i, Graph::scalar(in_type(*first), type), Graph::scalar(in_type(*by), type)});
  }
  const double first = start.value(), by = count > 1 ? step.value() : 0;
  const double last = first + static_cast<double>(std::max<std::int64_t>(count - 1, 0)) * by;
  const double reach = std::max({std::abs(first), std::abs(last), std::abs(last - first)});
  const auto form = dtype == DType::f64 ? std::nullopt : float_ramp(first, by, reach);
  if (!form || !is_exact_in(*form, first)) {
    return made_on_host(dtype, {count}, [&](Stream& s, const View& y) { kernels::arange(s, start, step, y); });
  }
  std::vector<Tensor> operands{i, number_in(*form, first), number_in(*form, by)};
  if (form->in.scaled) operands.push_back(Graph::scalar(std::ldexp(1.0, form->exponent / 2), DType::f32));
  return apply(ramp_op(Form::from_start, form->in, i.dtype(), dtype), std::move(operands));
}

Tensor ramp_between(double start, double stop, std::int64_t count, DType dtype) {
  check_type("linspace", dtype, types::floats, "a float");
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  const double reach = std::max({std::abs(start), std::abs(stop), std::abs(stop - start)});
  const bool finite = std::isfinite(start) && std::isfinite(stop);  // (NaN is no maximum)
  const auto form = dtype == DType::f64 || !finite ? std::nullopt : float_ramp(start, step, reach);
  if (!form || !is_exact_in(*form, start) || !is_exact_in(*form, stop)) {
    return made_on_host(dtype, {count}, [&](Stream& s, const View& y) { kernels::linspace(s, start, stop, y); });
  }
  const Tensor i = iota(count);
  const auto index = [&](std::int64_t n) { return Graph::scalar(n, i.dtype()); };
  std::vector<Tensor> operands{i,
                               number_in(*form, start),
                               number_in(*form, step),
                               index((count + 1) / 2),
                               index(count - 1),
                               number_in(*form, stop)};
  if (form->in.scaled) operands.push_back(Graph::scalar(std::ldexp(1.0, form->exponent / 2), DType::f32));
  return apply(ramp_op(Form::from_both_ends, form->in, i.dtype(), dtype), std::move(operands));
}

Tensor band(std::int64_t rows, std::int64_t columns, DType dtype, ScalarOp compare, std::int64_t diagonal) {
  element_count({rows, columns});  // checks the sizes
  if (dtype == DType::f64) {
    return made_on_host(dtype, {rows, columns}, [&](Stream& s, const View& y) {
      if (compare == ScalarOp::equal) return kernels::eye(s, y, diagonal);
      kernels::triangle(s, compare == ScalarOp::less_equal ? kernels::Triangle::lower : kernels::Triangle::upper, y,
                        diagonal);
    });
  }
  // All diagonals outside of the matrix are alike; clamped, so that they have the differences' type.
  diagonal = std::clamp(diagonal, -rows, columns);
  const DType type = std::max(rows, columns) >= kLongest32 ? DType::i64 : DType::i32;
  // That of a triangle is part of the expression, so that masks are recognised (compiler/mask_window.h).
  const bool is_number = compare == ScalarOp::equal;
  std::vector<Tensor> operands{cast(reshape(iota(columns), {1, columns}), type),
                               cast(reshape(iota(rows), {rows, 1}), type)};
  Expression e;
  const int column = e.input(type), row = e.input(type);
  const int place = is_number ? e.input(type) : e.constant(diagonal, type);
  if (is_number) operands.push_back(Graph::scalar(diagonal, type));
  e.output(e.cast(e.apply(compare, {e.apply(ScalarOp::sub, {column, row}), place}), dtype));
  return apply(make_op<ElementwiseOp>(std::move(e)), std::move(operands));
}

void add_iota_ops(OpRows& rows) {
  rows.push_back(
      op_row<IotaOp>({.name = "iota",
                      .family = "generate",
                      .summary = "the indices of an axis; kernels of elementwise operations compute it themselves",
                      .formula = "y[i] = i",
                      .outputs = {{.name = "y", .shape = "[count]", .type = "i32; i64 from 2^31 + 1 elements on"}},
                      .signatures = {{types::positions}}}));
}

}  // namespace weft
