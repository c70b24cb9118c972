#include "graph/ops/index.h"

#include <algorithm>

#include "core/checked.h"
#include "core/format.h"
#include "core/is_or_are.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "graph/op_schemas.h"
#include "graph/ops/view.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/index.h"

namespace weft {

namespace {

// What the indices choose of x, named `op` in messages.
Shape rows_of(std::string_view op, const TensorType& x, const TensorType& indices, int axis) {
  if (x.shape.rank() + indices.shape.rank() - 1 > kMaxRank) {
    throw ShapeError("{}: {} picked by {} has more than {} dimensions", op, to_string(x.shape),
                     to_string(indices.shape), kMaxRank);
  }
  if (x.shape[axis] == 0 && element_count(indices.shape) > 0) {
    throw ShapeError("{}: axis {} of {} has nothing to pick from", op, axis, to_string(x.shape));
  }
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x.shape[i]);
  for (const std::int64_t n : indices.shape) shape.push_back(n);
  for (int i = axis + 1; i < x.shape.rank(); ++i) shape.push_back(x.shape[i]);
  return shape;
}

Shape elements_of(std::string_view op, const TensorType& x, const TensorType& indices, int axis) {
  bool fits = indices.shape.rank() == x.shape.rank();
  for (int i = 0; fits && i < x.shape.rank(); ++i) fits = i == axis || indices.shape[i] <= x.shape[i];
  if (!fits) {
    throw ShapeError("{}: indices are {}; expected the rank of {}, and no larger sizes but along axis {}", op,
                     to_string(indices), to_string(x), axis);
  }
  if (x.shape[axis] == 0 && element_count(indices.shape) > 0) {
    throw ShapeError("{}: axis {} of {} has nothing to pick from", op, axis, to_string(x.shape));
  }
  return indices.shape;
}

Shape tuples_of(std::string_view op, const TensorType& x, const TensorType& indices, int batch) {
  const int rank = indices.shape.rank();
  const std::int64_t tuple = rank ? indices.shape[-1] : 0;
  bool fits = batch >= 0 && rank > batch && tuple > 0 && batch + tuple <= x.shape.rank();
  for (int i = 0; fits && i < batch; ++i) fits = indices.shape[i] == x.shape[i];
  if (!fits) {
    throw ShapeError("{}: indices {} with {} batch axes are no tuples of indices into {}", op, to_string(indices),
                     batch, to_string(x));
  }
  const int first = batch + static_cast<int>(tuple);
  if (rank - 1 + x.shape.rank() - first > kMaxRank) {
    throw ShapeError("{}: {} picked by {} has more than {} dimensions", op, to_string(x.shape),
                     to_string(indices.shape), kMaxRank);
  }
  Shape shape;
  for (int i = 0; i + 1 < rank; ++i) shape.push_back(indices.shape[i]);
  for (int i = first; i < x.shape.rank(); ++i) shape.push_back(x.shape[i]);
  for (int i = batch; i < first && element_count(shape) > 0; ++i) {
    if (x.shape[i] == 0) throw ShapeError("{}: axis {} of {} has nothing to pick from", op, i, to_string(x.shape));
  }
  return shape;
}

Shape selected(std::string_view op, Selecting form, const TensorType& x, const TensorType& indices, int axis) {
  switch (form) {
    case Selecting::rows:
      return rows_of(op, x, indices, axis);
    case Selecting::elements:
      return elements_of(op, x, indices, axis);
    case Selecting::tuples:
      return tuples_of(op, x, indices, axis);
  }
  throw InternalError("{}: no form {}", op, static_cast<int>(form));
}

// Of the axes along which starts are given. Throws InvalidArgument.
void check_starts(std::string_view op, const TensorType& starts, std::size_t axes) {
  if (starts.shape.rank() > 1 || element_count(starts.shape) != static_cast<std::int64_t>(axes)) {
    throw ShapeError("{}: starts are {}, expected one for each of {} axes", op, to_string(starts), axes);
  }
}

// None of them negative.
std::vector<int> axes_of_starts(std::string_view op, const TensorType& x, std::span<const int> axes) {
  if (axes.empty()) throw ShapeError("{}: no axes are named", op);
  std::vector<int> normal;
  for (const int axis : axes) {
    normal.push_back(normalize_axis(axis, x.shape.rank(), op));
    if (std::ranges::count(normal, normal.back()) > 1) {
      throw ShapeError("{}: axis {} is named twice", op, normal.back());
    }
  }
  return normal;
}

std::vector<int> axes_of_starts(std::string_view op, const Tensor& x, const Tensor& starts, std::span<const int> axes) {
  if (!x.defined() || !starts.defined()) throw InvalidArgument("{}: an operand is an undefined Tensor", op);
  if (!axes.empty()) check_starts(op, starts.type(), axes.size());
  return axes_of_starts(op, x.type(), axes);
}

void check_sizes(std::string_view op, std::string_view what, const Shape& sizes, const TensorType& x) {
  bool fits = sizes.rank() == x.shape.rank();
  for (int d = 0; fits && d < sizes.rank(); ++d) fits = sizes[d] >= 0 && sizes[d] <= x.shape[d];
  if (!fits) {
    throw ShapeError("{}: {} {} {}, expected the rank of x {}, and no larger sizes", op, what, is_or_are(what),
                     to_string(sizes), to_string(x));
  }
}

// Copies x to the result unless it is there.
void copy_unless_in_place(const Launch& call) {
  const View &x = call.inputs[0], &y = call.outputs[0];
  if (!(x.buffer == y.buffer)) kernels::copy(call.stream, x, y);
}

// Of the result as much as is written: the updates, and x unless it is there.
Work work_of_updates(const Launch& call, const View& updates, const View& indices) {
  const View &x = call.inputs[0], &y = call.outputs[0];
  const bool in_place = x.buffer && x.buffer == y.buffer;
  return {.bytes = 2 * touched_bytes(updates) + touched_bytes(indices) + (in_place ? 0 : 2 * touched_bytes(x))};
}

}  // namespace

void GatherAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  if (form != Selecting::tuples) axis = normalize_axis(axis, in[0].shape.rank(), op);
}

void DynamicSliceAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axes = axes_of_starts(op, in[0], axes);
}

void DynamicUpdateSliceAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axes = axes_of_starts(op, in[0], axes);
}

void ConcatAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axis = normalize_axis(axis, in[0].shape.rank(), op);
}

std::vector<TensorType> DynamicSliceOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0], &in[1]});
  check_starts(name(), in[1], a.axes.size());
  check_sizes(name(), "the part", a.sizes, in[0]);
  return {{type, a.sizes}};
}

void DynamicSliceOp::lower(const Launch& call) const {
  kernels::dynamic_slice(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axes);
}

Work DynamicSliceOp::work(const Launch& call) const {
  return {.bytes = 2 * touched_bytes(call.outputs[0]) + touched_bytes(call.inputs[1])};
}

std::vector<TensorType> DynamicUpdateSliceOp::infer(std::span<const TensorType> in) const {
  const auto& [x, update, starts] = std::tie(in[0], in[1], in[2]);
  infer_dtype(name(), {&x, &update, &starts});
  check_starts(name(), starts, a.axes.size());
  check_sizes(name(), "the update", update.shape, x);
  return {x};
}

void DynamicUpdateSliceOp::lower(const Launch& call) const {
  copy_unless_in_place(call);
  kernels::dynamic_update_slice(call.stream, call.inputs[1], call.inputs[2], call.outputs[0], a.axes);
}

Work DynamicUpdateSliceOp::work(const Launch& call) const {
  return work_of_updates(call, call.inputs[1], call.inputs[2]);
}

std::vector<TensorType> GatherOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype("gather", {&in[0], &in[1]});
  return {{type, selected("gather", Selecting::rows, in[0], in[1], a.axis)}};
}

void GatherOp::lower(const Launch& call) const {
  kernels::gather(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axis);
}

Work GatherOp::work(const Launch& call) const {
  // Of the table, as much as is taken.
  const std::uint64_t bytes = 2 * touched_bytes(call.outputs[0]) + touched_bytes(call.inputs[1]);
  return {.bytes = bytes};
}

std::vector<TensorType> ConcatOp::infer(std::span<const TensorType> in) const {
  TensorType result = in[0];
  for (const TensorType& part : in.subspan(1)) {
    Shape expected = in[0].shape;
    if (part.shape.rank() == expected.rank()) expected[a.axis] = part.shape[a.axis];
    if (part.dtype != result.dtype || part.shape != expected) {
      throw ShapeError("concat: {} does not continue {} along axis {}", weft::to_string(part), weft::to_string(in[0]),
                       a.axis);
    }
    if (add_overflows(result.shape[a.axis], part.shape[a.axis], result.shape[a.axis])) {
      throw ShapeError("concat: axis {} has 2^63 elements or more", a.axis);
    }
  }
  return {result};
}

