// Graphs written as models of ONNX: what comes back computes the same bits on the cpu, and what cannot be said is
// listed. WEFT_ONNX_KEEP=DIR keeps the models with their inputs and results, which compare_onnxruntime.py runs
// elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <format>
#include <fstream>
#include <map>

#include "onnx/write.h"
#include "support/devices.h"
#include "support/onnx_writer.h"
#include "support/quick.h"
#include "support/random_graph.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/files.h"
#include "weft/graph.h"
#include "weft/graph_file.h"
#include "weft/label.h"
#include "weft/linalg.h"
#include "weft/onnx.h"
#include "weft/pooling.h"
#include "weft/quantized_weights.h"
#include "weft/random.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Bytes = std::vector<std::vector<std::byte>>;

class OnnxSave : public testing::Test {
 protected:
  static std::vector<Tensor> run(const Graph& graph, std::span<const NamedTensor> inputs) {
    Executable exe = compile(graph, Device::cpu());
    std::vector<Tensor> outputs;
    std::vector<NamedTensor> named;
    const std::vector<Graph::Port> ports = graph.outputs();
    for (const Graph::Port& p : ports) outputs.emplace_back(Device::cpu(), p.type.dtype, p.type.shape);
    for (std::size_t i = 0; i < outputs.size(); ++i) named.push_back({ports[i].name, outputs[i]});
    exe.run(inputs, named).get();
    return outputs;
  }
  static Bytes bytes_of(std::span<const Tensor> tensors) {
    Bytes all;
    for (const Tensor& t : tensors) {
      all.emplace_back(byte_size(t.type()));
      t.read_bytes(all.back());
    }
    return all;
  }
  // Of the graph, of the model that is written, and of the graph that is made of that.
  void same_again(const Graph& graph, const std::map<std::string, Tensor>& inputs, const std::string& what,
                  const onnx::SaveOptions& options = {}) {
    const fs::path path = dir.path() / "m.onnx";
    onnx::save(path, graph, options);
    std::vector<NamedTensor> named;
    for (const auto& [name, tensor] : inputs) named.push_back({name, tensor});
    const std::vector<Tensor> results = run(graph, named);
    const onnx::Model model = onnx::Model::load(path, {.device = Device::cpu()});
    const std::vector<Tensor> got = model.run(named);
    EXPECT_EQ(model.reads(), 0u) << what;
    const Graph again = model.graph();
    ASSERT_EQ(again.inputs().size(), graph.inputs().size()) << what;
    EXPECT_EQ(bytes_of(run(again, named)), bytes_of(got)) << what << ", as a graph";
    // What the model computes of constants while it is made lies densely in memory, and a product of that may sum in
    // another order than one of a view: by the last bits of its largest term.
    if (bytes_of(got) == bytes_of(results)) {
      ++same_bits;
    } else {
      ++other_bits;
      for (std::size_t i = 0; i < results.size(); ++i) {
        ASSERT_TRUE(is_floating(results[i].dtype())) << what;
        const Tensor x = cast(results[i], DType::f64), y = cast(got[i], DType::f64);
        const double bound =
            (results[i].dtype() == DType::f32 ? 0x1p-20 : 0x1p-8) * std::max(1.0, abs(x).max().item<double>());
        EXPECT_LE(abs(x - y).max().item<double>(), bound) << what;
      }
    }
    if (const char* keep = std::getenv("WEFT_ONNX_KEEP")) {
      const fs::path to = fs::path(keep) / what;
      fs::create_directories(to);
      save(to / "graph.safetensors", graph);
      fs::copy_file(path, to / "model.onnx", fs::copy_options::overwrite_existing);
      if (fs::exists(path.string() + ".data")) fs::rename(path.string() + ".data", to / "m.onnx.data");
      for (const auto& [name, tensor] : inputs) save(to / ("in_" + name + ".npy"), stored(tensor));
      for (std::size_t i = 0; i < results.size(); ++i) save(to / std::format("out_{}.npy", i), stored(results[i]));
    }
  }
  // In a type that NumPy has.
  static Tensor stored(const Tensor& t) { return t.dtype() == DType::bf16 ? cast(t, DType::f32) : t; }

  const DefaultDeviceScope cpu{Device::cpu()};
  TempDir dir;
  int same_bits = 0, other_bits = 0;  // of models, those of the graph
};

