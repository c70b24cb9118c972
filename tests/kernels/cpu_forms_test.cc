// Forms that the CPU's kernels take for some layouts, types and sizes: against the definitions, written down here for
// one element.
#include <cmath>
#include <limits>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/differential.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/grid_sample.h"
#include "weft/kernels/index.h"
#include "weft/kernels/pad.h"
#include "weft/kernels/quantize.h"
#include "weft/kernels/resize.h"

namespace weft::test {
namespace {

// ---- Casts where an expression's operands are loaded and its results are stored

constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32};

const std::vector<double> kEdges{
    NAN,          INFINITY,      -INFINITY,     0.0,          -0.0,         0.5,     -0.5,       0.99999994,
    -0.99999994,  1e-40,         -1e-40,        127,          127.9,        128,     -128,       -128.9,
    -129,         255,           255.5,         256,          32767,        32767.5, 32768,      -32768.5,
    -32769,       65535,         65536,         -1,           3e38,         -3e38,   2147483520, 2147483648.0,
    2147483904.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0, 1e10,    -1e10,      16777217};

double low_of(DType t) { return is_signed(t) ? -std::exp2(bits(t) - 1) : 0; }
double high_of(DType t) { return std::exp2(is_signed(t) ? bits(t) - 1 : bits(t)) - 1; }
// Towards zero, saturating, NaN to 0.
double as_integer(double v, DType t) { return std::isnan(v) ? 0 : std::clamp(std::trunc(v), low_of(t), high_of(t)); }

View floats(const std::vector<double>& from, std::int64_t n) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(from[static_cast<std::size_t>(i) % from.size()]);
  return host_view(DType::f32, {n}, v);
}

TEST(CpuForms, FloatsAreStoredAsIntegers) {
  cpu::Executor cpu(1);
  for (const DType type : kIntegers) {
    Expression e;
    const int x = e.input(DType::f32);
    e.output(e.cast(x, type));
    e.output(e.apply(ScalarOp::neg, {x}));
    e.output(e.cast(e.apply(ScalarOp::neg, {x}), type));
    for (const std::int64_t n : {1, 15, 33, 513, 1000}) {
      const View in = floats(kEdges, n);
      for (const Kind kind : kOutputKinds) {
        Rng rng(7);
        const std::vector<View> out{random_view(rng, {n}, type, kind), random_view(rng, {n}, DType::f32, kind),
                                    random_view(rng, {n}, type, kind)};
        kernels::map(cpu, e, std::span(&in, 1), out);
        for (std::int64_t i = 0; i < n; ++i) {
          const double v = value(in, i);
          ASSERT_EQ(value(out[0], i), as_integer(v, type)) << v << " as " << name(type) << ", " << to_string(kind);
          ASSERT_EQ(value(out[2], i), as_integer(-v, type)) << -v << " as " << name(type) << ", " << to_string(kind);
        }
      }
    }
  }
}

TEST(CpuForms, IntegersAreStoredInTheMemoryOfFloats) {
  cpu::Executor cpu(1);
  for (const DType type : {DType::i32, DType::u32}) {
    const View x = floats(kEdges, 700), before = floats(kEdges, 700);
    const View y(x.buffer, x.offset, type, x.shape());
    Expression e;
    e.output(e.cast(e.input(DType::f32), type));
    kernels::map(cpu, e, std::span(&x, 1), std::span(&y, 1));
    for (std::int64_t i = 0; i < 700; ++i) ASSERT_EQ(value(y, i), as_integer(value(before, i), type)) << i;
  }
}

TEST(CpuForms, IntegersAreLoadedAsFloats) {
  cpu::Executor cpu(1);
  for (const DType type : kIntegers) {
    Expression e;
    const int x = e.cast(e.input(type), DType::f32), y = e.cast(e.input(type), DType::f32);
    e.output(e.apply(ScalarOp::sub, {x, y}));
    for (const Kind kind : kInputKinds) {
      Rng rng(5);
      const std::vector<View> in{random_view(rng, {23, 31}, type, kind, Values::special),
                                 random_view(rng, {23, 31}, type, Kind::dense, Values::special)};
      const View out = random_view(rng, {23, 31}, DType::f32, Kind::dense);
      kernels::map(cpu, e, in, std::span(&out, 1));
      for (std::int64_t i = 0; i < 23 * 31; ++i) {
        const float a = static_cast<float>(value(in[0], i)), b = static_cast<float>(value(in[1], i));
        ASSERT_EQ(value(out, i), a - b) << name(type) << ", " << to_string(kind);
      }
    }
  }
}

