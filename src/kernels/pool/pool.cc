#include <algorithm>
#include <array>
#include <numeric>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/common/chunks.h"
#include "kernels/common/element_work.h"
#include "kernels/common/memory.h"
#include "kernels/common/prologue.h"
#include "kernels/plan_cache.h"
#include "kernels/pool/problem.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kWhat[] = {"max", "average", "lp"};

// The axes of `to` as they follow each other in memory.
std::vector<int> memory_order(const View& v) {
  std::vector<int> order(static_cast<std::size_t>(v.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int d) { return v.shape()[d] == 1 ? INT64_MAX : std::abs(v.strides()[d]); });
  return order;
}

// Steps of one result along an axis, at most. Adaptive windows differ in size, and have no such bound that is small.
std::int64_t steps_at_most(const PoolProblem& p, const PoolAxis& a) {
  if (!p.backward) return a.window;
  // Of windows at equal distances those that contain an element: one in each window_steps().step of those in reach.
  const WindowSteps w = window_steps(a);
  return ceil_div((a.window - 1) * a.dilation + 1, a.stride * w.step);
}

// What a thread computes: `lanes` adjacent channels of each of `outs` neighbours; or `lanes` neighbours along the
// spatial axis `row`, backward from single elements of dy.
struct Form {
  int lanes = 1, outs = 1;
  std::string_view name, why;
  int row = -1;

  int lanes_of_from(bool backward) const { return backward && row >= 0 ? 1 : lanes; }
};

// The windows that contain one of four neighbours of x, of which the first is a multiple of the windows' distance: by
// their distance from its own.
struct RowWindows {
  std::int64_t low, high;
};
RowWindows row_windows(const PoolAxis& a) {
  const std::int64_t before_last = (a.window - 1) - a.before;
  return {-(before_last / a.stride) + (before_last % a.stride < 0), (a.before + 3) / a.stride};
}

// Loops of so many steps have no branch; of more, the steps that are none would cost too much at borders.
constexpr std::int64_t kUnrolled = 32;

bool unrolls(const PoolProblem& p) {
  std::int64_t steps = 1;
  for (const PoolAxis& a : p.axes) {
    if (a.adaptive || (steps *= steps_at_most(p, a)) > kUnrolled) return false;
  }
  return p.inputs[0].count() > 0;
}

// True if elements along the last of the axes are loaded and stored four at a time.
bool by_four(const View& v, const std::vector<int>& order) {
  const View ordered = v.permuted(order);
  return ordered.strides()[-1] == 1 && ordered.shape()[-1] % 4 == 0 && can_vectorise(ordered);
}
// True if the inputs are loaded so, or are one element all along that axis, as a prologue's operands may be.
bool inputs_by_four(const PoolProblem& p, const std::vector<int>& order) {
  return std::ranges::all_of(p.inputs, [&](const View& v) {
    const bool same = p.prologue && v.strides()[order.back()] == 0 && bits(v.dtype) <= 32;
    return same || by_four(v, order);
  });
}

// The spatial axis along which four neighbours are computed from rows of x that are loaded in fours, or backward from
// elements of dy that are loaded once for the four; or -1.
int row_of(const PoolProblem& p, const std::vector<int>& order) {
  const int axis = order.back(), d = axis - PoolProblem::kSpatial;
  if (d < 0 || !unrolls(p)) return -1;
  const PoolAxis& a = p.axes[static_cast<std::size_t>(d)];
  if (p.backward) {
    constexpr std::int64_t kMostWindows = 12;
    const RowWindows w = row_windows(a);
    const bool alike = a.dilation == 1 && 4 % a.stride == 0 && a.to_begin % 4 == 0;  // for all fours
    return alike && w.high - w.low < kMostWindows && by_four(p.to, order) ? d : -1;
  }
  // A part of x has not all of the row. Far windows would load much that they do not need.
  const std::int64_t reach = (a.window - 1) * a.dilation + 3 * a.stride + 1;
  const bool whole = a.from_begin == 0 && a.to_begin == 0 && p.from_shape()[axis] == a.x_size;
  const bool fours = a.x_size % 4 == 0 && inputs_by_four(p, order) && by_four(p.to, order);
  const bool indices = !p.indices || by_four(*p.indices, order);
  return whole && fours && indices && reach <= 24 ? d : -1;
}

