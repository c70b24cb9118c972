// Resampling of tensors: shapes, types and errors, and values on every device against PyTorch's and ONNX's
// (tests/reference/sampling.py).
#include "weft/resampling.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "graph/graph.h"
#include "support/on_device.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Resampling : public testing::Test {
 protected:
  Graph g;
  Tensor image = g.input("image", DType::f32, {2, 12, 6, 4}), half = g.input("half", DType::f16, {2, 12, 6, 4});
  Tensor bytes = g.input("bytes", DType::u8, {2, 6, 4, 3}), counts = g.input("counts", DType::i32, {2, 12, 6, 4});
};

TEST_F(Resampling, Infers) {
  EXPECT_EQ(resize(half, {2, 12, 3, 9}).type(), (TensorType{DType::f16, {2, 12, 3, 9}}));
  EXPECT_EQ(resize(counts, {4, 1, 3, 9}, {.mode = ResizeMode::nearest}).dtype(), DType::i32);
  EXPECT_EQ(resize_by(image, std::vector<double>{1, 1, 0.5, 1.7}).shape(), (Shape{2, 12, 3, 6}));
  // A product that a scale's rounding to f32 moves off an integer is that integer.
  EXPECT_EQ(resize_by(image, std::vector<double>{1, 1, 0.333333343267f, 2.5f}).shape(), (Shape{2, 12, 2, 10}));
  EXPECT_EQ(resize_gradient(image, {2, 12, 9, 9}).shape(), (Shape{2, 12, 9, 9}));
  EXPECT_EQ(upsample(image, {8, 9}).shape(), (Shape{2, 12, 8, 9}));
  EXPECT_EQ(upsample(bytes, {8, 9}, {.mode = ResizeMode::linear, .channels_last = true}).type(),
            (TensorType{DType::u8, {2, 8, 9, 3}}));
  EXPECT_EQ(depth_to_space(image, 2).shape(), (Shape{2, 3, 12, 8}));
  EXPECT_EQ(space_to_depth(image, 2).shape(), (Shape{2, 48, 3, 2}));
  EXPECT_EQ(space_to_depth(bytes, 2, BlockOrder::depth_column_row, true).shape(), (Shape{2, 3, 2, 12}));
  EXPECT_EQ(unfold(image, {3, 2}, {.padding = {1, 0}}).shape(), (Shape{2, 72, 18}));
  EXPECT_EQ(fold(g.input("columns", DType::f16, {2, 72, 18}), {6, 4}, {3, 2}, {.padding = {1, 0}}).type(), half.type());
  const Tensor grid = g.input("grid", DType::f32, {2, 5, 7, 2});
  EXPECT_EQ(grid_sample(half, grid).type(), (TensorType{DType::f16, {2, 12, 5, 7}}));
  const Tensor last = g.input("last", DType::f32, {2, 6, 4, 3});
  EXPECT_EQ(grid_sample(last, grid, {.channels_last = true}).shape(), (Shape{2, 5, 7, 3}));
  const Tensor dy = g.input("dy", DType::f16, {2, 12, 5, 7});
  EXPECT_EQ(grid_sample_gradient(dy, grid, {6, 4}).type(), half.type());
  EXPECT_EQ(grid_sample_grid_gradient(dy, half, grid).type(), grid.type());
  EXPECT_EQ(affine_grid(g.input("theta", DType::f16, {2, 3, 4}), {3, 4, 5}).type(),
            (TensorType{DType::f16, {2, 3, 4, 5, 3}}));
}

