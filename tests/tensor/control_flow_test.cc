#include "weft/control_flow.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "support/on_device.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/evaluate.h"
#include "weft/graph_file.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class ControlFlowTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ControlFlowTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

std::vector<float> floats(const Tensor& t) { return t.read<float>(); }
std::vector<std::int32_t> ints(const Tensor& t) { return t.read<std::int32_t>(); }
Tensor number(float x) { return full({}, x); }

// ---- cond

TEST_P(ControlFlowTest, ABranchIsChosenByAValue) {
  const auto f = [](const Tensor& x) {
    return cond(sum(x) > 0, [](const Tensor& t) { return t * 2; }, [](const Tensor& t) { return -t; }, x);
  };
  EXPECT_THAT(floats(f(tensor({1.0f, 2.0f}))), ElementsAre(2, 4));
  EXPECT_THAT(floats(f(tensor({1.0f, -2.0f}))), ElementsAre(-1, 2));
}

TEST_P(ControlFlowTest, BranchesInCompiledFunctions) {
  const auto f = compile([](const Tensor& x) {
    const Tensor y = x + 1;
    return cond(any(y > 2), [&] { return y * 10; }, [&] { return y; }) - 1;
  });
  EXPECT_THAT(floats(f(tensor({0.0f, 2.0f}))), ElementsAre(9, 29));
  EXPECT_THAT(floats(f(tensor({0.0f, 1.0f}))), ElementsAre(0, 1));
}

struct Pair {
  Tensor a;
  std::map<std::string, Tensor> rest;
};

TEST_P(ControlFlowTest, BranchesGiveStructs) {
  const auto choose = [](bool which, const Pair& p) {
    return cond(
        full({}, which, DType::boolean), [](const Pair& q) { return Pair{q.rest.at("b"), {{"b", q.a}}}; },
        [](const Pair& q) { return q; }, p);
  };
  const Pair p{tensor({1.0f}), {{"b", tensor({2.0f})}}};
  EXPECT_THAT(floats(choose(true, p).a), ElementsAre(2));
  EXPECT_THAT(floats(choose(true, p).rest.at("b")), ElementsAre(1));
  EXPECT_THAT(floats(choose(false, p).a), ElementsAre(1));
  EXPECT_THAT(floats(choose(false, p).rest.at("b")), ElementsAre(2));
}

TEST_P(ControlFlowTest, BranchesInBranches) {
  // 0 below -1, x from there to 1, 1 above.
  const auto f = compile([](const Tensor& x) {
    return cond(
        x < -1, [](const Tensor& t) { return zeros_like(t); },
        [](const Tensor& t) {
          return cond(t > 1, [](const Tensor& u) { return ones_like(u); }, [](const Tensor& u) { return u + 0; }, t);
        },
        x);
  });
  EXPECT_EQ(f(number(-3)).item<float>(), 0);
  EXPECT_EQ(f(number(0.5f)).item<float>(), 0.5f);
  EXPECT_EQ(f(number(3)).item<float>(), 1);
}

// A branch is not computed unless it is chosen: the other one would never end.
TEST_P(ControlFlowTest, OnlyOneBranchRuns) {
  const auto f = compile([](const Tensor& stop, const Tensor& x) {
    return cond(
        stop, [](const Tensor& t) { return t; },
        [](const Tensor& t) {
          return while_loop([](const Tensor& u) { return u < 10; }, [](const Tensor& u) { return u; }, t);
        },
        x);
  });
  EXPECT_EQ(f(full({}, true, DType::boolean), number(2)).item<float>(), 2);
  EXPECT_EQ(f(full({}, false, DType::boolean), number(11)).item<float>(), 11);
}

// What only one branch reads last must not be overwritten for the other.
TEST_P(ControlFlowTest, BranchesShareOperands) {
  const auto f = compile([](const Tensor& p, const Tensor& x) {
    const Tensor a = exp(x), b = sin(x);
    const auto [u, v] = cond(p, [&] { return std::pair(a + 1, b * 2); }, [&] { return std::pair(b + a, a * 3); });
    return u + v;
  });
  const Tensor x = tensor({0.5f, 1.0f, 2.0f});
  std::vector<float> yes, no;
  for (const float t : {0.5f, 1.0f, 2.0f}) {
    yes.push_back(std::exp(t) + 1 + 2 * std::sin(t));
    no.push_back(std::sin(t) + std::exp(t) + 3 * std::exp(t));
  }
  EXPECT_THAT(floats(f(full({}, true, DType::boolean), x)), Pointwise(FloatNear(1e-5f), yes));
  EXPECT_THAT(floats(f(full({}, false, DType::boolean), x)), Pointwise(FloatNear(1e-5f), no));
}

