// Files that are wrong, large or deep: a typed error that says what, in a bounded time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <format>
#include <fstream>

#include "support/onnx_writer.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/onnx.h"

namespace weft::test {
namespace {

using onnx::ElementType;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;
using G = OnnxGraph;

// Of the processor, however busy the machine is.
double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

std::span<const std::byte> bytes_in(const std::string& text) { return std::as_bytes(std::span(text)); }

class OnnxBadFiles : public testing::Test {
 protected:
  static onnx::Model load(const std::string& bytes, std::vector<onnx::Operator> operators = {}) {
    return onnx::Model::from_bytes(bytes_in(bytes), {.device = Device::cpu(), .operators = std::move(operators)});
  }
  static std::string refused(const OnnxGraph& graph, const WireWriter& more = {}) {
    return thrown_by([&] { (void)load(onnx_model(graph, 21, more)).run({{"x", zeros({2})}}); });
  }
  static G graph() {
    G made;
    made.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-1});
    return made;
  }
  static WireWriter function(std::string_view name, std::initializer_list<WireWriter> nodes) {
    WireWriter f;
    f.text(1, name).text(10, "my").text(4, "a").text(5, "b");
    for (const WireWriter& n : nodes) f.message(7, n);
    return f.message(9, WireWriter().text(1, "my").integer(2, 1)).message(9, WireWriter().text(1, "").integer(2, 21));
  }
  static WireWriter call(std::string_view op, std::string_view in, std::string_view out,
                         std::string_view domain = "my") {
    return WireWriter().text(1, in).text(2, out).text(4, op).text(7, domain);
  }
  const DefaultDeviceScope cpu{Device::cpu()};
};

