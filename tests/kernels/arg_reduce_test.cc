#include <limits>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"

namespace weft::test {
namespace {

using kernels::ArgKind;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr DType kIndexTypes[] = {DType::i32, DType::u32, DType::i64, DType::u64};

Shape without(const Shape& shape, const std::vector<int>& axes) {
  Shape s;
  for (int d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(axes, d) == axes.end()) s.push_back(shape[d]);
  }
  return s;
}

KernelCall call_of(ArgKind op, std::vector<int> axes) {
  return [=](Stream& s, std::span<const View> in, std::span<const View> out) {
    kernels::arg_reduce(s, op, in[0], out[0], axes);
  };
}

// Few values, so that many are equal.
double few(std::int64_t i) { return static_cast<double>(i * 7919 % 1009 % 13) - 6; }

class ArgReduceTest : public testing::TestWithParam<std::string> {
 protected:
  void check(const View& x, const std::vector<int>& axes, DType y = DType::i32, Kind kind = Kind::dense) {
    for (ArgKind op : {ArgKind::min, ArgKind::max}) {
      run_both(device, std::array{x}, std::array{output(y, without(x.shape(), axes), kind)}, call_of(op, axes), {},
               std::format("{} over {} axes of {}", op == ArgKind::max ? "argmax" : "argmin", axes.size(),
                           weft::to_string(x)));
    }
  }
  gpu::Device& device = test::device(GetParam());
};

TEST_P(ArgReduceTest, Types) {
  for (DType x : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8e4m3, DType::f8e5m2, DType::i8, DType::u8,
                  DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean}) {
    const auto value = is_signed(x) ? ValueOf(few) : ValueOf([](std::int64_t i) { return std::abs(few(i)); });
    const bool along = bits(x) != 16 && bits(x) != 64;
    check(view_of(x, {24, 24}, Kind::dense, value), {along ? 1 : 0});
  }
  Rng rng(1);
  for (DType x : {DType::f32, DType::f16, DType::f64, DType::i64, DType::u64, DType::u32, DType::boolean}) {
    check(random_view(rng, {9, 40}, x, Kind::dense, Values::special), {1});
  }
}

TEST_P(ArgReduceTest, IndexTypes) {
  for (DType y : kIndexTypes) {
    for (Kind kind : kOutputKinds) check(view_of(DType::f32, {6, 32}, Kind::dense, few), {1}, y, kind);
    check(view_of(DType::f32, {100000}, Kind::dense, normal(1)), {0}, y);
  }
}

TEST_P(ArgReduceTest, AxesAndLayouts) {
  for (int mask = 1; mask < 16; ++mask) {
    std::vector<int> axes;
    for (int d = 0; d < 4; ++d) {
      if (mask >> d & 1) axes.push_back(d);
    }
    check(view_of(DType::f32, {3, 4, 5, 8}, Kind::dense, few), axes);
    check(view_of(DType::f16, {4, 3, 7, 5}, Kind::transposed, few), axes);
  }
  for (Kind kind : kInputKinds) check(view_of(DType::f32, {3, 4, 8}, kind, few), {1});
}

TEST_P(ArgReduceTest, Sizes) {
  for (std::int64_t n : {1, 2, 3, 31, 33, 1023, 1025, 100000}) {
    check(view_of(DType::f32, {2, n}, Kind::dense, normal(n)), {1});
    check(view_of(DType::f32, {n, 4}, Kind::dense, few), {0});
    check(view_of(DType::i64, {n}, Kind::dense, few), {0});
  }
  check(view_of(DType::u8, {1000000}, Kind::dense, [](std::int64_t) { return 0.0; }), {0});
}

