// Products of every type in graphs: inferred types and errors, NumPy's values on every device, and fusion.
#include <cstring>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "support/kernel_test.h"
#include "support/npy.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(MatmulTypes, Infer) {
  Graph g;
  int next = 0;
  const auto type = [&](DType a, DType b, std::optional<DType> result = {}) {
    const Tensor x = g.input(std::format("a{}", next), a, {2, 3}), w = g.input(std::format("b{}", next++), b, {3, 4});
    return matmul(x, w, result).dtype();
  };
  using enum DType;
  EXPECT_EQ(type(f32, f32), f32);
  EXPECT_EQ(type(bf16, bf16), bf16);
  EXPECT_EQ(type(f16, f32), f32);
  EXPECT_EQ(type(bf16, f16), f32);
  EXPECT_EQ(type(f16, f16, f32), f32);
  EXPECT_EQ(type(f32, f32, bf16), bf16);
  EXPECT_EQ(type(i8, i8), i32);
  EXPECT_EQ(type(u8, i16), i32);
  EXPECT_EQ(type(u32, u32, u32), u32);
  EXPECT_EQ(type(c64, c64), c64);
  EXPECT_EQ(type(f16, c64), c64);
  EXPECT_EQ(type(i8, f32), f32);
  EXPECT_EQ(type(boolean, f16), f16);
  EXPECT_EQ(type(c64, i8), c64);
  EXPECT_EQ(type(i64, i64), i64);
  EXPECT_EQ(type(u8, i64), i64);
  EXPECT_THAT(test::refused_by([&] { type(i4, i4); }),
              HasSubstr("matmul: a is i4 [2, 3]; expected floats, i8 i16 i32"));
  EXPECT_THAT(test::refused_by([&] { type(boolean, boolean); }),
              HasSubstr("matmul: a is bool [2, 3]; expected floats"));
  EXPECT_THAT(test::refused_by([&] { type(i4, i8); }), HasSubstr("matmul: i4 and i8 have no type in common"));
  EXPECT_THAT(test::refused_by([&] { type(u64, i8); }), HasSubstr("matmul: u64 and i8 have no type in common"));
  EXPECT_THAT(test::refused_by([&] { type(i8, i8, f32); }), HasSubstr("the result is f32; expected"));
  EXPECT_THAT(test::refused_by([&] { type(f32, f32, i32); }), HasSubstr("the result is i32; expected"));
  EXPECT_THAT(test::refused_by([&] { type(c64, c64, f32); }), HasSubstr("the result is f32; expected"));
}

// Operations after a product or a sum of f64 take it as f64.
TEST(MatmulTypes, DoublesStayDoubles) {
  Graph g;
  const Tensor a = g.input("a", DType::f64, {1, 3}), b = g.input("b", DType::f64, {3, 1});
  g.output("product", matmul(a, b) * 2.0 + 1e-12);
  g.output("sum", reduce(ReduceKind::sum, a, {1}) * 2.0 + 1e-12);
  const std::vector<double> x{1e8, 1e-3, -1e8}, ones{1, 1, 1};
  const auto data = [](const std::vector<double>& v, const Shape& shape) {
    return TensorData::copy_of(DType::f64, shape, std::as_bytes(std::span(v)));
  };
  const Device cpu = test::device_named("cpu");
  Executable exe = compile(g, cpu);
  const test::Bound bound(cpu, g, {{"a", data(x, {1, 3})}, {"b", data(ones, {3, 1})}});
  bound.run(exe);
  for (const auto& [name, y] : bound.outputs_) {
    double value = 0;
    y.read_bytes(std::as_writable_bytes(std::span(&value, 1)));
    EXPECT_NEAR(value, 0.002, 1e-7) << name;
    EXPECT_NE(value, static_cast<double>(static_cast<float>(value))) << name;
  }
}

