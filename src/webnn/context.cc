#include "weft/webnn/context.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "core/format.h"
#include "webnn/message.h"
#include "webnn/op_rows.h"
#include "webnn/state.h"
#include "weft/gpu.h"
#include "weft/kernels/generate.h"

namespace weft::webnn {

namespace {

constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;

// As many bytes as a tensor may have elements, so that any shape within it is a valid one; a device may have less.
std::uint64_t max_byte_length(const Device& device) {
  constexpr std::uint64_t kMost = kLargestSize;
  return device.is_gpu() ? std::min(kMost, device.gpu().capabilities().max_buffer / 8 * 8 - 1) : kMost;
}

// Zeros, on the timeline.
void fill_with_zeros(const Device& device, const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes) {
  if (device.is_gpu()) {
    gpu::Encoder encoder(device.gpu());
    // The words that hold the bytes: buffers have whole ones.
    kernels::arange(encoder, 0, 0, View(buffer, offset, DType::u32, Shape{static_cast<std::int64_t>((bytes + 3) / 4)}));
    encoder.submit();
  } else {
    std::fill_n(buffer.data() + offset, bytes, std::byte{0});
  }
}

Device chosen(const ContextOptions& options) {
  if (options.power_preference == PowerPreference::standard && !options.accelerated) return Device::cpu();
  if (options.power_preference == PowerPreference::low_power && flag_text(Flag::device).empty()) {
    for (const gpu::AdapterInfo& adapter : gpu::adapters()) {
      if (adapter.type == "integrated") return gpu::Device::open({.adapter = std::to_string(adapter.index)});
    }
  }
  return Device::open();
}

// The functions below are about a tensor that the caller gives.
Tensor::State& state_of(const Tensor& tensor, const Context::State& context, std::string_view what) {
  if (!tensor) throw TypeError("{}: an empty Tensor", what);
  if (tensor.state()->context.get() != &context) throw TypeError("{}: the tensor is of another context", what);
  return *tensor.state();
}

void check_there(const Tensor::State& tensor, std::string_view what) {
  if (tensor.context->is_lost)
    throw InvalidStateError("{}: the context is lost: {}", what, tensor.context->lost->message());
  if (tensor.destroyed) throw InvalidStateError("{}: the tensor is destroyed", what);
}

void check_not_rented(const Tensor::State& tensor, std::string_view what) {
  if (tensor.rented) {
    throw InvalidStateError("{}: the tensor is exported to WebGPU until return_from_gpu()", what);
  }
}

std::string describe(const TensorDescriptor& d) { return to_string(d.data_type, d.shape); }

}  // namespace

std::uint64_t byte_length(DType type, const Sizes& shape) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size <= 0) return 0;
    if (count > kMost / 64 / static_cast<std::uint64_t>(size)) return kMost;
    count *= static_cast<std::uint64_t>(size);
  }
  return byte_size(type, count);
}

void check_data(std::string_view what, DType type, const Sizes& shape, const BufferSource& data) {
  const std::uint64_t bytes = byte_length(type, shape);
  if (data.bytes().size() == bytes && data.fits(type)) return;
  throw TypeError("{}: the data are {}, expected {} bytes of {} or of bytes, for {}", what, data.to_string(), bytes,
                  data_type_name(type), to_string(type, shape));
}

// ---- BufferSource

bool BufferSource::fits(DType type) const {
  if (!typed_ || type_ == DType::u8 || type_ == type) return true;
  return type == DType::f16 && type_ == DType::u16;
}

std::string BufferSource::to_string() const {
  return typed_ ? std::format("{} bytes of {}", bytes_.size(), data_type_name(type_))
                : std::format("{} bytes", bytes_.size());
}

// ---- Losing a context

bool LostCompletion::ready() {
  if (device_.is_gpu()) device_.gpu().poll();
  const std::lock_guard lock(mutex_);
  return done_;
}

void LostCompletion::wait() {
  while (!ready()) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(5), [&] { return done_; });
  }
}

void LostCompletion::when_ready(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void LostCompletion::happened(std::string message) {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
    message_ = std::move(message);
    callbacks.swap(callbacks_);
  }
  changed_.notify_all();
  for (const auto& callback : callbacks) callback();
}

std::string LostCompletion::message() const {
  const std::lock_guard lock(mutex_);
  return message_;
}

Context::State::State(Device opened)
    : device(std::move(opened)),
      constants(make_constant_store(device)),
      max_byte_length(webnn::max_byte_length(device)),
      lost(std::make_shared<LostCompletion>(device)) {}