Tensor ConcatOp::simplified(std::span<const Tensor> parts) const {
  Tensor whole;
  std::int64_t at = 0;
  for (const Tensor& part : parts) {
    const auto* slice = op_of<SliceOp>(part);
    if (!slice || slice->a.axis != a.axis || slice->a.begin != at || slice->a.step != 1) return {};
    if (!whole.defined()) whole = input_of(part);
    if (!same(input_of(part), whole)) return {};
    at += part.shape()[a.axis];
  }
  return whole.defined() && whole.shape()[a.axis] == at ? whole : Tensor();
}

OpPtr ConcatOp::with_types(std::span<const TensorType>, std::span<const TensorType> to, std::span<const DType>) const {
  const bool alike = std::ranges::all_of(to, [&](const TensorType& t) { return t.dtype == to[0].dtype; });
  return alike ? shared_from_this() : nullptr;
}

void ConcatOp::lower(const Launch& call) const { kernels::concat(call.stream, call.inputs, call.outputs[0], a.axis); }

std::vector<TensorType> SelectOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0], &in[1]});
  return {{type, selected(name(), a.form, in[0], in[1], a.axis)}};
}

void SelectOp::lower(const Launch& call) const {
  if (a.form == Selecting::elements) {
    kernels::gather_elements(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axis);
  } else
    kernels::gather_nd(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axis);
}

std::string_view ScatterOp::name() const {
  constexpr std::string_view kNames[] = {"scatter", "scatter_elements", "scatter_nd"};
  return kNames[static_cast<int>(a.where.form)];
}

std::vector<TensorType> ScatterOp::infer(std::span<const TensorType> in) const {
  const auto& [x, indices, updates] = std::tie(in[0], in[1], in[2]);
  infer_dtype(name(), {&x, &indices, &updates});
  const TensorType expected{x.dtype, selected(name(), a.where.form, x, indices, a.where.axis)};
  if (updates != expected) {
    throw ShapeError("{}: updates are {}, expected {} for x {} and indices {}", name(), weft::to_string(updates),
                     weft::to_string(expected), weft::to_string(x), weft::to_string(indices));
  }
  const DTypeKind kind = info(x.dtype).kind;
  const bool compares = a.op == kernels::ScatterKind::min || a.op == kernels::ScatterKind::max;
  if (a.op != kernels::ScatterKind::assign && kind == (compares ? DTypeKind::complex : DTypeKind::boolean)) {
    throw TypeError("{}: x is {}, whose elements this operation does not take", to_string(), weft::to_string(x));
  }
  return {x};
}

void ScatterOp::lower(const Launch& call) const {
  const View& indices = call.inputs[1];
  const View& updates = call.inputs[2];
  const View& y = call.outputs[0];
  copy_unless_in_place(call);
  switch (a.where.form) {
    case Selecting::rows:
      return kernels::scatter(call.stream, a.op, indices, updates, y, a.where.axis);
    case Selecting::elements:
      return kernels::scatter_elements(call.stream, a.op, indices, updates, y, a.where.axis);
    case Selecting::tuples:
      return kernels::scatter_nd(call.stream, a.op, indices, updates, y, a.where.axis);
  }
}

Work ScatterOp::work(const Launch& call) const {
  // Elements that are combined with updates are read, too.
  const std::uint64_t read = a.op == kernels::ScatterKind::assign ? 0 : touched_bytes(call.inputs[2]);
  return {.bytes = work_of_updates(call, call.inputs[2], call.inputs[1]).bytes + read};
}

Tensor dynamic_slice(const Operand& x, const Operand& starts, const Shape& sizes, std::span<const int> axes) {
  return apply(make_op<DynamicSliceOp>(DynamicSliceAttributes{axes_of_starts("dynamic_slice", x, starts, axes), sizes}),
               {x, starts});
}

Tensor dynamic_slice(const Operand& x, const Operand& starts, const Shape& sizes, std::initializer_list<int> axes) {
  return dynamic_slice(x, starts, sizes, std::span(axes.begin(), axes.size()));
}

Tensor dynamic_update_slice(const Operand& x, const Operand& update, const Operand& starts, std::span<const int> axes) {
  if (!update.defined()) throw InvalidArgument("dynamic_update_slice: the update is an undefined Tensor");
  return apply(make_op<DynamicUpdateSliceOp>(
                   DynamicUpdateSliceAttributes{axes_of_starts("dynamic_update_slice", x, starts, axes)}),
               {x, update, starts});
}

