// Compute pipelines by key, and the bind-group layouts that they share.
#pragma once

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
  wgpu::ComputePipeline pipeline;
  Failure failure;
};

struct Pipeline {
  std::string key, label;  // label: the kernel's name, for messages
  const BindLayout* layout = nullptr;
  wgpu::ComputePipeline pipeline;  // null while it is being compiled
  std::shared_ptr<Compilation> compilation;
};

class PipelineCache {
 public:
  explicit PipelineCache(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  // Ready to use. Throws ValidationError with the compiler's message.
  Pipeline& get(const Dispatch& dispatch);
  // Starts compiling on Dawn's threads if it is not cached; call finish() before its use. Throws ValidationError.
  Pipeline& request(const Dispatch& dispatch);
  void finish(Pipeline& pipeline);

  bool known(std::string_view key) const {
    const std::lock_guard held(context_->lock);
    return pipelines_.contains(key);
  }
  std::size_t size() const {
    const std::lock_guard held(context_->lock);
    return pipelines_.size();
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  const BindLayout& layout(const Signature& signature);
  void start(Pipeline& pipeline, const std::string& wgsl);

  std::shared_ptr<Context> context_;
  std::unordered_map<std::string, std::unique_ptr<Pipeline>, Hash, std::equal_to<>> pipelines_;
  std::unordered_map<std::uint64_t, std::unique_ptr<BindLayout>> layouts_;
};

}  // namespace weft::gpu
