// What kernel calls do and how they ran: for profiles, reports and estimates.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace weft {

// The units of a device that floating-point work runs on; each has a rate of its own (weft/calibration.h).
enum class Arithmetic : std::uint8_t { f32, f16, matrix };

// The least work of a kernel call, on any device.
struct Work {
  std::uint64_t bytes = 0;  // read and written, each element once
  double flops = 0;         // floating-point operations; a multiply-add is two
  double functions = 0;     // of that, what is computed for single elements, in exponentials of f32 (Expression::cost)
  Arithmetic arithmetic = Arithmetic::f32;

  // As one number, for bounds: a GPU moves a byte in the time of about ten operations, an exponential takes about
  // twenty.
  double amount() const { return flops + 10 * static_cast<double>(bytes) + 20 * functions; }
};

// A dispatch on a GPU, or a step of a compiled graph on the cpu.
struct KernelRun {
  std::string step = {};               // the step of a compiled graph: "matmul+bias [4096, 1152]"; empty outside of one
  std::string kernel = {};             // "matmul"
  std::string variant = {}, why = {};  // the kernel's form, and why it was chosen; may be empty
  Work work = {};
  std::array<std::uint32_t, 3> workgroups{};
  std::uint64_t live_bytes = 0;   // of the graph's intermediates that are alive during the step
  double start = 0, seconds = 0;  // since the profiler began; 0 where nothing was timed
};

}  // namespace weft
