#include <algorithm>
#include <functional>
#include <numeric>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/conv/problem.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"

namespace weft::kernels {
namespace {

bool loads_four_channels(const ConvProblem& p) {
  return p.channels() % 4 == 0 && p.taps() > 0 && can_vectorise(channels_last(p.x)) &&
         can_vectorise(channels_last(p.w));
}

std::string form_name(int pixels, int outs, int wide) {
  return str_cat("direct_", pixels, "x", outs, wide > 1 ? "_by_4" : "");
}

}  // namespace

void record_direct(gpu::Commands& commands, const ConvProblem& p, const Expression* epilogue) {
  Call call(commands, "conv_direct");
  const int spatial = p.spatial(), rank = p.y.rank(), last = rank - 1;
  // y's axes as they follow each other in memory.
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int d) { return p.y.shape()[d] == 1 ? INT64_MAX : std::abs(p.y.strides()[d]); });
  const bool channels_adjacent = order.back() == 2;
  // Threads along the channels share what they read of x, and each reads a filter of its own for several pixels; else
  // it is the other way round.
  const int pixels = channels_adjacent && p.y.shape()[last] > 1 ? 4 : 1;
  const int outs = channels_adjacent ? 1 : static_cast<int>(std::min<std::int64_t>(p.outputs(), 4));
  const int wide = loads_four_channels(p) ? 4 : 1;
  check_reach(p, pixels);
  const auto block = [&](int axis) { return axis == 2 ? outs : axis == last ? pixels : 1; };

  Shape shape;
  Strides x, w, y;
  std::vector<Strides> operands(p.operands.size());
  std::vector<std::string> place(static_cast<std::size_t>(spatial) + 1);
  for (const int axis : order) {
    const int b = block(axis), d = axis - ConvProblem::kSpatial;
    if (axis >= 2) place[static_cast<std::size_t>(axis == 2 ? spatial : d)] = std::to_string(shape.rank());
    shape.push_back(ceil_div(p.y.shape()[axis], b));
    x.push_back(axis == 2 ? 0 : p.x.strides()[axis] * (d >= 0 ? p.strides[d] : 1) * b);
    w.push_back(axis == 0 ? p.w.strides()[0] : axis == 2 ? p.w.strides()[1] * b : 0);
    y.push_back(p.y.strides()[axis] * b);
    for (std::size_t k = 0; k < operands.size(); ++k) operands[k].push_back(p.operands[k].strides()[axis] * b);
  }
  call.iterate(shape);
  call.read("x", p.x, wide).strides("x", x);
  call.read("w", p.w, wide).strides("w", w);
  call.write("y", p.y).strides("y", y);
  call.index_param("y_out", p.y.strides()[2]).index_param("y_pixel", p.y.strides()[last]);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::string name = str_cat("e", k);
    call.read(name, p.operands[k]).strides(name, operands[k]);
    call.index_param(name + "_out", p.operands[k].strides()[2]);
    call.index_param(name + "_pixel", p.operands[k].strides()[last]);
  }
  if (epilogue) call.expression(*epilogue, ExpressionRole::epilogue);
  std::int64_t x_before = 0;
  std::vector<std::string> checked;
  for (int d = 0; d < spatial; ++d) {
    const int axis = ConvProblem::kSpatial + d;
    x_before += p.before[d] * p.x.strides()[axis];
    checked.emplace_back(p.reaches_out(d) ? "yes" : "");
    call.param(str_cat("stride", d), static_cast<std::int32_t>(p.strides[d]));
    call.param(str_cat("dilation", d), static_cast<std::int32_t>(p.dilations[d]));
    call.param(str_cat("before", d), static_cast<std::int32_t>(p.before[d]));
    call.index_param(str_cat("size", d), p.x.shape()[axis]).index_param(str_cat("window", d), p.w.shape()[axis]);
    call.index_param(str_cat("x_k", d), p.x.strides()[axis] * p.dilations[d]);
    call.index_param(str_cat("w_k", d), p.w.strides()[axis]);
  }
  const std::uint32_t threads = workgroup_size(call.capabilities(), call.capabilities().software ? 8 : 128);
  const std::int64_t count = element_count(shape);
  call.param("x_before", static_cast<std::uint32_t>(x_before));
  call.index_param("x_c", p.x.strides()[2]).index_param("w_c", p.w.strides()[2]);
  call.index_param("x_pixel", p.x.strides()[last] * p.strides[spatial - 1]).index_param("w_out", p.w.strides()[1]);
  call.index_param("channels", p.channels()).index_param("outputs", p.outputs());
  call.index_param("length", p.y.shape()[last]).index_param("count", count);
  call.set("spatial", spatial).set("place", place).set("checked", checked);
  call.set("pixels", pixels).set("outs", outs).set("wide", wide).set("threads", threads);
  call.set("product", compute_type(p.sum_type())).set("operands", static_cast<std::int64_t>(operands.size()));
  call.set("fused", epilogue != nullptr);
  const auto elements = static_cast<double>(p.y.count());
  call.cost({.flops = elements * (2.0 * static_cast<double>(p.depth()) + (epilogue ? epilogue->operation_count() : 0)),
             .functions = epilogue ? elements * epilogue->cost() : 0});
  call.variant(form_name(pixels, outs, wide), channels_adjacent ? "channels are adjacent: threads lie along them"
                                                                : "pixels are adjacent: threads lie along them");
  call.dispatch_groups("conv", ceil_div(count, threads));
}