// q = saturate(round(x / scale) + zero), by C++'s division.
TEST(CpuForms, QuotientsAreQuantised) {
  cpu::Executor cpu(1);
  Rng rng(3);
  for (const DType type :
       {DType::i8, DType::u8, DType::i16, DType::u16, DType::i4, DType::u4, DType::i32, DType::u32}) {
    for (const double scale : {0.1, -0.1, 0.0078125, 3e-3, 1e-42, 3e38, 0.0}) {
      for (const bool shifts : {false, true}) {
        std::vector<double> numbers = kEdges;
        const auto s = static_cast<float>(scale);
        for (int i = 0; i < 1000; ++i) {  // ties, and their neighbours
          const float tie = static_cast<float>((random_int(rng, -70000, 70000) + 0.5) * s);
          numbers.push_back(i % 3 == 0 ? tie : std::nextafter(tie, i % 3 == 1 ? INFINITY : -INFINITY));
        }
        const auto n = static_cast<std::int64_t>(numbers.size());
        const View x = floats(numbers, n), y = random_view(rng, {n}, type);
        const std::optional<View> zero =
            shifts ? std::optional(host_view(type, {}, std::array<double, 1>{3})) : std::nullopt;
        kernels::quantize(cpu, x, host_view(DType::f32, {}, std::array<double, 1>{scale}), zero, y);
        for (std::int64_t i = 0; i < n; ++i) {
          const auto v = static_cast<float>(value(x, i));
          const float q = std::nearbyint(v / s);
          const double want =
              std::isnan(q) ? 0 : std::clamp(static_cast<double>(q) + (shifts ? 3 : 0), low_of(type), high_of(type));
          ASSERT_EQ(value(y, i), want) << v << " / " << s << " as " << name(type) << (shifts ? " from 3" : "");
        }
      }
    }
  }
}

// ---- Sampling, over more places than a block has

TEST(CpuForms, ManyPlacesAreSampled) {
  constexpr std::int64_t kBatch = 2, kChannels = 19, kHeight = 9, kWidth = 11, kRows = 13, kColumns = 12;
  cpu::Executor cpu(1);
  for (const bool last : {false, true}) {
    Rng rng(17);
    const auto images = [&](std::int64_t h, std::int64_t w) {
      return last ? random_view(rng, {kBatch, h, w, kChannels}, DType::f32).permuted(std::vector{0, 3, 1, 2})
                  : random_view(rng, {kBatch, kChannels, h, w}, DType::f32);
    };
    const View x = images(kHeight, kWidth), dy = images(kRows, kColumns), y = images(kRows, kColumns),
               dx = images(kHeight, kWidth);
    const View grid = random_view(rng, {kBatch, kRows, kColumns, 2}, DType::f32);
    const View dgrid = random_view(rng, {kBatch, kRows, kColumns, 2}, DType::f32, Kind::transposed);
    // Positions on both sides of the edges, some of which are no numbers.
    set_values(grid, [&](std::int64_t i) {
      return i % 31 == 7 ? NAN : i % 37 == 3 ? INFINITY : std::uniform_real_distribution<double>(-1.3, 1.3)(rng);
    });
    kernels::grid_sample(cpu, x, grid, y);
    kernels::grid_sample_gradient(cpu, dy, grid, dx);
    kernels::grid_sample_grid_gradient(cpu, dy, x, grid, dgrid);
    std::vector<double> sums(static_cast<std::size_t>(x.count()));
    for (std::int64_t n = 0, place = 0; n < kBatch; ++n) {
      for (std::int64_t p = 0; p < kRows * kColumns; ++p, ++place) {
        const double gx = value(grid, 2 * place), gy = value(grid, 2 * place + 1);
        const double px = ((gx + 1) * kWidth - 1) / 2, py = ((gy + 1) * kHeight - 1) / 2;
        double slope_x = 0, slope_y = 0;
        for (std::int64_t c = 0; c < kChannels; ++c) {
          double sum = 0;
          for (std::int64_t i = 0; i < kHeight; ++i) {
            for (std::int64_t j = 0; j < kWidth; ++j) {
              const double a = 1 - std::abs(py - static_cast<double>(i)), b = 1 - std::abs(px - static_cast<double>(j));
              if (!(a > 0) || !(b > 0)) continue;
              const std::int64_t at = ((n * kChannels + c) * kHeight + i) * kWidth + j;
              const double d = value(dy, (n * kChannels + c) * kRows * kColumns + p);
              sum += a * b * value(x, at);
              sums[static_cast<std::size_t>(at)] += a * b * d;
              slope_y += (py > static_cast<double>(i) ? -b : b) * kHeight / 2 * d * value(x, at);
              slope_x += (px > static_cast<double>(j) ? -a : a) * kWidth / 2 * d * value(x, at);
            }
          }
          ASSERT_NEAR(value(y, (n * kChannels + c) * kRows * kColumns + p), sum, 1e-4);
        }
        ASSERT_NEAR(value(dgrid, 2 * place), slope_x, 2e-3 + 1e-3 * std::abs(slope_x)) << gx << ", " << gy;
        ASSERT_NEAR(value(dgrid, 2 * place + 1), slope_y, 2e-3 + 1e-3 * std::abs(slope_y)) << gx << ", " << gy;
      }
    }
    for (std::int64_t i = 0; i < x.count(); ++i) {
      ASSERT_NEAR(value(dx, i), sums[static_cast<std::size_t>(i)], 1e-3);
    }
  }
}