struct MatmulTypesTest : testing::TestWithParam<std::string> {
  TensorData data(const View& v) {
    const std::uint64_t bytes = byte_size(v.dtype, static_cast<std::uint64_t>(v.count()));
    return TensorData::copy_of(v.dtype, v.shape(), std::span(v.buffer.data() + v.offset, bytes));
  }
  // The graph's only result.
  std::vector<std::byte> run(const Graph& g, const std::map<std::string, TensorData>& inputs) {
    exe = compile(g, device);
    const test::Bound bound(device, g, inputs);
    bound.run(exe);
    const Tensor& y = bound.outputs_[0].second;
    std::vector<std::byte> bytes(byte_size(y.dtype(), static_cast<std::uint64_t>(element_count(y.shape()))));
    y.read_bytes(bytes);
    return bytes;
  }
  Device device = test::device_named(GetParam());
  Executable exe;
};
INSTANTIATE_TEST_SUITE_P(Devices, MatmulTypesTest, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(MatmulTypesTest, IntegersAsNumPyHasThem) {
  for (int i = 0; i < 6; ++i) {
    const View a = test::load_npy(std::format("matmul/i_a_{}.npy", i)),
               b = test::load_npy(std::format("matmul/i_b_{}.npy", i));
    const View want = test::load_npy(std::format("matmul/i_y_{}.npy", i));
    // As an input, and as a constant; stored by rows, and by columns.
    for (const bool constant : {false, true}) {
      Graph g;
      const Tensor x = g.input("a", a.dtype, a.shape());
      std::map<std::string, TensorData> inputs{{"a", data(a)}};
      Tensor w;
      if (constant) {
        w = g.constant(data(b));
      } else {
        w = g.input("b", b.dtype, b.shape());
        inputs.emplace("b", data(b));
      }
      if (i % 2) w = (w.T() + g.scalar(0, b.dtype)).T();
      g.output("y", matmul(x, w, want.dtype));
      const std::vector<std::byte> got = run(g, inputs);
      ASSERT_EQ(got.size(), static_cast<std::size_t>(want.count()) * 4);
      EXPECT_EQ(std::memcmp(got.data(), want.buffer.data() + want.offset, got.size()), 0) << "case " << i;
    }
  }
}

TEST_P(MatmulTypesTest, ComplexNumbersAsNumPyHasThem) {
  for (int i = 0; i < 3; ++i) {
    const View a = test::load_npy(std::format("matmul/c_a_{}.npy", i)),
               b = test::load_npy(std::format("matmul/c_b_{}.npy", i));
    const View want = test::load_npy(std::format("matmul/c_y_{}.npy", i));
    Graph g;
    g.output("y", matmul(g.input("a", a.dtype, a.shape()), g.input("b", b.dtype, b.shape())));
    const std::vector<std::byte> got = run(g, {{"a", data(a)}, {"b", data(b)}});
    ASSERT_EQ(got.size(), static_cast<std::size_t>(want.count()) * 4);
    for (std::int64_t k = 0; k < want.count(); ++k) {
      float part;
      std::memcpy(&part, got.data() + k * 4, 4);
      EXPECT_NEAR(part, test::value(want, k), 2e-5) << "case " << i << ", part " << k;
    }
  }
}

// Quantized weights and activations as frontends write them are one kernel.
TEST_P(MatmulTypesTest, ScalesAndABiasAfterIntegersFuse) {
  std::mt19937 random(5);
  const auto bytes = [&](const Shape& shape) {
    std::vector<std::int8_t> v(static_cast<std::size_t>(element_count(shape)));
    for (auto& x : v) x = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
    return TensorData::of<std::int8_t>(DType::i8, shape, v);
  };
  Graph g;
  const Tensor x = g.input("x", DType::i8, {9, 64});
  const Tensor sums = matmul(x, g.constant(bytes({20, 64})).T());
  g.output("y",
           relu(cast(sums, DType::f32) * g.constant(test::noise({20}, 3, 0.01f)) + g.constant(test::noise({20}, 4))));
  const std::map<std::string, TensorData> inputs{{"x", bytes({9, 64})}};
  exe = compile(g, device);
  EXPECT_EQ(exe.report().steps.size(), 1u) << exe.report().graph;
  const test::Bound bound(device, g, inputs);
  bound.run(exe);
  bound.compare(compiler::evaluate(g, inputs), "quantized");
}

// Sums of f16 as f32, of mixed types, and several products of one operand with weights of two types.
TEST_P(MatmulTypesTest, FloatsOfOtherTypes) {
  for (const auto& [a, b, result] : {std::tuple{DType::f16, DType::f16, DType::f32},
                                     {DType::f16, DType::f32, DType::f32},
                                     {DType::bf16, DType::bf16, DType::f32},
                                     {DType::bf16, DType::f32, DType::bf16}}) {
    Graph g;
    const Tensor x = cast(g.input("x", DType::f32, {6, 32}), a);
    const Tensor first = cast(g.constant(test::noise({32, 12}, 2)), b), second = g.constant(test::noise({32, 12}, 3));
    const Tensor y = matmul(x, first, result), z = matmul(x, second, DType::f32);
    g.output("y", cast(y, DType::f32) * tanh(z) + 1.0);
    const std::map<std::string, TensorData> inputs{{"x", test::noise({6, 32}, 1)}};
    exe = compile(g, device);
    const test::Bound bound(device, g, inputs);
    bound.run(exe);
    bound.compare(compiler::evaluate(g, inputs), std::format("{} · {}", name(a), name(b)), 1e-2f);
  }
}

}  // namespace
}  // namespace weft
