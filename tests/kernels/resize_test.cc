// Resampling on every device against the CPU. Values of PyTorch and of ONNX's formulas are in
// cpu_kernels_reference_test.cc.
#include "weft/kernels/resize.h"

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "kernels/resize/axis_table.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"

namespace weft::test {
namespace {

using kernels::ResizeCoordinates;
using kernels::ResizeMode;
using kernels::ResizeOptions;
using kernels::ResizeRounding;
using testing::HasSubstr;

constexpr ResizeMode kModes[] = {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic, ResizeMode::area};
constexpr ResizeCoordinates kCoordinates[] = {
    ResizeCoordinates::half_pixel,         ResizeCoordinates::align_corners,        ResizeCoordinates::asymmetric,
    ResizeCoordinates::pytorch_half_pixel, ResizeCoordinates::half_pixel_symmetric, ResizeCoordinates::crop};

// 2 a + b of floats and a + b of others, as `to`: rounded once, so that it is the same on every device.
Expression doubled_sum(DType a, DType b, DType to) {
  Expression e;
  const DType wide = is_floating(to) ? DType::f32 : to;
  const auto as = [&](int v, DType from) { return from == wide ? v : e.cast(v, wide); };
  const int first = as(e.input(a), a), second = as(e.input(b), b);
  const int twice = is_floating(to) ? e.apply(ScalarOp::mul, {first, e.constant(2, wide)}) : first;
  const int sum = e.apply(ScalarOp::add, {twice, second});
  e.output(to == wide ? sum : e.cast(sum, to));
  return e;
}

Problem random_resize(Rng& rng) {
  constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
  constexpr DType kIntegers[] = {DType::u8, DType::i8};
  constexpr DType kMoved[] = {DType::f32, DType::f16, DType::f64, DType::u8,
                              DType::i16, DType::i64, DType::c64, DType::boolean};
  ResizeOptions o{.mode = pick(rng, kModes),
                  .coordinates = pick(rng, kCoordinates),
                  .rounding = static_cast<ResizeRounding>(rng() % 4),
                  .value = 3};
  const bool gradient = rng() % 4 == 0, integers = !gradient && rng() % 4 == 0;
  const bool moves = o.mode == ResizeMode::nearest && !gradient;
  const DType type = moves ? pick(rng, kMoved) : integers ? pick(rng, kIntegers) : pick(rng, kFloats);
  o.antialias = rng() % 2;
  o.exclude_outside = rng() % 2;
  const int rank = random_int(rng, 1, 5), last = rank - 1;
  Rng& details = rng.details();
  const bool last_resized = rng() % 2;
  const bool fours = rng() % 2;  // sizes that vectorise
  // Of shrinking by much rows of weights are long: such kernels have loops of unknown length.
  const std::int64_t more = rank <= 3 && rng() % 4 == 0 ? 6 : 1;
  Shape x, y;
  for (int d = 0; d < rank; ++d) {
    const bool resized = d == last ? last_resized : rng() % 2;
    const std::int64_t unit = d == last && fours ? 4 : 1;
    const std::int64_t n = (resized ? more : 1) * unit * random_int(details, 1, rank > 3 ? 4 : 9);
    std::int64_t m = resized ? unit * random_int(details, 1, rank > 3 ? 4 : 9) : n;
    if (resized && m == n) m += unit;  // always resized, so that the form is the same
    x.push_back(n), y.push_back(m);
    if (o.coordinates == ResizeCoordinates::crop) {
      o.starts.push_back(resized ? random_int(details, -1, 5) / 4.0 : 0);
      o.ends.push_back(resized ? random_int(details, 1, 6) / 4.0 : 1);
    }
  }
  Problem p;
  const Shape &from = gradient ? y : x, &to = gradient ? x : y;
  // Work before and after it, of types that GPUs compute with.
  const bool computes = type != DType::f64 && type != DType::boolean;
  const bool before = computes && rng() % 3 == 0, after = computes && rng() % 3 == 0, real = is_floating(type);
  constexpr DType kStored[] = {DType::f32, DType::f16, DType::u8, DType::i16};
  const DType stored = before && real ? pick(rng, kStored) : type, beside = before && real ? pick(rng, kFloats) : type;
  const DType result = moves ? type : real ? DType::f32 : DType::i32;
  const DType operand = real ? pick(rng, kFloats) : DType::f32;
  const DType made = !after ? type : type == DType::c64 ? DType::c64 : pick(rng, kFloats);
  p.inputs = {random_view(rng, from, stored, random_input_kind(rng))};
  p.outputs = {random_view(rng, to, made, random_output_kind(rng))};
  std::shared_ptr<Expression> prologue, epilogue;
  if (before) {
    p.inputs.push_back(random_view(rng, random_broadcast(rng, from), beside));
    prologue = std::make_shared<Expression>(doubled_sum(stored, beside, type));
  }
  if (after) {
    const bool complex = type == DType::c64;
    p.inputs.push_back(random_view(rng, rng() % 2 ? to : random_broadcast(rng, to), complex ? type : operand));
    epilogue = std::make_shared<Expression>(doubled_sum(result, complex ? type : operand, made));
  }
  p.what = std::format("{} of {} to {}{}{}, mode {}, coordinates {}, rounding {}, antialias {}, exclude_outside {}",
                       gradient ? "resize_gradient" : "resize", to_string(p.inputs[0]), to_string(p.outputs[0]),
                       before ? ", prologue " + prologue->to_string() + " of " + to_string(p.inputs[1]) : "",
                       after ? ", epilogue " + epilogue->to_string() + " of " + to_string(p.inputs.back()) : "",
                       static_cast<int>(o.mode), static_cast<int>(o.coordinates), static_cast<int>(o.rounding),
                       o.antialias, o.exclude_outside);
  const auto run = gradient ? kernels::resize_gradient : kernels::resize;
  p.call = [=](Stream& s, auto in, auto out) {
    const kernels::Prologue b = before ? kernels::Prologue{prologue.get(), in.subspan(1, 1)} : kernels::Prologue{};
    const kernels::Epilogue e = after ? kernels::Epilogue{epilogue.get(), in.last(1)} : kernels::Epilogue{};
    run(s, in[0], out[0], o, {b, e});
  };
  // The same in three kernels, where nothing is rounded between them.
  if ((before || after) && (!real || type == DType::f32 || moves)) {
    p.reference = [=](Stream& s, auto in, auto out) {
      const auto dense = [](DType t, const Shape& shape) {
        return View(Buffer::host(byte_size(t, static_cast<std::uint64_t>(element_count(shape)))), 0, t, shape);
      };
      View given = in[0], taken = out[0];
      if (before) kernels::map(s, *prologue, in.first(2), std::span(&(given = dense(type, from)), 1));
      if (after) taken = dense(type, to);
      run(s, given, taken, o, {});
      if (!after) return;
      // The epilogue takes a narrow integer's result as i32.
      const View wide = dense(result, to);
      kernels::copy(s, taken, wide);
      const View operands[] = {wide, in.back()};
      kernels::map(s, *epilogue, operands, out);
    };
  }
  if (moves || (integers && !after))
    p.tolerance = kSameBits;
  else
    p.tolerance = {.ulp = type == DType::f32 && made == DType::f32 ? 0.0 : 1.0,
                   .absolute = gradient ? 4e-5 : 4e-6,
                   .relative = before || after ? 1e-5 : 0};
  return p;
}

const bool registered = differential("resize", random_resize);

class Resize : public testing::Test {
 protected:
  std::string refused(const Shape& x, const Shape& y, const ResizeOptions& o = {}, DType type = DType::f32) {
    return thrown_by([&] { kernels::resize(cpu, random_view(rng, x, type), random_view(rng, y, type), o); });
  }
  cpu::Executor cpu;
  Rng rng{5};
};

TEST_F(Resize, SaysWhatDoesNotFit) {
  EXPECT_THAT(refused({1, 3, 8}, {1, 3, 8, 8}),
              HasSubstr("InvalidArgument: resize: x is f32 [1, 3, 8] and y f32 [1, 3, 8, 8], expected one rank"));
  EXPECT_THAT(refused({1, 0}, {1, 3}),
              HasSubstr("resize: axis 1 of x [1, 0] is empty, there is nothing to make y [1, 3] of"));
  EXPECT_THAT(refused({4}, {8}, {.scales = {1, 2}}), HasSubstr("resize: 2 scales, expected one for each of 1 axes"));
  EXPECT_THAT(refused({4}, {8}, {.scales = {3}}),
              HasSubstr("resize: scale 3 of axis 0, whose 4 elements become 8; expected about 2"));
  EXPECT_THAT(refused({4}, {8}, {.scales = {NAN}}), HasSubstr("expected numbers within 2^31"));
  EXPECT_THAT(refused({4}, {1}, {.scales = {0}}), HasSubstr("resize: scale 0 of axis 0"));
  EXPECT_THAT(refused({4}, {8}, {.coordinates = ResizeCoordinates::crop, .starts = {INFINITY}}),
              HasSubstr("inf among the starts"));
  EXPECT_THAT(refused({4}, {8}, {.mode = ResizeMode::cubic, .cubic_a = NAN}), HasSubstr("cubic_a is nan"));
  EXPECT_THAT(refused({4}, {8}, {.mode = ResizeMode::cubic, .cubic_a = 3}, DType::u8),
              HasSubstr("cubic_a is 3, expected a number within 2 for integers"));
  EXPECT_THAT(refused({4}, {8}, {.mode = ResizeMode::linear}, DType::i32),
              HasSubstr("resize: x is i32 [4]; expected floats, i8 or u8 for modes other than nearest"));
  EXPECT_THAT(refused({4}, {8}, {}, DType::u4), HasSubstr("resize: x is u4 [4]"));
  EXPECT_THAT(
      thrown_by([&] { kernels::resize(cpu, random_view(rng, {4}, DType::f32), random_view(rng, {8}, DType::f16)); }),
      HasSubstr("y is f16 [8]"));
  const View same = random_view(rng, {4}, DType::f32);
  EXPECT_THAT(thrown_by([&] { kernels::resize(cpu, same, same); }), HasSubstr("shares memory"));
  EXPECT_THAT(thrown_by([&] {
                kernels::resize_gradient(cpu, random_view(rng, {4}, DType::u8), random_view(rng, {8}, DType::u8));
              }),
              HasSubstr("resize_gradient: dy is u8 [4]"));
}

// A resampling that changes nothing still has work around it, and a scalar has no axis.
TEST_F(Resize, WorkAroundTheSameSize) {
  const Expression twice = doubled_sum(DType::f32, DType::f32, DType::f32);
  for (const Shape& shape : {Shape{3, 5}, Shape{}}) {
    for (const ResizeMode mode : kModes) {
      const View in[] = {random_view(rng, shape, DType::f32), random_view(rng, shape, DType::f32)};
      const View y = output(DType::f32, shape);
      const KernelCall call = [&](Stream& s, auto views, auto out) {
        const auto operand = views.subspan(1);
        kernels::resize(s, views[0], out[0], {.mode = mode}, {{&twice, operand}, {&twice, operand}});
      };
      call(cpu, in, std::span(&y, 1));
      EXPECT_NEAR(value(y, 0), 4 * value(in[0], 0) + 3 * value(in[1], 0), 1e-5);
      for (const std::string& name : device_names()) {
        run_both(test::device(name), in, std::span(&y, 1), call, {.absolute = 1e-5});
      }
    }
  }
  const View none = random_view(rng, {0}, DType::f32), one = random_view(rng, {4}, DType::f32);
  EXPECT_THAT(
      thrown_by([&] { kernels::resize_gradient(cpu, none, one, {}, {.epilogue = {&twice, std::span(&one, 1)}}); }),
      HasSubstr("resize_gradient: dy is f32 [0], an epilogue takes one that has elements"));
  EXPECT_THAT(thrown_by([&] { kernels::resize(cpu, one, none, {}, {.epilogue = {&twice, {}}}); }),
              HasSubstr("resize: the epilogue"));
}

TEST_F(Resize, GpusHaveNoF64ButMoveIt) {
  for (const std::string& name : device_names()) {
    gpu::Device& on = test::device(name);
    const View x = to_device(on, random_view(rng, {4}, DType::f64)),
               y = to_device(on, random_view(rng, {8}, DType::f64));
    gpu::Encoder encoder(on);
    EXPECT_THAT(thrown_by([&] { kernels::resize(encoder, x, y, {.mode = ResizeMode::linear}); }),
                HasSubstr("Unsupported: resize: f64 [4] on a GPU, which has no f64"));
    EXPECT_EQ(thrown_by([&] { kernels::resize(encoder, x, y, {.mode = ResizeMode::nearest}); }), "nothing");
  }
}

// What has no weight does not count: infinities beside an element whose position is that of one of x.
TEST_F(Resize, WeightsOfZeroDoNotCount) {
  const double values[] = {1, INFINITY, 3, NAN, 5};
  const View x = host_view(DType::f32, {5}, values);
  for (const std::string& name : device_names()) {
    for (const ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic}) {
      const View y = output(DType::f32, {3});
      run_both(test::device(name), std::span(&x, 1), std::span(&y, 1),
               [&](Stream& s, auto in, auto out) {
                 kernels::resize(s, in[0], out[0], {.mode = mode, .coordinates = ResizeCoordinates::align_corners});
               },
               {});
      EXPECT_THAT(weft::test::values(y), testing::ElementsAre(1, 3, 5));
    }
  }
}

// dx and dy are called so.
// Rows of weights that are too long to be unrolled, along the last axis, along others and along several.
TEST_F(Resize, ShrinksByMuch) {
  for (const auto& [x, y] : {std::pair(Shape{33}, Shape{3}),
                             {Shape{2, 3, 64, 80}, Shape{2, 3, 3, 4}},
                             {Shape{48, 8}, Shape{2, 8}},
                             {Shape{48, 7}, Shape{2, 7}},
                             {Shape{3, 40, 6}, Shape{3, 2, 12}},
                             {Shape{8, 72}, Shape{4, 4}}}) {
    for (const DType type : {DType::u8, DType::i8, DType::f32, DType::f16}) {
      for (const ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic, ResizeMode::area}) {
        const ResizeOptions o{.mode = mode, .antialias = mode != ResizeMode::area};
        const View in[] = {random_view(rng, x, type)}, out = random_view(rng, y, type);
        for (const std::string& name : device_names()) {
          run_both(
              test::device(name), in, std::span(&out, 1),
              [&](Stream& s, auto from, auto to) { kernels::resize(s, from[0], to[0], o); },
              is_floating(type) ? Tolerance{.ulp = type == DType::f16 ? 1.0 : 0.0, .absolute = 4e-6} : kSameBits,
              std::format("{} to {}, mode {}", to_string(in[0]), to_string(y), static_cast<int>(mode)));
        }
      }
    }
  }
}

