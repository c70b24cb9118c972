// RMS, group, instance and batch norm, log-softmax; differential tests of everything that normalises rows.
#include <limits>

#include "kernels/operands.h"
#include "kernels/parts_form.h"
#include "kernels/norm/row_norm.h"
#include "kernels/softmax/softmax_parts.h"
#include "support/differential.h"
#include "weft/cpu.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/softmax.h"

namespace weft::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// As in the tests of layer norm: results are of the order of 1; narrow ones round once more.
constexpr Tolerance kNormTolerance{.ulp = 1, .absolute = 4e-6, .relative = 1e-5};

void softmax_of(Stream& s, bool log, const View& x, const View& y, int axis) {
  if (log) return kernels::log_softmax(s, x, y, axis);
  kernels::softmax(s, x, y, axis);
}

kernels::RowViews plain(const View& x, const View& y) { return kernels::row_views("softmax", x, y); }
// Softmax in a form, which a CPU has not.
void softmax_in_form(Stream& s, const View& x, const View& y, int axis, bool log, const kernels::RowForm& form) {
  if (!s.gpu()) return softmax_of(s, log, x, y, axis);
  kernels::softmax_in_form(s, plain(x, y), axis, log, form);
}
void softmax_in_parts(Stream& s, const View& x, const View& y, int axis, bool log, const kernels::PartsForm& form) {
  if (!s.gpu()) return softmax_of(s, log, x, y, axis);
  const kernels::RowViews views = plain(x, y);
  kernels::softmax_in_parts(s, views, axis, log, form);
}

enum class Form { rms, group, instance, batch };
constexpr const char* kForms[] = {"rms_norm", "group_norm", "instance_norm", "batch_norm"};

struct Norm {
  Form form;
  Shape shape;
  int axis = 1;  // the first, or the channels'
  std::int64_t groups = 1;
  bool scale = true, bias = true;
  DType x = DType::f32, weight = DType::f32, y = DType::f32;
  Kind x_kind = Kind::dense, weight_kind = Kind::dense, y_kind = Kind::dense;
  float epsilon = 1e-5f;
  ValueOf value = normal(3, 0.3, 2), scale_value = normal(5, 1, 0.3), bias_value = normal(6, 0, 0.3);
  Tolerance tolerance = kNormTolerance;
  std::optional<kernels::PartsForm> parts;
  std::optional<kernels::RowForm> whole;
};

void in_form(Stream& s, const kernels::RowNorm& norm, const std::optional<kernels::PartsForm>& parts,
             const std::optional<kernels::RowForm>& whole) {
  if (!parts) return kernels::row_norm_in_form(s, norm, *whole);
  const kernels::PartsForm& form = *parts;
  kernels::row_norm_in_parts(s, norm, form);
}

Problem problem_of(Norm c) {
  const int axis = c.axis < 0 ? c.axis + c.shape.rank() : c.axis;
  Shape weights{c.shape[axis]};
  if (c.form == Form::rms) {
    weights = Shape(std::span(c.shape.begin() + axis, c.shape.end()));
    c.bias = false;
  }
  Problem p;
  p.inputs = {view_of(c.x, c.shape, c.x_kind, c.value)};
  if (c.form == Form::batch) {
    p.inputs.push_back(view_of(c.weight, weights, c.weight_kind, normal(7)));
    p.inputs.push_back(
        view_of(c.weight, weights, c.weight_kind, [](std::int64_t i) { return 0.5 + static_cast<double>(i % 7); }));
  }
  const std::size_t first = p.inputs.size();
  if (c.scale) p.inputs.push_back(view_of(c.weight, weights, c.weight_kind, c.scale_value));
  if (c.bias) p.inputs.push_back(view_of(c.weight, weights, c.weight_kind, c.bias_value));
  p.outputs = {output(c.y, c.shape, c.y_kind)};
  p.tolerance = c.tolerance;
  p.what = std::format("{} at axis {}, {} groups: {}, scale {}, bias {}", kForms[static_cast<int>(c.form)], c.axis,
                       c.groups, weft::to_string(p.inputs[0]), c.scale, c.bias);
  const auto scale_of = [c, first](auto in) { return c.scale ? std::optional(in[first]) : std::nullopt; };
  const auto bias_of = [c, first](auto in) {
    return c.bias ? std::optional(in[first + (c.scale ? 1 : 0)]) : std::nullopt;
  };
  if ((c.parts || c.whole) && c.form != Form::batch) {
    p.form = [=](Stream& s, auto in, auto out) {
      const char* name = kForms[static_cast<int>(c.form)];
      const kernels::RowViews views = kernels::row_views(name, in[0], out[0]);
      const std::int64_t groups = c.form == Form::group ? c.groups : -1;
      in_form(s, c.form == Form::rms
                     ? kernels::make_rms_norm(views, scale_of(in), c.axis, c.epsilon)
                     : kernels::make_group_norm(name, views, scale_of(in), bias_of(in), c.axis, groups, c.epsilon),
              c.parts, c.whole);
    };
  }
  p.call = [=](Stream& s, auto in, auto out) {
    const auto scale = scale_of(in), bias = bias_of(in);
    switch (c.form) {
      case Form::rms: return kernels::rms_norm(s, in[0], scale, out[0], c.axis, c.epsilon);
      case Form::group: return kernels::group_norm(s, in[0], scale, bias, out[0], c.axis, c.groups, c.epsilon);
      case Form::instance: return kernels::instance_norm(s, in[0], scale, bias, out[0], c.axis, c.epsilon);
      case Form::batch: return kernels::batch_norm(s, in[0], in[1], in[2], scale, bias, out[0], c.axis, c.epsilon);
    }
  };
  return p;
}

