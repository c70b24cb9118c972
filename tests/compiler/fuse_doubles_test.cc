// Conversions from and to f64, which GPUs do not have, around ops that take elementwise work into their kernels: every
// device gives the values.
#include <gmock/gmock.h>

#include "support/on_device.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/graph.h"
#include "weft/pooling.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

class FuseDoublesTest : public testing::TestWithParam<std::string> {
 protected:
  FuseDoublesTest() { set_default_device(device_named(GetParam())); }
  ~FuseDoublesTest() override { set_default_device(before_); }

  static Tensor from_doubles(const Shape& shape) {
    const std::vector<double> x(static_cast<std::size_t>(element_count(shape)), 1.5);
    return cast(tensor(shape, x, DType::f64), DType::f32);
  }
  static Tensor ones(const Shape& shape) {
    return tensor(shape, std::vector<float>(static_cast<std::size_t>(element_count(shape)), 1));
  }
  static void expect(const Tensor& y, double value) {
    EXPECT_THAT(cast(y, DType::f64).to_vector<double>(), testing::Each(testing::DoubleNear(value, 1e-6)));
  }

 private:
  Device before_ = default_device();
};
INSTANTIATE_TEST_SUITE_P(Devices, FuseDoublesTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(FuseDoublesTest, BeforeAndAfter) {
  expect(max_pool(from_doubles({1, 2, 8}), {.window = {2}}), 1.5);
  expect(average_pool(ones({1, 2, 8}), {.window = {2}}) + from_doubles({1, 2, 4}), 2.5);
  expect(resize(from_doubles({1, 2, 8}), {1, 2, 4}), 1.5);
  expect(resize(ones({1, 2, 8}), {1, 2, 4}, {.mode = ResizeMode::linear}), 1);
  expect(conv(ones({1, 2, 8, 8}), ones({3, 2, 3, 3})) + from_doubles({1, 3, 6, 6}), 19.5);
  expect(conv(ones({1, 2, 8, 8}), ones({2, 1, 3, 3}), {}, {.groups = 2}), 9);
  expect(matmul(ones({8, 8}), ones({8, 8})) + from_doubles({8, 8}), 9.5);
  expect(softmax(from_doubles({4, 8}), 1), 0.125);
  expect(sum(from_doubles({4, 8}), 1), 12);
}

}  // namespace
}  // namespace weft::test
