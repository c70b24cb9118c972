// Gradients of softmax and of norms.
#include <cmath>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "kernels/row_gradient/row_gradient.h"
#include "kernels/split_form.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/row_gradient.h"

namespace weft::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16};

bool register_softmax_gradient(const std::string& name, bool log) {
  return differential(name, [log](Rng& rng) {
    const Shape shape = random_shape(rng, 1);
    const int axis = random_int(rng, 0, shape.rank() - 1);
    Problem p;
    p.inputs = {random_view(rng, shape, pick(rng, kFloats), random_input_kind(rng), Values::ordinary),
                random_view(rng, shape, pick(rng, kFloats), random_input_kind(rng), Values::ordinary)};
    p.outputs = {random_view(rng, shape, pick(rng, kFloats), random_output_kind(rng))};
    // Sums of products, and exponentials of up to e^4, cancel.
    p.tolerance = {.ulp = 1, .absolute = 1e-3, .relative = 1e-4};
    p.what = std::format("gradient of softmax, log {}, axis {}: {}", log, axis, weft::to_string(p.inputs[0]));
    p.call = [=](Stream& s, auto in, auto out) {
      const auto run = log ? kernels::log_softmax_gradient : kernels::softmax_gradient;
      run(s, in[0], in[1], out[0], axis);
    };
    const auto which = rng() % 3;
    const kernels::SplitForm split = random_split_form(rng);
    const kernels::RowForm whole = random_row_form(rng);
    if (which == 0) return p;
    p.form = [=](Stream& s, auto in, auto out) {
      const auto gradient = kernels::make_softmax_gradient(log, in[0], in[1], out[0], axis);
      which == 1 ? kernels::row_gradient_in_form(s, gradient, whole)
                 : kernels::row_gradient_split_rows(s, gradient, split);
    };
    return p;
  });
}
const bool registered_softmax[] = {register_softmax_gradient("softmax_gradient", false),
                                   register_softmax_gradient("log_softmax_gradient", true)};

enum class Norm : std::uint8_t { layer, rms, group, instance };

bool register_norm_gradient(const std::string& name, Norm norm) {
  return differential(name, [norm](Rng& rng) {
    const bool rows = norm == Norm::layer || norm == Norm::rms;
    const Shape shape = random_shape(rng, rows ? 1 : 2, norm == Norm::group ? 7 : 8);
    const int axis = random_int(rng, rows ? 0 : 1, shape.rank() - 1);
    const std::int64_t channels = shape[axis];
    const std::int64_t groups = channels % 3 == 0 && channels ? 3 : channels % 2 == 0 && channels ? 2 : 1;
    constexpr float kEpsilon = 1e-2f;  // so that rows that differ only by rounding are not amplified
    Problem p;
    const auto seed = rng();
    p.inputs = {view_of(pick(rng, kFloats), shape, random_input_kind(rng), normal(seed, 0.3, 2)),
                view_of(pick(rng, kFloats), shape, random_input_kind(rng), normal(seed + 1))};
    const bool scaled = rng() % 3 != 0;
    const Shape weights = rows ? Shape(std::span(shape.begin() + axis, shape.end())) : Shape{channels};
    if (scaled) p.inputs.push_back(view_of(pick(rng, kFloats), weights, random_input_kind(rng), normal(seed + 2)));
    p.outputs = {random_view(rng, shape, pick(rng, kFloats), random_output_kind(rng))};
    p.tolerance = {.ulp = 1, .absolute = 2e-4, .relative = 1e-4};
    p.what = std::format("gradient of norm {}, axis {}, scaled {}: {}", static_cast<int>(norm), axis, scaled,
                         weft::to_string(p.inputs[0]));
    p.call = [=](Stream& s, auto in, auto out) {
      const std::optional<View> scale = scaled ? std::optional<View>(in[2]) : std::nullopt;
      switch (norm) {
        case Norm::layer:
          return kernels::layer_norm_gradient(s, in[0], in[1], scale, out[0], axis, kEpsilon);
        case Norm::rms:
          return kernels::rms_norm_gradient(s, in[0], in[1], scale, out[0], axis, kEpsilon);
        case Norm::group:
          return kernels::group_norm_gradient(s, in[0], in[1], scale, out[0], axis, groups, kEpsilon);
        default:
          return kernels::instance_norm_gradient(s, in[0], in[1], scale, out[0], axis, kEpsilon);
      }
    };
    const auto which = rng() % 3;
    const kernels::SplitForm split = random_split_form(rng);
    const kernels::RowForm whole = random_row_form(rng);
    if (!rows || which == 0) return p;
    p.form = [=](Stream& s, auto in, auto out) {
      const std::optional<View> scale = scaled ? std::optional<View>(in[2]) : std::nullopt;
      const auto gradient =
          kernels::make_layer_norm_gradient(in[0], in[1], scale, out[0], axis, kEpsilon, norm == Norm::layer);
      which == 1 ? kernels::row_gradient_in_form(s, gradient, whole)
                 : kernels::row_gradient_split_rows(s, gradient, split);
    };
    return p;
  });
}
const bool registered_norms[] = {register_norm_gradient("layer_norm_gradient", Norm::layer),
                                 register_norm_gradient("rms_norm_gradient", Norm::rms),
                                 register_norm_gradient("group_norm_gradient", Norm::group),
                                 register_norm_gradient("instance_norm_gradient", Norm::instance)};

