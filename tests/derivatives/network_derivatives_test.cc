// What the cases of derivatives do not say of networks' operations: ties, NaN, saturation, narrow types, complex
// numbers, operands without elements.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/on_device.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::ElementsAre;

class NetworkDerivativesTest : public testing::Test {
 protected:
  NetworkDerivativesTest() { set_default_device(Device::cpu()); }
  ~NetworkDerivativesTest() override { set_default_device(before_); }

 private:
  Device before_ = default_device();
};

Tensor row(std::vector<float> x) {
  const auto n = static_cast<std::int64_t>(x.size());
  return tensor({1, 1, n}, x);
}

// PyTorch: max_pool1d's backward of [1, 3, 3, 2] with windows of 2 at a distance of 1 gives 0, 2, 1, 0; of NaNs the
// last takes it.
TEST_F(NetworkDerivativesTest, TheFirstOfEqualMaximaTakesTheCotangent) {
  const auto pooled = [](const PoolOptions& o) { return [o](const Tensor& x) { return sum(max_pool(x, o)); }; };
  EXPECT_THAT(grad(pooled({.window = {2}, .strides = {1}}))(row({1, 3, 3, 2})).to_vector<float>(),
              ElementsAre(0, 2, 1, 0));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(grad(pooled({.window = {4}}))(row({nan, 1, nan, 2})).to_vector<float>(), ElementsAre(0, 0, 1, 0));
  // Windows in the padding alone have no element that could take it.
  EXPECT_THAT(grad(pooled({.window = {1}, .padding = {2}, .output_sizes = {4}}))(row({5, 6})).to_vector<float>(),
              ElementsAre(1, 1));
}

TEST_F(NetworkDerivativesTest, WindowsOfZerosHaveNoSlope) {
  const auto norm = [](const Tensor& x) { return sum(lp_pool(x, 2, {.window = {2}})); };
  EXPECT_THAT(grad(norm)(row({0, 0, 3, 4})).to_vector<float>(), ElementsAre(0, 0, 0.6f, 0.8f));
  // d/dx of x / |(x, y)| is y² / |(x, y)|³.
  const auto second = grad([&](const Tensor& x) { return sum(grad(norm)(x) * row({1, 1, 1, 0})); });
  const auto h = second(row({0, 0, 3, 4})).to_vector<float>();
  EXPECT_THAT(std::vector(h.begin(), h.begin() + 2), Each(0.0f));
  EXPECT_NEAR(h[2], 16.0 / 125, 1e-6);
  EXPECT_NEAR(h[3], -12.0 / 125, 1e-6);
}

// PyTorch's fake_quantize_per_tensor_affine: the cotangent where round(x / scale) + zero_point is within the range, its
// ends too, and 0 elsewhere and of NaN; none for the scale.
TEST_F(NetworkDerivativesTest, FakeQuantizationIsStraightThrough) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = row({-5, -4.2f, -4, 0.1f, 2.9f, 3.2f, 3.3f, nan});
  const auto f = [](const Tensor& v, const Tensor& scale) {
    return sum(fake_quantize(v, scale, 1, {.low = -7, .high = 7}) * row({1, 2, 3, 4, 5, 6, 7, 8}));
  };
  // Of scale 0.5 and zero point 1 integers are -8 to 6: x from -4 to 3.
  const auto [dx, dscale] = grad<0, 1>(f)(x, tensor({}, std::vector<float>{0.5f}));
  EXPECT_THAT(dx.to_vector<float>(), ElementsAre(0, 2, 3, 4, 5, 6, 0, 0));
  EXPECT_EQ(dscale.item<float>(), 0);
  const auto both = vmap(grad([&](const Tensor& v) { return f(v, full({}, 0.5f)); }))(stack({x, x * 2}));
  EXPECT_THAT(both.to_vector<float>(), ElementsAre(0, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0));
  // In blocks, and for each channel.
  const auto blocks = grad([&](const Tensor& v) {
    return sum(fake_quantize(v, tensor({1, 1, 2}, std::vector<float>{1, 0.1f}), {},
                             {.low = -8, .high = 7, .axis = 2, .block = 2}));
  })(row({6, 8, 0.6f, 0.8f}));
  EXPECT_THAT(blocks.to_vector<float>(), ElementsAre(1, 0, 1, 0));
}

// Numbers that f16 holds, and sums of them.
TEST_F(NetworkDerivativesTest, NarrowConvolutionsHaveNarrowGradients) {
  for (const DType type : {DType::f16, DType::bf16}) {
    const Tensor x = cast(row({1, 2, 3, 4}), type), w = cast(row({1, -2}), type);
    const auto f = [](const Tensor& v, const Tensor& u) { return sum(conv(v, u, {}, {}), {}, false, DType::f32); };
    const auto [dx, dw] = grad<0, 1>(f)(x, w);
    EXPECT_EQ(dx.dtype(), type);
    EXPECT_EQ(dw.dtype(), type);
    EXPECT_THAT(cast(dx, DType::f32).to_vector<float>(), ElementsAre(1, -1, -1, -2));
    EXPECT_THAT(cast(dw, DType::f32).to_vector<float>(), ElementsAre(6, 9));
    // A wide result, and operands of two types.
    const auto biased = [](const Tensor& v, const Tensor& u) { return sum(conv(v, u, full({1}, 2.0f))); };
    EXPECT_THAT(cast(grad(biased)(x, w), DType::f32).to_vector<float>(), ElementsAre(1, -1, -1, -2));
    const auto mixed = grad<0, 1>(biased)(x, cast(w, DType::f32));
    EXPECT_EQ(std::get<0>(mixed).dtype(), type);
    EXPECT_EQ(std::get<1>(mixed).dtype(), DType::f32);
    EXPECT_THAT(std::get<1>(mixed).to_vector<float>(), ElementsAre(6, 9));
  }
}

