// Elementwise kernels: checks, and the launcher of elementwise.wgsl.
//
// A thread takes groups of four adjacent elements along the last axis (one if a 64-bit type is among the operands; as
// many as 16 bytes hold if all operands are narrow and aligned). Each operand has a mode, chosen here:
//   vec    its elements are contiguous and aligned with the groups: one load or store
//   splat  the axis has stride 0: one load (inputs only)
//   each   four loads or stores of one element
//   constant, ramp  no operand: a number that is a parameter of the call, or one that grows along the axes
// Groups are cut at the first output's multiples of four, so that an output that starts inside of a word only has
// partial groups at the ends of rows. This also holds where each row has its own misalignment, as rows of odd lengths
// do: groups are then cut row by row.
// In large narrow tensors a thread takes several groups, so that it has 16 bytes or more in flight.
#include "kernels/elementwise/elementwise.h"

#include <cstring>
#include <numeric>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/common/bits.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/device_math.h"
#include "kernels/elementwise/elementwise_cpu.h"
#include "kernels/elementwise/expression_wgsl.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/expressions.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/table.h"

namespace weft::kernels {

Collapsed sort_and_collapse(const Shape& shape, std::span<const Strides> strides, std::size_t leading) {
  std::vector<int> order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](int axis) { return std::abs(strides[leading][axis]); });
  Layout layout{shape, shape};
  std::vector<Strides> sorted;
  for (const Strides& s : strides) {
    layout = Layout{shape, s}.permuted(order);
    sorted.push_back(layout.strides);
  }
  if (strides.empty()) return {shape, {}};
  Collapsed result = collapse(layout.shape, sorted);
  if (result.shape.empty()) {
    result.shape.push_back(1);
    for (Strides& s : result.strides) s.push_back(1);
  }
  return result;
}

namespace {

// The names of a kernel's operands in messages, as the table of kernels has them.
std::string operand_name(std::span<const OperandSchema> operands, std::string_view otherwise, std::size_t k) {
  if (k < operands.size() && operands[k].arity != Arity::repeated) return operands[k].name;
  return std::format("{} {}", otherwise, k);
}
std::string input_name(std::string_view kernel, std::size_t k, std::size_t) {
  const KernelInfo* info = find(kernel);
  return operand_name(info ? std::span(info->inputs) : std::span<const OperandSchema>(), "input", k);
}
std::string output_name(std::string_view kernel, std::size_t k, std::size_t) {
  const KernelInfo* info = find(kernel);
  return operand_name(info ? std::span(info->outputs) : std::span<const OperandSchema>(), "output", k);
}

ElementwiseProblem check(std::string_view name, const Expression& e, std::span<const View> inputs,
                         std::span<const View> outputs, std::span<const Virtual> virtuals = {}) {
  if (static_cast<int>(inputs.size() + virtuals.size()) != e.input_count() || outputs.size() != e.outputs().size()) {
    throw InvalidArgument("{}: the expression has {} inputs and {} outputs, got {} and {} views", name, e.input_count(),
                          e.outputs().size(), inputs.size(), outputs.size());
  }
  if (outputs.empty()) throw InvalidArgument("{}: no output", name);
  for (const auto& node : e.nodes()) {
    if (node.op == ScalarOp::input && node.input < static_cast<int>(inputs.size()) &&
        inputs[node.input].dtype != node.type) {
      throw InvalidArgument("{}: {} is {}, the expression takes {}", name,
                            input_name(name, static_cast<std::size_t>(node.input), inputs.size()),
                            to_string(inputs[node.input]), weft::name(node.type));
    }
  }
  std::vector<Strides> strides;
  const Shape& shape = outputs[0].shape();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const View& v = inputs[k];
    if (!broadcasts_to(v.shape(), shape)) {
      throw InvalidArgument("{}: {} {} does not broadcast to {} {}", name, input_name(name, k, inputs.size()),
                            to_string(v), output_name(name, 0, 1), to_string(outputs[0]));
    }
    strides.push_back(v.layout.broadcast_to(shape).strides);
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const View& v = outputs[k];
    if (v.shape() != shape || v.dtype != e.output_type(static_cast<int>(k))) {
      throw InvalidArgument("{}: {} is {}, expected {} {}", name, output_name(name, k, outputs.size()), to_string(v),
                            weft::name(e.output_type(static_cast<int>(k))), to_string(shape));
    }
    strides.push_back(v.strides());
  }
  for (const Virtual& v : virtuals) {
    strides.push_back(v.strides.empty() ? Strides::filled(shape.rank(), 0) : v.strides);
  }
  Collapsed c = sort_and_collapse(shape, strides, inputs.size());
  return {name, e, inputs, outputs, c.shape, std::move(c.strides), virtuals};
}

