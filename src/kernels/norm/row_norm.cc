#include "kernels/norm/row_norm.h"

#include "kernels/common/memory.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

struct Operand {
  std::string_view name;
  View view;
};

// Whether four values that x gives together, along or across rows, have one weight.
bool shared_by_four(const Rows& rows, std::size_t k, bool across) {
  const Collapsed& fast = across ? rows.outer : rows.inner;
  return !fast.shape.empty() && fast.strides[k].back() == 0;
}

}  // namespace

void check_floating(std::string_view name, std::string_view operand, const View& view) {
  if (!is_floating(view.dtype)) {
    throw InvalidArgument("{}: {} is {}; expected a floating type", name, operand, to_string(view));
  }
}

void check_norm(std::string_view name, const View& x, const View& y, float epsilon) {
  if (x.shape() != y.shape()) {
    throw InvalidArgument("{}: x is {}, y is {}; their shapes must be the same", name, to_string(x), to_string(y));
  }
  check_floating(name, "x", x);
  check_floating(name, "y", y);
  if (!(epsilon >= 0)) throw InvalidArgument("{}: epsilon is {}; expected 0 or more", name, epsilon);
}

namespace {

// A norm as rows.
struct Problem {
  std::vector<Operand> operands;  // x, y, and the weights that are there
  Rows rows;
};

Problem problem_of(const RowNorm& norm) {
  Problem p{.operands = {{"x", norm.x}, {"y", norm.y}}, .rows = {}};
  if (norm.scale) p.operands.push_back({"scale", *norm.scale});
  if (norm.bias) p.operands.push_back({"bias", *norm.bias});
  std::vector<Strides> strides;
  for (const Operand& o : p.operands) {
    check_floating(norm.name, o.name, o.view);
    strides.push_back(o.view.strides());
  }
  if (norm.x.count() > 0) p.rows = split_rows(norm.x.shape(), norm.along, strides);
  return p;
}

RowPlanOptions options_of(const Problem& p) {
  RowPlanOptions options{.along4 = true, .across4 = true, .across = runs_across(p.rows, 0), .keep = true};
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    const View& view = p.operands[k].view;
    options.along4 &= vectorises_along(view, p.rows, k) || (k > 1 && shared_by_four(p.rows, k, false));
    options.across4 &= vectorises_across(view, p.rows, k) || (k > 1 && shared_by_four(p.rows, k, true));
  }
  return options;
}

// The norm of parts of its views, in the order of `operands`.
RowNorm norm_of(const RowNorm& norm, std::span<const View> views) {
  RowNorm piece = norm;
  piece.x = views[0];
  piece.y = views[1];
  if (norm.scale) piece.scale = views[2];
  if (norm.bias) piece.bias = views.back();
  return piece;
}

std::vector<View> views_of(const Problem& p) {
  std::vector<View> views;
  for (const Operand& o : p.operands) views.push_back(o.view);
  return views;
}

// Windows: one, or several where a row is longer than a binding. A part's statistics: mean, what its rounding left out,
// squares; or squares alone.
std::optional<RowParts> parts_of(const gpu::Capabilities& capabilities, const RowNorm& norm,
                                 std::span<const Problem> windows, const std::optional<PartsForm>& form = {}) {
  std::vector<Rows> rows;
  RowPlanOptions options{.along4 = true, .across4 = true};
  for (const Problem& p : windows) {
    rows.push_back(p.rows);
    const RowPlanOptions own = options_of(p);
    options = {.along4 = options.along4 && own.along4,
               .across4 = options.across4 && own.across4,
               .across = own.across,
               .keep = true};
  }
  return plan_parts(capabilities, rows, options, bits(norm.x.dtype), DType::f32, norm.centred ? 3 : 1, form);
}

std::vector<Problem> problems_of(const RowNorm& norm, RowWindowViews pieces) {
  std::vector<Problem> windows;
  for (const auto& piece : pieces) windows.push_back(problem_of(norm_of(norm, piece)));
  return windows;
}

// What such windows take of a workspace.
auto scratch_of(const gpu::Capabilities& capabilities, const RowNorm& norm) {
  return [&capabilities, &norm](RowWindowViews pieces) {
    const auto parts = parts_of(capabilities, norm, problems_of(norm, pieces));
    return parts ? parts->bytes() : 0;
  };
}

Call start(Stream& stream, const char* kernel, const RowNorm& norm, const Problem& p, const RowPlan& plan,
           std::int64_t length) {
  Call call(*stream.gpu(), kernel);
  std::vector<std::string_view> names;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    const auto& [name, view] = p.operands[k];
    if (view.dtype == DType::f64) throw Unsupported("{}: {} is f64, which runs on the CPU only", norm.name, name);
    names.push_back(name);
    if (k == 1) {
      call.write(name, view, plan.width);
    } else {
      const bool wide = plan.width == 4 && (k == 0 || !shared_by_four(p.rows, k, plan.across));
      call.read(name, view, wide ? 4 : 1);
      if (k > 1) call.set(std::string(name) + "_wide", wide);
    }
  }
  add_rows(call, p.rows, plan, names);
  call.include("float_rows").include("norm_weights");
  call.set("scaled", norm.scale.has_value()).set("biased", norm.bias.has_value()).set("centred", norm.centred);
  call.param("inverse_length", 1 / static_cast<float>(length)).param("epsilon", norm.epsilon);
  return call;
}

void run_in_parts(Stream& stream, const RowNorm& norm, std::span<const Problem> windows, const RowParts& parts,
                  const std::optional<View>& workspace) {
  std::int64_t length = 0;
  for (const Problem& p : windows) length += p.rows.length;
  run_parts(stream, norm.name, parts, workspace, [&](std::size_t window) {
    const RowPlan plan = parts.plan_of(window);
    Call call = start(stream, "row_norm_parts", norm, windows[window], plan, length);
    call.index_param("part_elements", std::int64_t{plan.team} * plan.kept * (plan.across ? 1 : plan.width));
    call.index_param("window_parts", parts.parts[0]).index_param("window_length", windows[0].rows.length);
    call.index_param("last_length", windows.back().rows.length);
    call.index_param("last_window", static_cast<std::int64_t>(windows.size()) - 1);
    return call;
  });
}

void run_whole(Stream& stream, const RowNorm& norm, const Problem& p, const std::optional<RowForm>& form) {
  RowPlanOptions options = options_of(p);
  options.form = form;
  const RowPlan plan = plan_rows(stream.gpu()->device().capabilities(), p.rows, options);
  Call call = start(stream, "row_norm", norm, p, plan, p.rows.length);
  call.include("moments");
  call.dispatch_groups(norm.name, plan.groups);
}

}  // namespace

void row_norm(Stream& stream, const RowNorm& norm, const std::optional<View>& workspace) {
  const Problem p = problem_of(norm);
  check_memory(stream, norm.name, {norm.x, norm.scale, norm.bias}, {norm.y}, Sharing::same_view, workspace);
  if (norm.x.count() == 0) return;
  if (stream.cpu()) return row_norm_cpu(*stream.cpu(), norm, p.rows);

  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  in_row_windows(capabilities, norm.name, views_of(p), norm.along, scratch_of(capabilities, norm), [&](RowWindowViews pieces) {
    const std::vector<Problem> windows = problems_of(norm, pieces);
    const auto parts = parts_of(capabilities, norm, windows);
    if (parts && (windows.size() > 1 || holds(workspace, *parts))) {
      return run_in_parts(stream, norm, windows, *parts, workspace);
    }
    run_whole(stream, norm_of(norm, pieces[0]), windows[0], {});
  });
}

std::uint64_t row_norm_workspace(Stream& stream, const RowNorm& norm) {
  const Problem p = problem_of(norm);
  if (!stream.gpu() || norm.x.count() == 0) return 0;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  std::uint64_t bytes = 0;
  const auto scratch = scratch_of(capabilities, norm);
  in_row_windows(capabilities, norm.name, views_of(p), norm.along, scratch, [&](RowWindowViews pieces) {
    bytes = std::max(bytes, scratch(pieces));
  });
  return bytes;
}

void row_norm_in_form(Stream& stream, const RowNorm& norm, const RowForm& form) {
  run_whole(stream, norm, problem_of(norm), form);
}

void row_norm_in_parts(Stream& stream, const RowNorm& norm, const View& workspace, const PartsForm& form) {
  const Problem p = problem_of(norm);
  const RowParts parts = *parts_of(stream.gpu()->device().capabilities(), norm, std::span(&p, 1), form);
  run_in_parts(stream, norm, std::span(&p, 1), parts, workspace);
}

std::uint64_t row_norm_in_parts_workspace(Stream& stream, const RowNorm& norm, const PartsForm& form) {
  const Problem p = problem_of(norm);
  return parts_of(stream.gpu()->device().capabilities(), norm, std::span(&p, 1), form)->bytes();
}

}  // namespace weft::kernels
