// Chains and diamonds of thousands of operations: right values, and work that grows with the graph alone. Work is what
// compiling looks at (core/visits.h), so that the tests say the same on any machine. What visits shared operands once
// for each path to them would not end here.
#include <array>
#include <functional>

#include "compiler/evaluate.h"
#include "compiler/passes/fuse_attention.h"
#include "compiler/passes/fuse_layer_norm.h"
#include "compiler/plan_check.h"
#include "core/visits.h"
#include "graph/constant.h"
#include "kernels/elementwise/scalar_ops.h"
#include "ops/elementwise.h"
#include "support/on_device.h"
#include "support/pass_test.h"
#include "support/quick.h"
#include "weft/array.h"
#include "weft/draw.h"
#include "weft/traced.h"
#include "weft/webnn.h"

namespace weft::test {
namespace {

std::span<const std::byte> quarters() {
  static const std::vector<float> values(16, 0.25f);
  return std::as_bytes(std::span(values));
}

// Looked at for each node of a graph, over all passes; measured: 25 to 95.
constexpr double kMostVisits = 200;

template <class F>
double visits_of(F&& f) {
  const std::uint64_t before = visits();
  f();
  return static_cast<double>(visits() - before);
}

// Elements of [2, 2], as integers modulo 2^32.
using Grid = std::array<std::uint32_t, 4>;
constexpr Grid kFirst = {1, 2, 3, 0x80000005u};

Tensor tensor_of(const Grid& values) { return tensor(DType::i32, {2, 2}, std::as_bytes(std::span(values))); }
Tensor scalar_of(std::uint32_t value) { return tensor(DType::i32, {}, std::as_bytes(std::span(&value, 1))); }
Grid grid_of(const Tensor& x) {
  Grid values{};
  x.read_bytes(std::as_writable_bytes(std::span(values)));
  return values;
}

// One step of a program on tensors, and the same in plain C++.
struct Program {
  const char* name;
  std::function<Tensor(const Tensor& y, int i)> step;
  std::function<Grid(const Grid& y, int i)> expected;
};

template <class F>
Grid each(F&& f) {
  Grid result{};
  for (std::size_t k = 0; k < 4; ++k) result[k] = f(k);
  return result;
}
std::size_t transposed(std::size_t k) { return k % 2 * 2 + k / 2; }
std::uint32_t narrowed(std::uint32_t x) { return static_cast<std::uint32_t>(static_cast<std::int16_t>(x)); }

const std::vector<Program>& programs() {
  static const std::vector<Program> all{
      {"sum", [](const Tensor& y, int i) { return y + y + i; },
       [](const Grid& y, int i) { return each([&](auto k) { return 2 * y[k] + static_cast<std::uint32_t>(i); }); }},
      {"product", [](const Tensor& y, int) { return y * y + 1; },
       [](const Grid& y, int) { return each([&](auto k) { return y[k] * y[k] + 1; }); }},
      {"two paths", [](const Tensor& y, int) { return (y * 3) ^ (y - 7); },
       [](const Grid& y, int) { return each([&](auto k) { return (y[k] * 3) ^ (y[k] - 7); }); }},
      {"transpose", [](const Tensor& y, int) { return y * 3 + y.T(); },
       [](const Grid& y, int) { return each([&](auto k) { return y[k] * 3 + y[transposed(k)]; }); }},
      {"flip", [](const Tensor& y, int i) { return y + flip(y, {i % 2}); },
       [](const Grid& y, int i) { return each([&](auto k) { return y[k] + y[k ^ (i % 2 ? 1 : 2)]; }); }},
      {"slice and broadcast", [](const Tensor& y, int) { return y * 5 - broadcast_to(slice(y, 1, 1, 2), {2, 2}); },
       [](const Grid& y, int) { return each([&](auto k) { return y[k] * 5 - y[k | 1]; }); }},
      {"reshape", [](const Tensor& y, int) { return reshape(reshape(y, {4}) + reshape(y.T(), {4}), {2, 2}) + 1; },
       [](const Grid& y, int) { return each([&](auto k) { return y[k] + y[transposed(k)] + 1; }); }},
      {"cast", [](const Tensor& y, int) { return y * 3 + cast(cast(y, DType::i16), DType::i32); },
       [](const Grid& y, int) { return each([&](auto k) { return y[k] * 3 + narrowed(y[k]); }); }},
      {"largest of a row", [](const Tensor& y, int) { return y * 5 + reduce(ReduceKind::max, y, {1}, true); },
       [](const Grid& y, int) {
         return each([&](auto k) {
           const auto a = static_cast<std::int32_t>(y[k]), b = static_cast<std::int32_t>(y[k ^ 1]);
           return y[k] * 5 + static_cast<std::uint32_t>(std::max(a, b));
         });
       }},
      {"sum of all", [](const Tensor& y, int) { return y + cast(y.sum(), DType::i32); },
       [](const Grid& y, int) { return each([&](auto k) { return y[k] + y[0] + y[1] + y[2] + y[3]; }); }},
  };
  return all;
}

class LargeGraphTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, LargeGraphTest, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

constexpr int kDepth = 1000;

TEST_P(LargeGraphTest, DiamondsOfATensor) {
  for (const Program& p : programs()) {
    if (leave_out_problem()) continue;
    SCOPED_TRACE(p.name);
    Tensor y = tensor_of(kFirst);
    Grid expected = kFirst;
    for (int i = 0; i < kDepth; ++i) {
      y = p.step(y, i);
      expected = p.expected(expected, i);
    }
    EXPECT_LT(visits_of([&] { eval(y); }), 6 * kMostVisits * kDepth);
    EXPECT_EQ(grid_of(y), expected);
  }
}

TEST_P(LargeGraphTest, DiamondsOfACompiledFunction) {
  for (const Program& p : programs()) {
    if (leave_out_problem()) continue;
    SCOPED_TRACE(p.name);
    const auto f = compile([&](Tensor y) {
      for (int i = 0; i < kDepth; ++i) y = p.step(y, i);
      return y;
    });
    Grid expected = kFirst;
    for (int i = 0; i < kDepth; ++i) expected = p.expected(expected, i);
    EXPECT_EQ(grid_of(f(tensor_of(kFirst))), expected);
  }
}

TEST_P(LargeGraphTest, DiamondsOfAGraph) {
  for (const Program& p : programs()) {
    if (leave_out_problem()) continue;
    SCOPED_TRACE(p.name);
    double of_a_node[2];
    for (const int n : {kDepth, 4 * kDepth}) {
      if (n != kDepth && device.is_gpu()) continue;  // the passes are the same
      Graph graph;
      Tensor y = graph.input("x", DType::i32, {2, 2});
      Grid expected = kFirst;
      for (int i = 0; i < n; ++i) {
        y = p.step(y, i);
        expected = p.expected(expected, i);
      }
      graph.output("y", y);
      const auto nodes = static_cast<double>(graph.impl().nodes().size());
      Executable executable;
      of_a_node[n != kDepth] = visits_of([&] { executable = compile(graph, device); }) / nodes;
      EXPECT_LT(of_a_node[n != kDepth], kMostVisits);
      const Tensor result(device, DType::i32, {2, 2});
      executable.run(std::vector{tensor_of(kFirst)}, std::vector{result});
      EXPECT_EQ(grid_of(result), expected) << n;
    }
    if (device.is_gpu()) continue;
    EXPECT_LT(of_a_node[1], 1.1 * of_a_node[0]);
  }
}

TEST_P(LargeGraphTest, Fibonacci) {
  const auto of = [](auto a, auto b, int n) {
    for (int i = 0; i < n; ++i) {
      auto c = a + b;
      a = b;
      b = c;
    }
    return b;
  };
  const Tensor one = scalar_of(1), y = of(one, one, 5000);
  EXPECT_LT(visits_of([&] { eval(y); }), 5000 * kMostVisits);
  EXPECT_EQ(static_cast<std::uint32_t>(y.item<std::int32_t>()), of(1u, 1u, 5000));
  const auto f = compile([&](Tensor a, Tensor b) { return of(a, b, kDepth); });
  EXPECT_EQ(static_cast<std::uint32_t>(f(one, one).item<std::int32_t>()), of(1u, 1u, kDepth));
}

TEST_P(LargeGraphTest, PascalsTriangle) {
  constexpr std::size_t kRow = 48;
  std::vector<std::uint32_t> expected(kRow, 0);
  std::vector<Tensor> row;
  for (std::size_t j = 0; j < kRow; ++j) {
    expected[j] = j == 0;
    row.push_back(scalar_of(expected[j]));
  }
  for (std::size_t i = 0; i < kRow; ++i) {
    for (std::size_t j = kRow; j-- > 1;) {
      expected[j] += expected[j - 1];
      row[j] = row[j] + row[j - 1];
    }
  }
  EXPECT_LT(visits_of([&] { eval(row); }), kRow * kRow * kMostVisits);
  for (std::size_t j = 0; j < kRow; ++j) {
    EXPECT_EQ(static_cast<std::uint32_t>(row[j].item<std::int32_t>()), expected[j]) << j;
  }
}

// Against the same, evaluated node by node on the cpu.
TEST_P(LargeGraphTest, DiamondsOfEveryBinaryOperation) {
  if (GetParam() == "minimum" || GetParam() == "opengles") GTEST_SKIP() << "the same kernels as on lavapipe";
  for (int k = 0; k < kScalarOpCount; ++k) {
    const auto op = static_cast<ScalarOp>(k);
    const kernels::ScalarOpInfo& info = kernels::info(op);
    // Software GPUs take minutes to compile long chains of functions, and of every type.
    if (info.arity != 2 || (info.function() && device.is_gpu()) || op == ScalarOp::complex) continue;
    bool one = false;
    for (const DType type : {DType::i32, DType::f32, DType::boolean}) {
      if (!(kernels::type_set(type) & info.types) || (one && device.is_gpu())) continue;
      one = true;
      if (leave_out_problem()) continue;
      SCOPED_TRACE(std::format("{} of {}", info.name, name(type)));
      Graph graph;
      const Tensor x = graph.input("x", DType::f32, {2, 2});
      Tensor y = cast(x, type);
      for (int i = 0; i < kDepth; ++i) {
        y = cast(binary(op, y, type == DType::boolean || i % 2 ? y : y + 1), type);
        if (type == DType::f32) y = clamp(y, -4, 4);
      }
      graph.output("y", cast(y, DType::f32));
      const auto nodes = static_cast<double>(graph.impl().nodes().size());
      Executable executable;
      EXPECT_LT(visits_of([&] { executable = compile(graph, device); }) / nodes, kMostVisits);
      const std::map<std::string, TensorData> data{{"x", TensorData::of<float>(DType::f32, {2, 2}, {{0.5, 2, -3, 1}})}};
      const Bound bound(device, graph, data);
      bound.run(executable);
      const auto results = compiler::evaluate(graph, data);
      const std::vector<float> got = bound.outputs_[0].second.read<float>();
      for (std::size_t i = 0; i < 4; ++i) {
        const float expected = floats_of(results.at("y"))[i];
        EXPECT_TRUE(got[i] == expected || (std::isnan(got[i]) && std::isnan(expected))) << got[i] << " " << expected;
      }
    }
  }
}

TEST_P(LargeGraphTest, AWebnnGraph) {
  webnn::Context context = webnn::Context::create(device);
  webnn::GraphBuilder builder(context);
  webnn::Operand y = builder.input("x", {DType::i32, {2, 2}});
  Grid expected = kFirst;
  for (int i = 0; i < 2 * kDepth; ++i) {
    y = i % 2 ? builder.add(y, builder.transpose(y)) : builder.mul(y, y);
    expected = each([&](auto k) { return i % 2 ? expected[k] + expected[transposed(k)] : expected[k] * expected[k]; });
  }
  std::optional<webnn::Graph> graph;
  EXPECT_LT(visits_of([&] { graph = builder.build({{"y", y}}); }), 3 * kDepth * kMostVisits);
  const webnn::TensorDescriptor type{DType::i32, {2, 2}, true, true};
  const webnn::Tensor in = context.create_tensor(type), out = context.create_tensor(type);
  context.write_tensor(in, std::vector<std::int32_t>(kFirst.begin(), kFirst.end()));
  context.dispatch(*graph, {{"x", in}}, {{"y", out}});
  Grid values{};
  context.read_tensor(out).get().copy_to(std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values, expected);
}

// On the cpu, where nothing but Weft takes time: everything that a graph is asked for.
struct FiftyThousand : testing::Test {
  static constexpr int kNodes = 50'000;

