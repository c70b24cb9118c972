// All variants of the matrix product: against NumPy, against a plain double loop, on every device.
#include "kernels/matmul/matmul.h"

#include <cmath>
#include <limits>

#include "cpu/executor.h"
#include "kernels/matmul/self_test.h"
#include "kernels/matmul_cases.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/kernel_references.h"
#include "support/npy.h"
#include "support/quick.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

using test::Kind;

// ---- The CPU

class MatmulCpu : public testing::Test {
 protected:
  cpu::Executor executor_;
};

TEST_F(MatmulCpu, AgreesWithNumPy) {
  for (int i = 0; i < 6; ++i) {
    const View a = test::load_npy(std::format("matmul/a_{}.npy", i)),
               b = test::load_npy(std::format("matmul/b_{}.npy", i));
    const View want = test::load_npy(std::format("matmul/y_{}.npy", i));
    ASSERT_EQ(want.dtype, DType::f64);
    const View y(Buffer::host(static_cast<std::uint64_t>(want.count()) * 4), 0, DType::f32, want.shape());
    Expected e = expect_product(a, b, want.shape());
    for (std::int64_t k = 0; k < want.count(); ++k) ASSERT_NEAR(e.value[k], test::value(want, k), 1e-12);
    matmul_reference(matmul_problem(a, b, y, {}), nullptr);
    std::ranges::fill(e.bound, 0.0);
    expect_within(y, e, std::format("CPU kernel, case {}", i));
    e = expect_product(a, b, want.shape());
    matmul(executor_, a, b, y);
    expect_within(y, e, std::format("cpu, case {}", i));
  }
}

TEST_F(MatmulCpu, SumsDoublesAsDoubles) {
  const View a = test::host_view(DType::f64, {2, 3}, std::vector<double>{1e8, 1, -1e8, 1e300, NAN, 1});
  const View b = test::host_view(DType::f64, {3, 2}, std::vector<double>{1, -0.0, 1e-3, 1e-300, 1, 0});
  Expression half;
  half.output(half.apply(ScalarOp::mul, {half.input(DType::f64), half.constant(0.5, DType::f64)}));
  for (const bool by_cpu : {false, true}) {
    const View y = test::host_view(DType::f64, {2, 2}, std::vector<double>(4));
    for (const Expression* e : {static_cast<const Expression*>(nullptr), static_cast<const Expression*>(&half)}) {
      if (by_cpu)
        matmul_reference(matmul_problem(a, b, y, {e, {}}), e);
      else
        matmul(executor_, a, b, y, {e, {}});
      const double scale = e ? 0.5 : 1;
      EXPECT_NEAR(test::value(y, 0), 0.001 * scale, 1e-8);
      EXPECT_DOUBLE_EQ(test::value(y, 1), 1e-300 * scale);
      EXPECT_TRUE(std::isnan(test::value(y, 2)));
    }
    // An f32 operand with it is widened, and a narrower y is rounded once.
    const View ones = test::host_view(DType::f32, {3, 1}, std::vector<double>{1, 0.5, 1});
    const View narrow = test::host_view(DType::f32, {2, 1}, std::vector<double>(2));
    if (by_cpu)
      matmul_reference(matmul_problem(a, ones, narrow, {}), nullptr);
    else
      matmul(executor_, a, ones, narrow);
    EXPECT_EQ(test::value(narrow, 0), 0.5);
  }
  test::Rng rng(1);
  const View x = test::random_view(rng, {3, 37, 300}, DType::f64, Kind::sliced),
             w = test::random_view(rng, {300, 291}, DType::f64, Kind::transposed);
  const View got = test::random_view(rng, {3, 37, 291}, DType::f64),
             want = test::random_view(rng, got.shape(), DType::f64);
  matmul(executor_, x, w, got);
  matmul_reference(matmul_problem(x, w, want, {}), nullptr);
  test::expect_close(got, want, {.absolute = 1e-12, .relative = 1e-13});
}

TEST_F(MatmulCpu, SaysWhatDoesNotFit) {
  test::Rng rng(1);
  const auto f32 = [&](const Shape& s) { return test::random_view(rng, s, DType::f32); };
  EXPECT_THAT(test::refused_by([&] { matmul(executor_, f32({2, 3}), f32({4, 5}), f32({2, 5})); }),
              testing::HasSubstr("second last size"));
  EXPECT_THAT(test::refused_by([&] { matmul(executor_, f32({2, 3}), f32({3, 5}), f32({2, 6})); }),
              testing::HasSubstr("expected [..., 2, 5]"));
  EXPECT_THAT(test::refused_by([&] { matmul(executor_, f32({3}), f32({3, 5}), f32({1, 5})); }),
              testing::HasSubstr("a is f32 [3]; expected rank 2 or more"));
  EXPECT_THAT(test::refused_by([&] { matmul(executor_, f32({2, 2, 3}), f32({3, 3, 5}), f32({2, 2, 5})); }),
              testing::HasSubstr("do not broadcast"));
  const View square = f32({4, 4});
  EXPECT_THAT(test::refused_by([&] { matmul(executor_, square, f32({4, 4}), square); }),
              testing::HasSubstr("shares memory"));
  EXPECT_THAT(test::refused_by(
                  [&] { matmul(executor_, test::random_view(rng, {2, 3}, DType::i32), f32({3, 5}), f32({2, 5})); }),
              testing::HasSubstr("a is i32 [2, 3], b is f32 [3, 5], y is f32 [2, 5]; expected"));
  const auto i8 = [&](const Shape& s) { return test::random_view(rng, s, DType::i8); };
  EXPECT_THAT(test::refused_by([&] { matmul(executor_, i8({2, 3}), i8({3, 5}), i8({2, 5})); }),
              testing::HasSubstr("y is i8 [2, 5]; expected"));
  EXPECT_THAT(
      test::refused_by([&] { matmul(executor_, test::random_view(rng, {2, 3}, DType::i64), i8({3, 5}), i8({2, 5})); }),
      testing::HasSubstr("a is i64 [2, 3]; expected"));
  EXPECT_THAT(test::refused_by(
                  [&] { matmul(executor_, test::random_view(rng, {2, 3}, DType::c64), f32({3, 5}), f32({2, 5})); }),
              testing::HasSubstr("expected c64"));
  Expression two;
  two.output(two.apply(ScalarOp::add, {two.input(DType::f32), two.input(DType::f32)}));
  EXPECT_THAT(test::refused_by([&] { matmul(executor_, f32({2, 3}), f32({3, 5}), f32({2, 5}), {&two, {}}); }),
              testing::HasSubstr("2 inputs"));
  const View bias = f32({4});
  EXPECT_THAT(
      test::refused_by([&] { matmul(executor_, f32({2, 3}), f32({3, 5}), f32({2, 5}), {&two, std::span(&bias, 1)}); }),
      testing::HasSubstr("broadcast to y"));
}

