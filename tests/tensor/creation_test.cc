// Tensors made from values.
#include "weft/creation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CreationTest : public testing::TestWithParam<std::string> {
 protected:
  CreationTest() { set_default_device(device); }
  ~CreationTest() override { set_default_device(before_); }
  Device before_ = default_device();
  Device device = device_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Devices, CreationTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

std::string type_text(const Tensor& t) { return to_string(t.type()); }

TEST_P(CreationTest, Numbers) {
  EXPECT_EQ(type_text(tensor(3.5f)), "f32 []");
  EXPECT_EQ(tensor(3.5f).item<float>(), 3.5f);
  EXPECT_EQ(type_text(tensor(2.5)), "f32 []");
  EXPECT_EQ(tensor(2.5).item<float>(), 2.5f);
  EXPECT_EQ(type_text(tensor(3)), "i32 []");
  EXPECT_EQ(tensor(-3).item<int>(), -3);
  EXPECT_EQ(type_text(tensor(true)), "bool []");
  EXPECT_TRUE(tensor(true).item<bool>());
  EXPECT_EQ(tensor(std::int64_t{1} << 40).item<std::int64_t>(), std::int64_t{1} << 40);
  EXPECT_EQ(type_text(tensor(std::uint8_t{7})), "u8 []");
  EXPECT_EQ(type_text(tensor(float16(0.5f))), "f16 []");
  EXPECT_EQ(tensor(float16(0.5f)).item<float>(), 0.5f);
  EXPECT_EQ(type_text(tensor(3, DType::f16)), "f16 []");
  EXPECT_EQ(tensor(3.75, DType::i8).item<int>(), 3);
  EXPECT_EQ(tensor(3).device(), device);
}

