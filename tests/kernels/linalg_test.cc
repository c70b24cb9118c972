// Cholesky factors, LU factors and triangular systems: GPU results and those of LAPACK against the CPU's loops, and all
// by their residuals.
#include "weft/kernels/linalg.h"

#include <complex>

#include "cpu/executor.h"
#include "cpu/kernel_form.h"
#include "kernels/linalg/cpu/lapack.h"
#include "kernels/operands.h"
#include "support/differential.h"
#include "support/quick.h"
#include "support/unfilled.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft::test {
namespace {

using Complex = std::complex<double>;

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
Complex random_number(Rng& rng, bool complex) {
  const auto one = [&] { return random_int(rng, -1000, 1000) / 1000.0; };
  const double re = one();
  return {re, complex ? one() : 0};
}

// Positive definite matrices b bᴴ / n + I / 2, in that triangle; the other one is NaN, which nothing may read.
void make_definite(Rng& rng, const View& a, bool upper) {
  if (UnfilledViews::live()) return;
  const std::int64_t n = a.shape()[-1], matrices = n ? a.count() / (n * n) : 0;
  std::vector<Complex> b(static_cast<std::size_t>(n * n));
  for (std::int64_t m = 0; m < matrices; ++m) {
    for (Complex& v : b) v = random_number(rng, a.dtype == DType::c64);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Complex sum = i == j ? 0.5 : 0;
        for (std::int64_t k = 0; k < n; ++k) {
          sum += b[static_cast<std::size_t>(i * n + k)] * std::conj(b[static_cast<std::size_t>(j * n + k)]) /
                 static_cast<double>(n);
        }
        const bool kept = upper ? j >= i : j <= i;
        constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
        set(a, (m * n + i) * n + j, kept ? sum : Complex(kNan, kNan));
      }
    }
  }
}

// Well conditioned triangles: a diagonal near 1, and small elements beside it.
void make_triangular(Rng& rng, const View& a, const kernels::TriangularSolveOptions& o) {
  if (UnfilledViews::live()) return;
  const std::int64_t n = a.shape()[-1], matrices = n ? a.count() / (n * n) : 0;
  for (std::int64_t m = 0; m < matrices; ++m) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
        Complex v(kNan, kNan);
        if (o.upper ? j > i : j < i) v = random_number(rng, a.dtype == DType::c64) / static_cast<double>(n);
        if (i == j && !o.unit) v = 1.0 + 0.25 * random_number(rng, a.dtype == DType::c64);
        set(a, (m * n + i) * n + j, v);
      }
    }
  }
}

constexpr DType kTypes[] = {DType::f32, DType::c64};
constexpr int kSizes[] = {0, 1, 2, 5, 16, 17, 32, 33, 64, 65, 100, 130};

// The call in the cpu's form without LAPACK, whose sums are in f64: the reference of the others.
KernelCall by_loops(const KernelCall& call) {
  return [call](Stream& s, auto in, auto out) {
    set_flag(Flag::lapack, "off");
    call(s, in, out);
    reset_flags();
  };
}

const bool cholesky_registered = differential(
    "cholesky",
    [](Rng& rng) {
      const kernels::CholeskyOptions o{.upper = rng() % 2 == 0};
      const DType type = pick(rng, kTypes);
      const int n = pick(rng, kSizes);
      const Shape batch = random_shape(rng, 0, 3, n > 32 ? 4 : 40);
      Shape shape = batch;
      shape.push_back(n);
      shape.push_back(n);
      const View a = random_view(rng, shape, type, random_output_kind(rng));
      make_definite(rng.details(), a, o.upper);
      const View l = random_view(rng, shape, type, random_output_kind(rng));
      const View info = random_view(rng, batch, DType::i32, random_output_kind(rng));
      const KernelCall call = [o](Stream& s, auto in, auto out) { kernels::cholesky(s, in[0], out[0], out[1], o); };
      return Problem{std::format("cholesky of {} to {}, info {}{}", to_string(a), to_string(l), to_string(info),
                                 o.upper ? ", upper" : ""),
                     {a},
                     {l, info},
                     call,
                     {.absolute = 2e-5},
                     by_loops(call)};
    },
    2);

const bool solve_registered = differential(
    "triangular_solve",
    [](Rng& rng) {
      const kernels::TriangularSolveOptions o{rng() % 2 == 0, rng() % 2 == 0, rng() % 2 == 0};
      const DType type = pick(rng, kTypes);
      const int n = pick(rng, kSizes), m = pick(rng, kSizes);
      Shape a_shape = random_shape(rng, 0, 3, n > 32 || m > 32 ? 4 : 40), b_shape = a_shape, x_shape = a_shape;
      if (rng() % 3 == 0) a_shape = random_broadcast(rng, b_shape);
      a_shape.push_back(n);
      a_shape.push_back(n);
      for (Shape* s : {&b_shape, &x_shape}) {
        s->push_back(n);
        s->push_back(m);
      }
      const View a = random_view(rng, a_shape, type, random_output_kind(rng));
      make_triangular(rng.details(), a, o);
      const View b = random_view(rng, b_shape, type, random_input_kind(rng));
      const View x = random_view(rng, x_shape, type, random_output_kind(rng));
      const KernelCall call = [o](Stream& s, auto in, auto out) {
        kernels::triangular_solve(s, in[0], in[1], out[0], o);
      };
      return Problem{std::format("triangular_solve of {} and {} to {}{}{}{}", to_string(a), to_string(b), to_string(x),
                                 o.upper ? ", upper" : "", o.adjoint ? ", adjoint" : "", o.unit ? ", unit" : ""),
                     {a, b},
                     {x},
                     call,
                     {.absolute = 1e-4, .relative = 1e-5},
                     by_loops(call)};
    },
    2);

