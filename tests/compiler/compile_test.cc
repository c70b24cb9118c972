// Compiled graphs on every available device, compared with evaluating the graph node by node on the CPU.
#include "weft/compile.h"

#include <cmath>
#include <cstdlib>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "compiler/passes/passes.h"
#include "compiler/plan_check.h"
#include "compiler/rewrite.h"
#include "compiler/schedule.h"
#include "graph/graph.h"
#include "support/dawn_counters.h"
#include "support/devices.h"
#include "support/problem_counts.h"
#include "support/quick.h"
#include "support/random_graph.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/gpu.h"
#include "weft/kernels/copy.h"

namespace weft {
namespace {

using test::all_devices;
using test::Bound;
using test::device_named;
using test::noise;
using test::numbers;
using test::random_graph;
using test::RandomGraph;
using testing::HasSubstr;

void check_schedule(const Graph& graph, const Device& device) {
  const compiler::Target target = compiler::Target::of(device);
  const compiler::PassContext context{target, {}};
  Graph ready = graph;
  for (const compiler::Pass& pass : compiler::passes()) {
    ready = pass.run(ready, context);
    ready.verify();
  }
  const compiler::Schedule schedule = compiler::make_schedule(ready);
  const compiler::PlannedSchedule planned = compiler::plan_schedule(schedule, target.max_buffer);
  test::check_plan(planned.plan, planned.items, planned.steps, target.max_buffer);
}

struct CompileTest : testing::TestWithParam<std::string> {
  Device device = device_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, CompileTest, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

// Each device gets seeds of its own. WEFT_RANDOM_GRAPHS sets their number, WEFT_RANDOM_SEED the first.
TEST_P(CompileTest, RandomGraphsComputeWhatCpuKernelsDo) {
  const char* count_text = std::getenv("WEFT_RANDOM_GRAPHS");
  const char* seed_text = std::getenv("WEFT_RANDOM_SEED");
  // A software GPU spends most of its time on compiling shaders.
  const unsigned ordinary = test::scaled(device.is_gpu() ? 40 : 200);
  const auto names = all_devices();
  const auto own = static_cast<unsigned>(std::ranges::find(names, GetParam()) - names.begin());
  const unsigned count = count_text ? static_cast<unsigned>(std::atoi(count_text)) : ordinary;
  const unsigned first = seed_text ? static_cast<unsigned>(std::atoi(seed_text)) : 1 + 1000 * own;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const RandomGraph g = random_graph(seed);
    const auto expected = compiler::evaluate(g.graph, g.inputs);
    for (const bool fusion : {true, false}) {
      if (!fusion && seed % 4 != 0) continue;
      const std::string what =
          std::format("seed {}{} on {}\n{}", seed, fusion ? "" : " without fusion", device.name(), g.graph.to_string());
      try {
        Executable exe = compile(g.graph, device, {.fusion = fusion, .constant_folding = seed % 5 != 0});
        const Bound bound(device, g.graph, g.inputs, seed % 3 == 0 ? 16 : 0);
        bound.run(exe);
        bound.compare(expected, what + "became\n" + exe.report().graph);
      } catch (const Error& e) {
        ADD_FAILURE() << e.what() << "\n" << what;
      }
      if (HasFatalFailure()) return;
    }
    check_schedule(g.graph, device);
    test::count_problem("random graphs",
                        HasFailure() ? std::format("WEFT_RANDOM_SEED={} on {}", seed, device.name()) : "");
    if (HasFailure()) return;
  }
}

TEST(Compile, RandomGraphsHaveOpsOfEveryFamily) {
  std::map<std::string, int> times;
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    const RandomGraph g = random_graph(seed);
    for (const auto& node : g.graph.impl().nodes()) ++times[std::string(node->op().name())];
  }
  for (const char* op : {"map",
                         "matmul",
                         "softmax",
                         "layer_norm",
                         "attention",
                         "gather",
                         "concat",
                         "conv",
                         "conv_transpose",
                         "conv_filter_gradient",
                         "max_pool",
                         "max_pool_with_indices",
                         "average_pool",
                         "lp_pool",
                         "max_pool_gradient",
                         "average_pool_gradient",
                         "resize",
                         "resize_gradient",
                         "grid_sample",
                         "fold",
                         "lstm",
                         "gru",
                         "rnn",
                         "cholesky",
                         "triangular_solve",
                         "lu",
                         "qr",
                         "eig",
                         "eigh",
                         "svd",
                         "svdvals"}) {
    EXPECT_GE(times[op], 2) << op;
  }
}

// Half floats: fused results are rounded less often than those of single nodes, so this looks for errors, not for the
// last bit.
TEST_P(CompileTest, RandomGraphsOfHalfFloats) {
  const unsigned count = test::scaled(device.is_gpu() ? 12 : 60);
  for (unsigned seed = 1; seed <= count; ++seed) {
    const RandomGraph g = random_graph(seed, seed % 4 == 0 ? DType::bf16 : DType::f16);
    const auto expected = compiler::evaluate(g.graph, g.inputs);
    const std::string what = std::format("seed {} on {}\n{}", seed, device.name(), g.graph.to_string());
    try {
      Executable exe = compile(g.graph, device);
      const Bound bound(device, g.graph, g.inputs);
      bound.run(exe);
      bound.compare(expected, what + "became\n" + exe.report().graph, seed % 4 == 0 ? 0.1f : 0.015f);
    } catch (const Error& e) {
      ADD_FAILURE() << e.what() << "\n" << what;
    }
    if (HasFailure()) return;
  }
}

// f32 graphs stored as f16: only values between kernels are rounded.
TEST_P(CompileTest, RandomGraphsStoredAsHalfFloats) {
  const unsigned count = test::scaled(device.is_gpu() ? 12 : 60);
  for (unsigned seed = 101; seed <= 100 + count; ++seed) {
    const RandomGraph g = random_graph(seed);
    const auto expected = compiler::evaluate(g.graph, g.inputs);
    const std::string what = std::format("seed {} on {}\n{}", seed, device.name(), g.graph.to_string());
    try {
      Executable exe = compile(g.graph, device, {.precision = Precision::f16});
      const Bound bound(device, g.graph, g.inputs);
      bound.run(exe);
      bound.compare(expected, what + "became\n" + exe.report().graph, 0.02f);
    } catch (const Error& e) {
      ADD_FAILURE() << e.what() << "\n" << what;
    }
    if (HasFailure()) return;
  }
}

TEST_P(CompileTest, AChainWithBroadcastsIsOneDispatch) {
  Graph g;
  const Tensor a = g.input("a", DType::f32, {16, 32});
  const Tensor b = g.input("b", DType::f32, {32});
  const Tensor c = g.input("c", DType::f32, {16, 1});
  g.output("y", sqrt(a * b + c));
  Executable exe = compile(g, device);
  EXPECT_EQ(exe.report().steps.size(), 1u);
  EXPECT_EQ(exe.report().planned_bytes, 0u);
  const std::map<std::string, TensorData> data{
      {"a", numbers({16, 32}, 0, 0.01f)}, {"b", numbers({32}, 1)}, {"c", numbers({16, 1}, 2)}};
  const Bound bound(device, g, data);
  const auto before = test::DawnCounters::now();
  bound.run(exe);
  EXPECT_EQ((test::DawnCounters::now() - before).dispatches, device.is_gpu() ? 1u : 0u);
  bound.compare(compiler::evaluate(g, data), "chain");
}

// One layer of BERT as a frontend writes it.
Graph bert_layer(std::int64_t batch, std::int64_t length, std::int64_t hidden, std::int64_t heads, std::int64_t inner) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {batch, length, hidden});
  const Tensor lengths = g.input("lengths", DType::i32, {batch});
  unsigned seed = 1;
  const auto weight = [&](const Shape& s) {
    return g.constant(noise(s, ++seed, 1 / std::sqrt(static_cast<float>(s[-1]))));
  };
  const auto linear = [&](const Tensor& v, std::int64_t out) {
    const Tensor w = weight({out, v.shape()[-1]});
    const Tensor b = weight({out});
    return matmul(v, w.T()) + b;
  };
  const auto norm = [&](const Tensor& v) {
    const Tensor scale = weight({hidden});
    const Tensor bias = weight({hidden});
    return layer_norm(v, scale, bias, 1e-12);
  };
  const auto split = [&](const Tensor& v) {
    return permute(reshape(v, {batch, length, heads, hidden / heads}), {0, 2, 1, 3});
  };
  std::vector<std::int32_t> steps;
  for (std::int32_t i = 0; i < length; ++i) steps.push_back(i);
  const Tensor positions = g.constant(TensorData::of<std::int32_t>(DType::i32, {1, length}, steps));
  const Tensor visible = binary(ScalarOp::less, positions, expand_dims(lengths, 1));
  const Tensor mask = select(reshape(visible, {batch, 1, 1, length}), g.scalar(0, DType::f32),
                             g.scalar(-std::numeric_limits<double>::infinity(), DType::f32));
  const Tensor q = split(linear(x, hidden));
  const Tensor k = split(linear(x, hidden));
  const Tensor v = split(linear(x, hidden));
  const Tensor scores = matmul(q, k.T()) * (1 / std::sqrt(static_cast<double>(hidden / heads))) + mask;
  const Tensor context = reshape(permute(matmul(softmax(scores), v), {0, 2, 1, 3}), {batch, length, hidden});
  const Tensor attended = norm(linear(context, hidden) + x);
  const Tensor y = norm(linear(gelu(linear(attended, inner)), hidden) + attended);
  g.output("y", y);
  return g;
}

