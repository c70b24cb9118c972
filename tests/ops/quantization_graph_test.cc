// Functions of quantised tensors: against ONNX's formulas (tests/reference/quantize.py) on every device, their types,
// shapes and errors, and what becomes one kernel.
#include "weft/quantization.h"

#include <nlohmann/json.hpp>

#include "compiler/evaluate.h"
#include "support/on_device.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// ---- Values

class QuantizationTest : public OnDevice {
 protected:
  std::vector<Tensor> call(const json& c, const std::vector<Tensor>& in) {
    const json a = c.value("attributes", json::object());
    const std::string function = c.at("kernel");
    const auto type = [&] { return *dtype_from_name(a.at("dtype").get<std::string>()); };
    const auto axis = [&] { return a.value("axis", 1); };
    const auto block = [&] { return a.value("block", std::int64_t{0}); };
    const Tensor zero = in.size() > 2 ? in[2] : Tensor();
    if (function == "quantize") {
      return {quantize(in[0], in[1], zero, {.dtype = type(), .axis = axis(), .block = block()})};
    }
    if (function == "dequantize") return {dequantize(in[0], in[1], zero, {.axis = axis(), .block = block()})};
    if (function == "fake_quantize") {
      return {fake_quantize(in[0], in[1], zero, {a.at("low"), a.at("high"), axis(), block()})};
    }
    if (function == "dynamic_quantize") {
      DynamicQuantizeOptions o{.dtype = type(), .symmetric = a.at("symmetric") == 1};
      if (a.contains("axes")) o.axes = a.at("axes").get<std::vector<int>>();
      const Quantized q = dynamic_quantize(in[0], o);
      EXPECT_EQ(q.zero_point.defined(), !o.symmetric);
      return o.symmetric ? std::vector{q.values, q.scale} : std::vector{q.values, q.scale, q.zero_point};
    }
    if (function == "matmul_integer") {
      return {
          matmul_integer(in[0], in[1], a.at("a_zero") == 1 ? in[2] : Tensor(), a.at("b_zero") == 1 ? in[3] : Tensor())};
    }
    if (function == "qlinear_matmul") {
      return {qlinear_matmul({in[0], in[1], in[2]}, {in[3], in[4], in[5]}, {in[6], in[7]})};
    }
    const auto dims = [&](const char* name) { return Dims(a.at(name).get<std::vector<std::int64_t>>()); };
    const ConvOptions o{.strides = dims("strides"), .padding = dims("padding"), .groups = a.at("groups")};
    if (function == "conv_integer") return {conv_integer(in[0], in[1], in[2], in[3], o)};
    if (function == "qlinear_conv") {
      return {qlinear_conv({in[0], in[1], in[2]}, {in[3], in[4], in[5]}, {in[6], in[7]}, in[8], o)};
    }
    ADD_FAILURE() << "no function " << function;
    return {};
  }
  ReferenceCases data{"quantize"};
};
INSTANTIATE_TEST_SUITE_P(Devices, QuantizationTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(QuantizationTest, EveryFunctionIsOnnxs) {
  const json cases = data.list("functions.json");
  std::map<std::string, int> seen;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const json& c = cases[k];
    // Each form is a pipeline: GPUs take a sample, the CPU all.
    if (GetParam() != "cpu" && k % 25 != 0) continue;
    std::vector<Tensor> in;
    for (const View& v : data.operands(c, "inputs")) in.push_back(tensor_of(v));
    const std::string what = c.at("kernel").get<std::string>() + " " + c.value("attributes", json::object()).dump() +
                             " of " + to_string(in[0].type()) + ", " + (in.size() > 1 ? to_string(in[1].type()) : "");
    SCOPED_TRACE(what);
    ++seen[c.at("kernel")];
    const std::vector<Tensor> got = call(c, in);
    const std::vector<View> want = data.operands(c, "outputs");
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].type(), (TensorType{want[i].dtype, want[i].shape()}));
      expect_close(read_view(got[i]), want[i], {}, what);
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(seen.size(), 8u);
}

