// Random tensors: the same on every device, distributed as they should be, and reproducible by seeds and keys.
#include "weft/random.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>
#include <thread>

#include "support/on_device.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Moments {
  double mean = 0, variance = 0, least = INFINITY, most = -INFINITY;
};
Moments moments(const Tensor& x) {
  const View v = read_view(x);
  Moments m;
  const auto n = static_cast<double>(v.count());
  for (std::int64_t i = 0; i < v.count(); ++i) {
    m.mean += value(v, i) / n;
    m.least = std::min(m.least, value(v, i));
    m.most = std::max(m.most, value(v, i));
  }
  for (std::int64_t i = 0; i < v.count(); ++i) m.variance += (value(v, i) - m.mean) * (value(v, i) - m.mean) / n;
  return m;
}

class RandomTensors : public OnDevice {
 protected:
  // The same bits as on the cpu; `steps`: units in the last place that may be between them.
  void expect_as_on_cpu(const std::function<Tensor()>& make, double steps = 0) {
    const View here = read_view(make());
    set_default_device(Device::cpu());
    const View there = read_view(make());
    set_default_device(device);
    expect_close(here, there, {.ulp = steps, .absolute = steps ? 1e-6 : 0}, "");
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, RandomTensors, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(RandomTensors, TheSameOnEveryDevice) {
  const auto key = [] { return random::key(0x123456789abcdefu); };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    expect_as_on_cpu([&] { return random::uniform({33, 7}, -3, 5, type, key()); });
    expect_as_on_cpu([&] { return random::normal({33, 7}, 1, 2, type, key()); }, 4);
  }
  for (const DType type : {DType::i8, DType::u8, DType::i16, DType::i32, DType::u32, DType::i64, DType::u64}) {
    expect_as_on_cpu([&] { return random::integers({101}, 3, 117, type, key()); });
  }
  expect_as_on_cpu([&] { return random::integers({101}, 0, 0x1p64, DType::u64, key()); });
  expect_as_on_cpu([&] { return random::integers({101}, -3, std::int64_t{1} << 60, DType::i64, key()); });
  expect_as_on_cpu([&] { return random::bernoulli({50, 3}, 0.3, key()); });
  expect_as_on_cpu([&] { return random::permutation(1000, key()); });
  expect_as_on_cpu([&] { return random::permutation(arange(60).reshape({5, 12}), 1, key()); });
  expect_as_on_cpu([&] { return random::split(key(), 9); });
  expect_as_on_cpu([&] {
    random::seed(5);
    random::uniform({3});
    return random::uniform({40});
  });
}

TEST_P(RandomTensors, SeedsRepeat) {
  random::seed(7);
  const auto first = random::uniform({20}).read<float>(), second = random::uniform({20}).read<float>();
  random::seed(7);
  EXPECT_EQ(random::uniform({20}).read<float>(), first);
  EXPECT_EQ(random::uniform({20}).read<float>(), second);
  random::seed(8);
  EXPECT_NE(random::uniform({20}).read<float>(), first);
  EXPECT_NE(first, second);
  // The order of making counts, not that of reading.
  random::seed(7);
  const Tensor a = random::uniform({20}), b = random::uniform({20});
  EXPECT_EQ(b.read<float>(), second);
  EXPECT_EQ(a.read<float>(), first);
}

TEST_P(RandomTensors, Keys) {
  EXPECT_THAT(random::key(42).read<std::uint32_t>(), ElementsAre(42, 0));
  EXPECT_THAT(random::key(0xfedcba9876543210u).read<std::uint32_t>(), ElementsAre(0x76543210u, 0xfedcba98u));
  const Tensor key = random::key(42);
  EXPECT_EQ(random::normal({5}, 0, 1, DType::f32, key).read<float>(),
            random::normal({5}, 0, 1, DType::f32, key).read<float>());
  EXPECT_NE(random::normal({5}, 0, 1, DType::f32, key).read<float>(),
            random::normal({5}, 0, 1, DType::f32, random::key(43)).read<float>());
  // A longer tensor begins as a shorter one of the key does.
  auto longer = random::uniform({100}, 0, 1, DType::f32, key).read<float>();
  longer.resize(10);
  EXPECT_EQ(random::uniform({2, 5}, 0, 1, DType::f32, key).read<float>(), longer);

  std::set<std::vector<std::uint32_t>> distinct;
  const Tensor keys = random::split(key, 100);
  EXPECT_EQ(keys.type(), (TensorType{DType::u32, {100, 2}}));
  for (int i = 0; i < 100; ++i) distinct.insert(random::key_at(keys, i).read<std::uint32_t>());
  distinct.insert(key.read<std::uint32_t>());
  EXPECT_EQ(distinct.size(), 101u);
  EXPECT_EQ(keys.read<std::uint32_t>(), random_bits(key, DType::u32, {100, 2}).read<std::uint32_t>());
  const auto [a, b, c] = random::split<3>(key);
  EXPECT_EQ(c.read<std::uint32_t>(), random::key_at(keys, 2).read<std::uint32_t>());
  EXPECT_NE(a.read<std::uint32_t>(), b.read<std::uint32_t>());
}

// Keys of neighbouring seeds, and those that the generator gives one after the other, are not related.
TEST(RandomKeys, AreDistinctAndUncorrelated) {
  const Device before = default_device();
  set_default_device(Device::cpu());
  std::set<std::vector<std::uint32_t>> keys;
  for (const std::uint64_t seed : {0, 1, 2}) {
    random::seed(seed);
    for (int i = 0; i < 500; ++i) keys.insert(random::next_key().read<std::uint32_t>());
  }
  EXPECT_EQ(keys.size(), 1500u);
  const std::int64_t n = 20000;
  const Tensor a = random::normal({n}, 0, 1, DType::f32, random::key(1)),
               b = random::normal({n}, 0, 1, DType::f32, random::key(2));
  const auto both = random::split<2>(random::key(1));
  const Tensor c = random::normal({n}, 0, 1, DType::f32, both[0]), d = random::normal({n}, 0, 1, DType::f32, both[1]);
  // The mean of n products of independent normal numbers has the deviation 1 / sqrt(n).
  const double bound = 5 / std::sqrt(static_cast<double>(n));
  for (const auto& [x, y] : {std::pair(a, b), std::pair(c, d), std::pair(a, c), std::pair(a, d)}) {
    EXPECT_NEAR(mean(x * y).item<double>(), 0, bound);
  }
  EXPECT_NEAR((mean(a[slice(1, none)] * a[slice(none, -1)]).item<double>()), 0, bound) << "neighbours";
  set_default_device(before);
}

// Bounds are five deviations of what is measured.
TEST_P(RandomTensors, Moments) {
  const std::int64_t n = 40000;
  const double root = std::sqrt(static_cast<double>(n));
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    // The rounding of a narrow type moves means by less than this.
    const double rounding = type == DType::f32 ? 0 : type == DType::f16 ? 2e-3 : 1e-2;
    const test::Moments u = moments(random::uniform({n}, -1, 3, type, random::key(3)));
    EXPECT_NEAR(u.mean, 1, 5 * (4 / std::sqrt(12.0)) / root + rounding) << name(type);
    EXPECT_NEAR(u.variance, 16.0 / 12, 5 * 16 * std::sqrt(1.0 / 180) / root + rounding);
    EXPECT_GE(u.least, -1);
    EXPECT_LT(u.most, 3);
    EXPECT_LT(u.least, -0.98);
    EXPECT_GT(u.most, 2.96);
    const test::Moments g = moments(random::normal({n}, 2, 0.5, type, random::key(4)));
    EXPECT_NEAR(g.mean, 2, 5 * 0.5 / root + rounding);
    EXPECT_NEAR(g.variance, 0.25, 5 * 0.25 * std::sqrt(2.0) / root + rounding);
    EXPECT_GT(g.most, 2 + 0.5 * 3) << "0.1 % of normal numbers are past three deviations";
    EXPECT_LT(g.most, 2 + 0.5 * 6.8);
  }
  const Tensor z = random::normal({n}, 0, 1, DType::f32, random::key(5));
  EXPECT_NEAR(mean(z * z * z).item<double>(), 0, 5 * std::sqrt(15.0) / root) << "skewness";
  EXPECT_NEAR(mean(square(square(z))).item<double>(), 3, 5 * std::sqrt(96.0) / root) << "kurtosis";
}

