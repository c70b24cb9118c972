#include <cmath>
#include <format>
#include <limits>

#include "cpu/executor.h"
#include "gpu/sync_flags.h"
#include "kernels/norm/row_norm.h"
#include "kernels/operands.h"
#include "kernels/reduce/reduce_form.h"
#include "kernels/scan/scan_split.h"
#include "kernels/softmax/softmax_split.h"
#include "kernels/split_form.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/scan.h"
#include "weft/kernels/softmax.h"
#include "weft/kernels/table.h"

namespace weft::test {
namespace {

using kernels::ReduceKind;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr ReduceKind kAll[] = {ReduceKind::sum,     ReduceKind::mean,        ReduceKind::prod,     ReduceKind::min,
                               ReduceKind::max,     ReduceKind::sum_squares, ReduceKind::l1,       ReduceKind::l2,
                               ReduceKind::log_sum, ReduceKind::log_sum_exp, ReduceKind::any,      ReduceKind::all,
                               ReduceKind::count,   ReduceKind::variance,    ReduceKind::deviation};

bool is_logic(ReduceKind op) { return op == ReduceKind::any || op == ReduceKind::all || op == ReduceKind::count; }
bool floats_only(ReduceKind op) {
  return op == ReduceKind::mean || op == ReduceKind::l2 || op == ReduceKind::log_sum || op == ReduceKind::log_sum_exp ||
         is_moment(op);
}
DType result_type(ReduceKind op, DType x) {
  return op == ReduceKind::count ? DType::i32 : is_logic(op) ? DType::boolean : x;
}

Shape reduced(const Shape& shape, const std::vector<int>& axes, bool ones) {
  Shape s;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool gone =
        std::ranges::find(axes, d) != axes.end() || std::ranges::find(axes, d - shape.rank()) != axes.end();
    if (!gone) s.push_back(shape[d]);
    if (gone && ones) s.push_back(1);
  }
  return s;
}

struct Reduce {
  ReduceKind op = ReduceKind::sum;
  Shape shape;
  std::vector<int> axes;
  DType x = DType::f32;
  std::optional<DType> y;  // else x's, or bool
  Kind x_kind = Kind::dense, y_kind = Kind::dense;
  bool ones = false;
  ValueOf value = {};
  std::optional<Tolerance> tolerance;
  double correction = 0;
};

// Positive, near 1, so that products stay in range and logarithms are of numbers above 0.
double positive(std::int64_t i) { return 0.5 + static_cast<double>(i * 7919 % 1009) / 1009; }
// Small integers that any type holds, some of them 0.
double whole(std::int64_t i) { return static_cast<double>(i * 31 % 7) - (i % 2 ? 0 : 1); }

class ReduceTest : public testing::TestWithParam<std::string> {
 protected:
  void check(Reduce c) {
    const DType type = c.y.value_or(result_type(c.op, c.x));
    if (!c.value) c.value = is_floating(c.x) && !is_logic(c.op) ? positive : whole;
    if (is_integer(c.x) && !is_signed(c.x)) {
      c.value = [v = c.value](std::int64_t i) { return std::abs(v(i)); };
    }
    // f32 partial sums of a few hundred positive numbers, rounded in both directions: 1e-5 is far above their error and
    // far below a missing element. Integers, logic, minima and maxima are exact; narrow outputs are rounded once more.
    const bool exact = is_logic(c.op) || c.op == ReduceKind::min || c.op == ReduceKind::max;
    const Tolerance tolerance =
        exact ? Tolerance{} : c.tolerance.value_or(Tolerance{.ulp = 1, .absolute = 1e-6, .relative = 1e-5});
    const View x = view_of(c.x, c.shape, c.x_kind, c.value);
    run_both(
        device, std::array{x}, std::array{output(type, reduced(c.shape, c.axes, c.ones), c.y_kind)},
        [&](Stream& s, auto in, auto out) { kernels::reduce(s, c.op, in[0], out[0], c.axes, c.correction); }, tolerance,
        std::format("reduce op {} over {} axes from {}: {}", static_cast<int>(c.op), c.axes.size(),
                    c.axes.empty() ? -1 : c.axes[0], weft::to_string(x)));
  }
  gpu::Device& device = test::device(GetParam());
  // The number of workgroups of the dispatch that reads such a tensor.
  std::uint32_t workgroups(ReduceKind op, DType type, const Shape& shape, int axis) {
    const View x(device.allocate(byte_size(type, static_cast<std::uint64_t>(element_count(shape)))), 0, type, shape);
    const View y(device.allocate(4096), 0, result_type(op, type), reduced(shape, {axis}, true));
    gpu::Recording recording(device);
    kernels::reduce(recording, op, x, y, std::array{axis});
    return recording.dispatches()[0].workgroups[0];
  }
  void expect_rest(std::uint64_t count) {
    std::vector<std::uint32_t> words(count);
    device.read(gpu::sync_flags(device, count).buffer, 0, count * 4)
        .get()
        .copy_to(std::as_writable_bytes(std::span(words)));
    for (std::size_t i = 0; i < words.size(); ++i) {
      ASSERT_EQ(words[i], 0xffffffffu) << "word " << i << " of " << words.size();
    }
  }
  Rng rng_{7};
};

TEST_P(ReduceTest, EveryOpAlongAndAcross) {
  for (ReduceKind op : kAll) {
    check({.op = op, .shape = {5, 64}, .axes = {1}});
    check({.op = op, .shape = {5, 61}, .axes = {1}});
    check({.op = op, .shape = {61, 12}, .axes = {0}});
    check({.op = op, .shape = {64, 11}, .axes = {0}});
  }
}

TEST_P(ReduceTest, Types) {
  for (DType x : {DType::f16, DType::bf16}) {
    for (ReduceKind op : {ReduceKind::sum, ReduceKind::max, ReduceKind::log_sum_exp}) {
      check({.op = op, .shape = {7, 32}, .axes = {1}, .x = x});
      check({.op = op, .shape = {7, 33}, .axes = {0}, .x = x, .y = DType::f32});
    }
  }
  for (DType x : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64}) {
    for (ReduceKind op : {ReduceKind::sum, ReduceKind::prod, ReduceKind::min, ReduceKind::max, ReduceKind::sum_squares,
                          ReduceKind::l1, ReduceKind::any, ReduceKind::all}) {
      const bool every = x == DType::i8 || x == DType::u32;  // the other types differ only in loads and stores
      if (!every && op != ReduceKind::sum && op != ReduceKind::min && op != ReduceKind::any) continue;
      check({.op = op, .shape = {3, 5, 8}, .axes = {0, 2}, .x = x});
      if (every) check({.op = op, .shape = {9, 7}, .axes = {1}, .x = x});
    }
  }
  // Sums that exceed the narrow type's range wrap in it, or continue in 32 bits.
  const auto big = [](std::int64_t i) { return static_cast<double>(100 + i % 28); };
  check({.shape = {3, 400}, .axes = {1}, .x = DType::i8, .value = big});
  check({.shape = {3, 400}, .axes = {1}, .x = DType::i8, .y = DType::i32, .value = big});
  check({.shape = {3, 400}, .axes = {1}, .x = DType::u8, .y = DType::u32, .value = big});
  for (ReduceKind op : {ReduceKind::any, ReduceKind::all}) {
    check({.op = op, .shape = {64, 4}, .axes = {1}, .x = DType::boolean, .value = [](std::int64_t i) {
             return static_cast<double>((i / 4 >> i % 4) & 1);
           }});
  }
}

