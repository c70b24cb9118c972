// Overflow and wide products, in both forms: of the compiler, and in standard C++.
#include "core/checked.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace weft {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

using Checked = bool (*)(std::int64_t, std::int64_t, std::int64_t&);
struct Case {
  std::int64_t a, b, result;
  bool overflows;
};

void expect(Checked f, const Case& c) {
  std::int64_t result = 0;
  EXPECT_EQ(f(c.a, c.b, result), c.overflows) << c.a << " and " << c.b;
  EXPECT_EQ(result, c.result) << c.a << " and " << c.b;
  result = c.a;  // an operand that is the result
  EXPECT_EQ(f(result, c.b, result), c.overflows) << c.a << " and " << c.b;
  EXPECT_EQ(result, c.result) << c.a << " and " << c.b;
}

TEST(Checked, Sums) {
  const Case cases[] = {{1, 2, 3, false},          {kMost, 0, kMost, false},   {kMost, 1, kLeast, true},
                        {kLeast, -1, kMost, true}, {kLeast, kMost, -1, false}, {kLeast, kLeast, 0, true},
                        {kMost, kMost, -2, true},  {-1, 1, 0, false},          {kLeast, 0, kLeast, false}};
  for (const Case& c : cases) {
    expect(add_overflows, c);
    expect(standard::add_overflows, c);
  }
}

TEST(Checked, Products) {
  constexpr std::int64_t k32 = std::int64_t{1} << 32;
  const Case cases[] = {{3, -4, -12, false},
                        {0, kLeast, 0, false},
                        {kLeast, 0, 0, false},
                        {kLeast, 1, kLeast, false},
                        {kLeast, -1, kLeast, true},
                        {-1, kLeast, kLeast, true},
                        {kMost, -1, -kMost, false},
                        {k32, k32, 0, true},
                        {k32, k32 / 2, kLeast, true},
                        {-k32, k32 / 2, kLeast, false},
                        {k32 / 2, -k32, kLeast, false},
                        {kMost, 2, -2, true},
                        {kMost, kMost, 1, true}};
  for (const Case& c : cases) {
    expect(multiply_overflows, c);
    expect(standard::multiply_overflows, c);
  }
}

TEST(Checked, BothFormsAgree) {
  std::mt19937_64 random(1);
  int overflowed = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto draw = [&] { return static_cast<std::int64_t>(random()) >> (random() % 64); };
    const std::int64_t a = draw(), b = draw();
    std::int64_t x = 0, y = 0;
    ASSERT_EQ(add_overflows(a, b, x), standard::add_overflows(a, b, y)) << a << " + " << b;
    ASSERT_EQ(x, y);
    const bool overflows = multiply_overflows(a, b, x);
    ASSERT_EQ(overflows, standard::multiply_overflows(a, b, y)) << a << " * " << b;
    ASSERT_EQ(x, y);
    overflowed += overflows;
  }
  EXPECT_GT(overflowed, 1000);
  EXPECT_LT(overflowed, 99000);
}

}  // namespace
}  // namespace weft
