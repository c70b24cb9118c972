// Which type values of several types have in common (result_type in weft/graph.h).
#pragma once

#include <span>
#include <string_view>

#include "weft/dtype.h"
#include "weft/number.h"
#include "weft/tensor.h"

namespace weft {

// Whether the integer is a value of this integer type.
bool fits(const Number& integer, DType dtype);

// A function's operand as a tensor of that type. A number becomes a value of its own, which the compiler moves into the
// expression, and evaluation gives at each run. Throws TypeError for an integer outside of an integer type's range; of
// a floating number the fraction is cut off.
Tensor as_tensor(std::string_view function, const TensorLike& x, DType dtype);

// result_type() of a function's operands; what it throws names the function.
DType result_type_for(std::string_view function, std::span<const TensorLike* const> operands);
DType result_type_for(std::string_view function, std::span<const Tensor> operands);

// The type of positions among `count` elements, and of counts of them: i32, or i64 from 2^31 elements on.
inline DType position_type(std::int64_t count) { return count < std::int64_t{1} << 31 ? DType::i32 : DType::i64; }

}  // namespace weft
