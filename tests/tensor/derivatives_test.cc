// Derivatives of functions of tensors.
#include "weft/derivatives.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "support/on_device.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/call.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/graph_file.h"
#include "weft/indexing.h"
#include "weft/label.h"
#include "weft/memory.h"
#include "weft/print.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class DerivativesTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, DerivativesTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

struct Layer {
  Tensor weights, bias;
};
struct Network {
  std::vector<Layer> layers;
  Tensor steps;  // a count, which has no derivative
  float slope = 1;
};
Tensor run(const Network& net, Tensor x) {
  for (const Layer& layer : net.layers) x = tanh(matmul(x, layer.weights) * net.slope + layer.bias);
  return x;
}

TEST_P(DerivativesTest, GradientsHaveTheArgumentsType) {
  // d/dx of sum(x²) and of the product of two numbers.
  const auto g = grad([](const Tensor& x) { return sum(square(x)); })(tensor({1.0f, -2.0f, 3.0f}));
  EXPECT_THAT(g.read<float>(), ElementsAre(2, -4, 6));
  const auto [ga, gb] = grad<0, 1>([](const Tensor& a, const Tensor& b) { return a * b; })(tensor(3.0f), tensor(5.0f));
  EXPECT_EQ(ga.item<float>(), 5);
  EXPECT_EQ(gb.item<float>(), 3);

  Network net{{{tensor({2, 2}, {0.1f, 0.2f, 0.3f, 0.4f}), tensor({0.0f, 0.5f})}}, tensor({7}), 1};
  const auto loss = [](const Network& n, const Tensor& x, const Tensor& y) { return mean(square(run(n, x) - y)); };
  const Tensor x = tensor({1, 2}, {1, 2}), y = tensor({1, 2}, {0, 1});
  const auto [value, gradient] = value_and_grad(loss)(net, x, y);
  // By hand: h = tanh(x W + b); dL/dz = (h - y) (1 - h²).
  const float h0 = std::tanh(0.7f), h1 = std::tanh(1.5f);
  const float d0 = h0 * (1 - h0 * h0), d1 = (h1 - 1) * (1 - h1 * h1);
  EXPECT_NEAR(value.item<float>(), (h0 * h0 + (h1 - 1) * (h1 - 1)) / 2, 1e-6);
  EXPECT_THAT(gradient.layers[0].bias.read<float>(), ElementsAre(FloatNear(d0, 1e-6f), FloatNear(d1, 1e-6f)));
  EXPECT_THAT(
      gradient.layers[0].weights.read<float>(),
      ElementsAre(FloatNear(d0, 1e-6f), FloatNear(d1, 1e-6f), FloatNear(2 * d0, 1e-6f), FloatNear(2 * d1, 1e-6f)));
  EXPECT_FALSE(gradient.steps.defined()) << "a count has no derivative";
  EXPECT_EQ(gradient.slope, 1);

  const auto compiled = compile(grad(loss));
  EXPECT_THAT(compiled(net, x, y).layers[0].bias.read<float>(),
              ElementsAre(FloatNear(d0, 1e-6f), FloatNear(d1, 1e-6f)));
}

