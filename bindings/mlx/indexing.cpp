// Elements chosen by arrays of indices.
#include <algorithm>

#include "call.h"
#include "index_sum.h"
#include "map_in_parts.h"
#include "mlx/backend/common/utils.h"
#include "mlx/backend/gpu/copy.h"
#include "mlx/primitives.h"
#include "updates.h"

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

// Where chosen elements lie, for arrays of which the indices' and the elements' axes are more than Weft takes: as one
// list of all of the whole array's elements, which is dense. [indices, elements of each]
weft::View places_of(Call& call, const array& whole, const std::vector<array>& indices, const std::vector<int>& axes,
                     const Shape& sizes) {
  const Strides dense = make_contiguous_strides(whole.shape());
  const auto [shape, strides] = collapse_contiguous_dims(sizes, dense);
  const weft::Layout slice = layout(Elements::of(shape, strides, 0));
  const weft::View steps = index_sum(call, nullptr, slice.shape, slice.strides);
  const std::int64_t count = static_cast<std::int64_t>(indices[0].size()), each = steps.count();
  weft::Expression e;
  std::vector<weft::View> inputs{steps.with_layout({{count, each}, {0, 1}})};
  int place = e.input(DType::i64);
  for (size_t i = 0; i < axes.size(); ++i) {
    const weft::View list = call.in_dense(indices[i], {count});
    inputs.push_back(list.with_layout({{count, each}, {1, 0}}));
    const int index = e.cast(e.input(list.dtype), DType::i64), size = e.constant(whole.shape(axes[i]), DType::i64);
    const int negative = e.apply(weft::ScalarOp::less, {index, e.constant(0, DType::i64)});
    const int from_begin =
        e.apply(weft::ScalarOp::select, {negative, e.apply(weft::ScalarOp::add, {index, size}), index});
    const int stride = e.constant(dense[axes[i]], DType::i64);
    place = e.apply(weft::ScalarOp::add, {place, e.apply(weft::ScalarOp::mul, {from_begin, stride})});
  }
  e.output(place);
  const weft::View places = call.temporary(DType::i64, {count, each});
  map_in_parts(call, e, inputs, {places});
  return places;
}

// Whether a gather or scatter by tuples has more axes than Weft takes.
bool is_past_rank(const array& whole, const std::vector<array>& indices, const std::vector<int>& axes,
                  const Shape& sizes) {
  const auto widened = std::ranges::count_if(axes, [&](int axis) { return sizes[axis] != 1; });
  const auto of_indices = static_cast<std::int64_t>(indices[0].ndim()) + widened;
  const auto others = static_cast<std::int64_t>(whole.ndim() - axes.size());
  return std::max({static_cast<std::int64_t>(whole.ndim()), of_indices + 1, of_indices + others}) > weft::kMaxRank;
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
  if (is_past_rank(in, indices, axes_, slice_sizes_)) {
    const weft::View places = places_of(call, in, indices, axes_, slice_sizes_);
    const weft::View list = call.in_dense(in, {static_cast<std::int64_t>(in.size())});
    const weft::View y = call.out(out, Elements::flat(out));
    return weft::kernels::gather(call.stream(), list, places, weft::View(y.buffer, y.offset, y.dtype, places.shape()),
                                 0);
  }
  const Tuples tuples = tuples_of(call, in, indices, axes_, slice_sizes_);
  weft::kernels::gather_nd(call.stream(), call.in(in, whole_of(in, tuples, axes_.size(), slice_sizes_)), tuples.indices,
                           call.out(out, part_of(out, tuples, indices[0].ndim(), axes_.size())));
}

void GatherAxis::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const Grouped along = Grouped::around(out, axis_);
  weft::kernels::gather_elements(call.stream(), call.in(inputs[0], along), call.in(inputs[1], along),
                                 call.out(out, along), along.axis);
}

void Scatter::eval_gpu(const std::vector<array>& inputs, array& out) {
  const Update kind = update_of(reduce_type_, out.dtype());
  copy_for_updates(inputs[0], out, stream());
  const array& updates = inputs.back();
  if (out.size() == 0 || updates.size() == 0) return;
  const std::vector<array> indices(inputs.begin() + 1, inputs.end() - 1);
  const int index_rank = updates.ndim() - out.ndim();
  const Shape sizes(updates.shape().begin() + index_rank, updates.shape().end());
  Call call;
  if (indices.empty()) {
    const std::vector<Elements> lists{Elements::of(sizes, out.strides(), out.offset()), Elements::of(updates)};
    return for_each_part(lists, {out.itemsize(), updates.itemsize()}, [&](const std::vector<Elements>& parts) {
      const weft::View target = kind.of(call.in_out(out, parts[0])), update = kind.of(call.in(updates, parts[1]));
      if (reduce_type_ == None) return weft::kernels::copy(call.stream(), update, target);
      weft::kernels::binary(call.stream(), kind.op, target, update, target);
    });
  }
  if (is_past_rank(out, indices, axes_, sizes)) {
    const weft::View places = places_of(call, out, indices, axes_, sizes);
    return weft::kernels::scatter(call.stream(), kind.kind, places, kind.of(call.in_dense(updates, places.shape())),
                                  kind.of(call.in_out(out, Elements::flat(out))), 0);
  }
  const Tuples tuples = tuples_of(call, out, indices, axes_, sizes);
  weft::kernels::scatter_nd(call.stream(), kind.kind, tuples.indices,
                            kind.of(call.in(updates, part_of(updates, tuples, index_rank, axes_.size()))),
                            kind.of(call.in_out(out, whole_of(out, tuples, axes_.size(), sizes))));
}

void ScatterAxis::eval_gpu(const std::vector<array>& inputs, array& out) {
  copy_for_updates(inputs[0], out, stream());
  if (out.size() == 0 || inputs[2].size() == 0) return;
  Call call;
  const Update kind = update_of(reduce_type_ == Sum ? Scatter::Sum : Scatter::None, out.dtype());
  const Grouped along = Grouped::around(out, axis_);
  weft::kernels::scatter_elements(call.stream(), kind.kind, call.in(inputs[1], along),
                                  kind.of(call.in(inputs[2], along)), kind.of(call.in_out(out, along)), along.axis);
}

// Along the first axis each mask chooses the elements that its own part of the source replaces.
void MaskedScatter::eval_gpu(const std::vector<array>& inputs, array& out) {
  const array& mask = inputs[1];
  const array& source = inputs[2];
  copy_for_updates(inputs[0], out, stream());
  if (mask.size() == 0 || source.size() == 0) return;
  Call call;
  const Grouped batched = Grouped::around(out, 0);
  const weft::View count = call.temporary(DType::u32, {1});
  const weft::View masks = call.in(mask, batched), y = call.in_out(out, batched);
  const weft::View x = call.in_dense(source, {static_cast<std::int64_t>(source.size())});
  const std::int64_t batches = mask.shape(0), each = x.count() / batches;
  const auto part = [&](const weft::View& view, std::int64_t i) {
    return weft::kernels::slice(view, batched.axis, i, i + 1);
  };
  for (std::int64_t i = 0; i < batches; ++i) {
    const weft::View list(x.buffer, x.offset + i * each * source.itemsize(), x.dtype, weft::Shape{each});
    weft::kernels::expand(call.stream(), list, part(masks, i), part(y, i), count);
  }
}

}  // namespace mlx::core
