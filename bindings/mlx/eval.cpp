#include "mlx/backend/gpu/eval.h"

#include <fmt/format.h>
#include <weft/error.h>

#include <mutex>
#include <unordered_set>

#include "device.h"
#include "mlx/primitives.h"

namespace mlx::core::gpu {

void init() {}

namespace {

// The streams of a thread, which no other may use; unsafe ones are of all threads.
std::unordered_set<int>& thread_streams() {
  static thread_local std::unordered_set<int> streams;
  return streams;
}

std::mutex unsafe_streams_mutex;
std::unordered_set<int>& unsafe_streams() {
  static auto* streams = new std::unordered_set<int>;
  return *streams;
}

void check_stream(const Stream& s) {
  if (thread_streams().contains(s.index)) return;
  const std::lock_guard lock(unsafe_streams_mutex);
  if (unsafe_streams().contains(s.index)) return;
  throw std::runtime_error(fmt::format("There is no Stream(gpu, {}) in current thread.", s.index));
}

}  // namespace

void new_stream(Stream s) { thread_streams().insert(s.index); }

void new_thread_unsafe_stream(Stream s) {
  const std::lock_guard lock(unsafe_streams_mutex);
  unsafe_streams().insert(s.index);
}

void eval(array& arr) {
  check_stream(arr.primitive().stream());
  auto outputs = arr.outputs();
  // A tracer's inputs are needed again, so they are not donated.
  std::vector<array> inputs;
  if (arr.is_tracer()) inputs = arr.inputs();
  try {
    arr.primitive().eval_gpu(arr.inputs(), outputs);
  } catch (const weft::Error& e) {
    throw std::runtime_error(fmt::format("[{}::eval_gpu] {}", arr.primitive().name(), e.what()));
  }
}

void finalize(Stream s) {
  check_stream(s);
  webgpu::recorder().submit_soon();
  webgpu::recorder().limit_batches();
}

void synchronize(Stream s) {
  check_stream(s);
  webgpu::recorder().submit()->wait();
}

void clear_streams() {
  if (webgpu::available()) webgpu::recorder().submit()->wait();
  thread_streams().clear();
}

}  // namespace mlx::core::gpu