TEST_P(QuantizationTest, NumbersAsScales) {
  const Tensor x = tensor({4}, {0.5, 1.5, -3, 1000});
  EXPECT_EQ(quantize(x, 1.0).to_vector<int>(), (std::vector<int>{0, 2, -3, 127}));
  EXPECT_EQ(quantize(x, 0.5, 128, {.dtype = DType::u8}).to_vector<int>(), (std::vector<int>{129, 131, 122, 255}));
  const Tensor q = quantize(x, 0.25, 1);
  EXPECT_EQ(q.to_vector<int>(), (std::vector<int>{3, 7, -11, 127}));
  EXPECT_EQ(dequantize(q, 0.25, 1).to_vector<float>(), (std::vector<float>{0.5, 1.5, -3, 31.5}));
  EXPECT_EQ(fake_quantize(x, 0.25, 1).to_vector<float>(), (std::vector<float>{0.5, 1.5, -3, 31.5}));
  EXPECT_EQ(requantize(tensor({3}, {100, -7, 5}), 0.5).to_vector<int>(), (std::vector<int>{50, -4, 2}));
}

// (min(max(round(x / scale) + zero, low), high) - zero) · scale in double, of zero points in each type that holds them.
TEST_P(QuantizationTest, FakeZeroPointsOfEveryType) {
  const std::vector<float> x{-1000, 0, 1, 1000};
  const auto expect = [&](const Tensor& y, double zero, const std::string& what) {
    std::vector<float> expected;
    for (const float v : x) {
      const double q = std::clamp(std::nearbyint(v / 0.5) + zero, -128.0, 127.0) - zero;
      expected.push_back(static_cast<float>(q) * 0.5f);
    }
    EXPECT_EQ(y.read<float>(), expected) << what;
  };
  const FakeQuantizeOptions o{.low = -128, .high = 127};
  const Tensor t = tensor(std::vector<float>(x));
  for (const double zero : {0.0, 1.5, -3.25, 16777217.0, 3e9, 1099511627776.0}) {
    expect(fake_quantize(t, 0.5f, zero, o), zero, std::format("number {}", zero));
  }
  expect(fake_quantize(t, 0.5f, std::int64_t{1} << 40, o), 0x1p40, "integer 2^40");
  expect(fake_quantize(t, 0.5f, full({}, std::int64_t{1} << 40, DType::i64), o), 0x1p40, "i64 2^40");
  expect(fake_quantize(t, 0.5f, full({}, 16777217, DType::i64), o), 16777217, "i64");
  expect(fake_quantize(t, 0.5f, full({}, 3000000000, DType::u32), o), 3e9, "u32");
  expect(fake_quantize(t, 0.5f, full({}, 3000000000, DType::u64), o), 3e9, "u64");
  expect(fake_quantize(t, 0.5f, full({}, 200, DType::u8), o), 200, "u8");
  expect(fake_quantize(t, 0.5f, full({}, 1.5, DType::f16), o), 1.5, "f16");
}

TEST_P(QuantizationTest, ChannelsLast) {
  const Tensor x = cast(arange(2 * 3 * 3 * 4).reshape({2, 3, 3, 4}), DType::u8);
  const Tensor w = cast(arange(5 * 4 * 2 * 2).reshape({5, 4, 2, 2}) - 40, DType::i8);
  const Tensor scales = tensor({5}, {0.01f, 0.02f, 0.03f, 0.04f, 0.05f}), zero = cast(full({}, 3), DType::u8);
  const QuantizedOperand filter{w, scales};
  const QuantizedResult result{tensor({1}, {2.5f}), zero};
  const auto moved = [](const Tensor& v) { return moveaxis(v, 1, -1); };
  const Tensor first = qlinear_conv({moveaxis(x, -1, 1), full({}, 0.5f), zero}, filter, result);
  const Tensor last = qlinear_conv({x, full({}, 0.5f), zero}, filter, result, {}, {.channels_last = true});
  EXPECT_EQ(moved(first).to_vector<int>(), last.to_vector<int>());
}

// ---- Types and errors

