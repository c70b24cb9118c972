// The cpu's vector loops against their definitions, element by element: every length around a vector, NaN, infinities,
// zeros of both signs and denormals at every place in it, strides, and indices that count from the end or are outside.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "kernels/fft/fft_cpu.h"
#include "kernels/operands.h"
#include "support/differential.h"
#include "weft/cpu.h"
#include "weft/kernels.h"
#include "weft/kernels/fold.h"

namespace weft::test {
namespace {

using kernels::ReduceKind;
using Complex = std::complex<double>;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

class CpuLoops : public testing::TestWithParam<int> {
 protected:
  CpuExecutor executor{GetParam()};
  Rng rng{71};
};
INSTANTIATE_TEST_SUITE_P(Threads, CpuLoops, testing::Values(1, 3));

// ---- Functions of two numbers that choose one

double least(double a, double b) { return a != a ? a : b != b ? b : a < b || (a == b && std::signbit(a)) ? a : b; }
double greatest(double a, double b) { return a != a ? a : b != b ? b : a > b || (a == b && !std::signbit(a)) ? a : b; }

TEST_P(CpuLoops, ExtremesAndNeighboursOfSpecialNumbers) {
  const float denormal = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  const float normal = std::numeric_limits<float>::min();
  const std::vector<float> specials{0.0f,      -0.0f,  1.0f,    -1.0f, INFINITY, -INFINITY, NAN,  denormal,
                                    -denormal, normal, -normal, most,  -most,    0.1f,      3.0f, -2.5f};
  for (const DType type : {DType::f32, DType::f64}) {
    std::vector<double> a, b;
    for (const float x : specials) {
      for (const float y : specials) a.push_back(x), b.push_back(y);
    }
    const auto n = static_cast<std::int64_t>(a.size());
    for (const std::int64_t count : {n, n - 1, n - 7, std::int64_t{1}}) {  // with tails of vectors
      const View x = host_view(type, {count}, std::span(a).first(static_cast<std::size_t>(count)));
      const View y = host_view(type, {count}, std::span(b).first(static_cast<std::size_t>(count)));
      const auto expect = [&](ScalarOp op, const std::function<double(double, double)>& f) {
        const View z = output(type, {count});
        kernels::binary(executor, op, x, y, z);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto k = static_cast<std::size_t>(i);
          const double want = f(a[k], b[k]), got = value(z, i);
          ASSERT_TRUE(want != want ? got != got : want == got && std::signbit(want) == std::signbit(got))
              << name(op) << " of " << name(type) << " " << a[k] << ", " << b[k] << ": " << got << " for " << want;
        }
      };
      expect(ScalarOp::min, least);
      expect(ScalarOp::max, greatest);
      expect(ScalarOp::fmin, [](double p, double q) { return p != p ? q : q != q ? p : least(p, q); });
      expect(ScalarOp::fmax, [](double p, double q) { return p != p ? q : q != q ? p : greatest(p, q); });
      expect(ScalarOp::nextafter, [&](double p, double q) -> double {
        if (type == DType::f64) return std::nextafter(p, q);
        return std::nextafter(static_cast<float>(p), static_cast<float>(q));
      });
    }
  }
}

TEST_P(CpuLoops, MagnitudesAndAnglesOfComplexNumbers) {
  const std::vector<float> parts{0.0f,   -0.0f, 1.0f,   -3.0f,    4.0f,      1e-45f,
                                 1e-30f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN};
  const auto n = static_cast<std::int64_t>(parts.size() * parts.size());
  const View z = output(DType::c64, {n}), y = output(DType::f32, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    const float re = parts[static_cast<std::size_t>(i) / parts.size()],
                im = parts[static_cast<std::size_t>(i) % parts.size()];
    set_element_bits(z, i, std::bit_cast<std::uint32_t>(re) | std::uint64_t{std::bit_cast<std::uint32_t>(im)} << 32);
  }
  for (const ScalarOp op : {ScalarOp::abs, ScalarOp::angle}) {
    kernels::unary(executor, op, z, y);
    for (std::int64_t i = 0; i < n; ++i) {
      const double re = parts[static_cast<std::size_t>(i) / parts.size()],
                   im = parts[static_cast<std::size_t>(i) % parts.size()];
      const double exact = op == ScalarOp::abs ? std::hypot(re, im) : std::atan2(im, re);
      const auto want = static_cast<float>(exact);
      const auto got = static_cast<float>(value(y, i));
      ASSERT_TRUE(want != want ? got != got
                               : std::bit_cast<std::uint32_t>(want) == std::bit_cast<std::uint32_t>(got) ||
                                     std::abs(got - want) <= 2e-7f * std::abs(want))
          << name(op) << " of " << re << ", " << im << ": " << got << " for " << want;
    }
  }
}

// Any byte but 0 is true, in every layout and in blocks of short rows.
TEST_P(CpuLoops, BooleansOfAnyByte) {
  for (const Shape& shape : {Shape{1000}, {333, 3}, {7, 129}}) {
    for (const Kind kind : kOutputKinds) {
      const View a = random_view(rng, shape, DType::boolean, kind), b = random_view(rng, shape, DType::boolean, kind);
      const auto truth = [](std::int64_t i, int k) -> std::uint64_t {
        constexpr std::uint64_t kBytes[] = {0, 1, 2, 128, 255, 0, 17, 0};
        return kBytes[(i * (k ? 5 : 3) + i / 7) % 8];
      };
      for (std::int64_t i = 0; i < a.count(); ++i) {
        set_element_bits(a, i, truth(i, 0));
        set_element_bits(b, i, truth(i, 1));
      }
      const View floats =
          view_of(DType::f32, shape, kind, [](std::int64_t i) { return static_cast<double>(i % 11) - 5; });
      Expression e;
      const int x = e.input(DType::boolean), y = e.input(DType::boolean), v = e.input(DType::f32);
      const int both = e.apply(ScalarOp::logical_and, {x, e.apply(ScalarOp::logical_not, {y})});
      e.output(e.apply(ScalarOp::select, {both, v, e.apply(ScalarOp::neg, {v})}));
      e.output(e.apply(ScalarOp::logical_or, {both, e.apply(ScalarOp::less, {v, e.constant(0.0, DType::f32)})}));
      e.output(e.cast(both, DType::i32));
      e.output(e.apply(ScalarOp::equal, {x, y}));
      const std::array outputs{output(DType::f32, shape), output(DType::boolean, shape), output(DType::i32, shape),
                               output(DType::boolean, shape)};
      kernels::map(executor, e, std::array{a, b, floats}, outputs);
      for (std::int64_t i = 0; i < a.count(); ++i) {
        const bool p = truth(i, 0) != 0, q = truth(i, 1) != 0;
        const double f = static_cast<double>(i % 11) - 5;
        ASSERT_EQ(value(outputs[0], i), (p && !q) ? f : -f) << to_string(a) << " at " << i;
        ASSERT_EQ(element_bits(outputs[1], i), (p && !q) || f < 0 ? 1u : 0u) << to_string(a) << " at " << i;
        ASSERT_EQ(value(outputs[2], i), (p && !q) ? 1 : 0) << to_string(a) << " at " << i;
        ASSERT_EQ(element_bits(outputs[3], i), p == q ? 1u : 0u) << to_string(a) << " at " << i;
      }
    }
  }
}

// f32 to f16 as SmallFloat has it, around every number of f16 and its denormals.
TEST_P(CpuLoops, NarrowingTo16Bits) {
  std::vector<double> all;
  for (std::uint32_t h = 0; h < 0x10000; h += 7) {
    const float f = float16::from_bits(static_cast<std::uint16_t>(h));
    for (const float x :
         {f, std::nextafter(f, INFINITY), std::nextafter(f, -INFINITY), f * 1.00049f, f * 1.000488281f}) {
      if (x == x) all.push_back(x);
    }
  }
  for (const float x : {65519.996f, 65520.0f, 1e38f, 1e-45f, 2.98e-8f, 2.9802322e-8f, 2.9802326e-8f}) all.push_back(x);
  const auto n = static_cast<std::int64_t>(all.size());
  const View x = host_view(DType::f32, {n}, all), y = output(DType::f16, {n});
  Expression narrow;
  narrow.output(narrow.cast(narrow.input(DType::f32), DType::f16));
  kernels::map(executor, narrow, std::array{x}, std::array{y});
  for (std::int64_t i = 0; i < n; ++i) {
    ASSERT_EQ(element_bits(y, i), float16(static_cast<float>(all[static_cast<std::size_t>(i)])).bits)
        << all[static_cast<std::size_t>(i)];
  }
}

// ---- Reductions

TEST_P(CpuLoops, ReductionsOfEveryLength) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 80; ++n) lengths.push_back(n);
  for (const std::int64_t n : {127, 255, 256, 257, 512, 1023, 1025, 4099, 65536, 65570}) lengths.push_back(n);
  const std::array<int, 1> axis{1};
  for (const std::int64_t n : lengths) {
    const ValueOf some = [](std::int64_t i) { return static_cast<double>((i * 7919) % 1009 - 504) / 64; };
    const View x = view_of(DType::f32, {3, n}, n % 2 ? Kind::dense : Kind::transposed, some);
    const auto reduced = [&](ReduceKind op, double correction = 0) {
      const View y = output(DType::f32, {3});
      kernels::reduce(executor, op, x, y, axis, correction);
      return y;
    };
    const View sums = reduced(ReduceKind::sum), squares = reduced(ReduceKind::sum_squares),
               l1 = reduced(ReduceKind::l1), low = reduced(ReduceKind::min), high = reduced(ReduceKind::max),
               variance = reduced(ReduceKind::variance), logs = reduced(ReduceKind::log_sum_exp);
    for (std::int64_t r = 0; r < 3; ++r) {
      long double sum = 0, square = 0, size = 0, exps = 0, deviations = 0;
      double min = kInf, max = -kInf;
      for (std::int64_t j = 0; j < n; ++j) {
        const double v = value(x, r * n + j);
        sum += v, square += static_cast<long double>(v) * v, size += std::abs(v);
        min = std::min(min, v), max = std::max(max, v);
      }
      const long double mean = sum / static_cast<long double>(n);
      for (std::int64_t j = 0; j < n; ++j) {
        const long double v = value(x, r * n + j);
        exps += std::exp(v - static_cast<long double>(max)), deviations += (v - mean) * (v - mean);
      }
      const auto near = [&](const View& got, long double want, const char* what) {
        ASSERT_NEAR(value(got, r), static_cast<double>(want), 1.2e-7 * std::abs(static_cast<double>(want)) + 1e-30)
            << what << " of " << n;
      };
      near(sums, sum, "sum"), near(squares, square, "squares"), near(l1, size, "l1");
      near(variance, deviations / static_cast<long double>(n), "variance");
      near(logs, static_cast<long double>(max) + std::log(exps), "log_sum_exp");
      ASSERT_EQ(value(low, r), min) << n;
      ASSERT_EQ(value(high, r), max) << n;
    }
  }
}

