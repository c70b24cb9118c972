#include "weft/call.h"

#include <set>

#include "graph/graph.h"
#include "kernels/elementwise/scalar_ops.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/op_rows.h"
#include "support/random_graph.h"
#include "support/throws.h"
#include "weft/derivatives.h"
#include "weft/distributions.h"
#include "weft/fft.h"
#include "weft/linalg.h"
#include "weft/quantized_weights.h"
#include "weft/resampling.h"

namespace weft {
namespace {

using testing::HasSubstr;

AttributeMap attributes_of(const Op& op) {
  AttributeMap map;
  AttributeCollector visitor(map);
  op.visit(visitor);
  return map;
}

// A node's operands as its schema lists them: undefined where optional ones are not there, which the node says by an
// attribute of the operand's name, or by one that lists their names; of attention's mask their number says it.
std::vector<Tensor> listed(const Node& node, const Schema& schema, const AttributeMap& attributes) {
  const auto flag = [&](const std::string& name) -> std::optional<bool> {
    const auto found = attributes.find(name);
    if (found != attributes.end()) return std::get<Number>(found->second).value() != 0;
    const auto list = attributes.find("operands");
    if (list == attributes.end() || schema.family != "rnn") return std::nullopt;
    return (" " + std::get<std::string>(list->second) + " ").find(" " + name + " ") != std::string::npos;
  };
  std::vector<Tensor> all;
  std::size_t next = 0;
  for (const OperandSchema& o : schema.inputs) {
    if (o.arity == Arity::optional) {
      const std::size_t later = schema.family == "attention" && o.name == "mask"
                                    ? std::size_t{*flag("query_lengths")} + std::size_t{*flag("key_lengths")}
                                    : 0;
      if (!flag(o.name).value_or(node.inputs().size() - next > later)) {
        all.emplace_back();
        continue;
      }
    }
    if (next < node.inputs().size()) all.push_back(node.inputs()[next++]);
  }
  while (next < node.inputs().size()) all.push_back(node.inputs()[next++]);
  return all;
}

// What functions recorded, called by name with what the nodes say, is the same op on the same operands. Ops whose name
// is also that of a function with other results are made by their rows. Adds the names.
void expect_the_same(const Graph& graph, std::set<std::string>& names) {
  for (const auto& node : graph.impl().nodes()) {
    const Op& op = node->op();
    if (op.is_leaf()) continue;
    const OpRow* row = find_op_row(op.name());
    ASSERT_TRUE(row) << op.to_string();
    const AttributeMap attributes = attributes_of(op);
    const auto made = [&]() -> std::vector<Tensor> {
      if (!find_function_row(op.name())) return call(op.name(), listed(*node, row->schema, attributes), attributes);
      std::vector<Tensor> inputs(node->inputs().begin(), node->inputs().end());
      std::vector<TensorType> types;
      for (const Tensor& x : inputs) types.push_back(x.type());
      return results_of(apply(row->make(attributes, types), std::move(inputs)));
    };
    const std::vector<Tensor> results = made();
    ASSERT_EQ(results[0].node()->op().identity(), op.identity());
    ASSERT_TRUE(std::ranges::equal(results[0].node()->types(), node->types())) << op.to_string();
    ASSERT_EQ(results[0].node()->inputs().size(), node->inputs().size()) << op.to_string();
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      EXPECT_EQ(results[0].node()->inputs()[i].node(), node->inputs()[i].node()) << op.to_string();
    }
    names.insert(std::string(op.name()));
  }
}

TEST(Call, MakesWhatFunctionsMade) {
  std::set<std::string> names;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    expect_the_same(test::random_graph(seed, seed % 4 == 3 ? DType::f16 : DType::f32).graph, names);
  }
  // What random graphs have not, because small differences of numbers would become large ones.
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 3, 4}), image = g.input("image", DType::f32, {1, 2, 5, 5});
  const Tensor grid = g.input("grid", DType::f32, {1, 3, 3, 2}), dy = g.input("dy", DType::f32, {1, 2, 3, 3});
  const Tensor i = g.input("i", DType::i32, {2}), pairs = g.input("pairs", DType::i32, {5, 2});
  const Tensor rows = g.input("rows", DType::f32, {2, 3, 2}), key = g.input("key", DType::u32, {2});
  int count = 0;
  const auto add = [&](const Tensor& y) { g.output(std::format("y{}", count++), y); };
  add(grid_sample_gradient(dy, grid, {5, 5}, {}));
  add(grid_sample_grid_gradient(dy, image, grid, {}));
  add(gather_nd(x, pairs));
  const QuantizedWeights blocks{{QuantizedScheme::q4_0}, g.input("blocks", DType::u8, {3, 8, 36})};
  add(quantized_matmul(g.input("rows of blocks", DType::f16, {2, 1, 5, 64}), blocks,
                       {.transposed = true, .chosen = i, .dtype = DType::f32}));
  const QuantizedWeights grouped{{QuantizedScheme::gptq, 4, 16},
                                 g.input("words", DType::i32, {4, 6}),
                                 g.input("scales", DType::f16, {2, 6}),
                                 g.input("zeros", DType::i32, {2, 1}),
                                 g.input("groups", DType::i32, {32})};
  add(dequantize_weights(grouped, DType::bf16));
  add(quantized_matmul(g.input("rows of groups", DType::f32, {5, 32}), grouped, {.transposed = false}));
  add(quantize_weights(x, {QuantizedScheme::integers, 0, 2}, {.values = DType::u4, .zeros = true}).zeros);
  add(quantize_weights(x, {QuantizedScheme::nbits, 3, 16}, {.scales = DType::f16}).scales);
  add(rfft(x));
  add(cholesky(g.input("matrix", DType::f32, {2, 3, 3})));
  add(dynamic_slice(x, i, {1, 3, 2}, {0, 2}));
  add(dynamic_update_slice(x, rows, g.input("starts", DType::i32, {1}), {2}));
  add(scatter(ScatterKind::add, x, i, rows, 2));
  add(scatter_nd(ScatterKind::max, x, pairs, g.input("updates", DType::f32, {5, 4})));
  add(one_hot(i, 7, DType::f16, 0, 2, -1));
  for (const ReduceKind kind : {ReduceKind::prod, ReduceKind::log_sum, ReduceKind::variance, ReduceKind::deviation}) {
    add(reduce(kind, x, {1}, true));
  }
  // Gradients of rows.
  const auto add_gradient = [&](const Tensor& of, const auto& f) { add(vjp(f)(of).second(of)); };
  add_gradient(x, [](const Tensor& t) { return softmax(t, 1); });
  add_gradient(x, [](const Tensor& t) { return log_softmax(t, 1); });
  add_gradient(x, [](const Tensor& t) { return layer_norm(t, {}, {}, 1e-3); });
  add_gradient(x, [](const Tensor& t) { return rms_norm(t, {}, 1e-3); });
  add_gradient(image, [](const Tensor& t) { return group_norm(t, {}, {}, 2, 1e-3); });
  add_gradient(image, [](const Tensor& t) { return instance_norm(t, {}, {}, 1e-3); });
  // With those of their weights.
  const Tensor scale = g.input("norm_scale", DType::f32, {4}), channels = g.input("channel_scale", DType::f32, {4});
  const Tensor pixels = g.input("pixels", DType::f32, {2, 4, 8, 8});
  using Tensors = std::vector<Tensor>;
  const auto add_gradients = [&](const Tensor& of, const Tensor& weights, const auto& f) {
    for (const Tensor& gradient : vjp(f)(Tensors{of, weights}).second(of)) add(gradient);
  };
  add_gradients(x, scale, [](const Tensors& t) { return layer_norm(t[0], t[1], {}, 1e-3); });
  add_gradients(x, scale, [](const Tensors& t) { return rms_norm(t[0], t[1], 1e-3); });
  add_gradients(pixels, channels, [](const Tensors& t) { return group_norm(t[0], t[1], {}, 2, 1e-3); });
  add_gradients(pixels, channels, [](const Tensors& t) { return instance_norm(t[0], t[1], {}, 1e-3); });
  const Tensor heads = g.input("heads", DType::f32, {2, 4, 5, 8}), lengths = g.input("lengths", DType::i32, {2});
  add_gradient(heads, [&](const Tensor& t) { return attention(t, t, t, {}, {.causal = true}, {}, lengths); });
  // What only a few of them have.
  const Tensor square = g.input("square", DType::f32, {3, 3});
  add(irfft(fft(rfft(x))));
  add(cholesky(square));
  add(solve_triangular(square, square));
  add(qr(square).r);
  add(stop_gradient(x));
  add(arange(0, 5));
  add(identity(x, IdentityKind::barrier));
  add(identity(x));
  add(argmin(x, {0, 2}));
  add(argmax(x, {1}, true));
  using kernels::ScanKind;
  for (const auto kind : {ScanKind::sum, ScanKind::prod, ScanKind::min}) add(scan(kind, x, 1, {.reverse = true}));
  add(sort(x, 1, true));
  add(argsort(x, 0));
  add(top_k(x, 2, 1, false).values);
  add(random_bits(key, DType::u32, {3}));
  add(random_uniform(key, DType::f32, {3}, 1, 2));
  add(random_normal(key, DType::f16, {3}));
  add(random_integers(key, DType::i32, {3}, 0, 7));
  add(random_signed_uniform(key, {3}));
  const Tensor rates = g.input("rates", DType::f16, {3}), trials = g.input("trials", DType::i32, {2, 1});
  add(random_gamma(key, rates, {2, 3}, DType::bf16, true));
  add(random_gamma_gradient(rates, rates, true));
  add(random_poisson(key, rates, {3}));
  add(random_binomial(key, trials, rates, {2, 3}));
  add(random_geometric(key, rates, {3}));
  add(random_categorical(key, x, 1));
  expect_the_same(g, names);
  std::string missing;
  for (const OpRow& row : op_rows()) {
    if (row.make && !names.contains(row.schema.name)) missing += row.schema.name + " ";
  }
  EXPECT_EQ(missing, "");
}