// The first branch reads one result for the last time where it makes the other one, which must not take its memory: the
// second branch makes both at once.
TEST_P(ControlFlowTest, ResultsThatNothingReads) {
  const auto f = [](const Tensor& x) {
    const auto [a, b] = cond(
        sum(x) > 0,
        [](const Tensor& t) {
          const Tensor sums = scan(ScanKind::sum, t, 0);
          return std::pair(sums, sums * 2);
        },
        [](const Tensor& t) { return std::pair(t * 3, t * 5); }, x);
    return scan(ScanKind::sum, b, 0);
  };
  for (const auto& run : {std::function<Tensor(Tensor)>(f), std::function<Tensor(Tensor)>(compile(f))}) {
    EXPECT_THAT(floats(run(tensor({1.0f, 2.0f, 3.0f}))), ElementsAre(2, 8, 20));
    EXPECT_THAT(floats(run(tensor({-1.0f, -2.0f, -3.0f}))), ElementsAre(-5, -15, -30));
  }
}

// The branch of a condition that is known is part of the graph around it, with its own branches and loops.
TEST_P(ControlFlowTest, BranchesOfKnownConditionsHoldLoops) {
  const Tensor yes = full({}, true, DType::boolean);
  const auto f = [&](const Tensor& x) {
    const auto sums = [&] {
      return scan([](const Tensor& s, const Tensor& u) { return std::pair(s + u, s * u); }, sum(x) * 0, x);
    };
    const auto twice = [&] { return cond(yes, sums, [&] { return std::pair(sum(x), x); }); };
    return cond(yes, twice, [&] { return std::pair(sum(x), x); }).second;
  };
  const Tensor x = tensor({1.0f, 2.0f, 3.0f});
  EXPECT_THAT(floats(f(x)), ElementsAre(0, 2, 9));
  EXPECT_THAT(floats(compile(f)(x)), ElementsAre(0, 2, 9));
  EXPECT_THAT(floats(grad([&](const Tensor& t) { return sum(f(t)); })(x)), ElementsAre(5, 4, 3));
}

TEST_P(ControlFlowTest, APredicateMayBeAnOutputToo) {
  const auto f = compile([](const Tensor& x) {
    const Tensor p = x > 0;
    return std::pair(p, cond(p, [&] { return x; }, [&] { return -x; }));
  });
  const auto [p, y] = f(number(-2));
  EXPECT_FALSE(p.item<bool>());
  EXPECT_EQ(y.item<float>(), 2);
}

// ---- while_loop

TEST_P(ControlFlowTest, CollatzSteps) {
  struct State {
    Tensor n, steps;
  };
  const auto collatz = [](std::int32_t n) {
    return while_loop([](const State& s) { return s.n != 1; },
                      [](const State& s) { return State{where(s.n % 2 == 0, s.n / 2, s.n * 3 + 1), s.steps + 1}; },
                      State{full({}, n, DType::i32), zeros({}, DType::i32)})
        .steps.item<std::int32_t>();
  };
  EXPECT_EQ(collatz(1), 0);
  EXPECT_EQ(collatz(6), 8);
  EXPECT_EQ(collatz(27), 111);
}

TEST_P(ControlFlowTest, LoopsUntilItConverges) {
  // Newton's method for a square root, of a number that is captured.
  const auto root = compile([](const Tensor& a) {
    return while_loop([&](const Tensor& x) { return abs(x * x - a) > 1e-4f * a; },
                      [&](const Tensor& x) { return (x + a / x) * 0.5f; }, a);
  });
  EXPECT_NEAR(root(number(2)).item<float>(), std::sqrt(2.0f), 1e-4);
  EXPECT_NEAR(root(number(1234)).item<float>(), std::sqrt(1234.0f), 1e-2);
}

TEST_P(ControlFlowTest, CarriesThatSwap) {
  using State = std::pair<Tensor, Tensor>;
  const State initial(number(1), number(2));
  const State s = fori_loop(0, 5, [](const Tensor&, const State& t) { return State(t.second, t.first); }, initial);
  EXPECT_EQ(s.first.item<float>(), 2);
  EXPECT_EQ(s.second.item<float>(), 1);
  // What a loop began with is still what it was.
  EXPECT_EQ(initial.first.item<float>(), 1);
}

TEST_P(ControlFlowTest, Fibonacci) {
  using State = std::pair<Tensor, Tensor>;
  const auto f = [](std::int64_t n) {
    return fori_loop(
               0, n, [](const Tensor&, const State& t) { return State(t.second, t.first + t.second); },
               State(zeros({}, DType::i32), ones({}, DType::i32)))
        .first.item<std::int32_t>();
  };
  EXPECT_EQ(f(0), 0);
  EXPECT_EQ(f(1), 1);
  EXPECT_EQ(f(10), 55);
  EXPECT_EQ(f(40), 102334155);
}