struct AccessedOperand {
  const View& view;
  const Strides& strides;
  std::string mode;
  std::string name;

  std::int64_t inner() const { return strides.back(); }
  std::int64_t first_element() const { return static_cast<std::int64_t>(view.offset) * 8 / bits(view.dtype); }
};

// True if groups of `width` elements that start `misalignment` elements before a multiple of `width` are accessed at
// once.
bool fits_vectors(const AccessedOperand& o, std::int64_t misalignment, int width = 4) {
  const int b = bits(o.view.dtype);
  if (b > 32 || b < 8 || o.inner() != 1 || (o.first_element() - misalignment) % width != 0) return false;
  for (int i = 0; i + 1 < o.strides.rank(); ++i) {
    if (o.strides[i] % width != 0) return false;
  }
  return last_group_is_whole(o.view, width);
}

// True if each row of the operand has the same misalignment, modulo four elements, as that of y.
bool in_step(const AccessedOperand& o, const AccessedOperand& y) {
  const int b = bits(o.view.dtype);
  if ((b != 16 && b != 32) || o.inner() != 1 || (o.first_element() - y.first_element()) % 4 != 0) return false;
  for (int i = 0; i + 1 < o.strides.rank(); ++i) {
    if ((o.strides[i] - y.strides[i]) % 4 != 0) return false;
  }
  return true;
}

// Whether each row of y is cut at its own multiples of four: "words" for 16-bit types, "fours" for 32-bit ones; else
// empty.
std::string row_misalignment_of(const ElementwiseProblem& problem, const AccessedOperand& y) {
  constexpr std::int64_t kShort = 16;  // shorter rows would be mostly ends
  const int b = bits(y.view.dtype);
  const bool single = problem.outputs.size() == 1 && problem.shape.rank() > 1 && y.mode != "vec";
  if (!single || y.inner() != 1 || (b != 16 && b != 32) || problem.shape.back() < kShort) return {};
  if (b == 32 && !last_group_is_whole(y.view)) return {};
  return b == 16 ? "words" : "fours";
}

// Groups of 16 bytes that a thread takes, so that some are loaded while others are computed.
int groups_for(const Expression& e) {
  int groups = 1, operations = 0;
  for (const Expression::Node& node : e.nodes()) {
    const ScalarOpInfo& row = kernels::info(node.op);
    if (row.arity > 0) ++operations;
    if (row.facts.groups == 3) return 3;
    // Functions of narrow floats are fast if they have a short form.
    if (row.facts.groups == 2 && row.function() && (bits(node.type) == 32 || row.narrow.empty())) groups = 2;
  }
  return operations > 2 ? 2 : groups;
}

// As many adjacent elements as 16 bytes hold of each operand, if all operands are narrow and aligned; else four.
int widest_group(const ElementwiseProblem& problem, std::span<const AccessedOperand> operands) {
  int widest = 8;
  for (const AccessedOperand& o : operands) {
    if (o.mode == "splat") continue;
    if (o.mode != "vec") return 4;
    widest = std::max(widest, bits(o.view.dtype));
  }
  const int width = 128 / widest;
  const auto fits = [&](const AccessedOperand& o) { return o.mode == "splat" || fits_vectors(o, 0, width); };
  return problem.shape.back() % width == 0 && std::ranges::all_of(operands, fits) ? width : 4;
}

