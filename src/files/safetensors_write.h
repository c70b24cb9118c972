// Writes the safetensors format (weft/safetensors.h).
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "files/write.h"

namespace weft {

// What precedes the data, and the entries in the order of theirs. As the format's own library writes it: wide types
// come first, so that every tensor is aligned to its elements, and the data begins at a multiple of eight bytes.
struct SafeTensorsLayout {
  std::string header;
  std::vector<std::size_t> order;
};
// Throws TypeError for types that the format lacks, InvalidArgument for names that it does not allow.
SafeTensorsLayout safetensors_layout(std::span<const FileEntry> entries,
                                     const std::map<std::string, std::string, std::less<>>& metadata);
// Throws IoError.
void write_safetensors(const std::filesystem::path& path, std::string source, const SafeTensorsLayout& layout,
                       const EntryData& data);

}  // namespace weft