// The kernel receives lengths and a window, and scratch for few queries over many keys.
TEST_P(CompileTest, AttentionWithLengthsAndAWindow) {
  Graph g;
  const Tensor q = g.input("q", DType::f32, {2, 4, 1, 32}), k = g.input("k", DType::f32, {2, 2, 1100, 32});
  const Tensor v = g.input("v", DType::f32, {2, 2, 1100, 32}), lengths = g.input("lengths", DType::i32, {2});
  g.output("all", attention(q, k, v, {}, {.scale = 0.2f}, {}, lengths));
  g.output("near", attention(q, k, v, {}, {.scale = 0.2f, .window_left = 40}, {}, lengths));
  Executable exe = compile(g, device);
  std::map<std::string, TensorData> data{
      {"q", noise({2, 4, 1, 32}, 1)}, {"k", noise({2, 2, 1100, 32}, 2)}, {"v", noise({2, 2, 1100, 32}, 3)}};
  const std::int32_t values[] = {1100, 700};
  data.emplace("lengths", TensorData::of<std::int32_t>(DType::i32, {2}, values));
  const Bound bound(device, g, data);
  bound.run(exe);
  bound.compare(compiler::evaluate(g, data), "lengths and a window");
  check_schedule(g, device);
}

// Grouped queries written as separate operations, of types and sizes that are not vectorised: one step each, with the
// results of single nodes.
TEST_P(CompileTest, GroupedQueriesWrittenOutAreOneStep) {
  for (const DType type : {DType::f32, DType::f16}) {
    Graph g;
    const auto input = [&](const char* name, const Shape& shape) {
      return cast(g.input(name, DType::f32, shape), type);
    };
    const Tensor q = input("q", {2, 6, 5, 9}), k = input("k", {2, 3, 7, 9}), v = input("v", {2, 3, 7, 11});
    const Tensor mask = g.input("mask", DType::f32, {2, 1, 1, 7});
    const auto attend = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
      const Tensor scores = matmul(q, k.T()) * 0.3;
      return cast(matmul(softmax(mask.defined() ? scores + cast(mask, type) : scores), v), DType::f32);
    };
    const auto rows = [&](const Tensor& x) {
      return reshape(broadcast_to(expand_dims(x, 2), {2, 3, 2, 7, x.shape()[-1]}), {2, 6, 7, x.shape()[-1]});
    };
    g.output("repeated", attend(q, repeat(k, 2, 1), repeat(v, 2, 1), mask));
    g.output("broadcast", attend(q, rows(k), rows(v), mask));
    g.output("rank 5", attend(reshape(q / 4.0, {2, 3, 2, 5, 9}), expand_dims(k, 2), expand_dims(v, 2),
                              reshape(mask, {2, 1, 1, 1, 7})));
    g.output("one head", attend(q, slice(k, 1, 1, 2), slice(v, 1, 2, 3), {}));
    Executable exe = compile(g, device);
    int attentions = 0;
    for (const ScheduleStep& s : exe.report().steps) {
      attentions += s.label.starts_with("attention");
      EXPECT_FALSE(s.label.starts_with("matmul") || s.label.starts_with("repeat")) << exe.report().graph;
    }
    EXPECT_EQ(attentions, 4) << exe.report().graph;
    EXPECT_TRUE(type != DType::f32 || exe.report().steps.size() == 4) << exe.report().graph;
    const std::map<std::string, TensorData> data{{"q", noise({2, 6, 5, 9}, 1)},
                                                 {"k", noise({2, 3, 7, 9}, 2)},
                                                 {"v", noise({2, 3, 7, 11}, 3)},
                                                 {"mask", noise({2, 1, 1, 7}, 4)}};
    const Bound bound(device, g, data);
    bound.run(exe);
    bound.compare(compiler::evaluate(g, data), "grouped queries", type == DType::f32 ? 1e-4f : 0.015f);
  }
}

