// Custom kernels in graphs: they run on every device, and errors have clear messages.
#include "weft/custom_op.h"

#include <gmock/gmock.h>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "gpu/device_impl.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft {
namespace {

using test::Bound;
using test::noise;
using test::numbers;
using testing::HasSubstr;

// y = x · factor, the factor one for each row.
CustomKernel scale_rows() {
  CustomKernel k;
  k.name = "scale_rows";
  k.inputs = {"x", "factor"};
  k.outputs = {"y"};
  k.wgsl = "fn kernel(i: u32) { store_y(i, load_x(i) * load_factor(i / p.x_n1)); }";
  k.infer = [](std::span<const TensorType> in) {
    if (in[1].shape != Shape{in[0].shape[0]}) throw InvalidArgument("scale_rows: the factors are not the rows'");
    return std::vector<TensorType>{in[0]};
  };
  k.cpu = [](std::span<const View> in, std::span<const View> out) {
    const auto at = [](const View& v) { return reinterpret_cast<float*>(v.buffer.data() + v.offset); };
    const std::int64_t n = in[0].shape()[1];
    for (std::int64_t i = 0; i < in[0].count(); ++i) at(out[0])[i] = at(in[0])[i] * at(in[1])[i / n];
  };
  return k;
}

std::vector<Tensor> call(const CustomKernel& kernel, std::vector<Tensor> inputs) {
  return custom(std::make_shared<CustomKernel>(kernel), inputs);
}

struct CustomTest : testing::TestWithParam<std::string> {
  Device device = test::device_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, CustomTest, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(CustomTest, StandsBetweenOtherKernels) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {6, 5});
  const Tensor f = g.input("f", DType::f32, {5});
  // The operands are dense for the kernel, whatever views come before it.
  const Tensor y = call(scale_rows(), {(x * 2.0).T(), f})[0];
  g.output("y", reshape(y.T(), {30}) + 1.0);
  g.output("plain", y);
  Executable exe = compile(g, device);
  const std::map<std::string, TensorData> data{{"x", noise({6, 5}, 1)}, {"f", numbers({5}, 1)}};
  const Bound bound(device, g, data);
  bound.run(exe);
  const auto in = test::floats_of(data.at("x"));
  const auto result = bound.outputs_[0].second.read<float>();
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_NEAR(result[i], in[i] * 2 * static_cast<float>(i % 5 + 1) + 1, 1e-5) << i;
  }
  EXPECT_THAT(exe.report().steps[1].label, HasSubstr("scale_rows [5, 6]"));
}

// The kernel gets the types that it declared, whatever the types in which other values are stored.
TEST_P(CustomTest, KeepsItsTypesInAGraphStoredAsHalfFloats) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {6, 32});
  const Tensor f = reduce(ReduceKind::mean, matmul(x, g.constant(noise({32, 8}, 2))), {1});
  const Tensor scaled = call(scale_rows(), {matmul(x, g.constant(noise({32, 40}, 3))), f})[0];
  g.output("y", matmul(scaled, g.constant(noise({40, 8}, 4))));
  const std::map<std::string, TensorData> data{{"x", noise({6, 32}, 1)}};
  Executable exe = compile(g, device, {.precision = Precision::f16});
  EXPECT_THAT(exe.report().graph, HasSubstr("f16"));
  EXPECT_THAT(exe.report().graph, testing::ContainsRegex("custom.* : f32 .6, 40."));
  const Bound bound(device, g, data);
  bound.run(exe);
  bound.compare(compiler::evaluate(g, data), exe.report().graph, 2e-2f);
}