class NormsTest : public testing::TestWithParam<std::string> {
 protected:
  void check(const Norm& c) { run(problem_of(c)); }
  void run(const Problem& p) { run_both(device, p.inputs, p.outputs, p.drawn(), p.tolerance, p.what); }
  gpu::Device& device = test::device(GetParam());
};

TEST_P(NormsTest, WithAndWithoutWeights) {
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

TEST_P(NormsTest, ChannelsAnywhere) {
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

TEST_P(NormsTest, Types) {
  for (DType type : {DType::f16, DType::bf16}) {
    for (Form form : {Form::rms, Form::group, Form::batch}) {
      check({.form = form, .shape = {3, 8, 12}, .groups = 2, .x = type, .weight = type, .y = type});
      check({.form = form, .shape = {3, 8, 12}, .groups = 2, .x = type, .weight = DType::f32, .y = DType::f32});
      check({.form = form, .shape = {3, 9, 5}, .groups = 3, .x = DType::f32, .weight = type, .y = type});
    }
  }
}

// Groups make one axis more than a view may have, so that two of a row become one, if they can.
TEST_P(NormsTest, RankEight) {
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

TEST_P(NormsTest, Sizes) {
  for (std::int64_t n : {1, 3, 33, 1024, 20000}) {
    check({.form = Form::rms, .shape = {3, n}});
    check({.form = Form::instance, .shape = {2, 3, n}});
    check({.form = Form::group, .shape = {2, 4, n}, .groups = 2});
    check({.form = Form::group, .shape = {2, n, 8}, .axis = 2, .groups = 2});
    check({.form = Form::instance, .shape = {1, n, 8}, .axis = 2});
  }
  check({.form = Form::instance, .shape = {20000, 4, 8}});
}

TEST_P(NormsTest, LargeMeanAndSpecialValues) {
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

// What is no number, or infinite, in weights that differ along a row and in those that do not, and in x.
TEST_P(NormsTest, WeightsThatAreNoNumbers) {
  const kernels::PartsForm form{.threads = 64, .kept = 4, .interleave = 4, .waits = true};
  const auto some = [](std::int64_t i) { return i % 61 == 7 ? kNaN : i % 61 == 9 ? kInf : 1.0 + 0.01 * (i % 5); };
  const auto usual = normal(6, 0, 0.3);
  for (const DType type : {DType::f16, DType::bf16}) {
    for (int which = 0; which < 4; ++which) {
      Norm norm{.form = Form::group, .shape = {2, 3000, 64}, .axis = 2, .groups = 4, .x = type, .weight = type,
                .y = type, .parts = form};
      if (which == 0) norm.scale_value = some;
      if (which == 1) norm.bias_value = some;
      if (which == 2) norm.scale = false, norm.bias_value = some;
      if (which == 3) norm.bias = false, norm.scale_value = some;
      check(norm);
      norm.form = Form::instance;
      check(norm);
      norm = {.form = Form::rms, .shape = {2, 16384}, .axis = 1, .x = type, .weight = type, .y = type,
              .value = which == 3 ? ValueOf([=](std::int64_t i) { return i == 5 ? kInf : usual(i); }) : usual,
              .scale_value = which == 0 ? usual : ValueOf(some), .parts = form};
      check(norm);
      // Whole rows, along and across memory.
      norm.parts = std::nullopt;
      for (const std::int64_t n : {96, 1024, 8192}) {
        norm.shape = {5, n};
        check(norm);
      }
      norm = {.form = Form::group, .shape = {2, 8, 600}, .groups = 4, .x = type, .weight = type, .y = type,
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

// NaN with all its bits, which quick rounding would take for -0, and infinities.
TEST_P(NormsTest, RowsThatHoldNoNumbers) {
  const kernels::PartsForm form{.threads = 64, .kept = 4, .interleave = 4, .waits = true};
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const bool infinite : {false, true}) {
      for (const bool weights : {false, true}) {
        for (const auto& [norm, shape, axis, parts] :
             {std::tuple{Form::group, Shape{2, 8, 60}, 1, false}, {Form::group, {2, 8, 6000}, 1, true},
              {Form::group, {2, 3000, 64}, 2, true}, {Form::group, {2, 300, 64}, 2, false},
              {Form::instance, {2, 3000, 64}, 2, true}, {Form::rms, {4, 1024}, 1, false},
              {Form::rms, {2, 16384}, 1, true}}) {
          Norm n{.form = norm, .shape = shape, .axis = axis, .groups = 4, .scale = weights, .bias = weights, .x = type,
                 .weight = DType::bf16, .y = DType::bf16};
          if (parts) n.parts = form;
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

// Of bf16 in place, also where some weights are no numbers: the same bits as elsewhere.
TEST_P(NormsTest, InPlace) {
  const kernels::PartsForm form{.threads = 64, .kept = 4, .interleave = 4, .waits = true};
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
    if (!std::isnan(apart[i])) { ASSERT_EQ(apart[i], in_place[i]) << i; }
    else { ASSERT_TRUE(std::isnan(in_place[i])) << i; }
  }
  // Over the weights.
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

// Forms that a GPU takes for large tensors.
constexpr kernels::PartsForm kPartsForms[] = {
    {.threads = 128, .kept = 2, .interleave = 8},
    {.threads = 512, .kept = 4, .interleave = 4},
    {.threads = 64, .kept = 3, .interleave = 2},
    {.threads = 128, .kept = 2, .interleave = 4, .turns = 3},
    {.threads = 64, .kept = 3, .interleave = 1, .turns = 7},
    {.threads = 64, .kept = 4, .interleave = 4, .waits = true},
    {.threads = 128, .kept = 3, .interleave = 8, .waits = true, .patience = 2}};

TEST_P(NormsTest, RowsInParts) {
  for (const kernels::PartsForm& form : kPartsForms) {
    for (Form norm : {Form::rms, Form::group, Form::instance}) {
      if (form.kept % 2 == static_cast<std::uint32_t>(norm) % 2)
        check({.form = norm, .shape = {3, 8, 5000}, .groups = 2, .parts = form});
      if (norm != Form::instance)
        check({.form = norm,
               .shape = {2, 4999, 6},
               .axis = norm == Form::rms ? 1 : 2,
               .groups = 3,
               .scale = false,
               .parts = form});
      check({.form = norm,
             .shape = {2, 3000, 32},
             .axis = norm == Form::rms ? 1 : 2,
             .groups = 4,
             .bias = false,
             .x = DType::f16,
             .y = DType::bf16,
             .parts = form});
    }
    // Whole tiles.
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      if (!form.waits) break;
      check({.form = Form::group, .shape = {2, 8, 4096}, .groups = 2, .x = type, .y = type, .parts = form});
      check({.form = Form::instance,
             .shape = {2, 4096, 32},
             .axis = 2,
             .bias = false,
             .x = type,
             .y = type,
             .parts = form});
    }
    check({.form = Form::group,
           .shape = {2, 4, 5000},
           .groups = 2,
           .epsilon = 0,
           .value = normal(4, 1e4, 1e-2),
           .tolerance = {.absolute = 1e-3},
           .parts = form});
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
             .parts = form});
    }
  }
}

TEST_P(NormsTest, FormsOfWholeRows) {
  constexpr kernels::RowForm kForms[] = {{.team = 64, .interleave = 2, .kept = 8},
                                         {.team = 16, .interleave = 1, .kept = 0}};
  // A member keeps its place along an axis of the row's for as many steps as all others.
  for (const Kind kind : {Kind::dense, Kind::transposed}) {
    check({.form = Form::group,
           .shape = {3, 4, 256},
           .groups = 2,
           .x_kind = kind,
           .y_kind = kind,
           .whole = kernels::RowForm{16, 1, 32}});
    // Words of 16-bit types are kept as they are.
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
      for (const bool log : {false, true}) {
        const View x = view_of(DType::f32, shape, kind, normal(7, 0, 3));
        run_both(
            device, std::array{x}, std::array{output(DType::f32, shape, kind)},
            [&](Stream& s, auto in, auto out) { softmax_in_form(s, in[0], out[0], 2, log, form); },
            {.ulp = 1, .absolute = 1e-6, .relative = 1e-5},
            std::format("softmax, log {}: {}", log, weft::to_string(x)));
      }
    }
  }
}

// Rows of 16 bits that begin and end within a word, whose other half is another row's; by one thread and by many, which
// take one step or several.
TEST_P(NormsTest, RowsThatBeginAndEndAnywhere) {
  const Tolerance tolerance{.ulp = 1, .absolute = 1e-6, .relative = 1e-5};
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const std::int64_t n : {1, 2, 3, 5, 6, 7, 10, 33, 50, 77, 197, 258, 1001, 2047}) {
      const bool even = n % 2 == 0;
      const Kind x_kind = even ? Kind::offset : Kind::dense, y_kind = n % 3 ? x_kind : Kind::offset;
      const Shape shape{12, n};
      const View x = view_of(type, shape, x_kind, softmax_rows(n));
      const View wide = view_of(DType::f32, shape, x_kind, normal(n));
      const View scale = view_of(DType::f32, {n}, Kind::dense, normal(1));
      const View bias = view_of(type, {n}, Kind::offset, normal(2));
      const std::string what = std::format("{} rows of {}", name(type), n);
      const auto softmax = [&](const View& from, bool log, const std::optional<kernels::RowForm>& form) {
        run_both(device, std::array{from}, std::array{output(type, shape, y_kind)},
                 [&](Stream& s, auto in, auto out) {
                   if (form) return softmax_in_form(s, in[0], out[0], 1, log, *form);
                   softmax_of(s, log, in[0], out[0], 1);
                 },
                 tolerance, what + (log ? ", log" : ""));
      };
      softmax(x, even, {});
      softmax(wide, !even, {});
      for (const std::uint32_t team : {1, 4, 32}) {
        if (n <= 64 * team) softmax(x, !even, kernels::RowForm{team, 1, 16});
      }
      const View values = view_of(type, shape, x_kind, normal(5, 3));
      run_both(device, std::array{values, scale, bias}, std::array{output(type, shape, y_kind)},
               [&](Stream& s, auto in, auto out) { kernels::layer_norm(s, in[0], in[1], in[2], out[0], 1, 1e-5f); },
               tolerance, what + ", layer norm");
      run_both(device, std::array{values, bias}, std::array{output(type, shape, y_kind)},
               [&](Stream& s, auto in, auto out) { kernels::rms_norm(s, in[0], in[1], out[0], 1, 1e-5f); }, tolerance,
               what + ", rms norm");
      // In place: of a word's halves one is read while the other is stored.
      const View both = view_of(type, shape, x_kind, normal(6));
      run_both(device, std::array{both}, std::array{both},
               [&](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], 1); }, tolerance,
               what + ", in place");
    }
  }
}

// Columns of 16 bits, an even number of them but no multiple of four: the last four overlap.
TEST_P(NormsTest, ColumnsThatAreWords) {
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const Shape& shape : {Shape{33, 6}, {200, 10}, {70, 30}, {9, 1002}, {5000, 14}}) {
      const View x = view_of(type, shape, Kind::dense, normal(3, 0, 2));
      const std::string what = weft::to_string(x);
      for (const bool log : {false, true}) {
        run_both(device, std::array{x}, std::array{output(type, shape)},
                 [&](Stream& s, auto in, auto out) { softmax_of(s, log, in[0], out[0], 0); },
                 {.ulp = 1, .absolute = 1e-6, .relative = 1e-5}, what);
        // In place they do not overlap.
        const View both = view_of(type, shape, Kind::dense, normal(4));
        run_both(device, std::array{both}, std::array{both},
                 [&](Stream& s, auto in, auto out) { softmax_of(s, log, in[0], out[0], 0); },
                 {.ulp = 1, .absolute = 1e-6, .relative = 1e-5}, what + " in place");
      }
      // All columns but one, an odd number of them.
      View most = x, most_of_y = output(type, shape);
      most.layout.shape[1] -= 1;
      most_of_y.layout.shape[1] -= 1;
      run_both(device, std::array{most}, std::array{most_of_y},
               [&](Stream& s, auto in, auto out) { softmax_of(s, false, in[0], out[0], 0); },
               {.ulp = 1, .absolute = 1e-6, .relative = 1e-5}, what + " but one column");
      for (const kernels::PartsForm& form : {kernels::PartsForm{32, 3, 2, false}, {64, 4, 4, true}}) {
        for (const bool log : {false, true}) {
          run_both(device, std::array{x}, std::array{output(type, shape)},
                   [&](Stream& s, auto in, auto out) { softmax_in_parts(s, in[0], out[0], 0, log, form); },
                   {.ulp = 1, .absolute = 1e-6, .relative = 1e-5}, what + " in parts");
        }
      }
    }
  }
}

