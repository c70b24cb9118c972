// The JSON parts of the safetensors format, read as a stream, so that memory is bounded by what is stored, whatever the
// file contains, and duplicate names are detected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/dtype.h"

namespace weft {

inline constexpr std::uint64_t kMaxSafeTensorsHeader = 100'000'000;  // bytes; limit of the format

// The format's spelling of each type, in the order in which its own library sorts them. There are no 2- and 4-bit
// integers.
inline constexpr std::pair<std::string_view, DType> kSafeTensorsTypes[] = {
    {"BOOL", DType::boolean},   {"U8", DType::u8},   {"I8", DType::i8},   {"F8_E5M2", DType::f8e5m2},
    {"F8_E4M3", DType::f8e4m3}, {"I16", DType::i16}, {"U16", DType::u16}, {"F16", DType::f16},
    {"BF16", DType::bf16},      {"I32", DType::i32}, {"U32", DType::u32}, {"F32", DType::f32},
    {"C64", DType::c64},        {"F64", DType::f64}, {"I64", DType::i64}, {"U64", DType::u64},
};

// One tensor as the header describes it; only the JSON types have been checked.
struct SafeTensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes of the data section
};

struct SafeTensorsHeader {
  std::vector<SafeTensorsEntry> entries;
  std::map<std::string, std::string, std::less<>> metadata;
};

// Both throw FormatError, naming `source` and what was expected.
SafeTensorsHeader parse_safetensors_header(std::string_view json, std::string_view source);
// "weight_map" of an index: tensor name → file name. A file name with a directory in it is refused.
std::map<std::string, std::string> parse_safetensors_index(std::string_view json, std::string_view source);

}  // namespace weft
