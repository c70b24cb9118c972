// Functions that are compiled when they are called.
#include "weft/traced.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "compiler/bound.h"
#include "support/dawn_counters.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"
#include "weft/random.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

class TracedTest : public testing::TestWithParam<std::string> {
 protected:
  TracedTest() { set_default_device(device); }
  ~TracedTest() override { set_default_device(before_); }
  Device before_ = default_device();
  Device device = device_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Devices, TracedTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(TracedTest, TracesOncePerTypes) {
  int traced = 0;
  const auto f = compile([&](const Tensor& a, const Tensor& b) {
    ++traced;
    return exp(a) * b;
  });
  const Tensor x = tensor({2}, {0, 1}), y = tensor({2}, {3, 5});
  for (int i = 0; i < 3; ++i) {
    const Tensor z = f(x, y);
    EXPECT_TRUE(z.has_data());
    EXPECT_THAT(z.read<float>(), ElementsAre(FloatNear(3, 1e-5f), FloatNear(5 * std::exp(1.0f), 1e-4f)));
  }
  EXPECT_THAT(f(y, x).read<float>()[0], FloatNear(0, 1e-5f)) << "the arguments of the call, not those of the trace";
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(f.cached(), 1u);
  f(x, tensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  f(x, cast(y, DType::i32));
  EXPECT_EQ(traced, 3);
  EXPECT_EQ(f.cached(), 3u);
  const auto copy = f;
  copy(x, y);
  EXPECT_EQ(traced, 3) << "copies share what was compiled";
  copy.clear();
  EXPECT_EQ(f.cached(), 0u);
  f(x, y);
  EXPECT_EQ(traced, 4);
}

TEST_P(TracedTest, GenericFunctionsAndStaticArguments) {
  int traced = 0;
  const auto f = compile([&](auto x, auto factor, const std::string& name, bool twice) {
    ++traced;
    const auto y = name == "square" ? x * x : x + factor;
    return twice ? y * 2.0 : y;
  });
  const Tensor x = tensor({2}, {3, 4});
  EXPECT_THAT(f(x, 1.0f, "square", false).template read<float>(), ElementsAre(9, 16));
  EXPECT_THAT(f(x, 1.0f, "square", true).template read<float>(), ElementsAre(18, 32));
  EXPECT_THAT(f(x, 1.0f, "add", true).template read<float>(), ElementsAre(8, 10));
  EXPECT_THAT(f(x, 2.0f, "add", true).template read<float>(), ElementsAre(10, 12));
  EXPECT_EQ(traced, 4);
  EXPECT_THAT(f(x, 2.0f, std::string("add"), true).template read<float>(), ElementsAre(10, 12));
  EXPECT_THAT(f(x, 2, "add", true).template read<float>(), ElementsAre(10, 12));
  EXPECT_EQ(traced, 6) << "other types of C++ are other functions";
  EXPECT_THAT(f(x, x, "add", false).template read<float>(), ElementsAre(6, 8)) << "one tensor twice";
  EXPECT_THAT(f(x, 0.0, "add", false).template read<float>(), ElementsAre(3, 4));
  EXPECT_THAT(f(x, std::numeric_limits<double>::quiet_NaN(), "square", false).template read<float>(),
              ElementsAre(9, 16));
  const int before = traced;
  f(x, std::numeric_limits<double>::quiet_NaN(), "square", false);
  EXPECT_EQ(traced, before) << "equal bits are equal";
  f(x, -0.0, "add", false);
  EXPECT_EQ(traced, before + 1);
}

enum class Activation { none, negate };
struct Layer {
  Tensor weight;
  std::optional<Tensor> bias;
  Activation activation = Activation::none;
};
struct Model {
  std::vector<Layer> layers;
  std::map<std::string, Tensor> extra;
  std::string name;
  std::array<Tensor, 2> scales;
};
struct Outcome {
  Tensor y;
  std::pair<Tensor, int> depth;
  std::tuple<std::vector<Tensor>, std::optional<Tensor>, bool> parts;
  std::map<std::string, Tensor> named;
};
struct Sixteen {
  Tensor a, b, c, d, e, f, g, h, i, j, k, l, m, n, o;
  int p = 7;
};

Outcome run_model(const Model& model, Tensor x) {
  Outcome out;
  for (const Layer& layer : model.layers) {
    x = matmul(x, layer.weight);
    if (layer.bias) x = x + *layer.bias;
    if (layer.activation == Activation::negate) x = -x;
    std::get<0>(out.parts).push_back(x);
  }
  x = x * model.scales[0] + model.scales[1];
  out.y = x;
  out.depth = {x.sum(), static_cast<int>(model.layers.size())};
  std::get<2>(out.parts) = model.name == "m";
  out.named = model.extra;
  out.named["double"] = model.extra.at("e") * 2.0;
  return out;
}

TEST_P(TracedTest, StructuresOfTensors) {
  Model model;
  model.layers.push_back({tensor({2, 2}, {1, 2, 3, 4}), tensor({2}, {10, 20}), Activation::none});
  model.layers.push_back({tensor({2, 2}, {0, 1, 1, 0}), std::nullopt, Activation::negate});
  model.extra["e"] = tensor({1}, {5});
  model.name = "m";
  model.scales = {tensor({1}, {2}), tensor({1}, {0.5f})};
  const auto f = compile(run_model);
  const auto check = [&](const Outcome& out, float sign) {
    EXPECT_THAT(out.y.read<float>(), ElementsAre(sign * 52 + 0.5f, sign * 28 + 0.5f));
    EXPECT_THAT(out.depth.first.item<float>(), FloatNear(sign * 80 + 1, 1e-4f));
    EXPECT_EQ(out.depth.second, 2);
    const auto& [steps, none, named_m] = out.parts;
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_THAT(steps[0].read<float>(), ElementsAre(14, 26));
    EXPECT_FALSE(none.has_value());
    EXPECT_TRUE(named_m);
    EXPECT_TRUE(same(out.named.at("e"), model.extra["e"])) << "what is passed through is the argument";
    EXPECT_THAT(out.named.at("double").read<float>(), ElementsAre(10));
  };
  const Tensor x = tensor({1, 2}, {1, 1});
  check(f(model, x), -1);
  check(f(model, x), -1);
  EXPECT_EQ(f.cached(), 1u);
  model.layers[1].activation = Activation::none;
  check(f(model, x), 1);
  EXPECT_EQ(f.cached(), 2u);
  model.layers[0].bias.reset();
  EXPECT_THAT(f(model, x).y.read<float>(), ElementsAre(12.5f, 8.5f));
  model.layers.pop_back();
  EXPECT_EQ(f(model, x).depth.second, 1);
  EXPECT_EQ(f.cached(), 4u);

  const auto g =
      compile([](const Sixteen& s, std::vector<bool> which) { return std::pair(which[1] ? s.a - s.o : s.o - s.a, s); });
  Sixteen s;
  s.a = tensor({1}, {1});
  s.o = tensor({1}, {4});
  EXPECT_THAT(g(s, std::vector{true, false}).first.read<float>(), ElementsAre(3));
  const auto [difference, back] = g(s, std::vector{true, true});
  EXPECT_THAT(difference.read<float>(), ElementsAre(-3));
  EXPECT_FALSE(back.b.defined());
  EXPECT_EQ(back.p, 7);
  EXPECT_TRUE(same(back.o, s.o));
}

TEST_P(TracedTest, ResultsThatAreNotComputed) {
  const Tensor w = tensor({2}, {7, 8});
  const auto f = compile([&](const Tensor& a, const Tensor& missing) {
    const Tensor y = a + 1.0;
    return std::vector<Tensor>{a, y, y, missing, w, w + 1.0, a.T(), Graph::scalar(3, DType::i32)};
  });
  const Tensor x = tensor({1, 2}, {1, 2});
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> r = f(x, Tensor());
    EXPECT_TRUE(same(r[0], x));
    EXPECT_THAT(r[1].read<float>(), ElementsAre(2, 3));
    EXPECT_TRUE(same(r[1], r[2])) << "one result used twice is one tensor";
    EXPECT_FALSE(r[3].defined());
    EXPECT_TRUE(same(r[4], w));
    EXPECT_THAT(r[5].read<float>(), ElementsAre(8, 9));
    EXPECT_EQ(r[6].shape(), (Shape{2, 1}));
    EXPECT_THAT(r[6].read<float>(), ElementsAre(1, 2));
    EXPECT_EQ(r[7].item<int>(), 3);
  }
  const auto identity = compile([](Tensor a) { return a; });
  EXPECT_THAT(identity(x + 1.0).read<float>(), ElementsAre(2, 3));
  EXPECT_TRUE(identity(x + 1.0).has_data());
}

TEST_P(TracedTest, ArgumentsThatNothingNeeds) {
  const auto f = compile([](const Tensor& a, const Tensor&, std::optional<Tensor> c) { return c ? *c * a : a * 2.0; });
  const Tensor x = tensor({2}, {1, 2}), unused = tensor({3}, {1, 1, 1});
  EXPECT_THAT(f(x, unused, std::nullopt).read<float>(), ElementsAre(2, 4));
  EXPECT_THAT(f(x, unused, std::optional(x)).read<float>(), ElementsAre(1, 4));
  EXPECT_THAT(f(x, unused, x).read<float>(), ElementsAre(1, 4));
  EXPECT_EQ(f.cached(), 3u) << "C++ types count: a tensor is not an optional one";
}

TEST_P(TracedTest, NoTensorAmongTheArguments) {
  const auto f = compile([](int n, const Shape& shape) { return arange(n).reshape(shape) + ones({1}); });
  EXPECT_THAT(f(6, Shape{2, 3}).read<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(f(6, Shape{3, 2}).shape(), (Shape{3, 2}));
  EXPECT_EQ(f(6, Shape{2, 3}).device(), device);
  EXPECT_EQ(f.cached(), 2u);
  const auto zero = compile([] { return zeros({2}); });
  EXPECT_THAT(zero().read<float>(), Each(0));
}

TEST_P(TracedTest, CapturedTensorsAreOperands) {
  Tensor w = tensor({2}, {1, 2});
  const Tensor lazy = exp(w * 0.0) + 4.0, shown = reshape(w, {1, 2});
  const auto f = compile([&](const Tensor& x) { return x * w + lazy + shown.reshape({2}) + tensor({1}, {100}); });
  const Tensor x = tensor({2}, {1, 1});
  EXPECT_FALSE(lazy.has_data());
  EXPECT_THAT(f(x).read<float>(), ElementsAre(107, 109));
  EXPECT_TRUE(lazy.has_data()) << "it is not computed in each call";
  const std::vector<float> other = {10, 20};
  w.write(std::as_bytes(std::span(other)));
  EXPECT_THAT(f(x).read<float>(), ElementsAre(125, 145)) << "read as they are at each call";
  EXPECT_EQ(f.cached(), 1u);
}

// A variable that is captured by reference and given another tensor: the old one, which nobody holds, tells that.
TEST_P(TracedTest, CapturedVariablesThatChange) {
  Tensor w = tensor({2}, {1, 2});
  int traced = 0;
  const auto f = compile([&](const Tensor& x) {
    ++traced;
    return x * w;
  });
  const auto g = compile([&](const Tensor& x) { return std::pair(x + w, w); });
  const Tensor x = tensor({2}, {1, 1}), longer = tensor({2, 2}, {1, 1, 1, 1});
  const auto expect = [&](float a, float b) {
    EXPECT_THAT(f(x).read<float>(), ElementsAre(a, b));
    EXPECT_THAT(f(longer).read<float>(), ElementsAre(a, b, a, b));
    const auto [sum, itself] = g(x);
    EXPECT_THAT(sum.read<float>(), ElementsAre(1 + a, 1 + b));
    EXPECT_THAT(itself.read<float>(), ElementsAre(a, b));
  };
  expect(1, 2);
  expect(1, 2);
  EXPECT_EQ(traced, 2);
  w.set({0}, 5);
  expect(5, 2);
  w = tensor({2}, {7, 8});
  expect(7, 8);
  w *= 2;  // not evaluated before the call
  expect(14, 16);
  const std::vector<float> written = {3, 4};
  w.write(std::as_bytes(std::span(written)));
  const int before = traced;
  expect(3, 4);
  EXPECT_EQ(traced, before) << "what is written is read without tracing";
  w = arange(2.0);
  expect(0, 1);
  w = arange(1.0, 3.0);
  expect(1, 2);
  w = w.reshape({2, 1});
  EXPECT_THAT(f(x).read<float>(), ElementsAre(1, 1, 2, 2)) << "also of another shape";
  EXPECT_EQ(f.cached(), 2u);

  // By value: the function holds it.
  Tensor v = tensor({2}, {1, 2});
  const auto h = compile([v, &traced](const Tensor& y) {
    ++traced;
    return y * v;
  });
  (void)h(x);
  v = tensor({2}, {9, 9});
  const int once = traced;
  EXPECT_THAT(h(x).read<float>(), ElementsAre(1, 2));
  EXPECT_EQ(traced, once);
}

TEST_P(TracedTest, ArgumentsAreEvaluatedFirst) {
  const auto f = compile([](const Tensor& a, const Tensor& b) { return a - b; });
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4}), a = x * 2.0, b = a.T();
  EXPECT_THAT(f(a, b).read<float>(), ElementsAre(0, -2, 2, 0));
  EXPECT_TRUE(a.has_data());
  EXPECT_THAT(f(x[0], x[1]).read<float>(), ElementsAre(-2, -2));
  EXPECT_THAT(f(full({2}, 3), ones({2})).read<float>(), ElementsAre(2, 2));
}

