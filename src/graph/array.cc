// The array API's functions as compositions of others (weft/array.h).
#include "weft/array.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "core/error_context.h"
#include "core/format.h"
#include "core/system.h"
#include "graph/axes.h"
#include "graph/functions.h"
#include "graph/promotion.h"
#include "weft/error.h"
#include "weft/indexing.h"

namespace weft {
namespace {

void require(const Tensor& x, std::string_view function) {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", function);
}

Tensor cumulative(ScanKind op, std::string_view name, const Tensor& x, std::optional<int> axis,
                  std::optional<DType> dtype, bool include_initial) try {
  require(x, name);
  if (!axis && x.rank() != 1) throw ShapeError("{}: x is {}; an axis is needed", name, to_string(x.type()));
  const int along = normalize_axis(axis.value_or(0), x.rank(), name);
  const DType type = dtype.value_or(summed(x.dtype()));
  Tensor y = cast(x, type);
  if (type == DType::boolean) {
    // In arithmetic of bool a sum is "or", and a product "and".
    y = cast(scan(op == ScanKind::sum ? ScanKind::max : ScanKind::min, cast(y, DType::u8), along), DType::boolean);
  } else {
    y = scan(op, y, along);
  }
  if (!include_initial) return y;
  Shape first = x.shape();
  first[along] = 1;
  return concat({broadcast_to(Graph::scalar(op == ScanKind::sum ? 0 : 1, y.dtype()), first), y}, along);
} catch (const Error& e) {
  throw_in_function(e, name);
}

std::vector<Tensor> list(std::initializer_list<Tensor> tensors) { return {tensors.begin(), tensors.end()}; }

// All as their common type.
std::vector<Tensor> promoted(std::string_view function, std::span<const Tensor> tensors) {
  if (tensors.empty()) throw InvalidArgument("{}: no tensor was given", function);
  for (const Tensor& t : tensors) require(t, function);
  const DType type = result_type_for(function, tensors);
  std::vector<Tensor> same;
  for (const Tensor& t : tensors) same.push_back(cast(t, type));
  return same;
}

// The shape to which these broadcast.
Shape common_shape(const char* function, std::span<const Shape> shapes) try {
  Shape all;
  for (const Shape& shape : shapes) {
    if (std::ranges::any_of(shape, [](std::int64_t n) { return n < 0; })) {
      throw ShapeError("{}: shape {} has a negative size", function, to_string(shape));
    }
    all = broadcast(all, shape);
  }
  return all;
} catch (const Error& e) {
  throw_in_function(e, function);
}

Tensor transposed(const Operand& x) try {
  require(x, "T");
  if (x.rank() < 2) throw ShapeError("T: a tensor of shape {} has no two axes to exchange", to_string(x.shape()));
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute(x, order);
} catch (const Error& e) {
  throw_in_function(e, "T");
}

Tensor all_over(const Operand& x, const Axes& axes, bool keep_dims) try {
  require(x, "all");
  return reduce(ReduceKind::all, x, axes, keep_dims);
} catch (const Error& e) {
  throw_in_function(e, "all");
}

}  // namespace

// ---- Members that are functions

// Each member twice: of a tensor, and of what a function returned.
#define WEFT_MEMBER_OF(name, function, parameters, ...)                                        \
  Tensor Tensor::name parameters const& { return function(*this __VA_OPT__(, ) __VA_ARGS__); } \
  Tensor Tensor::name parameters&& { return function(std::move(*this) __VA_OPT__(, ) __VA_ARGS__); }
#define WEFT_MEMBER(name, parameters, ...) WEFT_MEMBER_OF(name, weft::name, parameters __VA_OPT__(, ) __VA_ARGS__)
#define WEFT_REDUCTION(name) WEFT_MEMBER(name, (const Axes& axes, bool keep_dims), axes, keep_dims)
#define WEFT_MOMENT(name) \
  WEFT_MEMBER(name, (const Axes& axes, double correction, bool keep_dims), axes, correction, keep_dims)
WEFT_REDUCTION(sum)
WEFT_REDUCTION(mean)
WEFT_REDUCTION(prod)
WEFT_REDUCTION(any)
WEFT_MEMBER_OF(all, all_over, (const Axes& axes, bool keep_dims), axes, keep_dims)
WEFT_REDUCTION(max)
WEFT_REDUCTION(min)
WEFT_REDUCTION(argmax)
WEFT_REDUCTION(argmin)
WEFT_REDUCTION(count_nonzero)
WEFT_MOMENT(variance)
WEFT_MOMENT(deviation)
WEFT_MEMBER(cumsum, (int axis), axis)
WEFT_MEMBER(sort, (int axis, bool descending), axis, descending)
WEFT_MEMBER(argsort, (int axis, bool descending), axis, descending)
WEFT_MEMBER(softmax, (int axis), axis)
WEFT_MEMBER(log_softmax, (int axis), axis)
WEFT_MEMBER_OF(T, transposed, ())
WEFT_MEMBER(reshape, (const Shape& shape), shape)
WEFT_MEMBER(flatten, ())
WEFT_MEMBER(permute, (std::initializer_list<int> order), order)
WEFT_MEMBER(permute, (std::span<const int> order), order)
WEFT_MEMBER(moveaxis, (const Axes& from, const Axes& to), from, to)
WEFT_MEMBER(broadcast_to, (const Shape& shape), shape)
WEFT_MEMBER(expand_dims, (int axis), axis)
WEFT_MEMBER(squeeze, (int axis), axis)
WEFT_MEMBER(flip, (const Axes& axes), axes)
WEFT_MEMBER(roll, (std::int64_t shift), shift)
WEFT_MEMBER(roll, (std::initializer_list<std::int64_t> shifts, const Axes& axes), shifts, axes)
WEFT_MEMBER(tile, (std::initializer_list<std::int64_t> counts), counts)
WEFT_MEMBER(repeat, (std::int64_t count), count)
WEFT_MEMBER(repeat, (std::int64_t count, int axis), count, axis)
WEFT_MEMBER(diagonal, (std::int64_t offset), offset)
WEFT_MEMBER(tril, (std::int64_t diagonal), diagonal)
WEFT_MEMBER(triu, (std::int64_t diagonal), diagonal)
WEFT_MEMBER(cast, (DType dtype), dtype)
WEFT_MEMBER(matmul, (const Operand& b), b)
WEFT_MEMBER(pow, (const TensorLike& exponent), exponent)
WEFT_MEMBER(clamp, (const TensorLike& low, const TensorLike& high), low, high)
WEFT_MEMBER(abs, ())
WEFT_MEMBER(sign, ())
WEFT_MEMBER(square, ())
WEFT_MEMBER(sqrt, ())
WEFT_MEMBER(rsqrt, ())
WEFT_MEMBER(reciprocal, ())
WEFT_MEMBER(exp, ())
WEFT_MEMBER(log, ())
WEFT_MEMBER(sin, ())
WEFT_MEMBER(cos, ())
WEFT_MEMBER(tan, ())
WEFT_MEMBER(tanh, ())
WEFT_MEMBER(sigmoid, ())
WEFT_MEMBER(relu, ())
WEFT_MEMBER(floor, ())
WEFT_MEMBER(ceil, ())
WEFT_MEMBER(trunc, ())
WEFT_MEMBER(round, ())
WEFT_MEMBER(conj, ())
#undef WEFT_MOMENT
#undef WEFT_REDUCTION
#undef WEFT_MEMBER
#undef WEFT_MEMBER_OF

namespace {

// The result of x op= b as what x is. NumPy's casting of the same kind: from bool to integers to floats to complex
// numbers, and to narrower ones, but not back, and no signed integers to unsigned ones.
bool same_kind(DType from, DType to) {
  const auto rank = [](DType t) {
    switch (info(t).kind) {
      case DTypeKind::boolean:
        return 0;
      case DTypeKind::unsigned_integer:
        return 1;
      case DTypeKind::signed_integer:
        return 2;
      case DTypeKind::floating:
        return 3;
      case DTypeKind::complex:
        return 4;
    }
    return 4;
  };
  return rank(from) <= rank(to);
}

Tensor updated(std::string_view op, const Tensor& x, const TensorLike& b, const Tensor& result) {
  const std::string other = b.tensor() ? to_string(b.tensor()->type()) : to_string(b.number());
  if (!same_kind(result.dtype(), x.dtype())) {
    throw TypeError("{}: {} {} {} is {}, which {} does not hold; x = x {} {} changes the handle's type", op,
                    to_string(x.type()), op, other, name(result.dtype()), name(x.dtype()), op.substr(0, 1), other);
  }
  if (result.shape() != x.shape()) {
    throw ShapeError("{}: {} {} {} is {}, larger than x, which the update keeps; x = x {} … changes the handle's shape",
                     op, to_string(x.type()), op, other, to_string(result.type()), op.substr(0, 1));
  }
  return cast(result, x.dtype());
}

}  // namespace

#define WEFT_UPDATE(symbol)                                        \
  Tensor& Tensor::operator symbol## = (const TensorLike& b) & {    \
    return *this = updated(#symbol "=", *this, b, *this symbol b); \
  }
WEFT_UPDATE(+)
WEFT_UPDATE(-)
WEFT_UPDATE(*)
WEFT_UPDATE(/)
#undef WEFT_UPDATE

// ---- Creation

Tensor full_like(const Operand& x, Number value, std::optional<DType> dtype) {
  require(x, "full_like");
  return broadcast_to(Graph::scalar(value, dtype.value_or(x.dtype())), x.shape());
}

Tensor zeros_like(const Operand& x, std::optional<DType> dtype) {
  return in_function("zeros_like", [&] { return full_like(x, 0, dtype); });
}
Tensor ones_like(const Operand& x, std::optional<DType> dtype) {
  return in_function("ones_like", [&] { return full_like(x, 1, dtype); });
}

std::vector<Tensor> meshgrid(std::span<const Tensor> axes, GridOrder order) try {
  const int rank = static_cast<int>(axes.size());
  if (rank > kMaxRank) throw ShapeError("meshgrid: {} axes, at most {} are possible", rank, kMaxRank);
  Shape grid;
  for (const Tensor& t : axes) {
    require(t, "meshgrid");
    if (t.rank() > 1) throw ShapeError("meshgrid: an axis is {}, expected rank 1", to_string(t.type()));
    grid.push_back(t.size());
  }
  std::vector<Tensor> coordinates;
  for (int i = 0; i < rank; ++i) {
    Shape along = Shape::filled(rank, 1);
    along[i] = grid[i];
    Tensor c = broadcast_to(reshape(axes[static_cast<std::size_t>(i)], along), grid);
    if (order == GridOrder::xy && rank > 1) c = moveaxis(c, {0, 1}, {1, 0});
    coordinates.push_back(std::move(c));
  }
  return coordinates;
} catch (const Error& e) {
  throw_in_function(e, "meshgrid");
}

std::vector<Tensor> meshgrid(std::initializer_list<Tensor> axes, GridOrder order) {
  return meshgrid(std::span(axes.begin(), axes.size()), order);
}

Tensor tril(const Operand& x, std::int64_t diagonal) {
  return in_function("tril", [&] { return triangle(x, Triangle::lower, diagonal); });
}
Tensor triu(const Operand& x, std::int64_t diagonal) {
  return in_function("triu", [&] { return triangle(x, Triangle::upper, diagonal); });
}

// ---- Elementwise

Tensor divide(const TensorLike& a, const TensorLike& b) try {
  const std::array operands{&a, &b};
  for (const TensorLike* x : operands) {
    if (x->tensor()) require(*x->tensor(), "divide");
  }
  const DType type = averaged(result_type_for("divide", operands));
  return binary(ScalarOp::div, as_tensor("divide", a, type), as_tensor("divide", b, type));
} catch (const Error& e) {
  throw_in_function(e, "divide");
}

// ---- Statistics

Tensor sum(const Operand& x, const Axes& axes, bool keep_dims, std::optional<DType> dtype) try {
  require(x, "sum");
  const DType type = dtype.value_or(summed(x.dtype()));
  return reduce(type == DType::boolean ? ReduceKind::any : ReduceKind::sum, cast(x, type), axes, keep_dims);
} catch (const Error& e) {
  throw_in_function(e, "sum");
}

Tensor prod(const Operand& x, const Axes& axes, bool keep_dims, std::optional<DType> dtype) try {
  require(x, "prod");
  const DType type = dtype.value_or(summed(x.dtype()));
  return reduce(type == DType::boolean ? ReduceKind::all : ReduceKind::prod, cast(x, type), axes, keep_dims);
} catch (const Error& e) {
  throw_in_function(e, "prod");
}

Tensor mean(const Operand& x, const Axes& axes, bool keep_dims) try {
  require(x, "mean");
  return reduce(ReduceKind::mean, cast(x, averaged(x.dtype())), axes, keep_dims);
} catch (const Error& e) {
  throw_in_function(e, "mean");
}

Tensor max(const Operand& x, const Axes& axes, bool keep_dims) {
  require(x, "max");
  return in_function("max", [&] { return reduce(ReduceKind::max, x, axes, keep_dims); });
}

Tensor min(const Operand& x, const Axes& axes, bool keep_dims) {
  require(x, "min");
  return in_function("min", [&] { return reduce(ReduceKind::min, x, axes, keep_dims); });
}

Tensor any(const Operand& x, const Axes& axes, bool keep_dims) {
  require(x, "any");
  return in_function("any", [&] { return reduce(ReduceKind::any, x, axes, keep_dims); });
}

Tensor count_nonzero(const Operand& x, const Axes& axes, bool keep_dims) try {
  require(x, "count_nonzero");
  return reduce(ReduceKind::count, x, axes, keep_dims);
} catch (const Error& e) {
  throw_in_function(e, "count_nonzero");
}

Tensor cumulative_sum(const Operand& x, std::optional<int> axis, std::optional<DType> dtype, bool include_initial) {
  return cumulative(ScanKind::sum, "cumulative_sum", x, axis, dtype, include_initial);
}

Tensor cumulative_prod(const Operand& x, std::optional<int> axis, std::optional<DType> dtype, bool include_initial) {
  return cumulative(ScanKind::prod, "cumulative_prod", x, axis, dtype, include_initial);
}

Tensor diff(const Operand& x, int axis, int n, const Operand& prepend, const Operand& append) try {
  require(x, "diff");
  if (n < 0) throw InvalidArgument("diff: {} times", n);
  const int along = normalize_axis(axis, x.rank(), "diff");
  std::vector<Tensor> parts;
  for (const Tensor* part : {&prepend, &x, &append}) {
    if (part->defined()) parts.push_back(*part);
  }
  Tensor y = parts.size() == 1 ? Tensor(x) : concat(promoted("diff", parts), along);
  const DType type = y.dtype();
  y = in_bytes(y);
  // (More differences than elements leave none.)
  n = static_cast<int>(std::min<std::int64_t>(n, y.shape()[along]));
  for (int i = 0; i < n; ++i) {
    const std::int64_t size = y.shape()[along];
    const Tensor later = slice(y, along, std::min<std::int64_t>(size, 1), size);
    const Tensor earlier = slice(y, along, 0, std::max<std::int64_t>(size - 1, 0));
    y = y.dtype() == DType::boolean ? later != earlier : later - earlier;
  }
  return cast(y, type);
} catch (const Error& e) {
  throw_in_function(e, "diff");
}

// ---- Manipulation

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors) try {
  std::vector<Shape> shapes;
  for (const Tensor& t : tensors) {
    require(t, "broadcast_arrays");
    shapes.push_back(t.shape());
  }
  const Shape shape = common_shape("broadcast_arrays", shapes);
  std::vector<Tensor> all;
  for (const Tensor& t : tensors) all.push_back(broadcast_to(t, shape));
  return all;
} catch (const Error& e) {
  throw_in_function(e, "broadcast_arrays");
}

