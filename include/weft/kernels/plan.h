// Planned kernel calls. Everything about a call that does not depend on where its operands lie (the kernel's form, its
// grid and parameters, its scratch, its compiled pipeline) is found once, and the call is recorded as often as wanted.
//
//   const View x = operand(DType::f32, {1024, 1024}), y = x;
//   const Plan p = plan(device, {x, y}, [](Stream& s, std::span<const View> v) { softmax(s, v[0], v[1], -1); });
//   p.scratch();                              // bytes
//   p.record(encoder, {real_x, real_y});      // any number of times, on any stream of the device
//
// Functions of weft/kernels.h that are called on a stream directly do the same by themselves: their plans are kept with
// the device and found again by operands and options.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "weft/device.h"
#include "weft/stream.h"
#include "weft/view.h"
#include "weft/work.h"

namespace weft::kernels {

// The kernel calls that a plan is made of. They name the views they are given and no other memory, and give the same
// calls whenever they are given the same layouts.
using PlannedCalls = std::function<void(Stream& stream, std::span<const View> operands)>;

class Plan {
 public:
  Plan() = default;  // of nothing

  // Bytes of scratch that record() needs.
  std::uint64_t scratch() const;
  // What is dispatched: each kernel with its variant, the reason for it, its grid and its work. Empty on the CPU.
  std::span<const KernelRun> dispatches() const;

  // Whether record() takes these views: as many as were planned with, of the same data types, shapes and strides, that
  // begin as far from a multiple of 256 bytes, share buffers where those did and no others that the calls write, and end
  // as far before the end of their buffers where that is less than 16 bytes.
  bool fits(std::span<const View> operands) const;

  // Records the calls. Without `scratch` (dense, at a multiple of 256 bytes) the stream's own is taken. On a CPU stream
  // the calls are made at once. Throws InvalidArgument if the operands do not fit or the stream belongs to another
  // device.
  void record(Stream& stream, std::span<const View> operands, const std::optional<View>& scratch = {}) const;
  void record(Stream& stream, std::initializer_list<View> operands, const std::optional<View>& scratch = {}) const {
    record(stream, std::span(operands.begin(), operands.size()), scratch);
  }

  explicit operator bool() const { return state_ != nullptr; }

  struct State;  // src/kernels/plan_state.h
  Plan(Device device, std::shared_ptr<const State> state);

 private:
  Device device_;
  std::shared_ptr<const State> state_;
};

// Pipelines are compiled (the call does not wait for them) or, for plans that only tell what a device would do, not.
enum class PlanFor : std::uint8_t { recording, inspection };

// Plans calls. The views need no memory: operand() makes such. On the CPU nothing is checked until the plan is recorded.
// Throws what the calls would: InvalidArgument, Unsupported (this device cannot do it, and why).
Plan plan(const Device& device, std::span<const View> operands, PlannedCalls calls,
          PlanFor purpose = PlanFor::recording);
inline Plan plan(const Device& device, std::initializer_list<View> operands, PlannedCalls calls,
                 PlanFor purpose = PlanFor::recording) {
  return plan(device, std::span(operands.begin(), operands.size()), std::move(calls), purpose);
}

// A view of no memory in a buffer of its own, for planning.
View operand(DType dtype, const Layout& layout);

}  // namespace weft::kernels
