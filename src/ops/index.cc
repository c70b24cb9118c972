#include "ops/index.h"

#include <algorithm>
#include <limits>

#include "core/checked.h"
#include "core/format.h"
#include "core/is_or_are.h"
#include "graph/graph.h"
#include "kernels/index/scatter.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/scan.h"
#include "ops/segment_products.h"
#include "ops/view.h"
#include "weft/array.h"
#include "weft/creation.h"
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

// ---- Derivatives and batching: what their rules share.

// The least and the greatest index of axes of these sizes, as far as the indices' type has them: one number, or one for
// each component of a tuple.
struct Bounds {
  Tensor low, high;
};

Bounds bounds_of(const GatherAttributes& where, const Shape& x, const TensorType& indices) {
  const int width = bits(indices.dtype) - (is_signed(indices.dtype) ? 1 : 0);
  const std::int64_t greatest = width >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << width) - 1;
  const std::int64_t least = is_signed(indices.dtype) ? -greatest - 1 : 0;
  const bool tuples = where.form == Selecting::tuples;
  std::vector<Tensor> low, high;
  for (std::int64_t k = 0; k < (tuples ? indices.shape[-1] : 1); ++k) {
    const std::int64_t n = x[where.axis + static_cast<int>(k)];
    low.push_back(Graph::scalar(std::max(-n, least), indices.dtype));
    high.push_back(Graph::scalar(std::min(n - 1, greatest), indices.dtype));
  }
  return tuples && low.size() > 1 ? Bounds{stack(low), stack(high)} : Bounds{low[0], high[0]};
}

// Those outside become the nearest inside, as reads take them.
Tensor clamped_indices(const GatherAttributes& where, const Shape& x, const Tensor& indices) {
  const auto [low, high] = bounds_of(where, x, indices.type());
  return clamp(indices, low, high);
}

// Of each index or tuple, whether it is inside: updates of others are ignored.
Tensor indices_inside(const GatherAttributes& where, const Shape& x, const Tensor& indices) {
  const auto [low, high] = bounds_of(where, x, indices.type());
  const Tensor inside = logical_and(indices >= low, indices <= high);
  return where.form == Selecting::tuples ? inside.all(inside.rank() - 1) : inside;
}

// The ops of one form, whose shapes are not broadcast; sums of cotangents repeat to the bit.
Tensor gathered(const GatherAttributes& where, const Tensor& x, const Tensor& indices) {
  return apply(where.form == Selecting::rows ? make_op<GatherOp>(where) : make_op<SelectOp>(where), {x, indices});
}
Tensor scattered(kernels::ScatterKind op, const GatherAttributes& where, const Tensor& x, const Tensor& indices,
                 const Tensor& updates, Repeats repeats = Repeats::in_order) {
  return apply(make_op<ScatterOp>(ScatterAttributes{where, op, repeats}), {x, indices, updates});
}

// Of each index or tuple, whether its update stays where several replace an element: of the last of them.
Tensor last_of_element(const GatherAttributes& where, const Shape& x, const Tensor& indices) {
  GatherAttributes places = where;  // of the elements that one index or tuple chooses only the first
  Shape whole = x, numbered = indices.shape();
  std::int64_t count = element_count(numbered);
  if (where.form == Selecting::rows) {
    places.axis = 0;
    whole = {x[where.axis]};
  } else if (where.form == Selecting::elements) {
    count = numbered[where.axis];
    for (int d = 0; d < numbered.rank(); ++d) {
      if (d != where.axis) numbered[d] = 1;
    }
  } else {
    while (whole.rank() > where.axis + static_cast<int>(indices.shape()[-1])) whole.pop_back();
    numbered.pop_back();
    for (int d = 0; d < where.axis; ++d) numbered[d] = 1;
    count = element_count(numbered);
  }
  const DType type = position_type(count);
  Shape shape = indices.shape();
  if (where.form == Selecting::tuples) shape.pop_back();
  const Tensor numbers = broadcast_to(reshape(arange(0, count, 1, type), numbered), shape);
  const Tensor last = scattered(kernels::ScatterKind::max, places, full(whole, -1, type), indices, numbers);
  return gathered(places, last, clamped_indices(where, x, indices)) == numbers;
}

// What there is of each index or tuple, with axes behind so that it broadcasts to the updates.
Tensor along_updates(const GatherAttributes& where, const Tensor& of_indices, int rank) {
  Shape shape = of_indices.shape();
  const int leading = where.form == Selecting::rows ? where.axis : 0;
  while (shape.rank() + leading < rank) shape.push_back(1);
  return reshape(of_indices, shape);
}

