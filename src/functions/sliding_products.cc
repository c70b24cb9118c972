#include "functions/sliding_products.h"

#include <array>

#include "ops/composition.h"
#include "ops/view.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/graph.h"

namespace weft {
namespace {

// x [r, channels, n] and w [outputs, channels, m].
Tensor convolved(const Tensor& x, const Tensor& w, std::int64_t before, std::int64_t after) {
  return conv(x, w, {}, {.padding = {before}, .padding_after = {after}});
}

}  // namespace

Tensor sliding_products(const Tensor& rows, const Tensor& window, std::int64_t before, std::int64_t after) {
  const DType type = rows.dtype();
  const std::int64_t m = window.size();
  if (type == DType::c64) {
    const Tensor re = real(window), im = imag(window);
    const Tensor weights = stack({stack({re, -im}), stack({im, re})});
    const Tensor y = convolved(stack({real(rows), imag(rows)}, 1), weights, before, after);
    return complex(squeeze(slice(y, 1, 0, 1), 1), squeeze(slice(y, 1, 1, 2), 1));
  }
  if (is_integer(type) && bits(type) == 64) {
    const Tensor padded = pad(rows, std::array{std::int64_t{0}, before}, std::array{std::int64_t{0}, after});
    // [r, m, places]; the sum takes the product in.
    return reduce(ReduceKind::sum, windows(padded, {.axis = 1, .size = m}) * reshape(window, {1, m, 1}), {1});
  }
  const DType narrow = type == DType::boolean ? DType::u8 : type;
  const Tensor y = squeeze(
      convolved(expand_dims(cast(rows, narrow), 1), reshape(cast(window, narrow), {1, 1, m}), before, after), 1);
  return type == DType::boolean ? y != 0 : cast(y, summed(type));
}

}  // namespace weft