// Columns of 16 bits whose parts wait for each other: in place, with x and y in one buffer, and backwards.
TEST_P(NormsTest, ColumnsInWordsLieAnywhere) {
  const kernels::PartsForm form{.threads = 64, .kept = 3, .interleave = 4, .waits = true};
  const auto softmax = [&](Stream& s, auto in, auto out) { softmax_in_parts(s, in[0], out[0], 1, false, form); };
  const auto norm = [&](Stream& s, auto in, auto out) {
    if (!s.gpu()) return kernels::instance_norm(s, in[0], {}, {}, out[0], 2, 1e-5f);
    const kernels::RowViews views = kernels::row_views("instance_norm", in[0], out[0]);
    in_form(s, kernels::make_group_norm("instance_norm", views, {}, {}, 2, -1, 1e-5f), form, {});
  };
  const Shape shape{1, 400, 48};
  for (const DType type : {DType::f16, DType::bf16}) {
    const auto both_kernels = [&](const View& x, const View& y, const std::string& what) {
      run_both(device, std::array{x}, std::array{y}, softmax, {.ulp = 1, .absolute = 1e-9, .relative = 1e-5}, what);
      run_both(device, std::array{x}, std::array{y}, norm, kNormTolerance, what + ", norm");
    };
    const View x = view_of(type, shape, Kind::dense, normal(4)), y = output(type, shape);
    both_kernels(x, x, "in place");
    both_kernels(kernels::slice(x, 1, -1, kernels::kToEnd, -1), y, "backwards");
    both_kernels(x, kernels::slice(y, 1, -1, kernels::kToEnd, -1), "to backwards");
    // x and y in one buffer, against y in one of its own.
    gpu::Encoder encoder(device);
    const std::uint64_t bytes = 400 * 48 * 2;
    const Buffer two = device.allocate(2 * bytes), one = device.allocate(bytes);
    const View from(two, 0, type, shape), beside(two, bytes, type, shape), alone(one, 0, type, shape);
    kernels::copy(encoder, to_device(device, x), from);
    for (const bool norms : {false, true}) {
      for (const View& to : {beside, alone}) {
        if (norms) norm(encoder, std::array{from}, std::array{to});
        else softmax(encoder, std::array{from}, std::array{to});
      }
      encoder.submit();
      expect_close(to_host(device, beside), to_host(device, alone), {});
    }
  }
}