TEST_P(RandomTensors, Integers) {
  // Chi-square of ten kinds has the mean 9 and the deviation sqrt(18).
  const std::int64_t n = 20000;
  std::map<int, int> times;
  for (const int i : random::integers({n}, -4, 6, DType::i32, random::key(6)).read<std::int32_t>()) ++times[i];
  ASSERT_EQ(times.size(), 10u);
  EXPECT_EQ(times.begin()->first, -4);
  EXPECT_EQ(times.rbegin()->first, 5);
  double chi = 0;
  for (const auto& [i, k] : times) chi += (k - n / 10.0) * (k - n / 10.0) / (n / 10.0);
  EXPECT_LT(chi, 9 + 5 * std::sqrt(18.0));
  EXPECT_THAT(random::integers({50}, 7, 8).read<std::int32_t>(), Each(7));
  const test::Moments wide =
      moments(random::integers({n}, INT32_MIN, std::int64_t{1} << 31, DType::i32, random::key(7)));
  EXPECT_LT(wide.least, -2.1e9);
  EXPECT_GT(wide.most, 2.1e9);
  // Of 64 bits in all ranges: each bit as often as not, and no number outside.
  for (const DType type : {DType::i64, DType::u64}) {
    const bool is_signed = type == DType::i64;
    const auto all =
        random::integers({n}, is_signed ? Number(INT64_MIN) : Number(0),
                         is_signed ? Number(std::uint64_t{1} << 63) : Number(0x1p64), type, random::key(7));
    for (int bit = 0; bit < 64; ++bit) {
      const double share = mean(cast((all >> bit) % 2 != 0, DType::f32)).item<double>();
      EXPECT_NEAR(share, 0.5, 5 * 0.5 / std::sqrt(static_cast<double>(n))) << name(type) << " " << bit;
    }
  }
  // Of a range that is no power of two each third has as many.
  const std::int64_t third = std::int64_t{1} << 61;
  const Tensor part = random::integers({n}, -2 * third, third, DType::i64, random::key(9));
  EXPECT_NEAR(mean(cast(part < -third, DType::f32)).item<double>(), 1.0 / 3, 5 * std::sqrt(2.0 / 9 / n));
  EXPECT_NEAR(mean(cast(part >= 0, DType::f32)).item<double>(), 1.0 / 3, 5 * std::sqrt(2.0 / 9 / n));
  const test::Moments byte = moments(random::integers({n}, 0, 256, DType::u8, random::key(8)));
  EXPECT_EQ(byte.least, 0);
  EXPECT_EQ(byte.most, 255);
}

