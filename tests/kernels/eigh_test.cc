// Eigenvalues and eigenvectors of Hermitian matrices: GPU results against the CPU's, and both by their residuals.
#include <complex>
#include <numbers>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/differential.h"
#include "support/quick.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/linalg.h"

namespace weft::test {
namespace {

using Complex = std::complex<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

Complex get(const View& v, std::int64_t i) {
  const std::uint64_t b = element_bits(v, i);
  if (v.dtype == DType::f64) return std::bit_cast<double>(b);
  return {std::bit_cast<float>(static_cast<std::uint32_t>(b)),
          v.dtype == DType::c64 ? std::bit_cast<float>(static_cast<std::uint32_t>(b >> 32)) : 0};
}
void set(const View& v, std::int64_t i, Complex c) {
  std::uint64_t b = std::bit_cast<std::uint32_t>(static_cast<float>(c.real()));
  if (v.dtype == DType::c64) b |= std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(c.imag()))} << 32;
  if (v.dtype == DType::f64) b = std::bit_cast<std::uint64_t>(c.real());
  set_element_bits(v, i, b);
}
Complex random_number(Rng& rng, DType type) {
  const auto one = [&] { return random_int(rng, -1000, 1000) / 1000.0; };
  const double re = one();
  return {re, type == DType::c64 ? one() : 0};
}
DType real_of(DType type) { return type == DType::c64 ? DType::f32 : type; }

// Matrices whose eigenvalues are at least about 1/2 apart, so that eigenvectors are well determined; the triangle that
// is not read is NaN, and of c64 the diagonal's imaginary part.
void make_separated(Rng& rng, const View& a, bool upper) {
  const std::int64_t n = a.shape()[-1];
  std::vector<double> values(static_cast<std::size_t>(n));
  for (std::int64_t first = 0; first < a.count(); first += n * n) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) - static_cast<double>(n) / 3;
    std::shuffle(values.begin(), values.end(), rng);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const bool kept = upper ? j > i : j < i;
        const Complex beside =
            kept ? 0.3 / std::sqrt(static_cast<double>(n)) * random_number(rng, a.dtype) : Complex(kNan, kNan);
        set(a, first + i * n + j, i == j ? Complex(values[static_cast<std::size_t>(i)], kNan) : beside);
      }
    }
  }
}

constexpr DType kTypes[] = {DType::f32, DType::c64};
constexpr int kSizes[] = {0, 1, 2, 3, 5, 16, 17, 32, 33, 47, 65, 100};

// Eigenvectors have any sign or phase: their magnitudes are compared.
const bool registered = differential(
    "eigh",
    [](Rng& rng) {
      const kernels::EighOptions o{.upper = rng() % 2 == 0};
      const DType type = pick(rng, kTypes);
      const int n = pick(rng, kSizes);
      const bool vectors = rng() % 3 > 0;
      const Shape batch = random_shape(rng, 0, 3, n > 32 ? 3 : 30);
      Shape row = batch;
      row.push_back(n);
      Shape shape = row;
      shape.push_back(n);
      const View a = random_view(rng, shape, type, random_output_kind(rng));
      make_separated(rng.details(), a, o.upper);
      std::vector<View> out{random_view(rng, row, real_of(type), random_output_kind(rng)),
                            random_view(rng, batch, DType::i32, random_output_kind(rng))};
      if (vectors) {
        out.push_back(random_view(rng, shape, type, random_output_kind(rng)));
        out.push_back(random_view(rng, shape, real_of(type)));
      }
      return Problem{std::format("eigh of {} to {}{}{}", to_string(a), to_string(out[0]), o.upper ? ", upper" : "",
                                 vectors ? " and " + to_string(out[2]) : ""),
                     {a},
                     out,
                     [o](Stream& s, auto in, auto out) {
                       if (out.size() == 2) return kernels::eigh(s, in[0], out[0], out[1], {}, o);
                       kernels::eigh(s, in[0], out[0], out[1], out[2], o);
                       Expression e;
                       e.output(e.apply(ScalarOp::abs, {e.input(out[2].dtype)}));
                       kernels::map(s, e, out.subspan(2, 1), out.subspan(3, 1));
                       kernels::fill(s, 0, out[2]);
                     },
                     {.absolute = 1e-4, .relative = 1e-5}};
    },
    2);

