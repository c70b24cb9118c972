// The forms that convolutions have on the CPU. Sum: the type of the sums, float or double; operands of other types are
// converted to it. (Integers of 16 bits are summed in 32.)
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "cpu/executor.h"
#include "kernels/conv/problem.h"

namespace weft::kernels {

template <class Sum>
constexpr DType kConvSums = std::is_same_v<Sum, double>          ? DType::f64
                            : std::is_same_v<Sum, std::uint32_t> ? DType::i32
                            : std::is_same_v<Sum, std::int16_t>  ? DType::i16  // summed in i32
                                                                 : DType::f32;

// The view in elements of a type: itself, or a dense copy with its axes in the same order in memory.
View as_type(cpu::Executor& executor, const View& view, DType type);
// New memory for a view of that shape and type, dense, whose innermost axis is `axis` and whose others are in order.
View adjacent_view(const View& like, DType type, int axis);
// The view in elements of a type, adjacent along the axis: itself, or a copy to such memory.
View with_adjacent(cpu::Executor& executor, const View& view, DType type, int axis);

// Element t of a window of these sizes (at axes from kSpatial on), along each spatial axis.
inline std::array<std::int64_t, 3> window_place(const ConvProblem& p, const Shape& window, std::int64_t t) {
  std::array<std::int64_t, 3> k{};
  for (int d = p.spatial() - 1; d >= 0; --d) {
    k[static_cast<std::size_t>(d)] = t % window[ConvProblem::kSpatial + d];
    t /= window[ConvProblem::kSpatial + d];
  }
  return k;
}

// The indices j of `count` whose position first + j · step lies in [0, size).
struct IndexRange {
  std::int64_t low, high;
};
inline IndexRange indices_inside(std::int64_t first, std::int64_t step, std::int64_t size, std::int64_t count) {
  const std::int64_t low = first >= 0 ? 0 : std::min(count, (step - 1 - first) / step);
  return {low, first >= size ? low : std::clamp((size - first + step - 1) / step, low, count)};
}

// The offset of the row of x that places `i` of y read at the element `k` of the window, both along the spatial axes
// but the last; none in the padding.
inline std::optional<std::int64_t> row_offset(const ConvProblem& p, const std::int64_t* i, const std::int64_t* k) {
  std::int64_t offset = 0;
  for (int d = 0; d + 1 < p.spatial(); ++d) {
    const std::int64_t place = p.position(d, i[d], k[d]);
    if (place < 0 || place >= p.x.shape()[ConvProblem::kSpatial + d]) return std::nullopt;
    offset += place * p.x.strides()[ConvProblem::kSpatial + d];
  }
  return offset;
}

// As a matrix product whose rows are places of y, with their windows gathered a block at a time, and whose columns are
// y's channels. The padding is zeros that are multiplied, so w must be finite where windows reach past x.
template <class Sum>
void conv_by_windows(cpu::Executor& executor, const ConvProblem& problem, const Expression* epilogue);

// The transposed product: its columns are places of y, of which runs are adjacent in x, so that any number of outputs
// fills vectors. w must be finite, too.
template <class Sum>
void conv_by_places(cpu::Executor& executor, const ConvProblem& problem, const Expression* epilogue);

// Of one channel and one output a group, in vectors of adjacent groups: a convolution, and the gradient of its filter.
template <class Sum>
void conv_by_groups(cpu::Executor& executor, const ConvProblem& problem, const Expression* epilogue);
template <class Sum>
void filter_gradient_by_groups(cpu::Executor& executor, const ConvProblem& problem);

// In vectors of places: a convolution of one channel and one output a group, and the gradient of any filter. Padding is
// zeros that are multiplied: w of a convolution must be finite where windows reach past x. False, with nothing stored:
// the problem has too few places for it, or the operands of the gradient are not finite.
template <class Sum>
bool conv_by_planes(cpu::Executor& executor, const ConvProblem& problem, const Expression* epilogue);
template <class Sum>
bool filter_gradient_by_planes(cpu::Executor& executor, const ConvProblem& problem);

}  // namespace weft::kernels
