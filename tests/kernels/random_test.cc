#include "kernels/random/random.h"

#include <numeric>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/random.h"

namespace weft::test {
namespace {

View key_of(std::uint32_t a, std::uint32_t b) {
  const double words[] = {static_cast<double>(a), static_cast<double>(b)};
  return host_view(DType::u32, {2}, words);
}

// Random123's known answers (kat_vectors, threefry2x32 with 20 rounds).
TEST(Threefry, KnownAnswers) {
  using kernels::Words2;
  constexpr std::uint32_t kOnes = 0xffffffffu;
  EXPECT_EQ(kernels::threefry({0, 0}, {0, 0}), (Words2{0x6b200159u, 0x99ba4efeu}));
  EXPECT_EQ(kernels::threefry({kOnes, kOnes}, {kOnes, kOnes}), (Words2{0x1cb996fcu, 0xbb002be7u}));
  EXPECT_EQ(kernels::threefry({0x13198a2eu, 0x03707344u}, {0x243f6a88u, 0x85a308d3u}),
            (Words2{0xc4923a9cu, 0x483df7a0u}));
}

TEST(Random, TheStreamIsTheBlocksInOrder) {
  cpu::Executor executor;
  const View key = key_of(7, 11), words = output(DType::u32, {1000}),
             bytes = output(DType::u8, {3, 1001}, Kind::transposed);
  kernels::random_bits(executor, key, words);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(element_bits(words, i), kernels::threefry({7, 11}, {i / 2, 0})[i % 2]) << i;
  }
  kernels::random_bits(executor, key, bytes);
  for (std::int64_t i = 0; i < 3003; ++i) {
    ASSERT_EQ(element_bits(bytes, i), element_bits(words, i / 4) >> i % 4 * 8 & 0xff) << i;
  }
}

struct Draw {
  std::string name;
  std::function<void(Stream&, const View& key, const View& y)> call;
};
Draw bits() {
  return {"bits", [](Stream& s, const View& key, const View& y) { kernels::random_bits(s, key, y); }};
}
Draw uniform(float low = 0, float high = 1) {
  return {std::format("uniform {} to {}", low, high),
          [=](Stream& s, const View& key, const View& y) { kernels::random_uniform(s, key, low, high, y); }};
}
Draw normal_draw(float mean = 0, float deviation = 1) {
  return {std::format("normal {}, {}", mean, deviation),
          [=](Stream& s, const View& key, const View& y) { kernels::random_normal(s, key, mean, deviation, y); }};
}
Draw integers(const Number& low, const Number& high) {
  return {std::format("integers {} to {}", to_string(low), to_string(high)),
          [=](Stream& s, const View& key, const View& y) { kernels::random_integers(s, key, low, high, y); }};
}

// Normal numbers are computed from each device's own logarithms and sines; narrow ones are rounded once more.
Tolerance tolerance_of(const Draw& d, float deviation = 1) {
  if (!d.name.starts_with("normal")) return kSameBits;
  return {.ulp = 1, .absolute = 2e-7 * deviation, .relative = 2e-6};
}

class RandomTest : public testing::TestWithParam<std::string> {
 protected:
  void check(const Draw& d, DType type, const Shape& shape, Kind kind = Kind::dense) {
    run_both(
        device, std::array{key_of(123, 456)}, std::array{output(type, shape, kind)},
        [&](Stream& s, auto in, auto out) { d.call(s, in[0], out[0]); }, tolerance_of(d),
        std::format("{} in {} {}", d.name, name(type), to_string(shape)));
  }
  gpu::Device& device = test::device(GetParam());
};

TEST_P(RandomTest, Types) {
  for (DType type : {DType::u8, DType::i16, DType::u32, DType::i64, DType::u64}) {
    for (const Shape& shape : {Shape{64}, {13}, {3, 7}}) {
      check(bits(), type, shape);
      check(integers(3, 100), type, shape);
    }
  }
  for (DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const Shape& shape : {Shape{4096}, {13}}) {
      check(uniform(), type, shape);
      check(uniform(-3, 0.7f), type, shape);
      check(normal_draw(), type, shape);
    }
  }
}

TEST_P(RandomTest, LayoutsAndSizes) {
  for (Kind kind : kOutputKinds) {
    check(bits(), DType::u8, {3, 5, 8}, kind);
    check(bits(), DType::u64, {3, 5, 8}, kind);
    check(uniform(), DType::f32, {3, 5, 8}, kind);
    check(normal_draw(2, 3), DType::f16, {3, 5, 8}, kind);
    check(integers(-5, 5), DType::i32, {3, 5, 8}, kind);
  }
  check(uniform(), DType::f32, {100003});
  check(uniform(-1e30f, 1e30f), DType::f32, {1000});
  check(bits(), DType::u32, {0});
}