  void check(const std::function<Tensor(const Tensor& x)>& program, float expected, bool shown = false) {
    Executable executable;
    {
      Graph graph;
      graph.output("y", program(graph.input("x", DType::f32, {4, 4})));
      if (shown) {
        Graph again;
        again.output("y", program(again.input("x", DType::f32, {4, 4})));
        EXPECT_EQ(graph.hash(), again.hash());
        EXPECT_TRUE(graph.equals(again));
        graph.verify();
        EXPECT_LT(graph.to_string().size(), kNodes * std::size_t{200});
        EXPECT_LT(graph.to_dot().size(), kNodes * std::size_t{600});
        EXPECT_LT(graph_page(graph, "large").size(), kNodes * std::size_t{1200});
      }
      const auto nodes = static_cast<double>(graph.impl().nodes().size());
      EXPECT_GE(nodes, kNodes);
      const Graph ready = optimized(graph, Device::cpu());
      for (const NodePtr& node : ready.impl().nodes()) {
        const Expression* e = node->op().elementwise();
        EXPECT_LE(e ? e->operation_count() : 0, 512);
      }
      EXPECT_LT(visits_of([&] { executable = compile(graph, Device::cpu()); }) / nodes, kMostVisits);
    }
    Tensor x(Device::cpu(), DType::f32, {4, 4}), y(Device::cpu(), DType::f32, {4, 4});
    x.write(quarters());
    executable.run(std::vector{x}, std::vector{y});
    EXPECT_FLOAT_EQ(y.read<float>()[5], expected);
  }
};

TEST_F(FiftyThousand, AChain) {
  const auto program = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < kNodes; ++i) y = i % 2 ? 1.0 - y : -y;
    return y;
  };
  check(program, 0.25f + kNodes / 2, true);
}

