#include "kernels/sort/sort.h"

#include <functional>

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/common/positions.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/sort.h"

namespace weft::kernels {
namespace {

// A call's arguments, or those of a part of its rows.
struct Request {
  std::string_view name;
  View x;
  std::optional<View> values, indices;
  int axis;
  bool descending, all;  // all: not only the top
};

Request checked(Request r) {
  const auto given = [](const std::optional<View>& v) { return v ? &*v : nullptr; };
  check_views(r.name, {&r.x}, {given(r.values), given(r.indices)});
  r.axis = normalize_axis(r.axis, r.x.rank(), r.name);
  if (!r.values && !r.indices) throw InvalidArgument("{}: neither values nor indices are wanted", r.name);
  if (r.indices) check_positions(r.name, "indices", *r.indices, r.x.shape()[r.axis]);
  const View& y = r.values ? *r.values : *r.indices;
  Shape expected = r.x.shape();
  if (!r.all && y.rank() == r.x.rank() && y.shape()[r.axis] <= r.x.shape()[r.axis]) {
    expected[r.axis] = y.shape()[r.axis];
  }
  for (const auto* v : {&r.values, &r.indices}) {
    if (*v && (*v)->shape() != expected) {
      throw InvalidArgument("{}: {} are {}; expected shape {} for x {}, axis {}", r.name,
                            v == &r.values ? "values" : "indices", to_string(**v), to_string(expected), to_string(r.x),
                            r.axis);
    }
  }
  return r;
}

SortProblem problem_of(const Request& r) {
  SortProblem p{.x = as_raw(r.x), .rule = KeyRule(r.x.dtype, r.descending)};
  if (r.values) p.values = as_raw(*r.values);
  p.indices = r.indices;
  const std::optional<View> operands[] = {r.x, r.values, r.indices};
  Shape outer = r.x.shape();
  outer.erase(r.axis);
  std::vector<Strides> strides;
  for (int k = 0; k < 3; ++k) {
    Strides s = operands[k] ? operands[k]->strides() : Strides::filled(r.x.rank(), 0);
    p.steps[k] = s[r.axis];
    s.erase(r.axis);
    strides.push_back(s);
  }
  p.outer = collapse(outer, strides);
  p.rows = element_count(outer);
  p.length = r.x.shape()[r.axis];
  p.keep = (r.values ? *r.values : *r.indices).shape()[r.axis];
  return p;
}

enum class Way : std::uint8_t { in_tiles, select, radix };

Way way_of(const SortProblem& p) {
  if (p.in_place || p.given_places) return Way::radix;  // only radix can do these
  return p.length <= kShortRow ? Way::in_tiles : p.keep <= kFewest ? Way::select : Way::radix;
}

std::uint64_t scratch_bytes(const gpu::Capabilities& can, const SortProblem& p) {
  const Way way = way_of(p);
  if (p.rows == 0 || p.keep == 0 || way == Way::in_tiles) return 0;
  return way == Way::select ? select_scratch(can, p) : radix_scratch(can, p);
}

Request part_of(const Request& r, int axis, std::int64_t begin, std::int64_t count) {
  Request part = r;
  part.x = chunk_along(r.x, axis, begin, count, r.name);
  if (r.values) part.values = chunk_along(*r.values, axis, begin, count, r.name);
  if (r.indices) part.indices = chunk_along(*r.indices, axis, begin, count, r.name);
  return part;
}

// True if the operands, all of one row, and the scratch that they need fit a binding each.
bool fits(const gpu::Capabilities& can, const Request& row, std::uint64_t scratch) {
  for (const auto& v : {std::optional(row.x), row.values, row.indices}) {
    if (v && span_bytes(*v) > chunk_limit(can)) return false;
  }
  return scratch <= chunk_limit(can);
}

// The steps of a call.
struct Steps {
  // Sorts a part; its scratch may begin at `scratch_at`.
  std::function<void(const SortProblem&, std::uint64_t scratch_at)> sort;
  std::function<void(const View& from, const View& to)> copy;
};

// Sorts a row that exceeds a binding, in chunks of which two fit: adjacent chunks are sorted together, each alternately
// with the one before and the one after it, for as many rounds as there are chunks (Baudet and Stevenson, "Optimal
// sorting algorithms for parallel computers", 1978). Equal elements never change their order. Later rounds work on the
// result of the first one: the output, or, if there is none or it is not complete, a list in scratch.
void sort_in_chunks(const gpu::Capabilities& can, const Request& r, const View& scratch, const Steps& steps) {
  const std::int64_t length = r.x.shape()[r.axis];
  Request sorted = r;
  // Lists begin at the alignment of bindings, so that each can have its own.
  constexpr std::uint64_t kAligned = list_size(1);
  const bool lists = !r.values || !r.all;
  std::uint64_t scratch_at = lists ? kAligned - scratch.offset % kAligned : 0;
  const auto list = [&](DType type) {
    const View view(scratch.buffer, scratch.offset + scratch_at, type, r.x.shape());
    scratch_at += list_size(byte_size(type, static_cast<std::uint64_t>(length)));
    return view;
  };
  if (lists) sorted.values = list(r.x.dtype);
  if (r.indices && !r.all) sorted.indices = list(r.indices->dtype);
  std::int64_t chunk = length;
  const auto pair_at = [&](std::int64_t begin, bool first_round) {
    Request part = part_of(sorted, r.axis, begin, std::min(2 * chunk, length - begin));
    if (!first_round) part.x = *part.values;
    SortProblem p = problem_of(part);
    p.first_place = begin;
    p.in_place = !first_round;
    if (!first_round && p.indices) {
      p.given_places = View(p.indices->buffer, p.indices->offset, p.indices->dtype, {p.length}, Strides{p.steps[2]});
    }
    return std::pair(part, p);
  };
  const auto pair_fits = [&] {
    const auto& [part, p] = pair_at(0, false);
    return fits(can, pair_at(0, true).first, scratch_bytes(can, p));
  };
  do {
    if (chunk == 1) {
      throw Unsupported(
          "{}: elements of {} that are neighbours along axis {} lie more than the {} bytes apart that "
          "this device binds",
          r.name, to_string(r.x), r.axis, can.max_binding);
    }
    chunk = first_half(chunk);
  } while (!pair_fits());
  const std::int64_t chunks = ceil_div(length, chunk);
  for (std::int64_t round = 0; round < chunks; ++round) {
    for (std::int64_t k = round % 2; k < chunks; k += 2) {
      if (round == 0 || k + 1 < chunks) steps.sort(pair_at(k * chunk, round == 0).second, scratch_at);
    }
  }
  if (r.all) return;
  for (const auto& [from, to] : {std::pair(sorted.values, r.values), {sorted.indices, r.indices}}) {
    if (to) steps.copy(chunk_along(*from, r.axis, 0, to->shape()[r.axis]), *to);
  }
}

// Scratch whose size is not known yet.
View unknown_memory() {
  constexpr std::int64_t kMax = std::int64_t{1} << 50;
  return {Buffer::placeholder(kMax), 0, DType::u8, {kMax}};
}

// The top of a row that exceeds a binding: the top of the list, in scratch, of the tops of all chunks; or, if these are
// too many, the first elements of the sorted row.
void top_in_chunks(const gpu::Capabilities& can, const Request& r, const View& scratch, const Steps& steps) {
  const SortProblem whole = problem_of(r);
  const View unknown = unknown_memory();
  std::int64_t chunk = whole.length, chunks = 0, listed = 0;
  std::uint64_t places_at = 0, scratch_at = 0;
  const auto of_window = [&](const View& scratch, std::int64_t k) {
    SortProblem p = whole;
    p.first_place = k * chunk;
    p.length = std::min(chunk, whole.length - p.first_place);
    p.keep = std::min(whole.keep, p.length);
    p.x = as_raw(chunk_along(r.x, r.axis, p.first_place, p.length));
    const auto from = static_cast<std::uint64_t>(k * whole.keep);
    p.values = View(scratch.buffer, scratch.offset + byte_size(p.x.dtype, from), p.x.dtype, {p.keep});
    p.indices = View(scratch.buffer, scratch.offset + places_at + from * 4, DType::u32, {p.keep});
    p.steps = {whole.steps[0], 1, 1};
    return p;
  };
  const auto of_list = [&](const View& scratch) {
    SortProblem p = whole;
    p.length = listed;
    p.x = View(scratch.buffer, scratch.offset, whole.x.dtype, {listed});
    p.given_places = View(scratch.buffer, scratch.offset + places_at, DType::u32, {listed});
    p.steps[0] = 1;
    return p;
  };
  do {
    if (chunk <= whole.keep || bits(whole.x.dtype) < 8) return sort_in_chunks(can, r, scratch, steps);
    chunk = first_half(chunk);
    chunks = ceil_div(whole.length, chunk);
    listed = (chunks - 1) * whole.keep + std::min(whole.keep, whole.length - (chunks - 1) * chunk);
    places_at = list_size(byte_size(whole.x.dtype, static_cast<std::uint64_t>(listed)));
    scratch_at = places_at + list_size(static_cast<std::uint64_t>(listed) * 4);
  } while (
      !fits(can, {.x = of_window(unknown, 0).x, .values = r.values, .indices = r.indices},
            scratch_at + std::max(scratch_bytes(can, of_window(unknown, 0)), scratch_bytes(can, of_list(unknown)))));
  for (std::int64_t k = 0; k < chunks; ++k) steps.sort(of_window(scratch, k), scratch_at);
  steps.sort(of_list(scratch), scratch_at);
}

// Executes the steps with parts of fewer rows, so that all operands and the scratch fit a binding each, or with chunks
// of a single row. Throws Unsupported if that is impossible.
void in_parts(const gpu::Capabilities& can, const Request& r, const View& scratch, const Steps& steps) {
  const SortProblem p = problem_of(r);
  AxisMask others = every_axis();
  others[r.axis] = false;
  Request row = r;
  for (auto* v : {&row.x, row.values ? &*row.values : nullptr, row.indices ? &*row.indices : nullptr}) {
    for (int d = 0; v && d < v->rank(); ++d) {
      if (others[d]) v->layout.shape[d] = std::min<std::int64_t>(v->shape()[d], 1);
    }
  }
  const bool long_row = !fits(can, row, scratch_bytes(can, problem_of(row)));
  if (long_row && p.rows == 1) return (r.all ? sort_in_chunks : top_in_chunks)(can, r, scratch, steps);
  int axis = -1;
  for (const auto& v : {std::optional(r.x), r.values, r.indices}) {
    if (v && axis < 0 && !long_row) axis = axis_to_cut(can, r.name, *v, others);
  }
  if (axis < 0 && (long_row || scratch_bytes(can, p) > chunk_limit(can))) {
    for (int d = 0; d < r.x.rank(); ++d) {
      if (others[d] && r.x.shape()[d] > (axis < 0 ? 1 : r.x.shape()[axis])) axis = d;
    }
  }
  if (axis < 0) return steps.sort(p, 0);
  const std::int64_t size = r.x.shape()[axis], half = first_half(size);
  in_parts(can, part_of(r, axis, 0, half), scratch, steps);
  in_parts(can, part_of(r, axis, half, size - half), scratch, steps);
}

std::uint64_t needed(const gpu::Capabilities& can, const Request& r) {
  std::uint64_t bytes = 0;
  in_parts(can, r, unknown_memory(),
           {.sort = [&](const SortProblem& p,
                        std::uint64_t scratch_at) { bytes = std::max(bytes, scratch_at + scratch_bytes(can, p)); },
            .copy = [](const View&, const View&) {}});
  return bytes;
}

void run(Stream& stream, const Request& r) {
  check_memory(stream, r.name, {{"x", r.x}}, {{"values", r.values}, {"indices", r.indices}}, Sharing::none);
  const SortProblem whole = problem_of(r);
  if (whole.rows == 0 || whole.keep == 0) return;
  if (stream.cpu()) return sort_cpu(*stream.cpu(), whole);
  gpu::Commands& commands = *stream.gpu();
  GpuScratch scratch(commands);
  const View memory = scratch.take(needed(commands.device().capabilities(), r));
  const auto sort_part = [&](const SortProblem& p, std::uint64_t scratch_at) {
    View rest = memory;
    rest.offset += scratch_at;
    switch (way_of(p)) {
      case Way::in_tiles:
        return sort_short(commands, p);
      case Way::select:
        return select_top(commands, p, rest);
      case Way::radix:
        return radix_sort(commands, p, rest);
    }
  };
  in_parts(commands.device().capabilities(), r, memory,
           {.sort = sort_part, .copy = [&](const View& from, const View& to) { copy(stream, from, to); }});
}

}  // namespace

void add_input(Call& call, const SortProblem& p) {
  call.read("x", p.x).strides("x", p.outer.strides[0]).index_param("x_step", p.steps[0]);
}

void add_outputs(Call& call, const SortProblem& p, bool wanted) {
  call.index_param("first_place", p.first_place);
  call.set("has_values", wanted && p.values);
  call.set("long_indices", p.indices && bits(p.indices->dtype) == 64);
  if (wanted && p.values) {
    call.write("values", *p.values).strides("values", p.outer.strides[1]).index_param("values_step", p.steps[1]);
  }
  if (wanted && p.indices) {
    call.write("indices", *p.indices).strides("indices", p.outer.strides[2]).index_param("indices_step", p.steps[2]);
  }
}

void sort_short(gpu::Commands& commands, const SortProblem& p) {
  Call call(commands, "sort_short");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  const std::int64_t padded =
      std::max<std::int64_t>(2, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.length))));
  const std::int64_t tile = std::max<std::int64_t>(padded, 2 * workgroup);
  const std::int64_t together = tile / padded;
  // Adjacent threads take elements that are adjacent in memory.
  const bool across = !p.outer.shape.empty() && std::abs(p.outer.strides[0].back()) < std::abs(p.steps[0]);
  call.iterate(p.outer.shape);
  add_input(call, p);
  add_outputs(call, p);
  p.rule.add_to(call);
  call.include("sort_tile").include("sort_store").set("workgroup", workgroup).set("tile", tile).set("across", across);
  call.set("has_indices", p.indices.has_value());
  call.index_param("rows", p.rows)
      .index_param("length", p.length)
      .index_param("keep", p.keep)
      .index_param("padded", padded);
  call.dispatch_groups("sort_short", ceil_div(p.rows, together));
}

void sort(Stream& stream, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
          const SortOptions& options) {
  call(stream, CallKey("sort", options.axis, options.descending), {x, values, indices},
       [&](Stream& s) { run(s, checked({"sort", x, values, indices, options.axis, options.descending, true})); });
}

void top_k(Stream& stream, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
           const TopKOptions& options) {
  call(stream, CallKey("top_k", options.axis, options.largest), {x, values, indices},
       [&](Stream& s) { run(s, checked({"top_k", x, values, indices, options.axis, options.largest, false})); });
}

}  // namespace weft::kernels