TEST_P(CustomTest, TypesNumbersAndItsOwnEntryPoint) {
  if (!device.is_gpu()) GTEST_SKIP() << "WGSL";
  CustomKernel k;
  k.name = "histogram";
  k.inputs = {"x"};
  k.outputs = {"count", "half"};
  k.numbers = {{"bins", 8u}, {"scale", 0.5f}, {"shift", -1}};
  k.wgsl = R"(var<workgroup> bins: array<atomic<u32>, 8>;
@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) lane: u32) {
  for (var i = lane; i < p.x_count; i += 32u) {
    atomicAdd(&bins[u32(load_x(i) - p.shift - 1) % p.bins], 1u);
    store_half(i, f32(load_x(i)) * p.scale);
  }
  workgroupBarrier();
  if (lane < p.bins) { store_count(lane, i32(atomicLoad(&bins[lane]))); }
})";
  k.infer = [](std::span<const TensorType> in) {
    return std::vector<TensorType>{{DType::i32, {8}}, {DType::f16, in[0].shape}};
  };
  k.workgroups = [](auto, auto) { return std::array{1u, 1u, 1u}; };
  Graph g;
  const Tensor x = g.input("x", DType::u8, {100});
  const auto results = call(k, {cast(x, DType::i32)});
  g.output("count", cast(results[0], DType::f32));
  g.output("half", cast(results[1], DType::f32));
  Executable exe = compile(g, device);
  std::vector<std::uint8_t> bytes(100);
  for (std::size_t i = 0; i < 100; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  const Bound bound(device, g, {{"x", TensorData::of<std::uint8_t>(DType::u8, {100}, bytes)}});
  bound.run(exe);
  EXPECT_EQ(bound.outputs_[0].second.read<float>(), (std::vector<float>{13, 13, 13, 13, 12, 12, 12, 12}));
  EXPECT_EQ(bound.outputs_[1].second.read<float>()[99], 49.5f);
}

TEST_P(CustomTest, MistakesCarryTheCompilersWordsAndTheLine) {
  if (!device.is_gpu()) GTEST_SKIP() << "WGSL";
  const auto error = [&](const std::string& wgsl) {
    CustomKernel k = scale_rows();
    k.wgsl = wgsl;
    Graph g;
    g.output("y", call(k, {g.input("x", DType::f32, {4, 3}), g.input("f", DType::f32, {4})})[0]);
    try {
      compile(g, device);
    } catch (const KernelError& e) {
      return std::pair(e.line(), e.message());
    }
    return std::pair(-1, std::string("nothing thrown"));
  };
  auto [line, message] = error("fn kernel(i: u32) {\n  let a = load_x(i);\n  store_y(i, a + 1u);\n}");
  EXPECT_EQ(line, 3) << message;
  EXPECT_THAT(message, HasSubstr("no matching overload"));
  std::tie(line, message) = error("fn kernel(i: u32) { store_y(i, load_z(i)); }");
  EXPECT_EQ(line, 1) << message;
  EXPECT_THAT(message, HasSubstr("load_z"));
  std::tie(line, message) = error("\n\n\nfn kernel(i: u32) { store_y(i, load_x(i) }");
  EXPECT_EQ(line, 4) << message;
  // The correct kernel still compiles.
  EXPECT_EQ(error(scale_rows().wgsl).second, "nothing thrown");
}

// Where exponentials lose NaN, Weft's own texts are rewritten, but not a user's: its arguments are evaluated once.
TEST_P(CustomTest, ExponentialsStayAsTheyAreWritten) {
  if (!device.is_gpu()) GTEST_SKIP() << "WGSL";
  gpu::DeviceOptions options;
  options.adapter = std::to_string(device.gpu().adapter().index);
  options.cache_dir = "off";
  const gpu::Device loses = gpu::Device::open(options);
  loses.impl().verdicts["exponentials and logarithms of NaN"] = false;
  CustomKernel k = scale_rows();
  k.wgsl =
      "fn exp(a: f32) -> f32 { return a + 1f; }\nfn kernel(i: u32) { store_y(i, exp(load_x(i)) * load_factor(0u)); }";
  Graph g;
  g.output("y", call(k, {g.input("x", DType::f32, {2, 3}), g.input("f", DType::f32, {2})})[0]);
  const std::vector<float> x{1, 2, 3, 4, 5, 6}, f{2, 4096};
  const Bound bound(
      Device(loses), g,
      {{"x", TensorData::of<float>(DType::f32, {2, 3}, x)}, {"f", TensorData::of<float>(DType::f32, {2}, f)}});
  Executable exe = compile(g, Device(loses));
  bound.run(exe);
  EXPECT_EQ(bound.outputs_[0].second.read<float>(), (std::vector<float>{4, 6, 8, 10, 12, 14}));
}

