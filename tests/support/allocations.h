// How much memory a thread asks for, counted at operator new.
#pragma once

#include <cstdint>
#include <optional>

namespace weft::test {

// Calls of operator new by this thread since it began; nothing where a sanitizer or the browser has it.
std::optional<std::uint64_t> allocations();

}  // namespace weft::test
