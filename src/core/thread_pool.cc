#include "core/thread_pool.h"

#include <algorithm>
#include <exception>

namespace weft {

// Guarded by mutex_, but for f.
struct ThreadPool::Loop {
  PieceFunction f;
  std::int64_t count, piece;
  std::int64_t begun = 0;  // where the next piece begins
  int running = 0;         // pieces
  std::exception_ptr thrown;
};

ThreadPool::ThreadPool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  has_work_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::run(std::int64_t count, std::int64_t grain, PieceFunction f) {
  if (count <= 0) return;
  // Several pieces a thread, since they take different times.
  const std::int64_t pieces = 4 * (static_cast<std::int64_t>(threads_.size()) + 1);
  Loop loop{
      .f = f, .count = count, .piece = std::max({std::int64_t{1}, grain, count / pieces + (count % pieces != 0)})};
  std::unique_lock lock(mutex_);
  loops_.push_back(&loop);
  has_work_.notify_all();
  while (loop.begun < loop.count) run_piece(loop, lock);
  piece_done_.wait(lock, [&] { return loop.running == 0; });
  if (loop.thrown) std::rethrow_exception(loop.thrown);
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return ending_ || !loops_.empty(); });
    if (ending_) return;
    run_piece(*loops_.back(), lock);
  }
}

void ThreadPool::run_piece(Loop& loop, std::unique_lock<std::mutex>& lock) {
  const std::int64_t begin = loop.begun;
  // The last piece takes what would be less than a piece.
  const std::int64_t left = loop.count - begin, length = left / 2 < loop.piece ? left : loop.piece;
  loop.begun += length;
  if (loop.begun == loop.count) std::erase(loops_, &loop);
  ++loop.running;
  lock.unlock();
  std::exception_ptr thrown;
  try {
    loop.f(begin, begin + length);
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  if (thrown) {
    loop.thrown = thrown;
    if (loop.begun < loop.count) std::erase(loops_, &loop);
    loop.begun = loop.count;
  }
  if (--loop.running == 0 && loop.begun == loop.count) piece_done_.notify_all();
}

}  // namespace weft
