// Reads weights in the safetensors format: one memory-mapped file, or several that an index file joins.
// Source: https://github.com/huggingface/safetensors, section "Format": 8 bytes of header length, a JSON header of at
// most 100 MB, then the tensors' bytes without holes or overlaps. Everything in the header is checked when the file is
// opened, so a tensor handed out always lies inside its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/tensor_data.h"

namespace weft {

class SafeTensors {
 public:
  using Metadata = std::map<std::string, std::string, std::less<>>;

  // Opens `path`: a .safetensors file, an index (*.index.json) with its shards in the same directory, or a model's
  // directory with model.safetensors or model.safetensors.index.json.
  // Throws IoError when a file cannot be opened or mapped, FormatError when its contents are malformed. Tensors of a
  // type or rank that Weft does not have are there by name; at() refuses them.
  static SafeTensors open(const std::filesystem::path& path);

  // Reads a file that is in memory already. `owner` keeps `bytes` alive; `source` is what errors call it.
  static SafeTensors parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string source);

  // A file of which only the beginning is there, as it comes over a network: its tensors have types and shapes, and no
  // bytes. `header` is what header_size() counts. Throws FormatError.
  static SafeTensors parse_header(std::span<const std::byte> header, std::string source);
  // How many bytes the header has together with those of its length, which are the file's first kLengthBytes. Throws
  // FormatError.
  static std::uint64_t header_size(std::span<const std::byte> first, std::string_view source);
  static constexpr std::size_t kLengthBytes = 8;

  // All names, sorted.
  std::vector<std::string> names() const;
  std::size_t size() const { return tensors_.size(); }
  // True if the file has a tensor of that name.
  bool contains(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }

  // The tensor of that name; its bytes stay mapped after this object is gone. Throws InvalidArgument, naming the file
  // and the nearest name that it has; Unsupported for a type (F4, F8_E8M0, …) or rank that Weft does not have.
  const TensorData& at(std::string_view name) const;
  // The same; throws FormatError (file, tensor, expected, got) if it has another shape.
  const TensorData& at(std::string_view name, const Shape& expected) const;

  // Where the bytes of a tensor that is there begin in its file, and where they end.
  std::pair<std::uint64_t, std::uint64_t> position(std::string_view name) const {
    return tensors_.find(name)->second.position;
  }

  // The strings under "__metadata__".
  const Metadata& metadata() const { return metadata_; }
  // The path given to open(), for messages.
  const std::string& source() const { return source_; }

 private:
  std::string source_;
  struct Stored {
    TensorData data;
    std::string refusal;  // why Weft does not have it; empty if it does
    std::pair<std::uint64_t, std::uint64_t> position;
  };
  // Of the header without its length. `data`: the bytes behind it, if they are there.
  static SafeTensors read(std::span<const std::byte> header, std::optional<std::span<const std::byte>> data,
                          std::shared_ptr<const void> owner, std::string source);
  std::map<std::string, Stored, std::less<>> tensors_;
  Metadata metadata_;
};

}  // namespace weft