TEST(Call, FunctionsOfElements) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 3}), n = g.input("n", DType::i32, {3});
  const Tensor c = g.input("c", DType::c64, {3}), b = g.input("b", DType::boolean, {3});
  int count = 0;
  for (const OpRow& row : op_rows()) {
    if (row.schema.family != "elementwise" || row.make) continue;
    const auto op = scalar_op(row.schema.name);
    if (!op || *op == ScalarOp::cast) continue;
    if (*op == ScalarOp::min || *op == ScalarOp::max) continue;  // by name these are the reductions
    ++count;
    // Of types that go together in some way: those that the function takes, and others that it promotes.
    for (const Tensor& v : {x, n, c, b}) {
      const std::vector<Tensor> operands(static_cast<std::size_t>(arity(*op)), v);
      const auto direct = [&] {
        return operands.size() == 1 ? unary(*op, v) : operands.size() == 2 ? binary(*op, v, v) : ternary(*op, v, v, v);
      };
      std::string expected, got;
      try {
        const Tensor y = direct();
        expected = y.node()->op().identity() + to_string(y.type());
      } catch (const Error& e) {
        expected = e.what();
      }
      try {
        const Tensor y = call(row.schema.name, operands)[0];
        got = y.node()->op().identity() + to_string(y.type());
      } catch (const Error& e) {
        got = e.what();
      }
      EXPECT_EQ(got, expected) << row.schema.name;
    }
  }
  EXPECT_GT(count, 80);
}

