// Reductions, norms, random numbers and sorting as operations of a graph: types and shapes, and compiled graphs
// compared with single nodes on the CPU.
#include <cstring>

#include "compiler/evaluate.h"
#include "graph/graph.h"
#include "support/devices.h"
#include "weft/compile.h"
#include "weft/error.h"

namespace weft {
namespace {

std::vector<std::string> all_devices() {
  std::vector<std::string> names{"cpu"};
  for (const std::string& n : test::device_names()) names.push_back(n);
  return names;
}

TensorData noise(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> d;
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& v : values) v = std::round(d(random) * 16) / 16;  // some are equal
  return TensorData::of<float>(DType::f32, shape, values);
}

// The elements of a u32 tensor as i32, which the other tensors are compared as.
std::vector<std::int32_t> bits_of(const Tensor& t) {
  const auto words = t.read<std::uint32_t>();
  return {words.begin(), words.end()};
}

struct RowOpsTest : testing::TestWithParam<std::string> {
  Device device = GetParam() == "cpu" ? Device::cpu() : Device(test::device(GetParam()));

  void check(const Graph& g, const std::map<std::string, TensorData>& data) const {
    Executable exe = compile(g, device);
    const auto expected = compiler::evaluate(g, data);
    std::map<std::string, Tensor> tensors;
    std::vector<NamedTensor> in, out;
    for (const auto& [name, d] : data) {
      const auto it = tensors.emplace(name, Tensor(device, d.dtype, d.shape)).first;
      it->second.write(d.bytes);
      in.push_back({it->first, it->second});
    }
    for (const auto& [name, d] : expected) {
      const auto it = tensors.emplace("output " + name, Tensor(device, d.dtype, d.shape)).first;
      out.push_back({name, it->second});
    }
    exe.run(in, out);
    for (const auto& [name, want] : expected) {
      const Tensor& o = tensors.at("output " + name);
      if (want.dtype != DType::f32) {
        std::vector<std::int32_t> words(want.bytes.size() / 4);
        std::memcpy(words.data(), want.bytes.data(), want.bytes.size());
        ASSERT_EQ(want.dtype == DType::i32 ? o.read<std::int32_t>() : bits_of(o), words) << name;
        continue;
      }
      const auto got = o.read<float>();
      for (std::size_t i = 0; i < got.size(); ++i) {
        float w;
        std::memcpy(&w, want.bytes.data() + 4 * i, 4);
        ASSERT_NEAR(got[i], w, 1e-5f * std::max(1.0f, std::abs(w))) << name << " [" << i << "]";
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, RowOpsTest, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(RowOpsTest, Reductions) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {6, 7, 8}), row = g.input("row", DType::f32, {30000});
  g.output("variance", variance(x, {1, 2}, 1));
  g.output("deviation", deviation(x, {0}, 0, true) + 1.0);
  g.output("argmax", argmax(x, {1}));
  g.output("argmin", argmin(x, {0, 2}, true));
  g.output("count", reduce(ReduceKind::count, x, {1}));
  // Split rows, with scratch that the executable plans.
  g.output("row_sum", reduce(ReduceKind::sum_squares, row, {0}));
  g.output("row_argmax", argmax(row, {0}));
  check(g, {{"x", noise({6, 7, 8}, 1)}, {"row", noise({30000}, 2)}});
}

TEST_P(RowOpsTest, Norms) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 6, 8}), w = g.input("w", DType::f32, {6}),
               b = g.input("b", DType::f32, {6});
  const Tensor row = g.input("row", DType::f32, {8}), none;
  g.output("log_softmax", log_softmax(x, 1));
  g.output("rms", rms_norm(x, row, 1e-3));
  g.output("group", group_norm(x, w, b, 3, 1e-3));
  g.output("instance", instance_norm(x, none, b, 1e-3, -2));
  g.output("batch", relu(batch_norm(x, b, w * w, none, w, 1e-3)));
  check(g, {{"x", noise({2, 6, 8}, 1)}, {"w", noise({6}, 2)}, {"b", noise({6}, 3)}, {"row", noise({8}, 4)}});
  Graph fused;
  const Tensor y = fused.input("x", DType::f32, {2, 6, 8}), v = fused.input("w", DType::f32, {6});
  fused.output("y", relu(batch_norm(y, v, v, v, v, 1e-3)));
  EXPECT_EQ(compile(fused, device).report().steps.size(), 1u);
}

TEST_P(RowOpsTest, RandomAndSort) {
  Graph g;
  const Tensor key = g.input("key", DType::u32, {2}), x = g.input("x", DType::f32, {3, 2000});
  g.output("bits", random_bits(key, DType::u32, {3, 5}));
  g.output("uniform", random_uniform(key, DType::f32, {40}, -1, 2));
  g.output("normal", random_normal(key, DType::f32, {41}, 1, 2));
  g.output("integers", random_integers(key, DType::i32, {9}, -4, 5));
  g.output("sorted", sort(x.T(), 0, true) * 2.0);
  g.output("rows_per_band", argsort(x));
  const TopK top = top_k(x, 4);
  g.output("top", top.values);
  g.output("top_places", top.indices);
  const TopK bottom = top_k(x, 300, 1, false);
  g.output("bottom", bottom.values + bottom.values);
  check(g, {{"key", TensorData::of<std::uint32_t>(DType::u32, {2}, std::vector<std::uint32_t>{5, 6})},
            {"x", noise({3, 2000}, 1)}});
}

TEST(RowOps, Infer) {
  Graph g;
  const Tensor x = g.input("x", DType::f16, {2, 6, 8}), w = g.input("w", DType::f32, {6}),
               key = g.input("key", DType::u32, {2});
  const Tensor i = g.input("i", DType::i8, {4, 5}), none;
  EXPECT_EQ(argmax(i, {0}).type(), (TensorType{DType::i32, {5}}));
  EXPECT_EQ(reduce(ReduceKind::count, i, {1}, true).type(), (TensorType{DType::i32, {4, 1}}));
  EXPECT_EQ(group_norm(x, w, none, 2, 1e-5).type(), x.type());
  EXPECT_EQ(batch_norm(x, w, w, none, w, 1e-5).type(), x.type());
  EXPECT_EQ(top_k(i, 2).values.type(), (TensorType{DType::i8, {4, 2}}));
  EXPECT_EQ(top_k(i, 2, 0).indices.type(), (TensorType{DType::i32, {2, 5}}));
  EXPECT_EQ(random_normal(key, DType::bf16, {3}).type(), (TensorType{DType::bf16, {3}}));
  EXPECT_EQ(variance(i, {0}).dtype(), DType::f32);
  EXPECT_THROW(argmax(i, {0, 0}), InvalidArgument);
  EXPECT_THROW(group_norm(x, w, none, 4, 1e-5), InvalidArgument);
  EXPECT_THROW(group_norm(x, w, none, 2, 1e-5, 2), InvalidArgument);
  EXPECT_THROW(rms_norm(x, w, 1e-5), InvalidArgument);
  EXPECT_THROW(log_softmax(i), InvalidArgument);
  EXPECT_THROW(top_k(i, 6), InvalidArgument);
  EXPECT_THROW(random_bits(w, DType::u32, {3}), InvalidArgument);
  EXPECT_THROW(random_uniform(key, DType::i32, {3}), InvalidArgument);
  EXPECT_THROW(sort(g.input("c", DType::c64, {3})), InvalidArgument);
}

}  // namespace
}  // namespace weft
