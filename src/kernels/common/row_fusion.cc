#include "kernels/common/row_fusion.h"

#include <algorithm>
#include <format>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

void check_floating_view(std::string_view kernel, std::string_view operand, const View& view) {
  if (is_floating(view.dtype)) return;
  throw InvalidArgument("{}: {} is {}; expected a floating type", kernel, operand, to_string(view));
}

// Checks that the inputs of the expression from number `first` on fit `views`.
void check_inputs(std::string_view kernel, std::string_view what, const Expression& e, std::size_t first,
                  std::span<const View> views) {
  if (static_cast<std::size_t>(e.input_count()) != first + views.size()) {
    throw InvalidArgument("{}: the expression {} has {} inputs, got {} views", kernel, what, e.input_count(),
                          first + views.size());
  }
  for (const Expression::Node& node : e.nodes()) {
    const auto k = static_cast<std::size_t>(node.input);
    if (node.op != ScalarOp::input || k < first || views[k - first].dtype == node.type) continue;
    throw InvalidArgument("{}: input {} of the expression {} is {}, got {}", kernel, k, what, name(node.type),
                          to_string(views[k - first]));
  }
}

bool is_f64(const View& v) { return v.dtype == DType::f64; }
bool names_64_bits(const Expression* e) {
  return e && std::ranges::any_of(e->nodes(), [](const auto& node) { return bits(node.type) == 64; });
}

// True if four elements that a thread loads together are the same element.
bool same_for_four(const Rows& rows, std::size_t k, bool across) {
  const Collapsed& fast = across ? rows.outer : rows.inner;
  return !fast.shape.empty() && fast.strides[k].back() == 0;
}

std::int64_t distinct_elements(const View& v) {
  std::int64_t n = 1;
  for (int d = 0; d < v.rank(); ++d) n *= v.strides()[d] == 0 ? 1 : v.shape()[d];
  return n;
}

// The input with the most bytes; of several, one that vectorises, else the first.
std::size_t leading_input(const RowViews& views, const Rows& rows) {
  std::size_t best = 0;
  const auto rank = [&](std::size_t k) {
    const View& v = views.inputs[k];
    const bool fast = vectorises_along(v, rows, k) || vectorises_across(v, rows, k);
    return std::pair(distinct_elements(v) * bits(v.dtype), fast);
  };
  for (std::size_t k = 1; k < views.inputs.size(); ++k) {
    if (rank(k) > rank(best)) best = k;
  }
  return best;
}

}  // namespace

DType RowViews::result_type() const {
  if (!epilogue) return results[0].dtype;
  const auto& nodes = epilogue->nodes();
  return std::ranges::find(nodes, 0, &Expression::Node::input)->type;
}

bool RowViews::computes_in_f64() const { return x_type() == DType::f64 || result_type() == DType::f64; }

std::vector<View> RowViews::all() const {
  std::vector<View> list;
  for (const auto* views : {&inputs, &operands, &results, &extra_outputs}) {
    list.insert(list.end(), views->begin(), views->end());
  }
  return list;
}

RowViews RowViews::with(std::span<const View> views) const {
  RowViews other = *this;
  for (auto* list : {&other.inputs, &other.operands, &other.results, &other.extra_outputs}) {
    std::copy_n(views.begin(), list->size(), list->begin());
    views = views.subspan(list->size());
  }
  return other;
}

