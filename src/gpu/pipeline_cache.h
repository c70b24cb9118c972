// Compute pipelines by key, and the bind-group layouts that they share.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <atomic>
#include <memory>
#include <unordered_map>

#include "gpu/context.h"

namespace weft::gpu {

// What a layout depends on: binding 0 (parameters) present or not, and the access of each storage binding.
struct Signature {
  std::uint32_t writes = 0;  // bit i: binding i + 1 is read_write
  std::uint16_t count = 0;   // storage bindings
  bool params = false;
  bool operator==(const Signature&) const = default;
  static Signature of(const Dispatch& dispatch);
};

struct BindLayout {
  Signature signature;
  wgpu::BindGroupLayout group;
  wgpu::PipelineLayout pipeline;
};

// What WebGPU compiles on its own threads.
struct Compilation : Event {
  wgpu::ShaderModule module;
  wgpu::ComputePipeline pipeline;
  Failure failure;
  bool internal = false;  // the text is Weft's own
};

// While it lives, what is requested on this thread is used only once it is compiled: the caller sees to that. Where
// nothing may wait, other pipelines are made at once, in the order of WebGPU's calls.
class ComesLater {
 public:
  ComesLater();
  ~ComesLater();
  ComesLater(const ComesLater&) = delete;
  ComesLater& operator=(const ComesLater&) = delete;
  static bool expected();
};

struct Pipeline {
  std::string key, label;   // label: the kernel's name, for messages
  std::string description;  // Dispatch::describe(); empty if the text is the caller's
  const BindLayout* layout = nullptr;
  wgpu::ComputePipeline pipeline;  // null while it is being compiled
  std::shared_ptr<Compilation> compilation;
  std::optional<std::uint64_t> undecided;  // its text was made while self-tests were under way (Undecided)
};

// Pipelines that were not asked for lately, and that no plan and no recording has, are dropped.
class PipelineCache {
 public:
  explicit PipelineCache(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  // Ready to use. Throws with the compiler's message: InternalError if the text is Weft's own, else ValidationError.
  std::shared_ptr<Pipeline> get(const Dispatch& dispatch);
  // Starts compiling on Dawn's threads if it is not cached; call finish() before its use. Throws as get().
  std::shared_ptr<Pipeline> request(const Dispatch& dispatch);
  // Waits for the compiler, not for the GPU; where nothing may wait, WebGPU makes the pipeline in its queue's order.
  void finish(Pipeline& pipeline);

  bool known(std::string_view key) const {
    const std::lock_guard held(context_->lock);
    return recent_.contains(key) || older_.contains(key);
  }
  std::size_t size() const {
    const std::lock_guard held(context_->lock);
    return recent_.size() + older_.size();
  }

  // How often a generation was full. Caches of pipelines drop those that they did not use for two generations.
  std::uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  // Drops all that are referenced nowhere else.
  void drop_unused();

  // Of pipelines that were made, or used again, until the next generation begins.
  static constexpr std::size_t kGeneration = 512;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  using Pipelines = std::unordered_map<std::string, std::shared_ptr<Pipeline>, Hash, std::equal_to<>>;
  // Null if it is not there. Moves it to the recent ones.
  std::shared_ptr<Pipeline> find(std::string_view key);
  std::shared_ptr<Pipeline> keep(std::shared_ptr<Pipeline> pipeline);
  const BindLayout& layout(const Signature& signature);
  void start(Pipeline& pipeline, const std::string& wgsl);
  void make_now(Pipeline& pipeline);

  std::shared_ptr<Context> context_;
  Pipelines recent_, older_;
  std::atomic<std::uint64_t> generation_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<BindLayout>> layouts_;
};

}  // namespace weft::gpu