TEST_P(ControlFlowTest, TheSameTensorAsTwoCarries) {
  using State = std::pair<Tensor, Tensor>;
  const Tensor x = tensor({1.0f, 2.0f});
  const auto f = compile([](const Tensor& y) {
    const Tensor z = y * 1.5f;
    return fori_loop(
        0, 3, [](const Tensor&, const State& s) { return State(s.first + s.second, s.second); }, State(z, z));
  });
  EXPECT_THAT(floats(f(x).first), ElementsAre(6, 12));
  EXPECT_THAT(floats(f(x).second), ElementsAre(1.5f, 3));
}

TEST_P(ControlFlowTest, IndicesOfTurns) {
  const auto f = compile([](const Tensor& x) {
    return fori_loop(
        3, 7, [&](const Tensor& i, const Tensor& s) { return s * 10 + i + cast(x, DType::i32); },
        zeros({}, DType::i32));
  });
  EXPECT_EQ(f(number(0)).item<std::int32_t>(), 3456);
  EXPECT_EQ(fori_loop(
                -2, 1, [](const Tensor& i, const Tensor& s) { return s * 10 + i; }, zeros({}, DType::i32))
                .item<std::int32_t>(),
            -210);
  EXPECT_EQ(fori_loop(
                5, 2, [](const Tensor& i, const Tensor& s) { return s + i; }, ones({}, DType::i32))
                .item<std::int32_t>(),
            1);
}

TEST_P(ControlFlowTest, IndexedByTheTurn) {
  const Tensor x = tensor({1.0f, 2.0f, 4.0f, 8.0f});
  const Tensor y = fori_loop(
      1, 4, [&](const Tensor& i, const Tensor& s) { return s + gather(x, i) * cast(i, DType::f32); }, number(0));
  EXPECT_EQ(y.item<float>(), 2 + 8 + 24);
  const Tensor z = fori_loop(
      0, 4,
      [&](const Tensor& i, const Tensor& s) {
        return dynamic_update_slice(s, reshape(cast(i * i, DType::f32), {1}), i, {0});
      },
      x);
  EXPECT_THAT(floats(z), ElementsAre(0, 1, 4, 9));
}

TEST_P(ControlFlowTest, LoopsInLoops) {
  // The number of pairs j <= i < n, and the sum of their products.
  struct State {
    Tensor j, count, total;
  };
  const auto f = compile([](const Tensor& one) {
    const Tensor zero = zeros({}, DType::i32);
    return fori_loop(
        0, 5,
        [&](const Tensor& i, const State& s) {
          return while_loop([&](const State& t) { return t.j <= i; },
                            [&](const State& t) { return State{t.j + 1, t.count + one, t.total + i * t.j}; },
                            State{zeros({}, DType::i32), s.count, s.total});
        },
        State{zero, zero, zero});
  });
  const State s = f(ones({}, DType::i32));
  EXPECT_EQ(s.count.item<std::int32_t>(), 15);
  EXPECT_EQ(s.total.item<std::int32_t>(), 65);
}

TEST_P(ControlFlowTest, BranchesInLoops) {
  const Tensor y = fori_loop(
      0, 10,
      [](const Tensor& i, const Tensor& s) { return cond(i % 2 == 0, [&] { return s + i; }, [&] { return s * 2; }); },
      zeros({}, DType::i32));
  std::int32_t expected = 0;
  for (std::int32_t i = 0; i < 10; ++i) expected = i % 2 == 0 ? expected + i : expected * 2;
  EXPECT_EQ(y.item<std::int32_t>(), expected);
}

TEST_P(ControlFlowTest, BooleanCarriesAsConditions) {
  using State = std::pair<Tensor, Tensor>;
  const State s = while_loop([](const State& t) { return t.first; },
                             [](const State& t) { return State(t.second < 5, t.second + 1); },
                             State(full({}, true, DType::boolean), number(0)));
  EXPECT_EQ(s.second.item<float>(), 6);
  EXPECT_FALSE(s.first.item<bool>());
}

// Matrices, whose products cannot be computed in place.
TEST_P(ControlFlowTest, PowersOfAMatrix) {
  const auto power = compile([](const Tensor& a) {
    return fori_loop(0, 6, [&](const Tensor&, const Tensor& p) { return matmul(p, a); }, eye(2, 2));
  });
  EXPECT_THAT(floats(power(reshape(tensor({1.0f, 1.0f, 1.0f, 0.0f}), {2, 2}))), ElementsAre(13, 8, 8, 5));
}