TEST_F(Resize, GradientsAreCalledByTheirNames) {
  const View dy = random_view(rng, {4}, DType::f32), dx = random_view(rng, {0}, DType::f32);
  EXPECT_THAT(thrown_by([&] { kernels::resize_gradient(cpu, dy, dx, {}); }),
              HasSubstr("resize_gradient: axis 0 of dx [0] is empty, there is nothing to make dy [4] of"));
  EXPECT_THAT(thrown_by([&] { kernels::resize_gradient(cpu, dy, random_view(rng, {4, 1}, DType::f32), {}); }),
              HasSubstr("resize_gradient: dy is f32 [4] and dx f32 [4, 1], expected one rank"));
}

// The gradient is the transposed map: <resize(x), dy> = <x, resize_gradient(dy)>.
TEST_F(Resize, GradientIsTransposed) {
  for (const ResizeMode mode : kModes) {
    for (const ResizeCoordinates coordinates : kCoordinates) {
      const ResizeOptions o{.mode = mode, .coordinates = coordinates, .antialias = true};
      const View x = random_view(rng, {5, 7}, DType::f64), dy = random_view(rng, {8, 3}, DType::f64);
      const View y = output(DType::f64, {8, 3}), dx = output(DType::f64, {5, 7});
      kernels::resize(cpu, x, y, o);
      kernels::resize_gradient(cpu, dy, dx, o);
      double forward = 0, backward = 0;
      for (std::int64_t i = 0; i < y.count(); ++i) forward += value(y, i) * value(dy, i);
      for (std::int64_t i = 0; i < x.count(); ++i) backward += value(x, i) * value(dx, i);
      EXPECT_NEAR(forward, backward, 1e-12 * 5 * 7);
    }
  }
}

