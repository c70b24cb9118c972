// Tensors made from values.
#include "weft/creation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <format>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"
#include "weft/memory.h"

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

// NumPy's numpy.arange and numpy.linspace compute start + i · step in double; here it is rounded once to f32, on every
// device, wherever the range begins and however long it is.
TEST_P(CreationTest, RangesAreAsExactAsDoubles) {
  // Rounded once, or next to the middle of two numbers to the other one; near 0 as exact as doubles of the ends' size.
  const auto expect = [&](float got, double expected, double reach, const std::string& what) {
    const auto rounded = static_cast<float>(expected);
    if (std::abs(rounded) < 0x1p-126f && device.is_gpu()) return;  // a GPU may flush denormals
    const float low = std::nextafter(rounded, -INFINITY), high = std::nextafter(rounded, INFINITY);
    EXPECT_TRUE(got == rounded || (low <= got && got <= high) || std::abs(got - expected) < reach * 0x1p-50)
        << what << ": " << got << ", expected " << rounded;
  };
  const struct {
    double start, step;
    int count;
  } ranges[] = {{0, 1, 5000},     {3, -2, 300},     {0, 0.1, 3001},    {-1, 1e-3, 2001},
                {1e6, 0.1, 1000}, {0.3, 0.7, 100},  {1e-30, 1e-31, 9}, {-1e30, 3.3e28, 60},
                {16777216, 1, 9}, {0, 1e38, 3},     {1e300, 1e299, 4}, {1e-40, 1e-41, 4},
                {5, 0.1, 1},      {0.1, 1e-9, 100}, {-0.5, 0.25, 5},   {123456.789, -98.7, 2500}};
  for (const auto& [start, step, count] : ranges) {
    const Tensor y = arange(start, start + (count - 0.5) * step, step, DType::f32);
    ASSERT_EQ(y.shape(), (Shape{count}));
    const std::vector<float> got = y.read<float>();
    const double stop = start + (count - 1) * step;
    const std::vector<float> lines = linspace(start, stop, count).read<float>();
    const double reach = std::max(std::abs(start), std::abs(stop));
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::string what = std::format("{} by {} at {}", start, step, i);
      expect(got[at], start + i * step, reach, what);
      const double by = count > 1 ? (stop - start) / (count - 1) : 0;
      expect(lines[at], i < (count + 1) / 2 ? start + i * by : stop - (count - 1 - i) * by, reach, what);
    }
    if (reach < 0x1p-126 && device.is_gpu()) continue;
    EXPECT_EQ(lines.back(), static_cast<float>(count > 1 ? stop : start));
    EXPECT_EQ(got.front(), static_cast<float>(start));
  }
  EXPECT_EQ(arange(-1, 1.0005, 0.001).read<float>()[1000], 0);
  EXPECT_THAT(arange(0, 1, 0.25).read<float>(), ElementsAre(0, 0.25f, 0.5f, 0.75f));
  EXPECT_THAT(linspace(0, 1, 4, DType::f32, false).read<float>(), ElementsAre(0, 0.25f, 0.5f, 0.75f));
  EXPECT_EQ(linspace(3, 9, 1).item<float>(), 3);
  EXPECT_EQ(linspace(3, 9, 0).shape(), (Shape{0}));
  // The first and the last are exact however far the others reach.
  for (const double tiny : {0x1p-126, 1e-20, -3e-12, 1.0000001e-9}) {
    EXPECT_EQ(linspace(tiny, 1, 1).item<float>(), static_cast<float>(tiny));
    EXPECT_EQ(linspace(tiny, 1, 1, DType::f32, false).item<float>(), static_cast<float>(tiny));
    EXPECT_EQ(linspace(tiny, 1, 3).read<float>().front(), static_cast<float>(tiny));
    EXPECT_EQ(linspace(1, tiny, 3).read<float>().back(), static_cast<float>(tiny));
    EXPECT_EQ(arange(tiny, 3).read<float>().front(), static_cast<float>(tiny));
  }
}

