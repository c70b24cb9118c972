#include "gpu/pipeline_cache.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/format.h"
#include "gpu/self_test.h"
#include "gpu/wait.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/version.h"

namespace weft::gpu {

Signature Signature::of(const Dispatch& dispatch) {
  Signature s;
  s.count = static_cast<std::uint16_t>(dispatch.bindings.size());
  s.params = !dispatch.params.empty();
  for (std::size_t i = 0; i < dispatch.bindings.size(); ++i) {
    if (dispatch.bindings[i].access == Access::read_write) s.writes |= 1u << i;
  }
  return s;
}

const BindLayout& PipelineCache::layout(const Signature& signature) {
  const std::uint64_t key =
      signature.writes | std::uint64_t{signature.count} << 32 | std::uint64_t{signature.params} << 48;
  std::unique_ptr<BindLayout>& slot = layouts_[key];
  if (slot) return *slot;
  std::vector<wgpu::BindGroupLayoutEntry> entries;
  if (signature.params) {
    wgpu::BindGroupLayoutEntry& e = entries.emplace_back();
    e.binding = 0;
    e.visibility = wgpu::ShaderStage::Compute;
    e.buffer.type = wgpu::BufferBindingType::Uniform;
    e.buffer.hasDynamicOffset = true;
  }
  std::string label = signature.params ? "weft p" : "weft ";
  for (std::uint32_t i = 0; i < signature.count; ++i) {
    const bool writes = signature.writes >> i & 1;
    wgpu::BindGroupLayoutEntry& e = entries.emplace_back();
    e.binding = i + 1;
    e.visibility = wgpu::ShaderStage::Compute;
    e.buffer.type = writes ? wgpu::BufferBindingType::Storage : wgpu::BufferBindingType::ReadOnlyStorage;
    label += writes ? 'w' : 'r';
  }
  wgpu::BindGroupLayoutDescriptor group;
  group.label = std::string_view(label);
  group.entries = entries.data();
  group.entryCount = entries.size();
  auto made = std::make_unique<BindLayout>();
  made->signature = signature;
  ErrorScope scope(*context_);
  made->group = context_->device.CreateBindGroupLayout(&group);
  wgpu::PipelineLayoutDescriptor pipeline;
  pipeline.label = std::string_view(label);
  pipeline.bindGroupLayouts = &made->group;
  pipeline.bindGroupLayoutCount = 1;
  made->pipeline = context_->device.CreatePipelineLayout(&pipeline);
  scope.collect("making a bind-group layout");
  slot = std::move(made);
  return *slot;
}

namespace {

// Keys may contain whole shader texts.
std::string shortened(const std::string& key) {
  std::size_t shown = 160;
  if (key.size() <= shown) return key;
  while ((key[shown] & 0xC0) == 0x80) --shown;  // not inside a character
  return key.substr(0, shown) + "…";
}

std::string doing(const Pipeline& p) {
  if (!p.description.empty()) {
    return std::format(
        "{}: a kernel does not compile, which is an error in Weft {}. Please report it, with this message and the "
        "shader that WEFT_DUMP_WGSL=DIRECTORY (--dump-wgsl) writes. Kernel {}; key '{}'. The compiler says",
        p.label, WEFT_VERSION, p.description, shortened(p.key));
  }
  return std::format("compiling {}{}kernel '{}'", p.label, p.label.empty() ? "" : ", ", shortened(p.key));
}

// For inspection of what is compiled, and for tests that pass it to other compilers.
void dump(const std::string& directory, const std::string& key, const std::string& wgsl) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  std::string name = key.substr(0, key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_."));
  const auto path =
      std::filesystem::path(directory) / std::format("{}_{:016x}.wgsl", name, std::hash<std::string>()(key + wgsl));
  std::string title = key;
  std::ranges::replace(title, '\n', ' ');
  std::ofstream file(path);
  file << "// " << title << "\n" << wgsl;
  if (!file.flush()) throw IoError("WEFT_DUMP_WGSL (--dump-wgsl): {} cannot be written", path.string());
}

}  // namespace

namespace {

// It points into its arguments.
wgpu::ComputePipelineDescriptor descriptor_of(const Pipeline& p, std::string_view label) {
  wgpu::ComputePipelineDescriptor descriptor;
  descriptor.label = label;
  descriptor.layout = p.layout->pipeline;
  descriptor.compute.module = p.compilation->module;
  descriptor.compute.entryPoint = "main";
  return descriptor;
}

thread_local int uses_come_later = 0;

}  // namespace

ComesLater::ComesLater() { ++uses_come_later; }
ComesLater::~ComesLater() { --uses_come_later; }
bool ComesLater::expected() { return uses_come_later > 0; }

void PipelineCache::start(Pipeline& p, const std::string& wgsl) {
  const std::string label = shortened(p.key);
  if (const std::string directory = flag_text(Flag::dump_wgsl); !directory.empty()) dump(directory, p.key, wgsl);
  wgpu::ShaderSourceWGSL source;
  source.code = std::string_view(wgsl);
  wgpu::ShaderModuleDescriptor module;
  module.nextInChain = &source;
  module.label = std::string_view(label);
  const auto compilation = std::make_shared<Compilation>();
  compilation->internal = !p.description.empty();
  {
    ErrorScope scope(*context_, !p.description.empty());
    compilation->module = context_->device.CreateShaderModule(&module);
    scope.collect(doing(p));
  }
  p.compilation = compilation;
  // It would be used before it was compiled.
  if (!may_wait() && !ComesLater::expected()) return make_now(p);
  const wgpu::ComputePipelineDescriptor descriptor = descriptor_of(p, label);
  // A spontaneous callback would come on Dawn's thread, which then waits for the device that ends it when it is lost.
  p.compilation->future = context_->device.CreateComputePipelineAsync(
      &descriptor, callbacks_come_alone() ? wgpu::CallbackMode::AllowSpontaneous : wgpu::CallbackMode::WaitAnyOnly,
      [](wgpu::CreatePipelineAsyncStatus status, wgpu::ComputePipeline made, wgpu::StringView message,
         std::shared_ptr<Compilation>* held) {
        const auto compilation = from_callback(held);
        Compilation& c = *compilation;
        if (status == wgpu::CreatePipelineAsyncStatus::Success) {
          c.pipeline = std::move(made);
        } else {
          const bool invalid = status == wgpu::CreatePipelineAsyncStatus::ValidationError && !c.internal;
          c.failure = {invalid ? wgpu::ErrorType::Validation : wgpu::ErrorType::Internal, to_string(message)};
        }
        c.finish();
      },
      held_by_callback(p.compilation));
  context_->add_compiling(p.compilation);
}

std::shared_ptr<Pipeline> PipelineCache::find(std::string_view key) {
  // One that was made without a fast path that has passed its test since is made again.
  const auto holds = [&](Pipelines& pipelines, const Pipelines::iterator& found) {
    if (found == pipelines.end() || !found->second->undecided) return found != pipelines.end();
    if (Undecided::outdated(*context_, found->second->undecided)) {
      pipelines.erase(found);
      return false;
    }
    Undecided::note();
    return true;
  };
  if (const auto found = recent_.find(key); holds(recent_, found)) return found->second;
  const auto found = older_.find(key);
  if (!holds(older_, found)) return nullptr;
  std::shared_ptr<Pipeline> pipeline = std::move(found->second);
  older_.erase(found);
  return keep(std::move(pipeline));
}

std::shared_ptr<Pipeline> PipelineCache::keep(std::shared_ptr<Pipeline> pipeline) {
  if (recent_.size() >= kGeneration) {
    std::erase_if(older_, [](const auto& entry) { return entry.second.use_count() == 1; });
    older_.merge(recent_);
    recent_.clear();
    ++generation_;
  }
  recent_.emplace(pipeline->key, pipeline);
  return pipeline;
}

void PipelineCache::drop_unused() {
  const std::lock_guard held(context_->lock);
  for (Pipelines* pipelines : {&recent_, &older_}) {
    std::erase_if(*pipelines, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
}

std::shared_ptr<Pipeline> PipelineCache::request(const Dispatch& dispatch) {
  {
    const std::lock_guard held(context_->lock);
    if (std::shared_ptr<Pipeline> p = find(dispatch.key)) {
      if (!(p->layout->signature == Signature::of(dispatch))) {
        throw InvalidArgument("kernel '{}' was compiled for other bindings: a key must name what its layout depends on",
                              dispatch.key);
      }
      return p;
    }
  }
  // The text is made without the lock, unless the caller has it. Another thread may make the same meanwhile.
  const Undecided undecided(*context_);
  const std::string wgsl = dispatch.make_wgsl();
  const std::lock_guard held(context_->lock);
  if (std::shared_ptr<Pipeline> p = find(dispatch.key)) return p;
  auto made = std::make_shared<Pipeline>();
  made->key = dispatch.key;
  made->label = dispatch.label;
  if (dispatch.describe) made->description = dispatch.describe();
  made->undecided = undecided.since();
  made->layout = &layout(Signature::of(dispatch));
  start(*made, wgsl);
  return keep(std::move(made));
}

std::shared_ptr<Pipeline> PipelineCache::get(const Dispatch& dispatch) {
  std::shared_ptr<Pipeline> p = request(dispatch);
  finish(*p);
  return p;
}

void PipelineCache::make_now(Pipeline& p) {
  const std::string label = shortened(p.key);
  const wgpu::ComputePipelineDescriptor descriptor = descriptor_of(p, label);
  ErrorScope scope(*context_, !p.description.empty());
  wgpu::ComputePipeline made = context_->device.CreateComputePipeline(&descriptor);
  scope.check(doing(p));
  p.pipeline = std::move(made);
  p.compilation->module = nullptr;
  p.compilation->finish();
}

void PipelineCache::finish(Pipeline& p) {
  const std::lock_guard held(context_->lock);
  if (p.pipeline) return;
  const std::shared_ptr<Compilation> compilation = p.compilation;
  if (!context_->done(*compilation)) {
    if (!may_wait()) return make_now(p);
    context_->wait(*compilation, "compiling a kernel", true);
  }
  if (compilation->pipeline) {
    p.pipeline = compilation->pipeline;
    p.compilation->module = nullptr;
    return;
  }
  if (context_->lost()) context_->raise_lost();
  compilation->failure.raise(doing(p));
}

}  // namespace weft::gpu