// Positions that are multiples of 1/2 are exact at any size.
TEST(ResizeTable, Positions) {
  for (const std::int64_t n : {3, 1000003, 1 << 20}) {
    const auto first = [&](ResizeOptions o, std::int64_t m, std::int64_t i) {
      return kernels::axis_table(o, 0, n, m).first[static_cast<std::size_t>(i)];
    };
    ResizeOptions o{
        .mode = ResizeMode::nearest, .coordinates = ResizeCoordinates::asymmetric, .rounding = ResizeRounding::floor};
    EXPECT_EQ(first(o, 3 * n, 3 * n - 3), n - 1);
    EXPECT_EQ(first(o, 3 * n, 3 * n - 4), n - 2);
    o.scales = {static_cast<float>(n) / static_cast<float>(3 * n) * 9.0};  // 3, rounded to f32 before
    EXPECT_EQ(first(o, 3 * n, 3 * n - 3), n - 1);
    EXPECT_EQ(first(o, 3 * n, 3 * n - 4), n - 2);
  }
  const kernels::AxisTable same = kernels::axis_table({.mode = ResizeMode::cubic, .antialias = true}, 0, 7, 7);
  EXPECT_EQ(same.first[3], 3);
  // Sums of integer weights are exact.
  const kernels::AxisTable thirds = kernels::axis_table({.mode = ResizeMode::cubic}, 0, 7, 21);
  for (std::int64_t i = 0; i < 21; ++i) {
    int sum = 0;
    for (const std::int32_t w : kernels::integer_weights(thirds, i)) sum += w;
    EXPECT_EQ(sum, 1 << kernels::kWeightBits);
  }
}