TEST_P(ReduceTest, LongIntegersAreExact) {
  const auto value = [](std::int64_t i) {
    return static_cast<double>((i * 2654435761 % 4294967291) * 1048576) * (i % 3 ? 1 : -1);
  };
  for (DType x : {DType::i64, DType::u64}) {
    for (ReduceKind op : {ReduceKind::sum, ReduceKind::prod, ReduceKind::min, ReduceKind::max, ReduceKind::sum_squares,
                          ReduceKind::l1}) {
      check({.op = op, .shape = {4, 1000}, .axes = {1}, .x = x, .value = value});
      check({.op = op, .shape = {1, 100000}, .axes = {0, 1}, .x = x, .value = value});
      // To the 32-bit type of its kind: the low bits, of rows, columns and split rows.
      const DType low = x == DType::i64 ? DType::i32 : DType::u32;
      check({.op = op, .shape = {4, 1000}, .axes = {1}, .x = x, .y = low, .value = value});
      check({.op = op, .shape = {50, 8}, .axes = {0}, .x = x, .y = low, .value = value});
      check({.op = op, .shape = {1, 100000}, .axes = {0, 1}, .x = x, .y = low, .value = value});
    }
  }
  const View x = host_view(DType::i64, {2}, std::vector<double>{0x1p40, -3}), y = output(DType::i32, {});
  cpu::Executor cpu;
  kernels::reduce(cpu, ReduceKind::sum, x, y, std::array{0});
  EXPECT_EQ(test::value(y, 0), -3);
}

// Deviations a millionth of the mean: f32 numbers are 2^-10 apart there, and results must match the exact moments of
// the rounded numbers.
TEST_P(ReduceTest, VarianceBesideALargeMean) {
  for (ReduceKind op : {ReduceKind::variance, ReduceKind::deviation}) {
    for (std::int64_t n : {5, 64, 1000, 100001}) {
      check({.op = op,
             .shape = {2, n},
             .axes = {1},
             .value = normal(4, 1e4, 1e-2),
             .tolerance = Tolerance{.relative = 1e-4},
             .correction = 1});
      check({.op = op,
             .shape = {n, 4},
             .axes = {0},
             .value = normal(5, -3e5, 1),
             .tolerance = Tolerance{.relative = 1e-4}});
    }
  }
  // An outlier first, which is a bad estimate of the mean.
  check({.op = ReduceKind::variance,
         .shape = {1 << 20},
         .axes = {0},
         .value = [](std::int64_t i) { return i ? static_cast<double>(i % 3) : 1e6; },
         .tolerance = Tolerance{.relative = 1e-5}});
  // One element: the variance of a sample is 0 / 0.
  check({.op = ReduceKind::variance, .shape = {3, 1}, .axes = {1}, .correction = 1});
  check({.op = ReduceKind::variance, .shape = {3, 2}, .axes = {1}, .correction = 5});
}

TEST_P(ReduceTest, CountsInEveryType) {
  for (DType x : {DType::f16, DType::f8e4m3, DType::u32, DType::i64, DType::boolean}) {
    check({.op = ReduceKind::count, .shape = {3, 5, 8}, .axes = {2}, .x = x});
    check({.op = ReduceKind::count, .shape = {8, 12}, .axes = {0}, .x = x, .y = DType::u64});
  }
  for (DType y : {DType::u32, DType::i64}) {
    check({.op = ReduceKind::count, .shape = {100000}, .axes = {0}, .x = DType::i8, .y = y});
  }
}

TEST_P(ReduceTest, AnyAxes) {
  for (int mask = 0; mask < 16; ++mask) {
    std::vector<int> axes;
    for (int d = 0; d < 4; ++d) {
      if (mask >> d & 1) axes.push_back(mask % 2 ? d : d - 4);
    }
    check({.shape = {3, 4, 5, 8}, .axes = axes, .ones = mask % 3 == 0});
    check({.op = ReduceKind::max, .shape = {4, 3, 7, 5}, .axes = axes, .value = normal(mask)});
  }
}

