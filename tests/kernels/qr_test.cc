// QR factors: GPU results against the CPU's. Their values and residuals are in tests/ops/qr_test.cc.
#include <cmath>
#include <complex>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/linalg.h"

namespace weft::test {
namespace {

using kernels::QrMode;
using testing::HasSubstr;

void set(const View& v, std::int64_t i, std::complex<double> c) {
  std::uint64_t b = std::bit_cast<std::uint32_t>(static_cast<float>(c.real()));
  if (v.dtype == DType::c64) b |= std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(c.imag()))} << 32;
  set_element_bits(v, i, b);
}

// Random matrices with a diagonal of either sign that makes them well conditioned, so that factors can be compared.
void make_matrices(Rng& rng, const View& a) {
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], matrices = a.count() / std::max<std::int64_t>(m * n, 1);
  const auto part = [&] { return random_int(rng, -1000, 1000) / 1000.0; };
  for (std::int64_t e = 0; e < matrices * m * n; ++e) {
    std::complex<double> v(part(), a.dtype == DType::c64 ? part() : 0);
    if (e / n % m == e % n) v += (rng() % 2 ? 1.5 : -1.5) * std::sqrt(static_cast<double>(std::max(m, n)));
    set(a, e, v);
  }
}

constexpr DType kTypes[] = {DType::f32, DType::c64};
constexpr int kSizes[] = {0, 1, 2, 5, 16, 17, 32, 33, 64, 65, 100, 130};
constexpr QrMode kModes[] = {QrMode::reduced, QrMode::complete, QrMode::r};

const bool qr_registered = differential(
    "qr",
    [](Rng& rng) {
      const DType type = pick(rng, kTypes);
      const QrMode mode = pick(rng, kModes);
      // Tall ones are reflected by several workgroups.
      const bool tall = rng() % 6 == 0;
      const int m = tall ? 1030 : pick(rng, kSizes), n = rng() % 2 && !tall ? m : pick(rng, kSizes) % (tall ? 40 : 200);
      const Shape batch = random_shape(rng, 0, 3, m > 32 || n > 32 ? 4 : 40);
      const std::int64_t k = std::min(m, n);
      const bool complete = mode == QrMode::complete && !tall;
      const QrMode used = tall && mode == QrMode::complete ? QrMode::reduced : mode;
      const auto with = [&](std::int64_t rows, std::int64_t columns) {
        Shape shape = batch;
        shape.push_back(rows);
        shape.push_back(columns);
        return shape;
      };
      const View a = random_view(rng, with(m, n), type, random_output_kind(rng));
      make_matrices(rng.details(), a);
      const View q = random_view(rng, with(m, used == QrMode::r ? 0 : complete ? m : k), type, random_output_kind(rng));
      const View r = random_view(rng, with(complete ? m : k, n), type, random_output_kind(rng));
      return Problem{std::format("qr of {} to {} and {}", to_string(a), to_string(q), to_string(r)),
                     {a},
                     {q, r},
                     [used](Stream& s, auto in, auto out) { kernels::qr(s, in[0], out[0], out[1], {used}); },
                     {.absolute = 2e-5, .relative = 2e-5}};
    },
    2);

TEST(QrKernel, SaysWhatDoesNotFit) {
  Rng rng{3};
  cpu::Executor cpu;
  const auto view = [&](const Shape& shape, DType type = DType::f32) { return random_view(rng, shape, type); };
  const View a = view({2, 5, 3}), q = view({2, 5, 3}), r = view({2, 3, 3});
  const auto refused = [&](const View& x, const View& y, const View& z, QrMode mode) {
    return refused_by([&] { kernels::qr(cpu, x, y, z, {mode}); });
  };
  kernels::qr(cpu, a, q, r);
  EXPECT_THAT(refused(view({3}), q, r, QrMode::reduced), HasSubstr("qr: a"));
  EXPECT_THAT(refused(a, view({2, 5, 5}), r, QrMode::reduced), HasSubstr("qr: q is f32 [2, 5, 5]; expected the shape"));
  EXPECT_THAT(refused(a, q, view({2, 5, 3}), QrMode::reduced), HasSubstr("qr: r is f32 [2, 5, 3]; expected the shape"));
  EXPECT_THAT(refused(a, q, r, QrMode::complete), HasSubstr("expected the shape [2, 5, 5]"));
  EXPECT_THAT(refused(a, q, r, QrMode::r), HasSubstr("expected the shape [2, 5, 0]"));
  EXPECT_THAT(refused(a, q, view({2, 3, 3}, DType::f64), QrMode::reduced), HasSubstr("qr: "));
  EXPECT_THAT(refused(a, a, r, QrMode::reduced), HasSubstr("qr: "));
}

}  // namespace
}  // namespace weft::test
