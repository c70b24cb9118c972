// Layer, RMS, group, instance and batch norm.
#include <limits>

#include "cpu/executor.h"
#include "kernels/norm/row_norm.h"
#include "kernels/operands.h"
#include "kernels/split_form.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/norm.h"

namespace weft::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// Results are of the order of 1: deviations have errors of a few ULP, and the error of the mean is corrected. A narrow
// result is rounded once more, perhaps to the other neighbour.
constexpr Tolerance kNormTolerance{.ulp = 1, .absolute = 4e-6, .relative = 1e-5};

enum class Form { rms, group, instance, batch, layer };
constexpr const char* kForms[] = {"rms_norm", "group_norm", "instance_norm", "batch_norm", "layer_norm"};

struct Norm {
  Form form = Form::layer;
  Shape shape;
  int axis = 1;  // the first of a row's (layer, rms), or the channels'
  std::int64_t groups = 1;
  bool scale = true, bias = true;
  DType x = DType::f32, weight = DType::f32, y = DType::f32;
  std::optional<DType> bias_type;  // if it differs from the scale's
  Kind x_kind = Kind::dense, weight_kind = Kind::dense, y_kind = Kind::dense;
  std::optional<Kind> bias_kind;
  float epsilon = 1e-5f;
  ValueOf value = normal(3, 0.3, 2), scale_value = normal(5, 1, 0.3), bias_value = normal(6, 0, 0.3);
  Tolerance tolerance = kNormTolerance;
  std::optional<kernels::SplitForm> splits;
  std::optional<kernels::RowForm> whole;
};

void in_form(Stream& s, const kernels::RowNorm& norm, const std::optional<kernels::SplitForm>& splits,
             const std::optional<kernels::RowForm>& whole) {
  if (!splits) return kernels::row_norm_in_form(s, norm, *whole);
  const kernels::SplitForm& form = *splits;
  kernels::row_norm_split_rows(s, norm, form);
}

Problem problem_of(Norm c) {
  const int axis = c.axis < 0 ? c.axis + c.shape.rank() : c.axis;
  Shape weights{c.shape[axis]};
  if (c.form == Form::layer || c.form == Form::rms) weights = Shape(std::span(c.shape.begin() + axis, c.shape.end()));
  if (c.form == Form::rms) c.bias = false;
  Problem p;
  p.inputs = {view_of(c.x, c.shape, c.x_kind, c.value)};
  if (c.form == Form::batch) {
    p.inputs.push_back(view_of(c.weight, weights, c.weight_kind, normal(7)));
    p.inputs.push_back(
        view_of(c.weight, weights, c.weight_kind, [](std::int64_t i) { return 0.5 + static_cast<double>(i % 7); }));
  }
  const std::size_t first = p.inputs.size();
  if (c.scale) p.inputs.push_back(view_of(c.weight, weights, c.weight_kind, c.scale_value));
  if (c.bias) {
    const DType type = c.bias_type.value_or(c.weight);
    p.inputs.push_back(view_of(type, weights, c.bias_kind.value_or(c.weight_kind), c.bias_value));
  }
  p.outputs = {output(c.y, c.shape, c.y_kind)};
  p.tolerance = c.tolerance;
  p.what = std::format("{} at axis {}, {} groups: {}, scale {}, bias {}", kForms[static_cast<int>(c.form)], c.axis,
                       c.groups, weft::to_string(p.inputs[0]), c.scale, c.bias);
  const auto scale_of = [c, first](auto in) { return c.scale ? std::optional(in[first]) : std::nullopt; };
  const auto bias_of = [c, first](auto in) {
    return c.bias ? std::optional(in[first + (c.scale ? 1 : 0)]) : std::nullopt;
  };
  if ((c.splits || c.whole) && c.form != Form::batch) {
    p.form = [=](Stream& s, auto in, auto out) {
      const char* name = kForms[static_cast<int>(c.form)];
      const kernels::RowViews views = kernels::row_views(name, in[0], out[0]);
      const std::int64_t groups = c.form == Form::group ? c.groups : -1;
      const auto scale = scale_of(in), bias = bias_of(in);
      const kernels::RowNorm norm =
          c.form == Form::layer ? kernels::make_layer_norm(views, scale, bias, c.axis, c.epsilon)
          : c.form == Form::rms ? kernels::make_rms_norm(views, scale, c.axis, c.epsilon)
                                : kernels::make_group_norm(name, views, scale, bias, c.axis, groups, c.epsilon);
      in_form(s, norm, c.splits, c.whole);
    };
  }
  p.call = [=](Stream& s, auto in, auto out) {
    const auto scale = scale_of(in), bias = bias_of(in);
    switch (c.form) {
      case Form::layer:
        return kernels::layer_norm(s, in[0], scale, bias, out[0], c.axis, c.epsilon);
      case Form::rms:
        return kernels::rms_norm(s, in[0], scale, out[0], c.axis, c.epsilon);
      case Form::group:
        return kernels::group_norm(s, in[0], scale, bias, out[0], c.axis, c.groups, c.epsilon);
      case Form::instance:
        return kernels::instance_norm(s, in[0], scale, bias, out[0], c.axis, c.epsilon);
      case Form::batch:
        return kernels::batch_norm(s, in[0], in[1], in[2], scale, bias, out[0], c.axis, c.epsilon);
    }
  };
  return p;
}