void Context::State::lose(const std::string& message) {
  if (is_lost.exchange(true)) return;
  {
    const std::lock_guard order(timeline);
    const std::lock_guard lock(mutex_);
    for (Graph::State* graph : std::vector(graphs_.begin(), graphs_.end())) graph->destroy();
    for (Tensor::State* tensor : std::vector(tensors_.begin(), tensors_.end())) tensor->destroy();
  }
  lost->happened(message);
}

void Context::State::check(std::string_view what) const {
  if (device.is_gpu() && device.gpu().lost()) device.gpu().poll();  // calls on_lost
  if (is_lost) throw InvalidStateError("{}: the context is lost: {}", what, lost->message());
}

void Context::State::check_descriptor(std::string_view what, DType type, const Sizes& shape) const {
  if (!kTensorTypes.contains(type))
    throw TypeError("{}: the data type is {}, expected {}", what, data_type_name(type), names(kTensorTypes));
  if (shape.size() > static_cast<std::size_t>(kMaxRank)) {
    throw TypeError("{}: the shape is {}, expected a rank of at most {}", what, webnn::to_string(shape), kMaxRank);
  }
  for (const std::int64_t size : shape) {
    if (size < 1 || size > kLargestSize) {
      throw TypeError("{}: the shape is {}, expected sizes from 1 to {}", what, webnn::to_string(shape), kLargestSize);
    }
  }
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (count > kLargestSize / size) {
      throw TypeError("{}: the shape is {}, expected at most {} elements", what, webnn::to_string(shape), kLargestSize);
    }
    count *= size;
  }
  if (const std::uint64_t bytes = byte_length(type, shape); bytes > max_byte_length) {
    throw TypeError("{}: {} takes {} bytes, expected at most max_tensor_byte_length, which is {}", what,
                    webnn::to_string(type, shape), bytes, max_byte_length);
  }
}

void Context::State::add(Tensor::State& tensor) {
  const std::lock_guard lock(mutex_);
  tensors_.insert(&tensor);
}
void Context::State::add(Graph::State& graph) {
  const std::lock_guard lock(mutex_);
  graphs_.insert(&graph);
}
void Context::State::remove(Tensor::State& tensor) {
  const std::lock_guard lock(mutex_);
  tensors_.erase(&tensor);
}
void Context::State::remove(Graph::State& graph) {
  const std::lock_guard lock(mutex_);
  graphs_.erase(&graph);
}

// ---- Contexts

Context Context::create(const Device& device) {
  auto state = std::make_shared<State>(device);
  if (device.is_gpu()) {
    state->on_lost = device.gpu().on_lost([weak = std::weak_ptr(state)](const std::string& reason) {
      if (const auto context = weak.lock()) context->lose(reason);
    });
  }
  return Context(std::move(state));
}

Context Context::create(const ContextOptions& options) {
  try {
    return create(chosen(options));
  } catch (const Exception&) {
    throw;
  } catch (const Error& e) {
    throw NotSupportedError("create context: {}", e.what());
  }
}

Context Context::create(wgpu::Device device, bool timed_wait) {
  try {
    return create(Device(gpu::Device::adopt(std::move(device), timed_wait)));
  } catch (const Exception&) {
    throw;
  } catch (const Error& e) {
    throw NotSupportedError("create context: {}", e.what());
  }
}

const Device& Context::device() const { return state_->device; }
bool Context::accelerated() const { return state_->device.is_gpu(); }
bool Context::is_lost() const { return state_->is_lost; }
void Context::destroy() { state_->lose("destroy() was called on the context"); }

Future<ContextLostInfo> Context::lost() const {
  return {state_->lost, [lost = state_->lost] { return ContextLostInfo{lost->message()}; }};
}

Tensor Context::create_tensor(const TensorDescriptor& descriptor) {
  static constexpr std::string_view kWhat = "create tensor";
  state_->check(kWhat);
  state_->check_descriptor(kWhat, descriptor.data_type, descriptor.shape);
  auto tensor = std::make_shared<Tensor::State>(state_, descriptor);
  const std::lock_guard lock(state_->timeline);
  state_->guarded<UnknownError>(std::format("{}: {}", kWhat, describe(descriptor)), [&] {
    tensor->data = weft::Tensor(state_->device, descriptor.data_type, to_shape(descriptor.shape));
    const View& view = tensor->data.view();
    fill_with_zeros(state_->device, view.buffer, view.offset, byte_length(descriptor.data_type, descriptor.shape));
  });
  return Tensor(std::move(tensor));
}