TEST_P(RandomTest, IntegerRanges) {
  check(integers(0, 1), DType::i32, {100});
  check(integers(-128, 128), DType::i8, {1000});
  check(integers(0, 65536), DType::u16, {1000});
  check(integers(INT32_MIN, std::int64_t{INT32_MAX} + 1), DType::i32, {1000});
  check(integers(-(std::int64_t{1} << 40), -(std::int64_t{1} << 40) + 3000000001), DType::i64, {1000});
  check(integers(INT64_MAX - 10, INT64_MAX), DType::u64, {1000});
  // Of more than 2^32 numbers, up to all.
  for (const Kind kind : kOutputKinds) {
    check(integers(INT64_MIN, std::uint64_t{1} << 63), DType::i64, {3, 5, 8}, kind);
    check(integers(-5, std::int64_t{1} << 62), DType::i64, {1000}, kind);
    check(integers(0, 0x1p64), DType::u64, {1000}, kind);
    check(integers(7, (std::uint64_t{1} << 63) + 11), DType::u64, {1000}, kind);
    check(integers(-1, std::int64_t{1} << 32), DType::i64, {1000}, kind);
  }
}

const bool registered = differential("random", [](Rng& rng) {
  constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};
  constexpr DType kIntegers[] = {DType::i8,  DType::u8,  DType::i16, DType::u16,
                                 DType::i32, DType::u32, DType::i64, DType::u64};
  Rng& numbers = rng.details();
  const float low = static_cast<float>(random_int(numbers, -20, 20)) / 8,
              size = static_cast<float>(random_int(numbers, 1, 100)) / 8;
  const Draw draws[] = {bits(), integers(random_int(numbers, 0, 50), random_int(numbers, 51, 127)),
                        uniform(low, low + size), normal_draw(low, size)};
  const std::size_t form = rng() % 4;
  Problem p;
  p.inputs = {random_view(rng, {2}, DType::u32, Kind::dense, Values::special)};
  p.outputs = {random_view(rng, random_shape(rng), form < 2 ? pick(rng, kIntegers) : pick(rng, kFloats),
                           random_output_kind(rng))};
  p.tolerance = tolerance_of(draws[form], size);
  if (form == 3) p.tolerance.absolute += 1e-6 * std::abs(low);
  p.what = std::format("{} in {}", draws[form].name, weft::to_string(p.outputs[0]));
  p.call = [d = draws[form]](Stream& s, auto in, auto out) { d.call(s, in[0], out[0]); };
  return p;
});

INSTANTIATE_TEST_SUITE_P(Devices, RandomTest, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// ---- Statistical properties; the keys are fixed, so that the results are reproducible.

std::vector<double> draw(const Draw& d, DType type, std::int64_t count, std::uint32_t key) {
  cpu::Executor executor;
  const View y = output(type, {count});
  d.call(executor, key_of(key, 0), y);
  return values(y);
}

// The largest difference between the empirical and the expected distribution, times √n: above 1.95 once in 1,000.
double kolmogorov(std::vector<double> v, const std::function<double(double)>& below) {
  std::ranges::sort(v);
  double worst = 0;
  const auto n = static_cast<double>(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double f = below(v[i]);
    worst = std::max({worst, std::abs(f - static_cast<double>(i) / n), std::abs(f - static_cast<double>(i + 1) / n)});
  }
  return worst * std::sqrt(n);
}

TEST(RandomStatistics, Uniform) {
  const std::vector<double> v = draw(uniform(-2, 3), DType::f32, 1 << 18, 1);
  EXPECT_LT(kolmogorov(v, [](double x) { return (x + 2) / 5; }), 1.95);
  EXPECT_GE(std::ranges::min(v), -2);
  EXPECT_LT(std::ranges::max(v), 3);
  // Adjacent numbers, and the halves of a block, are uncorrelated: within 4 deviations of 1/√n.
  for (std::size_t lag : {1, 2, 3}) {
    double sum = 0;
    for (std::size_t i = 0; i + lag < v.size(); ++i) sum += (v[i] - 0.5) * (v[i + lag] - 0.5);
    EXPECT_LT(std::abs(sum / (25.0 / 12) / std::sqrt(static_cast<double>(v.size()))), 4) << lag;
  }
  // `high` is never reached, however coarse the type.
  for (DType type : {DType::f16, DType::bf16}) {
    const std::vector<double> narrow = draw(uniform(0, 1), type, 1 << 16, 2);
    EXPECT_LT(std::ranges::max(narrow), 1);
    EXPECT_GE(std::ranges::min(narrow), 0);
    EXPECT_NEAR(std::accumulate(narrow.begin(), narrow.end(), 0.0) / (1 << 16), 0.5, 0.005);
  }
}

TEST(RandomStatistics, Normal) {
  std::vector<double> v = draw(normal_draw(), DType::f32, 1 << 20, 3);
  EXPECT_LT(kolmogorov(v, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }), 1.95);
  // Moments within 4 standard deviations of the expected ones.
  const auto n = static_cast<double>(v.size());
  double moments[5] = {};
  for (double x : v) {
    for (int k = 1; k < 5; ++k) moments[k] += std::pow(x, k) / n;
  }
  EXPECT_NEAR(moments[1], 0, 4 * std::sqrt(1 / n));
  EXPECT_NEAR(moments[2], 1, 4 * std::sqrt(2 / n));
  EXPECT_NEAR(moments[3], 0, 4 * std::sqrt(15 / n));
  EXPECT_NEAR(moments[4], 3, 4 * std::sqrt(96 / n));
  for (double x : v) ASSERT_LT(std::abs(x), 6.7);
}