TEST_P(CpuLoops, ReductionsFindOneSpecialNumberAnywhere) {
  const std::array<int, 1> axis{1};
  for (const std::int64_t n : {1, 7, 8, 9, 33, 64, 100, 257, 1024, 1100}) {
    for (std::int64_t at = 0; at < n; at += n < 100 ? 1 : 13) {
      for (const double special : {kNaN, kInf, -kInf}) {
        const View x = view_of(DType::f32, {2, n}, Kind::dense, [&](std::int64_t i) {
          return i % n == at && i >= n ? special : 1.0 + static_cast<double>(i % 3);
        });
        const auto reduced = [&](ReduceKind op) {
          const View y = output(DType::f32, {2});
          kernels::reduce(executor, op, x, y, axis);
          EXPECT_TRUE(std::isfinite(value(y, 0))) << static_cast<int>(op) << " of " << n;
          return value(y, 1);
        };
        const auto same = [&](double got, double want) { return want != want ? got != got : got == want; };
        const double least_other = n == 1 ? kInf : 1, greatest_other = n == 1 ? -kInf : 0;
        const double min = reduced(ReduceKind::min), max = reduced(ReduceKind::max);
        EXPECT_TRUE(special > 0 ? min <= 3 || n == 1 : same(min, special))
            << n << " at " << at << ": " << min << least_other;
        EXPECT_TRUE(special < 0 ? max >= 1 || n == 1 : same(max, special))
            << n << " at " << at << ": " << max << greatest_other;
        EXPECT_TRUE(same(reduced(ReduceKind::sum), special)) << n << " at " << at;
        EXPECT_TRUE(std::isnan(reduced(ReduceKind::variance))) << n << " at " << at;
      }
    }
  }
  // Of nothing.
  for (const auto& [op, want] :
       {std::pair(ReduceKind::sum, 0.0), std::pair(ReduceKind::max, -kInf), std::pair(ReduceKind::min, kInf)}) {
    const View y = output(DType::f32, {3});
    kernels::reduce(executor, op, output(DType::f32, {3, 0}), y, axis);
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(value(y, i), want);
  }
  // One true or false value among others, as any byte.
  for (const std::int64_t n : {1, 31, 32, 33, 100, 256, 1025}) {
    for (std::int64_t at = 0; at < n; at += n < 100 ? 1 : 17) {
      for (const bool odd : {false, true}) {
        const View x = output(DType::boolean, {1, n}), y = output(DType::boolean, {1});
        for (std::int64_t i = 0; i < n; ++i) set_element_bits(x, i, (i == at) == odd ? 255 : 0);
        kernels::reduce(executor, odd ? ReduceKind::any : ReduceKind::all, x, y, axis);
        EXPECT_EQ(element_bits(y, 0), odd ? 1u : 0u) << n << " at " << at;
      }
    }
  }
}

