#include "kernels/conv/problem.h"

#include <array>
#include <numeric>

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/moved_axis.h"
#include "kernels/common/spatial.h"
#include "kernels/matmul/epilogue.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// The view without its first elements along an axis, and every `step`-th of the others; step −1: the other way round.
View sliced(const View& view, int axis, std::int64_t begin, std::int64_t size, std::int64_t step = 1) {
  Layout layout = view.layout;
  layout.shape[axis] = size;
  layout.strides[axis] *= step;
  if (size == 0) begin = 0;
  const std::int64_t bytes = begin * view.strides()[axis] * bits(view.dtype) / 8;
  return View(view.buffer, view.offset + static_cast<std::uint64_t>(bytes), view.dtype, layout.shape, layout.strides);
}

// Axis `axis` as two: `count` equal parts, and what is in them.
View with_parts(const View& view, int axis, std::int64_t count) {
  Layout layout = view.layout;
  const std::int64_t size = layout.shape[axis] / count;
  layout.shape.insert(axis, count);
  layout.strides.insert(axis, layout.strides[axis] * size);
  layout.shape[axis + 1] = size;
  return view.with_layout(layout);
}

struct Checked {
  int spatial;
  Dims strides, dilations, before;
};

// x [n, C, …], w and y as the kernel says: `channels` and `outputs` are the sizes that w and y should have there.
Checked check(std::string_view kernel, const View& x, const View& y, const View& w, const ConvOptions& o) {
  const int spatial = x.rank() - 2;
  if (y.rank() != x.rank() || w.rank() != x.rank()) {
    throw ShapeError("{}: x is {}, the filter {} and y {}; expected one rank", kernel, to_string(x.shape()),
                     to_string(w.shape()), to_string(y.shape()));
  }
  if (x.shape()[0] != y.shape()[0]) {
    throw ShapeError("{}: x {} and y {} have batches of {} and {}", kernel, to_string(x.shape()), to_string(y.shape()),
                     x.shape()[0], y.shape()[0]);
  }
  const Dims ones = Dims::filled(spatial, 1), zeros = Dims::filled(spatial, 0);
  return {spatial, numbers_of_axes(kernel, "strides", o.strides, ones, 1),
          numbers_of_axes(kernel, "dilations", o.dilations, ones, 1),
          numbers_of_axes(kernel, "before", o.before, zeros, 1 - kFarthest)};
}

// Channels of x and of y by the filter [a, b, …]: whole [a], of one group [b].
void check_channels(std::string_view kernel, const View& whole, std::string_view whole_name, const View& part,
                    std::string_view part_name, const View& w, std::int64_t groups) {
  if (groups < 1) throw InvalidArgument("{}: {} groups, expected one or more", kernel, groups);
  if (w.shape()[0] != whole.shape()[1] || whole.shape()[1] % groups != 0) {
    throw ShapeError("{}: {} has {} channels, the filter {} has {} for them (groups {})", kernel, whole_name,
                     whole.shape()[1], to_string(w.shape()), w.shape()[0], groups);
  }
  if (part.shape()[1] % groups != 0 || w.shape()[1] != part.shape()[1] / groups) {
    throw ShapeError("{}: filter {} has {} channels for each group, {} has {} (groups {})", kernel,
                     to_string(w.shape()), w.shape()[1], part_name, part.shape()[1], groups);
  }
}

// [n, C, …] as [g, n, C / g, …], and a filter [O, c, …] as [g, O / g, c, …].
View by_groups(const View& v, std::int64_t groups) { return moved_axis(with_parts(v, 1, groups), 1, 0); }

std::vector<View> operands_like(std::string_view kernel, const Epilogue& epilogue, const View& y, std::int64_t groups) {
  std::vector<View> all;
  for (const View& operand : epilogue.operands) {
    try {
      all.push_back(by_groups(operand.broadcast_to(y.shape()), groups));
    } catch (const InvalidArgument&) {
      throw InvalidArgument("{}: epilogue operand {} does not broadcast to y, {}", kernel, to_string(operand),
                            to_string(y));
    }
  }
  return all;
}

View with_type(View view, DType type) {
  view.dtype = type;
  return view;
}

}  // namespace

std::int64_t ConvProblem::taps() const {
  std::int64_t count = 1;
  for (int d = 0; d < spatial(); ++d) count *= w.shape()[kSpatial + d];
  return count;
}

bool ConvProblem::reaches_out(int axis) const {
  const std::int64_t last = position(axis, y.shape()[kSpatial + axis] - 1, w.shape()[kSpatial + axis] - 1);
  return before[axis] > 0 || position(axis, 0, 0) < 0 || last >= x.shape()[kSpatial + axis];
}

bool ConvProblem::reaches_out() const {
  for (int d = 0; d < spatial(); ++d) {
    if (reaches_out(d)) return true;
  }
  return false;
}

ConvProblem conv_problem(const View& x, const View& w, const View& y, const ConvOptions& o, const Epilogue& epilogue) {
  // An epilogue gives y any type.
  const View sums = epilogue.expression ? with_type(y, product_type(x.dtype, w.dtype)) : y;
  check_views("conv", {&x, &w}, {&sums});
  const Checked c = check("conv", x, y, w, o);
  check_channels("conv", y, "y", x, "x", w, o.groups);
  check_epilogue("conv", epilogue, product_type(x.dtype, w.dtype), y);
  return {.x = by_groups(x, o.groups),
          .w = with_parts(w, 0, o.groups),
          .y = by_groups(y, o.groups),
          .operands = operands_like("conv", epilogue, y, o.groups),
          .strides = c.strides,
          .dilations = c.dilations,
          .before = c.before};
}