class Eigh : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  Rng rng{41};

  struct Result {
    View w, info, v;
  };
  Result decompose(const View& a, bool upper = false) {
    Shape row = a.shape(), batch = a.shape();
    row.pop_back();
    batch.pop_back();
    batch.pop_back();
    const View in = to_device(device(), a), w = to_device(device(), random_view(rng, row, real_of(a.dtype)));
    const View info = to_device(device(), random_view(rng, batch, DType::i32));
    const View v = to_device(device(), random_view(rng, a.shape(), a.dtype));
    gpu::Encoder encoder(device());
    kernels::eigh(encoder, in, w, info, v, {.upper = upper});
    encoder.submit();
    return {to_host(device(), w), to_host(device(), info), to_host(device(), v)};
  }
  // A unitary matrix: the product of some reflections.
  std::vector<Complex> unitary(std::int64_t n, DType type) {
    std::vector<Complex> q(static_cast<std::size_t>(n * n)), x(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) q[static_cast<std::size_t>(i * n + i)] = 1;
    for (int reflection = 0; reflection < 8; ++reflection) {
      double square = 0;
      for (Complex& c : x) square += std::norm(c = random_number(rng, type));
      for (std::int64_t i = 0; i < n; ++i) {
        Complex* row = q.data() + i * n;
        Complex sum = 0;
        for (std::int64_t k = 0; k < n; ++k) sum += row[k] * x[static_cast<std::size_t>(k)];
        for (std::int64_t k = 0; k < n; ++k) row[k] -= 2 / square * sum * std::conj(x[static_cast<std::size_t>(k)]);
      }
    }
    return q;
  }
  View spectral(std::int64_t n, DType type, const std::function<double(std::int64_t)>& value) {
    const std::vector<Complex> q = unitary(n, type);
    const View a = random_view(rng, {n, n}, type);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Complex sum = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          sum += q[static_cast<std::size_t>(i * n + k)] * value(k) * std::conj(q[static_cast<std::size_t>(j * n + k)]);
        }
        set(a, i * n + j, sum);
      }
    }
    return a;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Eigh, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// max |a v - v w| over the largest eigenvalue, and max |vᴴ v - 1|, are at most ten times what SciPy's syevd leaves in
// f32 on such matrices (3.9e-7 and 1.4e-6 for n = 128, SciPy 1.17).
void expect_decomposed(const View& a, const View& w, const View& v, const std::string& what) {
  const std::int64_t n = a.shape()[-1];
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::abs(get(w, i).real()));
    if (i > 0) {
      EXPECT_LE(get(w, i - 1).real(), get(w, i).real()) << what;
    }
  }
  const auto matrix = [&](std::int64_t i, std::int64_t j) {
    if (i == j) return Complex(get(a, i * n + i).real());
    return i > j ? get(a, i * n + j) : std::conj(get(a, j * n + i));
  };
  double residual = 0, off = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      Complex sum = -get(v, i * n + j) * get(w, j).real(), overlap = i == j ? -1 : 0;
      for (std::int64_t k = 0; k < n; ++k) {
        sum += matrix(i, k) * get(v, k * n + j);
        overlap += std::conj(get(v, k * n + i)) * get(v, k * n + j);
      }
      residual = std::max(residual, std::abs(sum));
      off = std::max(off, std::abs(overlap));
    }
  }
  EXPECT_LE(residual, 3.9e-6 * largest) << what;
  EXPECT_LE(off, 1.4e-5) << what;
}

// Sizes on both sides of what a workgroup takes; spectra that are hard for some method or other.
TEST_P(Eigh, ResidualsAreThoseOfRounding) {
  for (const DType type : kTypes) {
    for (const std::int64_t n : {2, 9, 31, 44, 70, quick() ? 75 : 140}) {
      const auto last = static_cast<double>(n - 1);
      const std::pair<const char*, View> matrices[] = {
          {"condition 1e12", spectral(n, type, [=](auto k) { return std::pow(1e-12, static_cast<double>(k) / last); })},
          {"rank n / 4", spectral(n, type, [=](auto k) { return k < n / 4 ? static_cast<double>(k + 1) : 0.0; })},
          {"two eigenvalues", spectral(n, type, [=](auto k) { return k < n / 2 ? 1.0 : -2.0; })},
          {"a cluster", spectral(n, type, [=](auto k) { return 1 + 1e-5 * static_cast<double>(k); })},
          {"large", spectral(n, type, [=](auto k) { return 1e33 * (static_cast<double>(k) - last / 3); })},
          {"small", spectral(n, type, [=](auto k) { return 1e-33 * (static_cast<double>(k) - last / 3); })},
          {"ones", spectral(n, type, [](auto) { return 0.0; })},
          {"zero", spectral(n, type, [](auto) { return 0.0; })},
          {"a path", spectral(n, type, [](auto) { return 0.0; })},
      };
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          set(matrices[6].second, i * n + j, 1);
          if (std::abs(i - j) < 2) set(matrices[8].second, i * n + j, i == j ? 2 : -1);
        }
      }
      for (const auto& [name, a] : matrices) {
        const auto [w, info, v] = decompose(a);
        EXPECT_EQ(static_cast<std::int32_t>(element_bits(info, 0)), 0);
        expect_decomposed(a, w, v, std::format("{} {} {}", weft::name(type), n, name));
        // Of the path by the formula: 2 - 2 cos(k π / (n + 1)).
        for (std::int64_t k = 0; k < n && std::string_view(name) == "a path"; ++k) {
          const double angle = std::numbers::pi * static_cast<double>(k + 1) / static_cast<double>(n + 1);
          EXPECT_NEAR(get(w, k).real(), 2 - 2 * std::cos(angle), 4e-6);
        }
      }
    }
  }
}

