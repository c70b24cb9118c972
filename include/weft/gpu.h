// WebGPU for tensors: adapters, devices, buffers, command encoding, reading back.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/flags.h"
#include "weft/stream.h"
#include "weft/view.h"
#include "weft/work.h"

namespace weft::gpu {

// A shape that the device's cooperative-matrix units multiply: [m, k] · [k, n] → [m, n].
struct MatrixShape {
  DType operand, result;
  std::uint32_t m, n, k;
  bool operator==(const MatrixShape&) const = default;
};

struct AdapterInfo {
  int index = 0;            // position in adapters()
  std::string name;         // "NVIDIA H200", "llvmpipe (LLVM 21, 256 bits)"
  std::string vendor;
  std::string architecture;
  std::string driver;       // name and version, as the driver says it
  std::string backend;      // "vulkan", "metal", "d3d12", "opengles", "opengl"
  std::string type;         // "discrete", "integrated", "cpu", "unknown"
  bool compatibility = false;  // only WebGPU's compatibility level
  bool software() const { return type == "cpu"; }
  std::vector<std::string> features;
  wgpu::Limits limits;
  std::uint32_t subgroup_min = 0, subgroup_max = 0;  // 0 without subgroups
  std::vector<MatrixShape> matrix_shapes;
};

// What can compute here, best first. Order: discrete, integrated, unknown, software; then Vulkan, Metal, Direct3D 12 as
// the platform has them, OpenGL ES and OpenGL at compatibility level last; then, where that leaves different hardware
// equal, the one that moves memory faster, which is measured once and remembered.
std::vector<AdapterInfo> adapters();

// What is not said here is as the flags (weft/flags.h) and the environment say.
struct DeviceOptions {
  // Which adapter: its index in adapters(), a backend's name, or a part of the adapter's name, case ignored. "gpu" or
  // empty: $WEFT_ADAPTER and $WEFT_BACKEND, else the best hardware adapter, else a software one.
  std::string adapter;
  // No optional feature and the compatibility level's limits: what a phone or a browser gives.
  bool minimum = flag_on(Flag::minimum_device);
  bool f16 = flag_on(Flag::f16);                // use shader-f16 where there is
  bool subgroups = flag_on(Flag::subgroups);
  bool matrices = flag_on(Flag::matrices);      // cooperative matrices; they need f16 and subgroups
  bool timestamps = true;
  bool validation = flag_on(Flag::validation);  // Dawn's validation of every call; off: trusted, faster
  bool robustness = flag_on(Flag::robustness);  // Dawn's bounds checks in shaders
  bool debug_labels = flag_on(Flag::debug_labels);  // a debug group around each dispatch
  std::string cache_dir = flag_text(Flag::cache_dir);  // of compiled shaders; "off": none; empty: the user's
  // Bytes that the pool may hold; none: what the device has.
  std::optional<std::uint64_t> memory_limit = flag_bytes(Flag::memory_limit);
  // Bytes of a buffer that one dispatch may see at most, 4096 or more (less: InvalidArgument); none: what the device
  // has. Kernels take larger tensors in parts.
  std::optional<std::uint64_t> binding_limit = flag_bytes(Flag::binding_limit);
  // Work (FLOP, a byte moved counting ten) after which a dispatch or a submit is cut, for drivers that reset a GPU
  // which does not answer; none: by the kind of GPU.
  std::optional<std::uint64_t> dispatch_limit = flag_count(Flag::dispatch_limit);
};

// What a device can do, as kernels ask for it.
struct Capabilities {
  bool f16 = false;
  bool subgroups = false;
  std::uint32_t subgroup_min = 0, subgroup_max = 0;
  bool packed_dot = false;     // WGSL's packed dot products of four integers of 8 bits
  bool timestamps = false;
  bool timestamps_inside_passes = false;
  bool minimum = false;        // opened as a minimum device: no fast path, even where it could prove itself
  bool software = false;       // a CPU behind the adapter: no caches to stage for, barriers cost, lanes are SIMD
  bool reassociates_fp = false;  // its compiler reorders sums and products, as OpenGL permits
  std::vector<MatrixShape> matrix_shapes;
  std::uint64_t max_binding = 0;         // bytes
  std::uint64_t max_buffer = 0;          // bytes
  std::uint32_t max_workgroup_memory = 0;  // bytes
  std::uint32_t max_workgroup_size = 0;    // invocations
  std::uint32_t max_storage_buffers = 0;   // a dispatch
  std::uint32_t max_workgroups = 0;        // a dimension
  std::uint32_t storage_alignment = 256;   // of a binding's offset, bytes
  double max_dispatch_work = 0;            // what DeviceOptions::dispatch_limit says
};

enum class Access : std::uint8_t { read, read_write };

// A storage binding. Bindings of a dispatch get @group(0) @binding(1), (2), … in order; (0) holds the parameters. Parts
// of one buffer must either all be read, or all be read_write and not overlap.
struct Binding {
  Buffer buffer;
  std::uint64_t offset = 0;  // a multiple of Capabilities::storage_alignment
  std::uint64_t size = 0;    // bytes, a multiple of 4
  Access access = Access::read;
};

// One dispatch: the shader is `make_wgsl()`, called only if no pipeline is cached under `key` yet.
struct Dispatch {
  std::string_view key;                       // names the pipeline: kernel, variant and everything the text depends on
  std::function<std::string()> make_wgsl;     // entry point "main"
  std::span<const Binding> bindings;
  std::span<const std::byte> params;          // the uniform block at @binding(0); may be empty
  std::array<std::uint32_t, 3> workgroups{1, 1, 1};
  std::string_view label;                     // the kernel's name in a GPU debugger and the profiler
  Work work;                                  // what the profiler compares the time with
  std::string_view variant, why;              // the kernel's form, and why this one was taken
};

class Device;
struct PreparedDispatch;  // src/gpu/prepared.h

// Something that takes dispatches: an Encoder that submits them or a Recording that is replayed.
class Commands : public Stream {
 public:
  Commands* gpu() override { return this; }
  virtual Device& device() = 0;
  // Records a dispatch. A grid with a zero is dropped. Throws InvalidArgument (limits), ValidationError.
  virtual void dispatch(const Dispatch& dispatch) = 0;
  // The same with a pipeline that was found before and arguments that were checked then, but for the buffers.
  virtual void dispatch(const PreparedDispatch& dispatch, std::span<const Binding> bindings) = 0;
  // Memory that only the dispatches recorded next use, until the next call: they run in order, so calls share it.
  // Throws OutOfMemory.
  virtual Buffer scratch(std::uint64_t bytes) = 0;
  // True while a plan is made (weft/kernels/plan.h): dispatches are taken down and not run.
  virtual bool planning() const { return false; }
  // Dispatches from here on belong to this step of a schedule, for the profiler.
  void begin_step(std::string_view label, std::uint64_t live_bytes = 0) {
    step_ = label;
    live_bytes_ = live_bytes;
  }

