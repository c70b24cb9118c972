#include "kernels/elementwise/value_wgsl.h"

#include <bit>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "kernels/elementwise/scalar_ops.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

using Id = WgslTree::Id;

Id f32_wgsl(WgslTree& t, float f) {
  // The shortest decimal of the largest number denotes a greater one, which Tint rejects.
  const bool plain = std::isnormal(f) && std::abs(f) < std::numeric_limits<float>::max();
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  return plain || bits == 0 ? t.f32(f) : t.call("f32_from_bits", {t.hex(bits)});
}

// The value clamped to the range of an integer type of less than 64 bits.
Id clamped(WgslTree& t, DType type, Id value) {
  const int b = bits(type);
  if (!is_signed(type)) return t.call("min", {value, t.u32(static_cast<std::uint32_t>((1ull << b) - 1))});
  return t.call("clamp", {value, t.integer(-(1ll << (b - 1))), t.integer((1ll << (b - 1)) - 1)});
}

Id converted_from_f64(WgslTree& t, DType to, Id x) {
  if (to == DType::boolean) {
    const Id magnitude = t.group(t.binary(t.member(x, "y"), "&", t.name("0x7fffffffu")));
    return t.call("u32", {t.binary(t.group(t.binary(magnitude, "|", t.member(x, "x"))), "!=", t.u32(0))});
  }
  const auto rounded = [&](bool to_odd) { return t.call("f32_from_f64", {x, t.name(to_odd ? "true" : "false")}); };
  switch (wgsl_family(to)) {
    case 'c':
      return t.call("vec2<f32>", {rounded(false), t.name("0.0")});
    case 'f':
      return wrapped(t, to, rounded(bits(to) < 32));
    case 'l':
      return t.call("i64_from_f64", {x});
    case 'm':
      return t.call("u64_from_f64", {x});
    case 'i':
      return clamped(t, to, t.call("i32_from_f64", {x}));
    default:
      return clamped(t, to, t.call("u32_from_f64", {x}));
  }
}

Id converted_to_f64(WgslTree& t, DType from, Id x) {
  switch (wgsl_family(from)) {
    case 'f':
      return t.call("f64_from_f32", {x});
    case 'l':
      return t.call("f64_from_i64", {x});
    case 'm':
      return t.call("f64_from_u64", {x});
    case 'i':
      return t.call("f64_from_i64", {converted(t, from, DType::i64, x)});
    default:
      return t.call("f64_from_u64", {converted(t, from, DType::u64, x)});
  }
}

Id converted_from_f32(WgslTree& t, DType to, Id x) {
  switch (wgsl_family(to)) {
    case 'f':
      return wrapped(t, to, x);
    case 'i': {
      const Id y = t.call("i32_from_f32", {x});
      return bits(to) == 32 ? y : clamped(t, to, y);
    }
    case 'u': {
      const Id y = t.call("u32_from_f32", {x});
      return bits(to) == 32 ? y : clamped(t, to, y);
    }
    case 'l':
      return t.call("i64_from_f32", {x});
    default:
      return t.call("u64_from_f32", {x});
  }
}

Id converted_to_boolean(WgslTree& t, DType from, Id x) {
  const auto is_not_zero = [&](Id y) { return t.call("is_not_zero_f32", {y, t.name("p.opaque_zero")}); };
  switch (wgsl_family(from)) {
    case 'c':
      return t.call("u32", {t.binary(is_not_zero(t.member(x, "x")), "||", is_not_zero(t.member(x, "y")))});
    case 'f':
      return t.call("u32", {is_not_zero(x)});
    case 'l':
    case 'm':
      return t.call("u32", {t.call("any", {t.binary(x, "!=", t.call("vec2<u32>", {t.u32(0)}))})});
    default:
      return t.call("u32", {t.binary(x, "!=", t.integer(0))});
  }
}

// An integer as an f32, to be rounded to the float type `to` if that is narrower.
Id integer_as_f32(WgslTree& t, DType from, DType to, Id x) {
  const bool wide = bits(from) == 64, negative = is_signed(from);
  if (!casts_by_f32(from, to)) {
    return t.call(wide       ? negative ? "odd_f32_from_i64" : "odd_f32_from_u64"
                  : negative ? "odd_f32_from_i32"
                             : "odd_f32_from_u32",
                  {x});
  }
  return t.call(!wide ? "f32" : negative ? "f32_from_i64" : "f32_from_u64", {x});
}

}  // namespace

void refuse_f64(std::string_view what) {
  throw Unsupported("{}: f64 cannot compute on a GPU: WGSL has no 64-bit floats; cast to f32, or use the cpu", what);
}

char wgsl_family(DType type) {
  if (type == DType::f64) refuse_f64("an operand");
  if (type == DType::i64) return 'l';
  if (type == DType::u64) return 'm';
  switch (type_set(type)) {
    case kFloat:
      return 'f';
    case kSigned:
      return 'i';
    case kComplex:
      return 'c';
    default:
      return 'u';
  }
}