// numpy.linspace (NumPy 2.4) for all pairs of these ends of which one is not finite: n is NaN, + and - are infinities,
// m is -1.
TEST_P(CreationTest, LinesWithoutFiniteEnds) {
  const struct {
    bool endpoint;
    int count;
    std::string expected;
  } all[] = {
      {true, 1, "n n n n n n n n n n n n n n n n n n n n n n n n n n n"},
      {true, 2, "n- nm n0 n1 n+ nn n- n+ nn n- n+ nn n- n+ nn n- nm n0 n1 n+ nn n- nm n0 n1 n+ nn"},
      {true, 3,
       "nn- nnm nn0 nn1 nn+ nnn n-- n++ nnn n-- n++ nnn n-- n++ nnn nn- nnm nn0 nn1 nn+ nnn nn- nnm nn0 nn1 nn+ nnn"},
      {false, 1, "n n n n n n n n n n n n n n n n n n n n n n n n n n n"},
      {false, 2, "nn nn nn nn nn nn n- n+ nn n- n+ nn n- n+ nn nn nn nn nn nn nn nn nn nn nn nn nn"},
      {false, 3,
       "nnn nnn nnn nnn nnn nnn n-- n++ nnn n-- n++ nnn n-- n++ nnn nnn nnn nnn nnn nnn nnn nnn nnn nnn nnn nnn nnn"}};
  const double ends[] = {-INFINITY, -1, 0, 1, INFINITY, NAN};
  const auto letter = [](double v) {
    return std::isnan(v)   ? 'n'
           : std::isinf(v) ? (v > 0 ? '+' : '-')
           : v == -1       ? 'm'
           : v == 0        ? '0'
           : v == 1        ? '1'
                           : '?';
  };
  for (const DType type : {DType::f32, DType::f16, DType::f64}) {
    for (const auto& [endpoint, count, expected] : all) {
      std::string got;
      for (const double start : ends) {
        for (const double stop : ends) {
          if (std::isfinite(start) && std::isfinite(stop)) continue;
          if (!got.empty()) got += ' ';
          for (const double v : linspace(start, stop, count, type, endpoint).to_vector<double>()) got += letter(v);
        }
      }
      EXPECT_EQ(got, expected) << name(type) << " " << count << " " << endpoint;
    }
  }
  EXPECT_THAT(linspace(-1.5e308, 1.5e308, 3, DType::f64).to_vector<double>(), ElementsAre(-1.5e308, 0, 1.5e308));
  EXPECT_THAT(linspace(-1.5e308, 1.5e308, 2, DType::f64).to_vector<double>(), ElementsAre(-1.5e308, 1.5e308));
  EXPECT_THAT(linspace(-1.5e308, 1.5e308, 1, DType::f64).to_vector<double>(), ElementsAre(-1.5e308));
}

constexpr std::int64_t kBillions = std::int64_t{1} << 33, kTerabyte = std::int64_t{1} << 40;

