// Sorting on all of the machine's cores.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <algorithm>
#else
#include <oneapi/tbb/parallel_sort.h>
#endif

namespace weft {

// Runs on one core under the thread sanitizer, for which TBB is not built (core/parallel.h).
template <class Iterator>
void sort_on_all_cores(Iterator begin, Iterator end) {
#if defined(__SANITIZE_THREAD__)
  std::sort(begin, end);
#else
  tbb::parallel_sort(begin, end);
#endif
}

}  // namespace weft