TEST_P(ReduceTest, Layouts) {
  for (Kind x : kInputKinds) {
    for (Kind y : kOutputKinds) {
      for (const std::vector<int>& axes : {std::vector<int>{2}, {0}, {0, 2}}) {
        check({.shape = {3, 4, 8},
               .axes = axes,
               .x = x == Kind::sliced ? DType::f16 : DType::f32,
               .x_kind = x,
               .y_kind = y});
      }
    }
  }
}

TEST_P(ReduceTest, Sizes) {
  for (std::int64_t n : {1, 2, 3, 31, 32, 33, 1023, 1024, 1025, 100000}) {
    check({.shape = {2, n}, .axes = {1}});
    check({.shape = {n, 2}, .axes = {0}});
    check({.shape = {n, 4}, .axes = {0}});
    check({.shape = {n}, .axes = {0}});
  }
  check({.shape = {70000, 3}, .axes = {1}});
  check({.shape = {3, 70000}, .axes = {0}});
  check({.shape = {70000, 8}, .axes = {1}});
}

// Results of empty rows, also over axes that are not contiguous with each other.
TEST_P(ReduceTest, EmptyRows) {
  for (ReduceKind op : kAll) {
    check({.op = op, .shape = {3, 0}, .axes = {1}});
    check({.op = op, .shape = {0, 3, 4}, .axes = {0, 2}});
    check({.op = op, .shape = {4, 3, 0, 2}, .axes = {0, 2}});
    check({.op = op, .shape = {3, 5, 0}, .axes = {0, 2}});
  }
}

// Denormals are not zero, at any position in a row: those of f32 and bf16, which a device may flush in arithmetic, and
// of the narrower floats, which it does not flush.
TEST_P(ReduceTest, DenormalsAreNotZero) {
  const std::pair<DType, std::uint64_t> types[] = {{DType::f32, 1},    {DType::bf16, 1},   {DType::f16, 1},
                                                   {DType::f8e4m3, 1}, {DType::f8e5m2, 1}, {DType::f64, 1}};
  for (const auto& [type, bits] : types) {
    const bool flushes = type == DType::f32 || type == DType::bf16;
    for (const std::int64_t n : {1, 5, 32, 33, 35, 36, 65, 250, 1000}) {
      if (!flushes && n != 33 && n != 1000) continue;
      for (const bool along : {true, false}) {
        const View x = output(type, along ? Shape{3, n} : Shape{n, 3});
        // A row of denormals of both signs; one of zeros of both signs; one whose only element that is not zero is the
        // last.
        for (std::int64_t row = 0; row < 3; ++row) {
          for (std::int64_t j = 0; j < n; ++j) {
            const std::uint64_t sign = j % 2 ? std::uint64_t{1} << (weft::bits(type) - 1) : 0;
            const bool zero = row == 1 || (row == 2 && j + 1 < n);
            set_element_bits(x, along ? row * n + j : j * 3 + row, sign | (zero ? 0 : bits));
          }
        }
        for (const ReduceKind op : {ReduceKind::any, ReduceKind::all, ReduceKind::count}) {
          const View y = output(result_type(op, type), {3});
          const std::string what =
              std::format("op {} of {} {}", static_cast<int>(op), along ? "rows" : "columns", weft::to_string(x));
          run_both(
              device, std::array{x}, std::array{y},
              [&](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], std::array{along ? 1 : 0}); },
              {}, what);
          const double some = op == ReduceKind::count ? 1 : op == ReduceKind::any || n == 1 ? 1 : 0;
          EXPECT_EQ(values(y), (std::vector<double>{op == ReduceKind::count ? static_cast<double>(n) : 1, 0, some}))
              << what;
        }
      }
    }
  }
}

// The count of no elements is 0 in every type, also in those whose range is smaller than that of counts.
TEST_P(ReduceTest, NothingOfEveryType) {
  for (const DType type : {DType::f32, DType::f16, DType::f8e4m3, DType::f64, DType::i4, DType::u4, DType::i2,
                           DType::u2, DType::i8, DType::u16, DType::i64, DType::boolean, DType::c64}) {
    for (const ReduceKind op : {ReduceKind::any, ReduceKind::all, ReduceKind::count}) {
      const View x = output(type, {3, 0}), y = output(result_type(op, type), {3});
      run_both(
          device, std::array{x}, std::array{y},
          [&](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], std::array{1}); }, {},
          weft::to_string(x));
      for (const double v : values(y))
        EXPECT_EQ(v, op == ReduceKind::all ? 1 : 0) << static_cast<int>(op) << name(type);
    }
  }
}

// The steps after whole batches: none, some for all lanes, and some for a part of them. The greatest element of a row
// is the last.
TEST_P(ReduceTest, StepsBesideWholeBatches) {
  for (const DType type : {DType::f32, DType::f16, DType::i64}) {
    for (ReduceKind op : {ReduceKind::sum, ReduceKind::max, ReduceKind::log_sum_exp, ReduceKind::count}) {
      if (floats_only(op) && !is_floating(type)) continue;
      const ValueOf value =
          op == ReduceKind::max ? ValueOf([](std::int64_t i) { return static_cast<double>(i % 1009); }) : ValueOf();
      for (std::int64_t n : {4, 28, 32, 36, 124, 128, 132, 160, 244, 256, 260, 1000}) {
        check({.op = op, .shape = {1, n}, .axes = {1}, .x = type, .value = value});
        check({.op = op, .shape = {6, n}, .axes = {1}, .x = type, .value = value});
        check({.op = op, .shape = {n, 8}, .axes = {0}, .x = type, .value = value});
      }
    }
  }
}

