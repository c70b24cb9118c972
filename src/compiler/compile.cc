#include "weft/compile.h"

#include <list>

#include "compiler/executable.h"
#include "compiler/passes/passes.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft {

Graph optimized(const Graph& graph, const Device& device, const CompileOptions& options) {
  compiler::PassContext context{compiler::Target::of(device), options};
  context.options.fusion = options.fusion && flag_on(Flag::fusion);
  return compiler::run_passes(graph, context);
}

Executable compile(const Graph& graph, const Device& device, const CompileOptions& options) {
  const std::shared_ptr<ConstantStore> store =
      options.constants ? options.constants : make_constant_store(device);
  if (store->device() != device) {
    throw InvalidArgument("compile: the constant store is for {}, the graph for {}", store->device().name(),
                          device.name());
  }
  const Graph ready = optimized(graph, device, options);
  compiler::Schedule schedule = compiler::make_schedule(ready);
  auto impl = std::make_shared<Executable::Impl>(device, std::move(schedule), store);
  impl->report.graph = ready.to_string();
  return Executable(std::move(impl));
}

struct ExecutableCache::State {
  struct Entry {
    std::string key;
    Executable executable;
  };
  Device device;
  std::size_t capacity;
  std::list<Entry> entries;  // the one used last is first
};

ExecutableCache::ExecutableCache(Device device, std::size_t capacity)
    : state_(std::make_shared<State>(State{std::move(device), std::max<std::size_t>(capacity, 1), {}})) {}

Executable ExecutableCache::get(const std::string& key, const std::function<Graph()>& build,
                                const CompileOptions& options) {
  auto& entries = state_->entries;
  const std::string full_key = std::format("{} fusion={} folding={}", key, options.fusion, options.constant_folding);
  const auto it = std::ranges::find(entries, full_key, &State::Entry::key);
  if (it != entries.end()) {
    entries.splice(entries.begin(), entries, it);
    return it->executable;
  }
  Executable made = compile(build(), state_->device, options);
  entries.push_front({full_key, made});
  if (entries.size() > state_->capacity) entries.pop_back();
  return made;
}

std::size_t ExecutableCache::size() const { return state_->entries.size(); }

}  // namespace weft
