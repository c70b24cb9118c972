// Forms of kernels whose rows go in parts, drawn for small tensors: a real GPU takes them for large ones only.
#pragma once

#include "kernels/common/row_parts.h"
#include "support/differential.h"

namespace weft::test {

// Some that large tensors take.
inline constexpr kernels::PartsForm kPartsForms[] = {
    {.threads = 128, .kept = 2, .interleave = 8},
    {.threads = 512, .kept = 4, .interleave = 4},
    {.threads = 64, .kept = 3, .interleave = 2},
    {.threads = 128, .kept = 2, .interleave = 4, .turns = 3},
    {.threads = 64, .kept = 3, .interleave = 1, .turns = 7},
    {.threads = 64, .kept = 4, .interleave = 4, .waits = true},
    {.threads = 128, .kept = 3, .interleave = 8, .waits = true, .patience = 2}};

inline kernels::PartsForm random_parts_form(Rng& rng) {
  constexpr std::uint32_t kThreads[] = {32, 64, 128, 512}, kInterleaves[] = {1, 2, 8}, kPatience[] = {0, 5, 4096};
  return {.threads = pick(rng, kThreads),
          .kept = static_cast<std::uint32_t>(random_int(rng, 1, 5)),
          .interleave = pick(rng, kInterleaves),
          .waits = rng() % 2 == 0,
          .patience = pick(rng, kPatience),
          .turns = static_cast<std::uint32_t>(random_int(rng, 0, 3))};
}

inline kernels::RowForm random_row_form(Rng& rng) {
  return {.team = 1u << random_int(rng, 0, 7), .interleave = 1u << random_int(rng, 0, 4),
          .kept = static_cast<std::uint32_t>(random_int(rng, 0, 9))};
}

}  // namespace weft::test
