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

// lavapipe with everything it has, lavapipe as the minimum device, OpenGL ES, the hardware GPU if there is one
// (and it as the minimum device); of these, what exists here. WEFT_TEST_DEVICES names those to keep, separated by
// commas.
std::vector<TestDevice>& devices();

// WEFT_REQUIRE_DEVICES names those without which a test fails: where an environment has them, none is left out
// silently. For INSTANTIATE_TEST_SUITE_P(..., testing::ValuesIn(device_names())), and what belongs to a name.
std::vector<std::string> device_names();
gpu::Device& device(const std::string& name);
// To open the same adapter once more.
gpu::DeviceOptions like(const gpu::Device& device);

}  // namespace weft::test