TEST(Call, OptionalOperandsAndDefaults) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 3, 4}), bias = g.input("bias", DType::f32, {4});
  const Tensor y = call("layer_norm", {x, Tensor(), bias}, {{"first_axis", Number(-1)}})[0];
  EXPECT_EQ(y.node()->op().identity(), layer_norm(x, {}, bias, 1e-5).node()->op().identity());
  EXPECT_EQ(call("softmax", {x})[0].node()->op().identity(), softmax(x).node()->op().identity());
  EXPECT_EQ(call("reduce_mean", {x}, {{"axes", std::vector<std::int64_t>{-1, 0}}})[0].shape(), (Shape{3}));
  EXPECT_EQ(call("top_k", {x}, {{"k", Number(2)}}).size(), 2u);
  const Tensor i = g.input("i", DType::i32, {3, 3});
  EXPECT_EQ(call("variance", {i}, {{"axes", std::vector<std::int64_t>{0}}})[0].dtype(), DType::f32);
}

TEST(Call, SaysWhatIsWrong) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 3});
  using test::thrown_by;
  EXPECT_THAT(thrown_by([&] { call("sofmax", {x}); }),
              HasSubstr("no operation 'sofmax'; the nearest name is 'softmax'"));
  EXPECT_THAT(thrown_by([&] { call("softmax", {x}, {{"axes", Number(1)}}); }), HasSubstr("axes"));
  EXPECT_THAT(thrown_by([&] { call("softmax", {x}, {{"axis", std::string("last")}}); }), HasSubstr("axis"));
  EXPECT_THAT(thrown_by([&] { call("softmax", {x}, {{"axis", Number(5)}}); }), HasSubstr("softmax: axis 5"));
  EXPECT_THAT(thrown_by([&] { call("softmax", {x, x}); }), HasSubstr("softmax: 2 operands, expected 'x'"));
  EXPECT_THAT(thrown_by([&] { call("concat", {}); }), HasSubstr("concat: operand parts is missing"));
  EXPECT_THAT(thrown_by([&] { call("softmax", {}); }), HasSubstr("softmax: operand x is missing"));
  EXPECT_THAT(thrown_by([&] { call("matmul", {x, Tensor()}); }), HasSubstr("matmul: operand b is an undefined Tensor"));
  EXPECT_THAT(thrown_by([&] { call("permute", {x}); }), HasSubstr("order"));
  EXPECT_THAT(thrown_by([&] { call("map", {x}, {{"y", std::string("(x0:f32) eep(x0)")}}); }),
              HasSubstr("at character 10 expected an input, a constant or an operation"));
  EXPECT_THAT(thrown_by([&] { call("input", {}); }), HasSubstr("no operation 'input'"));
}