namespace {

// How to halve a problem so that every operand fits a binding: along an axis of y; or along the channels of x, or an
// axis of the window (kWindow − its number).
constexpr int kFits = -1, kChannels = -2, kWindow = -3;
int axis_to_halve(const ConvProblem& p, const gpu::Capabilities& capabilities) {
  int best = kFits;
  const auto consider = [&](const View& v, auto&& axis_of_y) {
    if (best != kFits || span_bytes(v) <= chunk_limit(capabilities)) return;
    std::int64_t longest = 0;
    for (int d = 0; d < v.rank(); ++d) {
      const int axis = axis_of_y(d);
      const std::int64_t size = axis == kChannels ? p.channels()
                                : axis <= kWindow ? p.w.shape()[ConvProblem::kSpatial + kWindow - axis]
                                : axis >= 0       ? p.y.shape()[axis]
                                                  : 1;
      const std::int64_t reach = std::abs(v.strides()[d]) * (v.shape()[d] - 1);
      if (size > 1 && reach > longest) longest = reach, best = axis;
    }
    if (best == kFits) {
      throw Unsupported("conv: {} spans more than the {} bytes that this device binds, and cannot be cut", to_string(v),
                        chunk_limit(capabilities));
    }
  };
  consider(p.x, [&](int d) {
    if (d == 2) return kChannels;
    return d >= ConvProblem::kSpatial && p.y.shape()[d] == 1 ? kWindow - (d - ConvProblem::kSpatial) : d;
  });
  consider(p.w, [](int d) {
    return d == 0 ? 0 : d == 1 ? 2 : d == 2 ? kChannels : kWindow - (d - ConvProblem::kSpatial);
  });
  const auto own = [](int d) { return d; };
  consider(p.y, own);
  for (const View& v : p.operands) consider(v, own);
  return best;
}

using Record = std::function<void(const ConvProblem&, const Expression*)>;

void in_parts(gpu::Commands& commands, const ConvProblem& p, const Expression* epilogue, const Record& f) {
  if (p.y.count() == 0) return;
  const int axis = axis_to_halve(p, commands.device().capabilities());
  if (axis == kFits) return f(p, epilogue);
  if (axis >= 0) {
    const std::int64_t size = p.y.shape()[axis], half = size / 2;
    in_parts(commands, part(p, axis, 0, half), epilogue, f);
    return in_parts(commands, part(p, axis, half, size - half), epilogue, f);
  }
  // The sums of half the products, to which those of the others are added, before what follows.
  const DType type = p.sum_type();
  GpuScratch scratch(commands);
  const View memory = scratch.take(byte_size(type, static_cast<std::uint64_t>(p.y.count())));
  const View sums(memory.buffer, memory.offset, type, p.y.shape());
  const int d = kWindow - axis;
  const std::int64_t size = axis == kChannels ? p.channels() : p.w.shape()[ConvProblem::kSpatial + d], half = size / 2;
  const auto part_of = [&](std::int64_t begin, std::int64_t count) {
    return axis == kChannels ? part_of_channels(p, begin, count) : part_of_window(p, d, begin, count);
  };
  ConvProblem first = part_of(0, half), second = part_of(half, size - half);
  first.y = second.y = sums;
  first.operands = {};
  second.operands = {sums};
  Expression add;
  const int product = add.input(type), so_far = add.input(type);
  add.output(add.apply(ScalarOp::add, {so_far, product}));
  // (Not as products, whose copies of operands would be in the buffer of the sums.)
  const auto direct = [&](const ConvProblem& q, const Expression* e) { record_direct(commands, q, e); };
  in_parts(commands, first, nullptr, direct);
  in_parts(commands, second, &add, direct);
  if (!epilogue) return copy(commands, sums, p.y);
  std::vector<View> inputs{sums};
  inputs.insert(inputs.end(), p.operands.begin(), p.operands.end());
  map(commands, *epilogue, inputs, std::span(&p.y, 1));
}

// Nothing moves within windows of one element: a product of the channels, by whatever kernel suits it. (Where windows
// skip elements, the places of x have no stride of their own, and few of them would be the rows of a product.)
bool is_pointwise(const ConvProblem& p) {
  for (int d = 0; d < p.spatial(); ++d) {
    if (p.strides[d] != 1 && p.y.shape()[ConvProblem::kSpatial + d] > 1) return false;
    if (p.w.shape()[ConvProblem::kSpatial + d] != 1 || p.reaches_out(d)) return false;
  }
  return true;
}

void pointwise(Stream& stream, const ConvProblem& p, const Expression* epilogue) {
  Layout x = p.x.layout, w = p.w.layout;
  std::int64_t first = 0;  // of x
  for (int d = 0; d < p.spatial(); ++d) {
    const int axis = ConvProblem::kSpatial + d;
    first += p.position(d, 0, 0) * x.strides[axis];
    x.shape[axis] = p.y.shape()[axis];
    x.strides[axis] *= p.strides[d];
  }
  // Filters [g, o, c] as [g, 1, …, c, o].
  Layout right{{w.shape[0]}, {w.strides[0]}};
  for (int d = 0; d < p.spatial(); ++d) right.shape.push_back(1), right.strides.push_back(0);
  right.shape.push_back(w.shape[2]), right.strides.push_back(w.strides[2]);
  right.shape.push_back(w.shape[1]), right.strides.push_back(w.strides[1]);
  const View image(p.x.buffer, p.x.offset + static_cast<std::uint64_t>(first * bits(p.x.dtype) / 8), p.x.dtype, x.shape,
                   x.strides);
  std::vector<View> operands;
  for (const View& v : p.operands) operands.push_back(channels_last(v));
  matmul(stream, channels_last(image), p.w.with_layout(right), channels_last(p.y), {epilogue, operands});
}

// Sums of nothing: a product without k, whose epilogue takes zeros.
void without_products(Stream& stream, const ConvProblem& p, const Expression* epilogue) {
  const View y = channels_last(p.y);
  Layout rows{y.shape(), Strides::filled(y.rank(), 0)}, columns{{0, y.shape()[-1]}, {0, 0}};
  rows.shape[-1] = 0;
  std::vector<View> operands;
  for (const View& v : p.operands) operands.push_back(channels_last(v));
  matmul(stream, p.x.with_layout(rows), p.w.with_layout(columns), y, {epilogue, operands});
}

// By reasoning, not by measurement: sums shorter than a step of k, and few outputs, would leave most of a tile empty.
bool suits_product(const ConvProblem& p, const gpu::Capabilities& capabilities) {
  return !capabilities.software && p.depth() >= 16 && p.outputs() >= 8;
}

void run(Stream& stream, const ConvProblem& p, const Expression* epilogue) {
  if (p.y.count() == 0) return;
  if (stream.gpu()) {
    for (const View* v : {&p.x, &p.w, &p.y}) {
      if (v->dtype == DType::f64) throw Unsupported("conv: {} on a GPU, which has no f64", to_string(*v));
    }
  }
  if (p.depth() == 0) return without_products(stream, p, epilogue);
  if (is_pointwise(p) && p.outputs() > 1 && p.sum_type() != DType::f64) return pointwise(stream, p, epilogue);
  if (gpu::Commands* commands = stream.gpu()) {
    if (is_depthwise(p))
      conv_depthwise(*commands, p, epilogue);
    else if (suits_product(p, commands->device().capabilities()))
      conv_product(*commands, p, epilogue);
    else if (suits_unfolded(*commands, p))
      conv_unfolded(*commands, p, epilogue);
    else
      conv_direct(*commands, p, epilogue);
  } else {
    conv_cpu(*stream.cpu(), p, epilogue);
  }
}

void check_all(Stream& stream, std::string_view kernel, const NamedViews& x, const NamedViews& w, const NamedViews& y,
               const Epilogue& epilogue) {
  check_memory(stream, kernel, {x, w}, {y}, Sharing::none);
  check_memory(stream, kernel, {{"epilogue operand", epilogue.operands}}, {y}, Sharing::same_view);
}

CallKey key(std::string_view kernel, const ConvOptions& o, const Expression* epilogue) {
  return CallKey(kernel, o.strides, o.dilations, o.before, o.groups, epilogue);
}

}  // namespace

