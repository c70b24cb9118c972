// Pad, tile, repeat, roll: checks, and the launcher of remap.wgsl.
//
// If y is contiguous, a thread takes four elements that are one vec4 of it, whatever rows they belong to, and stores
// them together; else it stores each. Four elements that are adjacent in x are loaded as one or two vec4s.
#include "kernels/pad/remap.h"
#include "core/format.h"
#include "kernels/check.h"

#include <bit>
#include <numeric>

#include "kernels/call.h"
#include "kernels/common/bits.h"
#include "kernels/common/memory.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/pad.h"

namespace weft::kernels {
namespace {

bool is_shifted(Remap mode) {
  return mode == Remap::constant || mode == Remap::keep || mode == Remap::edge || mode == Remap::repeat;
}

// True if axis `a` and the axis `b` within it can be merged: they are contiguous in y, and in x under the mapping.
bool merges(Remap mode, const RemapAxis& a, const RemapAxis& b) {
  if (b.mapped || b.from != b.to || a.y_stride != b.y_stride * b.to || a.x_stride != b.x_stride * b.to) return false;
  return !a.mapped || mode == Remap::constant || mode == Remap::keep || mode == Remap::wrap;
}

RemapProblem make_problem(Remap mode, const View& x, const View& y, std::uint64_t value,
                          std::span<const RemapAxis> axes) {
  RemapProblem problem{as_unsigned(x), as_unsigned(y), &x, &y, mode, value};
  std::vector<RemapAxis> sorted(axes.begin(), axes.end());
  std::erase_if(sorted, [](const RemapAxis& a) { return a.to == 1 && !a.mapped; });
  std::ranges::stable_sort(sorted, std::greater(), [](const RemapAxis& a) { return std::abs(a.y_stride); });
  for (const RemapAxis& b : sorted) {
    RemapAxis* a = problem.rank ? &problem.axes[problem.rank - 1] : nullptr;
    if (!a || !merges(mode, *a, b)) {
      problem.axes[problem.rank++] = b;
      continue;
    }
    a->shift *= b.to;
    a->period *= b.to;
    a->from *= b.to;
    a->to *= b.to;
    a->x_stride = b.x_stride;
    a->y_stride = b.y_stride;
  }
  if (problem.rank == 0) problem.axes[problem.rank++] = {.from = 1, .to = 1, .x_stride = 1, .y_stride = 1};
  return problem;
}

void run(Stream& stream, std::string_view name, Remap mode, const View& x, const View& y, std::uint64_t value,
         std::span<const RemapAxis> axes) {
  check_memory(stream, name, {{"x", x}}, {{"y", y}}, Sharing::none);
  if (y.count() == 0) return;
  const RemapProblem problem = make_problem(mode, x, y, value, axes);
  if (gpu::Commands* commands = stream.gpu())
    remap_gpu(*commands, name, problem);
  else
    remap_cpu(*stream.cpu(), problem);
}

// Padding past all of x or y is all alike: it is limited, so that sums with it stay small.
std::int64_t shift_within(const RemapAxis& a, std::int64_t before) { return -std::clamp(before, -a.from, a.to); }

std::vector<RemapAxis> axes_of(std::string_view name, const View& x, const View& y) {
  check_views(name, {&x}, {&y});
  if (x.rank() != y.rank()) {
    throw InvalidArgument("{}: x is {}, y is {}; expected one rank", name, to_string(x), to_string(y));
  }
  std::vector<RemapAxis> axes;
  for (int d = 0; d < y.rank(); ++d) {
    axes.push_back({.from = x.shape()[d], .to = y.shape()[d], .x_stride = x.strides()[d], .y_stride = y.strides()[d]});
  }
  return axes;
}

// Each of y's sizes is a multiple of x's; axes where they differ are mapped.
std::vector<RemapAxis> multiples(std::string_view name, const View& x, const View& y) {
  std::vector<RemapAxis> axes = axes_of(name, x, y);
  for (RemapAxis& a : axes) {
    if (a.from == 0 ? a.to != 0 : a.to % a.from != 0) {
      throw InvalidArgument("{}: y is {}; expected multiples of the sizes of x {}", name, to_string(y), to_string(x));
    }
    a.mapped = a.from != a.to;
  }
  return axes;
}

std::int64_t modulo(std::int64_t a, std::int64_t n) { return (a % n + n) % n; }

// True if four elements can be loaded or stored at once, wherever they start.
bool has_vectors(const View& v) { return bits(v.dtype) >= 8 && bits(v.dtype) <= 32 && last_group_is_whole(v); }

}  // namespace

std::int64_t remapped(const RemapProblem& problem, const RemapAxis& axis, std::int64_t c) {
  if (!axis.mapped) return c;
  const std::int64_t j = c + axis.shift;
  const std::int64_t u = modulo(j, axis.period);
  switch (problem.mode) {
    case Remap::constant:
    case Remap::keep:
      return j >= 0 && j < axis.from ? j : -1;
    case Remap::edge:
      return std::clamp<std::int64_t>(j, 0, axis.from - 1);
    case Remap::wrap:
      return u;
    case Remap::reflect:
      return std::min(u, axis.period - u);
    case Remap::symmetric:
      return std::min(u, axis.period - 1 - u);
    case Remap::repeat:
      return j / axis.period;
  }
  throw InternalError("remap: no mode {}", static_cast<int>(problem.mode));
}

namespace {

constexpr std::string_view kModes[] = {"constant", "keep", "edge", "wrap", "reflect", "symmetric", "repeat"};

// Adds the axes of the problem, for all kernels.
void add_axes(Call& call, std::string_view name, const RemapProblem& problem) {
  Shape shape;
  Strides x_strides;
  std::vector<std::string> mapped, modulus;
  for (int d = 0; d < problem.rank; ++d) {
    const RemapAxis& a = problem.axes[d];
    shape.push_back(a.to);
    x_strides.push_back(a.x_stride);
    mapped.emplace_back(a.mapped ? "yes" : "");
    // No division if a shifted index exceeds the period at most once, or if the period is a power of two.
    const bool turns = a.mapped && !is_shifted(problem.mode),
               binary = std::has_single_bit(static_cast<std::uint64_t>(a.period));
    modulus.emplace_back(!turns ? "" : a.to <= a.period ? "once" : binary ? "mask" : "divide");
  }
  call.iterate(shape).strides("x", x_strides);
  call.set("mode", kModes[static_cast<int>(problem.mode)])
      .set("rank", problem.rank)
      .set("mapped", mapped)
      .set("modulus", modulus);
  for (int d = 0; d < problem.rank; ++d) {
    const RemapAxis& a = problem.axes[d];
    if (!a.mapped) continue;
    // Sums of an index and the shift that are divided or compared must not wrap around.
    const bool shifted = is_shifted(problem.mode);
    constexpr std::int64_t kMax = std::int64_t{1} << 31;
    if (std::max({shifted ? std::abs(a.shift) : a.period, a.from, a.to}) >= kMax) {
      throw Unsupported("{}: an axis of {} from one of {}; on a GPU each is less than 2^31", name, a.to, a.from);
    }
    call.index_param(std::format("m{}", d), a.from);
    call.index_param(std::format("shift{}", d), shifted ? a.shift : modulo(a.shift, a.period));
    call.index_param(std::format("period{}", d), a.period);
  }
}

bool is_dense(const RemapProblem& problem) {
  std::int64_t step = 1;
  for (int d = problem.rank - 1; d >= 0; --d) {
    if (problem.axes[d].y_stride != step) return false;
    step *= problem.axes[d].to;
  }
  return true;
}

std::int64_t count_of(const RemapProblem& problem) {
  std::int64_t count = 1;
  for (int d = 0; d < problem.rank; ++d) count *= problem.axes[d].to;
  return count;
}

// A dense view from the 16-byte boundary before it, with the number of elements in between.
struct Aligned {
  View view;
  std::int64_t before = 0;
};

// Nothing if a vec4 that contains the view's first or last elements extends past the buffer, or the type has no vec4.
std::optional<Aligned> in_vectors(const View& v) {
  const int b = bits(v.dtype);
  if (b < 8 || b > 32) return std::nullopt;
  if (!last_group_is_whole(v, 128 / b)) return std::nullopt;
  Aligned a{v, static_cast<std::int64_t>(v.offset % 16) * 8 / b};
  a.view.offset = v.offset / 16 * 16;
  a.view.layout = {{v.count() + a.before}, {1}};
  return a;
}

// Contiguous words (remap_words.wgsl); false if that kernel cannot run the problem.
bool remap_words(gpu::Commands& commands, std::string_view name, const RemapProblem& problem) {
  const RemapAxis& inner = problem.axes[problem.rank - 1];
  if (problem.mode == Remap::keep || inner.x_stride != 1 || !is_dense(problem) || problem.x.buffer == problem.y.buffer)
    return false;
  const auto x = in_vectors(problem.x), y = in_vectors(problem.y);
  if (!x || !y) return false;
  const int b = bits(problem.y.dtype), lanes = 128 / b;
  // At most two rows, and one end of a period, in 16 bytes.
  const bool turns = inner.mapped && (problem.mode == Remap::wrap || problem.mode == Remap::reflect ||
                                      problem.mode == Remap::symmetric);
  if (inner.to < lanes || (turns && inner.period < lanes)) return false;
  // Four words that are not adjacent are as fast as single elements.
  if (b == 32 && inner.mapped && problem.mode == Remap::repeat) return false;
  const std::int64_t count = count_of(problem), groups = ceil_div(count + y->before, lanes);
  Call call(commands, "remap_words");
  call.include("remap_index");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  call.variant(std::format("words_{}", lanes), "x and y are runs of words");
  call.raw("x", x->view, "vec4<u32>", 16, gpu::Access::read)
      .raw("y", y->view, "vec4<u32>", 16, gpu::Access::read_write);
  add_axes(call, name, problem);
  call.set("lanes", lanes)
      .set("bits", b)
      .set("mask", (std::int64_t{1} << b) - 1)
      .set("short", inner.period < lanes)
      .set("workgroup", workgroup)
      .index_param("count", count)
      .index_param("groups", groups)
      .index_param("misalignment", y->before)
      .param("x_first", static_cast<std::uint32_t>(x->before + problem.x_origin))
      .param("value", static_cast<std::uint32_t>(problem.value))
      .param("inverse", 1 / static_cast<float>(inner.period))
      .dispatch_groups(name, ceil_div(groups, workgroup));
  return true;
}

// Tiles and repeats in the order of x (spread.wgsl), which is read once; false if that kernel cannot run the problem.
bool spread(gpu::Commands& commands, std::string_view name, const RemapProblem& problem) {
  const bool tiles = problem.mode == Remap::wrap;
  const int rank = problem.rank, b = bits(problem.y.dtype);
  const RemapAxis& inner = problem.axes[rank - 1];
  if (!(tiles || problem.mode == Remap::repeat) || inner.x_stride != 1 || !is_dense(problem)) return false;
  const auto x = in_vectors(problem.x), y = in_vectors(problem.y);
  if (!x || !y || y->before != 0 || problem.x.buffer == problem.y.buffer) return false;
  const std::int64_t lanes = 128 / b, run = !tiles && inner.mapped ? inner.period : 1;
  if (!std::has_single_bit(static_cast<std::uint64_t>(run)) || run > lanes) return false;
  const std::int64_t taken = lanes / run, first = x->before + problem.x_origin;
  // Adjacent threads must store whole cache lines.
  if (inner.from % taken != 0 || inner.from / taken < 32 || first % taken != 0) return false;
  Shape shape;
  Strides x_strides, y_strides;
  std::vector<std::pair<std::int64_t, std::int64_t>> copies;  // count and stride
  for (int d = 0; d < rank; ++d) {
    const RemapAxis& a = problem.axes[d];
    const bool last = d + 1 == rank;
    const bool whole = tiles ? a.period == a.from && a.to % a.from == 0 : a.to == a.from * a.period;
    if ((a.mapped && (a.shift != 0 || !whole)) || (!last && a.x_stride % taken != 0)) return false;
    const std::int64_t apart = (tiles ? a.from : 1) * a.y_stride;
    if (a.mapped && !(last && !tiles)) copies.emplace_back(a.to / a.from, apart / (last ? lanes : 1));
    shape.push_back(last ? a.from / taken : a.from);
    x_strides.push_back(last ? taken : a.x_stride);
    y_strides.push_back(last ? 1 : (a.mapped && !tiles ? a.period : 1) * a.y_stride);
  }
  for (int d = 0; d + 1 < rank; ++d) {
    if (y_strides[d] % lanes != 0) return false;
    y_strides[d] /= lanes;
  }
  for (std::size_t k = 0; k < copies.size(); ++k) {
    auto& [count, step] = copies[k];
    if (tiles && inner.mapped && k + 1 == copies.size()) continue;  // counted in 16 bytes already
    if (step % lanes != 0) return false;
    step /= lanes;
  }
  if (copies.empty()) copies.emplace_back(1, 0);
  std::int64_t others = 1;
  for (std::size_t k = 1; k < copies.size(); ++k) others *= copies[k].first;
  constexpr std::int64_t kMax = 8;  // stores of a thread
  if (others > kMax) return false;
  const std::int64_t chunk = std::min(copies[0].first, kMax / others), groups = element_count(shape);
  const std::int64_t threads = groups * ceil_div(copies[0].first, chunk);
  Call call(commands, "spread");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  call.variant(std::format("spread_{}", taken), "x and y are runs of words, and each row of x is many");
  call.raw("x", x->view, "vec4<u32>", 16, gpu::Access::read);
  call.raw("y", y->view, "vec4<u32>", 16, gpu::Access::read_write);
  call.iterate(shape).strides("x", x_strides).strides("y", y_strides);
  for (std::size_t k = 0; k < copies.size(); ++k) {
    call.index_param(std::format("copies{}", k), copies[k].first);
    call.index_param(std::format("step{}", k), copies[k].second);
  }
  call.set("taken", taken)
      .set("run", run)
      .set("bits", b)
      .set("mask", (std::int64_t{1} << b) - 1)
      .set("loops", static_cast<std::int64_t>(copies.size()))
      .set("workgroup", workgroup)
      .index_param("x_first", first)
      .index_param("groups", groups)
      .index_param("chunk", chunk)
      .index_param("threads", threads)
      .dispatch_groups(name, ceil_div(threads, workgroup));
  return true;
}

void remap_elements(gpu::Commands& commands, std::string_view name, const RemapProblem& problem) {
  const int rank = problem.rank;
  Strides y_strides;
  for (int d = 0; d < rank; ++d) y_strides.push_back(problem.axes[d].y_stride);
  const bool wide = bits(problem.x.dtype) == 64;
  // Packed elements are merged into their words one by one, so four of them in a thread gain nothing (and lavapipe
  // loses iterations of that loop).
  const int lanes = wide || bits(problem.y.dtype) < 8 ? 1 : 4;
  const bool flat = is_dense(problem) && problem.mode != Remap::keep && has_vectors(problem.y);
  const bool x_vec = problem.axes[rank - 1].x_stride == 1 && has_vectors(problem.x);
  const std::int64_t first = static_cast<std::int64_t>(problem.y.offset) * 8 / bits(problem.y.dtype);
  const std::int64_t misalignment = flat ? first % 4 : 0;
  const std::int64_t count = count_of(problem);
  const std::int64_t groups = ceil_div(count + misalignment, lanes);

  Call call(commands, "remap");
  call.include("remap_index");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  call.read("x", problem.x, x_vec ? 4 : 1).write("y", problem.y, flat ? 4 : 1);
  add_axes(call, name, problem);
  call.strides("y", y_strides);
  call.set("lanes", lanes)
      .set("wide", wide)
      .set("flat", flat)
      .set("x_vec", x_vec)
      .set("workgroup", workgroup)
      .index_param("count", count)
      .index_param("groups", groups)
      .index_param("misalignment", misalignment)
      .param("x_first", static_cast<std::uint32_t>(problem.x_origin))
      .param("value_low", static_cast<std::uint32_t>(problem.value))
      .param("value_high", static_cast<std::uint32_t>(problem.value >> 32));
  call.dispatch_groups(name, ceil_div(groups, workgroup));
}

}  // namespace

void remap_gpu(gpu::Commands& commands, std::string_view name, const RemapProblem& problem) {
  in_remap_chunks(commands.device().capabilities(), name, problem, [&](const RemapProblem& part) {
    if (!spread(commands, name, part) && !remap_words(commands, name, part)) remap_elements(commands, name, part);
  });
}

void place(Stream& stream, std::string_view name, Remap mode, const View& x, const View& y,
           std::span<const std::int64_t> before, std::uint64_t value) {
  std::vector<RemapAxis> axes = axes_of(name, x, y);
  for (int d = 0; d < y.rank(); ++d) {
    RemapAxis& a = axes[d];
    a.shift = shift_within(a, before[d]);
    a.mapped = a.shift != 0 || a.from != a.to;
  }
  run(stream, name, mode, x, y, value, axes);
}

void pad(Stream& stream, const View& x, const View& y, std::span<const std::int64_t> before, PadMode mode,
         Number value) {
  call(stream, CallKey("pad", before, mode, value), {x, y}, [&](Stream& s) {
    if (static_cast<int>(before.size()) != y.rank()) {
      throw InvalidArgument("pad: {} numbers of padding for y {}", before.size(), to_string(y));
    }
    if (mode == PadMode::constant) {
      // There is nothing to move.
      if (x.count() == 0 && x.rank() == y.rank() && x.dtype == y.dtype) return fill(s, value, y);
      return place(s, "pad", Remap::constant, x, y, before, value.bits(y.dtype));
    }
    std::vector<RemapAxis> axes = axes_of("pad", x, y);
    for (int d = 0; d < y.rank(); ++d) {
      RemapAxis& a = axes[d];
      if (a.from == 0 && a.to > 0) {
        throw InvalidArgument("pad: axis {} of x {} is empty, there is nothing to fill y {} with", d, to_string(x),
                              to_string(y));
      }
      a.period = mode == PadMode::wrap        ? a.from
                 : mode == PadMode::symmetric ? 2 * a.from
                                              : std::max<std::int64_t>(2 * (a.from - 1), 1);
      a.shift = mode == PadMode::edge ? shift_within(a, before[d]) : -(before[d] % std::max<std::int64_t>(a.period, 1));
      a.mapped = a.shift != 0 || a.from != a.to;
    }
    const Remap remap = mode == PadMode::edge      ? Remap::edge
                        : mode == PadMode::reflect ? Remap::reflect
                        : mode == PadMode::wrap    ? Remap::wrap
                                                   : Remap::symmetric;
    run(s, "pad", remap, x, y, 0, axes);
  });
}

void tile(Stream& stream, const View& x, const View& y) {
  call(stream, CallKey("tile"), {x, y}, [&](Stream& s) {
    std::vector<RemapAxis> axes = multiples("tile", x, y);
    for (RemapAxis& a : axes) a.period = a.from;
    run(s, "tile", Remap::wrap, x, y, 0, axes);
  });
}

void repeat(Stream& stream, const View& x, const View& y) {
  call(stream, CallKey("repeat"), {x, y}, [&](Stream& s) {
    std::vector<RemapAxis> axes = multiples("repeat", x, y);
    for (RemapAxis& a : axes) a.period = a.from ? a.to / a.from : 1;
    run(s, "repeat", Remap::repeat, x, y, 0, axes);
  });
}

void roll(Stream& stream, const View& x, const View& y, std::span<const std::int64_t> shifts) {
  call(stream, CallKey("roll", shifts), {x, y}, [&](Stream& s) {
    if (static_cast<int>(shifts.size()) != y.rank() || x.shape() != y.shape()) {
      throw InvalidArgument("roll: x is {}, y is {}, {} shifts; expected one shape and a shift for each axis",
                            to_string(x), to_string(y), shifts.size());
    }
    std::vector<RemapAxis> axes = axes_of("roll", x, y);
    if (y.count() == 0) return;
    for (int d = 0; d < y.rank(); ++d) {
      axes[d].period = axes[d].from;
      axes[d].shift = -(shifts[d] % axes[d].from);
      axes[d].mapped = axes[d].shift != 0;
    }
    run(s, "roll", Remap::wrap, x, y, 0, axes);
  });
}

}  // namespace weft::kernels
