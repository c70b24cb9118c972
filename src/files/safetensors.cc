#include "weft/safetensors.h"

#include <algorithm>
#include <cstring>
#include <format>
#include <limits>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "core/checked.h"
#include "core/format.h"
#include "core/git_lfs.h"
#include "core/in_quotes.h"
#include "core/mapped_file.h"
#include "core/nearest.h"
#include "core/suffix.h"
#include "files/safetensors_header.h"
#include "weft/error.h"

namespace weft {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kIndexSuffix = ".index.json";

// Types of the format that Weft does not have, and their bits.
constexpr std::pair<std::string_view, int> kForeignDTypes[] = {{"F4", 4},      {"F6_E2M3", 6},     {"F6_E3M2", 6},
                                                               {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};

// The type of a tensor; none if Weft does not have it.
struct StoredType {
  std::optional<DType> dtype;
  int bits;
};

StoredType stored_type_of(const SafeTensorsEntry& entry, std::string_view source) {
  for (const auto& [spelling, dtype] : kSafeTensorsTypes) {
    if (spelling == entry.dtype) return {dtype, bits(dtype)};
  }
  for (const auto& [spelling, bits] : kForeignDTypes) {
    if (spelling == entry.dtype) return {std::nullopt, bits};
  }
  throw FormatError("{}: tensor {} has the unknown type {}; expected one of F32, F16, BF16, I64, …", source,
                    in_quotes(entry.name), in_quotes(entry.dtype));
}

// Bytes of a tensor; throws if sizes or bytes exceed 2⁶³, also of a tensor without elements, because its strides are
// computed, or if the elements end inside a byte.
std::uint64_t checked_bytes(const SafeTensorsEntry& entry, int bits, std::string_view source) {
  const bool empty = std::ranges::find(entry.shape, 0u) != entry.shape.end();
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  // Whole bytes are counted as such, since eight times as many bits would overflow earlier.
  const bool packed = bits < 8;
  std::int64_t count = packed ? bits : bits / 8;
  for (const std::uint64_t size : entry.shape) {
    if (size > kMost || multiply_overflows(count, static_cast<std::int64_t>(std::max<std::uint64_t>(size, 1)), count)) {
      throw FormatError("{}: the shape of tensor {} overflows 64 bits", source, in_quotes(entry.name));
    }
  }
  if (empty) return 0;
  if (packed && count % 8 != 0) {
    throw FormatError("{}: tensor {} takes {} bits, which are no whole bytes", source, in_quotes(entry.name), count);
  }
  return static_cast<std::uint64_t>(packed ? count / 8 : count);
}

std::string shape_text(const SafeTensorsEntry& entry) {
  std::string text = "[";
  for (const std::uint64_t size : entry.shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

Shape shape_of(const SafeTensorsEntry& entry) {
  Shape shape;
  for (const std::uint64_t size : entry.shape) shape.push_back(static_cast<std::int64_t>(size));
  return shape;
}

// Why Weft cannot hold a well-formed tensor; empty if it can.
std::string refusal(const SafeTensorsEntry& entry, const StoredType& type) {
  if (!type.dtype) {
    return std::format("has type {}, which Weft cannot hold; convert it to F32, F16 or BF16", entry.dtype);
  }
  if (entry.shape.size() > kMaxRank) {
    return std::format("has {} dimensions, Weft has at most {}", entry.shape.size(), kMaxRank);
  }
  return {};
}

// The format requires that tensors cover the data from its first byte to its last without holes or overlaps.
void check_layout(std::vector<SafeTensorsEntry>& entries, std::uint64_t data_size, std::string_view source) {
  std::ranges::sort(entries, {}, [](const SafeTensorsEntry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t covered = 0;
  std::string_view previous;
  for (const auto& entry : entries) {
    if (entry.begin < covered) {
      throw FormatError("{}: tensors {} and {} overlap at byte {} of the data", source, in_quotes(previous),
                        in_quotes(entry.name), entry.begin);
    }
    if (entry.begin > covered) {
      throw FormatError("{}: bytes {} to {} of the data belong to no tensor (before {})", source, covered, entry.begin,
                        in_quotes(entry.name));
    }
    covered = entry.end;
    previous = entry.name;
  }
  if (covered != data_size) {
    throw FormatError("{}: the tensors take {} bytes, the file has {} after its header", source, covered, data_size);
  }
}

}  // namespace

std::uint64_t SafeTensors::header_size(std::span<const std::byte> first, std::string_view source) {
  if (first.size() < kLengthBytes) {
    throw FormatError("{}: {} bytes are too few for a safetensors file; the download may have been cut off", source,
                      first.size());
  }
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) size |= std::to_integer<std::uint64_t>(first[i]) << (8 * i);
  if (size > kMaxSafeTensorsHeader) {
    throw FormatError("{}: the header claims {} bytes, at most {} are allowed; this is not a safetensors file", source,
                      size, kMaxSafeTensorsHeader);
  }
  return kLengthBytes + size;
}

SafeTensors SafeTensors::parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                               std::string source) {
  refuse_git_lfs_pointer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, source);
  const std::uint64_t header = header_size(bytes, source);
  if (header > bytes.size()) {
    throw FormatError(
        "{}: the header claims {} bytes, the file has {} after its length; the download may have been "
        "cut off",
        source, header - kLengthBytes, bytes.size() - kLengthBytes);
  }
  return read(bytes.subspan(kLengthBytes, header - kLengthBytes), bytes.subspan(header), std::move(owner),
              std::move(source));
}

SafeTensors SafeTensors::parse_header(std::span<const std::byte> header, std::string source) {
  if (header_size(header, source) != header.size()) {
    throw InvalidArgument("{}: parse_header: {} bytes are not the header", source, header.size());
  }
  return read(header.subspan(kLengthBytes), std::nullopt, nullptr, std::move(source));
}

SafeTensors SafeTensors::read(std::span<const std::byte> header_bytes, std::optional<std::span<const std::byte>> data,
                              std::shared_ptr<const void> owner, std::string source) {
  SafeTensors result;
  result.source_ = std::move(source);
  const std::string& where = result.source_;
  auto header =
      parse_safetensors_header({reinterpret_cast<const char*>(header_bytes.data()), header_bytes.size()}, where);
  result.metadata_ = std::move(header.metadata);
  std::uint64_t data_size = 0;
  for (const auto& entry : header.entries) data_size = std::max(data_size, entry.end);
  if (data) data_size = data->size();

  for (const auto& entry : header.entries) {
    const StoredType type = stored_type_of(entry, where);
    const std::uint64_t expected = checked_bytes(entry, type.bits, where);
    if (entry.begin > entry.end || entry.end > data_size) {
      throw FormatError(
          "{}: tensor {} claims bytes {} to {}, the file has {} bytes of data; it may have been cut "
          "off",
          where, in_quotes(entry.name), entry.begin, entry.end, data_size);
    }
    if (entry.end - entry.begin != expected) {
      throw FormatError("{}: tensor {} has {} bytes, expected {} for {} {}", where, in_quotes(entry.name),
                        entry.end - entry.begin, expected, entry.dtype, shape_text(entry));
    }
    const std::uint64_t start = kLengthBytes + header_bytes.size();
    Stored stored{.data = {}, .refusal = refusal(entry, type), .position = {start + entry.begin, start + entry.end}};
    if (stored.refusal.empty()) {
      stored.data = {*type.dtype, shape_of(entry), {}, owner};
      if (data) stored.data.bytes = data->subspan(entry.begin, expected);
    }
    if (!result.tensors_.emplace(entry.name, std::move(stored)).second) {
      throw FormatError("{}: the tensor {} is there twice", where, in_quotes(entry.name));
    }
  }
  check_layout(header.entries, data_size, where);
  return result;
}

namespace {

// Opens one file; an error also mentions what else may be wrong.
SafeTensors open_file(const fs::path& path) {
  const MappedFile file = MappedFile::open(path);
  return SafeTensors::parse(file.bytes, file.owner, path.string());
}

}  // namespace

SafeTensors SafeTensors::open(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
      if (fs::exists(path / name, ignored)) return open(path / name);
    }
    throw IoError(
        "{} has neither model.safetensors nor model.safetensors.index.json; give a directory with weights "
        "in that format",
        path.string());
  }
  if (!has_suffix(path.string(), kIndexSuffix)) return open_file(path);