// Unaligned rows of 16-bit elements, in one step of a thread and in many; columns as packed pairs, in numbers that are
// no multiple of four.
TEST_P(ReduceTest, RowsAndColumnsThatEndAnywhere) {
  for (const DType type : {DType::f16, DType::bf16, DType::i16, DType::u16}) {
    for (const ReduceKind op : kAll) {
      if (floats_only(op) && !is_floating(type)) continue;
      if (op == ReduceKind::prod && !is_floating(type)) continue;
      for (const std::int64_t n : {128, 129, 131, 998, 5001}) {
        if (n > 500 && op == ReduceKind::prod) continue;  // out of range
        check({.op = op, .shape = {7, n}, .axes = {1}, .x = type, .x_kind = n % 2 ? Kind::dense : Kind::offset});
      }
      check({.op = op, .shape = {100, 14}, .axes = {0}, .x = type});
      check({.op = op, .shape = {3, 20, 6}, .axes = {0, 1}, .x = type});
      check({.op = op, .shape = {37, 1}, .axes = {1}, .x = type});
    }
  }
}

// Groups of four columns as unaligned pairs; results that are stored in vectors of four, and singly.
TEST_P(ReduceTest, ColumnsThatBeginAnywhere) {
  for (const DType type : {DType::f16, DType::bf16, DType::i16, DType::u16}) {
    for (const ReduceKind op : kAll) {
      if (op == ReduceKind::prod || (floats_only(op) && !is_floating(type))) continue;
      check({.op = op, .shape = {50, 13}, .axes = {0}, .x = type});
      check({.op = op, .shape = {67, 16}, .axes = {0}, .x = type, .x_kind = Kind::offset});
      check({.op = op, .shape = {67, 16}, .axes = {0}, .x = type, .y_kind = Kind::offset});
      check({.op = op, .shape = {33, 12}, .axes = {0}, .x = type, .y_kind = Kind::reversed});
      check({.op = op, .shape = {3, 20, 7}, .axes = {0, 1}, .x = type, .x_kind = Kind::offset});
      check({.op = op, .shape = {5, 19, 9}, .axes = {1}, .x = type});
    }
  }
  check({.shape = {70001, 9}, .axes = {0}, .x = DType::f16});
  check({.op = ReduceKind::max, .shape = {30000, 7}, .axes = {0}, .x = DType::f16, .value = normal(1)});
  for (const ReduceKind op : {ReduceKind::any, ReduceKind::all, ReduceKind::max}) {
    check({.op = op, .shape = {40, 24}, .axes = {0}, .x = DType::u8});
  }
}

// An operand of the epilogue is y itself: no column may be processed by two threads.
TEST_P(ReduceTest, ColumnsIntoTheirOperand) {
  Expression sum;
  sum.output(sum.apply(ScalarOp::add, {sum.input(DType::f32), sum.input(DType::f32)}));
  for (const std::int64_t columns : {2, 13, 14, 16}) {
    const View x = view_of(DType::f16, {50, columns}, Kind::dense, positive);
    const View y = view_of(DType::f32, {1, columns}, Kind::dense, positive);
    run_both(
        device, std::array{x, y}, std::array{y},
        [&](Stream& s, auto in, auto out) {
          kernels::reduce(s, ReduceKind::sum, in[0], out[0], std::array{0}, 0, {.epilogue = {&sum, in.subspan(1)}});
        },
        {.relative = 1e-5}, std::format("{} columns", columns));
  }
}

// Two columns are reduced as four columns of half the length.
TEST_P(ReduceTest, TwoColumns) {
  for (const DType type : {DType::f32, DType::f16, DType::i32, DType::u8}) {
    for (const ReduceKind op : kAll) {
      if (op == ReduceKind::prod || (floats_only(op) && !is_floating(type))) continue;
      for (const std::int64_t n : {2, 3, 64, 999, 5000}) {
        check({.op = op, .shape = {n, 2}, .axes = {0}, .x = type});
      }
      check({.op = op, .shape = {66, 2}, .axes = {0}, .x = type, .x_kind = Kind::offset, .y_kind = Kind::reversed});
    }
  }
  check({.shape = {200000, 2}, .axes = {0}, .x = DType::f16});
  check({.op = ReduceKind::min, .shape = {4, 2}, .axes = {0}, .value = [](std::int64_t i) {
           return i == 6 ? kNaN : 1.0;
         }});
}

// Unaligned rows of 32-bit elements, in steps of four, of which the first and the last are partial.
TEST_P(ReduceTest, UnalignedRowsOf32Bits) {
  for (const DType type : {DType::f32, DType::i32, DType::u32}) {
    for (const ReduceKind op : kAll) {
      if (op == ReduceKind::prod || (floats_only(op) && !is_floating(type))) continue;
      for (const std::int64_t n : {512, 513, 998, 1027, 5001}) {
        check({.op = op, .shape = {5, n}, .axes = {1}, .x = type, .x_kind = n % 2 ? Kind::dense : Kind::offset});
      }
    }
  }
  for (const DType type : {DType::f32, DType::f16}) {
    for (const ReduceKind op : {ReduceKind::sum, ReduceKind::min, ReduceKind::l2, ReduceKind::count}) {
      for (const std::int64_t n : {100001, 70003, 65539}) {  // split rows
        check({.op = op, .shape = {3, n}, .axes = {1}, .x = type, .x_kind = Kind::offset});
      }
    }
  }
  check({.op = ReduceKind::max, .shape = {9, 50257}, .axes = {1}, .value = [](std::int64_t i) {
           return i % 50257 == 50256 ? kNaN : static_cast<double>(i);
         }});
}

TEST_P(ReduceTest, LongRowsInParts) {
  for (ReduceKind op : kAll) {
    if (op == ReduceKind::prod || op == ReduceKind::log_sum) continue;
    check({.op = op, .shape = {1000000}, .axes = {0}});
    EXPECT_GT(workgroups(op, DType::f32, {1000000}, 0), 1u);
  }
  check({.shape = {3, 1000, 301}, .axes = {0, 1}, .y_kind = Kind::reversed});
  check({.op = ReduceKind::max, .shape = {2, 100001}, .axes = {1}, .value = normal(1)});
  check({.op = ReduceKind::log_sum_exp, .shape = {100001, 4}, .axes = {0}, .value = normal(1)});
  check({.op = ReduceKind::mean, .shape = {100001, 2}, .axes = {0}, .x = DType::f16});
}

