// Distributions of random tensors: against SciPy's probabilities (tests/reference/distributions.py), the same on every
// device, and at the edges of their parameters.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "weft/array.h"
#include "weft/derivatives.h"
#include "weft/distributions.h"
#include "weft/error.h"
#include "weft/linalg.h"
#include "weft/random.h"
#include "weft/special.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using nlohmann::json;
using Tensors = std::vector<Tensor>;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

class Distributions : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Distributions, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

// Draws for each distribution; nightly runs have 10^7.
std::int64_t draws() {
  const char* text = std::getenv("WEFT_RANDOM_DRAWS");
  return text ? std::strtoll(text, nullptr, 10) : quick() ? 20000 : 200000;
}

Tensor drawn(const std::string& function, const std::vector<double>& p, std::int64_t n, const Tensor& key) {
  using F = Tensor (*)(const std::vector<double>&, std::int64_t, const Tensor&);
#define WEFT_DRAW(...) [](const std::vector<double>& p, std::int64_t n, const Tensor& key) -> Tensor { __VA_ARGS__ }
  static const std::map<std::string, F> functions = {
      {"gumbel", WEFT_DRAW(return random::gumbel({n}, p[0], p[1], DType::f32, key);)},
      {"laplace", WEFT_DRAW(return random::laplace({n}, p[0], p[1], DType::f32, key);)},
      {"cauchy", WEFT_DRAW(return random::cauchy({n}, p[0], p[1], DType::f32, key);)},
      {"logistic", WEFT_DRAW(return random::logistic({n}, p[0], p[1], DType::f32, key);)},
      {"exponential", WEFT_DRAW(return random::exponential({n}, p[0], DType::f32, key);)},
      {"normal", WEFT_DRAW(return random::normal({n}, p[0], p[1], DType::f32, key);)},
      {"truncated_normal", WEFT_DRAW(return random::truncated_normal({n}, p[0], p[1], p[2], p[3], DType::f32, key);)},
      {"gamma", WEFT_DRAW(return random::gamma({n}, p[0], p[1], DType::f32, key);)},
      {"log_gamma", WEFT_DRAW(return random::log_gamma({n}, p[0], DType::f32, key);)},
      {"beta", WEFT_DRAW(return random::beta({n}, p[0], p[1], DType::f32, key);)},
      {"dirichlet", WEFT_DRAW(const Tensor a = tensor({static_cast<std::int64_t>(p.size())}, p).cast(DType::f32);
                              return slice(random::dirichlet({n}, a, DType::f32, key), 1, 0, 1).reshape({n});)},
      {"chi_square", WEFT_DRAW(return random::chi_square({n}, p[0], DType::f32, key);)},
      {"student_t", WEFT_DRAW(return random::student_t({n}, p[0], p[1], p[2], DType::f32, key);)},
      {"poisson", WEFT_DRAW(return random::poisson({n}, p[0], DType::i32, key);)},
      {"binomial", WEFT_DRAW(return random::binomial({n}, p[0], p[1], DType::i32, key);)},
      {"geometric", WEFT_DRAW(return random::geometric({n}, p[0], DType::i32, key);)},
      {"poisson_i64", WEFT_DRAW(return random::poisson({n}, p[0], DType::i64, key);)},
      {"binomial_i64", WEFT_DRAW(return random::binomial({n}, p[0], p[1], DType::i64, key);)},
      {"geometric_i64", WEFT_DRAW(return random::geometric({n}, p[0], DType::i64, key);)},
      // Without and with sums of probabilities.
      {"categorical", WEFT_DRAW(const Tensor logits = log(arange(1, p[0] + 1).cast(DType::f32)) + 3;
                                return random_categorical(key, broadcast_to(logits, {n, logits.size()}));)},
      {"searched", WEFT_DRAW(const Tensor logits = log(arange(1, p[0] + 1).cast(DType::f32)) + 3;
                             return random::categorical({n}, logits, 0, key);)},
      {"multinomial", WEFT_DRAW(const Tensor weights = tensor({5}, {1, 0, 8, 10, 1});
                                return slice(random::multinomial({n}, p[0], weights, key), 1,
                                             static_cast<std::int64_t>(p[1]), static_cast<std::int64_t>(p[1]) + 1)
                                    .reshape({n});)},
  };
#undef WEFT_DRAW
  return functions.at(function)(p, n, key);
}

// How many deviations of a normal number chi-square is from its median. Source: Wilson and Hilferty, "The distribution
// of chi-square", 1931.
double deviations(double chi_square, double freedom) {
  const double v = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - v)) / std::sqrt(v);
}

