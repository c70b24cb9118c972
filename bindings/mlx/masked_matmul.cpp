// Products of which masks or segments choose parts.
#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

namespace {

// A mask of blocks as one of elements: [..., rows, columns].
weft::View mask_of_elements(Call& call, const array& mask, std::int64_t block, std::int64_t rows,
                            std::int64_t columns) {
  const weft::View blocks = call.in(mask);
  // [..., block rows, block, block columns, block]
  weft::Layout repeated = blocks.layout;
  const int rank = repeated.rank();
  repeated.shape.insert(rank, block);
  repeated.strides.insert(rank, 0);
  repeated.shape.insert(rank - 1, block);
  repeated.strides.insert(rank - 1, 0);
  const weft::View copied = call.temporary(blocks.dtype, repeated.shape);
  weft::kernels::copy(call.stream(), blocks.with_layout(repeated), copied);
  weft::Shape shape = blocks.shape();
  shape[-2] *= block;
  shape[-1] *= block;
  const weft::View elements(copied.buffer, 0, blocks.dtype, shape);
  return weft::kernels::slice(weft::kernels::slice(elements, -2, 0, rows), -1, 0, columns);
}

// y = x where the mask is true, else 0, or x times a mask of numbers.
void apply_mask(Call& call, const weft::View& x, const weft::View& mask, const weft::View& y) {
  weft::Expression e;
  const int value = e.input(x.dtype), factor = e.input(mask.dtype);
  e.output(mask.dtype == DType::boolean ? e.apply(weft::ScalarOp::select, {factor, value, e.constant(0, x.dtype)})
                                        : e.apply(weft::ScalarOp::mul, {value, e.cast(factor, x.dtype)}));
  const weft::View inputs[] = {x, mask}, outputs[] = {y};
  weft::kernels::map(call.stream(), e, inputs, outputs);
}

weft::View masked(Call& call, const array& x, const array& mask, int block) {
  const weft::View elements = call.in(x), y = call.temporary(elements.dtype, elements.shape());
  apply_mask(call, elements, mask_of_elements(call, mask, block, x.shape(-2), x.shape(-1)), y);
  return y;
}

}  // namespace

// inputs: a, b, the result's mask if there is one, those of a and b if there are some.
void BlockMaskedMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  const bool masks_operands = inputs.size() > 3, masks_result = inputs.size() % 2 == 1;
  Call call;
  weft::View a, b;
  if (masks_operands) {
    a = masked(call, inputs[0], inputs[inputs.size() - 2], block_size_);
    b = masked(call, inputs[1], inputs.back(), block_size_);
  } else {
    a = call.in(inputs[0]);
    b = call.in(inputs[1]);
  }
  const weft::View y = call.out(out);
  weft::kernels::matmul(call.stream(), a, b, y);
  if (masks_result) {
    apply_mask(call, y, mask_of_elements(call, inputs[2], block_size_, out.shape(-2), out.shape(-1)), y);
  }
}

// Each segment is a range of what the product sums over, which the GPU alone knows: outside of it both operands are 0.
void SegmentedMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const weft::View a = call.in(inputs[0]), b = call.in(inputs[1]), y = call.out(out);
  const weft::View ranges = call.in_dense(inputs[2]);
  const std::int64_t segments = ranges.count() / 2, m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  const weft::View steps = call.temporary(DType::u32, {k});
  if (k > 0) weft::kernels::arange(call.stream(), 0, 1, steps);
  weft::Expression e;
  const int value = e.input(a.dtype), step = e.input(DType::u32), begin = e.input(DType::u32),
            end = e.input(DType::u32);
  const int inside = e.apply(weft::ScalarOp::logical_and, {e.apply(weft::ScalarOp::greater_equal, {step, begin}),
                                                           e.apply(weft::ScalarOp::less, {step, end})});
  e.output(e.apply(weft::ScalarOp::select, {inside, value, e.constant(0, a.dtype)}));
  const auto part = [&](const weft::View& x, int axis) {
    const weft::Shape shape{segments, x.shape()[0], x.shape()[1]};
    const weft::View result = call.temporary(x.dtype, shape);
    if (result.count() == 0) return result;
    const auto bound = [&](int which) {
      return weft::View(ranges.buffer, ranges.offset + which * sizeof(std::uint32_t), DType::u32, shape, {2, 0, 0});
    };
    const weft::View along(steps.buffer, 0, DType::u32, shape,
                           axis == 0 ? weft::Strides{0, 1, 0} : weft::Strides{0, 0, 1});
    const weft::View operands[] = {x.broadcast_to(shape), along, bound(0), bound(1)}, results[] = {result};
    weft::kernels::map(call.stream(), e, operands, results);
    return result;
  };
  weft::kernels::matmul(call.stream(), part(a, 1), part(b, 0),
                        weft::View(y.buffer, y.offset, y.dtype, weft::Shape{segments, m, n}));
}

}  // namespace mlx::core
