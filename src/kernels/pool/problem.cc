#include "kernels/pool/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/prologue.h"
#include "kernels/common/spatial.h"
#include "kernels/matmul/epilogue.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }
std::int64_t up_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }
std::int64_t modulo(std::int64_t a, std::int64_t n) { return (a % n + n) % n; }

// ⌊i · a / b⌋ and ⌈i · a / b⌉; sizes are below 2^31.
std::int64_t scaled_down(std::int64_t i, std::int64_t a, std::int64_t b) { return i * a / b; }
std::int64_t scaled_up(std::int64_t i, std::int64_t a, std::int64_t b) { return (i * a + b - 1) / b; }

std::vector<PoolAxis> axes_of(std::string_view kernel, const View& x, const View& y, const PoolOptions& o,
                              bool backward) {
  const char* const names[] = {backward ? "dx" : "x", backward ? "dy" : "y"};
  const int spatial = x.rank() - PoolProblem::kSpatial;
  if (y.rank() != x.rank() || y.shape()[0] != x.shape()[0] || y.shape()[1] != x.shape()[1]) {
    throw ShapeError("{}: {} is {} and {} is {}; expected one rank, batch and number of channels", kernel, names[0],
                     to_string(x.shape()), names[1], to_string(y.shape()));
  }
  const Dims ones = Dims::filled(spatial, 1), zeros = Dims::filled(spatial, 0);
  Dims window = ones;
  if (o.adaptive) {
    for (const Dims* given : {&o.window, &o.strides, &o.dilations, &o.before, &o.after}) {
      if (!given->empty()) {
        throw InvalidArgument("{}: adaptive windows follow from the sizes; {} was given besides", kernel,
                              to_string(*given));
      }
    }
  } else {
    if (o.window.empty()) throw InvalidArgument("{}: the window has no sizes, and windows are not adaptive", kernel);
    window = numbers_of_axes(kernel, "window", o.window, ones, 1);
  }
  const Dims strides = numbers_of_axes(kernel, "strides", o.strides, window, 1);
  const Dims dilations = numbers_of_axes(kernel, "dilations", o.dilations, ones, 1);
  const Dims before = numbers_of_axes(kernel, "before", o.before, zeros, 0);
  const Dims after = numbers_of_axes(kernel, "after", o.after, before, 0);
  if (o.divisor < 0) throw InvalidArgument("{}: the divisor is {}, expected 0 or more", kernel, o.divisor);
  std::vector<PoolAxis> axes;
  for (int d = 0; d < spatial; ++d) {
    axes.push_back({.x_size = x.shape()[PoolProblem::kSpatial + d],
                    .y_size = y.shape()[PoolProblem::kSpatial + d],
                    .window = window[d],
                    .stride = strides[d],
                    .dilation = dilations[d],
                    .before = before[d],
                    .after = after[d],
                    .adaptive = o.adaptive,
                    .count_padding = o.count_padding});
    if (axes.back().x_size >= kFarthest || axes.back().y_size >= kFarthest) {
      throw Unsupported("{}: {} is {} and {} is {}; sizes of spatial axes are less than 2^31", kernel, names[0],
                        to_string(x.shape()), names[1], to_string(y.shape()));
    }
  }
  return axes;
}

DType result_type_of(DType from) {
  if (is_floating(from)) return from == DType::f64 ? DType::f64 : DType::f32;
  return from == DType::u32 ? DType::u32 : DType::i32;
}

void check_indices(std::string_view kernel, const View& x, const View& like, const std::optional<View>& indices) {
  if (!indices) return;
  if (indices->shape() != like.shape()) {
    throw ShapeError("{}: the indices are {}, expected {}", kernel, to_string(indices->shape()),
                     to_string(like.shape()));
  }
  std::int64_t positions = 1;
  for (int d = PoolProblem::kSpatial; d < x.rank(); ++d) {
    positions *= std::max<std::int64_t>(x.shape()[d], 1);
    if (positions >= kFarthest) {
      throw InvalidArgument("{}: {} has more positions than an i32 can tell", kernel, to_string(x.shape()));
    }
  }
}

}  // namespace

