// The CPU's elementwise kernels against values of PyTorch and NumPy (tests/reference/elementwise.py).
#include <cmath>

#include "cpu/executor.h"
#include "support/kernel_test.h"
#include "support/npy.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

using enum ScalarOp;

View row(const View& table, int i) {
  View r = table;
  r.offset += byte_size(table.dtype, static_cast<std::uint64_t>(table.shape()[1])) * static_cast<std::uint64_t>(i);
  r.layout = Layout::dense({table.shape()[1]});
  return r;
}

View like(const View& v, DType type) {
  return host_view(type, v.shape(), std::vector<double>(static_cast<std::size_t>(v.count())));
}

TEST(Reference, Unary) {
  constexpr ScalarOp kUnary[] = {neg,
                                 ScalarOp::abs,
                                 sign,
                                 ScalarOp::ceil,
                                 ScalarOp::floor,
                                 ScalarOp::trunc,
                                 ScalarOp::round,
                                 ScalarOp::sqrt,
                                 rsqrt,
                                 reciprocal,
                                 square,
                                 ScalarOp::exp,
                                 ScalarOp::exp2,
                                 ScalarOp::log,
                                 ScalarOp::log2,
                                 ScalarOp::sin,
                                 ScalarOp::cos,
                                 ScalarOp::tan,
                                 ScalarOp::tanh,
                                 ScalarOp::erf,
                                 sigmoid,
                                 softplus,
                                 relu,
                                 gelu_erf,
                                 gelu_tanh,
                                 gelu_quick,
                                 silu};
  cpu::Executor cpu;
  const View x = load_npy("kernels/unary_x.npy");
  const View want = load_npy("kernels/unary_y.npy");
  ASSERT_EQ(want.shape()[0], static_cast<std::int64_t>(std::size(kUnary)));
  for (std::size_t k = 0; k < std::size(kUnary); ++k) {
    View expected = like(x, DType::f32);
    kernels::copy(cpu, row(want, static_cast<int>(k)), expected);
    if (kUnary[k] >= gelu_erf) {
      // PyTorch computes gates of -infinity as 0 · -infinity; Weft gives the limit.
      for (std::int64_t i = 0; i < x.count(); ++i) {
        if (value(x, i) == -INFINITY) set_element_bits(expected, i, 0);
      }
    }
    const View y = like(x, DType::f32);
    kernels::unary(cpu, kUnary[k], x, y);
    // Both are rounded once from double; if the doubles differ in their last bits, the roundings may differ.
    expect_close(y, expected, {.ulp = 1}, std::string(name(kUnary[k])));
  }
}

TEST(Reference, Binary) {
  cpu::Executor cpu;
  const View a = load_npy("kernels/binary_a.npy");
  const View b = load_npy("kernels/binary_b.npy");
  const View want = load_npy("kernels/binary_y.npy");
  const ScalarOp ops[] = {add, sub, mul, ScalarOp::div, rem, ScalarOp::pow, min, max};
  for (std::size_t k = 0; k < std::size(ops); ++k) {
    const View y = like(a, DType::f32);
    kernels::binary(cpu, ops[k], a, b, y);
    expect_close(y, row(want, static_cast<int>(k)), {}, std::string(name(ops[k])));
  }
  const View truths = load_npy("kernels/compare_y.npy");
  const ScalarOp compare[] = {equal, not_equal, less, less_equal, greater, greater_equal};
  for (std::size_t k = 0; k < std::size(compare); ++k) {
    const View y = like(a, DType::boolean);
    kernels::binary(cpu, compare[k], a, b, y);
    expect_close(y, row(truths, static_cast<int>(k)), kSameBits, std::string(name(compare[k])));
  }
}

TEST(Reference, Integers) {
  cpu::Executor cpu;
  const View a = load_npy("kernels/integer_a.npy");
  const View b = load_npy("kernels/integer_b.npy");
  const View want = load_npy("kernels/integer_y.npy");
  const ScalarOp ops[] = {add, sub, mul, ScalarOp::div, rem, min, max, bitwise_and, bitwise_or, bitwise_xor};
  for (std::size_t k = 0; k < std::size(ops); ++k) {
    const View y = like(a, DType::i32);
    kernels::binary(cpu, ops[k], a, b, y);
    expect_close(y, row(want, static_cast<int>(k)), kSameBits, std::string(name(ops[k])));
  }
}

TEST(Reference, NarrowFloats) {
  cpu::Executor cpu;
  View x = load_npy("kernels/narrow_x.npy");
  x.dtype = DType::f32;
  for (const auto& [file, type] : {std::pair("kernels/narrow_f16.npy", DType::f16),
                                   {"kernels/narrow_bf16.npy", DType::bf16},
                                   {"kernels/narrow_f8e4m3.npy", DType::f8e4m3},
                                   {"kernels/narrow_f8e5m2.npy", DType::f8e5m2}}) {
    View want = load_npy(file);
    want.dtype = type;
    const View y = like(x, type);
    kernels::copy(cpu, x, y);
    for (std::int64_t i = 0; i < y.count(); ++i) {
      if (std::isnan(value(want, i))) {
        EXPECT_TRUE(std::isnan(value(y, i))) << name(type) << " of " << value(x, i);
      } else {
        EXPECT_EQ(element_bits(y, i), element_bits(want, i)) << name(type) << " of " << value(x, i);
      }
    }
  }
}

TEST(Reference, Gather) {
  cpu::Executor cpu;
  const View want = load_npy("kernels/gather_y.npy");
  const View y = like(want, DType::f32);
  kernels::gather(cpu, load_npy("kernels/gather_x.npy"), load_npy("kernels/gather_indices.npy"), y, 1);
  expect_close(y, want, kSameBits);
}

}  // namespace
}  // namespace weft::test
