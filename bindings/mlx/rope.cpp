// Rotary position embeddings.
#include <cmath>
#include <cstdint>
#include <optional>

#include "call.h"
#include "mlx/fast_primitives.h"

namespace mlx::core::fast {

using namespace webgpu;
using weft::DType;

using enum weft::ScalarOp;

namespace {

// cos and sin of (position + offset) · scale / frequency: [batch or 1, positions, frequencies].
struct Angles {
  weft::View cosines, sines;
};

Angles angles(Call& call, std::int64_t positions, const weft::View& offsets,
              const std::optional<weft::View>& frequencies, std::int64_t count, double base, double scale) {
  const weft::Shape shape{offsets.rank() == 0 ? 1 : offsets.shape()[0], positions, count};
  const weft::View steps = call.temporary(DType::f32, {positions});
  weft::kernels::arange(call.stream(), 0, 1, steps);
  weft::Expression e;
  const auto number = [&](double value) { return e.constant(value, DType::f32); };
  const int step = e.input(DType::f32), offset = e.cast(e.input(offsets.dtype), DType::f32);
  weft::View last = steps;
  int factor;
  if (frequencies) {
    factor = e.apply(reciprocal, {e.input(DType::f32)});
    last = *frequencies;
  } else {
    last = call.temporary(DType::f32, {count});
    weft::kernels::arange(call.stream(), 0, 1, last);
    factor = e.apply(weft::ScalarOp::exp, {e.apply(mul, {e.input(DType::f32), number(-std::log(base) / count)})});
  }
  const int position = e.apply(mul, {e.apply(add, {step, offset}), number(scale)});
  const int angle = e.apply(mul, {position, factor});
  e.output(e.apply(weft::ScalarOp::cos, {angle}));
  e.output(e.apply(weft::ScalarOp::sin, {angle}));
  const std::int64_t batch_stride = offsets.rank() == 0 ? 0 : offsets.strides()[0];
  const weft::View operands[] = {steps.with_layout({shape, {0, 1, 0}}),
                                 offsets.with_layout({shape, {batch_stride, 0, 0}}),
                                 last.with_layout({shape, {0, 0, last.strides()[0]}})};
  const weft::View results[] = {call.temporary(DType::f32, shape), call.temporary(DType::f32, shape)};
  weft::kernels::map(call.stream(), e, operands, results);
  return {results[0], results[1]};
}

// x [batch, …, positions, dims] as [batch, inner, positions, 2, dims / 2]: the two elements that are turned together
// are neighbours if `traditional`, else in the two halves.
weft::View pairs(const weft::View& x, std::int64_t dims, bool traditional) {
  const weft::Strides& strides = x.strides();
  const std::int64_t last = strides[-1], half = dims / 2;
  return x.with_layout(
      {{x.shape()[0], x.shape()[1], x.shape()[2], 2, half},
       {strides[0], strides[1], strides[2], traditional ? last : half * last, traditional ? 2 * last : last}});
}

}  // namespace

bool RoPE::use_fallback(Stream s) { return s.device == Device::cpu; }

void RoPE::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  array& out = outputs[0];
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  // Four axes: [batch, inner, positions, width].
  const auto four_axes = [](const weft::View& x) {
    std::int64_t inner = 1;
    for (int axis = 1; axis < x.rank() - 2; ++axis) inner *= x.shape()[axis];
    const std::int64_t inner_stride = x.rank() > 3 ? x.strides()[-3] : 0;
    return x.with_layout({{x.shape()[0], inner, x.shape()[-2], x.shape()[-1]},
                          {x.strides()[0], inner_stride, x.strides()[-2], x.strides()[-1]}});
  };
  const weft::View x = four_axes(inputs[0].ndim() > 4 ? call.in_dense(inputs[0]) : call.in(inputs[0]));
  const weft::View y = four_axes(call.out(out));
  const weft::View offsets =
      inputs[1].size() == 1 ? call.in(inputs[1], {{}, {}, inputs[1].offset()}) : call.in(inputs[1]);
  std::optional<weft::View> frequencies;
  if (inputs.size() > 2) frequencies = call.in(inputs[2]);
  const std::int64_t width = x.shape()[3], half = dims_ / 2;
  const Angles turn = angles(call, x.shape()[2], offsets, frequencies, half, base_, scale_);
  // The other element of a pair counts with the sine, for the first one negative; the other way round backwards.
  const weft::View signs = call.temporary(DType::f32, {2});
  weft::kernels::arange(call.stream(), forward_ ? -1 : 1, forward_ ? 2 : -2, signs);
  const weft::View from = pairs(x, dims_, traditional_), to = pairs(y, dims_, traditional_);
  const auto along = [&](const weft::View& angle) {
    const std::int64_t batch_stride = angle.shape()[0] == 1 ? 0 : angle.strides()[0];
    return angle.with_layout({from.shape(), {batch_stride, 0, angle.strides()[1], 0, angle.strides()[2]}});
  };
  weft::Expression e;
  const int value = e.cast(e.input(x.dtype), DType::f32), other = e.cast(e.input(x.dtype), DType::f32);
  const int cosine = e.input(DType::f32), sine = e.apply(mul, {e.input(DType::f32), e.input(DType::f32)});
  e.output(e.cast(e.apply(add, {e.apply(mul, {value, cosine}), e.apply(mul, {other, sine})}), y.dtype));
  const weft::View operands[] = {from, weft::kernels::slice(from, 3, -1, INT64_MIN, -1), along(turn.cosines),
                                 along(turn.sines), signs.with_layout({from.shape(), {0, 0, 0, 1, 0}})};
  const weft::View results[] = {to};
  weft::kernels::map(call.stream(), e, operands, results);
  if (dims_ < width) {
    weft::kernels::copy(call.stream(), weft::kernels::slice(x, 3, dims_), weft::kernels::slice(y, 3, dims_));
  }
}

}  // namespace mlx::core::fast
