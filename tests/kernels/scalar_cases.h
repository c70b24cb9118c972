// Shared by the tests of scalar operations: operations as expressions, arguments in range, and tolerances.
#pragma once

#include "kernels/elementwise/scalar_ops.h"
#include "support/kernel_test.h"
#include "weft/kernels/elementwise.h"

namespace weft::test {

// The types in which a GPU computes.
inline constexpr DType kComputingTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f8e4m3,  DType::f8e5m2,
                                            DType::i8,  DType::i16, DType::i32,  DType::i64,     DType::u8,
                                            DType::u16, DType::u32, DType::u64,  DType::boolean, DType::c64,
                                            DType::i4,  DType::u4,  DType::i2,   DType::u2};

inline bool takes(ScalarOp op, DType type) { return (kernels::info(op).types & kernels::type_set(type)) != 0; }

// Devices' sqrt, inverse square root and division have WGSL's errors (2 to 2.5 ULP, sqrt is derived from both); Weft's
// own functions have 4 ULP on each side of the comparison.
inline Tolerance tolerance(ScalarOp op, DType type) {
  using enum ScalarOp;
  // Complex products cancel.
  if (type == DType::c64) {
    const bool moves = op == neg || op == real || op == imag || op == conj || op == select || op == add || op == sub;
    if (moves) return {};
    // A power is as far off as its logarithm, times its magnitude.
    const bool large = op == ScalarOp::div || op == reciprocal || op == ScalarOp::pow;
    return {.ulp = 4, .absolute = large ? 1e-3 : 1e-5, .relative = 1e-5};
  }
  const kernels::ErrorBound error = kernels::info(op).error();
  const double ulp = type == DType::f32 ? error.ulp : std::min(error.ulp, 1.0);
  return {.ulp = ulp, .absolute = error.absolute, .relative = error.relative};
}

inline Tolerance composite_tolerance(DType type) { return {.ulp = type == DType::f32 ? 4.0 : 1.0, .absolute = 3e-7}; }

// An expression that applies `op` to inputs of one type (select: a condition before them).
inline Expression one_op(ScalarOp op, DType type) {
  Expression e;
  if (op == ScalarOp::select) {
    const int c = e.input(DType::boolean);
    const int a = e.input(type);
    e.output(e.apply(op, {c, a, e.input(type)}));
  } else if (arity(op) == 1) {
    e.output(e.apply(op, {e.input(type)}));
  } else if (arity(op) == 2) {
    const int a = e.input(type);
    e.output(e.apply(op, {a, e.input(type)}));
  } else {
    const int a = e.input(type);
    const int b = e.input(type);
    e.output(e.apply(op, {a, b, e.input(type)}));
  }
  return e;
}

inline KernelCall call_of(const Expression& e) {
  return [e](Stream& s, auto in, auto out) { kernels::map(s, e, in, out); };
}

// Operations on bits, which see denormal operands that others may treat as zero.
inline bool sees_denormals(ScalarOp op) {
  using enum ScalarOp;
  return op == ScalarOp::abs || op == sign || op == relu || op == min || op == max || op == ScalarOp::fmin ||
         op == ScalarOp::fmax || op == clamp || op == select || op == is_nan || op == is_inf || op == is_finite ||
         op == ScalarOp::signbit || op == ScalarOp::copysign || op == ScalarOp::nextafter || op == real || op == imag ||
         op == conj || op == ScalarOp::complex || (op >= equal && op <= greater_equal);
}

inline void flush_denormals(const View& v) {
  if (v.dtype != DType::f32 && v.dtype != DType::bf16) return;
  for (std::int64_t i = 0; i < v.count(); ++i) {
    if (std::abs(value(v, i)) < 0x1p-126) set_element_bits(v, i, 0);
  }
}

// Sums that cancel, and products of infinite parts, cannot be compared.
inline Values values_for(ScalarOp op, DType type) {
  return op == ScalarOp::lerp || (type == DType::c64 && !sees_denormals(op)) ? Values::ordinary : Values::special;
}

// Moves arguments into the range of `op`.
inline void make_fit(ScalarOp op, DType type, std::span<const View> in, Rng& rng) {
  if (!sees_denormals(op)) std::ranges::for_each(in, flush_denormals);
  // Hardware may drop the sign of an f16's NaN.
  if (type == DType::f16 && (op == ScalarOp::signbit || op == ScalarOp::copysign)) {
    for (const View& v : in) {
      for (std::int64_t i = 0; i < v.count(); ++i) {
        if (std::isnan(value(v, i))) set_element_bits(v, i, 0x7e00);
      }
    }
  }
  // A device may round between fma's product and its sum: the product must not overflow if the sum would not.
  if (op == ScalarOp::fma && (type == DType::f32 || type == DType::bf16)) {
    for (const View& v : in.first(2)) {
      for (std::int64_t i = 0; i < v.count(); ++i) {
        const double x = std::abs(value(v, i));
        if (x >= 0x1p63 && std::isfinite(x)) {
          set_element_bits(v, i, element_bits(v, i) - (std::uint64_t{66} << (bits(type) - 9)));
        }
        // Nor must the rounding error of the product be all that remains when the sum cancels: products of 12 digits
        // are exact.
        if (type == DType::f32 && std::isfinite(x)) set_element_bits(v, i, element_bits(v, i) & 0xfffff000u);
      }
    }
  }
  // Exponents of complex powers, which are then of numbers that f32 tells apart.
  if (op == ScalarOp::pow && type == DType::c64) {
    for (std::int64_t i = 0; i < in[1].count(); ++i) {
      const std::uint64_t b = element_bits(in[1], i), one = 0x3f800000;
      const auto within_1 = [&](std::uint64_t part) {
        return std::min(part & 0x7fffffffu, one) | (part & 0x80000000u);
      };
      set_element_bits(in[1], i, within_1(b & 0xffffffffu) | within_1(b >> 32) << 32);
    }
  }
  // Of inverses the last operand is a probability, and the others are parameters of which it does not become a high
  // power.
  if (op == ScalarOp::gammaincinv || op == ScalarOp::gammainccinv || op == ScalarOp::betaincinv) {
    const auto set = [&](const View& v, std::int64_t i, double x) {
      set_element_bits(v, i, element_bits(host_view(type, {1}, std::vector<double>{x}), 0));
    };
    for (const View& v : in) {
      const bool probability = &v == &in.back();
      for (std::int64_t i = 0; i < v.count(); ++i) {
        const double x = value(v, i);
        if (probability && std::isfinite(x) && std::abs(x) > 1 && i % 8 != 0) set(v, i, 1 / std::abs(x));
        if (!probability && x != 0 && std::abs(x) < 0.25) set(v, i, 0.25 + std::abs(x));
      }
    }
    flush_denormals(in.back());  // reciprocals of the largest numbers
  }
  // Shift amounts and exponents beyond a little more than the width are not interesting.
  if (op == ScalarOp::shift_left || op == ScalarOp::shift_right || (op == ScalarOp::pow && is_integer(type))) {
    const std::uint64_t mask = (std::uint64_t{1} << std::min(bits(type), 32)) - 1;
    for (std::int64_t k = 0; k < in[1].count() * 3 / 4; ++k) {
      set_element_bits(in[1], k, rng() % static_cast<std::uint64_t>(bits(type) + 8) & mask);
    }
  }
}

}  // namespace weft::test
