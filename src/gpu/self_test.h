// A fast path is used on a device only after it has passed a self-test there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "weft/gpu.h"

namespace weft::gpu {

class Context;

// The result of the test when it first ran on this kind of device (adapter, driver) under `key`, in this process or,
// with a cache on disk, an earlier one. `key` names everything that the verdict depends on. `start` submits the test
// and gives its result to come, which keeps no handle of the device. A test that throws counts as failed.
//
// The first request waits for the result, so that what a program computes does not depend on when it comes. Where
// nothing may wait, the answer is no until it is there, and what was made meanwhile knows by Undecided that it may be
// worth making again.
bool passes_self_test(const Device& device, std::string_view key, const std::function<Future<bool>()>& start);

// Takes the results that are there. Does not wait. True if no test is under way then.
bool settle_self_tests(const Device& device);
// Ready when no test is under way.
Future<void> self_tests_settled(const Device& device);

// Whether this thread, while it made something, had to do without verdicts that were still to come.
class Undecided {
 public:
  explicit Undecided(const Context& context);
  // When it was made: the number of tests that had passed before, if a verdict was missing.
  std::optional<std::uint64_t> since() const;
  // Call where something is used that was made so: then what is being made is undecided too.
  static void note();
  // Whether a test has passed since then.
  static bool outdated(const Context& context, const std::optional<std::uint64_t>& since);

 private:
  std::uint64_t passed_, missing_;
};

}  // namespace weft::gpu
