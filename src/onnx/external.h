// Files in which a model's tensors lie, beside the model.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "core/mapped_file.h"
#include "onnx/proto.h"

namespace weft::onnx {

class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // Bytes that are in memory, by the name of their file, their offset in it and their number.
  using Parts = std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, MappedFile>;
  explicit ExternalFiles(Parts parts) : parts_(std::move(parts)) {}

  // The bytes of a tensor of `size` bytes. Throws FormatError for a place that is not inside of the folder, and for
  // bytes that are past the end of the file; IoError if there is no such file.
  MappedFile bytes(const ExternalData& data, std::uint64_t size, std::string_view tensor);

 private:
  std::filesystem::path folder_;
  Parts parts_;
  std::mutex mutex_;
  std::map<std::string, MappedFile> files_;
};

// Throws FormatError unless a file of that name is inside of any folder.
void check_location(const std::string& location, std::string_view tensor);

}  // namespace weft::onnx
