// Graphs in files: what is written comes back to the bit, and no file, however damaged, does more than be refused.
#include "weft/graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <format>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "graph/leaf.h"
#include "ops/elementwise.h"
#include "ops/op_rows.h"
#include "ops/view.h"
#include "support/data.h"
#include "support/quick.h"
#include "support/random_graph.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/custom_op.h"
#include "weft/derivatives.h"
#include "weft/distributions.h"
#include "weft/evaluate.h"
#include "weft/fft.h"
#include "weft/files.h"
#include "weft/label.h"
#include "weft/linalg.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/quantized_weights.h"
#include "weft/random.h"
#include "weft/recurrent.h"
#include "weft/traced.h"

namespace weft {
namespace {

using nlohmann::json;
using test::thrown_by;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Graph load_text(const std::string& file, const std::string& source = "f") {
  const auto bytes = std::make_shared<const std::string>(file);
  return load_graph(std::as_bytes(std::span(*bytes)), bytes, source);
}

// A file whose graph is this text, with one tensor, "w", f32 [3].
std::string file_of(const std::string& text) {
  const json header{{"__metadata__", {{"weft.graph", text}}},
                    {"w", {{"dtype", "F32"}, {"shape", {3}}, {"data_offsets", {0, 12}}}}};
  const std::string head = header.dump();
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(head.size() >> (8 * i) & 255);
  return file + head + std::string(12, '\0');
}

struct GraphFileTest : testing::Test {
  // The graph that comes back from a file.
  Graph again(const Graph& graph, const std::string& name = "g.safetensors") const {
    save(directory.path() / name, graph);
    Graph loaded = load_graph(directory.path() / name);
    loaded.verify();
    return loaded;
  }
  // The same; it is written as the same file again.
  Graph same_again(const Graph& graph) const {
    Graph loaded = again(graph);
    save(directory.path() / "again.safetensors", loaded);
    EXPECT_EQ(contents(directory.path() / "g.safetensors"), contents(directory.path() / "again.safetensors"));
    EXPECT_EQ(loaded.to_string(), graph.to_string());
    return loaded;
  }
  test::TempDir directory;
};

bool same_bytes(const TensorData& a, const TensorData& b) {
  return a.dtype == b.dtype && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

TEST_F(GraphFileTest, RandomGraphsComeBackAndComputeTheSameBits) {
  for (unsigned seed = 1; seed <= test::scaled(150); ++seed) {
    const test::RandomGraph g = test::random_graph(seed, seed % 5 == 0 ? DType::f16 : DType::f32);
    const Graph loaded = same_again(g.graph);
    const auto expected = compiler::evaluate(g.graph, g.inputs), got = compiler::evaluate(loaded, g.inputs);
    for (const auto& [name, data] : expected) EXPECT_TRUE(same_bytes(data, got.at(name))) << seed << ": " << name;
    if (HasFailure()) return;
  }
}

TEST_F(GraphFileTest, RandomGraphsRunTheSameOnDevices) {
  for (const std::string& name : test::all_devices()) {
    const Device device = test::device_named(name);
    for (unsigned seed = 401; seed <= 400 + test::scaled(device.is_gpu() ? 3 : 12); ++seed) {
      const test::RandomGraph g = test::random_graph(seed);
      const auto results = [&](const Graph& graph) {
        Executable exe = compile(graph, device);
        const test::Bound bound(device, graph, g.inputs);
        bound.run(exe);
        std::vector<std::vector<std::byte>> bytes;
        for (const auto& [output, tensor] : bound.outputs_) bytes.push_back(tensor.async_read_bytes().get());
        return bytes;
      };
      EXPECT_EQ(results(g.graph), results(again(g.graph))) << name << ", seed " << seed;
    }
  }
}

// Small constants are told by their content, so that the hash and the comparison tell exactly.
TEST_F(GraphFileTest, IsEqual) {
  Graph graph("step");
  const Tensor x = graph.input("x", DType::f32, {4, 3}), unused = graph.input("unused", DType::i8, {});
  const Tensor rate = graph.number("rate"), at = graph.number("at", DType::i64);
  const Tensor w = Graph::constant(test::numbers({3}), "w");
  const Tensor y = softmax(x * w + rate);
  graph.output("y", y);
  graph.output("again", y);
  graph.output("x", x);
  graph.output("w", w);
  const TopK best = top_k(dynamic_slice(y, at, {2, 3}, {0}), 2);
  graph.output("indices", best.indices);  // the second result
  const Graph loaded = same_again(graph);
  EXPECT_EQ(loaded.name(), "step");
  EXPECT_TRUE(loaded.equals(graph));
  EXPECT_EQ(loaded.hash(), graph.hash());
}

// A row of each op with attributes other than the defaults comes back as the same op.
TEST_F(GraphFileTest, EveryRowWithAMake) {
  // Operands that suit what the row says of each.
  const std::map<std::string, std::function<std::vector<Tensor>(Graph&)>> made = [] {
    std::map<std::string, std::function<std::vector<Tensor>(Graph&)>> all;
    const auto x = [](Graph& g, Shape shape, DType type = DType::f32) {
      return g.input(std::format("x{}", g.impl().inputs.size()), type, shape);
    };
    all["map"] = [=](Graph& g) { return std::vector{gelu(x(g, {2, 3})) * 2.5}; };
    all["iota"] = [=](Graph&) { return std::vector{arange(0, 5, 1)}; };
    all["reshape"] = [=](Graph& g) { return std::vector{reshape(x(g, {2, 3}), {3, 2})}; };
    all["permute"] = [=](Graph& g) { return std::vector{x(g, {2, 3}).T()}; };
    all["broadcast"] = [=](Graph& g) { return std::vector{broadcast_to(x(g, {1, 3}), {4, 3})}; };
    all["slice"] = [=](Graph& g) { return std::vector{slice(x(g, {9}), 0, 7, 1, -2)}; };
    all["windows"] = [=](Graph& g) { return std::vector{windows(x(g, {2, 9}), {-1, 3, 2, 2})}; };
    all["gather"] = [=](Graph& g) { return std::vector{gather(x(g, {4, 3}), x(g, {5}, DType::i32), -1)}; };
    all["gather_elements"] = [=](Graph& g) {
      return std::vector{gather_elements(x(g, {4, 3}), x(g, {4, 5}, DType::i64), 1)};
    };
    all["gather_nd"] = [=](Graph& g) { return std::vector{gather_nd(x(g, {4, 3, 2}), x(g, {4, 1}, DType::u32), 1)}; };
    all["scatter"] = [=](Graph& g) {
      return std::vector{scatter(kernels::ScatterKind::add, x(g, {4, 3}), x(g, {2}, DType::i32), x(g, {2, 3}), -2)};
    };
    all["dynamic_slice"] = [=](Graph& g) {
      return std::vector{dynamic_slice(x(g, {4, 3}), x(g, {2}, DType::i32), {2, 2}, {1, 0})};
    };
    all["dynamic_update_slice"] = [=](Graph& g) {
      return std::vector{dynamic_update_slice(x(g, {4, 3}), x(g, {1, 3}), x(g, {}, DType::i32), {0})};
    };
    all["concat"] = [=](Graph& g) { return std::vector{concat(std::vector{x(g, {4, 3}), x(g, {4, 2})}, -1)}; };
    all["matmul"] = [=](Graph& g) {
      return std::vector{matmul(x(g, {2, 3}, DType::f16), x(g, {3, 4}, DType::f16), DType::f32)};
    };
    all["attention"] = [=](Graph& g) {
      return std::vector{attention(x(g, {2, 4, 5, 8}), x(g, {2, 2, 6, 8}), x(g, {2, 2, 6, 8}), x(g, {5, 6}),
                                   {.scale = 0.3f}, {}, x(g, {2}, DType::i32))};
    };
    all["attention_gradient"] = [=](Graph& g) {
      const Tensor q = x(g, {2, 4, 5, 8}), k = x(g, {2, 2, 6, 8}), mask = x(g, {5, 6});
      const auto f = [&](const Tensor& q, const Tensor& k) { return attention(q, k, k, mask, {.scale = 0.3f}); };
      const auto [dq, dk] = vjp<0, 1>(f)(q, k).second(q);
      return std::vector{dq, dk};
    };
    all["layer_norm"] = [=](Graph& g) { return std::vector{layer_norm(x(g, {2, 4, 5}), x(g, {5}), {}, 1e-12)}; };
    all["rms_norm"] = [=](Graph& g) { return std::vector{rms_norm(x(g, {2, 4, 5}), {}, 1e-6)}; };
    all["group_norm"] = [=](Graph& g) { return std::vector{group_norm(x(g, {2, 4, 5}), {}, x(g, {4}), 2, 1e-5, 1)}; };
    all["softmax"] = [=](Graph& g) { return std::vector{softmax(x(g, {2, 4, 5}), -2)}; };
    all["sum"] = [=](Graph& g) { return std::vector{sum(x(g, {2, 4, 5}), {2, 0}, true)}; };
    all["variance"] = [=](Graph& g) { return std::vector{variance(x(g, {2, 4, 5}), {-1}, 1.5)}; };
    all["argmax"] = [=](Graph& g) { return std::vector{argmax(x(g, {2, 4, 5}), {1}, true)}; };
    all["cumulative"] = [=](Graph& g) {
      return std::vector{scan(kernels::ScanKind::max, x(g, {2, 4, 5}), -2, {.reverse = true, .exclusive = true})};
    };
    all["top_k"] = [=](Graph& g) {
      const TopK best = top_k(x(g, {2, 9}), 3, 1, false);
      return std::vector{best.values, best.indices};
    };
    all["argsort"] = [=](Graph& g) { return std::vector{argsort(x(g, {2, 9}), 0, true)}; };
    all["pad"] = [=](Graph& g) {
      return std::vector{pad(x(g, {2, 3}, DType::i64), std::vector<std::int64_t>{1, -1},
                             std::vector<std::int64_t>{0, 2}, PadMode::constant, std::int64_t{9007199254740993})};
    };
    all["tile"] = [=](Graph& g) { return std::vector{tile(x(g, {2, 3}), std::vector<std::int64_t>{3, 2})}; };
    all["repeat"] = [=](Graph& g) { return std::vector{repeat(x(g, {2, 3}), 2, 1)}; };
    all["roll"] = [=](Graph& g) { return std::vector{roll(x(g, {4, 3}), std::vector<std::int64_t>{-1, 2})}; };
    all["triangle"] = [=](Graph& g) { return std::vector{triangle(x(g, {3, 3}), Triangle::upper, -1)}; };
    all["fft_complex"] = [=](Graph& g) { return std::vector{ifft(x(g, {4, 3}, DType::c64), 7, 0, FftNorm::ortho)}; };
    all["fft_real_to_complex"] = [=](Graph& g) { return std::vector{rfft(x(g, {2, 9}), 5)}; };
    all["fft_complex_to_real"] = [=](Graph& g) { return std::vector{irfft(x(g, {2, 9}, DType::c64), 17, -1)}; };
    all["one_hot"] = [=](Graph& g) { return std::vector{one_hot(x(g, {3}, DType::i32), 4, DType::f16, 0, 2.5, -0.0)}; };
    all["cholesky"] = [=](Graph& g) {
      const CholeskyResult f = cholesky_ex(x(g, {2, 3, 3}, DType::c64), true);
      return std::vector{f.l, f.info};
    };
    all["lu"] = [=](Graph& g) {
      const LuFactors f = lu_factor(x(g, {2, 3, 4}, DType::c64));
      return std::vector{f.lu, f.pivots, f.order, f.info};
    };
    all["solution"] = [=](Graph& g) { return std::vector{solve_ex(x(g, {2, 1, 3, 3}), x(g, {4, 3, 2})).x}; };
    all["checked"] = [=](Graph& g) { return std::vector{cholesky(x(g, {2, 3, 3})), inv(x(g, {3, 3}, DType::c64))}; };
    all["qr"] = [=](Graph& g) {
      const QrResult f = qr(x(g, {2, 4, 3}), QrMode::complete);
      return std::vector{f.q, f.r};
    };
    all["eigh"] = [=](Graph& g) {
      const EighExResult e = eigh_ex(x(g, {2, 3, 3}, DType::c64), true);
      return std::vector{e.values, e.vectors, e.info, eigvalsh(x(g, {4, 4}))};
    };
    all["eig"] = [=](Graph& g) {
      const EigResult e = eig(x(g, {2, 3, 3}));
      return std::vector{e.values, e.vectors, eigvals(x(g, {4, 4}, DType::c64))};
    };
    all["svd"] = [=](Graph& g) {
      const SvdResult f = svd(x(g, {2, 4, 3}, DType::c64), false);
      return std::vector{f.u, f.s, f.vh};
    };
    all["quantize_weights"] = [=](Graph& g) {
      const QuantizedWeights w =
          quantize_weights(x(g, {3, 40}), {QuantizedScheme::nbits, 5, 16}, {.scales = DType::bf16, .zeros = true});
      return std::vector{w.values, w.scales, w.zeros, dequantize_weights(w)};
    };
    all["dequantize_weights"] = [=](Graph& g) {
      const QuantizedWeights w{
          {QuantizedScheme::nbits, 4, 16, 1, 40}, x(g, {3, 3, 8}, DType::u8), x(g, {3, 3}), x(g, {3, 2}, DType::u8)};
      return std::vector{dequantize_weights(w, DType::f16)};
    };
    all["quantized_matmul"] = [=](Graph& g) {
      const QuantizedWeights w{{QuantizedScheme::q6_k}, x(g, {2, 3, 210}, DType::u8)};
      return std::vector{quantized_matmul(x(g, {4, 1, 256}), w, {.chosen = x(g, {4}, DType::i32)}),
                         quantized_matmul(x(g, {2, 5, 3}), w, {.transposed = false, .dtype = DType::f16})};
    };
    all["svdvals"] = [=](Graph& g) { return std::vector{svdvals(x(g, {2, 4, 3}))}; };
    all["triangular_solve"] = [=](Graph& g) {
      return std::vector{solve_triangular(x(g, {2, 1, 3, 3}), x(g, {4, 3, 2}), {.adjoint = true, .unit = true})};
    };
    all["lstm"] = [=](Graph& g) {
      const auto r = lstm(x(g, {4, 2, 3}), x(g, {1, 20, 3}), x(g, {1, 20, 5}), {.initial_h = x(g, {1, 2, 5})});
      return std::vector{r.y};
    };
    all["max_pool_with_indices"] = [=](Graph& g) {
      const auto both = max_pool_with_indices(x(g, {1, 2, 9, 9}), {.window = {3, 3}, .padding = {1, 1}});
      return std::vector{both.values, both.indices};
    };
    all["average_pool"] = [=](Graph& g) { return std::vector{adaptive_average_pool(x(g, {1, 2, 9, 9}), {4, 3})}; };
    all["random_uniform"] = [=](Graph& g) {
      return std::vector{random_uniform(x(g, {2}, DType::u32), DType::f32, {7}, -0.5, 1e-3)};
    };
    all["random_gamma"] = [=](Graph& g) {
      return std::vector{random_gamma(x(g, {2}, DType::u32), x(g, {3}), {2, 3}, DType::f16, true)};
    };
    all["random_categorical"] = [=](Graph& g) {
      return std::vector{random_categorical(x(g, {2}, DType::u32), x(g, {2, 3}), 0)};
    };
    all["random_integers"] = [=](Graph& g) {
      return std::vector{random_integers(x(g, {2}, DType::u32), DType::i64, {7}, std::int64_t{-1} << 62,
                                         (std::int64_t{-1} << 62) + 5)};
    };
    return all;
  }();
  for (const auto& [name, outputs] : made) {
    Graph graph;
    int i = 0;
    for (const Tensor& t : outputs(graph)) graph.output(std::format("y{}", i++), t);
    const Graph loaded = same_again(graph);
    EXPECT_EQ(loaded.hash(), graph.hash()) << name << "\n" << graph.to_string();
  }
}

// Attributes that numbers of JSON would not hold, through the op whose value is any number.
TEST_F(GraphFileTest, NumbersAreExact) {
  const double nan = std::bit_cast<double>(0xfff8'0000'0000'1234u);
  const std::vector<Number> values{std::uint64_t{0xffff'ffff'ffff'ffff},
                                   std::int64_t{-0x7fff'ffff'ffff'ffff} - 1,
                                   std::int64_t{9007199254740993},
                                   0.0,
                                   -0.0,
                                   3.0,
                                   0.1,
                                   5e-324,
                                   1.7976931348623157e308,
                                   std::nextafter(1.0, 2.0),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN(),
                                   nan};
  for (const Number& value : values) {
    Graph graph;
    const Tensor x = graph.input("x", DType::f64, {2});
    graph.output("y", pad(x, std::vector<std::int64_t>{1}, std::vector<std::int64_t>{0}, PadMode::constant, value));
    const Graph loaded = same_again(graph);
    AttributeMap attributes;
    AttributeCollector visitor(attributes);
    loaded.impl().outputs[0].value.node()->op().visit(visitor);
    const Number got = std::get<Number>(attributes.at("value"));
    EXPECT_EQ(got.integral(), value.integral()) << to_string(value);
    EXPECT_EQ(got.integer(), value.integer()) << to_string(value);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got.value()), std::bit_cast<std::uint64_t>(value.value()))
        << to_string(value);
  }
  // Constants inside of expressions.
  Graph graph;
  Expression e;
  const int x = e.input(DType::f32);
  for (const std::uint32_t bits : {0x80000000u, 0x7fc00001u, 0xffc01234u, 0x7f800000u, 0x00000001u}) {
    e.output(e.apply(ScalarOp::add, {x, e.constant_bits(bits, DType::f32)}));
  }
  graph.output("y", apply(make_op<ElementwiseOp>(e), {graph.input("x", DType::f32, {2})}));
  const Graph loaded = same_again(graph);
  EXPECT_EQ(*loaded.impl().outputs[0].value.node()->op().elementwise(), e);
}

// A file from before all numbers among the attributes were doubles: those of f32 are there with a double's digits. What
// that version of Weft computed on the cpu is among its constants.
TEST_F(GraphFileTest, AttributesThatWereF32) {
  const Graph graph = load_graph(test::data_path("files/graph_with_f32_attributes.safetensors"));
  EXPECT_THAT(graph.to_string(), AllOf(HasSubstr("attention{scale=0.40824827551841736}"),
                                       HasSubstr("attention_with_log_sums{scale=0.40824827551841736}"),
                                       HasSubstr("attention_gradient{scale=0.40824827551841736}"),
                                       HasSubstr("attention{scale=0.10000000149011612, causal=true, window_left=2}")));
  same_again(graph);
  std::map<std::string, TensorData> inputs;
  int n = 0;
  for (const GraphPort& input : graph.impl().inputs) {
    const Shape& shape = input.value.shape();
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (float& v : values) v = static_cast<float>(n++ * 37 % 64 - 32) / 16;
    inputs.emplace(input.name, TensorData::of<float>(DType::f32, shape, values));
  }
  for (const std::string& name : test::all_devices()) {
    const Device device = test::device_named(name);
    Executable exe = compile(graph, device);
    const test::Bound bound(device, graph, inputs);
    bound.run(exe);
    const std::map<std::string, Tensor> outputs(bound.outputs_.begin(), bound.outputs_.end());
    int compared = 0;
    for (const auto& [output, expected] : outputs) {
      if (!output.starts_with("expected ")) continue;
      EXPECT_THAT(outputs.at(output.substr(9)).read<float>(),
                  testing::Pointwise(testing::FloatNear(1e-5f), expected.read<float>()))
          << name << ", " << output;
      ++compared;
    }
    EXPECT_EQ(compared, 11);
  }
}

TEST_F(GraphFileTest, ConstantsOfEveryTypeAreTheSameBytes) {
  std::mt19937 random(3);
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{0, 3}, Shape{5, 41}, Shape{1, 1, 1, 1, 1, 1, 1, 3}}) {
      std::vector<std::byte> bytes(byte_size(TensorType{type, shape}));
      for (std::byte& b : bytes) b = static_cast<std::byte>(random());
      const TensorData data = TensorData::copy_of(type, shape, bytes);
      Graph graph;
      graph.output("y", Graph::constant(data, "y"));
      const Graph loaded = again(graph);
      const ConstantOp* op = constant_op(loaded.impl().outputs[0].value);
      ASSERT_TRUE(op);
      EXPECT_EQ(op->constant_name(), "y");
      EXPECT_TRUE(same_bytes(op->data()->data(), data)) << to_string(TensorType{type, shape});
    }
  }
  // A shape without elements whose sizes multiply past everything.
  Graph graph;
  graph.output("y", Graph::constant({DType::f32, {0, std::int64_t{1} << 62}, {}, {}}));
  EXPECT_EQ(again(graph).impl().outputs[0].value.shape(), (Shape{0, std::int64_t{1} << 62}));
}

TEST_F(GraphFileTest, EqualConstantsAreStoredOnceAndMapped) {
  Graph graph;
  const TensorData w = test::noise({64, 64}, 1), copy = TensorData::copy_of(w.dtype, w.shape, w.bytes);
  const Tensor x = graph.input("x", DType::f32, {64});
  Tensor y = x;
  for (const TensorData& data : {w, w, copy}) y = y + matmul(Graph::constant(data, "w"), x);
  graph.output("y", y + sum(Graph::constant(test::noise({64, 64}, 2), "w"), 0));
  const Graph loaded = again(graph);
  EXPECT_LT(std::filesystem::file_size(directory.path() / "g.safetensors"), 2 * w.bytes.size() + 4096);
  EXPECT_EQ(SafeTensors::open(directory.path() / "g.safetensors").names(), (std::vector<std::string>{"w", "w.2"}));
  std::set<const std::byte*> places;
  for (const NodePtr& node : loaded.impl().nodes()) {
    if (const ConstantOp* c = node->op().constant()) places.insert(c->data()->data().bytes.data());
  }
  EXPECT_EQ(places.size(), 2u);
  // Over the file that it is mapped from.
  save(directory.path() / "g.safetensors", loaded);
  EXPECT_EQ(load_graph(directory.path() / "g.safetensors").to_string(), graph.to_string());
}

TEST_F(GraphFileTest, LabelsComeBackWhateverTheScope) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {2});
  {
    const LabelScope scope("layers.0 \"ü\"\n");
    graph.output("y", exp(x) + 1);
  }
  save(directory.path() / "g.safetensors", graph);
  const LabelScope scope("another");
  const Graph loaded = load_graph(directory.path() / "g.safetensors");
  EXPECT_EQ(loaded.to_string(), graph.to_string());
  EXPECT_EQ(loaded.impl().outputs[0].value.label(), "layers.0 \"ü\"\n");
  EXPECT_EQ(loaded.impl().inputs[0].value.label(), "");
}

