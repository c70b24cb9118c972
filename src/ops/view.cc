#include "ops/view.h"

#include <algorithm>
#include <limits>

#include "core/checked.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/windows.h"
#include "graph/graph.h"
#include "ops/fold.h"
#include "ops/function_row.h"
#include "ops/iota_view.h"
#include "ops/op_rows.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

// What the shape says of sizes and their number, in the function's name.
void check_shape(std::string_view function, const Shape& shape) {
  in_context([&] { return std::string(function); }, [&] { element_count(shape); });
}

// Fills in the one size that may be -1. Throws InvalidArgument.
Shape completed(const Shape& from, Shape to) {
  int open = -1;
  Shape known = to;
  for (int i = 0; i < to.rank(); ++i) {
    if (to[i] != -1) continue;
    if (open >= 0) throw ShapeError("reshape: {} has more than one size of -1", to_string(to));
    open = i;
    known[i] = 1;
  }
  for (const std::int64_t size : known) {
    if (size < 0)
      throw ShapeError("reshape: {} to {}: the size {}, expected -1 or more", to_string(from), to_string(to), size);
  }
  check_shape("reshape", known);
  const std::int64_t have = element_count(from);
  if (open < 0) return to;
  const std::int64_t rest = element_count(known);
  if (rest == 0 || have % rest != 0) {
    throw ShapeError("reshape: {} has {} elements, which no size in the place of -1 makes {}", to_string(from), have,
                     to_string(to));
  }
  to[open] = have / rest;
  return to;
}

}  // namespace

Shape ReshapeOp::shape_of(const Shape& x) const {
  if (a.kept.empty()) return completed(x, a.shape);
  if (a.kept.size() != static_cast<std::size_t>(a.shape.rank())) {
    throw ShapeError("reshape: {} kept axes for {} sizes", a.kept.size(), a.shape.rank());
  }
  // What is not kept has as many elements before and after, also where a size that is kept is 0.
  Shape from, to, whole = a.shape;
  for (int d = 0; d < x.rank(); ++d) {
    const auto uses = std::ranges::count(a.kept, d);
    if (uses > 1) throw ShapeError("reshape: axis {} of {} is kept {} times", d, weft::to_string(x), uses);
    if (uses == 0) from.push_back(x[d]);
  }
  for (int i = 0; i < whole.rank(); ++i) {
    const int axis = a.kept[static_cast<std::size_t>(i)];
    if (axis < -1 || axis >= x.rank()) throw ShapeError("reshape: {} has no axis {} to keep", weft::to_string(x), axis);
    if (axis < 0) to.push_back(whole[i]);
  }
  const Shape rest = completed(from, to);
  if (element_count(rest) != element_count(from)) {
    throw ShapeError("reshape: the axes of {} that are not kept, {}, have {} elements, {} has {}", weft::to_string(x),
                     weft::to_string(from), element_count(from), weft::to_string(rest), element_count(rest));
  }
  for (int i = 0, next = 0; i < whole.rank(); ++i) {
    const int axis = a.kept[static_cast<std::size_t>(i)];
    whole[i] = axis < 0 ? rest[next++] : x[axis];
  }
  return whole;
}

std::vector<TensorType> ReshapeOp::infer(std::span<const TensorType> in) const {
  const Shape shape = shape_of(in[0].shape);
  const std::int64_t have = element_count(in[0].shape), want = element_count(shape);
  if (have != want) {
    throw ShapeError("reshape: {} has {} elements, {} has {}", weft::to_string(in[0].shape), have,
                     weft::to_string(shape), want);
  }
  return {{in[0].dtype, shape}};
}

std::optional<Placement> ReshapeOp::view_layout(const Layout& x) const {
  Placement p;
  if (!x.reshaped(shape_of(x.shape), p.layout)) return std::nullopt;
  return p;
}

void PermuteAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  for (int& axis : order) axis = normalize_axis(axis, in[0].shape.rank(), op);
}

void SliceAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axis = normalize_axis(axis, in[0].shape.rank(), op);
}

