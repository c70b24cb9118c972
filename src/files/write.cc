#include "files/write.h"

#include <cerrno>
#include <limits>
#include <system_error>

#include "core/format.h"
#include "weft/error.h"

namespace weft {

std::uint64_t data_size(std::span<const FileEntry> entries) {
  std::uint64_t total = 0;
  for (const auto& [name, type] : entries) {
    const auto count = static_cast<std::uint64_t>(element_count(type.shape));
    // Eight elements at a time are whole bytes.
    const auto eight = static_cast<std::uint64_t>(bits(type.dtype));
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    if (count / 8 >= (kMost - total) / eight) return kMost;
    total += count / 8 * eight + (count % 8 * eight + 7) / 8;
  }
  return total;
}

FileWriter::FileWriter(const std::filesystem::path& path, std::string source) : source_(std::move(source)) {
  errno = 0;
  file_.open(path, std::ios::binary);
  check();
}

void FileWriter::write(std::span<const std::byte> bytes) {
  file_.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  check();
}

void FileWriter::write(EntryPieces pieces) {
  for (std::span<const std::byte> piece = pieces.next(); !piece.empty(); piece = pieces.next()) write(piece);
}

void FileWriter::close() {
  file_.close();
  check();
}

void FileWriter::check() const {
  if (!file_) throw IoError("cannot write {}: {}", source_, std::generic_category().message(errno ? errno : EIO));
}

}  // namespace weft