// Selections come behind the rules of what they hide.
TEST_P(DerivativesTest, WhatIsNotChosenHasNoDerivative) {
  using Function = Tensor (*)(const Tensor&);
  const std::pair<const char*, Function> hidden[] = {
      {"a root", [](const Tensor& x) { return where(x > 0, sqrt(x), 0); }},
      {"a logarithm", [](const Tensor& x) { return where(x > 0, x * log(x), 0); }},
      {"behind the condition", [](const Tensor& x) { return where(x <= 0, 0, rsqrt(x)); }},
      {"read twice",
       [](const Tensor& x) {
         const Tensor y = log(x);
         return where(x > 0, y * y + y, 0);
       }},
      {"chosen twice", [](const Tensor& x) { return where(x > 0, where(x > 2, log(x), sqrt(x)), 0); }},
      {"by two conditions",
       [](const Tensor& x) {
         const Tensor y = sqrt(x);
         return where(x > 0, y, 0) + where(x > 2, y * x, 0);
       }},
      {"a power", [](const Tensor& x) { return where(x > 0, pow(x, -1.5), 0); }},
      {"as relu", [](const Tensor& x) { return relu(log(x)) * 2; }},
      {"of what was converted",
       [](const Tensor& x) { return where(x > 0, cast(sqrt(cast(x, DType::f16)), x.dtype()), 0); }},
  };
  const Tensor x = tensor({0.0f, 4.0f});
  for (const auto& [name, f] : hidden) {
    SCOPED_TRACE(name);
    // At the element that is not chosen 0, at the other the function's own.
    const auto forward = [f](const Tensor& v) { return jvp(f)(v, ones_like(v)).second; };
    const auto reverse = [f](const Tensor& v) { return vjp(f)(v).second(ones_like(v)); };
    const auto again = [](const auto& g, bool back) {
      return [=](const Tensor& v) { return back ? vjp(g)(v).second(ones_like(v)) : jvp(g)(v, ones_like(v)).second; };
    };
    const auto expect = [](const Tensor& got, const Tensor& want) {
      const auto a = got.read<float>(), b = want.read<float>();
      EXPECT_EQ(a[0], 0);
      EXPECT_EQ(b[0], 0);
      EXPECT_TRUE(std::isfinite(a[1]));
      EXPECT_NEAR(a[1], b[1], 1e-3 * std::abs(b[1]) + 1e-6);
    };
    expect(reverse(x), forward(x));
    expect(compile(reverse)(x), forward(x));
    expect(again(reverse, false)(x), again(forward, false)(x));
    expect(again(reverse, true)(x), again(forward, true)(x));
    expect(compile(again(reverse, true))(x), again(forward, true)(x));
    expect(vmap(grad(f))(reshape(x, {2, 1}))[{all, 0}], forward(x));
  }
  // NaN and infinities of operands that are not chosen, as well.
  const auto f = [](const Tensor& a, const Tensor& b) { return sum(where(a > 0, a * b, b)); };
  const auto [da, db] = grad<0, 1>(f)(tensor({1.0f, -1.0f}), tensor({3.0f, NAN}));
  EXPECT_THAT(da.read<float>(), ElementsAre(3, 0));
  EXPECT_THAT(db.read<float>(), ElementsAre(1, 1));
}

TEST_P(DerivativesTest, ValuesAreConcrete) {
  int branch = 0;
  const auto f = [&](const Tensor& x) {
    Tensor y = x * x;
    if (y.item<float>() > 1) {
      branch = 1;
      y = y * x;
    }
    for (int i = 0; i < 3 && y.item<float>() < 100; ++i) y = y * 2;
    return y;
  };
  EXPECT_NEAR(grad(f)(tensor(0.5f)).item<float>(), 8 * 2 * 0.5f, 1e-6);
  EXPECT_EQ(branch, 0);
  EXPECT_NEAR(grad(f)(tensor(2.0f)).item<float>(), 8 * 3 * 4, 1e-5);
  EXPECT_EQ(branch, 1);
  EXPECT_NEAR(grad(grad(f))(tensor(2.0f)).item<float>(), 8 * 6 * 2, 1e-5);
  const auto [y, dy] = jvp(f)(tensor(2.0f), tensor(0.5f));
  EXPECT_EQ(y.item<float>(), 64);
  EXPECT_NEAR(dy.item<float>(), 8 * 3 * 4 * 0.5f, 1e-5);
}

TEST_P(DerivativesTest, UpdatesInPlaceKeepWhatDerivativesNeed) {
  // Each update would take over the memory of the value before, which the derivative reads.
  const auto f = [](const Tensor& x) {
    Tensor y = x * 1;
    y.set({0}, 3);
    const float seen = y.sum().item<float>();  // evaluates
    EXPECT_EQ(seen, 5);
    Tensor z = y * y;
    eval(z);
    y.set({1}, y[{0}] * y[{1}]);
    eval(y);
    return (z * y).sum();
  };
  // y = (3, 2), z = (9, 4), y' = (3, 6): f = 27 + 4·6 → with x1 = t: t²·3t, so 9 t².
  EXPECT_THAT(grad(f)(tensor({1.0f, 2.0f})).read<float>(), ElementsAre(0, 36));
}

