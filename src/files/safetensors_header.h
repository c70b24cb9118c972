// The JSON parts of the safetensors format, read as a stream, so that memory is bounded by what is stored, whatever the
// file contains, and duplicate names are detected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

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
