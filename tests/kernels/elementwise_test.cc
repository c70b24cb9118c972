// Elementwise kernels: each operation on a GPU against its twin, over types, layouts and odd sizes.
#include "kernels/elementwise/scalar_ops.h"
#include "support/kernel_test.h"
#include "weft/error.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

using kernels::map;

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2, DType::i8,
                            DType::i16, DType::i32, DType::i64,  DType::u8,     DType::u16,    DType::u32,
                            DType::u64, DType::boolean};

class Elementwise : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  Rng rng{42};
};
INSTANTIATE_TEST_SUITE_P(Devices, Elementwise, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// Devices' sqrt, inverse square root and division are what WGSL promises (2 to 2.5 ULP, sqrt is derived from both);
// our own functions keep 4 ULP on each side of the comparison.
Tolerance tolerance(ScalarOp op, DType type) {
  using enum ScalarOp;
  switch (op) {
    case neg: case ScalarOp::abs: case sign: case ScalarOp::ceil: case ScalarOp::floor: case ScalarOp::trunc:
    case ScalarOp::round: case relu: case min: case max: case clamp: case rem: case select:
      return {};
    case square: case add: case sub: case mul: return {};
    case ScalarOp::fma: return {.ulp = 1, .absolute = 1e-6, .relative = 1e-6};  // fused or not
    case sqrt: case rsqrt: case reciprocal: case ScalarOp::div: return {.ulp = type == DType::f32 ? 3.0 : 1.0};
    default: return {.ulp = type == DType::f32 ? 4.0 : 1.0};
  }
}

// An expression that applies `op` to inputs of one type (select: a condition before them).
Expression one_op(ScalarOp op, DType type) {
  Expression e;
  if (op == ScalarOp::select) {
    const int c = e.input(DType::boolean);
    const int a = e.input(type);
    e.output(e.apply(op, {c, a, e.input(type)}));
  } else if (arity(op) == 1) {
    e.output(e.apply(op, {e.input(type)}));
  } else if (arity(op) == 2) {
    const int a = e.input(type);
    e.output(e.apply(op, {a, e.input(type)}));
  } else {
    const int a = e.input(type);
    const int b = e.input(type);
    e.output(e.apply(op, {a, b, e.input(type)}));
  }
  return e;
}

KernelCall call_of(const Expression& e) {
  return [&e](Stream& s, auto in, auto out) { map(s, e, in, out); };
}

// Operations that go by bits and so see denormal operands, which others may take for zero.
bool sees_denormals(ScalarOp op) {
  using enum ScalarOp;
  return op == ScalarOp::abs || op == sign || op == relu || op == min || op == max || op == clamp || op == select ||
         op == is_nan || op == is_inf || (op >= equal && op <= greater_equal);
}

void flush_denormals(const View& v) {
  if (v.dtype != DType::f32 && v.dtype != DType::bf16) return;
  for (std::int64_t i = 0; i < v.count(); ++i) {
    if (std::abs(value(v, i)) < 0x1p-126) set_element_bits(v, i, 0);
  }
}

// The narrow floats differ from f32 in their loads and stores only, so a few operations stand for all.
bool worth_trying(ScalarOp op, DType type) {
  using enum ScalarOp;
  if (!is_floating(type) || type == DType::f32) return true;
  return op == neg || op == ScalarOp::exp || op == add || op == ScalarOp::div || op == min || op == less || op == select;
}

TEST_P(Elementwise, EveryOperationOnEveryType) {
  for (int i = static_cast<int>(ScalarOp::neg); i <= static_cast<int>(ScalarOp::clamp); ++i) {
    const auto op = static_cast<ScalarOp>(i);
    for (DType type : kTypes) {
      if (!(kernels::info(op).types & kernels::type_set(type)) || !worth_trying(op, type)) continue;
      // 300 pipelines: all on the first device, a part of them on the others.
      if (GetParam() != devices()[0].name && rng() % 4) continue;
      const Expression e = one_op(op, type);
      std::vector<View> in;
      for (const auto& node : e.nodes()) {
        if (node.op != ScalarOp::input) continue;
        in.push_back(random_view(rng, {515}, node.type, Kind::dense, Values::special));
      }
      if (!sees_denormals(op)) std::ranges::for_each(in, flush_denormals);
      // Shift amounts and exponents are of use up to a little past the width.
      if (op == ScalarOp::shift_left || op == ScalarOp::shift_right || (op == ScalarOp::pow && is_integer(type))) {
        for (int k = 0; k < 400; ++k) set_element_bits(in[1], k, rng() % (bits(type) + 8));
      }
      const View out = random_view(rng, {515}, e.output_type(0));
      run_both(device(), in, {{out}}, call_of(e), tolerance(op, type), std::format("{} {}", name(op), name(type)));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(Elementwise, LayoutsOfEveryRank) {
  const Shape shapes[] = {{},        {1},       {7},          {64},         {1025},         {3, 5},         {16, 64},
                          {5, 1, 9}, {4, 6, 8}, {2, 3, 4, 5}, {3, 1, 2, 7}, {2, 2, 3, 2, 4}, {2, 1, 2, 3, 2, 4},
                          {2, 2, 1, 2, 2, 1, 5}, {2, 1, 2, 2, 1, 2, 2, 3}};
  for (DType type : {DType::f32, DType::f16, DType::u8, DType::boolean, DType::i64}) {
    const Expression e = one_op(type == DType::boolean ? ScalarOp::logical_xor : ScalarOp::add, type);
    for (const Shape& shape : shapes) {
      for (Kind in_kind : kInputKinds) {
        const Kind out_kind = kOutputKinds[rng() % std::size(kOutputKinds)];
        const View in[] = {random_view(rng, shape, type, in_kind), random_view(rng, shape, type, kInputKinds[rng() % 6])};
        const View out[] = {random_view(rng, shape, type, out_kind)};
        run_both(device(), in, out, call_of(e), {}, std::format("{} {} {} to {}", name(type), to_string(shape),
                                                                to_string(in_kind), to_string(out_kind)));
      }
    }
  }
}

// Narrow outputs that start and end inside of words, beside neighbours that must survive: all offsets and lengths.
TEST_P(Elementwise, NarrowOutputsKeepTheirNeighbours) {
  for (DType type : {DType::u8, DType::f16}) {
    const Expression e = one_op(ScalarOp::square, type);
    for (int offset = 0; offset < 4; ++offset) {
      for (int count = 1; count < 12; ++count) {
        for (int x_offset : {offset, 0}) {
          const View x = random_view(rng, {32}, type);
          const View y = random_view(rng, {32}, type);
          const auto bytes = static_cast<std::uint64_t>(bits(type) / 8);
          const View in[] = {View(x.buffer, x_offset * bytes, type, {count})};
          const View out[] = {View(y.buffer, offset * bytes, type, {count})};
          run_both(device(), in, out, call_of(e), {}, std::format("{} offset {} count {}", name(type), offset, count));
        }
      }
    }
  }
}

TEST_P(Elementwise, Broadcasts) {
  const Expression e = one_op(ScalarOp::mul, DType::f32);
  const struct {
    Shape a, b, y;
  } cases[] = {{{}, {5, 8}, {5, 8}}, {{8}, {5, 1}, {5, 8}}, {{4, 1, 8}, {6, 1}, {4, 6, 8}}, {{1}, {1}, {3, 3}},
               {{2, 1, 1, 4}, {3, 1, 4}, {2, 3, 5, 4}}};
  for (const auto& c : cases) {
    const View in[] = {random_view(rng, c.a, DType::f32), random_view(rng, c.b, DType::f32)};
    const View out[] = {random_view(rng, c.y, DType::f32)};
    run_both(device(), in, out, call_of(e), {}, to_string(c.y));
  }
}

TEST_P(Elementwise, SeveralOutputsAndSharedNodes) {
  Expression e;
  const int x = e.input(DType::f32);
  const int n = e.input(DType::i32);
  const int t = e.apply(ScalarOp::tanh, {x});
  const int m = e.apply(ScalarOp::mul, {t, e.cast(n, DType::f32)});
  e.output(m);
  e.output(e.cast(m, DType::f16));
  e.output(e.apply(ScalarOp::less, {m, e.constant(0.25, DType::f32)}));
  e.output(e.apply(ScalarOp::bitwise_and, {n, e.constant(7, DType::i32)}));
  for (const Shape& shape : {Shape{130}, Shape{7, 9}}) {
    const View in[] = {random_view(rng, shape, DType::f32), random_view(rng, shape, DType::i32)};
    const View out[] = {random_view(rng, shape, DType::f32), random_view(rng, shape, DType::f16, Kind::offset),
                        random_view(rng, shape, DType::boolean, Kind::offset),
                        random_view(rng, shape, DType::i32, Kind::transposed)};
    run_both(device(), in, out, call_of(e), {.ulp = 4}, to_string(shape));
  }
}

TEST_P(Elementwise, SmallIntegersWrapAtEachStep) {
  Expression e;
  const int a = e.input(DType::i8);
  const int sum = e.apply(ScalarOp::add, {a, e.input(DType::i8)});
  e.output(e.apply(ScalarOp::div, {sum, e.constant(2, DType::i8)}));
  const View in[] = {host_view(DType::i8, {3}, std::vector<double>{100, -100, 127}),
                     host_view(DType::i8, {3}, std::vector<double>{100, -100, 1})};
  const View out[] = {random_view(rng, {3}, DType::i8)};
  run_both(device(), in, out, call_of(e), {});
  EXPECT_EQ(values(out[0]), (std::vector<double>{-28, 28, -64}));
}

TEST_P(Elementwise, ConstantsOfAllKinds) {
  const std::vector<double> groups[] = {{0.0, -0.0, 1.0, -3.25, 1e30}, {-1e30, 1e-40, NAN, INFINITY, -INFINITY}};
  for (DType type : kTypes) {
    for (const auto& group : groups) {
      Expression e;
      std::vector<View> out;
      for (double c : group) {
        e.output(e.constant(c, type));
        out.push_back(random_view(rng, {6}, type));
      }
      run_both(device(), {}, out, call_of(e), {}, std::string(name(type)));
    }
  }
}

TEST_P(Elementwise, InPlace) {
  for (DType type : {DType::f32, DType::f16, DType::u8, DType::i64}) {
    for (Kind kind : kOutputKinds) {
      const Expression e = one_op(ScalarOp::add, type);
      const View x = random_view(rng, {9, 13}, type, kind);
      const View in[] = {x, x};
      run_both(device(), in, {{x}}, call_of(e), {}, std::format("{} {}", name(type), to_string(kind)));
    }
  }
}

// Operands of different types in one buffer, of which one is written.
TEST_P(Elementwise, TypesShareABuffer) {
  Expression e;
  const int x = e.input(DType::f32);
  e.output(e.apply(ScalarOp::exp, {x}));
  e.output(e.apply(ScalarOp::less, {x, e.constant(0, DType::f32)}));
  const View all = random_view(rng, {1024}, DType::u8);
  const View in[] = {View(all.buffer, 512, DType::f32, {37})};
  for (int i = 0; i < 37; ++i) set_element_bits(in[0], i, std::bit_cast<std::uint32_t>(static_cast<float>(i - 18)));
  const View out[] = {View(all.buffer, 16, DType::f32, {37}), View(all.buffer, 301, DType::boolean, {37})};
  run_both(device(), in, out, call_of(e), {.ulp = 4});
}

TEST_P(Elementwise, EmptyShapesDoNothing) {
  const Expression e = one_op(ScalarOp::add, DType::f32);
  for (const Shape& shape : {Shape{0}, Shape{3, 0, 2}}) {
    const View in[] = {random_view(rng, shape, DType::f32), random_view(rng, {1}, DType::f32)};
    const View out[] = {random_view(rng, shape, DType::f32)};
    run_both(device(), in, out, call_of(e), {});
  }
}

TEST_P(Elementwise, GridsPastOneDimension) {
  // 65,535 workgroups of 128 or 256 threads of 4 elements, and some more.
  const std::int64_t n = std::int64_t{65535} * std::min(256u, device().capabilities().max_workgroup_size) * 4 + 4099;
  const View x = random_view(rng, {16}, DType::u8);
  const View y(device().allocate((static_cast<std::uint64_t>(n) + 15) / 16 * 16), 0, DType::u8, {n});
  Expression e;
  e.output(e.apply(ScalarOp::add, {e.input(DType::u8), e.constant(3, DType::u8)}));
  const View in = View(to_device(device(), x).buffer, 0, DType::u8, {1});
  gpu::Encoder encoder(device());
  map(encoder, e, std::span(&in, 1), std::span(&y, 1));
  encoder.submit();
  const View host = to_host(device(), y);
  const auto want = static_cast<std::uint8_t>(element_bits(x, 0) + 3);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; ++i) wrong += static_cast<std::uint8_t>(host.buffer.data()[i]) != want;
  EXPECT_EQ(wrong, 0);
}

TEST_P(Elementwise, RefusesWhatDoesNotFit) {
  gpu::Encoder encoder(device());
  auto f32 = [&](const Shape& shape) { return to_device(device(), random_view(rng, shape, DType::f32)); };
  auto expect = [&](auto&& f, const char* text) {
    try {
      f();
      ADD_FAILURE() << "no error with '" << text << "'";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  };
  expect([&] { kernels::binary(encoder, ScalarOp::add, f32({3}), f32({4}), f32({4})); }, "does not broadcast");
  expect([&] { kernels::unary(encoder, ScalarOp::exp, f32({1}), to_device(device(), random_view(rng, {4}, DType::f16))); }, "output 0 is f16 [4], expected f32 [4]");
  expect([&] { kernels::unary(encoder, ScalarOp::is_nan, f32({4}), f32({4})); }, "expected bool [4]");
  expect([&] { kernels::unary(encoder, ScalarOp::bitwise_not, f32({4}), f32({4})); }, "integer or bool, got f32");
  const View overlap(f32({4}).buffer, 0, DType::f32, {2, 2}, {0, 1});
  expect([&] { kernels::unary(encoder, ScalarOp::exp, f32({2, 2}), overlap); }, "overlaps itself");
  const View f64 = to_device(device(), random_view(rng, {4}, DType::f64));
  expect([&] { kernels::unary(encoder, ScalarOp::exp, f64, f64); }, "f64 cannot compute on a GPU");
  Expression e;
  std::vector<View> many;
  int sum = e.constant(0, DType::f32);
  for (int i = 0; i < 40; ++i) {
    many.push_back(f32({4}));
    sum = e.apply(ScalarOp::add, {sum, e.input(DType::f32)});
  }
  e.output(sum);
  const View y = f32({4});
  expect([&] { map(encoder, e, many, std::span(&y, 1)); }, "storage buffers, this device takes");
  // It still works.
  kernels::unary(encoder, ScalarOp::exp, f32({4}), y);
  encoder.submit();
}

}  // namespace
}  // namespace weft::test
