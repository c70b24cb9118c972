#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/copy/bits.h"
#include "kernels/plan_cache.h"
#include "kernels/resize/problem.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// ---- The GPU's launches

// The tables' words in memory of the device, which lives as long as the plan of the call.
View upload(const gpu::Device& device, std::span<const std::uint32_t> words) {
  const Buffer buffer = device.allocate(words.size_bytes());
  device.upload(buffer, 0, std::as_bytes(words));
  return {buffer, 0, DType::u32, {static_cast<std::int64_t>(words.size())}};
}

std::uint64_t words_of_table(const ResizePass& pass, const AxisTable& t) {
  return static_cast<std::uint64_t>(t.to() * (pass.moves ? 1 : 2 + t.pitch));
}

std::vector<std::uint32_t> words_of(const ResizePass& pass, const AxisTable& t) {
  std::vector<std::uint32_t> words;
  for (std::int64_t i = 0; i < t.to(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::size_t begin = words.size();
    if (pass.moves) {
      words.push_back(t.count[k] ? static_cast<std::uint32_t>(t.first[k]) : ~0u);
      continue;
    }
    words.push_back(static_cast<std::uint32_t>(t.first[k]));
    words.push_back(static_cast<std::uint32_t>(t.count[k]));
    if (sums_integers(pass)) {
      for (const std::int32_t w : integer_weights(t, i)) words.push_back(static_cast<std::uint32_t>(w));
    } else {
      for (std::int64_t j = 0; j < t.count[k]; ++j) {
        words.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(t.row(i)[j])));
      }
    }
    words.resize(begin + 2 + static_cast<std::size_t>(t.pitch));
  }
  return words;
}

void record(gpu::Commands& commands, std::string_view name, const ResizePass& pass) {
  Call call(commands, pass.moves ? "resize_move" : "resize_sum");
  ResizeOrder o = order_of(pass);
  const int last = o.shape.rank() - 1;
  const bool last_resized = o.table[static_cast<std::size_t>(last)] >= 0;
  const int lanes = o.shape[last] % 4 == 0 && can_vectorise(pass.y.with_layout({o.shape, o.y})) ? 4 : 1;
  const bool x_wide = lanes == 4 && !last_resized && can_vectorise(pass.x.with_layout({o.x_shape, o.x}));
  const std::int64_t x_next = o.x[last];

  // The last axis' table comes last.
  std::vector<std::string> place, counts;
  std::vector<std::uint32_t> words;
  bool outside = false;
  int tables = 0;
  for (int d = 0; d <= last; ++d) {
    const int k = o.table[static_cast<std::size_t>(d)];
    if (k < 0) continue;
    const AxisTable& t = pass.tables[static_cast<std::size_t>(k)];
    call.index_param(str_cat("base", tables), static_cast<std::int64_t>(words.size()));
    if (!pass.moves) call.index_param(str_cat("pitch", tables), 2 + t.pitch);
    call.index_param(str_cat("step", tables), o.x[d]);
    const std::vector<std::uint32_t> own = words_of(pass, t);
    words.insert(words.end(), own.begin(), own.end());
    outside |= std::ranges::find(t.count, 0) != t.count.end();
    place.push_back(std::to_string(d));
    counts.push_back(std::to_string(t.pitch));
    o.x[d] = 0;
    ++tables;
  }
  if (lanes == 4) {
    o.shape[last] /= 4;
    o.x[last] *= 4;
    o.y[last] *= 4;
  }
  // Elements below each other, which share the last table's rows.
  const int row = last - 1;
  const int rows = !pass.moves && last_resized && lanes == 4 && row >= 0 && o.shape[row] % 4 == 0 ? 4 : 1;
  Shape threads_of = o.shape;
  if (rows > 1) threads_of[row] /= rows;
  call.iterate(threads_of);
  call.read("x", pass.x, x_wide ? 4 : 1).strides("x", o.x);
  call.raw("table", upload(call.device(), words), "u32", 4, gpu::Access::read);
  call.write("y", pass.y, lanes).strides("y", o.y);
  const std::uint32_t threads = workgroup_size(call.capabilities(), call.capabilities().software ? 8 : 256);
  const std::int64_t count = element_count(threads_of);
  call.index_param("count", count);
  if (lanes == 4 && !last_resized && !x_wide) call.index_param("x_next", x_next);
  call.set("tables", tables).set("place", place).set("lanes", lanes).set("last_resized", last_resized);
  call.set("rows", rows).set("row_place", row);
  call.set("x_wide", x_wide).set("outside", outside).set("threads", threads);
  if (pass.moves) {
    const std::uint64_t bits = pass.value.bits(pass.y.dtype);
    call.set("pairs", weft::bits(pass.y.dtype) == 64);
    call.param("value_low", static_cast<std::uint32_t>(bits))
        .param("value_high", static_cast<std::uint32_t>(bits >> 32));
    return call.dispatch_groups(name, ceil_div(count, threads));
  }
  const bool integer = sums_integers(pass);
  call.set("integer", integer);
  if (integer) {
    const int shift = result_shift(pass);
    const auto [low, high] = limits_of(pass.y.dtype);
    call.param("shift", static_cast<std::uint32_t>(shift)).param("half", std::int32_t{1} << (shift - 1));
    call.param("low", low).param("high", high);
    if (outside) call.param("value", fixed_point(pass.value, pass.y.dtype));
  } else if (outside) {
    call.param("value", static_cast<float>(pass.value.value()));
  }
  double products = 1;
  for (const AxisTable& t : pass.tables) products *= static_cast<double>(t.pitch);
  // Longer rows are rare, and of antialiased shrinking, whose rows at borders are short.
  constexpr double kUnrolled = 16;
  call.set("unrolled", products <= kUnrolled).set("counts", counts);
  call.cost({.flops = 2 * products * static_cast<double>(pass.y.count())});
  call.dispatch_groups(name, ceil_div(count, threads));
}