std::vector<TensorType> PermuteOp::infer(std::span<const TensorType> in) const {
  return {{in[0].dtype, Layout::dense(in[0].shape).permuted(a.order).shape}};
}

std::optional<Placement> PermuteOp::view_layout(const Layout& x) const { return Placement{0, x.permuted(a.order)}; }

std::vector<TensorType> BroadcastOp::infer(std::span<const TensorType> in) const {
  try {
    return {{in[0].dtype, Layout::dense(in[0].shape).broadcast_to(a.shape).shape}};
  } catch (const InvalidArgument& e) {
    throw ShapeError("broadcast_to: {}", e.what());
  }
}

std::optional<Placement> BroadcastOp::view_layout(const Layout& x) const {
  return Placement{0, x.broadcast_to(a.shape)};
}

Tensor BroadcastOp::simplified(std::span<const Tensor> x) const {
  Tensor inner = x[0];
  while (op_of<BroadcastOp>(inner)) inner = input_of(inner);
  return broadcast_to(inner, a.shape);
}

Tensor SliceOp::simplified(std::span<const Tensor> x) const {
  const std::int64_t n = x[0].shape()[a.axis];
  const SliceAttributes now = a.of(n);
  if (now.step == 1 && now.begin == 0 && now.size() == n) return x[0];
  return a.begin_from_end || a.end_from_end ? slice(x[0], now) : Tensor();
}

SliceAttributes SliceAttributes::of(std::int64_t n) const {
  SliceAttributes now = *this;
  const auto resolve = [&](std::int64_t& at, bool& from_end) {
    if (from_end && add_overflows(at, n, at)) throw IndexError("slice: {} from the end of {} elements", at, n);
    from_end = false;
  };
  resolve(now.begin, now.begin_from_end);
  resolve(now.end, now.end_from_end);
  return now;
}

std::int64_t SliceAttributes::size() const {
  if (step == 0 || (step > 0 ? end <= begin : begin <= end)) return 0;
  // As unsigned numbers distances between any two int64 are exact.
  const auto of = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const std::uint64_t reach = step > 0 ? of(end) - of(begin) : of(begin) - of(end);
  const std::uint64_t count = (reach - 1) / (step > 0 ? of(step) : 0 - of(step)) + 1;
  return static_cast<std::int64_t>(std::min(count, of(std::numeric_limits<std::int64_t>::max())));
}

std::vector<TensorType> SliceOp::infer(std::span<const TensorType> in) const {
  const Shape& shape = in[0].shape;
  const std::int64_t n = shape[a.axis];
  const SliceAttributes now = a.of(n);
  const std::int64_t count = now.size();
  const bool inside = now.step > 0 ? now.begin >= 0 && now.end <= n : now.begin < n && now.end >= -1;
  if (now.step == 0 || (count > 0 && !inside)) {
    throw IndexError("slice: from {} to {} by {} leaves axis {} of {}", now.begin, now.end, now.step, a.axis,
                     weft::to_string(shape));
  }
  Shape result = shape;
  result[a.axis] = count;
  return {{in[0].dtype, result}};
}

std::optional<Placement> SliceOp::view_layout(const Layout& x) const {
  const SliceAttributes now = a.of(x.shape[a.axis]);
  const std::int64_t count = now.size();
  Placement p{count > 0 ? now.begin * x.strides[a.axis] : 0, x};
  p.layout.shape[a.axis] = count;
  if (count > 1) p.layout.strides[a.axis] = x.strides[a.axis] * now.step;
  return p;
}

void WindowsAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axis = normalize_axis(axis, in[0].shape.rank(), op);
}