// Masks that hide all keys of a query, by -inf or by a finite number: the results are those of softmax.
TEST_P(CompileTest, QueriesThatSeeNoKeyAreWhatSoftmaxMakesThem) {
  const std::int64_t queries = 6, keys = 5;
  for (const std::int64_t dim : {8, 80}) {
    Graph g;
    const Tensor q = g.input("q", DType::f32, {1, 2, queries, dim}), k = g.input("k", DType::f32, {1, 2, keys, dim});
    double factor = 0.3;  // each of its own, so that they share no scores
    const auto scores = [&] { return matmul(q, (k * (factor += 0.01)).T()); };
    const auto attend = [&](const Tensor& masked) { return matmul(softmax(masked), k); };
    std::vector<float> late, holes;
    std::vector<std::uint8_t> truth;
    for (std::int64_t i = 0; i < queries * keys; ++i) {
      const std::int64_t query = i / keys, key = i % keys;
      late.push_back(key <= query - 2 ? 0 : -INFINITY);  // the first two see nothing
      holes.push_back(query == 3 || key == 1 ? -INFINITY : 0.25f);
      truth.push_back(query != 3 && key != 1);
    }
    const auto added = [&](std::span<const float> v) { return TensorData::of<float>(DType::f32, {queries, keys}, v); };
    const Tensor low = g.scalar(-INFINITY, DType::f32), bits = g.input("truth", DType::boolean, {queries, keys});
    g.output("window", attend(scores() + g.constant(added(late))));
    g.output("constant", attend(scores() + g.constant(added(holes))));
    g.output("input", attend(scores() + g.input("holes", DType::f32, {queries, keys})));
    g.output("boolean", attend(select(bits, scores(), low)));
    g.output("finite", attend(select(bits, scores(), g.scalar(-1e9, DType::f32))));
    g.output("no keys", matmul(softmax(matmul(q, slice(k, 2, 0, 0).T()) * 0.3), slice(k, 2, 0, 0)));
    std::map<std::string, TensorData> data{
        {"q", noise(q.shape(), 1)},
        {"k", noise(k.shape(), 2)},
        {"holes", added(holes)},
        {"truth", TensorData::copy_of(DType::boolean, {queries, keys}, std::as_bytes(std::span(truth)))}};
    const auto expected = compiler::evaluate(g, data);
    Executable exe = compile(g, device);
    EXPECT_THAT(exe.report().graph, HasSubstr("empty_is_nan"));
    const Bound bound(device, g, data);
    bound.run(exe);
    for (const auto& [name, t] : bound.outputs_) {
      const auto got = t.read<float>();
      const auto want = test::floats_of(expected.at(name));
      int nan = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        nan += std::isnan(want[i]);
        ASSERT_EQ(std::isnan(got[i]), std::isnan(want[i])) << name << " [" << i << "] is " << got[i];
        if (!std::isnan(want[i])) {
          ASSERT_NEAR(got[i], want[i], 2e-5f) << name << " [" << i << "]";
        }
      }
      EXPECT_EQ(nan == 0, name == "finite" || name == "no keys") << name;
    }
  }
}

