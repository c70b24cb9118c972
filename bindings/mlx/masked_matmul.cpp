// Products of which masks choose blocks.
#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

namespace {

// Masks of blocks have two more axes.
bool is_past_rank(const array& a) { return a.ndim() + 2 > weft::kMaxRank; }
weft::View matrices(Call& call, const array& a) {
  return is_past_rank(a) ? call.in(a, Grouped::matrices(a)) : call.in(a);
}

// A mask of blocks as one of elements: [..., rows, columns].
weft::View mask_of_elements(Call& call, const array& mask, std::int64_t block, std::int64_t rows,
                            std::int64_t columns) {
  const weft::View blocks = matrices(call, mask);
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
  const weft::View elements = matrices(call, x), y = call.temporary(elements.dtype, elements.shape());
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
    a = matrices(call, inputs[0]);
    b = matrices(call, inputs[1]);
  }
  const weft::View y = is_past_rank(out) ? call.out(out, Grouped::matrices(out)) : call.out(out);
  weft::kernels::matmul(call.stream(), a, b, y);
  if (masks_result) {
    apply_mask(call, y, mask_of_elements(call, inputs[2], block_size_, out.shape(-2), out.shape(-1)), y);
  }
}

}  // namespace mlx::core