// ---- Indices of one axis

TEST_P(CpuLoops, LinesOfIndices) {
  for (const DType type : {DType::f32, DType::i8, DType::i16, DType::f64, DType::c64, DType::boolean}) {
    for (const DType index : {DType::i32, DType::i64, DType::u32, DType::i16}) {
      for (const auto& [n, size] :
           {std::pair(std::int64_t{1}, std::int64_t{1}), std::pair(std::int64_t{9}, std::int64_t{5}),
            std::pair(std::int64_t{1000}, std::int64_t{37}), std::pair(std::int64_t{40000}, std::int64_t{3000})}) {
        for (const Kind kind : {Kind::dense, Kind::sliced, Kind::reversed}) {
          std::vector<double> at;
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t low = is_signed(index) ? -size - 2 : 0;
            at.push_back(static_cast<double>(low + random_int(rng, 0, static_cast<int>(size + 2 - low))));
          }
          const View indices = host_view(index, {n}, at);
          const View x = random_view(rng, {size}, type, kind), y = output(type, {n}, kind);
          kernels::gather(executor, x, indices, y, 0);
          for (std::int64_t i = 0; i < n; ++i) {
            auto k = static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]);
            k = std::clamp<std::int64_t>(k < 0 ? k + size : k, 0, size - 1);
            ASSERT_EQ(element_bits(y, i), element_bits(x, k)) << to_string(x) << " " << name(index) << " at " << i;
          }
          if (type != DType::f32 && type != DType::i16) continue;
          for (const bool repeated : {false, true}) {
            View z = view_of(type, {size}, kind, [](std::int64_t i) { return static_cast<double>(i % 5); });
            View updates = view_of(type, {n}, kind, [](std::int64_t i) { return static_cast<double>(i % 7 - 3); });
            if (repeated) updates.layout.strides[0] = 0;
            std::vector<double> expected;
            for (std::int64_t i = 0; i < size; ++i) expected.push_back(value(z, i));
            for (std::int64_t i = 0; i < n; ++i) {
              auto k = static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]);
              k = k < 0 ? k + size : k;
              if (k >= 0 && k < size) expected[static_cast<std::size_t>(k)] += value(updates, i);
            }
            kernels::scatter(executor, kernels::ScatterKind::add, indices, updates, z, 0);
            for (std::int64_t i = 0; i < size; ++i) {
              const double want = expected[static_cast<std::size_t>(i)];
              ASSERT_EQ(value(z, i),
                        type == DType::i16 ? static_cast<std::int16_t>(static_cast<std::int64_t>(want)) : want)
                  << to_string(z) << " " << name(index) << " at " << i;
            }
          }
        }
      }
    }
  }
}

