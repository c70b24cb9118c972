// Tensors as text: what NumPy prints for the same arrays (tests/reference/print.py).
#include "weft/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <numeric>
#include <sstream>

#include "compiler/bound.h"
#include "support/throws.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

std::vector<float> counted(int n, float step = 1) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i) * step;
  return values;
}

class PrintTest : public testing::TestWithParam<std::string> {
 protected:
  PrintTest() { set_default_device(device_named(GetParam())); }
  ~PrintTest() override { set_default_device(before_); }
  Device before_ = default_device();
};

INSTANTIATE_TEST_SUITE_P(Devices, PrintTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(PrintTest, AsNumPyDoes) {
  EXPECT_EQ(to_string(tensor({3}, {1, 2.5, 3})), "[1.  2.5 3. ]");
  EXPECT_EQ(to_string(tensor({2, 3}, {1, 2.5, 3, 4, 5, -6})), "[[ 1.   2.5  3. ]\n [ 4.   5.  -6. ]]");
  EXPECT_EQ(
      to_string(tensor({2, 3, 4}, counted(24))),
      "[[[ 0.  1.  2.  3.]\n  [ 4.  5.  6.  7.]\n  [ 8.  9. 10. 11.]]\n\n [[12. 13. 14. 15.]\n  [16. 17. 18. 19.]\n"
      "  [20. 21. 22. 23.]]]");
  EXPECT_EQ(to_string(tensor(Shape{}, {3.5})), "3.5");
  EXPECT_EQ(to_string(tensor({2}, {0.1f, 0.25f})), "[0.1  0.25]");
  EXPECT_EQ(to_string(tensor({2}, {1e10f, 1.5f})), "[1.0e+10 1.5e+00]");
  EXPECT_EQ(to_string(tensor({2}, {1e-5f, 1})), "[1.e-05 1.e+00]");
  EXPECT_EQ(to_string(tensor({3}, {kNan, 1, -kInf})), "[ nan   1. -inf]");
  EXPECT_EQ(to_string(tensor({2}, {-0.0f, 1})), "[-0.  1.]");
  EXPECT_EQ(to_string(tensor({3}, {1.0f / 3, 2.0f / 3, 100})), "[  0.33333334   0.6666667  100.        ]");
  EXPECT_EQ(to_string(zeros({0})), "[]");
  std::vector<float> sevenths(40);
  for (int i = 0; i < 40; ++i) sevenths[static_cast<std::size_t>(i)] = static_cast<float>(i / 7.0);
  EXPECT_EQ(to_string(tensor({40}, sevenths)),
            "[0.         0.14285715 0.2857143  0.42857143 0.5714286  0.71428573\n"
            " 0.85714287 1.         1.1428572  1.2857143  1.4285715  1.5714285\n"
            " 1.7142857  1.8571428  2.         2.142857   2.2857144  2.4285715\n"
            " 2.5714285  2.7142856  2.857143   3.         3.142857   3.2857144\n"
            " 3.4285715  3.5714285  3.7142856  3.857143   4.         4.142857\n"
            " 4.285714   4.428571   4.571429   4.714286   4.857143   5.\n"
            " 5.142857   5.285714   5.428571   5.571429  ]");
}

TEST_P(PrintTest, LargeOnesAreSummarised) {
  EXPECT_EQ(to_string(tensor({2000}, counted(2000))),
            "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]");
  EXPECT_EQ(to_string(tensor({50, 40}, counted(2000))),
            "[[0.000e+00 1.000e+00 2.000e+00 ... 3.700e+01 3.800e+01 3.900e+01]\n"
            " [4.000e+01 4.100e+01 4.200e+01 ... 7.700e+01 7.800e+01 7.900e+01]\n"
            " [8.000e+01 8.100e+01 8.200e+01 ... 1.170e+02 1.180e+02 1.190e+02]\n ...\n"
            " [1.880e+03 1.881e+03 1.882e+03 ... 1.917e+03 1.918e+03 1.919e+03]\n"
            " [1.920e+03 1.921e+03 1.922e+03 ... 1.957e+03 1.958e+03 1.959e+03]\n"
            " [1.960e+03 1.961e+03 1.962e+03 ... 1.997e+03 1.998e+03 1.999e+03]]");
  PrintOptions all;
  all.threshold = 10'000;
  EXPECT_THAT(to_string(tensor({2000}, counted(2000)), all), testing::Not(testing::HasSubstr("...")));
}

TEST_P(PrintTest, SeparatorsOfOtherLanguages) {
  const PrintOptions lists{.separator = ",", .suffix = false};
  EXPECT_EQ(to_string(cast(tensor({2, 3}, {1, 2.5, 3, 4, 5, -6}), DType::f16), lists),
            "[[ 1. ,  2.5,  3. ],\n [ 4. ,  5. , -6. ]]");
  EXPECT_EQ(to_string(tensor({2, 1, 2}, counted(4)), lists), "[[[0., 1.]],\n\n [[2., 3.]]]");
  EXPECT_EQ(to_string(tensor({2000}, counted(2000)), lists),
            "[0.000e+00, 1.000e+00, 2.000e+00, ..., 1.997e+03, 1.998e+03, 1.999e+03]");
  EXPECT_EQ(to_string(tensor({1}, {2}), lists), "[2.]");
}

TEST_P(PrintTest, OtherTypesAndDevicesSaySo) {
  const auto ints = [](const std::vector<std::int32_t>& v) {
    return tensor(DType::i32, {static_cast<std::int64_t>(v.size())}, std::as_bytes(std::span(v)));
  };
  EXPECT_EQ(to_string(ints({1, -20, 300})), "[  1 -20 300] i32");
  EXPECT_EQ(to_string(greater(tensor({2}, {1, 0}), full({2}, 0.5))), "[ True False] bool");
  EXPECT_EQ(to_string(cast(tensor({2}, {0.1f, 0.25f}), DType::f16)), "[0.1  0.25] f16");
  const std::vector<std::complex<float>> z{{1, 2}, {-0.5, -3}};
  EXPECT_EQ(to_string(tensor(DType::c64, {2}, std::as_bytes(std::span(z)))), "[ 1. +2.j -0.5-3.j] c64");
  std::vector<std::int32_t> thousands(30);
  for (int i = 0; i < 30; ++i) thousands[static_cast<std::size_t>(i)] = i * 1000;
  EXPECT_EQ(to_string(ints(thousands)),
            "[    0  1000  2000  3000  4000  5000  6000  7000  8000  9000 10000 11000\n"
            " 12000 13000 14000 15000 16000 17000 18000 19000 20000 21000 22000 23000\n"
            " 24000 25000 26000 27000 28000 29000] i32");
  const std::vector<std::uint64_t> large{~std::uint64_t{0}, 1};
  EXPECT_EQ(to_string(tensor(DType::u64, {2}, std::as_bytes(std::span(large)))),
            "[18446744073709551615                    1] u64");
  std::ostringstream out;
  out << tensor({2, 2}, {1, 2, 3, 4}).T();
  EXPECT_EQ(out.str(), "[[1. 3.]\n [2. 4.]]");
  EXPECT_EQ(to_string(Tensor()), "undefined");
  Future<std::string> later = async_to_string(tensor({2000}, counted(2000)) + 1);
  EXPECT_EQ(later.get(), "[1.000e+00 2.000e+00 3.000e+00 ... 1.998e+03 1.999e+03 2.000e+03]");
  EXPECT_EQ(async_to_string(ints({3, 4})).get(), "[3 4] i32");
  if (GetParam() != "cpu") {
    EXPECT_EQ(to_string(to(tensor({1}, {1}), Device::cpu())), "[1.] on cpu");
  }
  EXPECT_THAT(refused_by([] { to_string(zeros({2}), {.edge = 0}); }), testing::HasSubstr("print: edge 0"));
}

}  // namespace
}  // namespace weft::test
