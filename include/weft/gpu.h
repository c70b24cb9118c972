// WebGPU for tensors: adapters, devices, buffers, command encoding, reading back.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/flags.h"
#include "weft/future.h"
#include "weft/memory_figures.h"
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
  int index = 0;     // position in adapters()
  std::string name;  // "NVIDIA H200", "llvmpipe (LLVM 21, 256 bits)"
  std::string vendor;
  std::string architecture;
  std::string driver;          // name and version, as the driver reports it
  std::string backend;         // "vulkan", "metal", "d3d12", "opengles", "opengl"
  std::string type;            // "discrete", "integrated", "cpu", "unknown"
  bool compatibility = false;  // only WebGPU's compatibility level
  bool software() const { return type == "cpu"; }
  std::vector<std::string> features;
  wgpu::Limits limits;
  std::uint32_t subgroup_min = 0, subgroup_max = 0;  // 0 without subgroups
  std::vector<MatrixShape> matrix_shapes;
};

// The adapters of this machine, best first. Order: discrete, integrated, unknown, software; then Vulkan, Metal,
// Direct3D 12 (whichever the platform has), and last OpenGL ES and OpenGL at compatibility level; different hardware
// that is still equal is ordered by memory bandwidth, which is measured once and remembered.
std::vector<AdapterInfo> adapters();

// Options that are not set come from the flags (weft/flags.h) and the environment.
struct DeviceOptions {
  // Which adapter: its index in adapters(), a backend's name, or a part of the adapter's name, case ignored. "gpu" or
  // empty: $WEFT_DEVICE and $WEFT_BACKEND, else the best hardware adapter, else a software one.
  std::string adapter = {};
  // No optional feature and the compatibility level's limits: what a phone or a browser offers.
  bool minimum = flag_on(Flag::minimum_device);
  bool f16 = flag_on(Flag::f16);  // use shader-f16 if the device has it
  bool subgroups = flag_on(Flag::subgroups);
  bool matrices = flag_on(Flag::matrices);  // cooperative matrices; they need f16 and subgroups
  bool timestamps = true;
  bool validation = flag_on(Flag::validation);         // Dawn validates every call; off is faster
  bool robustness = flag_on(Flag::robustness);         // Dawn's bounds checks in shaders
  bool debug_labels = flag_on(Flag::debug_labels);     // a debug group around each dispatch
  std::string cache_dir = flag_text(Flag::cache_dir);  // of compiled shaders; "off": none; empty: the user's
  // Bytes that the pool may hold; none: all that the device has.
  std::optional<std::uint64_t> memory_limit = flag_bytes(Flag::memory_limit);
  // The largest binding in bytes, at least 4096 (less: InvalidArgument); none: the device's limit. Kernels process
  // larger tensors in chunks.
  std::optional<std::uint64_t> binding_limit = flag_bytes(Flag::binding_limit);
  // Work (FLOP; a byte moved counts as ten) above which dispatches and submits are split, because some drivers reset a
  // GPU that does not respond; none: by the kind of GPU.
  std::optional<std::uint64_t> dispatch_limit = flag_count(Flag::dispatch_limit);
};

// The features and limits of a device by which kernels choose their form.
struct Capabilities {
  bool f16 = false;
  bool subgroups = false;
  std::uint32_t subgroup_min = 0, subgroup_max = 0;
  bool packed_dot = false;  // WGSL's packed dot products of four integers of 8 bits
  bool timestamps = false;
  bool timestamps_inside_passes = false;
  bool minimum = false;  // opened as a minimum device: no fast path, even if it would pass its self-test
  // A CPU behind the adapter: staging in workgroup memory gains nothing, barriers are expensive, lanes are SIMD.
  bool software = false;
  bool reassociates_fp = false;  // its compiler reorders sums and products, as OpenGL permits
  std::vector<MatrixShape> matrix_shapes;
  std::uint64_t max_binding = 0;           // bytes
  std::uint64_t max_buffer = 0;            // bytes
  std::uint32_t max_workgroup_memory = 0;  // bytes
  std::uint32_t max_workgroup_size = 0;    // invocations
  std::uint32_t max_storage_buffers = 0;   // of a dispatch
  std::uint32_t max_workgroups = 0;        // in one dimension of a dispatch
  std::uint32_t storage_alignment = 256;   // of a binding's offset, bytes
  double max_dispatch_work = 0;            // as DeviceOptions::dispatch_limit
};

enum class Access : std::uint8_t { read, read_write };

