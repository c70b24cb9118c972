// On the CPU elements that are adjacent are folded where they are in memory, others as copies: both give the same bits.
#include <gtest/gtest.h>

#include <format>

#include "cpu/executor.h"
#include "support/kernel_test.h"
#include "weft/error.h"
#include "weft/expression.h"
#include "weft/kernels/reduce.h"

namespace weft::test {
namespace {

using kernels::ReduceKind;

// The same elements, of which those of a row are `step` apart.
View spread(const View& x, std::int64_t step) {
  const std::int64_t rows = x.shape()[0], n = x.shape()[1];
  Rng rng(5);
  View wide = random_view(rng, {rows, n * step}, x.dtype);
  wide.layout = {{rows, n}, {n * step, step}};
  for (std::int64_t i = 0; i < x.count(); ++i) set_element_bits(wide, i, element_bits(x, i));
  return wide;
}

DType type_of_result(ReduceKind kind, DType x) {
  if (kind == ReduceKind::any || kind == ReduceKind::all) return DType::boolean;
  return kind == ReduceKind::count ? DType::i64 : x == DType::boolean ? DType::i32 : x;
}

enum class Before { nothing, numbers, halves, truths };

TEST(ReduceInPlace, SameBitsAsOfElementsApart) {
  cpu::Executor cpu;
  int compared = 0;
  for (const DType type : {DType::f32, DType::f64, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean}) {
    for (const Before before : {Before::nothing, Before::numbers, Before::halves, Before::truths}) {
      if ((before == Before::truths) != (type == DType::boolean) && before != Before::nothing) continue;
      if (before != Before::nothing && before != Before::truths && !is_floating(type)) continue;
      Expression expression;
      const int x = expression.input(type);
      if (before == Before::numbers) {
        const int is_nan = expression.apply(ScalarOp::is_nan, {x});
        expression.output(expression.apply(ScalarOp::select, {is_nan, expression.constant(0, type), x}));
      } else if (before == Before::halves) {
        expression.output(expression.apply(ScalarOp::mul, {x, expression.constant(0.5, type)}));
      } else if (before == Before::truths) {
        expression.output(expression.cast(x, DType::i32));
      }
      for (const std::int64_t n : {1, 3, 7, 8, 9, 40, 63, 64, 65, 100, 256, 257, 512, 1000, 1030, 70'000}) {
        Rng rng(static_cast<std::uint64_t>(n));
        for (const Values values : {Values::ordinary, Values::special}) {
          const View dense = random_view(rng, {5, n}, type, Kind::dense, values), apart = spread(dense, 2);
          for (int k = 0; k <= static_cast<int>(ReduceKind::deviation); ++k) {
            const auto kind = static_cast<ReduceKind>(k);
            const bool counts = type == DType::boolean && before == Before::nothing;
            if (counts && kind != ReduceKind::any && kind != ReduceKind::all && kind != ReduceKind::count) continue;
            if (before == Before::truths && kind != ReduceKind::sum && kind != ReduceKind::max) continue;
            const bool floats_alone = kind == ReduceKind::mean || kind == ReduceKind::l2 ||
                                      kind == ReduceKind::log_sum || kind == ReduceKind::log_sum_exp || is_moment(kind);
            if (floats_alone && !is_floating(type)) continue;
            const kernels::Fusion fusion = {.prologue = before == Before::nothing ? kernels::Prologue()
                                                                                  : kernels::Prologue(&expression, {})};
            const View a = random_view(rng, {5}, type_of_result(kind, type)), b = random_view(rng, {5}, a.dtype);
            const int axes[] = {1};
            kernels::reduce(cpu, kind, dense, a, axes, 0, fusion);
            kernels::reduce(cpu, kind, apart, b, axes, 0, fusion);
            expect_close(a, b, {}, std::format("{} {} {} {}", k, name(type), n, static_cast<int>(before)));
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 1500);
}

}  // namespace
}  // namespace weft::test
