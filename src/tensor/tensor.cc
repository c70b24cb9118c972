// What a tensor does with data.
#include "weft/tensor.h"

#include "compiler/device_data.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "graph/leaf.h"
#include "tensor/broadcast_read.h"
#include "tensor/convert.h"
#include "weft/error.h"
#include "weft/evaluate.h"

namespace weft {
namespace {

// The tensor's data, computed if it has none yet.
const DeviceData& computed(const Tensor& tensor) {
  const DeviceData* data = find_data(tensor);
  if (!data) {
    eval(tensor);
    data = find_data(tensor);
  }
  if (!data) throw InternalError("tensor: {} was evaluated and has no data", to_string(tensor.type()));
  return *data;
}

// A read of it, which is no view. (On the cpu it is a copy.)
Future<gpu::ReadBytes> read_of(const Tensor& tensor) {
  return in_host_memory("async_read", [&] { return computed(tensor).async_read(); });
}

// The data of what stores the tensor's elements; null if it is still to be computed.
const DeviceData* stored_data(const Tensor& tensor) { return find_data(stored_by(tensor)); }

const DeviceData& stored_data(const Tensor& tensor, std::string_view method) {
  if (const DeviceData* data = stored_data(tensor)) return *data;
  throw InvalidArgument("{}: {} has no data: it is still to be computed", method, to_string(tensor.type()));
}

}  // namespace

Tensor::Tensor(const Device& device, DType dtype, const Shape& shape)
    : Tensor(apply(make_op<DataOp>(std::make_shared<const DeviceData>(device, dtype, shape), TensorType{dtype, shape}),
                   {})) {}
Tensor::Tensor(const Device& device, const View& view)
    : Tensor(
          apply(make_op<DataOp>(std::make_shared<const DeviceData>(device, view), TensorType{view.dtype, view.shape()}),
                {})) {}

bool Tensor::has_data() const { return node_ && stored_data(*this); }
const Device& Tensor::device() const {
  (void)type_for("device");
  return stored_data(*this, "device").device();
}

View Tensor::view() const {
  (void)type_for("view");
  const DeviceData& data = stored_data(*this, "view");
  data.require_values();
  const View& stored = data.view();
  const auto shown = layout_in_stored(*this);
  const std::int64_t skipped = shown ? shown->offset * bits(stored.dtype) : 0;
  if (!shown || skipped % 8 != 0) {
    throw InvalidArgument("view: {} is a view whose elements no strides find in memory; contiguous() copies them",
                          to_string(type()));
  }
  return {stored.buffer, stored.offset + static_cast<std::uint64_t>(skipped / 8), stored.dtype, shown->layout.shape,
          shown->layout.strides};
}

void Tensor::write(std::span<const std::byte> bytes) {
  (void)type_for("write");
  if (node_->op().is_view() || node_->op().constant()) {
    throw InvalidArgument("write: {} is a {}, which has no memory of its own; contiguous() gives it some",
                          to_string(type()), node_->op().is_view() ? "view" : "constant");
  }
  in_function("write", [&] { data_of(*this).write(bytes); });
}

bool Tensor::on_host() const {
  if (!node_) return false;
  const DeviceData* data = stored_data(*this);
  return data ? data->on_host() : stored_by(*this).node()->op().constant() != nullptr;
}

void Tensor::read_bytes(std::span<std::byte> target) const {
  (void)type_for("read_bytes");
  if (!broadcast_read(*this)) {
    const Tensor from = contiguous(*this);
    return in_host_memory("read_bytes", [&] {
      const DeviceData& data = computed(from);
      in_function("read_bytes", [&] { data.read(target); });
    });
  }
  const std::uint64_t bytes = in_function("read_bytes", [&] { return byte_size(type()); });
  if (target.size() != bytes) {
    throw InvalidArgument("read_bytes: {} bytes for {}, which has {}", target.size(), to_string(type()), bytes);
  }
  read_converted(dtype(), target);
}

Future<std::vector<std::byte>> Tensor::async_read_bytes() const {
  return async_read_into().map([type = type()](const ReadInto& copy_to) {
    std::vector<std::byte> bytes = host_bytes("async_read_bytes", type);
    copy_to(bytes);
    return bytes;
  });
}

Future<Tensor::ReadInto> Tensor::async_read_into() const {
  (void)type_for("async_read");
  if (const auto repeats = broadcast_read(*this)) {
    return read_of(repeats->stored).map([repeats, type = dtype()](const gpu::ReadBytes& read) {
      return ReadInto([=](std::span<std::byte> to) { repeat_elements(*repeats, read.span(), type, to); });
    });
  }
  return read_of(contiguous(*this)).map([](const gpu::ReadBytes& read) {
    return ReadInto([read](std::span<std::byte> to) { read.copy_to(to); });
  });
}

void Tensor::require_type(std::string_view method, bool fits, DType as) const {
  if (fits) return;
  throw TypeError("{}: {} read as {}; {}to_vector() converts, {}() does not", method, to_string(type()), name(as),
                  method.starts_with("async_") ? "async_" : "", method);
}

std::size_t Tensor::host_count(std::string_view method, const TensorType& type, std::size_t element) {
  const auto count = static_cast<std::uint64_t>(element_count(type.shape));
  // A system that overcommits memory would report the shortage by ending the process.
  if (count > physical_memory() / element) refuse_host_memory(method, type, element);
  return static_cast<std::size_t>(count);
}

void Tensor::refuse_host_memory(std::string_view method, const TensorType& type, std::size_t element) {
  throw OutOfMemory("{}: the host's memory does not have {} elements of {} bytes, which {} takes", method,
                    element_count(type.shape), element, to_string(type));
}

void Tensor::require_one() const {
  (void)type_for("item");
  if (size() != 1) throw ShapeError("item: {} has {} elements, expected one", to_string(type()), size());
}

void Tensor::convert(const TensorType& type, std::span<const std::byte> bytes, DType to, std::span<std::byte> target) {
  weft::convert(type, bytes, to, target);
}

void Tensor::read_converted(DType as, std::span<std::byte> target) const {
  (void)type_for("to_vector");
  if (const auto repeats = broadcast_read(*this)) {
    std::vector<std::byte> bytes = host_bytes("to_vector", repeats->stored.type());
    return in_host_memory("to_vector", [&] {
      computed(repeats->stored).read(bytes);
      repeat_elements(*repeats, bytes, as, target);
    });
  }
  if (as == dtype()) return read_bytes(target);
  std::vector<std::byte> bytes = host_bytes("to_vector", type());
  read_bytes(bytes);
  convert(type(), bytes, as, target);
}

}  // namespace weft