// Cotangents of what was read are added where it was read.
Derivatives gather_vjp(const GatherAttributes& where, const Differentiated& node, const Tensor& g) {
  const Tensor &x = node.inputs[0], &indices = node.inputs[1];
  if (element_count(g.shape()) == 0) return std::vector<Tensor>(2);
  return std::vector{
      scattered(kernels::ScatterKind::add, where, zeros_of(x.type()), clamped_indices(where, x.shape(), indices), g),
      Tensor()};
}

// ---- Products of updates of one element: the derivatives of scatters that multiply.

Tensor conjugate(const Tensor& x) { return x.dtype() == DType::c64 ? conj(x) : x; }
Tensor zero_of(const Tensor& x) { return Graph::scalar(0, x.dtype()); }

// Updates in the order of the elements that they go to, as a list along one axis.
class SortedUpdates {
 public:
  SortedUpdates(const GatherAttributes& where, const Shape& x, const Tensor& indices) : where_(where) {
    const bool rows = where.form == Selecting::rows, tuples = where.form == Selecting::tuples;
    const int components = tuples ? static_cast<int>(indices.shape()[-1]) : 1, axis = rows ? 0 : where.axis;
    if (rows) listed_axes_ = indices.rank();
    if (tuples) listed_axes_ = indices.rank() - 1 - where.axis;
    std::int64_t elements = 1;
    for (int k = 0; k < components; ++k) elements *= x[where.axis + k];
    // The element's number; of indices outside, which are of no element, the one behind the last.
    const DType type = position_type(elements + 1);
    const Tensor reached = clamped_indices(where, x, indices);
    Tensor number;
    for (int k = 0; k < components; ++k) {
      const std::int64_t n = x[where.axis + k];
      const Tensor given = cast(tuples ? squeeze(slice(reached, -1, k, k + 1), -1) : reached, type);
      const Tensor at = select(given < 0, given + n, given);
      number = number.defined() ? number * n + at : at;
    }
    number = listed(select(indices_inside(where, x, indices), number, elements), axis);
    const Tensor order = argsort(number, axis), sorted = gather_elements(number, order, axis);
    order_ = tuples ? expand_dims(order, -1) : order;
    const std::int64_t n = number.shape()[axis];
    std::vector<std::int64_t> before(static_cast<std::size_t>(number.rank()), 0), after = before;
    after[static_cast<std::size_t>(axis)] = 1;
    joined_ = pad(slice(sorted, axis, 0, n - 1) == slice(sorted, axis, 1, n), before, after);
  }

  // How products_of_others() change along a tangent of the updates.
  Tensor tangents_of_others(const Tensor& updates, const Tensor& tangent) const {
    const Tensor list = in_order(updates), joined = along_updates(where_, joined_, list.rank());
    const Tensor made = weft::tangents_of_others(list, in_order(tangent), joined, where_.axis);
    const Tensor back =
        scattered(kernels::ScatterKind::assign, where_, zeros_of(made.type()), order_, made, Repeats::none);
    return reshape(back, updates.shape());
  }

 private:
  // With the axes that number rows or tuples as one, which begin at `first`.
  Tensor listed(const Tensor& t, int first) const {
    Shape shape = t.shape();
    std::int64_t length = 1;
    for (int d = 0; d < listed_axes_; ++d) {
      length *= shape[first];
      shape.erase(first);
    }
    shape.insert(first, length);
    return reshape(t, shape);
  }
  Tensor in_order(const Tensor& updates) const { return gathered(where_, listed(updates, where_.axis), order_); }

  const GatherAttributes& where_;
  int listed_axes_ = 1;
  Tensor order_, joined_;
};

// Of each element the product of its updates, and what it is without one that is 0 or, where none is, infinite.
struct UpdateProducts {
  Tensor all, without_one;
};

