#include "files/safetensors_write.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/utf8.h"
#include "files/safetensors_header.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

// The place of the type in the format's list.
std::size_t place_of(DType dtype) {
  const auto* type = std::ranges::find(kSafeTensorsTypes, dtype, &std::pair<std::string_view, DType>::second);
  if (type == std::end(kSafeTensorsTypes)) {
    throw TypeError("the safetensors format has no {}; cast it, to i8 for example", name(dtype));
  }
  return static_cast<std::size_t>(type - std::begin(kSafeTensorsTypes));
}

// A string of JSON. Throws InvalidArgument.
std::string quoted(std::string_view text, std::string_view what) {
  if (find_invalid_utf8(text) != text.size()) {
    throw InvalidArgument("{} {} is not UTF-8, which the safetensors format requires", what, in_quotes(text));
  }
  return nlohmann::json(text).dump();
}

}  // namespace

SafeTensorsLayout safetensors_layout(std::span<const FileEntry> entries,
                                     const std::map<std::string, std::string, std::less<>>& metadata) {
  SafeTensorsLayout layout;
  layout.order.resize(entries.size());
  std::iota(layout.order.begin(), layout.order.end(), std::size_t{0});
  std::ranges::sort(layout.order, [&](std::size_t a, std::size_t b) {
    const std::size_t first = place_of(entries[a].type.dtype), second = place_of(entries[b].type.dtype);
    return first != second ? first > second : entries[a].name < entries[b].name;
  });
  std::string json = "{";
  for (const auto& [key, value] : metadata) {
    json += json.size() == 1 ? std::format("\"{}\":{{", kMetadata) : ",";
    json += quoted(key, "the metadata's key") + ":" + quoted(value, "the metadata");
  }
  if (!metadata.empty()) json += "}";
  std::uint64_t at = 0;
  for (const std::size_t i : layout.order) {
    const auto& [name, type] = entries[i];
    if (name == kMetadata) throw InvalidArgument("the safetensors format keeps the name \"{}\" for itself", kMetadata);
    std::string shape;
    for (const std::int64_t size : type.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    // What is past all numbers fits no disk: it is not written.
    const std::uint64_t size = data_size({&entries[i], 1});
    const std::uint64_t end = at + std::min(size, std::numeric_limits<std::uint64_t>::max() - at);
    json +=
        std::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", json.size() == 1 ? "" : ",",
                    quoted(name, "the name"), kSafeTensorsTypes[place_of(type.dtype)].first, shape, at, end);
    at = end;
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kMaxSafeTensorsHeader) {
    throw InvalidArgument("the names take {} bytes as a safetensors header, at most {} are allowed", json.size(),
                          kMaxSafeTensorsHeader);
  }
  for (int i = 0; i < 8; ++i) layout.header += static_cast<char>(json.size() >> (8 * i) & 255);
  layout.header += json;
  return layout;
}

void write_safetensors(const std::filesystem::path& path, std::string source, const SafeTensorsLayout& layout,
                       const EntryData& data) {
  FileWriter file(path, std::move(source));
  file.write(layout.header);
  for (const std::size_t i : layout.order) file.write(data(i));
  file.close();
}

}  // namespace weft