TEST_F(GraphFileTest, TensorsWithDataBecomeConstants) {
  const Tensor w = tensor({2, 2}, {1, 2, 3, 4});
  eval(w);
  Graph graph;
  graph.output("y", w.T() * graph.input("x", DType::f32, {2, 2}));
  graph.output("w", w);
  const Graph loaded = again(graph);
  const auto y = compiler::evaluate(loaded, {{"x", test::numbers({2, 2}, 1)}});
  EXPECT_THAT(test::floats_of(y.at("y")), testing::ElementsAre(1, 6, 6, 16));
  EXPECT_THAT(test::floats_of(y.at("w")), testing::ElementsAre(1, 2, 3, 4));
}

TEST_F(GraphFileTest, CompiledFunctions) {
  const Tensor bias = tensor({3}, {1, 2, 3});
  const auto f = compile([&](const std::vector<Tensor>& x, int times) {
    Tensor y = x[0];
    for (int i = 0; i < times; ++i) y = y * x[1] + bias;
    return std::pair(y, x[1]);
  });
  const std::vector<Tensor> x{tensor({3}, {1, 1, 2}), tensor({3}, {2, 3, 1})};
  f.save(directory.path() / "f.safetensors", x, 2);
  EXPECT_EQ(f.cached(), 0u);
  const Graph loaded = load_graph(directory.path() / "f.safetensors");
  const auto y = compiler::evaluate(loaded, {{"argument 0", TensorData::of<float>({3}, std::vector<float>{1, 1, 2})},
                                             {"argument 1", TensorData::of<float>({3}, std::vector<float>{2, 3, 1})}});
  const auto expected = f(x, 2);
  EXPECT_THAT(test::floats_of(y.at("result 0")), testing::ElementsAreArray(expected.first.read<float>()));
  EXPECT_THAT(test::floats_of(y.at("result 1")), testing::ElementsAre(2, 3, 1));
  // Of the types alone.
  Tensor row = x[0];
  const Graph other = f.graph(std::vector{broadcast_to(row, {5, 3}), row}, 1);
  EXPECT_EQ(other.impl().outputs[0].value.shape(), (Shape{5, 3}));
}