// As of prod() a zero counts more than infinities. Without `apart` infinities are among the others, which makes `all`
// alone right.
UpdateProducts update_products(const GatherAttributes& where, const Shape& x, const Tensor& indices,
                               const Tensor& factors, bool apart) {
  const bool real = factors.dtype() != DType::c64;
  const auto number = [&](double v) { return Graph::scalar(v, factors.dtype()); };
  const auto count = [&](const Tensor& condition) {
    return scattered(kernels::ScatterKind::add, where, zeros_of({DType::i32, x}), indices, cast(condition, DType::i32),
                     Repeats::combined);
  };
  const auto product = [&](const Tensor& of) {
    return scattered(kernels::ScatterKind::mul, where, broadcast_to(number(1), x), indices, of, Repeats::in_order);
  };
  const Tensor zero = factors == number(0), zeros = count(zero), not_zero = select(zero, number(1), factors);
  // With another zero, or another infinity, which NaN stays.
  const auto with_zero = [&](const Tensor& rest) { return real ? select(is_nan(rest), rest, number(0)) : number(0); };
  if (!apart || !real) {
    const Tensor rest = product(not_zero), none = with_zero(rest);
    return {select(zeros > 0, none, rest), select(zeros > 1, none, rest)};
  }
  const Tensor infinite = is_inf(factors), infinities = count(infinite);
  const Tensor rest = product(select(infinite, sign(factors), not_zero)), none = with_zero(rest);
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor more = select(is_nan(rest), rest, copysign(number(infinity), rest));
  return {select(zeros > 0, none, select(infinities > 0, more, rest)),
          select(zeros > 1, none, select(infinities > cast(zeros == 0, DType::i32), more, rest))};
}

// Of each update the product of the others of its element, which products of more than the type's range make infinite
// or 0, as they do to the product itself.
class ProductsOfOthers final : public CustomDerivative {
 public:
  ProductsOfOthers(GatherAttributes where, Shape x) : where_(where), x_(x) { results = 1; }
  // (The matrix of derivatives is symmetric.)
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> g) const override {
    if (!g[0].defined()) return std::vector<Tensor>(2);
    return std::vector{conjugate(along(call.inputs, conjugate(g[0]))), Tensor()};
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> t) const override {
    return std::vector{t[0].defined() ? along(call.inputs, t[0]) : Tensor()};
  }
  static Tensor of(const GatherAttributes& where, const Shape& x, const Tensor& indices, const Tensor& factors,
                   const UpdateProducts& products) {
    const Tensor reached = clamped_indices(where, x, indices);
    const Tensor all = gathered(where, products.all, reached), rest = gathered(where, products.without_one, reached);
    Tensor others = all / factors;
    if (factors.dtype() != DType::c64) {
      others = select(is_inf(factors), select(all == 0, all, rest * sign(factors)), others);
    }
    others = select(factors == zero_of(factors), rest, others);
    return with_derivative(std::make_shared<const ProductsOfOthers>(where, x), std::vector{others},
                           std::vector{factors, indices})[0];
  }

 private:
  Tensor along(std::span<const Tensor> operands, const Tensor& tangent) const {
    return SortedUpdates(where_, x_, operands[1]).tangents_of_others(operands[0], tangent);
  }

  GatherAttributes where_;
  Shape x_;
};

// Of each element the product of its updates.
class ProductsOfUpdates final : public CustomDerivative {
 public:
  ProductsOfUpdates(GatherAttributes where, Shape x) : where_(where), x_(x) { results = 1; }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> g) const override {
    if (!g[0].defined()) return std::vector<Tensor>(2);
    const Tensor &factors = call.inputs[0], &indices = call.inputs[1];
    const Tensor of_updates = gathered(where_, g[0], clamped_indices(where_, x_, indices));
    const Tensor made = zeros_absorbing_product(of_updates, conjugate(others(call.inputs)));
    return std::vector{
        select(along_updates(where_, indices_inside(where_, x_, indices), factors.rank()), made, zero_of(made)),
        Tensor()};
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> t) const override {
    if (!t[0].defined()) return std::vector{Tensor()};
    return std::vector{scattered(kernels::ScatterKind::add, where_, zeros_of({t[0].dtype(), x_}), call.inputs[1],
                                 zeros_absorbing_product(t[0], others(call.inputs)))};
  }
  static Tensor of(const GatherAttributes& where, const Shape& x, const Tensor& indices, const Tensor& factors,
                   const UpdateProducts& products) {
    return with_derivative(std::make_shared<const ProductsOfUpdates>(where, x), std::vector{products.all},
                           std::vector{factors, indices})[0];
  }

 private:
  Tensor others(std::span<const Tensor> operands) const {
    const UpdateProducts products = update_products(where_, x_, operands[1], operands[0], true);
    return ProductsOfOthers::of(where_, x_, operands[1], operands[0], products);
  }

  GatherAttributes where_;
  Shape x_;
};