Shape broadcast_shapes(std::span<const Shape> shapes) { return common_shape("broadcast_shapes", shapes); }
Shape broadcast_shapes(std::initializer_list<Shape> shapes) {
  return broadcast_shapes(std::span(shapes.begin(), shapes.size()));
}

Tensor expand_dims(const Operand& x, const Axes& axes) try {
  require(x, "expand_dims");
  const std::vector<int> given = axes.of(0);
  std::vector<int> places = normalized_axes(given, x.rank() + static_cast<int>(given.size()), "expand_dims");
  std::ranges::sort(places);
  Shape shape = x.shape();
  for (const int place : places) shape.insert(place, 1);
  return reshape(x, shape);
} catch (const Error& e) {
  throw_in_function(e, "expand_dims");
}

Tensor squeeze(const Operand& x, const Axes& axes) try {
  require(x, "squeeze");
  std::vector<int> gone = normalized_axes(axes, x.rank(), "squeeze");
  std::ranges::sort(gone, std::greater());
  Tensor y = x;
  for (const int axis : gone) y = squeeze(y, axis);
  return y;
} catch (const Error& e) {
  throw_in_function(e, "squeeze");
}

Tensor concat(std::initializer_list<Tensor> parts, std::optional<int> axis) try {
  std::vector<Tensor> all = promoted("concat", std::span(parts.begin(), parts.size()));
  if (!axis) std::ranges::transform(all, all.begin(), flatten);
  const Tensor& first = *parts.begin();
  for (const Tensor& t : parts) {
    Shape a = first.shape(), b = t.shape();
    // (Else the operation speaks of the parts themselves.)
    if (!axis || t.dtype() == first.dtype()) continue;
    const int along = normalize_axis(*axis, a.rank(), "concat");
    if (a.rank() == b.rank()) a[along] = b[along];
    if (a == b) continue;
    throw ShapeError("concat: {} does not continue {} along axis {}", to_string(t.type()), to_string(first.type()),
                     *axis);
  }
  return concat(all, axis.value_or(0));
} catch (const Error& e) {
  throw_in_function(e, "concat");
}