// Sums of f32 are made in the order of the updates, also where several of one element follow each other.
TEST_P(CpuLoops, ScattersAddInOrder) {
  const std::int64_t n = 30000, size = 40;
  std::vector<double> at, updates;
  for (std::int64_t i = 0; i < n; ++i) {
    at.push_back(static_cast<double>(rng() % 3 ? i * size / n : static_cast<std::int64_t>(rng() % size)));
    updates.push_back(static_cast<float>(random_int(rng, -1000000, 1000000)) * 1e-3f);
  }
  std::vector<float> expected(static_cast<std::size_t>(size), 0.0f);
  for (std::size_t i = 0; i < at.size(); ++i)
    expected[static_cast<std::size_t>(at[i])] += static_cast<float>(updates[i]);
  const View y = view_of(DType::f32, {size}, Kind::dense, [](std::int64_t) { return 0.0; });
  kernels::scatter(executor, kernels::ScatterKind::add, host_view(DType::i32, {n}, at),
                   host_view(DType::f32, {n}, updates), y, 0);
  for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(value(y, i), expected[static_cast<std::size_t>(i)]) << i;
}

// ---- Folds

TEST_P(CpuLoops, FoldsByDefinition) {
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t window = random_int(rng, 1, 9), places = random_int(rng, 0, 12), n = random_int(rng, 1, 40);
    const std::int64_t stride = random_int(rng, 1, 6), dilation = random_int(rng, 1, 5), before = random_int(rng, 0, 5);
    const View x = view_of(DType::f32, {2, 1, window, places}, Kind::dense,
                           [](std::int64_t i) { return static_cast<double>(i % 17 - 8); });
    const View y = output(DType::f32, {2, 1, n});
    std::vector<double> expected(static_cast<std::size_t>(2 * n), 0);
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t k = 0; k < window; ++k) {
        for (std::int64_t p = 0; p < places; ++p) {
          const std::int64_t at = p * stride + k * dilation - before;
          if (at >= 0 && at < n)
            expected[static_cast<std::size_t>(b * n + at)] += value(x, (b * window + k) * places + p);
        }
      }
    }
    kernels::fold(executor, x, y, {.strides = {stride}, .dilations = {dilation}, .before = {before}});
    for (std::int64_t i = 0; i < 2 * n; ++i) {
      ASSERT_EQ(value(y, i), expected[static_cast<std::size_t>(i)])
          << "window " << window << ", " << places << " places, stride " << stride << ", dilation " << dilation
          << ", before " << before << " of " << n << " at " << i;
    }
  }
}

