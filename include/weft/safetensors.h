// Reads weights in the safetensors format: one memory-mapped file, or several that an index file joins.
// Source: https://github.com/huggingface/safetensors, section "Format": 8 bytes of header length, a JSON header of at
// most 100 MB, then the tensors' bytes without holes or overlaps. Everything in the header is checked when the file is
// opened, so a tensor handed out always lies inside its file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
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

  // The strings under "__metadata__".
  const Metadata& metadata() const { return metadata_; }
  // The path given to open(), for messages.
  const std::string& source() const { return source_; }

 private:
  std::string source_;
  struct Stored {
    TensorData data;
    std::string refusal;  // why Weft does not have it; empty if it does
  };
  std::map<std::string, Stored, std::less<>> tensors_;
  Metadata metadata_;
};

}  // namespace weft