TEST_P(ControlFlowTest, ManyTurns) {
  const auto f = compile([](const Tensor& x) {
    return fori_loop(0, 20000, [](const Tensor& i, const Tensor& s) { return (s + i) % 1000003; }, x);
  });
  std::int32_t expected = 7;
  for (std::int32_t i = 0; i < 20000; ++i) expected = (expected + i) % 1000003;
  EXPECT_EQ(f(full({}, 7, DType::i32)).item<std::int32_t>(), expected);
}

// ---- scan

TEST_P(ControlFlowTest, RunningSums) {
  const Tensor x = reshape(arange(0, 6, 1, DType::f32), {3, 2});
  const auto [last, all] =
      scan([](const Tensor& s, const Tensor& row) { return std::pair(s + row, s + row); }, zeros({2}), x);
  EXPECT_THAT(floats(last), ElementsAre(6, 9));
  EXPECT_EQ(all.shape(), (Shape{3, 2}));
  EXPECT_THAT(floats(all), ElementsAre(0, 1, 2, 4, 6, 9));
  const auto [first, back] =
      scan([](const Tensor& s, const Tensor& row) { return std::pair(s + row, s + row); }, zeros({2}), x, true);
  EXPECT_THAT(floats(first), ElementsAre(6, 9));
  EXPECT_THAT(floats(back), ElementsAre(6, 9, 6, 8, 4, 5));
}

TEST_P(ControlFlowTest, ScansOfStructs) {
  struct Inputs {
    Tensor a, b;
  };
  const Inputs xs{tensor({1.0f, 2.0f, 3.0f}), reshape(arange(0, 6, 1, DType::f32), {3, 2})};
  const auto [carry, ys] = scan(
      [](const Tensor& s, const Inputs& x) {
        const Tensor next = s + x.a;
        return std::pair(next, std::map<std::string, Tensor>{{"p", next * x.b}, {"i", cast(next, DType::i32)}});
      },
      number(0), xs);
  EXPECT_EQ(carry.item<float>(), 6);
  EXPECT_THAT(floats(ys.at("p")), ElementsAre(0, 1, 6, 9, 24, 30));
  EXPECT_THAT(ints(ys.at("i")), ElementsAre(1, 3, 6));
}

TEST_P(ControlFlowTest, ScansWithoutSlices) {
  const auto [last, path] =
      scan([](const Tensor& x) { return std::pair(x * 2, x); }, tensor({1.0f, 3.0f}), std::int64_t{3});
  EXPECT_THAT(floats(last), ElementsAre(8, 24));
  EXPECT_THAT(floats(path), ElementsAre(1, 3, 2, 6, 4, 12));
  const auto [same, none] =
      scan([](const Tensor& x) { return std::pair(x * 2, x); }, tensor({1.0f, 3.0f}), std::int64_t{0});
  EXPECT_THAT(floats(same), ElementsAre(1, 3));
  EXPECT_EQ(none.shape(), (Shape{0, 2}));
}

TEST_P(ControlFlowTest, ScansOfNothing) {
  const auto [s, ys] =
      scan([](const Tensor& c, const Tensor& x) { return std::pair(c + x, c * x); }, number(3), zeros({0}));
  EXPECT_EQ(s.item<float>(), 3);
  EXPECT_EQ(ys.shape(), (Shape{0}));
  const auto [t, zs] =
      scan([](const Tensor& c, const Tensor& x) { return std::pair(c + 1, c * x); }, number(3), zeros({4, 0}));
  EXPECT_EQ(t.item<float>(), 7);
  EXPECT_EQ(zs.shape(), (Shape{4, 0}));
}

TEST_P(ControlFlowTest, ScansOfViews) {
  const Tensor x = permute(reshape(arange(0, 6, 1, DType::f32), {2, 3}), {1, 0});  // rows 0 3, 1 4, 2 5
  const auto [last, all] =
      scan([](const Tensor& s, const Tensor& row) { return std::pair(s + row, flip(row)); }, zeros({2}), x);
  EXPECT_THAT(floats(last), ElementsAre(3, 12));
  EXPECT_THAT(floats(all), ElementsAre(3, 0, 4, 1, 5, 2));
  const auto [sliced, ys] = scan([](const Tensor& s, const Tensor& row) { return std::pair(s + row, row); }, number(0),
                                 slice(arange(0, 10, 1, DType::f32), 0, 3, 9, 2));
  EXPECT_EQ(sliced.item<float>(), 3 + 5 + 7);
  EXPECT_THAT(floats(ys), ElementsAre(3, 5, 7));
}

// ---- Derivatives and batches

