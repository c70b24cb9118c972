#include <algorithm>
#include <array>
#include <numeric>

#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
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
// spatial axis `row`.
struct Form {
  int lanes = 1, outs = 1;
  std::string_view name, why;
  int row = -1;
};

// Loops of so many steps have no branch; of more, the steps that are none would cost too much at borders.
constexpr std::int64_t kUnrolled = 32;

bool unrolls(const PoolProblem& p) {
  std::int64_t steps = 1;
  for (const PoolAxis& a : p.axes) {
    if (a.adaptive || (steps *= steps_at_most(p, a)) > kUnrolled) return false;
  }
  return p.from.count() > 0;
}

// The spatial axis along which four neighbours are computed from rows of x that are loaded in fours, or -1.
int row_of(const PoolProblem& p, const std::vector<int>& order) {
  const int axis = order.back(), d = axis - PoolProblem::kSpatial;
  if (d < 0 || p.backward || !unrolls(p)) return -1;
  const PoolAxis& a = p.axes[static_cast<std::size_t>(d)];
  const View from = p.from.permuted(order), to = p.to.permuted(order);
  // A part of x has not all of the row. Far windows would load much that they do not need.
  const std::int64_t reach = (a.window - 1) * a.dilation + 3 * a.stride + 1;
  const bool whole = a.from_begin == 0 && a.to_begin == 0 && p.from.shape()[axis] == a.x_size;
  const bool fours = from.strides()[-1] == 1 && a.x_size % 4 == 0 && can_vectorise(from) && to.strides()[-1] == 1 &&
                     to.shape()[-1] % 4 == 0 && can_vectorise(to);
  const bool indices =
      !p.indices || (p.indices->permuted(order).strides()[-1] == 1 && can_vectorise(p.indices->permuted(order)));
  return whole && fours && indices && reach <= 24 ? d : -1;
}