// Rows: NaN first, NaN last (negative), both infinities, all +inf, all -inf, -0 and 0.
TEST_P(ReduceTest, SpecialValues) {
  for (std::int64_t n : {4, 9, 5000}) {
    const auto value = [n](std::int64_t i) {
      const std::int64_t row = i / n, j = i % n;
      switch (row) {
        case 0:
          return j == 0 ? kNaN : static_cast<double>(j);
        case 1:
          return j == n - 1 ? -kNaN : -static_cast<double>(j);
        case 2:
          return j == 1 ? kInf : j == 2 ? -kInf : 1.0;
        case 3:
          return kInf;
        case 4:
          return -kInf;
        default:
          return j % 2 ? 0.0 : -0.0;
      }
    };
    for (ReduceKind op :
         {ReduceKind::sum, ReduceKind::mean, ReduceKind::min, ReduceKind::max, ReduceKind::l1, ReduceKind::l2,
          ReduceKind::log_sum_exp, ReduceKind::any, ReduceKind::all, ReduceKind::count, ReduceKind::variance}) {
      check({.op = op, .shape = {6, n}, .axes = {1}, .value = value});
      check({.op = op, .shape = {6, n}, .axes = {1}, .x_kind = Kind::transposed, .value = value});
    }
  }
  check({.op = ReduceKind::max, .shape = {100000}, .axes = {0}, .value = [](std::int64_t i) {
           return i == 77777 ? kNaN : 1.0;
         }});
  // Very different elements: only the largest counts, and nothing overflows.
  check({.op = ReduceKind::log_sum_exp, .shape = {3, 400}, .axes = {1}, .value = [](std::int64_t i) {
           return static_cast<double>(i % 400) * 1e36;
         }});
}

// One NaN a row, of either sign, at every position; and infinities of both signs, whose sum is NaN though no element
// is.
TEST_P(ReduceTest, MinAndMaxFindNaN) {
  for (const std::int64_t n : {7, 16, 160, 161, 162}) {
    const auto nan = [n](std::int64_t i) {
      return i / n % n == i % n ? (i % 2 ? -kNaN : kNaN) : static_cast<double>(i % 5) - 9;
    };
    const auto infinities = [](std::int64_t i) { return i % 6 == 1 ? kInf : i % 6 == 4 ? -kInf : 1; };
    for (const DType x : {DType::f32, DType::f16, DType::bf16, DType::f8e5m2}) {
      for (const ReduceKind op : {ReduceKind::min, ReduceKind::max}) {
        for (const int axis : {0, 1}) {
          check({.op = op, .shape = {n, n}, .axes = {axis}, .x = x, .value = nan});
          check({.op = op, .shape = {n, n}, .axes = {axis}, .x = x, .y = DType::f32, .value = infinities});
        }
      }
    }
  }
  // In one of many splits.
  for (const DType x : {DType::f32, DType::f16, DType::bf16}) {
    for (const ReduceKind op : {ReduceKind::min, ReduceKind::max}) {
      check({.op = op, .shape = {100000, 8}, .axes = {0}, .x = x, .value = [](std::int64_t i) {
               return i == 654321 ? -kNaN : static_cast<double>(i % 1001) - 2000;
             }});
      EXPECT_GT(workgroups(op, x, {100000, 8}, 0), 1u);
    }
  }
}

void in_form(Stream& s, ReduceKind op, const View& x, const View& y, int axis, const kernels::ReduceForm& form) {
  const std::array axes{axis};
  if (!s.gpu()) return kernels::reduce(s, op, x, y, axes);
  kernels::reduce_in_form(s, op, x, y, axes, form);
}

// Reductions in given forms: threads a row, rows side by side, loads at once, splits.
TEST_P(ReduceTest, Forms) {
  for (const kernels::ReduceForm& form : {kernels::ReduceForm{{16, 1}, 8, 1}, {{4, 8}, 16, 3}, {{1, 64}, 4, 5}}) {
    for (const int axis : {0, 1}) {
      for (const ReduceKind op : {ReduceKind::sum, ReduceKind::min, ReduceKind::max}) {
        for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
          const Shape shape = axis ? Shape{8, 3000} : Shape{3000, 8};
          const View x = view_of(type, shape, Kind::dense, [&](std::int64_t i) {
            return i == 12345 && op != ReduceKind::sum ? -kNaN : positive(i);
          });
          run_both(
              device, std::array{x}, std::array{output(DType::f32, {8})},
              [&](Stream& s, auto in, auto out) { in_form(s, op, in[0], out[0], axis, form); },
              op == ReduceKind::sum ? Tolerance{.relative = 1e-5} : Tolerance{},
              std::format("reduce op {} along {} of {}", static_cast<int>(op), axis, weft::to_string(x)));
        }
      }
    }
  }
}

// Partial results of 64-bit elements of two words, in vectors of four.
TEST_P(ReduceTest, CountsInForms) {
  for (const DType type : {DType::i64, DType::u64, DType::i32, DType::f32}) {
    for (const ReduceKind op : {ReduceKind::any, ReduceKind::all, ReduceKind::count}) {
      const View x = view_of(type, {8, 3000}, Kind::dense, [](std::int64_t i) { return i % 3000 == 17 || i > 9000; });
      const kernels::ReduceForm form{{16, 1}, 4, 4};
      run_both(
          device, std::array{x}, std::array{output(op == ReduceKind::count ? DType::i64 : DType::boolean, {8})},
          [&](Stream& s, auto in, auto out) { in_form(s, op, in[0], out[0], 1, form); }, {},
          std::format("reduce op {} of {}", static_cast<int>(op), weft::to_string(x)));
    }
  }
}

