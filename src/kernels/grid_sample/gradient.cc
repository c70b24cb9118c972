// The gradients of grid_sample.
#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/grid_sample/grid_sample.h"
#include "kernels/plan_cache.h"
#include "kernels/plan_state.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kForX = "grid_sample_gradient", kForGrid = "grid_sample_grid_gradient";

void refuse_f64(std::string_view kernel, const SampleCall& s) {
  for (const View* v : {&s.y, &s.grid}) {
    if (v->dtype == DType::f64) throw Unsupported("{}: {} on a GPU, which has no f64", kernel, to_string(*v));
  }
}

std::uint32_t threads_of(const Call& call) {
  return workgroup_size(call.capabilities(), call.capabilities().software ? 8 : 128);
}

// Adds dy to dx, which is f32.
void record_sums(gpu::Commands& commands, const SampleCall& s) {
  Call call(commands, "grid_sample_gradient");
  call.include("grid_positions");
  const std::int64_t channels = s.y.shape()[1];
  // Threads whose elements of dx are neighbours do not wait for each other; a position is computed once for several
  // channels else.
  const bool adjacent = has_adjacent_channels(s);
  const int outs = adjacent ? 1 : static_cast<int>(std::min<std::int64_t>(channels, 8));
  const SampleThreads t = sample_threads(s, outs);
  call.iterate(t.shape);
  call.update("dx", s.x).strides("dx", t.x);
  call.read("grid", s.grid).strides("grid", t.grid);
  call.read("dy", s.y).strides("dy", t.y);
  const std::uint32_t threads = threads_of(call);
  const std::int64_t count = element_count(t.shape);
  call.index_param("count", count).index_param("channels", channels);
  call.index_param("dx_channel", s.x.strides()[1]).index_param("dy_channel", s.y.strides()[1]);
  add_positions(call, s, false, threads);
  call.set("outs", outs).set("channel", t.channel);
  call.variant(str_cat(adjacent ? "channels_" : "places_", outs),
               adjacent ? "channels are adjacent: threads lie along them" : "threads lie along the places");
  call.dispatch_groups(kForX, ceil_div(count, threads));
}

void gradient_gpu(gpu::Commands& commands, Stream& stream, const SampleCall& s) {
  refuse_f64(kForX, s);
  GpuScratch scratch(commands);
  SampleCall sums = s;
  if (s.x.dtype != DType::f32) {
    View memory = scratch.take(static_cast<std::uint64_t>(s.x.count()) * 4);
    sums.x = View(memory.buffer, memory.offset, DType::f32, s.x.shape());
  }
  fill(stream, 0, sums.x);
  in_sample_parts(commands, kForX, sums, true, [&](const SampleCall& part) { record_sums(commands, part); });
  if (s.x.dtype != DType::f32) copy(stream, sums.x, s.x);
}

void record_slopes(gpu::Commands& commands, const SampleCall& s) {
  Call call(commands, "grid_sample_grid_gradient");
  call.include("grid_positions");
  const bool wide = takes_four_channels(s);
  const std::int64_t channels = s.y.shape()[1];
  const SampleThreads t = sample_threads(s, channels);
  call.iterate(t.shape);
  call.read("dy", s.y, wide ? 4 : 1).strides("dy", t.y);
  call.read("x", s.x, wide ? 4 : 1).strides("x", t.x);
  call.read("grid", s.grid).strides("grid", t.grid);
  call.write("dgrid", *s.dgrid).strides("dgrid", t.dgrid);
  const std::uint32_t threads = threads_of(call);
  const std::int64_t count = element_count(t.shape);
  call.index_param("count", count).index_param("channels", channels);
  call.index_param("dgrid_component", s.dgrid->strides()[-1]);
  if (!wide) call.index_param("x_channel", s.x.strides()[1]).index_param("dy_channel", s.y.strides()[1]);
  add_positions(call, s, true, threads);
  call.set("wide", wide);
  call.variant(wide ? "channels_by_4" : "channels", "a thread has a place, and adds over its channels");
  call.dispatch_groups(kForGrid, ceil_div(count, threads));
}

CallKey key(std::string_view kernel, const SampleOptions& o) {
  return CallKey(kernel, o.mode, o.padding, o.align_corners);
}

}  // namespace

void grid_sample_gradient(Stream& stream, const View& dy, const View& grid, const View& dx,
                          const SampleOptions& options) {
  call(stream, key(kForX, options), {dy, grid, dx}, [&](Stream& s) {
    check_views(kForX, {&dy, &grid}, {&dx});
    const SampleCall sample{dx, grid, dy, options};
    check_sample(kForX, sample);
    check_memory(s, kForX, {{"dy", dy}, {"grid", grid}}, {{"dx", dx}}, Sharing::none);
    if (dx.count() == 0) return;
    if (dy.count() == 0) return fill(s, 0, dx);
    if (gpu::Commands* commands = s.gpu())
      gradient_gpu(*commands, s, sample);
    else
      grid_sample_gradient_cpu(*s.cpu(), sample);
  });
}

void grid_sample_grid_gradient(Stream& stream, const View& dy, const View& x, const View& grid, const View& dgrid,
                               const SampleOptions& options) {
  call(stream, key(kForGrid, options), {dy, x, grid, dgrid}, [&](Stream& s) {
    check_views(kForGrid, {&dy, &x, &grid}, {&dgrid});
    const SampleCall sample{x, grid, dy, options, dgrid};
    check_sample(kForGrid, sample);
    check_memory(s, kForGrid, {{"dy", dy}, {"x", x}, {"grid", grid}}, {{"dgrid", dgrid}}, Sharing::none);
    if (dgrid.count() == 0) return;
    gpu::Commands* commands = s.gpu();
    if (commands) refuse_f64(kForGrid, sample);
    if (dy.count() == 0 || options.mode == SampleMode::nearest) return fill(s, 0, dgrid);
    if (commands) {
      in_sample_parts(*commands, kForGrid, sample, false,
                      [&](const SampleCall& part) { record_slopes(*commands, part); });
    } else {
      grid_sample_grid_gradient_cpu(*s.cpu(), sample, dgrid);
    }
  });
}

}  // namespace weft::kernels
