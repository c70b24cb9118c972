// The loops that decode many quantised weights at a time, against the plain decoder, bit for bit.
#include <bit>
#include <cmath>
#include <set>
#include <tuple>

#include "kernels/operands.h"
#include "kernels/quantized/decode_cpu.h"
#include "kernels/quantized_cases.h"
#include "support/quick.h"

namespace weft::test {
namespace {

using kernels::QuantizedScheme;

std::string hex(float x) { return std::format("{:08x}", std::bit_cast<std::uint32_t>(x)); }

// Random weights of the scheme; with `any`, scales, zeros and codes are any bits, NaNs too.
kernels::QuantizedMatrix weights_of(Rng& rng, QuantizedScheme scheme, bool any) {
  RandomWeights w = random_weights(rng, scheme, random_shape(rng, 0, 1, 3, false), random_int(rng.details(), 1, 40),
                                   random_int(rng.details(), 1, 600));
  for (View& v : w.views) {
    const bool is_groups = w.groups && &v == &w.views.back();
    if (any && !is_groups) v = random_bytes(rng, v.shape(), v.dtype);
  }
  if (scheme == QuantizedScheme::integers && !w.zeros && w.views[0].dtype == DType::u8 && rng() % 2)
    w.views[0].dtype = rng() % 2 ? DType::f8e4m3 : DType::f8e5m2;
  return w.matrix(w.views);
}

TEST(QuantizedDecode, ManyAtATimeAsOneByOne) {
  for (std::size_t s = 0; s < std::size(kernels::kQuantizedSchemes); ++s) {
    for (unsigned seed = 0; seed < scaled(200); ++seed) {
      Rng rng(seed);
      const kernels::QuantizedMatrix w = weights_of(rng, static_cast<QuantizedScheme>(s), seed % 2);
      const kernels::QuantizedLayout layout = kernels::quantized_layout("test", w);
      const kernels::WeightDecoder decoder(w, layout);
      for (std::int64_t r = 0; r < layout.matrices * layout.rows; ++r) {
        const auto columns = static_cast<int>(layout.columns);
        const int column = rng() % 3 == 0 ? 0 : random_int(rng.details(), 0, columns - 1);
        const int count = rng() % 3 == 0 ? columns - column : random_int(rng.details(), 1, columns - column);
        std::vector<float> expected(static_cast<std::size_t>(count)), got(expected.size() + 1, 12345.0f);
        decoder.plain_row(r, column, count, expected.data());
        decoder.row(r, column, count, got.data());
        ASSERT_EQ(got.back(), 12345.0f) << "written behind the end";
        for (std::size_t i = 0; i < expected.size(); ++i) {
          if (std::isnan(got[i]) && std::isnan(expected[i])) continue;
          ASSERT_EQ(hex(got[i]), hex(expected[i]))
              << to_text(w.format) << " values " << to_string(w.values) << " row " << r << " from " << column << ", "
              << count << " elements, at " << i << ", seed " << seed;
        }
      }
    }
  }
}

// Products with weights as they are stored, where there is such a form, are exact here in any order of sums.
TEST(QuantizedDecode, ProductsOfStoredWeights) {
  using kernels::CodeType;
  std::set<std::tuple<QuantizedScheme, int, CodeType>> multiplied;  // and the bits and type of codes
  for (std::size_t s = 0; s < std::size(kernels::kQuantizedSchemes); ++s) {
    for (unsigned seed = 0; seed < scaled(200); ++seed) {
      Rng rng(seed);
      const auto scheme = static_cast<QuantizedScheme>(s);
      const std::int64_t k = seed % 16 == 0 ? 4352 : 32 * random_int(rng.details(), 1, 20);
      const RandomWeights random = random_weights(rng, scheme, {}, random_int(rng.details(), 1, 40), k);
      const kernels::QuantizedMatrix w = random.matrix(random.views);
      const kernels::QuantizedLayout layout = kernels::quantized_layout("test", w);
      const kernels::WeightDecoder decoder(w, layout);
      const std::int64_t block = layout.blocks ? layout.blocks->elements : 16, rows = random_int(rng.details(), 1, 9);
      const std::int64_t begin =
          random_int(rng.details(), 0, std::max(0, static_cast<int>(layout.columns / block) - 1)) * block;
      const std::int64_t first = random_int(rng.details(), 0, static_cast<int>(layout.rows) - 1),
                         cols = layout.rows - first;
      const std::int64_t depth = layout.columns - begin, a_row = depth + 3, pitch = cols + 2;
      const auto list = [&](std::int64_t count) {
        std::vector<float> v(static_cast<std::size_t>(count));
        for (float& x : v) x = static_cast<float>(random_int(rng.details(), -2, 2));
        return v;
      };
      const std::vector<float> a = list(rows * a_row), before = list(rows * pitch);
      std::vector<float> y = before, column(static_cast<std::size_t>(depth));
      const bool add = rng() % 2;
      const kernels::PanelRun<float> run{.a = a.data(),
                                         .a_row = a_row,
                                         .y = y.data(),
                                         .pitch = pitch,
                                         .rows = rows,
                                         .cols = cols,
                                         .depth = depth,
                                         .add = add};
      if (!decoder.multiply(run, first * layout.stored_columns + begin, layout.stored_columns)) {
        ASSERT_EQ(y, before);
        continue;
      }
      multiplied.emplace(scheme, layout.bits, layout.code);
      for (std::int64_t c = 0; c < pitch; ++c) {
        if (c < cols) decoder.plain_row(first + c, begin, depth, column.data());
        for (std::int64_t r = 0; r < rows; ++r) {
          const auto at = static_cast<std::size_t>(r * pitch + c);
          double sum = add || c >= cols ? before[at] : 0.0;
          for (std::int64_t i = 0; c < cols && i < depth; ++i)
            sum += double{a[static_cast<std::size_t>(r * a_row + i)]} * double{column[static_cast<std::size_t>(i)]};
          ASSERT_EQ(y[at], sum) << to_text(w.format) << " values " << to_string(w.values) << " row " << r << " of "
                                << rows << ", column " << c << " of " << cols << ", " << depth << " from " << begin
                                << " on, seed " << seed;
        }
      }
    }
  }
  // Those of four bits, and integers of eight, that lie along rows.
  using S = QuantizedScheme;
  constexpr CodeType kUnsigned = CodeType::unsigned_integer, kSigned = CodeType::signed_integer;
  if (kernels::weight_loop(kernels::WeightForm::k_blocks, kernels::ZeroForm::bias)) {
    EXPECT_EQ(multiplied, (decltype(multiplied){{S::integers, 4, kUnsigned},
                                                {S::integers, 4, kSigned},
                                                {S::integers, 8, kUnsigned},
                                                {S::integers, 8, kSigned},
                                                {S::affine, 4, kUnsigned},
                                                {S::affine, 8, kUnsigned},
                                                {S::mxfp4, 4, CodeType::e2m1},
                                                {S::nvfp4, 4, CodeType::e2m1},
                                                {S::nbits, 4, kUnsigned},
                                                {S::nbits, 8, kUnsigned},
                                                {S::q4_0, 0, kUnsigned},
                                                {S::q4_1, 0, kUnsigned},
                                                {S::q8_0, 0, kUnsigned},
                                                {S::q4_k, 0, kUnsigned},
                                                {S::iq4_nl, 0, kUnsigned},
                                                {S::ggml_mxfp4, 0, kUnsigned}}));
  } else {
    EXPECT_TRUE(multiplied.empty());
  }
}

}  // namespace
}  // namespace weft::test
