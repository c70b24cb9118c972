// The threads that run loops in builds without TBB; every build tests them.
#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace weft {
namespace {

template <class F>
void run(ThreadPool& pool, std::int64_t count, std::int64_t grain, F f) {
  pool.run(count, grain, PieceFunction(f));
}

TEST(ThreadPool, RunsEachElementOnceInPiecesOfTheGrain) {
  for (const int threads : {0, 1, 3}) {
    ThreadPool pool(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 63, 64, 65, 1000, 12345}) {
      for (const std::int64_t grain : {1, 2, 64, 5000, 100000}) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
        std::atomic<std::int64_t> shortest = count;
        run(pool, count, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) ++runs[static_cast<std::size_t>(i)];
          for (std::int64_t s = shortest; end - begin < s && !shortest.compare_exchange_weak(s, end - begin);) {
          }
        });
        for (const std::atomic<int>& r : runs) ASSERT_EQ(r, 1) << count << " by " << grain;
        EXPECT_GE(shortest, std::min(count, grain)) << count << " by " << grain;
      }
    }
  }
}

TEST(ThreadPool, CountsToTheEndOf64Bits) {
  ThreadPool pool(2);
  constexpr std::int64_t kCount = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> sum = 0;
  run(pool, kCount, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, kCount);
}

// Loops inside of pieces, of several threads at a time, more of them than there are threads.
TEST(ThreadPool, LoopsInsideOfLoopsEnd) {
  ThreadPool pool(3);
  std::atomic<int> sum = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      run(pool, 20, 1, [&](std::int64_t a, std::int64_t b) {
        run(pool, 10 * (b - a), 1, [&](std::int64_t c, std::int64_t d) {
          run(pool, d - c, 1, [&](std::int64_t e, std::int64_t f) { sum += static_cast<int>(f - e); });
        });
      });
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(sum, 4 * 20 * 10);
}

TEST(ThreadPool, BeginsNoPieceAfterAnException) {
  ThreadPool pool(0);
  int pieces = 0;
  EXPECT_THROW(run(pool, 1000, 1,
                   [&](std::int64_t, std::int64_t) {
                     ++pieces;
                     throw std::runtime_error("first");
                   }),
               std::runtime_error);
  EXPECT_EQ(pieces, 1);
}

TEST(ThreadPool, PassesExceptionsOnAndWorksAfterwards) {
  ThreadPool pool(3);
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_THROW(run(pool, 1000, 1,
                     [&](std::int64_t begin, std::int64_t) {
                       if (begin == 0) throw std::runtime_error("first");
                     }),
                 std::runtime_error);
    std::atomic<std::int64_t> sum = 0;
    run(pool, 100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 100);
  }
}

}  // namespace
}  // namespace weft
