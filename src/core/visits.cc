#include "core/visits.h"

namespace weft {
namespace {

constinit thread_local std::uint64_t counted = 0;

}  // namespace

std::uint64_t visits() { return counted; }
void count_visits(std::uint64_t count) { counted += count; }

}  // namespace weft
