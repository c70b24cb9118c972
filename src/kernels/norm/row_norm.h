// Layer, RMS, group and instance norm: rows normalised by one kernel, with weights of any strides.
#pragma once

#include <optional>
#include <string_view>

#include "cpu/executor.h"
#include "kernels/common/row_fusion.h"
#include "kernels/common/split_rows.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// All views have x's shape; `along` marks a row's axes.
struct RowNorm {
  std::string_view name;
  RowViews views;
  std::optional<View> scale, bias;
  std::optional<View> scale_as_given, bias_as_given;  // for messages
  AxisMask along{};
  bool centred = true;  // relative to the mean; else to zero
  double epsilon = 0;
};
// The launcher: on the CPU or a Planner.
void row_norm(Stream& stream, const RowNorm& norm);
// In a forced form, of whole or split rows: for tests and benchmarks.
void row_norm_in_form(Stream& stream, const RowNorm& norm, const RowForm& form);
void row_norm_split_rows(Stream& stream, const RowNorm& norm, const SplitForm& form);
// The problems that the public functions make of their arguments. group_norm: groups < 0: a group for each channel.
RowNorm make_layer_norm(RowViews views, const std::optional<View>& scale, const std::optional<View>& bias,
                        int first_axis, double epsilon);
RowNorm make_rms_norm(RowViews views, const std::optional<View>& scale, int first_axis, double epsilon);
RowNorm make_group_norm(std::string_view name, RowViews views, const std::optional<View>& scale,
                        const std::optional<View>& bias, int channel_axis, std::int64_t groups, double epsilon);

// The CPU's kernel. `rows` has the strides of the views and, if they are given, of scale and bias.
void row_norm_cpu(cpu::Executor& executor, const RowNorm& norm, const Rows& rows);

// Throws InvalidArgument for NaN and negative numbers.
void check_epsilon(std::string_view name, double epsilon);
void check_floating(std::string_view name, std::string_view operand, const View& view);

}  // namespace weft::kernels
