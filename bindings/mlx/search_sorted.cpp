#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;

// NaN is after all numbers, as sort() has it.
void SearchSorted::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  using enum weft::kernels::SearchSide;
  Call call;
  const weft::View y = call.out(out, Elements::flat(out));
  weft::kernels::searchsorted(call.stream(), call.in(inputs[0]), call.in_dense(inputs[1], y.shape()), y,
                              {.side = right_ ? right : left});
}

}  // namespace mlx::core