Steps elements_of_window(const PoolAxis& a, std::int64_t i) {
  if (a.adaptive) return {scaled_down(i, a.x_size, a.y_size), scaled_up(i + 1, a.x_size, a.y_size), 1};
  const std::int64_t start = i * a.stride - a.before;
  const std::int64_t first = start >= 0 ? start : start + up_div(-start, a.dilation) * a.dilation;
  const std::int64_t end = std::min(start + (a.window - 1) * a.dilation + 1, a.x_size);
  return {first, std::max(first, end), a.dilation};
}

WindowSteps window_steps(const PoolAxis& a) {
  const std::int64_t g = std::gcd(a.stride, a.dilation), step = a.dilation / g;
  // The inverse of stride / g modulo step, by Euclid's algorithm.
  std::int64_t r0 = step, r1 = modulo(a.stride / g, step), t0 = 0, t1 = 1;
  while (r1 > 0) {
    const std::int64_t q = r0 / r1;
    std::swap(r0, r1), std::swap(t0, t1);
    r1 -= q * r0, t1 -= q * t0;
  }
  return {g, step, modulo(t0, step)};
}

Steps windows_of_element(const PoolAxis& a, std::int64_t j) {
  // Window i contains j if ⌊i · n / m⌋ ≤ j < ⌈(i + 1) · n / m⌉, which is ⌊j · m / n⌋ ≤ i < ⌈(j + 1) · m / n⌉.
  if (a.adaptive) return {scaled_down(j, a.y_size, a.x_size), scaled_up(j + 1, a.y_size, a.x_size), 1};
  const std::int64_t at = j + a.before;
  const std::int64_t low = std::max<std::int64_t>(up_div(at - (a.window - 1) * a.dilation, a.stride), 0);
  const std::int64_t end = std::min(at / a.stride + 1, a.y_size);
  if (a.dilation == 1) return {low, std::max(low, end), 1};
  const WindowSteps w = window_steps(a);
  if (at % w.gcd != 0) return {low, low, 1};
  const std::int64_t remainder = at / w.gcd % w.step * w.inverse % w.step;
  const std::int64_t first = low + modulo(remainder - low, w.step);
  return {first, std::max(first, end), w.step};
}

std::int64_t counted_elements(const PoolAxis& a, std::int64_t i) {
  if (a.adaptive || !a.count_padding) {
    const Steps s = elements_of_window(a, i);
    return up_div(s.end - s.first, s.step);
  }
  const std::int64_t start = i * a.stride - a.before;
  return std::clamp<std::int64_t>(up_div(a.x_size + a.after - start, a.dilation), 0, a.window);
}

DType PoolProblem::result_type() const { return result_type_of(from_type); }

double PoolProblem::least() const {
  if (is_floating(from_type)) return -std::numeric_limits<double>::infinity();
  return is_signed(from_type) ? -std::exp2(bits(from_type) - 1) : 0;
}

std::int64_t PoolProblem::index_stride(int axis) const {
  std::int64_t stride = 1;
  for (int d = axis + 1; d < spatial(); ++d) stride *= axes[static_cast<std::size_t>(d)].x_size;
  return stride;
}

double PoolProblem::taps() const {
  double taps = 1;
  for (const PoolAxis& a : axes) {
    const auto x = static_cast<double>(a.x_size), y = static_cast<double>(std::max<std::int64_t>(a.y_size, 1));
    const double window = a.adaptive ? std::max(1.0, std::ceil(x / y)) : static_cast<double>(a.window);
    taps *= backward ? std::max(1.0, window * y / std::max(x, 1.0)) : window;
  }
  return taps;
}