// NaN of any bits, which rounding to bf16 must not make a number of.
TEST_P(NormsTest, SoftmaxOfNaNs) {
  const kernels::PartsForm form{.threads = 64, .kept = 3, .interleave = 4, .waits = true};
  for (const std::int64_t columns : {48, 50}) {
    const View x = view_of(DType::f16, {400, columns}, Kind::dense, normal(4));
    for (const std::int64_t column : {3, 20, 47}) {
      set_element_bits(x, column * 8 * columns + column, column == 20 ? 0xffff : 0x7fff);
    }
    for (const bool log : {false, true}) {
      run_both(device, std::array{x}, std::array{output(DType::bf16, {400, columns})},
               [&](Stream& s, auto in, auto out) { softmax_in_parts(s, in[0], out[0], 0, log, form); },
               {.ulp = 1, .absolute = 1e-6, .relative = 1e-5}, std::format("{} columns, log {}", columns, log));
    }
  }
}

// Columns of 16 bits whose parts wait for each other: what makes moments lose digits, and what is not finite.
TEST_P(NormsTest, InstanceNormsOfColumnsInWords) {
  const auto odd_columns = [](std::int64_t rows, std::int64_t columns) -> ValueOf {
    return [=, drawn = normal(9)](std::int64_t i) -> double {
      const std::int64_t row = i / columns % rows;
      const double value = drawn(i);
      switch (i % columns % 9) {
        case 0: return 1.5;
        case 1: return 1000 + value;
        case 2: return row == 0 ? 30000 : value;
        case 3: return row == rows / 2 ? std::numeric_limits<double>::quiet_NaN() : value;
        case 4: return row == rows - 1 ? std::numeric_limits<double>::infinity() : value;
        case 5: return row % 2 ? 60000 : -60000;
        case 6: return 1e-6 * value;
        case 7: return row == rows - 1 ? -20000 : 1;
        default: return value;
      }
    };
  };
  for (const kernels::PartsForm& form : {kernels::PartsForm{64, 3, 4, true}, {256, 47, 16, true},
                                         {128, 5, 8, true, 2}, {128, 5, 8, true, 0}}) {
    for (const DType x : {DType::f16, DType::bf16}) {
      for (const DType y : {DType::f16, DType::bf16}) {
        const bool few = form.kept == 3, even = x == y;
        if (!few && even != (form.kept == 47)) continue;
        for (const Shape& shape : {Shape{2, 801, 20}, {1, 1000, 64}}) {
          if (!few && shape[0] == 2) continue;
          check({.form = Form::instance, .shape = shape, .axis = 2, .scale = few || even, .bias = !few || even, .x = x,
                 .weight = even ? x : DType::f32, .y = y, .value = odd_columns(shape[1], shape[2]), .parts = form});
        }
      }
    }
  }
}

