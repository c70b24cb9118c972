// Properties of types and devices: NumPy's finfo, iinfo and can_cast, ml_dtypes' finfo of the other floats.
#include "weft/inspection.h"

#include <gtest/gtest.h>

#include "support/on_device.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

TEST(Inspection, Floats) {
  const struct {
    DType type;
    double eps, max, smallest_normal;
  } expected[] = {{DType::f32, 1.1920928955078125e-07, 3.4028234663852886e+38, 1.1754943508222875e-38},
                  {DType::f16, 0.0009765625, 65504, 6.103515625e-05},
                  {DType::f64, 2.220446049250313e-16, 1.7976931348623157e+308, 2.2250738585072014e-308},
                  {DType::bf16, 0.0078125, 3.3895313892515355e+38, 1.1754943508222875e-38},
                  {DType::f8e4m3, 0.125, 448, 0.015625},
                  {DType::f8e5m2, 0.25, 57344, 6.103515625e-05}};
  for (const auto& e : expected) {
    const FloatInfo info = finfo(e.type);
    EXPECT_EQ(info.dtype, e.type);
    EXPECT_EQ(info.bits, bits(e.type));
    EXPECT_EQ(info.eps, e.eps) << name(e.type);
    EXPECT_EQ(info.max, e.max) << name(e.type);
    EXPECT_EQ(info.min, -e.max) << name(e.type);
    EXPECT_EQ(info.smallest_normal, e.smallest_normal) << name(e.type);
  }
  EXPECT_EQ(finfo(DType::c64).dtype, DType::f32);
  EXPECT_EQ(finfo(DType::c64).bits, 32);
  EXPECT_EQ(finfo(DType::c64).eps, 1.1920928955078125e-07);
  EXPECT_THROW(finfo(DType::i32), TypeError);
  EXPECT_THROW(finfo(DType::boolean), TypeError);
}

TEST(Inspection, Integers) {
  const struct {
    DType type;
    std::int64_t min;
    std::uint64_t max;
  } expected[] = {{DType::i8, -128, 127},
                  {DType::u8, 0, 255},
                  {DType::i16, -32768, 32767},
                  {DType::u16, 0, 65535},
                  {DType::i32, -2147483648, 2147483647},
                  {DType::u32, 0, 4294967295},
                  {DType::i64, INT64_MIN, 9223372036854775807},
                  {DType::u64, 0, 18446744073709551615u},
                  {DType::i4, -8, 7},
                  {DType::u2, 0, 3}};
  for (const auto& e : expected) {
    const IntegerInfo info = iinfo(e.type);
    EXPECT_EQ(info.bits, bits(e.type));
    EXPECT_EQ(info.min, e.min) << name(e.type);
    EXPECT_EQ(info.max, e.max) << name(e.type);
  }
  EXPECT_THROW(iinfo(DType::boolean), TypeError);
  EXPECT_THROW(iinfo(DType::f32), TypeError);
}

TEST(Inspection, Kinds) {
  EXPECT_TRUE(isdtype(DType::i8, types::signed_integers));
  EXPECT_FALSE(isdtype(DType::u8, types::signed_integers));
  EXPECT_TRUE(isdtype(DType::u8, types::integers));
  EXPECT_FALSE(isdtype(DType::boolean, types::integers));
  EXPECT_TRUE(isdtype(DType::boolean, types::integers | types::boolean));
  EXPECT_FALSE(isdtype(DType::c64, types::floats));
  EXPECT_TRUE(isdtype(DType::c64, types::numbers | types::complex));
  EXPECT_TRUE(isdtype(DType::f16, DType::f16));
}

// The standard's promotion, and where it is silent PyTorch's can_cast of integers to floats.
TEST(Inspection, Casts) {
  EXPECT_TRUE(can_cast(DType::i8, DType::i32));
  EXPECT_FALSE(can_cast(DType::i32, DType::i8));
  EXPECT_TRUE(can_cast(DType::u8, DType::i16));
  EXPECT_FALSE(can_cast(DType::u8, DType::i8));
  EXPECT_FALSE(can_cast(DType::u64, DType::i64));
  EXPECT_TRUE(can_cast(DType::f32, DType::f64));
  EXPECT_FALSE(can_cast(DType::f64, DType::f32));
  EXPECT_TRUE(can_cast(DType::f32, DType::c64));
  EXPECT_FALSE(can_cast(DType::c64, DType::f32));
  EXPECT_TRUE(can_cast(DType::boolean, DType::boolean));
  EXPECT_TRUE(can_cast(DType::i64, DType::f32));
  EXPECT_FALSE(can_cast(DType::f16, DType::bf16));
  EXPECT_FALSE(can_cast(DType::f8e4m3, DType::f8e5m2));
}

class InspectionOf : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, InspectionOf, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(InspectionOf, TypesAreThoseInWhichTheDeviceComputes) {
  const Device device = default_device();
  const TypeSet all = dtypes(device);
  EXPECT_EQ(all.contains(DType::f64), !device.is_gpu());
  EXPECT_EQ(all.size(), device.is_gpu() ? 11 : 12);
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (!all.contains(type)) continue;
    const Tensor x = ones({3}).cast(type);
    EXPECT_EQ(cast(equal(x, x), DType::i32).to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 1, 1}));
  }
  EXPECT_EQ(dtypes(device, types::signed_integers), TypeSet({DType::i8, DType::i16, DType::i32, DType::i64}));
  const DefaultTypes made = default_dtypes(device);
  EXPECT_EQ(zeros({2}).dtype(), made.real_floating);
  EXPECT_EQ(arange(0, 3).dtype(), made.integral);
  EXPECT_EQ(argmax(ones({3}), 0).dtype(), made.indexing);
  EXPECT_EQ(capabilities().max_dimensions, zeros({1, 1, 1, 1, 1, 1, 1, 1}).rank());
}

}  // namespace
}  // namespace weft::test