TEST_F(GraphFileTest, WhatIsNoDataIsRefusedByName) {
  auto kernel = std::make_shared<CustomKernel>();
  kernel->name = "scale_rows";
  kernel->inputs = {"x"};
  kernel->outputs = {"y"};
  kernel->wgsl = "fn kernel(i: u32) { store_y(i, load_x(i)); }";
  kernel->infer = [](std::span<const TensorType> in) { return std::vector{in[0]}; };
  const auto path = directory.path() / "g.safetensors";
  Graph graph("g");
  const Tensor x = graph.input("x", DType::f32, {4, 4});
  graph.output("y", custom(kernel, std::vector{x})[0]);
  EXPECT_THAT(thrown_by([&] { save(path, graph); }), AllOf(HasSubstr("Unsupported"), HasSubstr("g.safetensors"),
                                                           HasSubstr("%1 = custom{kernel=\"scale_rows\"}")));
  Graph fused;
  const Tensor a = fused.input("a", DType::f32, {4, 4});
  fused.output("y", gelu(matmul(a, a)));
  EXPECT_THAT(thrown_by([&] { save(path, optimized(fused, Device::cpu())); }),
              AllOf(HasSubstr("Unsupported"), HasSubstr("the graph that was compiled")));
  // Its ending says what a file holds.
  const Graph good = [] {
    Graph g;
    g.output("y", exp(g.input("x", DType::f32, {4})));
    return g;
  }();
  for (const char* name : {"g.npy", "g.npz", "g.graph", "g"}) {
    const auto other = directory.path() / name;
    EXPECT_EQ(thrown_by([&] { save(other, good); }),
              "InvalidArgument: save: " + other.string() +
                  ": a file of a graph is a .safetensors file; expected a path that ends so");
    EXPECT_FALSE(std::filesystem::exists(other));
  }
  Graph named;
  named.output("\xff", named.input("x", DType::f32, {}));
  EXPECT_THAT(thrown_by([&] { save(path, named); }), AllOf(HasSubstr("InvalidArgument"), HasSubstr("UTF-8")));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(thrown_by([&] { save(directory.path() / "no" / "g.safetensors", Graph()); }), HasSubstr("IoError"));
  EXPECT_THAT(thrown_by([&] { load_graph(path); }), HasSubstr("IoError"));
}

