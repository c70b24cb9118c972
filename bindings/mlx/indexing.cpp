// Elements chosen by arrays of indices.
#include <algorithm>

#include "call.h"
#include "mlx/backend/gpu/copy.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

namespace {

// A gather or scatter as tuples of indices have it. The indexed axes of the whole array come first, in the order of the
// tuples; an axis of which each index chooses several elements is another axis of the indices.
struct Tuples {
  weft::View indices;        // [j…, w…, n]
  std::vector<int> order;    // of the whole array's axes
  std::vector<int> widened;  // the indexed axes that are w…
};

// `sizes`: how many elements each index chooses, for each axis of the whole array.
Tuples tuples_of(Call& call, const array& whole, const std::vector<array>& indices, const std::vector<int>& axes,
                 const Shape& sizes) {
  Tuples result{.order = axes};
  for (int axis = 0; axis < whole.ndim(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) result.order.push_back(axis);
  }
  for (const int axis : axes) {
    if (sizes[axis] != 1) result.widened.push_back(axis);
  }
  weft::Shape shape;
  for (const auto size : indices[0].shape()) shape.push_back(size);
  for (const int axis : result.widened) shape.push_back(sizes[axis]);
  const int rank = shape.rank();
  shape.push_back(static_cast<std::int64_t>(axes.size()));
  result.indices = call.temporary(DType::i64, shape);
  shape.pop_back();
  weft::Layout column = result.indices.layout;
  column.shape.pop_back();
  column.strides.pop_back();
  for (size_t i = 0; i < axes.size(); ++i) {
    weft::View list = call.in(indices[i]);
    while (list.rank() < rank) {
      list.layout.shape.push_back(1);
      list.layout.strides.push_back(0);
    }
    weft::View target = result.indices.with_layout(column);
    target.offset += i * sizeof(std::int64_t);
    const auto widened = std::ranges::find(result.widened, axes[i]);
    if (widened == result.widened.end()) {
      weft::kernels::copy(call.stream(), list, target);
      continue;
    }
    // Counted from the begin, before the following elements are.
    weft::Expression e;
    const int index = e.cast(e.input(list.dtype), DType::i64), step = e.input(DType::i64);
    const int zero = e.constant(0, DType::i64), count = e.constant(whole.shape(axes[i]), DType::i64);
    const int from_end = e.apply(weft::ScalarOp::add, {index, count});
    const int begin = e.apply(weft::ScalarOp::select, {e.apply(weft::ScalarOp::less, {index, zero}), from_end, index});
    e.output(e.apply(weft::ScalarOp::add, {begin, step}));
    weft::Shape along = weft::Shape::filled(rank, 1);
    along[indices[i].ndim() + static_cast<int>(widened - result.widened.begin())] = sizes[axes[i]];
    const weft::View steps = call.temporary(DType::i64, along);
    weft::kernels::arange(call.stream(), 0, 1, weft::View(steps.buffer, 0, DType::i64, weft::Shape{sizes[axes[i]]}));
    const weft::View inputs[] = {list, steps}, outputs[] = {target};
    weft::kernels::map(call.stream(), e, inputs, outputs);
  }
  return result;
}

// The chosen elements, [j…, sizes…] in MLX, as [j…, w…, rest…].
Elements part_of(const array& part, const Tuples& tuples, int index_rank, size_t indexed) {
  Elements elements{.offset = part.offset()};
  const auto add = [&](int axis) {
    elements.shape.push_back(part.shape(axis));
    elements.strides.push_back(part.strides()[axis]);
  };
  for (int axis = 0; axis < index_rank; ++axis) add(axis);
  for (const int axis : tuples.widened) add(index_rank + axis);
  for (size_t i = indexed; i < tuples.order.size(); ++i) add(index_rank + tuples.order[i]);
  return elements;
}

// The whole array with its indexed axes first; of the others the first elements that a slice has.
Elements whole_of(const array& whole, const Tuples& tuples, size_t indexed, const Shape& sizes) {
  Elements elements{.offset = whole.offset()};
  for (size_t i = 0; i < tuples.order.size(); ++i) {
    const int axis = tuples.order[i];
    elements.shape.push_back(i < indexed ? whole.shape(axis) : sizes[axis]);
    elements.strides.push_back(whole.strides()[axis]);
  }
  return elements;
}

// The copy into which updates go.
void copy_for_updates(const array& in, array& out, const Stream& s) {
  const CopyType ctype = in.data_size() == 1 && in.size() > 1 ? CopyType::Scalar
                         : in.flags().row_contiguous          ? CopyType::Vector
                                                              : CopyType::General;
  copy_gpu(in, out, ctype, s);
}

}  // namespace

