// Files in which a model's tensors lie, beside the model.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/mapped_file.h"
#include "onnx/proto.h"

namespace weft::onnx {

class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The bytes of a tensor of `size` bytes. Throws FormatError for a place that is not inside of the folder, and for bytes
  // that are past the end of the file; IoError if there is no such file.
  MappedFile bytes(const ExternalData& data, std::uint64_t size, std::string_view tensor);

 private:
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::map<std::string, MappedFile> files_;
};

}  // namespace weft::onnx