Form form_of(const PoolProblem& p, const std::vector<int>& order) {
  const View to = p.to.permuted(order);
  const auto by_four = [&](const View& v) {
    const View ordered = v.permuted(order);
    return ordered.strides()[-1] == 1 && ordered.shape()[-1] % 4 == 0 && can_vectorise(ordered);
  };
  // Elements of 64 bits, which an epilogue may read, have no vectors.
  const bool narrow = std::ranges::all_of(p.operands, [](const View& v) { return bits(v.dtype) <= 32; });
  if (narrow && order.back() < PoolProblem::kSpatial && by_four(p.to) && by_four(p.from) &&
      (!p.indices || by_four(*p.indices))) {
    return {4, 1, "channels_x4", "channels are adjacent: four of them are loaded and stored at once"};
  }
  if (const int row = row_of(p, order); narrow && row >= 0) {
    return {4, 1, "row_x4", "four neighbours of a row: x is loaded and y stored in fours", row};
  }
  // Narrow elements that are stored one by one are merged into their words atomically.
  if (bits(p.to.dtype) < 32 && can_vectorise(to)) {
    return {1, 4, "outputs_x4", "four narrow results are stored at once"};
  }
  return {1, 1, "outputs", "each thread computes one result"};
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

void record(gpu::Commands& commands, std::string_view kernel, const PoolProblem& p, const Expression* epilogue) {
  check_positions(kernel, p);
  Call call(commands, "pool");
  const int spatial = p.spatial();
  const std::vector<int> order = memory_order(p.to);
  const Form form = form_of(p, order);
  const bool adaptive = p.axes[0].adaptive;
  const bool dilated = std::ranges::any_of(p.axes, [](const PoolAxis& a) { return a.dilation > 1; });
  const bool index_per_step = p.indices && p.backward;

  Shape shape;
  Strides x, y, i;
  std::vector<Strides> operands(p.operands.size());
  std::vector<std::string> place(static_cast<std::size_t>(spatial)), modes;
  for (const int axis : order) {
    const int b = axis == order.back() ? form.lanes : 1, d = axis - PoolProblem::kSpatial;
    if (d >= 0) place[static_cast<std::size_t>(d)] = std::to_string(shape.rank());
    shape.push_back(ceil_div(p.to.shape()[axis], b));
    x.push_back(d >= 0 ? 0 : p.from.strides()[axis] * b);  // spatial ones are in the steps
    y.push_back(p.to.strides()[axis] * b);
    if (p.indices) i.push_back(index_per_step && d >= 0 ? 0 : p.indices->strides()[axis] * b);
    for (std::size_t k = 0; k < operands.size(); ++k) operands[k].push_back(p.operands[k].strides()[axis] * b);
  }
  // Batch and channels as one axis where strides allow it: a division less for each result.
  const auto batch = static_cast<int>(std::ranges::find(order, 0) - order.begin());
  std::vector<Strides*> all{&x, &y};
  if (p.indices) all.push_back(&i);
  for (Strides& s : operands) all.push_back(&s);
  if (batch + 1 < shape.rank() && order[static_cast<std::size_t>(batch) + 1] == 1 &&
      std::ranges::all_of(all, [&](Strides* s) { return (*s)[batch] == (*s)[batch + 1] * shape[batch + 1]; })) {
    shape[batch + 1] *= shape[batch];
    shape.erase(batch);
    for (Strides* s : all) s->erase(batch);
    for (std::string& at : place) {
      if (std::stoi(at) > batch) at = std::to_string(std::stoi(at) - 1);
    }
  }
  call.iterate(shape);
  call.read("x", p.from, form.lanes).strides("x", x);
  if (p.indices) {
    if (p.backward)
      call.read("i", *p.indices, form.lanes);
    else
      call.write("i", *p.indices, form.lanes);
    call.strides("i", i);
  }
  call.write("y", p.to, form.lanes * form.outs).strides("y", y);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::string name = str_cat("e", k);
    const View ordered = p.operands[k].permuted(order);
    const bool four = form.lanes == 4 && ordered.strides()[-1] == 1 && can_vectorise(ordered);
    modes.emplace_back(four ? "four" : "each");
    call.read(name, p.operands[k], four ? 4 : 1).strides(name, operands[k]);
    if (form.lanes == 4 && !four) call.index_param(name + "_c", ordered.strides()[-1]);
  }
  if (epilogue) call.expression(*epilogue, form.lanes);

  std::int64_t x_before = 0, i_before = 0;
  bool all_counted = true;  // each window counts the same number of elements
  double divisor = 1;
  for (int d = 0; d < spatial; ++d) {
    const PoolAxis& a = p.axes[static_cast<std::size_t>(d)];
    const int axis = PoolProblem::kSpatial + d;
    x_before += a.from_begin * p.from.strides()[axis];
    if (index_per_step) i_before += a.from_begin * p.indices->strides()[axis];
    all_counted &= !a.adaptive && (a.count_padding || a.before == 0) && a.y_size > 0 &&
                   counted_elements(a, a.y_size - 1) == a.window;
    divisor *= static_cast<double>(a.window);
    const auto number = [&](std::string_view name, std::int64_t v) {
      call.param(str_cat(name, d), static_cast<std::int32_t>(v));
    };
    number("x_size", a.x_size), number("y_size", a.y_size), number("first", a.to_begin), number("begin", a.from_begin);
    if (!a.adaptive) {
      number("stride", a.stride), number("before", a.before), number("after", a.after), number("window", a.window);
      number("reach", (a.window - 1) * a.dilation);
    }
    if (dilated) number("dilation", a.dilation);
    if (dilated && p.backward) {
      const WindowSteps w = window_steps(a);
      number("gcd", w.gcd), number("step", w.step), number("inverse", w.inverse);
    }
    if (p.indices) number("flat", p.index_stride(d));
    call.index_param(str_cat("x_k", d), p.from.strides()[axis]);
    if (index_per_step) call.index_param(str_cat("i_k", d), p.indices->strides()[axis]);
  }
  call.param("x_before", static_cast<std::uint32_t>(x_before));
  if (index_per_step) call.param("i_before", static_cast<std::uint32_t>(i_before));
  const bool fixed = p.divisor != 0 || all_counted;
  if (p.kind == PoolKind::average && fixed) {
    call.param("divisor", static_cast<float>(p.divisor ? static_cast<double>(p.divisor) : divisor));
  }
  if (p.kind == PoolKind::lp && power_of(p.norm) == "power") {
    call.param("norm", static_cast<float>(p.norm)).param("root", static_cast<float>(1 / p.norm));
  }
  const std::uint32_t threads = workgroup_size(call.capabilities(), call.capabilities().software ? 16 : 128);
  const std::int64_t count = element_count(shape) / form.outs;
  call.index_param("count", count);
  call.set("what", kWhat[static_cast<int>(p.kind)]).set("backward", p.backward).set("indexed", p.indices.has_value());
  call.set("spatial", spatial).set("place", place).set("dilated", dilated).set("adaptive", adaptive);
  const bool unrolled = unrolls(p);
  std::vector<std::string> bounds;
  std::string rest;  // of a step's position in x, behind the row's part
  for (int d = 0; d < spatial; ++d) {
    if (unrolled) bounds.push_back(std::to_string(steps_at_most(p, p.axes[static_cast<std::size_t>(d)])));
    if (d != form.row) rest += str_cat(" + k", d, " * p.flat", d);
  }
  if (form.row >= 0) {
    rest = str_cat(" + ", "vec4<i32>(0", rest, ")");
    const PoolAxis& a = p.axes[static_cast<std::size_t>(form.row)];
    const std::int64_t lead = ((-a.before) % 4 + 4) % 4;
    call.set("lead", static_cast<int>(lead)).set("row_stride", static_cast<int>(a.stride));
    call.set("row_dilation", static_cast<int>(a.dilation)).set("row_window", static_cast<int>(a.window));
    call.set("blocks", static_cast<int>(ceil_div(lead + (a.window - 1) * a.dilation + 3 * a.stride + 1, 4)));
  }
  call.set("unrolled", unrolled).set("bounds", bounds).set("rest", rest).set("row", form.row);
  call.set("one_row", shape[-1] % 4 == 0).set("last", shape.rank() - 1);
  call.set("lanes", form.lanes).set("outs", form.outs).set("threads", threads).set("operands", modes);
  call.set("divisor", fixed ? "fixed" : p.axes[0].count_padding ? "padded" : "inside").set("power", power_of(p.norm));
  call.set("product", compute_type(p.result_type())).set("fused", epilogue != nullptr);
  const auto elements = static_cast<double>(p.to.count());
  call.cost({.flops = elements * (p.taps() + (epilogue ? epilogue->operation_count() : 0)),
             .functions = epilogue ? elements * epilogue->cost() : 0});
  call.variant(form.name, form.why);
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
  consider(p.from);
  consider(p.to);
  if (p.indices) consider(*p.indices);
  for (const View& v : p.operands) consider(v);
  return best;
}

