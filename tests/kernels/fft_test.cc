// Fourier transforms: every length against the definition in f64, GPU results against the CPU's.
#include "weft/kernels/fft.h"

#include <complex>
#include <cstdlib>
#include <numbers>

#include "cpu/executor.h"
#include "kernels/fft/fft_cpu.h"
#include "kernels/fft/plan.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/quick.h"
#include "support/unfilled.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using kernels::FftKind;
using kernels::FftOptions;
using Complex = std::complex<double>;

constexpr FftKind kKinds[] = {FftKind::complex, FftKind::real_to_complex, FftKind::complex_to_real};
constexpr const char* kNames[] = {"complex", "real to complex", "complex to real"};

struct Case {
  FftKind kind;
  DType from, to;
  int axis;
  FftOptions options;
};

std::int64_t given(const Case& c) {
  return c.kind == FftKind::complex_to_real ? c.options.length / 2 + 1 : c.options.length;
}
std::int64_t results(const Case& c) {
  return c.kind == FftKind::real_to_complex ? c.options.length / 2 + 1 : c.options.length;
}
Case random_case(Rng& rng) {
  constexpr DType kReal[] = {DType::f32, DType::f16, DType::bf16};
  Case c{pick(rng, kKinds), DType::c64, DType::c64, 0, {}};
  if (c.kind == FftKind::real_to_complex) c.from = pick(rng, kReal);
  if (c.kind == FftKind::complex_to_real) c.to = pick(rng, kReal);
  c.options.inverse = rng() % 2;
  return c;
}

// Numbers in [-1, 1], of which no sum leaves f16's range.
View values(Rng& rng, const View& x) {
  if (UnfilledViews::live()) return x;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const auto some = [&] { return random_int(rng, -1000, 1000) / 1000.0; };
    const bool complex = x.dtype == DType::c64;
    const View one = host_view(complex ? DType::f32 : x.dtype, {2}, std::vector<double>{some(), some()});
    std::uint64_t bits = element_bits(one, 0);
    if (complex) bits |= element_bits(one, 1) << 32;
    set_element_bits(x, i, bits);
  }
  return x;
}

Tolerance tolerance_of(const Case& c) {
  const double step = c.to == DType::f16 ? 0x1p-11 : c.to == DType::bf16 ? 0x1p-8 : 0;
  const auto n = static_cast<double>(c.options.length);
  // The largest result is below 2 sqrt(n log(n)); each stage rounds a few times.
  const double largest = 2 * std::sqrt(n * std::log(n + 2)) * c.options.scale;
  return {.absolute = largest * (step + 4 * 1.2e-7 * std::log2(n + 2))};
}

Problem make_problem(const Case& c, const View& x, const View& y) {
  return {std::format("{} {} to {} axis {} length {}{} scale {}", kNames[static_cast<int>(c.kind)], to_string(x),
                      to_string(y), c.axis, c.options.length, c.options.inverse ? " inverse" : "", c.options.scale),
          {x},
          {y},
          [c](Stream& s, auto in, auto out) { kernels::fft(s, c.kind, in[0], out[0], c.axis, c.options); },
          tolerance_of(c)};
}

const bool registered = differential(
    "fft",
    [](Rng& rng) {
      Case c = random_case(rng);
      Shape shape = random_shape(rng, 1, 8, 2000);
      c.axis = random_int(rng, 0, shape.rank() - 1);
      constexpr int kLengths[] = {1, 2, 3, 8, 16, 17, 30, 64, 97, 128, 360, 1000};
      c.options.length = pick(rng, kLengths);
      c.options.scale = rng() % 2 ? 1 : 0.25;
      shape[c.axis] = results(c);
      const View y = random_view(rng, shape, c.to, random_output_kind(rng));
      // Rows are cut, filled up with zeros, or as they are.
      shape[c.axis] = rng() % 2 ? given(c) : random_int(rng, 0, static_cast<int>(2 * given(c)));
      const View x = values(rng.details(), random_view(rng, shape, c.from, random_input_kind(rng)));
      return make_problem(c, x, y);
    },
    3);

// The transform by its definition, of the rows of a matrix.
std::vector<Complex> definition(const std::vector<Complex>& x, std::int64_t n, bool inverse) {
  std::vector<Complex> w, y;
  for (std::int64_t k = 0; k < n; ++k) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
    w.emplace_back(static_cast<double>(std::cos(angle)),
                   static_cast<double>(inverse ? std::sin(angle) : -std::sin(angle)));
  }
  for (std::int64_t k = 0; k < n; ++k) {
    Complex sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += x[static_cast<std::size_t>(j)] * w[static_cast<std::size_t>(j * k % n)];
    y.push_back(sum);
  }
  return y;
}

