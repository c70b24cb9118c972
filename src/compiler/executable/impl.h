// The implementation of Executable.
#pragma once

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "compiler/constant_store.h"
#include "compiler/device_data.h"
#include "compiler/memory_plan.h"
#include "compiler/schedule.h"
#include "core/inline_list.h"
#include "cpu/executor.h"

namespace weft {

// Bytes in whole units, at least one.
constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
  return std::max((bytes + unit - 1) / unit * unit, unit);
}

struct Executable::Impl final : ConstantStore::User, std::enable_shared_from_this<Executable::Impl> {
  Impl(Device device, compiler::Schedule schedule, std::shared_ptr<ConstantStore> store, bool restorable);
  ~Impl() override;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Tensors and numbers by name, or in the ports' order; `captured`: the tensors with data that the graph needs. On the
  // stream, or null: submitted by itself.
  template <class Given, class GivenNumber>
  Future<void> run(Stream* stream, std::span<const Given> inputs, std::span<const Tensor> captured,
                   std::span<const Given> outputs, std::span<const GivenNumber> numbers);
  void restore(const Device& next);
  // Ready when it waits for nothing any more at its first run: self-tests have answered, and kernels are compiled.
  Future<void> async_ready();
  void wait_ready();
  void log_compiled() const;

  Device device;
  CompileReport report;

 private:
  // A kernel call with its operands in memory.
  struct Step {
    const compiler::ScheduledCall* call;
    std::vector<View> inputs, outputs;
    std::optional<View> scratch;
    PreparedCall prepared = nullptr;  // on the cpu; null: the op has none
  };
  // The recording for tensors with these offsets in their buffers; most offsets are 0.
  struct Recorded {
    std::vector<std::uint64_t> offsets;    // of inputs, then outputs
    std::vector<gpu::Substitution> ports;  // likewise; the buffers are set at each run
    std::vector<gpu::Recording> parts;     // by parts_
    std::atomic<bool> compiled = false;    // its kernels are
    void finish() {
      for (gpu::Recording& part : parts) part.finish();
      compiled = true;
    }
  };

  // What one run was given. Runs on several threads have their own.
  struct Run {
    InlineList<const DeviceData*, 16> bound;  // of inputs, then outputs; null: not given
    InlineList<char, 16> number_given;
    InlineList<std::uint64_t, 16> numbers;  // bits
    mutable bool overwrote = false;         // donated inputs: they hold no values if it fails now
  };
  // The calls on the cpu, with memory for intermediates and numbers.
  struct HostCalls {
    std::vector<Buffer> scratch;
    std::vector<Buffer> numbers;
    std::vector<Buffer> indices;  // of the turns of each block
    std::vector<Buffer> ports;    // placeholders of inputs and outputs, which each run points at their memory
    std::vector<Step> steps;
    std::vector<View> conditions;  // of each block
  };
  // Of each storage its buffer and offset; none for ports.
  using Memory = std::vector<std::pair<Buffer, std::uint64_t>>;

  // Ports in a row, and what messages call one.
  using PortNames = std::unordered_map<std::string_view, std::size_t>;
  struct Side {
    const char* what;
    std::size_t first = 0, count = 0;
    PortNames names = {};  // empty for what was captured
  };

  // ---- executable.cc: its life
  void set_up();
  // Sets it up again if fast paths have passed their tests that had not when it was set up.
  void use_passed_tests();
  void check_sizes() const;
  void leave(const Device& next) override;

  // ---- memory.cc: the plan, and the calls in memory
  void plan();
  void allocate_scratch();
  void drop_scratch() override;
  void drop_idle() override { idle_host_calls_.clear(); }
  // The memory with those buffers for intermediates.
  Memory with_scratch(std::span<const Buffer> buffers) const;
  std::vector<Step> steps(const Memory& own,
                          const std::function<std::pair<Buffer, std::uint64_t>(int port)>& memory) const;
  // The conditions of the blocks; `memory` as for steps().
  std::vector<View> conditions(const Memory& own,
                               const std::function<std::pair<Buffer, std::uint64_t>(int port)>& memory) const;
  std::shared_ptr<HostCalls> make_host_calls(std::vector<Buffer> scratch) const;

