// Simplification: what it removes, what it must not change, and that results are the same for every value.
#include "compiler/passes/simplify.h"

#include "compiler/passes/merge_gates.h"
#include "compiler/passes/merge_maps.h"
#include "cpu/executor.h"
#include "ops/elementwise.h"
#include "support/kernel_test.h"
#include "support/pass_test.h"
#include "weft/kernels/elementwise.h"

namespace weft::compiler {
namespace {

using enum ScalarOp;

// The expression that `build` makes of one input of that type, simplified, without the list of inputs.
std::string simple(DType type, const std::function<int(Expression&, int x)>& build) {
  Expression e;
  const int x = e.input(type);
  e.output(build(e, x));
  const std::string text = simplified(e).to_string();
  return text.substr(text.find(") ") + 2);
}
std::string simple(const std::function<int(Expression&, int x)>& build) { return simple(DType::f32, build); }

TEST(Simplify, WhatChangesNothing) {
  const auto with = [](ScalarOp op, double number, bool first = false, DType type = DType::f32) {
    return simple(type, [&](Expression& e, int x) {
      const int c = e.constant(number, type);
      return first ? e.apply(op, {c, x}) : e.apply(op, {x, c});
    });
  };
  EXPECT_EQ(with(mul, 1), "x0");
  EXPECT_EQ(with(mul, 1, true), "x0");
  EXPECT_EQ(with(ScalarOp::div, 1), "x0");
  EXPECT_EQ(with(sub, 0), "x0");
  EXPECT_EQ(with(add, -0.0), "x0");
  EXPECT_EQ(with(add, 0), "add(x0, 0:f32)");  // -0 + 0 is +0
  EXPECT_EQ(with(sub, -0.0), "sub(x0, -0:f32)");
  EXPECT_EQ(with(mul, 0), "mul(x0, 0:f32)");  // NaN and infinity
  EXPECT_EQ(with(add, 0, false, DType::i32), "x0");
  EXPECT_EQ(with(mul, 1, true, DType::i64), "x0");
  EXPECT_EQ(with(ScalarOp::pow, 1), "x0");
  EXPECT_EQ(with(ScalarOp::pow, 2), "square(x0)");
  EXPECT_EQ(with(ScalarOp::div, 8), "mul(x0, 0.125:f32)");
  EXPECT_EQ(with(ScalarOp::div, 10), "div(x0, 10:f32)");
  EXPECT_EQ(with(ScalarOp::div, 2, true), "div(2:f32, x0)");
  EXPECT_EQ(with(ScalarOp::div, 8, false, DType::f16), "div(x0, 8:f16)");
}

TEST(Simplify, TwiceIsOnceOrNotAtAll) {
  const auto twice = [](ScalarOp op, DType type = DType::f32) {
    return simple(type, [&](Expression& e, int x) { return e.apply(op, {e.apply(op, {x})}); });
  };
  EXPECT_EQ(twice(neg), "x0");
  EXPECT_EQ(twice(bitwise_not, DType::u8), "x0");
  EXPECT_EQ(twice(logical_not, DType::boolean), "x0");
  EXPECT_EQ(twice(relu), "relu(x0)");
  EXPECT_EQ(twice(ScalarOp::floor), "floor(x0)");
  EXPECT_EQ(twice(ScalarOp::tanh), "tanh(tanh(x0))");
  EXPECT_EQ(simple([](Expression& e, int x) { return e.apply(ScalarOp::abs, {e.apply(neg, {x})}); }), "abs(x0)");
  EXPECT_EQ(simple([](Expression& e, int x) { return e.apply(max, {x, x}); }), "x0");
}

TEST(Simplify, Selections) {
  EXPECT_EQ(simple(DType::boolean,
                   [](Expression& e, int c) {
                     return e.apply(ScalarOp::select, {c, e.constant(1, DType::f32), e.constant(0, DType::f32)});
                   }),
            "cast<f32>(x0)");
  EXPECT_EQ(simple(DType::boolean,
                   [](Expression& e, int c) {
                     return e.apply(ScalarOp::select,
                                    {e.apply(logical_not, {c}), e.constant(3, DType::f32), e.constant(4, DType::f32)});
                   }),
            "select(x0, 4:f32, 3:f32)");
  EXPECT_EQ(simple([](Expression& e, int x) {
              return e.apply(ScalarOp::select, {e.constant(1, DType::boolean), x, e.constant(4, DType::f32)});
            }),
            "x0");
  EXPECT_EQ(simple([](Expression& e, int x) { return e.apply(ScalarOp::select, {e.apply(less, {x, x}), x, x}); }),
            "x0");
}

TEST(Simplify, Casts) {
  const auto chain = [](DType from, DType between, DType to) {
    return simple(from, [&](Expression& e, int x) { return e.cast(e.cast(x, between), to); });
  };
  EXPECT_EQ(chain(DType::f16, DType::f32, DType::f16), "x0");
  EXPECT_EQ(chain(DType::f16, DType::f32, DType::i32), "cast<i32>(x0)");
  EXPECT_EQ(chain(DType::i8, DType::i32, DType::f32), "cast<f32>(x0)");
  EXPECT_EQ(chain(DType::u8, DType::i16, DType::u8), "x0");
  EXPECT_EQ(chain(DType::f32, DType::f16, DType::f32), "cast<f32>(cast<f16>(x0))");
  EXPECT_EQ(chain(DType::i32, DType::f32, DType::i32), "cast<i32>(cast<f32>(x0))");
  EXPECT_EQ(chain(DType::i8, DType::u32, DType::f32), "cast<f32>(cast<u32>(x0))");
  EXPECT_EQ(chain(DType::i16, DType::f32, DType::i8), "cast<i8>(cast<f32>(x0))");  // saturates where i16 to i8 wraps
  EXPECT_EQ(chain(DType::boolean, DType::i32, DType::f32), "cast<f32>(x0)");
}

TEST(Simplify, Numbers) {
  EXPECT_EQ(simple([](Expression& e, int x) {
              const int half = e.apply(ScalarOp::div, {e.constant(1, DType::f32), e.constant(2, DType::f32)});
              return e.apply(mul, {x, e.apply(ScalarOp::sqrt, {e.apply(add, {half, e.constant(3.5, DType::f32)})})});
            }),
            "mul(x0, 2:f32)");
}

// Random expressions on every kind of value give the same bits before and after. NaN may be any NaN.
TEST(Simplify, IsExact) {
  test::Rng rng(11);
  const auto pick = [&](auto... list) {
    const std::array all{list...};
    return all[rng() % all.size()];
  };
  cpu::Executor cpu;
  int shorter = 0;
  for (int round = 0; round < 2000; ++round) {
    const DType type = pick(DType::f32, DType::f32, DType::i32, DType::u8, DType::i64, DType::f16);
    const bool floats = is_floating(type);
    Expression e;
    std::vector<int> values{e.input(type), e.input(type)};
    std::vector<int> truths{e.input(DType::boolean)};
    for (const double c : {0.0, -0.0, 1.0, 2.0}) values.push_back(e.constant(c, type));
    if (floats) values.push_back(e.constant(-std::numeric_limits<double>::infinity(), type));
    const auto any = [&] { return values[rng() % values.size()]; };
    for (int i = 0; i < 10; ++i) {
      switch (rng() % 6) {
        case 0:
          values.push_back(e.apply(pick(neg, ScalarOp::abs, relu, sign), {any()}));
          break;
        case 1:
          truths.push_back(e.apply(pick(less, equal, not_equal), {any(), any()}));
          break;
        case 2: {
          const int t = truths[rng() % truths.size()];
          truths.push_back(e.apply(logical_not, {t}));
          values.push_back(e.apply(ScalarOp::select, {truths[rng() % truths.size()], any(), any()}));
          break;
        }
        case 3: {
          const DType other = pick(DType::f32, DType::i32, DType::f16, DType::i8, DType::u16, DType::boolean);
          values.push_back(e.cast(e.cast(any(), other), type));
          break;
        }
        default:
          values.push_back(e.apply(pick(add, sub, mul, ScalarOp::div, min, max), {any(), any()}));
      }
    }
    e.output(values.back());
    e.output(truths.back());
    const Expression s = simplified(e);
    shorter += s.nodes().size() < e.nodes().size();
    const Shape shape{257};
    const std::vector<View> in{test::random_view(rng, shape, type, test::Kind::dense, test::Values::special),
                               test::random_view(rng, shape, type, test::Kind::dense, test::Values::special),
                               test::random_view(rng, shape, DType::boolean)};
    const auto run = [&](const Expression& x) {
      const std::vector<View> out{test::random_view(rng, shape, type), test::random_view(rng, shape, DType::boolean)};
      kernels::map(cpu, x, in, out);
      return out;
    };
    const auto expected = run(e), got = run(s);
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      const bool nan = floats && std::isnan(test::value(expected[0], i)) && std::isnan(test::value(got[0], i));
      ASSERT_TRUE(nan || test::element_bits(got[0], i) == test::element_bits(expected[0], i))
          << e.to_string() << "\nbecame " << s.to_string() << "\nat " << test::value(in[0], i) << ", "
          << test::value(in[1], i) << ": " << test::value(got[0], i) << ", not " << test::value(expected[0], i);
      ASSERT_EQ(test::element_bits(got[1], i), test::element_bits(expected[1], i)) << e.to_string();
    }
  }
  EXPECT_GT(shorter, 500);
}

TEST_F(PassTest, NodesAndViewsThatDoNothing) {
  const Tensor x = f32({2, 3});
  const Tensor row = f32({3});
  const Tensor wide = f32({1, 3});
  graph.output("same", x * 1.0);
  graph.output("grown", row + wide * 1.0);
  graph.output("there and back", weft::exp((x.T() * 1.0).T()));
  const std::vector<Tensor> parts{slice(x, 1, 0, 1), slice(x, 1, 1, 3)};
  graph.output("whole", weft::tanh(concat(parts, 1)));
  EXPECT_EQ(after(simplify),
            "%3 = map{y=(x0:f32, x1:f32) add(x0, x1)} %1, %2 : f32 [1, 3]\n"
            "%4 = map{y=(x0:f32) exp(x0)} %0 : f32 [2, 3]\n"
            "%5 = map{y=(x0:f32) tanh(x0)} %0 : f32 [2, 3]\n"
            "output \"same\" = %0\n"
            "output \"grown\" = %3\n"
            "output \"there and back\" = %4\n"
            "output \"whole\" = %5\n");
}

TEST_F(PassTest, GatesAreOneProduct) {
  const Tensor x = f32({5, 8});
  const auto weights = [&](int n) {
    return graph.constant(
        TensorData::of<float>(DType::f32, {n, 8}, std::vector<float>(static_cast<std::size_t>(n) * 8, 0.5f)));
  };
  const Tensor gate = matmul(x, weights(4).T());
  const Tensor up = matmul(x, weights(4).T());
  Expression e;
  const int a = e.input(DType::f32);
  e.output(e.apply(mul, {e.apply(ScalarOp::silu, {a}), e.input(DType::f32)}));
  graph.output("y", apply(make_op<ElementwiseOp>(e), {gate, up}));
  const std::string text = after(merge_gates);
  EXPECT_THAT(text, testing::HasSubstr(": f32 [5, 8]\n"));
  EXPECT_THAT(text, testing::HasSubstr("slice{axis=1, begin=0, end=4}"));
  EXPECT_THAT(text, testing::HasSubstr("slice{axis=1, begin=4, end=8}"));
  EXPECT_EQ(text.find("matmul"), text.rfind("matmul")) << text;
}

TEST_F(PassTest, MapsOfOneShapeAreMerged) {
  const Tensor x = f32({4});
  const Tensor y = f32({4});
  const Tensor e = weft::exp(x);
  const Tensor z = f32({4});
  graph.output("e", e);
  graph.output("sum", e + y);
  graph.output("other", weft::tanh(z));  // reads nothing that the others read
  EXPECT_EQ(after(merge_maps),
            "%3 = map{y=(x0:f32, x1:f32) %1 = exp(x0); %1, add(%1, x1)} %0, %1 : f32 [4], f32 [4]\n"
            "%4 = map{y=(x0:f32) tanh(x0)} %2 : f32 [4]\n"
            "output \"e\" = %3\n"
            "output \"sum\" = %3.1\n"
            "output \"other\" = %4\n");
}

}  // namespace
}  // namespace weft::compiler
