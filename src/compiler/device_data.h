// Data of a tensor in a device's memory: what an executable reads from and writes to.
#pragma once

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
  void read(std::span<std::byte> target) const;
  Future<gpu::ReadBytes> async_read() const;

 private:
  Device device_;
  View view_;
};

// The tensor's data; null if it is still to be computed.
const DeviceData* find_data(const Tensor& tensor);
// Throws InvalidArgument if it has none.
const DeviceData& data_of(const Tensor& tensor);

}  // namespace weft
