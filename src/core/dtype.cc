#include "weft/dtype.h"

#include <algorithm>
#include <utility>

#include "core/format.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{
    {"f32", 32, DTypeKind::floating},         {"f16", 16, DTypeKind::floating},
    {"bf16", 16, DTypeKind::floating},        {"f64", 64, DTypeKind::floating},
    {"i8", 8, DTypeKind::signed_integer},     {"i16", 16, DTypeKind::signed_integer},
    {"i32", 32, DTypeKind::signed_integer},   {"i64", 64, DTypeKind::signed_integer},
    {"u8", 8, DTypeKind::unsigned_integer},   {"u16", 16, DTypeKind::unsigned_integer},
    {"u32", 32, DTypeKind::unsigned_integer}, {"u64", 64, DTypeKind::unsigned_integer},
    {"bool", 8, DTypeKind::boolean},          {"c64", 64, DTypeKind::complex},
    {"i4", 4, DTypeKind::signed_integer},     {"u4", 4, DTypeKind::unsigned_integer},
    {"i2", 2, DTypeKind::signed_integer},     {"u2", 2, DTypeKind::unsigned_integer},
    {"f8e4m3", 8, DTypeKind::floating},       {"f8e5m2", 8, DTypeKind::floating},
}};

// Other libraries' names in addition to our own: NumPy's, safetensors'.
constexpr std::pair<std::string_view, DType> kAliases[] = {
    {"float32", DType::f32},     {"F32", DType::f32},      {"float16", DType::f16},    {"F16", DType::f16},
    {"bfloat16", DType::bf16},   {"BF16", DType::bf16},    {"float64", DType::f64},    {"F64", DType::f64},
    {"int8", DType::i8},         {"I8", DType::i8},        {"int16", DType::i16},      {"I16", DType::i16},
    {"int32", DType::i32},       {"I32", DType::i32},      {"int64", DType::i64},      {"I64", DType::i64},
    {"uint8", DType::u8},        {"U8", DType::u8},        {"uint16", DType::u16},     {"U16", DType::u16},
    {"uint32", DType::u32},      {"U32", DType::u32},      {"uint64", DType::u64},     {"U64", DType::u64},
    {"boolean", DType::boolean}, {"BOOL", DType::boolean}, {"complex64", DType::c64},  {"C64", DType::c64},
    {"int4", DType::i4},         {"uint4", DType::u4},     {"F8_E4M3", DType::f8e4m3}, {"F8_E5M2", DType::f8e5m2},
};

}  // namespace

const DTypeInfo& info(DType type) { return kInfo[static_cast<std::size_t>(type)]; }

std::uint64_t byte_size(DType type, std::uint64_t count) {
  // Eight elements at a time are whole bytes.
  const auto eight = static_cast<std::uint64_t>(bits(type));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  if (count / 8 >= kMost / eight) throw OutOfMemory("{} elements of {} take more than 2^63 bytes", count, name(type));
  return count / 8 * eight + (count % 8 * eight + 7) / 8;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  const auto* alias = std::ranges::find(kAliases, name, &std::pair<std::string_view, DType>::first);
  if (alias != std::end(kAliases)) return alias->second;
  return std::nullopt;
}

}  // namespace weft