std::vector<ConvProblem> conv_transpose_problems(const View& x, const View& w, const View& y, const ConvOptions& o,
                                                 const Epilogue& epilogue) {
  constexpr std::string_view kName = "conv_transpose";
  const View sums = epilogue.expression ? with_type(y, product_type(x.dtype, w.dtype)) : y;
  check_views(kName, {&x, &w}, {&sums});
  const Checked c = check(kName, x, y, w, o);
  check_channels(kName, x, "x", y, "y", w, o.groups);
  check_epilogue(kName, epilogue, product_type(x.dtype, w.dtype), y);
  // Filters [g, O / g, C / g, …].
  ConvProblem whole{.x = by_groups(x, o.groups),
                    .w = moved_axis(with_parts(w, 0, o.groups), 1, 2),
                    .y = by_groups(y, o.groups),
                    .operands = operands_like(kName, epilogue, y, o.groups),
                    .strides = Dims::filled(c.spatial, 1),
                    .dilations = c.dilations,
                    .before = c.before};
  std::vector<ConvProblem> problems{whole};
  for (int d = 0; d < c.spatial; ++d) {
    const int axis = ConvProblem::kSpatial + d;
    const std::int64_t stride = c.strides[d], dilation = c.dilations[d], before = c.before[d];
    const std::int64_t size = y.shape()[2 + d], taps = w.shape()[2 + d];
    const std::int64_t common = std::gcd(stride, dilation), every = stride / common;
    std::vector<ConvProblem> phases;
    // y's elements i with the same remainder of i + before by the stride read the same elements of the filter.
    for (std::int64_t first = 0; first < std::min(stride, size); ++first) {
      const std::int64_t rest = ((first + before) % stride + stride) % stride;
      std::int64_t tap = 0;
      while (tap < std::min(taps, every) && tap * dilation % stride != rest) ++tap;
      const std::int64_t count = tap < std::min(taps, every) ? (taps - tap - 1) / every + 1 : 0;
      // The element of x that the first such element of the filter brings to y's first.
      const std::int64_t from = count ? (first + before - tap * dilation) / stride : 0;
      for (const ConvProblem& p : problems) {
        ConvProblem phase = p;
        // In the order in which x is read: the filter's last element first.
        phase.w = sliced(p.w, axis, tap + (count - 1) * every, count, -every);
        phase.y = sliced(p.y, axis, first, (size - first - 1) / stride + 1, stride);
        for (View& v : phase.operands) v = sliced(v, axis, first, (size - first - 1) / stride + 1, stride);
        phase.dilations[d] = dilation / common;
        phase.before[d] = (count - 1) * phase.dilations[d] - from;
        phases.push_back(std::move(phase));
      }
    }
    problems = std::move(phases);
  }
  return problems;
}

ConvProblem conv_filter_gradient_problem(const View& x, const View& y, const View& w, const ConvOptions& o) {
  constexpr std::string_view kName = "conv_filter_gradient";
  check_views(kName, {&x, &y}, {&w});
  const Checked c = check(kName, x, y, w, o);
  check_channels(kName, y, "y", x, "x", w, o.groups);
  // The channels of x are the batch, the batch is summed, and y is the filter: [g, O / g, n, …].
  return {.x = moved_axis(by_groups(x, o.groups), 1, 2),
          .w = moved_axis(by_groups(y, o.groups), 1, 2),
          .y = moved_axis(with_parts(w, 0, o.groups), 1, 2),
          .strides = c.dilations,
          .dilations = c.strides,
          .before = c.before};
}

ConvProblem part(const ConvProblem& problem, int axis, std::int64_t begin, std::int64_t size) {
  ConvProblem p = problem;
  p.y = sliced(p.y, axis, begin, size);
  for (View& v : p.operands) v = sliced(v, axis, begin, size);
  if (axis == ConvProblem::kGroup) {
    p.x = sliced(p.x, 0, begin, size);
    p.w = sliced(p.w, 0, begin, size);
  } else if (axis == ConvProblem::kBatch) {
    p.x = sliced(p.x, 1, begin, size);
  } else if (axis == 2) {
    p.w = sliced(p.w, 1, begin, size);
  } else {
    // The elements of x from the first to the last that its windows reach.
    const int d = axis - ConvProblem::kSpatial;
    const std::int64_t n = p.x.shape()[axis], last_tap = p.w.shape()[axis] - 1;
    const std::int64_t from = std::clamp<std::int64_t>(problem.position(d, begin, 0), 0, n);
    const std::int64_t to = std::clamp<std::int64_t>(problem.position(d, begin + size - 1, last_tap) + 1, from, n);
    p.x = sliced(p.x, axis, from, to - from);
    p.before[d] = from - problem.position(d, begin, 0);
  }
  return p;
}

ConvProblem part_of_channels(const ConvProblem& problem, std::int64_t begin, std::int64_t size) {
  ConvProblem p = problem;
  p.x = sliced(p.x, 2, begin, size);
  p.w = sliced(p.w, 2, begin, size);
  return p;
}

ConvProblem part_of_window(const ConvProblem& problem, int d, std::int64_t begin, std::int64_t size) {
  const int axis = ConvProblem::kSpatial + d;
  ConvProblem p = problem;
  p.w = sliced(p.w, axis, begin, size);
  p.before[d] -= begin * p.dilations[d];
  return part(p, axis, 0, p.y.shape()[axis]);  // of x what it reads
}

}  // namespace weft::kernels
