// Reductions. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/expression.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

enum class ReduceOp : std::uint8_t { sum, mean, prod, min, max, sum_squares, l1, l2, log_sum, log_sum_exp, any, all };

// y = x reduced over `axes`; y has x's shape with those sizes 1, or without them. No axes: each element by itself.
//   sum, prod, min, max, sum_squares, l1   x integer or floating
//   mean, l2, log_sum, log_sum_exp         x floating
//   any, all                               x of any type (true: not zero, so NaN too), y boolean
// Floating x: y is floating. Integer x: y has x's type, or the 32-bit type of its kind.
// Sums accumulate at least in f32 in a fixed order, so that a device repeats its results to the bit; each addend takes
// part in at most 80 + n / (256·team) additions (team: the threads of a row, 8 to 1024; n its elements), which times
// 2^-24 bounds the relative error of a sum of positive numbers. Integers accumulate wrapping.
// Over no elements: sum, sum_squares, l1, l2 are 0, prod is 1, min +inf, max -inf (integers: the type's largest and
// least), mean NaN, log_sum and log_sum_exp -inf, any false, all true. NaN wins min and max.
// On a GPU f64 is Unsupported, and so are prod, sum_squares and l1 of 64-bit integers.
void reduce(Stream& stream, ReduceOp op, const View& x, const View& y, std::span<const int> axes,
            const std::optional<View>& workspace = {});
// Bytes of scratch (at a multiple of 16 bytes) with which this reduction of few long rows is fastest on that stream (0:
// none). A call without runs all the same.
std::uint64_t reduce_workspace(Stream& stream, ReduceOp op, const View& x, const View& y, std::span<const int> axes);

// Elementwise work on both sides of a reduction, done by its kernel.
struct ReduceWork {
  const Expression* before = nullptr;  // of the inputs: what is reduced; none: the one input
  const Expression* after = nullptr;   // input 0: a floating result, as f32; the others are `operands`; none: the result
  std::span<const View> operands;      // broadcast to y
};

// y = after(reduce(before(inputs…)), operands…). The inputs broadcast to one shape, over whose axes is reduced; what was
// x above is of that shape and of the type that `before` yields, and y is of the type that `after` yields. Narrow floats
// between the steps are not rounded. Not for log_sum_exp.
void reduce(Stream& stream, ReduceOp op, std::span<const View> inputs, const View& y, std::span<const int> axes,
            const ReduceWork& work, const std::optional<View>& workspace = {});
std::uint64_t reduce_workspace(Stream& stream, ReduceOp op, std::span<const View> inputs, const View& y,
                               std::span<const int> axes, const ReduceWork& work);

}  // namespace weft::kernels
