// The operands of a kernel of rows with a prologue and an epilogue (weft/kernels/fusion.h). The WGSL half is
// common/row_fusion.wgsl, the CPU's common/row_fusion_cpu.h.
#pragma once

#include <optional>
#include <vector>

#include "kernels/common/element_work.h"
#include "kernels/common/memory.h"
#include "kernels/common/split_rows.h"
#include "weft/kernels/fusion.h"
#include "weft/stream.h"

namespace weft::kernels {

// All views have one shape.
struct RowViews {
  std::vector<View> inputs;         // of `prologue`; without one, x
  std::vector<View> operands;       // of `epilogue`
  std::vector<View> results;        // of `epilogue`; without one, y
  std::vector<View> extra_outputs;  // the other results of `prologue`
  const Expression* prologue = nullptr;
  const Expression* epilogue = nullptr;

  const Shape& shape() const { return results[0].shape(); }
  DType x_type() const { return prologue ? prologue->output_type(0) : inputs[0].dtype; }
  DType result_type() const;  // of y, or of the epilogue's argument in its place
  bool is_fused() const { return prologue || epilogue; }
  bool computes_in_f64() const;
  // All views in the order above, which is also the order of the strides in Rows; and the same with other views.
  std::vector<View> all() const;
  RowViews with(std::span<const View> views) const;
};
// Throw InvalidArgument, naming `kernel`, unless shapes and types fit.
RowViews row_views(std::string_view kernel, const View& x, const View& y, const Fusion& fusion = {});
// check_memory() of the views and of the kernel's weights.
void check_memory(Stream& stream, std::string_view kernel, const RowViews& views, const NamedViews& scale,
                  const NamedViews& bias);
// Throws Unsupported if a view is f64, which GPUs do not support.
void refuse_f64(std::string_view kernel, const RowViews& views);

RowPlanOptions plan_options(const RowViews& views, const Rows& rows);
// True if the plan's steps of view k (in the order of all()) are vectors of four in memory.
bool steps_are_vec4(const RowViews& views, const Rows& rows, const RowPlan& plan, std::size_t k);
// True if x is a 16-bit input without a prologue, so that registers may hold words of two elements.
bool keeps_pairs(const RowViews& views);
// True if results are only rounded to bf16, without an epilogue.
bool rounds_only(const RowViews& views);
// True if columns are 16-bit, in and out, in groups of four and without prologue and epilogue (column_pairs.wgsl).
bool in_column_pairs(const RowViews& views, const RowPlanOptions& options);
// Names the call's operands, in the order of all(), for add_rows(); add_fusion() gives it the rest.
std::vector<std::string> add_views(Call& call, const RowViews& views, const Rows& rows, const RowPlan& plan);
void add_fusion(Call& call, const RowViews& views, const RowPlan& plan, const ElementWork& own);

// For split rows (split_rows.h) with that many words of statistics and `weights` additional operands.
SplitKind split_kind(const RowViews& views, int words, std::size_t weights = 0);

// How a kernel would read the rows of a dense tensor.
struct RowReading {
  bool fuses = true;          // prologue and epilogue do not slow it down
  bool reads_once = true;     // rows stay in registers: nothing is read or computed twice
  bool extra_outputs = true;  // the same with extra outputs
  bool scratch = false;       // it also binds the scratch of splits
};
// `capabilities`: null for the CPU.
RowReading row_reading(const gpu::Capabilities* capabilities, DType type, const Shape& shape, const AxisMask& along);

}  // namespace weft::kernels