// The small models from which the fuzzer begins; WEFT_ONNX_SEEDS=DIR writes them (fuzz/corpus/onnx).
std::vector<std::pair<std::string, std::string>> small_models() {
  std::vector<std::pair<std::string, std::string>> all;
  const auto floats = [](std::string_view name, std::initializer_list<std::int64_t> dims, std::vector<float> values) {
    return onnx_tensor<float>(name, ElementType::f32, std::span(dims.begin(), dims.size()), values);
  };
  const auto integers = [](std::string_view name, std::initializer_list<std::int64_t> dims,
                           std::vector<std::int64_t> values) {
    return onnx_tensor<std::int64_t>(name, ElementType::i64, std::span(dims.begin(), dims.size()), values);
  };
  {
    G g;
    g.input("x", ElementType::f32, {-1, 4}).output("y", ElementType::f32, {-1, 3});
    g.initializer(floats("w", {4, 3}, std::vector<float>(12, 0.5f))).initializer(floats("b", {3}, {1, 2, 3}));
    g.node("Gemm", {"x", "w", "b"}, {"z"}, {G::number("alpha", 2)})
        .node("Softmax", {"z"}, {"y"}, {G::integer("axis", -1)});
    all.emplace_back("gemm", onnx_model(g));
  }
  {
    G g;
    g.input("x", ElementType::f32, {1, 2, 6, 6}).output("y", ElementType::f32, {-1});
    g.initializer(floats("w", {2, 2, 3, 3}, std::vector<float>(36, 0.1f))).initializer(integers("to", {2}, {1, -1}));
    g.node("Conv", {"x", "w"}, {"c"}, {G::integers("pads", {1, 1, 1, 1}), G::integers("strides", {2, 2})});
    g.node("MaxPool", {"c"}, {"p"}, {G::integers("kernel_shape", {2, 2})}).node("Reshape", {"p", "to"}, {"y"});
    all.emplace_back("conv", onnx_model(g));
  }
  {
    G g;
    g.input("x", ElementType::f32, {-1, 2}).output("y", ElementType::f32, {-1});
    g.initializer(integers("i", {1}, {0})).initializer(integers("rest", {1}, {-1}));
    g.node("Shape", {"x"}, {"s"})
        .node("Gather", {"s", "i"}, {"n"})
        .node("Concat", {"n", "rest"}, {"to"}, {G::integer("axis", 0)});
    g.node("Reshape", {"x", "to"}, {"r"}).node("Transpose", {"r"}, {"t"}, {G::integers("perm", {1, 0})});
    g.node("Slice", {"t", "i", "rest"}, {"u"}).node("Split", {"u"}, {"a", "y"}, {G::integer("num_outputs", 2)});
    all.emplace_back("shapes", onnx_model(g));
  }
  {
    G then, otherwise, body, g;
    then.output("a", ElementType::f32, {-1}).node("Add", {"x", "x"}, {"a"});
    otherwise.output("b", ElementType::f32, {-1}).node("Neg", {"x"}, {"b"});
    body.input("i", ElementType::i64, {}).input("go", ElementType::boolean, {}).input("c", ElementType::f32, {2});
    body.output("go_on", ElementType::boolean, {})
        .output("next", ElementType::f32, {2})
        .output("seen", ElementType::f32, {2});
    body.node("Identity", {"go"}, {"go_on"}).node("Add", {"c", "x"}, {"next"}).node("Mul", {"next", "next"}, {"seen"});
    g.input("x", ElementType::f32, {2}).input("c", ElementType::boolean, {});
    g.output("y", ElementType::f32, {2}).output("last", ElementType::f32, {2}).output("all", ElementType::f32, {-1, 2});
    g.initializer(integers("turns", {}, {3}));
    g.node("If", {"c"}, {"y"}, {G::graph("then_branch", then), G::graph("else_branch", otherwise)});
    g.node("Loop", {"turns", "", "x"}, {"last", "all"}, {G::graph("body", body)});
    all.emplace_back("control", onnx_model(g));
  }
  {
    G body, g;
    body.input("s", ElementType::f32, {2})
        .input("v", ElementType::f32, {2})
        .output("t", ElementType::f32, {2})
        .output("o", ElementType::f32, {2});
    body.node("Add", {"s", "v"}, {"t"}).node("Identity", {"t"}, {"o"});
    g.input("x", ElementType::f32, {3, 2})
        .input("s", ElementType::f32, {2})
        .output("l", ElementType::f32, {2})
        .output("y", ElementType::f32, {3, 2});
    g.node("Scan", {"s", "x"}, {"l", "y"}, {G::graph("body", body), G::integer("num_scan_inputs", 1)});
    all.emplace_back("scan", onnx_model(g));
  }
  {
    WireWriter once = WireWriter().text(1, "a").text(2, "t").text(4, "Relu"),
               twice = WireWriter().text(1, "t").text(2, "b").text(4, "Neg");
    WireWriter f;
    f.text(1, "F").text(10, "my").text(4, "a").text(5, "b").message(7, once).message(7, twice);
    f.message(9, WireWriter().text(1, "").integer(2, 21));
    G g;
    g.input("x", ElementType::f32, {2}).output("y", ElementType::f32, {2}).node("F", {"x"}, {"y"}, {}, "my");
    all.emplace_back(
        "function",
        onnx_model(g, 21, WireWriter().message(25, f).message(8, WireWriter().text(1, "my").integer(2, 1))));
    // As save() writes what ONNX has no operator for.
    const auto entry = [](std::string_view key, std::string_view value) {
      return WireWriter().text(1, key).text(2, value);
    };
    WireWriter silu;
    silu.text(1, "map").text(10, "weft").text(4, "x0").text(5, "t1");
    silu.message(7, WireWriter().text(1, "x0").text(2, "t0").text(4, "Sigmoid"))
        .message(7, WireWriter().text(1, "x0").text(1, "t0").text(2, "t1").text(4, "Mul"));
    silu.message(9, WireWriter().text(1, "").integer(2, 21))
        .message(14, entry("weft.operation", "map"))
        .message(14, entry("weft.y", "(x0:f32) silu(x0)"));
    G w;
    w.input("x", ElementType::f32, {2}).output("y", ElementType::f32, {2}).node("map", {"x"}, {"y"}, {}, "weft");
    all.emplace_back(
        "written",
        onnx_model(w, 21, WireWriter().message(25, silu).message(8, WireWriter().text(1, "weft").integer(2, 1))));
  }
  {
    G g;
    g.input("x", ElementType::f32, {2, 8}).output("y", ElementType::f32, {2, 8});
    g.initializer(floats("s", {}, {0.1f}))
        .initializer(onnx_tensor("z", ElementType::u8, {}, std::string_view("\7", 1)));
    g.node("QuantizeLinear", {"x", "s", "z"}, {"q"}).node("DequantizeLinear", {"q", "s", "z"}, {"d"});
    g.node("LayerNormalization", {"d", "o"}, {"y"});
    g.initializer(floats("o", {8}, std::vector<float>(8, 1)));
    all.emplace_back("quantised", onnx_model(g));
  }
  {
    G g;
    g.input("x", ElementType::f32, {3, 1, 2}).output("y", ElementType::f32, {3, 1, 1, 2});
    g.initializer(floats("w", {1, 8, 2}, std::vector<float>(16, 0.1f)))
        .initializer(floats("r", {1, 8, 2}, std::vector<float>(16, 0.2f)));
    g.node("LSTM", {"x", "w", "r"}, {"y"}, {G::integer("hidden_size", 2)});
    all.emplace_back("lstm", onnx_model(g));
  }
  {
    G g;
    g.input("x", ElementType::f32, {1, 1, 3, 3})
        .output("y", ElementType::f32, {1, 1, 6, 6})
        .output("k", ElementType::i64, {-1});
    g.initializer(floats("scales", {4}, {1, 1, 2, 2})).initializer(integers("two", {1}, {2}));
    g.node("Resize", {"x", "", "scales"}, {"y"}, {G::text("mode", "linear")})
        .node("Flatten", {"x"}, {"f"}, {G::integer("axis", 2)});
    g.node("TopK", {"f", "two"}, {"v", "k"}).node("Einsum", {"f", "f"}, {"e"}, {G::text("equation", "ij,kj->ik")});
    all.emplace_back("resize", onnx_model(g));
  }
  return all;
}

