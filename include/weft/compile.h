// Compiles a graph to an executable: passes, memory plan, pipelines, bind groups. Compile once, run often; runs after
// the first create no buffer, bind group, pipeline or shader module.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/device.h"
#include "weft/future.h"
#include "weft/graph.h"
#include "weft/stream.h"

namespace weft {

// Constants on a device: each is uploaded (or folded, or prepacked) once and shared by all executables that use the
// same store. A constant is identified by the address of its TensorData's bytes and stored while their owner lives
// (without an owner: not shared). The executables of a store also share the memory of their intermediates, and so run
// one after the other on a GPU; on the cpu a run that finds it in use has memory of its own.
class ConstantStore;
class DeviceData;  // src/compiler

// Whether f32 values of a graph may be stored as f16: weights, and the results of products, attention, norms, lookups
// and of elementwise operations on them. Inputs, outputs and reductions keep their types, and all arithmetic stays f32.
enum class Precision : std::uint8_t {
  strict,     // no
  f16,        // yes, except for weights past f16's range
  automatic,  // where it keeps f16_error_bound, measured on each weight when it is first compiled
};

// What automatic promises by default for each product with constant weights: for inputs that vary smoothly, and for
// random ones, no column of the result differs from the f32 result by more than this fraction of its root mean square.
// A product that cannot meet the bound, and all that comes before it, stays f32.
inline constexpr double kF16ErrorBound = 1.0 / 128;

struct CompileOptions {
  bool fusion = true;  // elementwise regions, epilogues, attention: off runs each op by its own kernel
  bool constant_folding = true;
  bool packed_qkv = true;  // products of one tensor with several weights, such as q, k and v, run as one
  std::shared_ptr<ConstantStore> constants = {};  // none: the executable's own
  std::optional<Precision> precision = {};        // none: Flag::precision, which is strict by default
  std::optional<double> f16_error_bound = {};  // of automatic; none: Flag::f16_error_bound, kF16ErrorBound by default
  // For weights whose name contains the text, decides without measuring: true is f16. The first match decides;
  // Flag::force_f16 is appended to the list.
  std::vector<std::pair<std::string, bool>> force_f16 = {};
  bool restorable = true;  // keep the sources of constants, so that restore() works
  // Outputs that take the memory of an input of the same type, (input, output): each run is given one tensor for both,
  // and where the graph allows it nothing is copied. CompileReport::donations says where it does not.
  std::vector<std::pair<std::string, std::string>> donate = {};
};

// A store for CompileOptions::constants: executables that are compiled with it share constants and the memory of their
// intermediates.
std::shared_ptr<ConstantStore> make_constant_store(const Device& device);

struct NamedTensor {
  std::string_view name;
  const Tensor& tensor;  // with data
};

struct NamedNumber {
  std::string_view name = {};
  Number value = {};
};

// What was compiled, for reports and tests.
struct ScheduleStep {
  std::string label;               // "matmul+bias+gelu_erf [4096, 1536]"
  std::vector<int> reads, writes;  // buffers of the memory plan
  std::uint64_t live_bytes = 0;    // of intermediates while it runs
};
// A branch or a loop: the steps [first, end), in it those of blocks inside.
struct ScheduleBlock {
  std::string label;
  int first = 0, end = 0;
  std::optional<std::int64_t> turns = {};  // of scan() and fori_loop(); all are submitted without a wait
  bool waits = false;                      // a run waits for the device to read the condition: once, or in each turn
};
// How weights are stored, and why.
struct PrecisionDecision {
  std::string weights;  // "layers.0.query+layers.0.key f32 [768, 384]"
  bool f16 = false;
  double error = 0;  // as kF16ErrorBound counts it; 0 if it was not measured
  std::string reason;
};
// What became of a pair of CompileOptions::donate.
struct Donation {
  std::string input, output;
  bool in_place = false;  // else the output is computed elsewhere and copied at the end
  std::string reason;     // why not
};
struct CompileReport {
  std::vector<ScheduleStep> steps;
  std::vector<ScheduleBlock> blocks;         // those around others in front of them
  std::vector<PrecisionDecision> precision;  // of each constant that could be f16; empty if none may
  std::vector<Donation> donations;           // in the order in which they were asked for
  std::uint64_t planned_bytes = 0;           // of all intermediates
  std::uint64_t liveness_bound = 0;          // the largest sum of intermediates alive at once
  std::uint64_t constant_bytes = 0;
  std::string graph;                  // Graph::to_string() of what runs
  std::vector<KernelRun> dispatches;  // on a GPU what a run dispatches, on the cpu its steps; without times
};

class Executable {
 public:
  Executable() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  // Submits the work; the future is ready when it is done. Every input, output and number is given once; numbers are
  // converted to the graph's types, tensors have them and are on the executable's device, and an output shares no
  // buffer with another tensor but the input that was donated for it, which is the same. Any number of threads may run
  // it at once. Throws InvalidArgument, DeviceLost, OutOfMemory.
  Future<void> run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                   std::span<const NamedNumber> numbers = {});
  // In the order in which the graph got its inputs, outputs and numbers.
  Future<void> run(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                   std::span<const Number> numbers = {});
  Future<void> run(std::initializer_list<NamedTensor> inputs, std::initializer_list<NamedTensor> outputs,
                   std::initializer_list<NamedNumber> numbers = {}) {
    return run(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
               std::span(numbers.begin(), numbers.size()));
  }