// With the gradients of scale and bias.
using Gradients = std::function<void(Stream&, std::span<const View> in, std::span<const View> out)>;
Gradients gradients_of(Norm norm, int axis, std::int64_t groups, float epsilon) {
  return [=](Stream& s, std::span<const View> in, std::span<const View> out) {
    switch (norm) {
      case Norm::layer:
        return kernels::layer_norm_gradients(s, in[0], in[1], in[2], out[0], out[1], out[2], axis, epsilon);
      case Norm::rms:
        return kernels::rms_norm_gradients(s, in[0], in[1], in[2], out[0], out[1], axis, epsilon);
      case Norm::group:
        return kernels::group_norm_gradients(s, in[0], in[1], in[2], out[0], out[1], out[2], axis, groups, epsilon);
      default:
        return kernels::instance_norm_gradients(s, in[0], in[1], in[2], out[0], out[1], out[2], axis, epsilon);
    }
  };
}

bool register_norm_gradients(const std::string& name, Norm norm) {
  return differential(name, [norm](Rng& rng) {
    const bool rows = norm == Norm::layer || norm == Norm::rms;
    const Shape shape = random_shape(rng, rows ? 1 : 2, norm == Norm::group ? 7 : 8);
    const int axis = rows ? random_int(rng, 0, shape.rank() - 1) : rng() % 2 ? 1 : random_int(rng, 1, shape.rank() - 1);
    const std::int64_t channels = shape[axis];
    const std::int64_t groups = channels % 3 == 0 && channels ? 3 : channels % 2 == 0 && channels ? 2 : 1;
    constexpr float kEpsilon = 1e-2f;  // so that rows that differ only by rounding are not amplified
    Problem p;
    const auto seed = rng();
    const Shape weights = rows ? Shape(std::span(shape.begin() + axis, shape.end())) : Shape{channels};
    p.inputs = {view_of(pick(rng, kFloats), shape, random_input_kind(rng), normal(seed, 0.3, 2)),
                view_of(pick(rng, kFloats), shape, random_input_kind(rng), normal(seed + 1)),
                view_of(pick(rng, kFloats), weights, random_input_kind(rng), normal(seed + 2))};
    p.outputs = {random_view(rng, shape, pick(rng, kFloats), random_output_kind(rng))};
    for (int k = 0; k < (norm == Norm::rms ? 1 : 2); ++k)
      p.outputs.push_back(random_view(rng, weights, pick(rng, kFloats), random_output_kind(rng)));
    p.tolerance = {.ulp = 1, .absolute = 2e-3, .relative = 1e-4};  // sums of up to 4096 that cancel
    p.what =
        std::format("gradients of norm {}, axis {}: {}", static_cast<int>(norm), axis, weft::to_string(p.inputs[0]));
    p.call = gradients_of(norm, axis, groups, kEpsilon);
    return p;
  });
}
const bool registered_weights[] = {register_norm_gradients("layer_norm_gradients", Norm::layer),
                                   register_norm_gradients("rms_norm_gradients", Norm::rms),
                                   register_norm_gradients("group_norm_gradients", Norm::group),
                                   register_norm_gradients("instance_norm_gradients", Norm::instance)};

class RowGradientTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, RowGradientTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_P(RowGradientTest, RowLengths) {
  for (const std::int64_t n : {1, 2, 3, 32, 33, 384, 1023, 1024, 1025, 9000, 70000}) {
    for (const int axis : {0, 1}) {
      const Shape shape = axis == 1 ? Shape{3, n} : Shape{n, 4};
      const View x = view_of(DType::f32, shape, Kind::dense, normal(7)),
                 g = view_of(DType::f32, shape, Kind::dense, normal(8));
      for (const bool log : {false, true}) {
        run_both(
            device, std::array{x, g}, std::array{output(DType::f32, shape)},
            [&](Stream& s, auto in, auto out) {
              const auto run = log ? kernels::log_softmax_gradient : kernels::softmax_gradient;
              run(s, in[0], in[1], out[0], axis);
            },
            {.absolute = 2e-2 * std::sqrt(static_cast<double>(n)) / 100, .relative = 1e-4},
            std::format("log {}, {}, axis {}", log, weft::to_string(shape), axis));
      }
      if (axis == 0) continue;
      run_both(
          device, std::array{x, g}, std::array{output(DType::f32, shape)},
          [&](Stream& s, auto in, auto out) { kernels::layer_norm_gradient(s, in[0], in[1], {}, out[0], 1, 1e-2f); },
          {.absolute = 1e-4, .relative = 1e-4}, std::format("layer norm, {}", weft::to_string(shape)));
    }
  }
}

TEST_P(RowGradientTest, InPlace) {
  for (const std::int64_t n : {16, 17, 70000}) {
    for (const std::size_t shared : {0, 1}) {
      const View x = view_of(DType::f32, {4, n}, Kind::dense, normal(1)),
                 g = view_of(DType::f32, {4, n}, Kind::dense, normal(2));
      const std::array in{x, g};
      run_both(
          device, in, std::array{in[shared]},
          [&](Stream& s, auto i, auto out) { kernels::layer_norm_gradient(s, i[0], i[1], {}, out[0], 1, 1e-2f); },
          {.absolute = 1e-4, .relative = 1e-4}, std::format("rows of {} in place of operand {}", n, shared));
    }
  }
}

// A mean that is large compared with the deviation costs no more than the digits that x has lost.
TEST_P(RowGradientTest, LargeMeans) {
  for (const std::int64_t n : {64, 1000, 70000}) {
    const auto value = [](std::int64_t i) { return 4096.0 + static_cast<double>(i * 7919 % 64) / 8; };
    const View x = view_of(DType::f32, {4, n}, Kind::dense, value),
               g = view_of(DType::f32, {4, n}, Kind::dense, normal(2));
    run_both(
        device, std::array{x, g}, std::array{output(DType::f32, {4, n})},
        [&](Stream& s, auto in, auto out) { kernels::layer_norm_gradient(s, in[0], in[1], {}, out[0], 1, 1e-3f); },
        {.absolute = 1e-5, .relative = 1e-4}, std::format("rows of {}", n));
  }
}

