#include "kernels/quantize/expressions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weft/error.h"

namespace weft::kernels {
namespace {

using enum ScalarOp;

// ---- Exact quotients
// WGSL allows a division to be off by 2.5 units in the last place, and 2.5 or 0.49999997 instead of a tie is another
// integer. So a quotient is found in two steps: the device's, from which follows a number `near` that has few bits and
// is at most one tie away (for integers the tie itself, k + ½), and near + (x - near · scale) / scale. The difference
// is computed without rounding error wherever it decides: `near` and the scale are cut into parts of 8 bits, whose
// products are exact in f32, and the products come off in descending order, so that every difference is exact, too
// (Sterbenz 1974). One sum at the end rounds the quotient; fusing a product and a difference to an fma changes nothing.
// Where x or the scale is huge, or the scale is tiny, both are first multiplied by a power of two, so that products
// neither overflow nor lose bits as denormals.

// x, an f32, as a sum of `count` numbers of at most 8 bits each: bf16 has as many.
std::vector<int> parts(Expression& e, int x, int count) {
  std::vector<int> all;
  for (int left = x; static_cast<int>(all.size()) < count;) {
    const bool last = static_cast<int>(all.size()) + 1 == count;
    all.push_back(last ? left : e.cast(e.cast(left, DType::bf16), DType::f32));
    if (!last) left = e.apply(sub, {left, all.back()});
  }
  return all;
}

// How many parts of 8 bits hold a scale of this type.
int scale_parts(DType scale) { return scale == DType::bf16 ? 1 : scale == DType::f16 ? 2 : 3; }

// near + (x - near · s) / s; `pieces` of 8 bits hold `near`.
int corrected(Expression& e, int x, int s, DType scale, int near, int pieces) {
  const std::vector<int> a = parts(e, near, pieces), b = parts(e, s, scale_parts(scale));
  int rest = x;
  for (std::size_t order = 0; order + 1 < a.size() + b.size(); ++order) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (order >= i && order - i < b.size()) rest = e.apply(sub, {rest, e.apply(mul, {a[i], b[order - i]})});
    }
  }
  return e.apply(add, {near, e.apply(ScalarOp::div, {rest, s})});
}

int limited(Expression& e, int x, double low, double high, DType type) {
  return e.apply(clamp, {x, e.constant(low, type), e.constant(high, type)});
}

// What may become of a quotient: integers up to a magnitude, or an 8-bit float.
struct Target {
  double limit = 0;  // of the integers
  bool eight_bit_float = false;
};

Target target_of(DType q) {
  if (is_floating(q)) return {.eight_bit_float = true};
  // A zero point at one end of the type makes room for its whole width on the other side.
  return {.limit = bits(q) == 32 ? 0x1p32 : 2 * std::exp2(bits(q))};
}

// x / s, to be rounded to the target; x and s are f32, made of `from` and `scale`.
int corrected_quotient(Expression& e, int x, int s, DType from, DType scale, const Target& target) {
  const int q = e.apply(ScalarOp::div, {x, s});
  const double limit = target.eight_bit_float ? 0x1p16 : target.limit;
  const int finite = limited(e, q, -limit, limit, DType::f32);
  const auto within = [&](int v, double bound, ScalarOp compare = less) {
    return e.apply(compare, {e.apply(ScalarOp::abs, {v}), e.constant(bound, DType::f32)});
  };
  // Beyond the limit the quotient saturates. That by an infinite scale is zero or NaN, as the device's is.
  int inside = within(q, limit);
  inside = e.apply(logical_and, {inside, within(s, double{std::numeric_limits<float>::max()}, less_equal)});
  if (scale != DType::f16 || from != DType::f16) {  // f16 is neither huge nor tiny
    const auto constant = [&](double v) { return e.constant(v, DType::f32); };
    const int moderate = e.apply(logical_and, {within(x, 0x1p100), within(s, 0x1p100)});
    const int shrunk = e.apply(select, {moderate, constant(1), constant(0x1p-40)});
    const int factor = e.apply(select, {within(s, 0x1p-100), constant(0x1p40), shrunk});
    x = e.apply(mul, {x, factor});
    s = e.apply(mul, {s, factor});
  }
  const auto exact = [&](int near, int pieces) {
    return e.apply(select, {inside, corrected(e, x, s, scale, near, pieces), finite});
  };
  if (target.eight_bit_float) {
    // Halfway between two 8-bit floats is a bf16. The sign of zero is the quotient's.
    const int near = e.cast(e.cast(finite, DType::bf16), DType::f32);
    return e.apply(ScalarOp::copysign, {exact(near, 1), q});
  }
  if (target.limit > 0x1p18) return exact(finite, 3);
  // k + ½ has 11 bits for integers of 8, whose product with 8 is exact.
  const int tie = e.apply(add, {e.apply(ScalarOp::floor, {finite}), e.constant(0.5, DType::f32)});
  return exact(tie, target.limit > 0x1p10 ? 2 : 1);
}

// The type in which numbers of these types are computed.
DType computed_in(DType a, DType b) { return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32; }

int divided(Expression& e, int x, int s, DType from, DType scale, DType type, const Target& target,
            Quotients quotients) {
  const int a = e.cast(x, type), b = e.cast(s, type);
  if (type == DType::f64 || quotients == Quotients::ieee) return e.apply(ScalarOp::div, {a, b});
  return corrected_quotient(e, a, b, from, scale, target);
}

// An integer of at most 2^24 in magnitude less a zero point, rounded once to `type`.
int without(Expression& e, std::int64_t from, int zero, DType zero_type, DType type) {
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

Expression quantize_expression(DType x, DType scale, bool has_zero_point, DType q, const QuantizeOptions& options,
                               Quotients quotients) {
  Expression e;
  const int v = e.input(x), s = e.input(scale);
  const std::optional<int> zero = has_zero_point ? std::optional(e.input(q)) : std::nullopt;
  const DType type = computed_in(x, scale);
  e.output(stored(e, divided(e, v, s, x, scale, type, target_of(q), quotients), type, zero, q, options));
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

Expression fake_quantize_expression(DType x, DType scale, std::optional<DType> zero_point, const IntegerRange& range,
                                    Quotients quotients) {
  const auto low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  Expression e;
  const int v = e.input(x), s = e.input(scale);
  const DType type = computed_in(x, scale);
  // The range is moved by the zero point, instead of the quotient by it and back, which would round.
  int least = e.constant(low, type), greatest = e.constant(high, type);
  double reach = std::max(std::abs(low), std::abs(high)) + 1;
  if (zero_point) {
    const int zero = e.input(*zero_point);
    least = without(e, range.low, zero, *zero_point, type);
    greatest = without(e, range.high, zero, *zero_point, type);
    reach = *zero_point == DType::i32 ? 0x1p32 : 0x1p126;
  }
  int q = divided(e, v, s, x, scale, type, {.limit = reach}, quotients);
  // The corrected quotient of -0 is 0, a sum of opposite numbers.
  if (type == DType::f32 && quotients == Quotients::ieee) q = e.apply(add, {q, e.constant(0.0, type)});
  const int y = e.apply(ScalarOp::round, {q});
  e.output(e.cast(e.apply(mul, {e.apply(clamp, {y, least, greatest}), e.cast(s, type)}), x));
  return e;
}

Expression quotient_expression(Quotients quotients) {
  Expression e;
  const int a = e.input(DType::f32), b = e.input(DType::f32);
  e.output(divided(e, a, b, DType::f32, DType::f32, DType::f32, {.limit = 0x1p126}, quotients));
  return e;
}

}  // namespace weft::kernels