Tensor Context::create_constant_tensor(const OperandDescriptor& descriptor, const BufferSource& data) {
  static constexpr std::string_view kWhat = "create constant tensor";
  state_->check(kWhat);
  state_->check_descriptor(kWhat, descriptor.data_type, descriptor.shape);
  const TensorDescriptor full{descriptor.data_type, descriptor.shape};
  check_data(kWhat, descriptor.data_type, descriptor.shape, data);
  auto tensor = std::make_shared<Tensor::State>(state_, full);
  tensor->constant = true;
  try {
    tensor->constant_data = TensorData::copy_of(descriptor.data_type, to_shape(descriptor.shape), data.bytes());
  } catch (const std::bad_alloc&) {
    throw UnknownError("{}: no memory for {}", kWhat, describe(full));
  }
  return Tensor(std::move(tensor));
}

void Context::write_tensor(const Tensor& tensor, const BufferSource& data) {
  static constexpr std::string_view kWhat = "write tensor";
  Tensor::State& t = state_of(tensor, *state_, kWhat);
  const std::lock_guard lock(state_->timeline);
  check_there(t, kWhat);
  if (!t.descriptor.writable) throw TypeError("{}: the tensor is not writable", kWhat);
  check_data(kWhat, t.descriptor.data_type, t.descriptor.shape, data);
  check_not_rented(t, kWhat);
  state_->guarded<UnknownError>(kWhat, [&] { t.data.write(data.bytes()); });
}

Future<gpu::ReadBytes> Context::read_tensor(const Tensor& tensor) {
  static constexpr std::string_view kWhat = "read tensor";
  Tensor::State& t = state_of(tensor, *state_, kWhat);
  const std::lock_guard lock(state_->timeline);
  check_there(t, kWhat);
  if (!t.descriptor.readable) throw TypeError("{}: the tensor is not readable", kWhat);
  check_not_rented(t, kWhat);
  const View& view = t.data.view();
  auto reading = std::make_shared<Future<gpu::ReadBytes>>(state_->guarded<UnknownError>(kWhat, [&] {
    return state_->device.async_read(view.buffer, view.offset, byte_length(t.descriptor.data_type, t.descriptor.shape));
  }));
  // Destroying the tensor, or losing the context, fails reads whose results were not taken yet. The future holds the
  // tensor, so that its memory is not used again before.
  class Reading final : public Completion {
   public:
    Reading(std::shared_ptr<Future<gpu::ReadBytes>> future, Tensor of)
        : future_(std::move(future)), of_(std::move(of)) {}
    bool ready() override { return of_.destroyed() || future_->ready(); }
    void wait() override {}
    void when_ready(std::function<void()> callback) override {
      // The inner future is kept by its own callback until it is done.
      auto inner = std::make_shared<Future<gpu::ReadBytes>>(std::move(*future_));
      inner->then([future = future_, callback = std::move(callback)](Future<gpu::ReadBytes> done) {
        *future = std::move(done);
        callback();
      });
    }

   private:
    std::shared_ptr<Future<gpu::ReadBytes>> future_;
    Tensor of_;
  };
  return {std::make_shared<Reading>(reading, tensor), [reading, tensor, context = state_] {
            check_there(*tensor.state(), kWhat);
            gpu::ReadBytes read = context->guarded<UnknownError>(kWhat, [&] { return reading->get(); });
            check_there(*tensor.state(), kWhat);
            return read;
          }};
}

Future<void> Context::read_tensor(const Tensor& tensor, std::span<std::byte> target) {
  Future<gpu::ReadBytes> bytes = read_tensor(tensor);
  if (const std::uint64_t length = tensor.byte_length(); target.size() < length) {
    throw TypeError("read tensor: the memory is {} bytes, expected at least {}", target.size(), length);
  }
  return std::move(bytes).map([target](const gpu::ReadBytes& read) { read.copy_to(target.first(read.size())); });
}