TEST_P(ControlFlowTest, GradientsOfBranches) {
  const auto f = [](const Tensor& x, const Tensor& w) {
    return sum(cond(sum(x) > 0, [&](const Tensor& t) { return t * t * w; }, [](const Tensor& t) { return sin(t); }, x));
  };
  const Tensor w = tensor({2.0f, 5.0f});
  const auto [gx, gw] = grad<0, 1>(f)(tensor({1.0f, 3.0f}), w);
  EXPECT_THAT(floats(gx), ElementsAre(4, 30));
  EXPECT_THAT(floats(gw), ElementsAre(1, 9));
  const auto [hx, hw] = grad<0, 1>(f)(tensor({0.0f, -3.0f}), w);
  EXPECT_THAT(floats(hx), Pointwise(FloatNear(1e-6f), {1.0f, std::cos(3.0f)}));
  EXPECT_THAT(floats(hw), ElementsAre(0, 0));
  // The second derivative.
  EXPECT_THAT(floats(hvp([&](const Tensor& x) { return f(x, w); })(tensor({1.0f, 3.0f}), tensor({1.0f, 1.0f}))),
              ElementsAre(4, 10));
}

// x_n = x0 * prod (1 + a_k): derivatives are known.
TEST_P(ControlFlowTest, GradientsOfScans) {
  const Tensor a = tensor({0.5f, 1.0f, 3.0f});
  const auto f = [](const Tensor& x0, const Tensor& rates) {
    return scan([](const Tensor& x, const Tensor& r) { return std::pair(x * (1 + r), x); }, x0, rates);
  };
  const auto last = [&](const Tensor& x0, const Tensor& rates) { return f(x0, rates).first; };
  const auto [gx, ga] = grad<0, 1>(last)(number(2), a);
  EXPECT_FLOAT_EQ(gx.item<float>(), 1.5f * 2 * 4);
  EXPECT_THAT(floats(ga), ElementsAre(2 * 2 * 4, 2 * 1.5f * 4, 2 * 1.5f * 2));
  // Of what is stacked: 2, 3, 6.
  const auto path = [&](const Tensor& x0, const Tensor& rates) {
    return sum(f(x0, rates).second * tensor({1.0f, 10.0f, 100.0f}));
  };
  const auto [px, pa] = grad<0, 1>(path)(number(2), a);
  EXPECT_FLOAT_EQ(px.item<float>(), 1 + 15 + 300);
  EXPECT_THAT(floats(pa), ElementsAre(20 + 400, 300, 0));
  const auto [value, tangent] = jvp(last)(number(2), a, number(0), tensor({1.0f, 0.0f, 1.0f}));
  EXPECT_FLOAT_EQ(value.item<float>(), 24);
  EXPECT_FLOAT_EQ(tangent.item<float>(), 16 + 6);
  const auto hessian_row = hvp([&](const Tensor& r) { return last(number(2), r); })(a, tensor({1.0f, 0.0f, 0.0f}));
  EXPECT_THAT(floats(hessian_row), ElementsAre(0, 2 * 4, 2 * 2));
}

// What all turns see: a matrix.
TEST_P(ControlFlowTest, GradientsOfWhatIsCaptured) {
  const Tensor a = reshape(tensor({0.5f, 1.0f, -1.0f, 0.25f}), {2, 2}), x = tensor({1.0f, 2.0f});
  const auto loops = [&](const Tensor& m) {
    return sum(fori_loop(0, 4, [&](const Tensor&, const Tensor& v) { return tanh(matmul(m, v)); }, x));
  };
  const auto plain = [&](const Tensor& m) {
    Tensor v = x;
    for (int i = 0; i < 4; ++i) v = tanh(matmul(m, v));
    return sum(v);
  };
  const auto close = [](const Tensor& got, const Tensor& expected) {
    EXPECT_THAT(floats(got), Pointwise(FloatNear(1e-5f), floats(expected)));
  };
  close(grad(loops)(a), grad(plain)(a));
  close(compile(grad(loops))(a), grad(plain)(a));
  close(hessian(loops)(a), hessian(plain)(a));
  close(jacobian(loops, DerivativeMode::forward)(a), grad(plain)(a));
  close(grad(checkpoint(loops))(a), grad(plain)(a));
}

