#include "device.h"

#include <weft/error.h>

#include <string>
#include <unordered_map>
#include <variant>

#include "mlx/backend/gpu/device_info.h"

namespace mlx::core {
namespace webgpu {
namespace {

constexpr std::size_t kBatchesInFlight = 16;

weft::Future<void> done() {
  return weft::Future<void>(nullptr, [] {});
}

}  // namespace

const weft::gpu::Device& device() {
  // Never destroyed: threads of MLX's CPU streams may use it until the process ends.
  static const auto* device = new weft::gpu::Device(weft::gpu::Device::open());
  return *device;
}

bool available() {
  static const bool available = [] {
    try {
      device();
      return true;
    } catch (const weft::NoDevice&) {
      return false;
    }
  }();
  return available;
}

std::shared_ptr<Marker> Recorder::submit() {
  const auto held = lock();
  if (!empty_) {
    last_ = std::make_shared<Marker>(encoder_.submit());
    pending_.push_back(last_);
    empty_ = true;
    ++batch_;
  } else if (!last_) {
    last_ = std::make_shared<Marker>(done());
  }
  return last_;
}

void Recorder::limit_batches() {
  std::shared_ptr<Marker> oldest;
  {
    const auto held = lock();
    while (!pending_.empty() && pending_.front()->ready()) pending_.pop_front();
    if (pending_.size() > kBatchesInFlight) oldest = pending_.front();
  }
  if (oldest) oldest->wait();
}

Recorder& recorder() {
  static auto* recorder = new Recorder;
  return *recorder;
}

}  // namespace webgpu

namespace gpu {

bool is_available() { return webgpu::available(); }

int device_count() { return is_available() ? 1 : 0; }

const std::unordered_map<std::string, std::variant<std::string, size_t>>& device_info(int) {
  static const auto info = [] {
    std::unordered_map<std::string, std::variant<std::string, size_t>> info;
    if (is_available()) {
      const auto& adapter = webgpu::device().adapter();
      info["device_name"] = adapter.name;
      info["architecture"] = adapter.architecture;
      info["max_buffer_length"] = static_cast<size_t>(webgpu::device().capabilities().max_buffer);
    }
    return info;
  }();
  return info;
}

}  // namespace gpu
}  // namespace mlx::core
