// How adapters that look alike are told apart: by what they do.
#pragma once

#include <functional>
#include <vector>

#include "gpu/instance.h"

namespace weft::gpu {

// Bytes that the adapter moves in a second, in GB/s: a scaling kernel over 64 MiB, the best of five. Measured once
// (about 0.2 s) and kept in the cache on disk. 0 if it cannot be opened.
double measured_score(const FoundAdapter& adapter);

// Puts the faster first among hardware adapters of one type and backend; `adapters` is sorted by these. Where there is
// nothing to decide, nothing is measured.
void order_by_score(std::vector<FoundAdapter>& adapters, const std::function<double(const FoundAdapter&)>& score);

}  // namespace weft::gpu