TEST(Quantization, Infers) {
  Graph g;
  const Tensor x = g.input("x", DType::f16, {4, 6}), s = g.input("s", DType::bf16, {}), z = g.input("z", DType::u4, {});
  EXPECT_EQ(quantize(x, s).type(), (TensorType{DType::i8, {4, 6}}));
  EXPECT_EQ(quantize(x, s, z).type(), (TensorType{DType::u4, {4, 6}}));
  EXPECT_EQ(quantize(x, s, {}, {.dtype = DType::f8e5m2}).type(), (TensorType{DType::f8e5m2, {4, 6}}));
  EXPECT_EQ(dequantize(quantize(x, s, z), s, z).type(), (TensorType{DType::bf16, {4, 6}}));
  EXPECT_EQ(dequantize(quantize(x, s, z), 0.5, z).type(), (TensorType{DType::f32, {4, 6}}));
  EXPECT_EQ(dequantize(quantize(x, s, z), s, z, {.dtype = DType::f16}).type(), (TensorType{DType::f16, {4, 6}}));
  EXPECT_EQ(fake_quantize(x, s).type(), (TensorType{DType::f16, {4, 6}}));
  EXPECT_EQ(dynamic_quantize(x, {.axes = -1}).scale.type(), (TensorType{DType::f32, {4, 1}}));
}