// Slices of what indices and single numbers make are computed for themselves, but not past a variable that has such a
// value.
TEST_P(DerivativesTest, VariablesMayHaveValuesThatAreComputedFromIndices) {
  const auto product = [](const Tensor& x) { return x[{1}] * x[{2}]; };
  const auto sliced = [](const Tensor& x) { return sum(slice(x * x + 1, 0, 1, 3)); };
  const auto half = [](const Tensor& x) { return sum(slice(stop_gradient(x) * x, 0, 1, 3)); };
  const auto own = custom_vjp([](const Tensor& x) { return x * 2; },
                              [](const std::tuple<Tensor>&, const Tensor&, const Tensor& g) { return g * 100; });
  const auto of_own = [&](const Tensor& x) { return sum(slice(own(x) + 1, 0, 1, 3)); };
  for (const Tensor& x : {full({4}, 3.0f), cast(arange(4), DType::f32), linspace(1, 7, 4), arange(4) * 0.5f}) {
    const auto v = x.read<float>();
    EXPECT_THAT(grad(product)(x).read<float>(), ElementsAre(0, v[2], v[1], 0));
    EXPECT_THAT(grad(sliced)(x).read<float>(), ElementsAre(0, 2 * v[1], 2 * v[2], 0));
    EXPECT_THAT(grad(half)(x).read<float>(), ElementsAre(0, v[1], v[2], 0));
    EXPECT_THAT(grad(of_own)(x).read<float>(), ElementsAre(0, 100, 100, 0));
    EXPECT_EQ(jvp(sliced)(x, ones({4})).second.item<float>(), 2 * (v[1] + v[2]));
    EXPECT_THAT(hessian(product)(x).read<float>(), ElementsAre(0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0));
  }
}

TEST_P(DerivativesTest, NestsInAnyOrder) {
  const auto f = [](const Tensor& x) { return sum(sin(x) * exp(x)); };
  const std::vector<float> at{-1, 0.5f, 2};
  const Tensor x = tensor(at);
  const auto second = [](float t) { return 2 * std::cos(t) * std::exp(t); };
  const Tensor one = ones_like(x);
  const auto check = [&](const Tensor& y, std::string_view what) {
    const auto values = y.read<float>();
    for (std::size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(values[i], second(at[i]), 2e-5) << what;
  };
  check(hvp(f)(x, one), "forward over reverse");
  check(grad([&](const Tensor& v) { return sum(grad(f)(v)); })(x), "reverse over reverse");
  const auto elementwise = [](const Tensor& t) { return sin(t) * exp(t); };
  check(jvp([&](const Tensor& v) { return jvp(elementwise)(v, ones_like(v)).second; })(x, one).second,
        "forward over forward");
  check(grad([&](const Tensor& v) { return sum(jvp(elementwise)(v, ones_like(v)).second); })(x),
        "reverse over forward");
  check(nth_derivative(elementwise, 2)(x), "nth_derivative");
  check(vmap(grad(grad([](const Tensor& t) { return sin(t) * exp(t); })))(x), "vmap of grad of grad");
  check(compile(hvp(f))(x, one), "compiled");
  check(compile([&](const Tensor& v) { return vmap(grad(grad(elementwise)))(v); })(x), "vmap in compile");
  check(grad([&](const Tensor& v) { return sum(vmap(grad(elementwise))(v)); })(x), "grad of vmap of grad");
  const Tensor h = hessian(f)(x);
  EXPECT_EQ(h.shape(), Shape({3, 3}));
  check(diagonal(h), "hessian");
  EXPECT_NEAR(abs(h - triu(tril(h))).sum().item<float>(), 0, 1e-6);
}

TEST_P(DerivativesTest, ACompiledFunctionIsGoneThrough) {
  const auto inner = compile([](const Tensor& x) { return x * x * x; });
  EXPECT_EQ(grad([&](const Tensor& x) { return inner(x); })(tensor(2.0f)).item<float>(), 12);
  // Also what it captures.
  const auto captured = [](const Tensor& w) { return compile([&](const Tensor& x) { return w * x; })(tensor(5.0f)); };
  EXPECT_EQ(grad(captured)(tensor(2.0f)).item<float>(), 5);
}

TEST_P(DerivativesTest, TenthDerivative) {
  // Of sin(x) e^x: (√2)^n e^x sin(x + nπ/4).
  const Tensor x = linspace(-2, 2, 1000);
  const auto f = [](const Tensor& t) { return sin(t) * exp(t); };
  const auto at = x.read<float>();
  for (const int n : {1, 2, 5, 10}) {
    const auto values = nth_derivative(f, n)(x).read<float>();
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double t = at[i], exact = std::pow(2, n / 2.0) * std::exp(t) * std::sin(t + n * M_PI / 4);
      worst = std::max(worst, std::abs(values[i] - exact));
      largest = std::max(largest, std::abs(exact));
    }
    EXPECT_LE(worst / largest, 1e-4 * 1e-1) << n;
  }
}