// ---- Files that are not what they should be

const char* const kGood = R"({"format": "weft graph", "version": 1, "nodes": [
  {"op": "input", "name": "x", "results": [{"dtype": "f32", "shape": [2, 3]}]},
  {"op": "constant", "name": "w", "tensor": "w", "results": [{"dtype": "f32", "shape": [3]}]},
  {"op": "broadcast", "inputs": [[1, 0]], "attributes": {"shape": [2, 3]}, "results": [{"dtype": "f32", "shape": [2, 3]}]},
  {"op": "concat", "inputs": [[0, 0], [2, 0]], "attributes": {"axis": 1}, "results": [{"dtype": "f32", "shape": [2, 6]}]}
], "outputs": [{"name": "y", "value": [3, 0]}]})";

TEST(GraphFileText, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(load_text(file_of(kGood)).impl().nodes().size(), 4u);
  const struct {
    const char *what, *pointer, *value, *expected;  // of the JSON
  } cases[] = {
      {"no graph", "/format", R"("onnx")",
       R"(FormatError: f: weft.graph: at "format": expected "weft graph", got "onnx")"},
      {"version", "/version", "2",
       "Unsupported: f: the graph is of version 2 of the format; this version of Weft reads 1"},
      {"version", "/version", "0", "FormatError: f: weft.graph: at \"version\": expected an integer from 1"},
      {"op", "/nodes/2/op", R"("broadkast")",
       R"(Unsupported: f: node 2 ("broadkast"): this version of Weft has no such op in files; the nearest name is 'broadcast')"},
      {"function", "/nodes/2/op", R"("exp")", R"(Unsupported: f: node 2 ("exp"))"},
      {"compiler's", "/nodes/2/op", R"("strided")", R"(Unsupported: f: node 2 ("strided"))"},
      {"kernel", "/nodes/2/op", R"("custom")", R"(Unsupported: f: node 2 ("custom"))"},
      {"attribute", "/nodes/3/attributes/axes", "1",
       R"(at "nodes[3].attributes.axes": concat has no such attribute; the nearest name is 'axis')"},
      {"missing attribute", "/nodes/2/attributes", "{}",
       R"(FormatError: f: node 2 ("broadcast"): broadcast: attribute shape: integers is missing)"},
      {"kind", "/nodes/3/attributes/axis", "\"1\"", R"(at "nodes[3].attributes.axis": expected an integer, got "1")"},
      {"kind", "/nodes/3/attributes/axis", "1.0", R"(at "nodes[3].attributes.axis": expected an integer, got 1.0)"},
      {"kind", "/nodes/2/attributes/shape/0", "null", R"(at "nodes[2].attributes.shape[0]": expected an integer)"},
      {"range", "/nodes/3/attributes/axis", "4294967297",
       R"(attribute axis is 4294967297, expected an integer of 32 bits)"},
      {"axis", "/nodes/3/attributes/axis", "2", R"(FormatError: f: node 3 ("concat"): concat: axis 2 is outside)"},
      {"axis", "/nodes/3/attributes/axis", "-2147483648",
       R"(FormatError: f: node 3 ("concat"): concat: axis -2147483648)"},
      {"rank", "/nodes/2/attributes/shape", "[1,1,1,1,1,1,1,2,3]", R"(f: node 2 ("broadcast"))"},
      {"member", "/nodes/3/lable", "\"x\"",
       R"(at "nodes[3].lable": the format has no such member; the nearest name is 'label')"},
      {"member", "/node", "1", R"(at "node": the format has no such member)"},
      {"shape", "/nodes/3/results/0/shape/1", "7",
       R"(FormatError: f: node 3 ("concat"): its results are f32 [2, 6], the file says f32 [2, 7])"},
      {"type", "/nodes/3/results/0/dtype", R"("f16")", "its results are f32 [2, 6], the file says f16 [2, 6]"},
      {"type", "/nodes/3/results/0/dtype", R"("f33")",
       R"(at "nodes[3].results[0].dtype": expected a data type, got "f33")"},
      {"results", "/nodes/3/results", "[]", "the file says none"},
      {"size", "/nodes/0/results/0/shape/0", "-1", R"(at "nodes[0].results[0].shape[0]": expected an integer from 0)"},
      {"size", "/nodes/0/results/0/shape", "[9223372036854775807, 9223372036854775807]", R"(f: node 0 ("input"))"},
      {"size", "/nodes/0/results/0/shape/0", "1e400", "f: weft.graph"},
      {"constant", "/nodes/1/results/0/shape/0", "4611686018427387904",
       R"(FormatError: f: node 1 ("constant"): tensor "w" of the file is f32 [3], expected f32 [4611686018427387904])"},
      {"constant", "/nodes/1/results/0/dtype", R"("i4")", R"(tensor "w" of the file is f32 [3], expected u8 [2])"},
      {"constant", "/nodes/1/tensor", R"("v")", R"(FormatError: f: node 1 ("constant"): f: there is no tensor "v")"},
      {"no operands", "/nodes/2/inputs", "[]",
       R"(FormatError: f: node 2 ("broadcast"): it has 0 operands, expected 'x')"},
      {"operands", "/nodes/2/inputs", "[[0, 0], [0, 0]]", "it has 2 operands, expected 'x'"},
      {"cycle", "/nodes/2/inputs/0", "[3, 0]", R"(at "nodes[2].inputs[0][0]": node 3 is not before it; there are 2)"},
      {"itself", "/nodes/2/inputs/0", "[2, 0]", "node 2 is not before it"},
      {"far", "/nodes/2/inputs/0", "[9223372036854775807, 0]", "is not before it"},
      {"negative", "/nodes/2/inputs/0", "[-1, 0]", R"(at "nodes[2].inputs[0][0]": expected an integer from 0)"},
      {"result", "/nodes/2/inputs/0", "[1, 1]",
       R"(at "nodes[2].inputs[0][1]": node 1 has 1 result, not one of number 1)"},
      {"pair", "/nodes/2/inputs/0", "[1]", "expected a node and one of its results"},
      {"output", "/outputs/0/value", "[4, 0]", "node 4 is not before it"},
      {"outputs", "/outputs/1", R"({"name": "y", "value": [0, 0]})", "there is an output \"y\" already"},
      {"label", "/nodes/2/label", "\"\"", R"(at "nodes[2].label": expected a label)"},
      {"inputs", "/nodes/1", R"({"op": "input", "name": "x", "results": [{"dtype": "f32", "shape": []}]})",
       R"(f: node 1 ("input"): graph: there is an input "x" already)"},
      {"number", "/nodes/0/op", R"("number")", "its results are f32 [], the file says f32 [2, 3]"},
      {"expression", "/nodes/2",
       R"~({"op": "map", "inputs": [[0, 0]], "attributes": {"y": "(x0:f32) exp(x1)"}, "results": []})~",
       "expected an input, a constant or an operation"},
      {"no result", "/nodes/2",
       R"~({"op": "map", "inputs": [[0, 0]], "attributes": {"y": "(x0:f32) "}, "results": []})~",
       "the expression has no result"},
  };
  for (const auto& c : cases) {
    json text = json::parse(kGood);
    const std::string value = c.value;
    std::string changed;
    if (value == "1e400") {  // which no JSON holds
      changed = kGood;
      changed.replace(changed.find("[2, 3]"), 6, "[1e400, 3]");
    } else {
      text[json::json_pointer(c.pointer)] = json::parse(value);
      changed = text.dump();
    }
    EXPECT_THAT(thrown_by([&] { load_text(file_of(changed)); }), HasSubstr(c.expected)) << c.what;
  }
  EXPECT_THAT(thrown_by([] { load_text(file_of("{\"format\": ")); }), HasSubstr("FormatError: f: weft.graph:1:"));
  // A key that is there twice, of which readers of JSON take the first, the last or none.
  for (const auto& [once, twice] : {std::pair(R"("version": 1)", R"("version": 1, "version": 1)"),
                                    std::pair(R"("axis": 1)", R"("axis": 0, "axis": 1)"),
                                    std::pair(R"("op": "concat")", R"("op": "stack", "\u006fp": "concat")")}) {
    std::string changed = kGood;
    ASSERT_NE(changed.find(once), std::string::npos) << once;
    changed.replace(changed.find(once), std::string_view(once).size(), twice);
    const std::string key(twice, std::string_view(twice).find(':'));
    EXPECT_EQ(thrown_by([&] { load_text(file_of(changed)); }),
              "FormatError: f: weft.graph: an object has the key " + key + " twice");
  }
  EXPECT_THAT(thrown_by([] { load_text(file_of(std::string(100000, '['))); }), HasSubstr("FormatError"));
  EXPECT_THAT(thrown_by([] { load_text(file_of("[]")); }), HasSubstr("FormatError"));
  EXPECT_THAT(thrown_by([] { load_text("{}"); }), HasSubstr("FormatError: f: 2 bytes are too few"));
  EXPECT_THAT(thrown_by([] { load_text(std::string("\2\0\0\0\0\0\0\0{}", 10)); }),
              HasSubstr("the file holds tensors and no graph"));
}