// Squares past f32's range must not give a finite number, also if the outlier is a batch's first element.
TEST_P(ReduceTest, VariancePastTheRange) {
  for (const std::int64_t n : {64, 5000, 300001}) {
    for (const int axis : {0, 1}) {
      const View x = to_device(device, view_of(DType::f32, axis ? Shape{2, n} : Shape{n, 2}, Kind::dense,
                                               [](std::int64_t i) { return i < 2 ? 1e25 : 0.0; }));
      const View y(device.allocate(16), 0, DType::f32, axis ? Shape{2, 1} : Shape{1, 2});
      gpu::Encoder encoder(device);
      kernels::reduce(encoder, ReduceKind::variance, x, y, std::array{axis});
      encoder.submit();
      std::array<float, 2> got{};
      device.read(y.buffer, 0, 8).get().copy_to(std::as_writable_bytes(std::span(got)));
      EXPECT_FALSE(std::isfinite(got[0])) << got[0] << " of " << n << ", axis " << axis;
    }
  }
}

// For any size and type, with look-back or after the spin limit was reached: all sync flags are reset at the end, so
// that the next kernel can use them.
TEST_P(ReduceTest, FlagsAreReset) {
  std::uint64_t most = 0;
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::int64_t n : {300000, 5000, 70001}) {
      const View x = to_device(device, view_of(DType::f32, {n / 100, 100}, Kind::dense, normal(1, 1)));
      const View rows(x.buffer, 0, DType::f32, {4, n / 4}), y(device.allocate(n * 4), 0, DType::f32, {n / 100, 100});
      const View y_rows(y.buffer, 0, DType::f32, rows.shape());
      gpu::Encoder encoder(device);
      for (const int axis : {0, 1}) {
        const View result(y.buffer, 0, DType::f32, axis ? Shape{4, 1} : Shape{1, n / 4});
        const View places(y.buffer, 0, DType::i32, result.shape());
        for (const ReduceKind op : {ReduceKind::sum, ReduceKind::max, ReduceKind::log_sum_exp, ReduceKind::variance}) {
          const kernels::ReduceForm form{{8, 4}, 4, 7};
          kernels::reduce_in_form(encoder, op, rows, result, std::array{axis}, form);
        }
        kernels::arg_reduce(encoder, kernels::ArgKind::min, rows, places, std::array{axis});
      }
      for (const std::uint32_t spin_limit : {256, 2, 0}) {
        const kernels::SplitForm form{
            .threads = 32, .register_steps = 3, .interleave = 2, .look_back = true, .spin_limit = spin_limit};
        kernels::softmax_split_rows(encoder, kernels::row_views("softmax", x, y), 0, false, form);
        const auto norm = kernels::make_layer_norm(kernels::row_views("layer_norm", rows, y_rows), {}, {}, 1, 1e-5f);
        kernels::row_norm_split_rows(encoder, norm, form);
        kernels::scan_split_rows(encoder, kernels::ScanKind::sum, rows, y_rows, 1, {}, form);
      }
      // Columns as packed pairs, one of which needs the slow path because it has a NaN.
      for (const std::uint32_t spin_limit : {256, 1}) {
        const View halves = to_device(device, view_of(DType::bf16, {1, n / 100, 64}, Kind::dense, [](std::int64_t i) {
                                        return i == 64 * 17 + 5 ? NAN : static_cast<double>(i % 11);
                                      }));
        const View to(y.buffer, 0, DType::bf16, halves.shape());
        const kernels::SplitForm form{.threads = 256, .register_steps = 2, .look_back = true, .spin_limit = spin_limit};
        kernels::softmax_split_rows(encoder, kernels::row_views("softmax", halves, to), 1, false, form);
        const auto norm = kernels::make_group_norm("instance_norm", kernels::row_views("instance_norm", halves, to), {},
                                                   {}, 2, -1, 1e-5f);
        kernels::row_norm_split_rows(encoder, norm, form);
      }
      encoder.submit();
      most = std::max(most, gpu::sync_flags(device, 1).buffer.size() / 4);
    }
  }
  expect_rest(most);
}

// Partial results that arrive only after all waiting workgroups reached the spin limit, some of them very late: results
// are right nevertheless, and all flags are reset.
TEST_P(ReduceTest, WordsThatComeLateAreWaitedFor) {
  const kernels::SplitForm form{
      .threads = 32, .register_steps = 3, .interleave = 2, .look_back = true, .spin_limit = 2, .late = true};
  for (const int axis : {0, 1}) {
    const View x = view_of(DType::f32, {axis ? 4 : 500, axis ? 500 : 8}, Kind::dense, normal(3)),
               y = output(DType::f32, x.shape());
    const auto in_parts = [&](const std::string& what, const KernelCall& call) {
      run_both(device, std::array{x}, std::array{y}, call, {.ulp = 64, .absolute = 1e-5}, what);
      expect_rest(gpu::sync_flags(device, 1).buffer.size() / 4);
    };
    in_parts("softmax", [&](Stream& s, auto in, auto out) {
      if (s.cpu()) return kernels::softmax(s, in[0], out[0], axis);
      kernels::softmax_split_rows(s, kernels::row_views("softmax", in[0], out[0]), axis, false, form);
    });
    in_parts("scan", [&](Stream& s, auto in, auto out) {
      if (s.cpu()) return kernels::scan(s, kernels::ScanKind::sum, in[0], out[0], axis, {});
      kernels::scan_split_rows(s, kernels::ScanKind::sum, in[0], out[0], axis, {}, form);
    });
    if (axis == 0) continue;  // a norm's axes are the last ones
    in_parts("layer_norm", [&](Stream& s, auto in, auto out) {
      if (s.cpu()) return kernels::layer_norm(s, in[0], {}, {}, out[0], 1, 1e-5f);
      const auto norm = kernels::make_layer_norm(kernels::row_views("layer_norm", in[0], out[0]), {}, {}, 1, 1e-5f);
      kernels::row_norm_split_rows(s, norm, form);
    });
  }
}