TEST_P(DerivativesTest, JacobiansOfBothModes) {
  const auto f = [](const Tensor& x) { return stack({x[{0}] * x[{1}], sin(x[{2}]), square(x).sum()}, 0); };
  const Tensor x = tensor({2.0f, 3.0f, 0.5f});
  const std::vector<float> exact{3, 2, 0, 0, 0, std::cos(0.5f), 4, 6, 1};
  for (const auto mode : {DerivativeMode::forward, DerivativeMode::reverse, DerivativeMode::automatic}) {
    EXPECT_THAT(jacobian(f, mode)(x).read<float>(), Pointwise(FloatNear(1e-6f), exact));
  }
  EXPECT_EQ(jacobian([](const Tensor& t) { return t.reshape({2, 3}); })(zeros({3, 2})).shape(), Shape({2, 3, 3, 2}));
}

TEST_P(DerivativesTest, VmapIsALoop) {
  const Tensor w = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto f = [&](const Tensor& x, const Tensor& s) { return matmul(x, w) * s; };
  const Tensor xs = tensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), s = tensor({1.0f, 10.0f, 100.0f, 1000.0f});
  const Tensor all = vmap(f)(xs, s);
  ASSERT_EQ(all.shape(), Shape({4, 3}));
  const Tensor shared = vmap(f, {.arguments = {1, std::nullopt}, .result = 1})(xs.T(), tensor(2.0f));
  EXPECT_EQ(shared.shape(), Shape({3, 4}));
  const auto same = [](const Tensor& a, const Tensor& b) { return a.read<float>() == b.read<float>(); };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(same(all[{i}], f(xs[{i}], s[{i}])));
  EXPECT_TRUE(same(shared.T(), matmul(xs, w) * 2));
  EXPECT_THROW(vmap(f)(xs, tensor({1.0f, 2.0f})), ShapeError);
  EXPECT_THROW(vmap([](const Tensor& x) { return x * x.item<float>(); })(s), InvalidArgument);
}