PoolProblem pool_problem(std::string_view kernel, PoolKind kind, const View& x, const View& y,
                         const std::optional<View>& indices, double norm, const PoolOptions& options,
                         const Epilogue& epilogue, const Prologue& prologue) {
  // A prologue takes any type, an epilogue gives y any.
  const DType type = prologue_type(x, prologue);
  const View pooled = with_type(x, type), plain = epilogue.expression ? with_type(y, type) : y;
  if (indices)
    check_views(kernel, {&pooled}, {&plain, &*indices});
  else
    check_views(kernel, {&pooled}, {&plain});
  if (!(norm > 0) || !std::isfinite(norm))
    throw InvalidArgument("{}: p is {}, expected a positive number", kernel, norm);
  PoolProblem p{.kind = kind,
                .backward = false,
                .inputs = prologue_inputs(kernel, x, prologue),
                .from_type = type,
                .prologue = prologue.expression,
                .to = y,
                .indices = indices,
                .operands = {},
                .axes = axes_of(kernel, x, y, options, false),
                .divisor = options.divisor,
                .norm = norm};
  check_indices(kernel, x, y, indices);
  check_epilogue(kernel, epilogue, p.result_type(), y);
  p.operands = epilogue_operands(kernel, epilogue, y);
  return p;
}

PoolProblem pool_gradient_problem(std::string_view kernel, PoolKind kind, const View& dy,
                                  const std::optional<View>& indices, const View& dx, const PoolOptions& options,
                                  const Epilogue& epilogue, const Prologue& prologue) {
  const DType type = prologue_type(dy, prologue);
  const View pooled = with_type(dy, type), plain = epilogue.expression ? with_type(dx, type) : dx;
  if (indices)
    check_views(kernel, {&pooled, &*indices}, {&plain});
  else
    check_views(kernel, {&pooled}, {&plain});
  PoolProblem p{.kind = kind,
                .backward = true,
                .inputs = prologue_inputs(kernel, dy, prologue),
                .from_type = type,
                .prologue = prologue.expression,
                .to = dx,
                .indices = indices,
                .operands = {},
                .axes = axes_of(kernel, dx, dy, options, true),
                .divisor = options.divisor,
                .norm = 1};
  check_indices(kernel, dx, dy, indices);
  check_epilogue(kernel, epilogue, p.result_type(), dx);
  p.operands = epilogue_operands(kernel, epilogue, dx);
  return p;
}

PoolProblem part(const PoolProblem& p, int axis, std::int64_t begin, std::int64_t size) {
  PoolProblem q = p;
  q.to = sliced(p.to, axis, begin, size);
  for (View& v : q.operands) v = sliced(v, axis, begin, size);
  std::int64_t low = begin, count = size;
  if (axis >= PoolProblem::kSpatial) {
    PoolAxis& a = q.axes[static_cast<std::size_t>(axis - PoolProblem::kSpatial)];
    const std::int64_t first = a.to_begin + begin, last = first + size - 1;
    const std::int64_t whole = p.backward ? a.y_size : a.x_size, reach = (a.window - 1) * a.dilation;
    std::int64_t high;
    if (a.adaptive) {
      low = p.steps(axis - PoolProblem::kSpatial, first).first;
      high = p.steps(axis - PoolProblem::kSpatial, last).end;
    } else if (p.backward) {
      low = up_div(first + a.before - reach, a.stride);
      high = (last + a.before) / a.stride + 1;
    } else {
      low = first * a.stride - a.before;
      high = last * a.stride - a.before + reach + 1;
    }
    low = std::clamp<std::int64_t>(low, 0, whole);
    count = std::clamp(high, low, whole) - low;
    const std::int64_t from_begin = a.from_begin;
    if (count > 0) a.from_begin = low;
    a.to_begin = first;
    low -= from_begin;
  }
  for (View& v : q.inputs) v = sliced(v, axis, low, count);
  if (q.indices) q.indices = p.backward ? sliced(*p.indices, axis, low, count) : sliced(*p.indices, axis, begin, size);
  return q;
}

}  // namespace weft::kernels
