#include "core/compiler.h"
#if WEFT_POSIX

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "core/format.h"
#include "core/system.h"
#include "weft/error.h"

namespace weft {

std::uint64_t physical_memory() {
  static const std::uint64_t bytes = [] {
    auto bytes = ~std::uint64_t{0};
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
    // A container may have less of it (Linux's control groups, version 2 and 1); "max" is no number.
    for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
      std::uint64_t limit = 0;
      if (std::ifstream(file) >> limit) bytes = std::min(bytes, limit);
    }
    return bytes;
  }();
  return bytes;
}

std::uint64_t process_id() { return static_cast<std::uint64_t>(getpid()); }

void set_environment_default(const char* name, const char* value) { setenv(name, value, 0); }

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** e = environ; e && *e; ++e) all.emplace_back(*e);
  return all;
}

ProcessorTimes processor_times() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  ProcessorTimes times{.own = seconds(usage.ru_utime) + seconds(usage.ru_stime)};
  // The first line is "cpu  user nice system idle iowait irq softirq steal …", in ticks.
  std::ifstream stat("/proc/stat");
  std::string name;
  double fields[8] = {};
  if (!(stat >> name) || name != "cpu") return times;
  for (double& field : fields) {
    if (!(stat >> field)) return times;
  }
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (const double field : fields) times.total += field / ticks;
  times.busy = times.total - (fields[3] + fields[4]) / ticks;
  return times;
}

std::optional<MappedBytes> map_file(const std::filesystem::path& path) {
  const auto reason = [](int error) { return std::generic_category().message(error); };
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  } file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) throw IoError("cannot open {}: {}", path.string(), reason(errno));
  struct stat status{};
  if (::fstat(file.fd, &status) != 0) throw IoError("cannot stat {}: {}", path.string(), reason(errno));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedBytes{};  // mmap rejects a length of 0
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) throw IoError("cannot map {} ({} bytes): {}", path.string(), size, reason(errno));
  return MappedBytes{{static_cast<const std::byte*>(address), size},
                     {address, [size](const void* p) { ::munmap(const_cast<void*>(p), size); }}};
}

std::FILE* open_descriptor(int descriptor) {
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  std::FILE* stream = ::fdopen(own, "wb");
  if (!stream) ::close(own);
  return stream;
}

std::optional<std::string> cannot_load(const std::string& library) {
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return std::nullopt;
  const char* const why = dlerror();
  return why ? why : "unknown";
}

void call_in_children(void (*f)()) { pthread_atfork(nullptr, nullptr, f); }

void end_without_handlers() {
#ifdef __GLIBC__
  // The last that is set up is the first to run.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
#endif
}

void copy_owner(const std::filesystem::path& from, const std::filesystem::path& to) {
  struct stat old{}, now{};
  if (::stat(from.c_str(), &old) != 0 || ::stat(to.c_str(), &now) != 0) return;
  if (old.st_uid == now.st_uid && old.st_gid == now.st_gid) return;
  [[maybe_unused]] const int refused = ::chown(to.c_str(), old.st_uid, old.st_gid);
}

void prefetch(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(bytes.data()) / page * page;
  const std::size_t size = reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size() - first;
  // Systems without it only lose the prefetch.
#ifdef MADV_POPULATE_READ
  if (::madvise(reinterpret_cast<void*>(first), size, MADV_POPULATE_READ) == 0) return;
#endif
  ::posix_madvise(reinterpret_cast<void*>(first), size, POSIX_MADV_WILLNEED);
}

void capture_stderr(const std::function<void()>& f, const std::function<void(const std::string&)>& heard) {
  std::fflush(stderr);
  std::FILE* aside = std::tmpfile();
  const int real = aside ? dup(STDERR_FILENO) : -1;
  if (real < 0) {
    if (aside) std::fclose(aside);
    return f();
  }
  dup2(fileno(aside), STDERR_FILENO);
  const auto restore = [&] {
    std::fflush(stderr);
    dup2(real, STDERR_FILENO);
    close(real);
    std::string text;
    char chunk[4096];
    std::rewind(aside);
    while (const std::size_t n = std::fread(chunk, 1, sizeof chunk, aside)) text.append(chunk, n);
    std::fclose(aside);
    heard(text);
  };
  try {
    f();
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

}  // namespace weft

#endif