Tensor stack(std::span<const Tensor> parts, int axis) try {
  std::vector<Tensor> all = promoted("stack", parts);
  const int along = normalize_axis(axis, all[0].rank() + 1, "stack");
  for (Tensor& t : all) {
    const Tensor& part = parts[static_cast<std::size_t>(&t - all.data())];
    if (t.shape() != all[0].shape()) {
      throw ShapeError("stack: parts are {} and {}, expected equal shapes", to_string(parts[0].type()),
                       to_string(part.type()));
    }
  }
  for (Tensor& t : all) t = expand_dims(t, along);
  return concat(all, along);
} catch (const Error& e) {
  throw_in_function(e, "stack");
}

Tensor stack(std::initializer_list<Tensor> parts, int axis) { return stack(list(parts), axis); }

std::vector<Tensor> unstack(const Operand& x, int axis) try {
  require(x, "unstack");
  const int along = normalize_axis(axis, x.rank(), "unstack");
  constexpr std::uint64_t kLeast = 512;  // bytes of a part's nodes
  if (static_cast<std::uint64_t>(x.shape()[along]) > physical_memory() / kLeast) {
    throw OutOfMemory("unstack: {} has {} parts along axis {}, more tensors than the host has memory for",
                      to_string(x.type()), x.shape()[along], along);
  }
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < x.shape()[along]; ++i) parts.push_back(squeeze(slice(x, along, i, i + 1), along));
  return parts;
} catch (const Error& e) {
  throw_in_function(e, "unstack");
}

