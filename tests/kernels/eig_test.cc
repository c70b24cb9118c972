// Eigenvalues and eigenvectors of matrices of any kind: GPU results against the CPU's, and both by their residuals.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/differential.h"
#include "support/quick.h"
#include "weft/error.h"
#include "weft/kernels/linalg.h"

namespace weft::test {
namespace {

using Complex = std::complex<double>;
using Matrix = std::function<Complex(std::int64_t, std::int64_t)>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

Complex get(const View& v, std::int64_t i) {
  const std::uint64_t b = element_bits(v, i);
  return {std::bit_cast<float>(static_cast<std::uint32_t>(b)),
          v.dtype == DType::c64 ? std::bit_cast<float>(static_cast<std::uint32_t>(b >> 32)) : 0};
}
void set(const View& v, std::int64_t i, Complex c) {
  std::uint64_t b = std::bit_cast<std::uint32_t>(static_cast<float>(c.real()));
  if (v.dtype == DType::c64) b |= std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(c.imag()))} << 32;
  set_element_bits(v, i, b);
}
Complex random_number(Rng& rng, DType type) {
  const auto one = [&] { return random_int(rng, -1000, 1000) / 1000.0; };
  const double re = one();
  return {re, type == DType::c64 ? one() : 0};
}

// Matrices whose eigenvalues are at least about 1/2 apart, so that eigenvectors are well determined; of each the same
// element is the largest one on every device. Of real ones some eigenvalues are pairs of conjugates: (d, 2; -1/2, d)
// has d ± i with the vectors (2, ± i).
void make_separated(Rng& rng, const View& a) {
  const std::int64_t n = a.shape()[-1];
  std::vector<double> values(static_cast<std::size_t>(n));
  for (std::int64_t first = 0; first < a.count(); first += n * n) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) - static_cast<double>(n) / 3;
    std::shuffle(values.begin(), values.end(), rng);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const Complex beside = 0.2 / std::sqrt(static_cast<double>(n)) * random_number(rng, a.dtype);
        set(a, first + i * n + j, i == j ? Complex(values[static_cast<std::size_t>(i)]) : beside);
      }
    }
    if (a.dtype == DType::c64) continue;
    for (std::int64_t i = 0; i + 1 < n; i += 5) {
      set(a, first + (i + 1) * n + i + 1, get(a, first + i * n + i));
      set(a, first + i * n + i + 1, 2);
      set(a, first + (i + 1) * n + i, -0.5);
    }
  }
}

constexpr DType kTypes[] = {DType::f32, DType::c64};
constexpr int kSizes[] = {0, 1, 2, 3, 5, 16, 17, 33, 50};

const bool registered = differential(
    "eig",
    [](Rng& rng) {
      const DType type = pick(rng, kTypes);
      const int n = pick(rng, kSizes);
      const bool vectors = rng() % 3 > 0;
      const Shape batch = random_shape(rng, 0, 3, n > 32 ? 3 : 30);
      Shape row = batch;
      row.push_back(n);
      Shape shape = row;
      shape.push_back(n);
      const View a = random_view(rng, shape, type, random_output_kind(rng));
      make_separated(rng.details(), a);
      std::vector<View> out{random_view(rng, row, DType::c64, random_output_kind(rng)),
                            random_view(rng, batch, DType::i32, random_output_kind(rng))};
      if (vectors) out.push_back(random_view(rng, shape, DType::c64, random_output_kind(rng)));
      return Problem{
          std::format("eig of {} to {}{}", to_string(a), to_string(out[0]), vectors ? " and " + to_string(out[2]) : ""),
          {a},
          out,
          [](Stream& s, auto in, auto out) {
            kernels::eig(s, in[0], out[0], out[1], out.size() == 3 ? std::optional(out[2]) : std::nullopt);
          },
          {.absolute = 2e-4, .relative = 2e-5}};
    },
    2);

struct Result {
  View w, info, v, alone;
};