// A view of what is computed from indices is computed for itself: these would be gigabytes and more.
TEST_P(CreationTest, ViewsOfRangesAreComputedForThemselves) {
  using Integers = std::vector<std::int64_t>;
  const auto read = [](const Tensor& t) { return t.to_vector<std::int64_t>(); };
  const Tensor all = arange(kBillions);
  EXPECT_EQ(read(all[{slice(kBillions - 2, none)}]), (Integers{kBillions - 2, kBillions - 1}));
  EXPECT_EQ(read((all * 2)[{slice(kBillions - 2, none)}]), (Integers{2 * kBillions - 4, 2 * kBillions - 2}));
  EXPECT_EQ(read(arange(kTerabyte)[5]), (Integers{5}));
  EXPECT_EQ(read(all[-1]), (Integers{kBillions - 1}));
  EXPECT_EQ(read(flip(all)[{slice(none, 3)}]), (Integers{kBillions - 1, kBillions - 2, kBillions - 3}));
  EXPECT_EQ(read(all[{slice(10, 5, -2)}]), (Integers{10, 8, 6}));
  EXPECT_EQ(read(all[{slice(1, none, kBillions / 2)}]), (Integers{1, kBillions / 2 + 1}));
  EXPECT_EQ(read(all[{slice(100, 200)}][{slice(50, 52)}]), (Integers{150, 151}));
  EXPECT_EQ(read(all[{slice(5, 5)}]), Integers());
  EXPECT_EQ(read(all.reshape({1 << 20, 1 << 13})[{7, slice(1, 3)}]), (Integers{(7 << 13) + 1, (7 << 13) + 2}));
  EXPECT_EQ(read(all.reshape({1 << 20, 1 << 13}).T()[{1, slice(7, 9)}]), (Integers{(7 << 13) + 1, (8 << 13) + 1}));
  EXPECT_EQ(read(broadcast_to(all, {3, kBillions})[{slice(1, none), slice(4, 6)}]), (Integers{4, 5, 4, 5}));
  EXPECT_EQ(read(arange(5, 5 + 3 * kBillions, 3)[{slice(2, 4)}]), (Integers{11, 14}));
  EXPECT_EQ(all[{slice(6, 8)}].dtype(), all.dtype());
  // Elementwise work on several, with numbers, tensors of one element, and a value that is used twice.
  const Tensor grid = expand_dims(arange(kBillions), 1) * 10 + arange(1 << 20);
  EXPECT_EQ(read(grid[{slice(2, 4), slice(7, 9)}]), (Integers{27, 28, 37, 38}));
  EXPECT_EQ(read(grid.reshape({-1})[{slice((1 << 20) + 3, (1 << 20) + 5)}]), (Integers{13, 14}));
  const Tensor one = tensor({4}), twice = all + one;
  EXPECT_EQ(read((twice * twice + zeros({kBillions}, DType::i64))[{slice(1, 3)}]), (Integers{25, 36}));
  EXPECT_EQ(read((ones({kBillions}, DType::i32) + one)[{slice(1, 3)}]), (Integers{5, 5}));
  EXPECT_EQ(read(select(all < 2, all, -all)[{slice(1, 3)}]), (Integers{1, -2}));
  EXPECT_THAT(cast(all, DType::f32)[{slice(3, 5)}].read<float>(), ElementsAre(3, 4));
  EXPECT_THAT(linspace(0, 1, kBillions + 1)[{slice(none, none, kBillions / 4)}].read<float>(),
              ElementsAre(0, 0.25f, 0.5f, 0.75f, 1));
  EXPECT_THAT(exp(arange(0, 1e10, 1.0, DType::f32))[{slice(none, 2)}].read<float>(),
              ElementsAre(testing::FloatEq(1), testing::FloatEq(std::exp(1.0f))));
  // Matrices, and what is read of them in other orders.
  const Tensor identity = eye(kBillions, 1 << 20);
  EXPECT_EQ(read(identity[{slice(4, 6), slice(4, 7)}]), (Integers{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(read(identity[{(1 << 20) - 1, slice(-3, none)}]), (Integers{0, 0, 1}));
  EXPECT_EQ(read(diagonal(eye(1 << 20, 1 << 20, DType::i32, 1), 1)[{slice(-2, none)}]), (Integers{1, 1}));
  EXPECT_EQ(read(flatten(eye(1 << 20, 1 << 20, DType::i32))[{slice((1 << 20) + 1, (1 << 20) + 3)}]), (Integers{1, 0}));
  EXPECT_EQ(read(triangle(kBillions, 1 << 20, DType::u8, Triangle::lower)[{slice(9, 11), slice(9, 12)}]),
            (Integers{1, 0, 0, 1, 1, 0}));
}

TEST_P(CreationTest, ViewsOfRangesHoldNoMore) {
  memory::clear_cache();
  const std::uint64_t before = memory::live();
  memory::reset_peak();
  const Tensor five = arange(100'000'000)[5];
  EXPECT_EQ(five.item<int>(), 5);
  EXPECT_LT(memory::peak(), before + (1 << 20));
  memory::clear_cache();
  EXPECT_LT(memory::live(), before + (64 << 10));
  // Also in a graph.
  Graph g;
  g.output("y", (arange(kTerabyte) * g.input("x", DType::i64, {}))[{slice(-2, none)}]);
  const Tensor x = tensor(std::int64_t{3}), y(device, DType::i64, {2});
  compile(g, device).run({{"x", x}}, {{"y", y}}).get();
  EXPECT_THAT(y.read<std::int64_t>(), ElementsAre(3 * kTerabyte - 6, 3 * kTerabyte - 3));
}

// The elements are those of the whole, which holds data here.
TEST_P(CreationTest, ViewsOfRangesAreThoseOfTheWhole) {
  const Tensor i = arange(60);
  const Tensor wholes[] = {i * 3 - 7,
                           sin(linspace(-3, 5, 60)),
                           arange(-1, 5, 0.1, DType::f32),
                           arange(0, 60, 1, DType::u8) * 9,
                           eye(10, 6, DType::f16, -2).reshape({60}),
                           (expand_dims(arange(6), 1) * arange(10)).reshape({60}),
                           permute(i.reshape({3, 4, 5}), {2, 0, 1}).reshape({60}) * 2};
  for (const Tensor& whole : wholes) {
    const Tensor matrix = whole.reshape({4, 15});
    const Tensor parts[] = {whole[{slice(7, 31, 3)}], matrix[{slice(1, 3), slice(14, 2, -5)}], matrix.T()[{3}],
                            matrix[{2, 11}]};
    std::vector<std::vector<double>> computed;
    for (const Tensor& part : parts) computed.push_back(part.to_vector<double>());
    const Tensor stored = contiguous(whole.reshape({60}) + zeros({60}, whole.dtype()));
    eval(stored);
    const Tensor table = stored.reshape({4, 15});
    const Tensor expected[] = {stored[{slice(7, 31, 3)}], table[{slice(1, 3), slice(14, 2, -5)}], table.T()[{3}],
                               table[{2, 11}]};
    for (std::size_t k = 0; k < computed.size(); ++k) {
      EXPECT_EQ(computed[k], expected[k].to_vector<double>()) << to_string(whole.type()) << " part " << k;
    }
  }
}

// Slices at other places are the same executable.
TEST_P(CreationTest, ViewsOfRangesAtOtherPlacesAreNotCompiledAgain) {
  const Tensor all = arange(kTerabyte) * 2;
  EXPECT_EQ(all[{slice(5, 8)}].graph().to_string(), all[{slice(700, 703)}].graph().to_string());
}

// Chains and diamonds under views take time that grows with them.
TEST_P(CreationTest, ViewsOfLongExpressionsOfRanges) {
  Tensor chain = arange(1000), square = arange(64).reshape({8, 8});
  for (int k = 0; k < 200; ++k) chain = (chain + 1)[{slice(1, none)}];
  EXPECT_EQ(chain[0].item<int>(), 400);
  for (int k = 0; k < 25; ++k) square = maximum(square, square.T());
  EXPECT_EQ((square[{0, 7}].item<int>()), 56);
}

TEST_P(CreationTest, RangesOfEveryType) {
  EXPECT_THAT(arange(250, 260, 3, DType::u8).to_vector<int>(), ElementsAre(250, 253, 0, 3)) << "integers wrap";
  EXPECT_THAT(arange(-3, 3, 2, DType::i4).to_vector<int>(), ElementsAre(-3, -1, 1));
  EXPECT_THAT(arange(3, -4, -3).to_vector<int>(), ElementsAre(3, 0, -3));
  const std::int64_t big = std::int64_t{1} << 62;
  EXPECT_THAT(arange(big, big + 3, 1, DType::i64).read<std::int64_t>(), ElementsAre(big, big + 1, big + 2));
  EXPECT_THAT(
      arange(std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 2048 * 2, 2048, DType::u64).read<std::uint64_t>(),
      ElementsAre(std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 2048));
  EXPECT_THAT(arange(0, 2, 0.5, DType::f64).to_vector<double>(), ElementsAre(0, 0.5, 1, 1.5));
  EXPECT_THAT(arange(0, 0.3, 0.1, DType::f64).to_vector<double>(), ElementsAre(0, 0.1, 0.2));
  EXPECT_THAT(arange(0, 4, 1, DType::f16).to_vector<float>(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(arange(0).shape(), (Shape{0}));
  EXPECT_THAT(refused_by([] { arange(0, 2, 1, DType::boolean); }), HasSubstr("arange: the result is bool"));
  EXPECT_THAT(refused_by([] { linspace(0, 2, 3, DType::i32); }), HasSubstr("linspace: the result is i32"));
  EXPECT_THAT(eye(2, 3, DType::u8, 1).to_vector<int>(), ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(eye(2, 2, DType::f64).to_vector<double>(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(eye(2, 2, DType::boolean, -1).to_vector<int>(), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(eye(2, 2, DType::f32, INT64_MAX).to_vector<int>(), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(eye(0, 3).shape(), (Shape{0, 3}));
  EXPECT_THAT(triangle(2, 3, DType::i8, Triangle::lower).to_vector<int>(), ElementsAre(1, 0, 0, 1, 1, 0));
  EXPECT_THAT(triangle(2, 3, DType::f16, Triangle::upper, 1).to_vector<int>(), ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_THAT(triangle(2, 2, DType::f32, Triangle::lower, INT64_MIN).to_vector<int>(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(triangle(2, 2, DType::f32, Triangle::lower, INT64_MAX).to_vector<int>(), ElementsAre(1, 1, 1, 1));
  // Views of ranges, which no kernel stores: reversed, taken apart, repeated, transposed; and where a kernel needs them
  // in memory.
  const Tensor r = arange(6).reshape({2, 3});
  EXPECT_THAT(flip(r).to_vector<int>(), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(r.T().to_vector<int>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT((r.T().reshape({6}) + 1).to_vector<int>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT((slice(arange(10), 0, 8, -1, -3) * 2).to_vector<int>(), ElementsAre(16, 10, 4));
  EXPECT_THAT((broadcast_to(arange(2).reshape({2, 1}), {2, 2}) + arange(2)).to_vector<int>(), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(gather(arange(0, 40, 10), arange(3, -1, -1)).to_vector<int>(), ElementsAre(30, 20, 10, 0));
  EXPECT_THAT(matmul(r.cast(DType::f32), arange(3.0)).to_vector<float>(), ElementsAre(5, 14));
  EXPECT_THAT(concat({arange(2), arange(3)}, 0).to_vector<int>(), ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(r.sum({0}).to_vector<int>(), ElementsAre(3, 5, 7));
}

}  // namespace
}  // namespace weft::test
