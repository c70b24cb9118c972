// The graph's functions for elementwise operations: types and shapes, errors, and results compared with the kernels.
#include <cmath>

#include "compiler/evaluate.h"
#include "cpu/executor.h"
#include "graph/graph.h"
#include "support/kernel_test.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/elementwise.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(ElementwiseGraph, Infers) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 1});
  const Tensor y = g.input("y", DType::f32, {3});
  const Tensor z = g.input("z", DType::c64, {2});
  const Tensor i = g.input("i", DType::i16, {4});
  EXPECT_EQ(atan2(x, y).type(), (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(lerp(x, y, x).type(), (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(clamp(i, -3, 3).type(), (TensorType{DType::i16, {4}}));
  EXPECT_EQ(abs(z).type(), (TensorType{DType::f32, {2}}));
  EXPECT_EQ(imag(z).type(), (TensorType{DType::f32, {2}}));
  EXPECT_EQ(conj(z).type(), (TensorType{DType::c64, {2}}));
  EXPECT_EQ(complex(x, y).type(), (TensorType{DType::c64, {2, 3}}));
  EXPECT_EQ(cast(i, DType::c64).type(), (TensorType{DType::c64, {4}}));
  EXPECT_EQ(signbit(i).type(), (TensorType{DType::boolean, {4}}));
  EXPECT_EQ(popcount(i).type(), (TensorType{DType::i16, {4}}));
  EXPECT_EQ(leaky_relu(x, 0.2).type(), (TensorType{DType::f32, {2, 1}}));
  EXPECT_EQ(elementwise("maximum", {x, y}).type(), (TensorType{DType::f32, {2, 3}}));

  EXPECT_THAT(test::refused_by([&] { gcd(x, y); }), HasSubstr("gcd takes signed integer or unsigned integer, got f32"));
  EXPECT_THAT(test::refused_by([&] { less(z, z); }), HasSubstr("less takes"));
  EXPECT_EQ(lerp(x, g.input("t", DType::i16, {}), y).type(), (TensorType{DType::f32, {2, 3}}));
  EXPECT_THAT(test::refused_by([&] { lerp(x, y, i); }), HasSubstr("lerp: shapes [2, 3] and [4] do not broadcast"));
  EXPECT_THAT(test::refused_by([&] { hypot(g.input("w", DType::f32, {2}), y); }),
              HasSubstr("hypot: shapes [2] and [3]"));
  EXPECT_THAT(test::refused_by([&] { elementwise("selu", {x}, {1.0}); }), HasSubstr("selu takes 0 parameters, got 1"));
  EXPECT_THAT(test::refused_by([&] { elementwise("nothing", {x}); }), HasSubstr("'nothing'"));
  EXPECT_THAT(test::refused_by([&] { relu6(Tensor()); }), HasSubstr("relu6: an operand is an undefined Tensor"));
}

TEST(ElementwiseGraph, FunctionsByNameAreTheKernels) {
  test::Rng rng(3);
  cpu::Executor cpu;
  for (const FunctionInfo& f : functions()) {
    for (const DType type : {DType::f32, DType::i32, DType::boolean, DType::c64}) {
      Graph g;
      std::vector<Tensor> operands;
      std::vector<View> views;
      std::map<std::string, TensorData> data;
      const bool selects = f.name == "select";
      for (int k = 0; k < f.operands; ++k) {
        const DType t = selects && k == 0 ? DType::boolean : type;
        views.push_back(test::random_view(rng, {6}, t));
        const std::string name = std::format("x{}", k);
        operands.push_back(g.input(name, t, {6}));
        const View& v = views.back();
        data.emplace(name, TensorData::copy_of(t, {6}, {v.buffer.data(), static_cast<std::size_t>(byte_size(t, 6))}));
      }
      Tensor y;
      try {
        y = elementwise(f.name, operands);
      } catch (const InvalidArgument&) {
        continue;  // the function does not take this type
      }
      g.output("y", y);
      const TensorData got = compiler::evaluate(g, data).at("y");
      const View want = test::random_view(rng, {6}, y.dtype());
      kernels::elementwise(cpu, f.name, views, want);
      const View there = test::random_view(rng, {6}, y.dtype());
      std::ranges::copy(got.bytes, there.buffer.data());
      test::expect_close(there, want, test::kSameBits, std::format("{} {}", f.name, name(type)));
    }
  }
}

}  // namespace
}  // namespace weft