// What ONNX has no word for: decompositions of matrices, transforms of complex numbers, and a few more.
bool may_lack(const std::string& why) {
  for (const char* op :
       {"cholesky", "triangular_solve", "lu", "qr", "eigh", "eig", "svd", "fft", "c64", "log_sum_exp", "complex",
        "scan_max", "gradient", "adaptive", "windows", "mode area", "the scale", "exponent", "inverse_order"}) {
    if (why.find(op) != std::string::npos) return true;
  }
  return false;
}

TEST_F(OnnxSave, RandomGraphs) {
  int saved = 0, refused = 0;
  for (unsigned seed = 1; seed <= scaled(160u); ++seed) {
    const RandomGraph g = random_graph(seed, seed % 5 == 0 ? DType::f16 : DType::f32);
    std::map<std::string, Tensor> inputs;
    for (const auto& [name, data] : g.inputs) inputs.emplace(name, Graph::constant(data));
    for (auto& [name, tensor] : inputs) tensor = contiguous(tensor), eval(tensor);
    try {
      same_again(g.graph, inputs, std::format("random_{}", seed));
      ++saved;
    } catch (const Unsupported& e) {
      ++refused;
      EXPECT_TRUE(may_lack(e.what())) << seed << ": " << e.what();
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(saved, refused) << "most graphs can be said";
  EXPECT_LE(20 * other_bits, same_bits);
  std::printf("%d graphs were written, %d cannot be said\n", saved, refused);
}

// What their attributes, and elements at the edges, make of them.
TEST_F(OnnxSave, ScattersCodesAndQuantizedNumbers) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {4}), u = graph.input("u", DType::f32, {2});
  const Tensor at = graph.input("at", DType::i64, {2});
  using kernels::ScatterKind;
  for (const ScatterKind kind :
       {ScatterKind::assign, ScatterKind::add, ScatterKind::mul, ScatterKind::max, ScatterKind::min}) {
    const std::string name(kernels::kScatterKinds[static_cast<std::size_t>(kind)]);
    graph.output(name, scatter(kind, x, at, u, 0));
    graph.output("elements_" + name, scatter_elements(kind, x, at, u, 0));
    graph.output("nd_" + name, scatter_nd(kind, x, expand_dims(at, 1), u));
  }
  graph.output("codes", one_hot(at - 2, 3, DType::f32));
  graph.output("codes_i32", one_hot(cast(at, DType::i32) - 4, 3, DType::i32, 0));
  for (const DType type : {DType::u8, DType::i8, DType::u16, DType::i16}) {
    graph.output(std::format("from_f32_{}", to_string(type)), cast(x * 1e6f, type));
    graph.output(std::format("from_f16_{}", to_string(type)), cast(cast(x * 9e3f, DType::f16), type));
  }
  const auto made = [](Tensor t) {
    eval(t);
    return t;
  };
  same_again(graph,
             {{"x", made(tensor({1.0f, -2.0f, 3.0f, 0.25f}) + 0)},
              {"u", made(tensor({-5.0f, 9.0f}) + 0)},
              {"at", made(tensor({1, 3}, DType::i64) + 0)}},
             "scatters");
  EXPECT_EQ(other_bits, 0);
}

