// Convolutions of one channel and one output a group on the CPU: vectors of adjacent groups.
#include <algorithm>
#include <array>
#include <numeric>

#include "cpu/kernel_form.h"
#include "kernels/common/lanes.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/conv/cpu/forms.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/expression_cpu.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"

namespace weft::kernels {
namespace {

using Place = std::array<std::int64_t, kMaxRank>;

// Index r of the axes of a shape but its last, the groups and `other`.
Place row_place(const Shape& shape, int other, std::int64_t r) {
  Place at{};
  for (int axis = shape.rank() - 2; axis > ConvProblem::kGroup; --axis) {
    if (axis == other) continue;
    at[static_cast<std::size_t>(axis)] = r % shape[axis];
    r /= shape[axis];
  }
  return at;
}
std::int64_t offset_of(const Place& at, const View& v) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < v.rank(); ++axis) offset += at[static_cast<std::size_t>(axis)] * v.strides()[axis];
  return offset;
}

// sums[c] += Σ x[t][at + c] · filters[t][c] over `count` elements of the window.
template <class Sum>
WEFT_VECTOR_CLONES void add_taps(const Sum* const* x, std::int64_t at, const Sum* const* filters, std::size_t count,
                                 std::int64_t channels, Sum* sums) {
  std::size_t t = 0;
  for (; t + 4 <= count; t += 4) {
    const Sum *x0 = x[t] + at, *x1 = x[t + 1] + at, *x2 = x[t + 2] + at, *x3 = x[t + 3] + at;
    const Sum *f0 = filters[t], *f1 = filters[t + 1], *f2 = filters[t + 2], *f3 = filters[t + 3];
    for (std::int64_t c = 0; c < channels; ++c)
      sums[c] += x0[c] * f0[c] + x1[c] * f1[c] + (x2[c] * f2[c] + x3[c] * f3[c]);
  }
  for (; t < count; ++t) {
    const Sum *x0 = x[t] + at, *f0 = filters[t];
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += x0[c] * f0[c];
  }
}

// sums[c] += Σ x[i][c] · y[i][c] over `count` places.
template <class Sum>
WEFT_VECTOR_CLONES void add_places(const Sum* x, std::int64_t x_step, const Sum* y, std::int64_t y_step,
                                   std::int64_t count, std::int64_t channels, Sum* sums) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4, x += 4 * x_step, y += 4 * y_step) {
    const Sum *x1 = x + x_step, *x2 = x1 + x_step, *x3 = x2 + x_step;
    const Sum *y1 = y + y_step, *y2 = y1 + y_step, *y3 = y2 + y_step;
    for (std::int64_t c = 0; c < channels; ++c)
      sums[c] += x[c] * y[c] + x1[c] * y1[c] + (x2[c] * y2[c] + x3[c] * y3[c]);
  }
  for (; i < count; ++i, x += x_step, y += y_step) {
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += x[c] * y[c];
  }
}

}  // namespace