void check_reach(const ConvProblem& p, int more) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (int d = 0; d < p.spatial(); ++d) {
    const int axis = ConvProblem::kSpatial + d;
    const std::int64_t low = std::min<std::int64_t>(p.position(d, 0, 0), 0);
    const std::int64_t high = p.position(d, p.y.shape()[axis] + more, p.w.shape()[axis]);
    if (low >= -kMost && high < kMost && p.x.shape()[axis] < kMost) continue;
    throw Unsupported("conv: windows reach from {} to {} along spatial axis {}; on a GPU within 2^31", low, high, d);
  }
}

void conv_direct(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue) {
  in_parts(commands, problem, epilogue,
           [&](const ConvProblem& p, const Expression* e) { record_direct(commands, p, e); });
}

void conv_unfolded(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue) {
  in_parts(commands, problem, epilogue,
           [&](const ConvProblem& p, const Expression* e) { record_unfolded(commands, p, e); });
}

void conv_depthwise(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue) {
  in_parts(commands, problem, epilogue, [&](const ConvProblem& p, const Expression* e) {
    // Parts may begin where elements lie by fours no more.
    if (is_depthwise(p))
      record_depthwise(commands, p, e);
    else
      record_direct(commands, p, e);
  });
}

void conv_product(gpu::Commands& commands, const ConvProblem& problem, const Expression* epilogue,
                  const MatmulVariant* variant) {
  in_parts(commands, problem, epilogue,
           [&](const ConvProblem& p, const Expression* e) { record_product(commands, p, e, variant); });
}