// ---- Every device

using Matmul = MatmulTest;

TEST_P(Matmul, Shapes) {
  struct Case {
    Shape a, b;
  };
  const Case cases[] = {
      {{1, 1}, {1, 1}},          {{1, 1}, {1, 9}},        {{9, 1}, {1, 1}},       {{2, 3}, {3, 4}},
      {{17, 31}, {31, 13}},      {{64, 64}, {64, 64}},    {{65, 67}, {67, 63}},   {{128, 32}, {32, 96}},
      {{1, 515}, {515, 7}},      {{3, 1024}, {1024, 5}},  {{130, 5}, {5, 3}},     {{257, 8}, {8, 1}},
      {{1, 384}, {384, 384}},    {{16, 384}, {384, 132}}, {{100, 40}, {40, 260}}, {{2, 3, 5, 7}, {3, 7, 4}},
      {{4, 1, 6, 8}, {3, 8, 4}}, {{5, 9, 12}, {12, 8}},   {{9, 12}, {5, 12, 8}},  {{7, 1, 20}, {7, 20, 12}},
      {{6, 1, 16}, {16, 24}},
  };
  for (const Case& c : cases) {
    Shape ab = c.a, bb = c.b;
    for (Shape* s : {&ab, &bb}) s->erase(s->rank() - 1), s->erase(s->rank() - 1);
    const View a = test::random_view(rng_, c.a, DType::f32), b = test::random_view(rng_, c.b, DType::f32);
    const View y = test::random_view(rng_, with_matrix(broadcast(ab, bb), c.a[-2], c.b[-1]), DType::f32);
    check_all(a, b, y, to_string(c.a) + " · " + to_string(c.b));
  }
}

TEST_P(Matmul, LayoutsOfOperands) {
  for (const auto [m, n, k] : {std::array{24, 20, 16}, std::array{13, 11, 9}}) {
    for (const Kind a_kind : test::kInputKinds) {
      for (const Kind b_kind : test::kInputKinds) {
        const View a = test::random_view(rng_, {2, m, k}, DType::f32, a_kind);
        const View b = test::random_view(rng_, {2, k, n}, DType::f32, b_kind);
        const View y = test::random_view(rng_, {2, m, n}, DType::f32);
        check_all(a, b, y, std::format("a {}, b {}", to_string(a), to_string(b)));
      }
    }
    for (const Kind kind : test::kOutputKinds) {
      const View a = test::random_view(rng_, {2, m, k}, DType::f32);
      const View b = transposed(test::random_view(rng_, {2, n, k}, DType::f32));
      check_all(a, b, test::random_view(rng_, {2, m, n}, DType::f32, kind), "y " + to_string(kind));
      check_all(a, b, transposed(test::random_view(rng_, {2, n, m}, DType::f32, kind)),
                "y transposed " + to_string(kind));
    }
  }
}

TEST_P(Matmul, StorageTypes) {
  const DType types[] = {DType::f32, DType::f16, DType::bf16};
  for (const auto [m, n, k] : {std::array{24, 20, 16}, std::array{13, 11, 9}}) {
    for (const DType a_type : types) {
      for (const DType b_type : types) {
        const DType y_type = types[(static_cast<int>(a_type) + 2 * static_cast<int>(b_type) + m) % 3];
        const View a = test::random_view(rng_, {m, k}, a_type), b = transposed(test::random_view(rng_, {n, k}, b_type));
        check_all(a, b, test::random_view(rng_, {m, n}, y_type),
                  std::format("{} · {} = {}", name(a_type), name(b_type), name(y_type)));
      }
    }
  }
}

