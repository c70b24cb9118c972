#include "graph/ops/view.h"

#include <algorithm>
#include <limits>

#include "core/error_context.h"
#include "graph/graph.h"
#include "graph/ops/iota_view.h"
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

std::vector<TensorType> ReshapeOp::infer(std::span<const TensorType> in) const {
  const std::int64_t have = element_count(in[0].shape);
  const std::int64_t want = element_count(shape_);
  if (have != want) {
    throw ShapeError("reshape: {} has {} elements, {} has {}", weft::to_string(in[0].shape), have,
                     weft::to_string(shape_), want);
  }
  return {{in[0].dtype, shape_}};
}

std::optional<Placement> ReshapeOp::place(const Layout& x) const {
  Placement p;
  if (!x.reshaped(shape_, p.layout)) return std::nullopt;
  return p;
}

std::vector<TensorType> PermuteOp::infer(std::span<const TensorType> in) const {
  return {{in[0].dtype, Layout::dense(in[0].shape).permuted(order_).shape}};
}

std::optional<Placement> PermuteOp::place(const Layout& x) const { return Placement{0, x.permuted(order_)}; }

std::vector<TensorType> BroadcastOp::infer(std::span<const TensorType> in) const {
  try {
    return {{in[0].dtype, Layout::dense(in[0].shape).broadcast_to(shape_).shape}};
  } catch (const InvalidArgument& e) {
    throw ShapeError("broadcast_to: {}", e.what());
  }
}

std::optional<Placement> BroadcastOp::place(const Layout& x) const { return Placement{0, x.broadcast_to(shape_)}; }

Tensor BroadcastOp::simplified(std::span<const Tensor> x) const {
  Tensor inner = x[0];
  while (op_of<BroadcastOp>(inner)) inner = input_of(inner);
  return broadcast_to(inner, shape_);
}

Tensor SliceOp::simplified(std::span<const Tensor> x) const {
  return step_ == 1 && begin_ == 0 && size() == x[0].shape()[axis_] ? x[0] : Tensor();
}

std::int64_t SliceOp::size() const {
  if (step_ == 0 || (step_ > 0 ? end_ <= begin_ : begin_ <= end_)) return 0;
  // As unsigned numbers distances between any two int64 are exact.
  const auto of = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  const std::uint64_t reach = step_ > 0 ? of(end_) - of(begin_) : of(begin_) - of(end_);
  const std::uint64_t count = (reach - 1) / (step_ > 0 ? of(step_) : 0 - of(step_)) + 1;
  return static_cast<std::int64_t>(std::min(count, of(std::numeric_limits<std::int64_t>::max())));
}

std::vector<TensorType> SliceOp::infer(std::span<const TensorType> in) const {
  const Shape& shape = in[0].shape;
  const std::int64_t n = shape[axis_];
  const bool inside = step_ > 0 ? begin_ >= 0 && end_ <= n : begin_ < n && end_ >= -1;
  if (step_ == 0 || (size() > 0 && !inside)) {
    throw IndexError("slice: from {} to {} by {} leaves axis {} of {}", begin_, end_, step_, axis_,
                     weft::to_string(shape));
  }
  Shape result = shape;
  result[axis_] = size();
  return {{in[0].dtype, result}};
}

std::optional<Placement> SliceOp::place(const Layout& x) const {
  Placement p{size() > 0 ? begin_ * x.strides[axis_] : 0, x};
  p.layout.shape[axis_] = size();
  if (size() > 1) p.layout.strides[axis_] = x.strides[axis_] * step_;
  return p;
}

std::vector<TensorType> StridedOp::infer(std::span<const TensorType> in) const {
  if (placement_.layout.count() > 0) {
    const auto [low, high] = placement_.layout.offset_range();
    if (placement_.offset + low < 0 || placement_.offset + high >= element_count(in[0].shape)) {
      throw ShapeError("strided: elements {} to {} of {}", placement_.offset + low, placement_.offset + high,
                       weft::to_string(in[0].shape));
    }
  }
  return {{in[0].dtype, placement_.layout.shape}};
}

Tensor reshape(const Operand& x, const Shape& shape) {
  if (!x.defined()) throw InvalidArgument("reshape: the operand is an undefined Tensor");
  const Shape target = completed(x.shape(), shape);
  if (target == x.shape()) return x;
  if (op_of<ReshapeOp>(x) && element_count(target) == element_count(x.shape())) return reshape(input_of(x), target);
  return apply(make_op<ReshapeOp>(target), {x});
}

Tensor permute(const Operand& x, std::span<const int> order) {
  if (!x.defined()) throw InvalidArgument("permute: the operand is an undefined Tensor");
  Layout::dense(x.shape()).permuted(order);  // checks the axes
  std::vector<int> axes;
  for (const int axis : order) axes.push_back(normalize_axis(axis, x.rank(), "permute"));
  const auto* inner = op_of<PermuteOp>(x);
  if (inner) {
    for (int& axis : axes) axis = inner->order()[axis];
  }
  const Tensor& from = inner ? input_of(x) : x;
  const bool changes = !std::ranges::is_sorted(axes);
  return changes ? apply(make_op<PermuteOp>(std::move(axes)), {from}) : from;
}

Tensor permute(const Operand& x, std::initializer_list<int> order) {
  return permute(x, std::span<const int>(order.begin(), order.size()));
}

Tensor broadcast_to(const Operand& x, const Shape& shape) {
  if (!x.defined()) throw InvalidArgument("broadcast_to: the operand is an undefined Tensor");
  check_shape("broadcast_to", shape);
  return x.shape() == shape ? Tensor(x) : apply(make_op<BroadcastOp>(shape), {x});
}

Tensor slice(const Operand& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (!x.defined()) throw InvalidArgument("slice: the operand is an undefined Tensor");
  axis = normalize_axis(axis, x.rank(), "slice");
  if (begin == 0 && end == x.shape()[axis] && step == 1) return x;
  const Tensor view = apply(make_op<SliceOp>(axis, begin, end, step), {x});
  const Tensor computed = computed_view(view);
  return computed.defined() ? computed : view;
}

Tensor expand_dims(const Operand& x, int axis) try {
  if (!x.defined()) throw InvalidArgument("expand_dims: the operand is an undefined Tensor");
  Shape shape = x.shape();
  shape.insert(normalize_axis(axis, x.rank() + 1, "expand_dims"), 1);
  return reshape(x, shape);
} catch (const Error& e) {
  throw_in_function(e, "expand_dims");
}

Tensor squeeze(const Operand& x, int axis) try {
  if (!x.defined()) throw InvalidArgument("squeeze: the operand is an undefined Tensor");
  axis = normalize_axis(axis, x.rank(), "squeeze");
  Shape shape = x.shape();
  if (shape[axis] != 1) {
    throw ShapeError("squeeze: axis {} of {} has size {}, not 1", axis, to_string(shape), shape[axis]);
  }
  shape.erase(axis);
  return reshape(x, shape);
} catch (const Error& e) {
  throw_in_function(e, "squeeze");
}

}  // namespace weft
