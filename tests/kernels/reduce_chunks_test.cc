// Reductions of tensors that exceed a binding.
#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "weft/kernels/reduce.h"

namespace weft::test {
namespace {

using ReduceChunks = ChunksTest;
using ReduceChunksOnDevice = ChunksOnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, ReduceChunksOnDevice, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_F(ReduceChunks, Rows) {
  const View x = random_view(rng, {5, 90, 128}, DType::f32);
  for (const std::vector<int>& axes : {std::vector{2}, std::vector{1}}) {
    const View sum = random_view(rng, without(x.shape(), axes), DType::f32);
    both({x}, {sum},
         [&](Stream& s, auto in, auto out) { kernels::reduce(s, kernels::ReduceKind::max, in[0], out[0], axes, {}); },
         {});
    both({x}, {sum},
         [&](Stream& s, auto in, auto out) { kernels::reduce(s, kernels::ReduceKind::sum, in[0], out[0], axes, {}); },
         {.absolute = 1e-3});
  }
}

TEST_F(ReduceChunks, Variances) {
  for (const Kind kind : {Kind::dense, Kind::transposed}) {
    const View x = random_view(rng, {5, 90, 128}, DType::f32, kind);
    for (const int axis : {1, -1}) {
      if (kind == Kind::transposed && axis == -1) continue;  // a row would exceed a binding
      const View spread = random_view(rng, axis == 1 ? Shape{5, 128} : Shape{5, 90, 1}, DType::f32);
      both({x}, {spread},
           [axis](Stream& s, auto in, auto out) {
             kernels::reduce(s, kernels::ReduceKind::variance, in[0], out[0], std::array{axis}, 1);
           },
           {.absolute = 1e-5});
    }
  }
}

// Rows longer than a binding, whose chunks store their accumulators in scratch.
TEST_F(ReduceChunks, LongRows) {
  using enum kernels::ReduceKind;
  for (const Rows& c : {Rows{{100000}, {0}, Kind::dense}, Rows{{3, 70001}, {1}, Kind::sliced},
                        Rows{{70001, 3}, {0}, Kind::dense}, Rows{{40, 50, 60}, {0, 1, 2}, Kind::reversed},
                        Rows{{5, 300, 200}, {0, 2}, Kind::dense}, Rows{{30000, 2, 4}, {0, 2}, Kind::transposed}}) {
    const Shape kept = without(c.shape, c.axes);
    for (const auto& [op, type, result] : {std::tuple{sum, DType::f32, DType::f32},
                                           {mean, DType::f16, DType::f16},
                                           {max, DType::f32, DType::f32},
                                           {log_sum_exp, DType::f32, DType::f32},
                                           {l2, DType::f32, DType::f32},
                                           {sum, DType::i8, DType::i32},
                                           {prod, DType::i64, DType::i64},
                                           {any, DType::f32, DType::boolean},
                                           {count, DType::u8, DType::i64}}) {
      const View x = random_view(rng, c.shape, type, c.kind), y = random_view(rng, kept, result);
      both(
          {x}, {y}, [&](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], c.axes); },
          is_floating(result) ? Tolerance{.ulp = 16, .absolute = op == sum ? 3e-3 : 1e-5} : kSameBits);
    }
  }
  // With a prologue and an epilogue, through a graph.
  const Graph g = [] {
    Graph graph;
    const Tensor a = graph.input("x", DType::f32, {2, 40000}), b = graph.input("b", DType::f32, {2});
    graph.output("y", relu(reduce(ReduceKind::sum, exp(a) * 0.001, std::vector<int>{1}, false) + b));
    return graph;
  }();
  const Device gpu(*device);
  const Executable exe = compile(g, gpu);
  EXPECT_EQ(exe.report().steps.size(), 1u) << exe.report().graph;
  const std::map<std::string, TensorData> inputs{{"x", noise({2, 40000}, 1)}, {"b", noise({2}, 2)}};
  const Bound bound(gpu, g, inputs);
  Executable run = exe;
  bound.run(run);
  bound.compare(compiler::evaluate(g, inputs), "a sum of long rows");
}

// Rows without elements have as many results as others.
TEST_F(ReduceChunks, ResultsOfEmptyRows) {
  const View x = random_view(rng, {200, 0, 300}, DType::f32), y = random_view(rng, {200, 300}, DType::f32);
  const View wide = random_view(rng, {3, 30000, 5, 0}, DType::f32), z = random_view(rng, {30000, 5}, DType::f32);
  for (const kernels::ReduceKind op :
       {kernels::ReduceKind::sum, kernels::ReduceKind::max, kernels::ReduceKind::log_sum_exp}) {
    both(
        {x}, {y}, [op](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], std::array{1}); },
        kSameBits);
    both(
        {wide}, {z}, [op](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], std::array{0, 3}); },
        kSameBits);
  }
}

