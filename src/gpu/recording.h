// The state of a recording, which an encoder replays.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include "gpu/device_impl.h"

namespace weft::gpu {

struct Recording::State {
  explicit State(Device d) : device(std::move(d)) {}

  struct Step {
    std::shared_ptr<Pipeline> pipeline;
    wgpu::BindGroup group;
    std::uint32_t param_offset = 0, param_bytes = 0, param_range = 0;
    std::uint32_t first_number = 0, number_count = 0;
    std::uint32_t first_range = 0;
  };
  // A placeholder, its current substitute, and where it is bound.
  struct Slot {
    std::uint64_t id, size, capacity;
    bool written = false;
    wgpu::Buffer current;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> uses;  // step, range
    bool foreign = false;                                       // `current` is a caller's buffer
  };

  Device device;
  std::vector<Step> steps;
  std::vector<KernelRun> runs;       // of each step: its name and grid
  std::vector<BoundRange> ranges;    // of all steps, in order
  std::vector<NumberParam> numbers;  // likewise; offsets are in the step's parameters
  std::vector<Slot> slots;
  std::vector<Buffer> held;     // what the ranges point into
  std::vector<Buffer> written;  // of those, each once
  Buffer scratch;               // of kernels
  std::vector<std::byte> params;
  wgpu::Buffer param_buffer;
  std::size_t finished = 0;          // steps whose pipelines are compiled
  std::vector<std::uint32_t> dirty;  // steps whose bind group must be looked up again

  void add(const Dispatch& dispatch, std::string_view step, std::uint64_t live_bytes);
  void add(std::shared_ptr<Pipeline> pipeline, std::span<const std::byte> params, std::span<const NumberParam> numbers,
           std::span<const Binding> bindings, KernelRun run);
  // Finishes pipelines, uploads parameters, binds the substitutes and looks up their bind groups. Returns the
  // substitutes that are written.
  std::vector<Buffer> prepare(std::span<const Substitution> substitutions);
  void finish();
  // Lets go of callers' buffers, whose memory is not Weft's to keep until the next replay.
  void release_foreign();
  Slot& slot_of(const Buffer& placeholder);
};

}  // namespace weft::gpu
