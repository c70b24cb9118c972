#include "weft/kernels/quantize.h"

#include <string_view>
#include <vector>

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/plan_cache.h"
#include "kernels/quantize/expressions.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

struct Conversion {
  std::string_view name, from, to;  // of the kernel, its operand and its result
  const View &x, &scale;
  const std::optional<View>& zero_point;
  const View& y;

  TypeSet shifted = kShiftedTypes;  // types that zero points may have

  const View* zero() const { return zero_point ? &*zero_point : nullptr; }
};

void check(const Conversion& c) {
  check_views(c.name, {&c.x, &c.scale, c.zero()}, {&c.y});
  if (c.x.shape() != c.y.shape()) {
    throw ShapeError("{}: {} is {} and {} {}, expected one shape", c.name, c.from, to_string(c.x), c.to,
                     to_string(c.y));
  }
  const auto broadcasts = [&](std::string_view what, const View& v) {
    if (broadcasts_to(v.shape(), c.y.shape())) return;
    throw ShapeError("{}: {} {} does not broadcast to {} {}", c.name, what, to_string(v), c.to, to_string(c.y));
  };
  broadcasts("scale", c.scale);
  if (!c.zero()) return;
  broadcasts("zero_point", *c.zero());
  if (!c.shifted.contains(c.zero()->dtype)) {
    throw TypeError("{}: a zero point is given, but {} has none; expected one of {}", c.name, name(c.zero()->dtype),
                    to_string(c.shifted));
  }
}

// `expression` makes the expression, `options` are what it depends on beside the operands' types.
template <class Make, class... Options>
void run(Stream& stream, const Conversion& c, const Make& expression, const Options&... options) {
  std::vector<View> inputs{c.x, c.scale};
  if (c.zero()) inputs.push_back(*c.zero());
  const std::span<const View> in = inputs, out(&c.y, 1);
  call(stream, CallKey(c.name, options...), {in, out}, [&](Stream& s) {
    check(c);
    map(s, c.name, expression(), in, out);
  });
}

}  // namespace

void quantize(Stream& stream, const View& x, const View& scale, const std::optional<View>& zero_point, const View& q,
              const QuantizeOptions& options) {
  run(
      stream, {"quantize", "x", "q", x, scale, zero_point, q},
      [&] { return quantize_expression(x.dtype, scale.dtype, zero_point.has_value(), q.dtype, options); },
      options.saturate);
}

void dequantize(Stream& stream, const View& q, const View& scale, const std::optional<View>& zero_point,
                const View& x) {
  run(stream, {"dequantize", "q", "x", q, scale, zero_point, x},
      [&] { return dequantize_expression(q.dtype, scale.dtype, zero_point.has_value(), x.dtype); });
}

void requantize(Stream& stream, const View& x, const View& scale, const std::optional<View>& zero_point, const View& q,
                const QuantizeOptions& options) {
  run(
      stream, {"requantize", "x", "q", x, scale, zero_point, q},
      [&] { return requantize_expression(x.dtype, scale.dtype, zero_point.has_value(), q.dtype, options); },
      options.saturate);
}

void fake_quantize(Stream& stream, const View& x, const View& scale, const std::optional<View>& zero_point,
                   const View& y, const IntegerRange& range) {
  check_range("fake_quantize", range);
  const std::optional<DType> zero = zero_point ? std::optional(zero_point->dtype) : std::nullopt;
  run(
      stream, {"fake_quantize", "x", "y", x, scale, zero_point, y, {DType::i32, DType::i64, DType::f32, DType::f64}},
      [&] { return fake_quantize_expression(x.dtype, scale.dtype, zero, range); }, range.low, range.high);
}

void check_range(std::string_view function, const IntegerRange& range) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;  // beyond it f32 does not hold every integer
  if (range.low < range.high && range.low >= -kMost && range.high <= kMost) return;
  throw InvalidArgument("{}: the range is {} to {}, expected low < high, both within ±2^24", function, range.low,
                        range.high);
}

}  // namespace weft::kernels