Tensor flip(const Operand& x, const Axes& axes) try {
  require(x, "flip");
  Tensor y = x;
  for (const int a : normalized_axes(axes, x.rank(), "flip")) y = slice(y, a, x.shape()[a] - 1, -1, -1);
  return y;
} catch (const Error& e) {
  throw_in_function(e, "flip");
}

Tensor moveaxis(const Operand& x, const Axes& from, const Axes& to) try {
  require(x, "moveaxis");
  const std::vector<int> source = normalized_axes(from, x.rank(), "moveaxis");
  const std::vector<int> target = normalized_axes(to, x.rank(), "moveaxis");
  if (source.size() != target.size()) {
    throw ShapeError("moveaxis: {} axes are to be moved to {} places", source.size(), target.size());
  }
  std::vector<int> order(static_cast<std::size_t>(x.rank()), -1);
  for (std::size_t i = 0; i < source.size(); ++i) order[static_cast<std::size_t>(target[i])] = source[i];
  int next = 0;
  for (int& place : order) {
    if (place >= 0) continue;
    while (std::ranges::count(source, next)) ++next;
    place = next++;
  }
  return permute(x, order);
} catch (const Error& e) {
  throw_in_function(e, "moveaxis");
}

Tensor flatten(const Operand& x) {
  require(x, "flatten");
  return x.rank() == 1 ? Tensor(x) : reshape(x, {x.size()});
}

