// Forms of split rows for small tensors: a real GPU uses them only for large ones.
#pragma once

#include "kernels/common/split_rows.h"
#include "support/differential.h"

namespace weft::test {

// Some forms that are used for large tensors.
inline constexpr kernels::SplitForm kSplitForms[] = {
    {.threads = 128, .register_steps = 2, .interleave = 8},
    {.threads = 512, .register_steps = 4, .interleave = 4},
    {.threads = 64, .register_steps = 3, .interleave = 2},
    {.threads = 128, .register_steps = 2, .interleave = 4, .tiles_per_split = 3},
    {.threads = 64, .register_steps = 3, .interleave = 1, .tiles_per_split = 7},
    {.threads = 64, .register_steps = 4, .interleave = 4, .look_back = true},
    {.threads = 128, .register_steps = 3, .interleave = 8, .look_back = true, .spin_limit = 2}};

inline kernels::SplitForm random_split_form(Rng& rng) {
  constexpr std::uint32_t kThreads[] = {32, 64, 128, 512}, kInterleaves[] = {1, 2, 8}, kPatience[] = {0, 5, 4096};
  return {.threads = pick(rng, kThreads),
          .register_steps = static_cast<std::uint32_t>(random_int(rng, 1, 5)),
          .interleave = pick(rng, kInterleaves),
          .look_back = rng() % 2 == 0,
          .spin_limit = pick(rng, kPatience),
          .tiles_per_split = static_cast<std::uint32_t>(random_int(rng, 0, 3))};
}

inline kernels::RowForm random_row_form(Rng& rng) {
  return {.threads_per_row = 1u << random_int(rng, 0, 7),
          .interleave = 1u << random_int(rng, 0, 4),
          .register_steps = static_cast<std::uint32_t>(random_int(rng, 0, 9))};
}

}  // namespace weft::test
