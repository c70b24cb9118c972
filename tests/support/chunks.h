// Devices with reduced limits, so that small tensors exceed a binding and kernels process them in chunks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support/devices.h"
#include "support/kernel_test.h"
#include "weft/gpu.h"

namespace weft::test {

inline gpu::Device limited_device(std::optional<std::uint64_t> binding, std::optional<std::uint64_t> work = {}) {
  gpu::DeviceOptions options = like(devices().front().device);
  options.binding_limit = binding;
  options.dispatch_limit = work;
  return gpu::Device::open(options);
}

// On the first device. Each family of kernels has its own suite: using ScanChunks = ChunksTest.
class ChunksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (devices().empty()) GTEST_SKIP() << "no adapter here";
    device.emplace(limited_device(64 << 10));
  }
  std::optional<gpu::Device> device;  // 16,384 floats a binding
  Rng rng{7};

  void both(std::vector<View> inputs, std::vector<View> outputs, const KernelCall& call, const Tolerance& tolerance) {
    run_both(*device, inputs, outputs, call, tolerance);
  }

  // Rows over some axes.
  struct Rows {
    Shape shape;
    std::vector<int> axes;
    Kind kind;
  };
  // A shape without some of its axes.
  static Shape without(const Shape& shape, const std::vector<int>& axes) {
    Shape left;
    for (int d = 0; d < shape.rank(); ++d) {
      if (std::ranges::find(axes, d) == axes.end()) left.push_back(shape[d]);
    }
    return left;
  }
};

// On every device.
class ChunksOnDevice : public ChunksTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    const gpu::Device& whole = test::device(GetParam());
    gpu::DeviceOptions options = like(whole);
    options.minimum = whole.capabilities().minimum;
    options.binding_limit = 64 << 10;
    device.emplace(gpu::Device::open(options));
  }
};

}  // namespace weft::test