// The rows or elements of x, where that is a conversion to a type of as many bits or more: taken first and converted
// then, if these are no more; undefined: they are not.
Tensor converted_after(const GatherAttributes& where, const Tensor& x, const Tensor& indices) {
  const Expression* e = x.node()->op().elementwise();
  if (!e || e->nodes().size() != 2 || e->outputs().size() != 1) return {};
  if (e->nodes()[static_cast<std::size_t>(e->outputs()[0])].op != ScalarOp::cast) return {};
  const Tensor& from = input_of(x);
  if (from.shape() != x.shape() || bits(from.dtype()) > bits(x.dtype())) return {};
  const Tensor taken = gathered(where, from, indices);
  return element_count(taken.shape()) <= element_count(x.shape()) ? cast(taken, x.dtype()) : Tensor();
}

std::vector<int> axes_from(int first, int count) {
  std::vector<int> axes;
  for (int i = 0; i < count; ++i) axes.push_back(first + i);
  return axes;
}
Tensor axes_moved(const Tensor& x, int count, int from, int to) {
  return from == to || count == 0 ? x : moveaxis(x, axes_from(from, count), axes_from(to, count));
}

// Parts of entries that begin at starts of their own: x of each entry with the named axes in front, as one.
struct EachPart {
  std::vector<int> order;  // of the axes of a batch of x
  Shape whole, part;       // of such a batch, the named axes as one
  Shape separate;          // the part, the named axes apart
  Tensor places;           // [batch, elements along the named axes, 1]

  Tensor joined(const Tensor& x, const Shape& shape) const { return reshape(permute(x, order), shape); }
  Tensor apart(const Tensor& x, Shape shape) const {
    std::vector<int> back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    return permute(reshape(x, shape), back);
  }
};

// `x` and `part`: shapes of a batch; starts [batch, axes] or [batch]. Along other axes parts begin at 0.
EachPart each_part(const Shape& x, const Shape& part, const Tensor& starts, std::vector<int> axes) {
  const auto given = static_cast<int>(axes.size());
  for (int& axis : axes) ++axis;
  for (int d = 1; d < x.rank(); ++d) {
    if (part[d] < x[d] && std::ranges::count(axes, d) == 0) axes.push_back(d);
  }
  EachPart each{.order = {0}, .whole = {x[0], 1}, .part = {x[0], 1}, .separate = {x[0]}, .places = {}};
  for (const int d : axes) {
    each.order.push_back(d);
    each.whole[1] *= x[d];
    each.part[1] *= part[d];
    each.separate.push_back(part[d]);
  }
  for (int d = 1; d < x.rank(); ++d) {
    if (std::ranges::count(axes, d) > 0) continue;
    each.order.push_back(d);
    each.whole.push_back(x[d]);
    each.part.push_back(part[d]);
    each.separate.push_back(part[d]);
  }
  const DType type = position_type(each.whole[1]);
  std::int64_t count = 1;
  Tensor places = zeros_of({type, {x[0], 1}});
  for (int i = 0; i < static_cast<int>(axes.size()); ++i) {
    const std::int64_t n = x[axes[static_cast<std::size_t>(i)]], size = part[axes[static_cast<std::size_t>(i)]];
    Tensor along = arange(0, size, 1, type);  // [size], or [batch, size]
    if (i < given) {
      const Tensor start = given == 1 ? reshape(starts, {x[0], 1}) : slice(starts, 1, i, i + 1);
      // Of the start's own type, whose numbers may be less than the axis has.
      const GatherAttributes inside{Selecting::rows, 0};
      const Tensor highest = bounds_of(inside, {n - size + 1}, start.type()).high;
      along = cast(clamp(start, Graph::scalar(0, start.dtype()), highest), type) + along;
    }
    const Tensor rows = reshape(along, {i < given ? x[0] : 1, 1, size});
    count *= size;
    places = reshape(expand_dims(places, 2) * Graph::scalar(n, type) + rows, {x[0], count});
  }
  each.places = expand_dims(places, 2);
  return each;
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

Derivatives DynamicSliceOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Tensor& x = node.inputs[0];
  return std::vector{dynamic_update_slice(zeros_of(x.type()), g[0], node.inputs[1], a.axes), Tensor()};
}
std::optional<Batched> DynamicSliceOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const std::int64_t size = batch_size(in, axes);
  const Tensor x = batch_first(in[0], axes[0], size);
  Shape part = a.sizes;
  part.insert(0, size);
  if (axes[1] < 0) {
    std::vector<int> shifted = a.axes;
    for (int& axis : shifted) ++axis;
    return batched(dynamic_slice(x, in[1], part, shifted));
  }
  const EachPart each = each_part(x.shape(), part, batch_first(in[1], axes[1], size), a.axes);
  return batched(each.apart(gather_nd(each.joined(x, each.whole), each.places, 1), each.separate));
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

