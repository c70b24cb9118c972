#include "core/parallel.h"

#include <atomic>

#if WEFT_TBB
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#else
#include <algorithm>
#include <thread>

#include "core/thread_pool.h"
#endif

namespace weft {
namespace {

std::atomic<std::uint64_t> loops{0};

}  // namespace

std::uint64_t shared_loops() { return loops.load(std::memory_order_relaxed); }

#if WEFT_TBB
int core_count() { return tbb::info::default_concurrency(); }

void run_pieces(std::int64_t count, std::int64_t grain, PieceFunction f) {
  loops.fetch_add(1, std::memory_order_relaxed);
  tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain), [f](const auto& r) { f(r.begin(), r.end()); });
}
#else
int core_count() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void run_pieces(std::int64_t count, std::int64_t grain, PieceFunction f) {
  loops.fetch_add(1, std::memory_order_relaxed);
  static auto& pool = *new ThreadPool(core_count() - 1);  // loops may run after static objects are gone
  pool.run(count, grain, f);
}
#endif

}  // namespace weft