Layout WindowsOp::layout_of(const Layout& x) const {
  const std::int64_t n = x.shape[a.axis], stride = x.strides[a.axis];
  const bool counts = a.size >= 1 && a.step >= 1 && a.dilation >= 1;
  const auto fit = counts ? fit_windows(n, a.size, a.step, a.dilation) : std::nullopt;
  if (!fit || fit->count == 0) {
    throw ShapeError("windows: of {} elements, {} apart, at every element {} along axis {} of {}", a.size, a.dilation,
                     a.step, a.axis, weft::to_string(x.shape));
  }
  const std::int64_t places = fit->count;
  Layout y = x;
  y.shape[a.axis] = a.size;
  y.strides[a.axis] = a.size > 1 ? stride * a.dilation : stride;
  y.shape.insert(a.axis + 1, places);
  y.strides.insert(a.axis + 1, places > 1 ? stride * a.step : stride);
  return y;
}

std::vector<TensorType> WindowsOp::infer(std::span<const TensorType> in) const {
  if (in[0].shape.rank() == kMaxRank) {
    throw ShapeError("windows: {} has no place for another axis", weft::to_string(in[0].shape));
  }
  const Shape shape = layout_of(Layout::dense(in[0].shape)).shape;
  check_shape(name(), shape);
  return {{in[0].dtype, shape}};
}

std::optional<Placement> WindowsOp::view_layout(const Layout& x) const { return Placement{0, layout_of(x)}; }

// ---- Derivatives: views are linear, and a tangent goes the way of its value.

// Sizes that are kept are kept on the way back; of the others one follows from the rest.
Derivatives ReshapeOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Shape& x = node.inputs[0].shape();
  if (a.kept.empty()) return std::vector{reshape(g[0], x)};
  ReshapeAttributes back{x, std::vector<int>(static_cast<std::size_t>(x.rank()), -1)};
  int open = -1, count = 0;
  for (int d = 0; d < x.rank(); ++d) {
    const auto at = std::ranges::find(a.kept, d);
    if (at == a.kept.end()) {
      open = d;
      ++count;
    } else {
      back.kept[static_cast<std::size_t>(d)] = static_cast<int>(at - a.kept.begin());
      back.shape[d] = -1;
    }
  }
  if (count == 1) back.shape[open] = -1;
  return std::vector{reshape(g[0], std::move(back))};
}
std::optional<Batched> ReshapeOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const Tensor first = batch_first(in[0], axes[0], 0);
  Shape entry = first.shape();
  entry.erase(0);
  Shape shape = shape_of(entry);
  shape.insert(0, first.shape()[0]);
  return batched(reshape(first, shape));
}

std::vector<Tensor> ReshapeOp::vmap_in_order(const BatchInOrder& batch) const { return {batch.inputs[0]}; }

Derivatives PermuteOp::vjp(const Differentiated&, std::span<const Tensor> g) const {
  std::vector<int> back(a.order.size());
  for (std::size_t i = 0; i < back.size(); ++i) back[static_cast<std::size_t>(a.order[i])] = static_cast<int>(i);
  return std::vector{permute(g[0], back)};
}
std::optional<Batched> PermuteOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  std::vector<int> order{0};
  for (const int axis : a.order) order.push_back(axis + 1);
  return batched(permute(batch_first(in[0], axes[0], 0), order));
}

std::vector<Tensor> PermuteOp::vmap_in_order(const BatchInOrder& batch) const {
  return {permute_in_order(batch.inputs[0], batch.size, batch.entries[0].shape, a.order)};
}

Derivatives BroadcastOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  return std::vector{summed_to(g[0], node.inputs[0].shape())};
}
std::optional<Batched> BroadcastOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const Tensor first = batch_broadcast(in[0], axes[0], a.shape.rank());
  Shape shape = a.shape;
  shape.insert(0, first.shape()[0]);
  return batched(broadcast_to(first, shape));
}

std::vector<Tensor> BroadcastOp::vmap_in_order(const BatchInOrder& batch) const {
  return {broadcast_to(broadcast_in_order(batch, 0, a.shape), shape_in_order(a.shape, batch.size))};
}