TEST_F(FiftyThousand, ADiamond) {
  const auto program = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < kNodes / 2; ++i) y = (y + y) * 0.5;
    return y;
  };
  check(program, 0.25f);
}

// One value that all operations read, and one after the other adds to the result.
TEST_F(FiftyThousand, AFan) {
  const auto program = [](const Tensor& x) {
    Tensor y = x * 0.0;
    for (int i = 0; i < kNodes / 2; ++i) y = y + x * static_cast<double>(i % 3);
    return y;
  };
  check(program, 0.25f * (kNodes / 2 - 1));
}

TEST_F(FiftyThousand, Reductions) {
  const auto program = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < kNodes / 3; ++i) y = (y + y.mean(Axes{1}, true)) * 0.5;
    return y;
  };
  check(program, 0.25f);
}

TEST_F(FiftyThousand, Views) {
  const auto program = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < kNodes / 4; ++i) y = reshape(flip(reshape(flip(y, {0}).T(), {2, 8}), {0, 1}), {4, 4});
    return y;
  };
  check(program, 0.25f, true);
}

// Each slice asks whether what it shows is computed from indices, and must not look at all slices before it.
TEST_F(FiftyThousand, SlicesOfSlices) {
  const Tensor data(Device::cpu(), DType::f32, {kNodes + 2});
  for (const Tensor& whole : {data, arange(kNodes + 2) * 2}) {
    Tensor y = whole;
    const auto looks = visits_of([&] {
      for (int i = 0; i < kNodes; ++i) y = slice(y, 0, 1, y.shape()[0]);
    });
    EXPECT_EQ(y.shape(), Shape{2});
    EXPECT_LT(looks / kNodes, 200);
  }
}