// Encoders that submit by themselves while they record, others that submit before them, and one that is dropped.
TEST_P(ReduceTest, FlagsAreResetBetweenSubmits) {
  constexpr std::int64_t kRows = 3000;
  const View x = to_device(device, view_of(DType::f32, {kRows, 100}, Kind::dense, positive));
  const View y(device.allocate(kRows * 400), 0, DType::f32, {kRows, 100});
  const kernels::SplitForm form{.threads = 32, .register_steps = 3, .interleave = 2, .look_back = true};
  const View row(x.buffer, 0, DType::f32, {1, kRows * 100}), filled(device.allocate(16), 0, DType::f32, {4});
  double expected = 0;
  for (std::int64_t i = 0; i < kRows * 100; ++i) expected += positive(i);
  for (int before = 28; before < 34; ++before) {
    for (const bool drops : {false, true}) {
      gpu::Encoder other(device);
      const View sum(device.allocate(16), 0, DType::f32, {1, 1});
      {
        gpu::Encoder encoder(device);
        for (int i = 0; i < before; ++i) kernels::fill(encoder, i, filled);
        kernels::softmax_split_rows(encoder, kernels::row_views("softmax", x, y), 0, false, form);
        kernels::reduce_in_form(other, ReduceKind::sum, row, sum, std::array{1}, {{8, 1}, 4, 7});
        other.submit();
        if (!drops) encoder.submit();
      }
      float got = 0;
      device.read(sum.buffer, 0, 4).get().copy_to(std::as_writable_bytes(std::span(&got, 1)));
      EXPECT_NEAR(got, expected, expected * 1e-5) << before;
      expect_rest(1 << 14);
    }
  }
}

// Types that few operations support, and packed types.
TEST_P(ReduceTest, OtherTypes) {
  for (DType x : {DType::i4, DType::u4, DType::i2, DType::u2}) {
    const DType wide = is_signed(x) ? DType::i32 : DType::u32;
    for (ReduceKind op : {ReduceKind::sum, ReduceKind::prod, ReduceKind::min, ReduceKind::max, ReduceKind::count}) {
      check({.op = op, .shape = {5, 37}, .axes = {1}, .x = x});
      if (!is_logic(op)) check({.op = op, .shape = {6, 40}, .axes = {0}, .x = x, .y = wide, .x_kind = Kind::reversed});
    }
    check({.op = ReduceKind::min, .shape = {3, 0}, .axes = {1}, .x = x});
    check({.op = ReduceKind::sum, .shape = {2, 1 << 17}, .axes = {1}, .x = x, .y = wide});
  }
  for (DType x : {DType::boolean, DType::f8e5m2, DType::c64, DType::f64}) {
    for (ReduceKind op : {ReduceKind::any, ReduceKind::all, ReduceKind::count}) {
      check({.op = op, .shape = {5, 37}, .axes = {1}, .x = x});
      check({.op = op, .shape = {6, 40}, .axes = {0}, .x = x, .x_kind = Kind::sliced});
      // -0 counts as 0, NaN does not.
      check({.op = op, .shape = {3, 4}, .axes = {1}, .x = x, .value = [](std::int64_t i) {
               return i < 4 ? -0.0 : i < 8 ? kNaN : i % 4 ? 1.0 : -0.0;
             }});
    }
  }
  const auto imaginary = [](std::int64_t i) { return 0.25 * static_cast<double>(i % 5) - 0.5; };
  for (ReduceKind op : {ReduceKind::sum, ReduceKind::mean, ReduceKind::prod}) {
    const std::pair<Shape, int> problems[] = {{{3, 37}, 1}, {{37, 8}, 0}, {{2, 1 << 16}, 1}, {{2, 0}, 1}};
    for (const auto& [shape, axis] : problems) {
      if (op == ReduceKind::prod && element_count(shape) > 1000) continue;
      const View splits = view_of(DType::f32, shape, Kind::dense, positive);
      const View x = random_view(rng_, shape, DType::c64);
      for (std::int64_t i = 0; i < x.count(); ++i) {
        const auto real = std::bit_cast<std::uint32_t>(static_cast<float>(value(splits, i)));
        const auto imag = std::bit_cast<std::uint32_t>(static_cast<float>(imaginary(i)));
        set_element_bits(x, i, real | std::uint64_t{imag} << 32);
      }
      run_both(
          device, {{x}}, {{output(DType::c64, reduced(shape, {axis}, false))}},
          [&, axis = axis](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], std::array{axis}); },
          {.absolute = 1e-4, .relative = 1e-4}, std::format("op {} of c64 {}", static_cast<int>(op), to_string(shape)));
    }
  }
}

TEST_P(ReduceTest, NoElements) {
  for (ReduceKind op : kAll) {
    check({.op = op, .shape = {3, 0}, .axes = {1}});
    check({.op = op, .shape = {0, 3}, .axes = {1}});
    if (!floats_only(op)) check({.op = op, .shape = {3, 0}, .axes = {1}, .x = DType::i32});
  }
}

// A sum of a million equal terms is accurate, though all its roundings go in one direction.
TEST_P(ReduceTest, LongSumsKeepTheirDigits) {
  check({.shape = {1 << 20},
         .axes = {0},
         .value = [](std::int64_t) { return 0.1f; },
         .tolerance = Tolerance{.relative = 2e-5}});
  check({.op = ReduceKind::mean,
         .shape = {1 << 20},
         .axes = {0},
         .value = normal(3, 1, 1),
         .tolerance = Tolerance{.relative = 2e-6}});
}

