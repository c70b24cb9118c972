// Graphs on inputs of any shapes, on every device.
#include "weft/dynamic_executable.h"

#include <gmock/gmock.h>

#include <thread>

#include "compiler/constant_store.h"
#include "support/dawn_counters.h"
#include "support/on_device.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/creation.h"
#include "weft/graph_file.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::FloatNear;
using testing::Pointwise;

class DynamicExecutableTest : public OnDevice {
 protected:
  // Two outputs of one input, with constants: a layer of a transformer.
  static Graph layer(const Shape& shape) {
    Graph graph("layer");
    const Tensor x = graph.input("x", DType::f32, shape);
    const auto heads = [&](int k) { return permute(unflatten(matmul(x, weights(k)), -1, {4, -1}), {0, 2, 1, 3}); };
    const Tensor mixed = attention(heads(0), heads(1), heads(2), {}, {.scale = 0.5f});
    const Tensor inner =
        layer_norm(x + matmul(flatten_axes(permute(mixed, {0, 2, 1, 3}), 2), weights(3)), {}, {}, 1e-5);
    graph.output("inner", inner);
    graph.output("y", gelu(matmul(inner, weights(4))));
    return graph;
  }
  static Tensor weights(int k) {
    static const std::vector<TensorData> data = [] {
      std::vector<TensorData> all;
      for (unsigned i = 0; i < 5; ++i) all.push_back(noise({16, 16}, i + 1, 0.3f));
      return all;
    }();
    return Graph::constant(data[static_cast<std::size_t>(k)], "w");
  }
  Tensor noisy(const Shape& shape, unsigned seed = 9) const {
    const TensorData data = noise(shape, seed);
    return tensor(data.dtype, data.shape, data.bytes);
  }
  // What a graph gives that was recorded for the shape.
  std::vector<std::vector<float>> expected(const Tensor& x) const {
    Executable exe = compile(layer(x.shape()), device);
    std::vector<Tensor> outputs;
    for (int i = 0; i < 2; ++i) outputs.emplace_back(device, DType::f32, x.shape());
    exe.run(std::span(&x, 1), outputs);
    return {outputs[0].read<float>(), outputs[1].read<float>()};
  }
  static void expect_near(const Tensor& got, const std::vector<float>& want) {
    EXPECT_THAT(got.read<float>(), Pointwise(FloatNear(2e-5f), want));
  }
};

TEST_P(DynamicExecutableTest, TakesAnyShapes) {
  const DynamicExecutable dynamic(layer({2, 6, 16}), device);
  EXPECT_EQ(dynamic.compilations(), 0u);
  EXPECT_EQ(dynamic.device(), device);
  EXPECT_EQ(dynamic.graph().name(), "layer");
  const std::vector<Shape> shapes = {{2, 6, 16}, {1, 6, 16}, {3, 6, 16}, {0, 6, 16}, {2, 11, 16}, {1, 1, 16}};
  for (int turn = 0; turn < 2; ++turn) {
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(to_string(shape));
      const Tensor x = noisy(shape);
      const std::vector<Tensor> made = dynamic.run({{"x", x}});
      ASSERT_EQ(made.size(), 2u);
      ASSERT_EQ(made[0].shape(), shape);
      const auto want = expected(x);
      expect_near(made[0], want[0]);
      expect_near(made[1], want[1]);
    }
    EXPECT_EQ(dynamic.compilations(), shapes.size());
    EXPECT_EQ(dynamic.cached(), shapes.size());
  }
}

TEST_P(DynamicExecutableTest, EvaluatesItsInputs) {
  const DynamicExecutable dynamic(layer({2, 6, 16}), device);
  const Tensor whole = noisy({3, 5, 16}), x = whole * 2, view = whole[{slice(1, none)}];
  const std::vector<Tensor> all = {x, view};
  for (const Tensor& t : all) {
    const std::vector<Tensor> made = dynamic.run(std::span(&t, 1));
    const Tensor copy = contiguous(t);
    eval(copy);
    expect_near(made[1], expected(copy)[1]);
  }
}

