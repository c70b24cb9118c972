// Loops on the machine's cores.
#pragma once

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <oneapi/tbb/parallel_for.h>
#endif

namespace weft {

// Runs f(begin, end) for pieces of [0, count) of at least `grain`, on all cores. Exceptions of a piece are passed on.
template <class F>
void in_pieces(std::int64_t count, std::int64_t grain, F&& f) {
#if defined(__SANITIZE_THREAD__)
  // TBB is not built for the sanitizer, which would not see the order of its tasks. Plain threads work with it.
  constexpr std::int64_t kPieces = 4;
  const std::int64_t piece = std::max(grain, (count + kPieces - 1) / kPieces);
  std::exception_ptr thrown;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (std::int64_t begin = 0; begin < count; begin += piece) {
      threads.emplace_back([&, begin] {
        try {
          f(begin, std::min(count, begin + piece));
        } catch (...) {
          const std::lock_guard lock(mutex);
          thrown = std::current_exception();
        }
      });
    }
  }
  if (thrown) std::rethrow_exception(thrown);
#else
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain), [&](const auto& r) { f(r.begin(), r.end()); });
#endif
}

}  // namespace weft
