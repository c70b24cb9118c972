// WebNN's contexts, device tensors and compiled graphs.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/compile.h"
#include "weft/device.h"
#include "weft/element.h"
#include "weft/future.h"
#include "weft/webnn/error.h"
#include "weft/webnn/schema.h"

namespace weft::webnn {

using Sizes = std::vector<std::int64_t>;

// A data type (weft/webnn/schema.h: kDataTypes, and i4 and u4) and a shape: sizes from 1 to 2³¹ - 1, at most kMaxRank
// of them, whose product is at most 2³¹ - 1.
struct OperandDescriptor {
  DType data_type = DType::f32;
  Sizes shape = {};
  bool operator==(const OperandDescriptor&) const = default;
};

struct TensorDescriptor {
  DType data_type = DType::f32;
  Sizes shape = {};
  bool readable = false, writable = false;
};

// Bytes of the caller's, with the type of their elements as WebIDL's buffers have it: those of std::byte and uint8_t
// are good for every data type, others for their own; uint16_t also for float16.
class BufferSource {
 public:
  BufferSource(std::span<const std::byte> bytes) : bytes_(bytes) {}  // NOLINT: implicit, as are the next
  template <class T>
    requires(!std::is_same_v<T, std::byte>)
  BufferSource(std::span<const T> values)
      : bytes_(std::as_bytes(values)), type_(dtype_of<T>), typed_(true) {}  // NOLINT
  template <class T>
  BufferSource(const std::vector<T>& values) : BufferSource(std::span<const T>(values)) {}  // NOLINT

  std::span<const std::byte> bytes() const { return bytes_; }
  // True if it may be the data of an operand of that type: bytes of any, else elements of that type.
  bool fits(DType type) const;
  std::string to_string() const;  // "24 bytes of float32"

 private:
  std::span<const std::byte> bytes_;
  DType type_ = DType::u8;
  bool typed_ = false;
};

class Context;
class GraphBuilder;

// Memory of a context, or of the caller. A handle: copies are the same tensor. Any thread may use it.
class Tensor {
 public:
  Tensor() = default;
  explicit operator bool() const { return state_ != nullptr; }
  DType data_type() const;
  const Sizes& shape() const;
  bool readable() const;
  bool writable() const;
  bool constant() const;    // made by create_constant_tensor(): its values never change
  bool exportable() const;  // made by create_exportable_tensor()
  std::uint64_t byte_length() const;
  bool destroyed() const;
  // Frees the memory once what was submitted before is done; reads that are not done yet fail with InvalidStateError.
  // May be called again. Dropping the last handle does the same, but lets reads finish.
  void destroy();

  bool operator==(const Tensor&) const = default;

  struct State;  // src/webnn
  explicit Tensor(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State* state() const { return state_.get(); }

 private:
  std::shared_ptr<State> state_;
};

// A compiled graph. A handle, as Tensor.
class Graph {
 public:
  Graph() = default;
  explicit operator bool() const { return state_ != nullptr; }
  // What dispatch() wants, by name. Only inputs that an output needs are among them.
  const std::map<std::string, OperandDescriptor, std::less<>>& inputs() const;
  const std::map<std::string, OperandDescriptor, std::less<>>& outputs() const;
  // What was compiled, for reports and tests.
  const CompileReport& report() const;
  bool destroyed() const;
  void destroy();  // as Tensor's

