// Attention as an operation of a graph: operands that are slices of one tensor, every kind of mask, grouped heads.
#include "compiler/bound.h"
#include "compiler/evaluate.h"

namespace weft {
namespace {

using test::Bound;
using test::noise;

constexpr std::int64_t kBatch = 2, kTokens = 24, kHeads = 4, kDim = 16;

// A query's mask, whose values have a period that divides no size of the tensors.
TensorData booleans(const Shape& shape) {
  std::vector<std::uint8_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 5 != 0 && i % 7 != 3;
  return TensorData::of<std::uint8_t>(DType::boolean, shape, values);
}

TensorData numbers_of_batches(std::int32_t first, std::int32_t second) {
  return TensorData::of<std::int32_t>(DType::i32, {kBatch}, std::vector<std::int32_t>{first, second});
}

struct Masking {
  std::string_view name;
  kernels::AttentionOptions options;
  std::optional<TensorData> mask, queries, keys;
};

std::vector<Masking> maskings() {
  const Shape whole{kBatch, kHeads, kTokens, kTokens};
  return {
      {"none", {}, {}, {}, {}},
      {"boolean for keys", {}, booleans({kBatch, 1, 1, kTokens}), {}, {}},
      {"boolean for pairs", {}, booleans({kTokens, kTokens}), {}, {}},
      {"added", {}, noise(whole, 5), {}, {}},
      {"added to heads", {}, noise({1, kHeads, 1, kTokens}, 6), {}, {}},
      {"causal", {.causal = true}, {}, {}, {}},
      {"window", {.window_left = 3, .window_right = 2}, {}, {}, {}},
      {"from the top left", {.causal = true, .top_left = true}, {}, {}, {}},
      {"lengths of keys", {}, {}, {}, numbers_of_batches(24, 7)},
      {"lengths of queries", {}, {}, numbers_of_batches(3, 24), {}},
      {"all",
       {.causal = true, .window_left = 9},
       booleans({kBatch, 1, kTokens, kTokens}),
       numbers_of_batches(20, 11),
       numbers_of_batches(22, 13)},
  };
}

struct AttentionGraphTest : testing::TestWithParam<std::string> {
  // q, k and v next to each other in each token's row, with `kv_heads` heads of k and of v; y in rows again.
  void run(const Masking& m, std::int64_t kv_heads) {
    Graph g;
    const Shape shape{kBatch, kTokens, (kHeads + 2 * kv_heads) * kDim};
    std::map<std::string, TensorData> data{{"packed", noise(shape, 1)}};
    const Tensor packed = g.input("packed", DType::f32, shape);
    const auto part = [&](std::int64_t first, std::int64_t heads) {
      const Tensor rows = slice(packed, 2, first * kDim, (first + heads) * kDim);
      return permute(reshape(rows, {kBatch, kTokens, heads, kDim}), {0, 2, 1, 3});
    };
    const auto operand = [&](const std::string& name, const std::optional<TensorData>& d) {
      if (!d) return Tensor();
      data.emplace(name, *d);
      return g.input(name, d->dtype, d->shape);
    };
    const Tensor mask = operand("mask", m.mask), queries = operand("queries", m.queries),
                 keys = operand("keys", m.keys);
    kernels::AttentionOptions options = m.options;
    options.scale = 0.25f;
    const Tensor y = attention(part(0, kHeads), part(kHeads, kv_heads), part(kHeads + kv_heads, kv_heads), mask,
                               options, queries, keys);
    g.output("y", reshape(permute(y, {0, 2, 1, 3}), {kBatch, kTokens, kHeads * kDim}));
    Executable exe = compile(g, device);
    EXPECT_EQ(exe.report().steps.size(), 1u) << "nothing is copied\n" << exe.report().graph;
    const Bound bound(device, g, data);
    bound.run(exe);
    bound.compare(compiler::evaluate(g, data), std::format("{}, {} heads of keys", m.name, kv_heads));
  }
  Device device = test::device_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, AttentionGraphTest, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(AttentionGraphTest, PackedOperandsUnderEveryMask) {
  for (const Masking& m : maskings()) run(m, kHeads);
}

TEST_P(AttentionGraphTest, PackedOperandsOfGroupedHeads) {
  const std::vector<Masking> all = maskings();
  for (const Masking& m : {all.front(), all.back()}) {
    for (const std::int64_t kv_heads : {1, 2}) run(m, kv_heads);
  }
}

}  // namespace
}  // namespace weft
