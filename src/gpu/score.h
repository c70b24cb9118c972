// Orders adapters of the same kind by measured bandwidth.
#pragma once

#include <functional>
#include <vector>

#include "gpu/instance.h"

namespace weft::gpu {

// The memory bandwidth of the adapter in GB/s: a scaling kernel over 64 MiB, the best of five runs. Measured once
// (about 0.2 s) and stored in the cache on disk. 0 if the adapter cannot be opened.
double measured_score(const FoundAdapter& adapter);

// Puts the faster first among hardware adapters of one type and backend; `adapters` is sorted by these. Nothing is
// measured if there is nothing to decide.
void order_by_score(std::vector<FoundAdapter>& adapters, const std::function<double(const FoundAdapter&)>& score);

}  // namespace weft::gpu