// A rule of a program's own runs inside of a turn: it makes tensors of data there, and takes others from outside, which
// second derivatives go to. The derivative of y = 2 x is said to be 3 w x.
TEST_P(ControlFlowTest, RulesOfOnesOwnInside) {
  const Tensor w0 = number(5), x0 = number(1);
  const auto step = [](const Tensor& w) {
    return custom_vjp([](const Tensor& x) { return x * tensor(2.0f); },
                      [w](const std::tuple<Tensor>& x, const Tensor&, const Tensor& g) {
                        return g * w * std::get<0>(x) * gather(tensor({7.0f, 3.0f}), tensor(std::int32_t{1}), 0);
                      });
  };
  const auto in_turns = [&](const Tensor& w, const Tensor& x) {
    return fori_loop(0, 2, [&](const Tensor&, const Tensor& v) { return step(w)(v); }, x);
  };
  const auto in_a_scan = [&](const Tensor& w, const Tensor& x) {
    return scan([&](const Tensor& v) { return std::pair(step(w)(v), v); }, x, 2).first;
  };
  const auto in_branches = [&](const Tensor& w, const Tensor& x) {
    const auto both = [&](const Tensor& v) { return step(w)(step(w)(v)); };
    return cond(x > 0, both, [](const Tensor& v) { return v; }, x);
  };
  const auto while_below = [&](const Tensor& w, const Tensor& x) {
    return while_loop([](const Tensor& v) { return v < 4; }, step(w), x);
  };
  // y = 4 x with the derivative (3 w 2 x) (3 w x) = 18 w² x², which has the derivative 36 w x² for w.
  const auto forward = [](const auto& f, const Tensor& w) {
    return [=](const Tensor& x) { return jvp([=](const Tensor& v) { return f(w, v); })(x, ones_like(x)).second; };
  };
  const auto check = [&](const auto& f) {
    const auto gradient = [&](const Tensor& w, const Tensor& x) {
      return grad([&](const Tensor& v) { return f(w, v); })(x);
    };
    EXPECT_FLOAT_EQ(gradient(w0, x0).template item<float>(), 450);
    EXPECT_FLOAT_EQ(compile(gradient)(w0, x0).template item<float>(), 450);
    EXPECT_FLOAT_EQ(grad(gradient)(w0, x0).template item<float>(), 180);
    EXPECT_FLOAT_EQ(compile(grad(gradient))(w0, x0).template item<float>(), 180);
    EXPECT_FLOAT_EQ(forward(f, w0)(x0).template item<float>(), 450);
    EXPECT_THAT(floats(vmap(forward(f, w0))(tensor({1.0f, 2.0f}))).at(0), 450);
  };
  check(in_turns);
  check(in_a_scan);
  check(in_branches);
  EXPECT_FLOAT_EQ(forward(while_below, w0)(x0).item<float>(), 450);
  EXPECT_FLOAT_EQ(compile(forward(while_below, w0))(x0).item<float>(), 450);
}

// A loop inside of a branch takes a constant from outside whose derivative a program says to be 10.
TEST_P(ControlFlowTest, ConstantsWithDerivativesOfTheirOwnAreOperands) {
  const auto three = custom_vjp([](const Tensor& x) { return full(x.shape(), 3.0f); },
                                [](const std::tuple<Tensor>&, const Tensor&, const Tensor& g) { return g * 10; });
  const auto f = [&](const Tensor& x) {
    const auto looped = [&](const Tensor& v) {
      const Tensor c = three(v);
      return fori_loop(0, 2, [&](const Tensor&, const Tensor& s) { return s + c; }, v);
    };
    return cond(x > 0, looped, [](const Tensor& v) { return v; }, x);
  };
  EXPECT_EQ(f(number(1)).item<float>(), 7);
  EXPECT_EQ(compile(f)(number(1)).item<float>(), 7);
  EXPECT_EQ(grad(f)(number(1)).item<float>(), 21);
  EXPECT_EQ(compile(grad(f))(number(1)).item<float>(), 21);
}

TEST_P(ControlFlowTest, ForwardDerivativesOfWhileLoops) {
  // a's square root by Newton's method: the derivative converges, too.
  const auto root = [](const Tensor& a) {
    return while_loop([&](const Tensor& x) { return abs(x * x - a) > 1e-5f * a; },
                      [&](const Tensor& x) { return (x + a / x) * 0.5f; }, a);
  };
  const auto [y, dy] = jvp(root)(number(2), number(1));
  EXPECT_NEAR(y.item<float>(), std::sqrt(2.0), 1e-5);
  EXPECT_NEAR(dy.item<float>(), 0.5 / std::sqrt(2.0), 1e-3);
  EXPECT_THAT(thrown_by([&] { grad(root)(number(2)); }),
              testing::AllOf(HasSubstr("Unsupported"), HasSubstr("while_loop"), HasSubstr("control_flow_test.cc")));
}

TEST_P(ControlFlowTest, BatchesOfBranches) {
  const Tensor x = tensor({1.0f, -2.0f, 3.0f});
  const auto f = [](const Tensor& t) {
    return cond(t > 0, [](const Tensor& u) { return sqrt(u); }, [](const Tensor& u) { return u * 10; }, t);
  };
  EXPECT_THAT(floats(vmap(f)(x)), ElementsAre(1, -20, std::sqrt(3.0f)));
  const auto shared = [](const Tensor& p, const Tensor& t) {
    return cond(p, [&] { return t * 2; }, [&] { return ones_like(t); });
  };
  const BatchAxes axes{{std::nullopt, 0}};
  EXPECT_THAT(floats(vmap(shared, axes)(full({}, true, DType::boolean), x)), ElementsAre(2, -4, 6));
  EXPECT_THAT(floats(vmap(shared, axes)(full({}, false, DType::boolean), x)), ElementsAre(1, 1, 1));
  EXPECT_THAT(floats(vmap(grad(f))(x)), Pointwise(FloatNear(1e-6f), {0.5f, 10.0f, 0.5f / std::sqrt(3.0f)}));
}

