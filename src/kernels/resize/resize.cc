#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/bits.h"
#include "kernels/common/chunks.h"
#include "kernels/common/element_work.h"
#include "kernels/common/memory.h"
#include "kernels/common/prologue.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/plan_cache.h"
#include "kernels/resize/problem.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/schema.h"

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

// The number as an element of `type`: the bits of what it computes with.
std::uint64_t computed_bits(const Number& value, DType type) {
  const bool has_sign = types::signed_integers.contains(type);
  const DType wide = bits(type) == 64 ? type : is_floating(type) ? DType::f32 : has_sign ? DType::i32 : DType::u32;
  Expression e;
  e.output(e.cast(e.constant_bits(value.bits(type), type), wide));
  const CpuExpression expression(e);
  CpuExpression::Registers registers(expression);
  std::uint64_t result = 0;
  const CpuExpression::Row to{reinterpret_cast<std::byte*>(&result), 0, 1};
  expression.evaluate(registers, {}, std::span(&to, 1), 1);
  return result;
}

// True if no element that a thread computes with has 64 bits, of which there are no vectors.
bool has_vectors(const ResizePass& pass) {
  const auto narrow = [](const View& v) { return bits(v.dtype) <= 32; };
  return bits(pass.from_type) <= 32 && bits(pass.to_type) <= 32 && std::ranges::all_of(pass.inputs, narrow) &&
         std::ranges::all_of(pass.operands, narrow);
}

void record(gpu::Commands& commands, std::string_view name, const ResizePass& pass) {
  Call call(commands, pass.moves ? "resize_move" : "resize_sum");
  ResizeOrder o = order_of(pass);
  const int last = o.shape.rank() - 1;
  const bool last_resized = o.table[static_cast<std::size_t>(last)] >= 0;
  const bool fours = o.shape[last] % 4 == 0 && can_vectorise(pass.y.with_layout({o.shape, o.y}));
  const int lanes = fours && has_vectors(pass) ? 4 : 1;
  const int x_lanes = last_resized ? 1 : lanes;  // that read neighbours of x

  // How each operand is read, before the order changes to what a thread computes.
  std::vector<std::string> names, input_modes, operand_modes;
  const auto mode_of = [&](const View& v, int of, const Shape& shape, const Strides& strides) {
    return std::string(lane_mode(v, of, strides[last], can_vectorise(v.with_layout({shape, strides}))));
  };
  for (std::size_t k = 0; k < pass.inputs.size(); ++k) {
    names.push_back(pass.prologue ? str_cat("in", k) : "x");
    input_modes.push_back(mode_of(pass.inputs[k], x_lanes, o.x_shape, o.inputs[k]));
  }
  for (std::size_t k = 0; k < pass.operands.size(); ++k) {
    operand_modes.push_back(mode_of(pass.operands[k], lanes, o.shape, o.operands[k]));
  }

  // The last axis' table comes last.
  std::vector<std::string> place, counts, skips;
  std::vector<std::uint32_t> words;
  bool outside = false;
  int tables = 0;
  for (int d = 0; d <= last; ++d) {
    const int k = o.table[static_cast<std::size_t>(d)];
    if (k < 0) continue;
    const AxisTable& t = pass.tables[static_cast<std::size_t>(k)];
    call.index_param(str_cat("base", tables), static_cast<std::int64_t>(words.size()));
    if (!pass.moves) call.index_param(str_cat("pitch", tables), 2 + t.pitch);
    for (std::size_t i = 0; i < names.size(); ++i) {
      call.index_param(str_cat(names[i], "_step", tables), std::exchange(o.inputs[i][d], 0));
    }
    const std::vector<std::uint32_t> own = words_of(pass, t);
    words.insert(words.end(), own.begin(), own.end());
    outside |= std::ranges::find(t.count, 0) != t.count.end();
    place.push_back(std::to_string(d));
    counts.push_back(std::to_string(t.pitch));
    skips.emplace_back(!sums_integers(pass) && !pass.moves && t.has_zeros() ? "yes" : "");
    ++tables;
  }
  const auto read = [&](const std::string& operand, const View& v, Strides strides, const std::string& mode) {
    if (mode == "each") call.index_param(operand + "_next", strides[last]);
    if (lanes == 4) strides[last] *= 4;
    call.read(operand, v, mode == "four" ? 4 : 1).strides(operand, strides);
  };
  for (std::size_t k = 0; k < names.size(); ++k) read(names[k], pass.inputs[k], o.inputs[k], input_modes[k]);
  for (std::size_t k = 0; k < pass.operands.size(); ++k) {
    read(str_cat("e", k), pass.operands[k], o.operands[k], operand_modes[k]);
  }
  if (lanes == 4) {
    o.shape[last] /= 4;
    o.y[last] *= 4;
  }
  // Elements below each other, which share the last table's rows.
  const int row = last - 1;
  const int rows = !pass.moves && last_resized && lanes == 4 && row >= 0 && o.shape[row] % 4 == 0 ? 4 : 1;
  Shape threads_of = o.shape;
  if (rows > 1) threads_of[row] /= rows;
  call.iterate(threads_of);
  call.raw("table", upload(call.device(), words), "u32", 4, gpu::Access::read);
  call.write("y", pass.y, lanes).strides("y", o.y);
  call.include("prologue").epilogue(pass.epilogue, lanes);
  if (pass.prologue) call.expression(*pass.prologue, ExpressionRole::prologue, x_lanes);
  const std::uint32_t threads = workgroup_size(call.capabilities(), call.capabilities().software ? 8 : 256);
  const std::int64_t count = element_count(threads_of);
  call.index_param("count", count);
  call.set("tables", tables).set("place", place).set("lanes", lanes).set("last_resized", last_resized);
  call.set("outside", outside).set("threads", threads);
  call.set("inputs", names).set("input_modes", input_modes).set("operands", operand_modes);
  call.set("prologue", pass.prologue != nullptr);
  double products = 1;
  for (const AxisTable& t : pass.tables) products *= static_cast<double>(t.pitch);
  const auto results = static_cast<double>(pass.y.count());
  call.cost(work_of({pass.moves ? 0.0 : 2.0, 0}, products * results, pass.prologue, results, pass.epilogue));
  if (pass.moves) {
    const std::uint64_t value = computed_bits(pass.value, pass.from_type);
    call.set("moved", compute_type(pass.from_type)).set("pairs", bits(pass.from_type) == 64);
    call.param("value_low", static_cast<std::uint32_t>(value))
        .param("value_high", static_cast<std::uint32_t>(value >> 32));
    return call.dispatch_groups(name, ceil_div(count, threads));
  }
  const bool integer = sums_integers(pass);
  call.set("integer", integer);
  if (integer) {
    const int shift = result_shift(pass);
    const auto [low, high] = limits_of(pass.to_type);
    call.param("shift", static_cast<std::uint32_t>(shift)).param("half", std::int32_t{1} << (shift - 1));
    call.param("low", low).param("high", high);
    if (outside) call.param("value", fixed_point(pass.value, pass.to_type));
  } else if (outside) {
    call.param("value", static_cast<float>(pass.value.value()));
  }
  // Longer rows are rare, and of antialiased shrinking, whose rows at borders are short.
  constexpr double kUnrolled = 16;
  call.set("unrolled", products <= kUnrolled).set("counts", counts).set("skips", skips);
  call.set("rows", rows).set("row_place", row);
  call.dispatch_groups(name, ceil_div(count, threads));
}