Tensor dynamic_update_slice(const Operand& x, const Operand& update, const Operand& starts,
                            std::initializer_list<int> axes) {
  return dynamic_update_slice(x, update, starts, std::span(axes.begin(), axes.size()));
}

Tensor gather(const Operand& x, const Operand& indices, int axis) {
  if (!x.defined() || !indices.defined()) throw InvalidArgument("gather: an operand is an undefined Tensor");
  return apply(make_op<GatherOp>(GatherAttributes{Selecting::rows, normalize_axis(axis, x.rank(), "gather")}),
               {x, indices});
}

Tensor concat(std::span<const Tensor> parts, int axis) {
  if (parts.empty() || !parts[0].defined())
    throw InvalidArgument("concat: no parts, or the first is an undefined Tensor");
  axis = normalize_axis(axis, parts[0].rank(), "concat");
  if (parts.size() == 1) return parts[0];
  return apply(make_op<ConcatOp>(ConcatAttributes{axis}), std::vector<Tensor>(parts.begin(), parts.end()));
}

std::vector<Tensor> split(const Operand& x, std::span<const std::int64_t> sizes, int axis) {
  if (!x.defined()) throw InvalidArgument("split: the operand is an undefined Tensor");
  axis = normalize_axis(axis, x.rank(), "split");
  std::int64_t total = 0;
  for (const std::int64_t n : sizes) {
    if (n < 0) throw InvalidArgument("split: a size of {}", n);
    if (add_overflows(total, n, total)) throw ShapeError("split: sizes that pass 2^63 together");
  }
  if (total != x.shape()[axis]) {
    throw ShapeError("split: sizes of {} together for axis {} of {}", total, axis, to_string(x.type()));
  }
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t n : sizes) {
    parts.push_back(slice(x, axis, begin, begin + n));
    begin += n;
  }
  return parts;
}

namespace {

// The shapes of x and of indices that name single elements, broadcast with each other but along the axis.
std::pair<Shape, Shape> broadcast_elements(std::string_view op, const Tensor& x, const Tensor& indices, int axis) {
  std::pair both{x.shape(), indices.shape()};
  bool fits = x.rank() == indices.rank();
  for (int d = 0; fits && d < x.rank(); ++d) {
    std::int64_t &of_x = both.first[d], &of_indices = both.second[d];
    if (d == axis || of_x == of_indices) continue;
    if (of_indices == 1)
      of_indices = of_x;
    else if (of_x == 1)
      of_x = of_indices;
    else
      fits = false;
  }
  if (!fits) {
    throw ShapeError("{}: indices are {}, x is {}; expected equal ranks, and sizes that broadcast but along axis {}",
                     op, to_string(indices.type()), to_string(x.type()), axis);
  }
  return both;
}

}  // namespace

Tensor gather_elements(const Operand& x, const Operand& indices, int axis) {
  if (!x.defined() || !indices.defined()) throw InvalidArgument("gather_elements: an operand is an undefined Tensor");
  axis = normalize_axis(axis, x.rank(), "gather_elements");
  const auto [of_x, of_indices] = broadcast_elements("gather_elements", x, indices, axis);
  return apply(make_op<SelectOp>(GatherAttributes{Selecting::elements, axis}),
               {broadcast_to(x, of_x), broadcast_to(indices, of_indices)});
}

Tensor gather_nd(const Operand& x, const Operand& indices, int batch) {
  if (!x.defined() || !indices.defined()) throw InvalidArgument("gather_nd: an operand is an undefined Tensor");
  return apply(make_op<SelectOp>(GatherAttributes{Selecting::tuples, batch}), {x, indices});
}

Tensor scatter(kernels::ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates, int axis) {
  if (!x.defined() || !indices.defined() || !updates.defined())
    throw InvalidArgument("scatter: an operand is an undefined Tensor");
  axis = normalize_axis(axis, x.rank(), "scatter");
  return apply(make_op<ScatterOp>(ScatterAttributes{{Selecting::rows, axis}, op}), {x, indices, updates});
}