const bool lu_registered = differential(
    "lu",
    [](Rng& rng) {
      const DType type = pick(rng, kTypes);
      const int m = pick(rng, kSizes), n = rng() % 2 ? m : pick(rng, kSizes);
      const Shape batch = random_shape(rng, 0, 3, m > 32 || n > 32 ? 4 : 40);
      const auto with = [&](std::initializer_list<std::int64_t> sizes) {
        Shape shape = batch;
        for (const std::int64_t s : sizes) shape.push_back(s);
        return shape;
      };
      const View a = random_view(rng, with({m, n}), type, random_output_kind(rng));
      // Few digits, so that no two candidates for a pivot are so close that rounding chooses between them.
      for (std::int64_t i = 0; i < a.count(); ++i) set(a, i, random_number(rng.details(), type == DType::c64));
      const View lu = random_view(rng, with({m, n}), type, random_output_kind(rng));
      const View pivots = random_view(rng, with({std::min(m, n)}), DType::i32, random_output_kind(rng));
      const View order = random_view(rng, with({m}), DType::i32, random_output_kind(rng));
      const View info = random_view(rng, batch, DType::i32, random_output_kind(rng));
      const KernelCall call = [](Stream& s, auto in, auto out) {
        kernels::lu(s, in[0], out[0], out[1], out[2], out[3]);
      };
      return Problem{std::format("lu of {} to {}", to_string(a), to_string(lu)),
                     {a},
                     {lu, pivots, order, info},
                     call,
                     {.absolute = 2e-3, .relative = 1e-4},
                     by_loops(call)};
    },
    2);

class Linalg : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  Rng rng{37};
};
INSTANTIATE_TEST_SUITE_P(Devices, Linalg, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// The first minor that is not positive definite, in the first block and behind it; the columns before it stay.
TEST_P(Linalg, CholeskyOfIndefiniteMatrices) {
  for (const std::int64_t n : {7, 64, 150}) {
    for (const std::int64_t bad : {std::int64_t{0}, n / 2, n - 1}) {
      for (const double value :
           {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        const View a = random_view(rng, {2, n, n}, DType::f32), l = random_view(rng, {2, n, n}, DType::f32);
        const View info = random_view(rng, {2}, DType::i32);
        make_definite(rng, a, false);
        set(a, n * n + bad * n + bad, value);
        const View in = to_device(device(), a), out = to_device(device(), l), status = to_device(device(), info);
        gpu::Encoder encoder(device());
        kernels::cholesky(encoder, in, out, status);
        encoder.submit();
        const View got = to_host(device(), out), state = to_host(device(), status);
        EXPECT_EQ(static_cast<std::int32_t>(element_bits(state, 0)), 0);
        EXPECT_EQ(static_cast<std::int32_t>(element_bits(state, 1)), bad + 1) << n << " " << value;
        EXPECT_TRUE(std::isnan(get(got, n * n + bad * n + bad).real()));
        EXPECT_TRUE(std::isnan(get(got, 2 * n * n - 1).real()));
        if (bad > 0) {
          EXPECT_FALSE(std::isnan(get(got, n * n + (bad - 1) * n + bad - 1).real()));
        }
      }
    }
  }
}

// The residual of a large factor is that of rounding.
TEST_P(Linalg, ResidualOfALargeFactor) {
  const std::int64_t n = quick() ? 200 : 500;
  const View a = random_view(rng, {n, n}, DType::f32), l = random_view(rng, {n, n}, DType::f32);
  const View info = random_view(rng, {}, DType::i32);
  make_definite(rng, a, false);
  const View in = to_device(device(), a), out = to_device(device(), l), status = to_device(device(), info);
  gpu::Encoder encoder(device());
  kernels::cholesky(encoder, in, out, status);
  encoder.submit();
  const View got = to_host(device(), out);
  double worst = 0, largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k <= j; ++k) sum += get(got, i * n + k).real() * get(got, j * n + k).real();
      worst = std::max(worst, std::abs(sum - get(a, i * n + j).real()));
      largest = std::max(largest, std::abs(get(a, i * n + j).real()));
    }
  }
  EXPECT_LE(worst / largest, 4 * 6e-8 * std::sqrt(static_cast<double>(n)));
}