// Every kind in forms of large tensors: rows that end within a tile and with one, along memory and across it.
TEST_P(RowGradientTest, SplitRows) {
  int turn = 0;
  for (const kernels::SplitForm& form : kSplitForms) {
    for (const Kind kind : {Kind::dense, Kind::transposed}) {
      for (const std::int64_t n : {5000, 4999, 4096}) {
        for (const int what : {0, 1, 2, 3}) {
          if (turn++ % 3) continue;  // every third
          const DType type = turn % 2 ? DType::f32 : DType::f16;
          const Shape shape{11, n};
          const View x = view_of(type, shape, kind, normal(3, 0.3, 2)), g = view_of(type, shape, kind, normal(4)),
                     scale = view_of(DType::f32, {n}, Kind::dense, normal(5));
          run_both(
              device, std::array{x, g, scale}, std::array{output(type, shape, kind)},
              [&](Stream& s, auto in, auto out) {
                const auto gradient =
                    what < 2 ? kernels::make_softmax_gradient(what == 1, in[0], in[1], out[0], 1)
                             : kernels::make_layer_norm_gradient(in[0], in[1], in[2], out[0], 1, 1e-2f, what == 2);
                s.gpu()     ? kernels::row_gradient_split_rows(s, gradient, form)
                : what == 0 ? kernels::softmax_gradient(s, in[0], in[1], out[0], 1)
                : what == 1 ? kernels::log_softmax_gradient(s, in[0], in[1], out[0], 1)
                : what == 2 ? kernels::layer_norm_gradient(s, in[0], in[1], in[2], out[0], 1, 1e-2f)
                            : kernels::rms_norm_gradient(s, in[0], in[1], in[2], out[0], 1, 1e-2f);
              },
              {.ulp = 1, .absolute = what < 2 ? 2e-2 : 2e-4, .relative = 1e-4},
              std::format("gradient {}, form of {} threads: {}", what, form.threads, weft::to_string(x)));
        }
      }
    }
  }
}

// As of whole rows, in splits of one tile and of several.
TEST_P(RowGradientTest, LargeMeansOfSplitRows) {
  const auto value = [](std::int64_t i) { return 4096.0 + static_cast<double>(i * 7919 % 64) / 8; };
  const View x = view_of(DType::f32, {4, 70000}, Kind::dense, value),
             g = view_of(DType::f32, {4, 70000}, Kind::dense, normal(2));
  for (const kernels::SplitForm& form :
       {kernels::SplitForm{.look_back = true}, {.tiles_per_split = 1}, {.tiles_per_split = 4}}) {
    run_both(
        device, std::array{x, g}, std::array{output(DType::f32, {4, 70000})},
        [&](Stream& s, auto in, auto out) {
          if (s.cpu()) return kernels::layer_norm_gradient(s, in[0], in[1], {}, out[0], 1, 1e-3f);
          kernels::row_gradient_split_rows(
              s, kernels::make_layer_norm_gradient(in[0], in[1], {}, out[0], 1, 1e-3f, true), form);
        },
        {.absolute = 1e-5, .relative = 1e-4}, std::format("tiles {}", form.tiles_per_split));
  }
}

// In the place of x or of g, twice; late splits, whose tiles the fallback finishes.
TEST_P(RowGradientTest, SplitRowsInPlace) {
  kernels::SplitForm late{.threads = 64, .register_steps = 3, .interleave = 4, .look_back = true, .spin_limit = 2};
  late.late = true;
  for (const kernels::SplitForm& form : {kSplitForms[5], kSplitForms[3], late}) {
    for (const std::size_t shared : {0, 1}) {
      if (form.late && shared) continue;  // each turn takes seconds
      const View x = view_of(DType::f32, {4, 5000}, Kind::dense, normal(1)),
                 g = view_of(DType::f32, {4, 5000}, Kind::dense, normal(2));
      const std::array in{x, g};
      run_both(
          device, in, std::array{in[shared]},
          [&](Stream& s, auto i, auto out) {
            for (int turn = 0; turn < (form.late ? 1 : 2); ++turn) {
              if (s.cpu()) {
                kernels::layer_norm_gradient(s, i[0], i[1], {}, out[0], 1, 1e-2f);
                continue;
              }
              kernels::row_gradient_split_rows(
                  s, kernels::make_layer_norm_gradient(i[0], i[1], {}, out[0], 1, 1e-2f, true), form);
            }
          },
          {.absolute = 1e-3, .relative = 1e-3}, std::format("in place of operand {}", shared));
    }
  }
}