TEST_P(CreationTest, ListsInBraces) {
  EXPECT_EQ(type_text(tensor({1, 2, 3})), "i32 [3]");
  EXPECT_THAT(tensor({1, 2, 3}).read<int>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(type_text(tensor({1.5, 2, 3})), "f32 [3]");
  EXPECT_EQ(type_text(tensor({5})), "i32 [1]");
  EXPECT_EQ(type_text(tensor({{5}})), "i32 [1, 1]");
  EXPECT_EQ(type_text(tensor({true, false})), "bool [2]");
  EXPECT_EQ(type_text(tensor({true, 2})), "i32 [2]");
  EXPECT_EQ(type_text(tensor({1, std::int64_t{1} << 40})), "i64 [2]");
  EXPECT_EQ(type_text(tensor({1u, 2u})), "u32 [2]");
  EXPECT_EQ(type_text(tensor({{1, 2}, {3, 4}, {5, 6}})), "i32 [3, 2]");
  EXPECT_THAT(tensor({{1, 2}, {3, 4}, {5, 6}}).read<int>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(tensor({{1.5f, 2.0f}, {3.0f, 4.0f}}).read<float>(), ElementsAre(1.5f, 2, 3, 4));
  EXPECT_EQ(type_text(tensor({{{1}, {2}, {3}}, {{4}, {5}, {6}}})), "i32 [2, 3, 1]");
  EXPECT_EQ(type_text(tensor({{{{1, 2}}, {{3, 4}}}})), "i32 [1, 2, 1, 2]");
  EXPECT_THAT(tensor({{{{1, 2}}, {{3, 4}}}}).read<int>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(type_text(tensor({{}, {}})), "f32 [2, 0]");
  EXPECT_EQ(type_text(tensor({{1, 2}, {3, 4}}, DType::bf16)), "bf16 [2, 2]");
  EXPECT_THAT(tensor({{1, 2}, {3, 4}}, DType::f16).to_vector<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(tensor({1, -2, 7}, DType::i4).to_vector<int>(), ElementsAre(1, -2, 7));
  EXPECT_THAT(tensor({1, 15, 3}, DType::u4).to_vector<int>(), ElementsAre(1, 15, 3));
  EXPECT_THAT(tensor({-1.5, 300.0}, DType::u8).to_vector<int>(), ElementsAre(0, 255));
  EXPECT_THAT(tensor({1, 2}, DType::c64).read<std::complex<float>>(), ElementsAre(1.0f, 2.0f));
  const auto error = [](auto&& call) {
    try {
      call();
    } catch (const ShapeError& e) {
      return std::string(e.what());
    }
    return std::string("no ShapeError");
  };
  EXPECT_THAT(error([] { tensor({{1, 2}, {3}}); }), HasSubstr("lists of 2 and of 1 along axis 1"));
  EXPECT_THAT(error([] { tensor({{{1}}, {{2, 3}}}); }), HasSubstr("along axis 2"));
  EXPECT_THAT(error([] { tensor({{1, 2}, 3}); }), HasSubstr("a number on level 1"));
  EXPECT_THAT(error([] { tensor({1, {2, 3}}); }), HasSubstr("a list on level 1"));
  EXPECT_THROW(tensor({{std::uint64_t{1}, -1}}), TypeError) << "no type holds both";
}

// What a shape beside values means is what it always meant.
TEST_P(CreationTest, AShapeAndValues) {
  EXPECT_EQ(type_text(tensor({2, 3}, {1, 2, 3, 4, 5, 6})), "f32 [2, 3]");
  EXPECT_THAT(tensor({2}, {3, 4}).read<float>(), ElementsAre(3, 4));
  EXPECT_THAT(tensor({1}, {1}).read<float>(), ElementsAre(1));
  EXPECT_EQ(type_text(tensor({0}, {})), "f32 [0]");
  EXPECT_EQ(type_text(tensor({}, {5})), "f32 []");
  EXPECT_EQ(type_text(tensor(Shape{2, 1}, {5, 6})), "f32 [2, 1]");
  EXPECT_THAT(refused_by([] { tensor({3}, {1, 2}); }), HasSubstr("8 bytes"));
}

TEST_P(CreationTest, VectorsSpansArraysAndTensorData) {
  const std::vector<std::int64_t> whole = {1, -2, std::int64_t{1} << 50};
  EXPECT_EQ(type_text(tensor(whole)), "i64 [3]");
  EXPECT_EQ(tensor(whole).read<std::int64_t>(), whole);
  EXPECT_EQ(type_text(tensor({1, 3}, whole)), "i64 [1, 3]");
  EXPECT_EQ(type_text(tensor(std::span<const std::int64_t>(whole).first(2))), "i64 [2]");
  EXPECT_EQ(type_text(tensor(std::array<std::uint16_t, 2>{3, 4})), "u16 [2]");
  const double raw[] = {0.5, 0.25};
  EXPECT_EQ(type_text(tensor(raw)), "f64 [2]");
  EXPECT_THAT(tensor(raw).read<double>(), ElementsAre(0.5, 0.25));
  EXPECT_THAT(tensor(std::vector{float16(1.0f), float16(2.5f)}).to_vector<float>(), ElementsAre(1, 2.5f));
  const std::vector<bool> flags = {true, false, true, true};
  EXPECT_EQ(type_text(tensor(flags)), "bool [4]");
  EXPECT_EQ(tensor({2, 2}, flags).to_vector<bool>(), flags);
  EXPECT_EQ(type_text(tensor(std::vector<float>())), "f32 [0]");
  EXPECT_THAT(refused_by([&] { tensor({2, 2}, whole); }), HasSubstr("24 bytes"));
  const float halves[] = {1, 2};
  EXPECT_THAT(tensor(TensorData::of<float>(DType::f32, {2, 1}, halves)).read<float>(), ElementsAre(1, 2));
}

TEST_P(CreationTest, ACallersBuffer) {
  if (!device.is_gpu()) {
    EXPECT_THROW(from_buffer(device, nullptr, DType::f32, {1}), DeviceError);
    return;
  }
  const auto make = [&](wgpu::BufferUsage usage) {
    wgpu::BufferDescriptor descriptor;
    descriptor.size = 1024;
    descriptor.usage = usage;
    return device.gpu().webgpu().CreateBuffer(&descriptor);
  };
  const wgpu::Buffer buffer =
      make(wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst);
  const Tensor t = from_buffer(device, buffer, DType::f32, {2, 2}, 8);
  const float values[] = {1, 2, 3, 4};
  device.gpu().queue().WriteBuffer(buffer, 8, values, sizeof values);
  EXPECT_THAT(t.read<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT((t.T() + 1.0).read<float>(), ElementsAre(2, 4, 3, 5));
  device.gpu().queue().WriteBuffer(buffer, 8, &values[3], sizeof(float));
  EXPECT_THAT((t + 1.0).read<float>(), ElementsAre(5, 3, 4, 5)) << "no copy";
  EXPECT_THROW(from_buffer(device, buffer, DType::f32, {256}, 8), InvalidArgument);
  EXPECT_THROW(from_buffer(device, buffer, DType::f32, {1}, 2), InvalidArgument);
  EXPECT_THAT(refused_by([&] { from_buffer(device, nullptr, DType::f32, {1}); }), HasSubstr("null"));
  EXPECT_THAT(refused_by([&] { from_buffer(device, make(wgpu::BufferUsage::Storage), DType::f32, {1}); }),
              HasSubstr("CopySrc"));
}

}  // namespace
}  // namespace weft::test
