#include "weft/kernels/sort.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/plan.h"

namespace weft::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr DType kTypes[] = {DType::f32,    DType::f16, DType::bf16, DType::f64, DType::f8e4m3,
                            DType::f8e5m2, DType::i8,  DType::u8,   DType::i16, DType::u16,
                            DType::i32,    DType::u32, DType::i64,  DType::u64, DType::boolean};
constexpr DType kIndexTypes[] = {DType::i32, DType::u32, DType::i64, DType::u64};

struct Sort {
  View x;
  int axis = -1;
  bool descending = false;
  std::int64_t k = -1;  // of top_k; -1: sort
  bool values = true, indices = true;
  DType index = DType::i32;
  Kind kind = Kind::dense;
};

Problem problem_of(const Sort& c) {
  const int axis = c.axis < 0 ? c.axis + c.x.rank() : c.axis;
  Shape shape = c.x.shape();
  if (c.k >= 0) shape[axis] = c.k;
  Problem p;
  p.what = std::format("{} of {} along {}, descending {}, k {}, values {}, indices {} {}", c.k < 0 ? "sort" : "top_k",
                       weft::to_string(c.x), c.axis, c.descending, c.k, c.values, c.indices, name(c.index));
  p.inputs = {c.x};
  if (c.values) p.outputs.push_back(output(c.x.dtype, shape, c.kind));
  if (c.indices) p.outputs.push_back(output(c.index, shape, c.kind));
  p.tolerance = kSameBits;
  p.call = [c](Stream& s, auto in, auto out) {
    const auto values = c.values ? std::optional(out[0]) : std::nullopt;
    const auto indices = c.indices ? std::optional(out[c.values ? 1 : 0]) : std::nullopt;
    const kernels::SortOptions sort{c.axis, c.descending};
    const kernels::TopKOptions top{c.axis, c.descending};
    if (c.k < 0)
      kernels::sort(s, in[0], values, indices, sort);
    else
      kernels::top_k(s, in[0], values, indices, top);
  };
  return p;
}

View random_values(DType type, const Shape& shape, Values values = Values::ordinary, Kind kind = Kind::dense) {
  Rng rng(static_cast<std::uint64_t>(element_count(shape)));
  return random_view(rng, shape, type, kind, values);
}

class SortTest : public testing::TestWithParam<std::string> {
 protected:
  void check(const Sort& c) {
    const Problem p = problem_of(c);
    run_both(device, p.inputs, p.outputs, p.call, p.tolerance, p.what);
  }
  gpu::Device& device = test::device(GetParam());
};

TEST_P(SortTest, ShortRowsOfEveryType) {
  for (DType type : kTypes) {
    check({.x = random_values(type, {5, 40}, Values::special), .descending = bits(type) % 16 == 0});
  }
}

TEST_P(SortTest, LongRowsOfEveryType) {
  for (DType type : {DType::f32, DType::f16, DType::f64, DType::i8, DType::boolean}) {
    const bool descending = bits(type) != 32 && bits(type) != 8;
    check({.x = random_values(type, {2, 5000}, Values::special), .descending = descending});
  }
  check({.x = random_values(DType::f32, {3001}, Values::special), .descending = true, .index = DType::u64});
}

TEST_P(SortTest, Lengths) {
  for (std::int64_t n : {1, 2, 3, 31, 32, 33, 1000, 1024, 1025, 2048, 2049, 100000}) {
    check({.x = random_values(DType::f32, {2, n})});
  }
  check({.x = random_values(DType::i16, {3, 100000}, Values::special)});
  check({.x = random_values(DType::f32, {20000, 3})});
  check({.x = random_values(DType::f32, {300, 1500})});
}

TEST_P(SortTest, ValuesOrIndicesAlone) {
  for (std::int64_t n : {100, 5000}) {
    check({.x = random_values(DType::f32, {2, n}), .indices = false});
    check({.x = random_values(DType::i32, {2, n}), .values = false, .index = DType::u32});
    check({.x = random_values(DType::i64, {2, n}), .indices = false});
  }
}

TEST_P(SortTest, AxesAndLayouts) {
  for (int axis = 0; axis < 3; ++axis) {
    for (Kind kind : kInputKinds) {
      check({.x = random_values(DType::f32, {4, 6, 9}, Values::special, kind),
             .axis = axis,
             .kind = kind == Kind::broadcast ? Kind::sliced : kind});
    }
    check({.x = random_values(DType::f16, {3, 4, 5}), .axis = axis - 3, .kind = Kind::reversed});
  }
  check({.x = random_values(DType::f32, {3000, 4}), .axis = 0, .kind = Kind::transposed});
  check({.x = random_values(DType::f16, {2, 2000, 3}, Values::special, Kind::transposed),
         .axis = 1,
         .kind = Kind::sliced});
}