// Gradients with those of weights.
struct WeightCase {
  Norm norm;
  Shape shape;
  int axis = 1;
  std::int64_t groups = 1;
  Kind kind = Kind::dense;
  DType type = DType::f32;

  bool of_rows() const { return norm == Norm::layer || norm == Norm::rms; }
  Shape weights() const { return of_rows() ? Shape(std::span(shape.begin() + axis, shape.end())) : Shape{shape[axis]}; }
  // Of x, the cotangent and the scale.
  std::vector<View> inputs(const ValueOf& x) const {
    return {view_of(type, shape, kind, x), view_of(type, shape, kind, normal(12)),
            view_of(type, weights(), Kind::dense, normal(13, 1, 0.5))};
  }
  std::vector<View> outputs() const {
    std::vector<View> all{output(type, shape, kind), output(DType::f32, weights())};
    if (norm != Norm::rms) all.push_back(output(DType::f32, weights()));
    return all;
  }
  std::string what() const { return std::format("norm {}: {}", static_cast<int>(norm), weft::to_string(outputs()[0])); }
};

// Rows of all lengths, more of them than slots of threads; channels that are rows, segments of rows, and neither.
TEST_P(RowGradientTest, Weights) {
  const std::vector<WeightCase> cases = {
      {Norm::layer, {700, 1}},
      {Norm::layer, {2000, 3}},
      {Norm::layer, {1, 16}},
      {Norm::layer, {0, 16}},
      {Norm::layer, {16, 0}},
      {Norm::rms, {1500, 64}},
      {Norm::layer, {1501, 64}},
      {Norm::rms, {701, 65}},
      {Norm::layer, {9, 30, 5, 7}, 2},
      {Norm::layer, {300, 384}, 1, 1, Kind::dense, DType::f16},
      {Norm::rms, {300, 385}, 1, 1, Kind::offset, DType::bf16},
      {Norm::layer, {40, 4096}},
      {Norm::layer, {9, 8188}},
      {Norm::rms, {9, 8192}, 1, 1, Kind::reversed},
      {Norm::layer, {9, 8193}},
      {Norm::rms, {3, 9000}},
      {Norm::layer, {130, 40}, 1, 1, Kind::transposed},
      {Norm::rms, {130, 40}, 1, 1, Kind::sliced},
      {Norm::instance, {5, 7, 64}},
      {Norm::instance, {3, 4, 9, 15}},
      {Norm::instance, {3, 4, 1}},
      {Norm::instance, {3, 4}},
      {Norm::instance, {0, 4, 9}},
      {Norm::instance, {2, 3, 64, 64}, 1, 1, Kind::dense, DType::f16},
      {Norm::instance, {2, 3, 8192}},
      {Norm::instance, {2, 3, 100, 100}},
      {Norm::instance, {2, 3, 8209}},  // a prime
      {Norm::instance, {2, 9, 5, 6}, 1, 1, Kind::sliced},
      {Norm::instance, {4, 25, 6}, 2},
      {Norm::group, {3, 6, 5, 7}, 1, 2},
      {Norm::group, {4, 12, 64}, 1, 3, Kind::dense, DType::bf16},
      {Norm::group, {4, 12, 64}, 1, 12},
      {Norm::group, {4, 12, 64}, 1, 1, Kind::offset},
      {Norm::group, {2, 4, 120, 100}, 1, 2},
      {Norm::group, {2, 4, 8209}, 1, 2},
      {Norm::group, {2, 8, 9, 5}, 1, 4, Kind::reversed},
      {Norm::group, {2, 8, 9, 5}, 1, 4, Kind::transposed},
      {Norm::group, {4, 25, 6}, 2, 3},
  };
  for (const WeightCase& c : cases) {
    run_both(device, c.inputs(normal(11, 0.3, 2)), c.outputs(), gradients_of(c.norm, c.axis, c.groups, 1e-3f),
             {.ulp = 1, .absolute = 2e-3, .relative = 1e-4}, c.what());
  }
}

