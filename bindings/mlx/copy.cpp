// Copies, on which the primitives of MLX's backend/gpu rest: movement, slices, padding, concatenation, casts.
#include "mlx/backend/gpu/copy.h"

#include <numeric>

#include "call.h"
#include "index_sum.h"
#include "mlx/backend/common/slicing.h"
#include "mlx/backend/common/utils.h"
#include "mlx/backend/gpu/slicing.h"
#include "mlx/primitives.h"
#include "updates.h"

namespace mlx::core {

using namespace webgpu;

namespace {

// All elements of the array's memory from `offset` (bytes) on.
Elements rest_of(const array& a, int64_t offset) {
  const auto count = (static_cast<int64_t>(mirrored(a)->size()) - offset) / static_cast<int64_t>(a.itemsize());
  return {{count}, {1}, offset};
}

}  // namespace

void copy_gpu(const array& in, array& out, CopyType ctype, const Stream& s) {
  const bool donated = set_copy_output_data(in, out, ctype);
  if (donated && in.dtype() == out.dtype()) return;
  refuse_donation(out, {in});
  copy_gpu_inplace(in, out, ctype == CopyType::GeneralGeneral ? CopyType::General : ctype, s);
}

void copy_gpu_inplace(const array& in, array& out, const Shape& data_shape, const Strides& i_strides,
                      const Strides& o_strides, int64_t i_offset, int64_t o_offset, CopyType ctype, const Stream&,
                      std::optional<array> dynamic_i_offset, std::optional<array> dynamic_o_offset) {
  if (out.size() == 0) return;
  const int64_t in_offset = in.offset() + i_offset * static_cast<int64_t>(in.itemsize());
  const int64_t out_offset = out.offset() + o_offset * static_cast<int64_t>(out.itemsize());
  Call call;
  if (ctype == CopyType::Scalar || ctype == CopyType::Vector) {
    const bool scalar = ctype == CopyType::Scalar;
    const auto count = static_cast<int64_t>(scalar ? out.data_size() : in.data_size());
    weft::kernels::copy(call.stream(), call.in_or_number(in, {{count}, {scalar ? 0 : 1}, in_offset}),
                        call.out(out, {{count}, {1}, out_offset}));
    return;
  }
  std::vector<Elements> lists{Elements::of(data_shape, i_strides, in_offset),
                              Elements::of(data_shape, o_strides, out_offset)};
  if (ctype == CopyType::General) lists[1].strides = make_contiguous_strides(data_shape);
  if (dynamic_i_offset || dynamic_o_offset) {
    // The elements' places in memory are computed on the GPU, since nothing is read back.
    return for_each_part(lists, {in.itemsize(), out.itemsize()}, [&](const std::vector<Elements>& parts) {
      const weft::Layout read = layout(parts[0]), written = layout(parts[1]);
      weft::View source;
      if (dynamic_i_offset) {
        const weft::View places = index_sum(call, &*dynamic_i_offset, read.shape, read.strides);
        source = dynamic_o_offset ? call.temporary(dtype(out.dtype()), read.shape) : call.out(out, parts[1]);
        weft::kernels::gather(call.stream(), call.in(in, rest_of(in, parts[0].offset)), places, source, 0);
      } else {
        source = call.in(in, parts[0]);
      }
      if (dynamic_o_offset) {
        const weft::View places = index_sum(call, &*dynamic_o_offset, written.shape, written.strides);
        weft::kernels::scatter(call.stream(), weft::kernels::ScatterKind::assign, places, source,
                               call.in_out(out, rest_of(out, parts[1].offset)), 0);
      }
    });
  }
  for_each_part(lists, {in.itemsize(), out.itemsize()}, [&](const std::vector<Elements>& parts) {
    weft::kernels::copy(call.stream(), call.in_or_number(in, parts[0]), call.out(out, parts[1]));
  });
}

void fill_gpu(const array& val, array& out, const Stream& s) {
  allocate(out);
  copy_gpu_inplace(val, out, CopyType::Scalar, s);
}

void reshape_gpu(const array& in, array& out, Stream s) {
  const auto [copy_necessary, out_strides] = prepare_reshape(in, out);
  if (!copy_necessary) return shared_buffer_reshape(in, out_strides, out);
  allocate(out);
  copy_gpu_inplace(in, out, in.shape(), in.strides(), make_contiguous_strides(in.shape()), 0, 0, CopyType::General, s);
}

void concatenate_gpu(const std::vector<array>& inputs, array& out, int axis, const Stream& s) {
  allocate(out);
  int64_t begin = 0;
  for (const array& in : inputs) {
    if (in.size() > 0) {
      copy_gpu_inplace(in, out, in.shape(), in.strides(), out.strides(), 0, begin * out.strides()[axis],
                       CopyType::GeneralGeneral, s);
    }
    begin += in.shape(axis);
  }
}

array compute_dynamic_offset(const array& indices, const Strides& strides, const std::vector<int>& axes,
                             const Stream&) {
  array offset({1}, int64, nullptr, {});
  allocate(offset);
  weft::Expression e;
  std::vector<int> inputs;
  Call call;
  std::vector<weft::View> views;
  // One index for each axis.
  for (size_t i = 0; i < axes.size(); ++i) {
    inputs.push_back(e.input(dtype(indices.dtype())));
    const int64_t stride = indices.ndim() == 0 ? 0 : indices.strides().back();
    views.push_back(
        call.in(indices, {{1}, {0}, indices.offset() + static_cast<int64_t>(i * indices.itemsize()) * stride}));
  }
  int sum = e.constant(0, weft::DType::i64);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int stride = e.constant(static_cast<int64_t>(strides[axes[i]]), weft::DType::i64);
    const int index = e.cast(inputs[i], weft::DType::i64);
    sum = e.apply(weft::ScalarOp::add, {sum, e.apply(weft::ScalarOp::mul, {index, stride})});
  }
  e.output(sum);
  const weft::View out[] = {call.out(offset)};
  weft::kernels::map(call.stream(), e, views, out);
  return offset;
}

void SliceUpdate::eval_gpu(const std::vector<array>& inputs, array& out) {
  if (out.size() == 0) return allocate(out);
  const array& in = inputs[0];
  const array& update = inputs[1];
  if (update.size() == 0) return out.copy_shared_buffer(in);
  const CopyType ctype = in.flags().contiguous && in.size() == in.data_size() ? CopyType::Vector : CopyType::General;
  copy_gpu(in, out, in.data_size() == 1 ? CopyType::Scalar : ctype, stream());
  const auto [offset, strides] = prepare_slice(out, start_indices_, strides_);
  if (reduce_type_ == SliceUpdate::None) {
    copy_gpu_inplace(update, out, update.shape(), update.strides(), strides, 0, offset, CopyType::GeneralGeneral,
                     stream());
    return;
  }
  const Update kind = update_of(static_cast<Scatter::ReduceType>(reduce_type_), out.dtype());
  const int64_t begin = out.offset() + offset * static_cast<int64_t>(out.itemsize());
  const std::vector<Elements> lists{Elements::of(update), Elements::of(update.shape(), strides, begin)};
  Call call;
  for_each_part(lists, {update.itemsize(), out.itemsize()}, [&](const std::vector<Elements>& parts) {
    const weft::View target = kind.of(call.in_out(out, parts[1]));
    weft::kernels::binary(call.stream(), kind.op, target, kind.of(call.in(update, parts[0])), target);
  });
}

}  // namespace mlx::core
