#include <algorithm>
#include <span>
#include <utility>

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
  std::vector<size_t> axes = axes_;
  if (real_ && !inverse_) std::ranges::reverse(axes);
  std::vector<std::int64_t> sizes(inputs[0].shape().begin(), inputs[0].shape().end());  // so far
  weft::View x;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Grouped along = Grouped::around(out, static_cast<int>(axes[i]));
    // A dense view of arrays of these sizes.
    const auto shape = [&] {
      if (along.ends.empty()) return weft::Shape(std::span<const std::int64_t>(sizes));
      weft::Shape groups{1, sizes[axes[i]], 1};
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        if (axis != axes[i]) groups[axis < axes[i] ? 0 : 2] *= sizes[axis];
      }
      return groups;
    };
    x = i == 0 ? call.in(inputs[0], along) : weft::View(x.buffer, x.offset, x.dtype, shape());
    const bool last = i + 1 == axes.size();
    const bool real_side = real_ && axes[i] == axes_.back();
    const auto kind = !real_side ? complex : inverse_ ? complex_to_real : real_to_complex;
    const std::int64_t before = std::exchange(sizes[axes[i]], out.shape(static_cast<int>(axes[i])));
    const std::int64_t length = kind == complex_to_real ? sizes[axes[i]] : before;
    const weft::View result = last ? call.out(out, along) : call.temporary(DType::c64, shape());
    weft::kernels::fft(call.stream(), kind, x, result, along.axis,
                       {.length = length, .inverse = inverse_, .scale = inverse_ ? 1.0 / length : 1.0});
    x = result;
  }
}

}  // namespace mlx::core