Derivatives DynamicUpdateSliceOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Tensor &update = node.inputs[1], &starts = node.inputs[2];
  std::vector<Tensor> made(3);
  if (node.wanted[0]) made[0] = dynamic_update_slice(g[0], zeros_of(update.type()), starts, a.axes);
  if (node.wanted[1]) made[1] = dynamic_slice(g[0], starts, update.shape(), a.axes);
  return made;
}
Derivatives DynamicUpdateSliceOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  const auto of = [&](std::size_t i) { return or_zeros(t[i], node.inputs[i].type()); };
  return std::vector{dynamic_update_slice(of(0), of(1), node.inputs[2], a.axes)};
}
std::optional<Batched> DynamicUpdateSliceOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const std::int64_t size = batch_size(in, axes);
  const Tensor x = batch_first(in[0], axes[0], size), update = batch_first(in[1], axes[1], size);
  if (axes[2] < 0) {
    std::vector<int> shifted = a.axes;
    for (int& axis : shifted) ++axis;
    return batched(dynamic_update_slice(x, update, in[2], shifted));
  }
  const EachPart each = each_part(x.shape(), update.shape(), batch_first(in[2], axes[2], size), a.axes);
  const Tensor y = scatter_nd(kernels::ScatterKind::assign, each.joined(x, each.whole), each.places,
                              each.joined(update, each.part), 1);
  return batched(each.apart(y, permute(x, each.order).shape()));
}

std::vector<TensorType> GatherOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype("gather", {&in[0], &in[1]});
  return {{type, selected("gather", Selecting::rows, in[0], in[1], a.axis)}};
}

Tensor GatherOp::simplified(std::span<const Tensor> in) const { return converted_after(a, in[0], in[1]); }

void GatherOp::lower(const Launch& call) const {
  kernels::gather(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axis);
}

Work GatherOp::work(const Launch& call) const {
  // Of the table, as much as is taken.
  const std::uint64_t bytes = 2 * touched_bytes(call.outputs[0]) + touched_bytes(call.inputs[1]);
  return {.bytes = bytes};
}

// Clamped indices choose the elements at the edge, and so do their cotangents.
Derivatives GatherOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  return gather_vjp(a, node, g[0]);
}
std::optional<Batched> GatherOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  if (axes[1] < 0) return batched(gather(batch_first(in[0], axes[0], 0), in[1], a.axis + 1));
  if (axes[0] < 0) return Batched{{gather(in[0], in[1], a.axis)}, {a.axis + axes[1]}};
  // By tuples of one index, with the entries as a common axis.
  const Tensor indices = batch_first(in[1], axes[1], 0);
  const Tensor x = moveaxis(batch_first(in[0], axes[0], 0), a.axis + 1, 1);
  const Tensor y = gather_nd(x, expand_dims(indices, -1), 1);
  return batched(axes_moved(y, indices.rank() - 1, 1, a.axis + 1));
}
std::vector<Tensor> GatherOp::vmap_in_order(const BatchInOrder& batch) const {
  if (batch.has_batch[1]) return {};
  const Tensor& indices = batch.inputs[1];
  return {gather(along_axis_in_order(batch, 0, a.axis), reshape(indices, {indices.size()}), 1)};
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
    if (!slice || slice->a.axis != a.axis || slice->a.step != 1) return {};
    if (slice->a.of(input_of(part).shape()[a.axis]).begin != at) return {};
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

Derivatives ConcatOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  std::vector<Tensor> made;
  std::int64_t begin = 0;
  for (const Tensor& part : node.inputs) {
    const std::int64_t end = begin + part.shape()[a.axis];
    made.push_back(slice(g[0], a.axis, begin, end));
    begin = end;
  }
  return made;
}
Derivatives ConcatOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < t.size(); ++i) parts.push_back(or_zeros(t[i], node.inputs[i].type()));
  return std::vector{concat(parts, a.axis)};
}
std::optional<Batched> ConcatOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const std::int64_t size = batch_size(in, axes);
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < in.size(); ++i) parts.push_back(batch_first(in[i], axes[i], size));
  return batched(concat(parts, a.axis + 1));
}
std::vector<Tensor> ConcatOp::vmap_in_order(const BatchInOrder& batch) const {
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) parts.push_back(along_axis_in_order(batch, i, a.axis));
  return {concat(parts, 1)};
}

std::vector<TensorType> SelectOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0], &in[1]});
  return {{type, selected(name(), a.form, in[0], in[1], a.axis)}};
}

