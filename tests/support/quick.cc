#include "support/quick.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <format>
#include <functional>
#include <iostream>
#include <string_view>

namespace weft::test {
namespace {

// One of this many problems runs: in a quick run; outside of nightly runs on devices that are forms of another one, and
// of problems of several shaders each.
constexpr unsigned kQuickShare = 8, kDeviceShare = 3, kCostlyShare = 8;

// A test that has run for this long skips its other problems, which bounds the time for compiling shaders that are not
// cached.
constexpr std::chrono::seconds kLongest{1};

using Clock = std::chrono::steady_clock;

struct {
  const testing::TestInfo* test = nullptr;
  Clock::time_point started;
  std::uint32_t next = 0;  // problem of the test
  long ran = 0, left_out = 0;
} problems;

bool is_on(const char* variable) {
  const char* text = std::getenv(variable);
  return text && *text && std::string_view(text) != "off";
}

const testing::TestInfo* running_test() { return testing::UnitTest::GetInstance()->current_test_info(); }

// Whether the running test's next problem is one of those that run, one of `share`; `first`: the number of its first
// problem.
bool is_of_share(unsigned share, std::uint32_t first) {
  if (running_test() != problems.test) {
    problems.test = running_test();
    problems.started = Clock::now();
    problems.next = first;
  }
  // Multiples of the golden ratio are evenly distributed and share no period with a test's nested loops, so that each
  // value of a loop gets its share.
  return problems.next++ * 0x9E3779B1u <= 0xffffffffu / share;
}

// The software GPU as a device of the least limits, and through OpenGL ES: most of its shaders are the other's.
bool is_form_of_another_device() {
  const std::string_view name = running_test() ? running_test()->name() : "";
  return name.find("/minimum") != name.npos || name.find("/opengles") != name.npos;
}

bool count(bool out) {
  ++(out ? problems.left_out : problems.ran);
  return out;
}

}  // namespace

bool quick() {
  static const bool on = is_on("WEFT_TESTS_QUICK");
  return on;
}

bool whole() {
  static const bool on = is_on("WEFT_TESTS_WHOLE");
  return on;
}

bool leave_out_problem() {
  if (quick()) {
    const bool runs = is_of_share(kQuickShare, 0), is_first = problems.next == 1;
    return count(!runs || (!is_first && Clock::now() - problems.started > kLongest));
  }
  if (whole() || !is_form_of_another_device()) return false;
  return count(!is_of_share(kDeviceShare, 0));
}

bool leave_out_costly_problem() {
  if (whole()) return leave_out_problem();
  const unsigned share = kCostlyShare * (is_form_of_another_device() ? kDeviceShare : 1);
  const bool runs =
      is_of_share(share, static_cast<std::uint32_t>(std::hash<std::string_view>()(running_test()->name())));
  return count(!runs || (quick() && Clock::now() - problems.started > kLongest));
}

unsigned scaled(unsigned problems) {
  const unsigned share = quick() ? kQuickShare : !whole() && is_form_of_another_device() ? kDeviceShare : 1;
  return (problems + share - 1) / share;
}

void print_quick() {
  if (problems.left_out == 0) return;
  std::cout << std::format("[  SHARE   ] {} problems ran of those that have a share in such a run, {} were left out\n",
                           problems.ran, problems.left_out);
}

}  // namespace weft::test