// The moments of chunks are combined without loss. 5e-6 is the rounding error of about 80 additions of squares, and
// less than the effect of a missing correction or element in most of these rows.
TEST_F(ReduceChunks, VariancesOfLongRows) {
  using enum kernels::ReduceKind;
  const auto check = [&](const View& x, const std::vector<int>& axes, const View& y) {
    for (const auto& [op, correction] : {std::pair{variance, 0}, {deviation, 1}}) {
      both({x}, {y},
           [&, op = op, correction = correction](Stream& s, auto in, auto out) {
             kernels::reduce(s, op, in[0], out[0], axes, correction);
           },
           {.ulp = 1, .relative = 5e-6});
    }
  };
  for (const Rows& c :
       {Rows{{100000}, {0}, Kind::dense}, Rows{{3, 70001}, {1}, Kind::sliced}, Rows{{70001, 3}, {0}, Kind::dense},
        Rows{{20000, 8}, {0}, Kind::dense}, Rows{{40, 50, 60}, {0, 1, 2}, Kind::reversed},
        Rows{{5, 300, 200}, {0, 2}, Kind::dense}, Rows{{30000, 2, 4}, {0, 2}, Kind::transposed},
        Rows{{3, 2, 40001}, {0, 2}, Kind::dense}, Rows{{3, 40000}, {0}, Kind::dense}}) {
    // A mean that is as large, compared with the deviation, as the type's spacing there allows.
    for (const auto& [type, result, mean, deviation] : {std::tuple{DType::f32, DType::f32, 1e4, 1e-2},
                                                        {DType::f16, DType::f16, 64, 0.25},
                                                        {DType::bf16, DType::f32, -8, 0.25}}) {
      check(view_of(type, c.shape, c.kind, normal(7, mean, deviation)), c.axes,
            random_view(rng, without(c.shape, c.axes), result, c.kind));
    }
  }
  const View y = output(DType::f32, {3});
  // Chunks with different means, and an outlier first.
  check(view_of(DType::f32, {3, 50001}, Kind::dense,
                [noise = normal(8)](std::int64_t i) {
                  return i == 50001 ? 1e6 : static_cast<double>(i / 5000 * 100) + noise(i);
                }),
        {1}, y);
  // NaN in one row's last chunk, an infinity in another's first.
  check(view_of(DType::f32, {50001, 3}, Kind::dense,
                [](std::int64_t i) { return i == 150001 ? NAN
                                            : i == 302  ? INFINITY
                                                        : static_cast<double>(i % 7); }),
        {0}, y);
}

// Rows that exceed a binding along several axes, each of which exceeds it alone: chunks are cut along all of these axes
// and have different lengths.
TEST_P(ReduceChunksOnDevice, RowsFarAlongSeveralAxes) {
  const Rows far[] = {{{5, 130, 151}, {0, 1}, Kind::dense},         {{5, 130, 151}, {0, 1, 2}, Kind::sliced},
                      {{151, 130, 5}, {1, 2}, Kind::transposed},    {{3, 2, 20001}, {0, 1, 2}, Kind::dense},
                      {{3, 30, 3, 701}, {0, 2, 3}, Kind::reversed}, {{701, 3, 30, 3}, {0, 2, 3}, Kind::transposed}};
  const auto steps = [](std::int64_t i) { return static_cast<double>(i * 7919 % 10007 / 1000 - i / 9000 % 7); };
  for (const auto& [shape, axes, kind] : far) {
    const Shape kept = without(shape, axes);
    using enum kernels::ReduceKind;
    for (const auto& [op, type, result] :
         {std::tuple{sum, DType::i8, DType::i32}, {max, DType::f16, DType::f16}, {deviation, DType::f32, DType::f32}}) {
      both(
          {view_of(type, shape, kind, steps)}, {random_view(rng, kept, result, kind)},
          [&, axes = axes, op = op](Stream& s, auto in, auto out) { kernels::reduce(s, op, in[0], out[0], axes, 1); },
          op == deviation ? Tolerance{.relative = 5e-6} : kSameBits);
    }
  }
}

// Many rows, each longer than a binding: the partial results of their chunks must fit a binding, too.
TEST_F(ReduceChunks, ManyLongRows) {
  const View x = random_view(rng, {3, 40000}, DType::f32);
  both(
      {x}, {random_view(rng, {40000}, DType::f32)},
      [&](Stream& s, auto in, auto out) {
        const std::array axes{0};
        kernels::reduce(s, kernels::ReduceKind::max, in[0], out[0], axes);
      },
      kSameBits);
}

}  // namespace
}  // namespace weft::test