TEST_P(ControlFlowTest, BatchesOfLoops) {
  // Each entry stops by itself.
  const auto doublings = [](const Tensor& t) {
    using State = std::pair<Tensor, Tensor>;
    return while_loop([](const State& s) { return s.first < 100; },
                      [](const State& s) { return State(s.first * 2, s.second + 1); }, State(t, zeros({}, DType::i32)))
        .second;
  };
  EXPECT_THAT(ints(vmap(doublings)(tensor({1.0f, 60.0f, 200.0f}))), ElementsAre(7, 1, 0));
  // The carry has a batch only after the first turn.
  const auto sums = [](const Tensor& xs) {
    return scan([](const Tensor& s, const Tensor& x) { return std::pair(s + x, s * x); }, number(0), xs);
  };
  const Tensor xs = reshape(arange(0, 6, 1, DType::f32), {2, 3});
  const auto [last, products] = vmap(sums)(xs);
  EXPECT_THAT(floats(last), ElementsAre(3, 12));
  EXPECT_EQ(products.shape(), (Shape{2, 3}));
  EXPECT_THAT(floats(products), ElementsAre(0, 0, 2, 0, 12, 35));
  const auto gradients = vmap(grad([&](const Tensor& t) { return sum(sums(t).second); }))(xs);
  // s0 x1 + s1 x2 ... = x0 x1 + (x0 + x1) x2
  EXPECT_THAT(floats(gradients), ElementsAre(3, 2, 1, 9, 8, 7));
}

// ---- What a run does

TEST_P(ControlFlowTest, TheReportShowsBlocks) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {4});
  const Tensor a = fori_loop(0, 9, [](const Tensor&, const Tensor& s) { return sin(s); }, x);
  const Tensor b = while_loop([](const Tensor& s) { return sum(s) < 10; }, [](const Tensor& s) { return s + 1; }, a);
  graph.output("y", b);
  const auto report = compile(graph, device).report();
  ASSERT_EQ(report.blocks.size(), 2u);
  EXPECT_EQ(report.blocks[0].turns, 9);
  EXPECT_FALSE(report.blocks[0].waits);
  EXPECT_FALSE(report.blocks[1].turns);
  EXPECT_EQ(report.blocks[1].waits, device.is_gpu());
  EXPECT_THAT(report.blocks[1].label, HasSubstr("while_loop"));
  // A turn of the first loop is one step, in place.
  EXPECT_EQ(report.blocks[0].end - report.blocks[0].first, 1);
}

// What the loop back needs of the loop forth comes out of that one.
TEST_P(ControlFlowTest, ALoopAndItsGradientAreTwoLoops) {
  const auto path = [](const Tensor& x) {
    return sum(scan([](const Tensor& s, const Tensor& u) { return std::pair(sin(s) * u, s); }, sum(x), x).second);
  };
  const Graph graph = compile(value_and_grad(path)).graph(ones({5}));
  EXPECT_EQ(compile(graph, device).report().blocks.size(), 2u);
}

// Results that a graph gives outside are written where the caller wants them.
TEST_P(ControlFlowTest, LoopsThatWriteOutputs) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {3});
  const Tensor y = fori_loop(0, 2, [](const Tensor&, const Tensor& s) { return s * 3; }, x);
  graph.output("y", y);
  graph.output("again", y);
  graph.output("z", y + x);
  CompileOptions options;
  options.donate = {{"x", "y"}};
  for (const bool donated : {false, true}) {
    Executable run = compile(graph, device, donated ? options : CompileOptions());
    Tensor in = to(tensor({1.0f, 2.0f, 3.0f}), device), out(device, DType::f32, {3});
    Tensor again(device, DType::f32, {3}), z(device, DType::f32, {3});
    Tensor& target = donated ? in : out;
    run.run({{"x", in}}, {{"y", target}, {"again", again}, {"z", z}}).get();
    EXPECT_THAT(floats(target), ElementsAre(9, 18, 27));
    EXPECT_THAT(floats(again), ElementsAre(9, 18, 27));
    EXPECT_THAT(floats(z), ElementsAre(10, 20, 30));
  }
}

