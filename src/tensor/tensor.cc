// What a tensor does with data.
#include "weft/tensor.h"

#include "compiler/device_data.h"
#include "graph/ops/leaf.h"
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

// The data to read: views lie in other tensors' memory and are copied out of it.
Tensor readable(const Tensor& tensor) {
  if (!tensor.defined() || find_data(tensor) || !tensor.node()->op().is_view()) return tensor;
  return contiguous(tensor);
}

}  // namespace

Tensor::Tensor(const Device& device, DType dtype, const Shape& shape)
    : Tensor(apply(make_op<DataOp>(std::make_shared<const DeviceData>(device, dtype, shape), TensorType{dtype, shape}),
                   {})) {}
Tensor::Tensor(const Device& device, const View& view)
    : Tensor(apply(make_op<DataOp>(std::make_shared<const DeviceData>(device, view),
                                   TensorType{view.dtype, view.shape()}),
                   {})) {}

bool Tensor::has_data() const { return node_ && find_data(*this); }
const Device& Tensor::device() const { return data_of(*this).device(); }
const View& Tensor::view() const { return data_of(*this).view(); }
void Tensor::write(std::span<const std::byte> bytes) { data_of(*this).write(bytes); }

bool Tensor::on_host() const {
  const DeviceData* data = node_ ? find_data(*this) : nullptr;
  return data ? data->on_host() : node_ && node_->op().constant();
}

void Tensor::read_bytes(std::span<std::byte> target) const {
  const Tensor from = readable(*this);
  computed(from).read(target);
}

Future<std::vector<std::byte>> Tensor::async_read_bytes() const {
  const Tensor from = readable(*this);
  return computed(from).async_read().map([](const gpu::ReadBytes& bytes) { return std::vector<std::byte>(bytes); });
}

Future<Tensor::ReadInto> Tensor::async_read_into() const {
  const Tensor from = readable(*this);
  return computed(from).async_read().map(
      [](const gpu::ReadBytes& read) { return ReadInto([read](std::span<std::byte> to) { read.copy_to(to); }); });
}

std::size_t Tensor::checked_count(bool fits, DType as) const {
  if (!fits) {
    throw TypeError("read: {} read as {}; to_vector() converts, read() does not", to_string(type()), name(as));
  }
  return static_cast<std::size_t>(element_count(shape()));
}

void Tensor::require_one() const {
  if (size() != 1) throw ShapeError("item: {} has {} elements, expected one", to_string(type()), size());
}

void Tensor::convert(const TensorType& type, std::span<const std::byte> bytes, DType to, std::span<std::byte> target) {
  weft::convert(type, bytes, to, target);
}

void Tensor::read_converted(DType as, std::span<std::byte> target) const {
  if (as == dtype()) return read_bytes(target);
  std::vector<std::byte> bytes(byte_size(type()));
  read_bytes(bytes);
  convert(type(), bytes, as, target);
}

}  // namespace weft