const bool registered = differential("reduce", [](Rng& rng) {
  const ReduceKind op = pick(rng, kAll);
  constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
  constexpr DType kNumbers[] = {DType::f32, DType::f16, DType::i8,  DType::u8,  DType::i16,  DType::u16,
                                DType::i32, DType::u32, DType::i64, DType::u64, DType::bf16, DType::f8e4m3,
                                DType::i4,  DType::u4,  DType::i2,  DType::u2};
  constexpr DType kOthers[] = {DType::boolean, DType::f8e5m2, DType::c64, DType::f64};
  const bool complex = op == ReduceKind::sum || op == ReduceKind::mean || op == ReduceKind::prod;
  const DType type = complex && rng() % 8 == 0        ? DType::c64
                     : floats_only(op)                ? pick(rng, kFloats)
                     : is_logic(op) && rng() % 3 == 0 ? pick(rng, kOthers)
                                                      : pick(rng, kNumbers);
  const Shape shape = random_shape(rng);
  std::vector<int> axes;
  for (int d = 0; d < shape.rank(); ++d) {
    if (rng() % 2) axes.push_back(d);
  }
  DType to = result_type(op, type);
  constexpr DType kCounts[] = {DType::i32, DType::u32, DType::i64, DType::u64};
  if (op == ReduceKind::count) to = pick(rng, kCounts);
  if (is_integer(type) && !is_logic(op) && bits(type) < 32 && rng() % 2) to = is_signed(type) ? DType::i32 : DType::u32;
  if (is_floating(type) && !is_logic(op) && rng() % 2) to = DType::f32;
  const Kind kind = random_input_kind(rng);
  // Sums of numbers of both signs have the error of their largest partial sums: here some hundreds.
  const bool exact = is_logic(op) || op == ReduceKind::min || op == ReduceKind::max;
  View x = random_view(rng, shape, type, kind, exact ? Values::special : Values::ordinary);
  if (is_floating(type) && !exact) {
    x = view_of(type, shape, kind,
                op == ReduceKind::prod      ? ValueOf([](std::int64_t i) { return i % 5   ? 1.0
                                                                                  : i % 2 ? 0.9375
                                                                                          : -1.0625; })
                : op == ReduceKind::log_sum ? positive
                                            : normal(rng()));
  }
  const bool ones = rng() % 2;
  const double correction = is_moment(op) ? static_cast<double>(rng() % 2) : 0;
  Problem problem;
  problem.what = std::format("reduce op {} over {} axes of {}, correction {}", static_cast<int>(op), axes.size(),
                             weft::to_string(x), correction);
  problem.inputs = {x};
  problem.outputs = {random_view(rng, reduced(shape, axes, ones), to, random_output_kind(rng))};
  problem.tolerance = exact ? Tolerance{} : Tolerance{.ulp = 1, .absolute = 1e-4, .relative = 1e-4};
  problem.call = [op, axes, correction](Stream& s, auto in, auto out) {
    kernels::reduce(s, op, in[0], out[0], axes, correction);
  };
  return problem;
});

INSTANTIATE_TEST_SUITE_P(Devices, ReduceTest, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

TEST(ReduceArguments, AreChecked) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 3}, Kind::dense), rows = output(DType::f32, {2}, Kind::dense);
  const View integers = output(DType::i8, {2, 3}, Kind::dense), bytes = output(DType::i8, {2}, Kind::dense);
  const auto run = [&](ReduceKind op, const View& from, const View& to, std::vector<int> axes) {
    kernels::reduce(executor, op, from, to, axes);
  };
  EXPECT_NO_THROW(run(ReduceKind::sum, x, rows, {1}));
  EXPECT_THROW(run(ReduceKind::sum, x, rows, {0}), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, x, rows, {2}), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, x, rows, {1, -1}), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::any, x, rows, {1}), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::mean, integers, bytes, {1}), InvalidArgument);
  const View far(x.buffer, 0, DType::f32, {2, std::int64_t{1} << 31}, {1, 0});
  EXPECT_THROW(run(ReduceKind::count, far, output(DType::i32, {2}, Kind::dense), {1}), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, integers, rows, {1}), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, output(DType::boolean, {2, 3}), rows, {1}), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, output(DType::c64, {2, 3}), rows, {1}), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::max, output(DType::c64, {2, 3}), output(DType::c64, {2}), {1}), InvalidArgument);
  EXPECT_NO_THROW(run(ReduceKind::sum, integers, bytes, {1}));
  // By name as by the function, and as the functions of tensors do.
  for (const auto& [op, name] : {std::pair(ReduceKind::variance, "variance"), {ReduceKind::deviation, "deviation"}}) {
    const auto by = [&, op = op](double correction) { kernels::reduce(executor, op, x, rows, {{1}}, correction); };
    const auto named = [&, name = name](double correction) {
      kernels::call(executor, name,
                    {.inputs = {{x}},
                     .outputs = {{rows}},
                     .attributes = {{"axes", std::vector<std::int64_t>{1}}, {"correction", correction}}});
    };
    for (const auto& [correction, text] : {std::pair(-1.0, "-1"), {-1e-300, "-1e-300"}, {std::nan(""), "nan"}}) {
      const std::string expected = std::format("{}: the correction is {}, expected 0 or more", name, text);
      EXPECT_EQ(refused_by([&, correction = correction] { by(correction); }), expected);
      EXPECT_EQ(refused_by([&, correction = correction] { named(correction); }), expected);
    }
    for (const double correction : {0.0, 0.5, 7.0, std::numeric_limits<double>::infinity()}) {
      EXPECT_NO_THROW(by(correction));
      EXPECT_NO_THROW(named(correction));
    }
  }
  // A view of stride 0 can have any number of elements.
  const View endless(Buffer::host(4), 0, DType::f32, {std::int64_t{1} << 62}, {0});
  try {
    run(ReduceKind::sum, endless, output(DType::f32, {}), {0});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const OutOfMemory& e) {
    EXPECT_THAT(e.what(), testing::StartsWith("reduce_sum: "));
  }
}

}  // namespace
}  // namespace weft::test