// The elements go back to where they came from, with zeros between them.
Derivatives SliceOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Shape& whole = node.inputs[0].shape();
  const SliceAttributes now = a.of(whole[a.axis]);
  const std::int64_t n = whole[a.axis], count = now.size(), step = a.step < 0 ? -a.step : a.step;
  if (count == 0) return std::vector{Tensor()};
  Tensor x = a.step < 0 ? flip(g[0], a.axis) : g[0];
  const std::int64_t begin = a.step < 0 ? now.begin + (count - 1) * a.step : now.begin;
  const auto padded = [](const Tensor& t, int axis, std::int64_t before, std::int64_t after) {
    std::vector<std::int64_t> low(static_cast<std::size_t>(t.rank()), 0), high = low;
    low[static_cast<std::size_t>(axis)] = before;
    high[static_cast<std::size_t>(axis)] = after;
    return before == 0 && after == 0 ? t : pad(t, low, high);
  };
  if (step > 1 && count > 1) {
    // A gap behind each element, and then the last one's comes off.
    Shape shape = x.shape();
    const Tensor gaps = padded(expand_dims(x, a.axis + 1), a.axis + 1, 0, step - 1);
    shape[a.axis] = count * step;
    x = slice(reshape(gaps, shape), a.axis, 0, (count - 1) * step + 1);
  }
  return std::vector{padded(x, a.axis, begin, n - begin - x.shape()[a.axis])};
}
// The elements of all windows are added where they came from.
Derivatives WindowsOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Shape& whole = node.inputs[0].shape();
  if (element_count(whole) == 0) return std::vector{Tensor()};
  Shape others = whole;
  others.erase(a.axis);
  const Tensor last = moveaxis(g[0], {a.axis, a.axis + 1}, {-2, -1});
  const Tensor columns = reshape(last, {1, element_count(others), last.shape()[-2], last.shape()[-1]});
  const auto fold = make_op<FoldOp>(FoldAttributes{{whole[a.axis]}, {{a.step}, {a.dilation}, {0}}});
  const Tensor x = columns.dtype() == DType::c64 ? complex(apply(fold, {real(columns)}), apply(fold, {imag(columns)}))
                                                 : apply(fold, {columns});
  others.push_back(whole[a.axis]);
  return std::vector{moveaxis(reshape(x, others), -1, a.axis)};
}
std::optional<Batched> WindowsOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return batched(windows(batch_first(in[0], axes[0], 0), {a.axis + 1, a.size, a.step, a.dilation}));
}
std::optional<Batched> SliceOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  SliceAttributes behind = a;
  ++behind.axis;
  return batched(slice(batch_first(in[0], axes[0], 0), behind));
}
std::vector<Tensor> SliceOp::vmap_in_order(const BatchInOrder& batch) const {
  SliceAttributes along = a;
  along.axis = 1;
  return {slice(along_axis_in_order(batch, 0, a.axis), along)};
}

std::vector<TensorType> StridedOp::infer(std::span<const TensorType> in) const {
  if (a.placement.layout.count() > 0) {
    const auto [low, high] = a.placement.layout.offset_range();
    if (a.placement.offset + low < 0 || a.placement.offset + high >= element_count(in[0].shape)) {
      throw ShapeError("strided: elements {} to {} of {}", a.placement.offset + low, a.placement.offset + high,
                       weft::to_string(in[0].shape));
    }
  }
  return {{in[0].dtype, a.placement.layout.shape}};
}

Tensor reshape(const Operand& x, const Shape& shape) {
  if (!x.defined()) throw InvalidArgument("reshape: the operand is an undefined Tensor");
  const Shape target = completed(x.shape(), shape);
  if (target == x.shape()) return x;
  if (op_of<ReshapeOp>(x) && element_count(target) == element_count(x.shape())) return reshape(input_of(x), shape);
  return apply(make_op<ReshapeOp>(ReshapeAttributes{shape}), {x});
}