// Constant masks that are windows give the same results as without the window.
TEST_P(CompileTest, ConstantMasksBecomeWindows) {
  Graph g;
  const Tensor q = g.input("q", DType::f32, {2, 2, 70, 16}), k = g.input("k", DType::f32, {2, 2, 90, 16});
  std::vector<std::int32_t> steps(90);
  for (std::int32_t i = 0; i < 90; ++i) steps[static_cast<std::size_t>(i)] = i;
  const Tensor rows = g.constant(TensorData::of<std::int32_t>(DType::i32, {70, 1}, std::span(steps).first(70)));
  const Tensor columns = g.constant(TensorData::of<std::int32_t>(DType::i32, {1, 90}, steps));
  const Tensor ends = rows + g.scalar(20, DType::i32), begins = rows + g.scalar(3, DType::i32);
  const Tensor low = g.scalar(-1e38, DType::f32);
  const Tensor scores = matmul(q, k.T()) * 0.3;
  g.output("causal", matmul(softmax(select(binary(ScalarOp::less_equal, columns, ends), scores, low)), k));
  const Tensor band = binary(ScalarOp::logical_and, binary(ScalarOp::less_equal, columns, ends),
                             binary(ScalarOp::greater_equal, columns, begins));
  g.output("band", attention(q, k, k, band, {.scale = 0.3f}));
  Executable exe = compile(g, device);
  EXPECT_THAT(exe.report().graph, testing::HasSubstr("causal=true, empty_is_nan=true}"));
  EXPECT_THAT(exe.report().graph, testing::HasSubstr("causal=true, window_left=17}"));
  EXPECT_EQ(exe.report().steps.size(), 2u) << exe.report().graph;
  std::map<std::string, TensorData> data{{"q", noise({2, 2, 70, 16}, 1)}, {"k", noise({2, 2, 90, 16}, 2)}};
  const Bound bound(device, g, data);
  bound.run(exe);
  bound.compare(compiler::evaluate(g, data), "windows");
}

