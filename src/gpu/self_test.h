// A fast path is used on a device only after it has passed a self-test there.
#pragma once

#include <functional>
#include <string_view>

#include "weft/gpu.h"

namespace weft::gpu {

// The result of `test` when it first ran on this kind of device (adapter, driver) under `key`, in this process or, with
// a cache on disk, an earlier one. `key` names everything that the verdict depends on. A test that throws counts as
// failed.
bool passes_self_test(const Device& device, std::string_view key, const std::function<bool()>& test);

}  // namespace weft::gpu