namespace {

// The reshape that `outer` is of what `inner` makes; nothing if it is none, as if two sizes would follow from the
// others.
std::optional<ReshapeAttributes> composed(const ReshapeAttributes& inner, const ReshapeAttributes& outer) {
  ReshapeAttributes both{outer.shape, std::vector<int>(outer.kept.size(), -1)};
  for (std::size_t i = 0; i < outer.kept.size(); ++i) {
    const int of = outer.kept[i];
    if (of < 0) continue;
    both.kept[i] = inner.kept.empty() ? -1 : inner.kept[static_cast<std::size_t>(of)];
    both.shape[static_cast<int>(i)] = inner.shape[of];
  }
  int open = 0;
  bool empty = false;  // then nothing follows from the others
  for (std::size_t i = 0; i < both.kept.size(); ++i) {
    if (both.kept[i] >= 0) continue;
    open += both.shape[static_cast<int>(i)] == -1;
    empty |= both.shape[static_cast<int>(i)] == 0;
  }
  return open > 1 || (open == 1 && empty) ? std::nullopt : std::optional(std::move(both));
}

}  // namespace

Tensor reshape(const Tensor& x, ReshapeAttributes attributes) {
  if (attributes.kept.empty()) return reshape(x, attributes.shape);
  if (const auto* inner = op_of<ReshapeOp>(x)) {
    if (auto both = composed(inner->a, attributes)) return reshape(input_of(x), std::move(*both));
  }
  if (std::ranges::all_of(attributes.kept, [](int axis) { return axis < 0; })) return reshape(x, attributes.shape);
  bool same_axes = attributes.shape.rank() == x.rank();
  for (std::size_t i = 0; same_axes && i < attributes.kept.size(); ++i) {
    same_axes = attributes.kept[i] == static_cast<int>(i);
  }
  return same_axes ? x : apply(make_op<ReshapeOp>(std::move(attributes)), {x});
}

Tensor permute(const Operand& x, std::span<const int> order) {
  if (!x.defined()) throw InvalidArgument("permute: the operand is an undefined Tensor");
  Layout::dense(x.shape()).permuted(order);  // checks the axes
  std::vector<int> axes;
  for (const int axis : order) axes.push_back(normalize_axis(axis, x.rank(), "permute"));
  const auto* inner = op_of<PermuteOp>(x);
  if (inner) {
    for (int& axis : axes) axis = inner->a.order[axis];
  }
  const Tensor& from = inner ? input_of(x) : x;
  const bool changes = !std::ranges::is_sorted(axes);
  return changes ? apply(make_op<PermuteOp>(PermuteAttributes{std::move(axes)}), {from}) : from;
}

Tensor permute(const Operand& x, std::initializer_list<int> order) {
  return permute(x, std::span<const int>(order.begin(), order.size()));
}

namespace {

struct BroadcastToAttributes {
  Shape shape = {};
  void fields(AttributeVisitor& v) { v("shape", shape, "the shape of the result"); }
};
constexpr Function kBroadcastTo = {
    {.name = "broadcast_to",
     .operands = {{"x"}},
     .results = {{"y", "shape", "x's type"}},
     .formula = "y[i…] = x[i…], with index 0 where x's size is 1",
     .summary = "axes of one element, and missing ones in front, repeated"},
    [](const Tensor& x, const BroadcastToAttributes& a) {
      element_count(a.shape);  // checks the sizes
      return x.shape() == a.shape ? x : apply(make_op<BroadcastOp>(BroadcastAttributes{a.shape}), {x});
    }};

}  // namespace

Tensor broadcast_to(const Operand& x, const Shape& shape) { return kBroadcastTo(x, {shape}); }

void add_view_functions(FunctionRows& rows) { rows.add(kBroadcastTo); }

Tensor slice(const Operand& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (!x.defined()) throw InvalidArgument("slice: the operand is an undefined Tensor");
  axis = normalize_axis(axis, x.rank(), "slice");
  if (begin == 0 && end == x.shape()[axis] && step == 1) return x;
  const Tensor view = apply(make_op<SliceOp>(SliceAttributes{axis, begin, end, step}), {x});
  const Tensor computed = computed_view(view);
  return computed.defined() ? computed : view;
}

