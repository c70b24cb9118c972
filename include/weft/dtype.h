// Element types of tensors. A tensor's bytes are the same on the GPU and on the CPU (little endian, no widening).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

enum class DType : std::uint8_t {
  f32,   // IEEE 754 binary32
  f16,   // IEEE 754 binary16
  bf16,  // upper half of binary32
  f64,   // IEEE 754 binary64; storage and CPU only, WGSL has none
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,  // one byte, 0 or 1; any non-zero byte reads as true
  c64,      // complex of two f32, real part first
  i4,
  u4,  // two elements a byte, low nibble first
  i2,
  u2,      // four elements a byte, low bits first
  f8e4m3,  // OCP 8-bit float E4M3 (no infinities, one NaN pattern a sign)
  f8e5m2,  // OCP 8-bit float E5M2 (IEEE-like)
};

inline constexpr int kDTypeCount = 20;

enum class DTypeKind : std::uint8_t { floating, signed_integer, unsigned_integer, boolean, complex };

struct DTypeInfo {
  std::string_view name;  // "f32", "bool", …
  int bits;               // bits an element takes in memory
  DTypeKind kind;
};

// Name, width and kind of a type.
const DTypeInfo& info(DType type);

// The type's name: "f32", "i4".
inline std::string_view name(DType type) { return info(type).name; }
// The width of an element in bits; packed types have less than 8.
inline int bits(DType type) { return info(type).bits; }
// True for real floats of any width; c64 is none.
inline bool is_floating(DType type) { return info(type).kind == DTypeKind::floating; }
// True for signed and unsigned integers of any width; bool is none.
inline bool is_integer(DType type) {
  return info(type).kind == DTypeKind::signed_integer || info(type).kind == DTypeKind::unsigned_integer;
}
// True for types that have negative numbers: signed integers, floats and c64.
inline bool is_signed(DType type) {
  return info(type).kind != DTypeKind::unsigned_integer && info(type).kind != DTypeKind::boolean;
}

// Bytes that `count` dense elements take; the packed types round up to a whole byte. Throws OutOfMemory past 2⁶³.
std::uint64_t byte_size(DType type, std::uint64_t count);

// The type of that name ("f32", "bool", also NumPy's and safetensors' spellings such as "float32" and "F32").
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace weft
