// The GPUs that tests run on, each opened once in the process.
#pragma once

#include <string>
#include <vector>

#include "weft/gpu.h"

namespace weft::test {

struct TestDevice {
  std::string name;  // "lavapipe", "minimum", … : letters, digits and underscores
  gpu::Device device;
};

// lavapipe with all its features, lavapipe as the minimum device, OpenGL ES, the hardware GPU if there is one (and it
// as the minimum device); of these, those that exist on this machine. WEFT_TEST_DEVICES names those to keep, separated
// by commas.
std::vector<TestDevice>& devices();

// WEFT_REQUIRE_DEVICES names devices without which a test fails, so that an environment that has them does not skip
// them silently. device_names() is for INSTANTIATE_TEST_SUITE_P(..., testing::ValuesIn(device_names())); device()
// returns the device of a name.
std::vector<std::string> device_names();
gpu::Device& device(const std::string& name);
// Options that open the same adapter once more.
gpu::DeviceOptions like(const gpu::Device& device);

}  // namespace weft::test