class NormTest : public testing::TestWithParam<std::string> {
 protected:
  void check(const Norm& c) { run(problem_of(c)); }
  void run(const Problem& p) { run_both(device, p.inputs, p.outputs, p.drawn(), p.tolerance, p.what); }
  gpu::Device& device = test::device(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, NormTest, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

using LayerNormTest = NormTest;
INSTANTIATE_TEST_SUITE_P(Devices, LayerNormTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

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
      check({.shape = {4, 5, 8}, .axis = x == Kind::sliced ? 1 : 2, .x_kind = x, .weight_kind = y, .y_kind = y});
    }
  }
  for (Kind weight : {Kind::offset, Kind::reversed, Kind::broadcast}) {
    check({.shape = {3, 4, 8}, .weight_kind = weight});
  }
}

TEST_P(LayerNormTest, EveryAxis) {
  for (int axis = 0; axis <= 3; ++axis) {
    check({.shape = {4, 6, 12}, .axis = axis, .y_kind = Kind::transposed, .epsilon = 0.1f});
  }
}

TEST_P(LayerNormTest, RowLengths) {
  for (std::int64_t n : {1, 2, 3, 31, 32, 33, 384, 1023, 1024, 1025, 20000}) {
    check({.shape = {3, n}});
  }
  check({.shape = {70000, 7}});
  check({.shape = {1, 1000000}});
}

constexpr Tolerance kFar{.ulp = 1, .absolute = 1e-4, .relative = 1e-5};

// A mean that is a million deviations large. f32 numbers are 2^-10 apart there. The results must match the exact
// moments of those numbers to 1e-4 of the deviation: the mean of n values is accurate to 2^-24 · sqrt(n), and each
// difference is exact.
TEST_P(LayerNormTest, LargeMean) {
  for (std::int64_t n : {64, 61, 1024, 20000, 300001}) {
    check({.shape = {3, n}, .epsilon = 0, .value = normal(4, 1e4, 1e-2), .tolerance = kFar});
  }
  check({.shape = {300, 64},
         .axis = 1,
         .x_kind = Kind::transposed,
         .epsilon = 0,
         .value = normal(4, 1e4, 1e-2),
         .tolerance = kFar});
}