// ---- Parts that fit bindings

constexpr int kFits = -1;

// The axis of y along which to halve, or kFits.
int axis_to_halve(const gpu::Capabilities& capabilities, std::string_view name, const ResizePass& pass) {
  const std::uint64_t limit = chunk_limit(capabilities);
  const bool far = span_bytes(pass.x) > limit || span_bytes(pass.y) > limit || intermediate_bytes(pass) > limit;
  // The longest table.
  std::uint64_t words = 0, longest = 0;
  int table_axis = -1;
  for (const AxisTable& t : pass.tables) {
    const std::uint64_t own = words_of_table(pass, t);
    words += own;
    if (own > longest && t.to() > 1) longest = own, table_axis = t.axis;
  }
  if (words * 4 > limit && table_axis >= 0) return table_axis;
  if (!far && pass.y.count() <= kMaxElements && pass.x.count() <= kMaxElements) return kFits;
  // The axis that shortens what is too long; resampled ones last, since their parts overlap.
  int best = -1;
  std::int64_t best_reach = 0;
  for (const bool resampled : {false, true}) {
    for (int d = 0; d < pass.y.rank(); ++d) {
      const bool is = std::ranges::find(pass.tables, d, &AxisTable::axis) != pass.tables.end();
      if (is != resampled || pass.y.shape()[d] < 2) continue;
      const std::int64_t reach = std::max(std::abs(pass.x.strides()[d]) * (pass.x.shape()[d] - 1) * bits(pass.x.dtype),
                                          std::abs(pass.y.strides()[d]) * (pass.y.shape()[d] - 1) * bits(pass.y.dtype));
      if (reach > best_reach) best = d, best_reach = reach;
    }
    // Halving it must be worth it.
    if (best >= 0 && static_cast<std::uint64_t>(best_reach) / 8 * 4 > std::max(span_bytes(pass.x), span_bytes(pass.y)))
      break;
  }
  if (best < 0) {
    throw Unsupported("{}: {} to {} is more than the {} bytes that this device binds, and cannot be cut", name,
                      to_string(pass.x), to_string(pass.y), capabilities.max_binding);
  }
  return best;
}

View slice_of(const View& v, int axis, std::int64_t begin, std::int64_t size) {
  View part = v;
  part.offset =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(v.offset) + begin * v.strides()[axis] * bits(v.dtype) / 8);
  part.layout.shape[axis] = size;
  return part;
}

template <class F>
void in_parts(const gpu::Capabilities& capabilities, std::string_view name, const ResizePass& pass, const F& f) {
  const int axis = axis_to_halve(capabilities, name, pass);
  if (axis == kFits) return f(pass);
  const std::int64_t size = pass.y.shape()[axis], half = first_half(size);
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    ResizePass part = pass;
    part.y = slice_of(pass.y, axis, begin, count);
    std::int64_t x_begin = begin, x_size = count;
    for (AxisTable& t : part.tables) {
      if (t.axis == axis) t = part_of(t, begin, begin + count, x_begin, x_size);
    }
    part.x = slice_of(pass.x, axis, x_begin, x_size);
    in_parts(capabilities, name, part, f);
  }
}