// One large element in a part, and many small ones in another: what the latter's sum is told as shows in the result.
TEST_P(NormsTest, LogSoftmaxOfTailsInOtherParts) {
  for (const kernels::PartsForm& form :
       {kernels::PartsForm{256, 32, 32, true}, {256, 46, 32, true}, {256, 46, 16, true}}) {
    for (const double tail : {-4.0, -8.0, -10.4, -12.0}) {
      const View x = view_of(DType::f16, {1472, 128}, Kind::dense, [=](std::int64_t i) {
        const std::int64_t row = i / 128, column = i % 128;
        return row == 0 ? 0.0 : row < 736 ? -30.0 : tail - static_cast<double>(column) / 128;
      });
      run_both(device, std::array{x}, std::array{output(DType::f16, x.shape())},
               [&](Stream& s, auto in, auto out) { softmax_in_parts(s, in[0], out[0], 0, true, form); },
               {.ulp = 1, .absolute = 5e-7, .relative = 0}, std::format("tail {}, {} beside", tail, form.interleave));
    }
  }
}

// Columns of 16 bits whose parts wait for each other and tell a maximum and a sum in one word, as wide as an H200 takes
// them and less so; or do not find what they wait for.
TEST_P(NormsTest, SoftmaxOfColumnsInWords) {
  for (const kernels::PartsForm& form : {kernels::PartsForm{64, 3, 4, true}, {256, 47, 32, true},
                                         {128, 5, 8, true, 2}, {128, 5, 8, true, 0}}) {
    for (const DType x : {DType::f16, DType::bf16}) {
      for (const DType y : {DType::f16, DType::bf16}) {
        const bool few = form.kept == 3;
        if (!few && (x == y) != (form.kept == 47)) continue;
        for (const auto& [columns, n] : {std::pair<std::int64_t, std::int64_t>{48, 1000}, {132, 801}}) {
          if (!few && columns == 48) continue;
          const View from = view_of(x, {columns, n}, Kind::transposed, softmax_rows(n));
          for (const bool log : {false, true}) {
            run_both(device, std::array{from}, std::array{output(y, from.shape(), Kind::transposed)},
                     [&](Stream& s, auto in, auto out) { softmax_in_parts(s, in[0], out[0], 1, log, form); },
                     {.ulp = 1, .absolute = log ? 1e-6 : 1e-9, .relative = 1e-5},
                     std::format("{} to {}, log {}, {} threads, {} kept", weft::to_string(from), name(y), log,
                                 form.threads, form.kept));
          }
        }
      }
    }
  }
}