float constant_f32(const Expression::Node& constant) {
  const std::uint64_t b = constant.bits;
  switch (constant.type) {
    case DType::f16:
      return float16::from_bits(static_cast<std::uint16_t>(b));
    case DType::bf16:
      return bfloat16::from_bits(static_cast<std::uint16_t>(b));
    case DType::f8e4m3:
      return float8_e4m3::from_bits(static_cast<std::uint8_t>(b));
    case DType::f8e5m2:
      return float8_e5m2::from_bits(static_cast<std::uint8_t>(b));
    default:
      return std::bit_cast<float>(static_cast<std::uint32_t>(b));
  }
}

Id constant_wgsl(WgslTree& t, const Expression::Node& constant) {
  const std::uint64_t b = constant.bits;
  const auto low = static_cast<std::uint32_t>(b), high = static_cast<std::uint32_t>(b >> 32);
  switch (wgsl_family(constant.type)) {
    case 'f':
      return f32_wgsl(t, constant_f32(constant));
    case 'c':
      return t.call("vec2<f32>", {f32_wgsl(t, std::bit_cast<float>(low)), f32_wgsl(t, std::bit_cast<float>(high))});
    case 'i': {
      const int unused = 64 - bits(constant.type);
      return t.call("i32", {t.integer(static_cast<std::int64_t>(b << unused) >> unused)});
    }
    case 'u':
      return t.u32(low);
    default:
      return t.call("vec2<u32>", {t.u32(low), t.u32(high)});
  }
}

Id wrapped(WgslTree& t, DType type, Id value) {
  const auto small_float = [&](std::uint32_t exponent, std::uint32_t mantissa, std::string_view finite) {
    const Id bits = t.call("narrow_bits", {value, t.u32(exponent), t.u32(mantissa), t.name(finite)});
    return t.call("widen_bits", {bits, t.u32(exponent), t.u32(mantissa), t.name(finite)});
  };
  switch (type) {
    case DType::f16:
      return t.member(t.call("unpack2x16float", {t.call("narrow_f16", {value})}), "x");
    case DType::bf16:
      return t.call("bitcast<f32>", {t.binary(t.call("narrow_bf16", {value}), "<<", t.u32(16))});
    case DType::f8e4m3:
      return small_float(4, 3, "true");
    case DType::f8e5m2:
      return small_float(5, 2, "false");
    case DType::boolean:
      return value;
    default:
      break;
  }
  const auto b = static_cast<std::uint32_t>(bits(type));
  if (b >= 32) return value;
  if (wgsl_family(type) != 'i') return t.group(t.binary(value, "&", t.u32((1u << b) - 1)));
  return t.group(t.binary(t.group(t.binary(value, "<<", t.u32(32 - b))), ">>", t.u32(32 - b)));
}

Id converted(WgslTree& t, DType from, DType to, Id x) {
  if (from == DType::f64) return converted_from_f64(t, to, x);
  if (to == DType::f64 && from != DType::c64) return converted_to_f64(t, from, x);
  if (to == DType::boolean) return converted_to_boolean(t, from, x);
  const char f = wgsl_family(from);
  if (f == 'c') return converted(t, DType::f32, to, t.member(x, "x"));
  const char as = wgsl_family(to);
  if (as == 'c') {
    return t.call("vec2<f32>", {from == DType::f32 ? x : converted(t, from, DType::f32, x), t.name("0.0")});
  }
  if (f == 'f') return converted_from_f32(t, to, x);
  if (as == 'f') return wrapped(t, to, integer_as_f32(t, from, to, x));
  const bool wide = f == 'l' || f == 'm';
  if (as == 'l' || as == 'm') {
    if (wide) return x;
    const auto word = [&](Id y) { return t.call("bitcast<u32>", {y}); };
    const Id high = f == 'i' ? word(t.binary(x, ">>", t.u32(31))) : t.u32(0);
    return t.call("vec2<u32>", {f == 'i' ? word(x) : x, high});
  }
  return wrapped(t, to, t.call(as == 'i' ? "i32" : "u32", {wide ? t.member(x, "x") : x}));
}

void keep_half_rounding(WgslTree& t, Id conversion) {
  const Id unpacked = t[conversion].args[0];
  const Id kept = t.binary(t[unpacked].args[0], "+", t.name("p.opaque_zero"));
  t[unpacked].args[0] = kept;
}

Id hidden(WgslTree& t, DType type, Id value) {
  const Id zero = t.name("p.opaque_zero");
  if (type == DType::c64) {
    const Id bits = t.binary(t.call("bitcast<vec2<u32>>", {value}), "^", t.call("vec2<u32>", {zero}));
    return t.call("bitcast<vec2<f32>>", {bits});
  }
  const Id bits = t.binary(t.call("bitcast<u32>", {value}), "^", zero);
  return t.call(wgsl_family(type) == 'i' ? "bitcast<i32>" : "f32_from_bits", {bits});
}

}  // namespace weft::kernels
