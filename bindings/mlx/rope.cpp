// Rotary position embeddings.
#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include "call.h"
#include "mlx/fast_primitives.h"

namespace mlx::core::fast {

using namespace webgpu;
using weft::DType;

using enum weft::ScalarOp;

namespace {

// 0, 1, … n - 1, and -1, 1: made once, since each call needs them. The recorder's lock is held.
weft::View ascending(Call& call, std::int64_t n) {
  static auto* numbers = new std::optional<weft::View>;
  if (!*numbers || (*numbers)->count() < n) {
    *numbers = call.temporary(DType::f32, {std::max<std::int64_t>(2 * n, 4096)});
    weft::kernels::arange(call.stream(), 0, 1, **numbers);
  }
  return weft::kernels::slice(**numbers, 0, 0, n);
}
weft::View signs(Call& call) {
  static auto* signs = new std::optional<weft::View>;
  if (!*signs) {
    *signs = call.temporary(DType::f32, {2});
    weft::kernels::arange(call.stream(), -1, 2, **signs);
  }
  return **signs;
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

// What determines a rotation's formula. Pairs have the reciprocals of their frequencies as an operand, or their number,
// which times `rate` is the logarithm of the frequency.
struct Rotation {
  DType x, offset, y;
  double direction, scale;
  bool has_periods;
  double rate;
  auto operator<=>(const Rotation&) const = default;
};

// The angle is (position + offset) · scale · frequency. The other element of a pair counts with the sine, for the first
// one negative; the other way round backwards. Made once of each kind. The recorder's lock is held.
const weft::Expression& rotation(const Rotation& r) {
  constexpr std::size_t kMost = 256;
  static auto* made = new std::map<Rotation, weft::Expression>;
  if (made->size() >= kMost) made->clear();
  if (const auto found = made->find(r); found != made->end()) return found->second;
  weft::Expression e;
  const auto number = [&](double v) { return e.constant(v, DType::f32); };
  const int value = e.cast(e.input(r.x), DType::f32), other = e.cast(e.input(r.x), DType::f32);
  const int step = e.input(DType::f32), offset = e.cast(e.input(r.offset), DType::f32);
  const int pair = e.input(DType::f32), sign = e.apply(mul, {e.input(DType::f32), number(r.direction)});
  const int frequency = r.has_periods ? e.apply(reciprocal, {pair})
                                      : e.apply(weft::ScalarOp::exp, {e.apply(mul, {pair, number(r.rate)})});
  const int position = e.apply(mul, {e.apply(add, {step, offset}), number(r.scale)});
  const int angle = e.apply(mul, {position, frequency});
  const int sine = e.apply(mul, {e.apply(weft::ScalarOp::sin, {angle}), sign});
  const int turned =
      e.apply(add, {e.apply(mul, {value, e.apply(weft::ScalarOp::cos, {angle})}), e.apply(mul, {other, sine})});
  e.output(e.cast(turned, r.y));
  return made->emplace(r, std::move(e)).first->second;
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
  // Those behind the batch as one, but for the last two.
  const weft::Shape shape{out.shape(0),
                          static_cast<std::int64_t>(out.size()) / out.shape(0) / out.shape(-2) / out.shape(-1),
                          out.shape(-2), out.shape(-1)};
  const weft::View x = inputs[0].ndim() > 4 ? call.in_dense(inputs[0], shape) : four_axes(call.in(inputs[0]));
  const weft::View flat = call.out(out, Elements::flat(out)), y(flat.buffer, flat.offset, flat.dtype, shape);
  const weft::View offsets =
      inputs[1].size() == 1 ? call.in_or_number(inputs[1], {{}, {}, inputs[1].offset()}) : call.in(inputs[1]);
  std::optional<weft::View> frequencies;
  if (inputs.size() > 2) frequencies = call.in(inputs[2]);
  const std::int64_t width = x.shape()[3], half = dims_ / 2, positions = x.shape()[2];
  const weft::View from = pairs(x, dims_, traditional_), to = pairs(y, dims_, traditional_);
  const auto along = [&](const weft::View& v, weft::Strides strides) { return v.with_layout({from.shape(), strides}); };
  const weft::Expression& e = rotation({x.dtype, offsets.dtype, y.dtype, forward_ ? 1.0 : -1.0, scale_,
                                        frequencies.has_value(), frequencies ? 0 : -std::log(base_) / half});
  const weft::View last = frequencies ? *frequencies : ascending(call, half);
  const weft::View operands[] = {from,
                                 weft::kernels::slice(from, 3, -1, INT64_MIN, -1),
                                 along(ascending(call, positions), {0, 0, 1, 0, 0}),
                                 along(offsets, {offsets.rank() == 0 ? 0 : offsets.strides()[0], 0, 0, 0, 0}),
                                 along(last, {0, 0, 0, 0, last.strides()[0]}),
                                 along(signs(call), {0, 0, 0, 1, 0})};
  const weft::View results[] = {to};
  weft::kernels::map(call.stream(), e, operands, results);
  if (dims_ < width) {
    weft::kernels::copy(call.stream(), weft::kernels::slice(x, 3, dims_), weft::kernels::slice(y, 3, dims_));
  }
}

}  // namespace mlx::core::fast
