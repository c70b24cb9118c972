// Options are given by name, and those that are not named give no warning.
#include <gtest/gtest.h>

#include "weft/webnn.h"
#include "weft/weft.h"

#pragma GCC diagnostic error "-Wextra"
#pragma GCC diagnostic error "-Wmissing-field-initializers"

namespace weft::test {
namespace {

TEST(Options, WarnOfNothingThatIsLeftOut) {
  EXPECT_EQ((ConvOptions{.padding = {1, 1}}).padding.rank(), 2);
  EXPECT_EQ((ConvOptions{.strides = {2, 2}}).strides.rank(), 2);
  EXPECT_EQ((PoolOptions{.window = {3, 3}}).window.rank(), 2);
  EXPECT_EQ((PoolOptions{.padding = {1}}).padding.rank(), 1);
  EXPECT_EQ((WindowOptions{.strides = {2}}).strides.rank(), 1);
  EXPECT_EQ((WindowOptions{.padding = {2}}).padding.rank(), 1);
  EXPECT_TRUE((ResizeOptions{.antialias = true}).antialias);
  EXPECT_TRUE((GridSampleOptions{.align_corners = true}).align_corners);
  EXPECT_EQ((QuantizeOptions{.block = 2}).block, 2);
  EXPECT_EQ((QuantizeOptions{.dtype = DType::i4}).dtype, DType::i4);
  EXPECT_EQ((DequantizeOptions{.dtype = DType::f16}).dtype, DType::f16);
  EXPECT_FALSE((CompileOptions{.fusion = false}).fusion);
  EXPECT_EQ((CompileOptions{.donate = {{"a", "b"}}}).donate.size(), 1u);
  EXPECT_EQ((PrintOptions{.precision = 1}).precision, 1);
  EXPECT_EQ((CustomKernel{.name = "k"}).name, "k");
  EXPECT_EQ((Slice{.begin = 1}).begin, 1);
  EXPECT_EQ((TensorType{.dtype = DType::u8}).dtype, DType::u8);
  EXPECT_EQ((TensorData{.dtype = DType::u8}).dtype, DType::u8);
  EXPECT_EQ((gpu::DeviceOptions{.adapter = "0"}).adapter, "0");
  EXPECT_TRUE((kernels::ScanOptions{.reverse = true}).reverse);
  EXPECT_TRUE((kernels::AttentionOptions{.causal = true}).causal);
  EXPECT_EQ((kernels::ConvOptions{.before = {1}}).before.rank(), 1);
  EXPECT_EQ((kernels::FoldOptions{.before = {1}}).before.rank(), 1);
  EXPECT_EQ((kernels::PoolOptions{.window = {1}}).window.rank(), 1);
  EXPECT_FALSE((kernels::AttentionLengths{.queries = {}}).keys);
  EXPECT_FALSE((kernels::RnnInputs{.x = {}}).bias);
  EXPECT_FALSE((kernels::RnnOutputs{.h = {}}).y);
  EXPECT_EQ((webnn::Conv2dOptions{.groups = 2}).groups, 2);
  EXPECT_EQ((webnn::TensorDescriptor{.data_type = DType::u8}).data_type, DType::u8);
  EXPECT_EQ((webnn::OperandDescriptor{.data_type = DType::u8}).data_type, DType::u8);
  EXPECT_FALSE((LstmState{.h = {}}).c.defined());
}

}  // namespace
}  // namespace weft::test