 protected:
  std::string step_;
  std::uint64_t live_bytes_ = 0;
};

// Bytes on their way from the GPU.
class Readback {
 public:
  Readback();
  ~Readback();
  Readback(Readback&&) noexcept;
  Readback& operator=(Readback&&) noexcept;
  // True once get() would not wait.
  bool ready() const;
  // Waits, and moves the bytes out. Throws DeviceLost, OutOfMemory, ValidationError.
  std::vector<std::byte> get();
  // Waits, and copies into `target`, whose size must be that of the read.
  void get(std::span<std::byte> target);
  // Calls back when the bytes are there or the read failed (then `error` is set), from Device::poll(), wait() or any
  // get(). Throws InvalidArgument if a callback was set already.
  void then(std::function<void(std::span<const std::byte> bytes, std::exception_ptr error)> callback);
  // The same as a future: it becomes ready in Device::poll() or wait(), so do not block on it in the thread that would
  // call those. Throws as then() does.
  std::future<std::vector<std::byte>> future();

  struct State;  // src/gpu

 private:
  friend class Encoder;
  explicit Readback(std::shared_ptr<State> state);
  std::span<const std::byte> wait_for(std::shared_ptr<State>& held);
  std::shared_ptr<State> state_;
};

struct MemoryFigures {
  std::uint64_t live = 0, peak = 0, cached = 0;  // bytes
};

// A GPU. A handle: copies refer to the same device. All calls on one device come from one thread at a time.
class Device {
 public:
  // Throws NoDevice, InvalidArgument (a name that fits nothing; the message lists what there is).
  static Device open(const DeviceOptions& options = {});
  // Uses a device of the caller's with the features and limits that it has. `timed_wait`: its instance was made with
  // the feature TimedWaitAny, so that waiting can block; without it, it polls. Callbacks of the caller's own futures
  // may be called from poll() and wait(). Throws InvalidArgument.
  static Device adopt(wgpu::Device device, bool timed_wait = false);