CallKey key(std::string_view kernel, const PoolOptions& o, double p, const Epilogue& epilogue) {
  return CallKey(kernel, o.window, o.strides, o.dilations, o.before, o.after, o.adaptive, o.count_padding, o.divisor, p,
                 epilogue.expression);
}

void run(Stream& stream, std::string_view kernel, const PoolProblem& p, const Expression* epilogue) {
  if (p.to.count() == 0) return;
  if (gpu::Commands* commands = stream.gpu()) {
    for (const View* v : {&p.from, &p.to}) {
      if (v->dtype == DType::f64) throw Unsupported("{}: {} on a GPU, which has no f64", kernel, to_string(*v));
    }
    pool_gpu(*commands, kernel, p, epilogue);
  } else {
    pool_cpu(*stream.cpu(), p, epilogue);
  }
}

void forward(Stream& stream, std::string_view kernel, PoolKind kind, const View& x, const View& y,
             const std::optional<View>& indices, double norm, const PoolOptions& options, const Epilogue& epilogue) {
  call(stream, key(kernel, options, norm, epilogue), {x, epilogue.operands, y, indices}, [&](Stream& s) {
    check_memory(s, kernel, {{"x", x}}, {{"y", y}, {"indices", indices}}, Sharing::none);
    check_memory(s, kernel, {{"epilogue operand", epilogue.operands}}, {{"y", y}}, Sharing::same_view);
    run(s, kernel, pool_problem(kernel, kind, x, y, indices, norm, options, epilogue), epilogue.expression);
  });
}

void gradient(Stream& stream, std::string_view kernel, PoolKind kind, const View& dy,
              const std::optional<View>& indices, const View& dx, const PoolOptions& options,
              const Epilogue& epilogue) {
  call(stream, key(kernel, options, 1, epilogue), {dy, indices, epilogue.operands, dx}, [&](Stream& s) {
    check_memory(s, kernel, {{"dy", dy}, {"indices", indices}}, {{"dx", dx}}, Sharing::none);
    check_memory(s, kernel, {{"epilogue operand", epilogue.operands}}, {{"dx", dx}}, Sharing::same_view);
    run(s, kernel, pool_gradient_problem(kernel, kind, dy, indices, dx, options, epilogue), epilogue.expression);
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

void max_pool(Stream& stream, const View& x, const View& y, const PoolOptions& options, const Epilogue& epilogue) {
  forward(stream, "max_pool", PoolKind::max, x, y, std::nullopt, 1, options, epilogue);
}

void max_pool_with_indices(Stream& stream, const View& x, const View& y, const View& indices,
                           const PoolOptions& options) {
  forward(stream, "max_pool_with_indices", PoolKind::max, x, y, indices, 1, options, {});
}

void average_pool(Stream& stream, const View& x, const View& y, const PoolOptions& options, const Epilogue& epilogue) {
  forward(stream, "average_pool", PoolKind::average, x, y, std::nullopt, 1, options, epilogue);
}

void lp_pool(Stream& stream, const View& x, const View& y, double p, const PoolOptions& options,
             const Epilogue& epilogue) {
  forward(stream, "lp_pool", PoolKind::lp, x, y, std::nullopt, p, options, epilogue);
}

void max_pool_gradient(Stream& stream, const View& dy, const View& indices, const View& dx, const PoolOptions& options,
                       const Epilogue& epilogue) {
  gradient(stream, "max_pool_gradient", PoolKind::max, dy, indices, dx, options, epilogue);
}

void average_pool_gradient(Stream& stream, const View& dy, const View& dx, const PoolOptions& options,
                           const Epilogue& epilogue) {
  gradient(stream, "average_pool_gradient", PoolKind::average, dy, std::nullopt, dx, options, epilogue);
}

}  // namespace weft::kernels