Form form_of(const PoolProblem& p, const std::vector<int>& order) {
  // Elements of 64 bits, which an epilogue may read, have no vectors.
  const bool narrow = std::ranges::all_of(p.operands, [](const View& v) { return bits(v.dtype) <= 32; });
  if (narrow && order.back() < PoolProblem::kSpatial && by_four(p.to, order) && inputs_by_four(p, order) &&
      (!p.indices || by_four(*p.indices, order))) {
    return {4, 1, "channels_x4", "channels are adjacent: four of them are loaded and stored at once"};
  }
  if (const int row = row_of(p, order); narrow && row >= 0) {
    return {4, 1, "row_x4",
            p.backward ? "four neighbours of a row: dy is loaded once for all of them, and dx stored in fours"
                       : "four neighbours of a row: x is loaded and y stored in fours",
            row};
  }
  // Narrow elements that are stored one by one are merged into their words atomically.
  if (bits(p.to.dtype) < 32 && can_vectorise(p.to.permuted(order))) {
    return {1, 4, "outputs_x4", "four narrow results are stored at once"};
  }
  return {1, 1, "outputs", "each thread computes one result"};
}

// PoolProblem::least() of integers as WGSL writes it, which has no literal of the least i32.
std::string least_integer(const PoolProblem& p) {
  if (is_floating(p.from_type)) return "";
  if (p.result_type() == DType::u32) return "0u";
  return str_cat("(", static_cast<std::int64_t>(p.least()) + 1, " - 1)");
}

std::string_view power_of(double p) { return p == 1 ? "magnitude" : p == 2 ? "square" : "power"; }

// Positions are counted in 32 bits there.
void check_positions(std::string_view kernel, const PoolProblem& p) {
  constexpr std::int64_t kFar = std::int64_t{1} << 31;
  for (int d = 0; d < p.spatial(); ++d) {
    const PoolAxis& a = p.axes[static_cast<std::size_t>(d)];
    const std::int64_t reach = (a.window - 1) * a.dilation;
    const std::int64_t high = a.y_size * a.stride + reach + a.dilation;
    if (!a.adaptive && std::max({high, a.x_size + a.after + a.before + a.dilation, reach + a.before}) >= kFar) {
      throw Unsupported("{}: windows reach to {} along spatial axis {} of {}; on a GPU within 2^31", kernel, high, d,
                        a.x_size);
    }
    const std::int64_t x = std::max<std::int64_t>(a.x_size, 1), y = std::max<std::int64_t>(a.y_size, 1);
    const std::int64_t products = std::max(y * (x % y) + y, p.backward ? x * (y % x) + x : 0);
    if (a.adaptive && products >= (std::int64_t{1} << 32)) {
      throw Unsupported(
          "{}: {} adaptive windows over {} elements along spatial axis {} take numbers past 2^32 on a GPU", kernel,
          a.y_size, a.x_size, d);
    }
    const WindowSteps w = window_steps(a);
    if (p.backward && w.step > 46340) {
      throw Unsupported("{}: a dilation of {} along spatial axis {}; on a GPU gradients take dilations up to 46340",
                        kernel, a.dilation, d);
    }
  }
}

// A pooling as its shader sees it: the loop over the results of threads, and what depends on the axes' order.
struct PoolShader {
  const PoolProblem& p;
  std::vector<int> order;  // the axes of `to` as they follow each other in memory
  Form form;
  Shape shape;               // of the threads' results, in that order
  std::vector<int> spatial;  // the spatial axes' positions in it
  Strides y, indices;        // along it
  std::vector<Strides> inputs, operands;
  std::vector<std::string> names;  // of the inputs
  bool dilated = false;
  bool indexes_steps = false;  // each step has an index of its own

  const PoolAxis& axis(int d) const { return p.axes[static_cast<std::size_t>(d)]; }
  int from_lanes() const { return form.lanes_of_from(p.backward); }
};