TEST_F(FiftyThousand, ManyAreNeededAtOnce) {
  const auto program = [](const Tensor& x) {
    std::vector<Tensor> parts;
    for (int i = 0; i < kNodes / 4; ++i) parts.push_back(sin(x * static_cast<double>(i % 2)));
    Tensor y = x * 0.0;
    for (std::size_t i = parts.size(); i-- > 0;) y = parts[i] - y;
    return y;
  };
  Graph graph;
  double sum = 0;
  for (int i = kNodes / 4; i-- > 0;) sum = (i % 2 ? std::sin(0.25) : 0.0) - sum;
  Tensor y = program(graph.input("x", DType::f32, {4, 4}));
  graph.output("y", y);
  Executable executable;
  EXPECT_LT(visits_of([&] { executable = compile(graph, Device::cpu()); }), kNodes * kMostVisits);
  Tensor x(Device::cpu(), DType::f32, {4, 4}), result(Device::cpu(), DType::f32, {4, 4});
  x.write(quarters());
  executable.run(std::vector{x}, std::vector{result});
  EXPECT_NEAR(result.read<float>()[0], sum, 1e-3 * std::abs(sum));
}

// Without fusion each operation is a kernel, most of them in location.
TEST_F(FiftyThousand, KernelsInPlace) {
  Graph graph;
  Tensor y = graph.input("x", DType::f32, {4});
  for (int i = 0; i < kNodes; ++i) y = -y;
  graph.output("y", y);
  Executable executable;
  CompileOptions options;
  options.fusion = false;
  EXPECT_LT(visits_of([&] { executable = compile(graph, Device::cpu(), options); }), kNodes * kMostVisits);
  EXPECT_EQ(executable.report().steps.size(), static_cast<std::size_t>(kNodes));
}

