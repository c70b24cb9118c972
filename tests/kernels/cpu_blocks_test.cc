// The CPU kernels where they work in blocks: sizes around and past a block, short rows, every layout. Expected values
// are the definitions, element by element: indices of the C++ standard's stable sort, quotients of its division, sums
// of small whole numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/operands.h"
#include "weft/cpu.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::i16,     DType::i32,
                          DType::i64, DType::u8,  DType::u16,  DType::u32, DType::u64,    DType::boolean, DType::c64,
                          DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::f8e4m3, DType::f8e5m2};
constexpr DType kOrdered[] = {DType::f32,    DType::f16, DType::bf16, DType::f64, DType::f8e4m3,
                              DType::f8e5m2, DType::i8,  DType::i16,  DType::i32, DType::i64,
                              DType::u8,     DType::u16, DType::u32,  DType::u64, DType::boolean};

class CpuBlocks : public testing::TestWithParam<int> {
 protected:
  cpu::Executor executor{GetParam()};
  Rng rng{5};

  // Each element of y has the bits of that of x that from() names, or `value` where that is -1.
  static void expect_moved(const View& x, const View& y, const std::function<std::int64_t(std::int64_t)>& from,
                           const std::string& what, std::uint64_t value = 0) {
    for (std::int64_t i = 0; i < y.count(); ++i) {
      const std::int64_t source = from(i);
      ASSERT_EQ(element_bits(y, i), source < 0 ? value : element_bits(x, source)) << what << ", element " << i;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, CpuBlocks, testing::Values(1, 4));

// (a · b + c) of whole numbers, with b for each row, c for each column, and a of every layout.
TEST_P(CpuBlocks, ShortRowsOfElementwiseOperands) {
  for (const Shape& shape : {Shape{700, 3}, {700, 1}, {301, 7}, {2, 300, 5}, {40, 3, 2, 7}, {3, 130}, {9, 511}}) {
    const std::int64_t width = shape[-1];
    Shape rows = shape, row = Shape::filled(shape.rank(), 1);
    rows[-1] = 1;
    row[-1] = width;
    for (const DType type : {DType::f32, DType::f16, DType::f64, DType::i8, DType::i32, DType::i64, DType::u16}) {
      Expression e;
      const int a = e.input(type), b = e.input(type), c = e.input(type);
      e.output(e.apply(ScalarOp::add, {e.apply(ScalarOp::mul, {a, b}), c}));
      for (const Kind kind : kOutputKinds) {
        const View x = view_of(type, shape, kind, [](std::int64_t i) { return static_cast<double>(i * 7 % 9); });
        const View by = view_of(type, rows, kind, [](std::int64_t i) { return static_cast<double>(i * 5 % 11); });
        const View more = view_of(type, row, kind, [](std::int64_t i) { return static_cast<double>(i * 3 % 13); });
        const View y = output(type, shape, kind);
        kernels::map(executor, e, std::array{x, by, more}, std::array{y});
        for (std::int64_t i = 0; i < y.count(); ++i) {
          ASSERT_EQ(value(y, i), static_cast<double>((i * 7 % 9) * (i / width * 5 % 11) + i % width * 3 % 13))
              << to_string(y) << " element " << i;
        }
      }
    }
  }
}

TEST_P(CpuBlocks, ElementsOfEveryTypeAreSelected) {
  for (const DType type : kAll) {
    Expression e;
    const int condition = e.input(DType::boolean), a = e.input(type), b = e.input(type);
    e.output(e.apply(ScalarOp::select, {condition, a, b}));
    for (const Kind kind : kOutputKinds) {
      const View x = random_view(rng, {400, 3}, type, kind), other = random_view(rng, {3}, type, kind),
                 y = output(type, {400, 3}, kind);
      const View mask = view_of(DType::boolean, {400, 1}, Kind::dense, [](std::int64_t i) { return i % 3 == 0; });
      kernels::map(executor, e, std::array{mask, x, other}, std::array{y});
      for (std::int64_t i = 0; i < y.count(); ++i) {
        ASSERT_EQ(element_bits(y, i), i / 3 % 3 == 0 ? element_bits(x, i) : element_bits(other, i % 3))
            << to_string(y) << " element " << i;
      }
    }
  }
}

TEST_P(CpuBlocks, RowsAndElementsAreGathered) {
  for (const DType type : kAll) {
    for (const Kind kind : kOutputKinds) {
      const std::int64_t width = type == DType::f32 ? 20 : 3, rows = 11;
      const View x = random_view(rng, {rows, width}, type, kind);
      // Indices before the first row and past the last one are clamped, as negative ones count from the end.
      for (const DType index : {DType::i32, DType::i64, DType::u8}) {
        const auto number = [&](std::int64_t i) { return is_signed(index) ? i * 5 % 31 - 15 : i * 5 % 17; };
        const auto row = [&](std::int64_t i) {
          const std::int64_t n = number(i);
          return n < 0 ? std::max<std::int64_t>(n + rows, 0) : std::min(n, rows - 1);
        };
        const View indices =
            view_of(index, {600}, kind, [&](std::int64_t i) { return static_cast<double>(number(i)); });
        const View y = output(type, {600, width}, kind), z = output(type, {600}, kind),
                   line = random_view(rng, {rows}, type, kind);
        kernels::gather(executor, x, indices, y, 0);
        expect_moved(x, y, [&](std::int64_t i) { return row(i / width) * width + i % width; }, to_string(y));
        kernels::gather(executor, line, indices, z, 0);
        expect_moved(line, z, row, to_string(z));
      }
    }
  }
}

TEST_P(CpuBlocks, UpdatesAreScatteredInOrder) {
  constexpr std::int64_t kRows = 50, kWidth = 3, kUpdates = 700;
  for (const DType type : {DType::f32, DType::i64, DType::u8, DType::i4, DType::f16}) {
    // Some are outside, and update nothing.
    const auto row = [](std::int64_t i) { return i * 7 % 60 - 3; };
    const View indices = view_of(DType::i32, {kUpdates}, Kind::dense, [&](std::int64_t i) {
      return static_cast<double>(row(i) < 0 ? row(i) - kRows : row(i));
    });
    const View updates = random_view(rng, {kUpdates, kWidth}, type), y = random_view(rng, {kRows, kWidth}, type);
    std::vector<std::uint64_t> expected(kRows * kWidth);
    for (std::int64_t i = 0; i < y.count(); ++i) expected[static_cast<std::size_t>(i)] = element_bits(y, i);
    for (std::int64_t i = 0; i < updates.count(); ++i) {
      const std::int64_t r = row(i / kWidth);
      if (r >= 0 && r < kRows) expected[static_cast<std::size_t>(r * kWidth + i % kWidth)] = element_bits(updates, i);
    }
    kernels::scatter(executor, kernels::ScatterKind::assign, indices, updates, y, 0);
    for (std::int64_t i = 0; i < y.count(); ++i) {
      ASSERT_EQ(element_bits(y, i), expected[static_cast<std::size_t>(i)]) << name(type) << " element " << i;
    }
  }
}

TEST_P(CpuBlocks, TilesRepeatsRollsAndPads) {
  for (const DType type : kAll) {
    for (const Kind kind : kOutputKinds) {
      for (const Shape& shape : {Shape{1, 3}, {1, 700}, {300, 3}, {2, 30}, {40, 17}}) {
        const std::int64_t rows = shape[0], width = shape[1];
        const View x = random_view(rng, shape, type, kind);
        for (const auto& [down, across] : {std::pair<std::int64_t, std::int64_t>{1, 2}, {3, 1}, {2, 3}}) {
          const View y = output(type, {rows * down, width * across}, kind);
          kernels::tile(executor, x, y);
          const std::int64_t wide = width * across;
          expect_moved(x, y, [&](std::int64_t i) { return i / wide % rows * width + i % wide % width; }, to_string(y));
          kernels::repeat(executor, x, y);
          expect_moved(x, y, [&](std::int64_t i) { return i / wide / down * width + i % wide / across; }, to_string(y));
        }
        const View y = output(type, shape, kind);
        const std::vector<std::int64_t> shifts{1, -2};
        kernels::roll(executor, x, y, shifts);
        expect_moved(
            x, y, [&](std::int64_t i) { return (i / width + rows - 1) % rows * width + (i % width + 2) % width; },
            to_string(y));
        const View wide = output(type, {rows + 3, width + 5}, kind);
        for (const kernels::PadMode mode :
             {kernels::PadMode::constant, kernels::PadMode::edge, kernels::PadMode::reflect,
              kernels::PadMode::symmetric, kernels::PadMode::wrap}) {
          kernels::pad(executor, x, wide, std::vector<std::int64_t>{1, 2}, mode, 1);
          const auto from = [mode](std::int64_t i, std::int64_t n) {
            // Steps of one index at a time, which turn at the ends or go on at the other one.
            if (mode == kernels::PadMode::constant) return i < 0 || i >= n ? -1 : i;
            if (mode == kernels::PadMode::edge) return std::clamp<std::int64_t>(i, 0, n - 1);
            while (i < 0 || i >= n) {
              if (mode == kernels::PadMode::wrap)
                i += i < 0 ? n : -n;
              else if (mode == kernels::PadMode::symmetric)
                i = i < 0 ? -1 - i : 2 * n - 1 - i;
              else if (n == 1)
                i = 0;
              else
                i = i < 0 ? -i : 2 * n - 2 - i;
            }
            return i;
          };
          const View one = output(type, {});
          kernels::fill(executor, 1, one);
          expect_moved(
              x, wide,
              [&](std::int64_t i) {
                const std::int64_t r = from(i / (width + 5) - 1, rows), c = from(i % (width + 5) - 2, width);
                return r < 0 || c < 0 ? -1 : r * width + c;
              },
              to_string(wide), element_bits(one, 0));
        }
      }
    }
  }
}

// Numbers with many equal ones, zeros of both signs, NaNs; of 64 bits also such that differ in their low words alone.
double number_to_sort(DType type, std::int64_t i) {
  const std::int64_t mixed = i * 2654435761 % 4294967291;
  if (is_floating(type)) {
    const double special[] = {-0.0, 0.0, kNaN, kInf, -kInf, -kNaN};
    if (mixed % 16 < 6) return special[mixed % 16];
    const double wide = type == DType::f32 || type == DType::f64 ? static_cast<double>(mixed % 100003) : 0;
    return static_cast<double>(mixed / 16 % 15 - 7) * 0.5 + (mixed % 2 ? wide : 0) * (type == DType::f64 ? 0x1p-30 : 1);
  }
  if (type == DType::boolean) return static_cast<double>(mixed % 2);
  const std::int64_t few = mixed % 3 ? mixed % 17 : mixed % 127;
  if (bits(type) == 8) return static_cast<double>(few);
  if (bits(type) == 16) return static_cast<double>(mixed % 30011) - (is_signed(type) ? 15000 : 0);
  if (bits(type) == 32) return static_cast<double>(mixed % 1000003) - (is_signed(type) ? 500000 : 0);
  return static_cast<double>(mixed % 5) * 0x1p40 + static_cast<double>(few) - (is_signed(type) ? 0x1p41 : 0);
}

TEST_P(CpuBlocks, SortsAreTheStandardsStableSort) {
  for (const DType type : kOrdered) {
    for (const std::int64_t n : {1, 7, 8, 63, 64, 65, 500, 2047, 2048, 70001}) {
      if (n > 3000 && bits(type) < 32 && type != DType::f16) continue;
      for (const bool descending : {false, true}) {
        const std::int64_t rows = n < 1000 ? 3 : 1;
        const View x = view_of(type, {rows, n}, n % 2 ? Kind::transposed : Kind::dense,
                               [&](std::int64_t i) { return number_to_sort(type, i); });
        const View y = output(type, {rows, n}), alone = output(type, {rows, n}), places = output(DType::i64, {rows, n});
        kernels::sort(executor, x, y, places, {.descending = descending});
        kernels::sort(executor, x, alone, {}, {.descending = descending});
        for (std::int64_t r = 0; r < rows; ++r) {
          std::vector<std::int64_t> order(static_cast<std::size_t>(n));
          std::iota(order.begin(), order.end(), r * n);
          std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t j) {
            const double a = value(x, i), b = value(x, j);
            return a != a || b != b ? b != b && a == a : descending ? a > b : a < b;
          });
          for (std::int64_t j = 0; j < n; ++j) {
            const std::int64_t from = order[static_cast<std::size_t>(j)];
            ASSERT_EQ(value(places, r * n + j), static_cast<double>(from - r * n)) << to_string(x) << " element " << j;
            ASSERT_EQ(element_bits(y, r * n + j), element_bits(x, from)) << to_string(x) << " element " << j;
            ASSERT_EQ(element_bits(alone, r * n + j), element_bits(x, from)) << to_string(x) << " element " << j;
          }
          for (const std::int64_t k : {std::int64_t{1}, n / 20 + 1, n / 2 + 1}) {
            const View top = output(type, {rows, k}), at = output(DType::i32, {rows, k});
            kernels::top_k(executor, x, top, at, {.largest = descending});
            for (std::int64_t j = 0; j < k; ++j) {
              ASSERT_EQ(value(at, r * k + j), static_cast<double>(order[static_cast<std::size_t>(j)] - r * n));
              ASSERT_EQ(element_bits(top, r * k + j), element_bits(x, order[static_cast<std::size_t>(j)]));
            }
          }
        }
      }
    }
  }
}