TEST_F(OnnxSave, ScalarOperations) {
  // Each operation of one to three operands that has a row, in the types that it takes.
  const std::vector<float> a{-3.5f, -1.25f, -0.5f, 0.0f, 0.25f, 1.0f, 2.5f, 7.0f},
      b{2.0f, -1.5f, 0.5f, 1.0f, -2.0f, 3.0f, 0.75f, -4.0f};
  int made = 0;
  for (const DType type : {DType::f32, DType::f16, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    Graph graph("scalars");
    const Tensor x = graph.input("x", type, {8}), y = graph.input("y", type, {8}), z = graph.input("z", type, {});
    const Tensor truth = graph.input("truth", DType::boolean, {8});
    for (int i = 0; i < kScalarOpCount; ++i) {
      const auto op = static_cast<ScalarOp>(i);
      if (arity(op) < 1 || op == ScalarOp::cast || !onnx::find_write_row(name(op))) continue;
      try {
        const Tensor result = op == ScalarOp::select ? select(truth, x, y)
                              : arity(op) == 1       ? unary(op, x)
                              : arity(op) == 2       ? binary(op, x, y)
                                                     : ternary(op, x, z, z + z);
        graph.output(std::string(name(op)), result);
        ++made;
      } catch (const Error&) {
        continue;  // not of this type
      }
    }
    const auto given = [&](const std::vector<float>& v) {
      Tensor t = cast(Graph::constant(TensorData::of<float>(Shape{8}, v)), type);
      t = contiguous(t), eval(t);
      return t;
    };
    const Tensor chosen = given(b), condition = contiguous(cast(given(a), DType::f32) > 0);
    eval(condition);
    Tensor one = contiguous(cast(full({}, 1), type));
    eval(one);
    same_again(graph, {{"x", given(a)}, {"y", chosen}, {"z", one}, {"truth", condition}},
               std::format("scalars_{}", name(type)));
  }
  EXPECT_GT(made, 200);
}

TEST_F(OnnxSave, NetworksAndLoops) {
  const Tensor key = random::key(7);
  const auto given = [&](const Shape& shape) {
    Tensor t = random_normal(random::key(static_cast<std::uint64_t>(element_count(shape) + 3)), DType::f32, shape);
    eval(t);
    return t;
  };
  const auto check = [&](const std::string& what, const std::map<std::string, Shape>& inputs, const auto& f) {
    Graph graph(what);
    std::map<std::string, Tensor> symbols, values;
    for (const auto& [name, shape] : inputs) {
      symbols.emplace(name, graph.input(name, DType::f32, shape));
      values.emplace(name, given(shape));
    }
    graph.output("y", f(symbols));
    same_again(graph, values, what);
  };
  using In = std::map<std::string, Tensor>;
  check("norms", {{"x", {2, 6, 5}}, {"s", {5}}, {"c", {6}}}, [](In& t) {
    return layer_norm(t["x"], t["s"], t["s"], 1e-3) + rms_norm(t["x"], t["s"], 1e-4) +
           layer_norm(t["x"], {}, {}, 1e-5, 1) + group_norm(t["x"], t["c"], t["c"], 3, 1e-3) +
           instance_norm(t["x"], {}, {}, 1e-3);
  });
  check("attention", {{"q", {2, 4, 5, 8}}, {"k", {2, 2, 7, 8}}, {"v", {2, 2, 7, 8}}, {"m", {5, 7}}}, [](In& t) {
    return attention(t["q"], t["k"], t["v"], t["m"], {.scale = 0.3}) +
           attention(t["q"], t["k"], t["v"], {}, {.scale = 0.3, .causal = true}) +
           attention(t["q"], t["k"], t["v"], {}, {.scale = 0.3, .window_left = 2});
  });
  check("conv", {{"x", {2, 4, 9, 7}}, {"w", {6, 2, 3, 3}}, {"b", {6}}, {"t", {4, 2, 3, 2}}}, [](In& t) {
    const ConvOptions o{
        .strides = {2, 1}, .dilations = {1, 2}, .padding = {1, 2}, .padding_after = {0, 1}, .groups = 2};
    const Tensor y = conv(t["x"], t["w"], t["b"], o);
    ConvTransposeOptions u;
    u.strides = {2, 3}, u.padding = {1, 0}, u.groups = 2;
    u.output_padding = {1, 2};
    return sum(y) + sum(conv_transpose(t["x"], t["t"], {}, u)) +
           sum(conv(t["x"], t["w"], {}, {.padding = {-1, 1}, .groups = 2}));
  });
  check("pool", {{"x", {2, 3, 9, 8}}}, [](In& t) {
    const PoolOptions o{
        .window = {3, 2}, .strides = {2, 2}, .padding = {1, 0}, .ceil_mode = true, .count_padding = false};
    const PooledMax m = max_pool_with_indices(t["x"], o);
    return m.values + cast(m.indices, DType::f32) + average_pool(t["x"], o) + lp_pool(t["x"], 2, o);
  });
  check("resize", {{"x", {1, 2, 5, 6}}}, [](In& t) {
    const Tensor x = t["x"];
    return upsample(x, {10, 12}) + upsample(x, {10, 12}, {.mode = ResizeMode::linear}) +
           upsample(x, {10, 12}, {.mode = ResizeMode::cubic, .align_corners = true});
  });
  for (const bool both : {false, true}) {
    const std::int64_t d = both ? 2 : 1;
    check(std::format("recurrent_{}", d),
          {{"x", {4, 2, 3}},
           {"w", {d, 20, 3}},
           {"r", {d, 20, 5}},
           {"b", {d, 20}},
           {"h", {d, 2, 5}},
           {"v", {d, 15, 3}},
           {"u", {d, 15, 5}}},
          [&](In& t) {
            const RnnDirection way = both ? RnnDirection::bidirectional : RnnDirection::reverse;
            const auto l = lstm(t["x"], t["w"], t["r"], {.bias = t["b"], .initial_h = t["h"]}, {.direction = way});
            const auto g = gru(t["x"], t["v"], t["u"], {}, {.direction = way});
            return l.y + g.y + sum(l.h) + sum(l.c);
          });
  }
  check("moves", {{"x", {4, 6}}, {"u", {2, 3}}}, [](In& t) {
    const Tensor x = t["x"], i = tensor({3, 0, 3}, DType::i32), at = tensor({1}, DType::i32);
    const std::vector<std::int64_t> before{0, 2}, after{0, -2}, shifts{1, 2};
    const Tensor y =
        gather(x, i, 0) + pad(slice(x, 0, 0, 3), before, after, PadMode::symmetric) + roll(slice(x, 0, 1, 4), shifts);
    const Tensor sorted = sort(x, 1, true);
    return sum(y) + slice(sorted, 1, 5, -1, -1) + tile(slice(x, 0, 0, 1), std::vector<std::int64_t>{4, 1}) +
           repeat(slice(x, 0, 0, 2), 2, 0) + cast(argmax(x, 1, true), DType::f32) + cast(argsort(x, 0), DType::f32) +
           triangle(x, Triangle::upper, 1) + dynamic_update_slice(x, t["u"], tensor({1, 3}, DType::i32), {0, 1}) +
           sum(dynamic_slice(x, at, {2, 6}, {0}));
  });
  check("loops", {{"x", {3}}, {"s", {5, 3}}}, [](In& t) {
    const Tensor a = cond(sum(t["x"]) > 0, [](Tensor x) { return exp(x) + 1; }, [](Tensor x) { return -x; }, t["x"]);
    const Tensor b = while_loop([](Tensor x) { return sum(abs(x)) < 100; }, [](Tensor x) { return x * 2 + 1; }, t["x"]);
    const auto [last, path] = scan([](Tensor c, Tensor u) { return std::pair(c * 0.5 + u, c + u); }, t["x"], t["s"]);
    const Tensor turned = fori_loop(0, 6, [](Tensor i, Tensor x) { return x + cast(i, DType::f32); }, t["x"]);
    return a + b + last + sum(path, 0) + turned;
  });
  (void)key;
}

TEST_F(OnnxSave, WhatTheModelSays) {
  Graph graph("step");
  Tensor captured = full({4}, 2.0f);
  eval(captured);
  Tensor y;
  {
    const LabelScope layer("layers.0");
    y = silu(graph.input("x", DType::f32, {2, 4})) * graph.number("rate") + captured;
  }
  graph.output("y", y);
  graph.output("again", y);
  const Tensor w = Graph::constant(TensorData::of<float>(Shape{2000}, std::vector<float>(2000, 1.5f)), "w");
  graph.output("sum", sum(w) + sum(y));
  const fs::path path = dir.path() / "step.onnx";
  onnx::save(path, graph, {.external_data = true});
  EXPECT_EQ(fs::file_size(path.string() + ".data"), 8000u);
  const onnx::Model model = onnx::Model::load(path, {.device = Device::cpu()});
  const onnx::Description& d = model.description();
  EXPECT_EQ(d.name, "step");
  EXPECT_EQ(d.producer, "weft");
  EXPECT_EQ(d.opsets.at(""), 21);
  EXPECT_EQ(d.ir_version, 10);
  ASSERT_EQ(d.inputs.size(), 2u);
  EXPECT_EQ(d.inputs[1].name, "rate");
  EXPECT_EQ(d.outputs.size(), 3u);
  const auto uses = [&](std::string_view name) {
    return std::ranges::count(d.operators, name, &onnx::OperatorUse::name);
  };
  EXPECT_EQ(uses("silu"), 1) << "a function";
  EXPECT_EQ(uses("Sigmoid"), 1) << "its body";
  const std::vector<Tensor> out = model.run({{"x", ones({2, 4})}, {"rate", full({}, 3.0f)}});
  EXPECT_EQ(bytes_of(std::span(&out[0], 1)), bytes_of(std::span(&out[1], 1)));
  onnx::save(path, graph, {.opset = 25});
  EXPECT_EQ(onnx::describe(path).opsets.at(""), 25);
  EXPECT_EQ(onnx::describe(path).ir_version, 13);
  // A compiled function.
  auto f = compile([](Tensor a, Tensor b) { return matmul(a, b); });
  onnx::save(path, f.graph(ones({2, 3}), ones({3, 2})));
  EXPECT_EQ(onnx::describe(path).operators.at(0).name, "MatMul");
}

TEST_F(OnnxSave, WhatCannotBeSaid) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {3, 3});
  Tensor l, e;
  {
    const LabelScope layer("solve");
    l = cholesky(x);
  }
  e = erfinv(x);
  graph.output("y", l + e);
  const fs::path path = dir.path() / "m.onnx";
  const std::string why = thrown_by([&] { onnx::save(path, graph); });
  EXPECT_THAT(why, AllOf(HasSubstr("Unsupported: onnx: save: 2 operations of the graph cannot be said in ONNX:"),
                         HasSubstr("'solve' (cholesky"), HasSubstr("erfinv")));
  EXPECT_FALSE(fs::exists(path));
  Graph clash;
  clash.output("x", -clash.input("x", DType::f32, {1}));
  EXPECT_THAT(refused_by([&] { onnx::save(path, clash); }), HasSubstr("are called 'x'"));
  Graph fine;
  fine.output("y", -fine.input("x", DType::f32, {1}));
  EXPECT_THAT(refused_by([&] { onnx::save(path, fine, {.opset = 20}); }), HasSubstr("opset 20, expected 21 to 25"));
  EXPECT_THROW(onnx::save(dir.path() / "no" / "m.onnx", fine), IoError);
}

