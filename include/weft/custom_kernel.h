// A kernel of the caller's: a piece of WGSL with declared operands. custom() (weft/custom_op.h) puts it into a graph.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/error.h"
#include "weft/tensor_type.h"
#include "weft/view.h"

namespace weft {

struct CustomKernel {
  std::string name = {};                               // in schedules and messages
  std::vector<std::string> inputs = {}, outputs = {};  // the operands' names in the text: identifiers of WGSL

  // The text declares fn kernel(i: u32), which runs once for each i below `threads`; or, where `workgroups` is set, the
  // entry point itself: @compute @workgroup_size(…) fn main(…). Text generated before it declares, for each operand
  // `a`:
  //   alias a_t                       the type that an element computes in: f32 for all floats up to 32 bits, i32, u32
  //                                   (also booleans, 0 or 1), vec2<u32> for 64-bit integers (low word first),
  //                                   vec2<f32> for complex
  //   fn load_a(i: u32) -> a_t        of inputs: element i in row-major order
  //   fn store_a(i: u32, v: a_t)      of outputs: the same, converted to the tensor's type
  //   p.a_count, p.a_n0, p.a_n1, …    how many elements it has, and its sizes (u32)
  // and p.<name> for each of `numbers`, whose names must differ from these. Indices are not checked: WebGPU only keeps
  // them within the buffer.
  std::string wgsl = {};
  // WGSL extensions that the text uses, "f16" and "subgroups". (It cannot enable them itself, because declarations come
  // before it. Subgroup operations need an entry point main().) Compiling for a device without them throws Unsupported.
  std::vector<std::string> enables = {};
  std::vector<std::pair<std::string, std::variant<std::uint32_t, std::int32_t, float>>> numbers = {};

  // Types of the results. Throws InvalidArgument if the operands do not fit.
  std::function<std::vector<TensorType>(std::span<const TensorType> inputs)> infer = {};
  // How often kernel(i) runs; none: once for each element of result 0.
  std::function<std::int64_t(std::span<const TensorType> inputs, std::span<const TensorType> outputs)> threads = {};
  // The grid of main().
  std::function<std::array<std::uint32_t, 3>(std::span<const TensorType> inputs, std::span<const TensorType> outputs)>
      workgroups = {};

  // The same on the CPU, on dense views in host memory; none: compiling for the cpu device throws Unsupported.
  std::function<void(std::span<const View> inputs, std::span<const View> outputs)> cpu = {};
};

// Thrown when a graph is compiled whose custom kernel the WGSL compiler rejects. `message` is the compiler's, `line`
// counts from 1 in the text given (0: the error is in no line of it). Errors that appear only when the pipeline is
// created (no main(), a workgroup larger than the device's limit) are a ValidationError that names the kernel.
class KernelError : public ValidationError {
 public:
  KernelError(const std::string& kernel, int line, const std::string& message)
      : ValidationError("custom kernel '" + kernel + "', line " + std::to_string(line) + ": " + message),
        line_(line),
        message_(message) {}
  int line() const { return line_; }
  const std::string& message() const { return message_; }

 private:
  int line_;
  std::string message_;
};

}  // namespace weft