TEST_P(CustomTest, ExtensionsAreEnabledWhereTheyAre) {
  CustomKernel k = scale_rows();
  const auto result = [&] {
    Graph g;
    g.output("y", call(k, {g.input("x", DType::f32, {2, 3}), g.input("f", DType::f32, {2})})[0]);
    const std::vector<float> x{1, 2, 3, 4, 5, 6}, f{2, 4096};
    const Bound bound(
        device, g,
        {{"x", TensorData::of<float>(DType::f32, {2, 3}, x)}, {"f", TensorData::of<float>(DType::f32, {2}, f)}});
    Executable exe = compile(g, device);
    bound.run(exe);
    return bound.outputs_[0].second.read<float>();
  };
  if (device.is_gpu()) {
    const gpu::Capabilities& can = device.gpu().capabilities();
    k.enables = {"f16"};
    k.wgsl = "fn kernel(i: u32) { store_y(i, f32(f16(load_x(i)) * f16(load_factor(i / p.x_n1)))); }";
    if (can.f16)
      EXPECT_EQ(result(), (std::vector<float>{2, 4, 6, 16384, 20480, 24576}));
    else
      EXPECT_THROW(result(), Unsupported);
    k.enables = {"subgroups"};
    // With its own entry point, because subgroups must be complete.
    k.wgsl = R"(@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
  let first = subgroupBroadcastFirst(load_x(min(i, 5u)));
  if (i < p.y_count) { store_y(i, first); }
})";
    k.workgroups = [](auto, auto) { return std::array{1u, 1u, 1u}; };
    // SwiftShader's subgroups have four invocations.
    const float second = can.subgroup_max <= 4 ? 5 : 1;
    if (can.subgroups)
      EXPECT_EQ(result(), (std::vector<float>{1, 1, 1, 1, second, second}));
    else
      EXPECT_THROW(result(), Unsupported);
  }
  k.workgroups = nullptr;
  k.enables = {"chromium_disable_uniformity_analysis"};
  EXPECT_THROW(result(), InvalidArgument);
  k.enables = {};
  k.wgsl =
      "fn kernel(i: u32) {\n  // Gr\xf6\xdf"
      "e\n}";
  try {
    result();
    ADD_FAILURE() << "accepted";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("line 2 of its text is not UTF-8"));
  }
}

// Errors that the shader compiler does not detect: the grid, and a workgroup that is too large for this device.
TEST_P(CustomTest, GridsAndWorkgroupsPastTheDevicesLimits) {
  if (!device.is_gpu()) GTEST_SKIP() << "WGSL";
  const auto compiled = [&](std::uint32_t size, std::array<std::uint32_t, 3> grid) {
    CustomKernel k = scale_rows();
    k.wgsl =
        std::format("@compute @workgroup_size({}) fn main() {{ store_y(0u, load_x(0u) * load_factor(0u)); }}", size);
    k.workgroups = [grid](auto, auto) { return grid; };
    Graph g;
    g.output("y", call(k, {g.input("x", DType::f32, {4, 3}), g.input("f", DType::f32, {4})})[0]);
    return test::refused_by([&] { compile(g, device); });
  };
  const gpu::Capabilities& c = device.gpu().capabilities();
  EXPECT_EQ(compiled(8, {1, 1, 1}), "nothing");
  EXPECT_THAT(compiled(8, {1, c.max_workgroups + 1, 1}), HasSubstr(std::to_string(c.max_workgroups + 1)));
  EXPECT_THAT(compiled(c.max_workgroup_size + 1, {1, 1, 1}),
              testing::AllOf(HasSubstr("compiling scale_rows"), HasSubstr(std::to_string(c.max_workgroup_size + 1))));
  EXPECT_EQ(compiled(8, {1, 1, 1}), "nothing") << "after all that";
}