TEST_F(OnnxBadFiles, CutOffAnywhere) {
  for (const auto& [name, file] : small_models()) {
    EXPECT_NO_THROW((void)load(file)) << name;
    if (const char* seeds = std::getenv("WEFT_ONNX_SEEDS"))
      std::ofstream(std::filesystem::path(seeds) / name, std::ios::binary) << file;
    for (std::size_t size = 0; size < file.size(); ++size) {
      // A message that ends between two fields is one with fewer fields.
      const std::string error = thrown_by([&] { (void)load(file.substr(0, size)); });
      EXPECT_THAT(error, AnyOf(StartsWith("FormatError: onnx: "), StartsWith("Unsupported: onnx: "), "nothing"))
          << name << ", " << size;
    }
  }
  EXPECT_THAT(thrown_by([] { (void)load(std::string(64, '\xff')); }), StartsWith("FormatError: onnx: ModelProto"));
  EXPECT_THAT(thrown_by([] { (void)load("\x89PNG\r\n\x1a\n"); }),
              StartsWith("FormatError: onnx: it is no model of ONNX: it is a picture"));
  EXPECT_THAT(thrown_by([] { (void)load("{\"a\": 1}"); }),
              StartsWith("FormatError: onnx: it is no model of ONNX: it is a text"));
}