TEST_P(Distributions, AreSciPys) {
  const ReferenceCases cases("distributions");
  const std::int64_t n = draws();
  std::uint64_t seed = 100;
  for (const json& c : cases.list("distributions.json")) {
    const auto parameters = c.at("parameters").get<std::vector<double>>();
    const std::string function = c.at("function"), what = function + c.at("parameters").dump();
    const auto edges = c.at("edges").get<std::vector<double>>(), p = c.at("probabilities").get<std::vector<double>>();
    const auto y = drawn(function, parameters, n, random::key(seed++)).to_vector<double>();
    ASSERT_EQ(static_cast<std::int64_t>(y.size()), n) << what;
    std::vector<double> counts(p.size());
    double mean = 0;
    for (const double v : y) {
      ASSERT_FALSE(std::isnan(v)) << what;
      counts[static_cast<std::size_t>(std::ranges::upper_bound(edges, v) - edges.begin())] += 1;
      mean += v / static_cast<double>(n);
    }
    // Of bins that are joined until each expects ten.
    double chi_square = 0, freedom = -1, expected = 0, count = 0, left = static_cast<double>(n);
    for (std::size_t i = 0; i < p.size(); ++i) {
      expected += p[i] * static_cast<double>(n);
      count += counts[i];
      if (expected < 10 || (left - expected < 10 && i + 1 < p.size())) continue;
      chi_square += (count - expected) * (count - expected) / expected;
      freedom += 1;
      left -= expected;
      expected = count = 0;
    }
    EXPECT_LE(count, 10 + 30 * expected) << what << ": what is left";
    if (freedom > 0) {
      EXPECT_LT(deviations(chi_square, freedom), 4) << what << ": chi-square " << chi_square << " of " << freedom;
    }
    if (!c.contains("mean")) continue;
    const double true_mean = c.at("mean"), variance = c.at("variance"), kurtosis = c.at("kurtosis");
    double squares = 0;
    for (const double v : y) squares += (v - true_mean) * (v - true_mean) / static_cast<double>(n);
    EXPECT_NEAR(mean, true_mean, 5 * std::sqrt(variance / static_cast<double>(n)) + 1e-7 * std::abs(true_mean)) << what;
    EXPECT_NEAR(squares, variance, (6 * std::sqrt((kurtosis + 2) / static_cast<double>(n)) + 1e-5) * variance) << what;
  }
}

// The samplers and what is made of integers have the same bits everywhere.
TEST_P(Distributions, TheSameOnEveryDevice) {
  const auto key = [] { return random::key(0x1234567); };
  const auto expect = [&](std::string_view what, const std::function<Tensor()>& make) {
    const View here = read_view(make());
    set_default_device(Device::cpu());
    const View there = read_view(make());
    set_default_device(device);
    expect_close(here, there, {}, std::string(what));
  };
  const auto a = [] { return tensor({5}, {0.05, 0.7, 1, 12, 3000}); };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    expect("gamma", [&] { return random::gamma({999, 5}, a(), 1, type, key()); });
    expect("log_gamma", [&] { return random::log_gamma({999, 5}, a(), type, key()); });
  }
  expect("poisson", [&] { return random::poisson({999, 5}, a(), DType::i32, key()); });
  expect("binomial", [&] { return random::binomial({999, 5}, 100000, a() * 0x1p-12F, DType::i64, key()); });
  expect("geometric", [&] { return random::geometric({999, 5}, a() * 0x1p-12F, DType::i16, key()); });
  expect("categorical", [&] { return random::categorical({999, 2}, arange(14).reshape({2, 7}) * 0.3F, 1, key()); });
  // Counts past 2^31.
  // (Parameters from the host: exponentials of devices differ.)
  std::vector<float> sizes, shares;
  for (int i = 0; i < 999; ++i) {
    sizes.push_back(static_cast<float>(std::exp(i * 0.0437)));
    shares.push_back(static_cast<float>(std::exp(i * -0.0437)));
  }
  const auto large = [&] { return tensor(sizes); };
  const auto small = [&] { return tensor(shares); };
  for (const DType type : {DType::i32, DType::i64, DType::f32}) {
    expect("poisson", [&] { return random::poisson({3, 999}, large(), type, key()); });
    expect("geometric", [&] { return random::geometric({3, 999}, small(), type, key()); });
    expect("binomial", [&] {
      return random::binomial({999, 5}, large().cast(DType::i64).reshape({999, 1}), a() * 0x1p-12F, type, key());
    });
  }
  expect("multinomial",
         [&] { return random::multinomial({99}, std::int64_t{1} << 50, tensor({3}, {1e38F, 3e38F, 2e37F}), key()); });
  expect("multinomial", [&] { return random::multinomial({99}, 1000, tensor({3}, {1, 5, 0.1}), key()); });
}

// What exponentials, logarithms and the like make of the same bits: the bound that weft/random.h states.
TEST_P(Distributions, CloseOnEveryDevice) {
  struct {
    std::string name;
    std::vector<double> parameters;
    double scale;
  } const cases[] = {{"gumbel", {1, 2}, 2},
                     {"laplace", {1, 2}, 2},
                     {"logistic", {1, 2}, 2},
                     {"cauchy", {0, 2}, 2},
                     {"exponential", {2}, 0.5},
                     {"normal", {0.5, 2}, 2},
                     {"truncated_normal", {-1, 2, 0, 1}, 1},
                     {"beta", {0.7, 12}, 1},
                     {"dirichlet", {0.7, 1, 12}, 1},
                     {"chi_square", {3}, 1},
                     {"student_t", {3, 1, 2}, 2}};
  for (const auto& c : cases) {
    const auto make = [&] { return drawn(c.name, c.parameters, draws(), random::key(0x1234567)).to_vector<float>(); };
    const std::vector<float> here = make();
    set_default_device(Device::cpu());
    const std::vector<float> there = make();
    set_default_device(device);
    double worst = 0;
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (here[i] == there[i]) continue;
      const double apart = std::abs(static_cast<double>(here[i]) - there[i]) / (c.scale + std::abs(there[i]));
      worst = std::isfinite(apart) ? std::max(worst, apart) : std::numeric_limits<double>::infinity();
    }
    EXPECT_LE(worst, 1e-6) << c.name;
    std::printf("%s: within %.2g of scale and magnitude\n", c.name.c_str(), worst);
  }
}