// WEFT_SEED, or 1.
unsigned first_seed() {
  const char* text = std::getenv("WEFT_SEED");
  return text ? static_cast<unsigned>(std::atoi(text)) : 1;
}

// Every attribute of every op, set to values that nobody means, and too few or too many operands: a graph, or an error
// of a kind that is said.
// Graphs of ops: what they need is there, and fits.
TEST(GraphFileText, HostileInnerGraphsAreRefused) {
  const json types = {{{"dtype", "f32"}, {"shape", {2}}}};
  const json index = {{"op", "number"}, {"name", "index"}, {"results", {{{"dtype", "i32"}, {"shape", json::array()}}}}};
  const json x = {{"op", "input"}, {"name", "x0"}, {"results", types}};
  const json sine = {
      {"op", "map"}, {"inputs", {{0, 0}}}, {"attributes", {{"y", "(x0:f32) sin(x0)"}}}, {"results", types}};
  const json outputs = {{{"name", "y0"}, {"value", {1, 0}}}};
  const json body = {{"nodes", {x, sine, index}}, {"outputs", outputs}};
  const auto error = [&](const std::string& op, const json& attributes, const json& graphs) {
    json loop = {{"op", op}, {"inputs", {{0, 0}}}, {"attributes", attributes}, {"graphs", graphs}, {"results", types}};
    if (graphs.is_null()) loop.erase("graphs");
    const json text{{"format", "weft graph"}, {"version", 1}, {"nodes", {x, loop}}, {"outputs", outputs}};
    return thrown_by([&] { load_text(file_of(text.dump())); });
  };
  const json good{{"length", 3}, {"carries", 1}};
  EXPECT_EQ(error("scan_loop", good, json::array({body})), "nothing");
  EXPECT_THAT(error("scan_loop", good, nullptr), HasSubstr("0 graphs, expected 1"));
  EXPECT_THAT(error("scan_loop", good, {body, body}), HasSubstr("2 graphs, expected 1"));
  EXPECT_THAT(error("scan_loop", {{"length", -3}, {"carries", 1}}, json::array({body})), HasSubstr("FormatError"));
  EXPECT_THAT(error("scan_loop", {{"length", 3}, {"carries", -1}}, json::array({body})),
              HasSubstr("-1 carries and 0 slices of 1 operands"));
  EXPECT_THAT(error("scan_loop", {{"length", 3}, {"carries", 1}, {"slices", 2147483647}}, json::array({body})),
              HasSubstr("of 1 operands"));
  EXPECT_THAT(error("scan_loop", {{"length", 3}, {"carries", 0}, {"slices", 1}}, json::array({body})),
              HasSubstr("FormatError"));
  EXPECT_THAT(error("while_loop", {{"carries", 1}}, {body, body}), HasSubstr("1 numbers of a graph, expected 0"));
  EXPECT_THAT(error("cond", json::object(), {body, body}), HasSubstr("FormatError"));
  EXPECT_THAT(error("map", {{"y", "(x0:f32) sin(x0)"}}, json::array({body})), HasSubstr("the op owns no graphs"));
  const json foreign = {{"nodes", {x, sine, index}}, {"outputs", {{{"name", "y0"}, {"value", {7, 0}}}}}};
  EXPECT_THAT(error("scan_loop", good, json::array({foreign})), HasSubstr("node 7 is not before it"));
  json deep = body;
  for (int i = 0; i < 100; ++i) {
    const json loop = {{"op", "scan_loop"},
                       {"inputs", {{0, 0}}},
                       {"attributes", good},
                       {"graphs", json::array({deep})},
                       {"results", types}};
    deep = {{"nodes", {x, loop, index}}, {"outputs", outputs}};
  }
  EXPECT_THAT(error("scan_loop", good, json::array({deep})), HasSubstr("at most 64 graphs in each other"));
}