// Positions of explicit scales and of crops, by the formulas in double, also past 2^20 elements, where neighbours that
// lie closer than a multiple of 1/2 keep their distance.
TEST(ResizeTable, PositionsOfLongAxes) {
  const auto linear = [](ResizeOptions o, std::int64_t n, std::int64_t m, std::int64_t i) {
    o.mode = ResizeMode::linear;
    const kernels::AxisTable t = kernels::axis_table(o, 0, n, m, i, i + 1);
    double p = 0;
    for (std::int64_t k = 0; k < t.count[0]; ++k) p += static_cast<double>(t.first[0] + k) * t.row(0)[k];
    return p;
  };
  const std::int64_t n = (std::int64_t{1} << 22) + 1;
  // Steps of 1/8 from 2^21 on.
  const ResizeOptions crop{.coordinates = ResizeCoordinates::crop, .starts = {0.5}, .ends = {0.5 + 15.0 / 8 / 0x1p22}};
  for (std::int64_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(linear(crop, n, 16, i), 0x1p21 + static_cast<double>(i) / 8, 1e-9) << i;
  }
  // A scale of 3/2 where the sizes are not quite.
  const std::int64_t odd = (std::int64_t{1} << 21) + 1, m = 3 * (std::int64_t{1} << 20) + 1;
  const ResizeOptions scaled{.coordinates = ResizeCoordinates::asymmetric, .scales = {1.5}};
  for (const std::int64_t i : {std::int64_t{1}, std::int64_t{3000}, m - 2, m - 1}) {
    EXPECT_NEAR(linear(scaled, odd, m, i), static_cast<double>(i) / 1.5, 1e-9) << i;
  }
  // One whose rounding to f32 moves a multiple of 1/2.
  const ResizeOptions rounded{.coordinates = ResizeCoordinates::asymmetric, .scales = {1.3f}};
  EXPECT_EQ(linear(rounded, 40, 51, 13), 10);
  EXPECT_EQ(linear(rounded, 40, 51, 26), 20);
  EXPECT_NEAR(linear(rounded, 40, 51, 25), 25 / double{1.3f}, 1e-12);
  // Half pixels of the longest axes: quotients of integers past 2^53.
  const std::int64_t most = (std::int64_t{1} << 31) - 1;
  const ResizeOptions half{};
  EXPECT_EQ(linear(half, most, most - 2, (most - 3) / 2), static_cast<double>(most - 1) / 2);
}