// Groups that a thread takes. For narrow elements in groups of four, one group is too few bytes in flight. Measured on
// an H200, in GB/s, with one to four groups: f32 relu 4,080, 4,060, 4,030, 4,000; hardswish 3,960, 4,050, 4,030, 4,010;
// gelu 3,520, 3,960, 4,040, 3,990; f16 relu 4,130, 4,090, 4,090, 4,050 (in groups of four elements 2,500, 3,780, 4,070,
// 4,080), tanh 4,080, 4,050, 4,040, 4,010 (2,490, 3,680, 3,980, 3,970), gelu 3,960, 4,070, 4,040, 4,000; bf16 max
// 3,820, 4,240, 4,140, 4,160; single i64 add 3,570, 4,260, 4,210, 4,180, complex of f16 2,380, 3,810, 3,990, 4,010;
// with five operands, 16 bytes each, f32 4,110, 4,070, 4,050, 4,010, bf16 3,710, 3,570, 3,480, 3,460.
int groups_a_thread(const ElementwiseProblem& problem, std::span<const AccessedOperand> operands, int width,
                    bool row_misalignment) {
  if (width == 1) {
    const auto is_narrow = [](const AccessedOperand& o) { return bits(o.view.dtype) < 32; };
    return std::ranges::any_of(operands, is_narrow) ? 4 : 2;
  }
  int widest = 8, narrowest = 32, loads = 0;
  for (const AccessedOperand& o : operands) {
    loads += o.mode == "vec" && o.name[0] == 'x' ? 1 : 0;
    if (o.mode == "each" && o.name[0] == 'y') return 1;
    if (o.mode == "each" && !row_misalignment) return 1;
    if (o.mode != "vec") continue;
    widest = std::max(widest, bits(o.view.dtype));
    narrowest = std::min(narrowest, bits(o.view.dtype));
  }
  if (loads > 3 && widest * width == 128) return 1;
  const auto is_bf16 = [](const AccessedOperand& o) { return o.view.dtype == DType::bf16; };
  const int groups =
      std::max(narrowest < widest || std::ranges::any_of(operands, is_bf16) ? 2 : 1, groups_for(problem.expression));
  return widest == 32 ? groups : width > 4 ? std::min(groups, 2) : 4;
}

// The operation on narrow integers as one on words that hold several of them, if there is one: bitwise operations, and
// sums and differences without carries from one element into the next.
std::optional<Expression> on_words(const Expression& e) {
  using enum ScalarOp;
  if (e.outputs().size() != 1) return {};
  const Expression::Node& last = e.nodes()[static_cast<std::size_t>(e.outputs()[0])];
  const int arity = kernels::info(last.op).arity;
  if (!is_integer(last.type) || bits(last.type) > 16 || static_cast<int>(e.nodes().size()) != e.input_count() + 1 ||
      arity != e.input_count())
    return {};
  for (int k = 0; k < arity; ++k) {
    const Expression::Node& from = e.nodes()[static_cast<std::size_t>(last.args[k])];
    if (from.op != input || from.input != k || from.type != last.type) return {};
  }
  Expression words;
  const int a = words.input(DType::u32), b = arity > 1 ? words.input(DType::u32) : a;
  const auto of = [&](ScalarOp op, int x, int y) { return words.apply(op, {x, y}); };
  const int width = bits(last.type);
  const std::uint32_t top = (0xffffffffu / ((1u << width) - 1)) << (width - 1);  // the highest bit of each element
  if (kernels::info(last.op).facts.bitwise) {
    words.output(arity > 1 ? of(last.op, a, b) : words.apply(last.op, {a}));
    return words;
  }
  switch (last.op) {
    case ScalarOp::add:
    case ScalarOp::sub: {
      // The elements' highest bits are computed separately. In a sum they are those of the operands and of the carry
      // from below; in a difference likewise, with ones set.
      const bool adds = last.op == ScalarOp::add;
      const int upper = words.constant(top, DType::u32), lower = words.constant(0xffffffff - top, DType::u32);
      const int rest = adds ? of(ScalarOp::add, of(bitwise_and, a, lower), of(bitwise_and, b, lower))
                            : of(ScalarOp::sub, of(bitwise_or, a, upper), of(bitwise_and, b, lower));
      const int differ = of(bitwise_and, of(bitwise_xor, a, adds ? b : words.apply(bitwise_not, {b})), upper);
      words.output(of(bitwise_xor, rest, differ));
      return words;
    }
    default:
      return {};
  }
}