Tensor slice(const Tensor& x, const SliceAttributes& attributes) {
  const SliceAttributes& a = attributes;
  if (!a.begin_from_end && !a.end_from_end) return slice(x, a.axis, a.begin, a.end, a.step);
  if (!a.begin_from_end && a.begin == 0 && a.end_from_end && a.end == 0 && a.step == 1) return x;
  const Tensor view = apply(make_op<SliceOp>(a), {x});
  const Tensor computed = computed_view(view);
  return computed.defined() ? computed : view;
}

Tensor windows(const Tensor& x, const WindowsAttributes& attributes) {
  WindowsAttributes own = attributes;
  own.normalise("windows", std::array{x.type()});
  return apply(make_op<WindowsOp>(own), {x});
}

Tensor expand_dims(const Operand& x, int axis) try {
  if (!x.defined()) throw InvalidArgument("expand_dims: the operand is an undefined Tensor");
  const int place = normalize_axis(axis, x.rank() + 1, "expand_dims");
  ReshapeAttributes rule;
  for (int d = 0; d <= x.rank(); ++d) {
    if (d == place) {
      rule.shape.push_back(1);
      rule.kept.push_back(-1);
    }
    if (d == x.rank()) break;
    rule.shape.push_back(-1);
    rule.kept.push_back(d);
  }
  return reshape(x, std::move(rule));
} catch (const Error& e) {
  throw_in_function(e, "expand_dims");
}

Tensor squeeze(const Operand& x, int axis) try {
  if (!x.defined()) throw InvalidArgument("squeeze: the operand is an undefined Tensor");
  axis = normalize_axis(axis, x.rank(), "squeeze");
  const Shape shape = x.shape();
  if (shape[axis] != 1) {
    throw ShapeError("squeeze: axis {} of {} has size {}, not 1", axis, to_string(shape), shape[axis]);
  }
  ReshapeAttributes rule;
  for (int d = 0; d < x.rank(); ++d) {
    if (d == axis) continue;
    rule.shape.push_back(-1);
    rule.kept.push_back(d);
  }
  return reshape(x, std::move(rule));
} catch (const Error& e) {
  throw_in_function(e, "squeeze");
}

void add_view_ops(OpRows& rows) {
  const auto view = [](std::string name, std::string formula, std::string summary, std::string shape) {
    return Schema{.name = std::move(name),
                  .family = "view",
                  .summary = std::move(summary),
                  .formula = std::move(formula),
                  .inputs = {{.name = "x", .shape = "any"}},
                  .outputs = {{.name = "y", .shape = std::move(shape)}},
                  .signatures = {{types::any, OperandTypes::as(0)}}};
  };
  rows.push_back(op_row<ReshapeOp>(
      view("reshape", "y's elements = x's, both in row-major order", "the same elements in another shape", "shape")));
  rows.push_back(op_row<PermuteOp>(view("permute", "y[i[order[0]], i[order[1]], …] = x[i[0], i[1], …]",
                                        "the axes in another order", "x's sizes in that order")));
  rows.push_back(op_row<BroadcastOp>(view("broadcast", "y[i…] = x[i…], with index 0 where x's size is 1",
                                          "axes of one element, and missing ones in front, repeated", "shape")));
  rows.push_back(op_row<SliceOp>(view("slice", "y[i…, j, k…] = x[i…, begin + j · step, k…]",
                                      "elements begin, begin + step, … before end along an axis",
                                      "x's shape with ⌈(end - begin) / step⌉ along axis")));
  rows.push_back(op_row<WindowsOp>(view("windows", "y[i…, j, t, k…] = x[i…, t · step + j · dilation, k…]",
                                        "windows along an axis, which may overlap, as two axes in place of it",
                                        "x's shape with size, ⌊(n - 1 - (size - 1) · dilation) / step⌋ + 1 for n")));
  OpRow strided =
      op_row<StridedOp>(view("strided", "y[i…] = x's element offset + Σ strides · i",
                             "strides into a stored tensor; the compiler makes it of the other views", "shape"));
  strided.make = {};  // the compiler alone, which knows that they stay inside
  rows.push_back(std::move(strided));
}

}  // namespace weft
