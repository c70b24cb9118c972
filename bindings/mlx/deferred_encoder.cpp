#include "deferred_encoder.h"

#include <utility>

namespace mlx::core::webgpu {
namespace {

// So many dispatches are worth waking the thread for. A small evaluation that somebody waits for has fewer, and is
// encoded sooner by who submits it.
constexpr std::size_t kWorthWaking = 8;
// Whoever is so far ahead encodes, too.
constexpr std::size_t kMostQueued = 4096;

}  // namespace

DeferredEncoder::DeferredEncoder(const weft::gpu::Device& device)
    : device_(device), encoder_(device), thread_([this] { encode_in_thread(); }) {}

void DeferredEncoder::exit() {
  {
    const std::lock_guard lock(queueing_);
    exits_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void DeferredEncoder::dispatch(const weft::gpu::Dispatch& dispatch) {
  const std::lock_guard lock(encoding_);
  encode_queued();
  encoder_.dispatch(dispatch);
}

void DeferredEncoder::dispatch(const std::shared_ptr<const weft::gpu::PreparedDispatch>& dispatch,
                               std::span<const weft::gpu::Binding> bindings,
                               std::span<const weft::gpu::NumberParam> numbers) {
  std::size_t queued;
  {
    const std::lock_guard lock(queueing_);
    queue_.bindings.insert(queue_.bindings.end(), bindings.begin(), bindings.end());
    queue_.numbers.insert(queue_.numbers.end(), numbers.begin(), numbers.end());
    queue_.commands.push_back({dispatch, bindings.size(), numbers.size(), nullptr});
    queued = queue_.commands.size();
  }
  ++recorded_;
  if (queued == kWorthWaking) wake_.notify_one();
  if (queued >= kMostQueued) finish();
}

weft::Buffer DeferredEncoder::scratch(std::uint64_t bytes) {
  // Dispatches that use the smaller buffer hold it.
  if (!scratch_ || scratch_.size() < bytes) {
    scratch_ = device_.allocate(bytes);
    scratch_bytes_.set(bytes);
  }
  return scratch_;
}

void DeferredEncoder::submit(const std::shared_ptr<Batch>& batch) {
  scratch_ = {};
  scratch_bytes_.set(0);
  {
    const std::lock_guard lock(queueing_);
    queue_.commands.push_back({.end = batch});
    urgent_ = true;
  }
  if (std::exchange(recorded_, 0) < kWorthWaking) {
    const std::unique_lock lock(encoding_, std::try_to_lock);
    if (lock) return encode_queued();
  }
  // The thread may be at work, but have found nothing more to do.
  wake_.notify_one();
}

void DeferredEncoder::finish() {
  const std::lock_guard lock(encoding_);
  encode_queued();
}

void DeferredEncoder::encode_in_thread() {
  for (;;) {
    {
      std::unique_lock lock(queueing_);
      wake_.wait(lock, [&] { return exits_ || urgent_ || queue_.commands.size() >= kWorthWaking; });
      if (exits_) return;
    }
    finish();
  }
}

void DeferredEncoder::encode_queued() {
  for (;;) {
    {
      const std::lock_guard lock(queueing_);
      urgent_ = false;
      if (queue_.commands.empty()) return;
      std::swap(queue_, taken_);
    }
    encode(taken_);
    taken_.commands.clear();
    taken_.bindings.clear();
    taken_.numbers.clear();
  }
}

void DeferredEncoder::encode(Queue& queue) {
  std::size_t binding = 0, number = 0;
  for (const Command& c : queue.commands) {
    if (c.end) {
      end(*c.end);
      continue;
    }
    try {
      encoder_.dispatch(c.dispatch, std::span(queue.bindings).subspan(binding, c.bindings),
                        std::span(queue.numbers).subspan(number, c.numbers));
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
    binding += c.bindings;
    number += c.numbers;
  }
}

void DeferredEncoder::end(Batch& batch) {
  // Whoever waits for this work is told what failed, not only who submits it, which may be a thread of nobody's.
  weft::Future<void> done;
  try {
    for (const std::shared_ptr<EarlyRead>& early : batch.reads) {
      early->read = std::make_shared<ReadFuture>(encoder_.read(early->buffer, 0, early->size));
    }
    done = encoder_.submit();
    if (error_) std::rethrow_exception(error_);
  } catch (...) {
    done = weft::Future<void>(nullptr, [error = std::current_exception()] { std::rethrow_exception(error); });
  }
  error_ = nullptr;
  batch.reads.clear();
  batch.done = std::make_unique<SharedFuture<void>>(std::move(done));
  batch.submitted = true;
  ++submitted_;
}

}  // namespace mlx::core::webgpu
