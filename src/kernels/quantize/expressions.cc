#include "kernels/quantize/expressions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weft/error.h"

namespace weft::kernels {
namespace {

using enum ScalarOp;

int limited(Expression& e, int x, double low, double high, DType type) {
  return e.apply(clamp, {x, e.constant(low, type), e.constant(high, type)});
}

// The type in which numbers of these types are computed.
DType computed_in(DType a, DType b) { return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32; }

// WGSL's own division may be off by 2.5 units in the last place, and 2.5 or 0.49999997 instead of a tie is another
// integer.
int divided(Expression& e, int x, int s, DType type) { return e.apply(div_rn, {e.cast(x, type), e.cast(s, type)}); }

// An integer of at most 2^24 in magnitude less a zero point, rounded once to `type`.
int without(Expression& e, std::int64_t from, int zero, DType zero_type, DType type) {
  if (zero_type == DType::i64) {
    const int difference = e.apply(sub, {e.constant(static_cast<double>(from), DType::i64), zero});
    return e.cast(difference, type);
  }
  if (type == DType::f64 || zero_type != DType::i32) {
    return e.apply(sub, {e.constant(static_cast<double>(from), type), e.cast(zero, type)});
  }
  // f32 does not hold every i32: the difference is one of high and low parts, which are exact in f32.
  constexpr std::int64_t kPart = 4096;
  const int high = e.apply(shift_right, {zero, e.constant(12, DType::i32)});
  const int low = e.apply(bitwise_and, {zero, e.constant(double{kPart - 1}, DType::i32)});
  const std::int64_t from_low = ((from % kPart) + kPart) % kPart;
  const auto difference = [&](std::int64_t a, int b) {
    return e.apply(sub, {e.constant(static_cast<double>(a), type), e.cast(b, type)});
  };
  const int coarse = difference((from - from_low) / kPart, high);
  return e.apply(add, {e.apply(mul, {coarse, e.constant(double{kPart}, type)}), difference(from_low, low)});
}

// `v`, in the type `computed`, rounded and saturated to q.
int stored(Expression& e, int v, DType computed, std::optional<int> zero_point, DType q, const QuantizeOptions& o) {
  if (is_floating(q)) {
    const auto [low, high] = quantized_range(q);
    return e.cast(o.saturate ? limited(e, v, low, high, computed) : v, q);
  }
  v = e.apply(ScalarOp::round, {v});
  if (!zero_point) return e.cast(v, q);
  if (bits(q) < 32) return e.cast(e.apply(add, {v, e.cast(*zero_point, computed)}), q);
  // f32 does not hold every integer of 32 bits: those are added as integers of 64, far from whose ends both stay.
  const auto [low, high] = quantized_range(q);
  const int integer = e.cast(limited(e, v, -0x1p33, 0x1p33, computed), DType::i64);
  const int sum = e.apply(add, {integer, e.cast(*zero_point, DType::i64)});
  const int kept = e.cast(limited(e, sum, low, high, DType::i64), q);
  return e.apply(select, {e.apply(is_nan, {v}), e.constant(0, q), kept});
}

}  // namespace

QuantizedRange quantized_range(DType q) {
  if (q == DType::f8e4m3) return {-448, 448};
  if (q == DType::f8e5m2) return {-57344, 57344};
  const double whole = std::exp2(bits(q));
  return is_signed(q) ? QuantizedRange{-whole / 2, whole / 2 - 1} : QuantizedRange{0, whole - 1};
}

Expression quantize_expression(DType x, DType scale, bool has_zero_point, DType q, const QuantizeOptions& options) {
  Expression e;
  const int v = e.input(x), s = e.input(scale);
  const std::optional<int> zero = has_zero_point ? std::optional(e.input(q)) : std::nullopt;
  const DType type = computed_in(x, scale);
  e.output(stored(e, divided(e, v, s, type), type, zero, q, options));
  return e;
}

Expression dequantize_expression(DType q, DType scale, bool has_zero_point, DType x) {
  Expression e;
  int v = e.input(q);
  const int s = e.input(scale);
  const DType type = computed_in(scale, x);
  if (!has_zero_point) {
    v = e.cast(v, type);
  } else if (const int zero = e.input(q); bits(q) == 32 && type == DType::f32) {
    v = e.cast(e.apply(sub, {e.cast(v, DType::i64), e.cast(zero, DType::i64)}), type);
  } else {
    v = e.apply(sub, {e.cast(v, type), e.cast(zero, type)});
  }
  e.output(e.cast(e.apply(mul, {v, e.cast(s, type)}), x));
  return e;
}

Expression requantize_expression(DType x, DType scale, bool has_zero_point, DType q, const QuantizeOptions& options) {
  Expression e;
  const int v = e.input(x), s = e.input(scale);
  const std::optional<int> zero = has_zero_point ? std::optional(e.input(q)) : std::nullopt;
  const DType type = computed_in(x, scale);
  e.output(stored(e, e.apply(mul, {e.cast(v, type), e.cast(s, type)}), type, zero, q, options));
  return e;
}

namespace {

// Of fake quantisation, in the type that it is computed in: the quotient as an integer, and the range, which is moved
// by the zero point, instead of the quotient by it and back, which would round.
struct FakeQuantized {
  Expression e;
  int scale, integer, least, greatest;
};

FakeQuantized fake_quantized(DType x, DType scale, std::optional<DType> zero_point, const IntegerRange& range) {
  const auto low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  FakeQuantized f;
  Expression& e = f.e;
  const int v = e.input(x), s = e.input(scale);
  const DType type = computed_in(x, scale);
  f.least = e.constant(low, type), f.greatest = e.constant(high, type);
  if (zero_point) {
    const int zero = e.input(*zero_point);
    f.least = without(e, range.low, zero, *zero_point, type);
    f.greatest = without(e, range.high, zero, *zero_point, type);
  }
  f.integer = e.apply(ScalarOp::round, {divided(e, v, s, type)});
  f.scale = s;
  return f;
}

}  // namespace

Expression fake_quantize_expression(DType x, DType scale, std::optional<DType> zero_point, const IntegerRange& range) {
  FakeQuantized f = fake_quantized(x, scale, zero_point, range);
  Expression& e = f.e;
  const int s = e.cast(f.scale, computed_in(x, scale));
  e.output(e.cast(e.apply(mul, {e.apply(clamp, {f.integer, f.least, f.greatest}), s}), x));
  return std::move(e);
}

Expression in_range_expression(DType x, DType scale, std::optional<DType> zero_point, const IntegerRange& range) {
  FakeQuantized f = fake_quantized(x, scale, zero_point, range);
  Expression& e = f.e;
  e.output(e.apply(logical_and,
                   {e.apply(greater_equal, {f.integer, f.least}), e.apply(less_equal, {f.integer, f.greatest})}));
  return std::move(e);
}

}  // namespace weft::kernels
