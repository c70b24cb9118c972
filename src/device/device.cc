#include "weft/device.h"

#include <cstring>

#include "core/ascii.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "cpu/host_pool.h"
#include "device/profile_at_exit.h"
#include "gpu/choose.h"
#include "gpu/wait.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/log.h"

namespace weft {

namespace {

void check_range(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, const char* what) {
  if (!buffer.on_host()) throw InvalidArgument("{}: the buffer is not in the cpu's memory", what);
  if (offset > buffer.size() || bytes > buffer.size() - offset) {
    throw InvalidArgument("{}: bytes {} to {} of a buffer of {}", what, offset, offset + bytes, buffer.size());
  }
}

}  // namespace

Device Device::open(std::string_view asked_for) {
  Device device = opened(asked_for);
  profile::write_at_exit(device);
  return device;
}

Future<Device> Device::open_async(std::string_view asked_for) {
  return future_of([&] {
    const gpu::AvoidWaiting no_wait;
    return open(asked_for);
  });
}

Device Device::opened(std::string_view asked_for) {
  check_flags();
  std::string name = lower(asked_for);
  const std::string asked = lower(flag_text(Flag::device));
  if (name == "cpu") return cpu();
  if (name.empty() && asked == "cpu") {
    Device d;
    d.reason_ = std::format("cpu: {} asks for it", flag_source(Flag::device));
    return d;
  }
  if (name.empty() && asked == "gpu") name = asked;
  if (name.empty() || name == "gpu") {
    if ((asked.empty() || asked == "gpu" || asked == "cpu") && flag_text(Flag::backend).empty()) {
      const gpu::FoundAdapter* hardware = gpu::best_hardware();
      if (!hardware && name == "gpu") {
        throw NoDevice("no hardware GPU; adapters here: {}; name one of them, or take cpu", gpu::list_adapters());
      }
      Device d;
      try {
        if (hardware) return Device(gpu::Device::open());
        const auto& found = gpu::found_adapters();
        d.reason_ = "cpu: no hardware GPU";
        if (!found.empty()) {
          d.reason_ +=
              std::format("; the software adapter {} is slower and only taken when asked for", found.front().info.name);
        }
      } catch (const NoDevice& e) {
        if (name == "gpu") throw;
        log(LogLevel::warning, "{}", e.what());
        d.reason_ = std::format("cpu: {} could not be opened", hardware->info.name);
      }
      return d;
    }
  }
  return Device(gpu::Device::open({.adapter = name}));
}

Device Device::cpu() {
  Device d;
  d.reason_ = "cpu: asked for";
  return d;
}

Device::Device(gpu::Device device) : gpu_(std::move(device)), reason_(gpu_->reason()) {}

const gpu::Device& Device::gpu() const {
  if (!gpu_) throw InvalidArgument("a GPU is needed here; this device is the cpu");
  return *gpu_;
}

std::string Device::name() const { return gpu_ ? gpu_->adapter().name : "cpu"; }

Buffer Device::allocate(std::uint64_t bytes) const {
  return gpu_ ? gpu_->allocate(bytes) : cpu::HostPool::instance().allocate(bytes);
}

void Device::upload(const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) const {
  if (gpu_) return gpu_->upload(target, offset, bytes);
  check_range(target, offset, bytes.size(), "upload");
  if (!bytes.empty()) std::memcpy(target.data() + offset, bytes.data(), bytes.size());
}

std::vector<std::byte> Device::read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) const {
  if (gpu_) return gpu_->read(source, offset, bytes).get();
  check_range(source, offset, bytes, "read");
  return in_host_memory("read", [&] {
    std::vector<std::byte> out(bytes);
    read(source, offset, out);
    return out;
  });
}

void Device::read(const Buffer& source, std::uint64_t offset, std::span<std::byte> target) const {
  if (gpu_) return gpu_->read(source, offset, target.size()).get().copy_to(target);
  check_range(source, offset, target.size(), "read");
  if (!target.empty()) std::memcpy(target.data(), source.data() + offset, target.size());
}

Future<gpu::ReadBytes> Device::async_read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) const {
  if (gpu_) return gpu_->read(source, offset, bytes);
  // A copy, because later work may overwrite the memory.
  const auto copy = std::make_shared<const std::vector<std::byte>>(read(source, offset, bytes));
  return Future<gpu::ReadBytes>({}, [copy] { return gpu::ReadBytes(*copy, copy); });
}

void Device::wait() const {
  if (gpu_) gpu_->wait();
}

Future<void> Device::async_wait() const {
  return gpu_ ? gpu_->async_wait() : Future<void>({}, [] {});
}

}  // namespace weft