Tensor scatter_elements(kernels::ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates,
                        int axis) {
  if (!x.defined() || !indices.defined() || !updates.defined())
    throw InvalidArgument("scatter_elements: an operand is an undefined Tensor");
  axis = normalize_axis(axis, x.rank(), "scatter_elements");
  const Shape chosen = broadcast_elements("scatter_elements", x, indices, axis).second;
  Tensor at = broadcast_to(indices, chosen);
  Tensor values = broadcasts_to(updates.shape(), chosen) ? broadcast_to(updates, chosen) : Tensor(updates);
  // Where x has one element and the indices several, these become indices along the axis.
  std::vector<int> order;
  Shape joined = chosen;
  const auto repeated = [&](int d) { return d != axis && x.shape()[d] == 1 && chosen[d] > 1; };
  for (int d = 0; d < x.rank(); ++d) {
    if (!repeated(d)) order.push_back(d);
    if (d != axis) continue;
    for (int r = 0; r < x.rank(); ++r) {
      if (!repeated(r)) continue;
      order.push_back(r);
      joined[axis] *= chosen[r];
      joined[r] = 1;
    }
  }
  if (joined != chosen && values.shape() == chosen) {
    at = reshape(permute(at, order), joined);
    values = reshape(permute(values, order), joined);
  }
  return apply(make_op<ScatterOp>(ScatterAttributes{{Selecting::elements, axis}, op}), {x, at, values});
}

Tensor scatter_nd(kernels::ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates,
                  int batch) {
  if (!x.defined() || !indices.defined() || !updates.defined())
    throw InvalidArgument("scatter_nd: an operand is an undefined Tensor");
  return apply(make_op<ScatterOp>(ScatterAttributes{{Selecting::tuples, batch}, op}), {x, indices, updates});
}

namespace {

// The kernels of scatters and updates write to y; their ops do so in a copy of x, unless x may be overwritten.
Schema of_copy(std::string_view kernel, std::string summary, std::string formula, std::vector<OperandSchema> more,
               std::vector<TypeSignature> signatures) {
  Schema s = schema_of_kernel(kernel, "x's shape");
  s.summary = std::move(summary);
  s.formula = std::move(formula);
  s.inputs = {{.name = "x", .shape = "any"}};
  s.inputs.insert(s.inputs.end(), more.begin(), more.end());
  s.signatures = std::move(signatures);
  return s;
}

}  // namespace

void add_index_ops(OpRows& rows) {
  const auto as = [](int operand) { return OperandTypes::as(operand); };
  rows.push_back(op_row<GatherOp>(schema_of_kernel("gather")));
  rows.push_back(op_row<SelectOp>(
      schema_of_kernel("gather_elements", "indices' shape; other axes than the named one broadcast with x's"),
      {.form = Selecting::elements}));
  rows.push_back(op_row<SelectOp>(schema_of_kernel("gather_nd"), {.form = Selecting::tuples}));
  rows.push_back(op_row<DynamicSliceOp>(schema_of_kernel("dynamic_slice", "sizes")));
  rows.push_back(op_row<DynamicUpdateSliceOp>(of_copy(
      "dynamic_update_slice",
      "a copy of x with an update written to the part that begins at an index from data, which is clamped so "
      "that the part lies inside of x",
      "y = x, then y[starts + i…] = update[i…]",
      {{.name = "update", .shape = "sizes of at most x's"}, {.name = "starts", .shape = "[axes], or [] for one axis"}},
      {{types::any, as(0), types::indices, as(0)}})));
  const struct {
    Selecting form;
    const char *name, *what, *formula, *indices, *updates;
  } scatters[] = {{Selecting::rows, "scatter", "whole rows, chosen by one list of indices,",
                   "y[i…, indices[j…], k…] = op(y[i…, indices[j…], k…], updates[i…, j…, k…])", "any",
                   "x's shape with indices' in place of axis"},
                  {Selecting::elements, "scatter_elements", "single elements, each chosen by an index of its own,",
                   "y[i…, indices[i…, j, k…], k…] = op(y[i…, indices[i…, j, k…], k…], updates[i…, j, k…])", "x's rank",
                   "indices' shape"},
                  {Selecting::tuples, "scatter_nd", "elements or slices, chosen by tuples of indices,",
                   "y[b…, indices[b…, i…, :], k…] = op(y[b…, indices[b…, i…, :], k…], updates[b…, i…, k…])",
                   "[b..., i..., axes of a tuple]", "[b..., i..., k...]"}};
  for (const auto& s : scatters) {
    rows.push_back(op_row<ScatterOp>(
        of_copy(s.name,
                std::format("a copy of x with {} combined with updates; negative indices count from the end, updates "
                            "whose index is outside are ignored",
                            s.what),
                std::string("y = x, then ") + s.formula,
                {{.name = "indices", .shape = s.indices}, {.name = "updates", .shape = s.updates}},
                {{types::any, types::indices, as(0), as(0)}}),
        {.where = {.form = s.form}}));
  }
  rows.push_back(op_row<ConcatOp>(schema_of_kernel("concat")));
}

}  // namespace weft
