// Elementwise work that ends in a reduction as one kernel with several results.
#include "compiler/passes/merge_extra_outputs.h"

#include "bound.h"
#include "compiler/evaluate.h"
#include "compiler/passes/merge_maps.h"
#include "ops/elementwise.h"
#include "support/pass_test.h"

namespace weft {
namespace {

using compiler::merge_extra_outputs;
using compiler::merge_maps;
using compiler::PassTest;

struct MergeReductions : PassTest {
  MergeReductions() { context.target = {10, std::uint64_t{1} << 31, gpu::Capabilities()}; }
  // The number of kernels of a graph.
  int nodes() {
    const std::string text = after(merge_extra_outputs);
    return static_cast<int>(std::ranges::count(text, '\n')) - static_cast<int>(graph.impl().outputs.size());
  }
};

TEST_F(MergeReductions, WhatIsReducedIsStoredToo) {
  const Tensor x = f32({33, 40});
  const Tensor y = x * x;
  graph.output("y", y);
  graph.output("s", reduce(ReduceKind::sum, y, {1}, true));
  EXPECT_EQ(after(merge_extra_outputs),
            "%1 = reduce_sum{prologue=(x0:f32) %1 = mul(x0, x0); %1, %1, axes=[1], keep_dims=true} %0 : f32 [33, 1], "
            "f32 [33, 40]\n"
            "output \"y\" = %1.1\n"
            "output \"s\" = %1\n");
}

TEST_F(MergeReductions, SeveralResultsAndOthersThatReadTheSame) {
  const Tensor x = f32({33, 40}), w = f32({40});
  const Tensor y = x * w;
  graph.output("z", exp(y));
  graph.output("y", y);
  graph.output("other", sqrt(x));
  graph.output("s", reduce(ReduceKind::max, y, {1}));
  EXPECT_EQ(nodes(), 2);
  graph = merge_maps(graph, context);
  EXPECT_EQ(nodes(), 1);
}

TEST_F(MergeReductions, WhatStaysApart) {
  const auto stays = [&](int expected, std::string_view what, const std::function<void()>& build) {
    graph = Graph();
    next = 0;
    build();
    EXPECT_EQ(nodes(), expected) << what << "\n" << graph.to_string();
  };
  stays(2, "rows that may be read twice", [&] {
    const Tensor y = f32({33, 40}) * 2.0;
    graph.output("y", y);
    graph.output("v", variance(y, {1}));
  });
  stays(2, "what reads the reduction", [&] {
    const Tensor x = f32({33, 40}), s = reduce(ReduceKind::sum, x, {1}, true);
    graph.output("y", x / s);
  });
  stays(3, "what the reduction waits for in another kernel", [&] {
    const Tensor y = f32({40, 40}) * 2.0;
    graph.output("y", y);
    graph.output("s", reduce(ReduceKind::sum, matmul(y, y), {1}));
  });
  stays(3, "another shape", [&] {
    const Tensor x = f32({40});
    graph.output("y", x * 2.0);
    graph.output("s", reduce(ReduceKind::sum, broadcast_to(x, {33, 40}) + f32({33, 40}), {1}));
  });
  stays(2, "narrow elements one by one", [&] {
    const Tensor x = f32({33, 41});
    graph.output("y", cast(x, DType::f16));
    graph.output("s", reduce(ReduceKind::sum, x, {1}));
  });
  stays(1, "narrow elements in fours", [&] {
    const Tensor x = f32({33, 44});
    graph.output("y", cast(x, DType::f16));
    graph.output("s", reduce(ReduceKind::sum, x, {1}));
  });
  context.target.max_operands = 3;
  stays(2, "more than the device binds", [&] {
    const Tensor x = f32({33, 40}), w = f32({33, 40}), y = x * w;
    graph.output("y", y);
    graph.output("s", reduce(ReduceKind::sum, y, {1}));
  });
}

struct MergeReductionsTest : testing::TestWithParam<std::string> {
  Device device = test::device_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, MergeReductionsTest, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(MergeReductionsTest, ARegionWithAReductionAtItsEndIsOneDispatch) {
  for (const Shape& shape : {Shape{33, 40}, {3, 7, 65}, {2, 30000}, {5000, 3}}) {
    for (const int axis : {0, shape.rank() - 1}) {
      Graph g;
      const Tensor x = g.input("x", DType::f32, shape), w = g.input("w", DType::f32, {shape[-1]});
      const Tensor y = x * 2.0 + w;
      g.output("y", y);
      g.output("z", tanh(y));
      g.output("s", sqrt(abs(reduce(ReduceKind::sum, y, {axis})) + 1.0));
      Executable exe = compile(g, device);
      EXPECT_EQ(exe.report().steps.size(), device.is_gpu() ? 1u : 2u) << exe.report().graph;
      const std::map<std::string, TensorData> data{{"x", test::noise(shape, 1)}, {"w", test::noise({shape[-1]}, 2)}};
      for (const std::uint64_t shift : {0, 4}) {
        const test::Bound bound(device, g, data, shift);
        bound.run(exe);
        bound.compare(compiler::evaluate(g, data), std::format("{} over {}", to_string(shape), axis));
      }
    }
  }
}

}  // namespace
}  // namespace weft
