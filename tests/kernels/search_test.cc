// Positions in sorted lists: GPU results against the CPU's, and these against counts.
#include "weft/kernels/search.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/sort.h"

namespace weft::test {
namespace {

using kernels::SearchOptions;
using kernels::SearchSide;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8e4m3, DType::f8e5m2,
                            DType::i8,  DType::u8,  DType::i16,  DType::u16, DType::i32,    DType::u32,
                            DType::i64, DType::u64, DType::i4,   DType::u2,  DType::boolean};
constexpr DType kResults[] = {DType::i32, DType::u32, DType::i64, DType::u64};

// A list in order, of any layout.
View sorted_list(Rng& rng, DType type, std::int64_t n, Kind kind, Values values) {
  const View x = random_view(rng, {n}, type, Kind::dense, values), list = random_view(rng, {n}, type, kind);
  cpu::Executor cpu;
  kernels::sort(cpu, x, list, {}, {});
  return list;
}

Problem problem_of(const View& list, const View& values, const View& y, SearchSide side) {
  Problem p;
  p.inputs = {list, values};
  p.outputs = {y};
  p.what = std::format("searchsorted of {} in {} as {}, {}", to_string(values), to_string(list), to_string(y),
                       kernels::kSearchSides[static_cast<int>(side)]);
  p.tolerance = kSameBits;
  p.call = [=](Stream& s, auto in, auto out) { kernels::searchsorted(s, in[0], in[1], out[0], {side}); };
  return p;
}

Problem random_search(Rng& rng) {
  const DType type = pick(rng, kTypes);
  const Values kind = rng() % 2 ? Values::special : Values::ordinary;
  const Kind of_list = bits(type) < 8 ? Kind::dense : pick(rng, {Kind::dense, Kind::sliced, Kind::reversed});
  const std::int64_t n = random_int(rng.details(), 0, rng() % 2 ? 20 : 3000);
  const View list = sorted_list(rng, type, n, of_list, kind);
  const Shape shape = random_shape(rng, 0, 8, 1024);
  const View values = random_view(rng, shape, type, random_input_kind(rng), kind);
  const View y = random_view(rng, shape, pick(rng, kResults), random_output_kind(rng));
  return problem_of(list, values, y, rng() % 2 ? SearchSide::left : SearchSide::right);
}

const bool registered = differential("searchsorted", random_search);

// What comes before a value is counted, one element after the other.
TEST(Search, CountsWhatComesBefore) {
  cpu::Executor cpu;
  Rng rng(3);
  for (const DType type : kTypes) {
    for (const std::int64_t n : {1, 2, 3, 7, 8, 100, 1023, 1024, 1500}) {
      const View list = sorted_list(rng, type, n, Kind::dense, Values::special);
      const View values = random_view(rng, {3, 211}, type, Kind::transposed, Values::special);
      for (const SearchSide side : {SearchSide::left, SearchSide::right}) {
        const View y = random_view(rng, {3, 211}, pick(rng, kResults), Kind::sliced);
        kernels::searchsorted(cpu, list, values, y, {side});
        const auto comes_before = [&](double a, double b) {
          const bool less = a < b || (std::isnan(b) && !std::isnan(a)),
                     equal = a == b || (std::isnan(a) && std::isnan(b));
          return less || (side == SearchSide::right && equal);
        };
        for (std::int64_t i = 0; i < values.count(); ++i) {
          std::int64_t expected = 0;
          // (As doubles integers of 64 bits keep their order, but not which ones are equal.)
          if (bits(type) == 64 && type != DType::f64) {
            const auto key = [&](const View& v, std::int64_t k) {
              return element_bits(v, k) ^ (type == DType::i64 ? std::uint64_t{1} << 63 : 0);
            };
            for (std::int64_t k = 0; k < n; ++k) {
              expected +=
                  key(list, k) < key(values, i) || (side == SearchSide::right && key(list, k) == key(values, i));
            }
          } else {
            for (std::int64_t k = 0; k < n; ++k) expected += comes_before(value(list, k), value(values, i));
          }
          ASSERT_EQ(value(y, i), static_cast<double>(expected)) << name(type) << " " << n << " " << i;
        }
      }
    }
  }
}

// np.searchsorted([-inf, -1, -0.0, 0.0, 2, 2, inf, nan, nan], values, side)
TEST(Search, ValuesOfNumPy) {
  cpu::Executor cpu;
  const std::vector<double> numbers{-kInf, -1, -0.0, 0.0, 2, 2, kInf, kNaN, kNaN};
  const std::vector<double> wanted{-kInf, -2, -1, 0.0, -0.0, 1, 2, 3, kInf, kNaN};
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const View list = host_view(type, {9}, numbers), values = host_view(type, {10}, wanted);
    const View y = host_view(DType::i32, {10}, std::vector<double>(10));
    kernels::searchsorted(cpu, list, values, y);
    EXPECT_THAT(test::values(y), testing::ElementsAre(0, 1, 1, 2, 2, 4, 4, 6, 6, 7));
    kernels::searchsorted(cpu, list, values, y, {SearchSide::right});
    EXPECT_THAT(test::values(y), testing::ElementsAre(1, 1, 2, 4, 4, 4, 6, 6, 7, 9));
  }
  const View none = host_view(DType::f32, {0}, std::vector<double>()),
             y = host_view(DType::i64, {2}, std::vector{5., 6.});
  kernels::searchsorted(cpu, none, host_view(DType::f32, {2}, std::vector{1., kNaN}), y);
  EXPECT_THAT(test::values(y), testing::ElementsAre(0, 0));
}

TEST(Search, WhatDoesNotFit) {
  cpu::Executor cpu;
  Rng rng(1);
  const auto f32 = [&](const Shape& shape) { return random_view(rng, shape, DType::f32); };
  const View y = random_view(rng, {4}, DType::i32);
  EXPECT_THAT(refused_by([&] { kernels::searchsorted(cpu, f32({3}), f32({2, 2}), y); }),
              HasSubstr("expected the shape of values f32 [2, 2]"));
  EXPECT_THAT(refused_by([&] { kernels::searchsorted(cpu, f32({3, 1}), f32({4}), y); }), HasSubstr("searchsorted: "));
  EXPECT_THAT(refused_by([&] { kernels::searchsorted(cpu, random_view(rng, {3}, DType::i32), f32({4}), y); }),
              HasSubstr("searchsorted: "));
  EXPECT_THAT(refused_by([&] { kernels::searchsorted(cpu, y, y, y); }), HasSubstr("searchsorted: "));
}

// A list longer than a binding, and values that are.
class SearchChunks : public ChunksTest {};
TEST_F(SearchChunks, Pieces) {
  for (const auto& [type, result, n, shape, kind] :
       {std::tuple{DType::f32, DType::i32, 50'000, Shape{300}, Kind::dense},
        {DType::i64, DType::i64, 20'000, Shape{7, 90, 70}, Kind::transposed},
        {DType::f16, DType::u32, 3'000, Shape{40'000}, Kind::sliced},
        {DType::u8, DType::u64, 150'000, Shape{20, 30}, Kind::reversed}}) {
    const View list = sorted_list(rng, type, n, Kind::dense, Values::special);
    for (const SearchSide side : {SearchSide::left, SearchSide::right}) {
      const Problem p = problem_of(list, random_view(rng, shape, type, kind, Values::special),
                                   random_view(rng, shape, result, kind), side);
      both(p.inputs, p.outputs, p.call, p.tolerance);
    }
  }
}

}  // namespace
}  // namespace weft::test