// The first element is far from all others, so that shifting the row by it alone would lose their digits.
TEST_P(LayerNormTest, OutlierFirst) {
  for (std::int64_t n : {64, 1024, 20000, 300000}) {
    auto rest = normal(9);
    check({.shape = {2, n},
           .scale = false,
           .bias = false,
           .value = [rest, n](std::int64_t i) { return i % n ? rest(i) : 1e4; },
           .tolerance = kFar});
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

TEST_P(NormTest, WithAndWithoutWeights) {
  for (bool scale : {false, true}) {
    for (bool bias : {false, true}) {
      check({.form = Form::group, .shape = {2, 12, 40}, .groups = 3, .scale = scale, .bias = bias});
      check({.form = Form::group, .shape = {2, 6, 7}, .groups = 2, .scale = scale, .bias = bias});
      check({.form = Form::instance, .shape = {2, 6, 5, 8}, .scale = scale, .bias = bias});
      check({.form = Form::batch, .shape = {2, 6, 40}, .scale = scale, .bias = bias});
      check({.form = Form::rms, .shape = {6, 40}, .scale = scale});
      check({.form = Form::rms, .shape = {2, 20000}, .scale = scale});
    }
  }
}

TEST_P(NormTest, ChannelAxes) {
  for (int axis = 1; axis < 4; ++axis) {
    for (Kind kind : {Kind::dense, Kind::transposed}) {
      for (Form form : {Form::group, Form::instance, Form::batch}) {
        check({.form = form, .shape = {3, 8, 4, 12}, .axis = axis, .groups = 4, .x_kind = kind, .y_kind = kind});
        check({.form = form,
               .shape = {2, 8, 4, 4},
               .axis = axis - 4,
               .groups = 2,
               .weight_kind = Kind::reversed,
               .y_kind = kind});
      }
      check({.form = Form::rms, .shape = {3, 8, 4, 12}, .axis = axis, .x_kind = kind});
    }
  }
  check({.form = Form::batch, .shape = {6, 5}, .axis = 0});
  check({.form = Form::instance, .shape = {2, 1, 2, 1, 3, 1, 2, 4}, .axis = 6});
}

TEST_P(NormTest, Types) {
  for (DType type : {DType::f16, DType::bf16}) {
    for (Form form : {Form::rms, Form::group, Form::batch}) {
      check({.form = form, .shape = {3, 8, 12}, .groups = 2, .x = type, .weight = type, .y = type});
      check({.form = form, .shape = {3, 8, 12}, .groups = 2, .x = type, .weight = DType::f32, .y = DType::f32});
      check({.form = form, .shape = {3, 9, 5}, .groups = 3, .x = DType::f32, .weight = type, .y = type});
    }
  }
}

// Splitting the channels into groups adds a ninth axis, so two axes of a row must be merged into one.
TEST_P(NormTest, RankEight) {
  for (const Kind kind : {Kind::dense, Kind::offset}) {
    check({.form = Form::group, .shape = {2, 6, 1, 2, 3, 1, 2, 3}, .groups = 3, .x_kind = kind, .y_kind = kind});
    check({.form = Form::group, .shape = {2, 2, 3, 2, 1, 2, 4, 3}, .axis = 6, .groups = 2, .x_kind = kind});
    check({.form = Form::group, .shape = {2, 2, 1, 2, 1, 2, 1, 4}, .axis = -1, .groups = 2, .y_kind = kind});
  }
  Rng rng(1);
  cpu::Executor executor;
  const View x = random_view(rng, {2, 4, 2, 2, 2, 2, 2, 2}, DType::f32, Kind::transposed);
  const View y = random_view(rng, x.shape(), DType::f32);
  EXPECT_THROW(kernels::group_norm(executor, x, {}, {}, y, 1, 2, 1e-5f), Unsupported);
}

TEST_P(NormTest, Sizes) {
  for (std::int64_t n : {1, 3, 33, 1024, 20000}) {
    check({.form = Form::rms, .shape = {3, n}});
    check({.form = Form::instance, .shape = {2, 3, n}});
    check({.form = Form::group, .shape = {2, 4, n}, .groups = 2});
    check({.form = Form::group, .shape = {2, n, 8}, .axis = 2, .groups = 2});
    check({.form = Form::instance, .shape = {1, n, 8}, .axis = 2});
  }
  check({.form = Form::instance, .shape = {20000, 4, 8}});
}

TEST_P(NormTest, LargeMeanAndSpecialValues) {
  check({.form = Form::group,
         .shape = {2, 4, 5000},
         .groups = 2,
         .epsilon = 0,
         .value = normal(4, 1e4, 1e-2),
         .tolerance = {.absolute = 1e-3}});
  for (Form form : {Form::rms, Form::group, Form::batch}) {
    check({.form = form, .shape = {4, 2, 16}, .groups = 2, .scale = false, .bias = false, .value = [](std::int64_t i) {
             const std::int64_t row = i / 32, j = i % 32;
             if (row == 0) return j == 3 ? kNaN : 1.0;
             if (row == 1) return j == 30 ? kInf : 1.0;
             return row == 2 ? 0.0 : -5.0;
           }});
  }
  for (Form form : {Form::rms, Form::group, Form::instance, Form::batch}) check({.form = form, .shape = {0, 4, 5}});
}

// NaN and infinity in weights that differ along a row, in weights that do not, and in x.
TEST_P(NormTest, NaNAndInfiniteWeights) {
  const kernels::SplitForm form{.threads = 64, .register_steps = 4, .interleave = 4, .look_back = true};
  const auto some = [](std::int64_t i) { return i % 61 == 7 ? kNaN : i % 61 == 9 ? kInf : 1.0 + 0.01 * (i % 5); };
  const auto usual = normal(6, 0, 0.3);
  for (const DType type : {DType::f16, DType::bf16}) {
    for (int which = 0; which < 4; ++which) {
      Norm norm{.form = Form::group,
                .shape = {2, 3000, 64},
                .axis = 2,
                .groups = 4,
                .x = type,
                .weight = type,
                .y = type,
                .splits = form};
      if (which == 0) norm.scale_value = some;
      if (which == 1) norm.bias_value = some;
      if (which == 2) norm.scale = false, norm.bias_value = some;
      if (which == 3) norm.bias = false, norm.scale_value = some;
      check(norm);
      norm.form = Form::instance;
      check(norm);
      norm = {.form = Form::rms,
              .shape = {2, 16384},
              .axis = 1,
              .x = type,
              .weight = type,
              .y = type,
              .value = which == 3 ? ValueOf([=](std::int64_t i) { return i == 5 ? kInf : usual(i); }) : usual,
              .scale_value = which == 0 ? usual : ValueOf(some),
              .splits = form};
      check(norm);
      // Rows that are not split, along and across memory.
      norm.splits = std::nullopt;
      for (const std::int64_t n : {96, 1024, 8192}) {
        norm.shape = {5, n};
        check(norm);
      }
      norm = {.form = Form::group,
              .shape = {2, 8, 600},
              .groups = 4,
              .x = type,
              .weight = type,
              .y = type,
              .epsilon = which == 2 ? 0.0f : 1e-5f,
              .value = [=](std::int64_t i) { return i / 1200 == 3 ? 0.0 : usual(i); }};
      if (which == 1) norm.scale_value = some;
      if (which == 3) norm.bias_value = some;
      check(norm);
      norm.shape = {2, 300, 64};
      norm.axis = 2;
      check(norm);
    }
  }
}

// NaN with all mantissa bits set, which rounding without a test would turn into -0, and infinities.
TEST_P(NormTest, NaNAndInfiniteRows) {
  const kernels::SplitForm form{.threads = 64, .register_steps = 4, .interleave = 4, .look_back = true};
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const bool infinite : {false, true}) {
      for (const bool weights : {false, true}) {
        for (const auto& [norm, shape, axis, splits] : {std::tuple{Form::group, Shape{2, 8, 60}, 1, false},
                                                        {Form::group, {2, 8, 6000}, 1, true},
                                                        {Form::group, {2, 3000, 64}, 2, true},
                                                        {Form::group, {2, 300, 64}, 2, false},
                                                        {Form::instance, {2, 3000, 64}, 2, true},
                                                        {Form::rms, {4, 1024}, 1, false},
                                                        {Form::rms, {2, 16384}, 1, true}}) {
          Norm n{.form = norm,
                 .shape = shape,
                 .axis = axis,
                 .groups = 4,
                 .scale = weights,
                 .bias = weights,
                 .x = type,
                 .weight = DType::bf16,
                 .y = DType::bf16};
          if (splits) n.splits = form;
          const Problem p = problem_of(n);
          const unsigned all = type == DType::f32 ? 0x7fffffff : 0x7fff;
          const unsigned infinity = type == DType::f32 ? 0x7f800000 : type == DType::f16 ? 0x7c00 : 0x7f80;
          set_element_bits(p.inputs[0], p.inputs[0].count() / 3, infinite ? infinity : all);
          run(p);
        }
      }
    }
  }
}

