// An op that the compiler does not know has work fused into its kernel, only because of its FusionSpec.
#include "compiler/passes/fuse.h"

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "ops/elementwise.h"
#include "support/pass_test.h"
#include "weft/kernels/elementwise.h"

namespace weft::compiler {
namespace {

// y = x · w. Operands: w [n], x [m, n].
class ScaledOp final : public Op, public FusionInterface {
 public:
  const FusionInterface& fusing() const override { return *this; }
  std::string_view name() const override { return "scaled"; }
  std::vector<TensorType> infer(std::span<const TensorType> in) const override { return {in[1]}; }
  int prologue_operand() const override { return 1; }
  FusionStage fusion_stage() const override { return FusionStage::row; }
  FusionSpec fusion_spec(const gpu::Capabilities*, std::span<const TensorType>,
                         std::span<const TensorType>) const override {
    return {.prologue = true, .shared = SharedPrologue::stored, .epilogue_outputs = 2};
  }
  void lower(const Launch& call) const override {
    const auto& [prologue, epilogue] = call.fusion;
    const Shape& shape = call.outputs[0].shape();
    const auto fresh = [&] {
      return View(Buffer::host(static_cast<std::uint64_t>(element_count(shape)) * 4), 0, DType::f32, shape);
    };
    const auto with = [](const View& first, std::span<const View> rest) {
      std::vector<View> all{first};
      all.insert(all.end(), rest.begin(), rest.end());
      return all;
    };
    View x = call.inputs[1];
    if (prologue.expression) {
      const View made = fresh();
      kernels::map(call.stream, *prologue.expression, with(x, prologue.operands), with(made, prologue.outputs));
      x = made;
    }
    Expression product;
    product.output(product.apply(ScalarOp::mul, {product.input(DType::f32), product.input(DType::f32)}));
    const View y = epilogue.expression ? fresh() : call.outputs[0];
    kernels::map(call.stream, product, std::vector{x, call.inputs[0]}, std::vector{y});
    if (!epilogue.expression) return;
    kernels::map(call.stream, *epilogue.expression, with(y, epilogue.operands),
                 with(call.outputs[0], epilogue.outputs));
  }
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
  EXPECT_EQ(
      after(fuse<FusionStage::row>),
      "%4 = scaled{prologue=(x0:f32, x1:f32) %1 = add(x0, x1); %1, %1, epilogue=(x0:f32, x1:f32) x0, mul(x0, x1)} "
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
            "%2 = scaled{epilogue=(x0:f32) x0, exp(x0)} %0, %1 : f32 [3, 4], f32 [3, 4]\n"
            "%3 = map{y=(x0:f32) sin(x0)} %2 : f32 [3, 4]\n"
            "output \"y\" = %2\n"
            "output \"exp\" = %2.1\n"
            "output \"sin\" = %3\n");
}

}  // namespace
}  // namespace weft::compiler