TEST_P(CompileTest, ABertLayerIsSevenSteps) {
  const Graph g = bert_layer(2, 16, 64, 4, 256);
  Executable exe = compile(g, device);
  std::vector<std::string> labels;
  for (const ScheduleStep& s : exe.report().steps) labels.push_back(s.label);
  // The mask comes first, and every layer reads it.
  const std::vector<std::string> expected{"less+select [2, 1, 1, 16]",        "matmul+bias [2, 16, 192]",
                                          "attention [2, 4, 16, 16]",         "matmul+bias+residual [2, 16, 64]",
                                          "layer_norm [2, 16, 64]",           "matmul+bias+gelu_erf [2, 16, 256]",
                                          "matmul+bias+residual [2, 16, 64]", "layer_norm [2, 16, 64]"};
  EXPECT_EQ(labels, expected) << exe.report().graph;
  EXPECT_LE(static_cast<double>(exe.report().planned_bytes), 1.1 * static_cast<double>(exe.report().liveness_bound));
  std::map<std::string, TensorData> data{{"x", noise({2, 16, 64}, 99)}};
  const std::int32_t lengths[] = {16, 5};
  data.emplace("lengths", TensorData::of<std::int32_t>(DType::i32, {2}, lengths));
  const Bound bound(device, g, data);
  bound.run(exe);
  bound.compare(compiler::evaluate(g, data), "BERT layer");
  check_schedule(g, device);
}

TEST_P(CompileTest, RunsAfterTheFirstMakeNothing) {
  const Graph g = bert_layer(1, 8, 32, 2, 64);
  std::map<std::string, TensorData> data{{"x", noise({1, 8, 32}, 3)}};
  const std::int32_t lengths[] = {6};
  data.emplace("lengths", TensorData::of<std::int32_t>(DType::i32, {1}, lengths));
  Executable exe = compile(g, device);
  const Bound bound(device, g, data);
  bound.run(exe);
  const auto expected = compiler::evaluate(g, data);
  bound.compare(expected, "first run");
  device.wait();
  const auto before = test::DawnCounters::now();
  for (int i = 0; i < 5; ++i) bound.run(exe);
  device.wait();
  const auto made = test::DawnCounters::now() - before;
  EXPECT_EQ(made.created(), 0u) << made.text();
  EXPECT_EQ(made.dispatches, device.is_gpu() ? 5 * exe.report().steps.size() : 0) << made.text();
  bound.compare(expected, "sixth run");

  // Other tensors of the same type need new bind groups once.
  data.at("x") = noise({1, 8, 32}, 4);
  const Bound other(device, g, data);
  other.run(exe);
  const auto again = test::DawnCounters::now();
  bound.run(exe);
  other.run(exe);
  EXPECT_EQ((test::DawnCounters::now() - again).created(), 0u);
  other.compare(compiler::evaluate(g, data), "other tensors");
}

TEST_P(CompileTest, TensorsMayStartAnywhereInTheirBuffers) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {3, 5});
  g.output("y", x * 2.0 + 1.0);
  Executable exe = compile(g, device);
  const std::map<std::string, TensorData> data{{"x", numbers({3, 5})}};
  const auto expected = compiler::evaluate(g, data);
  for (int round = 0; round < 2; ++round) {
    for (const std::uint64_t shift : {0, 4, 16, 256, 260, 1024, 20, 24, 28, 32, 36, 40}) {
      const Bound bound(device, g, data, shift);
      bound.run(exe);
      bound.compare(expected, std::format("shift {}", shift));
    }
  }
}