// bf16 in place gives the same bits as into another tensor, also where some weights are NaN.
TEST_P(NormTest, InPlace) {
  const kernels::SplitForm form{.threads = 64, .register_steps = 4, .interleave = 4, .look_back = true};
  const View host = view_of(DType::bf16, {2, 16384}, Kind::dense, normal(3, 0.3, 2));
  const View scale = to_device(device, view_of(DType::bf16, {16384}, Kind::dense, [](std::int64_t i) {
                                 return i % 1000 == 7 ? kNaN : 1.0 + 0.01 * static_cast<double>(i % 5);
                               }));
  const auto norm = [&](const View& x, const View& y) {
    gpu::Encoder encoder(device);
    const kernels::RowNorm n = kernels::make_rms_norm(kernels::row_views("rms_norm", x, y), scale, 1, 1e-5f);
    in_form(encoder, n, form, {});
    encoder.submit();
    return values(to_host(device, y));
  };
  const View x = to_device(device, host), y = to_device(device, host);
  const std::vector<double> apart = norm(x, y), in_place = norm(x, x);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    ASSERT_EQ(std::isnan(apart[i]), i % 16384 % 1000 == 7) << i;
    if (!std::isnan(apart[i])) {
      ASSERT_EQ(apart[i], in_place[i]) << i;
    } else {
      ASSERT_TRUE(std::isnan(in_place[i])) << i;
    }
  }
  // y overwrites its own weights.
  const View row = view_of(DType::bf16, {64}, Kind::dense, normal(3, 0.3, 2));
  const View own = to_device(device, view_of(DType::bf16, {64}, Kind::dense, [](std::int64_t i) {
                               return i == 4 ? kNaN : 1.0 + 0.01 * static_cast<double>(i % 5);
                             }));
  const auto scaled = [&](const View& to) {
    gpu::Encoder encoder(device);
    kernels::rms_norm(encoder, to_device(device, row), own, to, 0, 1e-5f);
    encoder.submit();
    return to_host(device, to);
  };
  const View beside = scaled(to_device(device, row)), over = scaled(own);
  expect_close(over, beside, {}, "over its weights");
}