// ---- Parts that fit bindings

constexpr int kFits = -1;

// The axis of y along which to halve, or kFits.
int axis_to_halve(const gpu::Capabilities& capabilities, std::string_view name, const ResizePass& pass) {
  const std::uint64_t limit = chunk_limit(capabilities);
  std::vector<View> views = pass.inputs;
  views.push_back(pass.y);
  views.insert(views.end(), pass.operands.begin(), pass.operands.end());
  std::uint64_t span = 0;
  std::int64_t elements = 0;
  for (const View& v : views) span = std::max(span, span_bytes(v)), elements = std::max(elements, v.count());
  const bool far = span > limit || intermediate_bytes(pass) > limit;
  // The longest table.
  std::uint64_t words = 0, longest = 0;
  int table_axis = -1;
  for (const AxisTable& t : pass.tables) {
    const std::uint64_t own = words_of_table(pass, t);
    words += own;
    if (own > longest && t.to() > 1) longest = own, table_axis = t.axis;
  }
  if (words * 4 > limit && table_axis >= 0) return table_axis;
  if (!far && elements <= kMaxElements) return kFits;
  // The axis that shortens what is too long; resampled ones last, since their parts overlap.
  int best = -1;
  std::int64_t best_reach = 0;
  for (const bool resampled : {false, true}) {
    for (int d = 0; d < pass.y.rank(); ++d) {
      const bool is = std::ranges::find(pass.tables, d, &AxisTable::axis) != pass.tables.end();
      if (is != resampled || pass.y.shape()[d] < 2) continue;
      std::int64_t reach = 0;
      for (const View& v : views) {
        reach = std::max(reach, std::abs(v.strides()[d]) * (v.shape()[d] - 1) * bits(v.dtype));
      }
      if (reach > best_reach) best = d, best_reach = reach;
    }
    // Halving it must be worth it.
    if (best >= 0 && static_cast<std::uint64_t>(best_reach) / 8 * 4 > span) break;
  }
  if (best < 0) {
    throw Unsupported("{}: {} to {} is more than the {} bytes that this device binds, and cannot be cut", name,
                      to_string(pass.inputs[0]), to_string(pass.y), capabilities.max_binding);
  }
  return best;
}

