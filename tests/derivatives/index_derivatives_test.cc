// Derivatives of gathers and scatters where several indices name one element: exact values, on all devices.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
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

// A scatter of one of the three forms into `of`, and which element each update goes to; -1: to none.
struct Scatter {
  std::string name;
  Shape of, updates;
  std::function<Tensor(const Tensor& x, const Tensor& u)> apply;
  std::vector<int> element;
};

std::vector<Scatter> scatters() {
  std::vector<Scatter> all;
  // Rows 2, 0, 2, none, 1, 2 of [2, 3, 2], along axis 1.
  Scatter rows{"rows", {2, 3, 2}, {2, 2, 3, 2}, {}, {}};
  rows.apply = [](const Tensor& x, const Tensor& u) {
    return scatter(ScatterKind::mul, x, tensor(Shape{2, 3}, std::vector<std::int32_t>{2, -3, -1, 3, 1, 2}), u, 1);
  };
  for (int i = 0; i < 2; ++i) {
    for (const int row : {2, 0, 2, -1, 1, 2}) {
      for (int k = 0; k < 2; ++k) rows.element.push_back(row < 0 ? -1 : (i * 3 + row) * 2 + k);
    }
  }
  all.push_back(rows);
  // Along axis 0 of [4, 2], by indices of each column.
  Scatter elements{"elements", {4, 2}, {9, 2}, {}, {}};
  elements.apply = [](const Tensor& x, const Tensor& u) {
    const std::vector<std::int64_t> at{1, 0, 3, 1, -3, 2, 1, 3, 4, -9, -4, 3, 3, 3, 1, -1, -1, 3};
    return scatter_elements(ScatterKind::mul, x, tensor(Shape{9, 2}, at), u, 0);
  };
  for (const int row : {1, 0, 3, 1, 1, 2, 1, 3, -1, -1, 0, 3, 3, 3, 1, 3, 3, 3}) {
    elements.element.push_back(row < 0 ? -1 : row * 2 + static_cast<int>(elements.element.size() % 2));
  }
  all.push_back(elements);
  // Pairs of indices of each of 2 batches of [2, 2, 2, 3].
  Scatter tuples{"tuples", {2, 2, 2, 3}, {2, 5, 3}, {}, {}};
  tuples.apply = [](const Tensor& x, const Tensor& u) {
    const std::vector<std::int32_t> at{0, 1, 1, 1, 0, -1, 0, 1, 2, 0, 1, 0, 1, 0, 1, -2, -1, 0, 0, 0};
    return scatter_nd(ScatterKind::mul, x, tensor(Shape{2, 5, 2}, at), u, 1);
  };
  for (const int row : {1, 3, 1, 1, -1, 6, 6, 6, 6, 4}) {
    for (int k = 0; k < 3; ++k) tuples.element.push_back(row < 0 ? -1 : row * 3 + k);
  }
  all.push_back(tuples);
  return all;
}