TEST_P(CpuBlocks, TheFirstOfTheLargestIsFound) {
  for (const DType type : kAll) {
    if (type == DType::c64) continue;
    for (const std::int64_t n : {1, 3, 31, 32, 64, 65, 1023, 1025, 3000}) {
      for (const int special : {0, 1, 2}) {
        const View x = view_of(type, {3, n}, n % 2 ? Kind::dense : Kind::transposed, [&](std::int64_t i) {
          // The largest comes twice; then NaN, or zeros of both signs alone.
          if (is_floating(type) && special == 1 && (i % n == n * 2 / 3 || i % n == n - 1)) return kNaN;
          if (is_floating(type) && special == 2) return i % 3 ? -0.0 : 0.0;
          if (type == DType::boolean) return i % n == n / 3 ? 1.0 : 0.0;
          return i % n == n / 3 || i % n == n / 2 ? 1.0 : static_cast<double>(i % 2) * (is_signed(type) ? -1 : 0);
        });
        for (const bool max : {true, false}) {
          const View y = output(DType::i32, {3});
          kernels::arg_reduce(executor, max ? kernels::ArgKind::max : kernels::ArgKind::min, x, y, std::vector<int>{1});
          for (std::int64_t r = 0; r < 3; ++r) {
            std::int64_t best = 0;
            for (std::int64_t j = 1; j < n; ++j) {
              const double v = value(x, r * n + j), b = value(x, r * n + best);
              if (b == b && (v != v || (max ? v > b : v < b))) best = j;
            }
            ASSERT_EQ(value(y, r), static_cast<double>(best)) << to_string(x) << " row " << r << ", max " << max;
          }
        }
      }
    }
  }
}