TEST_F(FiftyThousand, TheTextOfAnExpression) {
  Expression e;
  int x = e.input(DType::f32);
  for (int i = 0; i < kNodes; ++i) x = i % 2 ? e.apply(ScalarOp::neg, {x}) : e.apply(ScalarOp::add, {x, x});
  e.output(x);
  const std::string text = e.to_string();
  EXPECT_LT(text.size(), kNodes * std::size_t{40});
  EXPECT_TRUE(text.starts_with("(x0:f32) %1 = neg(add(x0, x0)); %2 = neg(add(%1, %1)); ")) << text.substr(0, 80);
}

// ---- Matchers and single passes

using compiler::PassTest;
struct LargePassTest : PassTest {};

// x repeated: 2^depth x, as an expression of its own.
int doubled(Expression& e, int x, int depth) {
  for (int i = 0; i < depth; ++i) x = e.apply(ScalarOp::add, {x, x});
  return x;
}

TEST_F(LargePassTest, EqualFormulasOfSharedOperands) {
  constexpr int kDoublings = 60;
  const Tensor x = f32({2, 8});
  Expression plain, squared;
  plain.output(doubled(plain, plain.input(DType::f32), kDoublings));
  squared.output(squared.apply(ScalarOp::square, {doubled(squared, squared.input(DType::f32), kDoublings)}));
  const Tensor d = apply(make_op<ElementwiseOp>(plain), {x}), s = apply(make_op<ElementwiseOp>(squared), {x});
  graph.output("y", d * rsqrt(s.mean(Axes{1}, true) + 1e-5));
  std::string text;
  EXPECT_LT(visits_of([&] { text = after(compiler::fuse_layer_norm); }), 10'000);
  EXPECT_NE(text.find("rms_norm"), std::string::npos) << text;
}

TEST_F(LargePassTest, ScoresAfterManyOperations) {
  Tensor scores = matmul(f32({2, 4, 8}), f32({2, 8, 4}));
  for (int i = 0; i < 50'000; ++i) scores = scores * 1.0;
  graph.output("y", matmul(softmax(scores, 2), f32({2, 4, 8})));
  EXPECT_LT(visits_of([&] { (void)after(compiler::fuse_attention); }), 50'000 * 20.0);
}

TEST_F(LargePassTest, KeysBehindManyViews) {
  Tensor k = f32({2, 8, 4});
  for (int i = 0; i < 25'000; ++i) k = reshape(permute(k, {0, 2, 1}), {2, 8, 4});
  graph.output("y", matmul(softmax(matmul(f32({2, 4, 8}), k), 2), f32({2, 4, 8})));
  EXPECT_LT(visits_of([&] { (void)after(compiler::fuse_attention); }), 50'000 * 20.0);
}

// Readers of one value that are the same operation with other attributes or numbers.
TEST_F(LargePassTest, ManyReadersOfOneValue) {
  constexpr int kReaders = 20'000;
  const Tensor x = f32({kReaders + 1});
  std::vector<Tensor> parts;
  for (int i = 0; i < kReaders; ++i) parts.push_back(slice(x, 0, i, i + 1) * (1.0 + i));
  graph.output("y", concat(parts, 0));
  const auto nodes = static_cast<double>(graph.impl().nodes().size());
  EXPECT_LT(visits_of([&] { (void)compile(graph, Device::cpu()); }) / nodes, kMostVisits);
}

// A group whose first and last node are far apart, as in a network with a long skip connection.
TEST_F(LargePassTest, AGroupThatSpansTheGraph) {
  constexpr int kNodes = 10'000;
  const Tensor a = matmul(f32({4, 4}), f32({4, 4}));
  Tensor y = f32({4, 4});
  for (int i = 0; i < kNodes; ++i) y = softmax(y * (1.0 + i % 2), 1);
  graph.output("y", gelu(a) + y);
  EXPECT_LT(visits_of([&] { (void)compile(graph, Device::cpu()); }), 2 * kNodes * kMostVisits);
}

TEST_F(LargePassTest, ScalesBehindAProduct) {
  constexpr int kNodes = 4000;
  const auto constant = [](float first, const Shape& shape) { return Graph::constant(numbers(shape, first, 0.01f)); };
  Tensor y = matmul(f32({2, 4}), constant(0.5f, {4, 4}));
  for (int i = 0; i < kNodes; ++i) y = y * constant(1, {4}) + constant(0, {4});
  graph.output("y", y);
  EXPECT_LT(visits_of([&] { (void)compile(graph, Device::cpu()); }), 4 * kNodes * kMostVisits);
}

// ---- Constants

ConstantPtr deferred(std::vector<ConstantPtr> inputs, int* computed) {
  const TensorType type = inputs[0]->type();
  return std::make_shared<const Constant>(type, "add", std::move(inputs), [=](std::span<const TensorData> data) {
    ++*computed;
    std::vector<float> sum(static_cast<std::size_t>(element_count(type.shape)), 0.0f);
    for (const TensorData& d : data) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += floats_of(d)[i];
    }
    return TensorData::of<float>(DType::f32, type.shape, sum);
  });
}

TEST(LargeConstants, EachDeferredOneIsComputedOnce) {
  // 2048 floats are too many to be kept between uses.
  for (const std::int64_t size : {std::int64_t{2}, std::int64_t{2048}}) {
    int computed = 0;
    ConstantPtr a = make_constant(numbers({size}, 1, 0)), b = a;
    float x = 1, y = 1;
    for (int i = 0; i < 60; ++i) {
      ConstantPtr c = deferred({b, a}, &computed);  // the one that needs the other first
      a = std::exchange(b, std::move(c));
      x = std::exchange(y, x + y);
    }
    EXPECT_EQ(floats_of(b->data())[1], y);
    EXPECT_EQ(computed, 60);
    EXPECT_LE(b->key().size(), 256u);
    EXPECT_EQ(b->owners().size(), size > 16 ? 1u : 0u);
  }
}

TEST(LargeConstants, AChainOfDeferredOnes) {
  int computed = 0;
  ConstantPtr c = make_constant(numbers({2}, 0, 0));
  const ConstantPtr one = make_constant(numbers({2}, 1, 0));
  for (int i = 0; i < 50'000; ++i) c = deferred({c, one}, &computed);
  EXPECT_EQ(floats_of(c->data())[0], 50'000);
  EXPECT_EQ(computed, 50'000);
}

TEST(LargeConstants, KeysOfDifferentComputationsDiffer) {
  int computed = 0;
  ConstantPtr a = make_constant(numbers({2}, 0, 0));
  const ConstantPtr one = make_constant(numbers({2}, 1, 0));
  std::set<std::string> keys;
  for (int i = 0; i < 1000; ++i) {
    keys.insert(a->key());
    keys.insert(deferred({one, a}, &computed)->key());
    a = deferred({a, one}, &computed);
  }
  EXPECT_EQ(keys.size(), 2000u);
}

// What a graph's outputs need above tensors with data is made again once for all of them.
TEST(LargeGraphs, ManyOutputsAboveData) {
  constexpr int kOutputs = 1000;
  Tensor y = tensor({2}, {1, 2});
  Graph graph;
  const double seen = visits_of([&] {
    for (int i = 0; i < kOutputs; ++i) {
      y = y + 1.0;
      graph.output(std::format("y{}", i), y);
    }
  });
  EXPECT_LE(graph.impl().nodes().size(), 3u * kOutputs);
  EXPECT_LT(seen, 20 * kOutputs);
}

TEST(LargeMemoryPlan, ManyItemsAtOnce) {
  constexpr int kItems = 8000;
  std::vector<compiler::PlanItem> items;
  std::vector<compiler::PlanStep> steps;
  for (int i = 0; i < kItems; ++i) {
    items.push_back({1000u + 256u * static_cast<unsigned>(i % 3), i, i});
    steps.push_back({{}, {i}});
  }
  for (int i = kItems; i-- > 0;) {
    const int step = static_cast<int>(steps.size());
    items[static_cast<std::size_t>(i)].last = step;
    items.push_back({1000, step, step + 1});
    std::vector<int> reads{i};
    if (i + 1 < kItems) reads.push_back(static_cast<int>(items.size()) - 2);
    steps.push_back({std::move(reads), {static_cast<int>(items.size()) - 1}});
  }
  items.back().last = static_cast<int>(steps.size()) - 1;
  compiler::MemoryPlan plan;
  EXPECT_LT(visits_of([&] { plan = compiler::plan_memory(items, steps, std::uint64_t{1} << 40); }), 100 * kItems);
  const std::uint64_t bound = compiler::liveness_bound(items, steps.size());
  EXPECT_LE(static_cast<double>(plan.bytes()), 1.1 * static_cast<double>(bound));
  // No two that are alive at once overlap: in order of their places, each ends before the next one of its time begins.
  std::vector<std::vector<int>> of_buffer(plan.buffers.size());
  for (int i = 0; i < static_cast<int>(items.size()); ++i) of_buffer[plan.locations[i].buffer].push_back(i);
  for (const auto& list : of_buffer) {
    std::map<std::uint64_t, std::vector<int>> at;  // items by their offset
    for (const int i : list) at[plan.locations[i].offset].push_back(i);
    for (auto& [offset, same] : at) {
      std::ranges::sort(same, {}, [&](int i) { return items[i].first; });
      for (std::size_t k = 1; k < same.size(); ++k) EXPECT_LT(items[same[k - 1]].last, items[same[k]].first);
    }
  }
  for (const compiler::PlanStep& step : steps) {
    for (const int w : step.writes) {
      for (const int r : step.reads) EXPECT_NE(plan.locations[w].buffer, plan.locations[r].buffer);
    }
  }
}

}  // namespace
}  // namespace weft::test
