// The implementation of Executable.
#pragma once

#include <unordered_map>

#include "compiler/constant_store.h"
#include "compiler/device_data.h"
#include "compiler/memory_plan.h"
#include "compiler/schedule.h"
#include "weft/cpu.h"

namespace weft {

struct Executable::Impl final : ConstantStore::User {
  Impl(Device device, compiler::Schedule schedule, std::shared_ptr<ConstantStore> store, bool restorable);
  ~Impl() override;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Tensors and numbers by name, or in the ports' order; `captured`: the tensors with data that the graph needs.
  template <class Given, class GivenNumber>
  void run(std::span<const Given> inputs, std::span<const Tensor> captured, std::span<const Given> outputs,
           std::span<const GivenNumber> numbers);
  void restore(const Device& next);

  Device device;
  CompileReport report;

 private:
  // A kernel call with its operands in memory.
  struct Step {
    const compiler::ScheduledCall* call;
    std::vector<View> inputs, outputs;
    std::optional<View> scratch;
  };
  // The recording for tensors with these offsets in their buffers; most offsets are 0.
  struct Recorded {
    std::vector<std::uint64_t> offsets;       // of inputs, then outputs
    std::vector<gpu::Substitution> ports;     // likewise; the buffers are set at each run
    gpu::Recording recording;
  };

  void drop_scratch() override;
  void leave(const Device& next) override;
  void set_up();
  void plan();
  void place();
  std::string describe(const compiler::Operand& operand) const;
  void log_schedule() const;
  using PortNames = std::unordered_map<std::string_view, std::size_t>;
  // Ports in a row, and what messages call one.
  struct Side {
    const char* what;
    std::size_t first = 0, count = 0;
    PortNames names = {};  // empty for what was captured
  };
  // Binds a tensor to a port. Throws InvalidArgument.
  void bind(std::size_t port, const Tensor& tensor);
  void bind(std::span<const NamedTensor> given, const Side& side);
  void bind(std::span<const Tensor> given, const Side& side);
  void set_number(std::size_t number, const Number& value);
  void set_numbers(std::span<const NamedNumber> given);
  void set_numbers(std::span<const Number> given);
  void check_all_bound();
  void run_bound();
  const compiler::Port& port_at(std::size_t port) const;
  std::string port_text(std::size_t port) const;  // input "x"
  int port(const compiler::Storage& storage) const;
  std::vector<Step> steps(const std::function<std::pair<Buffer, std::uint64_t>(int port)>& memory) const;
  void launch(Stream& stream, const Step& step) const;
  void record(gpu::Recording& recording, const Step& step) const;
  KernelRun describe_step(const Step& step) const;
  void report_dispatches(std::span<const KernelRun> dispatches);
  void run_and_dump(std::span<Step> steps);
  Recorded& recorded();

  compiler::Schedule schedule_;
  std::shared_ptr<ConstantStore> store_;
  compiler::PlannedSchedule planned_;
  std::size_t own_storages_;   // storages of the graph; those of scratch follow
  bool restorable_;
  bool ready_ = false;         // set up for this device
  bool placed_ = false;
  std::vector<std::pair<Buffer, std::uint64_t>> memory_;  // of each storage: buffer and offset; none for ports
  Buffer empty_;                                          // stands for tensors without elements
  std::vector<const DeviceData*> bound_;                  // inputs, then outputs, during a run
  Side inputs_{"input"}, captured_{"captured tensor"}, outputs_{"output"};
  PortNames number_names_;
  std::vector<std::pair<std::size_t, std::size_t>> donors_;  // ports: an output, and the input whose memory it has
  std::vector<char> number_given_;                        // during a run
  std::vector<std::pair<const void*, std::size_t>> by_buffer_;  // of check_all_bound

  // GPU
  std::vector<std::unique_ptr<Recorded>> recordings_;
  // CPU
  cpu::Executor cpu_;
  std::vector<Step> steps_;
};

}  // namespace weft
