#include "support/quick.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <format>
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

}  // namespace

bool quick() {
  static const bool on = [] {
    const char* text = std::getenv("WEFT_TESTS_QUICK");
    return text && *text && std::string_view(text) != "off";
  }();
  return on;
}

bool leave_out_problem() {
  if (!quick()) return false;
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test != problems.test) {
    problems.test = test;
    problems.started = Clock::now();
    problems.next = 0;
  }
  // Multiples of the golden ratio are evenly distributed and share no period with a test's nested loops, so that each
  // value of a loop gets its share.
  const std::uint32_t number = problems.next++;
  const bool out = number * 0x9E3779B1u > 0xffffffffu / kShare ||
                   (number > 0 && Clock::now() - problems.started > kLongest);
  ++(out ? problems.left_out : problems.ran);
  return out;
}

unsigned scaled(unsigned problems) { return quick() ? (problems + kShare - 1) / kShare : problems; }

void print_quick() {
  if (!quick()) return;
  std::cout << std::format("[  QUICK   ] {} kernel problems ran, {} were left out\n",
                           problems.ran, problems.left_out);
}

}  // namespace weft::test
