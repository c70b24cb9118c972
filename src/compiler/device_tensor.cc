#include <algorithm>

#include "weft/compile.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft {
namespace {

// Kernels bind whole words, so a tensor's memory is rounded up to them.
std::uint64_t buffer_size(std::uint64_t bytes) { return std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16); }

std::uint64_t bytes_of(const View& view) { return byte_size(view.dtype, static_cast<std::uint64_t>(view.count())); }

}  // namespace

DeviceTensor::DeviceTensor(Device device, DType dtype, const Shape& shape) : device_(std::move(device)) {
  const std::uint64_t bytes = byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)));
  view_ = View(device_.allocate(buffer_size(bytes)), 0, dtype, shape);
}

DeviceTensor::DeviceTensor(Device device, View view) : device_(std::move(device)), view_(std::move(view)) {
  if (!view_.is_dense()) throw InvalidArgument("device tensor: {} is not dense", to_string(view_));
  if (device_.is_gpu() ? !view_.buffer.on_gpu() : !view_.buffer.on_host()) {
    throw InvalidArgument("device tensor: the view of {} is not in memory of {}", to_string(view_), device_.name());
  }
}

void DeviceTensor::write(std::span<const std::byte> bytes) {
  if (bytes.size() != bytes_of(view_)) {
    throw InvalidArgument("device tensor: {} bytes written to {}, which has {}", bytes.size(), to_string(view_),
                          bytes_of(view_));
  }
  if (bytes.empty()) return;
  if (!device_.is_gpu() || flag_on(Flag::always_upload)) return device_.upload(view_.buffer, view_.offset, bytes);
  const Buffer::Digest digest = digest_of(bytes);
  if (view_.buffer.holds(view_.offset, digest) && !device_.gpu().lost()) return;
  device_.upload(view_.buffer, view_.offset, bytes);
  view_.buffer.holds_now(view_.offset, digest);
}

void DeviceTensor::read_bytes(std::span<std::byte> target) const {
  if (target.size() != bytes_of(view_)) {
    throw InvalidArgument("device tensor: {} bytes read from {}, which has {}", target.size(), to_string(view_),
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

std::size_t DeviceTensor::checked_count(std::size_t element_size) const {
  if (static_cast<int>(element_size * 8) != bits(view_.dtype)) {
    throw InvalidArgument("device tensor: {} read as elements of {} bytes", to_string(view_), element_size);
  }
  return static_cast<std::size_t>(view_.count());
}

}  // namespace weft