// What the factors multiply to, by the order of the rows; the order is that of the interchanges.
void expect_factors(const View& a, const View& lu, const View& pivots, const View& order, double allowed) {
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], steps = std::min(m, n);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(m));
  for (std::int64_t i = 0; i < m; ++i) rows[static_cast<std::size_t>(i)] = i;
  for (std::int64_t k = 0; k < steps; ++k) {
    const auto pivot = static_cast<std::int32_t>(element_bits(pivots, k));
    ASSERT_GE(pivot, k);
    ASSERT_LT(pivot, m);
    std::swap(rows[static_cast<std::size_t>(k)], rows[static_cast<std::size_t>(pivot)]);
  }
  double worst = 0, largest = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    const auto row = static_cast<std::int32_t>(element_bits(order, i));
    ASSERT_EQ(row, rows[static_cast<std::size_t>(i)]);
    for (std::int64_t j = 0; j < n; ++j) {
      Complex sum = 0;
      for (std::int64_t k = 0; k <= std::min({i, j, steps - 1}); ++k) {
        sum += (k == i ? Complex(1) : get(lu, i * n + k)) * get(lu, k * n + j);
      }
      worst = std::max(worst, std::abs(sum - get(a, row * n + j)));
      largest = std::max(largest, std::abs(get(a, row * n + j)));
      if (j < i && j < steps) {
        EXPECT_LE(std::abs(get(lu, i * n + j)), 1.5);
      }
    }
  }
  EXPECT_LE(worst, allowed * largest) << to_string(a);
}

// Large matrices, tall and wide ones, of several panels.
TEST_P(Linalg, ResidualOfLu) {
  for (const DType type : {DType::f32, DType::c64}) {
    for (const auto& [m, n] :
         {std::pair<std::int64_t, std::int64_t>{20, 20}, {200, 200}, {300, 70}, {70, 300}, {129, 161}}) {
      const View a = random_view(rng, {m, n}, type), lu = random_view(rng, {m, n}, type);
      const View pivots = random_view(rng, {std::min(m, n)}, DType::i32), order = random_view(rng, {m}, DType::i32);
      const View info = random_view(rng, {}, DType::i32);
      for (std::int64_t i = 0; i < a.count(); ++i) set(a, i, random_number(rng, type == DType::c64));
      const View in = to_device(device(), a), out = to_device(device(), lu), pivots_out = to_device(device(), pivots);
      const View order_out = to_device(device(), order), status = to_device(device(), info);
      gpu::Encoder encoder(device());
      kernels::lu(encoder, in, out, pivots_out, order_out, status);
      encoder.submit();
      EXPECT_EQ(static_cast<std::int32_t>(element_bits(to_host(device(), status), 0)), 0);
      expect_factors(a, to_host(device(), out), to_host(device(), pivots_out), to_host(device(), order_out), 2e-5);
    }
  }
}

// A column of zeros is left, and reported; the factors are right all the same.
TEST_P(Linalg, LuOfSingularMatrices) {
  for (const std::int64_t n : {6, 150}) {
    const View a = random_view(rng, {n, n}, DType::f32), lu = random_view(rng, {n, n}, DType::f32);
    const View pivots = random_view(rng, {n}, DType::i32), order = random_view(rng, {n}, DType::i32);
    const View info = random_view(rng, {}, DType::i32);
    for (std::int64_t i = 0; i < a.count(); ++i) set(a, i, i % n == n - 2 ? 0 : random_number(rng, false));
    const View in = to_device(device(), a), out = to_device(device(), lu), pivots_out = to_device(device(), pivots);
    const View order_out = to_device(device(), order), status = to_device(device(), info);
    gpu::Encoder encoder(device());
    kernels::lu(encoder, in, out, pivots_out, order_out, status);
    encoder.submit();
    EXPECT_EQ(static_cast<std::int32_t>(element_bits(to_host(device(), status), 0)), n - 1);
    expect_factors(a, to_host(device(), out), to_host(device(), pivots_out), to_host(device(), order_out), 2e-5);
  }
}

TEST(LinalgCpu, DoublesAndErrors) {
  Rng rng{3};
  cpu::Executor executor;
  const View a = random_view(rng, {3, 40, 40}, DType::f64), l = random_view(rng, {3, 40, 40}, DType::f64);
  const View info = random_view(rng, {3}, DType::i32), b = random_view(rng, {3, 40, 5}, DType::f64);
  const View x = random_view(rng, {3, 40, 5}, DType::f64);
  make_definite(rng, a, false);
  kernels::cholesky(executor, a, l, info);
  for (std::int64_t i = 0; i < 40; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      Complex sum = 0;
      for (std::int64_t k = 0; k <= j; ++k) sum += get(l, i * 40 + k) * get(l, j * 40 + k);
      EXPECT_NEAR(sum.real(), get(a, i * 40 + j).real(), 1e-14);
    }
  }
  kernels::triangular_solve(executor, l, b, x);
  for (std::int64_t i = 0; i < 40; ++i) {
    Complex sum = 0;
    for (std::int64_t k = 0; k <= i; ++k) sum += get(l, i * 40 + k) * get(x, k * 5);
    EXPECT_NEAR(sum.real(), get(b, i * 5).real(), 1e-12);
  }
  const View flat = random_view(rng, {40}, DType::f64), wide = random_view(rng, {3, 40, 41}, DType::f64);
  EXPECT_THROW(kernels::cholesky(executor, flat, l, info), InvalidArgument);
  EXPECT_THROW(kernels::cholesky(executor, wide, l, info), InvalidArgument);
  EXPECT_THROW(kernels::cholesky(executor, a, l, b), InvalidArgument);
  EXPECT_THROW(kernels::triangular_solve(executor, l, wide, x), InvalidArgument);
  EXPECT_THROW(kernels::triangular_solve(executor, wide, b, x), InvalidArgument);
  EXPECT_THROW(kernels::triangular_solve(executor, l, b, l), InvalidArgument);
}

