// Tests of tensors that run on every device, which is the default device meanwhile.
#pragma once

#include <gtest/gtest.h>

#include "compiler/bound.h"
#include "support/kernel_test.h"
#include "weft/evaluate.h"

namespace weft::test {

class OnDevice : public testing::TestWithParam<std::string> {
 protected:
  OnDevice() { set_default_device(device); }
  ~OnDevice() override { set_default_device(before_); }

  Device before_ = default_device();
  Device device = device_named(GetParam());
};

inline std::span<const std::byte> bytes_of(const View& host) {
  return {host.buffer.data() + host.offset, byte_size(host.dtype, static_cast<std::uint64_t>(host.count()))};
}

// The elements of a dense host view as a tensor on the default device.
inline Tensor tensor_of(const View& host) { return tensor(host.dtype, host.shape(), bytes_of(host)); }

// The tensor's elements in host memory.
inline View read_view(const Tensor& x) {
  const View v(Buffer::host(byte_size(x.type())), 0, x.dtype(), x.shape());
  x.read_bytes({v.buffer.data(), static_cast<std::size_t>(byte_size(x.type()))});
  return v;
}

}  // namespace weft::test
