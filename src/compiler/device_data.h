// Data of a tensor in a device's memory: what an executable reads from and writes to.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "graph/node.h"
#include "weft/device.h"
#include "weft/view.h"

namespace weft {

class DeviceData final : public Data {
 public:
  // Content undefined. Throws OutOfMemory.
  DeviceData(const Device& device, DType dtype, const Shape& shape);
  // Throws InvalidArgument unless the view is dense and on the device.
  DeviceData(const Device& device, const View& view);

  const Device& device() const { return device_; }
  const View& view() const { return view_; }
  void write(std::span<const std::byte> bytes) const;
  // Moves the bytes once, and remembers them until something else is written to the memory.
  void read(std::span<std::byte> target) const;
  Future<gpu::ReadBytes> async_read() const;
  // Whether reading moves nothing. What is remembered is still there when the device is lost.
  bool on_host() const { return !device_.is_gpu() || remembered() != nullptr; }
  // Whether the memory is the tensor's own, not a caller's, and nobody holds a view of it: it may be used again when
  // nobody needs the tensor.
  bool alone() const { return owns_memory_ && view_.buffer.alone(); }
  // After a run that was to take the memory over and failed: whatever it holds are not the tensor's values any more.
  void spoil() const { spoilt_ = true; }
  // Throws Error if spoil() was called.
  void require_values() const;
  // Something else is put into the memory than what was there, if anything was.
  void overwritten() const {
    if (defined_.exchange(true, std::memory_order_relaxed)) {
      overwritten_.store(Node::next_sequence(), std::memory_order_relaxed);
    }
  }
  // Whether that happened since the node of that sequence was made, which was to read what was there.
  bool overwritten_since(std::uint64_t sequence) const {
    return overwritten_.load(std::memory_order_relaxed) > sequence;
  }

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  Bytes remembered() const;
  // What the buffer is marked with while it holds the same bytes as now.
  Buffer::Digest mark() const;
  void remember(const Buffer::Digest& mark, Bytes bytes) const;

  Device device_;
  View view_;
  bool owns_memory_ = false;
  mutable std::atomic<bool> spoilt_ = false;
  mutable std::atomic<bool> defined_ = false;
  mutable std::atomic<std::uint64_t> overwritten_ = 0;  // the sequence of the node that was made next; 0: never
  mutable std::mutex mutex_;
  mutable Buffer::Digest mark_;  // of a write or a read
  mutable Bytes bytes_;          // what was there under that mark
};

// The tensor's own data; null if it is still to be computed, or a view.
const DeviceData* find_data(const Tensor& tensor);
// Throws InvalidArgument if it has none.
const DeviceData& data_of(const Tensor& tensor);
// What stores the elements of a view: the tensor that it is one of, which is no view; or the tensor itself.
const Tensor& stored_by(const Tensor& tensor);
// Where the elements of a view lie among those of stored_by(view), which are dense; none: no strides reach them.
std::optional<Placement> placed_in_stored(const Tensor& view);

}  // namespace weft