// The cpu's two forms: by LAPACK, where the build has it, and by loops.
class LinalgForms : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { set_flag(Flag::lapack, GetParam() ? "on" : "off"); }
  void TearDown() override { reset_flags(); }
  static double epsilon(DType type) { return type == DType::f64 ? 0x1p-52 : 0x1p-23; }
  static constexpr DType kAll[] = {DType::f32, DType::f64, DType::c64};

  // A view of the same values.
  View copied(const View& v, Kind kind) {
    const View y = random_view(rng, v.shape(), v.dtype, kind);
    for (std::int64_t i = 0; i < v.count(); ++i) set_element_bits(y, i, element_bits(v, i));
    return y;
  }
  static std::int32_t integer(const View& v, std::int64_t i) { return static_cast<std::int32_t>(element_bits(v, i)); }

  Rng rng{41};
  cpu::Executor executor;
};
INSTANTIATE_TEST_SUITE_P(Forms, LinalgForms, testing::Bool(),
                         [](const auto& i) { return std::string(i.param ? "lapack" : "loops"); });

TEST_P(LinalgForms, IsTheOneAskedFor) {
  if (!GetParam()) {
    EXPECT_EQ(kernels::lapack<float>(1), nullptr);
  }
  EXPECT_EQ(kernels::lapack<float>(std::int64_t{1} << 31), nullptr);
  const View a = random_view(rng, {64, 64}, DType::f32), l = random_view(rng, {64, 64}, DType::f32);
  const View info = random_view(rng, {}, DType::i32);
  make_definite(rng, a, false);
  cpu::KernelForm form;
  const cpu::FormListener listener(&form);
  kernels::cholesky(executor, a, l, info);
  EXPECT_EQ(form.variant(), kernels::lapack<float>(1) ? "lapack" : "loops");
}

// |a - l lᴴ|, of a's largest element, in f64.
TEST_P(LinalgForms, CholeskyOfEveryLayout) {
  for (const DType type : kAll) {
    for (const std::int64_t n : {1, 7, 70, 200}) {
      for (const bool upper : {false, true}) {
        const View values = random_view(rng, {n, n}, type);
        make_definite(rng, values, upper);
        for (int layout = 0; layout < (n > 100 ? 2 : 7); ++layout) {
          const Kind from = kOutputKinds[layout % 5], to = kOutputKinds[(layout < 5 ? layout : layout + 1) % 5];
          const View a = copied(values, from), l = layout == 3 ? a : random_view(rng, {n, n}, type, to);
          const View info = random_view(rng, {}, DType::i32);
          kernels::cholesky(executor, a, l, info, {.upper = upper});
          ASSERT_EQ(integer(info, 0), 0);
          double worst = 0, largest = 0;
          // l, whichever triangle it is in.
          const auto factor = [&](std::int64_t i, std::int64_t k) {
            return upper ? std::conj(get(l, k * n + i)) : get(l, i * n + k);
          };
          for (std::int64_t i = 0; i < n; ++i) {
            ASSERT_GT(factor(i, i).real(), 0);
            ASSERT_EQ(factor(i, i).imag(), 0);
            for (std::int64_t j = i + 1; j < n; ++j) ASSERT_EQ(factor(i, j), 0.0);
            for (std::int64_t j = 0; j <= i; ++j) {
              Complex sum = 0;
              for (std::int64_t k = 0; k <= j; ++k) sum += factor(i, k) * std::conj(factor(j, k));
              const Complex expected = upper ? std::conj(get(values, j * n + i)) : get(values, i * n + j);
              worst = std::max(worst, std::abs(sum - expected));
              largest = std::max(largest, std::abs(expected));
            }
          }
          // Of k products each rounds once; errors of either sign cancel to about the root of k.
          EXPECT_LE(worst, 4 * epsilon(type) * std::sqrt(static_cast<double>(n)) * largest)
              << name(type) << " " << n << (upper ? " upper " : " lower ") << layout;
        }
      }
    }
  }
}