// A few long rows, whose scratch was planned for tensors at aligned offsets.
TEST_P(CompileTest, LongRowsAtAnyOffset) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {1, 5000});
  g.output("sum", reduce(ReduceKind::sum, x, {1}));
  g.output("max", reduce(ReduceKind::max, x * 2.0, {1}));
  g.output("variance", variance(x, {1}));
  g.output("log_sum_exp", reduce(ReduceKind::log_sum_exp, x, {1}));
  g.output("argmax", cast(argmax(x, {1}), DType::f32));
  g.output("softmax", softmax(x, 1));
  g.output("cumsum", cumsum(x, 1));
  const std::map<std::string, TensorData> data{{"x", noise({1, 5000}, 3)}};
  const auto expected = compiler::evaluate(g, data);
  Executable exe = compile(g, device);
  for (const std::uint64_t shift : {0, 4}) {
    const Bound bound(device, g, data, shift);
    bound.run(exe);
    bound.compare(expected, std::format("shift {}", shift));
  }
}

TEST_P(CompileTest, OutputsThatNoKernelMakes) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 3});
  const TensorData table = numbers({4, 2}, 10);
  const Tensor c = g.constant(table);
  const Tensor y = x + 1.0;
  g.output("input", x);
  g.output("transposed", x.T());
  g.output("constant", c);
  g.output("part", slice(c, 0, 3, 0, -1));
  g.output("y", y);
  g.output("y again", y);
  g.output("y flat", reshape(y, {6}));
  g.output("y broadcast", broadcast_to(y, {2, 2, 3}));
  Executable exe = compile(g, device);
  const std::map<std::string, TensorData> data{{"x", numbers({2, 3})}};
  const Bound bound(device, g, data);
  bound.run(exe);
  bound.compare(compiler::evaluate(g, data), "outputs");
}

TEST_P(CompileTest, TensorsWithoutElements) {
  Graph g;
  const Tensor empty = g.input("empty", DType::f32, {0, 3});
  const Tensor x = g.input("x", DType::f32, {2, 3});
  const std::vector<Tensor> parts{x, empty};
  g.output("joined", concat(parts, 0) * 2.0);
  g.output("still empty", exp(empty) + 1.0);
  g.output("sum", reduce(ReduceKind::sum, empty, {0}));
  g.output("product", matmul(empty.T(), g.constant(numbers({0, 4}))));
  g.output("no rows", matmul(empty, x.T()));
  Executable exe = compile(g, device);
  const std::map<std::string, TensorData> data{{"x", numbers({2, 3})}, {"empty", numbers({0, 3})}};
  const Bound bound(device, g, data);
  bound.run(exe);
  bound.compare(compiler::evaluate(g, data), "empty tensors");
  EXPECT_THAT(bound.outputs_[2].second.read<float>(), testing::Each(0.0f));
  EXPECT_THAT(bound.outputs_[3].second.read<float>(), testing::Each(0.0f));
}

TEST_P(CompileTest, WrongTensorsAreRefused) {
  Graph g;
  const Tensor a = g.input("a", DType::f32, {2});
  const Tensor b = g.input("b", DType::f32, {2});
  g.output("y", a + b);
  g.output("z", a - b);
  Executable exe = compile(g, device);
  const Tensor ta(device, DType::f32, {2}), tb(device, DType::f32, {2}), y(device, DType::f32, {2}),
      z(device, DType::f32, {2}), i32(device, DType::i32, {2}), three(device, DType::f32, {3});
  using In = std::initializer_list<NamedTensor>;
  const auto run = [&](In in, In out) { return test::refused_by([&] { exe.run(in, out); }); };
  EXPECT_EQ(run({{"a", ta}, {"b", tb}}, {{"y", y}, {"z", z}}), "nothing");
  EXPECT_EQ(run({{"a", ta}, {"b", ta}}, {{"z", z}, {"y", y}}), "nothing");
  EXPECT_THAT(run({{"a", ta}}, {{"y", y}, {"z", z}}), HasSubstr("input \"b\" (f32 [2]) is missing"));
  EXPECT_THAT(run({{"a", ta}, {"b", tb}}, {{"y", y}}), HasSubstr("output \"z\" (f32 [2]) is missing"));
  EXPECT_THAT(run({{"a", ta}, {"c", tb}}, {{"y", y}, {"z", z}}),
              HasSubstr("the graph has no input \"c\"; it has \"a\", \"b\""));
  EXPECT_THAT(run({{"a", ta}, {"b", tb}}, {{"y", y}, {"zz", z}}),
              HasSubstr("the graph has no output \"zz\"; it has \"y\", \"z\"; the nearest name is \"z\""));
  EXPECT_THAT(run({{"a", ta}, {"a", tb}}, {{"y", y}, {"z", z}}), HasSubstr("input \"a\" is given twice"));
  EXPECT_THAT(run({{"a", ta}, {"b", i32}}, {{"y", y}, {"z", z}}),
              HasSubstr("input \"b\" is i32 [2], expected f32 [2]"));
  EXPECT_THAT(run({{"a", ta}, {"b", three}}, {{"y", y}, {"z", z}}), HasSubstr("expected f32 [2]"));
  EXPECT_THAT(run({{"a", ta}, {"b", tb}}, {{"y", ta}, {"z", z}}),
              HasSubstr("output \"y\" lies in the same buffer as input \"a\""));
  EXPECT_THAT(run({{"a", ta}, {"b", tb}}, {{"y", y}, {"z", y}}),
              HasSubstr("output \"z\" lies in the same buffer as output \"y\""));
  const Device elsewhere = device.is_gpu() ? Device::cpu() : Device();
  if (device.is_gpu()) {
    const Tensor far(elsewhere, DType::f32, {2});
    EXPECT_THAT(run({{"a", far}, {"b", tb}}, {{"y", y}, {"z", z}}), HasSubstr("is on cpu, the graph was compiled for"));
  }
  EXPECT_THAT(test::refused_by([&] { Tensor(device, DType::f32, {2}).write({}); }), HasSubstr("0 bytes written"));
  EXPECT_THAT(test::refused_by([&] { ta.read<double>(); }),
              HasSubstr("read as f64; to_vector() converts, read() does not"));
  // After all these errors the executable still works.
  EXPECT_EQ(run({{"a", ta}, {"b", tb}}, {{"y", y}, {"z", z}}), "nothing");
  EXPECT_THAT(test::refused_by([] { Executable().run({}, {}); }), HasSubstr("empty Executable"));
}