// Elements of weight 0 do not count: an infinity among x or dy reaches just what has a weight for it. By integers:
// distances are quotients of them.
TEST_F(Resize, InfinitiesOfWeightZero) {
  struct Case {
    ResizeMode mode;
    std::int64_t from, to;
    bool antialias;
  };
  for (const auto& [mode, from, to, antialias] : {Case{ResizeMode::linear, 13, 11, true},
                                                  {ResizeMode::linear, 9, 3, true},
                                                  {ResizeMode::cubic, 9, 3, true},
                                                  {ResizeMode::cubic, 13, 11, true},
                                                  {ResizeMode::cubic, 16, 8, true},
                                                  {ResizeMode::cubic, 5, 15, false},
                                                  {ResizeMode::linear, 5, 15, false},
                                                  {ResizeMode::nearest, 5, 15, false}}) {
    const ResizeOptions o{.mode = mode, .antialias = antialias};
    // Whether element j has a weight for i: |2 to j - ((2 i + 1) from - to)| / (2 to), which counts to / from times.
    const auto counts = [&, mode = mode, from = from, to = to, antialias = antialias](std::int64_t i, std::int64_t j) {
      const std::int64_t distance = std::abs(2 * to * j - ((2 * i + 1) * from - to));
      const std::int64_t one = antialias ? 2 * from : 2 * to;
      if (mode == ResizeMode::nearest) return 2 * distance <= one;
      return distance < one || (mode == ResizeMode::cubic && distance > one && distance < 2 * one);
    };
    for (std::int64_t j = 0; j < from; ++j) {
      // What is past the ends is the first or the last element.
      const auto reaches = [&, from = from](std::int64_t i) {
        bool is = counts(i, j);
        for (std::int64_t past = 1; past < 40; ++past) {
          is |= (j == 0 && counts(i, -past)) || (j == from - 1 && counts(i, j + past));
        }
        return is;
      };
      const View x = random_view(rng, {2, from, 3}, DType::f32), y = output(DType::f32, {2, to, 3});
      set_values(x, [&, from = from](std::int64_t e) { return e / 3 % from == j ? INFINITY : 1.0; });
      const KernelCall call = [&](Stream& s, auto in, auto out) { kernels::resize(s, in[0], out[0], o); };
      const View last_x = random_view(rng, {2, 3, from}, DType::f32), last_y = output(DType::f32, {2, 3, to});
      set_values(last_x, [&, from = from](std::int64_t e) { return e % from == j ? INFINITY : 1.0; });
      for (const std::string& name : device_names()) {
        run_both(test::device(name), std::span(&x, 1), std::span(&y, 1), call, {.absolute = 1e-5});
        run_both(test::device(name), std::span(&last_x, 1), std::span(&last_y, 1), call, {.absolute = 1e-5});
      }
      call(cpu, std::span(&x, 1), std::span(&y, 1));
      call(cpu, std::span(&last_x, 1), std::span(&last_y, 1));
      for (std::int64_t e = 0; e < y.count(); ++e) {
        EXPECT_EQ(!std::isfinite(value(y, e)), reaches(e / 3 % to)) << from << " to " << to << ", " << j << ", " << e;
        EXPECT_EQ(!std::isfinite(value(last_y, e)), reaches(e % to)) << from << " to " << to << ", " << j << ", " << e;
      }
    }
    // The gradient, of inner elements alone.
    for (std::int64_t i = 0; i < to; ++i) {
      const View dy = random_view(rng, {2, to, 3}, DType::f32), dx = output(DType::f32, {2, from, 3});
      set_values(dy, [&, to = to](std::int64_t e) { return e / 3 % to == i ? INFINITY : 1.0; });
      const KernelCall call = [&](Stream& s, auto in, auto out) { kernels::resize_gradient(s, in[0], out[0], o); };
      for (const std::string& name : device_names()) {
        run_both(test::device(name), std::span(&dy, 1), std::span(&dx, 1), call, {.absolute = 1e-5});
      }
      call(cpu, std::span(&dy, 1), std::span(&dx, 1));
      for (std::int64_t e = 0; e < dx.count(); ++e) {
        const std::int64_t j = e / 3 % from;
        if (j == 0 || j == from - 1) continue;
        EXPECT_EQ(!std::isfinite(value(dx, e)), counts(i, j)) << from << " to " << to << ", dx " << j << " of dy " << i;
      }
    }
  }
}