// As the header says: the order of the first minor that is not positive definite; the columns from there on are NaN,
// those in front are as they were, and the other triangle is 0.
TEST_P(LinalgForms, CholeskyOfIndefiniteMatrices) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const DType type : kAll) {
    for (const std::int64_t n : {7, 40, 150}) {
      if (n > 100 && type != DType::f32) continue;
      for (const bool upper : {false, true}) {
        const View good = random_view(rng, {n, n}, type), factor = random_view(rng, {n, n}, type);
        const View info = random_view(rng, {}, DType::i32);
        make_definite(rng, good, upper);
        kernels::cholesky(executor, good, factor, info, {.upper = upper});
        for (const std::int64_t bad : {std::int64_t{0}, n / 2, n - 1}) {
          for (const double value : {-1.0, 0.0, kNan, kInf}) {
            for (const std::int64_t column : {bad, bad / 2}) {
              if (column != bad && !(value > 1 || std::isnan(value))) continue;
              const auto at = [&](std::int64_t i, std::int64_t j) { return upper ? j * n + i : i * n + j; };
              const View a = copied(good, Kind::dense);
              set(a, at(bad, column), value);
              const View l = random_view(rng, {n, n}, type, bad ? Kind::dense : Kind::sliced);
              kernels::cholesky(executor, a, l, info, {.upper = upper});
              ASSERT_EQ(integer(info, 0), bad + 1) << name(type) << " " << n << " " << value << " " << column;
              for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t j = 0; j < n; ++j) {
                  const Complex v = get(l, at(i, j));
                  if (j > i) {
                    ASSERT_EQ(v, 0.0);
                  } else if (j >= bad) {
                    ASSERT_TRUE(std::isnan(v.real()) && (type != DType::c64 || std::isnan(v.imag())));
                  } else if (i < bad) {
                    ASSERT_LE(std::abs(v - get(factor, at(i, j))), 16 * epsilon(type));
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(LinalgForms, LuOfEveryLayout) {
  using Size = std::pair<std::int64_t, std::int64_t>;
  for (const DType type : kAll) {
    for (const auto& [m, n] : {Size{0, 3}, {3, 0}, {1, 1}, {20, 20}, {200, 200}, {300, 70}, {70, 300}, {129, 161}}) {
      const View values = random_view(rng, {m, n}, type);
      for (std::int64_t i = 0; i < values.count(); ++i) set(values, i, random_number(rng, type == DType::c64));
      for (int layout = 0; layout < (m * n > 10000 ? 3 : 6); ++layout) {
        const View a = copied(values, kOutputKinds[layout % 5]);
        const View lu = layout == 2 ? a : random_view(rng, {m, n}, type, kOutputKinds[(layout * 2) % 5]);
        const View pivots = random_view(rng, {std::min(m, n)}, DType::i32, kOutputKinds[layout % 5]);
        const View order = random_view(rng, {m}, DType::i32, kOutputKinds[layout % 5]);
        const View info = random_view(rng, {}, DType::i32);
        kernels::lu(executor, a, lu, pivots, order, info);
        ASSERT_EQ(integer(info, 0), 0);
        expect_factors(values, lu, pivots, order, 160 * epsilon(type));
      }
    }
  }
}

// Small matrices are divided among threads.
TEST_P(LinalgForms, LuOfManyMatrices) {
  const View a = random_view(rng, {300, 16, 16}, DType::f32), lu = random_view(rng, {300, 16, 16}, DType::f32);
  const View pivots = random_view(rng, {300, 16}, DType::i32), order = random_view(rng, {300, 16}, DType::i32);
  const View info = random_view(rng, {300}, DType::i32);
  for (std::int64_t i = 0; i < a.count(); ++i) set(a, i, i % 16 == 3 && i / 256 % 2 ? 0 : random_number(rng, false));
  kernels::lu(executor, a, lu, pivots, order, info);
  const auto one = [](const View& v, std::int64_t k, const Shape& shape) {
    return View(v.buffer, v.offset + static_cast<std::uint64_t>(k * element_count(shape)) * 4, v.dtype, shape);
  };
  for (std::int64_t k = 0; k < 300; ++k) {
    ASSERT_EQ(integer(info, k), k % 2 ? 4 : 0);
    expect_factors(one(a, k, {16, 16}), one(lu, k, {16, 16}), one(pivots, k, {16}), one(order, k, {16}), 1e-5);
  }
}

// What is no number, or becomes none, leaves pivots that are rows, and the order that they make.
TEST_P(LinalgForms, LuOfWhatIsNoNumber) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const DType type : kAll) {
    for (const std::int64_t n : {5, 150}) {
      for (const double value : {kNan, kInf, -kInf, 0.99 * (type == DType::f64 ? 1.7e308 : 3.4e38)}) {
        const View a = random_view(rng, {n, n}, type), lu = random_view(rng, {n, n}, type);
        const View pivots = random_view(rng, {n}, DType::i32), order = random_view(rng, {n}, DType::i32);
        const View info = random_view(rng, {}, DType::i32);
        for (std::int64_t i = 0; i < a.count(); ++i) {
          const Complex v = random_number(rng, type == DType::c64);
          set(a, i, i % 7 == 3 ? value : std::abs(value) < kInf ? v * value : v);
        }
        kernels::lu(executor, a, lu, pivots, order, info);
        std::vector<std::int32_t> rows(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) rows[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
        for (std::int64_t k = 0; k < n; ++k) {
          ASSERT_GE(integer(pivots, k), k);
          ASSERT_LT(integer(pivots, k), n);
          std::swap(rows[static_cast<std::size_t>(k)], rows[static_cast<std::size_t>(integer(pivots, k))]);
        }
        for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(integer(order, i), rows[static_cast<std::size_t>(i)]);
        if (!std::isfinite(value)) {
          EXPECT_FALSE(std::isfinite(std::abs(get(lu, n * n - 1))));
        }
      }
    }
  }
}

// |op(a) x - b| in f64. The triangle that does not count, and a unit diagonal, are NaN.
TEST_P(LinalgForms, SolutionsOfEveryLayout) {
  using Size = std::pair<std::int64_t, std::int64_t>;
  for (const DType type : kAll) {
    for (const auto& [n, m] : {Size{1, 1}, {5, 1}, {33, 7}, {64, 64}, {150, 40}, {40, 150}}) {
      for (int options = 0; options < 8; ++options) {
        const kernels::TriangularSolveOptions o{(options & 1) != 0, (options & 2) != 0, (options & 4) != 0};
        for (int layout = n * m > 5000 ? 3 : 0; layout < 5; ++layout) {
          const View values = random_view(rng, {2, n, n}, type), right = random_view(rng, {2, n, m}, type);
          make_triangular(rng, values, o);
          for (std::int64_t i = 0; i < right.count(); ++i) set(right, i, random_number(rng, type == DType::c64));
          const View a = copied(values, kOutputKinds[layout]), b = copied(right, kOutputKinds[(layout * 3) % 5]);
          const View x = layout == 1 ? b : random_view(rng, {2, n, m}, type, kOutputKinds[(layout + options) % 5]);
          kernels::triangular_solve(executor, a, b, x, o);
          double worst = 0;
          for (std::int64_t k = 0; k < 2; ++k) {
            for (std::int64_t i = 0; i < n; ++i) {
              for (std::int64_t j = 0; j < m; ++j) {
                Complex sum = -get(right, (k * n + i) * m + j);
                for (std::int64_t p = 0; p < n; ++p) {
                  const bool counts = o.upper != o.adjoint ? p >= i : p <= i;
                  if (!counts) continue;
                  const Complex v = get(values, o.adjoint ? (k * n + p) * n + i : (k * n + i) * n + p);
                  sum += (p == i && o.unit ? 1 : o.adjoint ? std::conj(v) : v) * get(x, (k * n + p) * m + j);
                }
                worst = std::max(worst, std::abs(sum));
              }
            }
          }
          EXPECT_LE(worst, 32 * epsilon(type)) << name(type) << " " << n << " " << m << " " << options << " " << layout;
        }
      }
    }
  }
}

// The last unknown is one division, as IEEE 754 has it, also by 0, by what has no inverse, and of what is no number.
TEST_P(LinalgForms, DivisionsByTheDiagonal) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const DType type : {DType::f32, DType::f64}) {
    const bool wide = type == DType::f64;
    const std::vector<double> numbers{
        1, -2, 0.0, -0.0, kNan, kInf, wide ? 1e-310 : 1e-40, wide ? 1.5e308 : 3e38, wide ? 3e-308 : 1.5e-38};
    for (const std::int64_t n : {1, 40}) {
      for (const double d : numbers) {
        for (const double v : numbers) {
          const View a = random_view(rng, {n, n}, type), b = random_view(rng, {n, 3}, type);
          const View x = random_view(rng, {n, 3}, type);
          for (std::int64_t i = 0; i < n * n; ++i) set(a, i, i % n == i / n ? 1 : 0);
          for (std::int64_t i = 0; i < 3 * n; ++i) set(b, i, i / 3 == n - 1 ? v : 1);
          set(a, n * n - 1, d);
          const double right = get(b, 3 * n - 1).real(), by = get(a, n * n - 1).real();
          const double expected = wide ? right / by : static_cast<float>(right) / static_cast<float>(by);
          kernels::triangular_solve(executor, a, b, x);
          for (int j = 0; j < 3; ++j) {
            const double got = get(x, 3 * n - 3 + j).real();
            if (std::isfinite(expected) && expected != 0) {
              EXPECT_NEAR(got / expected, 1, 2 * epsilon(type)) << right << " / " << by;
            } else {
              EXPECT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected)
                  << right << " / " << by << ": " << got;
            }
          }
        }
      }
    }
  }
}

// ---- QR factors, eigenvalues and singular values

struct Dense {
  std::int64_t rows, columns;
  std::vector<Complex> values;
  Dense(std::int64_t rows, std::int64_t columns)
      : rows(rows), columns(columns), values(static_cast<std::size_t>(rows * columns)) {}
  Complex& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
  const Complex& operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};
// Matrix k of a batch.
Dense dense(const View& v, std::int64_t k = 0) {
  Dense d(v.shape()[-2], v.shape()[-1]);
  for (std::size_t i = 0; i < d.values.size(); ++i)
    d.values[i] = get(v, k * d.rows * d.columns + static_cast<std::int64_t>(i));
  return d;
}
Dense adjoint(const Dense& x) {
  Dense y(x.columns, x.rows);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) y(j, i) = std::conj(x(i, j));
  }
  return y;
}
Dense product(const Dense& x, const Dense& y) {
  Dense z(x.rows, y.columns);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t k = 0; k < x.columns; ++k) {
      for (std::int64_t j = 0; j < y.columns; ++j) z(i, j) += x(i, k) * y(k, j);
    }
  }
  return z;
}
// The Frobenius norm of x, or of x - y.
double norm(const Dense& x, const Dense* y = nullptr) {
  double sum = 0;
  for (std::size_t i = 0; i < x.values.size(); ++i) sum += std::norm(x.values[i] - (y ? y->values[i] : 0.0));
  return std::sqrt(sum);
}
double distance(const Dense& x, const Dense& y) { return norm(x, &y); }
// Of columns from orthonormal ones.
double off_orthonormal(const Dense& x) {
  Dense one(x.columns, x.columns);
  for (std::int64_t i = 0; i < x.columns; ++i) one(i, i) = 1;
  return distance(product(adjoint(x), x), one);
}
bool all_nan(const View& v, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (!std::isnan(get(v, i).real())) return false;
  }
  return true;
}
constexpr std::pair<std::int64_t, std::int64_t> kRectangles[] = {{0, 0}, {0, 3},   {3, 0},    {1, 1},   {7, 5},
                                                                 {5, 7}, {64, 64}, {130, 40}, {40, 130}};