// Sums of whole numbers, which double holds exactly, over every axis.
TEST_P(CpuBlocks, ShortRowsAreReduced) {
  for (const Shape& shape : {Shape{700, 3}, {3, 700}, {300, 3, 2}, {20, 40, 3}, {2, 63, 5}, {5, 64, 2}, {1500, 1}}) {
    for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i32, DType::u8}) {
      for (const Kind kind : kOutputKinds) {
        const View x = view_of(type, shape, kind, [](std::int64_t i) { return static_cast<double>(i * 7 % 5); });
        for (int axis = 0; axis < shape.rank(); ++axis) {
          Shape reduced = shape;
          reduced[axis] = 1;
          const View y = output(type, reduced, kind), squares = output(type, reduced, kind);
          kernels::reduce(executor, kernels::ReduceKind::sum, x, y, std::vector<int>{axis});
          kernels::reduce(executor, kernels::ReduceKind::max, x, squares, std::vector<int>{axis});
          std::int64_t inner = 1;
          for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
          for (std::int64_t i = 0; i < y.count(); ++i) {
            double total = 0, most = 0;
            for (std::int64_t j = 0; j < shape[axis]; ++j) {
              const double v = static_cast<double>((i / inner * inner * shape[axis] + j * inner + i % inner) * 7 % 5);
              total += v;
              most = std::max(most, v);
            }
            if (type == DType::u8) total = std::fmod(total, 256);
            if (type != DType::f16 || total <= 2048) {
              ASSERT_EQ(value(y, i), total) << to_string(x) << " axis " << axis << ", element " << i;
            }
            ASSERT_EQ(value(squares, i), most) << to_string(x) << " axis " << axis << ", element " << i;
          }
        }
      }
    }
  }
}