  // ---- recording.cc: dispatches of a GPU
  void record(gpu::Recording& recording, const Step& step) const;
  // Which recording has the calls from this one on, up to where a block begins or ends.
  std::size_t part_at(int call) const;
  std::shared_ptr<Recorded> recorded(const Run& run);

  // ---- arguments.cc: what a run is given
  const compiler::Port& port_at(std::size_t port) const;
  std::string port_text(std::size_t port) const;  // input "x"
  int port(const compiler::Storage& storage) const;
  // Nothing is given yet.
  Run new_run() const;
  // Binds a tensor to a port. Throws InvalidArgument.
  void bind(Run& run, std::size_t port, const Tensor& tensor) const;
  void bind(Run& run, std::size_t port, const DeviceData& data) const;
  void bind(Run& run, std::span<const NamedTensor> given, const Side& side) const;
  void bind(Run& run, std::span<const Tensor> given, const Side& side) const;
  void bind(Run& run, std::span<const DeviceData* const> given, const Side& side) const;
  void check_count(std::size_t given, const Side& side) const;
  void set_number(Run& run, std::size_t number, const Number& value) const;
  void set_numbers(Run& run, std::span<const NamedNumber> given) const;
  void set_numbers(Run& run, std::span<const Number> given) const;
  void check_all_bound(const Run& run) const;
  void check_devices(const Run& run) const;

  // ---- run.cc
  // Hold the store's lock, which a run on the cpu lets go of while it computes.
  void replay(Recorded& recorded, const Run& run, gpu::Encoder& encoder, bool& divided);
  Future<void> run_on_gpu(std::unique_lock<OwnedMutex>& lock, const Run& run, gpu::Encoder* encoder);
  void run_on_cpu(std::unique_lock<OwnedMutex>& lock, const Run& run, cpu::Executor& executor);
  // Does what an op says; its errors name the call.
  template <class F>
  auto of_call(const compiler::ScheduledCall& call, const F& f) const;
  void launch(Stream& stream, const Step& step) const;
  // Whether one of these calls writes to memory that an input was donated with.
  bool overwrites_donated(int first, int end) const;
  PreparedCall prepared(const Step& step) const;

  // ---- report.cc
  std::string describe(const compiler::StoredView& operand) const;
  void log_schedule() const;
  KernelRun describe_step(const Step& step) const;
  void report_dispatches(std::span<const KernelRun> dispatches);
  void run_and_dump(Stream* stream, std::span<const Step> steps);
  std::string describe(const compiler::Block& block) const;

  compiler::Schedule schedule_;
  std::shared_ptr<ConstantStore> store_;
  compiler::PlannedSchedule planned_;
  std::vector<int> parts_;    // the calls at which blocks begin or end, from 0 to the number of calls
  std::size_t own_storages_;  // storages of the graph; those of scratch follow
  bool restorable_;
  bool ready_ = false;                      // set up for this device
  std::optional<std::uint64_t> undecided_;  // while self-tests were under way (gpu::Undecided)
  bool has_scratch_ = false;
  std::uint64_t generation_ = 0;  // of the memory that recordings use
  Memory memory_;
  Buffer empty_;  // stands for tensors without elements
  Side inputs_{"input"}, captured_{"captured tensor"}, outputs_{"output"};
  PortNames number_names_;
  std::vector<std::pair<std::size_t, std::size_t>> donors_;  // ports: an output, and the input whose memory it has

  // GPU
  std::vector<std::shared_ptr<Recorded>> recordings_;
  // CPU
  cpu::Executor cpu_;
  std::shared_ptr<HostCalls> host_calls_;                    // in the store's scratch
  std::vector<std::shared_ptr<HostCalls>> idle_host_calls_;  // in memory of their own, for runs at the same time
};

}  // namespace weft
