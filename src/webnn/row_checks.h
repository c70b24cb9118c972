// Checks that the maps of several operations share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "webnn/call.h"
#include "weft/shape.h"

namespace weft::webnn {

// The specification's "valid dimension" is a number from 1 to this; its "valid tensor count" one from 1 to that.
inline constexpr std::int64_t kMostSize = 2147483647;
inline constexpr std::size_t kMostTensors = 8192;

// A result's shape. Throws TypeError unless a tensor may have it.
Shape checked_shape(const Call& call, const Sizes& shape);

// Each throws TypeError, in which `name` stands for what is wrong.
// Unless all numbers are positive.
void check_positive(const Call& call, std::string_view name, const Sizes& list);
// The list; unless it has that many numbers.
const Sizes& counted(const Call& call, std::string_view name, const Sizes& list, std::size_t count);
// Unless the operand is absent or has that shape.
void expect_shape(const Call& call, std::string_view name, const Operand& operand, const Sizes& expected);
// Unless the axis is below the rank, or unless the axes are, and differ.
int checked_axis(const Call& call, std::string_view name, std::int64_t axis, int rank);
std::vector<int> checked_axes(const Call& call, std::string_view name, const Sizes& axes, int rank);

inline int rank_of(const Operand& operand) { return static_cast<int>(operand.shape().size()); }

// "float32 [2, 3]" of an operand that is there.
std::string describe(const Operand& operand);

}  // namespace weft::webnn
