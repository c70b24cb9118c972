#include "kernels/sort/sort.h"

#include "kernels/common/memory.h"
#include "weft/error.h"
#include "weft/kernels/sort.h"

namespace weft::kernels {
namespace {

SortProblem check(std::string_view name, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
                  int axis, bool descending, bool all) {
  if (!has_order(x.dtype)) throw InvalidArgument("{}: x is {}; expected a type with an order", name, to_string(x));
  axis = normalize_axis(axis, x.rank(), name);
  if (!values && !indices) throw InvalidArgument("{}: neither values nor indices are wanted", name);
  const View& y = values ? *values : *indices;
  Shape expected = x.shape();
  if (!all && y.rank() == x.rank() && y.shape()[axis] <= x.shape()[axis]) expected[axis] = y.shape()[axis];
  for (const auto* v : {&values, &indices}) {
    if (*v && (*v)->shape() != expected) {
      throw InvalidArgument("{}: {} is {}; expected shape {} for x {}, axis {}", name, v == &values ? "values" : "indices",
                            to_string(**v), to_string(expected), to_string(x), axis);
    }
  }
  if (values && values->dtype != x.dtype) {
    throw InvalidArgument("{}: values is {}; expected x's type, {}", name, to_string(*values), weft::name(x.dtype));
  }
  if (indices && (!is_integer(indices->dtype) || bits(indices->dtype) < 32)) {
    throw InvalidArgument("{}: indices is {}; expected an integer of 32 or 64 bits", name, to_string(*indices));
  }
  SortProblem p{.x = as_raw(x), .rule = KeyRule(x.dtype, descending)};
  if (values) p.values = as_raw(*values);
  p.indices = indices;
  const std::optional<View> operands[] = {x, values, indices};
  Shape outer = x.shape();
  outer.erase(axis);
  std::vector<Strides> strides;
  for (int k = 0; k < 3; ++k) {
    Strides s = operands[k] ? operands[k]->strides() : Strides::filled(x.rank(), 0);
    p.steps[k] = s[axis];
    s.erase(axis);
    strides.push_back(s);
  }
  p.outer = collapse(outer, strides);
  p.rows = element_count(outer);
  p.length = x.shape()[axis];
  p.keep = y.shape()[axis];
  return p;
}

SortProblem sort_problem(const View& x, const std::optional<View>& values, const std::optional<View>& indices,
                         const SortOptions& o) {
  return check("sort", x, values, indices, o.axis, o.descending, true);
}
SortProblem top_k_problem(const View& x, const std::optional<View>& values, const std::optional<View>& indices,
                          const TopKOptions& o) {
  return check("top_k", x, values, indices, o.axis, o.largest, false);
}

std::uint64_t needed(Stream& stream, const SortProblem& p) {
  if (stream.cpu() || p.rows == 0 || p.keep == 0 || p.length <= kShortRow) return 0;
  const gpu::Capabilities& can = stream.gpu()->device().capabilities();
  return p.keep <= kFewest ? select_workspace(can, p) : radix_workspace(can, p);
}

void run(std::string_view name, Stream& stream, const SortProblem& p, const std::optional<View>& workspace) {
  check_memory(stream, name, {p.x}, {p.values, p.indices}, Sharing::none, workspace);
  if (p.rows == 0 || p.keep == 0) return;
  if (stream.cpu()) return sort_cpu(*stream.cpu(), p);
  if (p.length <= kShortRow) return sort_short(*stream.gpu(), p);
  const std::uint64_t bytes = needed(stream, p);
  const std::uint64_t given = workspace && workspace->is_dense() ? byte_size(workspace->dtype, static_cast<std::uint64_t>(workspace->count())) : 0;
  if (given < bytes) {
    throw InvalidArgument("{}: the workspace has {} dense bytes; expected {}, as {}_workspace() says", name, given, bytes, name);
  }
  if (p.keep <= kFewest) return select_top(*stream.gpu(), p, workspace);
  radix_sort(*stream.gpu(), p, *workspace);
}

}  // namespace

void add_input(Call& call, const SortProblem& p) {
  call.read("x", p.x).strides("x", p.outer.strides[0]).index_param("x_step", p.steps[0]);
}

void add_outputs(Call& call, const SortProblem& p, bool wanted) {
  call.set("has_values", wanted && p.values).set("has_indices", wanted && p.indices);
  call.set("long_indices", p.indices && bits(p.indices->dtype) == 64);
  if (wanted && p.values) call.write("values", *p.values).strides("values", p.outer.strides[1]).index_param("values_step", p.steps[1]);
  if (wanted && p.indices) call.write("indices", *p.indices).strides("indices", p.outer.strides[2]).index_param("indices_step", p.steps[2]);
}

void sort_short(gpu::Commands& commands, const SortProblem& p) {
  Call call(commands, "sort_short");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  const std::int64_t padded = std::max<std::int64_t>(2, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.length))));
  const std::int64_t tile = std::max<std::int64_t>(padded, 2 * workgroup);
  const std::int64_t together = tile / padded;
  // Threads side by side take what is side by side in memory.
  const bool across = !p.outer.shape.empty() && std::abs(p.outer.strides[0].back()) < std::abs(p.steps[0]);
  call.iterate(p.outer.shape);
  add_input(call, p);
  add_outputs(call, p);
  p.rule.add_to(call);
  call.include("sort_tile").include("sort_store").set("workgroup", workgroup).set("tile", tile).set("across", across);
  call.index_param("rows", p.rows).index_param("length", p.length).index_param("keep", p.keep).index_param("padded", padded);
  call.dispatch_groups("sort_short", ceil_div(p.rows, together));
}

void sort(Stream& stream, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
          const SortOptions& options, const std::optional<View>& workspace) {
  run("sort", stream, sort_problem(x, values, indices, options), workspace);
}

std::uint64_t sort_workspace(Stream& stream, const View& x, const std::optional<View>& values,
                             const std::optional<View>& indices, const SortOptions& options) {
  return needed(stream, sort_problem(x, values, indices, options));
}

void top_k(Stream& stream, const View& x, const std::optional<View>& values, const std::optional<View>& indices,
           const TopKOptions& options, const std::optional<View>& workspace) {
  run("top_k", stream, top_k_problem(x, values, indices, options), workspace);
}

std::uint64_t top_k_workspace(Stream& stream, const View& x, const std::optional<View>& values,
                              const std::optional<View>& indices, const TopKOptions& options) {
  return needed(stream, top_k_problem(x, values, indices, options));
}

}  // namespace weft::kernels
