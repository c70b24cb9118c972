#include "index_sum.h"

namespace mlx::core::webgpu {

weft::View index_sum(Call& call, const array* base, const weft::Shape& shape, const weft::Strides& strides) {
  using weft::DType;
  weft::Expression e;
  std::vector<weft::View> views;
  int sum = -1;
  const auto add = [&](const weft::View& view) {
    const int term = e.cast(e.input(view.dtype), DType::i64);
    sum = sum < 0 ? term : e.apply(weft::ScalarOp::add, {sum, term});
    views.push_back(view.broadcast_to(shape));
  };
  if (base) add(call.in(*base, {{}, {}, base->offset()}));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    weft::Shape along = weft::Shape::filled(shape.rank(), 1);
    along[axis] = shape[axis];
    const weft::View steps = call.temporary(DType::i64, along);
    const weft::View list(steps.buffer, 0, DType::i64, weft::Shape{shape[axis]});
    weft::kernels::arange(call.stream(), 0, strides[axis], list);
    add(steps);
  }
  if (sum < 0) sum = e.constant(0, DType::i64);
  e.output(sum);
  const weft::View out[] = {call.temporary(DType::i64, shape)};
  weft::kernels::map(call.stream(), e, views, out);
  return out[0];
}

}  // namespace mlx::core::webgpu
