#include <cmath>
#include <limits>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/common/element_work.h"
#include "kernels/common/memory.h"
#include "kernels/common/ordered_key.h"
#include "kernels/common/positions.h"
#include "kernels/common/split_rows.h"
#include "kernels/reduce/reduce_cpu.h"
#include "kernels/reduce/reduce_form.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/table.h"

namespace weft::kernels {
namespace {

struct OpInfo {
  const char* name;
  double start;        // initial value of an accumulator; for integers an infinity means the end of their range
  bool tests = false;  // elements are only compared with 0
};

// In the order of ReduceKind.
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr OpInfo kOps[] = {
    {"sum", 0},         {"mean", 0},      {"prod", 1},        {"min", kInf},   {"max", -kInf},
    {"sum_squares", 0}, {"l1", 0},        {"l2", 0},          {"log_sum", 0},  {"log_sum_exp", 0},
    {"any", 0, true},   {"all", 1, true}, {"count", 0, true}, {"variance", 0}, {"deviation", 0},
};
// Sums of what is below the greatest number (scaled_sum.wgsl).
bool is_scaled_sum(ReduceKind op) { return op == ReduceKind::log_sum_exp || op == ReduceKind::l2; }
const char* kernel_of(ReduceKind op) {
  return is_moment(op) ? "variance" : is_scaled_sum(op) ? "scaled_sum" : "reduce";
}

void check_types(ReduceKind op, const TensorType& x, const TensorType& y) {
  const TensorType *inputs[] = {&x}, *outputs[] = {&y};
  check_operands(kernel(reduce_name(op)), reduce_name(op), inputs, outputs);
}

void check_expression(ReduceKind op, const Expression& e, std::span<const View> views, int first, std::size_t outputs) {
  if (e.input_count() != static_cast<int>(views.size()) + first || e.outputs().size() != outputs) {
    throw InvalidArgument("{}: {} views for an expression of {} inputs, and {} for its {} outputs", reduce_name(op),
                          views.size(), e.input_count() - first, outputs, e.outputs().size());
  }
  for (const Expression::Node& node : e.nodes()) {
    if (node.op != ScalarOp::input) continue;
    const DType given = node.input < first ? DType::f32 : views[node.input - first].dtype;
    if (given == node.type) continue;
    throw InvalidArgument("{}: input {} of the expression is {}, expected {}", reduce_name(op), node.input,
                          weft::name(node.type), weft::name(given));
  }
}

ReduceProblem check(ReduceKind op, const View& x, const View& y, std::span<const int> axes, double correction,
                    const Fusion& fusion) {
  const auto& [prologue, epilogue] = fusion;
  const std::string_view kernel = reduce_name(op);
  if (is_moment(op)) check_correction(kernel, correction);
  std::vector<View> inputs{x};
  inputs.insert(inputs.end(), prologue.operands.begin(), prologue.operands.end());
  if (!prologue.expression && inputs.size() != 1) {
    throw InvalidArgument("{}: {} inputs without an expression of them", kernel, inputs.size());
  }
  if (!epilogue.outputs.empty()) throw InvalidArgument("{}: its epilogue has one result", kernel);
  ReduceProblem r{.op = op,
                  .dtype = inputs[0].dtype,
                  .shape = inputs[0].shape(),
                  .prologue = prologue.expression,
                  .y = y,
                  .epilogue = epilogue.expression,
                  .correction = correction};
  if (prologue.expression) {
    check_expression(op, *prologue.expression, inputs, 0, prologue.outputs.size() + 1);
    r.dtype = prologue.expression->output_type(0);
    for (const View& v : inputs) r.shape = broadcast(r.shape, v.shape());
  }
  if (!prologue.outputs.empty() && (!prologue.expression || is_moment(op))) {
    throw InvalidArgument("{}: {} further results, expected none", kernel, prologue.outputs.size());
  }
  for (std::size_t k = 0; k < prologue.outputs.size(); ++k) {
    const View& v = prologue.outputs[k];
    const DType type = prologue.expression->output_type(static_cast<int>(k) + 1);
    if (v.shape() == r.shape && v.dtype == type) continue;
    throw InvalidArgument("{}: further result {} is {}, expected {} {}", kernel, k, to_string(v), weft::name(type),
                          to_string(r.shape));
  }
  r.extra_outputs.assign(prologue.outputs.begin(), prologue.outputs.end());
  if (epilogue.expression) {
    check_expression(op, *epilogue.expression, epilogue.operands, 1, 1);
    check_types(op, {r.dtype, r.shape}, {DType::f32, y.shape()});
    if (y.dtype != epilogue.expression->output_type(0)) {
      throw InvalidArgument("{}: y is {}, expected {}", kernel, to_string(y),
                            weft::name(epilogue.expression->output_type(0)));
    }
  } else {
    check_types(op, {r.dtype, r.shape}, {y.dtype, y.shape()});
  }
  for (const View& v : inputs) r.inputs.push_back(v.broadcast_to(r.shape));

  const AxisMask reduced = checked_axes(kernel, {r.dtype, r.shape}, y, axes);
  std::vector<Strides> strides;
  for (const View& v : r.inputs) strides.push_back(v.strides());
  strides.push_back(over_all_axes(y, r.shape, reduced).strides());
  for (const View& v : epilogue.operands) {
    if (!broadcasts_to(v.shape(), y.shape())) {
      throw InvalidArgument("{}: operand {} does not broadcast to y {}", kernel, to_string(v), to_string(y));
    }
    r.operands.push_back(v.broadcast_to(y.shape()));
    strides.push_back(over_all_axes(r.operands.back(), r.shape, reduced).strides());
  }
  for (const View& v : r.extra_outputs) strides.push_back(v.strides());
  r.rows = rows_along(r.shape, reduced, strides);
  return r;
}

std::string_view kind_of(DType type) {
  if (type == DType::c64) return "complex";
  if (type == DType::f64) return "double";
  if (is_floating(type)) return "float";
  if (bits(type) == 64) return is_signed(type) ? "long" : "ulong";
  return is_signed(type) ? "int" : "uint";
}

// The bits of the initial accumulator for elements of type `x`, in the shader's type.
std::uint64_t identity_bits(ReduceKind op, DType x) {
  const auto& [name, start, tests] = kOps[static_cast<int>(op)];
  if (tests) return static_cast<std::uint64_t>(start);
  if (is_floating(x) || x == DType::c64) return std::bit_cast<std::uint32_t>(static_cast<float>(start));
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - bits(x) + (is_signed(x) ? 1 : 0));
  if (start == kInf) return largest;
  if (start == -kInf) return is_signed(x) ? ~largest : 0;
  return static_cast<std::uint64_t>(start);
}

// The partial result of a split in scratch: `slots` elements of `type`.
struct Accumulator {
  DType type;
  int slots = 1;
};
Accumulator reduce_accumulator(ReduceKind op, DType x) {
  if (is_moment(op)) return {DType::c64, 2};   // variance.wgsl describes them
  if (is_scaled_sum(op)) return {DType::c64};  // the greatest and the sum
  if (kOps[static_cast<int>(op)].tests) return {DType::u32};
  if (x == DType::c64) return {x};
  // Minima and maxima as integers of the same order.
  if (is_floating(x)) return {op == ReduceKind::min || op == ReduceKind::max ? DType::i32 : DType::f32};
  if (bits(x) == 64) return {x};
  return {is_signed(x) ? DType::i32 : DType::u32};
}

// The plan for the inputs of `r`. Groups of four need all inputs to allow them: by their layouts, or because all four
// are the same element. `may_split`: rows may be split; `keep`: they are read again.
RowPlan plan_reduce(const gpu::Capabilities& capabilities, const ReduceProblem& r, bool may_split, bool keep = false) {
  // Groups of four do not cross the end of the last dimension.
  const auto same = [](const Strides& s) { return s.empty() || s.back() == 0; };
  RowPlanOptions options{.access = {RowAccess::along, RowAccess::across},
                         .reads = keep ? RowReads::again : RowReads::once_ahead,
                         .split = may_split};
  RowAccesses& access = options.access;
  if (r.form) options.form = r.form->rows;
  // The input with the most bytes decides the direction of threads.
  std::int64_t most = -1;
  for (std::size_t k = 0; k < r.inputs.size(); ++k) {
    const View& v = r.inputs[k];
    const bool several = r.inputs.size() > 1;
    access.require(RowAccess::along, vectorises_along(v, r.rows, k) || (several && same(r.rows.inner.strides[k])));
    access.require(RowAccess::across, vectorises_across(v, r.rows, k) || (several && same(r.rows.outer.strides[k])));
    std::int64_t size = 1;
    for (int d = 0; d < v.rank(); ++d) size *= v.strides()[d] == 0 ? 1 : v.shape()[d];
    if (size > most) {
      most = size;
      options.across = runs_across(r.rows, k);
    }
  }
  const auto has_64_bits = [](const Expression::Node& node) { return bits(node.type) == 64; };
  const bool wide = r.prologue && std::ranges::any_of(r.prologue->nodes(), has_64_bits);
  if (wide) access = {};
  // Extra outputs are stored in whole steps; rows that share words with others would have to wait for each other.
  for (std::size_t k = 0; k < r.extra_outputs.size(); ++k) {
    access.require(RowAccess::along, vectorises_along(r.extra_outputs[k], r.rows, r.extra_outputs_index() + k));
    access.require(RowAccess::across, vectorises_across(r.extra_outputs[k], r.rows, r.extra_outputs_index() + k));
  }
  const auto in_fours = [](std::int64_t elements, const Shape& shape) {
    return elements % 4 == 0 && shape.rank() > 0 && shape.back() % 4 == 0;
  };
  access.require(RowAccess::along, in_fours(r.rows.length, r.rows.inner.shape));
  access.require(RowAccess::across, in_fours(r.rows.count, r.rows.outer.shape));
  const bool narrow = std::ranges::all_of(r.inputs, [](const View& v) { return bits(v.dtype) == 16; });
  if (narrow) options.words = RowWords::always;
  // Short rows lose more at their ends than they gain.
  options.alignment_unit = alignment_unit_of(r.inputs[0].dtype);
  const bool is_long = r.rows.length >= (options.alignment_unit == 2 ? 128 : 512);
  if (!wide && r.extra_outputs.empty()) {
    if (options.across)
      access.allow(RowAccess::pairs_across), access.allow(RowAccess::unaligned_across);
    else if (is_long && !keep && !is_moment(r.op) && !is_scaled_sum(r.op))
      access.allow(RowAccess::unaligned_along);
  }
  for (std::size_t k = 0; k < r.inputs.size(); ++k) {
    const bool taken = options.alignment_unit == 2 || last_group_is_whole(r.inputs[k]);  // words always are whole
    access.require(RowAccess::unaligned_along,
                   (same_misalignment(r.inputs[k], r.inputs[0], r.rows, k, 0) && taken) ||
                       (k > 0 && r.rows.inner.shape.rank() == 1 && r.rows.inner.strides[k][0] == 0));
    const bool splat = k > 0 && r.rows.outer.shape.rank() == 1 && r.rows.outer.strides[k][0] == 0;
    access.require(RowAccess::pairs_across, splat || packed_pairs(r.inputs[k], r.rows, k));
    access.require(RowAccess::unaligned_across, splat || unaligned_pairs(r.inputs[k], r.rows, k));
  }
  // The last group of four rows may overlap the one before: two threads then process the same rows, which therefore
  // must not be written in place.
  const auto is_stored = [&](const View& v) { return v.buffer == r.y.buffer && v.offset == r.y.offset; };
  const bool in_place = std::ranges::any_of(r.inputs, is_stored) || std::ranges::any_of(r.operands, is_stored);
  access.require(RowAccess::pairs_across, !in_place);
  access.require(RowAccess::unaligned_across, !in_place);
  const RowPlan plan = plan_split_reduction(capabilities, r.rows, options);
  const bool one_split = r.form ? r.form->splits == 1 : choose_splits(capabilities, r.rows, plan).count == 1;
  if (!plan.unaligned || one_split) return plan;
  access.require(RowAccess::unaligned_along, false);
  return plan_split_reduction(capabilities, r.rows, options);
}

// `length`: elements of a whole row.
void record_reduce(Stream& stream, const ReduceProblem& r, const RowPlan& plan, const RowSplits& splits, Stage stage,
                   std::int64_t length) {
  const OpInfo& info = kOps[static_cast<int>(r.op)];
  Call call(*stream.gpu(), kernel_of(r.op));
  std::vector<std::string> names, modes;
  for (std::size_t k = 0; k < r.inputs.size(); ++k) {
    const View v = r.inputs[k].dtype == DType::f64 ? as_raw(r.inputs[k]) : r.inputs[k];
    const bool fours = steps_are_vec4(plan, r.rows, v, k, r.inputs[0], 0);
    names.push_back(r.prologue ? str_cat("in", k) : "x");
    modes.push_back(plan.width == 4 && !fours ? "splat" : "step");
    call.read(names.back(), v, fours ? 4 : 1, fours ? plan.pair_stride() : 0);
  }
  const std::vector<std::string> inputs = names;
  names.push_back("y");
  const int y_bits = bits(r.y.dtype);
  const bool in_fours =
      plan.across && plan.width == 4 && plan.pair_stride() == 0 && stage != Stage::first && r.folds == 1;
  const bool stores_fours = in_fours && (y_bits == 8 || y_bits == 16) && vectorises_across(r.y, r.rows, r.y_index());
  call.write("y", r.y, stores_fours ? 4 : 1);
  std::vector<std::string> operands;
  for (std::size_t k = 0; k < r.operands.size(); ++k) {
    operands.push_back(str_cat("e", k));
    names.push_back(operands.back());
    call.read(names.back(), r.operands[k]);
  }
  std::vector<std::string> extra_outputs;
  for (std::size_t k = 0; k < r.extra_outputs.size(); ++k) {
    extra_outputs.push_back(str_cat("b", k));
    names.push_back(extra_outputs.back());
    call.write(names.back(), r.extra_outputs[k], plan.width);
  }
  const std::vector<std::string_view> listed(names.begin(), names.end());
  add_rows(call, r.rows, plan, listed);
  const auto [accumulator, slots] = reduce_accumulator(r.op, r.dtype);
  add_splits(call, plan, splits, stage, bits(accumulator) / 32 * slots);
  call.param("length", static_cast<float>(length));
  call.include("row_fusion").include("reduce_result").set("prologue", r.prologue != nullptr).set("reads", inputs);
  call.set("inputs", inputs)
      .set("modes", modes)
      .set("operands", operands)
      .set("stores", extra_outputs)
      .set("extra_outputs", extra_outputs)
      .set("results", std::vector<std::string>())
      .set("several", false);
  call.set("misalignment_of", names[0]).set("stores_fours", stores_fours).set("folds", r.folds);
  if (r.prologue) call.expression(*r.prologue, ExpressionRole::prologue, plan.width);
  call.epilogue(r.epilogue, 1);
  bool loads_pairs = false;
  if (!is_moment(r.op) || (plan.register_steps == 0 && stage != Stage::second)) {
    const bool narrow = std::ranges::all_of(r.inputs, [](const View& v) { return bits(v.dtype) <= 16; });
    // Exponentials take registers, too.
    const bool few = r.op == ReduceKind::log_sum_exp && !(plan.across && narrow);
    const int loads = few ? 4 : loads_at_once(call.capabilities(), plan, narrow, true);
    const int at_once = r.form ? r.form->loads : loads;
    is_moment(r.op) ? add_moments(call, plan, splits, at_once) : add_batches(call, plan, splits, at_once, true);
    const bool fours = plan.width == 4 && (plan.unaligned || plan.pair_stride() == 0);
    loads_pairs = !r.prologue && fours && bits(r.inputs[0].dtype) == 16;
  } else {
    add_no_moments(call);
  }
  call.set("loads_pairs", loads_pairs);
  if (is_moment(r.op)) {
    call.include("float_rows").include("moments").set("ties", false).set("op", info.name).opaque_zero();
    call.param("divisor", static_cast<float>(std::max(static_cast<double>(length) - r.correction, 0.0)));
  } else if (is_scaled_sum(r.op)) {
    call.include("float_rows").set("ties", false).set("op", info.name);
  } else {
    // Of unaligned rows: a lane's first step and its last two.
    const std::int64_t edges = std::min<std::int64_t>(ceil_div(plan.steps, plan.threads_per_row), 3);
    call.set("blocks", is_long(plan, splits)).set("edges", plan.unaligned ? edges : 0);
    call.set("sums", plan.across && plan.width == 4 ? 2 : 4);
    const std::uint64_t identity = identity_bits(r.op, stage == Stage::second ? accumulator : r.dtype);
    const std::uint64_t of_splits = identity_bits(r.op, accumulator);
    if (info.tests) call.opaque_zero();
    call.set("op", info.name).set("kind", kind_of(r.dtype)).set("long_result", bits(r.y.dtype) == 64);
    call.set("x_type", compute_type(r.dtype));
    call.param("identity_low", static_cast<std::uint32_t>(identity));
    call.param("identity_high", static_cast<std::uint32_t>(identity >> 32));
    if (stage == Stage::joins) {
      call.param("joined_low", static_cast<std::uint32_t>(of_splits));
      call.param("joined_high", static_cast<std::uint32_t>(of_splits >> 32));
    }
  }
  // Combining partial results is counted as part of the same sum.
  const ElementWork own = stage == Stage::second ? ElementWork{} : reduce_work(r.op);
  const auto rows = static_cast<double>(r.rows.count);
  call.cost(work_of(own, rows * static_cast<double>(r.rows.length), r.prologue, rows, r.epilogue));
  call.dispatch_groups(info.name, plan.groups * splits.count);
}

// What is reduced, whole or, if rows exceed a binding, a chunk of it, and how.
struct Chunk {
  ReduceProblem problem;
  RowPlan plan;
  RowSplits splits;
  Stage stage = Stage::whole;
};

// Two adjacent columns as four of half the length, which are read in groups of four; nothing for other shapes.
std::optional<ReduceProblem> folded(const ReduceProblem& r) {
  if (is_moment(r.op) || is_scaled_sum(r.op)) return {};
  if (r.inputs.size() != 1 || r.prologue || !r.extra_outputs.empty()) return {};
  const std::optional<Rows> rows = folded_columns(r.inputs[0], r.rows);
  if (!rows) return {};
  ReduceProblem f = r;
  f.folds = 2;
  f.rows = *rows;
  return f;
}

// The chunk `r`, one of `chunks`.
Chunk chunk_of(const gpu::Capabilities& capabilities, const ReduceProblem& r, std::size_t chunks = 1) {
  if (const auto f = chunks == 1 && r.folds == 1 ? folded(r) : std::nullopt) {
    const Chunk w = chunk_of(capabilities, *f);
    if (w.stage != Stage::first) return w;
  }
  const auto [type, slots] = reduce_accumulator(r.op, r.dtype);
  Chunk w{r, plan_reduce(capabilities, r, true)};
  w.splits = r.form ? split_into(w.plan, r.form->splits)
                    : choose_chunk_splits(capabilities, r.rows, w.plan, chunks, type, slots);
  const std::size_t bindings = r.inputs.size() + 1 + r.operands.size() + r.extra_outputs.size();
  w.stage = first_stage(capabilities, r.rows, w.plan, w.splits, {bits(type) / 32 * slots, bindings}, chunks);
  if (w.stage == Stage::whole) {
    if (w.plan.split) w.plan = plan_reduce(capabilities, r, false);
    w.splits = uncut(w.plan);
  }
  return w;
}

RowSplits joined(std::span<const Chunk> chunks) {
  RowSplits all{0, 0};
  for (const Chunk& w : chunks) all.count += w.splits.count;
  return all;
}

std::uint64_t scratch_bytes(std::span<const Chunk> chunks) {
  const ReduceProblem& r = chunks[0].problem;
  const std::int64_t splits = joined(chunks).count;
  const auto [type, slots] = reduce_accumulator(r.op, r.dtype);
  if (chunks[0].stage != Stage::first) return 0;
  return byte_size(type, static_cast<std::uint64_t>(r.rows.count * splits * slots));
}

// Splits write accumulators to scratch, which a last call combines.
void run_split(Stream& stream, std::span<const Chunk> chunks) {
  const ReduceProblem& r = chunks[0].problem;
  const RowSplits all = joined(chunks);
  const auto [type, slots] = reduce_accumulator(r.op, r.dtype);
  GpuScratch scratch(*stream.gpu());
  const View partial = partials(scratch, type, r.rows, all, slots);
  // The accumulators of each row's splits are contiguous, rows in row-major order.
  Strides listed = dense_strides(r.rows.outer.shape);
  for (auto& s : listed) s *= all.count * slots;
  std::int64_t length = 0, prologue = 0;
  for (const Chunk& w : chunks) length += w.problem.rows.length;
  for (const auto& [problem, plan, splits, stage] : chunks) {
    ReduceProblem first = problem;
    first.y = partial;
    first.y.offset += byte_size(type, static_cast<std::uint64_t>(prologue * slots));
    first.epilogue = nullptr;
    first.operands.clear();
    const auto list_partial = [&](Collapsed& dims, const Strides& of_partial) {
      const auto y = dims.strides.begin() + static_cast<std::ptrdiff_t>(r.y_index());
      *y = of_partial;
      dims.strides.erase(y + 1, dims.strides.begin() + static_cast<std::ptrdiff_t>(r.extra_outputs_index()));
    };
    list_partial(first.rows.outer, listed);
    list_partial(first.rows.inner, Strides::filled(first.rows.inner.shape.rank(), 0));
    record_reduce(stream, first, plan, splits, stage, length);
    prologue += splits.count;
  }
  // y's rows keep their strides; the partials are a list.
  ReduceProblem second = r;
  second.inputs = {partial};
  second.prologue = nullptr;
  second.extra_outputs.clear();
  second.form = {};
  second.rows.length = all.count;
  second.rows.outer = {r.rows.outer.shape, {listed}};
  second.rows.inner = {{all.count}, {{slots}}};
  for (std::size_t k = r.y_index(); k < r.extra_outputs_index(); ++k) {
    second.rows.outer.strides.push_back(r.rows.outer.strides[k]);
    second.rows.inner.strides.push_back({0});
  }
  RowPlanOptions options;
  if (vectorises_along(partial, second.rows, 0)) options.access.allow(RowAccess::along);
  const RowPlan last = plan_rows(stream.gpu()->device().capabilities(), second.rows, options);
  record_reduce(stream, second, last, uncut(last), Stage::second, length);
}

void run_alone(Stream& stream, const Chunk& chunk) {
  const ReduceProblem& r = chunk.problem;
  if (chunk.stage == Stage::joins) {
    return record_reduce(stream, r, chunk.plan, chunk.splits, Stage::joins, r.rows.length * r.folds);
  }
  RowPlan plan = chunk.plan;
  if (is_moment(r.op)) {
    // It reads rows more than once, so they should stay in registers.
    const RowPlan keeping = plan_reduce(stream.gpu()->device().capabilities(), r, false, true);
    if (keeping.register_steps) plan = keeping;
  }
  record_reduce(stream, r, plan, uncut(plan), Stage::whole, r.rows.length * r.folds);
}

// All views over the axes of what is reduced: the inputs, y, the operands, the extra outputs. Empty rows also have
// results, which are cut as if rows had one element.
std::vector<View> views_of(const ReduceProblem& r, const AxisMask& reduced) {
  std::vector<View> views = r.inputs;
  views.push_back(over_all_axes(r.y, r.shape, reduced));
  for (const View& v : r.operands) views.push_back(over_all_axes(v, r.shape, reduced));
  views.insert(views.end(), r.extra_outputs.begin(), r.extra_outputs.end());
  if (r.rows.length > 0) return views;
  for (std::size_t k = 0; k < views.size(); ++k) {
    const bool has_elements = k >= r.inputs.size() && k < views.size() - r.extra_outputs.size();
    if (!has_elements) views[k].layout.strides = Strides::filled(r.shape.rank(), 0);
    for (int d = 0; d < r.shape.rank(); ++d) {
      if (reduced[d]) views[k].layout.shape[d] = 1;
    }
  }
  return views;
}

// The chunks of pieces of views_of(…).
std::vector<Chunk> chunks_of(const gpu::Capabilities& capabilities, const ReduceProblem& r, std::span<const int> axes,
                             RowChunks pieces) {
  const AxisMask reduced = mask_of(axes, r.shape.rank());
  const std::size_t inputs = r.inputs.size(), extra_outputs = r.extra_outputs_index();
  std::vector<Chunk> chunks;
  for (const RowChunk& piece : pieces) {
    std::vector<View> views = piece.views;
    for (std::size_t k = 0; k < views.size(); ++k) {
      const bool is_result = k >= inputs && k < extra_outputs;
      if (!is_result && r.rows.length > 0) continue;
      for (int d = 0; d < r.shape.rank(); ++d) {
        if (reduced[d]) views[k].layout.shape[d] = is_result ? 1 : r.shape[d];
      }
    }
    const std::span<const View> all(views);
    const Fusion fusion{{r.prologue, all.subspan(1, inputs - 1), all.subspan(extra_outputs)},
                        {r.epilogue, all.subspan(inputs + 1, extra_outputs - inputs - 1)}};
    const ReduceProblem chunk = check(r.op, all[0], all[inputs], axes, r.correction, fusion);
    chunks.push_back(chunk_of(capabilities, chunk, pieces.size()));
  }
  return chunks;
}

// The scratch for chunks of such rows.
auto scratch_of(const gpu::Capabilities& capabilities, const ReduceProblem& r, std::span<const int> axes) {
  return
      [&capabilities, &r, axes](RowChunks pieces) { return scratch_bytes(chunks_of(capabilities, r, axes, pieces)); };
}

void run(Stream& stream, ReduceKind op, const View& x, const View& y, std::span<const int> axes, double correction,
         const Fusion& fusion) {
  const ReduceProblem r = check(op, x, y, axes, correction, fusion);
  const OpInfo& info = kOps[static_cast<int>(op)];
  const NamedViews operands("operand", fusion.epilogue.operands),
      extra_outputs("further result", fusion.prologue.outputs);
  check_memory(stream, reduce_name(op),
               {{r.prologue ? "input" : "x", x}, {"input", fusion.prologue.operands}, operands},
               {{"y", y}, extra_outputs}, Sharing::same_view);
  check_memory(stream, reduce_name(op), {operands}, {extra_outputs}, Sharing::none);
  if (op == ReduceKind::count && !r.epilogue) check_counts(reduce_name(op), "y", y, r.rows.length);
  if (r.rows.count == 0) return;
  if (stream.cpu()) return reduce_cpu(*stream.cpu(), r);
  // Whether an f64 is 0 follows from its bits.
  const bool by_bits = info.tests && !r.prologue;
  if ((r.dtype == DType::f64 && !by_bits) || (!r.epilogue && y.dtype == DType::f64)) {
    throw Unsupported("{}: x is {}, y is {}; f64 runs on the CPU only", reduce_name(op), name(r.dtype), to_string(y));
  }

  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const auto scratch = scratch_of(capabilities, r, axes);
  const AxisMask reduced = mask_of(axes, r.shape.rank());
  in_row_chunks(capabilities, reduce_name(op), views_of(r, reduced), reduced, scratch, [&](RowChunks pieces) {
    const std::vector<Chunk> chunks = chunks_of(capabilities, r, axes, pieces);
    if (chunks[0].stage != Stage::first) return run_alone(stream, chunks[0]);
    run_split(stream, chunks);
  });
}

}  // namespace

void check_correction(std::string_view function, double correction) {
  if (!(correction >= 0)) throw InvalidArgument("{}: the correction is {}, expected 0 or more", function, correction);
}

void reduce(Stream& stream, ReduceKind op, const View& x, const View& y, std::span<const int> axes, double correction,
            const Fusion& fusion) {
  const auto& [prologue, epilogue] = fusion;
  call(stream, CallKey(reduce_name(op), axes, correction, prologue.expression, epilogue.expression),
       {x, prologue.operands, epilogue.operands, y, prologue.outputs},
       [&](Stream& s) { run(s, op, x, y, axes, correction, fusion); });
}

void reduce_in_form(Stream& stream, ReduceKind op, const View& x, const View& y, std::span<const int> axes,
                    const ReduceForm& form) {
  call_once(stream, {x, y}, [&](Stream& s) {
    ReduceProblem r = check(op, x, y, axes, 0, {});
    r.form = form;
    const Chunk chunk = chunk_of(s.gpu()->device().capabilities(), r);
    if (chunk.stage != Stage::first) return run_alone(s, chunk);
    run_split(s, std::span(&chunk, 1));
  });
}

}  // namespace weft::kernels