// Tables of a part are those rows of the whole one, of the gradient, too.
TEST(ResizeTable, PartsOfTables) {
  for (const ResizeMode mode : kModes) {
    for (const ResizeCoordinates coordinates : kCoordinates) {
      for (const auto& [from, to] : {std::pair(7, 23), {23, 7}, {10, 10}, {1, 9}, {9, 1}}) {
        for (const bool mirrored : {false, true}) {
          ResizeOptions o{.mode = mode, .coordinates = coordinates, .antialias = mirrored};
          if (coordinates == ResizeCoordinates::crop)
            o.starts = {mirrored ? 1.2 : -0.2}, o.ends = {mirrored ? 0.1 : 0.9};
          const kernels::AxisTable whole = kernels::axis_table(o, 0, from, to);
          // w[i][j] by the whole table, against the gradient's tables of every range of j.
          for (std::int64_t begin = 0; begin < from; ++begin) {
            for (std::int64_t end = begin + 1; end <= from; ++end) {
              const kernels::AxisTable part = kernels::gradient_table(o, 0, from, to, begin, end);
              ASSERT_EQ(part.to(), end - begin);
              for (std::int64_t j = begin; j < end; ++j) {
                const auto row = static_cast<std::size_t>(j - begin);
                for (std::int64_t i = 0; i < to; ++i) {
                  const auto k = static_cast<std::size_t>(i);
                  const std::int64_t at = j - whole.first[k], back = i - part.first[row];
                  const double expected = at >= 0 && at < whole.count[k] ? whole.row(i)[at] : 0;
                  const double got = back >= 0 && back < part.count[row] ? part.row(j - begin)[back] : 0;
                  ASSERT_EQ(got, expected) << from << " to " << to << ": " << i << ", " << j;
                }
              }
            }
          }
        }
      }
    }
  }
}