  const wgpu::Device& webgpu() const;
  const wgpu::Queue& queue() const;
  const AdapterInfo& adapter() const;
  const Capabilities& capabilities() const;
  // Why this adapter was taken, in a line: "NVIDIA H200 (vulkan): best of 3 adapters".
  const std::string& reason() const;

  // A storage buffer from the pool, its content undefined. Throws OutOfMemory.
  Buffer allocate(std::uint64_t bytes) const;
  // Writes through the upload ring, before anything submitted later. Throws InvalidArgument, OutOfMemory.
  void upload(const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) const;
  // Reads after everything submitted so far.
  Readback read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) const;
  // Waits until all submitted work is done.
  void wait() const;
  // Delivers callbacks without waiting.
  void poll() const;
  // True once the device is known to be lost: everything but closing it throws DeviceLost.
  bool lost() const;
  // Calls back once with the reason when the device is lost, from poll() or from the first call that throws DeviceLost
  // (at once if it is lost already); whoever owns buffers learns there that they are gone. Keep the handle while you
  // want to be told.
  std::shared_ptr<void> on_lost(std::function<void(const std::string& reason)> callback) const;

  MemoryFigures memory() const;
  // Bytes that the pool may hold, cached ones included; none: what the device has. Takes effect at the next allocation.
  void set_memory_limit(std::optional<std::uint64_t> bytes) const;
  // Gives cached memory back to the driver.
  void trim() const;

  bool operator==(const Device&) const = default;

  struct Impl;  // src/gpu
  explicit Device(std::shared_ptr<Impl> impl);
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// Dispatches kept to run again and again: pipelines, bind groups and parameters are made once.
class Recording final : public Commands {
 public:
  explicit Recording(Device device);
  ~Recording() override;
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;

  Device& device() override;
  void dispatch(const Dispatch& dispatch) override;
  void dispatch(const PreparedDispatch& dispatch, std::span<const Binding> bindings) override;
  Buffer scratch(std::uint64_t bytes) override;
  std::size_t size() const;  // dispatches
  std::span<const KernelRun> dispatches() const;  // as reports show them
  // Waits until every pipeline is compiled; they compile side by side while dispatches are recorded. The first replay
  // does this by itself. Throws ValidationError.
  void finish();

 private:
  friend class Encoder;
  struct State;
  std::shared_ptr<State> state_;  // an encoder holds it until it submits
};

// A real buffer for each placeholder of a recording.
struct Substitution {
  Buffer placeholder;
  Buffer buffer;
};

// Batches dispatches in one compute pass; submits when asked, or by itself when very many wait.
class Encoder final : public Commands {
 public:
  explicit Encoder(Device device);
  ~Encoder() override;  // what was not submitted is dropped

  Device& device() override;
  void dispatch(const Dispatch& dispatch) override;
  void dispatch(const PreparedDispatch& dispatch, std::span<const Binding> bindings) override;
  Buffer scratch(std::uint64_t bytes) override;
  void replay(Recording& recording, std::span<const Substitution> substitutions = {});
  // Device to device. Offsets and size are multiples of 4.
  void copy(const Buffer& source, std::uint64_t source_offset, const Buffer& target, std::uint64_t target_offset,
            std::uint64_t bytes);
  // Reads at the end of this submit: all reads of a submit cost one wait.
  Readback read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes);
  void submit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::gpu