// Many equal elements, zeros of both signs, NaNs of both signs: their order is x's.
TEST_P(SortTest, StableWithNaNLast) {
  for (std::int64_t n : {12, 3000}) {
    const auto value = [](std::int64_t i) {
      const double all[] = {1, -0.0, kNaN, 0.0, -1, kInf, -kNaN, -kInf, 1, 0.0, 1e-45, -1e-45};
      return all[i % 12];
    };
    for (bool descending : {false, true}) {
      check({.x = view_of(DType::f32, {n}, Kind::dense, value), .descending = descending});
    }
  }
  cpu::Executor executor;
  const double v[] = {1, -0.0, kNaN, 0.0, -1, kInf, 0.0, -kInf};
  const View x = host_view(DType::f32, {8}, v), indices = output(DType::i32, {8});
  kernels::sort(executor, x, {}, indices, {});
  EXPECT_EQ(values(indices), (std::vector<double>{7, 4, 1, 3, 6, 0, 5, 2}));
  kernels::sort(executor, x, {}, indices, {.descending = true});
  EXPECT_EQ(values(indices), (std::vector<double>{5, 0, 1, 3, 6, 4, 7, 2}));
}

TEST_P(SortTest, TopK) {
  for (bool largest : {false, true}) {
    for (std::int64_t k : {1, 5, 50}) {
      check({.x = random_values(DType::f32, {4, 100}, Values::special), .descending = largest, .k = k});
    }
    for (std::int64_t k : {1, 3, 256, 257, 3000}) {
      check({.x = random_values(DType::f32, {2, 3000}, Values::special), .descending = largest, .k = k});
    }
    check({.x = random_values(DType::i64, {2, 20000}), .descending = largest, .k = 10});
    check({.x = random_values(DType::f16, {20000, 3}),
           .axis = 0,
           .descending = largest,
           .k = 20,
           .index = DType::i64,
           .kind = Kind::sliced});
    check({.x = random_values(DType::u8, {300000}), .descending = largest, .k = 100});
  }
  check({.x = random_values(DType::f32, {1 << 20}), .descending = true, .k = 64});
  check({.x = random_values(DType::f32, {100, 5000}), .descending = true, .k = 4, .values = false});
  check({.x = random_values(DType::f32, {3, 7}), .k = 0});
}

// Every element is larger than those before it, or none is; all are equal; all are NaN.
TEST_P(SortTest, TopKOfOrderedRows) {
  for (double slope : {1.0, -1.0, 0.0, kNaN}) {
    check(
        {.x = view_of(DType::f32, {40000}, Kind::dense, [=](std::int64_t i) { return slope * static_cast<double>(i); }),
         .descending = true,
         .k = 30});
  }
}

Sort random_sort(Rng& rng, bool top) {
  Sort c;
  // Long rows are few, with few axes: a slice's tensor is many times as large as the slice.
  const bool is_long = rng() % 3 == 0;
  Shape shape = is_long ? random_shape(rng, 1, 3, 16) : random_shape(rng, 1, 8, 2048);
  c.axis = random_int(rng, 0, shape.rank() - 1);
  if (is_long) shape[c.axis] = random_int(rng.details(), 1025, 6000);
  c.x = random_view(rng, shape, pick(rng, kTypes), random_input_kind(rng),
                    rng() % 2 ? Values::special : Values::ordinary);
  c.descending = rng() % 2;
  if (top) {
    c.k = random_int(rng.details(), 0, static_cast<int>(std::min<std::int64_t>(shape[c.axis], rng() % 2 ? 20 : 2000)));
  }
  c.values = rng() % 4 != 0;
  c.indices = !c.values || rng() % 4 != 0;
  c.index = pick(rng, kIndexTypes);
  c.kind = random_output_kind(rng);
  return c;
}
const bool registered_sort = differential("sort", [](Rng& rng) { return problem_of(random_sort(rng, false)); }, 4);
const bool registered_top_k = differential("top_k", [](Rng& rng) { return problem_of(random_sort(rng, true)); }, 4);