TEST_F(OnnxSave, QuantisedWeightsAreWrittenAsNumbers) {
  const Tensor w = random_normal(random::key(1), DType::f32, {8, 64});
  QuantizedWeights q = quantize_weights(w, {QuantizedScheme::affine, 4, 32});
  const auto constant = [](const Tensor& t) {
    std::vector<std::byte> bytes(byte_size(t.type()));
    t.read_bytes(bytes);
    return Graph::constant(TensorData::copy_of(t.dtype(), t.shape(), bytes));
  };
  q.values = constant(q.values), q.scales = constant(q.scales);
  if (q.zeros.defined()) q.zeros = constant(q.zeros);
  Graph graph;
  graph.output("y", quantized_matmul(graph.input("x", DType::f32, {3, 64}), q));
  const fs::path path = dir.path() / "m.onnx";
  onnx::save(path, graph);
  const Tensor x = random_normal(random::key(2), DType::f32, {3, 64});
  eval(x);
  const std::vector<NamedTensor> inputs{{"x", x}};
  const std::vector<float> expected = run(graph, inputs)[0].to_vector<float>();
  EXPECT_THAT(onnx::Model::load(path, {.device = Device::cpu()}).run(inputs)[0].to_vector<float>(),
              testing::Pointwise(testing::FloatNear(1e-4f), expected));
}