void Context::dispatch(const Graph& graph, const NamedTensors& inputs, const NamedTensors& outputs) {
  static constexpr std::string_view kWhat = "dispatch";
  if (!graph) throw TypeError("{}: an empty Graph", kWhat);
  Graph::State& g = *graph.state();
  if (g.context != state_) throw TypeError("{}: the graph is of another context", kWhat);
  const std::lock_guard lock(state_->timeline);
  if (g.destroyed) {
    if (state_->is_lost) throw InvalidStateError("{}: the context is lost: {}", kWhat, state_->lost->message());
    throw InvalidStateError("{}: the graph is destroyed", kWhat);
  }
  struct Given {
    std::string_view kind, name;
  };
  std::unordered_map<const Tensor::State*, Given> seen;
  for (const NamedTensors* list : {&inputs, &outputs}) {
    for (const auto& [name, tensor] : *list) {
      Tensor::State& t = state_of(tensor, *state_, std::format("{}: '{}'", kWhat, printable(name)));
      const Given given{list == &inputs ? "input" : "output", name};
      const auto [first, is_new] = seen.emplace(&t, given);
      if (!is_new) {
        throw TypeError("{}: {} '{}' and {} '{}' are one tensor, expected another one for each", kWhat,
                        first->second.kind, printable(first->second.name), given.kind, printable(given.name));
      }
      if (t.destroyed) throw TypeError("{}: the tensor of '{}' is destroyed", kWhat, printable(name));
    }
  }
  const auto in_order = [&](const NamedTensors& given, const auto& wanted, const std::vector<std::string>& order,
                            std::string_view kind) {
    const auto find = [&](std::string_view name) {
      return std::ranges::find(given, name, [](const auto& entry) { return std::string_view(entry.first); });
    };
    for (const auto& [name, tensor] : given) {
      const auto it = wanted.find(name);
      if (it == wanted.end()) throw TypeError("{}: the graph has no {} '{}'", kWhat, kind, printable(name));
      if (tensor.constant()) throw TypeError("{}: the tensor of '{}' is a constant", kWhat, printable(name));
      if (tensor.data_type() != it->second.data_type || tensor.shape() != it->second.shape) {
        throw TypeError("{}: {} '{}' is {}, expected {}", kWhat, kind, printable(name),
                        webnn::to_string(tensor.data_type(), tensor.shape()),
                        webnn::to_string(it->second.data_type, it->second.shape));
      }
    }
    std::vector<weft::Tensor> tensors;
    for (const std::string& name : order) {
      const auto it = find(name);
      if (it == given.end()) throw TypeError("{}: {} '{}' is not given", kWhat, kind, printable(name));
      check_not_rented(*it->second.state(), std::format("{}: '{}'", kWhat, printable(name)));
      tensors.push_back(it->second.state()->data);
    }
    if (given.size() != order.size()) throw TypeError("{}: an {} is given twice", kWhat, kind);
    return tensors;
  };
  const std::vector<weft::Tensor> from = in_order(inputs, g.inputs, g.input_order, "input");
  const std::vector<weft::Tensor> to = in_order(outputs, g.outputs, g.output_order, "output");
  state_->guarded<OperationError>(kWhat, [&] {
    try {
      g.executable.run(from, to);
    } catch (const InvalidArgument& e) {
      throw TypeError("{}: {}", kWhat, e.what());
    }
  });
}

// ---- WebGPU

namespace {

const gpu::Device& gpu_of(const Context::State& context, std::string_view what) {
  if (!context.device.is_gpu()) throw NotSupportedError("{}: the context is on the cpu", what);
  return context.device.gpu();
}

constexpr wgpu::BufferUsage kUsage =
    wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;

}  // namespace

Tensor Context::create_exportable_tensor(const TensorDescriptor& descriptor) {
  static constexpr std::string_view kWhat = "create exportable tensor";
  const gpu::Device& device = gpu_of(*state_, kWhat);
  state_->check(kWhat);
  state_->check_descriptor(kWhat, descriptor.data_type, descriptor.shape);
  const std::uint64_t bytes = byte_length(descriptor.data_type, descriptor.shape);
  auto tensor = std::make_shared<Tensor::State>(state_, descriptor);
  tensor->exportable = true;
  const std::lock_guard lock(state_->timeline);
  state_->guarded<UnknownError>(std::format("{}: {}", kWhat, describe(descriptor)), [&] {
    // A buffer of its own: the caller may hold it longer than the tensor lives.
    tensor->exported = device.create_buffer(bytes, "WebNN tensor");
    tensor->data = weft::Tensor(state_->device,
                                View(Buffer(tensor->exported), 0, descriptor.data_type, to_shape(descriptor.shape)));
    fill_with_zeros(state_->device, tensor->data.view().buffer, 0, bytes);
  });
  return Tensor(std::move(tensor));
}

wgpu::Buffer Context::export_to_gpu(const Tensor& tensor) {
  static constexpr std::string_view kWhat = "export to WebGPU";
  gpu_of(*state_, kWhat);
  Tensor::State& t = state_of(tensor, *state_, kWhat);
  if (!t.exportable) throw TypeError("{}: the tensor was not made by create_exportable_tensor()", kWhat);
  const std::lock_guard lock(state_->timeline);
  check_there(t, kWhat);
  t.rented = true;
  return t.exported;
}

