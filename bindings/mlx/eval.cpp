#include "mlx/backend/gpu/eval.h"

#include <fmt/format.h>
#include <weft/error.h>
#include <weft/process.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "allocator.h"
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

// Of an array that shows little of another one's memory, the host reads what it shows alone.
void show_part(array& out) {
  constexpr size_t kLeast = 1 << 16;  // bytes, below which all of it is read as fast
  webgpu::MirroredBuffer* const whole = webgpu::mirrored(out);
  if (!whole || whole->size() < kLeast || out.size() == 0) return;
  int64_t begin = out.offset(), end = begin + static_cast<int64_t>(out.itemsize());
  for (int axis = 0; axis < out.ndim(); ++axis) {
    const int64_t reach = (out.shape(axis) - 1) * out.strides()[axis] * static_cast<int64_t>(out.itemsize());
    (reach < 0 ? begin : end) += reach;
  }
  const auto size = static_cast<size_t>(end - begin);
  if (size > whole->size() / 4) return;
  auto part = whole->part_of_whole(begin, size);
  if (!part) part = std::make_unique<webgpu::MirroredBuffer>(out.data_shared_ptr(), begin, size);
  out.set_data({allocator::Buffer(part.release()),
                [](allocator::Buffer buffer) { delete static_cast<webgpu::MirroredBuffer*>(buffer.ptr()); }},
               out.data_size(), out.strides(), out.flags(), out.offset() - begin);
}

}  // namespace

void new_stream(Stream s) { thread_streams().insert(s.index); }

void new_thread_unsafe_stream(Stream s) {
  const std::lock_guard lock(unsafe_streams_mutex);
  unsafe_streams().insert(s.index);
}

void eval(array& arr) {
  const weft::InWeft uses;
  check_stream(arr.primitive().stream());
  auto outputs = arr.outputs();
  // A tracer's inputs are needed again, so they are not donated.
  std::vector<array> inputs;
  if (arr.is_tracer()) inputs = arr.inputs();
  try {
    arr.primitive().eval_gpu(arr.inputs(), outputs);
    for (array& out : outputs) {
      const auto shows = [&](const array& in) { return in.data_shared_ptr() == out.data_shared_ptr(); };
      if (std::ranges::any_of(arr.inputs(), shows)) show_part(out);
    }
  } catch (const weft::Error& e) {
    throw std::runtime_error(fmt::format("[{}::eval_gpu] {}", arr.primitive().name(), e.what()));
  }
}

void finalize(Stream s) {
  const weft::InWeft uses;
  check_stream(s);
  webgpu::recorder().submit_soon();
  webgpu::recorder().limit_batches();
}

void synchronize(Stream s) {
  const weft::InWeft uses;
  check_stream(s);
  webgpu::recorder().submit()->wait();
}

void clear_streams() {
  if (!weft::is_forked() && webgpu::available()) {
    const weft::InWeft uses;
    webgpu::recorder().submit()->wait();
  }
  thread_streams().clear();
}

}  // namespace mlx::core::gpu
