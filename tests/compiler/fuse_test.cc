// An op that the compiler does not know has work fused into its kernel, only because of its FusionSpec.
#include "compiler/passes/fuse.h"

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "graph/ops/elementwise.h"
#include "support/pass_test.h"
#include "weft/kernels/elementwise.h"

namespace weft::compiler {
namespace {

// y = x · w. Operands: w [n], x [m, n].
class ScaledOp final : public Op {
 public:
  explicit ScaledOp(std::optional<Expression> prologue = {}, std::optional<Expression> epilogue = {})
      : prologue_(std::move(prologue)), epilogue_(std::move(epilogue)) {}
  std::string_view name() const override { return "scaled"; }
  void attributes(Attributes& f) const override {
    if (prologue_) f.add("x", prologue_->to_string());
    if (epilogue_) f.add("y", epilogue_->to_string());
  }
  std::vector<TensorType> infer(std::span<const TensorType> in) const override {
    const auto of = split_operands(fusion(), in);
    TensorType x{prologue_ ? prologue_->output_type(0) : of.prologue[0].dtype, {}};
    for (const TensorType& t : of.prologue) x.shape = broadcast(x.shape, t.shape);
    std::vector<TensorType> results;
    for (std::size_t k = 0; k < results_of_epilogue(); ++k) results.push_back(x);
    for (std::size_t k = 1; prologue_ && k < prologue_->outputs().size(); ++k) results.push_back(x);
    return results;
  }
  Fusion fusion() const override {
    return {.operand = 1, .prologue = prologue_ ? &*prologue_ : nullptr, .epilogue = epilogue_ ? &*epilogue_ : nullptr};
  }
  FusionStage fusion_stage() const override { return prologue_ || epilogue_ ? FusionStage::none : FusionStage::row; }
  FusionSpec fusion_spec(const gpu::Capabilities*, std::span<const TensorType>,
                         std::span<const TensorType>) const override {
    return {.prologue = true, .shared = SharedPrologue::stored, .epilogue_outputs = 2};
  }
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const override {
    return make_op<ScaledOp>(std::move(prologue), std::move(epilogue));
  }
  void lower(const Launch& call) const override {
    const auto in = split_operands(fusion(), call.inputs);
    const Shape& shape = call.outputs[0].shape();
    const auto fresh = [&] {
      return View(Buffer::host(static_cast<std::uint64_t>(element_count(shape)) * 4), 0, DType::f32, shape);
    };
    View x = in.prologue[0];
    if (prologue_) {
      std::vector<View> made{x = fresh()};
      for (const View& v : call.outputs.subspan(results_of_epilogue())) made.push_back(v);
      kernels::map(call.stream, *prologue_, in.prologue, made);
    }
    Expression product;
    product.output(product.apply(ScalarOp::mul, {product.input(DType::f32), product.input(DType::f32)}));
    const View y = epilogue_ ? fresh() : call.outputs[0];
    kernels::map(call.stream, product, std::vector{x, in.first[0]}, std::vector{y});
    if (!epilogue_) return;
    std::vector<View> operands{y};
    operands.insert(operands.end(), in.epilogue.begin(), in.epilogue.end());
    kernels::map(call.stream, *epilogue_, operands, call.outputs.first(results_of_epilogue()));
  }

 private:
  std::size_t results_of_epilogue() const { return epilogue_ ? epilogue_->outputs().size() : 1; }
  std::optional<Expression> prologue_, epilogue_;
};

using FuseTest = PassTest;

TEST_F(FuseTest, WhatAnUnknownOpTakes) {
  const Tensor w = f32({4}), a = f32({3, 4}), b = f32({3, 4}), gate = f32({3, 1});
  const Tensor x = a + b;
  const Tensor y = apply(make_op<ScaledOp>(), {w, x});
  graph.output("gated", y * gate);
  graph.output("x", x);
  graph.output("y", y);
  EXPECT_EQ(after(fuse<FusionStage::product>), after(fuse<FusionStage::reduction>));  // not its stage
  EXPECT_EQ(after(fuse<FusionStage::row>),
            "%4 = scaled{x=(x0:f32, x1:f32) %2 = add(x0, x1); %2, %2, y=(x0:f32, x1:f32) x0, mul(x0, x1)} "
            "%0, %1, %2, %3 : f32 [3, 4], f32 [3, 4], f32 [3, 4]\n"
            "output \"gated\" = %4.1\n"
            "output \"x\" = %4.2\n"
            "output \"y\" = %4\n");

  std::map<std::string, TensorData> data;
  for (const GraphPort& i : graph.impl().inputs) data[i.name] = test::noise(i.value.shape(), 1);
  Executable exe = compile(graph, Device::cpu());
  EXPECT_EQ(exe.report().steps.size(), 1u);
  const test::Bound bound(Device::cpu(), graph, data);
  bound.run(exe);
  bound.compare(evaluate(graph, data), "scaled", 1e-6f);
}

// Nodes that nothing else reads are fused at any distance, and other fused groups may span them.
TEST_F(FuseTest, HoweverFarApart) {
  const Tensor x = f32({4, 4}), w = f32({4, 4}), b = f32({4});
  const Tensor early = matmul(x, w);
  const Tensor second = matmul(w, x);
  Tensor chain = x;
  for (int i = 0; i < 40; ++i) chain = softmax(chain);
  const Tensor later = matmul(chain, w) + b;
  for (int i = 0; i < 40; ++i) chain = softmax(chain);
  graph.output("y", early + b);
  graph.output("z", (second + b) * later);
  graph.output("chain", chain);
  const Graph fused = fuse<FusionStage::product>(graph, context);
  fused.verify();
  const auto maps = [](const auto& node) { return node->op().elementwise() != nullptr; };
  // Only the map that reads no product remains of the four.
  EXPECT_EQ(std::ranges::count_if(fused.impl().nodes(), maps), 1);
}

// A third result exceeds the limit of its FusionSpec.
TEST_F(FuseTest, NoMoreThanItSays) {
  const Tensor y = apply(make_op<ScaledOp>(), {f32({4}), f32({3, 4})});
  graph.output("y", y);
  graph.output("exp", exp(y));
  graph.output("sin", sin(y));
  EXPECT_EQ(after(fuse<FusionStage::row>),
            "%2 = scaled{y=(x0:f32) x0, exp(x0)} %0, %1 : f32 [3, 4], f32 [3, 4]\n"
            "%3 = map{y=(x0:f32) sin(x0)} %2 : f32 [3, 4]\n"
            "output \"y\" = %2\n"
            "output \"exp\" = %2.1\n"
            "output \"sin\" = %3\n");
}

}  // namespace
}  // namespace weft::compiler
