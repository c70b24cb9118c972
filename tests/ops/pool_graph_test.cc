// Pooling of tensors: sizes as PyTorch has them, types, errors, fusion, and values on every device.
#include "graph/graph.h"
#include "support/devices.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/device.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/pooling.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

struct PoolOps : testing::Test {
  Tensor input(DType dtype, const Shape& shape) { return graph.input(std::format("x{}", next++), dtype, shape); }
  Graph graph;
  int next = 0;
};

TEST_F(PoolOps, SizesAreThoseOfPyTorch) {
  const auto cases = test::ReferenceCases("pool").list("sizes.json");
  ASSERT_GT(cases.size(), 1000u);
  for (const auto& c : cases) {
    const auto at = [&](std::size_t i) { return c.at(i).get<std::int64_t>(); };
    const Tensor y = max_pool(
        input(DType::f32, {1, 1, at(0)}),
        {.window = {at(1)}, .strides = {at(2)}, .dilations = {at(3)}, .padding = {at(4)}, .ceil_mode = at(5) != 0});
    EXPECT_EQ(y.shape()[2], at(6)) << c.dump();
  }
}

TEST_F(PoolOps, SizesThatAreGiven) {
  const Tensor x = input(DType::f32, {1, 2, 4, 5});
  const PoolOptions o{.window = {2, 2}, .strides = {3, 3}, .padding = {7, 0}, .output_sizes = {9, 2}};
  EXPECT_EQ(max_pool(x, o).shape(), (Shape{1, 2, 9, 2}));
  EXPECT_EQ(average_pool(x, o).shape(), (Shape{1, 2, 9, 2}));
  EXPECT_EQ(max_pool(input(DType::i64, {1, 2, 4, 5}), o).type(), (TensorType{DType::i64, {1, 2, 9, 2}}));
  EXPECT_EQ(max_pool(input(DType::u64, {1, 4, 5, 2}), {.window = {2, 3}, .channels_last = true}).type(),
            (TensorType{DType::u64, {1, 2, 1, 2}}));
  EXPECT_THAT(test::thrown_by([&] { max_pool(x, {.window = {2, 2}, .output_sizes = {3}}); }),
              HasSubstr("max_pool: the sizes are [3], expected one of 0 or more for each of 2 spatial axes"));
}

TEST_F(PoolOps, Types) {
  const Tensor x = input(DType::f16, {2, 3, 8, 9});
  const PoolOptions o{.window = {2, 3}};
  EXPECT_EQ(max_pool(x, o).type(), (TensorType{DType::f16, {2, 3, 4, 3}}));
  EXPECT_EQ(average_pool(x, o).type(), (TensorType{DType::f16, {2, 3, 4, 3}}));
  EXPECT_EQ(l2_pool(x, o).type(), (TensorType{DType::f16, {2, 3, 4, 3}}));
  EXPECT_EQ(max_pool(input(DType::u8, {1, 8, 9, 3}), {.window = {2, 3}, .channels_last = true}).type(),
            (TensorType{DType::u8, {1, 4, 3, 3}}));
  const PooledMax m = max_pool_with_indices(x, {.window = {2, 3}, .padding = {1, 0}, .padding_after = {0, 2}});
  EXPECT_EQ(m.values.type(), (TensorType{DType::f16, {2, 3, 4, 3}}));
  EXPECT_EQ(m.indices.type(), (TensorType{DType::i32, {2, 3, 4, 3}}));
  EXPECT_EQ(adaptive_average_pool(x, {5, 2}).type(), (TensorType{DType::f16, {2, 3, 5, 2}}));
  EXPECT_EQ(adaptive_max_pool(x, {5, 2}).shape(), (Shape{2, 3, 5, 2}));
  EXPECT_EQ(adaptive_max_pool_with_indices(x, {5, 2}).indices.type(), (TensorType{DType::i32, {2, 3, 5, 2}}));
  EXPECT_EQ(global_average_pool(x).type(), (TensorType{DType::f16, {2, 3, 1, 1}}));
  EXPECT_EQ(global_max_pool(x, true).type(), (TensorType{DType::f16, {2, 1, 1, 9}}));
  EXPECT_EQ(global_lp_pool(x, 3).type(), (TensorType{DType::f16, {2, 3, 1, 1}}));
  // One window over all is a reduction.
  EXPECT_EQ(adaptive_average_pool(x, {1, 1}).node()->op().name(), "reduce_mean");
  const Tensor dy = input(DType::f16, {2, 3, 4, 3});
  EXPECT_EQ(average_pool_gradient(dy, {8, 9}, o).type(), x.type());
  EXPECT_EQ(max_pool_gradient(dy, input(DType::i32, {2, 3, 4, 3}), {8, 9}, o).type(), x.type());
  EXPECT_EQ(lp_pool_gradient(dy, x, dy, 3, o).type(), x.type());
  EXPECT_EQ(max_unpool(dy, input(DType::i32, {2, 3, 4, 3}), {8, 9}).type(), x.type());
}