// ---- Resampling

// Pixels of some channels, which may be part of wider ones, and the same with the channels first.
TEST(CpuForms, PixelsAreResampledAsTheirChannels) {
  using kernels::ResizeMode;
  cpu::Executor cpu(1);
  for (const DType type : {DType::u8, DType::i8, DType::f32, DType::f16, DType::f64}) {
    for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic, ResizeMode::area}) {
      for (const std::int64_t channels : {1, 2, 3, 4, 17, 300}) {
        for (const std::int64_t more : {0, 1}) {
          for (const auto& [h, w] : {std::pair<std::int64_t, std::int64_t>{11, 23}, {4, 5}, {7, 13}}) {
            if (channels == 300 && h != 4) continue;
            Rng rng(29);
            const View wide = random_view(rng, {2, 7, 9, channels + more}, type);
            if (type == DType::f32 && mode != ResizeMode::cubic) set_element_bits(wide, 40, 0x7f800000);
            const View x = kernels::slice(wide, 3, 0, channels).permuted(std::vector{0, 3, 1, 2});
            const View y = random_view(rng, {2, h, w, channels}, type).permuted(std::vector{0, 3, 1, 2});
            const View planes = random_view(rng, {2, channels, 7, 9}, type);
            const View expected = random_view(rng, {2, channels, h, w}, type);
            kernels::copy(cpu, x, planes);
            kernels::ResizeOptions o{.mode = mode};
            if (more && mode != ResizeMode::area) {  // some pixels lie outside
              o.coordinates = kernels::ResizeCoordinates::crop;
              o.starts = {0, 0, -0.4, 0.1}, o.ends = {1, 1, 0.9, 1.3};
              o.value = 5;
            }
            kernels::resize(cpu, x, y, o);
            kernels::resize(cpu, planes, expected, o);
            for (std::int64_t i = 0; i < y.count(); ++i) {
              const double a = value(y, i), b = value(expected, i);
              if (std::isnan(a) && std::isnan(b)) continue;
              if (is_integer(type) || mode == ResizeMode::nearest || std::isinf(b)) {
                ASSERT_EQ(a, b) << name(type) << ", mode " << static_cast<int>(mode) << ", channels " << channels;
              } else {
                ASSERT_NEAR(a, b, type == DType::f16 ? 4e-3 : 2e-6)
                    << name(type) << ", mode " << static_cast<int>(mode);
              }
            }
          }
        }
      }
    }
  }
}

// Axes that are longer than a table, by exact positions: (2 i + 1) · n / 2 m - 1/2, as a quotient of integers.
TEST(CpuForms, LongAxesAreResampled) {
  using kernels::ResizeMode;
  cpu::Executor cpu(1);
  for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{50001, 120007}, {120007, 50001}, {60000, 120000}}) {
    Rng rng(31);
    const View x = random_view(rng, {n}, DType::f32), y = random_view(rng, {m}, DType::f32);
    const auto at = [&](std::int64_t j) { return value(x, std::clamp<std::int64_t>(j, 0, n - 1)); };
    for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::area}) {
      kernels::resize(cpu, x, y, {.mode = mode});
      for (std::int64_t i = 0; i < m; ++i) {
        const std::int64_t over = (2 * i + 1) * n - m, under = 2 * m;
        const std::int64_t whole = (over + under) / under - 1, part = over - whole * under;
        double want = 0;
        if (mode == ResizeMode::nearest) {
          want = at(2 * part > under ? whole + 1 : whole);
        } else if (mode == ResizeMode::linear) {
          const double t = static_cast<double>(part) / static_cast<double>(under);
          want = at(whole) * (1 - t) + at(whole + 1) * t;
        } else {
          const std::int64_t begin = i * n / m, end = ((i + 1) * n + m - 1) / m;
          for (std::int64_t j = begin; j < end; ++j) want += at(j) / static_cast<double>(end - begin);
        }
        ASSERT_NEAR(value(y, i), want, 1e-6) << n << " to " << m << ", element " << i;
      }
    }
  }
}

// ---- Elements that indices select