TEST_P(Distributions, ShapesAndTypes) {
  const Tensor column = tensor({3, 1}, {0.5, 1, 2}), row = tensor({4}, {1, 2, 3, 4});
  const Tensor key = random::key(1);
  EXPECT_EQ(random::gamma(std::nullopt, column, row).type(), (TensorType{DType::f32, {3, 4}}));
  EXPECT_EQ(random::gamma({2, 3, 4}, column, row, DType::bf16).type(), (TensorType{DType::bf16, {2, 3, 4}}));
  EXPECT_EQ(random::gamma({}, 2).type(), (TensorType{DType::f32, {}}));
  EXPECT_EQ(random::gamma(std::nullopt, 2).type(), (TensorType{DType::f32, {}}));
  EXPECT_EQ(random::gumbel(std::nullopt, column, row, DType::f16).type(), (TensorType{DType::f16, {3, 4}}));
  EXPECT_EQ(random::exponential({5, 3, 1}, column).type(), (TensorType{DType::f32, {5, 3, 1}}));
  EXPECT_EQ(random::beta(std::nullopt, column, row).type(), (TensorType{DType::f32, {3, 4}}));
  EXPECT_EQ(random::dirichlet(std::nullopt, row).type(), (TensorType{DType::f32, {4}}));
  EXPECT_EQ(random::dirichlet({2, 3}, row).type(), (TensorType{DType::f32, {2, 3, 4}}));
  EXPECT_EQ(random::student_t(std::nullopt, row, column).type(), (TensorType{DType::f32, {3, 4}}));
  EXPECT_EQ(random::chi_square({4}, row.cast(DType::i16)).type(), (TensorType{DType::f32, {4}}));
  EXPECT_EQ(random::truncated_normal(std::nullopt, column, 3, row).type(), (TensorType{DType::f32, {3, 4}}));
  EXPECT_EQ(random::poisson(std::nullopt, column.cast(DType::f16)).type(), (TensorType{DType::i32, {3, 1}}));
  for (const DType type : {DType::i8, DType::i16, DType::i64, DType::f32, DType::f16, DType::bf16}) {
    EXPECT_EQ(random::poisson(std::nullopt, row, type, key).to_vector<double>(),
              random::poisson(std::nullopt, row, DType::i32, key).to_vector<double>());
  }
  EXPECT_EQ(random::binomial(std::nullopt, column.cast(DType::u8), row / 8).type(), (TensorType{DType::i32, {3, 4}}));
  EXPECT_EQ(random::multinomial(std::nullopt, 5, ones({2, 3})).type(), (TensorType{DType::i32, {2, 3}}));
  EXPECT_EQ(random::multinomial({4, 2}, arange(2), ones({3})).type(), (TensorType{DType::i32, {4, 2, 3}}));
  EXPECT_EQ(random::categorical(std::nullopt, ones({2, 3, 4}), 1).type(), (TensorType{DType::i32, {2, 4}}));
  EXPECT_EQ(random::categorical({5, 2, 4}, ones({2, 3, 4}), 1).type(), (TensorType{DType::i32, {5, 2, 4}}));
  EXPECT_EQ(random::categorical({50}, ones({3})).type(), (TensorType{DType::i32, {50}}));
  EXPECT_EQ(random::categorical({50}, ones({1, 3})).type(), (TensorType{DType::i32, {50}}));
  EXPECT_EQ(random::multivariate_normal({5}, zeros({2}), eye(2)).type(), (TensorType{DType::f32, {5, 2}}));
  EXPECT_EQ(random::multivariate_normal(std::nullopt, zeros({3, 1, 2}), broadcast_to(eye(2), {4, 2, 2})).type(),
            (TensorType{DType::f32, {3, 4, 2}}));
  // Without elements.
  EXPECT_THAT(random::gamma({0, 3}, 1).read<float>(), IsEmpty());
  EXPECT_THAT(random::poisson({3, 0}, 1).read<std::int32_t>(), IsEmpty());
  EXPECT_THAT(random::gumbel({0}).read<float>(), IsEmpty());
  EXPECT_THAT(random::categorical({0}, ones({3})).read<std::int32_t>(), IsEmpty());
  EXPECT_THAT(random::multinomial({0}, 3, ones({3})).read<std::int32_t>(), IsEmpty());
  EXPECT_THAT(random::dirichlet({3}, zeros({0})).read<float>(), IsEmpty());
  EXPECT_THAT(random::choice(5, {0}).read<std::int32_t>(), IsEmpty());
  EXPECT_THAT(random::choice(0, {0}, {.replace = false}).read<std::int32_t>(), IsEmpty());
}

