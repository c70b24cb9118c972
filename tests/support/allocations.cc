#include "support/allocations.h"

#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__EMSCRIPTEN__) || defined(_WIN32)
#define WEFT_COUNTS_ALLOCATIONS 0
#else
#define WEFT_COUNTS_ALLOCATIONS 1
#endif

#if WEFT_COUNTS_ALLOCATIONS
namespace {

thread_local std::uint64_t calls = 0;

template <class Allocate>
void* counted(const Allocate& allocate) {
  ++calls;
  for (;;) {
    if (void* memory = allocate()) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

// The forms that do not throw, and those of arrays, call these.
void* operator new(std::size_t size) {
  return counted([size] { return std::malloc(size > 0 ? size : 1); });
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  const std::size_t rounded = (size + unit - 1) / unit * unit;
  return counted([=] { return rounded < size ? nullptr : std::aligned_alloc(unit, rounded > 0 ? rounded : unit); });
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace weft::test {

std::optional<std::uint64_t> allocations() {
#if WEFT_COUNTS_ALLOCATIONS
  return calls;
#else
  return std::nullopt;
#endif
}

}  // namespace weft::test
