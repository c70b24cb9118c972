// The scalar expressions of weft/kernels/quantize.h. Their inputs are x (or q), the scale, and the zero point if there
// is one. They are fused like any other elementwise work.
#pragma once

#include <optional>
#include <string_view>

#include "weft/expression.h"
#include "weft/kernels/quantize.h"
#include "weft/schema.h"

namespace weft::kernels {

inline constexpr TypeSet kQuantizedTypes = {DType::i8,  DType::u8,  DType::i4,     DType::u4,
                                            DType::i2,  DType::u2,  DType::i16,    DType::u16,
                                            DType::i32, DType::u32, DType::f8e4m3, DType::f8e5m2};
// Of quantised types those that have zero points.
inline constexpr TypeSet kShiftedTypes = kQuantizedTypes - TypeSet{DType::f8e4m3, DType::f8e5m2};
// Of what is quantised, and of scales.
inline constexpr TypeSet kScaleTypes = {DType::f32, DType::f16, DType::bf16, DType::f64};

Expression quantize_expression(DType x, DType scale, bool has_zero_point, DType q, const QuantizeOptions& options);
Expression dequantize_expression(DType q, DType scale, bool has_zero_point, DType x);
Expression requantize_expression(DType x, DType scale, bool has_zero_point, DType q, const QuantizeOptions& options);
Expression fake_quantize_expression(DType x, DType scale, std::optional<DType> zero_point, const IntegerRange& range);
// Whether fake_quantize rounds an element alone, and does not saturate it.
Expression in_range_expression(DType x, DType scale, std::optional<DType> zero_point, const IntegerRange& range);

// Throws InvalidArgument unless f32 holds the range's integers and there are two or more.
void check_range(std::string_view function, const IntegerRange& range);

// The least and the greatest integer of a quantised type; of 8-bit floats the largest finite number and its negative.
struct QuantizedRange {
  double low, high;
};
QuantizedRange quantized_range(DType q);

}  // namespace weft::kernels