template <class Sum>
void conv_by_groups(cpu::Executor& executor, const ConvProblem& given, const Expression* epilogue) {
  cpu::say_form(
      [] { return std::pair(std::string("channels"), std::string("a filter a channel: vectors of channels")); });
  constexpr DType kType = kConvSums<Sum>;
  ConvProblem p = given;
  p.x = with_adjacent(executor, given.x, kType, 0);
  p.w = as_type(executor, given.w, kType);
  const bool moves = p.y.strides()[0] != 1;  // the result
  if (moves) {
    p.y = adjacent_view(given.y, kType, 0);
    p.operands = {};
  }
  const std::int64_t channels = p.groups(), taps = p.taps();
  const int spatial = p.spatial(), first = ConvProblem::kSpatial, last = p.y.rank() - 1;
  // The filters' elements, each with all channels adjacent.
  std::vector<Sum> filters(static_cast<std::size_t>(taps * channels));
  for (std::int64_t t = 0; t < taps; ++t) {
    const auto k = window_place(p, p.w.shape(), t);
    std::int64_t from = 0;
    for (int d = 0; d < spatial; ++d) from += k[static_cast<std::size_t>(d)] * p.w.strides()[first + d];
    for (std::int64_t c = 0; c < channels; ++c)
      filters[static_cast<std::size_t>(t * channels + c)] = data<const Sum>(p.w)[from + c * p.w.strides()[0]];
  }
  Expression plain;
  if (moves || !epilogue) {
    const int sum = plain.input(kType);
    plain.output(p.y.dtype == kType ? sum : plain.cast(sum, p.y.dtype));
  }
  const CpuExpression expression(moves || !epilogue ? plain : *epilogue);
  // Rows of y: the batch and the spatial axes but the last. Those whose results follow each other are stored at once.
  const std::int64_t length = p.y.shape()[last], rows = p.y.count() / channels / std::max<std::int64_t>(length, 1);
  const std::int64_t size = p.x.shape()[last], stride = p.strides[spatial - 1], step = stride * p.x.strides()[last];
  const bool whole_rows = p.operands.empty() && p.y.strides()[last] == channels && length * channels <= 1 << 16;
  const std::int64_t work = std::max<std::int64_t>(length * channels * taps, 1);
  const Sum* const x_data = data<const Sum>(p.x);
  parallel(executor, rows, std::max<std::int64_t>(32768 / work, 1), [&](std::int64_t begin, std::int64_t end) {
    struct Tap {
      const Sum *x, *filter;   // at the row's first place
      std::int64_t low, high;  // the places whose element of x is there
    };
    std::vector<Sum> sums(static_cast<std::size_t>(whole_rows ? length * channels : channels));
    std::vector<Tap> inside;
    std::vector<const Sum*> x(static_cast<std::size_t>(taps)), f(static_cast<std::size_t>(taps));
    std::vector<CpuExpression::Row> inputs(p.operands.size() + 1);
    CpuExpression::Registers registers(expression);
    for (std::int64_t r = begin; r < end; ++r) {
      const Place at = row_place(p.y.shape(), 2, r);
      inside.clear();
      std::int64_t all_from = 0, all_to = length;  // the places that have all of `inside`
      for (std::int64_t t = 0; t < taps; ++t) {
        const auto k = window_place(p, p.w.shape(), t);
        const auto row = row_offset(p, at.data() + first, k.data());
        if (!row) continue;
        const std::int64_t from = p.position(spatial - 1, 0, k[static_cast<std::size_t>(spatial - 1)]);
        const std::int64_t offset = at[ConvProblem::kBatch] * p.x.strides()[ConvProblem::kBatch] + *row;
        const auto [low, high] = indices_inside(from, stride, size, length);
        const Tap tap{x_data + offset + from * p.x.strides()[last], filters.data() + t * channels, low, high};
        if (tap.low == tap.high) continue;
        all_from = std::max(all_from, tap.low), all_to = std::min(all_to, tap.high);
        inside.push_back(tap);
      }
      const auto row_of = [&](const View& v, std::int64_t place) {
        const std::int64_t offset = offset_of(at, v) + place * v.strides()[last];
        return CpuExpression::Row{v.buffer.data() + v.offset, offset, v.strides()[0]};
      };
      std::ranges::fill(sums, Sum(0));
      std::size_t held = 0;  // of x and f
      bool all = false;
      for (std::int64_t i = 0; i < length; ++i) {
        if (const bool now = i >= all_from && i < all_to; !now || !all) {
          held = 0;
          for (const Tap& tap : inside) {
            if (i >= tap.low && i < tap.high) x[held] = tap.x, f[held++] = tap.filter;
          }
          all = now;
        }
        Sum* const place = sums.data() + (whole_rows ? i * channels : 0);
        add_taps(x.data(), i * step, f.data(), held, channels, place);
        if (whole_rows) continue;
        inputs[0] = {reinterpret_cast<std::byte*>(place), 0, 1};
        for (std::size_t k = 0; k < p.operands.size(); ++k) inputs[k + 1] = row_of(p.operands[k], i);
        const CpuExpression::Row output = row_of(p.y, i);
        expression.evaluate(registers, inputs, std::span(&output, 1), channels);
        std::ranges::fill(sums, Sum(0));
      }
      if (!whole_rows) continue;
      inputs[0] = {reinterpret_cast<std::byte*>(sums.data()), 0, 1};
      const CpuExpression::Row output = row_of(p.y, 0);
      expression.evaluate(registers, inputs, std::span(&output, 1), length * channels);
    }
  });
  if (!moves) return;
  if (!epilogue) return copy(executor, p.y, given.y);
  std::vector<View> inputs{p.y};
  inputs.insert(inputs.end(), given.operands.begin(), given.operands.end());
  map(executor, *epilogue, inputs, std::span(&given.y, 1));
}
template void conv_by_groups<float>(cpu::Executor&, const ConvProblem&, const Expression*);
template void conv_by_groups<double>(cpu::Executor&, const ConvProblem&, const Expression*);

