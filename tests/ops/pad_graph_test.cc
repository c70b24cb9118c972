// Ops of movement, indexing and scans: inferred types and errors, and compiled graphs compared with single nodes on the
// CPU.
#include "compiler/evaluate.h"
#include "graph/graph.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/compile.h"
#include "weft/error.h"

namespace weft {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<std::int64_t>;

struct MoveOps : testing::Test {
  Tensor input(DType dtype, const Shape& shape) { return graph.input(std::format("x{}", next++), dtype, shape); }
  Graph graph;
  int next = 0;
};

TEST_F(MoveOps, InferPads) {
  const Tensor x = input(DType::f16, {2, 3, 4});
  EXPECT_EQ(pad(x, Numbers{1, 0, -1}, Numbers{0, 2, 0}).type(), (TensorType{DType::f16, {3, 5, 3}}));
  EXPECT_EQ(pad(x, Numbers{0, -1, 0}, Numbers{0, -1, -2}).shape(), (Shape{2, 1, 2}));
  EXPECT_TRUE(pad(x, Numbers{0, -1, 0}, Numbers{0, -1, -2}).node()->op().is_view());
  EXPECT_TRUE(same(pad(x, Numbers{0, 0, 0}, Numbers{0, 0, 0}), x));
  EXPECT_THAT(test::refused_by([&] { pad(x, Numbers{1}, Numbers{1}); }),
              HasSubstr("pad: 1 numbers for the axes of f16 [2, 3, 4]"));
  EXPECT_THAT(test::refused_by([&] { pad(x, Numbers{-2, 0, 0}, Numbers{-1, 0, 0}); }),
              HasSubstr("less than nothing of axis 0"));
  EXPECT_THAT(test::refused_by([&] { pad(input(DType::f32, {0}), Numbers{1}, Numbers{1}, PadMode::edge); }),
              HasSubstr("axis 0 of f32 [0] is empty"));
  EXPECT_THAT(test::refused_by([&] { pad(input(DType::f32, {1, 0}), Numbers{-1, 1}, Numbers{0, 2}, PadMode::edge); }),
              HasSubstr("axis 1 of f32 [1, 0] is empty"));
  EXPECT_EQ(tile(x, Numbers{1, 2, 3}).shape(), (Shape{2, 6, 12}));
  EXPECT_TRUE(tile(input(DType::f32, {1, 3}), Numbers{5, 1}).node()->op().is_view());
  EXPECT_EQ(repeat(x, 3, -1).shape(), (Shape{2, 3, 12}));
  EXPECT_TRUE(same(roll(x, Numbers{2, -3, 8}), x));
  EXPECT_EQ(roll(x, Numbers{1, 0, 0}).type(), x.type());
  EXPECT_THAT(test::refused_by([&] { repeat(x, -1, 0); }), HasSubstr("repeat: a count of -1"));
  EXPECT_EQ(one_hot(input(DType::i64, {2, 5}), 7, DType::u8, 1).type(), (TensorType{DType::u8, {2, 7, 5}}));
  EXPECT_THAT(test::refused_by([&] { one_hot(x, 7); }), HasSubstr("one_hot: indices are f16"));
  EXPECT_THAT(test::refused_by([&] { triangle(input(DType::f32, {3}), Triangle::upper); }),
              HasSubstr("triangle: x is f32 [3]"));
  const auto parts = split(x, Numbers{1, 3}, 2);
  EXPECT_EQ(parts[1].shape(), (Shape{2, 3, 3}));
  EXPECT_THAT(test::refused_by([&] { split(x, Numbers{1, 2}, 2); }),
              HasSubstr("split: sizes of 3 together for axis 2"));
}

TEST_F(MoveOps, InferIndexingAndScans) {
  const Tensor x = input(DType::f32, {2, 3, 4});
  const Tensor by = input(DType::i32, {2, 5, 1});
  EXPECT_EQ(gather_elements(x, by, 1).shape(), (Shape{2, 5, 4}));
  EXPECT_THAT(test::refused_by([&] { gather_elements(x, by, 0); }), HasSubstr("sizes that broadcast but along axis 0"));
  EXPECT_EQ(gather_nd(x, input(DType::i32, {6, 2})).shape(), (Shape{6, 4}));
  const Tensor one = input(DType::u8, {});
  EXPECT_EQ(dynamic_slice(x, one, {2, 1, 4}, {1}).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(dynamic_update_slice(x, input(DType::f32, {2, 2, 0}), one, {-2}).type(), x.type());
  EXPECT_THAT(test::refused_by([&] { dynamic_slice(x, one, {2, 4, 4}, {1}); }),
              HasSubstr("dynamic_slice: the part is [2, 4, 4], expected the rank of x f32 [2, 3, 4], and no larger"));
  EXPECT_THAT(
      test::refused_by([&] { dynamic_slice(x, input(DType::i32, {0}), {2, 1, 4}, std::initializer_list<int>{}); }),
      HasSubstr("dynamic_slice: no axes are named"));
  EXPECT_THAT(test::refused_by([&] { dynamic_slice(x, one, {2, 1, 4}, {1, 2}); }),
              HasSubstr("dynamic_slice: starts are u8 [], expected one for each of 2 axes"));
  EXPECT_THAT(test::refused_by([&] { dynamic_slice(x, input(DType::u8, {2}), {2, 1, 4}, {1, -2}); }),
              HasSubstr("axis 1 is named twice"));
  EXPECT_THAT(test::refused_by([&] { dynamic_update_slice(x, x, input(DType::f32, {}), {1}); }),
              HasSubstr("dynamic_update_slice: starts are f32"));
  EXPECT_THAT(test::refused_by([&] { dynamic_update_slice(x, input(DType::f16, {2, 1, 4}), one, {1}); }),
              HasSubstr("dynamic_update_slice: x is f32 [2, 3, 4], update is f16 [2, 1, 4]"));
  EXPECT_EQ(gather_nd(x, input(DType::i32, {2, 6, 2}), 1).shape(), (Shape{2, 6}));
  EXPECT_THAT(test::refused_by([&] { gather_nd(x, input(DType::i32, {6, 4})); }),
              HasSubstr("are no tuples of indices into f32 [2, 3, 4]"));
  const Tensor updates = input(DType::f32, {2, 5, 1});
  EXPECT_EQ(scatter_elements(ScatterKind::add, x, by, updates, 1).type(), x.type());
  EXPECT_THAT(test::refused_by([&] { scatter_elements(ScatterKind::add, x, by, x, 1); }),
              HasSubstr("updates are f32 [2, 3, 4], expected f32 [2, 5, 4]"));
  EXPECT_THAT(test::refused_by([&] { scatter(ScatterKind::add, x, updates, x); }),
              HasSubstr("scatter: indices are f32"));
  const Tensor c = input(DType::c64, {3});
  EXPECT_THAT(test::refused_by([&] { scatter(ScatterKind::max, c, input(DType::i32, {3}), c); }),
              HasSubstr("scatter{op=max, axis=0}: x is c64 [3]"));
  EXPECT_EQ(cumsum(x, -1).type(), x.type());
  EXPECT_EQ(scan(ScanKind::max, input(DType::i16, {3}), 0, {.reverse = true}).dtype(), DType::i16);
  EXPECT_THAT(test::refused_by([&] { scan(ScanKind::log_sum_exp, input(DType::i32, {3}), 0); }),
              HasSubstr("scan_log_sum_exp: x is i32 [3]; expected floats"));
  EXPECT_THAT(test::refused_by([&] { cumsum(x, 3); }), HasSubstr("cumsum: axis 3"));
}

class MoveOpsOnDevices : public testing::TestWithParam<std::string> {};
std::vector<std::string> all_devices() {
  std::vector<std::string> names{"cpu"};
  for (const std::string& n : test::device_names()) names.push_back(n);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Devices, MoveOpsOnDevices, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(MoveOpsOnDevices, ComputeWhatCpuKernelsDo) {
  const Device device = GetParam() == "cpu" ? Device::cpu() : Device(test::device(GetParam()));
  Graph g;
  const Shape shape{6, 5, 8};
  const Tensor x = g.input("x", DType::f32, shape);
  const Tensor rows = g.input("rows", DType::i32, {6});
  const Tensor places = g.input("places", DType::i32, shape);
  const auto out = [&](const char* name, const Tensor& v) { g.output(name, cast(v, DType::f32)); };
  out("pad", pad(x + 1.0, Numbers{1, 0, 2}, Numbers{0, -2, 3}, PadMode::reflect));
  out("tile", tile(x, Numbers{1, 2, 3}) * 2.0);
  out("repeat", repeat(cast(x, DType::f16), 2, 2));
  out("roll", roll(x.T(), Numbers{2, 3, -1}));
  out("triangle", triangle(x, Triangle::lower, 1));
  out("one_hot", one_hot(rows, 9, DType::f16, 0, 2, 1));
  out("flipped", slice(x, 2, 7, -1, -2) + 0.5);
  out("cumsum", cumsum(x, 2));
  out("scan", scan(ScanKind::log_sum_exp, x.T(), 0, {.reverse = true, .exclusive = false}));
  out("gather_elements", gather_elements(x, places, 2));
  const Tensor pairs =
      g.constant(TensorData::of<std::int32_t>(DType::i32, {3, 2}, std::vector<std::int32_t>{0, 1, 5, -1, 2, 2}));
  out("gather_nd", gather_nd(x, pairs));
  const Tensor at = g.constant(TensorData::of<std::int64_t>(DType::i64, {2}, std::vector<std::int64_t>{1, 3}));
  const Tensor part = dynamic_slice(x, at, {1, 5, 4}, {0, 2});
  out("dynamic_slice", part);
  out("dynamic_update_slice", dynamic_update_slice(x + 1.0, part, slice(at, 0, 1, 2), {2}));
  out("scatter", scatter(ScatterKind::add, x * 2.0, rows, x));
  out("scatter_elements", scatter_elements(ScatterKind::max, x, places, x, 2));
  out("scatter_nd", scatter_nd(ScatterKind::assign, cast(x, DType::i64), pairs,
                               cast(slice(reshape(x, {30, 8}), 0, 0, 3) * 100.0, DType::i64)));
  out("join", concat(split(arange(0, 6, 0.5, DType::f32), Numbers{4, 8}, 0), 0) + linspace(0, 1, 12, DType::f32));
  out("eye", eye(3, 4, DType::f16) - triangle(3, 4, DType::f16, Triangle::upper));

  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(240);
  for (float& v : values) v = uniform(random);
  std::vector<std::int32_t> indices(240);
  for (auto& v : indices) v = static_cast<std::int32_t>(random() % 16) - 8;
  const std::map<std::string, TensorData> data{
      {"x", TensorData::of<float>(DType::f32, shape, values)},
      {"rows", TensorData::of<std::int32_t>(DType::i32, {6}, std::vector<std::int32_t>{3, 3, 0, -1, 7, 2})},
      {"places", TensorData::of<std::int32_t>(DType::i32, shape, indices)}};
  const auto expected = compiler::evaluate(g, data);

  Executable exe = compile(g, device);
  std::map<std::string, Tensor> tensors;
  std::vector<NamedTensor> inputs, outputs;
  for (const auto& [name, d] : data) {
    const auto& [at, added] = tensors.emplace(name, Tensor(device, d.dtype, d.shape));
    at->second.write(d.bytes);
    inputs.push_back({at->first, at->second});
  }
  for (const GraphPort& o : g.impl().outputs) {
    const auto& [at, added] = tensors.emplace("y " + o.name, Tensor(device, DType::f32, o.value.shape()));
    outputs.push_back({o.name, at->second});
  }
  exe.run(inputs, outputs);
  for (const NamedTensor& o : outputs) {
    const auto got = o.tensor.read<float>();
    const auto* want = reinterpret_cast<const float*>(expected.at(std::string(o.name)).bytes.data());
    std::string wrong;
    for (std::size_t i = 0; i < got.size() && wrong.size() < 300; ++i) {
      if (!(std::abs(got[i] - want[i]) <= 2e-5)) wrong += std::format(" [{}] {} for {}", i, got[i], want[i]);
    }
    EXPECT_EQ(wrong, "") << o.name;
  }
}

}  // namespace
}  // namespace weft