// Each variant that the device can run, aligned and odd, in the four combinations of transposed operands.
TEST_P(Matmul, Variants) {
  std::vector<MatmulVariant> variants(matmul_variants().begin(), matmul_variants().end());
  for (int splits : {2, 3}) {
    MatmulVariant v = named("tile_32x32x32_4x4");
    v.splits = splits;
    variants.push_back(v);
    v = named("gemv_n_4x128_128");
    v.splits = splits;
    variants.push_back(v);
  }
  int index = 0;
  for (const MatmulVariant& v : variants) {
    // OpenGL ES compiles so slowly that only some variants are tested there.
    if (device_.adapter().backend == "opengles" && (&v - variants.data()) % 4 != 0) continue;
    for (const bool odd : {false, true}) {
      const std::int64_t m = odd ? 133 : 136, n = odd ? 71 : 140, k = odd ? 37 : 100;
      const bool a_transposed = v.kind != MatmulKind::gemv_k && index % 2,
                 b_transposed = v.kind == MatmulKind::gemv_k || (v.kind != MatmulKind::gemv_n && index % 4 < 2);
      ++index;
      const auto make = [&](std::int64_t rows, std::int64_t columns, bool flip) {
        const View view = test::random_view(rng_, flip ? Shape{columns, rows} : Shape{rows, columns}, DType::f32);
        return flip ? transposed(view) : view;
      };
      const View a = make(m, k, a_transposed), b = make(k, n, b_transposed), y = make(m, n, false);
      const MatmulProblem p = matmul_problem(a, b, y, {});
      if (!can_run(v, p, device_.capabilities())) continue;
      const std::string what =
          std::format("{}, {}x{}x{}{}{}", to_string(v), m, n, k, a_transposed ? " aT" : "", b_transposed ? " bT" : "");
      const std::array inputs{a, b};
      const View got = on_device(y, inputs, [&](gpu::Commands& c, std::span<const View> in, const View& out) {
        matmul_by(c, matmul_problem(in[0], in[1], out, {}), nullptr, v);
      });
      expect_within(got, expect_product(a, b, y.shape()), what);
    }
  }
}

// With k = 1 a column and a row are contiguous in both directions: variants that load groups of four along k must not
// be used.
TEST_P(Matmul, ColumnTimesRow) {
  const View column = test::random_view(rng_, {8, 1}, DType::f32), row = test::random_view(rng_, {1, 4}, DType::f32);
  const View a = column.with_layout({{8, 1}, {1, 1}}), b = row.with_layout({{1, 4}, {1, 1}});
  const View y = test::random_view(rng_, {8, 4}, DType::f32);
  for (const char* name : {"gemv_k_8x4_32", "gemv_k_1x4_32", "direct_4x4_8", "tile_32x32x32_4x4"}) {
    const View got = on_device(y, std::array{a, b}, [&](gpu::Commands& c, std::span<const View> in, const View& out) {
      matmul_by(c, matmul_problem(in[0], in[1], out, {}), nullptr, named(name));
    });
    expect_within(got, expect_product(a, b, y.shape()), name);
  }
}

// Wide loads count elements from the operand's first one, before which others lie where axes are reversed.
TEST_P(Matmul, ReversedOperands) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const auto [m, n] : {std::array{1, 20}, {7, 5}, {33, 48}}) {
      View a = test::random_view(rng_, {3, m, 72}, type), b = test::random_view(rng_, {3, n, 72}, type);
      for (const int axis : {0, 1}) a = test::reversed(a, axis), b = test::reversed(b, axis);
      const View y = test::random_view(rng_, {3, m, n}, DType::f32);
      const std::string what = std::format("{} {} times {}", name(type), m, n);
      check_all(a, transposed(b), y, what);
      for (const char* variant : {"gemv_k_8x4_32", "gemv_k_1x4_64", "tile_32x32x32_4x4"}) {
        const std::array inputs{a, transposed(b)};
        const View got = on_device(y, inputs, [&](gpu::Commands& c, std::span<const View> in, const View& out) {
          matmul_by(c, matmul_problem(in[0], in[1], out, {}), nullptr, named(variant));
        });
        expect_within(got, expect_product(a, transposed(b), y.shape()), what + variant);
      }
    }
  }
}

// The tiles to test on cooperative matrices. A software device takes minutes to compile tiles for GPUs, so it gets
// small ones of each kind.
std::vector<MatmulVariant> matrix_tiles(const gpu::Capabilities& capabilities, DType type) {
  if (!capabilities.software) return matrix_variants(capabilities, type);
  std::vector<MatmulVariant> list;
  if (const auto unit = matrix_unit(capabilities, type)) {
    const int deeper = 16 / bits(type);
    list.push_back(matrix_variant(16, 16, 32 * deeper, 8, 16, *unit, capabilities));
    list.push_back(type == DType::f16 ? matrix_variant(16, 32, 16, 16, 8, *unit, capabilities)
                                      : matrix_variant(16, 32, 32, 16, 16, *unit, capabilities));
    list.push_back(matrix_variant(32, 32, 32 * deeper, type == DType::f16 ? 8 : 16, 16, *unit, capabilities));
    for (MatmulVariant& v : list) v.prefetch_stagger = v.tile_k == 32 * deeper ? 4 : 0;
  }
  return list;
}

