#include "kernels/grid_sample/grid_sample.h"

#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/common/moved_axis.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kName = "grid_sample";

// The view with its channels (axis 1) last.
View channels_last(const View& v) { return moved_axis(v, 1, v.rank() - 1); }

void record(gpu::Commands& commands, const SampleCall& s) {
  Call call(commands, "grid_sample");
  call.include("grid_positions");
  const std::int64_t channels = s.y.shape()[1];
  const bool adjacent = has_adjacent_channels(s), wide = adjacent && takes_four_channels(s);
  // A position is computed once for several channels.
  const int outs = adjacent ? 1 : static_cast<int>(std::min<std::int64_t>(channels, 8));
  const SampleThreads t = sample_threads(s, wide ? 4 : outs);
  call.iterate(t.shape);
  call.read("x", s.x, wide ? 4 : 1).strides("x", t.x);
  call.read("grid", s.grid).strides("grid", t.grid);
  call.write("y", s.y, wide ? 4 : 1).strides("y", t.y);
  const std::uint32_t threads = workgroup_size(call.capabilities(), call.capabilities().software ? 8 : 128);
  const std::int64_t count = element_count(t.shape);
  call.index_param("count", count);
  add_positions(call, s, false, threads);
  if (!wide) {
    call.index_param("channels", channels).index_param("x_channel", s.x.strides()[1]);
    call.index_param("y_channel", s.y.strides()[1]);
  }
  call.set("wide", wide).set("outs", outs).set("channel", t.channel);
  call.variant(str_cat(wide       ? "channels_by_4"
                       : adjacent ? "channels"
                                  : "places",
                       "_", outs),
               adjacent ? "channels are adjacent: threads lie along them" : "threads lie along the places");
  call.dispatch_groups(kName, ceil_div(count, threads));
}

// A part of the call along an axis of y: the batch, the channels, or places.
SampleCall part_of(const SampleCall& s, int axis, std::int64_t begin, std::int64_t size) {
  const auto slice = [&](const View& v, int d) {
    View part = v;
    part.offset =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(v.offset) + begin * v.strides()[d] * bits(v.dtype) / 8);
    part.layout.shape[d] = size;
    return part;
  };
  SampleCall part = s;
  part.y = slice(s.y, axis);
  if (axis < 2) part.x = slice(s.x, axis);
  if (axis != 1) part.grid = slice(s.grid, axis == 0 ? 0 : axis - 1);
  if (axis != 1 && s.dgrid) part.dgrid = slice(*s.dgrid, axis == 0 ? 0 : axis - 1);
  return part;
}

}  // namespace

bool has_adjacent_channels(const SampleCall& s) {
  const auto reach = [&](int d) { return s.y.shape()[d] == 1 ? INT64_MAX : std::abs(s.y.strides()[d]); };
  for (int d = 0; d < s.y.rank(); ++d) {
    if (d != 1 && (d < 1 ? reach(d) < reach(1) : reach(d) <= reach(1))) return false;
  }
  return true;
}

bool takes_four_channels(const SampleCall& s) {
  return s.y.shape()[1] % 4 == 0 && can_vectorise(channels_last(s.x)) && can_vectorise(channels_last(s.y));
}

SampleThreads sample_threads(const SampleCall& s, std::int64_t block) {
  std::vector<int> order(static_cast<std::size_t>(s.y.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int d) { return s.y.shape()[d] == 1 ? INT64_MAX : std::abs(s.y.strides()[d]); });
  SampleThreads t;
  for (const int d : order) {
    if (d == 1) t.channel = t.shape.rank();
    t.shape.push_back(d == 1 ? ceil_div(s.y.shape()[d], block) : s.y.shape()[d]);
    t.x.push_back(d == 0 ? s.x.strides()[0] : d == 1 ? s.x.strides()[1] * block : 0);
    t.grid.push_back(d == 0 ? s.grid.strides()[0] : d == 1 ? 0 : s.grid.strides()[d - 1]);
    t.y.push_back(s.y.strides()[d] * (d == 1 ? block : 1));
    if (s.dgrid) t.dgrid.push_back(d == 0 ? s.dgrid->strides()[0] : d == 1 ? 0 : s.dgrid->strides()[d - 1]);
  }
  return t;
}

void add_positions(Call& call, const SampleCall& s, bool slopes, std::uint32_t threads) {
  constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};
  const int spatial = s.spatial();
  const int taps = s.options.mode == SampleMode::nearest ? 1 : s.options.mode == SampleMode::linear ? 2 : 4;
  call.index_param("grid_component", s.grid.strides()[-1]);
  for (int d = 0; d < spatial; ++d) {
    call.index_param(str_cat("size", d), s.x.shape()[2 + d]).index_param(str_cat("step", d), s.x.strides()[2 + d]);
  }
  call.set("spatial", spatial).set("taps", taps).set("padding", kPaddings[static_cast<int>(s.options.padding)]);
  call.set("aligned", s.options.align_corners).set("slopes", slopes).set("threads", threads);
  double products = 1;
  for (int d = 0; d < spatial; ++d) products *= taps;
  call.cost({.flops = 2 * products * static_cast<double>(s.y.count())});
}