TEST_P(Distributions, EdgesOfParameters) {
  const Tensor odd = tensor({5}, {0, -0.0, -1, NAN, INFINITY});
  const auto nan = testing::NanSensitiveFloatEq(NAN);
  EXPECT_THAT(random::gamma({5}, odd).read<float>(), ElementsAre(0, 0, nan, nan, INFINITY));
  EXPECT_THAT(random::log_gamma({5}, odd).read<float>(), ElementsAre(-INFINITY, -INFINITY, nan, nan, INFINITY));
  EXPECT_THAT(random::chi_square({5}, odd).read<float>(), ElementsAre(0, 0, nan, nan, INFINITY));
  EXPECT_THAT(random::poisson({5}, odd).read<std::int32_t>(), ElementsAre(0, 0, -1, -1, INT32_MAX));
  EXPECT_THAT(random::poisson({5}, odd, DType::i8).to_vector<int>(), ElementsAre(0, 0, -1, -1, 127));
  EXPECT_THAT(random::poisson({5}, odd, DType::f32).read<float>(), ElementsAre(0, 0, nan, nan, INFINITY));
  EXPECT_THAT(random::poisson({5}, odd, DType::i64).read<std::int64_t>(), ElementsAre(0, 0, -1, -1, INT64_MAX));
  const Tensor p = tensor({5}, {0, 1, -0.5, 1.5, NAN});
  EXPECT_THAT(random::binomial({5}, 9, p).read<std::int32_t>(), ElementsAre(0, 9, -1, -1, -1));
  EXPECT_THAT(random::binomial({5}, 0, p).read<std::int32_t>(), ElementsAre(0, 0, -1, -1, -1));
  EXPECT_THAT(random::binomial({2}, tensor({2}, {-3, 5}).cast(DType::i64), 1.0).read<std::int32_t>(),
              ElementsAre(-1, 5));
  EXPECT_THAT(random::geometric({5}, p).read<std::int32_t>(), ElementsAre(INT32_MAX, 1, -1, -1, -1));
  EXPECT_THAT(random::geometric({5}, p, DType::i64).read<std::int64_t>(), ElementsAre(INT64_MAX, 1, -1, -1, -1));
  EXPECT_THAT(random::geometric({5}, p, DType::f32).read<float>(), ElementsAre(INFINITY, 1, nan, nan, nan));
  EXPECT_THAT(random::student_t({2}, tensor({2}, {NAN, INFINITY})).read<float>(), ElementsAre(nan, testing::Lt(9.0F)));
  EXPECT_THAT(random::gumbel({2}, tensor({2}, {NAN, 7}), tensor({2}, {1, 0})).read<float>(), ElementsAre(nan, 7));
  EXPECT_THAT(random::truncated_normal({100}, 2, 3, 0, 1).read<float>(),
              Each(testing::AllOf(testing::Ge(2.0F), testing::Le(3.0F))));
  EXPECT_THAT(random::truncated_normal({3}, 40, 50).read<float>(), Each(40));
  EXPECT_THAT(random::truncated_normal({2}, tensor({2}, {2, NAN}), 1.5).read<float>(), ElementsAre(nan, nan));
  // A concentration so small that numbers underflow, which their logarithms do not, nor what is made of these.
  EXPECT_THAT(random::log_gamma({1000}, 1e-4).read<float>(),
              Each(testing::AllOf(testing::Gt(-1e7F), testing::Lt(4.0F))));
  EXPECT_THAT(random::dirichlet({1000}, full({3}, 1e-4)).sum(-1).read<float>(), Each(testing::FloatNear(1, 1e-6F)));
  EXPECT_THAT(random::beta({100}, 1e-5, 1e-5).read<float>(), Each(testing::Not(nan)));
  const Tensor logits =
      tensor({4, 3}, {0, NAN, 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 1, -INFINITY, 0, INFINITY, 0});
  EXPECT_THAT(random::categorical(std::nullopt, logits).read<std::int32_t>(), ElementsAre(-1, -1, 1, 1));
  for (const auto& [row, expected] : {std::pair(0, -1), {1, -1}, {2, 1}, {3, 1}}) {
    EXPECT_THAT(random::categorical({40}, slice(logits, 0, row, row + 1).reshape({3})).read<std::int32_t>(),
                Each(expected));
  }
  EXPECT_THAT(random::multinomial(std::nullopt, 5, tensor({3, 2}, {1, -1, 0, 0, NAN, 1})).read<std::int32_t>(),
              Each(-1));
  EXPECT_THAT(random::multinomial(std::nullopt, 7, tensor({3}, {0, 2, 0})).read<std::int32_t>(), ElementsAre(0, 7, 0));
  EXPECT_THAT(random::multinomial(std::nullopt, 7, tensor({1}, {3})).read<std::int32_t>(), ElementsAre(7));
  EXPECT_THROW(random::multivariate_normal({3}, zeros({2}), zeros({2, 2})).read<float>(), LinAlgError);
}