TEST_F(OnnxBadFiles, AbsurdSizes) {
  const auto tensor_of = [](std::initializer_list<std::int64_t> dims, ElementType type = ElementType::f32) {
    return onnx_tensor("w", type, std::span(dims.begin(), dims.size()), {});
  };
  const auto with = [&](const WireWriter& w) { return refused(graph().initializer(w).node("Add", {"x", "w"}, {"y"})); };
  constexpr std::int64_t k31 = std::int64_t{1} << 31, k61 = std::int64_t{1} << 61, k62 = std::int64_t{1} << 62;
  EXPECT_THAT(with(tensor_of({k31})), HasSubstr("has 0 bytes, expected 8589934592"));
  EXPECT_THAT(with(tensor_of({k62})), HasSubstr("FormatError: onnx: tensor 'w' has more than 2^56 elements"));
  // As many bytes as 64 bits count no more.
  EXPECT_THAT(with(tensor_of({k61}, ElementType::f64)), HasSubstr("has more than 2^56 elements"));
  EXPECT_THAT(with(tensor_of({k31, k31, k31})), HasSubstr("has more than 2^56 elements"));
  EXPECT_THAT(with(tensor_of({-1})), HasSubstr("FormatError: onnx: tensor 'w' has an axis of size -1"));
  EXPECT_THAT(with(tensor_of({INT64_MIN, 0})), HasSubstr("has an axis of size"));
  EXPECT_THAT(with(tensor_of({0, k62, k62})), HasSubstr("has more than 2^56 elements"));
  EXPECT_THAT(with(tensor_of({1, 1, 1, 1, 1, 1, 1, 1, 1})), HasSubstr("Unsupported: onnx: tensor 'w' has 9 axes"));
  EXPECT_THAT(with(onnx_tensor("w", ElementType::string, {}, "")),
              HasSubstr("Unsupported: onnx: tensor 'w' is of string"));
  EXPECT_THAT(with(onnx_tensor("w", static_cast<ElementType>(77), {}, "")), HasSubstr("Unsupported"));
  // A sparse one of a few bytes that would be gigabytes.
  const auto values = onnx_tensor<float>("w", ElementType::f32, std::vector<std::int64_t>{1}, std::vector<float>{1});
  const auto places =
      onnx_tensor<std::int64_t>("i", ElementType::i64, std::vector<std::int64_t>{1}, std::vector<std::int64_t>{0});
  WireWriter sparse;
  sparse.message(1, values).message(2, places).integer(3, std::int64_t{1} << 40);
  EXPECT_THAT(refused(graph().sparse_initializer(sparse).node("Identity", {"x"}, {"y"})),
              HasSubstr("Weft takes up to 1 GiB"));
  // What nodes make: shapes, ranges and fills of any size.
  const auto constant = [](std::string_view name, std::int64_t value) {
    return onnx_tensor<std::int64_t>(name, ElementType::i64, std::vector<std::int64_t>{1},
                                     std::vector<std::int64_t>{value});
  };
  for (const std::int64_t size : {k31 * 1024, k62, std::int64_t{-1}, INT64_MIN}) {
    EXPECT_NE(refused(graph().initializer(constant("n", size)).node("ConstantOfShape", {"n"}, {"y"})), "nothing")
        << size;
    EXPECT_NE(refused(graph().initializer(constant("n", size)).node("Expand", {"x", "n"}, {"y"})), "nothing") << size;
    EXPECT_NE(refused(graph().initializer(constant("n", size)).node("Tile", {"x", "n"}, {"y"})), "nothing") << size;
    const auto scalar =
        onnx_tensor<std::int64_t>("k", ElementType::i64, std::vector<std::int64_t>{}, std::vector<std::int64_t>{size});
    const auto one =
        onnx_tensor<std::int64_t>("one", ElementType::i64, std::vector<std::int64_t>{}, std::vector<std::int64_t>{1});
    if (size > 0) {
      EXPECT_NE(refused(graph().initializer(scalar).initializer(one).node("Range", {"one", "k", "one"}, {"y"})),
                "nothing")
          << size;
    }
  }
}