// Odd sizes, whose rows are not aligned: large products copy such operands.
TEST_P(Matmul, CopiesOfOperands) {
  if (device_.adapter().backend == "opengles") GTEST_SKIP() << "the same kernels as elsewhere, compiled slowly";
  int index = 0;
  const auto check = [&](const MatmulVariant& v, DType type) {
    const bool a_transposed = index % 2, b_transposed = index % 4 < 2, shared = index % 3 == 0;
    const std::int64_t m = v.tile_m + 5, n = v.tile_n + 7, k = (index % 2 ? 3 : 5) * v.tile_k + 3;
    ++index;
    const auto make = [&](std::int64_t batch, std::int64_t rows, std::int64_t columns, bool flip) {
      const View view = test::random_view(rng_, flip ? Shape{batch, columns, rows} : Shape{batch, rows, columns}, type);
      return flip ? transposed(view) : view;
    };
    const View a = make(2, m, k, a_transposed), b = make(shared ? 1 : 2, k, n, b_transposed);
    const View y = test::random_view(rng_, {2, m, n}, product_type(type, type));
    const MatmulProblem even = matmul_problem(make(2, 32, 32, a_transposed), make(2, 32, 32, b_transposed),
                                              test::random_view(rng_, {2, 32, 32}, product_type(type, type)), {});
    if (!can_run(v, even, device_.capabilities())) return;
    const std::array inputs{a, b};
    const View got = on_device(y, inputs, [&](gpu::Commands& c, std::span<const View> in, const View& out) {
      const MatmulProblem p = matmul_problem(in[0], in[1], out, {});
      matmul_of_copies(c, p, nullptr, v);
    });
    expect_within(got, expect_product(a, b, y.shape()),
                  std::format("{}, {} {}x{}x{}{}{}{}", to_string(v), name(type), m, n, k, a_transposed ? " aT" : "",
                              b_transposed ? " bT" : "", shared ? " shared" : ""));
  };
  for (const char* tile : {"tile_32x32x32_4x4", "tile_64x64x16_8x4_double", "tile_16x32x32_4x4_slices4"}) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8}) {
      for (int i = 0; i < 2; ++i) check(named(tile), type);
    }
  }
  const bool all = !device_.capabilities().software;  // each takes seconds to compile on software
  for (const DType type : {DType::f16, DType::i8}) {
    for (const MatmulVariant& v : matrix_tiles(device_.capabilities(), type)) {
      for (int i = 0; i < (all ? 4 : 1); ++i) check(v, type);
    }
  }
}

// Each tile on cooperative matrices, for all layouts of the operands, with and without edges.
class MatmulMatrices : public Matmul {
 protected:
  void check_every_tile(DType type) {
    bool any = false;
    int index = 0;
    for (MatmulVariant v : matrix_tiles(device_.capabilities(), type)) {
      for (const bool edges : {false, true}) {
        for (const bool single : {false, true}) {
          v.splits = index % 3 == 2 ? 2 : 1;
          const bool a_transposed = index % 2, b_transposed = index % 4 < 2;
          ++index;
          const std::int64_t step = 128 / bits(type);
          const std::int64_t m = v.tile_m + (edges ? step : 0), n = v.tile_n * (edges ? 1 : 2) + (edges ? 2 * step : 0);
          const std::int64_t k = (index % 3 ? 11 : 3) * v.tile_k + (edges ? step : 0);
          const bool upside_down = index % 5 == 0;
          const auto make = [&](std::int64_t rows, std::int64_t columns, bool flip) {
            View view = test::random_view(rng_, flip ? Shape{2, columns, rows} : Shape{2, rows, columns}, type,
                                          single ? Kind::offset : Kind::dense);
            if (upside_down) view = test::reversed(test::reversed(view, 1), 0);
            return flip ? transposed(view) : view;
          };
          const View a = make(m, k, a_transposed), b = make(k, n, b_transposed);
          const View y = test::random_view(rng_, {2, m, n}, product_type(type, type));
          const MatmulProblem p = matmul_problem(a, b, y, {});
          if (!can_run(v, p, device_.capabilities())) continue;
          any = true;
          if (test::leave_out_problem()) continue;
          const std::string what = std::format("{}, {}, {}x{}x{}{}{}{}", to_string(v), name(type), m, n, k,
                                               a_transposed ? " aT" : "", b_transposed ? " bT" : "",
                                               single        ? " single"
                                               : upside_down ? " upside down"
                                                             : "");
          const std::array inputs{a, b};
          const View got = on_device(y, inputs, [&](gpu::Commands& c, std::span<const View> in, const View& out) {
            matmul_by(c, matmul_problem(in[0], in[1], out, {}), nullptr, v);
          });
          expect_within(got, expect_product(a, b, y.shape()), what);
          if (edges) continue;
          EXPECT_TRUE(passes_matrix_self_test(device_, v, p)) << what;
        }
      }
    }
    if (!any) GTEST_SKIP() << "no cooperative matrices here";
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, MatmulMatrices, testing::ValuesIn(test::device_names()),
                         [](const auto& i) { return i.param; });
TEST_P(MatmulMatrices, Halves) { check_every_tile(DType::f16); }
TEST_P(MatmulMatrices, SignedBytes) { check_every_tile(DType::i8); }
TEST_P(MatmulMatrices, Bytes) { check_every_tile(DType::u8); }

// y = gelu(product + bias) · scale + residual, with operands broadcast in every way.
TEST_P(Matmul, Epilogues) {
  struct Case {
    Shape bias, scale, residual;
  };
  const Case cases[] = {{{20}, {}, {2, 24, 20}}, {{24, 1}, {2, 1, 1}, {24, 20}}, {{1, 20}, {2, 24, 1}, {1, 1, 20}}};
  for (const bool odd : {false, true}) {
    for (const Case& c : cases) {
      for (const DType type : {DType::f32, DType::f16}) {
        Expression e;
        int v = e.input(DType::f32);
        const int bias = e.input(type), scale = e.input(DType::f32), residual = e.input(type);
        v = e.apply(ScalarOp::add, {v, type == DType::f32 ? bias : e.cast(bias, DType::f32)});
        v = e.apply(ScalarOp::mul, {e.apply(ScalarOp::gelu_erf, {v}), scale});
        v = e.apply(ScalarOp::add, {v, type == DType::f32 ? residual : e.cast(residual, DType::f32)});
        e.output(type == DType::f32 ? v : e.cast(v, type));

        const auto shrink = [&](Shape s) {
          for (auto& d : s) d -= odd && d > 4 ? 1 : 0;
          return s;
        };
        const View a = test::random_view(rng_, shrink({2, 24, 16}), DType::f32);
        const View b = transposed(test::random_view(rng_, shrink({2, 20, 16}), DType::f32));
        const View y = test::random_view(rng_, shrink({2, 24, 20}), type);
        const std::array inputs{a, b, test::random_view(rng_, shrink(c.bias), type),
                                test::random_view(rng_, shrink(c.scale), DType::f32),
                                test::random_view(rng_, shrink(c.residual), type, Kind::offset)};
        const std::span<const View> operands(inputs.begin() + 2, inputs.end());
        // The epilogue of the exact product; its slope is at most 1.13 · |scale|.
        Expected want = expect_product(a, b, y.shape());
        const auto bias_of = test::values(operands[0].broadcast_to(y.shape()));
        const auto scale_of = test::values(operands[1].broadcast_to(y.shape()));
        const auto residual_of = test::values(operands[2].broadcast_to(y.shape()));
        for (std::size_t i = 0; i < want.value.size(); ++i) {
          const double x = want.value[i] + bias_of[i];
          want.bound[i] = std::abs(scale_of[i]) * (1.13 * want.bound[i] + 0x1p-20 * (std::abs(x) + 1)) +
                          half_ulp(type) * std::abs(residual_of[i]);
          want.value[i] = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))) * scale_of[i] + residual_of[i];
        }
        const std::string what = std::format("{} bias {}, scale {}", name(type), to_string(c.bias), to_string(c.scale));
        const View got = on_device(y, inputs, [&](gpu::Commands& commands, std::span<const View> in, const View& out) {
          matmul(commands, in[0], in[1], out, {&e, in.subspan(2)});
        });
        expect_within(got, want, what + " on the device");
        matmul(executor_, a, b, y, {&e, operands});
        expect_within(y, want, what + " on the cpu");
        matmul_reference(matmul_problem(a, b, y, {&e, operands}), &e);
        expect_within(y, want, what + " by the CPU kernel");
        if (type != DType::f32) continue;
        const View by_tiles =
            on_device(y, inputs, [&](gpu::Commands& commands, std::span<const View> in, const View& out) {
              matmul_by(commands, matmul_problem(in[0], in[1], out, {&e, in.subspan(2)}), &e,
                        named("tile_32x32x32_4x4"));
            });
        expect_within(by_tiles, want, what + " by tiles");
      }
    }
  }
}