TEST_F(Resampling, SaysWhatDoesNotFit) {
  const auto refused = [](auto&& f) { return thrown_by(f); };
  EXPECT_THAT(refused([&] { resize(image, {2, 12, 3}); }),
              HasSubstr("resize: f32 [2, 12, 6, 4] to the shape [2, 12, 3], expected one rank"));
  EXPECT_THAT(refused([&] { resize(image, {2, 12, -3, 4}); }), HasSubstr("resize: the shape is [2, 12, -3, 4]"));
  EXPECT_THAT(refused([&] { resize(counts, {2, 12, 3, 4}, {.mode = ResizeMode::linear}); }),
              HasSubstr("resize: x is i32 [2, 12, 6, 4]; expected floats, i8 or u8 for mode linear"));
  EXPECT_THAT(refused([&] { resize(image, {2, 12, 3, 4}, {.scales = {1, 1, 2, 1}}); }),
              HasSubstr("resize: scale 2 of axis 2, whose 6 elements become 3"));
  EXPECT_THAT(refused([&] { resize(g.input("none", DType::f32, {0}), {3}); }),
              HasSubstr("resize: axis 0 of [0] is empty, there is nothing to make [3] of"));
  EXPECT_THAT(refused([&] { resize_by(image, std::vector<double>{1, 2}); }), HasSubstr("resize_by: 2 scales"));
  EXPECT_THAT(refused([&] { resize_by(image, std::vector<double>{1, 1, 1, -1}); }),
              HasSubstr("resize_by: scale -1 of axis 3"));
  EXPECT_THAT(refused([&] { resize_gradient(counts, {2, 12, 3, 4}); }), HasSubstr("resize_gradient: dy is i32"));
  EXPECT_THAT(refused([&] { upsample(image, {3}); }),
              HasSubstr("upsample: 1 sizes for the 2 spatial axes of f32 [2, 12, 6, 4]"));
  EXPECT_THAT(refused([&] { upsample(image, {3, 3}, {.antialias = true}); }),
              HasSubstr("antialias are for the modes linear and cubic"));
  EXPECT_THAT(refused([&] { upsample(image, {3, 3}, {.mode = ResizeMode::linear, .exact = true}); }),
              HasSubstr("exact is for the mode nearest"));
  EXPECT_THAT(refused([&] { depth_to_space(image, 5); }),
              HasSubstr("depth_to_space: x is f32 [2, 12, 6, 4], whose channels blocks of 5 do not divide"));
  EXPECT_THAT(refused([&] { space_to_depth(image, 4); }),
              HasSubstr("space_to_depth: x is f32 [2, 12, 6, 4], whose sizes blocks of 4 do not divide"));
  EXPECT_THAT(refused([&] { pixel_shuffle(image, 0); }), HasSubstr("blocks of 0 pixels, expected one or more"));
  EXPECT_THAT(refused([&] { unfold(image, {7, 1}); }),
              HasSubstr("unfold: a window reaches over 7 elements along spatial axis 0, which has 6 with its padding"));
  EXPECT_THAT(refused([&] { unfold(image, {3}); }),
              HasSubstr("unfold: the window is [3], expected one size for each of 2 spatial axes"));
  const Tensor columns = g.input("columns_of_sums", DType::f16, {2, 72, 18});
  EXPECT_THAT(refused([&] { fold(columns, {INT64_MAX, 4}, {3, 2}, {.padding = {1, 0}}); }), HasSubstr("passes 2^63"));
  EXPECT_THAT(refused([&] { unfold(image, {3, 3}, {.strides = {0, 1}}); }),
              HasSubstr("strides are [0, 1], expected numbers from 1"));
  EXPECT_THAT(refused([&] { fold(g.input("c", DType::f32, {2, 72, 17}), {6, 4}, {3, 2}); }),
              HasSubstr("fold: x is f32 [2, 72, 17], expected [batch, channels · 6, 12] for windows [3, 2] on [6, 4]"));
  const Tensor grid = g.input("g", DType::f32, {1, 5, 7, 2});
  EXPECT_THAT(refused([&] { grid_sample(image, grid); }),
              HasSubstr("and the grid f32 [1, 5, 7, 2], expected [batch, places…, 2]"));
  EXPECT_THAT(refused([&] { grid_sample(counts, grid); }), HasSubstr("grid_sample: x is i32"));
  EXPECT_THAT(refused([&] { grid_sample_gradient(image, grid, {6}); }),
              HasSubstr("grid_sample_gradient: the sizes are [6], expected one of 0 or more for each of 2"));
  EXPECT_THAT(refused([&] { grid_sample_gradient(image, g.input("places", DType::f32, {2, 5, 7, 2}), {6, 4}); }),
              HasSubstr("grid_sample_gradient: dy is f32 [2, 12, 6, 4], expected [2, 12, 5, 7] for the grid f32"));
  EXPECT_THAT(refused([&] { grid_sample_grid_gradient(image, half, grid); }),
              HasSubstr("expected dy: floats; x: as dy"));
  EXPECT_THAT(refused([&] { affine_grid(grid, {3, 4}); }),
              HasSubstr("affine_grid: theta is f32 [1, 5, 7, 2] for the sizes [3, 4], expected [batch, 2, 3]"));
  for (const auto& f :
       {+[](const Operand& x) { return resize(x, {1}); }, +[](const Operand& x) { return upsample(x, {1}); },
        +[](const Operand& x) { return pixel_shuffle(x, 2); }, +[](const Operand& x) { return unfold(x, {1}); },
        +[](const Operand& x) { return fold(x, {1}, {1}); }, +[](const Operand& x) { return grid_sample(x, x); },
        +[](const Operand& x) { return grid_sample_gradient(x, x, {1}); },
        +[](const Operand& x) { return grid_sample_grid_gradient(x, x, x); },
        +[](const Operand& x) { return affine_grid(x, {1}); }}) {
    EXPECT_THAT(refused([&] { f({}); }), HasSubstr("undefined Tensor"));
  }
}