// Groups of four 16-bit columns that are packed pairs, or are assembled from three words (unaligned pairs); the last
// group overlaps the one before it.
TEST_P(ArgReduceTest, ColumnsThatBeginAnywhere) {
  Rng rng(2);
  for (const DType type : {DType::f16, DType::bf16, DType::i16, DType::u16}) {
    const auto value = is_signed(type) ? ValueOf(few) : ValueOf([](std::int64_t i) { return std::abs(few(i)); });
    for (const std::int64_t n : {5, 6, 131}) {
      for (const Kind kind : {Kind::dense, Kind::offset}) {
        check(view_of(type, {50, n}, kind, value), {0});
        check(random_view(rng, {67, n}, type, kind, Values::special), {0}, DType::i64);
        check(view_of(type, {3, 20, n}, kind, value), {0, 1}, DType::u32, Kind::reversed);
      }
    }
    check(view_of(type, {70001, 9}, Kind::offset, value), {0});
    check(view_of(type, {70000, 6}, Kind::dense, value), {0});
  }
}

// Two columns are processed as four columns of half the length.
TEST_P(ArgReduceTest, TwoColumns) {
  Rng rng(3);
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i16}) {
    const auto value = is_signed(type) ? ValueOf(few) : ValueOf([](std::int64_t i) { return std::abs(few(i)); });
    for (const std::int64_t n : {2, 3, 64, 4998}) {
      check(view_of(type, {n, 2}, Kind::dense, value), {0}, DType::i64);
      check(random_view(rng, {n, 2}, type, Kind::dense, Values::special), {0}, DType::i32, Kind::reversed);
    }
    check(view_of(type, {66, 2}, Kind::offset, value), {0});
    check(view_of(type, {200000, 2}, Kind::dense, value), {0});
  }
}

// The first of equal elements, zeros of both signs among them; NaN wins over all.
TEST_P(ArgReduceTest, TiesAndSpecialValues) {
  for (std::int64_t n : {8, 9, 5000}) {
    const auto value = [n](std::int64_t i) {
      const std::int64_t row = i / n, j = i % n;
      switch (row) {
        case 0:
          return j == n - 2 || j == n - 1 ? kNaN : static_cast<double>(j);
        case 1:
          return j == 2 ? -kNaN : kInf;
        case 2:
          return -kInf;
        case 3:
          return j % 2 ? 0.0 : -0.0;
        case 4:
          return j == 5 ? 1e-45 : 0.0;  // a denormal is greater than zero
        default:
          return j == 3 || j == 6 ? 2.0 : j == 4 || j == 7 ? -2.0 : 0.0;
      }
    };
    const View x = view_of(DType::f32, {6, n}, Kind::dense, value);
    check(x, {1});
    check(view_of(DType::f32, {6, n}, Kind::transposed, value), {1});
    cpu::Executor executor;
    const View y = output(DType::i32, {6});
    kernels::arg_reduce(executor, ArgKind::max, x, y, std::array{1});
    EXPECT_EQ(values(y), (std::vector<double>{static_cast<double>(n - 2), 2, 0, 0, 5, 3}));
    kernels::arg_reduce(executor, ArgKind::min, x, y, std::array{1});
    EXPECT_EQ(values(y), (std::vector<double>{static_cast<double>(n - 2), 2, 0, 0, 0, 4}));
  }
}

// Narrow floats are compared by their bits until one may be NaN or denormal. One NaN a row of either sign at every
// position, two of them, infinities of both signs, ties of zeros and of denormals, negative numbers only.
TEST_P(ArgReduceTest, NarrowFloats) {
  for (const auto& [x, least] :
       {std::pair{DType::f16, 0x1p-24}, {DType::bf16, 9.2e-41}, {DType::f8e5m2, 0x1p-16}}) {  // their denormals
    for (const std::int64_t n : {7, 16, 160}) {
      const ValueOf cases[] = {
          [n](std::int64_t i) { return i / n == i % n ? (i % 2 ? -kNaN : kNaN) : static_cast<double>(i % 5) - 9; },
          [n](std::int64_t i) { return i / n == i % n || i % n == n / 2 ? -kNaN : kInf; },
          [](std::int64_t i) { return i % 6 == 1   ? kInf
                                      : i % 6 == 4 ? -kInf
                                                   : 1; },
          [n](std::int64_t i) { return i / n == i % n ? -0.0
                                       : i % 3        ? 0.0
                                                      : -1.0; },
          [n, least](std::int64_t i) {
            return i / n == i % n ? least : i % n == n - 2 ? 2 * least : i % 2 ? 0.0 : -0.0;
          },
          [n, least](std::int64_t i) {
            return i / n == i % n ? -least : i % n == n - 2 ? -2 * least : i % 2 ? -0.0 : -1.0;
          },
          [](std::int64_t i) { return few(i) - 7; },
          [](std::int64_t) { return -kInf; },
      };
      for (const ValueOf& value : cases) {
        check(view_of(x, {n, n}, Kind::dense, value), {1});
        check(view_of(x, {n, n}, Kind::dense, value), {0});
      }
    }
    check(view_of(x, {50000, 8}, Kind::dense, few), {0});
    check(view_of(x, {2, 200000}, Kind::dense, [](std::int64_t i) { return i == 54321 ? -kNaN : few(i); }), {1});
  }
}