// The problem is that of conv_filter_gradient_problem(): w are the gradients of the convolution's results, whose batch
// is the channels.
template <class Sum>
void filter_gradient_by_groups(cpu::Executor& executor, const ConvProblem& given) {
  cpu::say_form(
      [] { return std::pair(std::string("channels"), std::string("a filter a channel: vectors of channels")); });
  constexpr DType kType = kConvSums<Sum>;
  ConvProblem p = given;
  p.x = with_adjacent(executor, given.x, kType, 0);
  p.w = with_adjacent(executor, given.w, kType, 0);
  const int spatial = p.spatial(), first = ConvProblem::kSpatial, last = p.y.rank() - 1;
  const std::int64_t groups = p.groups(), taps = p.y.count() / std::max<std::int64_t>(groups, 1);
  const std::int64_t length = p.w.shape()[last], rows = p.depth() / std::max<std::int64_t>(length, 1);
  const std::int64_t size = p.x.shape()[last], step = p.dilations[spatial - 1];
  // A task sums some rows of some groups. What it sums does not depend on the number of cores.
  constexpr std::int64_t kGroups = 64, kPlaces = 4096;
  const std::int64_t blocks = (groups + kGroups - 1) / kGroups;
  const std::int64_t piece = std::max<std::int64_t>(kPlaces / std::max<std::int64_t>(length, 1), 1);
  const std::int64_t pieces = std::max<std::int64_t>((rows + piece - 1) / piece, 1);
  std::vector<Sum> sums(static_cast<std::size_t>(pieces * taps * groups));
  const Sum *const x_data = data<const Sum>(p.x), *const dy_data = data<const Sum>(p.w);
  parallel(executor, blocks * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t c = task % blocks * kGroups, channels = std::min(kGroups, groups - c);
      const std::int64_t to = std::min(rows, (task / blocks + 1) * piece);
      Sum* const own = sums.data() + task / blocks * taps * groups + c;
      for (std::int64_t r = task / blocks * piece; r < to; ++r) {
        const Place k = row_place(p.w.shape(), ConvProblem::kBatch, r);
        const Sum* const dy = dy_data + offset_of(k, p.w) + c;
        for (std::int64_t t = 0; t < taps; ++t) {
          const auto i = window_place(p, p.y.shape(), t);
          const auto row = row_offset(p, i.data(), k.data() + first);
          if (!row) continue;
          const std::int64_t offset = k[2] * p.x.strides()[2] + c + *row;
          const std::int64_t from = p.position(spatial - 1, i[static_cast<std::size_t>(spatial - 1)], 0);
          const auto [low, high] = indices_inside(from, step, size, length);
          if (low == high) continue;
          add_places(x_data + offset + (from + low * step) * p.x.strides()[last], step * p.x.strides()[last],
                     dy + low * p.w.strides()[last], p.w.strides()[last], high - low, channels, own + t * groups);
        }
      }
    }
  });
  for (std::int64_t i = 1; i < pieces; ++i) {
    for (std::int64_t j = 0; j < taps * groups; ++j)
      sums[static_cast<std::size_t>(j)] += sums[static_cast<std::size_t>(i * taps * groups + j)];
  }
  const View result = adjacent_view(given.y, kType, 0);  // [taps, groups] in memory
  std::copy_n(sums.data(), taps * groups, data<Sum>(result));
  copy(executor, result, given.y);
}
template void filter_gradient_by_groups<float>(cpu::Executor&, const ConvProblem&);
template void filter_gradient_by_groups<double>(cpu::Executor&, const ConvProblem&);

}  // namespace weft::kernels
