// The methods of webnn::GraphBuilder hand over what the rows of their operations want: each is called with all of its
// options.
#include <gtest/gtest.h>

#include "weft/device.h"
#include "weft/webnn.h"

namespace weft::test {
namespace {

using webnn::GraphBuilder;
using webnn::Operand;
using webnn::Sizes;

struct OperandMaker {
  GraphBuilder builder{webnn::Context::create(Device::cpu())};
  int count = 0;
  Operand operator()(DType type, const Sizes& shape) {
    return builder.input("x" + std::to_string(count++), {type, shape});
  }
};

void expect(const Operand& y, DType type, const Sizes& shape) {
  EXPECT_EQ(webnn::data_type_name(y.data_type()), webnn::data_type_name(type));
  EXPECT_EQ(y.shape(), shape);
}

TEST(WebnnTypedCalls, OfTwoOperands) {
  using Method = Operand (GraphBuilder::*)(const Operand&, const Operand&, const webnn::OperatorOptions&);
  OperandMaker of;
  GraphBuilder& b = of.builder;
  const Operand x = of(DType::f32, {2, 1}), y = of(DType::f32, {3}), p = of(DType::u8, {2, 1}), q = of(DType::u8, {3});
  for (const Method m : {&GraphBuilder::add, &GraphBuilder::sub, &GraphBuilder::mul, &GraphBuilder::div,
                         &GraphBuilder::max, &GraphBuilder::min, &GraphBuilder::pow, &GraphBuilder::prelu}) {
    expect((b.*m)(x, y, {.label = "here"}), DType::f32, {2, 3});
  }
  for (const Method m : {&GraphBuilder::equal, &GraphBuilder::not_equal, &GraphBuilder::greater,
                         &GraphBuilder::greater_or_equal, &GraphBuilder::lesser, &GraphBuilder::lesser_or_equal}) {
    expect((b.*m)(x, y, {.label = "here"}), DType::u8, {2, 3});
  }
  for (const Method m : {&GraphBuilder::logical_and, &GraphBuilder::logical_or, &GraphBuilder::logical_xor}) {
    expect((b.*m)(p, q, {.label = "here"}), DType::u8, {2, 3});
  }
  expect(b.where(p, x, y), DType::f32, {2, 3});
}

TEST(WebnnTypedCalls, OfOneOperand) {
  using Method = Operand (GraphBuilder::*)(const Operand&, const webnn::OperatorOptions&);
  OperandMaker of;
  GraphBuilder& b = of.builder;
  const Operand x = of(DType::f16, {2, 3});
  for (const Method m :
       {&GraphBuilder::abs,        &GraphBuilder::ceil,       &GraphBuilder::cos,        &GraphBuilder::erf,
        &GraphBuilder::exp,        &GraphBuilder::floor,      &GraphBuilder::identity,   &GraphBuilder::log,
        &GraphBuilder::neg,        &GraphBuilder::reciprocal, &GraphBuilder::round_even, &GraphBuilder::sin,
        &GraphBuilder::sign,       &GraphBuilder::sqrt,       &GraphBuilder::tan,        &GraphBuilder::gelu,
        &GraphBuilder::hard_swish, &GraphBuilder::relu,       &GraphBuilder::sigmoid,    &GraphBuilder::softplus,
        &GraphBuilder::softsign,   &GraphBuilder::tanh}) {
    expect((b.*m)(x, {.label = "here"}), DType::f16, {2, 3});
  }
  expect(b.is_nan(x), DType::u8, {2, 3});
  expect(b.is_infinite(x), DType::u8, {2, 3});
  expect(b.logical_not(of(DType::u8, {})), DType::u8, {});
  expect(b.elu(x, {.alpha = 2}), DType::f16, {2, 3});
  expect(b.hard_sigmoid(x, {.alpha = 2, .beta = 1}), DType::f16, {2, 3});
  expect(b.leaky_relu(x, {.alpha = 2}), DType::f16, {2, 3});
  expect(b.linear(x, {.alpha = 2, .beta = 1}), DType::f16, {2, 3});
  expect(b.clamp(x, {.min_value = 1, .max_value = 2}), DType::f16, {2, 3});
  expect(b.clamp(x), DType::f16, {2, 3});
  expect(b.cast(x, DType::i64), DType::i64, {2, 3});
}

TEST(WebnnTypedCalls, OverAxes) {
  using Method = Operand (GraphBuilder::*)(const Operand&, const webnn::ReduceOptions&);
  OperandMaker of;
  GraphBuilder& b = of.builder;
  const Operand x = of(DType::f32, {2, 3, 4, 5});
  for (const Method m : {&GraphBuilder::reduce_l1, &GraphBuilder::reduce_l2, &GraphBuilder::reduce_log_sum,
                         &GraphBuilder::reduce_log_sum_exp, &GraphBuilder::reduce_max, &GraphBuilder::reduce_mean,
                         &GraphBuilder::reduce_min, &GraphBuilder::reduce_product, &GraphBuilder::reduce_sum,
                         &GraphBuilder::reduce_sum_square}) {
    expect((b.*m)(x, {}), DType::f32, {});
    expect((b.*m)(x, {.axes = {}}), DType::f32, {2, 3, 4, 5});
    expect((b.*m)(x, {.axes = {3, 1}, .keep_dimensions = true}), DType::f32, {2, 1, 4, 1});
  }
  expect(b.arg_min(x, 1), DType::i32, {2, 4, 5});
  expect(b.arg_max(x, 1, {.keep_dimensions = true, .output_data_type = DType::i64}), DType::i64, {2, 1, 4, 5});
  expect(b.cumulative_sum(x, 3, {.exclusive = true, .reversed = true}), DType::f32, {2, 3, 4, 5});
  expect(b.softmax(x, 3), DType::f32, {2, 3, 4, 5});
  expect(b.softmax(x), DType::f32, {2, 3, 4, 5});
  const Operand three = of(DType::f32, {3}), five = of(DType::f32, {5});
  expect(b.batch_normalization(x, five, five, {.scale = five, .bias = five, .axis = 3, .epsilon = 1}), DType::f32,
         {2, 3, 4, 5});
  expect(b.instance_normalization(
             x, {.scale = five, .bias = five, .epsilon = 1, .layout = webnn::InputOperandLayout::nhwc}),
         DType::f32, {2, 3, 4, 5});
  expect(b.layer_normalization(x, {.scale = three, .bias = three, .axes = {1}, .epsilon = 1}), DType::f32,
         {2, 3, 4, 5});
}

TEST(WebnnTypedCalls, Quantization) {
  OperandMaker of;
  GraphBuilder& b = of.builder;
  const Operand scale = of(DType::f16, {2, 1}), zero = of(DType::u4, {2, 1});
  const Operand q = b.quantize_linear(of(DType::f16, {4, 3}), scale, zero);
  expect(q, DType::u4, {4, 3});
  expect(b.dequantize_linear(q, scale, zero), DType::f16, {4, 3});
}

}  // namespace
}  // namespace weft::test