TEST_P(DerivativesTest, OwnDerivatives) {
  // A straight-through estimate: the step's derivative is that of the identity.
  const auto step = custom_vjp([](const Tensor& x) { return round(x); },
                               [](const std::tuple<Tensor>&, const Tensor&, const Tensor& g) { return g; });
  EXPECT_THAT(grad([&](const Tensor& x) { return sum(step(x) * x); })(tensor({1.2f, 2.7f})).read<float>(),
              ElementsAre(FloatNear(2.2f, 1e-6f), FloatNear(5.7f, 1e-6f)));
  const auto cube = custom_jvp([](const Tensor& x) { return x * x * x; },
                               [](const std::tuple<Tensor>& x, const Tensor&, const std::tuple<Tensor>& t) {
                                 return 3 * square(std::get<0>(x)) * std::get<0>(t);
                               });
  EXPECT_EQ(grad([&](const Tensor& x) { return cube(x); })(tensor(2.0f)).item<float>(), 12);
  EXPECT_EQ(grad(grad([&](const Tensor& x) { return cube(x); }))(tensor(2.0f)).item<float>(), 12);
  EXPECT_EQ(jvp(step)(tensor(2.2f), tensor(3.0f)).second.item<float>(), 3) << "the transpose";
  // Under vmap the rule stays, in both orders.
  const Tensor xs = tensor({1.2f, 2.7f});
  EXPECT_THAT(vmap(grad([&](const Tensor& x) { return step(x) * x; }))(xs).read<float>(),
              ElementsAre(FloatNear(2.2f, 1e-6f), FloatNear(5.7f, 1e-6f)));
  EXPECT_THAT(grad([&](const Tensor& v) { return sum(vmap([&](const Tensor& x) { return step(x) * x; })(v)); })(xs)
                  .read<float>(),
              ElementsAre(FloatNear(2.2f, 1e-6f), FloatNear(5.7f, 1e-6f)));
  EXPECT_EQ(grad([](const Tensor& x) { return stop_gradient(x) * x; })(tensor(3.0f)).item<float>(), 3);
}

TEST_P(DerivativesTest, CheckpointsGiveTheSame) {
  const Tensor w = tensor({2, 2}, {0.5f, -0.25f, 0.75f, 1});
  const auto block = [](const Tensor& x, const Tensor& m) { return tanh(matmul(x, m)) + x; };
  const auto loss = [&](const auto& f) {
    return [&](const Tensor& m, const Tensor& x) {
      Tensor h = x;
      const auto inner = [&](const Tensor& t) { return f(t, m); };  // captures what is differentiated
      for (int i = 0; i < 3; ++i) h = i == 1 ? f(h, m) : checkpoint(inner)(h);
      return sum(square(h));
    };
  };
  const Tensor x = tensor({1, 2}, {0.3f, -0.6f});
  const auto plain = grad([&](const Tensor& m) {
                       Tensor h = x;
                       for (int i = 0; i < 3; ++i) h = block(h, m);
                       return sum(square(h));
                     })(w)
                         .read<float>();
  const auto kept = checkpoint(block);
  EXPECT_THAT(grad(loss(kept))(w, x).read<float>(), Pointwise(FloatNear(1e-6f), plain));
  EXPECT_THAT(compile(grad(loss(kept)))(w, x).read<float>(), Pointwise(FloatNear(1e-6f), plain));
  const auto printed = checkpoint([&](const Tensor& t, const Tensor& m) {
    const Tensor y = block(t, m);
    (void)to_string(y);  // evaluates inside
    return y;
  });
  EXPECT_THAT(grad(loss(printed))(w, x).read<float>(), Pointwise(FloatNear(1e-6f), plain));
}

TEST_P(DerivativesTest, CheckpointsInsideOfOthers) {
  const auto plain = [](const Tensor& x) { return sin(x) * exp(x); };
  const auto kept = checkpoint(plain);
  const Tensor x = tensor({-1.0f, 0.5f, 2.0f}), one = ones_like(x);
  const auto expect_equal = [](const Tensor& got, const Tensor& want, std::string_view what) {
    EXPECT_THAT(got.read<float>(), Pointwise(FloatNear(1e-5f), want.read<float>())) << what;
  };
  const Tensor first = jvp(plain)(x, one).second, second = nth_derivative(plain, 2)(x);
  expect_equal(jvp(kept)(x, one).second, first, "forward");
  expect_equal(vmap(grad(kept))(x), first, "vmap of grad");
  expect_equal(grad([&](const Tensor& v) { return sum(vmap(kept)(v)); })(x), first, "grad of vmap");
  expect_equal(nth_derivative(kept, 2)(x), second, "twice");
  expect_equal(vmap(grad(grad(kept)))(x), second, "vmap of grad of grad");
}