Tensor roll(const Operand& x, std::int64_t shift) try {
  require(x, "roll");
  const std::array<std::int64_t, 1> by{shift};
  return reshape(roll(flatten(x), std::span<const std::int64_t>(by)), x.shape());
} catch (const Error& e) {
  throw_in_function(e, "roll");
}

Tensor roll(const Operand& x, std::initializer_list<std::int64_t> shifts, const Axes& axes) try {
  require(x, "roll");
  std::vector<int> along;  // an axis may be named twice: shifts add up
  for (const int a : axes.of(x.rank())) along.push_back(normalize_axis(a, x.rank(), "roll"));
  if (shifts.size() != along.size() && shifts.size() != 1) {
    throw ShapeError("roll: {} shifts for {} axes", shifts.size(), along.size());
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(x.rank()), 0);
  for (std::size_t i = 0; i < along.size(); ++i) {
    const std::int64_t n = std::max<std::int64_t>(x.shape()[along[i]], 1);
    all[static_cast<std::size_t>(along[i])] += shifts.begin()[shifts.size() == 1 ? 0 : i] % n;
  }
  return roll(x, all);
} catch (const Error& e) {
  throw_in_function(e, "roll");
}

Tensor tile(const Operand& x, std::initializer_list<std::int64_t> counts) try {
  require(x, "tile");
  const int rank = std::max(x.rank(), static_cast<int>(counts.size()));
  Shape shape = Shape::filled(rank, 1);
  for (int i = 0; i < x.rank(); ++i) shape[rank - x.rank() + i] = x.shape()[i];
  std::vector<std::int64_t> all(static_cast<std::size_t>(rank), 1);
  std::ranges::copy(counts, all.end() - static_cast<std::ptrdiff_t>(counts.size()));
  return tile(reshape(x, shape), std::span<const std::int64_t>(all));
} catch (const Error& e) {
  throw_in_function(e, "tile");
}

