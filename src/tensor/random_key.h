// The key of functions that draw: their optional operand.
#pragma once

#include "ops/function_row.h"
#include "weft/random.h"

namespace weft::random {

inline constexpr FunctionOperand kKeyOperand = {
    .name = "key", .types = DType::u32, .arity = Arity::optional, .shape = "[2]"};

inline Tensor key_or_next(const Tensor& key) { return key.defined() ? key : next_key(); }

}  // namespace weft::random