TEST_F(PoolOps, SayWhatDoesNotFit) {
  const Tensor x = input(DType::f32, {2, 3, 8, 9});
  const auto refused = [](auto&& f) { return test::refused_by(f); };
  EXPECT_THAT(refused([&] { max_pool(Tensor(), {.window = {2}}); }), HasSubstr("max_pool: x is an undefined Tensor"));
  EXPECT_THAT(refused([&] { max_pool(input(DType::f32, {2, 3}), {.window = {2}}); }),
              HasSubstr("max_pool: x is f32 [2, 3], expected [batch, channels] and one to three spatial axes"));
  EXPECT_THAT(refused([&] { max_pool(x, {}); }), HasSubstr("max_pool: the window has no sizes"));
  EXPECT_THAT(refused([&] { max_pool(x, {.window = {2}}); }),
              HasSubstr("max_pool: 1 numbers of window, expected one for each of 2 spatial axes"));
  EXPECT_THAT(refused([&] { max_pool(x, {.window = {2, 0}}); }),
              HasSubstr("window is [2, 0], expected numbers from 1"));
  EXPECT_THAT(refused([&] { max_pool(x, {.window = {2, 2}, .padding = {-1, 0}}); }), HasSubstr("padding is [-1, 0]"));
  EXPECT_THAT(
      refused([&] { average_pool(x, {.window = {2, 2}, .padding = {2, 0}}); }),
      HasSubstr("average_pool: padding of 2 and 2 around spatial axis 0, where a window reaches over 2 elements"));
  EXPECT_THAT(
      refused([&] { average_pool(x, {.window = {2, 10}}); }),
      HasSubstr("a window reaches over 10 elements along spatial axis 1, of [8, 9] there are 9 with the padding"));
  EXPECT_THAT(refused([&] { average_pool(x, {.window = {2, 2}, .divisor = -3}); }), HasSubstr("the divisor is -3"));
  EXPECT_THAT(refused([&] { average_pool(input(DType::i32, {2, 3, 8}), {.window = {2}}); }),
              HasSubstr("average_pool: x is i32 [2, 3, 8]; expected floats"));
  EXPECT_THAT(refused([&] { lp_pool(x, 0, {.window = {2, 2}}); }),
              HasSubstr("lp_pool: p is 0, expected a positive number"));
  EXPECT_THAT(refused([&] { adaptive_max_pool(x, {2}); }),
              HasSubstr("adaptive_max_pool: the sizes are [2], expected one of 0 or more for each of 2 spatial axes"));
  EXPECT_THAT(refused([&] { adaptive_max_pool(input(DType::f32, {1, 1, 0}), {2}); }),
              HasSubstr("there is nothing to pool"));
  EXPECT_THAT(
      refused([&] { average_pool_gradient(x, {8, 9}, {.window = {2, 3}}); }),
      HasSubstr("average_pool_gradient: dy is f32 [2, 3, 8, 9], expected spatial axes of [4, 3], the windows over "
                "[8, 9]"));
  const Tensor dy = input(DType::f32, {2, 3, 4, 3});
  EXPECT_THAT(refused([&] { max_pool_gradient(dy, input(DType::i32, {2, 3, 4, 4}), {8, 9}, {.window = {2, 3}}); }),
              HasSubstr("the indices are i32 [2, 3, 4, 4], expected one shape"));
  EXPECT_THAT(refused([&] { max_pool_gradient(dy, dy, {8, 9}, {.window = {2, 3}}); }),
              HasSubstr("indices are f32 [2, 3, 4, 3]"));
  EXPECT_THAT(refused([&] { lp_pool_gradient(dy, x, x, 2, {.window = {2, 3}}); }),
              HasSubstr("lp_pool_gradient: y is f32 [2, 3, 8, 9], expected the shape of dy f32 [2, 3, 4, 3]"));
  EXPECT_THAT(refused([&] { max_unpool(dy, x, {8, 9}); }), HasSubstr("max_unpool: the indices are f32 [2, 3, 8, 9]"));
}

