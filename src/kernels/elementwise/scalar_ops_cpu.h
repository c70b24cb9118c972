// The CPU forms of the scalar operations, as loops over blocks of registers.
#pragma once

#include "kernels/elementwise/expression_cpu.h"

namespace weft::kernels {

// The register type in which a value computes on the CPU: f32 for f32 and narrower floats, f64 for f64, 64 bits for
// integers of either sign, u8 0 or 1 for booleans, std::complex<float> for complex numbers.
enum class CpuRegister : std::uint8_t { f32, f64, i64, u64, c64, u8 };

inline int byte_size(CpuRegister r) { return r == CpuRegister::f32 ? 4 : r == CpuRegister::u8 ? 1 : 8; }

CpuRegister cpu_register(DType type);

// The loop of an operation on operands of that type; null if there is none.
CpuExpression::Function cpu_function(ScalarOp op, DType type);
// Converts floats to integers towards zero, saturating at 64 bits, NaN to 0; of complex numbers the real part.
CpuExpression::Function cpu_conversion(CpuRegister from, CpuRegister to);
CpuExpression::Function cpu_to_boolean(CpuRegister from);
// Converts to f32 so that a later rounding to a narrower float is right (core/round_to_odd.h), if not casts_by_f32().
CpuExpression::Function cpu_round_to_odd(DType from);

}  // namespace weft::kernels