INSTANTIATE_TEST_SUITE_P(Devices, SortTest, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// Values of many rows at once, whose number the lanes of a vector divide or not, rows with NaNs and zeros of both signs
// among them: as std::stable_sort has them.
TEST(SortOnTheCpu, ManyRows) {
  cpu::Executor executor(1);
  Rng rng(7);
  for (const DType type : {DType::f32, DType::f64, DType::i32, DType::u64}) {
    for (const std::int64_t n : {1, 2, 7, 8, 33, 64, 65, 100, 129, 1000, 8192, 8193}) {
      for (const std::int64_t rows : {3, 8, 21, 35}) {
        const bool descending = rng() % 2;
        const int axis = static_cast<int>(rng() % 2);
        const Kind kind = pick(rng, kInputKinds);
        const Shape shape = axis ? Shape{rows, n} : Shape{n, rows};
        const View x = random_view(rng, shape, type, kind, rng() % 2 ? Values::special : Values::ordinary);
        const View y = random_view(rng, shape, type, kind == Kind::broadcast ? Kind::sliced : kind);
        kernels::sort(executor, x, y, {}, {axis, descending});
        kernels::with_type(type, [&]<class T>() {
          if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            const auto row_of = [&](const View& v, std::int64_t row) {
              std::vector<T> elements;
              for (std::int64_t j = 0; j < n; ++j)
                elements.push_back(kernels::data<T>(v)[row * v.strides()[1 - axis] + j * v.strides()[axis]]);
              return elements;
            };
            for (std::int64_t row = 0; row < rows; ++row) {
              std::vector<T> expected = row_of(x, row);
              std::ranges::stable_sort(expected, [&](T a, T b) {
                if (a != a || b != b) return a == a;
                return descending ? a > b : a < b;
              });
              const std::vector<T> got = row_of(y, row);
              ASSERT_EQ(std::memcmp(got.data(), expected.data(), expected.size() * sizeof(T)), 0)
                  << name(type) << ", row " << row << " of " << rows << " x " << n << " along " << axis
                  << ", descending " << descending;
            }
          }
        });
      }
    }
  }
}

TEST(SortArguments, AreChecked) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 3}), y = output(DType::f32, {2, 3}), i = output(DType::i32, {2, 3});
  EXPECT_NO_THROW(kernels::sort(executor, x, y, i, {}));
  EXPECT_THROW(kernels::sort(executor, x, {}, {}, {}), InvalidArgument);
  EXPECT_THROW(kernels::sort(executor, x, i, {}, {}), InvalidArgument);
  EXPECT_THROW(kernels::sort(executor, x, {}, y, {}), InvalidArgument);
  EXPECT_THROW(kernels::sort(executor, x, output(DType::f32, {2, 2}), {}, {}), InvalidArgument);
  EXPECT_THROW(kernels::sort(executor, x, y, i, {.axis = 2}), InvalidArgument);
  EXPECT_NO_THROW(kernels::top_k(executor, x, output(DType::f32, {2, 2}), {}, {}));
  EXPECT_THROW(kernels::top_k(executor, x, output(DType::f32, {2, 4}), {}, {}), InvalidArgument);
  EXPECT_THROW(kernels::top_k(executor, x, output(DType::f32, {2, 2}), i, {}), InvalidArgument);
  EXPECT_THROW(kernels::sort(executor, output(DType::c64, {2, 3}), {}, i, {}), InvalidArgument);
  const View far(x.buffer, 0, DType::f32, {(std::int64_t{1} << 31) + 1}, {0});
  EXPECT_THROW(kernels::top_k(executor, far, {}, output(DType::i32, {2}), {}), InvalidArgument);
}