// In types that hold them, counts go on past 2^31.
TEST_P(Distributions, LargeCounts) {
  const auto key = random::key(11);
  const auto near = [](const Tensor& x, double mean, double deviation) {
    for (const double v : x.to_vector<double>()) EXPECT_NEAR(v, mean, 6 * deviation);
  };
  for (const DType type : {DType::i64, DType::f32}) {
    near(random::poisson({100}, 3e9, type, key), 3e9, std::sqrt(3e9));
    near(random::binomial({100}, 10'000'000'000, 0.5, type, key), 5e9, 5e4);
    near(random::binomial({100}, full({}, 1'000'000'000'000, DType::i64), 0.75, type, key), 75e10,
         std::sqrt(3e12 / 16));
    EXPECT_GT(max(random::geometric({100}, 1e-10, type, key)).item<double>(), 1e10);
  }
  EXPECT_THAT(random::poisson({9}, 3e9, DType::i32, key).read<std::int32_t>(), Each(INT32_MAX));
  EXPECT_THAT(random::poisson({9}, 1e30, DType::i64, key).read<std::int64_t>(), Each(INT64_MAX));
  EXPECT_THAT(random::poisson({9}, 1e30, DType::f32, key).read<float>(), Each(1e30F));
  EXPECT_THAT(random::binomial({9}, INT64_MAX, 1, DType::i64, key).read<std::int64_t>(), Each(INT64_MAX));
  EXPECT_GT(max(random::geometric({100}, 1e-30, DType::f32, key)).item<double>(), 1e30);
  // The digits that f32 does not have are random, too.
  for (const Tensor& x : {random::poisson({4000}, 1e18, DType::i64, key),
                          random::binomial({4000}, std::int64_t{1} << 62, 0.3, DType::i64, key),
                          random::geometric({4000}, 1e-14, DType::i64, key)}) {
    for (int bit = 0; bit < 12; ++bit) {
      EXPECT_NEAR(mean(cast((x >> bit) % 2, DType::f32)).item<double>(), 0.5, 5 * 0.5 / std::sqrt(4000.0)) << bit;
    }
  }
  const Tensor counts = random::multinomial({50}, std::int64_t{1} << 50, tensor({4}, {1, 2, 0, 5}), key);
  EXPECT_EQ(counts.type(), (TensorType{DType::i64, {50, 4}}));
  EXPECT_THAT(counts.sum(-1).read<std::int64_t>(), Each(std::int64_t{1} << 50));
  EXPECT_EQ(random::multinomial({2}, tensor({2}, {3, 4}).cast(DType::i64), ones({3}), key).dtype(), DType::i64);
  // Weights of any size: those of a sum past the range of f32, too.
  EXPECT_EQ(random::multinomial({50}, 1000, tensor({3}, {1e38F, 3e38F, 2e38F}), key).read<std::int32_t>(),
            random::multinomial({50}, 1000, tensor({3}, {1, 3, 2}), key).read<std::int32_t>());
}

// Logits of any size, and weights, leave the noise its digits: those that are equal are drawn as often.
TEST_P(Distributions, CategoriesOfLargeLogits) {
  const std::int64_t n = 4000;
  const auto expect_even = [&](const Tensor& drawn, std::string_view what) {
    double counts[4] = {};
    for (const int i : drawn.to_vector<int>()) counts[i] += 1;
    for (const double c : counts) EXPECT_NEAR(c, n / 4.0, 5 * std::sqrt(n * 3.0 / 16)) << what;
  };
  for (const float size : {0.0F, 1e7F, 1e8F, -1e8F, 3e38F, -3e38F}) {
    const Tensor logits = full({4}, size);
    expect_even(random_categorical(random::key(1), broadcast_to(logits, {n, 4})), std::format("{}", size));
    expect_even(random::categorical({n}, logits, 0, random::key(2)), std::format("{}, searched", size));
    expect_even(random::categorical({n, 1}, full({n, 4}, size).reshape({n, 1, 4}), -1, random::key(3)),
                std::format("{}, each by itself", size));
  }
  const Tensor keys = random::split(random::key(4), n);
  for (const float size : {1e-37F, 1.0F, 3e38F}) {
    const Tensor first = vmap([&](const Tensor& key) {
      return random::choice(4, {1}, {.replace = false, .weights = full({4}, size)}, key);
    })(keys);
    expect_even(first, std::format("choice by {}", size));
  }
}

// No number is 0 or infinite that the distribution does not have.
TEST_P(Distributions, TailsAreFinite) {
  const std::int64_t n = quick() ? 10000 : 1000000;
  const auto range = [](const Tensor& x) { return std::pair(min(x).item<double>(), max(x).item<double>()); };
  const auto key = random::key(3);
  const auto [least, most] = range(random::exponential({n}, 1, DType::f32, key));
  EXPECT_GT(least, 0);
  EXPECT_LT(most, 23.6);
  for (const Tensor& x : {random::gumbel({n}, 0, 1, DType::f32, key), random::laplace({n}, 0, 1, DType::f32, key),
                          random::logistic({n}, 0, 1, DType::f32, key), random::cauchy({n}, 0, 1, DType::f32, key)}) {
    const auto [low, high] = range(x);
    EXPECT_LT(std::abs(low), 1e10);
    EXPECT_LT(std::abs(high), 1e10);
  }
  // The ends of the numbers of which these are made.
  const auto [below, above] = range(random_signed_uniform(key, {n}));
  EXPECT_GE(below, -1 + 0x1p-24);
  EXPECT_LE(above, 1 - 0x1p-24);
}

TEST_P(Distributions, MultinomialAndMultivariate) {
  const Tensor weights = arange(9).cast(DType::f32);
  const Tensor counts = random::multinomial({200}, 10000, weights, random::key(5));
  EXPECT_THAT(counts.sum(-1).to_vector<int>(), Each(10000));
  EXPECT_THAT(slice(counts, 1, 0, 1).to_vector<int>(), Each(0));
  // Of many draws the counts of two categories are as often together as they should be: their covariance is -n p q.
  const Tensor f = counts.cast(DType::f32) - weights / 36.0F * 10000.0F;
  const double covariance = mean(slice(f, 1, 7, 8) * slice(f, 1, 8, 9)).item<double>();
  EXPECT_NEAR(covariance, -10000 * 7.0 / 36 * 8 / 36, 5 * 10000 * 7.5 / 36 / std::sqrt(200.0));
  const Tensor c = tensor({3, 3}, {4, 1, 0.5, 1, 2, -0.3, 0.5, -0.3, 1}), centre = tensor({3}, {1, 2, 3});
  const std::int64_t n = 50000;
  const Tensor x = random::multivariate_normal({n}, centre, c, DType::f32, random::key(6)) - centre;
  const Tensor found = matmul(x.T(), x) / static_cast<float>(n);
  EXPECT_LT(max(abs(found - c)).item<double>(), 5 * 4 * std::sqrt(2.0 / static_cast<double>(n)));
  EXPECT_LT(max(abs(mean(x, 0))).item<double>(), 5 * 2 / std::sqrt(static_cast<double>(n)));
  const Tensor batch = random::multivariate_normal({2, n / 2}, centre, c, DType::f32, random::key(6)) - centre;
  EXPECT_EQ(batch.reshape({n, 3}).read<float>(), x.read<float>()) << "the shape does not matter";
}

TEST_P(Distributions, Orthogonal) {
  for (const std::int64_t n : {1, 2, 7, 40}) {
    const Tensor q = random::orthogonal(n, {3}, DType::f32, random::key(1));
    ASSERT_EQ(q.shape(), (Shape{3, n, n}));
    EXPECT_LT(max(abs(matmul(q, q.T()) - eye(n))).item<double>(), 1e-5) << n;
  }
  EXPECT_EQ(random::orthogonal(3, {}, DType::bf16).type(), (TensorType{DType::bf16, {3, 3}}));
  EXPECT_THAT(random::orthogonal(0, {2}).read<float>(), IsEmpty());
  // A column is a point of the sphere, of whose coordinates each is evenly distributed over [-1, 1] (Archimedes).
  const std::int64_t n = 4000;
  const Tensor q = random::orthogonal(3, {n}, DType::f32, random::key(2));
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t k = 0; k < 3; ++k) {
      const auto v = slice(slice(q, 1, i, i + 1), 2, k, k + 1).to_vector<double>();
      std::vector<double> counts(20);
      for (const double x : v) counts[std::min<std::size_t>(static_cast<std::size_t>((x + 1) * 10), 19)] += 1;
      double chi_square = 0;
      for (const double c : counts) chi_square += (c - n / 20.0) * (c - n / 20.0) / (n / 20.0);
      EXPECT_LT(deviations(chi_square, 19), 4) << i << " " << k;
    }
  }
  // Rotations and reflections are as many.
  const Tensor x = slice(q, 2, 0, 1), y = slice(q, 2, 1, 2), z = slice(q, 2, 2, 3);
  const double turns = mean(sum(cross(x, y, 1) * z, 1)).item<double>();
  EXPECT_NEAR(turns, 0, 5 / std::sqrt(static_cast<double>(n)));
}