// y may be the residual's own memory.
TEST_P(Matmul, ResidualInPlace) {
  Expression e;
  e.output(e.apply(ScalarOp::add, {e.input(DType::f32), e.input(DType::f32)}));
  for (const std::int64_t n : {64, 63}) {
    const View a = test::random_view(rng_, {40, 24}, DType::f32), b = test::random_view(rng_, {24, n}, DType::f32);
    const View y = test::random_view(rng_, {40, n}, DType::f32);
    Expected want = expect_product(a, b, y.shape());
    for (std::int64_t i = 0; i < y.count(); ++i) want.value[i] += test::value(y, i);
    const std::array inputs{a, b};
    const View got = on_device(y, inputs, [&](gpu::Commands& commands, std::span<const View> in, const View& out) {
      matmul(commands, in[0], in[1], out, {&e, std::span(&out, 1)});
    });
    expect_within(got, want, "on the device");
    matmul(executor_, a, b, y, {&e, std::span(&y, 1)});
    expect_within(y, want, "on the cpu");
  }
}

TEST_P(Matmul, EmptySizes) {
  Expression e;
  e.output(e.apply(ScalarOp::add, {e.input(DType::f32), e.input(DType::f32)}));
  const View a = test::random_view(rng_, {5, 0}, DType::f32), b = test::random_view(rng_, {0, 7}, DType::f32);
  const View y = test::random_view(rng_, {5, 7}, DType::f32), bias = test::random_view(rng_, {7}, DType::f32);
  const std::array inputs{a, b, bias};
  const View zeros = on_device(
      y, inputs, [](gpu::Commands& c, std::span<const View> in, const View& out) { matmul(c, in[0], in[1], out); });
  const View biased = on_device(y, inputs, [&](gpu::Commands& c, std::span<const View> in, const View& out) {
    matmul(c, in[0], in[1], out, {&e, in.subspan(2)});
  });
  matmul(executor_, a, b, y, {&e, std::span(&bias, 1)});
  for (std::int64_t i = 0; i < y.count(); ++i) {
    EXPECT_EQ(test::value(zeros, i), 0.0);
    EXPECT_EQ(test::value(biased, i), test::value(bias, i % 7));
    EXPECT_EQ(test::value(y, i), test::value(bias, i % 7));
  }
  // No elements: there is nothing to do, and no error.
  gpu::Encoder encoder(device_);
  const View none = test::to_device(device_, test::random_view(rng_, {0, 7}, DType::f32));
  matmul(encoder, test::to_device(device_, test::random_view(rng_, {0, 3}, DType::f32)),
         test::to_device(device_, test::random_view(rng_, {3, 7}, DType::f32)), none);
  encoder.submit();
}