TEST_F(NetworkDerivativesTest, NarrowPoolsHaveNarrowGradients) {
  const Tensor x = cast(row({1, 4, 3, 2}), DType::f16);
  const auto of = [](const std::function<Tensor(const Tensor&)>& f) {
    return grad([f](const Tensor& v) { return sum(cast(f(v), DType::f32)); });
  };
  for (const auto& [f, expected] :
       {std::pair(std::function([](const Tensor& v) { return max_pool(v, {.window = {2}}); }),
                  std::vector<float>{0, 1, 1, 0}),
        {[](const Tensor& v) { return average_pool(v, {.window = {2}}); }, {0.5, 0.5, 0.5, 0.5}},
        {[](const Tensor& v) { return lp_pool(v, 1, {.window = {2}}); }, {1, 1, 1, 1}}}) {
    const Tensor dx = of(f)(x);
    EXPECT_EQ(dx.dtype(), DType::f16);
    EXPECT_EQ(cast(dx, DType::f32).to_vector<float>(), expected);
  }
}

TEST_F(NetworkDerivativesTest, ComplexElementsMove) {
  const Tensor x = complex(row({1, 2}), row({3, 4}));
  const auto dx = grad([](const Tensor& v) { return sum(square(abs(resize(v, {1, 1, 4})))); })(x);
  // The gradient of |z|² is 2 z, and each element is there twice.
  EXPECT_THAT(real(dx).to_vector<float>(), ElementsAre(testing::FloatEq(4), testing::FloatEq(8)));
  EXPECT_THAT(imag(dx).to_vector<float>(), ElementsAre(testing::FloatEq(12), testing::FloatEq(16)));
}

// What lies past a sequence's end is not part of anything, even if it is NaN.
TEST_F(NetworkDerivativesTest, PaddingOfSequencesHasNoPart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor lengths = tensor({2}, std::vector<std::int32_t>{1, 2});
  const Tensor x = tensor({2, 2, 1}, std::vector<float>{0.5f, -0.25f, nan, 1});
  const auto f = [&](const Tensor& v, const Tensor& w, const Tensor& r) {
    const RecurrentResult y = rnn(v, w, r, {.lengths = lengths}, {.direction = RnnDirection::reverse});
    return sum(y.h);
  };
  const float w = 0.5f, r = 0.25f;
  const auto [dx, dw, dr] = grad<0, 1, 2>(f)(x, full({1, 1}, w), full({1, 1}, r));
  // h = tanh(w x) of the first; of the second tanh(w x0 + r tanh(w x1)).
  const double a = std::tanh(w * 0.5), b = std::tanh(w * 1.0), c = std::tanh(w * -0.25 + r * b);
  const double da = 1 - a * a, db = 1 - b * b, dc = 1 - c * c;
  const auto g = dx.to_vector<float>();
  EXPECT_NEAR(g[0], da * w, 1e-6);
  EXPECT_NEAR(g[1], dc * w, 1e-6);
  EXPECT_EQ(g[2], 0);
  EXPECT_NEAR(g[3], dc * r * db * w, 1e-6);
  EXPECT_NEAR(dw.item<float>(), da * 0.5 + dc * (-0.25 + r * db * 1.0), 1e-6);
  EXPECT_NEAR(dr.item<float>(), dc * b, 1e-6);
}

TEST_F(NetworkDerivativesTest, OperandsWithoutElements) {
  const auto conv_of = [](const Tensor& x, const Tensor& w) { return sum(conv(x, w)); };
  const auto [dx, dw] = grad<0, 1>(conv_of)(full({0, 2, 4}, 1.0f), full({3, 2, 2}, 1.0f));
  EXPECT_EQ(dx.shape(), (Shape{0, 2, 4}));
  EXPECT_THAT(dw.to_vector<float>(), Each(0.0f));
  EXPECT_EQ(grad([](const Tensor& x) { return sum(max_pool(x, {.window = {2}})); })(full({0, 2, 4}, 1.0f)).shape(),
            (Shape{0, 2, 4}));
  const auto steps = [](const Tensor& w, const Tensor& h) {
    const RecurrentResult y = rnn(full({0, 2, 1}, 1.0f), w, full({1, 1}, 1.0f), {.initial_h = h});
    return sum(y.y) + sum(y.h);
  };
  const auto [of_w, of_h] = grad<0, 1>(steps)(full({1, 1}, 1.0f), full({2, 1}, 0.5f));
  EXPECT_THAT(of_w.to_vector<float>(), ElementsAre(0));
  EXPECT_THAT(of_h.to_vector<float>(), ElementsAre(1, 1));
  // A batch without entries.
  const auto none = vmap([](const Tensor& x, const Tensor& w) { return conv(x, w); })(full({0, 1, 2, 4}, 1.0f),
                                                                                      full({0, 3, 2, 2}, 1.0f));
  EXPECT_EQ(none.shape(), (Shape{0, 1, 3, 3}));
  EXPECT_EQ(vmap([](const Tensor& x) { return max_pool(x, {.window = {2}}); })(full({0, 5, 2, 4}, 1.0f)).shape(),
            (Shape{0, 5, 2, 2}));
  const auto sequences = [](const Tensor& x) { return rnn(x, full({3, 1}, 1.0f), full({3, 3}, 1.0f)).y; };
  EXPECT_EQ(vmap(sequences)(full({0, 4, 2, 1}, 1.0f)).shape(), (Shape{0, 4, 2, 3}));
}

}  // namespace
}  // namespace weft::test
