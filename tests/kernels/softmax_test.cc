#include <limits>

#include "kernels/operands.h"
#include "weft/cpu.h"
#include "weft/error.h"
#include "weft/kernels/softmax.h"

namespace weft::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// WGSL's exp may be off by 3 + 2|x| ULP, which for x = -20, where e^x is 2e-9, is 5e-6 of it; the division and the sum
// add a few ULP more. Narrow outputs round once more, perhaps to the other neighbour.
constexpr Tolerance kTolerance{.ulp = 1, .absolute = 1e-9, .relative = 1e-5};

class SoftmaxTest : public testing::TestWithParam<std::string> {
 protected:
  void check(const Shape& shape, int axis, DType x, DType y, Kind x_kind, Kind y_kind,
             const ValueOf& value = normal(7, 0, 3)) {
    run(view_of(x, shape, x_kind, value), output(y, shape, y_kind), axis);
  }
  void run(const View& x, const View& y, int axis) {
    run_both(
        device, std::array{x}, std::array{y},
        [axis](Stream& s, auto inputs, auto outputs) { kernels::softmax(s, inputs[0], outputs[0], axis); }, kTolerance,
        std::format("softmax axis {}: {} to {}", axis, weft::to_string(x), weft::to_string(y)));
  }
  gpu::Device& device = test::device(GetParam());
};

TEST_P(SoftmaxTest, Types) {
  constexpr std::pair<DType, DType> kTypes[] = {{DType::f16, DType::f16}, {DType::bf16, DType::bf16},
                                                {DType::f16, DType::f32}, {DType::f32, DType::bf16}};
  for (const auto& [x, y] : kTypes) {
    check({5, 24}, -1, x, y, Kind::dense, Kind::dense);
    check({5, 13}, -1, x, y, Kind::dense, Kind::dense);
    check({13, 12}, 0, x, y, Kind::dense, Kind::dense);
  }
}

TEST_P(SoftmaxTest, Layouts) {
  for (Kind x : kInputKinds) {
    for (Kind y : {Kind::dense, Kind::transposed}) {
      for (int axis = 0; axis < 3; ++axis) check({4, 5, 8}, axis, DType::f32, DType::f32, x, y);
    }
  }
  for (Kind y : kOutputKinds) {
    check({3, 4, 5, 8}, 1, DType::f16, DType::f16, Kind::dense, y);
    check({3, 4, 5, 8}, 3, DType::f32, DType::f32, Kind::dense, y);
  }
  for (int axis = 0; axis < 3; ++axis) {
    for (DType type : {DType::f32, DType::f16}) {
      run(in_fours(type, {4, 8, 12}, normal(1)), in_fours(type, {4, 8, 12}, normal(2)), axis);
    }
  }
}

TEST_P(SoftmaxTest, RowLengths) {
  for (std::int64_t n : {1, 2, 3, 31, 32, 33, 384, 1023, 1024, 1025, 20000}) {
    check({3, n}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
    check({n, 3}, 0, DType::f32, DType::f32, Kind::dense, Kind::dense);
    check({n, 4}, 0, DType::f32, DType::f32, Kind::dense, Kind::dense);
  }
}

TEST_P(SoftmaxTest, ManyRowsAndLongRows) {
  check({70000, 5}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
  check({5, 70000}, 0, DType::f32, DType::f32, Kind::dense, Kind::dense);
  check({1, 1000000}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
  check({2, 99999}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
}

TEST_P(SoftmaxTest, NoElements) {
  check({0, 5}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
  check({5, 0}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense);
}

TEST_P(SoftmaxTest, SpecialValues) {
  for (std::int64_t n : {4, 5, 20000}) {
    const auto value = softmax_rows(n);
    check({8, n}, 1, DType::f32, DType::f32, Kind::dense, Kind::dense, value);
    check({8, n}, 1, DType::f32, DType::f32, Kind::transposed, Kind::dense, value);
    cpu::Executor executor;
    const View x = view_of(DType::f32, {8, n}, Kind::dense, value), y = output(DType::f32, {8, n}, Kind::dense);
    kernels::softmax(executor, x, y, 1);
    const std::vector<double> v = values(y);
    for (std::int64_t j = 0; j < 3 * n; ++j) ASSERT_TRUE(std::isnan(v[j])) << j;
    for (std::int64_t j = 3 * n; j < 8 * n; ++j) ASSERT_TRUE(v[j] >= 0 && v[j] <= 1) << j;
    EXPECT_EQ(v[6 * n], 1);
    EXPECT_NEAR(v[5 * n], 1.0 / static_cast<double>(n), 1e-7);
  }
}

TEST_P(SoftmaxTest, InPlace) {
  for (std::int64_t n : {16, 17, 20000}) {
    const View x = view_of(DType::f32, {4, n}, Kind::dense, normal(3)), y = output(DType::f32, {4, n});
    const View both = to_device(device, x);
    gpu::Encoder encoder(device);
    kernels::softmax(encoder, both, both, 1);
    encoder.submit();
    cpu::Executor executor;
    kernels::softmax(executor, x, y, 1);
    kernels::softmax(executor, x, x, 1);
    expect_close(x, y, {});
    expect_close(to_host(device, both), y, kTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SoftmaxTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST(SoftmaxArguments, AreChecked) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 3}, Kind::dense), i = output(DType::i32, {2, 3}, Kind::dense);
  EXPECT_THROW(kernels::softmax(executor, x, output(DType::f32, {3, 2}, Kind::dense), 1), InvalidArgument);
  EXPECT_THROW(kernels::softmax(executor, i, x, 1), InvalidArgument);
  EXPECT_THROW(kernels::softmax(executor, x, x, 2), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