TEST_F(OnnxBadFiles, NestingAndRecursion) {
  // 10,000 branches within each other are refused while the file is read.
  const int levels = std::getenv("WEFT_TESTS_QUICK") ? 1000 : 10000;
  G inner;
  inner.output("a", ElementType::f32, {1}).node("Neg", {"x"}, {"a"});
  for (int i = 0; i < levels; ++i) {
    inner = G().output("a", ElementType::f32, {1}).node("If", {"c"}, {"a"}, {G::graph("then_branch", inner)});
  }
  G deep = graph();
  deep.node("If", {"c"}, {"y"}, {G::graph("then_branch", inner), G::graph("else_branch", inner)});
  EXPECT_THAT(refused(deep), HasSubstr("FormatError: onnx: GraphProto: more than 100 of them within each other"));
  const auto types = [](int count) {
    WireWriter t;
    t.message(1, WireWriter().integer(1, 1));
    for (int i = 0; i < count; ++i) t = WireWriter().message(4, WireWriter().message(1, t));
    return t;
  };
  WireWriter graph_of_types = WireWriter().message(11, WireWriter().text(1, "x").message(2, types(10000)));
  EXPECT_THAT(thrown_by([&] { (void)load(WireWriter().integer(1, 10).message(7, graph_of_types).bytes()); }),
              HasSubstr("TypeProto: more than 100 of them"));
  // Functions that call themselves, each other, or twice what calls twice.
  const WireWriter imports = WireWriter().message(8, WireWriter().text(1, "my").integer(2, 1));
  const auto with = [&](std::initializer_list<WireWriter> functions) {
    WireWriter more = imports;
    for (const WireWriter& f : functions) more.message(25, f);
    return refused(graph().node("F", {"x"}, {"y"}, {}, "my"), more);
  };
  EXPECT_THAT(with({function("F", {call("F", "a", "b")})}),
              testing::Eq("FormatError: onnx: function 'my.F' calls itself, which ONNX does not allow"));
  EXPECT_THAT(with({function("F", {call("H", "a", "b")}), function("H", {call("F", "a", "b")})}),
              HasSubstr("function 'my.F' calls itself through 'my.H', which"));
  // Without a circle, but deeper than any model.
  WireWriter chain = imports;
  chain.message(25, function("F0", {call("Neg", "a", "b", "")}));
  for (int i = 1; i <= 1000; ++i) {
    chain.message(25, function(i == 1000 ? "F" : std::format("F{}", i), {call(std::format("F{}", i - 1), "a", "b")}));
  }
  EXPECT_THAT(refused(graph().node("F", {"x"}, {"y"}, {}, "my"), chain),
              HasSubstr("more than 64 graphs and functions within each other"));
  WireWriter doubling = imports;
  doubling.message(25, function("F0", {call("Neg", "a", "b", "")}));
  for (int i = 1; i <= 60; ++i) {
    const std::string next = std::format("F{}", i - 1);
    doubling.message(25, function(i == 60 ? "F" : std::format("F{}", i), {call(next, "a", "t"), call(next, "t", "b")}));
  }
  const std::clock_t start = std::clock();
  EXPECT_THAT(refused(graph().node("F", {"x"}, {"y"}, {}, "my"), doubling), HasSubstr("Unsupported: "));
  EXPECT_LT(seconds_since(start), 120);
}

// A loop that turns while the graph is made has an end.
TEST_F(OnnxBadFiles, LoopsWithoutEnd) {
  G body, g = graph();
  body.input("i", ElementType::i64, {}).input("go", ElementType::boolean, {}).input("c", ElementType::f32, {-1});
  body.output("go_on", ElementType::boolean, {}).output("next", ElementType::f32, {-2});
  body.node("Identity", {"go"}, {"go_on"}).node("Concat", {"c", "c"}, {"next"}, {G::integer("axis", 0)});
  g.initializer(onnx_tensor<std::int64_t>("n", ElementType::i64, std::vector<std::int64_t>{},
                                          std::vector<std::int64_t>{INT64_MAX}));
  g.node("Loop", {"n", "", "x"}, {"y"}, {G::graph("body", body)});
  EXPECT_NE(refused(g), "nothing");
}

TEST_F(OnnxBadFiles, NamesAndTypes) {
  EXPECT_THAT(refused(graph().node("Add", {"x", "w"}, {"y"})), HasSubstr("'w' has no value"));
  EXPECT_THAT(refused(graph().node("Relu", {"b"}, {"a"}).node("Relu", {"a"}, {"b"}).node("Relu", {"b"}, {"y"})),
              HasSubstr("'b' has no value: no node before this one makes it"));
  EXPECT_THAT(refused(graph().node("Relu", {"y"}, {"y"})), HasSubstr("'y' has no value"));
  EXPECT_THAT(refused(graph().node("BitwiseAnd", {"x", "x"}, {"y"})), HasSubstr("node 'y' (BitwiseAnd, opset 21)"));
  EXPECT_THAT(refused(graph().node("Where", {"x", "x", "x"}, {"y"})), HasSubstr("node 'y' (Where, opset 21)"));
  EXPECT_THAT(refused(graph().node("Gather", {"x", "x"}, {"y"})), HasSubstr("node 'y' (Gather, opset 21)"));
  EXPECT_THAT(refused(graph().node("Cast", {"x"}, {"y"}, {G::integer("to", 99)})), HasSubstr("a type that Weft lacks"));
  // A hundred thousand operators that nobody has.
  G many = graph();
  for (int i = 0; i < 100000; ++i) many.node(std::format("Op{}", i), {"x"}, {std::format("v{}", i)}, {}, "my");
  const std::clock_t start = std::clock();
  EXPECT_THAT(refused(many), AllOf(HasSubstr("'v0' (my.Op0)"), HasSubstr("and 99900 more")));
  EXPECT_LT(seconds_since(start), 30);
}

