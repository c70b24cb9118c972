// Sampling at a grid's positions, and folding, on every device against the CPU. PyTorch's values are in
// cpu_kernels_reference_test.cc.
#include "weft/kernels/grid_sample.h"

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/fold.h"

namespace weft::test {
namespace {

using kernels::FoldOptions;
using kernels::SampleMode;
using kernels::SampleOptions;
using kernels::SamplePadding;
using testing::HasSubstr;

constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};

// Axes in another order in memory: the channels (axis 1) last.
View in_some_order(Rng& rng, const Shape& shape, DType type, Kind kind) {
  if (rng() % 2) return random_view(rng, shape, type, kind);
  Shape stored = shape;
  stored.erase(1);
  stored.push_back(shape[1]);
  std::vector<int> back{0, shape.rank() - 1};
  for (int d = 1; d + 1 < shape.rank(); ++d) back.push_back(d);
  return random_view(rng, stored, type, kind).permuted(back);
}

enum class Sampled { forward, gradient, grid_gradient };

Problem random_sample(Rng& rng, Sampled which) {
  const SampleOptions o{.mode = static_cast<SampleMode>(rng() % 3),
                        .padding = static_cast<SamplePadding>(rng() % 3),
                        .align_corners = rng() % 2 == 0};
  const int spatial = random_int(rng, 1, 3);
  Rng& details = rng.details();
  const std::int64_t n = random_int(details, rng() % 16 == 0 ? 0 : 1, 2);
  const std::int64_t channels = rng() % 2 ? 4 * random_int(details, 1, 3) : random_int(details, 1, 11);
  Shape x{n, channels}, grid{n}, y{n, channels};
  for (int d = 0; d < spatial; ++d) {
    x.push_back(random_int(details, 1, 6));
    grid.push_back(random_int(details, 1, spatial == 3 ? 4 : 7));
    y.push_back(grid[1 + d]);
  }
  grid.push_back(spatial);
  const DType type = pick(rng, kFloats);
  // Positions whose rounding a device cannot change: multiples of 1/32 that are no element's edge, nor of a slope an
  // element's centre.
  const View positions = random_view(rng, grid, DType::f32, rng() % 2 ? Kind::dense : Kind::transposed);
  set_values(positions, [&, at = std::int64_t{0}](std::int64_t) mutable {
    const int d = spatial - 1 - static_cast<int>(at++ % spatial);
    const auto size = static_cast<double>(x[2 + d]);
    const int centre = random_int(details, -4, static_cast<int>(size) + 3), beside = random_int(details, 1, 14);
    const int parts = which == Sampled::grid_gradient || details() % 4 ? details() % 2 ? beside : -beside : 0;
    const double q = centre + parts / 32.0;
    if (o.align_corners) return size == 1 ? 0.25 : q / (size - 1) * 2 - 1;
    return (2 * q + 1) / size - 1;
  });
  Problem p;
  const auto operand = [&](const Shape& shape) { return in_some_order(rng, shape, type, random_input_kind(rng)); };
  switch (which) {
    case Sampled::forward:
      p.inputs = {operand(x), positions};
      p.outputs = {in_some_order(rng, y, type, random_output_kind(rng))};
      p.call = [=](Stream& s, auto in, auto out) { kernels::grid_sample(s, in[0], in[1], out[0], o); };
      break;
    case Sampled::gradient:
      p.inputs = {operand(y), positions};
      p.outputs = {in_some_order(rng, x, type, random_output_kind(rng))};
      p.call = [=](Stream& s, auto in, auto out) { kernels::grid_sample_gradient(s, in[0], in[1], out[0], o); };
      break;
    case Sampled::grid_gradient:
      p.inputs = {operand(y), operand(x), positions};
      p.outputs = {random_view(rng, grid, DType::f32, random_output_kind(rng))};
      p.call = [=](Stream& s, auto in, auto out) {
        kernels::grid_sample_grid_gradient(s, in[0], in[1], in[2], out[0], o);
      };
      break;
  }
  p.what =
      std::format("{} at {} to {}, mode {}, padding {}, align_corners {}", to_string(p.inputs[0]), to_string(positions),
                  to_string(p.outputs[0]), static_cast<int>(o.mode), static_cast<int>(o.padding), o.align_corners);
  const bool moves = o.mode == SampleMode::nearest && which != Sampled::gradient;
  // Sums over the places, or of slopes, are larger, and added in another order.
  const double near = which == Sampled::forward ? 4e-5 : 4e-4;
  const bool narrow = type != DType::f32 && which != Sampled::grid_gradient;
  if (!moves) p.tolerance = {.ulp = narrow ? 1.0 : 0.0, .absolute = near};
  return p;
}

Problem random_fold(Rng& rng) {
  const int spatial = random_int(rng, 1, 3);
  Rng& details = rng.details();
  FoldOptions o;
  Shape x{random_int(details, rng() % 16 == 0 ? 0 : 1, 2),
          rng() % 2 ? 4 * random_int(details, 1, 2) : random_int(details, 1, 5)};
  Shape y = x, places;
  for (int d = 0; d < spatial; ++d) {
    const std::int64_t window = random_int(details, 1, 3), stride = random_int(details, 1, 3),
                       dilation = random_int(details, 1, 2);
    const std::int64_t before = random_int(details, 0, 2);
    places.push_back(random_int(details, 1, spatial == 3 ? 3 : 6));
    x.push_back(window);
    y.push_back(std::max<std::int64_t>(
        1, (places[d] - 1) * stride + (window - 1) * dilation + 1 - before + random_int(details, -1, 2)));
    o.strides.push_back(stride), o.dilations.push_back(dilation), o.before.push_back(before);
  }
  for (const std::int64_t n : places) x.push_back(n);
  const DType type = rng() % 4 == 0 ? DType::i32 : pick(rng, kFloats);
  Problem p;
  p.inputs = {random_view(rng, x, type, random_input_kind(rng))};
  p.outputs = {in_some_order(rng, y, type, random_output_kind(rng))};
  p.what = std::format("fold of {} to {}, strides {}, dilations {}, before {}", to_string(p.inputs[0]),
                       to_string(p.outputs[0]), to_string(o.strides), to_string(o.dilations), to_string(o.before));
  p.call = [=](Stream& s, auto in, auto out) { kernels::fold(s, in[0], out[0], o); };
  if (type != DType::i32) p.tolerance = {.ulp = type == DType::f32 ? 0.0 : 1.0, .absolute = 1e-5};
  return p;
}

const bool samples = differential(
               "grid_sample", [](Rng& rng) { return random_sample(rng, Sampled::forward); }, 1, 6),
           gradients = differential(
               "grid_sample_gradient", [](Rng& rng) { return random_sample(rng, Sampled::gradient); }, 1, 6),
           grid_gradients = differential(
               "grid_sample_grid_gradient", [](Rng& rng) { return random_sample(rng, Sampled::grid_gradient); }, 1, 6),
           folds = differential("fold", random_fold);

class GridSample : public testing::Test {
 protected:
  View f32(const Shape& shape) { return random_view(rng, shape, DType::f32); }
  cpu::Executor cpu;
  Rng rng{5};
};

TEST_F(GridSample, SaysWhatDoesNotFit) {
  const auto refused = [&](const Shape& x, const Shape& grid, const Shape& y) {
    return thrown_by([&] { kernels::grid_sample(cpu, f32(x), f32(grid), f32(y)); });
  };
  EXPECT_THAT(
      refused({1, 3, 4, 4}, {1, 2, 2, 3}, {1, 3, 2, 2}),
      HasSubstr("InvalidArgument: grid_sample: x is f32 [1, 3, 4, 4], grid is f32 [1, 2, 2, 3] and y f32 [1, 3, 2, 2]; "
                "expected a number of the grid for each spatial axis of x"));
  EXPECT_THAT(refused({1, 3, 4, 4}, {1, 2, 1}, {1, 3, 2}), HasSubstr("expected one rank"));
  EXPECT_THAT(refused({2, 3, 4, 4}, {1, 2, 2, 2}, {1, 3, 2, 2}), HasSubstr("expected one batch"));
  EXPECT_THAT(refused({1, 3, 4, 4}, {1, 2, 2, 2}, {1, 2, 2, 2}), HasSubstr("expected as many channels of y as of x"));
  EXPECT_THAT(refused({1, 3, 4, 4}, {1, 2, 2, 2}, {1, 3, 2, 3}), HasSubstr("expected the places of the grid in y"));
  EXPECT_THAT(refused({1, 3, 0, 4}, {1, 2, 2, 2}, {1, 3, 2, 2}), HasSubstr("expected elements along each axis of x"));
  EXPECT_THAT(refused({1, 3}, {1, 2}, {1, 3}), HasSubstr("grid_sample: x is f32 [1, 3]; expected rank 3 to 5"));
  EXPECT_THAT(thrown_by([&] {
                kernels::grid_sample(cpu, random_view(rng, {1, 1, 4}, DType::i32), f32({1, 2, 1}),
                                     random_view(rng, {1, 1, 2}, DType::i32));
              }),
              HasSubstr("grid_sample: x is i32 [1, 1, 4]"));
}

TEST_F(GridSample, FoldSaysWhatDoesNotFit) {
  const auto refused = [&](const Shape& x, const Shape& y, const FoldOptions& o = {}) {
    return thrown_by([&] { kernels::fold(cpu, f32(x), f32(y), o); });
  };
  EXPECT_THAT(refused({1, 3, 2, 2, 4}, {1, 3, 5, 5}),
              HasSubstr("expected an axis for windows and one for places in x for each spatial axis"));
  EXPECT_THAT(refused({1, 3, 2, 4}, {1, 2, 5}),
              HasSubstr("fold: x is f32 [1, 3, 2, 4] and y f32 [1, 2, 5]; expected one batch and as many channels"));
  EXPECT_THAT(refused({1, 3, 2, 4}, {1, 3, 5}, {.strides = {1, 1}}),
              HasSubstr("fold: 2 numbers of strides, expected one for each of 1 spatial axes"));
  EXPECT_THAT(refused({1, 3, 2, 4}, {1, 3, 5}, {.dilations = {0}}),
              HasSubstr("fold: dilations are [0], expected numbers from 1 to 2147483647"));
  EXPECT_THAT(refused({1, 3, 2, 4}, {1, 3, 5}, {.before = {-1}}),
              HasSubstr("fold: before is [-1], expected numbers from 0"));
}

// What has no weight does not count, and what is mirrored or not there is never read.
TEST_F(GridSample, WeightsOfZeroDoNotCount) {
  const double values[] = {1, INFINITY, 3}, positions[] = {-1, 1};
  const View x = host_view(DType::f32, {1, 1, 3}, values), grid = host_view(DType::f32, {1, 2, 1}, positions);
  const View in[] = {x, grid};
  for (const std::string& name : device_names()) {
    for (const SampleMode mode : {SampleMode::linear, SampleMode::cubic, SampleMode::nearest}) {
      const View y = output(DType::f32, {1, 1, 2});
      run_both(test::device(name), in, std::span(&y, 1),
               [&](Stream& s, auto from, auto out) {
                 kernels::grid_sample(s, from[0], from[1], out[0], {.mode = mode, .align_corners = true});
               },
               {});
      EXPECT_THAT(weft::test::values(y), testing::ElementsAre(1, 3));
    }
  }
}

// The gradients are those of the formula: of each mode, padding and number of axes by differences of y, in f64.
TEST_F(GridSample, GradientsAreDifferences) {
  const auto reals = [&](const Shape& shape, double from, double to) {
    const View v = random_view(rng, shape, DType::f64);
    set_values(v, [&](std::int64_t) { return from + (to - from) * (random_int(rng, 0, 1 << 20) + 0.5) / (1 << 20); });
    return v;
  };
  const auto inner = [](const View& a, const View& b) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.count(); ++i) sum += value(a, i) * value(b, i);
    return sum;
  };
  for (int spatial = 1; spatial <= 3; ++spatial) {
    Shape x_shape{2, 3}, grid_shape{2}, y_shape{2, 3};
    for (int d = 0; d < spatial; ++d) x_shape.push_back(3 + d), grid_shape.push_back(2 + d), y_shape.push_back(2 + d);
    grid_shape.push_back(spatial);
    for (const SampleMode mode : {SampleMode::linear, SampleMode::nearest, SampleMode::cubic}) {
      for (const SamplePadding padding : {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection}) {
        for (const bool align : {false, true}) {
          SCOPED_TRACE(std::format("{} axes, mode {}, padding {}, align_corners {}", spatial, static_cast<int>(mode),
                                   static_cast<int>(padding), align));
          const SampleOptions o{.mode = mode, .padding = padding, .align_corners = align};
          const View x = reals(x_shape, -1, 1), grid = reals(grid_shape, -1.9, 1.9), dy = reals(y_shape, -1, 1);
          const View y = output(DType::f64, y_shape), dx = output(DType::f64, x_shape),
                     dgrid = output(DType::f64, grid_shape);
          kernels::grid_sample(cpu, x, grid, y, o);
          kernels::grid_sample_gradient(cpu, dy, grid, dx, o);
          kernels::grid_sample_grid_gradient(cpu, dy, x, grid, dgrid, o);
          // y is linear in x.
          EXPECT_NEAR(inner(y, dy), inner(x, dx), 1e-9);
          const double h = 1e-7;
          for (std::int64_t i = 0; i < grid.count(); ++i) {
            const View more = output(DType::f64, y_shape), moved = output(DType::f64, grid_shape);
            set_values(moved, [&](std::int64_t k) { return value(grid, k) + (k == i ? h : 0); });
            kernels::grid_sample(cpu, x, moved, more, o);
            EXPECT_NEAR((inner(more, dy) - inner(y, dy)) / h, value(dgrid, i), 1e-4) << i;
          }
        }
      }
    }
  }
}