TEST_P(CompileTest, ExecutablesShareTheirConstants) {
  const TensorData w = noise({64, 64}, 7);
  const TensorData v = noise({64, 32}, 8);
  const auto build = [&](std::int64_t rows) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {rows, 64});
    const Tensor a = matmul(x, g.constant(w));
    const Tensor b = matmul(x, g.constant(v));
    g.output("y", slice(a, 1, 0, 32) * b);
    return g;
  };
  CompileOptions options{.constants = make_constant_store(device)};
  ExecutableCache cache(device, 2);
  const auto get = [&](std::int64_t rows) {
    return cache.get(std::to_string(rows), [&] { return build(rows); }, options);
  };
  Executable one = get(1);
  device.wait();
  const auto before = test::DawnCounters::now();
  Executable two = get(1);
  EXPECT_EQ((test::DawnCounters::now() - before).created(), 0u);
  Executable three = get(3);
  const auto made = test::DawnCounters::now() - before;
  // The merged weights are on the device already: only scratch of another size is allocated.
  EXPECT_LE(made.writes, 1u) << made.text();
  EXPECT_EQ(cache.size(), 2u);
  get(4);
  EXPECT_EQ(cache.size(), 2u);
  for (const std::int64_t rows : {1, 3}) {
    const Graph g = build(rows);
    const std::map<std::string, TensorData> data{{"x", noise({rows, 64}, 9)}};
    const Bound bound(device, g, data);
    bound.run(rows == 1 ? one : three);
    bound.compare(compiler::evaluate(g, data), "shared constants");
  }
}

TEST_P(CompileTest, ExecutablesShareTheirScratchMemory) {
  if (!device.is_gpu()) GTEST_SKIP() << "the host's memory is not counted";
  CompileOptions options{.constants = make_constant_store(device)};
  const auto build = [](std::int64_t rows) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {rows, 4096});
    g.output("y", softmax(softmax(softmax(x) * 2.0, 0) * 3.0));
    return g;
  };
  const std::uint64_t before = device.gpu().memory().live;
  std::vector<Executable> executables;
  std::uint64_t planned = 0;
  for (const std::int64_t rows : {64, 16, 128, 32, 256}) {
    executables.push_back(compile(build(rows), device, options));
    planned = std::max(planned, executables.back().report().planned_bytes);
  }
  EXPECT_EQ(planned, 256u * 4096 * 4);  // each result replaces the one before
  // Size classes of the pool may round up, but five executables must not take more than one.
  EXPECT_LE(device.gpu().memory().live - before, planned * 5 / 4 + 4096);
  int i = 0;
  for (const std::int64_t rows : {64, 16, 128, 32, 256}) {
    const Graph g = build(rows);
    const std::map<std::string, TensorData> data{{"x", noise({rows, 4096}, 5)}};
    const Bound bound(device, g, data);
    bound.run(executables[static_cast<std::size_t>(i++)]);
    bound.compare(compiler::evaluate(g, data), std::format("{} rows", rows));
  }
}