const bool registered = differential("arg_reduce", [](Rng& rng) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::u8,
                              DType::i16, DType::i32, DType::u32,  DType::i64, DType::u64,    DType::boolean,
                              DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::f8e4m3, DType::f8e5m2};
  const ArgKind op = rng() % 2 ? ArgKind::max : ArgKind::min;
  const Shape shape = random_shape(rng, 0, 8, 4096, false);
  std::vector<int> axes;
  for (int d = 0; d < shape.rank(); ++d) {
    if (rng() % 2) axes.push_back(d);
  }
  Problem problem;
  problem.inputs = {random_view(rng, shape, pick(rng, kTypes), random_input_kind(rng),
                                rng() % 2 ? Values::special : Values::ordinary)};
  problem.outputs = {random_view(rng, without(shape, axes), pick(rng, kIndexTypes), random_output_kind(rng))};
  problem.what = std::format("{} over {} axes of {}", op == ArgKind::max ? "argmax" : "argmin", axes.size(),
                             weft::to_string(problem.inputs[0]));
  problem.call = call_of(op, axes);
  return problem;
});

INSTANTIATE_TEST_SUITE_P(Devices, ArgReduceTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST(ArgReduceArguments, AreChecked) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 3}), y = output(DType::i32, {2});
  const auto run = [&](const View& from, const View& to, std::vector<int> axes) {
    kernels::arg_reduce(executor, ArgKind::max, from, to, axes);
  };
  EXPECT_NO_THROW(run(x, y, {1}));
  EXPECT_THROW(run(x, y, {0}), InvalidArgument);
  EXPECT_THROW(run(x, y, {1, 1}), InvalidArgument);
  EXPECT_THROW(run(x, output(DType::i8, {2}), {1}), InvalidArgument);
  EXPECT_THROW(run(x, output(DType::f32, {2}), {1}), InvalidArgument);
  EXPECT_THROW(run(output(DType::f32, {2, 0}), y, {1}), InvalidArgument);
  EXPECT_THROW(run(output(DType::c64, {2, 3}), y, {1}), InvalidArgument);
  const View far(x.buffer, 0, DType::u8, {2, (std::int64_t{1} << 31) + 64}, {1, 0});
  EXPECT_THAT(
      thrown_by([&] { run(far, y, {1}); }),
      testing::HasSubstr("InvalidArgument: argmax: y is i32 [2], which holds positions among 2^31 elements, and"));
  const View farther(x.buffer, 0, DType::u8, {2, (std::int64_t{1} << 32) + 64}, {1, 0});
  EXPECT_THAT(thrown_by([&] { run(farther, output(DType::u32, {2}), {1}); }), testing::HasSubstr("among 2^32"));
}

// Views of stride 0 have any number of elements, of which the first ones are the same: they take no memory and no time.
TEST(ArgReduceCpu, Broadcasts) {
  cpu::Executor executor;
  const View x = host_view(DType::u8, {3}, std::array{4.0, 9.0, 9.0}), y = output(DType::i64, {});
  const std::int64_t many = std::int64_t{1} << 40;
  const auto argmax = [&](const Shape& shape, const Strides& strides, std::vector<int> axes) {
    kernels::arg_reduce(executor, ArgKind::max, View(x.buffer, x.offset, DType::u8, shape, strides), y, axes);
    return kernels::data<std::int64_t>(y)[0];
  };
  EXPECT_EQ(argmax({3, 3, many}, {0, 1, 0}, {0, 1, 2}), many);
  EXPECT_EQ(argmax({many, 3}, {0, 1}, {0, 1}), 1);
  EXPECT_EQ(argmax({3, many}, {1, 0}, {0, 1}), many);
  EXPECT_EQ(argmax({many}, {0}, {0}), 0);
}

