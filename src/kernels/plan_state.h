// The contents of a plan (without its device, in which plans are cached), and the stream on which launchers run to make
// one.
#pragma once

#include <functional>

#include "gpu/prepared.h"
#include "weft/kernels/plan.h"

namespace weft::kernels {

// The layout of a plan's operand: all that a launcher's decisions may depend on.
struct PlannedOperand {
  DType dtype;
  Layout layout;
  std::uint32_t offset_remainder = 0;  // bytes past a multiple of the alignment of bindings
  std::int32_t tail_bytes = 0;         // bytes of its buffer past its last one; kWhole: up to the next multiple of 16
  std::int32_t owner = 0;              // index of the first operand in the same buffer, perhaps this one
  std::int64_t distance = 0;           // in bytes, from the owner
  bool written = false;                // by the planned calls; set for owners
  static constexpr std::int32_t kWhole = 16;
  static constexpr std::int32_t kNumber = 17;  // a Buffer::number(), which is no memory
  static constexpr std::int32_t kAbsent = 18;  // no buffer at all: an operand that is not given
};

struct Plan::State {
  struct Binding {
    int operand = 0;          // an owner's index, or one of the two below
    std::int64_t offset = 0;  // bytes from its first element
    std::uint64_t size = 0;
    gpu::Access access = gpu::Access::read;
    Buffer buffer;  // for kDevice
  };
  static constexpr int kScratch = -1;  // the plan's scratch
  static constexpr int kDevice = -2;   // memory that belongs to the device
  struct Dispatch {
    std::shared_ptr<const gpu::PreparedDispatch> prepared;
    std::vector<Binding> bindings;
    std::vector<std::pair<int, gpu::NumberParam>> numbers;  // operands, and where they are in the uniform block
  };

  std::vector<PlannedOperand> operands;
  std::uint64_t scratch = 0;
  std::vector<Dispatch> dispatches;
  std::vector<KernelRun> runs;             // descriptions of the dispatches
  PlannedCalls calls;                      // on the CPU
  std::optional<std::uint64_t> undecided;  // it was made while self-tests were under way (gpu::Undecided)

  // The operands must have the planned layouts.
  void record(gpu::Commands& commands, std::span<const View* const> operands, const std::optional<View>& scratch) const;
};

// Fills `planned` from the views. False if one of them is outside of its buffer or not in a GPU's memory; without a
// buffer it stands for an operand that is not given.
bool describe_operands(std::span<const View* const> views, std::uint64_t alignment, std::span<PlannedOperand> planned);

// Collects the dispatches of the launchers that run on it.
class Planner final : public gpu::Commands {
 public:
  // `inspect`: of a plan for inspection, is called with each dispatch. Default: makes its text, which throws where the
  // device does not support it.
  using Inspect = std::function<void(const gpu::Dispatch&)>;
  Planner(gpu::Device device, std::span<const View* const> operands, PlanFor purpose, Inspect inspect = {});

  gpu::Device& device() override { return device_; }
  bool planning() const override { return true; }
  void dispatch(const gpu::Dispatch& dispatch) override;
  void dispatch(const std::shared_ptr<const gpu::PreparedDispatch>& dispatch, std::span<const gpu::Binding> bindings,
                std::span<const gpu::NumberParam> numbers) override;
  Buffer scratch(std::uint64_t bytes) override;

  PlanFor purpose() const { return purpose_; }
  // Appends the dispatches of a plan, for operands of its layouts.
  void append(const Plan::State& plan, std::span<const View* const> operands);
  std::shared_ptr<const Plan::State> finish(std::optional<std::uint64_t> undecided = {});

 private:
  friend class GpuScratch;
  Plan::State::Binding located(const gpu::Binding& binding) const;
  void locate(std::span<const gpu::NumberParam> numbers, Plan::State::Dispatch& dispatch) const;

  gpu::Device device_;
  PlanFor purpose_;
  Inspect inspect_;
  std::span<const View* const> views_;
  std::shared_ptr<Plan::State> state_;
  Buffer scratch_;                  // a placeholder for the plan's scratch
  std::uint64_t scratch_used_ = 0;  // bytes that scopes hold
};

// A launcher's scratch, released at the end of the scope: later allocations may reuse the memory.
//
//   GpuScratch scratch(commands);
//   const View sums = scratch.take(bytes);
class GpuScratch {
 public:
  // `commands` is a Planner, as it is for every launcher.
  explicit GpuScratch(gpu::Commands& commands);
  ~GpuScratch();
  GpuScratch(const GpuScratch&) = delete;
  GpuScratch& operator=(const GpuScratch&) = delete;
  // Allocates `bytes` bytes (u8), at a multiple of 256. Throws Unsupported if the device has no buffers that large.
  View take(std::uint64_t bytes);

 private:
  Planner& planner_;
  std::uint64_t held_;
};

}  // namespace weft::kernels