// dx of long rows in tiles that wait for each other, each of which is within a channel; twice, in the place of x or of
// its cotangent or of neither, and late tiles, which the fallback finishes.
TEST_P(RowGradientTest, WeightsByTiles) {
  kernels::SplitForm form{.threads = 64, .register_steps = 4, .look_back = true}, late = form;
  late.spin_limit = 2;
  late.late = true;
  int turn = 0;
  for (const WeightCase& c : {WeightCase{Norm::group, {3, 8, 1024}, 1, 2},
                              {Norm::group, {3, 4, 32, 64}, 1, 1},
                              {Norm::group, {3, 2, 2048}, 1, 2},
                              {Norm::group, {2, 4, 2048}, 1, 2, Kind::dense, DType::f16},
                              {Norm::group, {2, 6, 32, 16}, 1, 2, Kind::sliced}}) {
    for (const bool is_late : {false, true}) {
      const int place = turn++ % 3;
      if (is_late && place == 1) continue;  // each turn takes seconds
      for (const bool large : {false, true}) {
        const auto value = [&](std::int64_t i) { return 4096.0 + static_cast<double>(i * 7919 % 64) / 8; };
        if (large && (is_late || place || c.type != DType::f32)) continue;
        const std::vector<View> in = c.inputs(large ? ValueOf(value) : normal(11, 0.3, 2));
        std::vector<View> out = c.outputs();
        if (place < 2) out[0] = in[static_cast<std::size_t>(place)];
        run_both(
            device, in, out,
            [&](Stream& s, auto i, auto o) {
              if (s.cpu()) return gradients_of(c.norm, c.axis, c.groups, 1e-3f)(s, i, o);
              EXPECT_TRUE(kernels::group_norm_gradients_in_tiles(s, i[0], i[1], i[2], o[0], o[1], o[2], c.axis,
                                                                 c.groups, 1e-3f, is_late ? late : form));
            },
            {.ulp = 1, .absolute = 2e-3, .relative = 1e-4},
            std::format("late {}, place {}: {}", is_late, place, c.what()));
      }
    }
  }
}

const WeightCase kWeightForms[] = {
    {Norm::layer, {600, 60}},        {Norm::rms, {600, 60}},          {Norm::layer, {3, 9000}},
    {Norm::instance, {3, 4, 60}},    {Norm::instance, {3, 4, 10000}}, {Norm::group, {3, 4, 600}, 1, 2},
    {Norm::group, {3, 40, 6}, 2, 2},
};

// dx in the place of x or of its cotangent.
TEST_P(RowGradientTest, WeightsInPlace) {
  for (const WeightCase& c : kWeightForms) {
    for (const std::size_t shared : {0, 1}) {
      const std::vector<View> in = c.inputs(normal(11, 0.3, 2));
      std::vector<View> out = c.outputs();
      out[0] = in[shared];
      run_both(device, in, out, gradients_of(c.norm, c.axis, c.groups, 1e-3f), {.absolute = 2e-3, .relative = 1e-4},
               std::format("in place of operand {}: {}", shared, c.what()));
    }
  }
}

TEST_P(RowGradientTest, WeightsOfLargeMeans) {
  const auto value = [](std::int64_t i) { return 4096.0 + static_cast<double>(i * 7919 % 64) / 8; };
  for (const WeightCase& c : kWeightForms) {
    if (c.norm == Norm::rms) continue;
    run_both(device, c.inputs(value), c.outputs(), gradients_of(c.norm, c.axis, c.groups, 1e-3f),
             {.absolute = 2e-3, .relative = 1e-4}, c.what());
  }
}

// NaN of a row's last element is in that row's dx and in what the row leaves for the scale, and nowhere else.
TEST_P(RowGradientTest, WeightsOfRowsWithNaN) {
  for (const WeightCase& c : kWeightForms) {
    const std::int64_t sample = element_count(c.shape) / c.shape[0];
    const ValueOf value = normal(11, 0.3, 2);
    run_both(device, c.inputs([&](std::int64_t i) { return i == sample - 1 ? std::nan("") : value(i); }), c.outputs(),
             gradients_of(c.norm, c.axis, c.groups, 1e-3f), {.absolute = 2e-3, .relative = 1e-4}, c.what());
  }
}

