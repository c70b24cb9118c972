#include "core/host_memory.h"

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace weft {

std::uint64_t physical_memory() {
  static const std::uint64_t bytes = [] {
#ifdef _SC_PHYS_PAGES
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
#endif
    return ~std::uint64_t{0};
  }();
  return bytes;
}

}  // namespace weft