TEST_P(NormTest, SplitRows) {
  for (const kernels::SplitForm& form : kSplitForms) {
    for (Form norm : {Form::rms, Form::group, Form::instance}) {
      if (form.register_steps % 2 == static_cast<std::uint32_t>(norm) % 2)
        check({.form = norm, .shape = {3, 8, 5000}, .groups = 2, .splits = form});
      if (norm != Form::instance)
        check({.form = norm,
               .shape = {2, 4999, 6},
               .axis = norm == Form::rms ? 1 : 2,
               .groups = 3,
               .scale = false,
               .splits = form});
      check({.form = norm,
             .shape = {2, 3000, 32},
             .axis = norm == Form::rms ? 1 : 2,
             .groups = 4,
             .bias = false,
             .x = DType::f16,
             .y = DType::bf16,
             .splits = form});
    }
    // Rows of whole tiles.
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      if (!form.look_back) break;
      check({.form = Form::group, .shape = {2, 8, 4096}, .groups = 2, .x = type, .y = type, .splits = form});
      check({.form = Form::instance,
             .shape = {2, 4096, 32},
             .axis = 2,
             .bias = false,
             .x = type,
             .y = type,
             .splits = form});
    }
    check({.form = Form::group,
           .shape = {2, 4, 5000},
           .groups = 2,
           .epsilon = 0,
           .value = normal(4, 1e4, 1e-2),
           .tolerance = {.absolute = 1e-3},
           .splits = form});
    for (Form norm : {Form::rms, Form::group}) {
      check({.form = norm,
             .shape = {4, 2, 1600},
             .groups = 2,
             .scale = false,
             .bias = false,
             .value =
                 [](std::int64_t i) {
                   const std::int64_t row = i / 3200, j = i % 3200;
                   if (row == 0) return j % 1600 == 3 ? kNaN : 1.0;
                   if (row == 1) return j % 1600 == 1500 ? kInf : 1.0;
                   return row == 2 ? 0.0 : -5.0;
                 },
             .splits = form});
    }
  }
}

