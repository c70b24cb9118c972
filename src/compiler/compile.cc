#include "weft/compile.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "compiler/compile_now.h"
#include "compiler/donate.h"
#include "compiler/executable/impl.h"
#include "compiler/forms.h"
#include "compiler/passes/passes.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "core/in_quotes.h"
#include "gpu/pipeline_cache.h"
#include "gpu/wait.h"
#include "graph/leaf.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/log.h"

namespace weft {

namespace {

// Options that are not set, taken from the flags.
CompileOptions resolved(CompileOptions options) {
  if (!options.precision) {
    const std::string text = flag_text(Flag::precision);
    options.precision = text == "f16" ? Precision::f16 : text == "auto" ? Precision::automatic : Precision::strict;
  }
  if (!options.f16_error_bound) options.f16_error_bound = flag_number(Flag::f16_error_bound);
  if (!(*options.f16_error_bound >= 0)) {
    throw InvalidArgument("compile: f16_error_bound is {}; it must be 0 or more", *options.f16_error_bound);
  }
  const std::string forced = flag_text(Flag::force_f16);
  for (std::string_view rest = forced; !rest.empty();) {
    const auto comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    const bool narrow = !part.starts_with('-');
    if (!narrow) part.remove_prefix(1);
    if (!part.empty()) options.force_f16.emplace_back(part, narrow);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  options.fusion = options.fusion && flag_on(Flag::fusion);
  options.packed_qkv = options.fusion && options.packed_qkv && flag_on(Flag::packed_qkv);
  return options;
}

// Settings without an effect are mostly mistyped: warns about each once.
void warn_unused_force_f16(const CompileOptions& options, std::span<const PrecisionDecision> decisions) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  for (const auto& [part, f16] : options.force_f16) {
    std::string why;
    if (options.precision == Precision::strict) {
      why = "the precision is strict, so that nothing is f16; it takes --precision f16 or auto";
    } else if (std::ranges::none_of(decisions,
                                    [&](const auto& d) { return d.weights.find(part) != std::string::npos; })) {
      why = "no weight's name holds it; WEFT_LOG=precision lists them";
    }
    if (why.empty()) continue;
    const std::string text =
        std::format("WEFT_FORCE_F16 (--force-f16), or force_f16: '{}' does nothing: {}", part, why);
    const std::lock_guard lock(mutex);
    if (warned.insert(text).second) log(LogLevel::warning, "{}", text);
  }
}

// Takes resolved options.
Graph optimized(const Graph& graph, const Device& device, const CompileOptions& options,
                std::vector<PrecisionDecision>* decisions) {
  return compiler::run_passes(graph, {compiler::Target::of(device), options, decisions});
}

}  // namespace

Graph optimized(const Graph& graph, const Device& device, const CompileOptions& options) {
  return optimized(graph, device, resolved(options), nullptr);
}

namespace {

std::shared_ptr<Executable::Impl> impl_of(const Graph& graph, const Device& device, const CompileOptions& options,
                                          std::vector<Tensor>& captured) {
  if (graph.impl().outputs.empty()) {
    throw InvalidArgument("compile: the graph has no output, so nothing would run; name one by Graph::output()");
  }
  const std::shared_ptr<ConstantStore> store = options.constants ? options.constants : make_constant_store(device);
  if (store->device() != device) {
    throw InvalidArgument("compile: the constant store is for {}, the graph for {}{}", store->device().name(),
                          device.name(), store->device().name() == device.name() ? " (another device)" : "");
  }
  CompileOptions with_store = resolved(options);
  with_store.constants = store;
  std::vector<PrecisionDecision> decisions;
  const Graph ready = optimized(graph, device, with_store, &decisions);
  warn_unused_force_f16(with_store, decisions);
  captured = graph.impl().captured();
  compiler::Schedule schedule = compiler::make_schedule(ready, captured);
  std::vector<Donation> donations = compiler::donate(schedule, options.donate);
  log_mark("the graph is optimised");
  auto impl = std::make_shared<Executable::Impl>(device, std::move(schedule), store, options.restorable);
  impl->report.graph = ready.to_string();
  impl->report.precision = std::move(decisions);
  impl->report.donations = std::move(donations);
  // It holds the tensors' data, not the tensors.
  for (Tensor& t : captured) t = apply(make_op<DataOp>(t.node()->op().data_op()->data_ptr(), t.type()), {});
  return impl;
}

// What `part` of compiling the graph of that name returns, or throws.
template <class Part>
auto while_compiling(const std::string& graph, const Part& part) {
  const auto all = [&] { return in_host_memory("compile", part); };
  if (graph.empty()) return all();
  return in_context([&] { return "compiling graph " + in_quotes(graph); }, all);
}

// What `make` returns, or throws, of the executable and the tensors that it captured.
template <class Make>
auto compiled(const Graph& graph, const Device& device, const CompileOptions& options, const Make& make) {
  return while_compiling(graph.name(), [&] {
    std::vector<Tensor> captured;
    std::shared_ptr<Executable::Impl> impl = impl_of(graph, device, options, captured);
    return make(std::move(impl), std::move(captured));
  });
}

}  // namespace

Executable compiler::compile_now(const Graph& graph, const Device& device, const CompileOptions& options) {
  return compiled(graph, device, options, [](auto impl, auto captured) {
    impl->log_compiled();
    return Executable(std::move(impl), std::move(captured));
  });
}

Executable compile(const Graph& graph, const Device& device, const CompileOptions& options) {
  return compiled(graph, device, options, [](auto impl, auto captured) {
    if (gpu::may_wait()) impl->wait_ready();
    impl->log_compiled();
    return Executable(std::move(impl), std::move(captured));
  });
}

Future<Executable> compile_async(const Graph& graph, const Device& device, const CompileOptions& options) {
  const gpu::AvoidWaiting no_wait;
  const gpu::ComesLater later;
  return compiled(graph, device, options, [name = graph.name()](auto impl, auto captured) {
    return impl->async_ready().map_done([impl, captured, name](Future<void> done) {
      return while_compiling(name, [&] {
        done.get();
        impl->log_compiled();
        return Executable(impl, captured);
      });
    });
  });
}

namespace {

// What of the options decides what is compiled.
std::string key_of(const CompileOptions& options) {
  std::string key =
      std::format("fusion={} folding={} packed={} precision={} bound={}", options.fusion, options.constant_folding,
                  options.packed_qkv, static_cast<int>(*options.precision), *options.f16_error_bound);
  // Executables of different stores share nothing.
  key += std::format(" restorable={} store={}", options.restorable, static_cast<const void*>(options.constants.get()));
  for (const auto& [name, half] : options.force_f16) key += std::format(" {}={}", in_quotes(name), half);
  for (const auto& [input, output] : options.donate) {
    key += std::format(" donate={}>{}", in_quotes(input), in_quotes(output));
  }
  return key;
}

}  // namespace

struct ExecutableCache::State {
  // The caller's key and the options', or a graph and the options.
  struct Key {
    std::string text;
    std::optional<Graph> graph = {};
    std::uint64_t hash = 0;
    bool operator==(const Key& other) const {
      if (hash != other.hash || text != other.text || graph.has_value() != other.graph.has_value()) return false;
      return !graph || graph->equals(*other.graph);
    }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return std::hash<std::string>()(key.text) ^ key.hash; }
  };
  Device device;
  compiler::Forms<Key, compiler::MadeOnce<Executable>, Hash> forms;
};

ExecutableCache::ExecutableCache(Device device, std::size_t capacity)
    : state_(new State{std::move(device), decltype(State::forms)(capacity)}) {}

Executable ExecutableCache::get(const std::string& key, const std::function<Graph()>& build,
                                const CompileOptions& asked) {
  const CompileOptions options = resolved(asked);
  return state_->forms.get({std::format("{} {}", key, key_of(options))},
                           [&] { return compile(build(), state_->device, options); });
}

Executable ExecutableCache::get(const Graph& graph, const CompileOptions& asked) {
  const CompileOptions options = resolved(asked);
  return state_->forms
      .get({key_of(options), graph, graph.hash()}, [&] { return compile(graph, state_->device, options); })
      .with_captured(graph.impl().captured());
}

std::size_t ExecutableCache::size() const { return state_->forms.size(); }

}  // namespace weft