template <class F>
void in_parts(const gpu::Capabilities& capabilities, std::string_view name, const ResizePass& pass, const F& f) {
  const int axis = axis_to_halve(capabilities, name, pass);
  if (axis == kFits) return f(pass);
  const std::int64_t size = pass.y.shape()[axis], half = first_half(size);
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    ResizePass part = pass;
    part.y = sliced(pass.y, axis, begin, count);
    for (View& v : part.operands) v = sliced(v, axis, begin, count);
    std::int64_t x_begin = begin, x_size = count;
    for (AxisTable& t : part.tables) {
      if (t.axis == axis) t = part_of(t, begin, begin + count, x_begin, x_size);
    }
    for (View& v : part.inputs) v = sliced(v, axis, x_begin, x_size);
    in_parts(capabilities, name, part, f);
  }
}

// ---- Checks

void check_ranks(std::string_view name, const char* x_name, const View& x, const char* y_name, const View& y) {
  if (x.rank() != y.rank()) {
    throw InvalidArgument("{}: {} is {} and {} {}, expected one rank", name, x_name, to_string(x), y_name,
                          to_string(y));
  }
}

// Completes a pass of the options, or of their gradient, by the tables of the axes along which y is not x, and calls f
// with it; at least with one table where there is work around the pass. `x` and `y`: the shapes of resize's operands.
// Long axes are cut, and tables made for a part of `elements` at a time, so that they take little memory.
template <class F>
void with_tables(const ResizePass& pass, const ResizeOptions& o, bool gradient, const Shape& x, const Shape& y,
                 int axis, std::int64_t elements, const F& f) {
  if (axis == y.rank()) {
    if (!pass.tables.empty() || !(pass.prologue || pass.epilogue)) return f(pass);
    ResizePass fused = pass;
    const std::int64_t n = pass.y.shape()[0];
    fused.tables.push_back(axis_table({.mode = ResizeMode::nearest}, 0, n, n));
    return f(fused);
  }
  const std::int64_t from = x[axis], to = y[axis];
  const bool crops =
      o.coordinates == ResizeCoordinates::crop && o.mode != ResizeMode::area && !(o.starts.empty() && o.ends.empty());
  // With one size and no other scale every mode is the identity.
  if (from == to && !crops && (o.scales.empty() || sizes_say(o.scales[static_cast<std::size_t>(axis)], from, to))) {
    return with_tables(pass, o, gradient, x, y, axis + 1, elements, f);
  }
  const std::int64_t size = gradient ? from : to;
  const std::int64_t rows = std::max<std::int64_t>(elements / row_length(o, axis, from, to, gradient), 1);
  for (std::int64_t begin = 0; begin < size; begin += rows) {
    const std::int64_t end = std::min(begin + rows, size);
    AxisTable t = gradient ? gradient_table(o, axis, from, to, begin, end) : axis_table(o, axis, from, to, begin, end);
    ResizePass part = pass;
    if (end - begin < size) {
      std::int64_t x_begin = 0, x_size = 0;
      t = part_of(std::move(t), x_begin, x_size);
      part.y = sliced(pass.y, axis, begin, end - begin);
      for (View& v : part.operands) v = sliced(v, axis, begin, end - begin);
      for (View& v : part.inputs) v = sliced(v, axis, x_begin, x_size);
    }
    if (!t.is_identity()) part.tables.push_back(std::move(t));
    with_tables(part, o, gradient, x, y, axis + 1, elements, f);
  }
}

// Elements of a table that serves a part of an axis: on the CPU few enough to stay in a core's cache.
std::int64_t table_elements(Stream& stream) { return std::int64_t{1} << (stream.cpu() ? 13 : 22); }

void run(Stream& stream, std::string_view name, ResizePass pass) {
  const bool fused = pass.prologue || pass.epilogue;
  if (pass.tables.empty() && !fused) return copy(stream, pass.inputs[0], pass.y);
  if (pass.moves && !fused) {
    pass.value = Number(pass.value.bits(pass.y.dtype));
    pass.inputs[0] = as_unsigned(pass.inputs[0]);
    pass.y = as_unsigned(pass.y);
    pass.from_type = pass.to_type = pass.y.dtype;
  }
  if (gpu::Commands* commands = stream.gpu()) {
    for (const View& v : pass.inputs) {
      if ((!pass.moves || fused) && v.dtype == DType::f64) {
        throw Unsupported("{}: {} on a GPU, which has no f64", name, to_string(v));
      }
    }
    resize_gpu(*commands, name, pass);
  } else {
    resize_cpu(*stream.cpu(), pass);
  }
}

