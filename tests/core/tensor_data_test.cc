// Data of a C++ type that is not the tensor's.
#include "weft/tensor_data.h"

#include <gmock/gmock.h>

#include "support/throws.h"
#include "weft/compile.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::string made_of(DType dtype) {
  const std::vector<T> values(2);
  return thrown_by([&] { (void)TensorData::of<T>(dtype, {2}, values); });
}

TEST(TensorData, TakesValuesOfItsTypeAlone) {
  EXPECT_EQ(made_of<float>(DType::f32), "nothing");
  EXPECT_EQ(made_of<float16>(DType::f16), "nothing");
  EXPECT_EQ(made_of<std::uint16_t>(DType::f16), "nothing") << "its bits";
  EXPECT_EQ(made_of<std::uint16_t>(DType::bf16), "nothing");
  EXPECT_EQ(made_of<std::uint8_t>(DType::boolean), "nothing");
  EXPECT_EQ(made_of<std::uint8_t>(DType::f8e4m3), "nothing");
  EXPECT_THAT(made_of<float>(DType::f16),
              HasSubstr("tensor data: values of type f32 given for f16 [2]; nothing is converted"));
  EXPECT_THAT(made_of<float>(DType::i32), HasSubstr("f32 given for i32"));
  EXPECT_THAT(made_of<std::int32_t>(DType::u32), HasSubstr("i32 given for u32"));
  EXPECT_THAT(made_of<std::uint32_t>(DType::f32), HasSubstr("u32 given for f32"));
  EXPECT_THAT(made_of<std::uint16_t>(DType::i16), HasSubstr("u16 given for i16"));
  EXPECT_EQ(TensorData::of(Shape{2}, std::span<const double>(std::vector<double>{1, 2})).dtype, DType::f64);
}

TEST(TensorData, IsReadAsItsTypeAlone) {
  const Tensor x = Graph::constant(TensorData::of(Shape{2}, std::span<const float>(std::vector<float>{1.5f, -2})));
  EXPECT_THAT(thrown_by([&] { (void)x.read<std::int32_t>(); }),
              HasSubstr("read: f32 [2] read as i32; to_vector() converts"));
  EXPECT_THAT(thrown_by([&] { (void)x.read<std::uint32_t>(); }), HasSubstr("read as u32"));
  EXPECT_THAT(thrown_by([&] { (void)x.async_read<double>(); }), HasSubstr("read as f64"));
  EXPECT_THAT(x.read<float>(), ElementsAre(1.5f, -2));
  EXPECT_THAT(x.to_vector<std::int32_t>(), ElementsAre(1, -2));
}

TEST(CompileWithout, AnOutputIsRefused) {
  Graph g;
  (void)exp(g.input("x", DType::f32, {2}));
  EXPECT_THAT(thrown_by([&] { compile(g, Device::cpu()); }), HasSubstr("compile: the graph has no output"));
}

}  // namespace
}  // namespace weft::test