// Saved graphs hold those of their branches and loops, and their constants.
TEST_P(ControlFlowTest, Files) {
  const Tensor table = Graph::constant(TensorData::of<float>({3}, std::vector{1.0f, 2.0f, 4.0f}), "table");
  const auto f = [&](const Tensor& x) {
    return fori_loop(
        0, 3,
        [&](const Tensor& i, const Tensor& s) {
          return cond(sum(s) < 20, [&] { return s + gather(table, i); }, [&] { return sin(s); });
        },
        x);
  };
  const auto step = [](const Tensor& s, const Tensor& u) {
    return std::pair(
        while_loop([](const Tensor& v) { return v < 8; }, [&](const Tensor& v) { return v * 2 + u * u; }, s), s);
  };
  const auto whole = [&](const Tensor& x) {
    const auto [last, all] = scan(step, sum(f(x)), x);
    return concat({f(x), reshape(last, {1}), all});
  };
  const Tensor x = tensor({1.0f, 3.0f});
  const Graph graph = compile(whole).graph(x);
  const TempDir dir;
  save(dir.path() / "graph.safetensors", graph);
  const Graph loaded = load_graph(dir.path() / "graph.safetensors");
  EXPECT_TRUE(loaded.equals(graph));
  const Tensor y(device, DType::f32, {5});
  compile(loaded, device).run(std::vector{to(x, device)}, std::vector{y}).get();
  EXPECT_THAT(floats(y), Pointwise(FloatNear(1e-5f), floats(whole(x))));
  // A graph of a gradient, too.
  const Graph backward = compile(grad([&](const Tensor& t) { return sum(f(t)); })).graph(x);
  save(dir.path() / "gradient.safetensors", backward);
  EXPECT_TRUE(load_graph(dir.path() / "gradient.safetensors").equals(backward));
}

TEST_P(ControlFlowTest, Errors) {
  const Tensor x = tensor({1.0f, 2.0f});
  const auto same = [](const Tensor& t) { return t; };
  EXPECT_THAT(thrown_by([&] { cond(x > 0, same, same, x); }),
              HasSubstr("cond: the predicate is bool [2], expected one bool"));
  EXPECT_THAT(thrown_by([&] { cond(sum(x), same, same, x); }),
              HasSubstr("cond: the predicate is f32 [], expected one bool"));
  EXPECT_THAT(thrown_by([&] { cond(any(x > 0), same, [](const Tensor& t) { return sum(t); }, x); }),
              HasSubstr("cond: the second branch gives f32 [] for tensor 0, expected f32 [2], as the first"));
  EXPECT_THAT(thrown_by([&] { while_loop([](const Tensor& t) { return t > 0; }, same, x); }),
              HasSubstr("while_loop: what the condition gives is bool [2]"));
  EXPECT_THAT(thrown_by([&] {
                fori_loop(
                    0, 3, [](const Tensor& i, const Tensor& t) { return t.shape() == Shape{} ? t : sum(t) + i; }, x);
              }),
              HasSubstr("fori_loop: the body gives f32 [] for tensor 0, expected f32 [2], as it takes"));
  EXPECT_THAT(
      thrown_by([&] { fori_loop(0, std::int64_t{1} << 32, [](const Tensor&, const Tensor& t) { return t; }, x); }),
      HasSubstr("indices have 32 bits"));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const auto& [first, end] : {std::pair(-kMost - 1, kMost), std::pair(kMost - 2, kMost),
                                   std::pair(-kMost, -kMost + 2), std::pair(std::int64_t{-5}, std::int64_t{1} << 31)}) {
    EXPECT_THAT(thrown_by([&] { fori_loop(first, end, [](const Tensor&, const Tensor& t) { return t; }, x); }),
                HasSubstr("indices have 32 bits"));
  }
  EXPECT_THAT(thrown_by([&] { scan([](const Tensor& c) { return std::pair(c, c); }, x, std::int64_t{1} << 62); }),
              HasSubstr("indices have 32 bits"));
  EXPECT_THAT(thrown_by([&] {
                scan([](const Tensor& c, const std::pair<Tensor, Tensor>& s) { return std::pair(c, s.first); }, x,
                     std::pair(x, zeros({3})));
              }),
              HasSubstr("scan: a tensor f32 [3] has 3 slices, one before it 2"));
  EXPECT_THAT(thrown_by([&] { scan([](const Tensor& c, const Tensor&) { return std::pair(c, c); }, x, number(1)); }),
              HasSubstr("scan: f32 [] has no axis to go along"));
  EXPECT_THAT(thrown_by([&] {
                cond(any(x > 0), [](const Tensor& t) { return t.item<float>() > 0 ? t : -t; }, same, number(1));
              }),
              HasSubstr("InvalidArgument"));
}

}  // namespace
}  // namespace weft::test