// A view of stride 0 has more elements than fit in the memory that sorting needs.
TEST(SortArguments, RowsWithoutEndRunOutOfMemory) {
  cpu::Executor executor;
  const View x(Buffer::host(4), 0, DType::f32, {std::int64_t{1} << 62}, {0}), y = output(DType::f32, {2});
  try {
    kernels::top_k(executor, x, y, {}, {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const OutOfMemory& e) {
    EXPECT_THAT(e.what(), testing::StartsWith("top_k: "));
  }
}

TEST(SortArguments, LongRowsTakeScratch) {
  if (devices().empty()) GTEST_SKIP() << "no GPU";
  const Device gpu(devices()[0].device);
  const View x = kernels::operand(DType::f32, {{5000}, {1}}), y = kernels::operand(DType::f32, {{5000}, {1}});
  const auto sort = [](Stream& s, std::span<const View> v) { kernels::sort(s, v[0], v[1], {}, {}); };
  EXPECT_GT(kernels::plan(gpu, {x, y}, sort).scratch(), 2 * 5000 * 4u);
}

// Tensors that exceed a binding.
class SortChunks : public ChunksTest {
 protected:
  KernelCall sorts(int axis, bool descending) {
    return [this, options = kernels::SortOptions{axis, descending}](Stream& s, auto in, auto out) {
      const std::optional<View> places = out.size() > 1 ? std::optional<View>(out[1]) : std::nullopt;
      kernels::sort(s, in[0], out[0], places, options);
    };
  }
  KernelCall argsorts(int axis, bool descending) {
    return [this, options = kernels::SortOptions{axis, descending}](Stream& s, auto in, auto out) {
      kernels::sort(s, in[0], {}, out[0], options);
    };
  }
  KernelCall finds_top(int axis) {
    return [this, options = kernels::TopKOptions{.axis = axis}](Stream& s, auto in, auto out) {
      kernels::top_k(s, in[0], out[0], out[1], options);
    };
  }
};

// Chunks of whole rows: short ones, long ones whose keys go through scratch, and top_k.
TEST_F(SortChunks, Rows) {
  for (const auto& [shape, axis, type, kind] : {std::tuple{Shape{7, 90, 128}, 2, DType::f32, Kind::dense},
                                                {{7, 90, 128}, 1, DType::f16, Kind::dense},
                                                {{40, 1500}, 1, DType::f32, Kind::dense},
                                                {{1500, 40}, 0, DType::i32, Kind::transposed},
                                                {{30, 1200}, 1, DType::u8, Kind::sliced},
                                                {{30, 1100}, 1, DType::u64, Kind::dense},
                                                {{3, 20, 1300}, 2, DType::boolean, Kind::reversed}}) {
    const View x = random_view(rng, shape, type, kind, Values::special);
    both({x}, {random_view(rng, shape, type, kind), random_view(rng, shape, DType::i32, kind)}, sorts(axis, axis == 1),
         kSameBits);
    Shape top = shape;
    top[axis] = 9;
    both({x}, {random_view(rng, top, type, kind), random_view(rng, top, DType::i64, kind)}, finds_top(axis), kSameBits);
  }
}

// Rows longer than a binding, in chunks of which two are sorted at a time: two to nine chunks, the last one full or
// not.
TEST_F(SortChunks, LongRows) {
  for (const auto& [shape, axis, type, places, kind, descending] :
       {std::tuple{Shape{5000}, 0, DType::f32, DType::i32, Kind::dense, false},
        {{2, 11000}, 1, DType::f32, DType::i64, Kind::dense, true},
        {{20000}, 0, DType::u8, DType::u32, Kind::dense, false},
        {{30000}, 0, DType::i8, DType::i32, Kind::dense, true},
        {{9000, 2}, 0, DType::f16, DType::i32, Kind::transposed, true},
        {{3, 6000}, 1, DType::i64, DType::i32, Kind::dense, false},
        {{7001}, 0, DType::boolean, DType::i32, Kind::reversed, false},
        {{7456}, 0, DType::i64, DType::i32, Kind::reversed, false},
        {{70000}, 0, DType::f8e4m3, DType::i32, Kind::dense, true},
        {{40000}, 0, DType::f32, DType::i32, Kind::dense, false}}) {
    const View x = random_view(rng, shape, type, kind, Values::special);
    const KernelCall sort = sorts(axis, descending);
    both({x}, {random_view(rng, shape, type, kind), random_view(rng, shape, places, kind)}, sort, kSameBits);
    both({x}, {random_view(rng, shape, type, kind)}, sort, kSameBits);
    for (const std::int64_t k : {1, 9, 250}) {
      Shape top = shape;
      top[axis] = k;
      both({x}, {random_view(rng, top, type, kind), random_view(rng, top, places, kind)}, finds_top(axis), kSameBits);
    }
  }
}

// Intermediate results that the outputs cannot hold go through scratch.
TEST_F(SortChunks, LongRowsInScratch) {
  for (const auto& [shape, axis, type, places, kind] : {std::tuple{Shape{9000}, 0, DType::f32, DType::i32, Kind::dense},
                                                        {{2, 7000}, 1, DType::f32, DType::i64, Kind::dense},
                                                        {{20000}, 0, DType::u8, DType::u32, Kind::dense},
                                                        {{9000, 2}, 0, DType::f16, DType::i32, Kind::transposed},
                                                        {{7001}, 0, DType::boolean, DType::i32, Kind::reversed}}) {
    const View x = random_view(rng, shape, type, kind, Values::special);
    both({x}, {random_view(rng, shape, places, kind)}, argsorts(axis, true), kSameBits);
    Shape most = shape;
    most[axis] = shape[axis] - 900;
    both({x}, {random_view(rng, most, type, kind), random_view(rng, most, places, kind)}, finds_top(axis), kSameBits);
  }
}

}  // namespace
}  // namespace weft::test