TEST_P(TracedTest, InsideOfOthersAndOnGraphsItIsAnOrdinaryCall) {
  int traced = 0;
  const auto inner = compile([&](const Tensor& x) {
    ++traced;
    return x * 3.0;
  });
  const auto outer = compile([&](const Tensor& x) { return inner(x + 1.0) + inner(tensor({1}, {10})); });
  const Tensor x = tensor({2}, {1, 2});
  EXPECT_THAT(outer(x).read<float>(), ElementsAre(36, 39));
  EXPECT_THAT(outer(x).read<float>(), ElementsAre(36, 39));
  EXPECT_EQ(traced, 2);
  EXPECT_EQ(inner.cached(), 0u);
  Graph graph;
  const Tensor input = graph.input("x", DType::f32, {2});
  EXPECT_FALSE(inner(input).has_data());
  const Tensor y = inner(input + 1.0);
  EXPECT_FALSE(y.has_data());
  graph.output("y", y);
  Executable exe = compile(graph, device);
  const Tensor result = zeros({2}) + 0.0;
  eval(result);
  exe.run({{"x", x}}, {{"y", result}});
  EXPECT_THAT(result.read<float>(), ElementsAre(6, 9));
  EXPECT_EQ(inner.cached(), 0u);
}

TEST_P(TracedTest, ValuesAreNotThereWhileTracing) {
  int calls = 0;
  bool reads = true;
  const auto f = compile([&](const Tensor& x, const Tensor& y) {
    ++calls;
    const Tensor z = x + y;
    return reads && z.item<float>() > 0 ? z : z * 2.0;
  });
  const Tensor x = tensor({1}, {1});
  EXPECT_THAT(refused_by([&] { f(x, x); }),
              AllOf(HasSubstr("argument "), HasSubstr("while compile() or vmap() traces")));
  EXPECT_EQ(f.cached(), 0u);
  EXPECT_THAT(refused_by([&] { f(x, x); }), HasSubstr("while compile() or vmap() traces"));
  EXPECT_EQ(calls, 2) << "nothing is kept of a failed trace";
  reads = false;
  EXPECT_THAT(f(x, x).read<float>(), ElementsAre(4));
  EXPECT_EQ(f.cached(), 1u);

  const auto draws = compile([](const Tensor& a) { return a + random::uniform({1}); });
  EXPECT_THAT(refused_by([&] { draws(x); }), HasSubstr("give the function a key"));
  const auto keyed =
      compile([](const Tensor& a, const Tensor& key) { return a + random::uniform({1}, 0, 1, DType::f32, key); });
  EXPECT_NE(keyed(x, random::key(1)).item<float>(), keyed(x, random::key(2)).item<float>());
  EXPECT_EQ(keyed.cached(), 1u);

  const auto throws = compile([](const Tensor&) -> Tensor { throw std::runtime_error("no"); });
  EXPECT_THROW(throws(x), std::runtime_error);
  EXPECT_EQ(throws.cached(), 0u);
  EXPECT_THAT((x + 1.0).read<float>(), ElementsAre(2)) << "no trace is left open";
}