// Computes narrow integers in words; false if that is not possible.
bool map_words(gpu::Commands& commands, const ElementwiseProblem& problem) {
  const std::optional<Expression> words = on_words(problem.expression);
  if (!words || !problem.virtuals.empty()) return false;
  std::vector<View> views;
  for (const View& v : problem.inputs) views.push_back(v.broadcast_to(problem.outputs[0].shape()));
  views.push_back(problem.outputs[0]);
  as_bits(views);
  if (bits(views[0].dtype) != 32) return false;
  ElementwiseProblem whole =
      check(problem.name, *words, std::span(views).first(views.size() - 1), std::span(views).last(1));
  whole.form = problem.form;
  map_gpu(commands, whole);
  return true;
}

// Ramps and other virtual inputs are replaced by views, whose offsets give the begin of each chunk.
bool map_in_chunks(gpu::Commands& commands, const ElementwiseProblem& problem) {
  const Shape& shape = problem.outputs[0].shape();
  std::vector<View> all;
  for (const View& v : problem.inputs) all.push_back(v.broadcast_to(shape));
  all.insert(all.end(), problem.outputs.begin(), problem.outputs.end());
  for (const Virtual& v : problem.virtuals) {
    View& ramp = all.emplace_back();
    ramp.dtype = DType::u32;
    ramp.layout = {shape, v.strides.rank() ? v.strides : Strides::filled(shape.rank(), 0)};
  }
  const std::size_t inputs = problem.inputs.size(), outputs = problem.outputs.size();
  return in_chunks(commands.device().capabilities(), problem.name, all, every_axis(), [&](std::span<const View> part) {
    std::vector<Virtual> virtuals(problem.virtuals.begin(), problem.virtuals.end());
    for (std::size_t k = 0; k < virtuals.size(); ++k) {
      if (virtuals[k].strides.rank() == 0) continue;
      const std::uint64_t passed = part[inputs + outputs + k].offset / sizeof(std::uint32_t);
      virtuals[k].bits = static_cast<std::uint32_t>(virtuals[k].bits + passed);
    }
    ElementwiseProblem piece =
        check(problem.name, problem.expression, part.first(inputs), part.subspan(inputs, outputs), virtuals);
    piece.form = problem.form;
    map_gpu(commands, piece);
  });
}

// How the call's groups lie, and how each operand is accessed.
struct Access {
  std::vector<AccessedOperand> operands;  // the inputs, then the outputs
  int width = 4;                          // elements of a group
  std::int64_t misalignment = 0;          // elements from the first group's begin to the first element
  std::string row_misalignment;           // row_misalignment_of
  bool exact = false;                     // all groups are whole
};