Tensor SelectOp::simplified(std::span<const Tensor> in) const { return converted_after(a, in[0], in[1]); }

void SelectOp::lower(const Launch& call) const {
  if (a.form == Selecting::elements) {
    kernels::gather_elements(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axis);
  } else
    kernels::gather_nd(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axis);
}

Derivatives SelectOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Tensor &x = node.inputs[0], &indices = node.inputs[1];
  Shape chosen = x.shape();
  if (a.form == Selecting::elements) chosen[a.axis] = 1;
  if (a.form != Selecting::elements || indices.shape() != chosen || x.shape()[a.axis] == 0) {
    return gather_vjp(a, node, g[0]);
  }
  // One element of each row: zeros but for it, as elementwise work, which is fused with what uses them.
  const std::int64_t n = x.shape()[a.axis];
  const DType type = position_type(n);
  Shape numbered = Shape::filled(x.rank(), 1);
  numbered[a.axis] = n;
  const Tensor at = cast(clamped_indices(a, x.shape(), indices), type);
  const Tensor is_chosen = reshape(arange(0, n, 1, type), numbered) == select(at < 0, at + n, at);
  return std::vector{select(is_chosen, g[0], Graph::scalar(0, x.dtype())), Tensor()};
}
std::optional<Batched> SelectOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const std::int64_t size = batch_size(in, axes);
  const Tensor indices = batch_first(in[1], axes[1], size);
  if (axes[0] < 0 && a.form == Selecting::tuples && a.axis == 0) return batched(gathered(a, in[0], indices));
  return batched(gathered({a.form, a.axis + 1}, batch_first(in[0], axes[0], size), indices));
}
// True if the indices choose elements of all rows: they may leave out rows of x at the end of other axes.
static bool along_axis_alone(const GatherAttributes& a, const BatchInOrder& batch) {
  Shape chosen = batch.entries[0].shape;
  if (a.form == Selecting::elements) chosen[a.axis] = batch.entries[1].shape[a.axis];
  return a.form == Selecting::elements && chosen == batch.entries[1].shape;
}
std::vector<Tensor> SelectOp::vmap_in_order(const BatchInOrder& batch) const {
  if (!along_axis_alone(a, batch)) return {};
  return {gathered({a.form, 1}, along_axis_in_order(batch, 0, a.axis), along_axis_in_order(batch, 1, a.axis))};
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
  // Of several updates that replace an element the last one stays, whose the derivative is.
  const bool assigns = a.op == kernels::ScatterKind::assign;
  const bool ordered = a.repeats == Repeats::in_order || (a.repeats == Repeats::combined && assigns);
  switch (a.where.form) {
    case Selecting::rows:
      return kernels::scatter(call.stream, a.op, indices, updates, y, a.where.axis, ordered);
    case Selecting::elements:
      return kernels::scatter_elements(call.stream, a.op, indices, updates, y, a.where.axis, ordered);
    case Selecting::tuples:
      return kernels::scatter_nd(call.stream, a.op, indices, updates, y, a.where.axis, ordered);
  }
}

Work ScatterOp::work(const Launch& call) const {
  // Elements that are combined with updates are read, too.
  const std::uint64_t read = a.op == kernels::ScatterKind::assign ? 0 : touched_bytes(call.inputs[2]);
  return {.bytes = work_of_updates(call, call.inputs[2], call.inputs[1]).bytes + read};
}

