#include "webnn/call.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/format.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "webnn/op_rows.h"
#include "webnn/state.h"
#include "weft/small_float.h"

namespace weft::webnn {

void Call::refuse(const std::string& text) const { throw TypeError("{}{}", prefix_, text); }

weft::Tensor tensor_of(const Operand& operand) { return operand ? operand.state()->tensor : weft::Tensor(); }

Number cast_number(const Number& number, DType type) {
  if (type == DType::f16)
    return Number(static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(number.bits(type)))));
  if (type == DType::f32) return Number(std::bit_cast<float>(static_cast<std::uint32_t>(number.bits(type))));
  if (number.integral()) {
    // Saturates, as bits() does it, without a way through double.
    const std::uint64_t bits = number.bits(type);
    if (!is_signed(type)) return Number(bits);
    const int unused = 64 - weft::bits(type);
    return Number(static_cast<std::int64_t>(bits << unused) >> unused);
  }
  const double value = std::nearbyint(number.value());  // to even; NaN becomes 0 in bits()
  return cast_number(is_signed(type) ? Number(static_cast<std::int64_t>(Number(value).bits(DType::i64)))
                                     : Number(Number(value).bits(DType::u64)),
                     type);
}

weft::Tensor Call::unbuildable(const TensorType& type, const std::string& text) const {
  unbuildable_.emplace_back(apply(make_op<InputOp>("unbuildable", type, ""), {}), prefix_ + text);
  return unbuildable_.back().first;
}

std::optional<Sizes> broadcast(const Sizes& a, const Sizes& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Sizes shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const std::int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) return {};
    shape[i] = std::max(x, y);
  }
  return shape;
}

bool broadcasts_to(const Sizes& from, const Sizes& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[i + to.size() - from.size()]) return false;
  }
  return true;
}

Shape to_shape(const Sizes& sizes) { return Shape(std::span<const std::int64_t>(sizes)); }
Sizes to_sizes(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace weft::webnn