// |a - q r| and |qᴴ q - 1| within the bounds of LAPACK's own tests (its working note 41), which are 30 times these.
TEST_P(LinalgForms, QrOfEveryLayout) {
  using kernels::QrMode;
  for (const DType type : kAll) {
    for (const auto& [m, n] : kRectangles) {
      for (const QrMode mode : {QrMode::reduced, QrMode::complete, QrMode::r}) {
        for (int layout = 0; layout < 5; ++layout) {
          const std::int64_t k = std::min(m, n), columns = mode == QrMode::r ? 0 : mode == QrMode::complete ? m : k;
          const View a = random_view(rng, {2, m, n}, type, kOutputKinds[layout]);
          const View q = random_view(rng, {2, m, columns}, type, kOutputKinds[(layout * 2) % 5]);
          const View r =
              random_view(rng, {2, mode == QrMode::complete ? m : k, n}, type, kOutputKinds[(layout * 3) % 5]);
          for (std::int64_t i = 0; i < a.count(); ++i) set(a, i, random_number(rng, type == DType::c64));
          const bool spoiled = a.count() && layout % 2;  // the second matrix
          if (spoiled) set(a, a.count() - 1, layout == 1 ? std::numeric_limits<double>::quiet_NaN() : INFINITY);
          kernels::qr(executor, a, q, r, {mode});
          const double size = static_cast<double>(std::max(m, n));
          const std::string what = std::format("{} {} {} {} {}", name(type), m, n, static_cast<int>(mode), layout);
          for (std::int64_t b = 0; b < (spoiled ? 1 : 2); ++b) {
            const Dense of_a = dense(a, b), of_r = dense(r, b), of_q = dense(q, b);
            for (std::int64_t i = 0; i < of_r.rows; ++i) {
              for (std::int64_t j = 0; j < std::min(i, n); ++j) ASSERT_EQ(of_r(i, j), 0.0) << what;
              if (i < n) {
                ASSERT_EQ(of_r(i, i).imag(), 0) << what;
              }
            }
            if (mode == QrMode::r) {
              // rᴴ r = aᴴ a.
              const Dense squares = product(adjoint(of_a), of_a);
              EXPECT_LE(distance(product(adjoint(of_r), of_r), squares), 2 * epsilon(type) * size * norm(squares))
                  << what;
            } else {
              EXPECT_LE(distance(product(of_q, of_r), of_a), epsilon(type) * size * norm(of_a)) << what;
              EXPECT_LE(off_orthonormal(of_q), epsilon(type) * size) << what;
            }
          }
          if (spoiled) {
            EXPECT_TRUE(all_nan(q, q.count() / 2, q.count())) << what;
            for (std::int64_t i = 0; i < r.shape()[-2]; ++i) {
              for (std::int64_t j = 0; j < n; ++j) {
                const Complex v = get(r, r.count() / 2 + i * n + j);
                EXPECT_TRUE(j < i ? v == 0.0 : std::isnan(v.real())) << what;
              }
            }
          }
        }
      }
    }
  }
}