// A million nodes: in the time of so many small steps.
TEST_F(OnnxBadFiles, AMillionNodes) {
  G chain;
  chain.input("x", ElementType::f32, {1});
  std::string last = "x";
  const int count = std::getenv("WEFT_TESTS_QUICK") ? 100000 : 1000000;
  for (int i = 0; i < count; ++i) {
    const std::string next = std::format("v{}", i);
    chain.node(i % 2 ? "Neg" : "Abs", {last}, {next});
    last = next;
  }
  chain.output(last, ElementType::f32, {1});
  const std::clock_t start = std::clock();
  const auto seconds = [&] { return seconds_since(start); };
  const onnx::Model model = load(onnx_model(chain));
  const double read = seconds();
  const Graph graph = model.graph();
  const double made = seconds();
  std::printf("%d nodes: read in %.2f s, made in %.2f s\n", count, read, made - read);
  EXPECT_LT(made, 120);
}

// ---- Operators of the program's own

TEST_F(OnnxBadFiles, OperatorsOfTheProgramsOwn) {
  const std::string file = onnx_model(
      graph().node("ScaledTanh", {"x"}, {"y"}, {G::number("scale", 2), G::integers("axes", {1, 2})}, "my.domain"));
  EXPECT_THAT(thrown_by([&] { (void)load(file); }), HasSubstr("'y' (my.domain.ScaledTanh)"));
  int calls = 0;
  std::vector<onnx::Operator> own{{"my.domain", "ScaledTanh", [&](const onnx::OperatorCall& node) {
                                     ++calls;
                                     EXPECT_EQ(node.integers("axes"), (std::vector<std::int64_t>{1, 2}));
                                     EXPECT_EQ(node.integer("none", 5), 5);
                                     EXPECT_EQ(node.outputs, 1u);
                                     return std::vector{tanh(node.input(0) * node.number("scale", 1))};
                                   }}};
  const onnx::Model model = load(file, own);
  EXPECT_TRUE(model.description().operators.at(0).supported);
  const Tensor x = tensor({0.25f, -1.0f});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(model.run({{"x", x}})[0].to_vector<float>(),
                testing::Pointwise(testing::FloatNear(1e-6f), {std::tanh(0.5f), std::tanh(-2.0f)}));
  }
  EXPECT_EQ(calls, 1) << "once for each shape";
  // In place of one that there is.
  own[0] = {"ai.onnx", "Relu", [](const onnx::OperatorCall& node) { return std::vector{node.input(0) + 1}; }};
  const std::string relu = onnx_model(graph().node("Relu", {"x"}, {"y"}));
  EXPECT_THAT(load(relu, own).run({{"x", x}})[0].to_vector<float>(), testing::ElementsAre(1.25f, 0.0f));
  // Errors have the node's name.
  own[0].make = [](const onnx::OperatorCall& node) { return std::vector{node.input(1)}; };
  EXPECT_THAT(thrown_by([&] { load(relu, own).run({{"x", x}}); }),
              HasSubstr("FormatError: node 'y' (Relu, opset 21): operand 1 is missing"));
  own[0].make = [](const onnx::OperatorCall& node) {
    return std::vector{node.input(0) * static_cast<double>(node.integer("n"))};
  };
  EXPECT_THAT(thrown_by([&] { load(relu, own).run({{"x", x}}); }), HasSubstr("the attribute n is missing"));
  own[0].make = [](const onnx::OperatorCall&) { return std::vector<Tensor>{}; };
  EXPECT_THAT(
      thrown_by([&] { load(relu, own).run({{"x", x}}); }),
      HasSubstr(
          "Unsupported: onnx: 1 of 1 nodes of '' need what Weft does not have:\n  node 'y' (Relu): it has 0 results"));
  own[0].make = [](const onnx::OperatorCall&) { return std::vector<Tensor>(1); };
  EXPECT_THAT(thrown_by([&] { load(relu, own).run({{"x", x}}); }), HasSubstr("is an undefined Tensor"));
  own[0].make = {};
  EXPECT_THAT(refused_by([&] { load(relu, own); }), HasSubstr("without a function"));
}

}  // namespace
}  // namespace weft::test