Access access_of(const ElementwiseProblem& problem) {
  Access a;
  auto add = [&](const View& v, std::string name) {
    a.operands.push_back({v, problem.strides[a.operands.size()], "each", std::move(name)});
    if (bits(v.dtype) == 64) a.width = 1;
  };
  for (std::size_t k = 0; k < problem.inputs.size(); ++k) add(problem.inputs[k], str_cat("x", k));
  for (std::size_t k = 0; k < problem.outputs.size(); ++k) add(problem.outputs[k], str_cat("y", k));
  for (const auto& node : problem.expression.nodes()) {
    if (bits(node.type) == 64) a.width = 1;
  }
  const AccessedOperand& y = a.operands[problem.inputs.size()];
  if (a.width == 4) {
    if (y.inner() == 1) a.misalignment = y.first_element() % 4;
    // If rows of narrow elements, or two outputs in one buffer, share a word, stores merge its parts atomically.
    const bool cuts_words = problem.shape.rank() > 1 && (a.misalignment != 0 || problem.shape.back() % 4 != 0);
    for (AccessedOperand& o : a.operands) {
      const bool shares_words = cuts_words && o.name[0] == 'y' && bits(o.view.dtype) < 32;
      if (fits_vectors(o, a.misalignment) && !shares_words) o.mode = "vec";
    }
    for (AccessedOperand& o : a.operands) {
      for (const View& v : problem.outputs) {
        if (&v != &o.view && v.buffer == o.view.buffer && o.name[0] == 'y') o.mode = "each";
      }
    }
    a.row_misalignment = row_misalignment_of(problem, y);
  }
  for (AccessedOperand& o : a.operands) {
    if (!a.row_misalignment.empty()) {
      o.mode = &o == &y || (in_step(o, y) && last_group_is_whole(o.view)) ? "vec" : "each";
    }
    if (o.name[0] == 'x' && (o.inner() == 0 || o.view.buffer.is_number())) o.mode = "splat";
  }
  a.exact = a.misalignment == 0 && problem.shape.back() % a.width == 0 && a.row_misalignment.empty();
  return a;
}

// Operands and virtual inputs, with their modes.
void add_operands(Call& call, const ElementwiseProblem& problem, const Access& access) {
  std::vector<std::string> input_modes, output_modes;
  const auto strides = [&](const std::string& name, Strides of) {
    const std::int64_t inner = of.back();
    of.pop_back();
    call.strides(name, of);
    call.index_param(name + "_inner", inner);
  };
  for (const AccessedOperand& o : access.operands) {
    const bool is_input = o.name[0] == 'x';
    const int width = o.mode == "vec" ? access.width : 1;
    if (is_input)
      call.read(o.name, o.view, width);
    else
      call.write(o.name, o.view, width, access.row_misalignment == "words" ? 1 : 0);
    (is_input ? input_modes : output_modes).push_back(o.mode);
    strides(o.name, o.strides);
  }
  std::vector<std::string> virtual_types(input_modes.size());
  for (std::size_t k = 0; k < problem.virtuals.size(); ++k) {
    const Virtual& v = problem.virtuals[k];
    const std::string x = str_cat("x", input_modes.size());
    const bool grows = std::ranges::any_of(v.strides, [](auto s) { return s != 0; });
    input_modes.push_back(grows ? "ramp" : "constant");
    virtual_types.emplace_back(compute_type(v.type));
    call.param(x + "_value", static_cast<std::uint32_t>(v.bits));
    if (bits(v.type) == 64) call.param(x + "_high", static_cast<std::uint32_t>(v.bits >> 32));
    if (grows) strides(x, problem.strides[access.operands.size() + k]);
  }
  call.set("inputs", input_modes).set("virtual_types", virtual_types).set("outputs", output_modes);
}