// A storage binding. Bindings of a dispatch get @group(0) @binding(1), (2), … in order; (0) holds the parameters.
// Bindings of one buffer must either all be read, or all be read_write and not overlap.
struct Binding {
  Buffer buffer = {};
  std::uint64_t offset = 0;  // a multiple of Capabilities::storage_alignment
  std::uint64_t size = 0;    // bytes, a multiple of 4
  Access access = Access::read;
};

// A number in a uniform block: `bytes` from byte `offset` on are those of the buffer, which is a Buffer::number().
struct NumberParam {
  Buffer buffer = {};
  std::uint32_t offset = 0, bytes = 0;
};

// One dispatch: the shader is `make_wgsl()`, called only if no pipeline is cached under `key` yet.
struct Dispatch {
  std::string_view key = {};  // names the pipeline: kernel, variant and everything the text depends on
  std::function<std::string()> make_wgsl = {};  // entry point "main"
  // The kernel, its variant and its operands, if the text is Weft's own: an InternalError says them where it does not
  // compile. Without it that is the caller's error, ValidationError. Called with make_wgsl.
  std::function<std::string()> describe = {};
  std::span<const Binding> bindings = {};
  std::span<const std::byte> params = {};     // the uniform block at @binding(0); may be empty
  std::span<const NumberParam> numbers = {};  // in it
  std::array<std::uint32_t, 3> workgroups{1, 1, 1};
  std::string_view label = {};              // the kernel's name in a GPU debugger and the profiler
  Work work = {};                           // what the profiler compares the time with
  std::string_view variant = {}, why = {};  // the kernel's form, and why this one was chosen
};

class Device;
struct PreparedDispatch;  // src/gpu/prepared.h

// A stream of dispatches: an Encoder submits them, a Recording is replayed.
class Commands : public Stream {
 public:
  Commands* gpu() override { return this; }
  virtual Device& device() = 0;  // for which it records
  // Records a dispatch. A grid with a zero is dropped. Throws InvalidArgument (limits), ValidationError.
  virtual void dispatch(const Dispatch& dispatch) = 0;
  // The same for a prepared dispatch: its pipeline is known and its arguments, all but the buffers, are checked
  // already. Whoever records it later keeps it.
  virtual void dispatch(const std::shared_ptr<const PreparedDispatch>& dispatch, std::span<const Binding> bindings,
                        std::span<const NumberParam> numbers) = 0;
  // Scratch memory for the dispatches recorded from here on until the next call. Dispatches run in order, so all kernel
  // calls share it. Throws OutOfMemory.
  virtual Buffer scratch(std::uint64_t bytes) = 0;
  // True while a plan is made (weft/kernels/plan.h): dispatches are recorded in the plan and not run.
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

// Bytes that were read, in memory that the GPU wrote and this handle holds.
class ReadBytes {
 public:
  ReadBytes() = default;
  ReadBytes(std::span<const std::byte> bytes, std::shared_ptr<const void> memory)
      : bytes_(bytes), memory_(std::move(memory)) {}
  std::span<const std::byte> span() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  operator std::span<const std::byte>() const { return bytes_; }                      // NOLINT: it is one
  operator std::vector<std::byte>() const { return {bytes_.begin(), bytes_.end()}; }  // NOLINT: a copy, where wanted
  // Throws InvalidArgument if the sizes differ.
  void copy_to(std::span<std::byte> target) const;
  friend bool operator==(const ReadBytes& a, std::span<const std::byte> b) { return std::ranges::equal(a.bytes_, b); }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> memory_;
};

// A read of GPU memory in progress.
using Readback = Future<ReadBytes>;

using weft::MemoryFigures;

// A GPU. A handle: copies refer to the same device. Any number of threads may use it, each with encoders of its own.
class Device {
 public:
  // Throws NoDevice, InvalidArgument (no adapter matches the name; the message lists the adapters).
  static Device open(const DeviceOptions& options = {});
  // The same where nothing may wait. Outside of browsers the driver opens it at once, and the future is ready; equal
  // adapters whose speeds were never measured are not compared.
  static Future<Device> open_async(const DeviceOptions& options = {});
  // Uses the caller's device with the features and limits that it has. `timed_wait`: its instance was made with the
  // feature TimedWaitAny, so that waiting can block; without it, waiting polls. poll() and wait() may also call
  // callbacks of the caller's own futures. Where several threads drop handles of the caller's buffers, or use the
  // device beside Weft, it needs Dawn's ImplicitDeviceSynchronization. Throws InvalidArgument.
  static Device adopt(wgpu::Device device, bool timed_wait = false);