TEST_P(Distributions, Choices) {
  const auto key = random::key(8);
  const auto few = random::choice(10, {3, 2}, {.replace = false}, key).read<std::int32_t>();
  EXPECT_EQ(std::set(few.begin(), few.end()).size(), 6u);
  EXPECT_THAT(few, Each(testing::AllOf(testing::Ge(0), testing::Lt(10))));
  EXPECT_EQ(random::choice(4, {4}, {.replace = false}, key).to_vector<int>(),
            random::permutation(4, key).to_vector<int>());
  const Tensor x = arange(12).reshape({3, 4});
  const Tensor columns = random::choice(x, {2, 5}, {.axis = 1}, key);
  EXPECT_EQ(columns.shape(), (Shape{3, 2, 5}));
  EXPECT_THAT((slice(columns, 0, 1, 2) - slice(columns, 0, 0, 1)).to_vector<int>(), Each(4)) << "columns stay whole";
  // By weights: with replacement, and the first and the second without.
  const Tensor weights = tensor({4}, {1, 0, 2, 5});
  const std::int64_t n = 4000;
  std::vector<double> with(4), first(4), second(4);
  for (const int i : random::choice(4, {n}, {.weights = weights}, key).to_vector<int>())
    with[static_cast<std::size_t>(i)] += 1;
  const Tensor keys = random::split(random::key(9), n);
  const auto pairs =
      vmap([&](const Tensor& k) { return random::choice(4, {2}, {.replace = false, .weights = weights}, k); })(keys)
          .to_vector<int>();
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    first[static_cast<std::size_t>(pairs[i])] += 1;
    second[static_cast<std::size_t>(pairs[i + 1])] += 1;
    EXPECT_NE(pairs[i], pairs[i + 1]);
  }
  const double p[] = {1.0 / 8, 0, 2.0 / 8, 5.0 / 8};
  for (std::size_t i = 0; i < 4; ++i) {
    double after = 0;
    for (std::size_t k = 0; k < 4; ++k) after += k == i ? 0 : p[k] * p[i] / (1 - p[k]);
    const auto near = [&](double count, double of) {
      EXPECT_NEAR(count, static_cast<double>(n) * of, 5 * std::sqrt(static_cast<double>(n) * of * (1 - of))) << i;
    };
    near(with[i], p[i]);
    near(first[i], p[i]);
    near(second[i], after);
  }
  // What has no weight comes last.
  EXPECT_EQ(random::choice(4, {4}, {.replace = false, .weights = weights}, key).to_vector<int>()[3], 1);
}