View matrix(Rng& rng, std::int64_t n, DType type, const Matrix& element) {
  const View a = random_view(rng, {n, n}, type);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) set(a, i * n + j, element(i, j));
  }
  return a;
}

struct Named {
  const char* name;
  View a;
};

// Of kinds that are hard for some method or other.
std::vector<Named> hard_matrices(Rng& rng, std::int64_t n, DType type) {
  const auto any = [&](auto, auto) { return random_number(rng, type); };
  const auto when = [](bool here, Complex x) { return here ? x : Complex(); };
  const auto size = static_cast<double>(n);
  std::vector<Named> all{
      {"random", matrix(rng, n, type, any)},
      {"large", matrix(rng, n, type, [&](auto i, auto j) { return 1e35 * any(i, j); })},
      {"small", matrix(rng, n, type, [&](auto i, auto j) { return 1e-30 * any(i, j); })},
      {"zero", matrix(rng, n, type, [](auto, auto) { return 0.0; })},
      {"ones", matrix(rng, n, type, [](auto, auto) { return 1.0; })},
      {"the identity", matrix(rng, n, type, [&](auto i, auto j) { return when(i == j, 1); })},
      {"a Jordan block", matrix(rng, n, type, [&](auto i, auto j) { return i == j ? 2.0 : when(j == i + 1, 1); })},
      {"a lower one", matrix(rng, n, type, [&](auto i, auto j) { return i == j ? 2.0 : when(i == j + 1, 1); })},
      {"nilpotent", matrix(rng, n, type, [&](auto i, auto j) { return when(j > i, any(i, j)); })},
      {"a cycle", matrix(rng, n, type, [&](auto i, auto j) { return when((i + 1) % n == j, 1); })},
      {"Hessenberg ones", matrix(rng, n, type, [&](auto i, auto j) { return when(j + 1 >= i, 1); })},
      {"a path", matrix(rng, n, type, [&](auto i, auto j) { return i == j ? 2.0 : when(std::abs(i - j) == 1, -1); })},
      {"skew", matrix(rng, n, type, [&](auto i, auto j) { return when(std::abs(i - j) == 1, i - j); })},
      {"graded",
       matrix(rng, n, type,
              [&](auto i, auto j) { return any(i, j) * std::pow(10.0, -8 * static_cast<double>(i + j) / size); })},
      {"badly scaled",
       matrix(rng, n, type,
              [&](auto i, auto j) { return any(i, j) * std::pow(10.0, 12 * static_cast<double>(i - j) / size); })},
  };
  if (type == DType::f32) {
    all.push_back({"rotations", matrix(rng, n, type, [&](auto i, auto j) {
                     if (i / 2 != j / 2 || n < 2) return Complex(i == j);
                     return i == j ? Complex(0.6) : when(true, i < j ? 0.8 : -0.8);
                   })});
  } else {
    all.push_back({"Hermitian", matrix(rng, n, type, [&](auto i, auto j) {
                     return i == j ? Complex(static_cast<double>(i % 3)) : Complex(1, static_cast<double>(i - j));
                   })});
  }
  return all;
}

double norm(const View& a, std::int64_t first, std::int64_t count, double scale) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::norm(get(a, first + i) * scale);
  return std::sqrt(sum);
}