Tensor repeat(const Operand& x, std::int64_t count) {
  return in_function("repeat", [&] { return repeat(flatten(x), count, 0); });
}

Tensor diagonal(const Operand& x, std::int64_t offset) try {
  require(x, "diagonal");
  if (x.rank() < 2) throw ShapeError("diagonal: x is {}, expected rank 2 or more", to_string(x.type()));
  const std::int64_t rows = x.shape()[-2], columns = x.shape()[-1];
  offset = std::clamp(offset, -rows, columns);
  const std::int64_t first_row = std::max<std::int64_t>(-offset, 0), first_column = std::max<std::int64_t>(offset, 0);
  const std::int64_t size = std::max<std::int64_t>(std::min(rows - first_row, columns - first_column), 0);
  // Its elements are columns + 1 apart in the flattened matrix.
  Shape flat = x.shape();
  flat.pop_back();
  flat[-1] = rows * columns;
  const Tensor elements = reshape(x, flat);
  const int last = x.rank() - 2;
  if (size == 0) return slice(elements, last, 0, 0);
  const std::int64_t begin = first_row * columns + first_column;
  return slice(elements, last, begin, begin + (size - 1) * (columns + 1) + 1, columns + 1);
} catch (const Error& e) {
  throw_in_function(e, "diagonal");
}

}  // namespace weft