// A batch of keys, and of parameters, gives what a loop gives.
TEST_P(Distributions, BatchesAreLoops) {
  const Tensor keys = random::split(random::key(3), 4), a = tensor({4, 3}, {0.3, 1, 5, 2, 0.1, 40, 9, 9, 1e4, 1, 1, 1});
  const auto check = [&](std::string_view what, const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
    const Tensor batch = vmap([&](const Tensors& t) { return f(t[0], t[1]); })(Tensors{keys, a});
    const Tensor same_key = vmap([&](const Tensor& row) { return f(random::key_at(keys, 2), row); })(a);
    for (std::int64_t i = 0; i < 4; ++i) {
      const Tensor row = slice(a, 0, i, i + 1).reshape({3});
      const auto entry = [&](const Tensor& y) { return squeeze(slice(y, 0, i, i + 1), 0).to_vector<double>(); };
      EXPECT_EQ(entry(batch), f(random::key_at(keys, i), row).to_vector<double>()) << what << " " << i;
      EXPECT_EQ(entry(same_key), f(random::key_at(keys, 2), row).to_vector<double>()) << what << " " << i;
    }
  };
  check("gamma", [](const Tensor& key, const Tensor& p) { return random::gamma({2, 3}, p, 1, DType::f32, key); });
  check("poisson", [](const Tensor& key, const Tensor& p) { return random::poisson({2, 3}, p, DType::i32, key); });
  check("binomial", [](const Tensor& key, const Tensor& p) {
    return random::binomial({2, 3}, p.cast(DType::i32), 0.3, DType::i32, key);
  });
  check("geometric",
        [](const Tensor& key, const Tensor& p) { return random::geometric({2, 3}, p / 20000, DType::i32, key); });
  check("categorical", [](const Tensor& key, const Tensor& p) { return random::categorical({5}, log(p), 0, key); });
  check("laplace", [](const Tensor& key, const Tensor& p) { return random::laplace({2, 3}, p, 2, DType::f32, key); });
  check("multinomial", [](const Tensor& key, const Tensor& p) { return random::multinomial({2}, 50, p, key); });
}

TEST_P(Distributions, DefaultGeneratorAndTraces) {
  random::seed(5);
  const auto first = random::gamma({20}, 2).read<float>(), second = random::gamma({20}, 2).read<float>();
  EXPECT_NE(first, second);
  random::seed(5);
  EXPECT_EQ(random::gamma({20}, 2).read<float>(), first);
  const auto own = compile([](const Tensor& key, const Tensor& a) { return random::poisson({4}, a, DType::i32, key); });
  EXPECT_EQ(own(random::key(2), tensor({4}, {1, 2, 30, 400})).read<std::int32_t>(),
            random::poisson({4}, tensor({4}, {1, 2, 30, 400}), DType::i32, random::key(2)).read<std::int32_t>());
  const auto taken = compile([](const Tensor& a) { return random::poisson({4}, a); });
  EXPECT_THROW(taken(ones({4})), InvalidArgument);
}

TEST_P(Distributions, LocationsAndScalesHaveDerivatives) {
  const Tensor key = random::key(4);
  const auto check = [&](const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
    const Tensor at = tensor({3}, {1, -2, 0.5}), scale = tensor({3}, {0.5, 2, 3});
    const Tensors d = grad([&](const Tensors& t) { return sum(f(t[0], t[1])); })(Tensors{at, scale});
    EXPECT_THAT(d[0].read<float>(), Each(testing::FloatNear(1, 1e-5F)));
    const auto of_scale = d[1].read<float>();
    const auto noise = f(zeros({3}), ones({3})).read<float>();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(of_scale[i], noise[i], 1e-5 * (1 + std::abs(noise[i])));
  };
  check([&](const Tensor& at, const Tensor& scale) { return random::gumbel({3}, at, scale, DType::f32, key); });
  check([&](const Tensor& at, const Tensor& scale) { return random::laplace({3}, at, scale, DType::f32, key); });
  check([&](const Tensor& at, const Tensor& scale) { return random::cauchy({3}, at, scale, DType::f32, key); });
  check([&](const Tensor& at, const Tensor& scale) { return random::logistic({3}, at, scale, DType::f32, key); });
  check([&](const Tensor& at, const Tensor& scale) { return random::student_t({3}, 4, at, scale, DType::f32, key); });
  check([&](const Tensor& at, const Tensor& scale) {
    return random::truncated_normal({3}, -INFINITY, INFINITY, at, scale, DType::f32, key);
  });
}

// Samples move with the distribution function: the mean of derivatives is the derivative of the mean, and of the mean
// square. Their values are the kernel's (tests/reference/distributions.py).
TEST_P(Distributions, ConcentrationsHaveDerivatives) {
  const std::int64_t n = 20000;
  const Tensor key = random::key(5);
  const auto slope = [&](float a, const std::function<Tensor(const Tensor&)>& f) {
    return grad([&](const Tensor& t) { return mean(f(t)); })(tensor({1}, {a})).item<double>();
  };
  for (const float a : {0.2F, 1.0F, 4.0F, 50.0F}) {
    const auto gamma = [&](const Tensor& t) { return random::gamma({n}, t, 2, DType::f32, key); };
    EXPECT_NEAR(slope(a, gamma), 2, 0.1) << a;
    const auto squared = [&](const Tensor& t) { return square(random::gamma({n}, t, 1, DType::f32, key)); };
    EXPECT_NEAR(slope(a, squared), 2 * a + 1, 0.1 * (2 * a + 1)) << a;
    // Of the logarithm the mean is digamma(a), of beta a / (a + 3), of chi-square a.
    const auto trigamma = polygamma(1, tensor({1}, {a})).item<double>();
    const auto logarithm = [&](const Tensor& t) { return random::log_gamma({n}, t, DType::f32, key); };
    EXPECT_NEAR(slope(a, logarithm), trigamma, 0.05 * trigamma) << a;
    const auto beta = [&](const Tensor& t) { return random::beta({n}, t, 3, DType::f32, key); };
    EXPECT_NEAR(slope(a, beta), 3 / (a + 3) / (a + 3), 0.03 * 3 / (a + 3) / (a + 3)) << a;
    const auto chi = [&](const Tensor& t) { return random::chi_square({n}, t, DType::f32, key); };
    EXPECT_NEAR(slope(a, chi), 1, 0.1) << a;
    const auto narrow = [&](const Tensor& t) {
      return random::gamma({n}, t.cast(DType::f16), 1, DType::f16, key).cast(DType::f32);
    };
    EXPECT_NEAR(slope(a, narrow), 1, 0.1) << a;
  }
  // In forward mode the same, and not twice.
  const Tensor a = tensor({3}, {0.5, 2, 40});
  const auto f = [&](const Tensor& t) { return random::gamma({3}, t, 1, DType::f32, key); };
  EXPECT_EQ(jvp(f)(a, ones({3})).second.read<float>(),
            grad([&](const Tensor& t) { return sum(f(t)); })(a).read<float>());
  EXPECT_THROW(grad([&](const Tensor& t) { return sum(grad([&](const Tensor& u) { return sum(f(u)); })(t)); })(a),
               Unsupported);
}

