// The CPU forms of the scalar operations, as loops over blocks of registers.
#pragma once

#include "kernels/elementwise/expression_cpu.h"

namespace weft::kernels {

// What a value computes in on the CPU: f32 and the narrower floats as f32, f64 as it is, integers of either sign as 64
// bits, booleans as u64 0 or 1, complex numbers as std::complex<float>.
enum class CpuRegister : std::uint8_t { f32, f64, i64, u64, c64 };

inline int byte_size(CpuRegister r) { return r == CpuRegister::f32 ? 4 : 8; }

CpuRegister cpu_register(DType type);

// The loop of an operation on operands of that type; null if there is none.
CpuExpression::Function cpu_function(ScalarOp op, DType type);
// Floats to integers towards zero, saturating at 64 bits, NaN to 0. A complex number's real part.
CpuExpression::Function cpu_conversion(CpuRegister from, CpuRegister to);
CpuExpression::Function cpu_to_boolean(CpuRegister from);
// To f32 for a narrower float to come (core/round_to_odd.h), where casts_by_f32() says no.
CpuExpression::Function cpu_round_to_odd(DType from);

}  // namespace weft::kernels