// The norm of a v - v diag(w) is at most 2^-20 n times that of a (a backward error, of LAPACK's geev in f32 about 2^-22
// n, SciPy 1.17), vectors have the norm 1, and the largest element is real and positive.
void expect_decomposed(const View& a, const Result& r, const std::string& what) {
  const std::int64_t n = a.shape()[-1];
  double largest = 0;
  for (std::int64_t i = 0; i < n * n; ++i) largest = std::max(largest, std::abs(get(a, i)));
  const double scale = largest > 0 ? 1 / largest : 1, size = norm(a, 0, n * n, scale);
  const bool real = a.dtype == DType::f32;
  double residual = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const Complex w = get(r.w, j);
    if (j > 0) {
      const Complex before = get(r.w, j - 1);
      EXPECT_TRUE(before.real() < w.real() || (before.real() == w.real() && before.imag() <= w.imag())) << what;
    }
    double length = 0, most = 0, peak = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Complex x = get(r.v, i * n + j);
      length += std::norm(x);
      most = std::max(most, std::abs(x));
      if (x.imag() == 0) peak = std::max(peak, x.real());
      if (real && w.imag() == 0) {
        EXPECT_EQ(x.imag(), 0) << what;
      }
      Complex sum = -x * (w * scale);
      for (std::int64_t k = 0; k < n; ++k) sum += get(a, i * n + k) * scale * get(r.v, k * n + j);
      residual += std::norm(sum);
    }
    EXPECT_NEAR(length, 1, 4e-6) << what;
    EXPECT_GE(peak, most * (1 - 1e-6)) << what;  // or one as large
    // The conjugate is there, with the conjugate of the vector.
    bool conjugate = !real || w.imag() == 0;
    for (std::int64_t k = 0; k < n && !conjugate; ++k) {
      conjugate = get(r.w, k) == std::conj(w);
      for (std::int64_t i = 0; i < n && conjugate; ++i)
        conjugate = get(r.v, i * n + k) == std::conj(get(r.v, i * n + j));
    }
    EXPECT_TRUE(conjugate) << what << " " << j;
  }
  EXPECT_LE(std::sqrt(residual), 0x1p-20 * static_cast<double>(n) * size) << what;
}

Result results_of(Rng& rng, const View& a) {
  Shape row = a.shape(), batch = a.shape();
  row.pop_back();
  batch.pop_back();
  batch.pop_back();
  return {random_view(rng, row, DType::c64), random_view(rng, batch, DType::i32),
          random_view(rng, a.shape(), DType::c64), random_view(rng, row, DType::c64)};
}