  const std::string source = path.string();
  const auto weight_map = parse_safetensors_index(read_file(path), source);
  std::map<std::string, SafeTensors, std::less<>> shards;
  SafeTensors result;
  result.source_ = source;
  for (const auto& [name, file] : weight_map) {
    auto shard = shards.find(file);
    if (shard == shards.end()) {
      shard = shards.emplace(file, open_file(path.parent_path() / file)).first;
      result.metadata_.insert(shard->second.metadata_.begin(), shard->second.metadata_.end());
    }
    const auto tensor = shard->second.tensors_.find(name);
    if (tensor == shard->second.tensors_.end()) {
      throw FormatError("{}: tensor {} should be in {}, which does not have it", source, in_quotes(name),
                        in_quotes(file));
    }
    result.tensors_.insert(*tensor);
  }
  return result;
}

std::vector<std::string> SafeTensors::names() const {
  std::vector<std::string> names;
  names.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

const TensorData& SafeTensors::at(std::string_view name) const {
  if (const auto found = tensors_.find(name); found != tensors_.end()) {
    const Stored& stored = found->second;
    if (!stored.refusal.empty()) throw Unsupported("{}: tensor {} {}", source_, in_quotes(name), stored.refusal);
    return stored.data;
  }
  const std::string similar = nearest(name, std::views::keys(tensors_));
  if (similar.empty()) {
    throw InvalidArgument("{}: there is no tensor {} among its {}", source_, in_quotes(name), size());
  }
  throw InvalidArgument("{}: there is no tensor {}; the nearest name is {}", source_, in_quotes(name),
                        in_quotes(similar));
}

const TensorData& SafeTensors::at(std::string_view name, const Shape& expected) const {
  const TensorData& tensor = at(name);
  if (tensor.shape == expected) return tensor;
  throw FormatError("{}: tensor {} has shape {}, expected {}", source_, in_quotes(name), to_string(tensor.shape),
                    to_string(expected));
}

}  // namespace weft
