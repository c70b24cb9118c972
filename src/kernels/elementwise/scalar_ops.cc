#include "kernels/elementwise/scalar_ops.h"

#include "weft/error.h"

namespace weft::kernels {
namespace {

using enum ScalarOp;
constexpr Yields same = Yields::same;
constexpr Yields boolean = Yields::boolean;

// In the order of the enumeration.
constexpr ScalarOpInfo kOps[] = {
    {input, "input", 0, kAny, same},
    {constant, "constant", 0, kAny, same},
    {cast, "cast", 1, kAny, same},
    {neg, "neg", 1, kNumber, same, "-$0", "-$0", "(~$0 + 1u)", "neg_64($0)"},
    {ScalarOp::abs, "abs", 1, kNumber, same, "abs_f32($0)", "abs($0)", "$0", "abs_i64($0)", "$0"},
    {sign, "sign", 1, kNumber, same, "sign_f32($0)", "sign($0)", "min($0, 1u)", "sign_i64($0)",
     "vec2<u32>(min($0.x | $0.y, 1u), 0u)"},
    {ScalarOp::ceil, "ceil", 1, kFloat, same, "ceil($0)"},
    {ScalarOp::floor, "floor", 1, kFloat, same, "floor($0)"},
    {ScalarOp::trunc, "trunc", 1, kFloat, same, "trunc($0)"},
    {ScalarOp::round, "round", 1, kFloat, same, "round($0)"},
    {ScalarOp::sqrt, "sqrt", 1, kFloat, same, "sqrt($0)"},
    {rsqrt, "rsqrt", 1, kFloat, same, "inverseSqrt($0)"},
    {reciprocal, "reciprocal", 1, kFloat, same, "(1.0 / $0)"},
    {square, "square", 1, kNumber, same, "($0 * $0)", "", "", "mul_64($0, $0)"},
    {ScalarOp::exp, "exp", 1, kFloat, same, "exp_f32($0)"},
    {ScalarOp::exp2, "exp2", 1, kFloat, same, "exp2_f32($0)"},
    {ScalarOp::log, "log", 1, kFloat, same, "log_f32($0)"},
    {ScalarOp::log2, "log2", 1, kFloat, same, "log2_f32($0)"},
    {ScalarOp::sin, "sin", 1, kFloat, same, "sin_f32($0)"},
    {ScalarOp::cos, "cos", 1, kFloat, same, "cos_f32($0)"},
    {ScalarOp::tan, "tan", 1, kFloat, same, "tan_f32($0)"},
    {ScalarOp::tanh, "tanh", 1, kFloat, same, "tanh_f32($0)"},
    {ScalarOp::erf, "erf", 1, kFloat, same, "erf_f32($0)"},
    {sigmoid, "sigmoid", 1, kFloat, same, "sigmoid_f32($0)"},
    {softplus, "softplus", 1, kFloat, same, "softplus_f32($0)"},
    {relu, "relu", 1, kNumber, same, "relu_f32($0)", "max($0, 0)", "$0", "relu_i64($0)", "$0"},
    {gelu_erf, "gelu_erf", 1, kFloat, same, "gelu_erf_f32($0)"},
    {gelu_tanh, "gelu_tanh", 1, kFloat, same, "gelu_tanh_f32($0)"},
    {gelu_quick, "gelu_quick", 1, kFloat, same, "gelu_quick_f32($0)"},
    {silu, "silu", 1, kFloat, same, "silu_f32($0)"},
    {logical_not, "logical_not", 1, kBool, same, "", "", "(1u - $0)"},
    {bitwise_not, "bitwise_not", 1, kBits, same, "", "~$0", "~$0", "~$0"},
    {is_nan, "is_nan", 1, kFloat, boolean, "u32(is_nan_f32($0))"},
    {is_inf, "is_inf", 1, kFloat, boolean, "u32(is_inf_f32($0))"},
    {add, "add", 2, kNumber, same, "($0 + $1)", "", "", "add_64($0, $1)"},
    {sub, "sub", 2, kNumber, same, "($0 - $1)", "", "", "sub_64($0, $1)"},
    {mul, "mul", 2, kNumber, same, "($0 * $1)", "", "", "mul_64($0, $1)"},
    {ScalarOp::div, "div", 2, kNumber, same, "div_f32($0, $1)", "div_i32($0, $1)", "div_u32($0, $1)", "div_i64($0, $1)",
     "div_u64($0, $1)"},
    {rem, "rem", 2, kNumber, same, "rem_f32($0, $1)", "rem_i32($0, $1)", "rem_u32($0, $1)", "rem_i64($0, $1)",
     "rem_u64($0, $1)"},
    {ScalarOp::pow, "pow", 2, kNumber, same, "pow_f32($0, $1)", "pow_i32($0, $1)", "pow_u32($0, $1)",
     "pow_i64($0, $1)", "pow_u64($0, $1)"},
    {min, "min", 2, kAny, same, "min_f32($0, $1)", "min($0, $1)", "", "min_i64($0, $1)", "min_u64($0, $1)"},
    {max, "max", 2, kAny, same, "max_f32($0, $1)", "max($0, $1)", "", "max_i64($0, $1)", "max_u64($0, $1)"},
    {equal, "equal", 2, kAny, boolean, "u32(equal_f32($0, $1))", "u32($0 == $1)", "", "u32(all($0 == $1))"},
    {not_equal, "not_equal", 2, kAny, boolean, "u32(!equal_f32($0, $1))", "u32($0 != $1)", "", "u32(any($0 != $1))"},
    {less, "less", 2, kAny, boolean, "u32(less_f32($0, $1))", "u32($0 < $1)", "", "u32(less_i64($0, $1))",
     "u32(less_u64($0, $1))"},
    {less_equal, "less_equal", 2, kAny, boolean, "u32(less_equal_f32($0, $1))", "u32($0 <= $1)", "",
     "u32(!less_i64($1, $0))", "u32(!less_u64($1, $0))"},
    {greater, "greater", 2, kAny, boolean, "u32(less_f32($1, $0))", "u32($0 > $1)", "", "u32(less_i64($1, $0))",
     "u32(less_u64($1, $0))"},
    {greater_equal, "greater_equal", 2, kAny, boolean, "u32(less_equal_f32($1, $0))", "u32($0 >= $1)", "",
     "u32(!less_i64($0, $1))", "u32(!less_u64($0, $1))"},
    {logical_and, "logical_and", 2, kBool, same, "", "", "($0 & $1)"},
    {logical_or, "logical_or", 2, kBool, same, "", "", "($0 | $1)"},
    {logical_xor, "logical_xor", 2, kBool, same, "", "", "($0 ^ $1)"},
    {bitwise_and, "bitwise_and", 2, kBits, same, "", "($0 & $1)", "", "($0 & $1)"},
    {bitwise_or, "bitwise_or", 2, kBits, same, "", "($0 | $1)", "", "($0 | $1)"},
    {bitwise_xor, "bitwise_xor", 2, kBits, same, "", "($0 ^ $1)", "", "($0 ^ $1)"},
    {shift_left, "shift_left", 2, kInteger, same, "", "shift_left_i32($0, $1)", "shift_left_u32($0, $1)",
     "shift_left_64($0, $1)"},
    {shift_right, "shift_right", 2, kInteger, same, "", "shift_right_i32($0, $1)", "shift_right_u32($0, $1)",
     "shift_right_i64($0, $1)", "shift_right_u64($0, $1)"},
    {select, "select", 3, kAny, same, "select($2, $1, $0 != 0u)", "", "", "select($2, $1, $0 != 0u)"},
    {ScalarOp::fma, "fma", 3, kNumber, same, "fma($0, $1, $2)", "($0 * $1 + $2)", "", "add_64(mul_64($0, $1), $2)"},
    {clamp, "clamp", 3, kNumber, same, "min_f32(max_f32($0, $1), $2)", "min(max($0, $1), $2)", "",
     "min_i64(max_i64($0, $1), $2)", "min_u64(max_u64($0, $1), $2)"},
};

constexpr bool in_order() {
  int i = 0;
  for (const auto& row : kOps) {
    if (static_cast<int>(row.op) != i++) return false;
  }
  return i == static_cast<int>(clamp) + 1;
}
static_assert(in_order(), "kOps has one row for each ScalarOp, in the order of the enumeration");

}  // namespace

const ScalarOpInfo& info(ScalarOp op) { return kOps[static_cast<std::size_t>(op)]; }

unsigned type_set(DType type) {
  switch (weft::info(type).kind) {
    case DTypeKind::floating: return kFloat;
    case DTypeKind::signed_integer: return kSigned;
    case DTypeKind::unsigned_integer: return kUnsigned;
    case DTypeKind::boolean: return kBool;
    case DTypeKind::complex: return 0;
  }
  throw InternalError("dtype {} has no kind", static_cast<int>(type));
}

}  // namespace weft::kernels
