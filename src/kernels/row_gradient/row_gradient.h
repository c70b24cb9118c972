// Gradients along rows, of all kinds: the launcher and the CPU's kernel.
#pragma once

#include "cpu/executor.h"
#include "kernels/common/row_fusion.h"

namespace weft::kernels {

enum class RowGradientKind : std::uint8_t { softmax, log_softmax, centred, rms };

struct RowGradient {
  std::string_view name;
  RowGradientKind kind = RowGradientKind::softmax;
  RowViews views;  // x (of softmax: y); the operands are g and, if there is one, scale
  AxisMask along{};
  double epsilon = 0;  // of norms
};

// Each operation of the formulas once.
inline ElementWork row_gradient_work(RowGradientKind kind, bool scaled) {
  switch (kind) {
    case RowGradientKind::softmax:
      return {4, 0.2};
    case RowGradientKind::log_softmax:
      return {3, 0.6};
    case RowGradientKind::centred:
      return {12.0 + (scaled ? 1 : 0), 0.4};
    default:
      return {7.0 + (scaled ? 1 : 0), 0.4};
  }
}

// In a forced form, of whole or split rows: for tests and benchmarks.
void row_gradient_in_form(Stream& stream, const RowGradient& gradient, const RowForm& form);
void row_gradient_split_rows(Stream& stream, const RowGradient& gradient, const SplitForm& form);
RowGradient make_softmax_gradient(bool logarithm, const View& y, const View& g, const View& dx, int axis);
RowGradient make_layer_norm_gradient(const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                                     int first_axis, double epsilon, bool centred);
// groups < 0: a group for each channel.
RowGradient make_group_norm_gradient(std::string_view name, const View& x, const View& g,
                                     const std::optional<View>& scale, const View& dx, int channel_axis,
                                     std::int64_t groups, double epsilon);

// group_norm_gradients() with dx in a forced form of split rows: for tests. False: that form does not suit.
bool group_norm_gradients_in_tiles(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                                   const View& dscale, const View& dbias, int channel_axis, std::int64_t groups,
                                   double epsilon, const SplitForm& form);

// The most elements of a row of which gradients of weights are made in registers.
constexpr std::int64_t kMostInRegisters = 8192;
// The longest equal segments of a row that have at most `most` elements; 0: they would be many.
std::int64_t segment_of(std::int64_t length, std::int64_t most = kMostInRegisters);

Rows rows_of(const RowGradient& gradient);
// A call of one of the family's kernels. `length`: of rows, in all chunks.
Call start_row_gradient(Stream& stream, const char* kernel, const RowGradient& gradient, const Rows& rows,
                        const RowPlan& plan, std::int64_t length);
// How rows of x and g lie in tiles that look back, each of which is within one of the row's equal parts of `part`
// elements that lie along memory; nothing if rows are not so cut. In a forced form: if that is one.
std::optional<SplitRows> split_into_parts(const gpu::Capabilities& capabilities, const RowGradient& gradient,
                                          std::int64_t part, const std::optional<SplitForm>& form = {});
// Each tile leaves the numbers of a segment (row_gradient_sums.wgsl) in `sums`, [rows, tiles of a row, 5].
void run_split_into_parts(Stream& stream, const RowGradient& gradient, const SplitRows& splits, const View& sums);
// On a Planner, for views that were checked and have elements.
void run_row_gradient(Stream& stream, const RowGradient& gradient);

void row_gradient_cpu(cpu::Executor& executor, const RowGradient& gradient, const Rows& rows);
// Of norms with a scale, those of scale and bias too. `index`: a scale without memory whose elements are adjacent, as
// it goes with x.
void row_gradient_weights_cpu(cpu::Executor& executor, const RowGradient& gradient, const View& index,
                              const View& dscale, const std::optional<View>& dbias);

}  // namespace weft::kernels
