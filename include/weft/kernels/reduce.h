// Reductions. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

enum class ReduceKind : std::uint8_t {
  sum,
  mean,
  prod,
  min,
  max,
  sum_squares,
  l1,
  l2,
  log_sum,
  log_sum_exp,
  any,
  all,
  count,
  variance,
  deviation,
};
// Those that take a `correction`.
constexpr bool is_moment(ReduceKind op) { return op == ReduceKind::variance || op == ReduceKind::deviation; }

// y = x reduced over `axes`; y has x's shape with those sizes 1, or without them. No axes: each element by itself.
//   sum, prod, min, max, sum_squares, l1   x integer or floating; of sum and prod also c64
//   mean, l2, log_sum, log_sum_exp         x floating; of mean also c64
//   variance, deviation                    x floating: squared deviations from the mean, over n - `correction` (0: of a
//                                          population, 1: of a sample; InvalidArgument unless it is 0 or more), and its
//                                          square root
//   any, all                               x of any type (true: not zero, so NaN too), y boolean
//   count                                  x of any type: how many are not zero; y an integer of 32 or 64 bits. This is
//                                          the sum of booleans, which `sum` refuses, as their sum is no boolean
// Floating x: y is floating. c64: y is c64; products are (ac - bd) + (ad + bc)i. Integer x: y has x's type, or the
// 32-bit type of its kind (of i64 and u64 that has the result's low 32 bits).
// Sums accumulate at least in f32 in a fixed order, so that a device repeats its results to the bit. Each addend takes
// part in at most 80 + n / (256 · t) additions (n: the row's elements; t: the threads that share a row, 8 to 1024),
// which times 2^-24 bounds the relative error of a sum of positive numbers. Integers wrap.
// Over no elements: sum, sum_squares, l1, l2 are 0, prod is 1, min +inf, max -inf (integers: the type's largest and
// least), mean, variance and deviation NaN, log_sum and log_sum_exp -inf, any false, all true, count 0. min and max
// give NaN if any element is NaN; of zeros of both signs they may give either. A variance loses no digits if the mean
// is large compared with it; an infinity in x makes it NaN, and a deviation whose square is past f32's range an
// infinity or NaN. A GPU sums and squares in f32: a sum that passes 3.4e38 on the way is infinite there, also that of a
// mean, and sum_squares of numbers past 1.8e19; the CPU sums in f64 and has neither limit. l2 has none on any device,
// also in f64: its numbers are scaled.
// The epilogue takes a floating result in f32.
// On a GPU f64 is Unsupported except for any, all and count.
// Source of variance: Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
void reduce(Stream& stream, ReduceKind op, const View& x, const View& y, std::span<const int> axes,
            double correction = 0, const Fusion& fusion = {});

enum class ArgKind : std::uint8_t { min, max };

// y = the index of the least or greatest element of x over `axes`, in row-major order over them, in axis order (one
// axis: the index along it; all axes: into x flattened). Shapes as for reduce(). The first of equal elements; -0 and 0
// are equal; the first NaN if there is one. x is of any real type (f64 too), y i32, u32, i64 or u64. Throws
// InvalidArgument if there are no elements to choose from, or more than y's type counts.
void arg_reduce(Stream& stream, ArgKind op, const View& x, const View& y, std::span<const int> axes);

}  // namespace weft::kernels