TEST(Quantization, SaysWhatDoesNotFit) {
  Graph g;
  const auto f32 = [&](const Shape& shape) {
    const std::vector<std::byte> zeros(byte_size(DType::f32, static_cast<std::uint64_t>(element_count(shape))));
    return Graph::constant(TensorData::copy_of(DType::f32, shape, zeros));
  };
  const auto of = [&](DType type, const Shape& shape) { return cast(f32(shape), type); };
  const Tensor x = f32({2, 6});
  const auto refused = [&](const auto&... a) { return thrown_by([&] { (void)quantize(a...); }); };
  EXPECT_THAT(refused(Tensor(), 1.0), HasSubstr("InvalidArgument: quantize: x is an undefined Tensor"));
  EXPECT_THAT(refused(x, Tensor()), HasSubstr("quantize: scale is an undefined Tensor"));
  EXPECT_THAT(refused(of(DType::i8, {3}), 1.0), HasSubstr("quantize: x is i8 [3], expected floats but f8e4m3 f8e5m2"));
  EXPECT_THAT(refused(x, of(DType::i8, {})), HasSubstr("quantize: the scale is i8 [], expected"));
  EXPECT_THAT(refused(x, f32({5})),
              HasSubstr("quantize: the scale is f32 [5] for x f32 [2, 6]; expected one element, [6] for axis "
                        "1, or rank 2 and sizes that broadcast to x's (blocks: options.block)"));
  EXPECT_THAT(refused(x, f32({3, 6})),
              HasSubstr("the scale is f32 [3, 6] for x f32 [2, 6]; expected one element, or rank"));
  EXPECT_THAT(refused(x, f32({6}), of(DType::i8, {2})),
              HasSubstr("the zero point is i8 [2] and the scale f32 [6], expected one shape"));
  EXPECT_THAT(refused(x, 1.0, of(DType::i8, {}), QuantizeOptions{.dtype = DType::u8}),
              HasSubstr("the zero point is i8 [], expected u8, as the quantised values"));
  EXPECT_THAT(refused(x, 1.0, 300), HasSubstr("quantize: 300 is not in the range of i8"));
  EXPECT_THAT(refused(x, 1.0, 0.5), HasSubstr("the zero point is 0.5, expected an integer of i8"));
  EXPECT_THAT(refused(x, 1.0, 1, QuantizeOptions{.dtype = DType::f8e4m3}),
              HasSubstr("a zero point is given, but f8e4m3 has none; expected one of"));
  EXPECT_THAT(refused(x, 1.0, ZeroPoint(), QuantizeOptions{.dtype = DType::i64}),
              HasSubstr("the result's type is i64"));
  EXPECT_THAT(refused(x, f32({2, 6}), ZeroPoint(), QuantizeOptions{.block = 4}),
              HasSubstr("the scale is f32 [2, 6] for x f32 [2, 6] in blocks of 4 along axis 1, expected [2, 2]"));
  EXPECT_THAT(refused(x, f32({2, 6}), ZeroPoint(), QuantizeOptions{.block = -4}), HasSubstr("blocks of -4 elements"));
  EXPECT_THAT(refused(x, f32({6}), ZeroPoint(), QuantizeOptions{.axis = 2}), HasSubstr("quantize"));
  EXPECT_THAT(thrown_by([&] { (void)dequantize(x, 1.0); }), HasSubstr("dequantize: q is f32 [2, 6], expected"));
  EXPECT_THAT(thrown_by([&] { (void)dequantize(of(DType::i8, {2}), 1.0, {}, {.dtype = DType::i8}); }),
              HasSubstr("dequantize: the result's type is i8"));
  EXPECT_THAT(thrown_by([&] { (void)fake_quantize(x, 1.0, {}, {.low = 3, .high = 2}); }),
              HasSubstr("fake_quantize: the range is 3 to 2"));
  EXPECT_THAT(thrown_by([&] { (void)dynamic_quantize(x, {.dtype = DType::i32}); }),
              HasSubstr("dynamic_quantize: the result's type is i32"));
  EXPECT_THAT(thrown_by([&] { (void)dynamic_quantize(x, {.symmetric = true}); }),
              HasSubstr("expected with a sign, one of"));
  EXPECT_THAT(thrown_by([&] { (void)dynamic_quantize(f32({0})); }), HasSubstr("no elements to measure"));
  const Tensor a = of(DType::i8, {2, 3}), b = of(DType::u8, {3, 4});
  EXPECT_THAT(thrown_by([&] { (void)matmul_integer(x, b); }),
              HasSubstr("matmul_integer: a is f32 [2, 6], expected i8 u8"));
  EXPECT_THAT(thrown_by([&] { (void)matmul_integer(a, b, of(DType::u8, {})); }),
              HasSubstr("the zero point of a is u8 [], expected i8"));
  EXPECT_THAT(thrown_by([&] { (void)matmul_integer(a, b, {}, of(DType::u8, {3})); }),
              HasSubstr("the zero point of b is u8 [3], expected one element or a shape that broadcasts to [1, 4]"));
  EXPECT_THAT(thrown_by([&] { (void)matmul_integer(a, of(DType::u8, {3})); }), HasSubstr("expected [..., m, k]"));
  const Tensor image = of(DType::u8, {1, 3, 4, 4}), filter = of(DType::i8, {2, 3, 1, 1});
  EXPECT_THAT(thrown_by([&] { (void)conv_integer(image, filter, {}, of(DType::i8, {3})); }),
              HasSubstr("conv_integer: the zero point of w is i8 [3], expected one element or [2]"));
  EXPECT_THAT(thrown_by([&] { (void)conv_integer(image, filter, of(DType::u8, {3})); }),
              HasSubstr("expected one element"));
  EXPECT_THAT(thrown_by([&] { (void)qlinear_conv({image, f32({})}, {filter, f32({3})}, {f32({})}); }),
              HasSubstr("qlinear_conv: w's scale is f32 [3], expected one element or one for each output"));
  EXPECT_THAT(thrown_by([&] { (void)qlinear_conv({image, f32({})}, {filter, f32({2})}, {f32({4})}); }),
              HasSubstr("the result's scale is f32 [4], expected one element"));
}

// ---- Fusion