  // The same as part of a stream: of a gpu::Encoder of the device, which submits it together with kernels, copies and
  // other executables that it takes; on the cpu at once. Numbers are read now. Where a graph waits for conditions
  // (CompileReport::blocks) the encoder submits what it has, and the call returns after the last wait.
  void record(Stream& stream, std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
              std::span<const NamedNumber> numbers = {});
  void record(Stream& stream, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
              std::span<const Number> numbers = {});
  void record(Stream& stream, std::initializer_list<NamedTensor> inputs, std::initializer_list<NamedTensor> outputs,
              std::initializer_list<NamedNumber> numbers = {}) {
    record(stream, std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
           std::span(numbers.begin(), numbers.size()));
  }

  // Moves to another device after its own was lost, with all executables of its constant store: constants are uploaded
  // again from their sources (files, or the caller's memory) and kernels are compiled again. The caller must make input
  // and output tensors again. If it fails it can be called again. Throws InvalidArgument (from a GPU to the cpu or the
  // reverse, not restorable, a constant whose memory has no owner), Unsupported, OutOfMemory, DeviceLost.
  void restore(const Device& device);

  const CompileReport& report() const;
  const Device& device() const;

  struct Impl;  // src/compiler
  Executable(std::shared_ptr<Impl> impl, std::vector<Tensor> captured)
      : impl_(std::move(impl)), captured_(std::move(captured)) {}
  // run() on the data of tensors, in the same order; for evaluations.
  Future<void> run_on(std::span<const DeviceData* const> inputs, std::span<const DeviceData* const> outputs,
                      std::span<const Number> numbers);
  // The same executable on other tensors with data; for the cache.
  Executable with_captured(std::vector<Tensor> captured) const { return {impl_, std::move(captured)}; }

 private:
  std::shared_ptr<Impl> impl_;
  std::vector<Tensor> captured_;  // tensors with data that the graph needs
};

// Throws Unsupported (naming op, type and shape) when the device cannot run the graph; there is no silent fallback to
// the CPU. WEFT_LOG=schedule prints what was compiled, WEFT_LOG=passes the graph after each pass.
//
// Waits for the compiler, and on a kind of device that Weft has not met before for the self-tests of its fast paths.
// Where nothing may wait it returns at once: kernels are then made at their first run, without the fast paths that have
// not passed their tests by then, and again once these have passed.
Executable compile(const Graph& graph, const Device& device, const CompileOptions& options = {});
// The same without waiting: ready when the tests have answered and the kernels are compiled. Throws what compile()
// does, when it is called or when its result is taken. Keep the device until then: a future alone does not drive it.
Future<Executable> compile_async(const Graph& graph, const Device& device, const CompileOptions& options = {});

// The graph after the compiler's passes, as it would run on that device: what `weft graph` draws.
Graph optimized(const Graph& graph, const Device& device, const CompileOptions& options = {});

// Executables by graph: compiles on the first request and returns the same executable afterwards. Holds at most
// `capacity`; the least recently used is dropped first. Any thread may ask; threads that ask for the same one wait for
// one compilation.
class ExecutableCache {
 public:
  explicit ExecutableCache(Device device, std::size_t capacity = 64);
  // Found by structure (Graph::equals). Tensors with data that it reads are the graph's own.
  Executable get(const Graph& graph, const CompileOptions& options = {});
  // `key` names what `build` makes (the shapes, say); build is called only on a miss.
  Executable get(const std::string& key, const std::function<Graph()>& build, const CompileOptions& options = {});
  std::size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weft