TEST_P(Distributions, Refusals) {
  const Tensor key = random::key(1), f = ones({3}), none;
  EXPECT_THROW(random::gumbel({2}, 0, -1), InvalidArgument);
  EXPECT_THROW(random::gumbel({2}, 0, NAN), InvalidArgument);
  EXPECT_THROW(random::gumbel({2}, f), ShapeError);
  EXPECT_THROW(random::gumbel({1}, f), ShapeError) << "the shape is the caller's";
  EXPECT_THROW(random::gumbel({3}, none), InvalidArgument);
  EXPECT_THROW(random::gumbel({3}, f.cast(DType::c64)), TypeError);
  EXPECT_THROW(random::gumbel({3}, 0, 1, DType::i32), TypeError);
  EXPECT_THROW(random::gumbel({3}, 0, 1, DType::f64), TypeError);
  EXPECT_THROW(random::gumbel({3}, 0, 1, DType::f32, f), TypeError);
  EXPECT_THROW(random::gumbel({3}, 0, 1, DType::f32, ones({3}, DType::u32)), ShapeError);
  EXPECT_THROW(random::gumbel({-3}), ShapeError);
  EXPECT_THROW(random::truncated_normal({2}, 1, 1), InvalidArgument);
  EXPECT_THROW(random::truncated_normal({2}, NAN, 1), InvalidArgument);
  EXPECT_THROW(random::gamma({2}, -1), InvalidArgument);
  EXPECT_THROW(random::gamma({2}, f), ShapeError);
  EXPECT_THROW(random::gamma({1}, f), ShapeError);
  EXPECT_THROW(random::gamma({3}, f, 1, DType::i32), TypeError);
  EXPECT_THROW(random::gamma({3}, f, 1, DType::f32, f), TypeError);
  EXPECT_THROW(random::beta({3}, 1, -1), InvalidArgument);
  EXPECT_THROW(random::dirichlet({3}, ones({})), ShapeError);
  EXPECT_THROW(random::dirichlet({3}, none), InvalidArgument);
  EXPECT_THROW(random::poisson({3}, -1), InvalidArgument);
  EXPECT_THROW(random::poisson({3}, 1, DType::u32), TypeError);
  EXPECT_THROW(random::poisson({3}, 1, DType::boolean), TypeError);
  EXPECT_THROW(random::poisson({3}, 1, DType::i32, ones({3}, DType::u32)), ShapeError);
  EXPECT_THROW(random::binomial({3}, -1, 0.5), InvalidArgument);
  EXPECT_THROW(random::binomial({3}, 1.5, 0.5), InvalidArgument);
  EXPECT_THROW(random::binomial({3}, 0x1p63, 0.5), InvalidArgument);
  EXPECT_THROW(random::binomial({3}, f, 0.5), TypeError);
  EXPECT_THROW(random::binomial({3}, 3, 1.5), InvalidArgument);
  EXPECT_THROW(random::geometric({3}, -0.5), InvalidArgument);
  EXPECT_THROW(random::categorical({3}, ones({2, 0})), ShapeError);
  EXPECT_THROW(random::categorical({3}, ones({})), ShapeError);
  EXPECT_THROW(random::categorical({3}, ones({2, 4})), ShapeError);
  EXPECT_THROW(random::categorical({3}, ones({2}, DType::f64)), TypeError);
  EXPECT_THROW(random::categorical({3}, none), InvalidArgument);
  EXPECT_THROW(random::multinomial({3}, 5, ones({0})), ShapeError);
  EXPECT_THROW(random::multinomial({3}, 5, ones({2, 4})), ShapeError);
  EXPECT_THROW(random::multivariate_normal({3}, f, ones({2, 2})), ShapeError);
  EXPECT_THROW(random::multivariate_normal({3}, f, ones({3, 2})), ShapeError);
  EXPECT_THROW(random::orthogonal(-1), InvalidArgument);
  EXPECT_THROW(random::orthogonal(3, {-1}), ShapeError);
  EXPECT_THROW(random::orthogonal(3, {}, DType::f64), TypeError);
  EXPECT_THROW(random::choice(3, {4}, {.replace = false}), InvalidArgument);
  EXPECT_THROW(random::choice(0, {4}), InvalidArgument);
  EXPECT_THROW(random::choice(-1, {4}), InvalidArgument);
  EXPECT_THROW(random::choice(4, {4}, {.weights = f}), ShapeError);
  EXPECT_THROW(random::choice(ones({}), {4}), ShapeError);
  EXPECT_THROW(random::choice(none, {4}), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