// Tensors, and rows, that exceed a binding.
using RowGradientChunksOnDevice = ChunksOnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, RowGradientChunksOnDevice, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_P(RowGradientChunksOnDevice, RowsAndLongRows) {
  struct Case {
    Shape shape;
    int axis;
    Kind kind = Kind::dense;
  };
  for (const Case& c : {Case{{5, 90, 128}, 1},
                        {{5, 90, 128}, 2},
                        {{100000}, 0},
                        {{3, 40000}, 1},
                        {{30000, 4}, 0},
                        {{30, 701, 40}, 1},
                        {{40, 701, 30}, 1, Kind::transposed},
                        {{3, 40000}, 0}}) {
    for (const DType type : {DType::f32, DType::f16}) {
      const View x = random_view(rng, c.shape, type, c.kind), g = random_view(rng, c.shape, type, c.kind),
                 y = random_view(rng, c.shape, type, c.kind);
      const auto n = static_cast<double>(c.shape[c.axis]);
      const std::string what = std::format("{}, axis {}", weft::to_string(x), c.axis);
      for (const bool log : {false, true}) {
        both({x, g}, {y},
             [&](Stream& s, auto in, auto out) {
               const auto run = log ? kernels::log_softmax_gradient : kernels::softmax_gradient;
               run(s, in[0], in[1], out[0], c.axis);
             },
             {.ulp = 1, .absolute = 1e-3 * std::sqrt(n), .relative = 1e-4});
      }
      Shape weights(std::span(c.shape.begin() + c.axis, c.shape.end()));
      const View scale = random_view(rng, weights, DType::f32);
      both({x, g, scale}, {y},
           [&](Stream& s, auto in, auto out) {
             kernels::layer_norm_gradient(s, in[0], in[1], in[2], out[0], c.axis, 1e-2f);
           },
           {.ulp = 1, .absolute = 2e-4, .relative = 1e-4});
      both({x, g, scale}, {y},
           [&](Stream& s, auto in, auto out) {
             kernels::rms_norm_gradient(s, in[0], in[1], in[2], out[0], c.axis, 1e-2f);
           },
           {.ulp = 1, .absolute = 2e-4, .relative = 1e-4});
    }
  }
}

TEST_P(RowGradientChunksOnDevice, Weights) {
  for (const DType type : {DType::f32, DType::f16}) {
    for (const WeightCase& c : {WeightCase{Norm::layer, {5, 90, 128}, 2},
                                {Norm::rms, {5, 90, 128}, 2},
                                {Norm::layer, {3, 40000}},
                                {Norm::layer, {30000, 4}},
                                {Norm::instance, {20, 30, 128}},
                                {Norm::instance, {2, 3, 40000}},
                                {Norm::group, {20, 30, 128}, 1, 3},
                                {Norm::group, {30, 128, 20}, 2, 4}}) {
      WeightCase typed = c;
      typed.type = type;
      both(typed.inputs(normal(11, 0.3, 2)), typed.outputs(), gradients_of(c.norm, c.axis, c.groups, 1e-2f),
           {.ulp = 1, .absolute = 5e-3, .relative = 1e-4});
    }
  }
}