// |a v - v diag(w)| and |vᴴ v - 1|, also of matrices whose squares overflow; the other triangle is NaN.
TEST_P(LinalgForms, EigenvaluesOfEveryLayout) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const DType type : kAll) {
    for (const std::int64_t n : {0, 1, 5, 33, 130}) {
      for (const bool upper : {false, true}) {
        for (int layout = 0; layout < 5; ++layout) {
          if (n > 100 && layout < 3) continue;
          const double scale = layout == 2 ? 1e-30 : layout == 3 ? 1e30 : 1;
          const View a = random_view(rng, {2, n, n}, type, kOutputKinds[layout]);
          const View v = random_view(rng, {2, n, n}, type, kOutputKinds[(layout * 3 + 1) % 5]);
          const DType real = type == DType::c64 ? DType::f32 : type;
          const View w = random_view(rng, {2, n}, real, kOutputKinds[layout]), alone = random_view(rng, {2, n}, real);
          const View info = random_view(rng, {2}, DType::i32), other_info = random_view(rng, {2}, DType::i32);
          std::vector<Dense> whole(2, Dense(n, n));
          for (std::int64_t b = 0; b < 2; ++b) {
            Dense& x = whole[static_cast<std::size_t>(b)];
            for (std::int64_t i = 0; i < n; ++i) {
              for (std::int64_t j = 0; j <= i; ++j) {
                const std::int64_t kept = b * n * n + (upper ? j * n + i : i * n + j);
                set(a, b * n * n + (upper ? i * n + j : j * n + i), {kNan, kNan});
                set(a, kept, random_number(rng, type == DType::c64 && i != j) * scale);
                const Complex element = get(a, kept);
                x(i, j) = upper ? std::conj(element) : element;
                x(j, i) = std::conj(x(i, j));
                if (i == j && type == DType::c64) set(a, kept, {element.real(), kNan});  // which nothing reads
              }
            }
          }
          const bool spoiled = n && layout == 4;
          if (spoiled) set(a, n * n + (upper ? n - 1 : (n - 1) * n), upper ? kNan : INFINITY);
          kernels::eigh(executor, a, w, info, v, {upper});
          kernels::eigh(executor, a, alone, other_info, {}, {upper});
          const std::string what = std::format("{} {} {} {}", name(type), n, upper, layout);
          for (std::int64_t b = 0; b < (spoiled ? 1 : 2); ++b) {
            ASSERT_EQ(integer(info, b), 0) << what;
            ASSERT_EQ(integer(other_info, b), 0) << what;
            const Dense &x = whole[static_cast<std::size_t>(b)], of_v = dense(v, b);
            Dense scaled = of_v;
            double largest = 0;
            for (std::int64_t j = 0; j < n; ++j) {
              const double value = get(w, b * n + j).real();
              largest = std::max(largest, std::abs(value));
              if (j) {
                ASSERT_GE(value, get(w, b * n + j - 1).real()) << what;
              }
              for (std::int64_t i = 0; i < n; ++i) scaled(i, j) *= value;
            }
            // (LAPACK's own tests allow 30. Without fused multiply-adds, as in WebAssembly, it is up to 2.4.)
            const double allowed = 3 * epsilon(type) * static_cast<double>(n);
            EXPECT_LE(distance(product(x, of_v), scaled), allowed * largest) << what;
            EXPECT_LE(off_orthonormal(of_v), allowed) << what;
            for (std::int64_t j = 0; j < n; ++j)
              EXPECT_NEAR(get(w, b * n + j).real(), get(alone, b * n + j).real(), allowed * largest) << what;
          }
          if (spoiled) {
            EXPECT_EQ(integer(info, 1), 1);
            EXPECT_EQ(integer(other_info, 1), 1);
            EXPECT_TRUE(all_nan(v, n * n, 2 * n * n) && all_nan(w, n, 2 * n) && all_nan(alone, n, 2 * n)) << what;
          }
        }
      }
    }
  }
}