void conv(Stream& stream, const View& x, const View& w, const View& y, const ConvOptions& options,
          const Epilogue& epilogue) {
  call(stream, key("conv", options, epilogue.expression), {x, w, epilogue.operands, y}, [&](Stream& s) {
    check_all(s, "conv", {"x", x}, {"w", w}, {"y", y}, epilogue);
    run(s, conv_problem(x, w, y, options, epilogue), epilogue.expression);
  });
}

void conv_transpose(Stream& stream, const View& x, const View& w, const View& y, const ConvOptions& options,
                    const Epilogue& epilogue) {
  call(stream, key("conv_transpose", options, epilogue.expression), {x, w, epilogue.operands, y}, [&](Stream& s) {
    check_all(s, "conv_transpose", {"x", x}, {"w", w}, {"y", y}, epilogue);
    for (const ConvProblem& p : conv_transpose_problems(x, w, y, options, epilogue)) run(s, p, epilogue.expression);
  });
}

void conv_filter_gradient(Stream& stream, const View& x, const View& y, const View& w, const ConvOptions& options) {
  call(stream, key("conv_filter_gradient", options, nullptr), {x, y, w}, [&](Stream& s) {
    check_all(s, "conv_filter_gradient", {"x", x}, {"y", y}, {"w", w}, {});
    run(s, conv_filter_gradient_problem(x, y, w, options), nullptr);
  });
}

}  // namespace weft::kernels