// Generated lines before the text are not counted, and template marks in the text are not expanded.
TEST_P(CustomTest, TextsThatLookLikeTemplates) {
  if (!device.is_gpu()) GTEST_SKIP() << "WGSL";
  CustomKernel k = scale_rows();
  k.wgsl = "// {{ width }} {% if no %} {# remark #}\n" + k.wgsl;
  Graph g;
  g.output("y", call(k, {g.input("x", DType::f32, {4, 3}), g.input("f", DType::f32, {4})})[0]);
  EXPECT_EQ(test::refused_by([&] { compile(g, device); }), "nothing");
}

TEST(Custom, WithoutACpuFunctionTheCpuRefuses) {
  CustomKernel k = scale_rows();
  k.cpu = nullptr;
  Graph g;
  g.output("y", call(k, {g.input("x", DType::f32, {4, 3}), g.input("f", DType::f32, {4})})[0]);
  try {
    compile(g, Device::cpu());
    FAIL() << "nothing thrown";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), HasSubstr("custom kernel \"scale_rows\" has no CPU function"));
  }
  // It is not folded there either: on constants it stays a kernel.
  Graph constant;
  constant.output("y", call(k, {constant.constant(numbers({4, 3})), constant.constant(numbers({4}))})[0]);
  EXPECT_THROW(compile(constant, Device::cpu()), Unsupported);
}

TEST(Custom, DeclarationsAreChecked) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {4, 3});
  const Tensor f = g.input("f", DType::f32, {4});
  const auto message = [&](const std::function<void(CustomKernel&)>& change, std::vector<Tensor> inputs) {
    CustomKernel k = scale_rows();
    change(k);
    return test::refused_by([&] { call(k, std::move(inputs)); });
  };
  const auto as_it_is = [](CustomKernel&) {};
  EXPECT_EQ(message(as_it_is, {x, f}), "nothing");
  EXPECT_THAT(message(as_it_is, {x}), HasSubstr("1 operands, expected 2"));
  EXPECT_THAT(message(as_it_is, {x, x}), HasSubstr("the factors are not the rows'"));
  EXPECT_THAT(message(as_it_is, {x, Tensor()}), HasSubstr("an operand is an undefined Tensor"));
  EXPECT_THAT(message([](CustomKernel& k) { k.infer = nullptr; }, {x, f}), HasSubstr("infer is missing"));
  EXPECT_THAT(message([](CustomKernel& k) { k.outputs = {"x"}; }, {x, f}), HasSubstr("\"x\" stands for two things"));
  EXPECT_THAT(message([](CustomKernel& k) { k.outputs = {"1y"}; }, {x, f}), HasSubstr("\"1y\" is no name"));
  for (const char* taken : {"x_count", "y_n0", "factor_n12", "threads", "x_o"}) {
    EXPECT_THAT(message([&](CustomKernel& k) { k.numbers = {{taken, 1u}}; }, {x, f}), HasSubstr("is there already"))
        << taken;
  }
  for (const char* own : {"x_n", "x_width", "count", "n0"}) {
    EXPECT_EQ(message([&](CustomKernel& k) { k.numbers = {{own, 1u}}; }, {x, f}), "nothing") << own;
  }
  EXPECT_THAT(message([](CustomKernel& k) { k.outputs = {"y", "z"}; }, {x, f}),
              HasSubstr("infer gives 1 types for 2 outputs"));
  EXPECT_THAT(message([](CustomKernel& k) { k.threads = [](auto, auto) { return -1; }; }, {x, f}),
              HasSubstr("`threads` gives -1, expected 0 or more"));
}

}  // namespace
}  // namespace weft
