#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/quantization.h"

namespace weft::test {
namespace {

using Integers = std::vector<std::int64_t>;

void add_quantization_cases(NamedCases& c) {
  const Number yes(1), no(0);
  const Tensor x = c.floats({4, 6}), rows = tensor({0.25f, 0.5f, 1.0f, 2.0f}), blocks = full({4, 3}, 0.5);
  const Tensor zeros_of_rows = c.integers({4}, DType::u8), sums = c.integers({4, 6}) * 50;
  c.same("quantize", {x, TensorLike(0.25), TensorLike(3)}, {{"dtype", "u8"}},
         quantize(x, 0.25, 3, {.dtype = DType::u8}));
  c.same("quantize", {x, rows, zeros_of_rows}, {{"axis", Number(0)}}, quantize(x, rows, zeros_of_rows, {.axis = 0}));
  c.same("quantize", {x, blocks}, {{"block", Number(2)}}, quantize(x, blocks, {}, {.block = 2}));
  c.same("quantize", {x, TensorLike(1e-5)}, {{"dtype", "f8e5m2"}, {"saturate", no}},
         quantize(x, 1e-5, {}, {.dtype = DType::f8e5m2, .saturate = false}));
  c.same("requantize", {sums, rows, zeros_of_rows}, {{"axis", Number(0)}},
         requantize(sums, rows, zeros_of_rows, {.axis = 0}));
  c.same("requantize", {sums, blocks}, {{"dtype", "u8"}, {"block", Number(2)}},
         requantize(sums, blocks, {}, {.dtype = DType::u8, .block = 2}));
  c.same("requantize", {x, TensorLike(1e6)}, {{"dtype", "f8e5m2"}, {"saturate", no}},
         requantize(x, 1e6, {}, {.dtype = DType::f8e5m2, .saturate = false}));
  const Tensor q = c.integers({4, 6}, DType::u8);
  c.same("dequantize", {q, rows, zeros_of_rows}, {{"dtype", "f16"}, {"axis", Number(0)}},
         dequantize(q, rows, zeros_of_rows, {.dtype = DType::f16, .axis = 0}));
  c.same("dequantize", {q, blocks}, {{"block", Number(2)}}, dequantize(q, blocks, {}, {.block = 2}));
  c.same("dequantize", {q, TensorLike(0.5)}, {}, dequantize(q, 0.5));
  c.same("fake_quantize", {x, rows, TensorLike(1)}, {{"low", Number(-4)}, {"high", Number(3)}, {"axis", Number(0)}},
         fake_quantize(x, rows, 1, {.low = -4, .high = 3, .axis = 0}));
  c.same("fake_quantize", {x, blocks}, {{"block", Number(2)}}, fake_quantize(x, blocks, {}, {.block = 2}));
  c.same("dynamic_quantize", {x}, {{"dtype", "i8"}, {"axes", Number(-1)}, {"symmetric", yes}},
         dynamic_quantize(x, {.dtype = DType::i8, .axes = -1, .symmetric = true}));
  c.same("dynamic_quantize", {x}, {}, dynamic_quantize(x));
  c.refused("quantize", {x, rows}, {}, [&] { quantize(x, rows); });
  c.refused("quantize", {x, TensorLike(1.0), TensorLike(0.5)}, {}, [&] { quantize(x, 1.0, 0.5); });
  c.refused("dequantize", {x, TensorLike(1.0)}, {}, [&] { dequantize(x, 1.0); });
  c.refused("fake_quantize", {x, TensorLike(1.0)}, {{"low", Number(5)}, {"high", Number(4)}},
            [&] { fake_quantize(x, 1.0, {}, {.low = 5, .high = 4}); });
  c.refused("dynamic_quantize", {x}, {{"dtype", "i32"}}, [&] { dynamic_quantize(x, {.dtype = DType::i32}); });

  const Tensor a = c.integers({2, 3, 4}, DType::u8), b = c.integers({4, 5}, DType::i8);
  const Tensor a_zero = full({}, 2, DType::u8), b_zero = c.integers({5}, DType::i8);
  c.same("matmul_integer", {a, b, a_zero, b_zero}, {}, matmul_integer(a, b, a_zero, b_zero));
  c.same("matmul_integer", {a, b}, {}, matmul_integer(a, b));
  c.refused("matmul_integer", {x, b}, {}, [&] { matmul_integer(x, b); });
  const Tensor scale = full({}, 0.5), scales = c.floats({5}) + 4;
  c.same("qlinear_matmul", {a, scale, a_zero, b, scales, b_zero, scale, Tensor()}, {{"dtype", "u8"}},
         qlinear_matmul({a, scale, a_zero}, {b, scales, b_zero}, {scale, {}, DType::u8}));
  c.same("qlinear_matmul", {a, scale, Tensor(), b, scale, Tensor(), scale, a_zero}, {},
         qlinear_matmul({a, scale}, {b, scale}, {scale, a_zero}));
  c.refused("qlinear_matmul", {a, scale, Tensor(), a, scale, Tensor(), scale}, {},
            [&] { qlinear_matmul({a, scale}, {a, scale}, {scale}); });

  const Tensor image = c.integers({1, 4, 9, 8}, DType::u8), w = c.integers({6, 2, 3, 3}, DType::i8);
  const Tensor w_zero = c.integers({6}, DType::i8), w_scale = c.floats({6}) + 4, bias = c.integers({6});
  const ConvOptions o{.strides = {2, 1}, .dilations = {1, 2}, .padding = {1, 0}, .padding_after = {0, 2}, .groups = 2};
  AttributeMap of_conv = {{"strides", Integers{2, 1}},
                          {"dilations", Integers{1, 2}},
                          {"padding", Integers{1, 0}},
                          {"padding_after", Integers{0, 2}},
                          {"groups", Number(2)}};
  c.same("conv_integer", {image, w, a_zero, w_zero}, of_conv, conv_integer(image, w, a_zero, w_zero, o));
  const Tensor last = permute(image, {0, 2, 3, 1});
  c.same("conv_integer", {last, w}, {{"groups", Number(2)}, {"channels_last", yes}},
         conv_integer(last, w, {}, {}, {.groups = 2, .channels_last = true}));
  of_conv["dtype"] = "u8";
  c.same("qlinear_conv", {image, scale, a_zero, w, w_scale, w_zero, scale, Tensor(), bias}, of_conv,
         qlinear_conv({image, scale, a_zero}, {w, w_scale, w_zero}, {scale, {}, DType::u8}, bias, o));
  c.same("qlinear_conv", {last, scale, Tensor(), w, scale, Tensor(), scale, a_zero},
         {{"groups", Number(2)}, {"channels_last", yes}},
         qlinear_conv({last, scale}, {w, scale}, {scale, a_zero}, {}, {.groups = 2, .channels_last = true}));
  c.refused("qlinear_conv", {image, scale, Tensor(), w, scale, Tensor(), w_scale}, {},
            [&] { qlinear_conv({image, scale}, {w, scale}, {w_scale}); });
}
const bool added = named_cases(add_quantization_cases);

}  // namespace
}  // namespace weft::test
