#include <algorithm>
#include <cstdint>

#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;

namespace {

// MLX has channels last, Weft has them behind the batch.
weft::View channels_second(const weft::View& view) {
  std::vector<int> order{0, view.rank() - 1};
  for (int axis = 1; axis < view.rank() - 1; ++axis) order.push_back(axis);
  return view.permuted(order);
}

weft::Dims dims(const std::vector<int>& values) {
  weft::Dims dims;
  for (const int value : values) dims.push_back(value);
  return dims;
}

// x with zeros between its elements.
weft::View dilated(Call& call, const weft::View& x, const std::vector<int>& dilation) {
  weft::Shape shape = x.shape();
  for (size_t i = 0; i < dilation.size(); ++i) shape[2 + i] = (shape[2 + i] - 1) * dilation[i] + 1;
  const weft::View result = call.temporary(x.dtype, shape);
  weft::kernels::fill(call.stream(), 0, result);
  weft::View places = result;
  for (size_t i = 0; i < dilation.size(); ++i) {
    places = weft::kernels::slice(places, 2 + i, 0, weft::kernels::kToEnd, dilation[i]);
  }
  weft::kernels::copy(call.stream(), x, places);
  return result;
}

}  // namespace

void Convolution::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  weft::View x = channels_second(call.in(inputs[0])), w = channels_second(call.in(inputs[1]));
  if (std::ranges::any_of(input_dilation_, [](int d) { return d != 1; })) x = dilated(call, x, input_dilation_);
  if (flip_) {
    for (int axis = 2; axis < w.rank(); ++axis) w = weft::kernels::slice(w, axis, -1, INT64_MIN, -1);
  }
  const weft::kernels::ConvOptions options{.strides = dims(kernel_strides_),
                                           .dilations = dims(kernel_dilation_),
                                           .before = dims(padding_lo_),
                                           .groups = groups_};
  weft::kernels::conv(call.stream(), x, w, channels_second(call.out(out)), options);
}

}  // namespace mlx::core
