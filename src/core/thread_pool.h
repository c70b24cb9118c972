// Threads that run loops where there is no TBB.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "core/parallel.h"

namespace weft {

class ThreadPool {
 public:
  // Threads beside those that call run().
  explicit ThreadPool(int threads);
  ~ThreadPool();

  // Runs f(begin, end) for pieces of [0, count) of at least `grain`. The calling thread takes part, so that loops of
  // several threads, and loops inside of pieces, end even if all others are busy. After an exception no further piece
  // is begun; one of the pieces' exceptions is passed on.
  void run(std::int64_t count, std::int64_t grain, PieceFunction f);

 private:
  struct Loop;
  void work();
  // Runs the loop's next piece. `lock` is of mutex_, released meanwhile.
  void run_piece(Loop& loop, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable has_work_, piece_done_;
  std::vector<Loop*> loops_;  // those that have pieces left, the innermost of each thread last
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft
