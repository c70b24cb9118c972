#include <limits>

#include "kernels/operands.h"
#include "weft/cpu.h"
#include "weft/error.h"
#include "weft/kernels/norm.h"

namespace weft::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Norm {
  Shape shape;
  int first_axis = 1;
  DType x = DType::f32, weight = DType::f32, y = DType::f32;
  Kind x_kind = Kind::dense, weight_kind = Kind::dense, y_kind = Kind::dense;
  bool scale = true, bias = true;
  float epsilon = 1e-5f;
  ValueOf value = normal(11, 0.5, 2);
  // Values are of the order of 1: deviations carry a few ULP of themselves, the mean's error is taken out.
  double absolute = 4e-6;
};

class LayerNormTest : public testing::TestWithParam<std::string> {
 protected:
  void check(const Norm& c) {
    Shape row;
    for (int d = c.first_axis; d < c.shape.rank(); ++d) row.push_back(c.shape[d]);
    std::vector<View> inputs{view_of(c.x, c.shape, c.x_kind, c.value)};
    if (c.scale) inputs.push_back(view_of(c.weight, row, c.weight_kind, normal(5, 1, 0.3)));
    if (c.bias) inputs.push_back(view_of(c.weight, row, c.weight_kind, normal(6, 0, 0.3)));
    run_both(
        device, inputs, std::array{output(c.y, c.shape, c.y_kind)},
        [&](Stream& s, auto in, auto out) {
          const auto scale = c.scale ? std::optional(in[1]) : std::nullopt;
          const auto bias = c.bias ? std::optional(in[c.scale ? 2 : 1]) : std::nullopt;
          kernels::layer_norm(s, in[0], scale, bias, out[0], c.first_axis, c.epsilon);
        },
        // Narrow outputs round once more, perhaps to the other neighbour.
        {.ulp = 1, .absolute = c.absolute, .relative = 1e-5},
        std::format("layer_norm from axis {}: {}", c.first_axis, weft::to_string(inputs[0])));
  }
  gpu::Device& device = test::device(GetParam());
};

TEST_P(LayerNormTest, Types) {
  for (DType type : {DType::f16, DType::bf16}) {
    for (std::int64_t n : {24, 13}) {
      check({.shape = {5, n}, .x = type, .weight = type, .y = type});
      check({.shape = {5, n}, .x = type, .weight = DType::f32, .y = DType::f32});
    }
  }
}

TEST_P(LayerNormTest, WithAndWithoutWeights) {
  for (bool scale : {false, true}) {
    for (bool bias : {false, true}) {
      check({.shape = {6, 40}, .scale = scale, .bias = bias});
      check({.shape = {6, 20000}, .scale = scale, .bias = bias, .value = normal(2)});
    }
  }
}

TEST_P(LayerNormTest, Layouts) {
  for (Kind x : kInputKinds) {
    for (Kind y : {Kind::dense, Kind::transposed, Kind::sliced}) {
      check({.shape = {4, 5, 8}, .first_axis = x == Kind::sliced ? 1 : 2, .x_kind = x, .weight_kind = y, .y_kind = y});
    }
  }
  for (Kind weight : {Kind::offset, Kind::reversed, Kind::broadcast}) {
    check({.shape = {3, 4, 8}, .weight_kind = weight});
  }
}

TEST_P(LayerNormTest, EveryAxis) {
  for (int axis = 0; axis <= 3; ++axis) {
    check({.shape = {4, 6, 12}, .first_axis = axis, .y_kind = Kind::transposed, .epsilon = 0.1f});
  }
}

TEST_P(LayerNormTest, RowLengths) {
  for (std::int64_t n : {1, 2, 3, 31, 32, 33, 384, 1023, 1024, 1025, 20000}) {
    check({.shape = {3, n}});
  }
  check({.shape = {70000, 7}});
  check({.shape = {1, 1000000}});
}

// A mean a million deviations large. f32 spaces its values 2^-10 apart there; the twin's exact moments of those values
// are met to 1e-4 of the deviation: the mean of n such values known to 2^-24 · sqrt(n), each difference exact.
TEST_P(LayerNormTest, LargeMean) {
  for (std::int64_t n : {64, 61, 1024, 20000, 300001}) {
    check({.shape = {3, n}, .epsilon = 0, .value = normal(4, 1e4, 1e-2), .absolute = 1e-4});
  }
  check({.shape = {300, 64}, .first_axis = 1, .x_kind = Kind::transposed, .epsilon = 0, .value = normal(4, 1e4, 1e-2),
         .absolute = 1e-4});
}

// The first element far outside, which a shift by it alone would not survive.
TEST_P(LayerNormTest, OutlierFirst) {
  for (std::int64_t n : {64, 1024, 20000, 300000}) {
    auto rest = normal(9);
    check({.shape = {2, n},
           .scale = false,
           .bias = false,
           .value = [rest, n](std::int64_t i) { return i % n ? rest(i) : 1e4; },
           .absolute = 1e-4});
  }
}

TEST_P(LayerNormTest, SpecialValues) {
  for (std::int64_t n : {8, 9, 20000}) {
    check({.shape = {5, n}, .scale = false, .bias = false, .value = [n](std::int64_t i) {
             const std::int64_t row = i / n, j = i % n;
             if (row == 0) return j == n - 1 ? kNaN : 1.0;
             if (row == 1) return j == n - 1 ? kInf : 1.0;
             if (row == 2) return 5.0;
             if (row == 3) return -0.0;
             return static_cast<double>(j % 3) * 1e15;
           }});
  }
}

TEST_P(LayerNormTest, NoElements) {
  check({.shape = {0, 5}});
  check({.shape = {5, 0}});
}

INSTANTIATE_TEST_SUITE_P(Devices, LayerNormTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST(LayerNormArguments, AreChecked) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 3}, Kind::dense);
  const View three = output(DType::f32, {3}, Kind::dense), two = output(DType::f32, {2}, Kind::dense);
  const View integers = output(DType::i32, {3}, Kind::dense);
  const auto run = [&](const View& scale, const View& y, int axis, float epsilon) {
    kernels::layer_norm(executor, x, scale, std::nullopt, y, axis, epsilon);
  };
  EXPECT_NO_THROW(run(three, x, 1, 1e-5f));
  EXPECT_NO_THROW(run(three, x, -1, 1e-5f));
  EXPECT_THROW(run(two, x, 1, 1e-5f), InvalidArgument);
  EXPECT_THROW(run(integers, x, 1, 1e-5f), InvalidArgument);
  EXPECT_THROW(run(three, three, 1, 1e-5f), InvalidArgument);
  EXPECT_THROW(run(three, x, 3, 1e-5f), InvalidArgument);
  EXPECT_THROW(run(three, x, 1, -1), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
