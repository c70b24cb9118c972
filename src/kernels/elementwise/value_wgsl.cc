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

// The integer type in which the library's functions take and give integers of a type.
std::string_view computing_name(DType type) {
  if (bits(type) == 64) return is_signed(type) ? "i64" : "u64";
  return is_signed(type) ? "i32" : "u32";
}

// The value clamped to the range of an integer type of less than 64 bits.
Id clamped(WgslTree& t, DType type, Id value) {
  const int b = bits(type);
  if (!is_signed(type)) return t.call("min", {value, t.u32(static_cast<std::uint32_t>((1ull << b) - 1))});
  return t.call("clamp", {value, t.integer(-(1ll << (b - 1))), t.integer((1ll << (b - 1)) - 1)});
}

Id converted_from_f64(WgslTree& t, DType to, Id x) {
  if (to == DType::boolean) return t.parse("u32((($0.y & 0x7fffffffu) | $0.x) != 0u)", {x});
  if (to == DType::c64) return t.parse("vec2<f32>(f32_from_f64($0, false), 0.0)", {x});
  if (is_floating(to)) {
    return wrapped(t, to, t.parse(bits(to) < 32 ? "f32_from_f64($0, true)" : "f32_from_f64($0, false)", {x}));
  }
  const Id y = t.call(computing_name(to), "_from_f64", {x});
  return bits(to) == 64 ? y : clamped(t, to, y);
}

Id converted_to_f64(WgslTree& t, DType from, Id x) {
  if (is_floating(from)) return t.call("f64_from_f32", {x});
  const DType wide = is_signed(from) ? DType::i64 : DType::u64;
  return t.call("f64_from_", computing_name(wide), {from == wide ? x : converted(t, from, wide, x)});
}

Id converted_to_boolean(WgslTree& t, DType from, Id x) {
  switch (wgsl_family(from)) {
    case 'c':
      return t.parse("u32(is_not_zero_f32($0.x, p.opaque_zero) || is_not_zero_f32($0.y, p.opaque_zero))", {x});
    case 'f':
      return t.parse("u32(is_not_zero_f32($0, p.opaque_zero))", {x});
    case 'l':
    case 'm':
      return t.parse("u32(any($0 != vec2<u32>(0u)))", {x});
    default:
      return t.parse("u32($0 != 0)", {x});
  }
}

// An integer as an f32, to be rounded to the float type `to` if that is narrower.
Id integer_as_f32(WgslTree& t, DType from, DType to, Id x) {
  if (!casts_by_f32(from, to)) return t.call("odd_f32_from_", computing_name(from), {x});
  return bits(from) == 64 ? t.call("f32_from_", computing_name(from), {x}) : t.call("f32", {x});
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
  switch (type) {
    case DType::f16:
      return t.parse("unpack2x16float(narrow_f16($0)).x", {value});
    case DType::bf16:
      return t.parse("bitcast<f32>(narrow_bf16($0) << 16u)", {value});
    case DType::f8e4m3:
      return t.parse("widen_bits(narrow_bits($0, 4u, 3u, true), 4u, 3u, true)", {value});
    case DType::f8e5m2:
      return t.parse("widen_bits(narrow_bits($0, 5u, 2u, false), 5u, 2u, false)", {value});
    default:
      break;
  }
  const auto b = static_cast<std::uint32_t>(bits(type));
  if (b >= 32 || type == DType::boolean) return value;
  if (is_signed(type)) return t.parse("(($0 << $1) >> $1)", {value, t.u32(32 - b)});
  return t.parse("($0 & $1)", {value, t.u32((1u << b) - 1)});
}

Id converted(WgslTree& t, DType from, DType to, Id x) {
  if (from == DType::f64) return converted_from_f64(t, to, x);
  if (to == DType::f64 && from != DType::c64) return converted_to_f64(t, from, x);
  if (to == DType::boolean) return converted_to_boolean(t, from, x);
  if (from == DType::c64) return converted(t, DType::f32, to, t.member(x, "x"));
  if (to == DType::c64) {
    return t.call("vec2<f32>", {from == DType::f32 ? x : converted(t, from, DType::f32, x), t.name("0.0")});
  }
  if (is_floating(from) && is_floating(to)) return wrapped(t, to, x);
  if (is_floating(to)) return wrapped(t, to, integer_as_f32(t, from, to, x));
  if (is_floating(from)) {
    const Id y = t.call(computing_name(to), "_from_f32", {x});
    return bits(to) >= 32 ? y : clamped(t, to, y);
  }
  if (bits(to) == 64) {
    if (bits(from) == 64) return x;
    return t.parse(is_signed(from) ? "vec2<u32>(bitcast<u32>($0), bitcast<u32>($0 >> 31u))" : "vec2<u32>($0, 0u)", {x});
  }
  return wrapped(t, to, t.call(computing_name(to), {bits(from) == 64 ? t.member(x, "x") : x}));
}

void keep_half_rounding(WgslTree& t, Id conversion) {
  const Id unpacked = t[conversion].args[0];
  const Id kept = t.parse("$0 + p.opaque_zero", {t[unpacked].args[0]});
  t[unpacked].args[0] = kept;
}

Id hidden(WgslTree& t, DType type, Id value) {
  if (type == DType::c64) {
    return t.parse("bitcast<vec2<f32>>(bitcast<vec2<u32>>($0) ^ vec2<u32>(p.opaque_zero))", {value});
  }
  return t.parse(wgsl_family(type) == 'i' ? "bitcast<i32>(bitcast<u32>($0) ^ p.opaque_zero)"
                                          : "f32_from_bits(bitcast<u32>($0) ^ p.opaque_zero)",
                 {value});
}

}  // namespace weft::kernels