RowViews row_views(std::string_view kernel, const View& x, const View& y, const Fusion& fusion) {
  const auto& [prologue, epilogue] = fusion;
  if (!prologue.expression && !epilogue.expression && x.shape() != y.shape()) {
    throw InvalidArgument("{}: x is {}, y is {}; their shapes must be the same", kernel, to_string(x), to_string(y));
  }
  std::vector<View> inputs{x}, outputs{y};
  inputs.insert(inputs.end(), prologue.operands.begin(), prologue.operands.end());
  outputs.insert(outputs.end(), epilogue.outputs.begin(), epilogue.outputs.end());
  outputs.insert(outputs.end(), prologue.outputs.begin(), prologue.outputs.end());
  if (!prologue.expression && inputs.size() != 1) {
    throw InvalidArgument("{}: {} inputs without an expression of them", kernel, inputs.size());
  }
  const std::size_t results = epilogue.expression ? epilogue.expression->outputs().size() : 1;
  const std::size_t extra_outputs = prologue.expression ? prologue.expression->outputs().size() : 1;
  if (results == 0 || extra_outputs == 0) throw InvalidArgument("{}: an expression has no output", kernel);
  if (epilogue.outputs.size() + 1 != results || prologue.outputs.size() + 1 != extra_outputs) {
    throw InvalidArgument("{}: {} outputs, expected {}", kernel, outputs.size(), results + extra_outputs - 1);
  }
  Shape shape;
  for (const View& v : inputs) shape = broadcast(shape, v.shape());
  RowViews r{.prologue = prologue.expression, .epilogue = epilogue.expression};
  if (r.prologue) {
    check_inputs(kernel, "before it", *r.prologue, 0, inputs);
    if (!is_floating(r.prologue->output_type(0))) {
      throw InvalidArgument("{}: the expression before it yields {}; expected a floating type", kernel,
                            name(r.prologue->output_type(0)));
    }
  } else {
    check_floating_view(kernel, "x", inputs[0]);
  }
  if (r.epilogue) {
    check_inputs(kernel, "after it", *r.epilogue, 1, epilogue.operands);
    for (const Expression::Node& node : r.epilogue->nodes()) {
      if (node.op != ScalarOp::input || node.input != 0 || node.type == DType::f32 || node.type == DType::f64) continue;
      throw InvalidArgument("{}: input 0 of the expression after it is {}, expected f32", kernel, name(node.type));
    }
  } else if (!epilogue.operands.empty()) {
    throw InvalidArgument("{}: {} operands without an expression after it", kernel, epilogue.operands.size());
  }
  for (const View& v : inputs) r.inputs.push_back(v.broadcast_to(shape));
  for (const View& v : epilogue.operands) {
    if (!broadcasts_to(v.shape(), shape)) {
      throw InvalidArgument("{}: operand {} does not broadcast to {}", kernel, to_string(v), to_string(shape));
    }
    r.operands.push_back(v.broadcast_to(shape));
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const View& v = outputs[k];
    const bool result = k < results;
    const DType type = !result      ? r.prologue->output_type(static_cast<int>(k - results) + 1)
                       : r.epilogue ? r.epilogue->output_type(static_cast<int>(k))
                                    : v.dtype;
    if (v.shape() != shape || v.dtype != type) {
      throw InvalidArgument("{}: output {} is {}, expected {} {}", kernel, k, to_string(v), name(type),
                            to_string(shape));
    }
    if (!r.epilogue && result) check_floating_view(kernel, "y", v);
    (result ? r.results : r.extra_outputs).push_back(v);
  }
  return r;
}

void check_memory(Stream& stream, std::string_view kernel, const RowViews& views, const NamedViews& scale,
                  const NamedViews& bias) {
  const auto list = [](std::string_view name, const std::vector<View>& v, bool is_fused) {
    return is_fused ? NamedViews(name, std::span<const View>(v)) : NamedViews(name, v[0]);
  };
  const NamedViews inputs = list(views.prologue ? "input" : "x", views.inputs, views.prologue != nullptr),
                   operands("operand", std::span<const View>(views.operands)),
                   results = list(views.epilogue ? "output" : "y", views.results, views.epilogue != nullptr),
                   extra_outputs("further output", std::span<const View>(views.extra_outputs));
  check_memory(stream, kernel, {inputs, operands, scale, bias}, {results, extra_outputs}, Sharing::same_view);
  check_memory(stream, kernel, {operands, scale, bias}, {extra_outputs}, Sharing::none);
}

void refuse_f64(std::string_view kernel, const RowViews& views) {
  const auto refuse = [&](const std::vector<View>& list) {
    for (const View& v : list) {
      if (is_f64(v)) throw Unsupported("{}: {} runs on the CPU only, WGSL has no such type", kernel, to_string(v));
    }
  };
  // What an expression converts from f64, or to it, GPUs do in integers.
  if (!views.prologue || views.x_type() == DType::f64) refuse(views.inputs);
  if (!views.epilogue) refuse(views.operands);
  if (!views.epilogue || views.result_type() == DType::f64) refuse(views.results);
}

RowPlanOptions plan_options(const RowViews& views, const Rows& rows) {
  const std::size_t lead = leading_input(views, rows);
  const View& x = views.inputs[lead];
  RowPlanOptions options{.across = runs_across(rows, lead), .reads = RowReads::again};
  if (names_64_bits(views.prologue) || names_64_bits(views.epilogue)) return options;
  RowAccesses& access = options.access;
  access = {RowAccess::along, RowAccess::across, options.across ? RowAccess::pairs_across : RowAccess::unaligned_along};
  access.require(RowAccess::along, vectorises_along(x, rows, lead));
  access.require(RowAccess::across, vectorises_across(x, rows, lead));
  access.require(RowAccess::unaligned_along, bits(views.results[0].dtype) == 16);
  const std::size_t first = views.inputs.size() + views.operands.size();
  std::size_t k = first;
  for (const auto* stored : {&views.results, &views.extra_outputs}) {
    for (const View& v : *stored) {
      access.require(RowAccess::along, vectorises_along(v, rows, k));
      access.require(RowAccess::across, vectorises_across(v, rows, k));
      access.require(RowAccess::unaligned_along, same_misalignment(v, views.results[0], rows, k, first));
      // The last group of four rows may overlap the one before: two threads then process the same rows, which therefore
      // must not be written in place.
      const auto is_stored = [&](const View& read) { return read.buffer == v.buffer; };
      access.require(RowAccess::pairs_across, packed_pairs(v, rows, k) &&
                                                  std::ranges::none_of(views.inputs, is_stored) &&
                                                  std::ranges::none_of(views.operands, is_stored));
      ++k;
    }
  }
  return options;
}