// ---- Compaction

TEST_P(CpuLoops, PositionsOfWhatIsTrue) {
  for (const std::int64_t n : {1, 63, 512, 513, 5000, 40000}) {
    for (const DType type : {DType::boolean, DType::f32, DType::i8}) {
      const View mask = view_of(type, {n}, n % 2 ? Kind::sliced : Kind::dense,
                                [&](std::int64_t) { return static_cast<double>(rng() % 3 == 0); });
      const View list = output(DType::i32, {n, 1}), count = output(DType::u32, {1});
      kernels::nonzero(executor, mask, list, count);
      std::int64_t found = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        if (value(mask, i) == 0) continue;
        ASSERT_EQ(value(list, found), static_cast<double>(i)) << n;
        ++found;
      }
      ASSERT_EQ(element_bits(count, 0), static_cast<std::uint64_t>(found)) << n;
    }
  }
}

// ---- Fourier transforms: single rows, and eight at a time, of rows and of columns

struct FftForm {
  kernels::FftKind kind;
  bool inverse;
  int given;  // elements more than the transform takes, or less
};

TEST_P(CpuLoops, FourierTransformsOfEveryForm) {
  using kernels::FftKind;
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 1; n <= 40; ++n) lengths.push_back(n);
  for (const std::int64_t n : {62, 63, 64, 65, 97, 100, 127, 128, 130, 194, 240, 256, 343, 500, 1009, 1024})
    lengths.push_back(n);
  for (const std::int64_t n : lengths) {
    std::vector<Complex> roots;
    for (std::int64_t k = 0; k < n; ++k) {
      const long double angle =
          2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
      roots.emplace_back(static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle)));
    }
    for (const FftKind kind : {FftKind::complex, FftKind::real_to_complex, FftKind::complex_to_real}) {
      const std::int64_t takes = kind == FftKind::complex_to_real ? n / 2 + 1 : n;
      const std::int64_t gives = kind == FftKind::real_to_complex ? n / 2 + 1 : n;
      const DType from = kind == FftKind::real_to_complex ? DType::f32 : DType::c64;
      const DType to = kind == FftKind::complex_to_real ? DType::f32 : DType::c64;
      for (const std::int64_t rows : {1, 3, 8, 13}) {
        for (const int axis : {0, 1}) {
          const bool inverse = (n + rows + axis) % 2;
          const std::int64_t has = std::max<std::int64_t>(0, takes + (n + rows) % 3 - 1);
          const Shape x_shape = axis ? Shape{rows, has} : Shape{has, rows},
                      y_shape = axis ? Shape{rows, gives} : Shape{gives, rows};
          const View x = random_view(rng, x_shape, from), y = output(to, y_shape);
          const auto element = [&](const View& v, std::int64_t row, std::int64_t i) {
            const std::int64_t at = axis ? row * v.shape()[1] + i : i * rows + row;
            const std::uint64_t b = element_bits(v, at);
            const auto part = [](std::uint64_t p) {
              return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(p)));
            };
            return v.dtype == DType::c64 ? Complex(part(b), part(b >> 32)) : Complex(part(b), 0);
          };
          for (std::int64_t i = 0; i < x.count(); ++i) {
            const auto some = [&] {
              return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(random_int(rng, -999, 999)) / 512)};
            };
            set_element_bits(x, i, from == DType::c64 ? some() | some() << 32 : some());
          }
          kernels::fft(executor, kind, x, y, axis, {.length = n, .inverse = inverse, .scale = 0.5});
          for (std::int64_t r = 0; r < rows; ++r) {
            std::vector<Complex> in(static_cast<std::size_t>(n), 0);
            for (std::int64_t i = 0; i < std::min(has, takes); ++i) in[static_cast<std::size_t>(i)] = element(x, r, i);
            if (kind == FftKind::complex_to_real) {
              for (std::int64_t i = n / 2 + 1; i < n; ++i)
                in[static_cast<std::size_t>(i)] = std::conj(in[static_cast<std::size_t>(n - i)]);
            }
            double size = 0;
            for (const Complex& v : in) size += std::norm(v);
            for (std::int64_t k = 0; k < gives; k += n > 200 ? 7 : 1) {
              Complex sum = 0;
              for (std::int64_t j = 0; j < n; ++j) {
                const Complex root = roots[static_cast<std::size_t>(j * k % n)];
                sum += in[static_cast<std::size_t>(j)] * (inverse ? root : std::conj(root));
              }
              sum *= 0.5;
              if (kind == FftKind::complex_to_real) sum = sum.real();
              // f64 rounded once.
              ASSERT_LE(std::abs(element(y, r, k) - sum),
                        0x1p-24 * 1.5 * std::abs(sum) + 1e-14 * std::sqrt(size * static_cast<double>(n)))
                  << static_cast<int>(kind) << " of " << n << (inverse ? " inverse" : "") << ", " << rows
                  << " rows, axis " << axis << ", given " << has << ", element " << k;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