// NaN and infinities reach exactly the elements whose sums they are in.
TEST_P(Matmul, SpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t n : {33, 64}) {
    std::vector<double> x(36 * 20, 1.0), w(20 * n, 0.5);
    x[3 * 20 + 7] = nan;
    x[5 * 20 + 19] = inf;
    x[9 * 20 + 0] = -inf;
    x[11 * 20 + 2] = inf, x[11 * 20 + 3] = -inf;
    w[4 * n + 8] = inf;
    w[2 * n + 30] = nan;
    const View a = test::host_view(DType::f32, {36, 20}, x), b = test::host_view(DType::f32, {20, n}, w);
    const View y = test::random_view(rng_, {36, n}, DType::f32);
    const Expected e = expect_product(a, b, y.shape());
    const std::array inputs{a, b};
    const View gpu = on_device(
        y, inputs, [](gpu::Commands& c, std::span<const View> in, const View& out) { matmul(c, in[0], in[1], out); });
    matmul(executor_, a, b, y);
    for (const View* got : {&gpu, &y}) {
      for (std::int64_t i = 0; i < y.count(); ++i) {
        const auto bits = static_cast<std::uint32_t>(test::element_bits(*got, i));
        if (std::isnan(e.value[i]))
          EXPECT_GT(bits & 0x7fffffffu, 0x7f800000u) << i;
        else
          EXPECT_EQ(std::bit_cast<float>(bits), static_cast<float>(e.value[i])) << i;
      }
    }
  }
}

// Operands larger than a binding are processed in chunks.
TEST_P(Matmul, LargerThanABinding) {
  const std::uint64_t limit = device_.capabilities().max_binding;
  if (limit > (std::uint64_t{160} << 20)) {
    GTEST_SKIP() << "bindings of " << limit << " bytes would need too much memory";
  }
  const std::int64_t k = 64, n = 4, m = static_cast<std::int64_t>(limit / (k * 4)) + 1000;
  const View a(Buffer::host(static_cast<std::uint64_t>(m * k * 4)), 0, DType::f32, {m, k});
  auto* x = reinterpret_cast<float*>(a.buffer.data());
  for (std::int64_t i = 0; i < m * k; ++i) x[i] = static_cast<float>(i * 7919 % 1013 - 506);
  const View b = test::random_view(rng_, {k, n}, DType::f32);
  const View y = test::random_view(rng_, {m, n}, DType::f32);
  const std::array inputs{a, b};
  const View got = on_device(
      y, inputs, [](gpu::Commands& c, std::span<const View> in, const View& out) { matmul(c, in[0], in[1], out); });
  for (std::int64_t row = 0; row < m; row += row < 8 || row > m - 9 ? 1 : 4999) {
    const auto part = [&](const View& view) {
      return View(view.buffer, static_cast<std::uint64_t>(row * view.strides()[0] * 4), DType::f32,
                  {1, view.shape()[1]});
    };
    expect_within(part(got), expect_product(part(a), b, {1, n}), std::format("row {} of {}", row, m));
  }
}

// Any types and layouts; with an epilogue, y has a type of its own.
test::Problem random_product(test::Rng& rng) {
  using test::pick, test::random_int;
  constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
  constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32};
  constexpr DType kSums[] = {DType::i32, DType::u32};
  const bool real = rng() % 3 != 0;
  const auto size = [&] {
    return std::int64_t{rng() % 2 ? random_int(rng.details(), 1, 70) : 8 * random_int(rng.details(), 1, 9)};
  };
  const std::int64_t m = rng() % 4 ? size() : 1, n = rng() % 4 ? size() : 1, k = size();
  const Shape batch = test::random_shape(rng, 0, 4, 12, false);
  const Shape ab = test::random_broadcast(rng, batch), bb = test::random_broadcast(rng, batch);
  const auto matrix = [&](const Shape& leading, std::int64_t rows, std::int64_t columns, DType type, Kind kind) {
    if (rng() % 2) return test::random_view(rng, with_matrix(leading, rows, columns), type, kind);
    return transposed(test::random_view(rng, with_matrix(leading, columns, rows), type, kind));
  };
  const DType a_type = real ? pick(rng, kFloats) : pick(rng, kIntegers);
  const DType b_type = rng() % 2 ? a_type : real ? pick(rng, kFloats) : pick(rng, kIntegers);
  const DType y_type = real ? pick(rng, kFloats) : pick(rng, kSums);
  test::Problem p;
  p.inputs = {matrix(ab, m, k, a_type, test::random_input_kind(rng)),
              matrix(bb, k, n, b_type, test::random_input_kind(rng))};
  p.outputs = {matrix(batch, m, n, y_type, test::random_output_kind(rng))};
  auto e = std::make_shared<Expression>();
  const bool fused = real && rng() % 2;
  if (fused) {
    const DType bias = pick(rng, kFloats);
    p.inputs.push_back(test::random_view(rng, test::random_broadcast(rng, with_matrix(batch, m, n)), bias));
    const int v = e->input(DType::f32), added = e->input(bias);
    const int sum = e->apply(ScalarOp::add, {v, bias == DType::f32 ? added : e->cast(added, DType::f32)});
    const int out = e->apply(ScalarOp::relu, {sum});
    e->output(y_type == DType::f32 ? out : e->cast(out, y_type));
  }
  p.what = std::format("{} · {} = {}{}", to_string(p.inputs[0]), to_string(p.inputs[1]), to_string(p.outputs[0]),
                       fused ? ", bias " + to_string(p.inputs[2]) : "");
  // On a GPU one of its variants, even if it would not be chosen there; or the chosen one.
  const auto form = static_cast<std::size_t>(random_int(rng, 0, 2 * static_cast<int>(matmul_variants().size())));
  p.call = [e, fused, form](Stream& s, auto in, auto out) {
    const Epilogue epilogue = fused ? Epilogue{e.get(), in.subspan(2)} : Epilogue{};
    if (s.gpu() && form < matmul_variants().size()) {
      const MatmulProblem problem = matmul_problem(in[0], in[1], out[0], epilogue);
      const MatmulVariant& v = matmul_variants()[form];
      if (can_run(v, problem, s.gpu()->device().capabilities())) {
        return matmul_by(*s.gpu(), problem, epilogue.expression, v);
      }
    }
    if (fused)
      matmul(s, in[0], in[1], out[0], epilogue);
    else
      matmul(s, in[0], in[1], out[0]);
  };
  p.reference = [e, fused](Stream&, auto in, auto out) {
    const Epilogue epilogue = fused ? Epilogue{e.get(), in.subspan(2)} : Epilogue{};
    matmul_reference(matmul_problem(in[0], in[1], out[0], epilogue), epilogue.expression);
  };
  // Two sums of k products of normal numbers, each within k · 2^-24 · Σ|a·b|, which is about k · 2^-24 · 0.7 k.
  if (real) {
    p.tolerance = {.ulp = y_type == DType::f32 ? 0.0 : 1.0, .absolute = 2e-7 * static_cast<double>(k * k) + 1e-6};
  }
  return p;
}

