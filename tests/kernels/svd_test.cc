// Singular values: GPU results against the CPU's. Their values and residuals are in tests/ops/svd_test.cc.
#include <cmath>
#include <complex>
#include <numbers>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/linalg.h"

namespace weft::test {
namespace {

using testing::HasSubstr;
using Complex = std::complex<double>;

void set(const View& v, std::int64_t i, Complex c) {
  std::uint64_t b = std::bit_cast<std::uint32_t>(static_cast<float>(c.real()));
  if (v.dtype == DType::c64) b |= std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(c.imag()))} << 32;
  set_element_bits(v, i, b);
}

// An orthogonal matrix of n rows, the discrete Hartley transform, with rows and columns of either sign, or any phase.
class Orthogonal {
 public:
  Orthogonal(Rng& rng, std::int64_t n, bool complex) : n_(n) {
    for (std::int64_t i = 0; i < 2 * n; ++i) {
      const double angle = std::numbers::pi * random_int(rng, 0, 1000) / 500;
      phases_.push_back(complex ? std::polar(1.0, angle) : Complex(rng() % 2 ? 1 : -1));
    }
  }
  Complex operator()(std::int64_t i, std::int64_t j) const {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i * j % n_) / static_cast<double>(n_);
    return (std::cos(angle) + std::sin(angle)) / std::sqrt(static_cast<double>(n_)) *
           phases_[static_cast<std::size_t>(i)] * phases_[static_cast<std::size_t>(n_ + j)];
  }

 private:
  std::int64_t n_;
  std::vector<Complex> phases_;
};

// Matrices with the singular values 1, 1 - 1/k, 1 - 2/k, …, so that vectors can be compared.
void make_matrices(Rng& rng, const View& a) {
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], k = std::min(m, n);
  for (std::int64_t first = 0; first < a.count(); first += m * n) {
    const Orthogonal u(rng, m, a.dtype == DType::c64), v(rng, n, a.dtype == DType::c64);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Complex sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += u(i, p) * (1 - static_cast<double>(p) / static_cast<double>(k)) * v(j, p);
        }
        set(a, first + i * n + j, sum);
      }
    }
  }
}

// x = |x|², which does not depend on the phases of vectors.
void make_squares(Stream& s, const View& x) {
  if (x.count() == 0) return;
  Expression e;
  const int value = e.input(x.dtype);
  e.output(e.apply(ScalarOp::mul, {value, x.dtype == DType::c64 ? e.apply(ScalarOp::conj, {value}) : value}));
  kernels::map(s, e, std::span(&x, 1), std::span(&x, 1));
}

constexpr DType kTypes[] = {DType::f32, DType::c64};
constexpr int kSizes[] = {0, 1, 2, 5, 16, 17, 33, 40, 64, 70};

Shape with(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

const bool svd_registered = differential(
    "svd",
    [](Rng& rng) {
      const DType type = pick(rng, kTypes);
      const int m = pick(rng, kSizes), n = rng() % 2 ? m : pick(rng, kSizes);
      const std::int64_t k = std::min(m, n);
      const bool full = rng() % 2 == 0;
      const Shape batch = random_shape(rng, 0, 3, m > 20 || n > 20 ? 2 : 20);
      const View a = random_view(rng, with(batch, m, n), type, random_output_kind(rng));
      make_matrices(rng.details(), a);
      const View u = random_view(rng, with(batch, m, full ? m : k), type, random_output_kind(rng));
      const View vh = random_view(rng, with(batch, full ? n : k, n), type, random_output_kind(rng));
      Shape values = batch;
      values.push_back(k);
      const View s = random_view(rng, values, DType::f32, random_output_kind(rng));
      const View info = random_view(rng, batch, DType::i32, random_output_kind(rng));
      return Problem{std::format("svd of {} to {}, {} and {}", to_string(a), to_string(u), to_string(s), to_string(vh)),
                     {a},
                     {u, s, vh, info},
                     [full, k](Stream& stream, auto in, auto out) {
                       kernels::svd(stream, in[0], out[0], out[1], out[2], out[3], {full});
                       make_squares(stream, out[0]);
                       make_squares(stream, out[2]);
                       // Any vectors complete the others.
                       if (full) {
                         kernels::fill(stream, 0, kernels::slice(out[0], -1, k));
                         kernels::fill(stream, 0, kernels::slice(out[2], -2, k));
                       }
                     },
                     {.absolute = 2e-4}};
    },
    4);

const bool svdvals_registered = differential(
    "svdvals",
    [](Rng& rng) {
      const DType type = pick(rng, kTypes);
      const int m = pick(rng, kSizes), n = rng() % 2 ? m : pick(rng, kSizes);
      const Shape batch = random_shape(rng, 0, 3, m > 20 || n > 20 ? 2 : 20);
      const View a = random_view(rng, with(batch, m, n), type, random_output_kind(rng));
      const auto part = [&] { return random_int(rng.details(), -1000, 1000) / 1000.0; };
      for (std::int64_t i = 0; i < a.count(); ++i) set(a, i, {part(), type == DType::c64 ? part() : 0});
      Shape values = batch;
      values.push_back(std::min(m, n));
      const View s = random_view(rng, values, DType::f32, random_output_kind(rng));
      const View info = random_view(rng, batch, DType::i32, random_output_kind(rng));
      return Problem{std::format("svdvals of {} to {}", to_string(a), to_string(s)),
                     {a},
                     {s, info},
                     [](Stream& stream, auto in, auto out) { kernels::svdvals(stream, in[0], out[0], out[1]); },
                     {.absolute = 5e-5}};
    },
    4);

TEST(SvdKernel, SaysWhatDoesNotFit) {
  Rng rng{3};
  cpu::Executor cpu;
  const auto view = [&](const Shape& shape, DType type = DType::f32) { return random_view(rng, shape, type); };
  const View a = view({2, 5, 3}), u = view({2, 5, 5}), s = view({2, 3}), vh = view({2, 3, 3});
  const View info = view({2}, DType::i32);
  const auto refused = [&](const View& x, const View& left, const View& values, const View& right, const View& state) {
    return refused_by([&] { kernels::svd(cpu, x, left, values, right, state); });
  };
  kernels::svd(cpu, a, u, s, vh, info);
  EXPECT_THAT(refused(view({3}), u, s, vh, info), HasSubstr("svd: a"));
  EXPECT_THAT(refused(a, a, s, vh, info), HasSubstr("svd: u is f32 [2, 5, 3]; expected the shape [2, 5, 5]"));
  EXPECT_THAT(refused(a, u, view({2, 5}), vh, info), HasSubstr("svd: s is"));
  EXPECT_THAT(refused(a, u, s, view({2, 5, 3}), info), HasSubstr("svd: vh is"));
  EXPECT_THAT(refused(a, u, s, vh, view({3}, DType::i32)), HasSubstr("svd: info is"));
  EXPECT_THAT(refused(a, u, view({2, 3}, DType::f64), vh, info), HasSubstr("svd: "));
  EXPECT_THAT(refused(view({2, 5, 3}, DType::c64), u, s, vh, info), HasSubstr("svd: "));
  const View square = view({2, 3, 3});
  EXPECT_THAT(refused(square, square, s, vh, info), HasSubstr("svd: "));
  EXPECT_THAT(refused_by([&] { kernels::svd(cpu, a, u, s, vh, info, {false}); }), HasSubstr("the shape [2, 5, 3]"));
  EXPECT_THAT(refused_by([&] { kernels::svdvals(cpu, a, view({2, 5}), info); }), HasSubstr("svdvals: s is"));
}

}  // namespace
}  // namespace weft::test