// Sets how whole words of bf16 are rounded, if there are any: by the cheapest way that is right for the results.
void set_rounding(Call& call, const ElementwiseProblem& problem, const Access& access, bool fast_path) {
  const AccessedOperand& y = access.operands[problem.inputs.size()];
  const bool stores_words =
      access.exact && y.mode == "vec" && y.view.dtype == DType::bf16 && problem.outputs.size() == 1;
  std::string store_how;
  if (stores_words && needs_no_rounding(problem.expression))
    store_how = "exact";
  else if (stores_words && ends_without_ties(problem.expression))
    store_how = "no_ties";
  else if (stores_words && !fast_path)
    store_how = "no_nan";
  // A function alone takes the slow path for all arguments that give NaN; results that are not rounded may be NaN as
  // well.
  const bool by_itself = problem.expression.operation_count() == 1;
  const bool sums = store_how == "no_nan" || (store_how == "no_ties" && !(fast_path && by_itself));
  call.set("store_how", store_how).set("sums", sums);
  if (fast_path || stores_words) call.opaque_start();
}

}  // namespace

void map_gpu(gpu::Commands& commands, const ElementwiseProblem& problem) {
  if (map_in_chunks(commands, problem) || map_words(commands, problem)) return;
  Access access = access_of(problem);
  // With fewer elements a large GPU needs a thread for each group of four.
  constexpr std::int64_t kMany = 1 << 21;
  const bool many = !commands.device().capabilities().software && element_count(problem.shape) >= kMany;
  int unroll = problem.form.unroll;
  if (access.width == 4 && access.exact && (problem.form.width > 4 || (many && !problem.form.width && !unroll))) {
    access.width = widest_group(problem, access.operands);
  }
  const int width = access.width;
  const bool cuts_rows = !access.row_misalignment.empty();
  if (!unroll && many) unroll = groups_a_thread(problem, access.operands, width, cuts_rows);
  unroll = std::max(unroll, 1);

  Call call(commands, "elementwise");
  if (access.exact) call.assume_aligned(width);
  Shape outer = problem.shape;
  outer.pop_back();
  call.iterate(outer);
  add_operands(call, problem, access);

  const std::int64_t length = problem.shape.back();
  const std::int64_t row_groups = ceil_div(length + (cuts_rows ? 3 : access.misalignment), width);
  const std::int64_t groups = row_groups * element_count(outer);
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 128);  // 256: functions are 2 % slower
  const std::int64_t block = std::int64_t{workgroup} * unroll;               // groups of a workgroup
  const bool one_row = outer.rank() > 0 && row_groups % block == 0;
  const bool fast_path = width > 1 && has_fast_path(problem.expression, device_forms(commands.device()));
  std::string form = str_cat("width_", width * unroll);
  for (const AccessedOperand& o : access.operands) form += "_" + o.mode;
  call.variant(form, width > 1 ? str_cat(unroll, " times ", width, " neighbours a thread")
                               : "a 64-bit type: one element a thread");
  call.set("rows", outer.rank() > 0)
      .set("one_row", one_row)
      .set("width", width)
      .set("fours", ceil_div(width, 4))
      .set("exact", access.exact)
      .set("row_misalignment", access.row_misalignment)
      .set("full", unroll > 1 && groups % block == 0)
      .set("fast_path", fast_path)
      .set("unroll", unroll)
      .set("workgroup", workgroup)
      .expression(problem.expression, ExpressionRole::map, std::min(width, 4), fast_path)
      .index_param("length", length)
      .index_param("misalignment", access.misalignment)
      .index_param("row_groups", row_groups)
      .index_param("groups", groups)
      .index_param("blocks", ceil_div(groups, block))
      .index_param("row_blocks", one_row ? row_groups / block : 0)
      .index_param("stride_rows", workgroup / row_groups)
      .index_param("stride_groups", workgroup % row_groups);
  set_rounding(call, problem, access, fast_path);
  call.dispatch_groups(problem.name, ceil_div(groups, block));
}

void map(Stream& stream, std::string_view name, const Expression& expression, std::span<const View> inputs,
         std::span<const View> outputs, const MapForm& form) {
  ElementwiseProblem problem = check(name, expression, inputs, outputs);
  check_memory(stream, name, {{input_name, inputs}}, {{output_name, outputs}});
  problem.form = form;
  if (element_count(problem.shape) == 0) return;
  if (gpu::Commands* commands = stream.gpu())
    map_gpu(*commands, problem);
  else
    elementwise_cpu(*stream.cpu(), problem);
}