TEST_P(NormsTest, SoftmaxOfRowsInParts) {
  const auto check = [&](const kernels::PartsForm& form, bool log, const View& x, DType y, Kind kind) {
    run_both(
        device, std::array{x}, std::array{output(y, x.shape(), kind)},
        [&](Stream& s, auto in, auto out) { softmax_in_parts(s, in[0], out[0], 1, log, form); },
        log ? Tolerance{.ulp = 1, .absolute = 1e-6, .relative = 1e-5}
            : Tolerance{.ulp = 1, .absolute = 1e-9, .relative = 1e-5},
        std::format("softmax, log {}: {}", log, weft::to_string(x)));
  };
  for (const kernels::PartsForm& form : kPartsForms) {
    for (const bool log : {false, true}) {
      for (const Kind kind : {Kind::dense, Kind::transposed}) {
        for (const std::int64_t n : {5000, 4999}) {
          for (const DType type : {DType::f32, DType::f16}) {
            if ((n + 2 * (kind == Kind::dense) + (type == DType::f16) + log + form.kept) % 4) continue;  // a part
            check(form, log, view_of(type, {11, n}, kind, softmax_rows(n)), type, kind);
          }
        }
        // Words are kept, of rows that end within a tile or with it.
        for (const DType type : {DType::f16, DType::bf16}) {
          if (!form.waits) continue;
          check(form, log, view_of(type, {12, 5000}, kind, softmax_rows(5000)), type, kind);
          check(form, log, view_of(type, {16, 4096}, kind, softmax_rows(4096)), log ? type : DType::f32, kind);
          // Columns that are words in y only.
          const View x = view_of(type, {13, 5000}, Kind::transposed, softmax_rows(5000));
          if (kind == Kind::transposed) check(form, log, kernels::slice(x, 0, 0, 12), type, kind);
        }
      }
    }
    // In place, twice.
    const View x = view_of(DType::f32, {3, 5000}, Kind::dense, normal(3)), y = output(DType::f32, {3, 5000});
    const View both = to_device(device, x);
    gpu::Encoder encoder(device);
    for (int i = 0; i < 2; ++i) kernels::softmax_in_parts(encoder, plain(both, both), 1, false, form);
    encoder.submit();
    device.wait();
    cpu::Executor executor;
    kernels::softmax(executor, x, y, 1);
    kernels::softmax(executor, y, y, 1);
    expect_close(to_host(device, both), y, {.ulp = 1, .absolute = 1e-9, .relative = 1e-5});
  }
}

// Logarithms near 0 are known to the sum's last digits, those far below to exp's error, 3 + 2|x| ULP.
constexpr Tolerance kLogTolerance{.ulp = 1, .absolute = 1e-6, .relative = 1e-5};

TEST_P(NormsTest, LogSoftmax) {
  const auto log_softmax = [&](const View& x, const View& y, int axis) {
    run_both(
        device, std::array{x}, std::array{y},
        [axis](Stream& s, auto in, auto out) { kernels::log_softmax(s, in[0], out[0], axis); }, kLogTolerance,
        std::format("log_softmax axis {}: {}", axis, weft::to_string(x)));
  };
  for (std::int64_t n : {1, 3, 32, 1000, 1024, 20000}) {
    log_softmax(view_of(DType::f32, {3, n}, Kind::dense, normal(7, 0, 3)), output(DType::f32, {3, n}), 1);
    log_softmax(view_of(DType::f32, {n, 4}, Kind::dense, normal(7, 0, 3)), output(DType::f32, {n, 4}), 0);
  }
  for (Kind kind : kInputKinds)
    log_softmax(view_of(DType::f16, {4, 5, 8}, kind, normal(1)), output(DType::f16, {4, 5, 8}), 1);
  for (std::int64_t n : {4, 5, 20000}) {
    log_softmax(view_of(DType::f32, {11, n}, Kind::dense, softmax_rows(n)), output(DType::f32, {11, n}), 1);
  }
  // In place.
  const View x = view_of(DType::f32, {4, 50}, Kind::dense, normal(3)), y = output(DType::f32, {4, 50});
  cpu::Executor executor;
  kernels::log_softmax(executor, x, y, 1);
  kernels::log_softmax(executor, x, x, 1);
  expect_close(x, y, {});
}

constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16};

bool register_norm(const std::string& name, Form form) {
  return differential(name, [form](Rng& rng) {
    Norm c{.form = form, .shape = random_shape(rng, form == Form::rms ? 1 : 2, form == Form::group ? 7 : 8)};
    c.axis = random_int(rng, form == Form::rms || form == Form::batch ? 0 : 1, c.shape.rank() - 1);
    const std::int64_t channels = c.shape[c.axis];
    if (form == Form::group) c.groups = channels % 3 == 0 && channels ? 3 : channels % 2 == 0 && channels ? 2 : 1;
    c.scale = rng() % 3 != 0;
    c.bias = rng() % 3 != 0;
    c.x = pick(rng, kFloats);
    c.weight = pick(rng, kFloats);
    c.y = pick(rng, kFloats);
    c.x_kind = random_input_kind(rng);
    c.weight_kind = random_input_kind(rng);
    c.y_kind = random_output_kind(rng);
    // Not so small that few elements, equal but for rounding, show it.
    c.epsilon = 1e-2f;
    c.value = normal(rng(), 0.3, 2);
    c.tolerance.absolute = 1e-5;
    switch (rng() % 3) {
      case 0: c.parts = random_parts_form(rng); break;
      case 1: c.whole = random_row_form(rng); break;
      default: break;
    }
    return problem_of(c);
  });
}
const bool registered_norms[] = {register_norm("rms_norm", Form::rms), register_norm("group_norm", Form::group),
                                 register_norm("instance_norm", Form::instance),
                                 register_norm("batch_norm", Form::batch)};

