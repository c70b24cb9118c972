// Switches of the runtime: the effect of each, seen from outside.

#include <fstream>

#include "support/dawn_counters.h"
#include "support/devices.h"
#include "support/temp_dir.h"
#include "weft/compile.h"
#include "weft/flags.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

class SwitchesTest : public testing::Test {
 protected:
  void TearDown() override { reset_flags(); }

  // y = relu(x · w) + x
  static Graph graph() {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {16, 16});
    const std::vector<float> w(256, 0.25f);
    g.output("y", relu(matmul(x, g.constant(TensorData::of<float>(DType::f32, {16, 16}, w)))) + x);
    return g;
  }
  static std::vector<Device> all() {
    std::vector<Device> list{Device::cpu()};
    if (!devices().empty()) list.emplace_back(devices().front().device);
    return list;
  }
  static std::vector<float> ones(float value = 1) { return std::vector<float>(256, value); }
};

TEST_F(SwitchesTest, DispatchOnlyReadsNothing) {
  for (const Device& d : all()) {
    Executable exe = compile(graph(), d);
    Tensor x(d, DType::f32, {16, 16}), y(d, DType::f32, {16, 16});
    const std::vector<float> values = ones();
    x.write(std::as_bytes(std::span(values)));
    set_flag(Flag::dispatch_only, "on");
    exe.run({{"x", x}}, {{"y", y}});
    EXPECT_EQ(y.read<float>(), ones(0)) << d.name();
    reset_flags();
    EXPECT_EQ(y.read<float>(), ones(5)) << "it was computed";
  }
}

TEST_F(SwitchesTest, DumpedValuesAndTheDispatchReport) {
  for (const Device& d : all()) {
    set_flag(Flag::dump_values, "on");
    set_flag(Flag::dispatch_report, "on");
    testing::internal::CaptureStderr();
    Executable exe = compile(graph(), d);
    Tensor x(d, DType::f32, {16, 16}), y(d, DType::f32, {16, 16});
    const std::vector<float> values = ones();
    x.write(std::as_bytes(std::span(values)));
    exe.run({{"x", x}}, {{"y", y}});
    const std::string said = testing::internal::GetCapturedStderr();
    reset_flags();
    EXPECT_EQ(y.read<float>(), ones(5)) << d.name();
    EXPECT_THAT(said, testing::HasSubstr("1 dispatches on " + d.name()));
    EXPECT_THAT(said, testing::HasSubstr("largest |value| 5"));
    ASSERT_EQ(exe.report().dispatches.size(), 1u);
    EXPECT_EQ(exe.report().dispatches[0].work.flops, 256 * (2.0 * 16 + 2));
  }
}