TEST_P(RandomTensors, Bernoulli) {
  const std::int64_t n = 20000;
  EXPECT_THAT(random::bernoulli({100}, 0).to_vector<int>(), Each(0));
  EXPECT_THAT(random::bernoulli({100}, 1).to_vector<int>(), Each(1));
  const Tensor few = random::bernoulli({n}, 0.3, random::key(9));
  EXPECT_EQ(few.type(), (TensorType{DType::boolean, {n}}));
  EXPECT_NEAR(count_nonzero(few).item<double>() / n, 0.3, 5 * std::sqrt(0.21 / n));
  // A probability for each row.
  const Tensor rows = random::bernoulli({3, n}, tensor({3, 1}, {0, 0.5, 1}), random::key(10));
  const auto times = count_nonzero(rows, 1).to_vector<double>();
  EXPECT_EQ(times[0], 0);
  EXPECT_NEAR(times[1] / n, 0.5, 5 * std::sqrt(0.25 / n));
  EXPECT_EQ(times[2], n);
  EXPECT_THROW(random::bernoulli({3}, zeros({4})), ShapeError);
  for (const double none : {7.0, 1.0000001, -1e-9, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(random::bernoulli({3}, none), InvalidArgument) << none;
  }
  EXPECT_THROW(random::bernoulli({1}, zeros({4})), ShapeError) << "the shape is the caller's";
}

TEST_P(RandomTensors, Permutations) {
  const std::int64_t n = 5000;
  const Tensor p = random::permutation(n, random::key(11));
  EXPECT_EQ(p.type(), (TensorType{DType::i32, {n}}));
  EXPECT_EQ(weft::sort(p).read<std::int32_t>(), arange(n).read<std::int32_t>());
  // One place of a random permutation keeps its number, on average.
  EXPECT_LT(count_nonzero(p == arange(n)).item<int>(), 10);
  EXPECT_THAT(random::permutation(0).read<std::int32_t>(), IsEmpty());
  EXPECT_THAT(random::permutation(1).read<std::int32_t>(), ElementsAre(0));
  // Each order of three numbers as often as another.
  std::map<std::vector<std::int32_t>, int> orders;
  const Tensor keys = random::split(random::key(12), 600);
  std::vector<Tensor> all;
  for (int i = 0; i < 600; ++i) all.push_back(random::permutation(3, random::key_at(keys, i)));
  const auto numbers = stack(all).read<std::int32_t>();
  for (std::size_t i = 0; i < numbers.size(); i += 3) ++orders[{numbers[i], numbers[i + 1], numbers[i + 2]}];
  EXPECT_EQ(orders.size(), 6u);
  for (const auto& [order, times] : orders) EXPECT_NEAR(times, 100, 5 * std::sqrt(600 * (1.0 / 6) * (5.0 / 6)));
  // Entries stay whole.
  const Tensor x = arange(24).reshape({4, 6}), y = random::permutation(x, 1, random::key(13));
  EXPECT_EQ(weft::sort(y, 1).read<std::int32_t>(), x.read<std::int32_t>());
  const Tensor first = y[0];
  EXPECT_THAT((y - first).read<std::int32_t>(),
              testing::ElementsAreArray(broadcast_to(arange(0, 24, 6).reshape({4, 1}), {4, 6}).read<std::int32_t>()));
}

TEST_P(RandomTensors, ThreadsGetDifferentKeys) {
  random::seed(1);
  std::vector<std::vector<std::vector<std::uint32_t>>> keys(4);
  std::vector<std::thread> threads;
  for (auto& own : keys) {
    threads.emplace_back([&own] {
      for (int i = 0; i < 50; ++i) own.push_back(random::next_key().read<std::uint32_t>());
    });
  }
  for (std::thread& t : threads) t.join();
  std::set<std::vector<std::uint32_t>> distinct;
  for (const auto& own : keys) distinct.insert(own.begin(), own.end());
  EXPECT_EQ(distinct.size(), 200u);
}

TEST_P(RandomTensors, ShapesAndRefusals) {
  EXPECT_EQ(random::uniform({}).size(), 1);
  EXPECT_THAT(random::normal({0, 3}).read<float>(), IsEmpty());
  EXPECT_THROW(random::uniform({2}, 1, 1), InvalidArgument);
  EXPECT_THROW(random::uniform({2}, 0, 1, DType::i32), TypeError);
  EXPECT_THROW(random::normal({2}, 0, -1), InvalidArgument);
  EXPECT_THROW(random::integers({2}, 3, 3), InvalidArgument);
  EXPECT_THROW(random::integers({2}, 0, 257, DType::u8), InvalidArgument);
  EXPECT_THROW(random::integers({2}, -1, 5, DType::u64), InvalidArgument);
  EXPECT_THROW(random::integers({2}, 0, 0x1p64, DType::i64), InvalidArgument);
  EXPECT_THROW(random::integers({2}, 0, 2.5, DType::i64), InvalidArgument);
  EXPECT_THROW(random::integers({2}, 0, 3, DType::f32), TypeError);
  EXPECT_THROW(random::uniform({2}, 0, 1, DType::f32, zeros({3}, DType::u32)), ShapeError);
  EXPECT_THROW(random::uniform({2}, 0, 1, DType::f32, zeros({2})), TypeError);
  EXPECT_THROW(random::permutation(-1), InvalidArgument);
  EXPECT_THROW(random::permutation(zeros({})), ShapeError);
  EXPECT_THROW(random::permutation(Tensor()), InvalidArgument);
  EXPECT_THROW(random::split(random::key(1), -1), ShapeError);
}

}  // namespace
}  // namespace weft::test