TEST(GraphFileText, HostileAttributesAreRefused) {
  std::mt19937 random(first_seed());
  const std::vector<json> values{0,
                                 1,
                                 -1,
                                 2,
                                 7,
                                 -9,
                                 1 << 20,
                                 INT64_MAX,
                                 INT64_MIN,
                                 0.5,
                                 -1e300,
                                 "inf",
                                 "nan",
                                 "",
                                 "f32",
                                 "add",
                                 true,
                                 json::array(),
                                 {0, 0},
                                 {-1, 5},
                                 {1, 2},
                                 {3, -1, 2, 0},
                                 {INT64_MAX, INT64_MAX},
                                 {INT64_MIN, 1},
                                 {1, 1, 1, 1, 1, 1, 1, 1},
                                 nullptr};
  const std::vector<const char*> types{"f32", "i32", "u32", "f32", "i4", "bool", "f16", "c64"};
  int made = 0, refused = 0;
  for (const OpRow& row : op_rows()) {
    if (!row.make) continue;
    for (unsigned k = 0; k < test::scaled(60); ++k) {
      json nodes = json::array();
      json inputs = json::array();
      const int wanted =
          static_cast<int>(row.schema.inputs.size()) + (k % 10 == 9 ? 1 : -static_cast<int>(random() % 2));
      const int rank = static_cast<int>(random() % 6);
      const char* type = types[k % 3 ? 0 : random() % types.size()];
      for (int i = 0; i < wanted; ++i) {
        json shape = json::array();
        for (int d = 0; d < rank; ++d) shape.push_back(random() % 5 == 0 ? random() % 3 : 4);
        nodes.push_back({{"op", "input"},
                         {"name", std::to_string(i)},
                         {"results", {{{"dtype", i == 1 && k % 2 ? "i32" : type}, {"shape", shape}}}}});
        inputs.push_back({i, 0});
      }
      json attributes = json::object();
      for (const AttributeSchema& a : row.schema.attributes) {
        const bool must = !a.default_value && !a.optional;
        if (!must && random() % 3) continue;
        // Of the right kind, so that it is not refused for that.
        for (int tries = 0; tries < 40; ++tries) {
          const json& v = values[random() % values.size()];
          const bool fits = a.kind == AttributeKind::boolean   ? v.is_boolean()
                            : a.kind == AttributeKind::integer ? v.is_number_integer()
                            : a.kind == AttributeKind::number  ? v.is_number()
                            : a.kind == AttributeKind::text    ? v.is_string()
                                                               : v.is_array();
          if (!fits) continue;
          attributes[a.name] = a.choices.empty() ? v : json(a.choices[random() % a.choices.size()]);
          break;
        }
        if (a.name == "y" && row.schema.name == "map") attributes[a.name] = "(x0:f32) exp(x0)";
      }
      nodes.push_back(
          {{"op", row.schema.name}, {"inputs", inputs}, {"attributes", attributes}, {"results", json::array()}});
      const json text{{"format", "weft graph"}, {"version", 1}, {"nodes", nodes}, {"outputs", json::array()}};
      // The results are wrong, which is found last.
      const std::string error = thrown_by([&] { load_text(file_of(text.dump())); });
      EXPECT_TRUE(error.starts_with("FormatError: ") || error.starts_with("Unsupported: ")) << error << "\n"
                                                                                            << text.dump();
      ++(error.find("its results are") != error.npos ? made : refused);
      // With the right ones it runs, or says what is wrong.
      const std::size_t at = error.find("its results are ");
      if (at == error.npos) continue;
      json results = json::array();
      std::string list = error.substr(at + 16, error.find(", the file says") - at - 16);
      while (!list.empty()) {
        const std::size_t space = list.find(' '), end = list.find(']');
        results.push_back(
            {{"dtype", list.substr(0, space)}, {"shape", json::parse(list.substr(space, end + 1 - space))}});
        list = end + 2 < list.size() ? list.substr(end + 3) : "";
      }
      json right = text;
      right["nodes"].back()["results"] = results;
      std::int64_t elements = 0;
      for (const json& r : results) {
        std::int64_t count = 1;
        for (const json& n : r["shape"])
          count = std::min<std::int64_t>(count, 1 << 20) * std::min<std::int64_t>(n.get<std::int64_t>(), 1 << 20);
        elements = std::max(elements, count);
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        right["outputs"].push_back({{"name", std::to_string(i)}, {"value", {nodes.size() - 1, i}}});
      }
      const Graph graph = load_text(file_of(right.dump()));
      graph.verify();
      if (elements > 100000) continue;
      try {
        const Device device = Device::cpu();
        Executable exe = compile(graph, device);
        std::vector<Tensor> given, outputs;
        for (const GraphPort& p : graph.impl().inputs) given.emplace_back(device, p.value.dtype(), p.value.shape());
        for (Tensor& t : given) t.write(std::vector<std::byte>(byte_size(t.type())));
        for (const GraphPort& p : graph.impl().outputs) outputs.emplace_back(device, p.value.dtype(), p.value.shape());
        exe.run(given, outputs).get();
      } catch (const InternalError& e) {
        ADD_FAILURE() << e.what() << "\n" << right.dump();
      } catch (const Error&) {
      }
    }
  }
  EXPECT_GT(made, refused / 20) << "most problems are not hostile at all";
}

TEST(GraphFileText, DamagedFilesAreRefusedOrTheSame) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {4, 3});
  graph.output("y", softmax(matmul(x, Graph::constant(test::noise({3, 5}, 1), "w"))) + 0.5);
  const test::TempDir directory;
  save(directory.path() / "g.safetensors", graph);
  const std::string file = contents(directory.path() / "g.safetensors");
  const auto load = [](const std::string& damaged) {
    const std::string error = thrown_by([&] { load_text(damaged).verify(); });
    EXPECT_TRUE(error == "nothing" || error.starts_with("FormatError: ") || error.starts_with("Unsupported: "))
        << error;
  };
  for (std::size_t size = 0; size < file.size(); ++size) load(file.substr(0, size));
  std::mt19937 random(first_seed());
  for (unsigned k = 0; k < test::scaled(20000); ++k) {
    std::string damaged = file;
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged[at] = "0123456789[]{},:\"-ef"[random() % 20];
          break;
        case 2:
          damaged[at] = damaged[random() % damaged.size()];
          break;
        default:
          damaged.erase(at, 1 + random() % 3);
          damaged.insert(random() % damaged.size(), "1");
          break;
      }
    }
    load(damaged);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft
