#include "kernels/norm/row_norm.h"

#include "core/format.h"
#include "kernels/common/memory.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"

namespace weft::kernels {

void check_floating(std::string_view name, std::string_view operand, const View& view) {
  if (!is_floating(view.dtype)) {
    throw InvalidArgument("{}: {} is {}; expected a floating type", name, operand, to_string(view));
  }
}

namespace {

struct Weight {
  std::string_view name;
  View view;
};

// True if four values of x that are loaded together, along or across rows, have the same weight.
bool shared_by_four(const Rows& rows, std::size_t k, bool across) {
  const Collapsed& fast = across ? rows.outer : rows.inner;
  return !fast.shape.empty() && fast.strides[k].back() == 0;
}

// A norm as rows.
struct Problem {
  RowViews views;
  std::vector<Weight> weights;  // those that are given
  Rows rows;                    // strides of the views, then of the weights
};

Problem problem_of(const RowNorm& norm) {
  Problem p{.views = norm.views, .weights = {}, .rows = {}};
  if (norm.scale) p.weights.push_back({"scale", *norm.scale});
  if (norm.bias) p.weights.push_back({"bias", *norm.bias});
  std::vector<Strides> strides;
  for (const View& v : p.views.all()) strides.push_back(v.strides());
  for (const auto& [name, view] : p.weights) {
    check_floating(norm.name, name, view);
    strides.push_back(view.strides());
  }
  if (element_count(p.views.shape()) > 0) p.rows = rows_along(p.views.shape(), norm.along, strides);
  return p;
}

RowPlanOptions options_of(const Problem& p) {
  RowPlanOptions options = plan_options(p.views, p.rows);
  std::size_t k = p.rows.outer.strides.size() - p.weights.size();
  for (const Weight& w : p.weights) {
    const bool along = shared_by_four(p.rows, k, false), across = shared_by_four(p.rows, k, true);
    options.access.require(RowAccess::along, along || vectorises_along(w.view, p.rows, k));
    options.access.require(RowAccess::across, across || vectorises_across(w.view, p.rows, k));
    options.access.require(RowAccess::pairs_across, across);
    ++k;
  }
  if (keeps_pairs(p.views)) options.words = RowWords::always;
  return options;
}

std::vector<View> views_of(const Problem& p) {
  std::vector<View> views = p.views.all();
  for (const Weight& w : p.weights) views.push_back(w.view);
  return views;
}

// The norm of parts of its views, in the order of views_of().
RowNorm norm_of(const RowNorm& norm, std::span<const View> views) {
  RowNorm piece = norm;
  piece.views = norm.views.with(views);
  const std::size_t first = norm.views.all().size();
  if (norm.scale) piece.scale = views[first];
  if (norm.bias) piece.bias = views.back();
  return piece;
}

// True if all weights are constant along rows.
bool weights_lie_still(const Problem& p) {
  const std::vector<Strides>& strides = p.rows.inner.strides;
  return std::all_of(
      strides.end() - static_cast<std::ptrdiff_t>(p.weights.size()), strides.end(),
      [](const Strides& s) { return std::ranges::all_of(s, [](std::int64_t step) { return step == 0; }); });
}

// `chunks`: one, or several if a row exceeds a binding. A split's statistics are its mean, the mean's rounding error,
// the squares, and, with several chunks, its number of elements; or the squares only.
std::optional<SplitRows> splits_of(const gpu::Capabilities& capabilities, const RowNorm& norm,
                                   std::span<const Problem> chunks, const std::optional<SplitForm>& form = {}) {
  const ChunkRows all = rows_of_chunks(chunks, [](const Problem& p) { return std::pair(p.rows, options_of(p)); });
  const int words = !norm.centred ? 1 : chunks.size() == 1 ? 3 : 4;
  SplitKind kind = split_kind(norm.views, words, chunks[0].weights.size());
  const Problem& p = chunks[0];
  if (chunks.size() == 1 && norm.centred && p.rows.inner.shape.rank() <= 1 &&
      in_column_pairs(p.views, all.options[0]) && weights_lie_still(p)) {
    kind.column_pairs = 3;
  }
  return plan_split_rows(capabilities, all, kind, form);
}

Call start(Stream& stream, const char* kernel, const RowNorm& norm, const Problem& p, const RowPlan& plan,
           std::int64_t length) {
  Call call(*stream.gpu(), kernel);
  std::vector<std::string> listed = add_views(call, p.views, p.rows, plan);
  add_fusion(call, p.views, plan, norm_work(norm.centred, p.weights.size()));
  bool scale_wide = false, bias_wide = false;
  for (const auto& [name, view] : p.weights) {
    if (view.dtype == DType::f64) throw Unsupported("{}: {} is f64, which runs on the CPU only", norm.name, name);
    const bool wide = plan.width == 4 && !shared_by_four(p.rows, listed.size(), plan.across);
    call.read(name, view, wide && !plan.unaligned ? 4 : 1);
    (name == "scale" ? scale_wide : bias_wide) = wide;
    listed.emplace_back(name);
  }
  const std::vector<std::string_view> names(listed.begin(), listed.end());
  add_rows(call, p.rows, plan, names);
  call.include("float_rows").include("norm_weights");
  call.set("pairs_of_x", keeps_pairs(p.views) && steps_are_vec4(p.views, p.rows, plan, 0));
  call.set("scale_wide", scale_wide).set("bias_wide", bias_wide);
  // In constant rows, for example, a result is a weight, which may be halfway between two bf16.
  call.set("ties", std::ranges::any_of(p.weights, [](const Weight& w) { return w.view.dtype != DType::bf16; }));
  call.set("scaled", norm.scale.has_value()).set("biased", norm.bias.has_value());
  call.param("inverse_length", 1 / static_cast<float>(length)).param("epsilon", static_cast<float>(norm.epsilon));
  return call;
}

// True if results are bf16 of an unconverted x, and the inputs may be read again after some results are stored.
bool rounds_at_once(const Problem& p) {
  const RowViews& views = p.views;
  const auto overwritten = [&](const View& v) { return v.buffer == views.results[0].buffer; };
  const bool again = !p.weights.empty() &&
                     (overwritten(views.inputs[0]) || std::ranges::any_of(p.weights, overwritten, &Weight::view));
  return rounds_only(views) && !views.prologue && !again;
}

void set_result(Call& call, const RowNorm& norm, const Problem& p) {
  call.set("centred", norm.centred).set("narrow_y", bits(p.views.result_type()) <= 16).set("rounds", rounds_at_once(p));
}

void run_split(Stream& stream, const RowNorm& norm, std::span<const Problem> chunks, const SplitRows& splits) {
  std::int64_t length = 0;
  for (const Problem& p : chunks) length += p.rows.length;
  run_split_rows(*stream.gpu(), norm.name, splits, [&](std::size_t chunk) {
    const char* kernel = splits.column_pairs ? "norm_columns" : "row_norm_split";
    Call call = start(stream, kernel, norm, chunks[chunk], splits.plan_of(chunk), length);
    call.include("split_rows").include("tile_fusion");
    if (splits.column_pairs) {
      add_column_pairs(call, splits, chunks[chunk].views.result_type(), splits.plan.threads_per_row / 4);
    } else {
      set_result(call, norm, chunks[chunk]);
      call.set("counted", chunks.size() > 1);
    }
    return call;
  });
}

void run_whole(Stream& stream, const RowNorm& norm, const Problem& p, const std::optional<RowForm>& form) {
  RowPlanOptions options = options_of(p);
  options.form = form;
  const RowPlan plan = plan_rows(stream.gpu()->device().capabilities(), p.rows, options);
  Call call = start(stream, "row_norm", norm, p, plan, p.rows.length);
  call.include("moments").opaque_zero().opaque_start();
  set_result(call, norm, p);
  if (plan.register_steps == 0 && norm.centred) {
    add_moments(call, plan, uncut(plan), loads_at_once(call.capabilities(), plan, false, true));
  } else {
    add_no_moments(call);
  }
  call.dispatch_groups(norm.name, plan.groups);
}

std::vector<Problem> chunks_of(const RowNorm& norm, RowChunks pieces) {
  std::vector<Problem> chunks;
  for (const RowChunk& piece : pieces) chunks.push_back(problem_of(norm_of(norm, piece.views)));
  return chunks;
}

// The scratch for chunks of such rows.
auto scratch_of(const gpu::Capabilities& capabilities, const RowNorm& norm) {
  return [&capabilities, &norm](RowChunks pieces) -> std::uint64_t {
    const auto splits = splits_of(capabilities, norm, chunks_of(norm, pieces));
    return splits ? splits->bytes() : 0;
  };
}

}  // namespace

void row_norm(Stream& stream, const RowNorm& norm) {
  const Problem p = problem_of(norm);
  check_memory(stream, norm.name, norm.views, {"scale", norm.scale, norm.scale_as_given},
               {"bias", norm.bias, norm.bias_as_given});
  if (element_count(norm.views.shape()) == 0) return;
  if (stream.cpu()) return row_norm_cpu(*stream.cpu(), norm, p.rows);
  refuse_f64(norm.name, norm.views);

  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const auto scratch = scratch_of(capabilities, norm);
  in_row_chunks(capabilities, norm.name, views_of(p), norm.along, scratch, [&](RowChunks pieces) {
    const bool whole = pieces.size() == 1 && pieces[0].views[0].shape() == norm.views.shape();
    const std::vector<Problem> cut = whole ? std::vector<Problem>() : chunks_of(norm, pieces);
    const std::span<const Problem> chunks = whole ? std::span(&p, 1) : cut;
    const auto splits = splits_of(capabilities, norm, chunks);
    if (splits) return run_split(stream, norm, chunks, *splits);
    run_whole(stream, whole ? norm : norm_of(norm, pieces[0].views), chunks[0], {});
  });
}

void row_norm_in_form(Stream& stream, const RowNorm& norm, const RowForm& form) {
  const Problem p = problem_of(norm);
  const std::vector<View> all = views_of(p);
  call_once(stream, {all}, [&](Stream& s) { run_whole(s, norm, p, form); });
}

void row_norm_split_rows(Stream& stream, const RowNorm& norm, const SplitForm& form) {
  const Problem p = problem_of(norm);
  const std::vector<View> all = views_of(p);
  call_once(stream, {all}, [&](Stream& s) {
    const SplitRows splits = *splits_of(s.gpu()->device().capabilities(), norm, std::span(&p, 1), form);
    run_split(s, norm, std::span(&p, 1), splits);
  });
}

}  // namespace weft::kernels
