#include <algorithm>

#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

// One axis after the other; that with a real side is the last of a real signal and the first of a real result.
void FFT::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  using enum weft::kernels::FftKind;
  Call call;
  const weft::View y = call.out(out);
  weft::View x = call.in(inputs[0]);
  std::vector<size_t> axes = axes_;
  if (real_ && !inverse_) std::ranges::reverse(axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = static_cast<int>(axes[i]);
    const bool last = i + 1 == axes.size();
    const bool real_side = real_ && axes[i] == axes_.back();
    const auto kind = !real_side ? complex : inverse_ ? complex_to_real : real_to_complex;
    const std::int64_t length = kind == complex_to_real ? y.shape()[axis] : x.shape()[axis];
    weft::Shape shape = x.shape();
    shape[axis] = y.shape()[axis];
    const weft::View result = last ? y : call.temporary(DType::c64, shape);
    weft::kernels::fft(call.stream(), kind, x, result, axis,
                       {.length = length, .inverse = inverse_, .scale = inverse_ ? 1.0 / length : 1.0});
    x = result;
  }
}

}  // namespace mlx::core