// Chi-squared of the counts of `buckets` equally likely values, minus its mean, in units of its deviation.
double chi_squared(const std::vector<double>& v, std::int64_t low, std::size_t buckets) {
  std::vector<double> counts(buckets);
  for (double x : v) counts[static_cast<std::size_t>(x - static_cast<double>(low))] += 1;
  const double expected = static_cast<double>(v.size()) / static_cast<double>(buckets);
  double sum = 0;
  for (double c : counts) sum += (c - expected) * (c - expected) / expected;
  const double freedom = static_cast<double>(buckets) - 1;
  return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(RandomStatistics, IntegersAndBits) {
  EXPECT_LT(std::abs(chi_squared(draw(integers(-5, 95), DType::i32, 1 << 18, 4), -5, 100)), 4);
  EXPECT_LT(std::abs(chi_squared(draw(integers(0, 3), DType::u8, 1 << 18, 5), 0, 3)), 4);
  EXPECT_LT(std::abs(chi_squared(draw(bits(), DType::u8, 1 << 18, 6), 0, 256)), 4);
  EXPECT_LT(std::abs(chi_squared(draw(bits(), DType::u16, 1 << 20, 7), 0, 65536)), 4);
}

TEST(RandomArguments, AreChecked) {
  cpu::Executor executor;
  const View key = key_of(1, 2), f = output(DType::f32, {4}), i = output(DType::i8, {4});
  EXPECT_THROW(kernels::random_bits(executor, output(DType::u32, {3}), i), InvalidArgument);
  EXPECT_THROW(kernels::random_bits(executor, output(DType::i32, {2}), i), InvalidArgument);
  EXPECT_THROW(kernels::random_bits(executor, key, f), InvalidArgument);
  EXPECT_THROW(kernels::random_uniform(executor, key, 1, 1, f), InvalidArgument);
  EXPECT_THROW(kernels::random_uniform(executor, key, -3e38f, 3e38f, f), InvalidArgument);
  EXPECT_THROW(kernels::random_uniform(executor, key, 0, 1, i), InvalidArgument);
  EXPECT_THROW(kernels::random_normal(executor, key, 0, -1, f), InvalidArgument);
  EXPECT_THROW(kernels::random_integers(executor, key, 0, 129, i), InvalidArgument);
  EXPECT_THROW(kernels::random_integers(executor, key, 5, 5, i), InvalidArgument);
  EXPECT_THROW(kernels::random_integers(executor, key, 0, 0x1p64, output(DType::i64, {4})), InvalidArgument);
  EXPECT_THROW(kernels::random_integers(executor, key, 1, 0, output(DType::i64, {4})), InvalidArgument);
  EXPECT_THROW(kernels::random_integers(executor, key, 0x1p64, 0x1p64, output(DType::u64, {4})), InvalidArgument);
  EXPECT_THROW(kernels::random_integers(executor, key, -1, 5, output(DType::u64, {4})), InvalidArgument);
}

// Tensors that exceed a binding.
using RandomChunks = ChunksTest;

// The elements of a chunk are the same as without chunks.
TEST_F(RandomChunks, SameNumbers) {
  const View key = host_view(DType::u32, {2}, std::vector<double>{17, 4});
  for (const Kind kind : {Kind::dense, Kind::offset, Kind::transposed, Kind::sliced}) {
    both(
        {key}, {random_view(rng, {3, 101, 301}, DType::u8, kind)},
        [](Stream& s, auto in, auto out) { kernels::random_bits(s, in[0], out[0]); }, kSameBits);
    both(
        {key}, {random_view(rng, {70, 501}, DType::f32, kind)},
        [](Stream& s, auto in, auto out) { kernels::random_uniform(s, in[0], -1, 3, out[0]); }, kSameBits);
    both({key}, {random_view(rng, {40001}, DType::f16, kind)},
         [](Stream& s, auto in, auto out) { kernels::random_normal(s, in[0], 0, 1, out[0]); },
         {.ulp = 2, .absolute = 1e-3});
    both(
        {key}, {random_view(rng, {90, 200}, DType::i64, kind)},
        [](Stream& s, auto in, auto out) { kernels::random_integers(s, in[0], -7, 1000, out[0]); }, kSameBits);
  }
}

}  // namespace
}  // namespace weft::test