using ResizeChunks = ChunksTest;

// Operands that exceed a binding are cut along axes that stay, and else along those that are resampled.
TEST_F(ResizeChunks, EveryAxis) {
  const auto resize = [](const ResizeOptions& o) -> KernelCall {
    return [o](Stream& s, auto in, auto out) { kernels::resize(s, in[0], out[0], o); };
  };
  const auto gradient = [](const ResizeOptions& o) -> KernelCall {
    return [o](Stream& s, auto in, auto out) { kernels::resize_gradient(s, in[0], out[0], o); };
  };
  const auto f32 = [&](const Shape& shape) { return random_view(rng, shape, DType::f32); };
  const Tolerance near{.absolute = 1e-5};
  const ResizeOptions smooth{.mode = ResizeMode::cubic, .antialias = true}, nearest{.mode = ResizeMode::nearest};
  both({f32({40, 20, 20})}, {f32({40, 33, 28})}, resize({.mode = ResizeMode::linear}), near);
  both({f32({40, 33, 28})}, {f32({40, 20, 20})}, gradient({.mode = ResizeMode::linear}), near);
  both({f32({300, 100})}, {f32({77, 260})}, resize({.mode = ResizeMode::linear}), near);
  both({f32({300, 100})}, {f32({77, 260})}, resize(smooth), near);
  both({f32({77, 260})}, {f32({300, 100})}, gradient(smooth), near);
  both({f32({30000})}, {f32({50000})}, resize({.mode = ResizeMode::cubic}), near);
  both({f32({30000})}, {f32({50000})}, resize(nearest), kSameBits);
  both({random_view(rng, {200, 300}, DType::u8)}, {random_view(rng, {300, 280}, DType::u8)},
       resize({.mode = ResizeMode::linear}), kSameBits);
  const Expression twice = doubled_sum(DType::f32, DType::f32, DType::f32);
  const KernelCall around = [&](Stream& s, auto in, auto out) {
    kernels::resize(s, in[0], out[0], {.mode = ResizeMode::linear},
                    {{&twice, in.subspan(1, 1)}, {&twice, in.subspan(2)}});
  };
  both({f32({40, 20, 20}), f32({40, 20, 20}), f32({40, 33, 28})}, {f32({40, 33, 28})}, around, near);
  both({f32({300, 100}), f32({100}), f32({77, 1})}, {f32({77, 260})}, around, near);
  both({random_view(rng, {100, 100}, DType::i64)}, {random_view(rng, {120, 120}, DType::i64)}, resize(nearest),
       kSameBits);
}

}  // namespace
}  // namespace weft::test
