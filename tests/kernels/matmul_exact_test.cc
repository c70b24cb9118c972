// Products of integers, which are exact, and of complex numbers, on every device.
#include <complex>

#include "kernels/matmul_cases.h"
#include "support/kernel_references.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {
namespace {

using test::Kind;

using MatmulExact = MatmulTest;

// Integers are exact, and wrap where they must.
TEST_P(MatmulExact, Integers) {
  const std::pair<DType, DType> types[] = {{DType::i8, DType::i8},   {DType::u8, DType::u8},  {DType::i8, DType::u8},
                                           {DType::i16, DType::i16}, {DType::u16, DType::i8}, {DType::i32, DType::i32},
                                           {DType::u32, DType::i16}, {DType::i8, DType::i32}};
  int index = 0;
  for (const auto& [a_type, b_type] : types) {
    for (const bool wide : {false, true}) {
      const bool long_k = bits(a_type) == 8 && bits(b_type) == 8;
      const std::int64_t m = wide ? 20 : 5, n = wide ? 24 : 7, k = long_k ? 1200 : wide ? 36 : 19;
      const DType y_type = index++ % 4 ? DType::i32 : DType::u32;
      const View a = test::random_view(rng_, {m, k}, a_type, Kind::dense, test::Values::special);
      const View b = transposed(test::random_view(rng_, {n, k}, b_type, Kind::dense, test::Values::special));
      const View y = test::random_view(rng_, {m, n}, y_type);
      std::vector<std::uint32_t> want;
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          std::uint32_t sum = 0;
          for (std::int64_t l = 0; l < k; ++l) {
            sum += static_cast<std::uint32_t>(static_cast<std::int64_t>(test::value(a, i * k + l))) *
                   static_cast<std::uint32_t>(static_cast<std::int64_t>(test::value(b, l * n + j)));
          }
          want.push_back(sum);
        }
      }
      const std::array inputs{a, b};
      const View got = on_device(
          y, inputs, [](gpu::Commands& c, std::span<const View> in, const View& out) { matmul(c, in[0], in[1], out); });
      const auto check = [&](const View& view, const char* by) {
        for (std::int64_t i = 0; i < m * n; ++i) {
          ASSERT_EQ(static_cast<std::uint32_t>(test::element_bits(view, i)), want[i])
              << name(a_type) << " · " << name(b_type) << " by " << by << ", element " << i;
        }
      };
      check(got, "the device");
      matmul(executor_, a, b, y);
      check(y, "the executor");
      matmul_reference(matmul_problem(a, b, y, {}), nullptr);
      check(y, "the CPU kernel");
    }
  }
}

// 8-bit integers along k are multiplied four at a time, by every variant: with odd sizes, and values at the ends of
// their range.
TEST_P(MatmulExact, BytesInWords) {
  for (const DType type : {DType::i8, DType::u8}) {
    for (const char* name : {"tile_64x64x16_8x4_double", "tile_32x32x32_4x4", "tile_32x32x32_4x4_slices2",
                             "gemv_k_8x4_32", "gemv_k_1x2_256"}) {
      if (device_.adapter().backend == "opengles" && type == DType::u8) continue;  // it takes long to compile
      const std::int64_t m = 37, n = 43, k = 148;
      const View a = test::random_view(rng_, {m, k}, type, Kind::dense, test::Values::special);
      const View b = transposed(test::random_view(rng_, {n, k}, type, Kind::dense, test::Values::special));
      for (std::int64_t i = 0; i < k; ++i) {  // the largest possible sums
        test::set_element_bits(a, i, type == DType::i8 ? 0x80 : 0xff);
        test::set_element_bits(b, i * n, type == DType::i8 ? 0x80 : 0xff);
      }
      const View y = test::random_view(rng_, {m, n}, DType::i32);
      if (!can_run(named(name), matmul_problem(a, b, y, {}), device_.capabilities())) continue;
      const View got = on_device(y, std::array{a, b}, [&](gpu::Commands& c, std::span<const View> in, const View& out) {
        matmul_by(c, matmul_problem(in[0], in[1], out, {}), nullptr, named(name));
      });
      matmul_reference(matmul_problem(a, b, y, {}), nullptr);
      EXPECT_EQ(test::value(y, 0), k * (type == DType::i8 ? 128 * 128 : 255 * 255));
      test::expect_close(got, y, test::kSameBits, std::format("{} of {}", name, weft::name(type)));
    }
  }
}

// c64 against sums of its parts in double; both operands complex, and one real.
TEST_P(MatmulExact, Complex) {
  const std::pair<DType, DType> types[] = {
      {DType::c64, DType::c64}, {DType::c64, DType::f32}, {DType::f16, DType::c64}};
  for (const auto& [a_type, b_type] : types) {
    for (const Kind kind : {Kind::dense, Kind::transposed, Kind::reversed}) {
      const std::int64_t batch = 2, m = 9, n = 12, k = 21;
      const View a = test::random_view(rng_, {batch, m, k}, a_type, kind);
      const View b = transposed(test::random_view(rng_, {n, k}, b_type, kind));
      const View y = test::random_view(rng_, {batch, m, n}, DType::c64, kind);
      const auto number = [](const View& v, std::int64_t i) -> std::complex<double> {
        if (v.dtype != DType::c64) return test::value(v, i);
        const std::uint64_t bits = test::element_bits(v, i);
        return {std::bit_cast<float>(static_cast<std::uint32_t>(bits)),
                std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32))};
      };
      const std::array inputs{a, b};
      const View got = on_device(
          y, inputs, [](gpu::Commands& c, std::span<const View> in, const View& out) { matmul(c, in[0], in[1], out); });
      matmul(executor_, a, b, y);
      for (std::int64_t i = 0; i < batch * m * n; ++i) {
        std::complex<double> sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += number(a, i / n * k + l) * number(b, l * n + i % n);
        EXPECT_LT(std::abs(number(got, i) - sum), 2e-5) << i;
        EXPECT_LT(std::abs(number(y, i) - sum), 2e-5) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MatmulExact, testing::ValuesIn(test::device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::kernels