PoolShader shader_of(const PoolProblem& p) {
  std::vector<int> order = memory_order(p.to);
  const Form form = form_of(p, order);
  PoolShader s{.p = p, .order = std::move(order), .form = form};
  s.dilated = std::ranges::any_of(p.axes, [](const PoolAxis& a) { return a.dilation > 1; });
  s.indexes_steps = p.indices && p.backward;
  s.spatial.resize(p.axes.size());
  s.inputs.resize(p.inputs.size());
  s.operands.resize(p.operands.size());
  for (std::size_t k = 0; k < p.inputs.size(); ++k) s.names.push_back(p.prologue ? str_cat("in", k) : "x");
  for (const int axis : s.order) {
    const int b = axis == s.order.back() ? form.lanes : 1, d = axis - PoolProblem::kSpatial;
    if (d >= 0) s.spatial[static_cast<std::size_t>(d)] = s.shape.rank();
    s.shape.push_back(ceil_div(p.to.shape()[axis], b));
    // Spatial ones of what is pooled are in the steps.
    for (std::size_t k = 0; k < p.inputs.size(); ++k) {
      s.inputs[k].push_back(d >= 0 ? 0 : p.inputs[k].strides()[axis] * b);
    }
    s.y.push_back(p.to.strides()[axis] * b);
    if (p.indices) s.indices.push_back(s.indexes_steps && d >= 0 ? 0 : p.indices->strides()[axis] * b);
    for (std::size_t k = 0; k < p.operands.size(); ++k) s.operands[k].push_back(p.operands[k].strides()[axis] * b);
  }
  return s;
}

// Batch and channels as one axis where strides allow it: a division less for each result.
void join_batch_and_channels(PoolShader& s) {
  const auto batch = static_cast<int>(std::ranges::find(s.order, 0) - s.order.begin());
  if (batch + 1 >= s.shape.rank() || s.order[static_cast<std::size_t>(batch) + 1] != 1) return;
  std::vector<Strides*> all{&s.y};
  if (s.p.indices) all.push_back(&s.indices);
  for (Strides& own : s.inputs) all.push_back(&own);
  for (Strides& own : s.operands) all.push_back(&own);
  const std::int64_t channels = s.shape[batch + 1];
  if (!std::ranges::all_of(all, [&](Strides* own) { return (*own)[batch] == (*own)[batch + 1] * channels; })) return;
  s.shape[batch + 1] *= s.shape[batch];
  s.shape.erase(batch);
  for (Strides* own : all) own->erase(batch);
  for (int& at : s.spatial) at -= at > batch;
}

// Returns how the elements of a thread's lanes are read: "four", "each", ….
std::string add_read(Call& call, const PoolShader& s, const View& v, const std::string& name, const Strides& strides,
                     int lanes) {
  const std::int64_t next = v.strides()[s.order.back()];
  const std::string_view mode = lane_mode(v, lanes, next, can_vectorise(v.permuted(s.order)));
  call.read(name, v, mode == "four" ? 4 : 1).strides(name, strides);
  if (mode == "each") call.index_param(name + "_next", next);
  return std::string(mode);
}

void add_operands(Call& call, const PoolShader& s, const Expression* epilogue) {
  const PoolProblem& p = s.p;
  std::vector<std::string> input_modes, operand_modes;
  for (std::size_t k = 0; k < p.inputs.size(); ++k) {
    input_modes.push_back(add_read(call, s, p.inputs[k], s.names[k], s.inputs[k], s.from_lanes()));
  }
  if (p.indices) {
    if (p.backward)
      call.read("i", *p.indices, s.from_lanes());
    else
      call.write("i", *p.indices, s.form.lanes);
    call.strides("i", s.indices);
  }
  call.write("y", p.to, s.form.lanes * s.form.outs).strides("y", s.y);
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    operand_modes.push_back(add_read(call, s, p.operands[k], str_cat("e", k), s.operands[k], s.form.lanes));
  }
  // An average's sum begins at +0, which compilers must not leave out: an average of -0 is +0 on every device.
  if (p.kind == PoolKind::average && !p.backward) call.opaque_zero();
  call.epilogue(epilogue, s.form.lanes);
  if (p.prologue) call.expression(*p.prologue, ExpressionRole::prologue, s.from_lanes());
  call.set("inputs", s.names).set("input_modes", input_modes).set("prologue", p.prologue != nullptr);
  call.set("operands", operand_modes).set("indexed", p.indices.has_value());
}