class Fft : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  Rng rng{29};
};
INSTANTIATE_TEST_SUITE_P(Devices, Fft, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

std::vector<Complex> row_of(const View& v, std::int64_t row, std::int64_t n) {
  std::vector<Complex> all;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t b = element_bits(v, row * n + i);
    all.emplace_back(std::bit_cast<float>(static_cast<std::uint32_t>(b)),
                     std::bit_cast<float>(static_cast<std::uint32_t>(b >> 32)));
  }
  return all;
}

// The root-mean-square error against f64, as a part of the largest value, must stay below 1.2e-7 log2(n).
void expect_accurate(const View& x, const View& y, std::int64_t rows, std::int64_t n, double allowed,
                     bool by_definition, const std::string& what) {
  double squares = 0, largest = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<Complex> in = row_of(x, r, n), out = row_of(y, r, n);
    const std::vector<Complex> expected = by_definition ? definition(in, n, false) : kernels::transform(in);
    for (std::size_t k = 0; k < out.size(); ++k) {
      squares += std::norm(out[k] - expected[k]);
      largest = std::max(largest, std::abs(expected[k]));
    }
  }
  const double error = std::sqrt(squares / static_cast<double>(rows * n)) / largest;
  EXPECT_LE(error, allowed) << what << " length " << n;
  EXPECT_FALSE(std::isnan(error)) << what << " length " << n;
}

// The transforms of the rows of random numbers on the device, over memory that holds NaN.
void expect_accurate_on(gpu::Device& device, Rng& rng, std::int64_t rows, std::int64_t n, bool by_definition) {
  const View x = values(rng, random_view(rng, {rows, n}, DType::c64));
  const View poison = random_view(rng, {rows, n}, DType::c64);
  for (std::int64_t i = 0; i < poison.count(); ++i) set_element_bits(poison, i, 0x7fc000007fc00000u);
  const View in = to_device(device, x), out = to_device(device, poison);
  gpu::Encoder encoder(device);
  kernels::fft(encoder, FftKind::complex, in, out, 1, {.length = n});
  encoder.submit();
  expect_accurate(x, to_host(device, out), rows, n, 1.2e-7 * std::log2(std::max<double>(static_cast<double>(n), 2)),
                  by_definition, "on the device");
}

std::vector<Complex> random_row(Rng& rng, std::int64_t n) {
  std::vector<Complex> x;
  for (std::int64_t i = 0; i < n; ++i) {
    x.emplace_back(random_int(rng, -999, 999) / 1e3, random_int(rng, -999, 999) / 1e3);
  }
  return x;
}

// The CPU's transform of every length to 512 against the definition.
TEST(FftCpu, EveryLengthTo512) {
  Rng rng{31};
  for (std::int64_t n = 1; n <= 512; ++n) {
    const std::vector<Complex> x = random_row(rng, n), y = kernels::transform(x), expected = definition(x, n, false);
    for (std::size_t k = 0; k < y.size(); ++k) {
      ASSERT_NEAR(std::abs(y[k] - expected[k]), 0, 2e-15 * static_cast<double>(n) + 1e-15) << n << " at " << k;
    }
  }
}

// How many random lengths up to 2^24 the next two tests add; nightly runs have some.
std::uint64_t from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : 0;
}
int many_lengths() { return static_cast<int>(from_environment("WEFT_FFT_LENGTHS")); }

std::int64_t random_length(Rng& rng, double least_bits, double bits) {
  return static_cast<std::int64_t>(
      std::exp2(least_bits + (bits - least_bits) * random_int(rng, 0, 1 << 20) / (1 << 20)));
}

// Of long transforms a few elements, by sums in long double.
TEST(FftCpu, ElementsOfManyLengths) {
  Rng rng{37 + from_environment("WEFT_SEED")};
  const int many = many_lengths();
  std::vector<std::int64_t> lengths;
  for (std::int64_t n = 513; n <= 4096; n += many > 0 ? 1 : 97) lengths.push_back(n);
  for (int i = 0; i < std::max(many, 4); ++i) lengths.push_back(random_length(rng, 12, many > 0 ? 24 : 18));
  for (const std::int64_t n : lengths) {
    const std::vector<Complex> x = random_row(rng, n), y = kernels::transform(x);
    for (int trial = 0; trial < 3; ++trial) {
      const auto k = static_cast<std::int64_t>(std::uniform_int_distribution<std::int64_t>(0, n - 1)(rng));
      // Each root is computed by itself, of an angle that is reduced in integers.
      std::complex<long double> sum = 0;
      std::uint64_t turn = 0;
      for (const Complex& value : x) {
        const long double angle =
            -2 * std::numbers::pi_v<long double> * static_cast<long double>(turn) / static_cast<long double>(n);
        sum += std::complex<long double>(value) * std::complex<long double>(std::cos(angle), std::sin(angle));
        turn = (turn + static_cast<std::uint64_t>(k)) % static_cast<std::uint64_t>(n);
      }
      // Numbers of size 1 add up to about sqrt(n), and each of the log2(n) stages rounds it.
      const auto length = static_cast<double>(n);
      ASSERT_NEAR(std::abs(y[static_cast<std::size_t>(k)] - Complex(sum)), 0,
                  1e-15 * std::sqrt(length) * std::log2(length + 1))
          << n << " at " << k;
    }
  }
}