class PoolOpsOnDevices : public testing::TestWithParam<std::string> {
 protected:
  Device device = GetParam() == "cpu" ? Device::cpu() : Device(test::device(GetParam()));
  Tensor of(const Shape& shape, const std::vector<float>& values) {
    Tensor t(device, DType::f32, shape);
    t.write(std::as_bytes(std::span(values)));
    return t;
  }
};
std::vector<std::string> all_devices() {
  std::vector<std::string> names{"cpu"};
  for (const std::string& n : test::device_names()) names.push_back(n);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Devices, PoolOpsOnDevices, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(PoolOpsOnDevices, ComputeTheFormulas) {
  const Tensor x = of({1, 1, 3, 4}, {1, 5, 2, 0, 3, -1, 4, 8, 6, 7, -2, 9});
  const PoolOptions o{.window = {2, 2}, .strides = {1, 2}};
  EXPECT_THAT(max_pool(x, o).read<float>(), ElementsAre(5, 8, 7, 9));
  const PooledMax m = max_pool_with_indices(x, o);
  EXPECT_THAT(m.values.read<float>(), ElementsAre(5, 8, 7, 9));
  EXPECT_THAT(m.indices.read<std::int32_t>(), ElementsAre(1, 7, 9, 11));
  EXPECT_THAT(average_pool(x, o).read<float>(), ElementsAre(2, 3.5, 3.75, 4.75));
  const std::vector<float> norms{6, std::sqrt(84.0f), std::sqrt(95.0f), std::sqrt(165.0f)};
  EXPECT_THAT(l2_pool(x, o).read<float>(), Pointwise(FloatNear(1e-5f), norms));
  EXPECT_THAT(lp_pool(x, 1, o).read<float>(), ElementsAre(10, 14, 17, 23));
  EXPECT_THAT(average_pool(x, {.window = {2, 2}, .padding = {1, 1}, .count_padding = false}).read<float>(),
              ElementsAre(1, 3.5, 0, 4.5, 2, 8.5));
  EXPECT_THAT(average_pool(x, {.window = {2, 2}, .padding = {1, 1}}).read<float>(),
              ElementsAre(0.25, 1.75, 0, 2.25, 2, 4.25));
  EXPECT_THAT(max_pool(x, {.window = {2, 3}, .ceil_mode = true}).read<float>(), ElementsAre(5, 8, 7, 9));
  // A window that is larger than x with its padding, as PyTorch 2.15 counts them.
  const Tensor four = tensor({1.0f, 2.0f, 3.0f, 4.0f}).reshape({1, 1, 4}), one = tensor({3.0f}).reshape({1, 1, 1});
  EXPECT_THAT(max_pool(four, {.window = {5}, .strides = {3}, .ceil_mode = true}).read<float>(), ElementsAre(4));
  EXPECT_THAT(max_pool(four, {.window = {3}, .strides = {3}, .dilations = {2}, .ceil_mode = true}).read<float>(),
              ElementsAre(3));
  EXPECT_THAT(average_pool(one, {.window = {2}, .strides = {2}, .ceil_mode = true}).read<float>(), ElementsAre(3));
  EXPECT_THROW(max_pool(four, {.window = {7}, .strides = {3}, .ceil_mode = true}), ShapeError);
  EXPECT_THROW(max_pool(four, {.window = {5}, .strides = {3}}), ShapeError);
  // Rows 0…1 and 1…2, columns 0…1, 1…2 and 2…3.
  EXPECT_THAT(adaptive_average_pool(x, {2, 3}).read<float>(), ElementsAre(2, 2.5, 3.5, 3.75, 2, 4.75));
  EXPECT_THAT(adaptive_max_pool_with_indices(x, {2, 3}).indices.read<std::int32_t>(), ElementsAre(1, 1, 7, 9, 9, 11));
  EXPECT_THAT(adaptive_max_pool(x, {1, 1}).read<float>(), ElementsAre(9));
  EXPECT_THAT(global_average_pool(x).read<float>(), ElementsAre(3.5));
  EXPECT_THAT(global_max_pool(x).read<float>(), ElementsAre(9));
  EXPECT_THAT(global_lp_pool(x, 1).read<float>(), ElementsAre(48));
  EXPECT_THAT(global_lp_pool(x, 2).read<float>(), ElementsAre(FloatNear(std::sqrt(290.0f), 1e-4f)));
  EXPECT_THAT(global_lp_pool(x, 3).read<float>(), ElementsAre(FloatNear(std::cbrt(2034.0f), 1e-4f)));

  const Tensor dy = of({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(max_pool_gradient(dy, m.indices, {3, 4}, o).read<float>(),
              ElementsAre(0, 1, 0, 0, 0, 0, 0, 2, 0, 3, 0, 4));
  EXPECT_THAT(max_unpool(m.values, m.indices, {3, 4}).read<float>(), ElementsAre(0, 5, 0, 0, 0, 0, 0, 8, 0, 7, 0, 9));
  EXPECT_THAT(average_pool_gradient(dy, {3, 4}, o).read<float>(),
              ElementsAre(0.25, 0.25, 0.5, 0.5, 1, 1, 1.5, 1.5, 0.75, 0.75, 1, 1));
  // d/dx of ‖window‖₁ is the sign.
  EXPECT_THAT(lp_pool_gradient(dy, x, lp_pool(x, 1, o), 1, o).read<float>(),
              ElementsAre(1, 1, 2, 0, 4, -4, 6, 6, 3, 3, -4, 4));
  EXPECT_THAT(adaptive_average_pool_gradient(of({1, 1, 1, 2}, {4, 8}), {2, 2}).read<float>(), ElementsAre(2, 4, 2, 4));
  EXPECT_THAT(adaptive_max_pool_gradient(of({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}),
                                         adaptive_max_pool_with_indices(x, {2, 3}).indices, {3, 4})
                  .read<float>(),
              ElementsAre(0, 3, 0, 0, 0, 0, 0, 3, 0, 9, 0, 6));
}

// A gradient against differences of the norm that it is of; windows of zeros give 0.
TEST_P(PoolOpsOnDevices, GradientsOfNorms) {
  const PoolOptions o{.window = {3}, .strides = {2}, .padding = {1}};
  const std::vector<float> values{1, -2, 0.5, 3, -1, 2, 0, 0, 0};
  const Tensor x = of({1, 1, 9}, values), dy = of({1, 1, 5}, {1, -1, 2, 0.5, 3});
  for (const double p : {1.5, 2.0, 3.0}) {
    const auto total = [&](const std::vector<float>& v) {
      double sum = 0;
      constexpr double kDy[] = {1, -1, 2, 0.5, 3};
      for (int i = 0; i < 5; ++i) {
        double powers = 0;
        for (int k = std::max(2 * i - 1, 0); k <= std::min(2 * i + 1, 8); ++k) powers += std::pow(std::abs(v[k]), p);
        sum += kDy[i] * std::pow(powers, 1 / p);
      }
      return sum;
    };
    const std::vector<float> dx = lp_pool_gradient(dy, x, lp_pool(x, p, o), p, o).read<float>();
    for (std::size_t j = 0; j < 6; ++j) {
      std::vector<float> up = values, down = values;
      up[j] += 1e-3f, down[j] -= 1e-3f;
      EXPECT_NEAR(dx[j], (total(up) - total(down)) / (static_cast<double>(up[j]) - down[j]), 2e-3) << p << " " << j;
    }
    EXPECT_THAT(std::vector(dx.begin() + 6, dx.end()), ElementsAre(0, 0, 0)) << p;
  }
}

// Channels last is the same in another order of axes, also fused, of every function.
TEST_P(PoolOpsOnDevices, ChannelsLastAndFusion) {
  const Shape shape{2, 8, 7, 6};
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::mt19937 random(3);
  for (float& v : values) v = std::uniform_real_distribution<float>(-1, 1)(random);
  const Tensor x = of(shape, values), bias = of({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor last = permute(x, {0, 2, 3, 1});
  const Tensor of_rows = reshape(bias, {8, 1, 1});
  const auto first = [](const Tensor& t) { return permute(t, {0, 3, 1, 2}); };
  PoolOptions o{.window = {3, 2}, .strides = {2, 1}, .padding = {1, 0}};
  PoolOptions ol = o;
  ol.channels_last = true;
  const auto same_values = [&](const Tensor& a, const Tensor& b, const char* what) {
    EXPECT_THAT(first(b).read<float>(), Pointwise(FloatNear(1e-5f), a.read<float>())) << what;
  };
  same_values(relu(max_pool(x, o) - of_rows), relu(max_pool(last, ol) - bias), "max");
  same_values(average_pool(x, o) * of_rows, average_pool(last, ol) * bias, "average");
  same_values(lp_pool(x, 3, o) + of_rows, lp_pool(last, 3, ol) + bias, "lp");
  same_values(adaptive_average_pool(x, {3, 4}) + of_rows, adaptive_average_pool(last, {3, 4}, true) + bias, "adaptive");
  same_values(global_max_pool(x) * of_rows, global_max_pool(last, true) * bias, "global");
  const PooledMax m = max_pool_with_indices(x, o), ml = max_pool_with_indices(last, ol);
  EXPECT_EQ(first(ml.indices).read<std::int32_t>(), m.indices.read<std::int32_t>());
  same_values(max_pool_gradient(m.values, m.indices, {7, 6}, o) + of_rows,
              max_pool_gradient(ml.values, ml.indices, {7, 6}, ol) + bias, "max gradient");
  same_values(average_pool_gradient(m.values, {7, 6}, o), average_pool_gradient(ml.values, {7, 6}, ol),
              "average gradient");
  same_values(max_unpool(m.values, m.indices, {7, 6}), max_unpool(ml.values, ml.indices, {7, 6}, true), "unpool");
}

TEST_P(PoolOpsOnDevices, WorkOnTheResultIsInTheKernel) {
  Graph g;
  const Tensor x = g.input("x", DType::f16, {2, 4, 8, 8}), bias = g.input("bias", DType::f16, {4, 1, 1});
  g.output("y", relu(average_pool(x, {.window = {2, 2}}) + bias));
  const Executable program = compile(g, device);
  EXPECT_EQ(program.report().steps.size(), 1u) << program.report().graph;
}

}  // namespace
}  // namespace weft