Derivatives ScatterOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  using kernels::ScatterKind;
  const Tensor &x = node.inputs[0], &indices = node.inputs[1], &updates = node.inputs[2], &y = node.outputs[0];
  const Tensor& g = cotangents[0];
  const GatherAttributes& where = a.where;
  if (element_count(updates.shape()) == 0) return std::vector{g, Tensor(), Tensor()};
  const Tensor reached = clamped_indices(where, x.shape(), indices);
  const auto read = [&](const Tensor& t) { return gathered(where, t, reached); };
  const Tensor inside = along_updates(where, indices_inside(where, x.shape(), indices), updates.rank());
  const auto zero = [](const Tensor& like) { return Graph::scalar(0, like.dtype()); };
  std::vector<Tensor> made(3);
  switch (a.op) {
    case ScatterKind::add:
      made[0] = g;
      if (node.wanted[2]) made[2] = select(inside, read(g), zero(g));
      break;
    case ScatterKind::assign: {
      if (node.wanted[0]) made[0] = scattered(ScatterKind::assign, where, g, indices, zeros_of(updates.type()));
      if (!node.wanted[2]) break;
      Tensor stays = inside;
      if (a.repeats != Repeats::none) {
        stays = logical_and(stays, along_updates(where, last_of_element(where, x.shape(), indices), updates.rank()));
      }
      made[2] = select(stays, read(g), zero(g));
      break;
    }
    case ScatterKind::min:
    case ScatterKind::max: {
      // Shared evenly by x and the updates that are the result, as PyTorch's scatter_reduce does it.
      const Tensor x_is = x == y, update_is = logical_and(inside, updates == read(y));
      const Tensor number =
          scattered(ScatterKind::add, where, cast(x_is, DType::i32), indices, cast(update_is, DType::i32));
      const Tensor share = g / cast(number, g.dtype());
      made[0] = share * cast(x_is, g.dtype());
      if (node.wanted[2]) made[2] = select(inside, read(share), zero(g)) * cast(update_is, g.dtype());
      break;
    }
    case ScatterKind::mul: {
      // By the other factors: of x its updates, of an update x and the other updates of its element.
      const Tensor factors = accumulated(updates);
      const bool several = a.repeats != Repeats::none;
      UpdateProducts products;
      if (node.wanted[0] || several) {
        products = update_products(where, x.shape(), indices, factors, node.wanted[2] != 0);
      }
      if (node.wanted[0]) {
        const Tensor all = ProductsOfUpdates::of(where, x.shape(), indices, factors, products);
        made[0] = cast(zeros_absorbing_product(accumulated(g), conjugate(all)), g.dtype());
      }
      if (!node.wanted[2]) break;
      Tensor others = accumulated(read(x));
      if (several) {
        others = zeros_absorbing_product(others, ProductsOfOthers::of(where, x.shape(), indices, factors, products));
      }
      const Tensor of_updates = zeros_absorbing_product(accumulated(read(g)), conjugate(others));
      made[2] = select(inside, cast(of_updates, g.dtype()), zero(g));
      break;
    }
  }
  return made;
}

Derivatives ScatterOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  if (a.op != kernels::ScatterKind::add && a.op != kernels::ScatterKind::assign) return std::nullopt;
  const auto of = [&](std::size_t i) { return or_zeros(t[i], node.inputs[i].type()); };
  return std::vector{scattered(a.op, a.where, of(0), node.inputs[1], of(2))};
}