TEST_P(NormTest, FormsOfWholeRows) {
  constexpr kernels::RowForm kForms[] = {{.threads_per_row = 64, .interleave = 2, .register_steps = 8},
                                         {.threads_per_row = 16, .interleave = 1, .register_steps = 0}};
  // A thread stays at one position along an axis of the row for the same number of steps as all others.
  for (const Kind kind : {Kind::dense, Kind::transposed}) {
    check({.form = Form::group,
           .shape = {3, 4, 256},
           .groups = 2,
           .x_kind = kind,
           .y_kind = kind,
           .whole = kernels::RowForm{16, 1, 32}});
    // Pairs of 16-bit elements stay packed in registers.
    for (const DType type : {DType::f16, DType::bf16}) {
      check({.form = Form::group,
             .shape = {3, 4, 1024},
             .groups = 2,
             .x = type,
             .y = type,
             .x_kind = kind,
             .y_kind = kind,
             .whole = kernels::RowForm{16, 1, 32}});
      check({.form = Form::rms, .shape = {3, 1020}, .x = type, .y = DType::f32, .whole = kernels::RowForm{32, 1, 8}});
    }
  }
  for (const kernels::RowForm& form : kForms) {
    for (const auto& [shape, kind] :
         {std::pair{Shape{3, 2, 1200}, Kind::dense}, {Shape{4, 2, 1200}, Kind::transposed}}) {
      for (Form norm : {Form::rms, Form::group}) {
        check({.form = norm, .shape = shape, .groups = 2, .x_kind = kind, .y_kind = kind, .whole = form});
      }
    }
  }
}

// Rows of 16-bit elements that start and end within a 32-bit word, the other half of which is another row's.
TEST_P(NormTest, UnalignedRows) {
  const Tolerance tolerance{.ulp = 1, .absolute = 1e-6, .relative = 1e-5};
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const std::int64_t n : {1, 2, 3, 5, 6, 7, 10, 33, 50, 77, 197, 258, 1001, 2047}) {
      const Kind x_kind = n % 2 == 0 ? Kind::offset : Kind::dense, y_kind = n % 3 ? x_kind : Kind::offset;
      const Shape shape{12, n};
      const View scale = view_of(DType::f32, {n}, Kind::dense, normal(1));
      const View bias = view_of(type, {n}, Kind::offset, normal(2));
      const std::string what = std::format("{} rows of {}", name(type), n);
      const View values = view_of(type, shape, x_kind, normal(5, 3));
      run_both(
          device, std::array{values, scale, bias}, std::array{output(type, shape, y_kind)},
          [&](Stream& s, auto in, auto out) { kernels::layer_norm(s, in[0], in[1], in[2], out[0], 1, 1e-5f); },
          tolerance, what + ", layer norm");
      run_both(
          device, std::array{values, bias}, std::array{output(type, shape, y_kind)},
          [&](Stream& s, auto in, auto out) { kernels::rms_norm(s, in[0], in[1], out[0], 1, 1e-5f); }, tolerance,
          what + ", rms norm");
    }
  }
}