// |a - u diag(s) vh|, and how far vectors are from orthonormal.
TEST_P(LinalgForms, SingularValuesOfEveryLayout) {
  for (const DType type : kAll) {
    for (const auto& [m, n] : kRectangles) {
      for (const bool full : {false, true}) {
        for (int layout = 0; layout < 5; ++layout) {
          if (m + n > 150 && layout < 3) continue;
          const double scale = layout == 2 ? 1e-30 : layout == 3 ? 1e30 : 1;
          const std::int64_t k = std::min(m, n);
          const DType real = type == DType::c64 ? DType::f32 : type;
          const View a = random_view(rng, {2, m, n}, type, kOutputKinds[layout]);
          const View u = random_view(rng, {2, m, full ? m : k}, type, kOutputKinds[(layout * 2) % 5]);
          const View vh = random_view(rng, {2, full ? n : k, n}, type, kOutputKinds[(layout * 3 + 2) % 5]);
          const View s = random_view(rng, {2, k}, real, kOutputKinds[layout]), alone = random_view(rng, {2, k}, real);
          const View info = random_view(rng, {2}, DType::i32), other_info = random_view(rng, {2}, DType::i32);
          for (std::int64_t i = 0; i < a.count(); ++i) set(a, i, random_number(rng, type == DType::c64) * scale);
          if (layout == 0) {  // rank 1, and 0
            for (std::int64_t i = 0; i < a.count(); ++i)
              set(a, i, i < m * n ? 1.0 + i / std::max<std::int64_t>(n, 1) : 0);
          }
          const bool spoiled = a.count() && layout == 4;
          if (spoiled) set(a, m * n, std::numeric_limits<double>::quiet_NaN());
          kernels::svd(executor, a, u, s, vh, info, {full});
          kernels::svdvals(executor, a, alone, other_info);
          const std::string what = std::format("{} {} {} {} {}", name(type), m, n, full, layout);
          const double allowed = 2 * epsilon(type) * static_cast<double>(std::max(m, n));
          for (std::int64_t b = 0; b < (spoiled ? 1 : 2); ++b) {
            ASSERT_EQ(integer(info, b), 0) << what;
            ASSERT_EQ(integer(other_info, b), 0) << what;
            const Dense of_a = dense(a, b), of_u = dense(u, b), of_vh = dense(vh, b);
            Dense scaled(m, n);
            for (std::int64_t j = 0; j < k; ++j) {
              const double value = get(s, b * k + j).real();
              ASSERT_GE(value, 0) << what;
              if (j) {
                ASSERT_LE(value, get(s, b * k + j - 1).real()) << what;
              }
              for (std::int64_t i = 0; i < m; ++i) {
                for (std::int64_t p = 0; p < n; ++p) scaled(i, p) += of_u(i, j) * value * of_vh(j, p);
              }
            }
            const double largest = k ? get(s, b * k).real() : 0;
            EXPECT_LE(distance(scaled, of_a),
                      allowed * largest * std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1))))
                << what;
            EXPECT_LE(off_orthonormal(of_u), allowed) << what;
            EXPECT_LE(off_orthonormal(adjoint(of_vh)), allowed) << what;
            for (std::int64_t j = 0; j < k; ++j)
              EXPECT_NEAR(get(s, b * k + j).real(), get(alone, b * k + j).real(), allowed * largest) << what;
          }
          if (spoiled) {
            EXPECT_EQ(integer(info, 1), 1);
            EXPECT_EQ(integer(other_info, 1), 1);
            EXPECT_TRUE(all_nan(u, u.count() / 2, u.count()) && all_nan(vh, vh.count() / 2, vh.count()) &&
                        all_nan(s, k, 2 * k) && all_nan(alone, k, 2 * k))
                << what;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
