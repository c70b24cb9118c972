// What the handles of WebNN stand for.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/format.h"
#include "weft/compile.h"
#include "weft/graph.h"
#include "weft/webnn/builder.h"

namespace weft::webnn {

// Done when the context is lost.
class LostCompletion final : public Completion {
 public:
  explicit LostCompletion(Device device) : device_(std::move(device)) {}
  bool ready() override;
  void wait() override;
  void when_ready(std::function<void()> callback) override;
  void happened(std::string message);
  std::string message() const;

 private:
  Device device_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::string message_;
  std::vector<std::function<void()>> callbacks_;
};

struct Context::State {
  explicit State(Device opened);

  Device device;
  std::shared_ptr<ConstantStore> constants;  // of all graphs, each uploaded once
  std::uint64_t max_byte_length = 0;
  std::shared_ptr<LostCompletion> lost;
  std::atomic<bool> is_lost = false;

  // Held while a call is put on the timeline, so that calls of several threads take effect in one order.
  std::recursive_mutex timeline;

  // Once; later calls do nothing.
  void lose(const std::string& message);
  // Throws InvalidStateError if it is lost; `what` is what was asked for.
  void check(std::string_view what) const;
  // Throws TypeError, with `what` in front, unless a tensor may have that type and shape.
  void check_descriptor(std::string_view what, DType type, const Sizes& shape) const;
  // The result of f. A lost device loses the context and is told as InvalidStateError, other errors of the library as a
  // Failure, with `what` in front; errors of WebNN pass.
  template <class Failure, class F>
  auto guarded(std::string_view what, F&& f) {
    try {
      return f();
    } catch (const Exception&) {
      throw;
    } catch (const DeviceLost& e) {
      lose(e.what());
      throw InvalidStateError("{}: {}", what, e.what());
    } catch (const Error& e) {
      throw Failure("{}: {}", what, e.what());
    } catch (const std::bad_alloc&) {
      throw Failure("{}: the host has no memory for it", what);
    }
  }

  // Those that are not destroyed.
  void add(Tensor::State& tensor);
  void add(Graph::State& graph);
  void remove(Tensor::State& tensor);
  void remove(Graph::State& graph);

  std::shared_ptr<void> on_lost;  // the device's callback

 private:
  std::recursive_mutex mutex_;
  std::unordered_set<Tensor::State*> tensors_;
  std::unordered_set<Graph::State*> graphs_;
};

struct Tensor::State {
  State(std::shared_ptr<Context::State> of, TensorDescriptor what)
      : context(std::move(of)), descriptor(std::move(what)) {
    context->add(*this);
  }
  ~State();
  void destroy();

  const std::shared_ptr<Context::State> context;
  const TensorDescriptor descriptor;
  bool constant = false;
  bool exportable = false;
  bool rented = false;       // under the context's timeline
  wgpu::Buffer exported;     // of exportable tensors
  weft::Tensor data;         // under the context's timeline; a constant's is none
  TensorData constant_data;  // of constants
  std::atomic<bool> destroyed = false;
};

struct Graph::State {
  explicit State(std::shared_ptr<Context::State> of) : context(std::move(of)) { context->add(*this); }
  ~State();
  void destroy();

  const std::shared_ptr<Context::State> context;
  std::map<std::string, OperandDescriptor, std::less<>> inputs, outputs;
  std::vector<std::string> input_order, output_order;  // as the executable has them
  Executable executable;                               // under the context's timeline
  CompileReport report;
  std::atomic<bool> destroyed = false;
};

struct Operand::State {
  const void* builder;  // which one, for comparing
  OperandDescriptor descriptor;
  weft::Tensor tensor;
  enum class Kind : std::uint8_t { input, constant, result } kind = Kind::result;
  std::string name = {};  // of inputs
};

struct GraphBuilder::State {
  explicit State(Context of) : context(std::move(of)) {}

  const Context context;
  std::mutex mutex;
  bool built = false;
  std::vector<Operand> inputs;
  // Results of which nothing can be computed (Call::unbuildable), and build()'s messages about them.
  std::vector<std::pair<weft::Tensor, std::string>> unbuildable;
};

// What tensors, inputs and constants may hold.
inline constexpr TypeSet kTensorTypes = kDataTypes | kPackedDataTypes;

// Throws TypeError, with `what` in front, unless the data are a tensor's of that type and shape.
void check_data(std::string_view what, DType type, const Sizes& shape, const BufferSource& data);

// Bytes that a tensor has. Throws nothing; 2⁶³ and more are 2⁶³ - 1.
std::uint64_t byte_length(DType type, const Sizes& shape);

}  // namespace weft::webnn