TEST(RowGradientArguments, AreCheckedWithWeights) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 6}), g = output(DType::f32, {2, 6}), dx = output(DType::f32, {2, 6}),
             scale = output(DType::f32, {6}), dscale = output(DType::f32, {6}), dbias = output(DType::f32, {6});
  const View five = output(DType::f32, {5}), integers = output(DType::i32, {6});
  const auto layer = [&](const View& to, const View& of_scale, const View& of_bias) {
    kernels::layer_norm_gradients(executor, x, g, scale, to, of_scale, of_bias, 1, 1e-5f);
  };
  EXPECT_NO_THROW(layer(dx, dscale, dbias));
  EXPECT_NO_THROW(layer(x, dscale, dbias));
  EXPECT_NO_THROW(layer(g, dscale, dbias));
  EXPECT_THROW(layer(dx, five, dbias), InvalidArgument);
  EXPECT_THROW(layer(dx, dscale, five), InvalidArgument);
  EXPECT_THROW(layer(dx, integers, dbias), InvalidArgument);
  // Gradients of weights that overlap each other, dx, or what is read.
  const auto row_of = [](View v) {
    v.layout = Layout::dense({6});
    return v;
  };
  View part = output(DType::f32, {10}), later = part;
  part.layout = later.layout = Layout::dense({6});
  later.offset += 16;
  EXPECT_THROW(layer(dx, dscale, dscale), InvalidArgument);
  EXPECT_THROW(layer(dx, part, later), InvalidArgument);
  EXPECT_THROW(layer(dx, row_of(dx), dbias), InvalidArgument);
  EXPECT_THROW(layer(dx, dscale, row_of(dx)), InvalidArgument);
  EXPECT_THROW(layer(dx, scale, dbias), InvalidArgument);
  EXPECT_THROW(layer(dx, dscale, row_of(x)), InvalidArgument);
  EXPECT_THROW(layer(dx, row_of(g), dbias), InvalidArgument);
  EXPECT_THROW(layer(row_of(dx), dscale, dbias), InvalidArgument);
  EXPECT_THROW(layer(dx, scale.broadcast_to({1, 6}), dbias), InvalidArgument);
  EXPECT_THROW(layer(dx, dscale.with_layout({Shape{6}, Strides{0}}), dbias), InvalidArgument);
  EXPECT_THROW(kernels::rms_norm_gradients(executor, x, g, scale, dx, dscale, 2, 1e-5f), InvalidArgument);
  EXPECT_THROW(kernels::rms_norm_gradients(executor, x, g, scale, dx, dscale, 1, -1), InvalidArgument);
  EXPECT_THROW(kernels::group_norm_gradients(executor, x, g, scale, dx, dscale, dbias, 1, 0, 1e-5f), InvalidArgument);
  EXPECT_THROW(kernels::group_norm_gradients(executor, x, g, scale, dx, dscale, dbias, 1, 4, 1e-5f), InvalidArgument);
  EXPECT_THROW(kernels::instance_norm_gradients(executor, x, g, scale, dx, dscale, dbias, 0, 1e-5f), InvalidArgument);
  EXPECT_THROW(kernels::instance_norm_gradients(executor, x, g, five, dx, five, dbias, 1, 1e-5f), InvalidArgument);
}

TEST(RowGradientArguments, AreChecked) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 6}), other = output(DType::f32, {2, 5}), six = output(DType::f32, {6});
  const View integers = output(DType::i32, {2, 6});
  EXPECT_NO_THROW(kernels::softmax_gradient(executor, x, x, x, 1));
  EXPECT_THROW(kernels::softmax_gradient(executor, x, other, x, 1), InvalidArgument);
  EXPECT_THROW(kernels::softmax_gradient(executor, x, integers, x, 1), InvalidArgument);
  EXPECT_THROW(kernels::softmax_gradient(executor, x, x, other, 1), InvalidArgument);
  EXPECT_THROW(kernels::log_softmax_gradient(executor, x, x, x, 2), InvalidArgument);
  EXPECT_NO_THROW(kernels::layer_norm_gradient(executor, x, x, six, x, 1, 1e-5f));
  EXPECT_THROW(kernels::layer_norm_gradient(executor, x, x, other, x, 1, 1e-5f), InvalidArgument);
  EXPECT_THROW(kernels::rms_norm_gradient(executor, x, x, six, x, 1, -1), InvalidArgument);
  EXPECT_THROW(kernels::group_norm_gradient(executor, x, x, six, x, 1, 0, 1e-5f), InvalidArgument);
  EXPECT_THROW(kernels::group_norm_gradient(executor, x, x, six, x, 1, 4, 1e-5f), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
