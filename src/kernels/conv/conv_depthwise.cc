// Depthwise convolutions on a GPU (conv_depthwise.wgsl).
#include <algorithm>
#include <numeric>

#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/conv/problem.h"
#include "kernels/plan_state.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// Groups of four elements lie within one index of the other axes: can_vectorise() alone also takes a view that is one
// run of memory, whatever the axis' size.
bool by_four(const View& v, int axis) {
  return v.shape()[axis] % 4 == 0 && bits(v.dtype) <= 32 && can_vectorise(moved_axis(v, axis, v.rank() - 1));
}

// Four channels a thread, if they are adjacent; else four places, if those are.
int four_along(const ConvProblem& p) {
  const int last = p.y.rank() - 1;
  if (by_four(p.x, ConvProblem::kGroup) && by_four(p.y, ConvProblem::kGroup)) return ConvProblem::kGroup;
  return by_four(p.y, last) ? last : -1;
}

}  // namespace

bool is_depthwise(const ConvProblem& p) {
  if (p.channels() != 1 || p.outputs() != 1 || p.sum_type() != DType::f32 || p.taps() == 0) return false;
  // Each element of the window is text of the shader.
  constexpr std::int64_t kMostTaps = 49, kFar = 4;
  const int last = p.spatial() - 1, first = std::max(0, last - 1);
  std::int64_t taps = 1;
  for (int d = first; d <= last; ++d) {
    taps *= p.w.shape()[ConvProblem::kSpatial + d];
    if (p.strides[d] > kFar || p.dilations[d] > kFar) return false;
  }
  return taps <= kMostTaps && four_along(p) >= 0;
}

void record_depthwise(gpu::Commands& commands, const ConvProblem& given, const Expression* epilogue) {
  constexpr int kAcross = 4;
  ConvProblem p = given;
  GpuScratch scratch(commands);
  const int rank = p.y.rank(), last = rank - 1, spatial = p.spatial(), lead = std::max(0, spatial - 2);
  const int four = four_along(p);
  const bool channels = four == ConvProblem::kGroup, two = spatial > 1;
  if (channels && !by_four(p.w, ConvProblem::kGroup)) {
    // Filters with their channels last, a copy that is small beside x.
    const View from = moved_axis(p.w, ConvProblem::kGroup, rank - 1);
    const View memory = scratch.take(byte_size(p.w.dtype, static_cast<std::uint64_t>(p.w.count())));
    const View to(memory.buffer, memory.offset, p.w.dtype, from.shape());
    copy(commands, from, to);
    p.w = moved_axis(to, rank - 1, ConvProblem::kGroup);
  }
  const int rows_axis = rank - 2;
  const int down = two && p.y.shape()[rows_axis] > 1 ? 2 : 1;
  check_reach(p, std::max(kAcross, down));
  const auto block = [&](int axis) {
    if (axis == four && channels) return 4;
    return axis == last ? kAcross : two && axis == rows_axis ? down : 1;
  };
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int d) { return p.y.shape()[d] == 1 ? INT64_MAX : std::abs(p.y.strides()[d]); });
  Call call(commands, "conv_depthwise");
  Shape shape;
  Strides x, w, y;
  std::vector<Strides> operands(p.operands.size());
  std::vector<std::string> place(static_cast<std::size_t>(spatial));
  for (const int axis : order) {
    const int b = block(axis), d = axis - ConvProblem::kSpatial;
    if (d >= 0) place[static_cast<std::size_t>(d)] = std::to_string(shape.rank());
    shape.push_back(ceil_div(p.y.shape()[axis], b));
    x.push_back(axis == 2 ? 0 : p.x.strides()[axis] * (d >= 0 ? p.strides[d] : 1) * b);
    w.push_back(axis == 0 ? p.w.strides()[0] * b : 0);
    y.push_back(p.y.strides()[axis] * b);
    for (std::size_t k = 0; k < operands.size(); ++k) operands[k].push_back(p.operands[k].strides()[axis] * b);
  }
  const int width = channels ? 4 : 1;
  call.iterate(shape);
  call.read("x", p.x, width).strides("x", x);
  call.read("w", p.w, width).strides("w", w);
  call.write("y", p.y, 4).strides("y", y);
  const auto steps = [&](const std::string& name, const View& v) {
    call.index_param(name + "_row", two ? v.strides()[rows_axis] : 0).index_param(name + "_col", v.strides()[last]);
  };
  steps("x", p.x), steps("w", p.w), steps("y", p.y);
  std::vector<std::string> modes;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const View& v = p.operands[k];
    const std::string name = str_cat("e", k);
    const bool whole = by_four(v, four);
    modes.emplace_back(whole ? "four" : v.strides()[four] == 0 ? "one" : "each");
    call.read(name, v, whole ? 4 : 1).strides(name, operands[k]);
    steps(name, v);
    call.index_param(name + "_step", v.strides()[four]);
  }
  if (epilogue) call.expression(*epilogue, ExpressionRole::epilogue, 4);
  std::int64_t x_before = 0;
  for (int d = 0; d < spatial; ++d) {
    const int axis = ConvProblem::kSpatial + d;
    x_before += p.before[d] * p.x.strides()[axis];
    call.param(str_cat("before", d), static_cast<std::int32_t>(p.before[d]));
    call.index_param(str_cat("size", d), p.x.shape()[axis]);
    if (d >= lead) continue;
    call.param(str_cat("stride", d), static_cast<std::int32_t>(p.strides[d]));
    call.param(str_cat("dilation", d), static_cast<std::int32_t>(p.dilations[d]));
    call.index_param(str_cat("window", d), p.w.shape()[axis]);
    call.index_param(str_cat("x_k", d), p.x.strides()[axis] * p.dilations[d]);
    call.index_param(str_cat("w_k", d), p.w.strides()[axis]);
  }
  const std::uint32_t threads = workgroup_size(call.capabilities(), call.capabilities().software ? 8 : 128);
  const std::int64_t count = element_count(shape);
  call.param("x_before", static_cast<std::uint32_t>(x_before));
  call.index_param("rows", two ? p.y.shape()[rows_axis] : 1).index_param("columns", p.y.shape()[last]);
  call.index_param("count", count);
  call.set("lead", lead).set("two", two).set("place", place).set("vec", width);
  call.set("down", down).set("across", kAcross).set("threads", threads);
  for (const bool of_last : {false, true}) {
    const int d = of_last ? spatial - 1 : spatial - 2;
    const std::string n = of_last ? "1" : "0";
    call.set("window" + n, d < 0 ? 1 : p.w.shape()[ConvProblem::kSpatial + d]);
    call.set("stride" + n, d < 0 ? 1 : p.strides[d]).set("dilation" + n, d < 0 ? 1 : p.dilations[d]);
  }
  call.set("operands", modes).set("fused", epilogue != nullptr).set("padded", p.reaches_out());
  const auto elements = static_cast<double>(p.y.count());
  call.cost({.flops = elements * (2.0 * static_cast<double>(p.taps()) + (epilogue ? epilogue->operation_count() : 0)),
             .functions = epilogue ? elements * epilogue->cost() : 0});
  call.variant(str_cat("depthwise_", down, "x", kAcross, channels ? "_by_4" : ""),
               channels ? "a filter for each channel; four channels are adjacent"
                        : "a filter for each channel; places are adjacent");
  call.dispatch_groups("conv", ceil_div(count, threads));
}

}  // namespace weft::kernels
