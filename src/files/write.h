// What the writers of file formats share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "weft/tensor_data.h"
#include "weft/tensor_type.h"

namespace weft {

// A tensor to be written.
struct FileEntry {
  std::string name;
  TensorType type;
};
// The bytes of the elements; of more than 2^64 - 1 bytes that number, since the elements of a broadcast are in no
// memory.
std::uint64_t data_size(std::span<const FileEntry> entries);
// The bytes of an entry in pieces, which make its data together.
class EntryPieces {
 public:
  EntryPieces() = default;
  EntryPieces(const TensorData& data)  // NOLINT: implicit, a single piece
      : next_([data, given = false]() mutable {
          return std::exchange(given, true) ? std::span<const std::byte>() : data.bytes;
        }) {}
  // Each call gives a piece, which stays until the next call; an empty one ends them.
  explicit EntryPieces(std::function<std::span<const std::byte>()> next) : next_(std::move(next)) {}
  std::span<const std::byte> next() { return next_ ? next_() : std::span<const std::byte>(); }

 private:
  std::function<std::span<const std::byte>()> next_;
};
// Gives the data of an entry. Writers ask for each once and drop it before the next, so that one at a time is in
// memory.
using EntryData = std::function<EntryPieces(std::size_t)>;

// A file that is written from its start to its end. Errors are IoErrors that call it `source`.
class FileWriter {
 public:
  FileWriter(const std::filesystem::path& path, std::string source);
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void write(EntryPieces pieces);
  void close();

 private:
  void check() const;

  std::string source_;
  std::ofstream file_;
};

}  // namespace weft
