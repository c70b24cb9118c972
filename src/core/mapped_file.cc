#include "core/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "core/format.h"
#include "core/system.h"
#include "weft/error.h"

namespace weft {
namespace fs = std::filesystem;
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// The kind of file that is not a regular one, as the end of a sentence.
std::string_view kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory:
      return "a directory";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::character:
    case fs::file_type::block:
      return "a device";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "not a regular file";
  }
}

// Refuses everything but regular files before they are opened: opening a pipe would wait for a writer.
void require_regular(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) throw IoError("cannot open {}: no such file", path.string());
  if (error) throw IoError("cannot open {}: {}", path.string(), error.message());
  if (status.type() != fs::file_type::regular) {
    throw IoError("cannot open {}: expected a file, this is {}", path.string(), kind_of(status.type()));
  }
}

}  // namespace

MappedFile MappedFile::open(const fs::path& path) {
  require_regular(path);
  if (auto mapped = map_file(path)) return {mapped->bytes, std::move(mapped->owner)};
  auto text = std::make_shared<const std::string>(read_file(path, SIZE_MAX));
  return {std::as_bytes(std::span(*text)), text};
}

std::string read_file(const fs::path& path, std::size_t limit) {
  require_regular(path);
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw IoError("cannot open {}: {}", path.string(), reason(errno));
  std::string text;
  const auto size = static_cast<std::uint64_t>(file.tellg());
  if (size > std::min(limit, text.max_size())) {
    throw IoError("{} has {} bytes, more than the {} that such a file may have", path.string(), size,
                  std::min(limit, text.max_size()));
  }
  text.resize(static_cast<std::size_t>(size));
  file.seekg(0);
  if (size && !file.read(text.data(), static_cast<std::streamsize>(size))) {
    throw IoError("cannot read {}: {}", path.string(), reason(errno));
  }
  return text;
}

}  // namespace weft