bool steps_are_vec4(const RowViews& views, const Rows& rows, const RowPlan& plan, std::size_t k) {
  const std::size_t leader = views.results.empty() ? 0 : views.inputs.size() + views.operands.size();
  const std::vector<View> all = views.all();
  return steps_are_vec4(plan, rows, all[k], k, all[leader], leader);
}

bool keeps_pairs(const RowViews& views) { return !views.prologue && bits(views.inputs[0].dtype) == 16; }

bool rounds_only(const RowViews& views) { return !views.epilogue && views.result_type() == DType::bf16; }

bool in_column_pairs(const RowViews& views, const RowPlanOptions& options) {
  return options.access.has(RowAccess::across) && !options.access.has(RowAccess::along) && !views.is_fused() &&
         bits(views.inputs[0].dtype) == 16 && bits(views.result_type()) == 16;
}

std::vector<std::string> add_views(Call& call, const RowViews& views, const Rows& rows, const RowPlan& plan) {
  std::vector<std::string> names, reads, modes, stores, inputs, operands, results, extra_outputs;
  std::size_t k = 0;
  const auto read = [&](const View& v, std::string name, std::vector<std::string>& list) {
    const bool fours = steps_are_vec4(views, rows, plan, k);
    const bool same = same_for_four(rows, k, plan.across);
    call.read(name, v, fours ? 4 : 1, fours ? plan.pair_stride() : 0);
    modes.emplace_back(fours ? "step" : same ? "splat" : "each");
    for (auto* l : {&names, &reads, &list}) l->push_back(name);
    ++k;
  };
  const auto write = [&](const View& v, std::string name, std::vector<std::string>& list) {
    call.write(name, v, plan.width, plan.pair_stride());
    for (auto* l : {&names, &stores, &list}) l->push_back(name);
    ++k;
  };
  for (const View& v : views.inputs) read(v, views.prologue ? str_cat("in", inputs.size()) : "x", inputs);
  for (const View& v : views.operands) read(v, str_cat("e", operands.size()), operands);
  for (const View& v : views.results) write(v, views.epilogue ? str_cat("y", results.size()) : "y", results);
  for (const View& v : views.extra_outputs) write(v, str_cat("b", extra_outputs.size()), extra_outputs);
  call.include("row_fusion").set("prologue", views.prologue != nullptr).set("several", results.size() > 1);
  call.set("reads", reads).set("modes", modes).set("stores", stores).set("inputs", inputs).set("operands", operands);
  call.set("results", results)
      .set("extra_outputs", extra_outputs)
      .set("misalignment_of", stores.empty() ? "" : stores[0]);
  return names;
}

void add_fusion(Call& call, const RowViews& views, const RowPlan& plan, const ElementWork& own) {
  call.epilogue(views.epilogue, plan.width);
  if (views.prologue) call.expression(*views.prologue, ExpressionRole::prologue, plan.width);
  const auto elements = static_cast<double>(element_count(views.shape()));
  call.cost(work_of(own, elements, views.prologue, elements, views.epilogue));
}

SplitKind split_kind(const RowViews& views, int words, std::size_t weights) {
  SplitKind kind{.element_bits = bits(views.x_type()), .words = words, .operands = views.all().size() + weights};
  // Loads of several inputs are in flight at once, and extra outputs would be held until the row's statistics are
  // known.
  if (views.prologue) kind.max_register_steps = 16;
  kind.can_look_back = views.extra_outputs.empty();
  return kind;
}

RowReading row_reading(const gpu::Capabilities* capabilities, DType type, const Shape& shape, const AxisMask& along) {
  View v;
  v.dtype = type;
  v.layout = Layout::dense(shape);
  if (v.count() == 0) return {};
  if (!capabilities) {
    // The CPU alternates between blocks of the expression and rows, at two thirds of the speed of separate kernels
    // (layer norm of x + r, 4096 x 1024, two cores): fusion pays only where the overhead of a step dominates.
    constexpr std::int64_t kLittle = 1 << 16;
    return {.fuses = v.count() <= kLittle};
  }
  const std::array<Strides, 2> strides{v.strides(), v.strides()};
  const Rows rows = rows_along(shape, along, strides);
  const RowViews views{.inputs = {v}, .results = {v}};
  const RowPlanOptions options = plan_options(views, rows);
  // Rows that exceed a binding, by themselves or as 64-bit operands, are processed in chunks, which do not look back.
  View row = v;
  row.dtype = DType::u64;
  for (int d = 0; d < row.rank(); ++d) row.layout.shape[d] = along[d] ? shape[d] : 1;
  const bool chunks = span_bytes(row) > chunk_limit(*capabilities);
  const auto splits = plan_split_rows(*capabilities, std::span(&rows, 1), options, split_kind(views, 1));
  if (splits && !chunks) return {.reads_once = splits->look_back, .extra_outputs = !splits->look_back, .scratch = true};
  return {.reads_once = plan_rows(*capabilities, rows, options).register_steps > 0, .scratch = chunks};
}

}  // namespace weft::kernels