// Graphs of models, for those who go on building.
TEST_F(OnnxSave, GraphsOfModels) {
  OnnxGraph g;
  using onnx::ElementType;
  g.input("x", ElementType::f32, {-1, 3}).input("to", ElementType::i64, {2}).output("y", ElementType::f32, {-2, -3});
  g.node("Relu", {"x"}, {"r"}).node("Reshape", {"r", "to"}, {"y"});
  const fs::path path = dir.write("m.onnx", onnx_model(g));
  const onnx::Model model = onnx::Model::load(path, {.device = Device::cpu()});
  EXPECT_THAT(refused_by([&] { model.graph(); }), HasSubstr("the shape of input 'x' is missing"));
  EXPECT_THAT(thrown_by([&] { model.graph({{"x", {2, 3}}}); }),
              HasSubstr("Unsupported: onnx: what the graph is like depends on the elements of 'to'"));
  EXPECT_THAT(refused_by([&] { model.graph({{"z", {2, 3}}}, {{"to", tensor({3, 2}, DType::i64)}}); }),
              HasSubstr("no input is called 'z'; there are 'x', 'to'"));
  EXPECT_THAT(refused_by([&] { model.graph({{"x", {2, 3}}, {"z", {1}}}, {{"to", tensor({3, 2}, DType::i64)}}); }),
              HasSubstr("no input is called 'z'"));
  EXPECT_THROW(model.graph({{"x", {2, 4}}}, {{"to", tensor({3, 2}, DType::i64)}}), ShapeError);
  const Graph made = model.graph({{"x", {2, 3}}}, {{"to", tensor({3, 2}, DType::i64)}});
  ASSERT_EQ(made.inputs().size(), 1u);
  EXPECT_EQ(made.outputs()[0].type, (TensorType{DType::f32, {3, 2}}));
  const Tensor x = contiguous(ones({2, 3}));
  eval(x);
  const std::vector<NamedTensor> inputs{{"x", x}};
  EXPECT_THAT(run(made, inputs)[0].to_vector<float>(), testing::Each(1.0f));
}

}  // namespace
}  // namespace weft::test