// Tensors that exceed a binding.
using ArgReduceChunks = ChunksTest;
using ArgReduceChunksOnDevice = ChunksOnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, ArgReduceChunksOnDevice, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_F(ArgReduceChunks, Rows) {
  for (const Kind kind : {Kind::dense, Kind::transposed}) {
    const View x = random_view(rng, {5, 90, 128}, DType::f32, kind);
    for (const int axis : {1, -1}) {
      if (kind == Kind::transposed && axis == -1) continue;  // a row would exceed a binding
      const View which = random_view(rng, axis == 1 ? Shape{5, 128} : Shape{5, 90, 1}, DType::i32);
      both(
          {x}, {which},
          [axis](Stream& s, auto in, auto out) {
            kernels::arg_reduce(s, kernels::ArgKind::max, in[0], out[0], std::array{axis});
          },
          kSameBits);
    }
  }
}

// Indices count over the whole row, which exceeds a binding: over one axis and over several, in any order.
TEST_F(ArgReduceChunks, LongRows) {
  for (const Rows& c :
       {Rows{{100000}, {0}, Kind::dense}, Rows{{3, 70001}, {1}, Kind::sliced}, Rows{{70001, 3}, {0}, Kind::dense},
        Rows{{40, 50, 60}, {0, 1, 2}, Kind::reversed}, Rows{{5, 300, 200}, {0, 2}, Kind::dense},
        Rows{{300, 4, 200}, {0, 2}, Kind::transposed}, Rows{{3, 40000}, {0}, Kind::dense}}) {
    const Shape kept = without(c.shape, c.axes);
    for (const auto& [type, index] :
         {std::pair{DType::f32, DType::i32}, {DType::u8, DType::i64}, {DType::i64, DType::u32}}) {
      for (const auto op : {kernels::ArgKind::min, kernels::ArgKind::max}) {
        both(
            {random_view(rng, c.shape, type, c.kind)}, {random_view(rng, kept, index)},
            [&](Stream& s, auto in, auto out) { kernels::arg_reduce(s, op, in[0], out[0], c.axes); }, kSameBits);
      }
    }
  }
}

// Rows that exceed a binding along several axes, each of which exceeds it alone: chunks are cut along all of these axes
// and have different lengths. The first of equal elements, which are in several chunks, counts.
TEST_P(ArgReduceChunksOnDevice, RowsFarAlongSeveralAxes) {
  const Rows far[] = {{{5, 130, 151}, {0, 1}, Kind::dense},         {{5, 130, 151}, {0, 1, 2}, Kind::sliced},
                      {{151, 130, 5}, {1, 2}, Kind::transposed},    {{3, 2, 20001}, {0, 1, 2}, Kind::dense},
                      {{3, 30, 3, 701}, {0, 2, 3}, Kind::reversed}, {{701, 3, 30, 3}, {0, 2, 3}, Kind::transposed}};
  const auto steps = [](std::int64_t i) { return static_cast<double>(i * 7919 % 10007 / 1000 - i / 9000 % 7); };
  for (const auto& [shape, axes, kind] : far) {
    const Shape kept = without(shape, axes);
    for (const auto& [type, index] :
         {std::pair{DType::f32, DType::i32}, {DType::f16, DType::u32}, {DType::i64, DType::i64}}) {
      for (const auto op : {kernels::ArgKind::min, kernels::ArgKind::max}) {
        both(
            {view_of(type, shape, kind, steps)}, {random_view(rng, kept, index)},
            [&, axes = axes](Stream& s, auto in, auto out) { kernels::arg_reduce(s, op, in[0], out[0], axes); },
            kSameBits);
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
