// Planned kernel calls. Everything about a call that does not depend on where its operands are in memory (the kernel's
// form, its grid and parameters, its scratch, its compiled pipeline) is computed once, and the call is recorded as
// often as wanted.
//
//   const View x = operand(DType::f32, {1024, 1024}), y = x;
//   const Plan p = plan(device, {x, y}, [](Stream& s, std::span<const View> v) { softmax(s, v[0], v[1], -1); });
//   p.scratch();                              // bytes
//   p.record(encoder, {real_x, real_y});      // any number of times, on any stream of the device
//
// Functions of weft/kernels.h that are called on a stream directly do the same: their plans are cached with the device
// by operands and options.
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

// The kernel calls of a plan. They use only the views they are given and no other memory, and must be the same calls
// whenever the layouts are the same.
using PlannedCalls = std::function<void(Stream& stream, std::span<const View> operands)>;

class Plan {
 public:
  Plan() = default;  // of nothing

  // Bytes of scratch that record() needs.
  std::uint64_t scratch() const;
  // What is dispatched: each kernel with its variant, the reason for it, its grid and its work. Empty on the CPU.
  std::span<const KernelRun> dispatches() const;

  // True if record() takes these views. They match the planned ones: in number, data types, shapes and strides; in
  // offset modulo 256 bytes; in which of them share a buffer, at what distance (others may share one only if the calls
  // do not write to it); and in the distance to the end of the buffer where that is less than 16 bytes.
  bool fits(std::span<const View> operands) const;

  // Records the calls. Without `scratch` (dense, at a multiple of 256 bytes) the stream's own is used. On a CPU stream
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

// For recording, pipelines are compiled in the background; plans for inspection only show what a device would do and
// compile none.
enum class PlanFor : std::uint8_t { recording, inspection };

// Plans calls. The views need no memory: operand() makes such. An empty View() stands for an operand that is not given,
// and fits where it was planned. On the CPU nothing is checked until the plan is recorded. Throws what the calls would:
// InvalidArgument, Unsupported (this device cannot do it, and why).
Plan plan(const Device& device, std::span<const View> operands, PlannedCalls calls,
          PlanFor purpose = PlanFor::recording);
inline Plan plan(const Device& device, std::initializer_list<View> operands, PlannedCalls calls,
                 PlanFor purpose = PlanFor::recording) {
  return plan(device, std::span(operands.begin(), operands.size()), std::move(calls), purpose);
}

// A view without memory, in a buffer of its own, for planning.
View operand(DType dtype, const Layout& layout);

}  // namespace weft::kernels
