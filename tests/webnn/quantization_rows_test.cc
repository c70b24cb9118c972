// WebNN's quantizeLinear and dequantizeLinear on every device.
#include "webnn/one_op.h"

namespace weft::test {
namespace {

using Numbers = std::vector<Number>;
using webnn::Sizes;

class WebnnQuantization : public WebnnOps {
 protected:
  void quantize(const WebnnArray& x, const WebnnArray& scale, const WebnnArray& zero, const WebnnArray& y) {
    check({"quantizeLinear", {{"input", x}, {"scale", scale}, {"zeroPoint", zero}}, {}, y});
  }
  void dequantize(const WebnnArray& x, const WebnnArray& scale, const WebnnArray& zero, const WebnnArray& y) {
    check({"dequantizeLinear", {{"input", x}, {"scale", scale}, {"zeroPoint", zero}}, {}, y, 1e-3});
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnQuantization, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(WebnnQuantization, OfAllTypes) {
  struct {
    DType type;
    std::int64_t zero, low, high;  // the ends that ±2³⁸ reach
  } const rows[] = {
      {DType::u8, 3, 0, 255}, {DType::i8, -3, -128, 127},     {DType::u4, 3, 0, 15},
      {DType::i4, -3, -8, 7}, {DType::u32, 3, 0, 4294967295}, {DType::i32, -3, -2147483648, 2147483647},
  };
  for (const auto& row : rows) {
    for (const DType number : {DType::f32, DType::f16}) {
      // Ties go to the even integer.
      quantize({number, {5}, {1.0, 1.25, 1.75, -0.25, 0.0}}, {number, {1}, {0.5}}, {row.type, {1}, {row.zero}},
               {row.type, {5}, {row.zero + 2, row.zero + 2, row.zero + 4, row.zero, row.zero}});
      dequantize({row.type, {3}, {row.zero, row.zero + 1, row.zero + 4}}, {number, {}, {0.5}},
                 {row.type, {}, {row.zero}}, {number, {3}, {0.0, 0.5, 2.0}});
    }
    quantize({DType::f32, {2}, {-0x1p38, 0x1p38}}, {DType::f32, {1}, {1.0}}, {row.type, {1}, {row.zero}},
             {row.type, {2}, {row.low, row.high}});
  }
  // Sums with a zero point are exact, beyond the integers that f32 holds.
  quantize({DType::f32, {2}, {1.0, 3e9}}, {DType::f32, {1}, {1.0}}, {DType::i32, {1}, {-2000000001}},
           {DType::i32, {2}, {-2000000000, 999999999}});
  quantize({DType::f32, {1}, {-2.0}}, {DType::f32, {1}, {1.0}}, {DType::u32, {1}, {4000000001u}},
           {DType::u32, {1}, {3999999999u}});
  dequantize({DType::i32, {1}, {2000000001}}, {DType::f32, {1}, {1.0}}, {DType::i32, {1}, {2000000000}},
             {DType::f32, {1}, {1.0}});
  dequantize({DType::i32, {1}, {2000000000}}, {DType::f32, {1}, {0.5}}, {DType::i32, {1}, {-2000000000}},
             {DType::f32, {1}, {2e9}});
  dequantize({DType::u32, {2}, {1u, 4000000000u}}, {DType::f32, {1}, {2.0}}, {DType::u32, {1}, {3u}},
             {DType::f32, {2}, {-4.0, 7999999994.0}});
}

TEST_P(WebnnQuantization, NegativeScales) {
  quantize({DType::f32, {2}, {1.0, -2.0}}, {DType::f32, {2}, {-0.5, -0.25}}, {DType::u8, {2}, {128, 128}},
           {DType::u8, {2}, {126, 136}});
  dequantize({DType::i8, {2}, {4, -4}}, {DType::f32, {2}, {-0.5, -0.25}}, {DType::i8, {2}, {0, 1}},
             {DType::f32, {2}, {-2.0, 1.25}});
}

// Blocks along any axes: element i, j, … has the scale of its block.
TEST_P(WebnnQuantization, Blocks) {
  struct {
    Sizes shape, blocks;
  } const rows[] = {
      {{4}, {2}},
      {{6, 4}, {2, 2}},
      {{6, 4, 5}, {3, 2, 1}},
      {{2, 6}, {2, 1}},
      {{3, 4}, {2}},
      {{2, 3}, {}},
      {{2, 2, 4, 2, 4}, {1, 1, 2, 2, 2}},
      {{4, 4, 4, 4, 2}, {2, 2, 2, 2, 1}},
      {{4, 4, 2, 4, 4}, {2, 2, 1, 2, 2}},
      {{2, 2, 2, 4, 4}, {1, 2, 1, 2, 2}},
  };
  for (const auto& row : rows) {
    Sizes padded = row.blocks;
    padded.insert(padded.begin(), row.shape.size() - padded.size(), 1);
    std::int64_t count = 1, scales = 1;
    for (const std::int64_t s : row.shape) count *= s;
    for (const std::int64_t s : padded) scales *= s;
    Numbers scale, zero, q, x;
    for (std::int64_t i = 0; i < scales; ++i) {
      scale.emplace_back(0.25 * static_cast<double>(i + 1));
      zero.emplace_back(i % 7 - 3);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, block = 0, stride = 1;
      for (std::size_t a = row.shape.size(); a-- > 0; rest /= row.shape[a]) {
        block += rest % row.shape[a] * padded[a] / row.shape[a] * stride;
        stride *= padded[a];
      }
      const std::int64_t value = i % 8 - 4;
      q.emplace_back(value);
      x.emplace_back(static_cast<double>(value - (block % 7 - 3)) * 0.25 * static_cast<double>(block + 1));
    }
    for (const DType type : {DType::i8, DType::i4}) {
      dequantize({type, row.shape, q}, {DType::f32, row.blocks, scale}, {type, row.blocks, zero},
                 {DType::f32, row.shape, x});
      quantize({DType::f32, row.shape, x}, {DType::f32, row.blocks, scale}, {type, row.blocks, zero},
               {type, row.shape, q});
    }
  }
}

TEST(WebnnQuantizationRows, SayWhatDoesNotFit) {
  using Descriptor = webnn::OperandDescriptor;
  const Descriptor u8{DType::u8, {3, 2, 5}}, f32{DType::f32, {3, 2, 5}}, scale{DType::f32, {5}}, zero{DType::u8, {5}};
  const char *const to = "quantizeLinear", *const from = "dequantizeLinear";
  expect_refused({from,
                  {{"input", u8}, {"scale", scale}, {"zeroPoint", {DType::u8, {2}}}},
                  {},
                  "scale is [5] and zeroPoint [2], expected one shape"});
  expect_refused({from,
                  {{"input", {DType::i8, {3, 2, 5}}}, {"scale", scale}, {"zeroPoint", zero}},
                  {},
                  "zeroPoint is uint8 [5], expected int8, as input"});
  expect_refused({from,
                  {{"input", u8}, {"scale", {DType::i32, {5}}}, {"zeroPoint", zero}},
                  {},
                  "scale is int32 [5], expected float32 or float16"});
  expect_refused({from,
                  {{"input", f32}, {"scale", scale}, {"zeroPoint", scale}},
                  {},
                  "input is float32 [3, 2, 5], expected int8, int32, uint8, uint32, int4 or uint4"});
  expect_refused({from, {{"input", u8}, {"scale", scale}}, {}, "zeroPoint is not given, expected an operand"});
  expect_refused({to,
                  {{"input", f32}, {"scale", {DType::f32, {2, 1, 5}}}, {"zeroPoint", {DType::i8, {2, 1, 5}}}},
                  {},
                  "scale is [2, 1, 5], expected sizes that divide those of the input, which is [3, 2, 5]"});
  expect_refused({to,
                  {{"input", f32}, {"scale", {DType::f32, {1, 3, 2, 5}}}, {"zeroPoint", {DType::i8, {1, 3, 2, 5}}}},
                  {},
                  "scale is [1, 3, 2, 5], expected no more axes than the input, which is [3, 2, 5]"});
  expect_refused({to,
                  {{"input", f32}, {"scale", {DType::f16, {5}}}, {"zeroPoint", zero}},
                  {},
                  "scale is float16 [5], expected float32, as input"});
  expect_refused({to,
                  {{"input", f32}, {"scale", scale}, {"zeroPoint", {DType::i64, {5}}}},
                  {},
                  "zeroPoint is int64 [5], expected int8, int32, uint8, uint32, int4 or uint4"});
  expect_refused({to,
                  {{"input", u8}, {"scale", scale}, {"zeroPoint", zero}},
                  {},
                  "input is uint8 [3, 2, 5], expected float32 or float16"});
}

}  // namespace
}  // namespace weft::test