// What is computed again is a call of its own, beside the one that it repeats.
TEST_P(DerivativesTest, HigherDerivativesOfCheckpointsInsideOfOthers) {
  const auto own = custom_vjp(
      [](const Tensor& u) { return exp(sin(u)); },
      [](const std::tuple<Tensor>& u, const Tensor& y, const Tensor& g) { return g * y * cos(std::get<0>(u)); });
  const auto plain = [](const Tensor& x) { return sin(exp(sin(x)) * x); };
  const auto inner = checkpoint([](const Tensor& u) { return exp(sin(u)); });
  const Tensor x = tensor({-0.5f, 0.3f, 1.0f});
  for (int order = 1; order <= 3; ++order) {
    const auto want = nth_derivative(plain, order)(x).read<float>();
    const auto check = [&](const auto& f) {
      const auto block = checkpoint([&f](const Tensor& u) { return f(u) * u; });
      const auto whole = [&](const Tensor& v) { return sin(block(v)); };
      EXPECT_THAT(nth_derivative(whole, order)(x).template read<float>(), Pointwise(FloatNear(2e-4f), want)) << order;
      if (order < 3) return;
      const auto third = grad(grad(grad(whole)));
      EXPECT_THAT(vmap(third)(x).template read<float>(), Pointwise(FloatNear(2e-4f), want));
    };
    check(inner);
    check(own);
  }
  // Results of which several are one value, in a batch.
  const auto twice = checkpoint([](const std::vector<Tensor>& u) {
    const Tensor y = sum(u[0] * 1);
    return std::vector{y, y};
  });
  const auto f = checkpoint([&](const std::vector<Tensor>& u) { return std::vector{erf(twice(u)[1]), u[0], u[0]}; });
  const auto first = [&](const Tensor& v) { return f(std::vector{v})[0]; };
  const auto erf_of = [](const Tensor& v) { return erf(v); };
  EXPECT_THAT(vmap(grad(first))(x).read<float>(),
              Pointwise(FloatNear(1e-6f), jvp(erf_of)(x, ones_like(x)).second.read<float>()));
}

// A rule may need results that nothing else does, as what is kept for a backward pass is.
TEST_P(DerivativesTest, OwnDerivativesOfResultsThatAreNotNeeded) {
  using Two = std::pair<Tensor, Tensor>;
  using Three = std::tuple<Tensor, Tensor, Tensor>;
  const auto f = [](const Tensor& u) { return Two(exp(u) * 2, exp(u)); };
  const auto by_vjp = custom_vjp(f, [](const std::tuple<Tensor>&, const Two& y, const Two& g) {
    return g.first * 2 * y.second + g.second * y.second;
  });
  const auto by_jvp = custom_jvp(f, [](const std::tuple<Tensor>&, const Two& y, const std::tuple<Tensor>& t) {
    return Two(std::get<0>(t) * 2 * y.second, std::get<0>(t) * y.second);
  });
  // Integers in front.
  const auto mixed = custom_vjp([](const Tensor& u) { return Three(cast(u, DType::i32), exp(u) * 2, exp(u)); },
                                [](const std::tuple<Tensor>&, const Three& y, const Three& g) {
                                  return std::get<1>(g) * 2 * std::get<2>(y) + std::get<2>(g) * std::get<2>(y);
                                });
  const Tensor x = tensor({-0.5f, 0.3f, 1.0f}), one = ones_like(x);
  const auto plain = [](const Tensor& v) { return sin(exp(v) * 2); };
  const auto check = [&](const auto& function) {
    for (int order = 1; order <= 2; ++order) {
      const auto want = nth_derivative(plain, order)(x).read<float>();
      EXPECT_THAT(nth_derivative(function, order)(x).template read<float>(), Pointwise(FloatNear(1e-4f), want));
      if (order == 1) {
        EXPECT_THAT(vmap(grad(function))(x).template read<float>(), Pointwise(FloatNear(1e-4f), want));
        EXPECT_THAT(compile(vmap(grad(function)))(x).template read<float>(), Pointwise(FloatNear(1e-4f), want));
      } else {
        EXPECT_THAT(vmap(grad(grad(function)))(x).template read<float>(), Pointwise(FloatNear(1e-4f), want));
      }
    }
  };
  check([&](const Tensor& v) { return sin(by_vjp(v).first); });
  check([&](const Tensor& v) { return sin(by_jvp(v).first); });
  check([&](const Tensor& v) {
    const auto [count, y, kept] = mixed(v);
    return sin(y + cast(count * 0, v.dtype()));
  });
}

