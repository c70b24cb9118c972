#include "ops/promotion.h"

#include <algorithm>

#include "core/format.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {
namespace {

bool packed(DType t) { return bits(t) < 8; }

// The integer type of this kind and width.
DType integer_of(DTypeKind kind, int width) {
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    if (info(type).kind == kind && bits(type) == width) return type;
  }
  throw InternalError("no integer of {} bits", width);
}

std::optional<DType> common(DType a, DType b) {
  if (a == b) return a;
  if (packed(a) || packed(b)) return std::nullopt;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_integer(b) && !is_integer(a)) return a;
  if (is_integer(a) && !is_integer(b)) return b;
  if (is_integer(a)) {
    const DTypeKind kind = info(a).kind;
    if (kind == info(b).kind) return bits(a) > bits(b) ? a : b;
    const int unsigned_bits = kind == DTypeKind::unsigned_integer ? bits(a) : bits(b);
    const int signed_bits = kind == DTypeKind::unsigned_integer ? bits(b) : bits(a);
    if (unsigned_bits == 64) return std::nullopt;
    return integer_of(DTypeKind::signed_integer, std::max(signed_bits, 2 * unsigned_bits));
  }
  if (a == DType::c64 || b == DType::c64) {
    return a == DType::f64 || b == DType::f64 ? std::nullopt : std::optional(DType::c64);
  }
  if (bits(a) != bits(b)) return bits(a) > bits(b) ? a : b;
  return bits(a) == 16 ? std::optional(DType::f32) : std::nullopt;  // f16 and bf16; two 8-bit floats
}

// What a number makes of the type of the tensors beside it.
DType with_number(DType tensors, DTypeKind number) {
  const bool is_bool = tensors == DType::boolean;
  if (number == DTypeKind::boolean) return tensors;
  if (number == DTypeKind::floating) return is_bool || is_integer(tensors) ? DType::f32 : tensors;
  return is_bool ? DType::i32 : tensors;
}

DType common_of(std::span<const TensorLike* const> operands) {
  std::optional<DType> tensors;
  for (const TensorLike* x : operands) {
    if (x->tensor()) tensors = tensors ? result_type(*tensors, x->tensor()->dtype()) : x->tensor()->dtype();
  }
  DType type = tensors.value_or(DType::boolean);
  for (const TensorLike* x : operands) {
    if (!x->tensor()) type = with_number(type, x->kind());
  }
  return type;
}

}  // namespace

bool fits(const Number& integer, DType dtype) {
  const auto value = integer.integer();
  if (!value) return false;
  const bool negative = integer.value() < 0;
  const int width = bits(dtype);
  if (info(dtype).kind == DTypeKind::unsigned_integer) return !negative && (width == 64 || *value >> width == 0);
  if (negative) return width == 64 || static_cast<std::int64_t>(*value) >= -(std::int64_t{1} << (width - 1));
  return *value < std::uint64_t{1} << (width - 1);
}

Tensor as_tensor(std::string_view function, const TensorLike& x, DType dtype) {
  if (const Tensor* t = x.tensor()) return t->dtype() == dtype ? *t : cast(*t, dtype);
  const Number& n = x.number();
  if (x.kind() == DTypeKind::signed_integer && is_integer(dtype) && !fits(n, dtype)) {
    throw TypeError("{}: {} is not in the range of {}", function, to_string(n), name(dtype));
  }
  return Graph::scalar(n, dtype);
}

DType result_type(DType a, DType b) {
  if (const auto type = common(a, b)) return *type;
  throw TypeError("{} and {} have no type in common: cast one of them", name(a), name(b));
}

DType result_type(std::span<const TensorLike> operands) {
  std::vector<const TensorLike*> all;
  for (const TensorLike& x : operands) all.push_back(&x);
  return common_of(all);
}

DType result_type_for(std::string_view function, std::span<const TensorLike* const> operands) {
  try {
    return common_of(operands);
  } catch (const TypeError& e) {
    throw TypeError("{}: {}", function, e.what());
  }
}

DType result_type_for(std::string_view function, std::span<const Tensor> operands) {
  const std::vector<TensorLike> all(operands.begin(), operands.end());
  std::vector<const TensorLike*> each;
  for (const TensorLike& x : all) each.push_back(&x);
  return result_type_for(function, each);
}

DType result_type(std::initializer_list<TensorLike> operands) {
  return result_type(std::span(operands.begin(), operands.size()));
}

}  // namespace weft