CallKey key(std::string_view name, const ResizeOptions& o, const Fusion& fusion) {
  return CallKey(name, o.mode, o.coordinates, o.rounding, o.cubic_a, o.antialias, o.exclude_outside, o.scales, o.starts,
                 o.ends, o.value, fusion.epilogue.expression, fusion.prologue.expression);
}

// What both functions check, and the pass without its tables: from x to y, of a gradient from dy to dx.
ResizePass checked(Stream& stream, std::string_view name, bool gradient, const View& x, const View& y,
                   const ResizeOptions& o, const Fusion& fusion) {
  const auto& [prologue, epilogue] = fusion;
  const DType type = prologue_type(x, prologue);
  const View from = with_type(x, type), to = epilogue.expression ? with_type(y, type) : y;
  check_views(name, {&from}, {&to});
  const char *from_name = gradient ? "dy" : "x", *to_name = gradient ? "dx" : "y";
  check_ranks(name, from_name, x, to_name, y);
  check_resize(name, o, (gradient ? y : x).shape(), (gradient ? x : y).shape());
  check_memory(stream, name, {{from_name, x}, {"prologue operand", prologue.operands}}, {{to_name, y}}, Sharing::none);
  check_memory(stream, name, {{"epilogue operand", epilogue.operands}}, {{to_name, y}}, Sharing::same_view);
  const bool moves = !gradient && o.mode == ResizeMode::nearest;
  const DType result = moves ? type : !is_floating(type) ? DType::i32 : type == DType::f64 ? DType::f64 : DType::f32;
  check_epilogue(name, epilogue, result, y);
  ResizePass pass{.inputs = prologue_inputs(name, x, prologue),
                  .y = y,
                  .tables = {},
                  .moves = moves,
                  .from_type = type,
                  .to_type = type,
                  .prologue = prologue.expression,
                  .epilogue = epilogue.expression,
                  .operands = epilogue_operands(name, epilogue, y)};
  if (y.rank() == 0 && (pass.prologue || pass.epilogue)) {
    // An axis for the table that work around a resampling needs.
    const Layout one = Layout::dense({1});
    pass.y = y.with_layout(one);
    for (auto* views : {&pass.inputs, &pass.operands}) {
      for (View& v : *views) v = v.with_layout(one);
    }
  }
  return pass;
}

}  // namespace

void resize_gpu(gpu::Commands& commands, std::string_view name, const ResizePass& whole) {
  in_parts(commands.device().capabilities(), name, whole, [&](const ResizePass& part) {
    GpuScratch scratch(commands);
    const auto memory = [&](std::uint64_t bytes) { return scratch.take(bytes); };
    for (const ResizePass& pass : passes_of(part, false, memory)) record(commands, name, pass);
  });
}

void resize(Stream& stream, const View& x, const View& y, const ResizeOptions& o, const Fusion& fusion) {
  CallKey k = key("resize", o, fusion);
  call(stream, std::move(k), {x, fusion.prologue.operands, fusion.epilogue.operands, y}, [&](Stream& s) {
    ResizePass pass = checked(s, "resize", false, x, y, o, fusion);
    const DType type = pass.from_type;
    const bool integer = !is_floating(type);
    if (o.mode != ResizeMode::nearest && integer && type != DType::i8 && type != DType::u8) {
      throw InvalidArgument("resize: x is {}; expected floats, i8 or u8 for modes other than nearest",
                            to_string(with_type(x, type)));
    }
    if (integer && o.mode == ResizeMode::cubic && std::abs(o.cubic_a) > 2) {
      throw InvalidArgument("resize: cubic_a is {}, expected a number within 2 for integers", o.cubic_a);
    }
    if (y.count() == 0) return;
    pass.value = o.value;
    with_tables(pass, o, false, pass.x_shape(), pass.y.shape(), 0, table_elements(s),
                [&](const ResizePass& p) { run(s, "resize", p); });
  });
}

void resize_gradient(Stream& stream, const View& dy, const View& dx, const ResizeOptions& o, const Fusion& fusion) {
  CallKey k = key("resize_gradient", o, fusion);
  call(stream, std::move(k), {dy, fusion.prologue.operands, fusion.epilogue.operands, dx}, [&](Stream& s) {
    ResizePass pass = checked(s, "resize_gradient", true, dy, dx, o, fusion);
    if (dx.count() == 0) return;
    if (dy.count() == 0 && fusion.epilogue.expression) {
      throw InvalidArgument("resize_gradient: dy is {}, an epilogue takes one that has elements", to_string(dy));
    }
    if (dy.count() == 0) return fill(s, 0, dx);
    with_tables(pass, o, true, pass.y.shape(), pass.x_shape(), 0, table_elements(s),
                [&](const ResizePass& p) { run(s, "resize_gradient", p); });
  });
}

}  // namespace weft::kernels