const bool registered_layer_norm = differential("layer_norm", [](Rng& rng) {
  const Shape shape = random_shape(rng, 1);
  const int axis = random_int(rng, 0, shape.rank() - 1);
  const Shape row(std::span(shape.begin() + axis, shape.end()));
  const bool scale = rng() % 2, bias = rng() % 2;
  Problem p;
  p.inputs = {view_of(pick(rng, kFloats), shape, random_input_kind(rng), normal(rng(), 0.3, 2))};
  if (scale) p.inputs.push_back(view_of(pick(rng, kFloats), row, random_input_kind(rng), normal(5, 1, 0.3)));
  if (bias) p.inputs.push_back(view_of(pick(rng, kFloats), row, random_input_kind(rng), normal(6, 0, 0.3)));
  p.outputs = {random_view(rng, shape, pick(rng, kFloats), random_output_kind(rng))};
  p.tolerance = {.ulp = 1, .absolute = 1e-5, .relative = 1e-5};
  p.what =
      std::format("layer_norm from axis {}: {}, scale {}, bias {}", axis, weft::to_string(p.inputs[0]), scale, bias);
  std::optional<kernels::PartsForm> parts;
  std::optional<kernels::RowForm> whole;
  if (rng() % 3 == 0) parts = random_parts_form(rng);
  else if (rng() % 2) whole = random_row_form(rng);
  const auto scale_of = [=](auto in) { return scale ? std::optional(in[1]) : std::nullopt; };
  const auto bias_of = [=](auto in) { return bias ? std::optional(in[scale ? 2 : 1]) : std::nullopt; };
  p.call = [=](Stream& s, auto in, auto out) {
    kernels::layer_norm(s, in[0], scale_of(in), bias_of(in), out[0], axis, 1e-2f);
  };
  if (parts || whole) {
    p.form = [=](Stream& s, auto in, auto out) {
      in_form(s,
              kernels::make_layer_norm(kernels::row_views("layer_norm", in[0], out[0]), scale_of(in), bias_of(in), axis,
                                       1e-2f),
              parts, whole);
    };
  }
  return p;
});

bool register_softmax(const std::string& name, bool log) {
  return differential(name, [log](Rng& rng) {
    const Shape shape = random_shape(rng, 1);
    const int axis = random_int(rng, 0, shape.rank() - 1);
    Problem p;
    p.inputs = {random_view(rng, shape, pick(rng, kFloats), random_input_kind(rng),
                            rng() % 4 ? Values::ordinary : Values::special)};
    p.outputs = {random_view(rng, shape, pick(rng, kFloats), random_output_kind(rng))};
    p.tolerance = log ? Tolerance{.ulp = 1, .absolute = 4e-6, .relative = 1e-5}
                      : Tolerance{.ulp = 1, .absolute = 1e-6, .relative = 1e-5};
    p.what = std::format("softmax, log {}, axis {}: {}", log, axis, weft::to_string(p.inputs[0]));
    const auto which = rng() % 3;
    const kernels::PartsForm form = random_parts_form(rng);
    const kernels::RowForm whole = random_row_form(rng);
    p.call = [=](Stream& s, auto in, auto out) { softmax_of(s, log, in[0], out[0], axis); };
    if (which == 0) return p;
    p.form = [=](Stream& s, auto in, auto out) {
      if (which == 1) return softmax_in_form(s, in[0], out[0], axis, log, whole);
      softmax_in_parts(s, in[0], out[0], axis, log, form);
    };
    return p;
  });
}
const bool registered_softmax[] = {register_softmax("softmax", false), register_softmax("log_softmax", true)};

INSTANTIATE_TEST_SUITE_P(Devices, NormsTest, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

TEST(NormsArguments, AreChecked) {
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
  EXPECT_THROW(kernels::log_softmax(executor, output(DType::i32, {2, 3}), x, 1), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
