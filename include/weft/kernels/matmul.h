// Matrix products. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/expression.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// What happens to each element of a product before it is stored: expression input 0 is the product's element (f32), the
// others are `operands`, broadcast to y's shape. No expression: the element is stored as it is.
struct Epilogue {
  const Expression* expression = nullptr;
  std::span<const View> operands;
};

// y[…, m, n] = epilogue(Σ_k a[…, m, k] · b[…, k, n]); leading dimensions broadcast; transposed operands are strides.
// f32 accumulation. a and b are of any floating type, y too unless an expression gives it another. y may be an epilogue
// operand's very view, but shares no memory with a or b.
void matmul(Stream& stream, const View& a, const View& b, const View& y, const Epilogue& epilogue = {},
            const std::optional<View>& workspace = {});
// Bytes of scratch with which this product is fastest on that stream (0: none). A call without runs all the same.
std::uint64_t matmul_workspace(Stream& stream, const View& a, const View& b, const View& y);

}  // namespace weft::kernels
