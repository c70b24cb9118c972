#include "core/compiler.h"
#if !WEFT_POSIX

#include <cerrno>
#include <limits>
#include <random>

#include "core/system.h"

namespace weft {

// Rounding up to an alignment must not pass the largest address.
std::uint64_t physical_memory() { return std::numeric_limits<std::size_t>::max() / 4096 * 4096; }

std::uint64_t process_id() {
  static const std::uint64_t number = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
  return number;
}

void set_environment_default(const char*, const char*) {}

std::vector<std::string> environment() { return {}; }

ProcessorTimes processor_times() { return {}; }

std::optional<MappedBytes> map_file(const std::filesystem::path&) { return std::nullopt; }

std::FILE* open_descriptor(int) {
  errno = ENOSYS;
  return nullptr;
}

std::optional<std::string> cannot_load(const std::string&) { return std::nullopt; }

void call_in_children(void (*)()) {}

void end_without_handlers() {}

void copy_owner(const std::filesystem::path&, const std::filesystem::path&) {}

void prefetch(std::span<const std::byte>) {}

void capture_stderr(const std::function<void()>& f, const std::function<void(const std::string&)>&) { f(); }

}  // namespace weft

#endif
