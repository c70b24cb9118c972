// Derivatives of reductions where there is none, and batches of random numbers. Expected values are PyTorch's.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/on_device.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsNan;

class ReduceDerivativesTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ReduceDerivativesTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

std::vector<float> gradient(ReduceKind kind, const Tensor& x) {
  return grad([&](const Tensor& t) { return reduce(kind, t, {}); })(x).read<float>();
}

TEST_P(ReduceDerivativesTest, TiesShareEvenly) {
  EXPECT_THAT(gradient(ReduceKind::max, tensor({3.0f, 1.0f, 3.0f, 2.0f})), ElementsAre(0.5f, 0, 0.5f, 0));
  EXPECT_THAT(gradient(ReduceKind::min, tensor({1.0f, 1.0f, 3.0f, 1.0f, 1.0f})),
              ElementsAre(0.25f, 0.25f, 0, 0.25f, 0.25f));
}

TEST_P(ReduceDerivativesTest, ANanMakesAllOfAMaximumNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(gradient(ReduceKind::max, tensor({1.0f, nan, 2.0f})), Each(IsNan()));
}

TEST_P(ReduceDerivativesTest, NormsAndDeviationsOfZerosHaveNone) {
  const Tensor zeros = tensor({0.0f, 0.0f});
  EXPECT_THAT(gradient(ReduceKind::l1, zeros), ElementsAre(0, 0));
  EXPECT_THAT(gradient(ReduceKind::l2, zeros), ElementsAre(0, 0));
  EXPECT_THAT(gradient(ReduceKind::deviation, tensor({3.0f, 3.0f})), ElementsAre(0, 0));
}

// cummax: the last of equal elements is the result.
TEST_P(ReduceDerivativesTest, TheLastOfEqualElementsIsAScansMaximum) {
  const auto f = [](const Tensor& t) { return sum(scan(ScanKind::max, t, 0)); };
  EXPECT_THAT(grad(f)(tensor({2.0f, 1.0f, 2.0f, 0.0f, 3.0f})).read<float>(), ElementsAre(2, 0, 2, 0, 1));
}

TEST_P(ReduceDerivativesTest, OneSampleHasNoVariance) {
  const auto f = [](const Tensor& t) { return sum(variance(t, {0}, 1)); };
  EXPECT_THAT(grad(f)(tensor({3.0f})).read<float>(), Each(IsNan()));
}

// More counts than f16 has.
TEST_P(ReduceDerivativesTest, NarrowTypesAccumulateInF32) {
  const Tensor x = full({8192}, 16, DType::f16);
  const auto of = [&](ReduceKind kind) {
    return grad([&](const Tensor& t) { return 1024 * reduce(kind, t, {}); })(x).to_vector<float>();
  };
  EXPECT_THAT(of(ReduceKind::max), Each(1.0f / 8));
  EXPECT_THAT(of(ReduceKind::log_sum), Each(1.0f / 128));
}

TEST_P(ReduceDerivativesTest, RandomNumbersOfManyKeys) {
  const Tensor keys = tensor({3, 2}, std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6});
  const auto f = [](const Tensor& key) { return random_normal(key, DType::f32, {5}); };
  const Tensor all = vmap(f)(keys);
  ASSERT_EQ(all.shape(), Shape({3, 5}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(slice(all, 0, i, i + 1).read<float>(), f(reshape(slice(keys, 0, i, i + 1), {2})).read<float>());
  }
}

}  // namespace
}  // namespace weft::test