  struct State;  // src/webnn
  explicit Graph(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State* state() const { return state_.get(); }

 private:
  std::shared_ptr<State> state_;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

enum class PowerPreference : std::uint8_t { standard, high_performance, low_power };  // standard: WebNN's "default"

struct ContextOptions {
  // high_performance and low_power ask for a GPU, discrete or integrated. It outranks `accelerated`.
  PowerPreference power_preference = PowerPreference::standard;
  // A wish: true for a GPU if there is hardware, false for the cpu.
  bool accelerated = true;
};

struct ContextLostInfo {
  std::string message;
};

enum class InputOperandLayout : std::uint8_t { nchw, nhwc };

struct RankRange {
  int min = 0, max = kMaxRank;
};
struct TensorLimits {
  TypeSet data_types;
  RankRange rank_range;
};
// What op_support_limits() tells: of each operation its operands by name, "output" or "output0", … for results.
struct OpSupportLimits {
  InputOperandLayout preferred_input_layout = InputOperandLayout::nhwc;  // convolutions are faster so
  std::uint64_t max_tensor_byte_length = 0;
  TensorLimits input, constant, output;
  std::map<std::string, std::map<std::string, TensorLimits, std::less<>>, std::less<>> ops;
};

// The state of neural networks on one device, with one timeline: what is called takes effect in the order of the calls,
// and nothing but reading waits. A handle: copies are the same context, which lives until the last handle, tensor and
// graph of it is gone. Any number of threads may use it.
//
//   auto context = webnn::Context::create();
//   webnn::GraphBuilder b(context);
//   auto x = b.input("x", {DType::f32, {2, 3}});
//   auto graph = b.build({{"y", b.relu(x)}});
//   auto in = context.create_tensor({.data_type = DType::f32, .shape = {2, 3}, .writable = true});
//   auto out = context.create_tensor({.data_type = DType::f32, .shape = {2, 3}, .readable = true});
//   context.write_tensor(in, std::vector<float>{-1, 2, -3, 4, -5, 6});
//   context.dispatch(graph, {{"x", in}}, {{"y", out}});
//   std::vector<float> y(6);
//   context.read_tensor(out, std::as_writable_bytes(std::span(y))).get();
class Context {
 public:
  // Throws NotSupportedError.
  static Context create(const ContextOptions& options = {});
  static Context create(const Device& device);
  // On the caller's device (gpu::Device::adopt).
  static Context create(wgpu::Device device, bool timed_wait = false);

  // Zeros, which takes no wait. Throws InvalidStateError, TypeError, UnknownError (no memory).
  Tensor create_tensor(const TensorDescriptor& descriptor);
  // Throws InvalidStateError, TypeError, UnknownError.
  Tensor create_constant_tensor(const OperandDescriptor& descriptor, const BufferSource& data);

  // Copies the bytes at once. Throws TypeError (of another context, not writable, another size or type of elements),
  // InvalidStateError (destroyed, rented).
  void write_tensor(const Tensor& tensor, const BufferSource& data);
  // What the tensor holds when everything called before is done. Throws TypeError (of another context, not readable),
  // InvalidStateError (destroyed, rented); the future throws InvalidStateError if the tensor is destroyed or the
  // context lost before it is done, UnknownError if reading fails.
  Future<gpu::ReadBytes> read_tensor(const Tensor& tensor);
  // The same into memory of the caller's, which must live until the future is done: it is written by get(). It may be
  // larger than the tensor. Throws TypeError if it is smaller, too.
  Future<void> read_tensor(const Tensor& tensor, std::span<std::byte> target);

  // Runs a graph. Names must be exactly the graph's; all tensors are different ones, none is a constant. Throws
  // TypeError (also for a destroyed tensor), InvalidStateError (the graph is destroyed, a tensor rented),
  // OperationError (it could not be run).
  void dispatch(const Graph& graph, const NamedTensors& inputs, const NamedTensors& outputs);

  // ---- WebGPU.
  // A tensor that can be exported; else as create_tensor(). Throws NotSupportedError on the cpu, too.
  Tensor create_exportable_tensor(const TensorDescriptor& descriptor);
  // The tensor's own buffer, with usages Storage, CopySrc and CopyDst, for the caller alone until return_from_gpu():
  // dispatch, reading and writing throw InvalidStateError until then. It holds what was called before, for work that is
  // submitted to device().gpu().queue(). Exporting again gives the same buffer. The bytes are those of the tensor,
  // padded to a multiple of 4. Throws TypeError (not exportable, of another context), InvalidStateError (destroyed,
  // lost), NotSupportedError (on the cpu).
  wgpu::Buffer export_to_gpu(const Tensor& tensor);
  // Ends the rent. What the caller submitted before comes before what is called after. Throws TypeError,
  // InvalidStateError (not exported).
  void return_from_gpu(const Tensor& tensor);
  // An extension: a tensor in a buffer of the caller's, from that byte on (a multiple of 4). The buffer has the usages
  // of an exported one and belongs to device(). Tensors in one buffer must not be an input and an output of the same
  // dispatch. destroy() drops it. Throws TypeError, InvalidStateError, NotSupportedError (on the cpu).
  Tensor import_tensor(const TensorDescriptor& descriptor, wgpu::Buffer buffer, std::uint64_t offset = 0);

  OpSupportLimits op_support_limits() const;
  bool accelerated() const;  // on a GPU
  // Done once the context is lost: destroyed, or its GPU gone. All tensors and graphs are destroyed then.
  Future<ContextLostInfo> lost() const;
  bool is_lost() const;
  // Loses the context: its tensors and graphs are destroyed, and what is called on it or its builders afterwards throws
  // InvalidStateError.
  void destroy();
  const Device& device() const;

  bool operator==(const Context&) const = default;

  struct State;  // src/webnn
  explicit Context(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& state() const { return *state_; }
  const std::shared_ptr<State>& shared_state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft::webnn