void map(Stream& stream, std::string_view name, const Expression& expression, std::span<const View> inputs,
         std::span<const Virtual> virtuals, std::span<const View> outputs) {
  const ElementwiseProblem problem = check(name, expression, inputs, outputs, virtuals);
  check_memory(stream, name, {{input_name, inputs}}, {{output_name, outputs}});
  if (element_count(problem.shape) == 0) return;
  if (gpu::Commands* commands = stream.gpu())
    map_gpu(*commands, problem);
  else
    elementwise_cpu(*stream.cpu(), problem);
}

std::function<void(cpu::Executor&)> prepared_map(const Expression& expression, std::span<const View> inputs,
                                                 std::span<const Virtual> virtuals, std::span<const View> outputs) {
  const ElementwiseProblem problem = check("elementwise", expression, inputs, outputs, virtuals);
  if (element_count(problem.shape) == 0) return [](cpu::Executor&) {};
  return [call = std::make_shared<ElementwiseCpu>(problem)](cpu::Executor& executor) { call->run(executor); };
}

void map(Stream& stream, const Expression& expression, std::span<const View> inputs, std::span<const Virtual> virtuals,
         std::span<const View> outputs) {
  CallKey key("elementwise", expression);
  for (const Virtual& v : virtuals) key.add(v.type).add(v.bits).add(v.strides);
  call(stream, std::move(key), {inputs, outputs},
       [&](Stream& s) { map(s, "elementwise", expression, inputs, virtuals, outputs); });
}

void map(Stream& stream, const Expression& expression, std::span<const View> inputs, std::span<const View> outputs) {
  call(stream, CallKey("elementwise", expression), {inputs, outputs},
       [&](Stream& s) { map(s, "elementwise", expression, inputs, outputs); });
}

void unary(Stream& stream, ScalarOp op, const View& x, const View& y) {
  call(stream, CallKey("unary", op), {x, y}, [&](Stream& s) {
    Expression e;
    e.output(e.apply(op, {e.input(x.dtype)}));
    map(s, name(op), e, std::span(&x, 1), std::span(&y, 1));
  });
}

void binary(Stream& stream, ScalarOp op, const View& a, const View& b, const View& y) {
  call(stream, CallKey("binary", op), {a, b, y}, [&](Stream& s) {
    Expression e;
    const int left = e.input(a.dtype);
    const int right = e.input(b.dtype);
    e.output(e.apply(op, {left, right}));
    const View inputs[] = {a, b};
    map(s, name(op), e, inputs, std::span(&y, 1));
  });
}

void ternary(Stream& stream, ScalarOp op, const View& a, const View& b, const View& c, const View& y) {
  call(stream, CallKey("ternary", op), {a, b, c, y}, [&](Stream& s) {
    Expression e;
    const int first = e.input(a.dtype);
    const int second = e.input(b.dtype);
    const int third = e.input(c.dtype);
    e.output(e.apply(op, {first, second, third}));
    const View inputs[] = {a, b, c};
    map(s, name(op), e, inputs, std::span(&y, 1));
  });
}

void select(Stream& stream, const View& condition, const View& a, const View& b, const View& y) {
  ternary(stream, ScalarOp::select, condition, a, b, y);
}

void elementwise(Stream& stream, std::string_view name, std::span<const View> inputs, const View& y,
                 std::span<const double> parameters) {
  call(stream, CallKey("elementwise", name, parameters), {inputs, y}, [&](Stream& s) {
    std::vector<DType> types;
    for (const View& v : inputs) types.push_back(v.dtype);
    map(s, name, function_expression(name, types, parameters), inputs, std::span(&y, 1));
  });
}

}  // namespace weft::kernels