// Every one on the first device, others share its shaders.
TEST_P(Fft, EveryLengthTo512) {
  const bool first = GetParam() == device_names().front();
  for (std::int64_t n = 1; n <= 512; n += first && !quick() ? 1 : 7) expect_accurate_on(device(), rng, 3, n, true);
}

TEST_P(Fft, ManyLengths) {
  const int many = many_lengths();
  if (many == 0) GTEST_SKIP() << "WEFT_FFT_LENGTHS is not set";
  Rng rng{41 + from_environment("WEFT_SEED")};
  for (std::int64_t n = 513; n <= 4096; ++n) expect_accurate_on(device(), rng, 1, n, false);
  for (int i = 0; i < many; ++i) {
    try {
      expect_accurate_on(device(), rng, 1, random_length(rng, 12, 24), false);
    } catch (const Unsupported& e) {
      // What large primes are padded to may exceed a binding.
      EXPECT_NE(std::string_view(e.what()).find("this device binds"), std::string_view::npos) << e.what();
    }
  }
}

// Of several passes, with large primes, and of both, up to 2^20.
TEST_P(Fft, RandomLengths) {
  for (unsigned i = 0; i < scaled(64); ++i) {
    const double bits = 9 + 11.0 * random_int(rng, 0, 1000) / 1000;
    const auto n = static_cast<std::int64_t>(std::exp2(bits));
    expect_accurate_on(device(), rng, 1, n, false);
  }
}

// Products of small primes, which need no padding, of one pass to three.
TEST_P(Fft, SmoothLengths) {
  for (const std::int64_t n : {1000, 1024, 2048, 4096, 4095, 6000, 8192, 10000, 65536, 99792, 1 << 20, 1001 * 512}) {
    expect_accurate_on(device(), rng, n > 100000 ? 1 : 5, n, false);
  }
}

TEST_P(Fft, AlongTheFirstAxisOfMatrices) {
  for (const Shape& shape : {Shape{64, 40}, {1000, 17}, {97, 33}, {8192, 24}, {10007, 9}}) {
    const View x = values(rng, random_view(rng, shape, DType::c64)), y = random_view(rng, shape, DType::c64);
    const Problem p = make_problem({FftKind::complex, DType::c64, DType::c64, 0, {.length = shape[0]}}, x, y);
    run_both(device(), p.inputs, p.outputs, p.call, p.tolerance, p.what);
  }
}

// Rows of a tensor past a binding are done in pieces; a row that no binding holds is refused by name.
TEST_P(Fft, PastABinding) {
  gpu::Device narrow = limited_device(1 << 16);
  for (const std::int64_t n : {64, 1000, 1009}) {
    const View x = values(rng, random_view(rng, {70, n}, DType::c64)), y = random_view(rng, {70, n}, DType::c64);
    const Problem p = make_problem({FftKind::complex, DType::c64, DType::c64, 1, {.length = n}}, x, y);
    run_both(narrow, p.inputs, p.outputs, p.call, p.tolerance, p.what);
  }
  const std::int64_t n = 10007;  // 80 KB, and padded to more
  const View x = random_view(rng, {n}, DType::c64), y = random_view(rng, {n}, DType::c64);
  const View in = to_device(narrow, x), out = to_device(narrow, y);
  gpu::Encoder encoder(narrow);
  EXPECT_THROW(kernels::fft(encoder, FftKind::complex, in, out, 0, {.length = n}), Unsupported);
}

TEST(FftCpu, Errors) {
  Rng rng{1};
  cpu::Executor executor;
  const View x = random_view(rng, {4, 6}, DType::c64), y = random_view(rng, {4, 6}, DType::c64);
  const auto call = [&](FftKind kind, const View& from, const View& to, int axis, std::int64_t n) {
    kernels::fft(executor, kind, from, to, axis, {.length = n});
  };
  EXPECT_THROW(call(FftKind::complex, x, y, 1, 0), InvalidArgument);
  EXPECT_THROW(call(FftKind::complex, x, y, 1, -3), InvalidArgument);
  EXPECT_THROW(call(FftKind::complex, x, y, 1, 5), InvalidArgument);
  EXPECT_THROW(call(FftKind::complex, x, y, 2, 6), InvalidArgument);
  EXPECT_THROW(call(FftKind::complex, x, x, 1, 6), InvalidArgument);
  EXPECT_THROW(call(FftKind::real_to_complex, x, y, 1, 6), InvalidArgument);
  EXPECT_THROW(call(FftKind::complex_to_real, x, y, 1, 6), InvalidArgument);
  EXPECT_THROW(call(FftKind::complex, x, y, 1, std::int64_t{1} << 62), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
