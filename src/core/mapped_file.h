// A whole file, read-only, in memory. On POSIX it is mapped, so that only the pages that are read take memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weft {

struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // unmaps when the last copy is destroyed

  // Throws IoError with the reason when `path` is not a regular file that can be read.
  static MappedFile open(const std::filesystem::path& path);

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

// The contents of a small file. Throws IoError like MappedFile::open, and for a file over `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{256} << 20);

}  // namespace weft