TEST(CpuForms, RowsOfIndices) {
  cpu::Executor cpu(1);
  for (const DType type : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    for (const DType index : {DType::i32, DType::i64, DType::u8}) {
      for (const Kind kind : {Kind::dense, Kind::transposed, Kind::sliced, Kind::reversed}) {
        for (const std::int64_t n : {1, 17, 64, 700, 1500}) {
          Rng rng(37);
          const std::int64_t rows = 3, size = 190;
          const View x = random_view(rng, {rows, size}, type), indices = random_view(rng, {rows, n}, index, kind);
          set_values(indices, [&](std::int64_t) { return random_int(rng, is_signed(index) ? -250 : 0, 250); });
          const View y = random_view(rng, {rows, n}, type, kind);
          kernels::gather_elements(cpu, x, indices, y, 1);
          const View sums = random_view(rng, {rows, size}, DType::i32), last = random_view(rng, {rows, size}, type);
          const View ones = random_view(rng, {rows, n}, DType::i32, kind),
                     updates = random_view(rng, {rows, n}, type, kind);
          std::vector<double> sum = values(sums), assigned = values(last);
          kernels::scatter_elements(cpu, kernels::ScatterKind::add, indices, ones, sums, 1);
          kernels::scatter_elements(cpu, kernels::ScatterKind::assign, indices, updates, last, 1);
          for (std::int64_t i = 0; i < rows * n; ++i) {
            auto j = static_cast<std::int64_t>(value(indices, i));
            if (j < 0) j += size;
            const std::int64_t row = i / n * size, clamped = std::clamp<std::int64_t>(j, 0, size - 1);
            ASSERT_EQ(element_bits(y, i), element_bits(x, row + clamped)) << name(type) << ", " << to_string(kind);
            if (j != clamped) continue;
            sum[static_cast<std::size_t>(row + j)] += value(ones, i);
            assigned[static_cast<std::size_t>(row + j)] = value(updates, i);
          }
          EXPECT_EQ(values(sums), sum) << to_string(kind);
          EXPECT_EQ(values(last), assigned) << to_string(kind);
        }
      }
    }
  }
}

// ---- Rows that begin or end with elements from elsewhere

TEST(CpuForms, LongRowsAreRolledAndPadded) {
  cpu::Executor cpu(1);
  for (const DType type : {DType::u8, DType::f16, DType::f32, DType::f64, DType::i4}) {
    for (const std::int64_t n : {1, 5, 40, 1000, 2000}) {
      for (const std::int64_t shift : {0, 1, 15, 17, 600}) {
        Rng rng(41);
        const View x = random_view(rng, {3, n}, type), y = random_view(rng, {3, n}, type);
        kernels::roll(cpu, x, y, std::array<std::int64_t, 2>{1, shift});
        for (std::int64_t i = 0; i < 3 * n; ++i) {
          const std::int64_t row = (i / n + 2) % 3, column = ((i % n - shift) % n + n) % n;
          ASSERT_EQ(element_bits(y, i), element_bits(x, row * n + column))
              << name(type) << " [3, " << n << "] by " << shift;
        }
        using kernels::PadMode;
        for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::wrap}) {
          if (mode == PadMode::reflect && n == 1) continue;
          const std::int64_t before = shift, m = n + shift + 18;
          const View padded = random_view(rng, {5, m}, type);
          kernels::pad(cpu, x, padded, std::array<std::int64_t, 2>{1, before}, mode, 2);
          const auto place = [&](std::int64_t i, std::int64_t size) -> std::int64_t {
            const auto turned = [&](std::int64_t period) { return (i % period + period) % period; };
            switch (mode) {
              case PadMode::edge:
                return std::clamp<std::int64_t>(i, 0, size - 1);
              case PadMode::reflect: {
                const std::int64_t u = turned(2 * size - 2);
                return std::min(u, 2 * size - 2 - u);
              }
              case PadMode::wrap:
                return turned(size);
              default:
                return i >= 0 && i < size ? i : -1;
            }
          };
          for (std::int64_t i = 0; i < 5 * m; ++i) {
            const std::int64_t row = place(i / m - 1, 3), column = place(i % m - before, n);
            const double want = row < 0 || column < 0 ? 2 : value(x, row * n + column);
            ASSERT_EQ(value(padded, i), want) << name(type) << " [3, " << n << "], before " << before << ", mode "
                                              << static_cast<int>(mode) << ", element " << i;
          }
        }
      }
      Rng rng(43);
      const View one = random_view(rng, {1}, type), tiled = random_view(rng, {n}, type);
      kernels::tile(cpu, one, tiled);
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(element_bits(tiled, i), element_bits(one, 0)) << name(type);
    }
  }
}

}  // namespace
}  // namespace weft::test