TEST_P(TracedTest, Options) {
  const auto square = [](const Tensor& x) { return x * x; };
  EXPECT_THAT(refused_by([&] { compile(square, {.donate = {{"x", "y"}}}); }), HasSubstr("donate"));
  const auto f = compile(square, {.fusion = false});
  EXPECT_THAT(f(tensor({1}, {3})).read<float>(), ElementsAre(9));
}

TEST_P(TracedTest, TensorsOfTwoDevices) {
  const Device other = device.is_gpu()          ? Device::cpu()
                       : device_names().empty() ? Device::cpu()
                                                : device_named(device_names()[0]);
  if (other == device) GTEST_SKIP() << "there is no second device";
  const auto f = compile([](const Tensor& a, const Tensor& b) { return a + b; });
  const Tensor here = tensor({1}, {1}), there = to(here, other);
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const DeviceError& e) {
      return std::string(e.what());
    }
    return std::string("no DeviceError");
  };
  EXPECT_THAT(message([&] { f(here, there); }), AllOf(HasSubstr(device.name()), HasSubstr(other.name())));
  EXPECT_EQ(f(there, there).device(), other);
  EXPECT_EQ(f(here, here).device(), device);
  EXPECT_EQ(f.cached(), 2u);
  const auto captures = compile([&](const Tensor& a) { return a + there; });
  EXPECT_THAT(message([&] { captures(here); }), AllOf(HasSubstr(device.name()), HasSubstr(other.name())));
  EXPECT_EQ(captures.cached(), 0u);
}

