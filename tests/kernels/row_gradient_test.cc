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
