#include "compiler/device_data.h"

#include <algorithm>

#include "graph/ops/leaf.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft {
namespace {

// Kernels bind whole words, so a tensor's memory is rounded up to them.
std::uint64_t buffer_size(std::uint64_t bytes) { return std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16); }

std::uint64_t bytes_of(const View& view) { return byte_size(view.dtype, static_cast<std::uint64_t>(view.count())); }

}  // namespace

DeviceData::DeviceData(const Device& device, DType dtype, const Shape& shape) : device_(device) {
  const std::uint64_t bytes = byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)));
  view_ = View(device_.allocate(buffer_size(bytes)), 0, dtype, shape);
}

DeviceData::DeviceData(const Device& device, const View& view) : device_(device), view_(view) {
  if (!view_.is_dense()) throw InvalidArgument("tensor: {} is not dense", to_string(view_));
  if (device_.is_gpu() ? !view_.buffer.on_gpu() : !view_.buffer.on_host()) {
    throw InvalidArgument("tensor: the view of {} is not in memory of {}", to_string(view_), device_.name());
  }
}

void DeviceData::write(std::span<const std::byte> bytes) const {
  if (bytes.size() != bytes_of(view_)) {
    throw InvalidArgument("tensor: {} bytes written to {}, which has {}", bytes.size(), to_string(view_),
                          bytes_of(view_));
  }
  if (bytes.empty()) return;
  if (!device_.is_gpu() || flag_on(Flag::always_upload)) return device_.upload(view_.buffer, view_.offset, bytes);
  const Buffer::Digest digest = digest_of(bytes);
  if (view_.buffer.holds(view_.offset, digest) && !device_.gpu().lost()) return;
  device_.upload(view_.buffer, view_.offset, bytes);
  view_.buffer.holds_now(view_.offset, digest);
}

void DeviceData::read(std::span<std::byte> target) const {
  if (target.size() != bytes_of(view_)) {
    throw InvalidArgument("tensor: {} bytes read from {}, which has {}", target.size(), to_string(view_),
                          bytes_of(view_));
  }
  if (target.empty()) return;
  if (flag_on(Flag::dispatch_only)) {
    device_.wait();
    std::ranges::fill(target, std::byte{0});
    return;
  }
  device_.read(view_.buffer, view_.offset, target);
}

Future<gpu::ReadBytes> DeviceData::async_read() const {
  const std::uint64_t bytes = bytes_of(view_);
  const auto zeros = [bytes] {
    const auto held = std::make_shared<const std::vector<std::byte>>(bytes);
    return gpu::ReadBytes(*held, held);
  };
  if (bytes == 0) return Future<gpu::ReadBytes>({}, zeros);
  Future<gpu::ReadBytes> read = device_.async_read(view_.buffer, view_.offset, bytes);
  if (!flag_on(Flag::dispatch_only)) return read;
  return std::move(read).map([zeros](const gpu::ReadBytes&) { return zeros(); });
}

const DeviceData& data_of(const Tensor& tensor) {
  if (!tensor.defined()) throw InvalidArgument("an undefined Tensor, which stands for no tensor, was used as one");
  const DataOp* op = tensor.node()->op().data_op();
  if (!op) {
    throw InvalidArgument("tensor: {} has no data: it is still to be computed, by the graph that it belongs to",
                          to_string(tensor.type()));
  }
  return static_cast<const DeviceData&>(*op->data_ptr());
}

Tensor::Tensor(const Device& device, DType dtype, const Shape& shape)
    : Tensor(apply(make_op<DataOp>(std::make_shared<const DeviceData>(device, dtype, shape), TensorType{dtype, shape}),
                   {})) {}
Tensor::Tensor(const Device& device, const View& view)
    : Tensor(apply(make_op<DataOp>(std::make_shared<const DeviceData>(device, view),
                                   TensorType{view.dtype, view.shape()}),
                   {})) {}

bool Tensor::has_data() const { return node_ && node_->op().data_op(); }
const Device& Tensor::device() const { return data_of(*this).device(); }
const View& Tensor::view() const { return data_of(*this).view(); }
void Tensor::write(std::span<const std::byte> bytes) { data_of(*this).write(bytes); }
void Tensor::read_bytes(std::span<std::byte> target) const { data_of(*this).read(target); }

Future<std::vector<std::byte>> Tensor::async_read_bytes() const {
  return data_of(*this).async_read().map([](const gpu::ReadBytes& bytes) { return std::vector<std::byte>(bytes); });
}

Future<Tensor::ReadInto> Tensor::async_read_into() const {
  return data_of(*this).async_read().map(
      [](const gpu::ReadBytes& read) { return ReadInto([read](std::span<std::byte> to) { read.copy_to(to); }); });
}

std::size_t Tensor::checked_count(std::size_t element_size) const {
  const View& v = view();
  if (static_cast<int>(element_size * 8) != bits(v.dtype)) {
    throw InvalidArgument("tensor: {} read as elements of {} bytes", to_string(v), element_size);
  }
  return static_cast<std::size_t>(v.count());
}

}  // namespace weft
