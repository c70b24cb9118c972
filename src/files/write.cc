#include "files/write.h"

#include <cerrno>
#include <system_error>

#include "core/format.h"
#include "weft/error.h"

namespace weft {

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