// The same call gives the same bits.
TEST_P(Eigh, RepeatsToTheBit) {
  for (const std::int64_t n : {20, 70}) {
    const View a = spectral(n, DType::c64, [](auto k) { return static_cast<double>(k % 3); });
    const auto first = decompose(a), second = decompose(a);
    expect_close(first.w, second.w, kSameBits);
    expect_close(first.v, second.v, kSameBits);
  }
}

// Of a batch only the matrices that have NaN or an infinity are NaN; the other triangle's are not read.
TEST_P(Eigh, MatricesThatAreNoNumbers) {
  for (const DType type : kTypes) {
    for (const bool upper : {false, true}) {
      for (const std::int64_t n : {1, 6, 67}) {
        const View a = random_view(rng, {4, n, n}, type);
        make_separated(rng, a, upper);
        set(a, n * n + n * n - 1, kNan);
        set(a, 2 * n * n + (upper ? n - 1 : (n - 1) * n), kInfinity);
        set(a, 3 * n * n, -kInfinity);
        const auto [w, info, v] = decompose(a, upper);
        for (std::int64_t m = 0; m < 4; ++m) {
          EXPECT_EQ(static_cast<std::int32_t>(element_bits(info, m)), m > 0 ? 1 : 0);
          for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(std::isnan(get(w, m * n + i).real()), m > 0);
          for (std::int64_t i = 0; i < n * n; ++i) EXPECT_EQ(std::isnan(get(v, m * n * n + i).real()), m > 0);
        }
      }
    }
  }
}

TEST(EighCpu, DoublesAndErrors) {
  Rng rng{5};
  cpu::Executor executor;
  const View a = random_view(rng, {2, 30, 30}, DType::f64), w = random_view(rng, {2, 30}, DType::f64);
  const View info = random_view(rng, {2}, DType::i32), v = random_view(rng, {2, 30, 30}, DType::f64);
  make_separated(rng, a, false);
  kernels::eigh(executor, a, w, info, v);
  for (std::int64_t j = 0; j < 30; ++j) {
    for (std::int64_t i = 0; i < 30; ++i) {
      double sum = -get(v, i * 30 + j).real() * get(w, j).real();
      for (std::int64_t k = 0; k < 30; ++k) {
        sum += get(a, std::max(i, k) * 30 + std::min(i, k)).real() * get(v, k * 30 + j).real();
      }
      EXPECT_NEAR(sum, 0, 1e-13);
    }
  }
  const View wide = random_view(rng, {2, 30, 31}, DType::f64), flat = random_view(rng, {30}, DType::f64);
  EXPECT_THROW(kernels::eigh(executor, wide, w, info, v), InvalidArgument);
  EXPECT_THROW(kernels::eigh(executor, flat, w, info, v), InvalidArgument);
  EXPECT_THROW(kernels::eigh(executor, a, flat, info, v), InvalidArgument);
  EXPECT_THROW(kernels::eigh(executor, a, w, w, v), InvalidArgument);
  EXPECT_THROW(kernels::eigh(executor, a, w, info, wide), InvalidArgument);
  EXPECT_THROW(kernels::eigh(executor, a, w, info, a), InvalidArgument);
  const View complex = random_view(rng, {2, 30, 30}, DType::c64);
  EXPECT_THROW(kernels::eigh(executor, complex, complex, info, {}), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