struct QuantizationFusion : testing::TestWithParam<std::string> {
  // Compiles, runs, compares every bit with single nodes on the CPU, and returns the labels of the steps.
  std::vector<std::string> run(const Graph& g, const std::map<std::string, TensorData>& data) {
    Executable exe = compile(g, device);
    const Bound bound(device, g, data);
    bound.run(exe);
    const auto want = compiler::evaluate(g, data);
    for (const auto& [name, t] : bound.outputs_) {
      std::vector<std::byte> got(byte_size(t.type()));
      t.read_bytes(got);
      EXPECT_TRUE(std::ranges::equal(got, want.at(name).bytes)) << name << "\n" << exe.report().graph;
    }
    std::vector<std::string> labels;
    for (const ScheduleStep& s : exe.report().steps) labels.push_back(s.label);
    return labels;
  }
  Device device = device_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, QuantizationFusion, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TensorData bytes(DType type, const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> all(byte_size(type, static_cast<std::uint64_t>(element_count(shape))));
  for (std::byte& b : all) b = static_cast<std::byte>(random());
  return TensorData::copy_of(type, shape, all);
}

// The sums of integers are quantised where the product stores them.
TEST_P(QuantizationFusion, RequantizeIsPartOfTheProduct) {
  Graph g;
  const Tensor a = g.input("a", DType::i8, {9, 16}), b = g.input("b", DType::i8, {16, 12});
  const Tensor scale = g.input("scale", DType::f32, {12}), zero = g.input("zero", DType::i8, {});
  g.output("y", requantize(matmul_integer(a, b), scale, zero));
  EXPECT_EQ(run(g, {{"a", bytes(DType::i8, {9, 16}, 1)},
                    {"b", bytes(DType::i8, {16, 12}, 2)},
                    {"scale", numbers({12}, 0.0001f, 0.0003f)},
                    {"zero", bytes(DType::i8, {}, 3)}})
                .size(),
            1u);
  Graph c;
  const Tensor x = c.input("x", DType::u8, {1, 4, 6, 6}), w = c.input("w", DType::i8, {8, 4, 3, 3});
  const Tensor scales = c.input("scales", DType::f32, {8});
  c.output("y", requantize(conv_integer(x, w), scales));
  EXPECT_EQ(run(c, {{"x", bytes(DType::u8, {1, 4, 6, 6}, 4)},
                    {"w", bytes(DType::i8, {8, 4, 3, 3}, 5)},
                    {"scales", numbers({8}, 0.0001f, 0.0003f)}})
                .size(),
            1u);
}

// Floats are quantised where they are made, and dequantised where they are read.
TEST_P(QuantizationFusion, QuantizeIsPartOfWhatMakesX) {
  Graph g;
  const Tensor q = g.input("q", DType::u8, {8, 32}), scale = g.input("scale", DType::f32, {8});
  g.output("y", quantize(dequantize(q, scale, 128, {.axis = 0}) + 1, 0.1));
  // Scales of which products and sums are exact: GPUs may add without rounding the product.
  EXPECT_EQ(run(g, {{"q", bytes(DType::u8, {8, 32}, 1)}, {"scale", numbers({8}, 0x1p-7f, 0x1p-8f)}}).size(), 1u);
  Graph b;
  const Tensor made = b.input("x", DType::f32, {8, 32}) * 0.5, scales = b.input("scale", DType::f32, {8, 4});
  b.output("y", quantize(made, scales, 7, {.block = 8}));
  EXPECT_EQ(run(b, {{"x", noise({8, 32}, 1)}, {"scale", numbers({8, 4}, 0.01f, 0.003f)}}).size(), 1u);
  Graph p;
  // Numbers whose products and sums are exact.
  const Tensor left = p.input("a", DType::f32, {6, 8}), right = p.input("b", DType::f32, {8, 8});
  p.output("y", quantize(matmul(left, right), 3.0, 7));
  EXPECT_EQ(run(p, {{"a", numbers({6, 8}, -3, 1)}, {"b", numbers({8, 8}, -9, 1)}}).size(), 1u);
  Graph r;
  const Tensor packed = r.input("q", DType::i8, {5, 24});
  r.output("sum", sum(dequantize(packed, 0.5), -1));
  EXPECT_EQ(run(r, {{"q", bytes(DType::i8, {5, 24}, 7)}}).size(), 1u);
}

// Packed types, whose elements share bytes, also in blocks that do not begin at whole words.
TEST_P(QuantizationFusion, PackedValues) {
  for (const DType type : {DType::i4, DType::u4, DType::i2, DType::u2}) {
    Graph g;
    const Tensor q = g.input("q", type, {6, 20}), scale = g.input("scale", DType::f32, {6, 4});
    const Tensor x = dequantize(q, scale, {}, {.block = 5});
    g.output("x", x);
    g.output("q", quantize(x * 0.5, scale, {}, {.dtype = type, .block = 5}));
    run(g, {{"q", bytes(type, {6, 20}, 1)}, {"scale", numbers({6, 4}, 0.01f, 0.003f)}});
  }
}

}  // namespace
}  // namespace weft::test
