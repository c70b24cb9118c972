#include "weft/device.h"

#include <cstring>

#include "core/ascii.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "cpu/host_pool.h"
#include "device/profile_at_exit.h"
#include "gpu/choose.h"
#include "gpu/instance.h"
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
  Device device = opening(asked_for).get();
  profile::write_at_exit(device);
  return device;
}

Future<Device> Device::open_async(std::string_view asked_for) {
  return gpu::look_for_adapters()
      .and_then([name = std::string(asked_for)] {
        const gpu::AvoidWaiting no_wait;
        return opening(name);
      })
      .map([](Device device) {
        profile::write_at_exit(device);
        return device;
      });
}

Future<Device> Device::opening(std::string_view asked_for) {
  check_flags();
  const auto on_cpu = [](std::string reason) {
    Device d;
    d.reason_ = std::make_shared<const std::string>(std::move(reason));
    return Future<Device>({}, [d] { return d; });
  };
  std::string name = lower(asked_for);
  const std::string asked = lower(flag_text(Flag::device));
  if (name == "cpu") return on_cpu(cpu().reason());
  if (name.empty() && asked == "cpu") return on_cpu(std::format("cpu: {} asks for it", flag_source(Flag::device)));
  if (name.empty() && asked == "gpu") name = asked;
  const bool any = (name.empty() || name == "gpu") && (asked.empty() || asked == "gpu" || asked == "cpu") &&
                   flag_text(Flag::backend).empty();
  if (!any)
    return gpu::Device::open_async({.adapter = name}).map([](gpu::Device gpu) { return Device(std::move(gpu)); });
  const gpu::FoundAdapter* hardware = gpu::best_hardware();
  if (!hardware) {
    if (name == "gpu") {
      throw NoDevice("no hardware GPU; adapters here: {}; name one of them, or take cpu", gpu::list_adapters());
    }
    std::string reason = "cpu: no hardware GPU";
    if (const auto& found = gpu::found_adapters(); !found.empty()) {
      reason +=
          std::format("; the software adapter {} is slower and only taken when asked for", found.front().info.name);
    }
    return on_cpu(std::move(reason));
  }
  return gpu::Device::open_async().map_done([=](Future<gpu::Device> done) {
    try {
      return Device(done.get());
    } catch (const NoDevice& e) {
      if (name == "gpu") throw;
      log(LogLevel::warning, "{}", e.what());
      return on_cpu(std::format("cpu: {} could not be opened", hardware->info.name)).get();
    }
  });
}

Device Device::cpu() {
  Device d;
  static const auto& asked_for = *new std::shared_ptr<const std::string>(new std::string("cpu: asked for"));
  d.reason_ = asked_for;
  return d;
}

Device::Device(gpu::Device device) : gpu_(std::move(device)) {}

const std::string& Device::reason() const {
  static const auto& cpu = *new std::string("cpu");
  return gpu_ ? gpu_->reason() : reason_ ? *reason_ : cpu;
}

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