const bool registered = test::differential("matmul", random_product, 2);

// Of integers that are small, so that every order of sums gives the same.
struct SelectedCase {
  DType a, b, y, indices;
  Shape batch;
  std::int64_t m, k, n;
};

SelectedCase random_selection(test::Rng& rng) {
  using test::pick, test::random_int;
  constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16};
  constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32};
  constexpr DType kSums[] = {DType::i32, DType::u32};
  constexpr DType kIndices[] = {DType::u32, DType::i32, DType::i64, DType::u64, DType::i8, DType::u16};
  const bool real = rng() % 3 != 0;
  const auto size = [&] {
    return std::int64_t{rng() % 2 ? random_int(rng.details(), 1, 70) : 8 * random_int(rng.details(), 1, 9)};
  };
  SelectedCase c{};
  c.a = real ? pick(rng, kFloats) : pick(rng, kIntegers);
  c.b = rng() % 2 ? c.a : real ? pick(rng, kFloats) : pick(rng, kIntegers);
  c.y = real ? pick(rng, kFloats) : pick(rng, kSums);
  c.indices = pick(rng, kIndices);
  c.batch = test::random_shape(rng, 0, 3, 12, false);
  c.m = rng() % 3 ? size() : 1, c.k = size(), c.n = rng() % 4 ? size() : 1;
  return c;
}

test::Tolerance selected_tolerance(const SelectedCase& c) {
  if (!is_floating(c.y)) return {};
  return {.ulp = c.y == DType::f32 ? 0.0 : 1.0, .absolute = 2e-7 * static_cast<double>(c.k * c.k) + 1e-6};
}

View random_matrices(test::Rng& rng, Shape leading, std::int64_t rows, std::int64_t columns, DType type, Kind kind) {
  if (rng() % 2) return test::random_view(rng, with_matrix(leading, rows, columns), type, kind);
  return transposed(test::random_view(rng, with_matrix(leading, columns, rows), type, kind));
}

View random_indices(test::Rng& rng, const Shape& shape, DType type, std::int64_t most) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    const int least = is_signed(type) ? -1 : 0;
    values.push_back(test::random_int(rng.details(), least, static_cast<int>(most)));
  }
  return test::host_view(type, shape, values);
}

// A GPU takes one of its variants, even if it would not choose it there, or the chosen one.
void by_some_variant(Stream& s, const MatmulProblem& problem, std::size_t form,
                     const std::function<void()>& otherwise) {
  if (s.gpu() && form < matmul_variants().size()) {
    const MatmulVariant& v = matmul_variants()[form];
    if (can_run(v, problem, s.gpu()->device().capabilities())) return matmul_by(*s.gpu(), problem, nullptr, v);
  }
  otherwise();
}

test::Problem random_gather(test::Rng& rng) {
  const SelectedCase c = random_selection(rng);
  const std::int64_t matrices = test::random_int(rng.details(), 1, 5);
  test::Problem p;
  p.inputs = {random_matrices(rng, test::random_broadcast(rng, c.batch), c.m, c.k, c.a, test::random_input_kind(rng)),
              random_matrices(rng, {matrices}, c.k, c.n, c.b, test::random_input_kind(rng)),
              random_indices(rng, test::random_broadcast(rng, c.batch), c.indices, matrices + 1)};
  p.outputs = {random_matrices(rng, c.batch, c.m, c.n, c.y, test::random_output_kind(rng))};
  p.what = std::format("{} · {} of {} = {}", to_string(p.inputs[0]), to_string(p.inputs[2]), to_string(p.inputs[1]),
                       to_string(p.outputs[0]));
  const auto form = static_cast<std::size_t>(test::random_int(rng, 0, 2 * static_cast<int>(matmul_variants().size())));
  p.call = [form](Stream& s, auto in, auto out) {
    by_some_variant(s, matmul_problem(in[0], {.view = in[1], .chosen = in[2]}, out[0], {}), form,
                    [&] { gather_matmul(s, in[0], in[1], in[2], out[0]); });
  };
  p.tolerance = selected_tolerance(c);
  return p;
}

test::Problem random_segments(test::Rng& rng) {
  SelectedCase c = random_selection(rng);
  c.k *= 1 + static_cast<std::int64_t>(rng() % 4);
  if (c.indices == DType::i8) c.indices = DType::i16;  // which counts past 127
  Shape segments = c.batch;
  segments.push_back(2);
  test::Problem p;
  p.inputs = {random_matrices(rng, {}, c.m, c.k, c.a, test::random_input_kind(rng)),
              random_matrices(rng, {}, c.k, c.n, c.b, test::random_input_kind(rng)),
              random_indices(rng, segments, c.indices, c.k + 3)};
  p.outputs = {random_matrices(rng, c.batch, c.m, c.n, c.y, test::random_output_kind(rng))};
  p.what = std::format("{} · {} in {} = {}", to_string(p.inputs[0]), to_string(p.inputs[1]), to_string(p.inputs[2]),
                       to_string(p.outputs[0]));
  const auto form = static_cast<std::size_t>(test::random_int(rng, 0, 2 * static_cast<int>(matmul_variants().size())));
  p.call = [form](Stream& s, auto in, auto out) {
    by_some_variant(s, matmul_problem(in[0], {.view = in[1], .ranges = in[2]}, out[0], {}), form,
                    [&] { segmented_matmul(s, in[0], in[1], in[2], out[0]); });
  };
  p.tolerance = selected_tolerance(c);
  return p;
}

