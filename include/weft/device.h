// Where tensors live and graphs run: a GPU or the CPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/gpu.h"
#include "weft/view.h"

namespace weft {

// A handle: copies refer to the same device.
class Device {
 public:
  // "cpu"; "gpu", the best hardware GPU; an adapter's number, a backend ("vulkan", "metal", "d3d12", "opengl",
  // "opengles") or a part of an adapter's name; case is ignored (available_devices() lists them). Empty: the device of
  // WEFT_DEVICE (--device) and WEFT_BACKEND, else the best hardware GPU, else the cpu. A software adapter is only
  // chosen if asked for, because the cpu is much faster; reason() gives the choice and who asked for it. Throws
  // NoDevice, DeviceError (nothing has that name; the message names the nearest and lists what there is),
  // InvalidArgument (a flag or a variable has no valid value).
  static Device open(std::string_view name = {});
  // The same where nothing may wait (a browser); outside of browsers the future is ready, as the driver opens a device
  // at once.
  static Future<Device> open_async(std::string_view name = {});
  // The cpu, which is always there.
  static Device cpu();
  Device(gpu::Device device);  // NOLINT: implicit, so that a GPU goes wherever a device is asked for

  Device() = default;  // the cpu

  bool is_gpu() const { return gpu_.has_value(); }
  const gpu::Device& gpu() const;  // throws InvalidArgument on the cpu
  std::string name() const;        // "cpu", "NVIDIA H200"
  const std::string& reason() const;

  // Memory of this device, its content undefined. Throws OutOfMemory, in a browser later (gpu::Device::allocate).
  Buffer allocate(std::uint64_t bytes) const;
  // Throws InvalidArgument if the bytes do not fit or the buffer is not of this kind of device.
  void upload(const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) const;
  // Waits for everything submitted so far.
  std::vector<std::byte> read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) const;
  void read(const Buffer& source, std::uint64_t offset, std::span<std::byte> target) const;
  // The same without waiting: what the buffer holds when everything submitted so far is done.
  Future<gpu::ReadBytes> async_read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) const;
  // Waits until everything submitted so far is done; on the cpu it always is.
  void wait() const;
  // Ready when all is done that was submitted until now; awaited now and then, it keeps a loop from running far ahead
  // of the device.
  Future<void> async_wait() const;

  bool operator==(const Device& other) const { return gpu_ == other.gpu_; }

 private:
  static Future<Device> opening(std::string_view name);

  std::optional<gpu::Device> gpu_;
  std::shared_ptr<const std::string> reason_;  // of a cpu, if it is known
};

// Where tensors are made that name no device, and where expressions of none are computed: Device::open() until it is
// set. Setting it does not move tensors.
Device default_device();
// Sets it, for all threads.
void set_default_device(const Device& device);
// While it lives, the default device of its thread is that one, whatever other threads and set_default_device() say.
class DefaultDeviceScope {
 public:
  explicit DefaultDeviceScope(const Device& device);
  ~DefaultDeviceScope();
  DefaultDeviceScope(const DefaultDeviceScope&) = delete;
  DefaultDeviceScope& operator=(const DefaultDeviceScope&) = delete;

 private:
  std::optional<Device> before_;
};

}  // namespace weft