using GridSampleChunks = ChunksTest;

// Operands that exceed a binding are cut along the batch, the channels and the places.
TEST_F(GridSampleChunks, EveryAxis) {
  const auto f32 = [&](const Shape& shape) { return random_view(rng, shape, DType::f32); };
  const KernelCall sample = [](Stream& s, auto in, auto out) {
    kernels::grid_sample(s, in[0], in[1], out[0], {.padding = SamplePadding::reflection});
  };
  const Tolerance near{.absolute = 1e-3};
  both({f32({40, 3, 20, 20}), f32({40, 8, 8, 2})}, {f32({40, 3, 8, 8})}, sample, near);
  both({f32({1, 60, 20, 20}), f32({1, 30, 30, 2})}, {f32({1, 60, 30, 30})}, sample, near);
  both({f32({1, 1, 20, 20}), f32({1, 200, 130, 2})}, {f32({1, 1, 200, 130})}, sample, near);
  const KernelCall gradient = [](Stream& s, auto in, auto out) {
    kernels::grid_sample_gradient(s, in[0], in[1], out[0], {.padding = SamplePadding::reflection});
  };
  both({f32({40, 3, 8, 8}), f32({40, 8, 8, 2})}, {f32({40, 3, 20, 20})}, gradient, near);
  both({f32({1, 60, 30, 30}), f32({1, 30, 30, 2})}, {f32({1, 60, 20, 20})}, gradient, near);
  both({f32({1, 1, 200, 130}), f32({1, 200, 130, 2})}, {f32({1, 1, 20, 20})}, gradient, {.absolute = 2e-2});
  // Positions between the elements' centres, where slopes are continuous.
  const auto between = [&](const Shape& shape) {
    const View grid = f32(shape);
    set_values(
        grid, [&](std::int64_t) { return (2 * (random_int(rng, 1, 18) + random_int(rng, 2, 8) / 10.0) + 1) / 20 - 1; });
    return grid;
  };
  const KernelCall slopes = [](Stream& s, auto in, auto out) {
    kernels::grid_sample_grid_gradient(s, in[0], in[1], in[2], out[0]);
  };
  both({f32({40, 3, 8, 8}), f32({40, 3, 20, 20}), between({40, 8, 8, 2})}, {f32({40, 8, 8, 2})}, slopes, near);
  both({f32({1, 1, 200, 130}), f32({1, 1, 20, 20}), between({1, 200, 130, 2})}, {f32({1, 200, 130, 2})}, slopes, near);
  const KernelCall fold = [](Stream& s, auto in, auto out) {
    kernels::fold(s, in[0], out[0], {.strides = {2, 1}, .dilations = {1, 2}, .before = {1, 1}});
  };
  both({f32({30, 2, 3, 2, 14, 18})}, {f32({30, 2, 28, 19})}, fold, {.absolute = 1e-5});
  both({f32({1, 1, 3, 2, 140, 180})}, {f32({1, 1, 280, 181})}, fold, {.absolute = 1e-5});
}

}  // namespace
}  // namespace weft::test