TEST_P(TracedTest, ExecutablesOfALostDeviceGo) {
  if (!device.is_gpu()) GTEST_SKIP() << "the cpu is never lost";
  const auto f = compile([](const Tensor& a) { return a * 2.0; });
  const std::vector<float> values = {1, 2};
  const auto on = [&](const Device& d) {
    Tensor t(d, DType::f32, {2});
    t.write(std::as_bytes(std::span(values)));
    return t;
  };
  {
    const Device lost = gpu::Device::open(like(device.gpu()));
    const Tensor x = on(lost);
    EXPECT_THAT(f(x).read<float>(), ElementsAre(2, 4));
    lost.gpu().webgpu().Destroy();
    EXPECT_THROW(f(x).read<float>(), DeviceLost);
  }
  EXPECT_EQ(f.cached(), 1u);
  EXPECT_THAT(f(on(device)).read<float>(), ElementsAre(2, 4));
  EXPECT_EQ(f.cached(), 1u) << "the lost one's was dropped";
}

TEST_P(TracedTest, ARepeatedCallMakesNothing) {
  const auto f = compile([](const Tensor& x, const Tensor& w) {
    const Tensor y = matmul(x, w);
    return std::pair(exp(y - max(y, 1, true)), y.sum());
  });
  const Tensor x = full({64, 64}, 0.5) + 0.0, w = full({64, 64}, 0.25) + 0.0;
  const auto step = [&] {
    const auto [y, total] = f(x, w);
    EXPECT_THAT(y.read<float>(), Each(1));
    EXPECT_THAT(total.item<float>(), FloatNear(64 * 64 * 8, 1));
  };
  for (int i = 0; i < 3; ++i) step();
  const DawnCounters before = DawnCounters::now();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ((DawnCounters::now() - before).created(), 0u) << (DawnCounters::now() - before).text();
}

TEST_P(TracedTest, ThreadsTraceOnce) {
  std::atomic<int> traced = 0;
  const auto f = compile([&](const Tensor& x) {
    ++traced;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return x * 2.0;
  });
  const Tensor a = tensor({2}, {1, 2}), b = tensor({3}, {1, 2, 3});
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 10; ++k) {
        if (i % 2)
          right += f(a).read<float>() == std::vector<float>{2, 4};
        else
          right += f(b).read<float>() == std::vector<float>{2, 4, 6};
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(traced, 2);
  EXPECT_EQ(right, 80);
  EXPECT_EQ(f.cached(), 2u);
}

TEST_P(TracedTest, TheLeastRecentlyUsedGoFirst) {
  const auto f = compile([](const Tensor& x, int i) { return x * static_cast<double>(i); });
  const Tensor x = tensor({1}, {1});
  for (int i = 0; i < 300; ++i) {
    EXPECT_THAT(f(x, i).read<float>(), ElementsAre(static_cast<float>(i)));
    f(x, 0);
  }
  EXPECT_EQ(f.cached(), 256u);
}

}  // namespace
}  // namespace weft::test