TEST_P(DynamicExecutableTest, NumbersAndSeveralInputs) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {2, 3}), y = graph.input("y", DType::f32, {3});
  const Tensor rate = graph.number("rate");
  graph.output("z", x * rate + y);
  graph.output("x", x);
  const DynamicExecutable dynamic(graph, device);
  const Tensor a = full({4, 2}, 3.0f), b = full({2}, 1.0f), c = full({1}, 1.0f), d = full({5}, 1.0f);
  eval({a, b, c, d});
  std::vector<Tensor> made = dynamic.run({{"y", b}, {"x", a}}, {{"rate", 2}});
  EXPECT_THAT(made[0].read<float>(), Each(7));
  EXPECT_EQ(made[0].shape(), (Shape{4, 2}));
  EXPECT_THAT(made[1].read<float>(), Each(3));
  EXPECT_FALSE(same(made[1], a));
  made = dynamic.run(std::vector{a, c}, std::vector<Number>{4});
  EXPECT_THAT(made[0].read<float>(), Each(13));
  EXPECT_EQ(dynamic.compilations(), 2u);
  EXPECT_EQ(message_of([&] { dynamic.run({{"x", a}}, {{"rate", 1}}); }), "run: input \"y\" is missing");
  EXPECT_EQ(message_of([&] { dynamic.run({{"x", a}, {"y", b}}); }), "run: number \"rate\" is missing");
  EXPECT_EQ(message_of([&] { dynamic.run({{"x", a}, {"x", a}}, {{"rate", 1}}); }), "run: input \"x\" is given twice");
  EXPECT_EQ(message_of([&] { dynamic.run({{"q", a}}, {{"rate", 1}}); }),
            "run: the graph has no input \"q\"; there are \"x\", \"y\"");
  EXPECT_THROW(dynamic.run(std::vector{a}), InvalidArgument);
  EXPECT_THROW(dynamic.run(std::vector{a, Tensor()}, std::vector<Number>{1}), InvalidArgument);
  EXPECT_THROW(dynamic.run(std::vector{a, cast(b, DType::i32)}, std::vector<Number>{1}), TypeError);
  EXPECT_THROW(dynamic.run(std::vector{b, b}, std::vector<Number>{1}), ShapeError);
  // Shapes that do not fit each other are no form, and the next ones work.
  EXPECT_THROW(dynamic.run(std::vector{a, d}, std::vector<Number>{1}), ShapeError);
  EXPECT_EQ(dynamic.cached(), 2u);
  EXPECT_THAT(dynamic.run(std::vector{a, b}, std::vector<Number>{1})[0].read<float>(), Each(4));
  EXPECT_THROW(DynamicExecutable(Graph(), device), InvalidArgument);
}

// Constants are on the device once, and kernels that are there are not compiled again.
TEST_P(DynamicExecutableTest, ANewShapeMakesNoConstantAndNoPipelineThatIsThere) {
  CompileOptions options;
  options.constants = make_constant_store(device);
  // Of one that is kept: all others are compiled again. Which sizes share kernels is the device's choice, so that these
  // sizes were there before.
  const DynamicExecutable dynamic(layer({2, 6, 16}), device, options, 1);
  const auto run = [&](const Shape& shape) { return dynamic.run({{"x", noisy(shape)}})[1].read<float>(); };
  (void)run({2, 6, 16});
  const std::uint64_t bytes = options.constants->bytes();
  (void)run({4, 6, 16});
  (void)run({5, 9, 16});
  EXPECT_EQ(options.constants->bytes(), bytes);
  const DawnCounters before = DawnCounters::now();
  const std::size_t compilations = dynamic.compilations();
  (void)run({4, 6, 16});
  (void)run({5, 9, 16});
  EXPECT_EQ(dynamic.compilations(), compilations + 2);
  const DawnCounters made = DawnCounters::now() - before;
  EXPECT_EQ(made.pipelines, 0u) << made.text();
  EXPECT_EQ(made.shader_modules, 0u) << made.text();
  EXPECT_EQ(options.constants->bytes(), bytes);
}

TEST_P(DynamicExecutableTest, KeepsThoseUsedLast) {
  const DynamicExecutable dynamic(layer({2, 6, 16}), device, {}, 2);
  const auto run = [&](std::int64_t batch) { (void)dynamic.run({{"x", noisy({batch, 3, 16})}}); };
  run(1);
  run(2);
  run(1);
  run(3);  // in place of 2
  EXPECT_EQ(dynamic.cached(), 2u);
  EXPECT_EQ(dynamic.compilations(), 3u);
  run(1);
  run(3);
  EXPECT_EQ(dynamic.compilations(), 3u);
  run(2);
  EXPECT_EQ(dynamic.compilations(), 4u);
  run(3);
  EXPECT_EQ(dynamic.compilations(), 4u);
  run(1);
  EXPECT_EQ(dynamic.compilations(), 5u);
}

TEST_P(DynamicExecutableTest, ExecutablesBeforeTheyAreNeeded) {
  const DynamicExecutable dynamic(layer({2, 6, 16}), device);
  Executable exe = dynamic.executable({{"x", {3, 4, 16}}});
  (void)dynamic.executable({});
  EXPECT_EQ(dynamic.compilations(), 2u);
  const Tensor x = noisy({3, 4, 16});
  std::vector<Tensor> outputs = dynamic.run({{"x", x}});
  EXPECT_EQ(dynamic.compilations(), 2u);
  const Tensor inner(device, DType::f32, {3, 4, 16}), y(device, DType::f32, {3, 4, 16});
  exe.run({{"x", x}}, {{"inner", inner}, {"y", y}});
  EXPECT_EQ(y.read<float>(), outputs[1].read<float>());
  EXPECT_THROW(dynamic.executable({{"z", {3}}}), InvalidArgument);
  EXPECT_THROW(dynamic.executable({{"x", {3}}}), ShapeError);
}