// x with the channels (axis 1) last, and back.
Tensor last(const Tensor& x) {
  std::vector<int> order{0};
  for (int d = 2; d < x.rank(); ++d) order.push_back(d);
  order.push_back(1);
  return contiguous(permute(x, order));
}
Tensor second(const Tensor& x) {
  std::vector<int> order{0, x.rank() - 1};
  for (int d = 1; d + 1 < x.rank(); ++d) order.push_back(d);
  return permute(x, order);
}

ResizeMode mode_of(const json& options) {
  static const std::map<std::string, ResizeMode> kModes{{"nearest", ResizeMode::nearest},
                                                        {"linear", ResizeMode::linear},
                                                        {"cubic", ResizeMode::cubic},
                                                        {"area", ResizeMode::area}};
  return kModes.at(options.at("mode"));
}

// The functions by name; `channels_last`: called with the channels last, where they have that option.
using Function = Tensor (*)(std::span<const Tensor> in, const json& options, bool channels_last);
const std::map<std::string, Function>& functions() {
  static const auto dims = [](const json& j, const char* name) {
    return Dims(j.at(name).get<std::vector<std::int64_t>>());
  };
  static const auto windows = [](const json& j) {
    return WindowOptions{
        .strides = dims(j, "strides"), .dilations = dims(j, "dilations"), .padding = dims(j, "padding")};
  };
  static const auto sampling = [](const json& j, bool channels_last) {
    static const std::map<std::string, SampleMode> kModes{
        {"linear", SampleMode::linear}, {"nearest", SampleMode::nearest}, {"cubic", SampleMode::cubic}};
    static const std::map<std::string, SamplePadding> kPaddings{
        {"zeros", SamplePadding::zeros}, {"border", SamplePadding::border}, {"reflection", SamplePadding::reflection}};
    return GridSampleOptions{.mode = kModes.at(j.at("mode")),
                             .padding = kPaddings.at(j.at("padding")),
                             .align_corners = j.at("align_corners").get<bool>(),
                             .channels_last = channels_last};
  };
  // A function of blocks.
  static const auto blocks = [](auto f, std::span<const Tensor> in, const json& o, bool channels_last) {
    const auto block = o.at("block").get<std::int64_t>();
    return channels_last ? second(f(last(in[0]), block, true)) : f(in[0], block, false);
  };
  static const std::map<std::string, Function> all{
      {"upsample",
       [](std::span<const Tensor> in, const json& o, bool channels_last) {
         const UpsampleOptions options{.mode = mode_of(o),
                                       .align_corners = o.value("align_corners", false),
                                       .antialias = o.value("antialias", false),
                                       .exact = o.value("exact", false),
                                       .channels_last = channels_last};
         return channels_last ? second(upsample(last(in[0]), dims(o, "sizes"), options))
                              : upsample(in[0], dims(o, "sizes"), options);
       }},
      {"resize_by",
       [](std::span<const Tensor> in, const json& o, bool) {
         ResizeOptions options{.mode = mode_of(o)};
         if (options.mode == ResizeMode::nearest) {
           options.coordinates = ResizeCoordinates::asymmetric, options.rounding = ResizeRounding::floor;
         }
         return resize_by(in[0], std::vector<double>{1, 1, o.at("scale").get<double>()}, options);
       }},
      {"pixel_shuffle",
       [](std::span<const Tensor> in, const json& o, bool l) {
         return blocks([](const Tensor& x, std::int64_t n, bool c) { return pixel_shuffle(x, n, c); }, in, o, l);
       }},
      {"pixel_unshuffle",
       [](std::span<const Tensor> in, const json& o, bool l) {
         return blocks([](const Tensor& x, std::int64_t n, bool c) { return pixel_unshuffle(x, n, c); }, in, o, l);
       }},
      {"depth_to_space",
       [](std::span<const Tensor> in, const json& o, bool l) {
         return blocks([](const Tensor& x, std::int64_t n,
                          bool c) { return depth_to_space(x, n, BlockOrder::depth_column_row, c); },
                       in, o, l);
       }},
      {"space_to_depth",
       [](std::span<const Tensor> in, const json& o, bool l) {
         return blocks([](const Tensor& x, std::int64_t n,
                          bool c) { return space_to_depth(x, n, BlockOrder::depth_column_row, c); },
                       in, o, l);
       }},
      {"unfold",
       [](std::span<const Tensor> in, const json& o, bool) { return unfold(in[0], dims(o, "window"), windows(o)); }},
      {"fold", [](std::span<const Tensor> in, const json& o,
                  bool) { return fold(in[0], dims(o, "sizes"), dims(o, "window"), windows(o)); }},
      {"affine_grid", [](std::span<const Tensor> in, const json& o,
                         bool) { return affine_grid(in[0], dims(o, "sizes"), o.at("align_corners").get<bool>()); }},
      {"grid_sample_gradient",
       [](std::span<const Tensor> in, const json& o, bool channels_last) {
         const GridSampleOptions options = sampling(o, channels_last);
         return channels_last ? second(grid_sample_gradient(last(in[0]), in[1], dims(o, "sizes"), options))
                              : grid_sample_gradient(in[0], in[1], dims(o, "sizes"), options);
       }},
      {"grid_sample_grid_gradient",
       [](std::span<const Tensor> in, const json& o, bool channels_last) {
         const GridSampleOptions options = sampling(o, channels_last);
         return channels_last ? grid_sample_grid_gradient(last(in[0]), last(in[1]), in[2], options)
                              : grid_sample_grid_gradient(in[0], in[1], in[2], options);
       }},
      {"grid_sample", [](std::span<const Tensor> in, const json& o, bool channels_last) {
         const GridSampleOptions options{.padding = SamplePadding::border,
                                         .align_corners = o.at("align_corners").get<bool>(),
                                         .channels_last = channels_last};
         return channels_last ? second(grid_sample(last(in[0]), in[1], options)) : grid_sample(in[0], in[1], options);
       }}};
  return all;
}

class ResamplingTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ResamplingTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(ResamplingTest, EveryFunctionIsPyTorchs) {
  const ReferenceCases data("sampling");
  std::set<std::string> called;
  for (const json& c : data.list("functions.json")) {
    const auto name = c.at("kernel").get<std::string>();
    called.insert(name);
    const json options = c.value("attributes", json::object());
    SCOPED_TRACE(name + " " + options.dump());
    std::vector<Tensor> in;
    for (const View& v : data.operands(c, "inputs")) in.push_back(tensor_of(v));
    const View expected = data.operands(c, "outputs")[0];
    for (const bool channels_last : {false, true}) {
      const Tensor y = functions().at(name)(in, options, channels_last);
      ASSERT_EQ(y.type(), (TensorType{expected.dtype, expected.shape()}));
      expect_close(read_view(contiguous(y)), expected, ReferenceCases::tolerance(c),
                   channels_last ? "channels last" : "");
    }
  }
  EXPECT_EQ(called.size(), functions().size());
}

// What both functions between depth and space do is undone by the other, in one to three dimensions and both orders.
TEST_P(ResamplingTest, BlocksAreUndone) {
  for (const Shape& shape : {Shape{2, 8, 3}, Shape{1, 8, 2, 3}, Shape{2, 8, 1, 3, 2}}) {
    Rng rng(1);
    const View x = random_view(rng, shape, DType::u8);
    for (const BlockOrder order : {BlockOrder::depth_column_row, BlockOrder::column_row_depth}) {
      for (const bool channels_last : {false, true}) {
        const Tensor in = channels_last ? last(tensor_of(x)) : tensor_of(x);
        const Tensor back = space_to_depth(depth_to_space(in, 2, order, channels_last), 2, order, channels_last);
        expect_close(read_view(contiguous(channels_last ? second(back) : back)), x, kSameBits);
      }
    }
  }
}

// <f(x), dy> = <x, gradient(dy)>.
TEST_P(ResamplingTest, GradientsAreTransposed) {
  Rng rng(3);
  const auto f32 = [&](const Shape& shape) { return tensor_of(random_view(rng, shape, DType::f32)); };
  const auto inner = [](const Tensor& a, const Tensor& b) { return sum(a * b).item<float>(); };
  const Tensor x = f32({2, 3, 7, 6}), dy = f32({2, 3, 4, 11});
  const ResizeOptions o{.mode = ResizeMode::cubic, .antialias = true};
  EXPECT_NEAR(inner(resize(x, dy.shape(), o), dy), inner(x, resize_gradient(dy, x.shape(), o)), 1e-3);
  const WindowOptions w{.strides = {2, 1}, .dilations = {1, 2}, .padding = {1, 0}, .padding_after = {0, 2}};
  const Tensor columns = unfold(x, {3, 2}, w), dc = f32(columns.shape());
  EXPECT_NEAR(inner(columns, dc), inner(x, fold(dc, {7, 6}, {3, 2}, w)), 1e-3);
}

}  // namespace
}  // namespace weft::test
