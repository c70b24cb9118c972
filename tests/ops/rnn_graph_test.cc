// Recurrent networks as operations of a graph: shapes, types, errors, and their results on every device.
#include <gmock/gmock.h>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "support/kernel_test.h"
#include "support/throws.h"
#include "weft/recurrent.h"

namespace weft {
namespace {

using test::Bound;
using test::noise;
using test::thrown_by;
using testing::HasSubstr;

constexpr std::int64_t kSteps = 5, kBatch = 3, kInputs = 4, kHidden = 6;

// Inputs of a graph, with noise for each.
struct Inputs {
  Graph graph;
  std::map<std::string, TensorData> data;
  unsigned seed = 1;

  Tensor operator()(const std::string& name, const Shape& shape) {
    data.emplace(name, noise(shape, seed++, 0.6f));
    return graph.input(name, DType::f32, shape);
  }
  Tensor lengths(std::initializer_list<std::int32_t> values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    data.emplace("lengths", TensorData::of<std::int32_t>(DType::i32, shape, std::vector<std::int32_t>(values)));
    return graph.input("lengths", DType::i32, shape);
  }
};

struct RecurrentGraphTest : testing::TestWithParam<std::string> {
  // On this device, against the interpreter.
  void run(Inputs& in, const std::string& what) {
    Executable exe = compile(in.graph, device);
    const Bound bound(device, in.graph, in.data);
    bound.run(exe);
    bound.compare(compiler::evaluate(in.graph, in.data), what);
  }
  Device device = test::device_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, RecurrentGraphTest, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

// A sequence is its steps.
TEST_P(RecurrentGraphTest, SequencesAreTheirSteps) {
  Inputs in;
  const Tensor x = in("x", {kSteps, kBatch, kInputs});
  const auto step = [&](std::int64_t t) { return squeeze(slice(x, 0, t, t + 1), 0); };
  const auto all = [](const std::vector<Tensor>& steps) {
    std::vector<Tensor> rows;
    for (const Tensor& h : steps) rows.push_back(expand_dims(h, 0));
    return concat(rows, 0);
  };
  {
    const Tensor w = in("lstm_w", {4 * kHidden, kInputs}), r = in("lstm_r", {4 * kHidden, kHidden});
    const Tensor bias = in("lstm_bias", {4 * kHidden}), peephole = in("peephole", {3 * kHidden});
    const Tensor h0 = in("lstm_h", {kBatch, kHidden}), c0 = in("lstm_c", {kBatch, kHidden});
    const auto [y, h, c] = lstm(x, w, r, {.bias = bias, .initial_h = h0, .initial_c = c0, .peephole = peephole});
    LstmState s{h0, c0};
    std::vector<Tensor> steps;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      s = lstm_cell(step(t), w, r, {.bias = bias, .initial_h = s.h, .initial_c = s.c, .peephole = peephole});
      steps.push_back(s.h);
    }
    in.graph.output("lstm_y", y - all(steps));
    in.graph.output("lstm_h_last", squeeze(h, 0) - s.h);
    in.graph.output("lstm_c_last", squeeze(c, 0) - s.c);
  }
  {
    const Tensor w = in("gru_w", {3 * kHidden, kInputs}), r = in("gru_r", {3 * kHidden, kHidden});
    const Tensor bias = in("gru_bias", {3 * kHidden});
    const auto [y, h] = gru(x, w, r, {.recurrent_bias = bias});
    Tensor s;
    std::vector<Tensor> steps;
    for (std::int64_t t = 0; t < kSteps; ++t) {
      s = gru_cell(step(t), w, r, {.recurrent_bias = bias, .initial_h = s});
      steps.push_back(s);
    }
    in.graph.output("gru_y", y - all(steps));
    in.graph.output("gru_h_last", squeeze(h, 0) - s);
  }
  {
    const Tensor w = in("rnn_w", {kHidden, kInputs}), r = in("rnn_r", {kHidden, kHidden});
    const RnnOptions options{.activation = RnnFunction::relu, .clip = 0.9};
    const auto [y, h] = rnn(x, w, r, {}, options);
    Tensor s;
    std::vector<Tensor> steps;
    for (std::int64_t t = 0; t < kSteps; ++t) steps.push_back(s = rnn_cell(step(t), w, r, {.initial_h = s}, options));
    in.graph.output("rnn_y", y - all(steps));
    in.graph.output("rnn_h_last", squeeze(h, 0) - s);
  }
  Executable exe = compile(in.graph, device);
  const Bound bound(device, in.graph, in.data);
  bound.run(exe);
  std::map<std::string, TensorData> zeros;
  for (const GraphPort& o : in.graph.impl().outputs) zeros.emplace(o.name, test::numbers(o.value.shape(), 0, 0));
  bound.compare(zeros, "a sequence less its steps", 1e-5f);
}

// The reverse network sees the reversed sequence; both are one network of two directions.
TEST_P(RecurrentGraphTest, Directions) {
  Inputs in;
  const Tensor x = in("x", {kSteps, kBatch, kInputs});
  const Tensor w = in("w", {2, 3 * kHidden, kInputs}), r = in("r", {2, 3 * kHidden, kHidden});
  const auto of = [](const Tensor& v, std::int64_t d) { return slice(v, 0, d, d + 1); };
  const auto reversed = [](const Tensor& v) { return slice(v, 0, kSteps - 1, -1, -1); };
  const auto both = gru(x, w, r, {}, {.direction = RnnDirection::bidirectional});
  const auto forward = gru(x, of(w, 0), of(r, 0));
  const auto back = gru(x, of(w, 1), of(r, 1), {}, {.direction = RnnDirection::reverse});
  const auto turned = gru(reversed(x), of(w, 1), of(r, 1));
  EXPECT_EQ(both.y.shape(), (Shape{kSteps, kBatch, 2 * kHidden}));
  EXPECT_EQ(both.h.shape(), (Shape{2, kBatch, kHidden}));
  in.graph.output("y", both.y - concat(std::vector{forward.y, back.y}, 2));
  in.graph.output("h", both.h - concat(std::vector{forward.h, back.h}, 0));
  in.graph.output("turned", back.y - reversed(turned.y));
  Executable exe = compile(in.graph, device);
  const Bound bound(device, in.graph, in.data);
  bound.run(exe);
  std::map<std::string, TensorData> zeros;
  for (const GraphPort& o : in.graph.impl().outputs) zeros.emplace(o.name, test::numbers(o.value.shape(), 0, 0));
  bound.compare(zeros, "two directions less each of them", 1e-5f);
}

// Operands that are views, and work around the network: one step, whatever the length.
TEST_P(RecurrentGraphTest, BatchFirstWithLengths) {
  Inputs in;
  const Tensor x = in("x", {kBatch, kSteps, kInputs});
  const Tensor w = in("w", {kInputs, 4 * kHidden}), r = in("r", {kHidden, 4 * kHidden});
  const Tensor lengths = in.lengths({2, 5, 0});
  const auto [y, h, c] = lstm(x, w.T(), r.T(), {.lengths = lengths, .batch_first = true});
  EXPECT_EQ(y.shape(), (Shape{kBatch, kSteps, kHidden}));
  EXPECT_EQ(h.shape(), (Shape{1, kBatch, kHidden}));
  in.graph.output("y", y);
  in.graph.output("h", h);
  in.graph.output("c", c);
  run(in, "batch first");
  const Executable exe = compile(in.graph, device);
  EXPECT_EQ(exe.report().steps.size(), 1u) << exe.report().graph;
  // Without the batch in front it is the same network.
  Inputs other;
  other.data = in.data;
  const Tensor x2 = other.graph.input("x", DType::f32, {kBatch, kSteps, kInputs});
  const Tensor w2 = other.graph.input("w", DType::f32, w.shape()), r2 = other.graph.input("r", DType::f32, r.shape());
  const Tensor n2 = other.graph.input("lengths", DType::i32, {kBatch});
  const auto steps_first = lstm(permute(x2, {1, 0, 2}), w2.T(), r2.T(), {.lengths = n2});
  other.graph.output("y", permute(steps_first.y, {1, 0, 2}));
  const auto a = compiler::evaluate(in.graph, in.data), b = compiler::evaluate(other.graph, other.data);
  EXPECT_EQ(a.at("y").bytes.size(), b.at("y").bytes.size());
  const auto ya = test::floats_of(a.at("y")), yb = test::floats_of(b.at("y"));
  for (std::size_t i = 0; i < ya.size(); ++i) ASSERT_NEAR(ya[i], yb[i], 1e-6) << i;
}

// Two layers with work between them, run twice by one executable with other inputs.
TEST_P(RecurrentGraphTest, Layers) {
  Inputs in;
  const Tensor x = in("x", {kSteps, kBatch, kInputs});
  const Tensor w1 = in("w1", {2, 4 * kHidden, kInputs}), r1 = in("r1", {2, 4 * kHidden, kHidden});
  const Tensor w2 = in("w2", {3 * kHidden, 2 * kHidden}), r2 = in("r2", {3 * kHidden, kHidden});
  const Tensor first = lstm(exp(x), w1, r1, {}, {.direction = RnnDirection::bidirectional}).y;
  const auto second = gru(relu(first) * 0.5f, w2, r2, {}, {.reset_after = false});
  in.graph.output("y", second.y + 1);
  in.graph.output("last", softmax(second.h, -1));
  Executable exe = compile(in.graph, device);
  for (unsigned round = 0; round < 2; ++round) {
    in.data.at("x") = noise({kSteps, kBatch, kInputs}, 40 + round);
    const Bound bound(device, in.graph, in.data);
    bound.run(exe);
    bound.compare(compiler::evaluate(in.graph, in.data), std::format("round {}", round));
  }
}

// Weights that are constants, in both precisions, and a network of constants alone.
TEST_P(RecurrentGraphTest, ConstantWeights) {
  const auto constant = [](const Shape& shape, unsigned seed) {
    return Graph::constant(noise(shape, seed, 0.4f), std::format("c{}", seed));
  };
  const Tensor w = constant({4 * kHidden, kInputs}, 11), r = constant({4 * kHidden, kHidden}, 12);
  Inputs in;
  const auto [y, h, c] = lstm(in("x", {kSteps, kBatch, kInputs}), w, r, {.bias = constant({4 * kHidden}, 13)});
  in.graph.output("y", y);
  in.graph.output("c", c);
  in.graph.output("constant", lstm(constant({kSteps, kBatch, kInputs}, 14), w, r).y * 2);
  for (const Precision precision : {Precision::strict, Precision::f16}) {
    Executable exe = compile(in.graph, device, {.precision = precision});
    const Bound bound(device, in.graph, in.data);
    bound.run(exe);
    bound.compare(compiler::evaluate(in.graph, in.data), "constants", precision == Precision::strict ? 2e-5f : 4e-3f);
  }
}

// Tensors that are evaluated when they are wanted, in f16.
TEST_P(RecurrentGraphTest, HalfPrecision) {
  const auto half = [&](const Shape& shape, unsigned seed) {
    Tensor t(device, DType::f32, shape);
    t.write(noise(shape, seed, 0.4f).bytes);
    return t;
  };
  const Tensor x = half({kSteps, kBatch, 8}, 1), w = half({16, 8}, 2), r = half({16, 4}, 3);
  const auto as16 = [](const Tensor& t) { return cast(t, DType::f16); };
  const auto narrow = lstm(as16(x), as16(w), as16(r));
  const auto wide = lstm(x, w, r);
  EXPECT_EQ(narrow.y.dtype(), DType::f16);
  EXPECT_EQ(narrow.c.dtype(), DType::f16);
  const auto a = cast(narrow.y, DType::f32).read<float>(), b = wide.y.read<float>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 2e-3) << i;
}

TEST(RecurrentGraph, SaysWhatDoesNotFit) {
  Graph g;
  auto f32 = [&, n = 0](const Shape& shape) mutable { return g.input(std::format("x{}", n++), DType::f32, shape); };
  const Tensor x = f32({5, 3, 4}), w = f32({24, 4}), r = f32({24, 6});
  EXPECT_EQ(thrown_by([&] { lstm(x, w, Tensor()); }), "InvalidArgument: lstm: r is an undefined Tensor");
  EXPECT_THAT(thrown_by([&] { lstm(x, f32({18, 4}), r); }),
              HasSubstr("lstm: w is f32 [1, 18, 4], expected [1, 24, 4] ([directions, 4 · hidden, inputs]) "
                        "for x f32 [5, 3, 4]"));
  EXPECT_THAT(thrown_by([&] { gru(x, f32({18, 4}), r); }), HasSubstr("gru: r is f32 [1, 24, 6], expected [1, 18, 6]"));
  EXPECT_THAT(thrown_by([&] { lstm(x, w, r, {}, {.direction = RnnDirection::bidirectional}); }),
              HasSubstr("lstm: w is f32 [24, 4], expected rank 3"));
  EXPECT_THAT(thrown_by([&] { lstm(x, w, f32({24})); }),
              HasSubstr("lstm: r is f32 [24], expected rank 3, or 2 without an axis of directions"));
  EXPECT_THAT(thrown_by([&] { lstm(f32({5, 4}), w, r); }), HasSubstr("lstm: x is f32 [5, 4]; expected rank 3"));
  EXPECT_THAT(thrown_by([&] { lstm(x, w, r, {.initial_h = f32({5, 6})}); }),
              HasSubstr("initial_h is f32 [1, 5, 6], expected [1, 3, 6] ([directions, batch, hidden])"));
  EXPECT_THAT(thrown_by([&] { lstm(x, w, r, {.initial_h = f32({3, 6}), .batch_first = true}); }),
              HasSubstr("initial_h is f32 [1, 3, 6], expected [1, 5, 6] ([directions, batch, hidden]) for x f32 [5, 3, "
                        "4], batch first"));
  EXPECT_THAT(thrown_by([&] { lstm(x, w, r, {.lengths = f32({3})}); }),
              HasSubstr("lstm: lengths are f32 [3]; expected i32 u32"));
  EXPECT_EQ(thrown_by([&] { gru(x, f32({18, 4}), f32({18, 6}), {.peephole = f32({18})}); }),
            "InvalidArgument: gru: peephole is given, which only an lstm has");
  EXPECT_THAT(thrown_by([&] { lstm_cell(x, w, r); }),
              HasSubstr("lstm_cell: x is f32 [5, 3, 4], expected [batch, inputs]"));
  EXPECT_THAT(
      thrown_by([&] { rnn_cell(f32({3, 4}), f32({6, 4}), f32({6, 6}), {}, {.direction = RnnDirection::reverse}); }),
      HasSubstr("rnn_cell: one step has the direction forward, not reverse"));
  EXPECT_THAT(thrown_by([&] { gru_cell(f32({3, 4}), f32({18, 4}), f32({18, 6}), {.lengths = f32({3})}); }),
              HasSubstr("gru_cell: lengths are given, which one step has not"));
}

TEST(RecurrentGraph, IsPrinted) {
  Graph g;
  const Tensor x = g.input("x", DType::f16, {5, 3, 4}), w = g.input("w", DType::f16, {1, 18, 4});
  const Tensor r = g.input("r", DType::f16, {1, 18, 6}), b = g.input("b", DType::f16, {1, 18});
  g.output("y", gru(x, w, r, {.bias = b}, {.gates = GruGates::zrn, .reset_after = false}).y);
  EXPECT_THAT(g.to_string(),
              HasSubstr("gru{direction=forward, gates=zrn, gate_activation=sigmoid, candidate_activation=tanh, "
                        "reset_after=false, operands=bias} %0, %1, %2, %3 : f16 [1, "
                        "3, 6], f16 [5, 3, 6]"));
}

}  // namespace
}  // namespace weft