void in_sample_parts(gpu::Commands& commands, std::string_view kernel, const SampleCall& s, bool cuts_channels,
                     const std::function<void(const SampleCall&)>& record) {
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const std::uint64_t limit = chunk_limit(capabilities);
  const auto too_long = [&](const View& v) { return span_bytes(v) > limit || v.count() > kMaxElements; };
  if (!too_long(s.x) && !too_long(s.grid) && !too_long(s.y) && !(s.dgrid && too_long(*s.dgrid))) return record(s);
  int best = -1;
  std::int64_t best_reach = 0;
  const auto consider = [&](const View& v, int d, int axis) {
    const std::int64_t reach = std::abs(v.strides()[d]) * (v.shape()[d] - 1) * bits(v.dtype) / 8;
    if (too_long(v) && s.y.shape()[axis] > 1 && reach > best_reach) best = axis, best_reach = reach;
  };
  for (int axis = 0; axis < s.y.rank(); ++axis) {
    if (axis == 1 && !cuts_channels) continue;
    consider(s.y, axis, axis);
    if (axis < 2) consider(s.x, axis, axis);
    if (axis == 1) continue;
    consider(s.grid, axis == 0 ? 0 : axis - 1, axis);
    if (s.dgrid) consider(*s.dgrid, axis == 0 ? 0 : axis - 1, axis);
  }
  if (best < 0) {
    throw Unsupported(
        "{}: an image {} or the grid {} is more than the {} bytes that this device binds, and cannot be "
        "cut",
        kernel, to_string(s.x), to_string(s.grid), capabilities.max_binding);
  }
  const std::int64_t size = s.y.shape()[best], half = first_half(size);
  in_sample_parts(commands, kernel, part_of(s, best, 0, half), cuts_channels, record);
  in_sample_parts(commands, kernel, part_of(s, best, half, size - half), cuts_channels, record);
}

void check_sample(std::string_view kernel, const SampleCall& s) {
  const bool for_x = kernel == "grid_sample_gradient", for_grid = s.dgrid.has_value();
  const std::string_view x_name = for_x ? "dx" : "x", y_name = for_x || for_grid ? "dy" : "y";
  const Shape &x = s.x.shape(), &grid = s.grid.shape(), &y = s.y.shape();
  const auto fail = [&](std::string_view expected) {
    throw InvalidArgument("{}: {} is {}, grid is {} and {} {}; expected {}", kernel, x_name, to_string(s.x),
                          to_string(s.grid), y_name, to_string(s.y), expected);
  };
  if (grid.rank() != x.rank() || y.rank() != x.rank()) fail("one rank");
  if (grid[-1] != s.spatial()) fail(str_cat("a number of the grid for each spatial axis of ", x_name));
  if (x[0] != y[0] || grid[0] != y[0]) fail("one batch");
  if (x[1] != y[1]) fail(str_cat("as many channels of ", y_name, " as of ", x_name));
  for (int d = 2; d < y.rank(); ++d) {
    if (grid[d - 1] != y[d]) fail(str_cat("the places of the grid in ", y_name));
    if (x[d] == 0 && s.y.count() > 0) fail(str_cat("elements along each axis of ", x_name));
    // Positions are f32 and indices i32.
    if (x[d] > std::int64_t{1} << 30) {
      throw Unsupported("{}: {} {} is longer than 2^30", kernel, x_name, to_string(s.x));
    }
  }
  if (for_grid && s.dgrid->shape() != grid) {
    throw InvalidArgument("{}: grid is {} and dgrid {}; expected one shape", kernel, to_string(s.grid),
                          to_string(*s.dgrid));
  }
}

void grid_sample_gpu(gpu::Commands& commands, const SampleCall& call) {
  for (const View* v : {&call.x, &call.grid}) {
    if (v->dtype == DType::f64) throw Unsupported("{}: {} on a GPU, which has no f64", kName, to_string(*v));
  }
  in_sample_parts(commands, kName, call, true, [&](const SampleCall& part) { record(commands, part); });
}

void grid_sample(Stream& stream, const View& x, const View& grid, const View& y, const SampleOptions& options) {
  call(stream, CallKey(kName, options.mode, options.padding, options.align_corners), {x, grid, y}, [&](Stream& s) {
    check_views(kName, {&x, &grid}, {&y});
    const SampleCall sample{x, grid, y, options};
    check_sample(kName, sample);
    check_memory(s, kName, {{"x", x}, {"grid", grid}}, {{"y", y}}, Sharing::none);
    if (y.count() == 0) return;
    if (gpu::Commands* commands = s.gpu())
      grid_sample_gpu(*commands, sample);
    else
      grid_sample_cpu(*s.cpu(), sample);
  });
}

}  // namespace weft::kernels
