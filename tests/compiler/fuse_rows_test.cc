// Which work is fused into softmax and norms, by the rules for a large GPU; nothing runs here.
#include "compiler/passes/fuse.h"

#include "ops/elementwise.h"
#include "support/pass_test.h"

namespace weft::compiler {
namespace {

struct FuseRows : PassTest {
  FuseRows() {
    gpu::Capabilities able;
    able.max_binding = able.max_buffer = std::uint64_t{1} << 31;
    able.max_workgroup_memory = 32768;
    able.max_workgroup_size = 1024;
    able.max_storage_buffers = 10;
    able.max_workgroups = 65535;
    able.max_dispatch_work = 1e15;
    context.target = {10, able.max_buffer, able};
  }
  // How many of `build`'s nodes remain.
  int nodes(const Shape& shape, const std::function<void(const Tensor& x, const Tensor& r)>& build) {
    graph = Graph();
    next = 0;
    const Tensor x = f32(shape);
    build(x, f32(shape));
    const std::string text = after(fuse<FusionStage::row>);
    return static_cast<int>(std::ranges::count(text, '\n')) - static_cast<int>(graph.impl().outputs.size());
  }
  void softmax_of_sum(const Tensor& x, const Tensor& r) { graph.output("y", softmax(x + r)); }
};

TEST_F(FuseRows, BeforeAndAfter) {
  const Tensor x = f32({64, 256}), r = f32({64, 256}), w = f32({256});
  const Tensor sum = x + r;
  graph.output("y", weft::tanh(layer_norm(sum, w, {}, 0.5)) * w);
  graph.output("sum", sum);
  // By the time this pass runs, the chain after the norm is one node; here it is two, of which only the norm reads the
  // first.
  EXPECT_EQ(
      after(fuse<FusionStage::row>),
      "%3 = layer_norm{prologue=(x0:f32, x1:f32) %1 = add(x0, x1); %1, %1, first_axis=1, epsilon=0.5, bias=false, "
      "epilogue=(x0:f32) tanh(x0)} %0, %1, %2 : f32 [64, 256], f32 [64, 256]\n"
      "%4 = map{y=(x0:f32, x1:f32) mul(x0, x1)} %3, %2 : f32 [64, 256]\n"
      "output \"y\" = %4\n"
      "output \"sum\" = %3.1\n");
}

TEST_F(FuseRows, ResultsThatOthersNeed) {
  const Tensor x = f32({64, 256}), gate = f32({64, 1});
  const Tensor y = softmax(x);
  graph.output("gated", y * gate);
  graph.output("y", y);
  EXPECT_EQ(after(fuse<FusionStage::row>),
            "%2 = softmax{axis=1, epilogue=(x0:f32, x1:f32) x0, mul(x0, x1)} %0, %1 : f32 [64, 256], f32 [64, 256]\n"
            "output \"gated\" = %2.1\n"
            "output \"y\" = %2\n");
}

TEST_F(FuseRows, AnyRowsPastABindingToo) {
  const auto build = [&](const Tensor& x, const Tensor& r) { softmax_of_sum(x, r); };
  for (const Shape& shape : {Shape{4096, 1024}, {1 << 16, 7}, {2, 1 << 20}, {64, 1 << 20}}) {
    context.target.able->max_binding = std::uint64_t{1} << 31;
    EXPECT_EQ(nodes(shape, build), 1) << to_string(shape);
    EXPECT_EQ(nodes(shape, [&](const Tensor& x, Tensor) { graph.output("y", softmax(x) * 2.0); }), 1)
        << to_string(shape);
    context.target.able->max_binding = std::uint64_t{1} << 20;
    EXPECT_EQ(nodes(shape, build), 1) << to_string(shape);
  }
}

// A few rows are split in two passes, which read them twice; more rows are split with look-back and read once, unless
// the prologue's result is stored too.
TEST_F(FuseRows, RowsInParts) {
  const auto dear = [&](const Tensor& x, Tensor) { graph.output("y", softmax(unary(ScalarOp::lgamma, x))); };
  const auto stored = [&](const Tensor& x, const Tensor& r) {
    const Tensor sum = x + r;
    graph.output("y", softmax(sum));
    graph.output("sum", sum);
  };
  const Shape few{2, 1 << 20}, more{64, 1 << 20};
  EXPECT_EQ(nodes(few, dear), 2);
  EXPECT_EQ(nodes(more, dear), 1);
  EXPECT_EQ(nodes(few, stored), 1);
  EXPECT_EQ(nodes(more, stored), 2);
  // The scratch needs one more binding.
  context.target.max_operands = 4;
  EXPECT_EQ(nodes(few, stored), 2);
  EXPECT_EQ(nodes(more, [&](const Tensor& x, const Tensor& r) { softmax_of_sum(x, r); }), 1);
  context.target.max_operands = 3;
  EXPECT_EQ(nodes(more, [&](const Tensor& x, const Tensor& r) { softmax_of_sum(x, r); }), 2);
}

// Rows that do not fit a workgroup are read twice, and their prologue is computed twice.
TEST_F(FuseRows, RepeatedWork) {
  const Shape shape{100, 80000};  // too few for look-back, too many for two passes
  EXPECT_EQ(nodes(shape, [&](const Tensor& x, const Tensor& r) { softmax_of_sum(x, r); }), 1);
  const auto dear = [&](const Tensor& x, Tensor) { graph.output("y", softmax(unary(ScalarOp::lgamma, x))); };
  EXPECT_EQ(nodes(shape, dear), 2);
  EXPECT_EQ(nodes({4096, 1024}, dear), 1);
  // Reading three operands twice costs more than storing the sum once and reading it twice; reading two does not.
  const auto sum_of = [&](int count) {
    return [&, count](const Tensor& x, const Tensor& r) {
      Expression e;
      int v = e.input(DType::f32);
      std::vector<Tensor> in{x};
      for (int k = 1; k < count; ++k) {
        v = e.apply(ScalarOp::add, {v, e.input(DType::f32)});
        in.push_back(k == 1 ? r : f32(x.shape()));
      }
      e.output(v);
      graph.output("y", softmax(apply(make_op<ElementwiseOp>(std::move(e)), std::move(in))));
    };
  };
  EXPECT_EQ(nodes(shape, sum_of(2)), 1);
  EXPECT_EQ(nodes(shape, sum_of(3)), 2);
  EXPECT_EQ(nodes({4096, 1024}, sum_of(3)), 1);
}

TEST_F(FuseRows, NoMoreThanTheDeviceBinds) {
  const auto build = [&](const Tensor& x, const Tensor& r) {
    const Tensor sum = x + r;
    graph.output("y", softmax(sum));
    graph.output("sum", sum);
  };
  context.target.max_operands = 4;
  EXPECT_EQ(nodes({64, 256}, build), 1);
  context.target.max_operands = 3;
  EXPECT_EQ(nodes({64, 256}, build), 2);
}

}  // namespace
}  // namespace weft::compiler