// An output takes the memory of an input, at every shape.
TEST_P(DynamicExecutableTest, Donates) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {4}), y = graph.input("y", DType::f32, {4});
  graph.output("sum", x + y);
  graph.output("difference", x - y);
  CompileOptions options;
  options.donate = {{"x", "sum"}};
  const DynamicExecutable dynamic(graph, device, options);
  for (const std::int64_t n : {4, 7}) {
    const Tensor a = tensor({n}, std::vector<float>(static_cast<std::size_t>(n), 3)), b = full({n}, 1.0f);
    eval(b);
    const std::vector<Tensor> made = dynamic.run({{"x", a}, {"y", b}});
    EXPECT_TRUE(same(made[0], a));
    EXPECT_THAT(made[0].read<float>(), Each(4));
    EXPECT_THAT(made[1].read<float>(), Each(2));
  }
  // A constant's memory is no program's: what gives one away leaves all others as they are.
  const Tensor zero = zeros({4});
  try {
    (void)dynamic.run({{"x", zero}, {"y", full({4}, 5.0f)}});
  } catch (const InvalidArgument&) {
  }
  EXPECT_THAT(zeros({4}).read<float>(), Each(0));
  EXPECT_THAT((zeros({4}) + 1).read<float>(), Each(1));
  options.donate = {{"q", "sum"}};
  EXPECT_THROW(DynamicExecutable(graph, device, options), InvalidArgument);
}

TEST_P(DynamicExecutableTest, LoopsAndBranches) {
  const auto recorded = [](const Shape& shape) {
    Graph graph;
    const Tensor x = graph.input("x", DType::f32, shape);
    const Tensor looped =
        while_loop([](const Tensor& v) { return all(v.sum() < 1000); }, [](const Tensor& v) { return v * 2 + 1; }, x);
    const Tensor chosen = cond(
        all(x.sum() > 0), [](const Tensor& v) { return flip(v, {0}) * 3; }, [](const Tensor& v) { return v - 1; },
        looped);
    const auto [last, sums] = scan(
        [](const Tensor& carry, const Tensor& row) { return std::pair(carry + row, carry * 0.5); }, x[{-1}], chosen);
    graph.output("y", sums + last);
    return graph;
  };
  const TempDir directory;
  save(directory.path() / "g.safetensors", recorded({2, 3}));
  const DynamicExecutable dynamic(load_graph(directory.path() / "g.safetensors"), device);
  for (const Shape& shape : {Shape{2, 3}, Shape{1, 3}, Shape{5, 3}, Shape{4, 6}}) {
    SCOPED_TRACE(to_string(shape));
    for (const float scale : {0.25f, 1e4f}) {  // turns of the loop, and none
      const Tensor x = (ones(shape) + arange(0, shape[0], 1, DType::f32)[{all, newaxis}]) * scale;
      eval(x);
      Executable exe = compile(recorded(shape), device);
      const Tensor y(device, DType::f32, shape);
      exe.run({{"x", x}}, {{"y", y}});
      EXPECT_EQ(dynamic.run({{"x", x}})[0].read<float>(), y.read<float>());
    }
  }
}

TEST_P(DynamicExecutableTest, ManyThreads) {
  const DynamicExecutable dynamic(layer({2, 6, 16}), device, {}, 3);
  std::vector<Tensor> inputs;
  std::vector<std::vector<float>> wanted;
  for (std::int64_t batch = 1; batch <= 4; ++batch) {
    inputs.push_back(noisy({batch, 5, 16}, static_cast<unsigned>(batch)));
    wanted.push_back(expected(inputs.back())[1]);
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      try {
        for (std::size_t turn = 0; turn < 6; ++turn) {
          const std::size_t k = (i + turn) % inputs.size();
          expect_near(dynamic.run({{"x", inputs[k]}})[1], wanted[k]);
        }
      } catch (const std::exception& e) {
        ADD_FAILURE() << "thread " << i << ": " << e.what();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_LE(dynamic.cached(), 3u);
}

// Threads that need the same new shapes wait for one compilation.
TEST_P(DynamicExecutableTest, OneCompilationForManyThreads) {
  const DynamicExecutable dynamic(layer({2, 6, 16}), device);
  const Tensor x = noisy({3, 4, 16});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { (void)dynamic.run({{"x", x}}); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(dynamic.compilations(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Devices, DynamicExecutableTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