// Encoders of one and of several layers, small and large: the plan is within 1.1 of the bytes that are alive at once.
TEST(Compile, EncodersTakeLittleMoreThanIsAliveAtOnce) {
  for (const std::int64_t batch : {1, 32}) {
    for (const std::int64_t length : {16, 128, 512}) {
      for (const auto& [hidden, heads] : {std::pair<std::int64_t, std::int64_t>{384, 12}, {768, 12}}) {
        const Graph g = bert_layer(batch, length, hidden, heads, 4 * hidden);
        const CompileReport report = compile(g, Device::cpu()).report();
        EXPECT_LE(static_cast<double>(report.planned_bytes), 1.1 * static_cast<double>(report.liveness_bound))
            << batch << " × " << length << " × " << hidden;
      }
    }
  }
}

TEST(Compile, AnotherDevicesStoreIsRefused) {
  if (test::devices().empty()) GTEST_SKIP() << "no GPU";
  Graph g;
  g.output("y", g.input("x", DType::f32, {2}) + 1.0);
  const CompileOptions options{.constants = make_constant_store(Device::cpu())};
  EXPECT_THAT(test::refused_by([&] { compile(g, Device(test::devices()[0].device), options); }),
              HasSubstr("constant store is for cpu"));
}

// A host write between recording and submitting must not be taken for the tensor's content after the work has run.
TEST(Compile, WorkThatIsSubmittedLaterIsNotForgotten) {
  if (test::devices().empty()) GTEST_SKIP() << "no GPU";
  const Device device(test::devices()[0].device);
  const std::vector<float> ones{1, 1};
  for (const bool recorded : {false, true}) {
    Tensor x(device, DType::f32, {2});
    gpu::Encoder encoder(device.gpu());
    gpu::Recording recording(device.gpu());
    kernels::fill(recorded ? static_cast<Stream&>(recording) : encoder, 7, x.view());
    if (recorded) {
      recording.finish();
      encoder.replay(recording);
    }
    x.write(std::as_bytes(std::span(ones)));
    encoder.submit();
    x.write(std::as_bytes(std::span(ones)));
    EXPECT_EQ(x.read<float>(), ones) << "recorded " << recorded;
  }
}

TEST_P(CompileTest, ExecutablesOfACacheAreWhatWasAskedFor) {
  ExecutableCache cache(device);
  const auto build = [] {
    Graph g;
    g.output("y", matmul(g.input("x", DType::f32, {2, 64}), g.constant(noise({64, 64}, 7), "w")));
    return g;
  };
  Executable once = cache.get("k", build, {.precision = Precision::automatic, .restorable = false});
  Executable again = cache.get("k", build, {.precision = Precision::automatic});
  EXPECT_EQ(cache.size(), 2u);
  ASSERT_EQ(again.report().precision.size(), 1u);
  again.restore(device);
  EXPECT_EQ(again.report().precision.size(), 1u) << "what was decided is told after a move, too";
}

TEST(Compile, MemoryThatMovedOnIsUploadedAgain) {
  // A new constant at the address of an old one must not be taken for it.
  const Device device = Device::cpu();
  CompileOptions options{.constants = make_constant_store(device)};
  auto memory = std::make_shared<std::vector<float>>(32, 1.0f);
  const auto run = [&](std::shared_ptr<const void> owner) {
    Graph g;
    const TensorData data{DType::f32, {32}, std::as_bytes(std::span(*memory)), std::move(owner)};
    g.output("y", exp(g.constant(data)) + g.input("x", DType::f32, {32}));
    Executable exe = compile(g, device, options);
    const Tensor x(device, DType::f32, {32}), y(device, DType::f32, {32});
    Tensor zeros = x;
    zeros.write(numbers({32}, 0, 0).bytes);
    exe.run({{"x", x}}, {{"y", y}});
    return y.read<float>()[0];
  };
  EXPECT_NEAR(run(std::make_shared<int>()), std::exp(1.0f), 1e-5f);
  std::ranges::fill(*memory, 2.0f);
  EXPECT_NEAR(run(std::make_shared<int>()), std::exp(2.0f), 1e-5f);
  std::ranges::fill(*memory, 3.0f);
  EXPECT_NEAR(run(nullptr), std::exp(3.0f), 1e-4f);  // no owner: never shared
  std::ranges::fill(*memory, 4.0f);
  EXPECT_NEAR(run(nullptr), std::exp(4.0f), 1e-4f);
}

}  // namespace
}  // namespace weft
