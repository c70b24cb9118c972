// Derivatives of gathers and scatters where several indices name one element: exact values, on all devices.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "support/on_device.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using Values = std::vector<Tensor>;

class IndexDerivativesTest : public testing::TestWithParam<std::string> {
 protected:
  IndexDerivativesTest() { set_default_device(device_named(GetParam())); }
  ~IndexDerivativesTest() override { set_default_device(before_); }
  Device before_ = default_device();
};
INSTANTIATE_TEST_SUITE_P(Devices, IndexDerivativesTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

Tensor indices(std::vector<std::int32_t> values) { return tensor(values); }

// The gradient of the weighted sum of what f gives.
Values gradients(const std::function<Tensor(const Values&)>& f, const Values& x, const Tensor& weights) {
  return vjp([&](const Values& at) { return Values{f(at)}; })(x).second(Values{weights});
}

TEST_P(IndexDerivativesTest, OfSeveralReplacementsTheLastOneHasTheCotangent) {
  const auto f = [](const Values& x) { return at_set(x[0], indices({1, 2, 1, -2, 9}), x[1]); };
  const Values x{tensor({3}, {1, 2, 3}), tensor({5}, {10, 20, 30, 40, 50})};
  EXPECT_THAT(f(x).to_vector<float>(), ElementsAre(1, 40, 20));
  const Values g = gradients(f, x, tensor({3}, {5, 6, 7}));
  EXPECT_THAT(g[0].to_vector<float>(), ElementsAre(5, 0, 0));
  EXPECT_THAT(g[1].to_vector<float>(), ElementsAre(0, 7, 0, 6, 0));
}

TEST_P(IndexDerivativesTest, TheLastOfManyReplacementsStays) {
  std::mt19937 random(1);
  std::vector<std::int32_t> at(5000);
  std::vector<float> values(at.size()), expected(40, -1), weights(40);
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] = static_cast<std::int32_t>(random() % 40);
    values[i] = static_cast<float>(i % 2048);
    expected[static_cast<std::size_t>(at[i])] = values[i];
  }
  std::vector<float> cotangents(at.size());
  for (int k = 0; k < 40; ++k) {
    weights[static_cast<std::size_t>(k)] = static_cast<float>(k + 1);
    const auto last = std::find(at.rbegin(), at.rend(), k);
    cotangents[static_cast<std::size_t>(at.rend() - last - 1)] = static_cast<float>(k + 1);
  }
  for (const DType type : {DType::f32, DType::f16}) {
    const auto f = [&](const Values& x) { return scatter(ScatterKind::assign, x[0], indices(at), x[1]); };
    const Values x{full({40}, -1, type), tensor({5000}, values, type)};
    EXPECT_EQ(f(x).to_vector<float>(), expected);
    EXPECT_EQ(gradients(f, x, tensor({40}, weights, type))[1].to_vector<float>(), cotangents);
  }
}

// Sums in the order of the indices, so that they repeat to the bit.
TEST_P(IndexDerivativesTest, CotangentsOfRepeatedIndicesAreAddedInOrder) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const std::int64_t row : {1, 4, 100}) {
    std::vector<std::int32_t> at(3000);
    std::vector<float> weights(at.size() * static_cast<std::size_t>(row));
    for (auto& i : at) i = static_cast<std::int32_t>(random() % 17);
    for (float& w : weights) w = uniform(random);
    std::vector<float> expected(static_cast<std::size_t>(17 * row));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto k = static_cast<std::size_t>(at[i / static_cast<std::size_t>(row)]) * static_cast<std::size_t>(row);
      expected[k + i % static_cast<std::size_t>(row)] += weights[i];
    }
    const Values x{zeros({17, row})};
    const auto f = [&](const Values& v) { return gather(v[0], indices(at)); };
    EXPECT_EQ(gradients(f, x, tensor({3000, row}, weights))[0].to_vector<float>(), expected) << row;
  }
}

// PyTorch 2: scatter_reduce(x, 0, index, u, "amax").sum() with weights.
TEST_P(IndexDerivativesTest, TheGreatestShareTheCotangentEvenly) {
  const auto f = [](const Values& x) { return at_max(x[0], indices({0, 0, 1, 1, 0}), x[1]); };
  const Values x{tensor({3}, {4, 1, 2}), tensor({5}, {4, 3, 5, 5, 4})};
  const Values g = gradients(f, x, tensor({3}, {6, 8, 1}));
  EXPECT_THAT(g[0].to_vector<float>(), ElementsAre(2, 0, 1));
  EXPECT_THAT(g[1].to_vector<float>(), ElementsAre(2, 0, 4, 4, 2));
}

// The product of the others, by hand.
TEST_P(IndexDerivativesTest, ProductsWithZerosHaveTheProductOfTheOthers) {
  const auto f = [](const Values& x) { return scatter(ScatterKind::mul, x[0], indices({0, 0, 1, 1, 2}), x[1]); };
  const Values x{tensor({3}, {2, 3, 0}), tensor({5}, {0, 5, 0, 0, 7})};
  const Values g = gradients(f, x, tensor({3}, {1, 10, 100}));
  EXPECT_THAT(g[0].to_vector<float>(), ElementsAre(0, 0, 700));
  EXPECT_THAT(g[1].to_vector<float>(), ElementsAre(10, 0, 0, 0, 0));
}

}  // namespace
}  // namespace weft::test
