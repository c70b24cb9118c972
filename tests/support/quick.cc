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

// One of this many problems runs.
constexpr unsigned kShare = 8;

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

// Whether the running test's next problem is one of the share that runs; `first`: the number of its first problem.
bool is_of_share(std::uint32_t first) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test != problems.test) {
    problems.test = test;
    problems.started = Clock::now();
    problems.next = first;
  }
  // Multiples of the golden ratio are evenly distributed and share no period with a test's nested loops, so that each
  // value of a loop gets its share.
  return problems.next++ * 0x9E3779B1u <= 0xffffffffu / kShare;
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

bool leave_out_problem() {
  if (!quick()) return false;
  const bool runs = is_of_share(0);
  const bool is_first = problems.next == 1;
  return count(!runs || (!is_first && Clock::now() - problems.started > kLongest));
}

bool leave_out_costly_problem() {
  static const bool whole = is_on("WEFT_TESTS_WHOLE");
  if (whole) return leave_out_problem();
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const bool runs = is_of_share(static_cast<std::uint32_t>(std::hash<std::string_view>()(test->name())));
  return count(!runs || (quick() && Clock::now() - problems.started > kLongest));
}

unsigned scaled(unsigned problems) { return quick() ? (problems + kShare - 1) / kShare : problems; }

void print_quick() {
  if (problems.left_out == 0) return;
  std::cout << std::format("[  SHARE   ] {} problems ran of those that have a share in such a run, {} were left out\n",
                           problems.ran, problems.left_out);
}

}  // namespace weft::test
