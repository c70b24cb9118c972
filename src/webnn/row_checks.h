// Checks that the maps of several operations share.
#pragma once

#include <string_view>

#include "webnn/call.h"
#include "weft/shape.h"

namespace weft::webnn {

// The specification's "valid dimension" is a number from 1 to this; its "valid tensor count" one from 1 to that.
inline constexpr std::int64_t kMostSize = 2147483647;
inline constexpr std::size_t kMostTensors = 8192;

// A result's shape. Throws TypeError unless a tensor may have it.
Shape checked_shape(const Call& call, const Sizes& shape);

// Throws TypeError unless all numbers of the list `name` are positive.
void check_positive(const Call& call, std::string_view name, const Sizes& list);

// Throws TypeError unless the operand is absent or has that shape.
void expect_shape(const Call& call, std::string_view operand, const Sizes& expected);

// "float32 [2, 3]" of an operand that is there.
std::string describe(const Call& call, std::string_view operand);

}  // namespace weft::webnn