// The sizes, windows and strides of spatial axis d.
void add_axis(Call& call, const PoolShader& s, int d) {
  const PoolAxis& a = s.axis(d);
  const int axis = PoolProblem::kSpatial + d;
  const auto number = [&](std::string_view name, std::int64_t v) {
    call.param(str_cat(name, d), static_cast<std::int32_t>(v));
  };
  number("x_size", a.x_size), number("y_size", a.y_size), number("first", a.to_begin), number("begin", a.from_begin);
  if (!a.adaptive) {
    number("stride", a.stride), number("before", a.before), number("after", a.after), number("window", a.window);
    number("reach", (a.window - 1) * a.dilation);
  }
  if (s.dilated) number("dilation", a.dilation);
  if (s.dilated && s.p.backward) {
    const WindowSteps w = window_steps(a);
    number("gcd", w.gcd), number("step", w.step), number("inverse", w.inverse);
  }
  if (s.p.indices) number("flat", s.p.index_stride(d));
  for (std::size_t k = 0; k < s.names.size(); ++k) {
    call.index_param(str_cat(s.names[k], "_k", d), s.p.inputs[k].strides()[axis]);
  }
  if (s.indexes_steps) call.index_param(str_cat("i_k", d), s.p.indices->strides()[axis]);
}

void add_axes(Call& call, const PoolShader& s) {
  const PoolProblem& p = s.p;
  std::vector<std::string> positions;
  for (int d = 0; d < p.spatial(); ++d) {
    add_axis(call, s, d);
    positions.push_back(std::to_string(s.spatial[static_cast<std::size_t>(d)]));
  }
  // How far index 0 of the problem lies before that of the view.
  const auto before = [&](const View& v) {
    std::int64_t elements = 0;
    for (int d = 0; d < p.spatial(); ++d) elements += s.axis(d).from_begin * v.strides()[PoolProblem::kSpatial + d];
    return static_cast<std::uint32_t>(elements);
  };
  for (std::size_t k = 0; k < s.names.size(); ++k) call.param(s.names[k] + "_before", before(p.inputs[k]));
  if (s.indexes_steps) call.param("i_before", before(*p.indices));
  call.set("spatial", p.spatial()).set("place", positions);
  call.set("dilated", s.dilated).set("adaptive", p.axes[0].adaptive);
  call.set("one_row", s.shape[-1] % 4 == 0).set("last", s.shape.rank() - 1);
}

// What each average is divided by, where it is one number for all; nothing if each has its own.
std::optional<double> divisor_of_all(const PoolProblem& p) {
  if (p.divisor != 0) return static_cast<double>(p.divisor);
  double elements = 1;
  for (const PoolAxis& a : p.axes) {
    const bool whole = !a.adaptive && (a.count_padding || a.before == 0) && a.y_size > 0 &&
                       counted_elements(a, a.y_size - 1) == a.window;
    if (!whole) return std::nullopt;
    elements *= static_cast<double>(a.window);
  }
  return elements;
}

// What is computed of the elements.
void add_arithmetic(Call& call, const PoolProblem& p) {
  const std::optional<double> divisor = divisor_of_all(p);
  const std::string_view power = power_of(p.norm);
  if (p.kind == PoolKind::average && divisor) call.param("divisor", static_cast<float>(*divisor));
  if (p.kind == PoolKind::lp && power == "power") {
    call.param("norm", static_cast<float>(p.norm)).param("root", static_cast<float>(1 / p.norm));
  }
  call.set("what", kWhat[static_cast<int>(p.kind)]).set("backward", p.backward);
  call.set("divisor", divisor ? "fixed" : p.axes[0].count_padding ? "padded" : "inside").set("power", power);
  call.set("product", compute_type(p.result_type())).set("least_integer", least_integer(p));
}

