// What layer, RMS, group and instance norm are made of: rows normalised by one kernel, weighted by operands of any
// strides.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/common/rows.h"
#include "weft/cpu.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// All views have x's shape; `along` marks a row's axes.
struct RowNorm {
  std::string_view name;
  View x, y;
  std::optional<View> scale, bias;
  AxisMask along{};
  bool centred = true;  // about the mean; else about zero
  float epsilon = 0;
};
void row_norm(Stream& stream, const RowNorm& norm);

// The twin. `rows` holds the strides of x, y and, as far as they are there, scale and bias.
void row_norm_cpu(cpu::Executor& executor, const RowNorm& norm, const Rows& rows);

// Throws InvalidArgument unless x and y have one shape, all types are floating, and epsilon is no less than 0.
void check_norm(std::string_view name, const View& x, const View& y, float epsilon);
void check_floating(std::string_view name, std::string_view operand, const View& view);

}  // namespace weft::kernels
