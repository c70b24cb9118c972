// Numbers that are equal up to tolerances (weft/array.h).
#include <array>
#include <cmath>

#include "core/format.h"
#include "ops/composition.h"
#include "ops/function_row.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

struct CloseAttributes {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
  void fields(AttributeVisitor& v) {
    v("rtol", rtol, 1e-5, "which part of |b| they may differ by");
    v("atol", atol, 1e-8, "what they may differ by beside that");
    v("equal_nan", equal_nan, false, "NaN is equal to NaN");
  }
};

// The distance of a and b and the magnitude of b, in a type of floats, and where both are finite (undefined:
// everywhere).
struct Distance {
  Tensor distance, size, finite;
};

Distance distance_of(const Tensor& a, const Tensor& b) {
  const DType type = a.dtype();
  if (is_inexact(type)) return {abs(a - b), abs(b), parts_are_finite(a) & parts_are_finite(b)};
  // A difference of signed integers wraps to the right unsigned one.
  Tensor distance = maximum(a, b) - minimum(a, b);
  if (is_signed(type)) {
    distance = cast(distance, bits(type) == 64   ? DType::u64
                              : bits(type) == 32 ? DType::u32
                              : bits(type) == 16 ? DType::u16
                                                 : DType::u8);
  }
  return {cast(distance, DType::f32), abs(cast(b, DType::f32)), {}};
}

Tensor close(std::string_view function, const TensorLike& first, const TensorLike& second, const CloseAttributes& o) {
  for (const auto& [name, tolerance] : {std::pair("rtol", o.rtol), std::pair("atol", o.atol)}) {
    if (!(tolerance >= 0)) throw InvalidArgument("{}: {} is {}; expected 0 or more", function, name, tolerance);
  }
  const std::array operands{&first, &second};
  const DType type = result_type_for(function, operands);
  const auto operand = [&](const TensorLike& x) {
    const Tensor t = as_tensor(function, x, type);
    if (type == DType::boolean) return cast(t, DType::u8);
    return is_floating(type) ? accumulated(t) : in_bytes(t);
  };
  const Tensor a = operand(first), b = operand(second);
  const auto [distance, size, finite] = distance_of(a, b);
  Tensor near = distance <= size * o.rtol + o.atol;
  if (finite.defined()) near = near & finite;
  Tensor y = near | (a == b);
  if (o.equal_nan && is_inexact(type)) {
    const auto nan = [](const Tensor& x) {
      return x.dtype() == DType::c64 ? is_nan(real(x)) | is_nan(imag(x)) : Tensor(is_nan(x));
    };
    y = y | (nan(a) & nan(b));
  }
  return y;
}

constexpr Function kIsclose = {
    {.name = "isclose",
     .operands = {{"a"}, {"b"}},
     .results = {{"y", "the operands' common shape", "bool"}},
     .formula = "y = |a - b| ≤ atol + rtol · |b|",
     .summary = "whether elements are equal up to tolerances"},
    [](const TensorLike& a, const TensorLike& b, const CloseAttributes& o) { return close("isclose", a, b, o); }};
constexpr Function kAllclose = {{.name = "allclose",
                                 .operands = {{"a"}, {"b"}},
                                 .results = {{"y", "[]", "bool"}},
                                 .formula = "y = all(|a - b| ≤ atol + rtol · |b|)",
                                 .summary = "whether all elements are equal up to tolerances"},
                                [](const TensorLike& a, const TensorLike& b, const CloseAttributes& o) {
                                  return reduce(ReduceKind::all, close("allclose", a, b, o), {});
                                }};

}  // namespace

void add_closeness_functions(FunctionRows& rows) { rows.add(kIsclose, kAllclose); }

Tensor isclose(const TensorLike& a, const TensorLike& b, double rtol, double atol, bool equal_nan) {
  return kIsclose(a, b, {rtol, atol, equal_nan});
}
Tensor allclose(const TensorLike& a, const TensorLike& b, double rtol, double atol, bool equal_nan) {
  return kAllclose(a, b, {rtol, atol, equal_nan});
}

}  // namespace weft
