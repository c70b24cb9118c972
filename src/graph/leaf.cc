#include "graph/leaf.h"

#include <cstring>

#include "graph/node.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft {
namespace {

template <class T>
T load(const TensorData& data) {
  T value;
  std::memcpy(&value, data.bytes.data(), sizeof value);
  return value;
}

// 64-bit integers past 2⁵³ do not fit a double, and 2⁵³ is also what 2⁵³ + 1 is rounded to.
template <class T>
std::optional<double> exact(T value) {
  const auto d = static_cast<double>(value);
  if (std::abs(d) >= 9007199254740992.0) return std::nullopt;
  return d;
}

}  // namespace

Tensor number_constant(DType dtype, std::uint64_t bits) {
  return apply(make_op<ConstantOp>(make_constant(dtype, bits), std::string()), {});
}

Tensor Graph::scalar(Number value, DType dtype) { return number_constant(dtype, value.bits(dtype)); }

void ConstantOp::visit(AttributeVisitor& v) const {
  auto value = scalar();
  if (value) v("value", value, {}, "of one element");
}

std::string ConstantOp::hidden_identity() const { return "key=" + std::string(constant_->key()); }

std::optional<double> ConstantOp::scalar() const {
  if (element_count(constant_->type().shape) != 1 || constant_->is_deferred()) return std::nullopt;
  const TensorData d = constant_->data();
  switch (d.dtype) {
    case DType::f32:
      return load<float>(d);
    case DType::f16:
      return static_cast<float>(load<float16>(d));
    case DType::bf16:
      return static_cast<float>(load<bfloat16>(d));
    case DType::f64:
      return load<double>(d);
    case DType::i8:
      return load<std::int8_t>(d);
    case DType::i16:
      return load<std::int16_t>(d);
    case DType::i32:
      return load<std::int32_t>(d);
    case DType::i64:
      return exact(load<std::int64_t>(d));
    case DType::u8:
      return load<std::uint8_t>(d);
    case DType::u16:
      return load<std::uint16_t>(d);
    case DType::u32:
      return load<std::uint32_t>(d);
    case DType::u64:
      return exact(load<std::uint64_t>(d));
    case DType::boolean:
      return load<std::uint8_t>(d) != 0;
    default:
      return std::nullopt;
  }
}

}  // namespace weft