// The four neighbours along the form's row; zeros where it has none.
void add_row(Call& call, const PoolShader& s) {
  const bool has_row = s.form.row >= 0, backward = has_row && s.p.backward, forward = has_row && !s.p.backward;
  const PoolAxis a = has_row ? s.axis(s.form.row) : PoolAxis{};
  const RowWindows w = backward ? row_windows(a) : RowWindows{};
  const std::int64_t lead = ((-a.before) % 4 + 4) % 4;
  const auto set = [&](std::string_view name, bool used, std::int64_t value) { call.set(name, used ? value : 0); };
  set("row_stride", has_row, a.stride);
  set("row_low", backward, w.low), set("row_high", backward, w.high);
  set("row_before", backward, a.before), set("row_reach", backward, a.window - 1);
  set("lead", forward, lead), set("row_dilation", forward, a.dilation), set("row_window", forward, a.window);
  set("blocks", forward, ceil_div(lead + (a.window - 1) * a.dilation + 3 * a.stride + 1, 4));
}

// The loops over the steps of a result.
void add_loops(Call& call, const PoolShader& s) {
  const bool unrolled = unrolls(s.p), has_row = s.form.row >= 0;
  std::vector<std::string> bounds;
  std::string rest;  // of a step's position in x, behind the row's part
  for (int d = 0; d < s.p.spatial(); ++d) {
    if (unrolled) bounds.push_back(std::to_string(steps_at_most(s.p, s.axis(d))));
    if (d != s.form.row) rest += str_cat(" + k", d, " * p.flat", d);
  }
  if (has_row) rest = str_cat(" + ", "vec4<i32>(0", rest, ")");
  add_row(call, s);
  call.set("unrolled", unrolled).set("bounds", bounds).set("rest", rest).set("row", s.form.row);
  call.set("lanes", s.form.lanes).set("outs", s.form.outs);
}

void record(gpu::Commands& commands, std::string_view kernel, const PoolProblem& p, const Expression* epilogue) {
  check_positions(kernel, p);
  Call call(commands, "pool");
  PoolShader shader = shader_of(p);
  join_batch_and_channels(shader);
  call.iterate(shader.shape).include("prologue");
  add_operands(call, shader, epilogue);
  add_axes(call, shader);
  add_arithmetic(call, p);
  add_loops(call, shader);

  const std::uint32_t threads = workgroup_size(call.capabilities(), call.capabilities().software ? 16 : 128);
  const std::int64_t count = element_count(shader.shape) / shader.form.outs;
  call.index_param("count", count).set("threads", threads);
  const auto elements = static_cast<double>(p.to.count());
  call.cost(work_of({1, 0}, elements * p.taps(), p.prologue, elements, epilogue));
  call.variant(shader.form.name, shader.form.why);
  call.dispatch_groups(kernel, ceil_div(count, threads));
}

// The axis of `to` along which to halve the problem so that every operand fits a binding; -1: all do.
int axis_to_halve(const gpu::Capabilities& capabilities, std::string_view kernel, const PoolProblem& p) {
  int best = -1;
  const auto consider = [&](const View& v) {
    const bool far = span_bytes(v) > chunk_limit(capabilities);
    if (best >= 0 || (!far && v.count() <= kMaxElements)) return;
    std::int64_t longest = 0;
    for (int d = 0; d < v.rank(); ++d) {
      const std::int64_t reach = far ? std::abs(v.strides()[d]) * (v.shape()[d] - 1) : v.shape()[d];
      if (p.to.shape()[d] > 1 && reach > longest) longest = reach, best = d;
    }
    if (best < 0) {
      throw Unsupported("{}: the windows of one result span {} bytes of {}; this device binds {}", kernel,
                        span_bytes(v), to_string(v), chunk_limit(capabilities));
    }
  };
  for (const View& v : p.inputs) consider(v);
  consider(p.to);
  if (p.indices) consider(*p.indices);
  for (const View& v : p.operands) consider(v);
  return best;
}

CallKey key(std::string_view kernel, const PoolOptions& o, double p, const Fusion& fusion) {
  return CallKey(kernel, o.window, o.strides, o.dilations, o.before, o.after, o.adaptive, o.count_padding, o.divisor, p,
                 fusion.epilogue.expression, fusion.prologue.expression);
}