class Eig : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  Rng rng{43};

  Result decompose(const View& a) {
    Result r = results_of(rng, a);
    const View in = to_device(device(), a), w = to_device(device(), r.w), info = to_device(device(), r.info),
               v = to_device(device(), r.v), alone = to_device(device(), r.alone), other = to_device(device(), r.info);
    gpu::Encoder encoder(device());
    kernels::eig(encoder, in, w, info, v);
    kernels::eig(encoder, in, alone, other, {});
    encoder.submit();
    return {to_host(device(), w), to_host(device(), info), to_host(device(), v), to_host(device(), alone)};
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Eig, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

TEST_P(Eig, ResidualsAreThoseOfRounding) {
  for (const DType type : kTypes) {
    for (const std::int64_t n : {1, 2, 3, 9, 34, quick() ? 40 : 120}) {
      for (const auto& [name, a] : hard_matrices(rng, n, type)) {
        const Result r = decompose(a);
        const std::string what = std::format("{} {} {}", weft::name(type), n, name);
        EXPECT_EQ(static_cast<std::int32_t>(element_bits(r.info, 0)), 0) << what;
        expect_decomposed(a, r, what);
      }
    }
  }
}

// Matrices that are triangular but for an exchange of rows and columns have eigenvalues without any rounding.
TEST_P(Eig, TrianglesAreExact) {
  for (const std::int64_t n : {2, 7, 40}) {
    const auto triangle = [&](auto i, auto j) {
      const std::int64_t row = (i * 3 + 1) % n, column = (j * 3 + 1) % n;
      return row == column  ? Complex(static_cast<double>(row / 2))
             : row < column ? random_number(rng, DType::f32)
                            : 0.0;
    };
    const Result r = decompose(matrix(rng, n, DType::f32, triangle));
    for (std::int64_t k = 0; k < n; ++k) {
      EXPECT_EQ(get(r.w, k), Complex(static_cast<double>(k / 2))) << n;
      EXPECT_EQ(get(r.alone, k), Complex(static_cast<double>(k / 2))) << n;
    }
  }
}

// The same call gives the same bits.
TEST_P(Eig, RepeatsToTheBit) {
  for (const std::int64_t n : {20, 70}) {
    const View a = matrix(rng, n, DType::c64, [&](auto, auto) { return random_number(rng, DType::c64); });
    const Result first = decompose(a), second = decompose(a);
    expect_close(first.w, second.w, kSameBits);
    expect_close(first.v, second.v, kSameBits);
  }
}

// Of a batch only the matrices that have NaN or an infinity are NaN.
TEST_P(Eig, MatricesThatAreNoNumbers) {
  for (const DType type : kTypes) {
    for (const std::int64_t n : {1, 6, 37}) {
      const View a = random_view(rng, {4, n, n}, type);
      make_separated(rng, a);
      set(a, n * n + n * n - 1, kNan);
      set(a, 2 * n * n + (n - 1) * n, kInfinity);
      set(a, 3 * n * n, type == DType::c64 ? Complex(0, -kInfinity) : Complex(-kInfinity));
      const Result r = decompose(a);
      for (std::int64_t m = 0; m < 4; ++m) {
        EXPECT_EQ(static_cast<std::int32_t>(element_bits(r.info, m)), m > 0 ? 1 : 0);
        for (std::int64_t i = 0; i < n; ++i) {
          EXPECT_EQ(std::isnan(get(r.w, m * n + i).real()), m > 0);
          EXPECT_EQ(std::isnan(get(r.alone, m * n + i).imag()), m > 0);
        }
        for (std::int64_t i = 0; i < n * n; ++i) EXPECT_EQ(std::isnan(get(r.v, m * n * n + i).real()), m > 0);
      }
    }
  }
}

TEST(EigCpu, ResidualsAreThoseOfRounding) {
  Rng rng{47};
  cpu::Executor executor;
  for (const DType type : kTypes) {
    for (const std::int64_t n : {1, 2, 3, 9, 34, 90}) {
      for (const auto& [name, a] : hard_matrices(rng, n, type)) {
        const Result r = results_of(rng, a);
        kernels::eig(executor, a, r.w, r.info, r.v);
        const std::string what = std::format("{} {} {}", weft::name(type), n, name);
        EXPECT_EQ(static_cast<std::int32_t>(element_bits(r.info, 0)), 0) << what;
        expect_decomposed(a, r, what);
      }
    }
  }
}

TEST(EigCpu, Errors) {
  Rng rng{5};
  cpu::Executor executor;
  const View a = random_view(rng, {2, 3, 3}, DType::f32), w = random_view(rng, {2, 3}, DType::c64);
  const View info = random_view(rng, {2}, DType::i32), v = random_view(rng, {2, 3, 3}, DType::c64);
  make_separated(rng, a);
  kernels::eig(executor, a, w, info, v);
  const View wide = random_view(rng, {2, 3, 4}, DType::f32), flat = random_view(rng, {3}, DType::f32);
  const View real = random_view(rng, {2, 3}, DType::f32), doubles = random_view(rng, {2, 3, 3}, DType::f64);
  EXPECT_THROW(kernels::eig(executor, wide, w, info, v), InvalidArgument);
  EXPECT_THROW(kernels::eig(executor, flat, w, info, v), InvalidArgument);
  EXPECT_THROW(kernels::eig(executor, a, real, info, v), InvalidArgument);
  EXPECT_THROW(kernels::eig(executor, doubles, w, info, v), InvalidArgument);
  EXPECT_THROW(kernels::eig(executor, a, w, w, v), InvalidArgument);
  EXPECT_THROW(kernels::eig(executor, a, w, info, a), InvalidArgument);
  const View complex = random_view(rng, {2, 3, 3}, DType::c64);
  EXPECT_THROW(kernels::eig(executor, complex, w, info, complex), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
