// Data of a tensor in a device's memory: what an executable reads from and writes to.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "compiler/value_check.h"
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
  // Copies the bytes from the device once, and keeps them until the memory is written again.
  void read(std::span<std::byte> target) const;
  Future<gpu::ReadBytes> async_read() const;
  // The same without the checks.
  Future<gpu::ReadBytes> read_unchecked() const;
  // Whether a read needs no transfer. The host's copy survives the loss of the device.
  bool on_host() const { return !device_.is_gpu() || remembered() != nullptr; }
  // Whether the memory is the tensor's own, not a caller's, and no view of it exists: it may be reused when the tensor
  // is not needed any more.
  bool alone() const { return owns_memory_ && view_.buffer.alone(); }
  // Marks the values as lost, after a run that was to reuse the memory has failed.
  void spoil() const { spoilt_ = true; }
  // Throws Error if spoil() was called.
  void require_values() const;
  // What reads of it find out first; those that were added and have passed are gone.
  ValueChecks checks() const;
  void set_checks(ValueChecks checks) const;
  // Call when the memory is written: notes it, unless this is the first write.
  void overwritten() const {
    if (checked_.load(std::memory_order_relaxed)) set_checks({});
    if (defined_.exchange(true, std::memory_order_relaxed)) {
      overwritten_.store(Node::next_sequence(), std::memory_order_relaxed);
    }
  }
  // The same of what was computed in the place of its own values, whose checks still hold.
  void changed_in_place() const { overwritten_.store(Node::next_sequence(), std::memory_order_relaxed); }
  // Whether the memory was overwritten after the node of that sequence number was made, which expected the old values.
  bool overwritten_since(std::uint64_t sequence) const {
    return overwritten_.load(std::memory_order_relaxed) > sequence;
  }

 private:
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  Bytes remembered() const;
  // The digest that identifies the buffer's present content.
  Buffer::Digest mark() const;
  void remember(const Buffer::Digest& mark, Bytes bytes) const;

  Device device_;
  View view_;
  bool owns_memory_ = false;
  mutable std::atomic<bool> spoilt_ = false;
  mutable std::atomic<bool> defined_ = false;
  mutable std::atomic<std::uint64_t> overwritten_ = 0;  // Node::next_sequence() at the last overwrite; 0: never
  mutable std::atomic<bool> checked_ = false;           // there are checks
  mutable std::mutex mutex_;
  mutable ValueChecks checks_;
  mutable Buffer::Digest mark_;  // of a write or a read
  mutable Bytes bytes_;          // what was there under that mark
};

// The tensor's own data; null if it is still to be computed, or a view.
const DeviceData* find_data(const Tensor& tensor);
// Throws InvalidArgument if it has none.
const DeviceData& data_of(const Tensor& tensor);
// The tensor whose memory holds the elements: that of which `tensor` is a view, however indirectly, or itself.
const Tensor& stored_by(const Tensor& tensor);
// The layout of a view in the memory of stored_by(view), which is dense; nothing: no strides express it.
std::optional<Placement> layout_in_stored(const Tensor& view);

}  // namespace weft