TEST_F(SwitchesTest, PackedProductsCanBeTakenApart) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {16, 16});
  std::vector<Tensor> parts;
  for (const float value : {0.1f, 0.2f, 0.3f}) {
    parts.push_back(relu(matmul(x, g.constant(TensorData::of<float>(DType::f32, {16, 16}, ones(value)))) * 2.0));
  }
  g.output("y", matmul(matmul(parts[0], parts[1]), parts[2]));
  const auto products = [&](const CompileOptions& options = {}) {
    const std::string text = optimized(g, Device::cpu(), options).to_string();
    int count = 0;
    for (std::size_t at = 0; (at = text.find("matmul", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(products(), 3);
  set_flag(Flag::packed_qkv, "off");
  EXPECT_EQ(products(), 5);
  reset_flags();
  EXPECT_EQ(products({.packed_qkv = false}), 5);
}

TEST_F(SwitchesTest, FusionAndFoldingCanBeSwitchedOff) {
  const auto steps = [](const CompileOptions& options = {}) {
    return compile(graph(), Device::cpu(), options).report().steps.size();
  };
  EXPECT_EQ(steps(), 1u);
  set_flag(Flag::fusion, "off");
  EXPECT_EQ(steps(), 3u);
  reset_flags();
  EXPECT_EQ(steps({.fusion = false}), 3u);
  Graph g;
  g.output("y",
           exp(g.constant(TensorData::of<float>(DType::f32, {16, 16}, ones()))) + g.input("x", DType::f32, {16, 16}));
  const auto folded = [&](bool folding) {
    return optimized(g, Device::cpu(), {.constant_folding = folding}).to_string().find("exp") == std::string::npos;
  };
  EXPECT_TRUE(folded(true));
  EXPECT_FALSE(folded(false));
}

// A flag turns off the feature of a device that it names, and a minimum device has none of them.
TEST_F(SwitchesTest, FlagsTakeADevicesFeatures) {
  if (devices().empty()) GTEST_SKIP() << "no adapter here";
  const std::string adapter = std::to_string(devices().front().device.adapter().index);
  const auto has = [&](bool (*feature)(const gpu::Capabilities&)) {
    gpu::DeviceOptions options;
    options.adapter = adapter;
    return feature(gpu::Device::open(options).capabilities());
  };
  struct Feature {
    Flag flag;
    bool (*there)(const gpu::Capabilities&);
  };
  const Feature features[] = {
      {Flag::f16, [](const gpu::Capabilities& c) { return c.f16; }},
      {Flag::subgroups, [](const gpu::Capabilities& c) { return c.subgroups && c.subgroup_max > 0; }},
      {Flag::matrices, [](const gpu::Capabilities& c) { return !c.matrix_shapes.empty(); }},
  };
  for (const Feature& f : features) {
    if (!has(f.there)) continue;
    set_flag(f.flag, "off");
    EXPECT_FALSE(has(f.there)) << info(f.flag).name;
    reset_flags();
    set_flag(Flag::minimum_device, "on");
    EXPECT_FALSE(has(f.there)) << info(f.flag).name << " on a minimum device";
    reset_flags();
  }
}

TEST_F(SwitchesTest, TheWgslIsWritten) {
  if (devices().empty()) GTEST_SKIP() << "no adapter here";
  const TempDir directory;
  set_flag(Flag::dump_wgsl, (directory.path() / "new").string());
  gpu::DeviceOptions options;
  options.adapter = std::to_string(devices().front().device.adapter().index);
  compile(graph(), gpu::Device::open(options));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "new")) {
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_THAT(text, testing::HasSubstr("@compute"));
    files += entry.path().filename().string().starts_with("matmul");  // self-tests of fast paths compile other kernels
  }
  EXPECT_EQ(files, 1);
}

TEST_F(SwitchesTest, WhatDidNotChangeIsNotUploaded) {
  if (devices().empty()) GTEST_SKIP() << "no adapter here";
  const Device d = devices().front().device;
  Tensor x(d, DType::f32, {16, 16}), y(d, DType::f32, {16, 16});
  const auto writes = [&](Tensor& t, const std::vector<float>& values) {
    const DawnCounters before = DawnCounters::now();
    t.write(std::as_bytes(std::span(values)));
    return (DawnCounters::now() - before).writes;
  };
  std::vector<float> nearly = ones();
  nearly.back() = 1.5f;
  EXPECT_EQ(writes(x, ones()), 1u);
  EXPECT_EQ(writes(x, ones()), 0u);
  Tensor same = x;
  EXPECT_EQ(writes(same, ones()), 0u) << "another handle of the same memory";
  EXPECT_EQ(writes(x, nearly), 1u);
  EXPECT_EQ(writes(x, ones()), 1u);
  set_flag(Flag::always_upload, "on");
  EXPECT_EQ(writes(x, ones()), 1u);
  reset_flags();
  EXPECT_EQ(writes(x, ones()), 1u) << "forced uploads are not looked at";
  EXPECT_EQ(writes(x, ones()), 0u);
  // Every other write to the tensor is noticed: an upload, a copy, a kernel, an executable's output.
  d.upload(x.view().buffer, 4, std::as_bytes(std::span(nearly)).first(4));
  EXPECT_EQ(writes(x, ones()), 1u);
  EXPECT_EQ(writes(y, ones(2)), 1u);
  gpu::Encoder encoder(d.gpu());
  encoder.copy(y.view().buffer, 0, x.view().buffer, 0, 16);
  encoder.submit();
  EXPECT_EQ(writes(x, ones()), 1u);
  kernels::fill(encoder, 7, x.view());
  encoder.submit();
  EXPECT_EQ(writes(x, ones()), 1u);
  Executable exe = compile(graph(), d);
  EXPECT_EQ(writes(y, ones(2)), 0u);
  exe.run({{"x", x}}, {{"y", y}});
  EXPECT_EQ(writes(x, ones()), 0u) << "it was only read";
  EXPECT_EQ(writes(y, ones(2)), 1u);
  EXPECT_EQ(y.read<float>(), ones(2));
  // The caller may write to a buffer of the caller's.
  wgpu::BufferDescriptor descriptor;
  descriptor.size = 1024;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopyDst;
  Tensor theirs(d, View(Buffer(d.gpu().webgpu().CreateBuffer(&descriptor)), 0, DType::f32, {16, 16}));
  EXPECT_EQ(writes(theirs, ones()), 1u);
  EXPECT_EQ(writes(theirs, ones()), 1u);
}

}  // namespace
}  // namespace weft::test
