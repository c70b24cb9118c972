#include "mlx/backend/gpu/eval.h"

#include <fmt/format.h>
#include <weft/error.h>

#include "device.h"
#include "mlx/primitives.h"

namespace mlx::core::gpu {

void init() {}

void new_stream(Stream) {}

void new_thread_unsafe_stream(Stream) {}

void eval(array& arr) {
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

void finalize(Stream) {
  webgpu::recorder().submit();
  webgpu::recorder().limit_batches();
}

void synchronize(Stream) { webgpu::recorder().submit()->wait(); }

void clear_streams() {
  if (webgpu::available()) webgpu::recorder().submit()->wait();
}

}  // namespace mlx::core::gpu
