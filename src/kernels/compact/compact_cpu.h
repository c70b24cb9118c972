#pragma once

#include "cpu/executor.h"
#include "weft/view.h"

namespace weft::kernels {

enum class Compaction : std::uint8_t { compress, expand, indices };

// A checked call. `moved` has the mask's shape (unused for indices); `list` receives the chosen elements, or their
// indices.
struct CompactProblem {
  Compaction form;
  View mask, moved, list, count;
};

void compact_cpu(cpu::Executor& executor, const CompactProblem& problem);

}  // namespace weft::kernels