// Quotients and remainders of C++'s own division, which is exact, and by its definition those that round down.
template <class T>
void check_division(cpu::Executor& executor, DType type) {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  std::vector<T> numbers;
  for (int bit = 0; bit < static_cast<int>(8 * sizeof(T)); ++bit) {
    for (const int more : {-2, -1, 0, 1, 2}) {
      const auto n = static_cast<T>((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(more));
      numbers.push_back(n);
      numbers.push_back(static_cast<T>(0 - static_cast<std::uint64_t>(n)));
    }
  }
  for (const std::int64_t n : {0, 3, 5, 7, 9, 10, 97, 100, 641, 1000003}) numbers.push_back(static_cast<T>(n));
  numbers.insert(numbers.end(),
                 {low, static_cast<T>(low + 1), high, static_cast<T>(high - 1), static_cast<T>(high / 3)});
  const auto count = static_cast<std::int64_t>(numbers.size());
  const View a(Buffer::host(numbers.size() * sizeof(T)), 0, type, {count, 1});
  std::memcpy(a.buffer.data(), numbers.data(), numbers.size() * sizeof(T));
  const View b(a.buffer, 0, type, {1, count});
  // One divisor after another, and each for all numbers.
  for (const bool one_divisor : {false, true})
    for (const ScalarOp op : {ScalarOp::div, ScalarOp::rem, ScalarOp::floor_divide, ScalarOp::remainder}) {
      Expression e;
      const int x = e.input(type), by = e.input(type);
      e.output(e.apply(op, {x, by}));
      const View y = output(type, {count, count});
      if (one_divisor)
        kernels::map(executor, e, std::array{b, a}, std::array{y});
      else
        kernels::map(executor, e, std::array{a, b}, std::array{y});
      for (std::int64_t i = 0; i < count * count; ++i) {
        T n = numbers[static_cast<std::size_t>(i / count)], d = numbers[static_cast<std::size_t>(i % count)];
        if (one_divisor) std::swap(n, d);
        T quotient = 0, rest = 0;
        if (d != 0) {
          // The only quotient that overflows wraps.
          const bool wraps = std::is_signed_v<T> && n == low && d == static_cast<T>(-1);
          quotient = wraps ? low : static_cast<T>(n / d);
          rest = wraps ? T{0} : static_cast<T>(n % d);
          if ((op == ScalarOp::floor_divide || op == ScalarOp::remainder) && rest != 0 && (rest < 0) != (d < 0)) {
            --quotient;
            rest = static_cast<T>(rest + d);
          }
        }
        const T expected = op == ScalarOp::div || op == ScalarOp::floor_divide ? quotient : rest;
        T got;
        std::memcpy(&got, y.buffer.data() + y.offset + static_cast<std::uint64_t>(i) * sizeof(T), sizeof(T));
        ASSERT_EQ(got, expected) << name(type) << " " << +n << " " << name(op) << " " << +d;
      }
    }
}
TEST_P(CpuBlocks, IntegersAreDividedExactly) {
  check_division<std::int8_t>(executor, DType::i8);
  check_division<std::int16_t>(executor, DType::i16);
  check_division<std::int32_t>(executor, DType::i32);
  check_division<std::int64_t>(executor, DType::i64);
  check_division<std::uint8_t>(executor, DType::u8);
  check_division<std::uint16_t>(executor, DType::u16);
  check_division<std::uint32_t>(executor, DType::u32);
  check_division<std::uint64_t>(executor, DType::u64);
}

// Many small products of whole numbers.
TEST_P(CpuBlocks, SmallProductsOfBatches) {
  for (const auto& [m, k, n] :
       {std::array<std::int64_t, 3>{4, 4, 4}, {3, 5, 2}, {1, 1, 1}, {16, 16, 16}, {1, 16, 7}, {17, 3, 4}, {4, 4, 1}}) {
    for (const DType type : {DType::f32, DType::f16, DType::f64, DType::i32, DType::i8}) {
      const DType result = type == DType::i8 ? DType::i32 : type;
      for (const Kind kind : kOutputKinds) {
        const auto number = [](std::int64_t i) { return static_cast<double>(i * 7 % 5 - 2); };
        const View a = view_of(type, {30, m, k}, kind, number), b = view_of(type, {30, k, n}, kind, number),
                   y = output(result, {30, m, n}, kind);
        kernels::matmul(executor, a, b, y);
        for (std::int64_t i = 0; i < y.count(); ++i) {
          const std::int64_t batch = i / (m * n), row = i / n % m, col = i % n;
          double sum = 0;
          for (std::int64_t j = 0; j < k; ++j) {
            sum += number((batch * m + row) * k + j) * number((batch * k + j) * n + col);
          }
          ASSERT_EQ(value(y, i), sum) << to_string(a) << " by " << to_string(b) << " element " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
