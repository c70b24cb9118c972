// The CPU's functions against values of mpmath, SciPy and NumPy (tests/reference/scalar_functions.py).
#include <cmath>
#include <sstream>

#include "cpu/executor.h"
#include "support/data.h"
#include "support/generated.h"
#include "support/kernel_test.h"
#include "support/npy.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"

namespace weft::test {
namespace {

using enum ScalarOp;

View load(const std::string& name) { return load_npy("functions/" + name + ".npy"); }

View row(const View& table, std::size_t i) {
  View r = table;
  r.offset += byte_size(table.dtype, static_cast<std::uint64_t>(table.shape()[1])) * i;
  r.layout = Layout::dense({table.shape()[1]});
  return r;
}

View empty(DType type, std::int64_t n) {
  return host_view(type, {n}, std::vector<double>(static_cast<std::size_t>(n)));
}

View as(const View& v, DType type) {
  cpu::Executor cpu;
  const View y = empty(type, v.count());
  kernels::copy(cpu, v, y);
  return y;
}

// Both in f64, where the CPU uses the C library and functions built on it, and in f32.
TEST(FunctionsReference, Unary) {
  cpu::Executor cpu;
  const View x = load("unary_x");
  const View wide = as(x, DType::f64);
  const View want = load("unary_y");
  std::istringstream names(read_data("functions/unary.txt"));
  std::size_t k = 0;
  for (std::string name; names >> name; ++k) {
    const View y = empty(DType::f64, x.count());
    kernels::elementwise(cpu, name, std::span(&wide, 1), y);
    expect_close(y, row(want, k), {.absolute = 2e-15, .relative = 4e-15}, name + " f64");
    const View narrow = empty(DType::f32, x.count());
    kernels::elementwise(cpu, name, std::span(&x, 1), narrow);
    // Compositions round at each step; hardsigmoid cancels, and so do gamma functions near their zeros below 0.
    const bool one_step = scalar_op(name).has_value(), cancels = name == "lgamma" || name == "digamma";
    expect_close(narrow, as(row(want, k), DType::f32),
                 {.ulp = one_step ? 1.0 : 3.0,
                  .absolute = cancels    ? 1e-12
                              : one_step ? 0
                                         : 1e-7},
                 name + " f32");
  }
  EXPECT_EQ(static_cast<std::int64_t>(k), want.shape()[0]);
}

TEST(FunctionsReference, Binary) {
  cpu::Executor cpu;
  const View a = load("binary_a");
  const View b = load("binary_b");
  const View exact = load("binary_exact");
  const ScalarOp exact_ops[] = {
      floor_divide, ScalarOp::remainder, ScalarOp::copysign, ScalarOp::nextafter, ScalarOp::fmin, ScalarOp::fmax, min,
      max};
  for (std::size_t k = 0; k < std::size(exact_ops); ++k) {
    const View y = empty(DType::f32, a.count());
    kernels::binary(cpu, exact_ops[k], a, b, y);
    // Quotients above 2^24 are rounded several times.
    expect_close(y, row(exact, k), {.ulp = exact_ops[k] == floor_divide ? 1.0 : 0.0}, std::string(name(exact_ops[k])));
  }
  const View rounded = load("binary_rounded");
  const ScalarOp rounded_ops[] = {ScalarOp::atan2, ScalarOp::hypot, logaddexp};
  for (std::size_t k = 0; k < std::size(rounded_ops); ++k) {
    const View y = empty(DType::f32, a.count());
    kernels::binary(cpu, rounded_ops[k], a, b, y);
    expect_close(y, as(row(rounded, k), DType::f32), {.ulp = 1}, std::string(name(rounded_ops[k])));
  }
}

TEST(FunctionsReference, SignsOfZeroAndNaN) {
  cpu::Executor cpu;
  auto bits_of = [&](ScalarOp op, float a, float b) {
    const View x = host_view(DType::f32, {1}, std::vector<double>{a});
    const View z = host_view(DType::f32, {1}, std::vector<double>{b});
    const View y = empty(DType::f32, 1);
    kernels::binary(cpu, op, x, z, y);
    return std::bit_cast<float>(static_cast<std::uint32_t>(element_bits(y, 0)));
  };
  EXPECT_TRUE(std::signbit(bits_of(ScalarOp::remainder, 4, -2)));
  EXPECT_FALSE(std::signbit(bits_of(ScalarOp::remainder, -4, 2)));
  EXPECT_TRUE(std::signbit(bits_of(ScalarOp::fmin, 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(bits_of(ScalarOp::fmax, -0.0f, 0.0f)));
  EXPECT_EQ(bits_of(ScalarOp::fmax, NAN, 3), 3);
  EXPECT_EQ(bits_of(ScalarOp::fmin, 3, NAN), 3);
  EXPECT_TRUE(std::isnan(bits_of(max, NAN, 3)));
  EXPECT_TRUE(std::isnan(bits_of(ScalarOp::fmax, NAN, NAN)));
  EXPECT_EQ(bits_of(floor_divide, -7, 2), -4);
  EXPECT_EQ(bits_of(floor_divide, 1, 0), INFINITY);
}

TEST(FunctionsReference, NextafterOfF16) {
  cpu::Executor cpu;
  View a = load("next_f16_a");
  View b = load("next_f16_b");
  View want = load("next_f16_y");
  for (View* v : {&a, &b, &want}) v->dtype = DType::f16;
  const View y = empty(DType::f16, a.count());
  kernels::binary(cpu, ScalarOp::nextafter, a, b, y);
  expect_close(y, want, {});
}

TEST(FunctionsReference, Integers) {
  cpu::Executor cpu;
  for (const char* type : {"i8", "i32", "i64", "u64"}) {
    const std::string file = std::string("integer_") + type;
    const View a = load(file + "_a");
    const View b = load(file + "_b");
    const View want = load(file + "_y");
    const ScalarOp ops[] = {floor_divide, ScalarOp::remainder, gcd, lcm, popcount, clz};
    for (std::size_t k = 0; k < std::size(ops); ++k) {
      const View y = empty(a.dtype, a.count());
      if (arity(ops[k]) == 1)
        kernels::unary(cpu, ops[k], a, y);
      else
        kernels::binary(cpu, ops[k], a, b, y);
      expect_close(y, row(want, k), kSameBits, std::format("{} {}", name(ops[k]), type));
    }
  }
}

TEST(FunctionsReference, Complex) {
  cpu::Executor cpu;
  const View a = load("complex_a");
  const View b = load("complex_b");
  const View want = load("complex_y");
  const ScalarOp ops[] = {add, sub, mul, ScalarOp::div, neg, conj, ScalarOp::exp, reciprocal, square};
  for (std::size_t k = 0; k < std::size(ops); ++k) {
    const View y = empty(DType::c64, a.count());
    if (arity(ops[k]) == 1)
      kernels::unary(cpu, ops[k], a, y);
    else
      kernels::binary(cpu, ops[k], a, b, y);
    expect_close(y, row(want, k), {.ulp = 2, .absolute = 1e-5, .relative = 1e-6}, std::string(name(ops[k])));
  }
  const View real_want = load("complex_real");
  const ScalarOp real_ops[] = {real, imag, ScalarOp::abs, angle};
  for (std::size_t k = 0; k < std::size(real_ops); ++k) {
    const View y = empty(DType::f32, a.count());
    kernels::unary(cpu, real_ops[k], a, y);
    expect_close(y, as(row(real_want, k), DType::f32), {.ulp = 1}, std::string(name(real_ops[k])));
  }
  // Casts: imaginary part 0 from real types, the real part to real types, true unless both are 0.
  const View x = host_view(DType::i16, {3}, std::vector<double>{-3, 0, 7});
  const View z = as(x, DType::c64);
  EXPECT_EQ(element_bits(z, 0), std::bit_cast<std::uint32_t>(-3.0f));
  EXPECT_EQ(values(as(z, DType::i64)), (std::vector<double>{-3, 0, 7}));
  set_element_bits(z, 1, std::uint64_t{std::bit_cast<std::uint32_t>(2.0f)} << 32);
  EXPECT_EQ(values(as(z, DType::boolean)), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(values(as(z, DType::f16)), (std::vector<double>{-3, 0, 7}));
}

}  // namespace
}  // namespace weft::test