  const wgpu::Device& webgpu() const;
  const wgpu::Queue& queue() const;
  const AdapterInfo& adapter() const;
  const Capabilities& capabilities() const;
  // Why this adapter was chosen, in a line: "NVIDIA H200 (vulkan): best of 3 adapters".
  const std::string& reason() const;

  // A storage buffer from the pool, its content undefined. Throws OutOfMemory; a browser tells later that there is no
  // memory: then the next call that submits, reads or waits throws it, all that uses the buffer does, and the futures
  // of what was submitted meanwhile.
  Buffer allocate(std::uint64_t bytes) const;
  // A buffer that is the caller's, its content undefined: outside of the pool, of whole 32-bit words, with the usages
  // Storage, CopySrc and CopyDst. Throws OutOfMemory, ValidationError, DeviceLost.
  wgpu::Buffer create_buffer(std::uint64_t bytes, std::string_view label) const;
  // Writes through the upload ring, before anything submitted later. Throws InvalidArgument, OutOfMemory.
  void upload(const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) const;
  // Reads after everything submitted so far.
  Readback read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) const;
  // Waits until all submitted work is done.
  void wait() const;
  // Ready when all is done that was submitted until now. Throws what that work threw.
  Future<void> async_wait() const;
  // Delivers callbacks of futures without waiting.
  void poll() const;
  // True once the device is known to be lost: everything but destroying it throws DeviceLost.
  bool lost() const;
  // Calls back once with the reason when the device is lost, from poll() or from the first call that throws DeviceLost
  // (at once if it is lost already), so that owners of its buffers learn that these are gone. Destroying the returned
  // handle cancels the callback.
  std::shared_ptr<void> on_lost(std::function<void(const std::string& reason)> callback) const;

  MemoryFigures memory() const;
  // Bytes that the pool may hold, cached ones included; none: all that the device has. Takes effect at the next
  // allocation.
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

// Dispatches that can be replayed any number of times: pipelines, bind groups and parameters are made once.
class Recording final : public Commands {
 public:
  explicit Recording(Device device);
  ~Recording() override;
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;

  Device& device() override;
  void dispatch(const Dispatch& dispatch) override;
  void dispatch(const std::shared_ptr<const PreparedDispatch>& dispatch, std::span<const Binding> bindings,
                std::span<const NumberParam> numbers) override;
  Buffer scratch(std::uint64_t bytes) override;
  std::size_t size() const;                       // dispatches
  std::span<const KernelRun> dispatches() const;  // as reports show them
  // Waits until every pipeline is compiled; they compile in parallel while dispatches are recorded. The first replay
  // calls it; where nothing may wait, WebGPU then makes those that are not compiled yet. Throws ValidationError.
  void finish();
  // Ready when they are compiled. Throws ValidationError.
  Future<void> async_finish();

 private:
  friend class Encoder;
  struct State;
  std::shared_ptr<State> state_;  // an encoder holds it until it submits
};

// A real buffer for each placeholder of a recording.
struct Substitution {
  Buffer placeholder = {};
  Buffer buffer = {};
};

// One thread's work: batches dispatches in one compute pass; submits them in submit(), or earlier if very many are
// pending.
class Encoder final : public Commands {
 public:
  explicit Encoder(Device device);
  ~Encoder() override;  // dispatches that were not submitted are dropped

  Device& device() override;
  void dispatch(const Dispatch& dispatch) override;
  void dispatch(const std::shared_ptr<const PreparedDispatch>& dispatch, std::span<const Binding> bindings,
                std::span<const NumberParam> numbers) override;
  Buffer scratch(std::uint64_t bytes) override;
  // True if a part of it was submitted already, because there was so much. Dispatches of other threads may come in
  // between; where they use the same memory, one lock must cover the replay and a flush().
  bool replay(Recording& recording, std::span<const Substitution> substitutions = {});
  // Device to device. Offsets and size are multiples of 4.
  void copy(const Buffer& source, std::uint64_t source_offset, const Buffer& target, std::uint64_t target_offset,
            std::uint64_t bytes);
  // Reads at the end of this submit: all reads of a submit cost one wait.
  Readback read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes);
  // Submits what was recorded until now, except reads, which wait for submit().
  void flush();
  // The future is ready once the GPU has done all that was submitted until now. Throws DeviceLost, ValidationError, ….
  Future<void> submit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::gpu