// ---- Checks

void check_ranks(std::string_view name, const View& x, const View& y) {
  if (x.rank() != y.rank()) {
    throw InvalidArgument("{}: x is {} and y {}, expected one rank", name, to_string(x), to_string(y));
  }
}

// The axes along which y is not x.
std::vector<AxisTable> tables_of(const ResizeOptions& o, const View& x, const View& y) {
  std::vector<AxisTable> tables;
  const bool always = o.coordinates == ResizeCoordinates::crop && !(o.starts.empty() && o.ends.empty());
  for (int d = 0; d < y.rank(); ++d) {
    const std::int64_t from = x.shape()[d], to = y.shape()[d];
    // With one size and no scale every mode is the identity.
    if (from == to && !always && (o.scales.empty() || o.scales[static_cast<std::size_t>(d)] == 1)) continue;
    AxisTable t = axis_table(o, d, from, to);
    if (!t.is_identity()) tables.push_back(std::move(t));
  }
  return tables;
}

void run(Stream& stream, std::string_view name, ResizePass pass) {
  if (pass.tables.empty()) return copy(stream, pass.x, pass.y);
  if (pass.moves) {
    pass.value = Number(pass.value.bits(pass.y.dtype));
    pass.x = as_unsigned(pass.x);
    pass.y = as_unsigned(pass.y);
  }
  if (gpu::Commands* commands = stream.gpu()) {
    if (!pass.moves && pass.x.dtype == DType::f64) {
      throw Unsupported("{}: {} on a GPU, which has no f64", name, to_string(pass.x));
    }
    resize_gpu(*commands, name, pass);
  } else {
    resize_cpu(*stream.cpu(), pass);
  }
}

CallKey key(std::string_view name, const ResizeOptions& o) {
  return CallKey(name, o.mode, o.coordinates, o.rounding, o.cubic_a, o.antialias, o.exclude_outside, o.scales, o.starts,
                 o.ends, o.value);
}

}  // namespace

void resize_gpu(gpu::Commands& commands, std::string_view name, const ResizePass& whole) {
  in_parts(commands.device().capabilities(), name, whole, [&](const ResizePass& part) {
    GpuScratch scratch(commands);
    const auto memory = [&](std::uint64_t bytes) { return scratch.take(bytes); };
    for (const ResizePass& pass : passes_of(part, memory)) record(commands, name, pass);
  });
}

void resize(Stream& stream, const View& x, const View& y, const ResizeOptions& o) {
  call(stream, key("resize", o), {x, y}, [&](Stream& s) {
    check_views("resize", {&x}, {&y});
    check_ranks("resize", x, y);
    check_resize("resize", o, x.shape(), y.shape());
    check_memory(s, "resize", {{"x", x}}, {{"y", y}}, Sharing::none);
    const bool integer = !is_floating(x.dtype);
    if (o.mode != ResizeMode::nearest && integer && x.dtype != DType::i8 && x.dtype != DType::u8) {
      throw InvalidArgument("resize: x is {}; expected floats, i8 or u8 for modes other than nearest", to_string(x));
    }
    if (integer && o.mode == ResizeMode::cubic && std::abs(o.cubic_a) > 2) {
      throw InvalidArgument("resize: cubic_a is {}, expected a number within 2 for integers", o.cubic_a);
    }
    if (y.count() == 0) return;
    run(s, "resize",
        {.x = x, .y = y, .tables = tables_of(o, x, y), .moves = o.mode == ResizeMode::nearest, .value = o.value});
  });
}

void resize_gradient(Stream& stream, const View& dy, const View& dx, const ResizeOptions& o) {
  call(stream, key("resize_gradient", o), {dy, dx}, [&](Stream& s) {
    check_views("resize_gradient", {&dy}, {&dx});
    check_ranks("resize_gradient", dx, dy);
    check_resize("resize_gradient", o, dx.shape(), dy.shape());
    check_memory(s, "resize_gradient", {{"dy", dy}}, {{"dx", dx}}, Sharing::none);
    if (dx.count() == 0) return;
    if (dy.count() == 0) return fill(s, 0, dx);
    std::vector<AxisTable> tables;
    for (const AxisTable& t : tables_of(o, dx, dy)) tables.push_back(transposed(t));
    run(s, "resize_gradient", {.x = dy, .y = dx, .tables = std::move(tables)});
  });
}

}  // namespace weft::kernels