TEST(ExpressionText, IsReadBack) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const test::RandomGraph random = test::random_graph(seed);
    for (const auto& node : random.graph.impl().nodes()) {
      const Expression* e = node->op().elementwise();
      if (!e) continue;
      EXPECT_EQ(Expression::parse(e->to_string()).to_string(), e->to_string());
    }
  }
  Expression e;
  const int x = e.input(DType::f32), n = e.input(DType::u64);
  int v = e.apply(ScalarOp::mul, {x, e.constant_bits(0x7fc00123, DType::f32)});  // a NaN with a payload
  for (int i = 0; i < 50'000; ++i) v = e.apply(ScalarOp::neg, {v});
  const int shared = e.apply(ScalarOp::add, {e.cast(n, DType::f32), e.constant(-0.0, DType::f32)});
  e.output(e.apply(ScalarOp::max, {v, shared}));
  e.output(e.apply(ScalarOp::add, {n, e.constant_bits(~0ull, DType::u64)}));
  e.output(shared);
  EXPECT_EQ(Expression::parse(e.to_string()).to_string(), e.to_string());
  for (const char* text : {"", "(", "(x0:f33) x0", "(x1:f32) x1", "(x0:f32) x1", "(x0:f32) exp(x0", "(x0:f32) exp(x0))",
                           "(x0:f32) %1", "(x0:f32) %1 = exp(x0); %1 = exp(x0); %1", "(x0:f32) add(x0)",
                           "(x0:f32) add(x0, 1:i4)", "(x0:f32) add(x0, 0x1ff:u8)", "(x0:f32) cast<f32(x0)",
                           "(x0:f32) 99999999999999999999:f32 1", "(x0:f32) input(x0)"}) {
    EXPECT_THROW(Expression::parse(text), InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace weft
