// What the writers of file formats share.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>

#include "weft/tensor_data.h"
#include "weft/tensor_type.h"

namespace weft {

// A tensor to be written.
struct FileEntry {
  std::string name;
  TensorType type;
};
// Gives the data of an entry. Writers ask for each once and drop it before the next, so that one at a time is in
// memory.
using EntryData = std::function<TensorData(std::size_t)>;

// A file that is written from its start to its end. Errors are IoErrors that call it `source`.
class FileWriter {
 public:
  FileWriter(const std::filesystem::path& path, std::string source);
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void close();

 private:
  void check() const;

  std::string source_;
  std::ofstream file_;
};

}  // namespace weft