void Gather::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  const array& in = inputs[0];
  const std::vector<array> indices(inputs.begin() + 1, inputs.end());
  Call call;
  if (indices.empty()) {
    weft::kernels::copy(call.stream(), call.in(in, Elements::of(slice_sizes_, in.strides(), in.offset())),
                        call.out(out));
    return;
  }
  const Tuples tuples = tuples_of(call, in, indices, axes_, slice_sizes_);
  weft::kernels::gather_nd(call.stream(), call.in(in, whole_of(in, tuples, axes_.size(), slice_sizes_)), tuples.indices,
                           call.out(out, part_of(out, tuples, indices[0].ndim(), axes_.size())));
}

void GatherAxis::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  weft::kernels::gather_elements(call.stream(), call.in(inputs[0]), call.in(inputs[1]), call.out(out), axis_);
}

void Scatter::eval_gpu(const std::vector<array>& inputs, array& out) {
  using enum weft::kernels::ScatterKind;
  constexpr weft::kernels::ScatterKind kKinds[] = {max, min, add, mul, assign};  // ReduceType
  copy_for_updates(inputs[0], out, stream());
  const array& updates = inputs.back();
  if (out.size() == 0 || updates.size() == 0) return;
  const std::vector<array> indices(inputs.begin() + 1, inputs.end() - 1);
  const int index_rank = updates.ndim() - out.ndim();
  const Shape sizes(updates.shape().begin() + index_rank, updates.shape().end());
  Call call;
  if (indices.empty()) {
    const weft::View target = call.in_out(out, Elements::of(sizes, out.strides(), out.offset()));
    const weft::View update = call.in(updates);
    if (reduce_type_ == None) return weft::kernels::copy(call.stream(), update, target);
    constexpr weft::ScalarOp kOps[] = {weft::ScalarOp::max, weft::ScalarOp::min, weft::ScalarOp::add,
                                       weft::ScalarOp::mul};
    return weft::kernels::binary(call.stream(), kOps[reduce_type_], target, update, target);
  }
  const Tuples tuples = tuples_of(call, out, indices, axes_, sizes);
  weft::kernels::scatter_nd(call.stream(), kKinds[reduce_type_], tuples.indices,
                            call.in(updates, part_of(updates, tuples, index_rank, axes_.size())),
                            call.in_out(out, whole_of(out, tuples, axes_.size(), sizes)));
}

void ScatterAxis::eval_gpu(const std::vector<array>& inputs, array& out) {
  copy_for_updates(inputs[0], out, stream());
  if (out.size() == 0 || inputs[2].size() == 0) return;
  Call call;
  weft::kernels::scatter_elements(
      call.stream(), reduce_type_ == Sum ? weft::kernels::ScatterKind::add : weft::kernels::ScatterKind::assign,
      call.in(inputs[1]), call.in(inputs[2]), call.in_out(out), axis_);
}

// Along the first axis each mask chooses the elements that its own part of the source replaces.
void MaskedScatter::eval_gpu(const std::vector<array>& inputs, array& out) {
  const array& mask = inputs[1];
  const array& source = inputs[2];
  copy_for_updates(inputs[0], out, stream());
  if (mask.size() == 0 || source.size() == 0) return;
  Call call;
  const weft::View count = call.temporary(DType::u32, {1});
  const weft::View masks = call.in(mask), x = call.in_dense(source), y = call.in_out(out);
  const std::int64_t batches = mask.shape(0), each = x.count() / batches;
  const auto part = [](const weft::View& view, std::int64_t i) { return weft::kernels::slice(view, 0, i, i + 1); };
  for (std::int64_t i = 0; i < batches; ++i) {
    const weft::View list(x.buffer, x.offset + i * each * source.itemsize(), x.dtype, weft::Shape{each});
    weft::kernels::expand(call.stream(), list, part(masks, i), part(y, i), count);
  }
}

}  // namespace mlx::core