TEST_P(DerivativesTest, OwnDerivativesOfWhatABatchShares) {
  const auto own = [](const std::tuple<Tensor>&, const Tensor&, const Tensor& g) { return g; };
  const Tensor xs = tensor({1.0f, 2.0f, 3.0f}), w = tensor(4.0f);
  // The operand is the same for all entries.
  const auto shared = custom_vjp([](const Tensor& v) { return round(v); }, own);
  const auto f = [&](const Tensor& v) {
    return sum(
        vmap([&](const Tensor& x, const Tensor& u) { return x * shared(u); }, {.arguments = {0, std::nullopt}})(xs, v));
  };
  EXPECT_EQ(grad(f)(w).item<float>(), 6);
  // The result is.
  const auto constant = custom_vjp([](const Tensor& v) { return ones(v.shape()); }, own);
  const auto g = [&](const Tensor& v) { return sum(vmap([&](const Tensor& x) { return x * constant(x); })(v)); };
  EXPECT_THAT(grad(g)(xs).read<float>(), ElementsAre(2, 3, 4));
}

TEST_P(DerivativesTest, CheckpointsKeepLess) {
  const auto block = [](const Tensor& x, const Tensor& w) {
    return x + matmul(tanh(softmax(sin(matmul(x, w)), -1) * 3), w);
  };
  const auto loss = [](const auto& f) {
    return [f](const std::vector<Tensor>& weights, const Tensor& x) {
      Tensor h = x;
      for (const Tensor& w : weights) h = f(h, w);
      return sum(square(h));
    };
  };
  const std::vector<Tensor> weights(12, full({128, 128}, 0.01));
  const Tensor x = full({512, 128}, 0.1);
  const auto needed = [&](const auto& f) {
    const auto of = [&](const std::vector<Tensor>& w, const Tensor& v) { return grad(loss(f))(w, v); };
    return compile(compile(of).graph(weights, x), device).report().planned_bytes;
  };
  EXPECT_LE(2 * needed(checkpoint(block)), needed(block));
}

TEST_P(DerivativesTest, GraphsOfDerivativesAreSaved) {
  const auto step = custom_vjp([](const Tensor& x) { return round(x); },
                               [](const std::tuple<Tensor>&, const Tensor&, const Tensor& g) { return g; });
  const auto f = [&](const Tensor& x) { return sum(step(x) * x); };
  const Tensor x = tensor({1.2f, 2.7f});
  const TempDir dir;
  const auto saved = [&](const Graph& graph, const Shape& shape) {
    save(dir.path() / "graph.safetensors", graph);
    const Tensor y(device, DType::f32, shape);
    compile(load_graph(dir.path() / "graph.safetensors"), device).run(std::vector{x}, std::vector{y});
    return y.read<float>();
  };
  EXPECT_THAT(saved(compile(f).graph(x), {}), ElementsAre(FloatNear(9.3f, 1e-5f)));
  EXPECT_THAT(saved(compile(grad(f)).graph(x), {2}), ElementsAre(FloatNear(2.2f, 1e-6f), FloatNear(5.7f, 1e-6f)));
  // What was a result with derivatives of its own is its value.
  const auto read = [](const Tensor& v) { return sum(call("identity", std::vector<Tensor>{v * 2, v})[0]); };
  EXPECT_THAT(grad(read)(x).read<float>(), ElementsAre(2, 2));
}