// Each derivative is the product of the other factors, in which a zero counts more than infinities; second ones are
// sums of the products of all but two.
TEST_P(IndexDerivativesTest, ProductsOfZerosAndInfinities) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::mt19937 random(2);
  const auto numbers = [&](const Shape& shape, std::vector<float> from) {
    std::vector<float> v(static_cast<std::size_t>(element_count(shape)));
    for (float& f : v) f = from[random() % from.size()];
    return v;
  };
  const auto product_without = [](const std::vector<float>& factors, std::size_t i, std::size_t k) {
    double product = 1;
    bool zero = false;
    for (std::size_t n = 0; n < factors.size(); ++n) {
      if (n == i || n == k) continue;
      zero |= factors[n] == 0;
      product *= factors[n];
    }
    return zero ? 0 : product;
  };
  const auto same = [](const std::vector<float>& got, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double e = expected[i];
      if (std::isfinite(e) ? std::abs(got[i] - e) > 1e-5 * std::abs(e) : got[i] != static_cast<float>(e)) {
        return testing::AssertionFailure() << "element " << i << " is " << got[i] << ", expected " << e;
      }
    }
    return testing::AssertionSuccess();
  };
  for (const Scatter& s : scatters()) {
    for (int round = 0; round < 12; ++round) {
      SCOPED_TRACE(s.name);
      const std::vector<float> most{2, 0.5, 3, 1.5}, some{2, 0.5, 0, 3, 1.5, kInf, 4, 0};
      const auto x = numbers(s.of, round % 2 ? some : most), u = numbers(s.updates, some);
      const auto weights = numbers(s.of, {1, 2, 0.5}), by_x = numbers(s.of, {1, 3}), by_u = numbers(s.updates, {2, 1});
      // Of each element its factors: x's and the updates'.
      std::vector<std::vector<float>> factors(x.size());
      std::vector<std::size_t> place(u.size());
      for (std::size_t e = 0; e < x.size(); ++e) factors[e].push_back(x[e]);
      for (std::size_t i = 0; i < u.size(); ++i) {
        if (s.element[i] < 0) continue;
        auto& of = factors[static_cast<std::size_t>(s.element[i])];
        place[i] = of.size();
        of.push_back(u[i]);
      }
      const auto first = [&](std::size_t e, std::size_t i) { return weights[e] * product_without(factors[e], i, i); };
      // Along `by`.
      const auto second = [&](std::size_t e, std::size_t i) {
        double sum = i == 0 ? 0 : by_x[e] * product_without(factors[e], i, 0);
        for (std::size_t n = 0; n < u.size(); ++n) {
          if (s.element[n] == static_cast<int>(e) && place[n] != i) {
            sum += by_u[n] * product_without(factors[e], i, place[n]);
          }
        }
        return weights[e] * sum;
      };
      std::vector<double> dx, du(u.size()), ddx, ddu(u.size());
      for (std::size_t e = 0; e < x.size(); ++e) dx.push_back(first(e, 0)), ddx.push_back(second(e, 0));
      for (std::size_t i = 0; i < u.size(); ++i) {
        if (s.element[i] < 0) continue;
        du[i] = first(static_cast<std::size_t>(s.element[i]), place[i]);
        ddu[i] = second(static_cast<std::size_t>(s.element[i]), place[i]);
      }
      const Values at{tensor(s.of, x), tensor(s.updates, u)}, along{tensor(s.of, by_x), tensor(s.updates, by_u)};
      const auto f = [&](const Values& v) { return s.apply(v[0], v[1]); };
      const auto slopes = [&](const Values& v) { return gradients(f, v, tensor(s.of, weights)); };
      const Values g = slopes(at);
      EXPECT_TRUE(same(g[0].to_vector<float>(), dx));
      EXPECT_TRUE(same(g[1].to_vector<float>(), du));
      // For one operand alone, whose rule is another.
      const Values of_x =
          gradients([&](const Values& v) { return s.apply(v[0], at[1]); }, {at[0]}, tensor(s.of, weights));
      EXPECT_TRUE(same(of_x[0].to_vector<float>(), dx));
      const auto [of_g, pull] = vjp(slopes)(at);
      const Values reverse = pull(along), forward = jvp(slopes)(at, along).second;
      for (const Values* h : {&reverse, &forward}) {
        EXPECT_TRUE(same((*h)[0].to_vector<float>(), ddx));
        EXPECT_TRUE(same((*h)[1].to_vector<float>(), ddu));
      }
    }
  }
}

// Batches, narrow floats and complex numbers have the same rule.
TEST_P(IndexDerivativesTest, ProductsOfBatchesAndOtherTypes) {
  const auto f = [](const Tensor& u) {
    return scatter(ScatterKind::mul, ones({2}, u.dtype()), indices({0, 1, 0, 0}), u);
  };
  const auto slope = [&](const Tensor& u) { return grad([&](const Tensor& v) { return sum(f(v)); })(u); };
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor u = tensor(Shape{3, 4}, std::vector<float>{2, 0, 0, kInf, 2, 3, 4, 5, kInf, 7, 2, 3});
  const std::vector<float> expected{0, 1, kInf, 0, 20, 1, 10, 8, 6, 1, kInf, kInf};
  EXPECT_EQ(vmap(slope)(u).to_vector<float>(), expected);
  EXPECT_EQ(vmap([&](const Tensor& v) { return slope(cast(v, DType::f16)); })(u).to_vector<float>(), expected);
  // The second derivative along ones.
  const auto twice = [&](const Tensor& v) { return grad([&](const Tensor& w) { return sum(slope(w)); })(v); };
  EXPECT_EQ(vmap(twice)(u).to_vector<float>(), (std::vector<float>{kInf, 0, kInf, 2, 9, 0, 7, 6, 5, 0, kInf, kInf}));
  const std::complex<float> i{0, 1};
  const Tensor z = tensor(Shape{4}, std::vector<std::complex<float>>{2.0f + i, 3.0f, 0.0f, 1.0f - i});
  // The gradient of a real part is the conjugate of the derivative.
  const auto of_real = grad([&](const Tensor& v) { return sum(real(f(v))); })(z);
  EXPECT_EQ(of_real.to_vector<std::complex<float>>(), (std::vector<std::complex<float>>{0.0f, 1.0f, 3.0f + i, 0.0f}));
}

}  // namespace
}  // namespace weft::test