std::optional<Batched> ScatterOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const std::int64_t size = batch_size(in, axes);
  const Tensor x = batch_first(in[0], axes[0], size), updates = batch_first(in[2], axes[2], size);
  GatherAttributes where = a.where;
  ++where.axis;
  if (where.form != Selecting::rows) {
    return batched(scattered(a.op, where, x, batch_first(in[1], axes[1], size), updates, a.repeats));
  }
  if (axes[1] < 0) return batched(scattered(a.op, where, x, in[1], updates, a.repeats));
  // By tuples of one index, with the entries as a common axis.
  const Tensor indices = batch_first(in[1], axes[1], size);
  const Tensor y = scattered(a.op, {Selecting::tuples, 1}, moveaxis(x, where.axis, 1), expand_dims(indices, -1),
                             axes_moved(updates, indices.rank() - 1, where.axis, 1), a.repeats);
  return batched(moveaxis(y, 1, where.axis));
}
std::vector<Tensor> ScatterOp::vmap_in_order(const BatchInOrder& batch) const {
  const int axis = a.where.axis;
  const Tensor x = along_axis_in_order(batch, 0, axis);
  if (a.where.form == Selecting::rows) {
    if (batch.has_batch[1]) return {};
    const Tensor &indices = batch.inputs[1], updates = along_axis_in_order(batch, 2, axis, indices.rank());
    return {scattered(a.op, {a.where.form, 1}, x, reshape(indices, {indices.size()}), updates, a.repeats)};
  }
  if (!along_axis_alone(a.where, batch)) return {};
  return {scattered(a.op, {a.where.form, 1}, x, along_axis_in_order(batch, 1, axis),
                    along_axis_in_order(batch, 2, axis), a.repeats)};
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
  return apply(make_op<ConcatOp>(ConcatAttributes{axis}), parts);
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

Tensor scatter_different(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis) {
  return scattered(kernels::ScatterKind::assign, {Selecting::rows, axis}, x, indices, updates, Repeats::none);
}
Tensor scatter_different_elements(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis) {
  return scattered(kernels::ScatterKind::assign, {Selecting::elements, axis}, x, indices, updates, Repeats::none);
}

Tensor scatter_nd(kernels::ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates,
                  int batch) {
  if (!x.defined() || !indices.defined() || !updates.defined())
    throw InvalidArgument("scatter_nd: an operand is an undefined Tensor");
  return apply(make_op<ScatterOp>(ScatterAttributes{{Selecting::tuples, batch}, op}), {x, indices, updates});
}

namespace {

// ---- Rows of functions that are more than the op of their name, or have none.

struct SplitAttributes {
  std::vector<std::int64_t> sizes = {};
  int axis = 0;
  void fields(AttributeVisitor& v) {
    v("sizes", sizes, "how many elements each piece has along the axis");
    v("axis", axis, 0, "the axis that is cut");
  }
};
constexpr Function kSplit = {{.name = "split",
                              .operands = {{"x"}},
                              .results = {{"y", "x's shape but for axis", "x's type", Arity::repeated}},
                              .formula = "[y[0], y[1], …] = x along axis",
                              .summary = "x cut into consecutive pieces of the sizes"},
                             [](const Tensor& x, const SplitAttributes& a) {
                               const int axis = normalize_axis(a.axis, x.rank(), "split");
                               std::int64_t total = 0;
                               for (const std::int64_t n : a.sizes) {
                                 if (n < 0) throw InvalidArgument("split: a size of {}", n);
                                 if (add_overflows(total, n, total))
                                   throw ShapeError("split: sizes that pass 2^63 together");
                               }
                               if (total != x.shape()[axis]) {
                                 throw ShapeError("split: sizes of {} together for axis {} of {}", total, axis,
                                                  to_string(x.type()));
                               }
                               std::vector<Tensor> parts;
                               std::int64_t begin = 0;
                               for (const std::int64_t n : a.sizes) {
                                 parts.push_back(slice(x, axis, begin, begin + n));
                                 begin += n;
                               }
                               return parts;
                             }};

struct ElementsAttributes {
  GatherAttributes where = {.form = Selecting::elements};
  void fields(AttributeVisitor& v) { where.fields(v); }
};
constexpr Function kGatherElements = {
    {.name = "gather_elements",
     .operands = {{"x"}, {.name = "indices", .shape = "x's rank"}},
     .results = {{"y", "indices' shape; other axes than the named one broadcast with x's", "x's type"}},
     .formula = "y[i…, j, k…] = x[i…, indices[i…, j, k…], k…]",
     .summary = "single elements of x, each chosen by an index of its own"},
    [](const Tensor& x, const Tensor& indices, const ElementsAttributes& a) {
      const int axis = normalize_axis(a.where.axis, x.rank(), "gather_elements");
      const auto [of_x, of_indices] = broadcast_elements("gather_elements", x, indices, axis);
      return apply(make_op<SelectOp>(GatherAttributes{Selecting::elements, axis}),
                   {broadcast_to(x, of_x), broadcast_to(indices, of_indices)});
    }};

struct ScatterElementsAttributes {
  ScatterAttributes scatter = {.where = {.form = Selecting::elements}};
  void fields(AttributeVisitor& v) { scatter.fields(v); }
};
constexpr Function kScatterElements = {
    {.name = "scatter_elements",
     .operands = {{"x"},
                  {.name = "indices", .shape = "x's rank"},
                  {.name = "updates", .shape = "broadcasts to the elements that are chosen"}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y = x, then y[i…, indices[i…, j, k…], k…] = op(y[i…, indices[i…, j, k…], k…], updates[i…, j, k…])",
     .summary = "a copy of x with single elements, each chosen by an index of its own, combined with updates; negative "
                "indices count from the end, updates whose index is outside are ignored"},
    [](const Tensor& x, const Tensor& indices, const Tensor& updates, const ScatterElementsAttributes& a) {
      ScatterAttributes attributes = a.scatter;
      const int axis = normalize_axis(attributes.where.axis, x.rank(), "scatter_elements");
      attributes.where.axis = axis;
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
      return apply(make_op<ScatterOp>(std::move(attributes)), {x, at, values});
    }};

}  // namespace

std::vector<Tensor> split(const Operand& x, std::span<const std::int64_t> sizes, int axis) {
  return kSplit(x, {{sizes.begin(), sizes.end()}, axis});
}

Tensor gather_elements(const Operand& x, const Operand& indices, int axis) {
  return kGatherElements(x, indices, {{Selecting::elements, axis}});
}

Tensor scatter_elements(kernels::ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates,
                        int axis) {
  return kScatterElements(x, indices, updates, {{{Selecting::elements, axis}, op}});
}

void add_index_functions(FunctionRows& rows) { rows.add(kSplit, kGatherElements, kScatterElements); }

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
