#include "support/quick.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <format>
#include <iostream>
#include <string_view>

namespace weft::test {
namespace {

struct {
  const testing::TestInfo* test = nullptr;
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
    problems.next = 0;
  }
  // Multiples of the golden ratio are spread evenly and have no period that a test's nested loops could share, so each
  // of the loops' values keeps its quarter.
  const bool out = (problems.next++ * 0x9E3779B1u) >> 30 != 0;
  ++(out ? problems.left_out : problems.ran);
  return out;
}

unsigned scaled(unsigned problems) { return quick() ? (problems + 3) / 4 : problems; }

void print_quick() {
  if (!quick()) return;
  std::cout << std::format("[  QUICK   ] {} kernel problems ran, {} were left out\n",
                           problems.ran, problems.left_out);
}

}  // namespace weft::test