void run(Stream& stream, std::string_view kernel, const PoolProblem& p, const Expression* epilogue) {
  if (p.to.count() == 0) return;
  if (gpu::Commands* commands = stream.gpu()) {
    std::vector<View> views = p.inputs;
    views.push_back(p.to);
    for (const View& v : views) {
      if (v.dtype == DType::f64) throw Unsupported("{}: {} on a GPU, which has no f64", kernel, to_string(v));
    }
    pool_gpu(*commands, kernel, p, epilogue);
  } else {
    pool_cpu(*stream.cpu(), p, epilogue);
  }
}

void forward(Stream& stream, std::string_view kernel, PoolKind kind, const View& x, const View& y,
             const std::optional<View>& indices, double norm, const PoolOptions& options, const Fusion& fusion) {
  CallKey k = key(kernel, options, norm, fusion);
  call(stream, std::move(k), {x, fusion.prologue.operands, fusion.epilogue.operands, y, indices}, [&](Stream& s) {
    check_memory(s, kernel, {{"x", x}, {"prologue operand", fusion.prologue.operands}},
                 {{"y", y}, {"indices", indices}}, Sharing::none);
    check_memory(s, kernel, {{"epilogue operand", fusion.epilogue.operands}}, {{"y", y}}, Sharing::same_view);
    run(s, kernel, pool_problem(kernel, kind, x, y, indices, norm, options, fusion.epilogue, fusion.prologue),
        fusion.epilogue.expression);
  });
}

void gradient(Stream& stream, std::string_view kernel, PoolKind kind, const View& dy,
              const std::optional<View>& indices, const View& dx, const PoolOptions& options, const Fusion& fusion) {
  CallKey k = key(kernel, options, 1, fusion);
  call(stream, std::move(k), {dy, fusion.prologue.operands, indices, fusion.epilogue.operands, dx}, [&](Stream& s) {
    check_memory(s, kernel, {{"dy", dy}, {"prologue operand", fusion.prologue.operands}, {"indices", indices}},
                 {{"dx", dx}}, Sharing::none);
    check_memory(s, kernel, {{"epilogue operand", fusion.epilogue.operands}}, {{"dx", dx}}, Sharing::same_view);
    run(s, kernel, pool_gradient_problem(kernel, kind, dy, indices, dx, options, fusion.epilogue, fusion.prologue),
        fusion.epilogue.expression);
  });
}

}  // namespace

void pool_gpu(gpu::Commands& commands, std::string_view kernel, const PoolProblem& p, const Expression* epilogue) {
  const int axis = axis_to_halve(commands.device().capabilities(), kernel, p);
  if (axis < 0) return record(commands, kernel, p, epilogue);
  const std::int64_t size = p.to.shape()[axis], half = first_half(size);
  pool_gpu(commands, kernel, part(p, axis, 0, half), epilogue);
  pool_gpu(commands, kernel, part(p, axis, half, size - half), epilogue);
}

void max_pool(Stream& stream, const View& x, const View& y, const PoolOptions& options, const Fusion& fusion) {
  forward(stream, "max_pool", PoolKind::max, x, y, std::nullopt, 1, options, fusion);
}

void max_pool_with_indices(Stream& stream, const View& x, const View& y, const View& indices,
                           const PoolOptions& options, const Fusion& fusion) {
  forward(stream, "max_pool_with_indices", PoolKind::max, x, y, indices, 1, options, fusion);
}

void average_pool(Stream& stream, const View& x, const View& y, const PoolOptions& options, const Fusion& fusion) {
  forward(stream, "average_pool", PoolKind::average, x, y, std::nullopt, 1, options, fusion);
}

void lp_pool(Stream& stream, const View& x, const View& y, double p, const PoolOptions& options, const Fusion& fusion) {
  forward(stream, "lp_pool", PoolKind::lp, x, y, std::nullopt, p, options, fusion);
}

void max_pool_gradient(Stream& stream, const View& dy, const View& indices, const View& dx, const PoolOptions& options,
                       const Fusion& fusion) {
  gradient(stream, "max_pool_gradient", PoolKind::max, dy, indices, dx, options, fusion);
}

void average_pool_gradient(Stream& stream, const View& dy, const View& dx, const PoolOptions& options,
                           const Fusion& fusion) {
  gradient(stream, "average_pool_gradient", PoolKind::average, dy, std::nullopt, dx, options, fusion);
}

}  // namespace weft::kernels
