// A pooling, or the gradient of one, in the normal form that all kernels of the family start from.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cpu/executor.h"
#include "weft/gpu.h"
#include "weft/kernels/pool.h"

namespace weft::kernels {

enum class PoolKind : std::uint8_t { max, average, lp };

// One spatial axis of x and y as the caller has them, whatever part of them a problem is.
struct PoolAxis {
  std::int64_t x_size = 0, y_size = 0;
  std::int64_t window = 1, stride = 1, dilation = 1, before = 0, after = 0;
  bool adaptive = false;
  bool count_padding = true;
  // Index 0 of the problem's views.
  std::int64_t from_begin = 0, to_begin = 0;
};

// Positions first, first + step, … before end.
struct Steps {
  std::int64_t first = 0, end = 0, step = 1;
};

// The elements of x of window i.
Steps elements_of_window(const PoolAxis& axis, std::int64_t i);
// The windows that contain element j of x.
Steps windows_of_element(const PoolAxis& axis, std::int64_t j);
// How many elements of window i an average counts.
std::int64_t counted_elements(const PoolAxis& axis, std::int64_t i);

// The windows that contain an element, by their remainder: with g = gcd(stride, dilation) they are those i with
// i ≡ element / g · inverse modulo step.
struct WindowSteps {
  std::int64_t gcd, step, inverse;
};
WindowSteps window_steps(const PoolAxis& axis);

// to[n, c, i…] = epilogue(what `from` gives over the steps of i, operands[n, c, i…]). Forward `from` is x, `to` is y
// and the steps are the elements of window i; backward `from` is dy, `to` is dx and the steps are the windows that
// contain element i. Indices are like y.
struct PoolProblem {
  PoolKind kind;
  bool backward;
  std::vector<View> inputs;              // `from`, or what a prologue makes it of; all of one shape
  DType from_type;                       // behind the prologue
  const Expression* prologue = nullptr;  // of the caller, as all expressions
  View to;
  std::optional<View> indices;
  std::vector<View> operands;
  std::vector<PoolAxis> axes;
  std::int64_t divisor;  // 0: the number of elements
  double norm;           // p

  static constexpr int kSpatial = 2;  // axes of views
  int spatial() const { return static_cast<int>(axes.size()); }
  const Shape& from_shape() const { return inputs[0].shape(); }
  // What results are before they are rounded: f32, f64, i32 or u32.
  DType result_type() const;
  // The maximum of no elements: -infinity, of integers the least of the pooled type, which results may be wider than.
  double least() const;
  Steps steps(int axis, std::int64_t i) const {
    return backward ? windows_of_element(axes[static_cast<std::size_t>(axis)], i)
                    : elements_of_window(axes[static_cast<std::size_t>(axis)], i);
  }
  // True if each average is divided by a number of its own.
  bool counts() const { return kind == PoolKind::average && divisor == 0; }
  // The distance of neighbours along a spatial axis in an index.
  std::int64_t index_stride(int axis) const;
  // Steps of a result, roughly.
  double taps() const;
};

// Throw InvalidArgument.
PoolProblem pool_problem(std::string_view kernel, PoolKind kind, const View& x, const View& y,
                         const std::optional<View>& indices, double norm, const PoolOptions& options,
                         const Epilogue& epilogue, const Prologue& prologue = {});
PoolProblem pool_gradient_problem(std::string_view kernel, PoolKind kind, const View& dy,
                                  const std::optional<View>& indices, const View& dx, const PoolOptions& options,
                                  const Epilogue& epilogue, const Prologue& prologue = {});

// The part [begin, begin + size) along an axis of `to`, with what it reads of `from`.
PoolProblem part(const PoolProblem& problem, int axis, std::int64_t begin, std::int64_t size);

// On the executor's cores.
void pool_cpu(cpu::Executor& executor, const PoolProblem& problem, const Expression* epilogue);
void pool_gpu(gpu::Commands& commands, std::string_view kernel, const PoolProblem& problem, const Expression* epilogue);

}  // namespace weft::kernels
