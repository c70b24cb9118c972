#include "core/mapped_file.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "weft/error.h"

#if __has_include(<sys/mman.h>)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define WEFT_HAS_MMAP 1
#endif

namespace weft {
namespace fs = std::filesystem;
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// The kind of file that is not a regular one, as the end of a sentence.
std::string_view kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory: return "a directory";
    case fs::file_type::fifo: return "a pipe";
    case fs::file_type::character:
    case fs::file_type::block: return "a device";
    case fs::file_type::socket: return "a socket";
    default: return "not a regular file";
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

#if WEFT_HAS_MMAP

MappedFile MappedFile::open(const fs::path& path) {
  require_regular(path);
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  } file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) throw IoError("cannot open {}: {}", path.string(), reason(errno));
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) throw IoError("cannot stat {}: {}", path.string(), reason(errno));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};  // mmap rejects a length of 0
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) throw IoError("cannot map {} ({} bytes): {}", path.string(), size, reason(errno));
  return {{static_cast<const std::byte*>(address), size},
          {address, [size](const void* p) { ::munmap(const_cast<void*>(p), size); }}};
}

void prefetch(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(bytes.data()) / page * page;
  const std::size_t size = reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size() - first;
  // Systems without it only lose the prefetch.
#ifdef MADV_POPULATE_READ
  if (::madvise(reinterpret_cast<void*>(first), size, MADV_POPULATE_READ) == 0) return;
#endif
  ::madvise(reinterpret_cast<void*>(first), size, MADV_WILLNEED);
}

#else

void prefetch(std::span<const std::byte>) {}

MappedFile MappedFile::open(const fs::path& path) {
  auto text = std::make_shared<const std::string>(read_file(path, SIZE_MAX));
  return {std::as_bytes(std::span(*text)), text};
}

#endif

std::string read_file(const fs::path& path, std::size_t limit) {
  require_regular(path);
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw IoError("cannot open {}: {}", path.string(), reason(errno));
  const auto size = static_cast<std::size_t>(file.tellg());
  if (size > limit) {
    throw IoError("{} has {} bytes, more than the {} that such a file may have", path.string(), size, limit);
  }
  std::string text(size, '\0');
  file.seekg(0);
  if (size && !file.read(text.data(), static_cast<std::streamsize>(size))) {
    throw IoError("cannot read {}: {}", path.string(), reason(errno));
  }
  return text;
}

}  // namespace weft