const bool gathers = test::differential("gather_matmul", random_gather, 2);
const bool segmented = test::differential("segmented_matmul", random_segments, 2);

INSTANTIATE_TEST_SUITE_P(Devices, Matmul, testing::ValuesIn(test::device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::kernels

// Operands that exceed a binding.
namespace weft::test {
namespace {

using MatmulChunks = ChunksTest;

TEST_F(MatmulChunks, RowsAndColumns) {
  const View a = random_view(rng, {300, 60}, DType::f32), b = random_view(rng, {60, 250}, DType::f32);
  const View y = random_view(rng, {300, 250}, DType::f32);
  both({a, b}, {y}, [](Stream& s, auto in, auto out) { kernels::matmul(s, in[0], in[1], out[0]); }, {.absolute = 1e-3});
}

// Segments are cut with the k that they are parts of; matrices to choose from must fit.
TEST_F(MatmulChunks, SegmentsAndChosenMatrices) {
  const std::vector<double> bounds{0, 20'000, 19'999, 20'001, 7, 39'999, 30'000, 40'000, 9, 9};
  const View segments = host_view(DType::u32, {5, 2}, bounds);
  for (const bool transposed : {false, true}) {
    const View a = random_view(rng, transposed ? Shape{40'000, 3} : Shape{3, 40'000}, DType::f32);
    const View b = random_view(rng, {40'000, 5}, DType::f32), y = random_view(rng, {5, 3, 5}, DType::f32);
    both({transposed ? kernels::transposed(a) : a, b, segments}, {y},
         [](Stream& s, auto in, auto out) { kernels::segmented_matmul(s, in[0], in[1], in[2], out[0]); },
         {.absolute = 5e-2});
  }
  const View chosen = host_view(DType::i32, {4}, std::vector<double>{1, 0, 1, 1});
  const auto gather = [](Stream& s, auto in, auto out) { kernels::gather_matmul(s, in[0], in[1], in[2], out[0]); };
  both({random_view(rng, {4, 300, 8}, DType::f32), random_view(rng, {2, 8, 60}, DType::f32), chosen},
       {random_view(rng, {4, 300, 60}, DType::f32)}, gather, {.absolute = 1e-4});
}

// Operands that exceed a binding along k: the sums of their chunks are added in scratch. Small integers, whose sums are
// exact in any order.
TEST_F(MatmulChunks, LongK) {
  const auto whole = [](int seed) -> ValueOf {
    return [seed](std::int64_t i) { return static_cast<double>((i + seed) * 7919 % 1013 % 7 - 3); };
  };
  const auto product = [&](const Expression* epilogue = nullptr) -> KernelCall {
    return [this, epilogue](Stream& s, auto in, auto out) {
      const std::vector<View> operands(in.begin() + 2, in.end());
      kernels::matmul(s, in[0], in[1], out[0], {epilogue, operands});
    };
  };
  Expression shifted;  // of a product and a row, to f16
  const int sum = shifted.input(DType::f32), row = shifted.input(DType::f32);
  shifted.output(shifted.cast(shifted.apply(ScalarOp::add, {sum, row}), DType::f16));
  const auto check = [&](DType type, const Shape& a_shape, const Shape& b_shape, Kind kind, DType y,
                         const Tolerance& tolerance = {}) {
    SCOPED_TRACE(std::format("{} {} x {}", name(type), weft::to_string(a_shape), weft::to_string(b_shape)));
    Shape shape = a_shape;
    shape[-1] = b_shape[-1];
    const View a = view_of(type, a_shape, kind, whole(1)), b = view_of(type, b_shape, kind, whole(2));
    both({a, b}, {random_view(rng, shape, y)}, product(), tolerance);
    if (y != DType::f16) return;
    const View r = view_of(DType::f32, Shape{b_shape[-1]}, Kind::dense, whole(3));
    both({a, b, r}, {random_view(rng, shape, y)}, product(&shifted), {});
  };
  for (const Kind kind : {Kind::dense, Kind::transposed, Kind::reversed}) {
    check(DType::f32, {5, 9000}, {9000, 40}, kind, DType::f32);
    check(DType::f32, {3, 40000}, {40000, 1}, kind, DType::f32);
    check(DType::f16, {1, 50001}, {50001, 6}, kind, DType::f16);
    check(DType::bf16, {2, 3, 20000}, {2, 20000, 5}, kind, DType::f16);
    check(DType::i8, {4, 70000}, {70000, 3}, kind, DType::i32);
    check(DType::f32, {150, 1500}, {1500, 170}, kind, DType::f32);  // sums that exceed a binding, too
  }
  // Their imaginary parts are not integers; sums of 9,000 products of about 3 are accurate to 9,000 · 2^-24 · 27,000.
  check(DType::c64, {3, 9000}, {9000, 4}, Kind::dense, DType::c64, {.absolute = 0.01});
  // Larger than a binding by only a few bytes.
  check(DType::f32, {2, 4096}, {4096, 4}, Kind::dense, DType::f32);
}

}  // namespace
}  // namespace weft::test