TEST_P(DerivativesTest, BatchesWithoutEntries) {
  const auto f = [](const Tensor& q) { return attention(q, q, q, {}, {}); };
  EXPECT_EQ(vmap(f)(zeros({0, 2, 1, 3, 4})).shape(), Shape({0, 2, 1, 3, 4}));
}

TEST_P(DerivativesTest, LongChains) {
  const auto f = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 50'000; ++i) y = i % 2 ? y + x : y * 0.5f;
    return y;
  };
  const Tensor x = tensor(1.0f);
  // y(x) = s x, and s tends to 2 (of y ↦ 0.5 y + x).
  EXPECT_NEAR(grad(f)(x).item<float>(), 2, 1e-5);
  EXPECT_NEAR(jvp(f)(x, x).second.item<float>(), 2, 1e-5);
  EXPECT_NEAR(vmap(grad(f))(tensor({1.0f, 2.0f})).sum().item<float>(), 4, 1e-5);
}

TEST_P(DerivativesTest, ErrorsSayWhatIsWrong) {
  const auto f = [](const Tensor& x) { return sum(x); };
  EXPECT_THROW(([&] { grad(f)(tensor({1, 2})); })(), TypeError);
  EXPECT_THAT(message_of([&] { grad(f)(tensor({1, 2})); }), HasSubstr("got i32 [2]"));
  EXPECT_THROW(([&] { grad([](const Tensor& x) { return x; })(tensor({1.0f, 2.0f})); })(), ShapeError);
  EXPECT_THAT(message_of([&] { grad([](const Tensor& x) { return x; })(tensor({1.0f, 2.0f})); }),
              HasSubstr("f32 [2], expected one number"));
  EXPECT_THROW(([&] { grad([](const Tensor& x) { return cast(sum(x), DType::i32); })(tensor({1.0f})); })(), TypeError);
  EXPECT_THAT(message_of([&] { grad([](const Tensor& x) { return cast(sum(x), DType::i32); })(tensor({1.0f})); }),
              HasSubstr("i32"));
  EXPECT_THROW(([&] { vjp(f)(tensor({1.0f})).second(tensor({1.0f, 2.0f})); })(), ShapeError);
  EXPECT_THAT(message_of([&] { vjp(f)(tensor({1.0f})).second(tensor({1.0f, 2.0f})); }), HasSubstr("cotangent 0"));
  EXPECT_THROW(([&] { jvp(f)(tensor({1.0f}), tensor({1.0f, 2.0f})); })(), ShapeError);
  EXPECT_THAT(message_of([&] { jvp(f)(tensor({1.0f}), tensor({1.0f, 2.0f})); }), HasSubstr("tangent 0"));
  EXPECT_THAT(grad([](const Tensor& x) { return sum(x * 0 + 1); })(tensor({1.0f, 2.0f})).read<float>(),
              ElementsAre(0, 0));
  EXPECT_THAT(grad([](const Tensor&) { return tensor(1.0f); })(tensor({1.0f, 2.0f})).read<float>(), ElementsAre(0, 0));
}

TEST_P(DerivativesTest, MemoryIsLetGo) {
  Tensor running = zeros({64});
  const auto f = [&](const Tensor& x) {
    const Tensor y = sin(x) * x;
    running = running * 0.9f + y * 0.1f;  // a state outside of the result
    eval(running);
    return sum(y);
  };
  Tensor x = ones({64});
  const auto step = [&] { x = x - 0.01f * grad(f)(x); };
  for (int i = 0; i < 50; ++i) step();
  eval(x);
  const auto before = memory::live(device);
  for (int i = 0; i < 1000; ++i) {
    step();
    if (i % 10 == 0) eval(x);
  }
  eval(x);
  EXPECT_LE(memory::live(device), before + 65536);
}

}  // namespace
}  // namespace weft::test