void Context::return_from_gpu(const Tensor& tensor) {
  static constexpr std::string_view kWhat = "return from WebGPU";
  Tensor::State& t = state_of(tensor, *state_, kWhat);
  const std::lock_guard lock(state_->timeline);
  check_there(t, kWhat);
  if (!t.rented) throw InvalidStateError("{}: the tensor is not exported", kWhat);
  t.rented = false;
  t.data.view().buffer.changed();
}

Tensor Context::import_tensor(const TensorDescriptor& descriptor, wgpu::Buffer buffer, std::uint64_t offset) {
  static constexpr std::string_view kWhat = "import tensor";
  gpu_of(*state_, kWhat);
  state_->check(kWhat);
  state_->check_descriptor(kWhat, descriptor.data_type, descriptor.shape);
  if (!buffer) throw TypeError("{}: the buffer is null", kWhat);
  if ((buffer.GetUsage() & kUsage) != kUsage) {
    throw TypeError("{}: the buffer lacks one of the usages Storage, CopySrc and CopyDst", kWhat);
  }
  const std::uint64_t bytes = byte_length(descriptor.data_type, descriptor.shape);
  if (offset % 4 != 0) throw TypeError("{}: the offset is {}, expected a multiple of 4", kWhat, offset);
  if (const std::uint64_t size = buffer.GetSize(); offset > size || (bytes + 3) / 4 * 4 > size - offset) {
    throw TypeError("{}: the buffer has {} bytes, expected {} from byte {} on, in whole words, for {}", kWhat, size,
                    bytes, offset, describe(descriptor));
  }
  auto tensor = std::make_shared<Tensor::State>(state_, descriptor);
  try {
    tensor->data = weft::Tensor(
        state_->device, View(Buffer(std::move(buffer)), offset, descriptor.data_type, to_shape(descriptor.shape)));
  } catch (const Error& e) {
    throw TypeError("{}: {}", kWhat, e.what());
  }
  return Tensor(std::move(tensor));
}

// ---- Limits

OpSupportLimits Context::op_support_limits() const {
  OpSupportLimits limits;
  limits.max_tensor_byte_length = state_->max_byte_length;
  limits.input = limits.constant = limits.output = {kTensorTypes, {0, kMaxRank}};
  for (const Op& op : op_rows()) {
    auto& operands = limits.ops[op.schema.name];
    for (const auto* list : {&op.schema.arguments, &op.schema.outputs}) {
      for (const ArgumentSchema& a : *list) {
        if (a.kind != ArgumentKind::operand && a.kind != ArgumentKind::operands) continue;
        operands[a.name] = {op.schema.types_of(a), {a.min_rank, a.max_rank}};
      }
    }
  }
  return limits;
}

// ---- Tensors

namespace {
Tensor::State& there(Tensor::State* state) {
  if (!state) throw TypeError("tensor: an empty Tensor");
  return *state;
}
Graph::State& there(Graph::State* state) {
  if (!state) throw TypeError("graph: an empty Graph");
  return *state;
}
}  // namespace

DType Tensor::data_type() const { return there(state()).descriptor.data_type; }
const Sizes& Tensor::shape() const { return there(state()).descriptor.shape; }
bool Tensor::readable() const { return there(state()).descriptor.readable; }
bool Tensor::writable() const { return there(state()).descriptor.writable; }
bool Tensor::constant() const { return there(state()).constant; }
bool Tensor::exportable() const { return there(state()).exportable; }
bool Tensor::destroyed() const { return there(state()).destroyed; }
std::uint64_t Tensor::byte_length() const { return webnn::byte_length(data_type(), shape()); }
void Tensor::destroy() {
  Tensor::State& t = there(state());
  const std::lock_guard lock(t.context->timeline);
  t.destroy();
}

Tensor::State::~State() {
  context->remove(*this);
  destroy();
}

void Tensor::State::destroy() {
  if (destroyed.exchange(true)) return;
  data = {};
  constant_data = {};
  // Once what was submitted is done. While it is exported it is the caller's, and stays until that lets it go.
  if (exported && !rented) exported.Destroy();
  exported = nullptr;
}

// ---- Graphs

const std::map<std::string, OperandDescriptor, std::less<>>& Graph::inputs() const { return there(state()).inputs; }
const std::map<std::string, OperandDescriptor, std::less<>>& Graph::outputs() const { return there(state()).outputs; }
const CompileReport& Graph::report() const { return there(state()).report; }
bool Graph::destroyed() const { return there(state()).destroyed; }
void Graph::destroy() {
  Graph::State& g = there(state());
  const std::lock_guard lock(g.context->timeline);
  g.destroy();
}

Graph::State::~State() { context->remove(*this); }

void Graph::State::destroy() {
  if (destroyed.exchange(true)) return;
  executable = {};
}

}  // namespace weft::webnn
