#include "kernels/sort/sort.h"

#include <functional>

#include "kernels/common/memory.h"
#include "kernels/common/windows.h"
#include "weft/error.h"
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
  if (!has_order(r.x.dtype)) {
    throw InvalidArgument("{}: x is {}; expected a type with an order", r.name, to_string(r.x));
  }
  r.axis = normalize_axis(r.axis, r.x.rank(), r.name);
  if (!r.values && !r.indices) throw InvalidArgument("{}: neither values nor indices are wanted", r.name);
  const View& y = r.values ? *r.values : *r.indices;
  Shape expected = r.x.shape();
  if (!r.all && y.rank() == r.x.rank() && y.shape()[r.axis] <= r.x.shape()[r.axis]) {
    expected[r.axis] = y.shape()[r.axis];
  }
  for (const auto* v : {&r.values, &r.indices}) {
    if (*v && (*v)->shape() != expected) {
      throw InvalidArgument("{}: {} is {}; expected shape {} for x {}, axis {}", r.name,
                            v == &r.values ? "values" : "indices", to_string(**v), to_string(expected), to_string(r.x),
                            r.axis);
    }
  }
  if (r.values && r.values->dtype != r.x.dtype) {
    throw InvalidArgument("{}: values is {}; expected x's type, {}", r.name, to_string(*r.values),
                          weft::name(r.x.dtype));
  }
  if (r.indices && (!is_integer(r.indices->dtype) || bits(r.indices->dtype) < 32)) {
    throw InvalidArgument("{}: indices is {}; expected an integer of 32 or 64 bits", r.name, to_string(*r.indices));
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

std::uint64_t scratch_bytes(const gpu::Capabilities& can, const SortProblem& p) {
  if (p.rows == 0 || p.keep == 0 || p.length <= kShortRow) return 0;
  return p.keep <= kFewest ? select_workspace(can, p) : radix_workspace(can, p);
}

// Calls `run` with parts of fewer rows, until all operands and the scratch fit a binding each. Throws Unsupported where
// a row does not.
void in_parts(const gpu::Capabilities& can, const Request& r, const std::function<void(const SortProblem&)>& run) {
  const SortProblem p = problem_of(r);
  const std::uint64_t limit = window_limit(can), scratch = scratch_bytes(can, p);
  AxisMask others = every_axis();
  others[r.axis] = false;
  const auto refuse = [&](const View& v, std::uint64_t bytes) {
    throw Unsupported(
        "{}: a row of {} takes {} bytes at once and this device binds {}; sort shorter rows, or on the cpu", r.name,
        to_string(v), bytes, can.max_binding);
  };
  int axis = -1;
  for (const auto& v : {std::optional(r.x), r.values, r.indices}) {
    if (!v || axis >= 0) continue;
    View row = *v;
    for (int d = 0; d < row.rank(); ++d) {
      if (others[d]) row.layout.shape[d] = std::min<std::int64_t>(row.shape()[d], 1);
    }
    if (span_bytes(row) > limit) refuse(*v, span_bytes(row));
    axis = axis_to_cut(can, r.name, *v, others);
  }
  if (axis < 0 && scratch > limit) {
    for (int d = 0; d < r.x.rank(); ++d) {
      if (others[d] && r.x.shape()[d] > (axis < 0 ? 1 : r.x.shape()[axis])) axis = d;
    }
    if (axis < 0) refuse(r.x, scratch);
  }
  if (axis < 0) return run(p);
  const std::int64_t size = r.x.shape()[axis], half = first_half(size);
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    Request part = r;
    part.x = part_along(r.x, axis, begin, count);
    if (r.values) part.values = part_along(*r.values, axis, begin, count);
    if (r.indices) part.indices = part_along(*r.indices, axis, begin, count);
    in_parts(can, part, run);
  }
}

std::uint64_t needed(Stream& stream, const Request& r) {
  if (stream.cpu()) return 0;
  const gpu::Capabilities& can = stream.gpu()->device().capabilities();
  std::uint64_t bytes = 0;
  in_parts(can, r, [&](const SortProblem& p) { bytes = std::max(bytes, scratch_bytes(can, p)); });
  return bytes;
}

void run(Stream& stream, const Request& r, const std::optional<View>& workspace) {
  check_memory(stream, r.name, {r.x}, {r.values, r.indices}, Sharing::none, workspace);
  const SortProblem whole = problem_of(r);
  if (whole.rows == 0 || whole.keep == 0) return;
  if (stream.cpu()) return sort_cpu(*stream.cpu(), whole);
  const std::uint64_t bytes = needed(stream, r);
  const std::uint64_t given = workspace && workspace->is_dense()
                                  ? byte_size(workspace->dtype, static_cast<std::uint64_t>(workspace->count()))
                                  : 0;
  if (given < bytes) {
    throw InvalidArgument("{}: the workspace has {} dense bytes; expected {}, as {}_workspace() says", r.name, given,
                          bytes, r.name);
  }
  gpu::Commands& commands = *stream.gpu();
  in_parts(commands.device().capabilities(), r, [&](const SortProblem& p) {
    if (p.length <= kShortRow) return sort_short(commands, p);
    if (p.keep <= kFewest) return select_top(commands, p, workspace);
    radix_sort(commands, p, *workspace);
  });
}

}  // namespace

void add_input(Call& call, const SortProblem& p) {
  call.read("x", p.x).strides("x", p.outer.strides[0]).index_param("x_step", p.steps[0]);
}

void add_outputs(Call& call, const SortProblem& p, bool wanted) {
  call.set("has_values", wanted && p.values).set("has_indices", wanted && p.indices);
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
  // Threads side by side take what is side by side in memory.
  const bool across = !p.outer.shape.empty() && std::abs(p.outer.strides[0].back()) < std::abs(p.steps[0]);
  call.iterate(p.outer.shape);
  add_input(call, p);
  add_outputs(call, p);
  p.rule.add_to(call);
  call.include("sort_tile").include("sort_store").set("workgroup", workgroup).set("tile", tile).set("across", across);
  call.index_param("rows", p.rows)
      .index_param("length", p.length)
      .index_param("keep", p.keep)
      .index_param("padded", padded);
  call.dispatch_groups("sort_short", ceil_div(p.rows, together));
}

void sort(Stream& stream, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
          const SortOptions& options, const std::optional<View>& workspace) {
  run(stream, checked({"sort", x, values, indices, options.axis, options.descending, true}), workspace);
}

std::uint64_t sort_workspace(Stream& stream, const View& x, const std::optional<View>& values,
                             const std::optional<View>& indices, const SortOptions& options) {
  return needed(stream, checked({"sort", x, values, indices, options.axis, options.descending, true}));
}

void top_k(Stream& stream, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
           const TopKOptions& options, const std::optional<View>& workspace) {
  run(stream, checked({"top_k", x, values, indices, options.axis, options.largest, false}), workspace);
}

std::uint64_t top_k_workspace(Stream& stream, const View& x, const std::optional<View>& values,
                              const std::optional<View>& indices, const TopKOptions& options) {
  return needed(stream, checked({"top_k", x, values, indices, options.axis, options.largest, false}));
}

}  // namespace weft::kernels