// Split columns of 16-bit elements, loaded as packed pairs: in place, backwards, and with x and y in one buffer.
TEST_P(NormTest, InstanceNormOfPackedPairsInPlaceAndBackwards) {
  const kernels::SplitForm form{.threads = 64, .register_steps = 3, .interleave = 4, .look_back = true};
  const auto norm = [&](Stream& s, auto in, auto out) {
    if (!s.gpu()) return kernels::instance_norm(s, in[0], {}, {}, out[0], 2, 1e-5f);
    const kernels::RowViews views = kernels::row_views("instance_norm", in[0], out[0]);
    in_form(s, kernels::make_group_norm("instance_norm", views, {}, {}, 2, -1, 1e-5f), form, {});
  };
  const Shape shape{1, 400, 48};
  for (const DType type : {DType::f16, DType::bf16}) {
    const auto both = [&](const View& x, const View& y, const std::string& what) {
      run_both(device, std::array{x}, std::array{y}, norm, kNormTolerance, what);
    };
    const View x = view_of(type, shape, Kind::dense, normal(4)), y = output(type, shape);
    both(x, x, "in place");
    both(kernels::slice(x, 1, -1, kernels::kToEnd, -1), y, "backwards");
    both(x, kernels::slice(y, 1, -1, kernels::kToEnd, -1), "to backwards");
    // x and y in one buffer, against y in one of its own.
    gpu::Encoder encoder(device);
    const std::uint64_t bytes = 400 * 48 * 2;
    const Buffer two = device.allocate(2 * bytes), one = device.allocate(bytes);
    const View from(two, 0, type, shape), beside(two, bytes, type, shape), alone(one, 0, type, shape);
    kernels::copy(encoder, to_device(device, x), from);
    for (const View& to : {beside, alone}) norm(encoder, std::array{from}, std::array{to});
    encoder.submit();
    expect_close(to_host(device, beside), to_host(device, alone), {});
  }
}

// Split columns of 16-bit elements, loaded as packed pairs: values that cost moments digits, NaN and infinity.
TEST_P(NormTest, InstanceNormOfPackedPairs) {
  const auto odd_columns = [](std::int64_t rows, std::int64_t columns) -> ValueOf {
    return [=, drawn = normal(9)](std::int64_t i) -> double {
      const std::int64_t row = i / columns % rows;
      const double value = drawn(i);
      switch (i % columns % 9) {
        case 0:
          return 1.5;
        case 1:
          return 1000 + value;
        case 2:
          return row == 0 ? 30000 : value;
        case 3:
          return row == rows / 2 ? std::numeric_limits<double>::quiet_NaN() : value;
        case 4:
          return row == rows - 1 ? std::numeric_limits<double>::infinity() : value;
        case 5:
          return row % 2 ? 60000 : -60000;
        case 6:
          return 1e-6 * value;
        case 7:
          return row == rows - 1 ? -20000 : 1;
        default:
          return value;
      }
    };
  };
  for (const kernels::SplitForm& form :
       {kernels::SplitForm{64, 3, 4, true}, {256, 47, 16, true}, {128, 5, 8, true, 2}, {128, 5, 8, true, 0}}) {
    for (const DType x : {DType::f16, DType::bf16}) {
      for (const DType y : {DType::f16, DType::bf16}) {
        const bool few = form.register_steps == 3, even = x == y;
        if (!few && even != (form.register_steps == 47)) continue;
        for (const Shape& shape : {Shape{2, 801, 20}, {1, 1000, 64}}) {
          if (!few && shape[0] == 2) continue;
          check({.form = Form::instance,
                 .shape = shape,
                 .axis = 2,
                 .scale = few || even,
                 .bias = !few || even,
                 .x = x,
                 .weight = even ? x : DType::f32,
                 .y = y,
                 .value = odd_columns(shape[1], shape[2]),
                 .splits = form});
        }
      }
    }
  }
}

constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16};

bool register_norm(const std::string& name, Form form) {
  return differential(name, [form](Rng& rng) {
    const bool rows = form == Form::layer || form == Form::rms;
    Norm c{.form = form, .shape = random_shape(rng, rows ? 1 : 2, form == Form::group ? 7 : 8)};
    c.axis = random_int(rng, rows || form == Form::batch ? 0 : 1, c.shape.rank() - 1);
    const std::int64_t channels = c.shape[c.axis];
    if (form == Form::group) c.groups = channels % 3 == 0 && channels ? 3 : channels % 2 == 0 && channels ? 2 : 1;
    c.scale = rng() % 3 != 0;
    c.bias = rng() % 3 != 0;
    c.x = pick(rng, kFloats);
    c.weight = pick(rng, kFloats);
    c.bias_type = pick(rng, kFloats);
    c.y = pick(rng, kFloats);
    c.x_kind = random_input_kind(rng);
    c.weight_kind = random_input_kind(rng);
    c.bias_kind = random_input_kind(rng);
    c.y_kind = random_output_kind(rng);
    // Large enough that a row whose few elements differ only by rounding is not amplified.
    c.epsilon = 1e-2f;
    c.value = normal(rng(), 0.3, 2);
    c.tolerance.absolute = 1e-5;
    switch (rng() % 3) {
      case 0:
        c.splits = random_split_form(rng);
        break;
      case 1:
        c.whole = random_row_form(rng);
        break;
      default:
        break;
    }
    return problem_of(c);
  });
}
const bool registered_norms[] = {register_norm("layer_norm", Form::layer), register_norm("rms_norm", Form::rms),
                                 register_norm("group_norm", Form::group),
                                 register_norm("instance_norm", Form::instance),
                                 register_norm("batch_norm", Form::batch)};

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

TEST(NormArguments, AreChecked) {
  cpu::Executor executor;
  const View x = output(DType::f32, {2, 6, 4}), six = output(DType::f32, {6}), four = output(DType::f32, {4});
  const auto group = [&](const View& scale, int axis, std::int64_t groups) {
    kernels::group_norm(executor, x, scale, std::nullopt, x, axis, groups, 1e-5f);
  };
  EXPECT_NO_THROW(group(six, 1, 3));
  EXPECT_THROW(group(four, 1, 3), InvalidArgument);
  EXPECT_THROW(group(six, 1, 4), InvalidArgument);
  EXPECT_THROW(group(six, 1, 0), InvalidArgument);
  EXPECT_THROW(group(six, 0, 1), InvalidArgument);
  EXPECT_THROW(group(six, 3, 1), InvalidArgument);
  EXPECT_THROW(kernels::rms_norm(executor, x, six, x, 2, 1e-5f), InvalidArgument);
  EXPECT_THROW(kernels::rms_norm(executor, x, four, x, 2, -1), InvalidArgument);
  EXPECT_THROW(kernels::batch_norm(executor, x, four, six, {}, {}, x, 1, 1e-5f), InvalidArgument);
  EXPECT_THROW(kernels::batch_norm(executor, x, six, six, output(DType::i32, {6}), {}, x, 1, 1e-5f), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
