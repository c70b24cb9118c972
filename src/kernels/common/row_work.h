// What a kernel of rows reads and stores, with elementwise work around it (weft/kernels/row_work.h). The WGSL half is
// common/row_work.wgsl, the CPU's common/row_work_cpu.h.
#pragma once

#include <optional>
#include <vector>

#include "kernels/common/element_work.h"
#include "kernels/common/memory.h"
#include "kernels/common/row_parts.h"
#include "weft/kernels/row_work.h"
#include "weft/stream.h"

namespace weft::kernels {

// All views have one shape.
struct RowViews {
  std::vector<View> inputs;    // of `before`; without it x
  std::vector<View> operands;  // of `after`
  std::vector<View> results;   // of `after`; without it y
  std::vector<View> beside;    // the further results of `before`
  const Expression* before = nullptr;
  const Expression* after = nullptr;

  const Shape& shape() const { return results[0].shape(); }
  DType x_type() const { return before ? before->output_type(0) : inputs[0].dtype; }
  DType result_type() const;  // of y, or of what `after` takes for it
  bool has_work() const { return before || after; }
  bool computes_in_f64() const;
  // In the order above, in which their strides stand in Rows; and the same with others in their place.
  std::vector<View> all() const;
  RowViews with(std::span<const View> views) const;
};
// Throw InvalidArgument, in the name of `kernel`, unless shapes and types fit.
RowViews row_views(std::string_view kernel, const View& x, const View& y);
RowViews row_views(std::string_view kernel, std::span<const View> inputs, std::span<const View> outputs,
                   const RowWork& work);
// check_memory() of them and of the kernel's weights.
void check_memory(Stream& stream, std::string_view kernel, const RowViews& views, const Operands& scale,
                  const Operands& bias);
// Throws Unsupported if one of them is f64, which GPUs do not have.
void refuse_f64(std::string_view kernel, const RowViews& views);

RowPlanOptions plan_options(const RowViews& views, const Rows& rows);
// Whether the plan's steps of view k (in the order of all()) are fours of memory.
bool steps_in_fours(const RowViews& views, const Rows& rows, const RowPlan& plan, std::size_t k);
// Whether x is an input of 16 bits as it is, so that rows may be kept as words of two elements.
bool keeps_words(const RowViews& views);
// Whether results are rounded to bf16, and nothing else becomes of them.
bool rounds_only(const RowViews& views);
// Whether columns go from words of 16 bits to such, in fours and with no work around them (column_words.wgsl).
bool in_column_words(const RowViews& views, const RowPlanOptions& options);
// Names the call's operands, in the order of all(), for add_rows(); add_work() gives it the rest.
std::vector<std::string> add_views(Call& call, const RowViews& views, const Rows& rows, const RowPlan& plan);
void add_work(Call& call, const RowViews& views, const RowPlan& plan, const ElementWork& own);

// For rows in parts (row_parts.h), with so many words of statistics and `weights` operands more.
PartKind part_kind(const RowViews& views, int words, std::size_t weights = 0);

// How a kernel would go through the rows of a dense tensor.
struct RowReading {
  bool around = true;    // with work around it, it goes as fast as without
  bool once = true;      // rows are kept, so that nothing is read or computed twice
  bool beside = true;    // also if further results of the work before it are stored
  bool scratch = false;  // it binds what parts tell each other, too
};
// `capabilities`: null for the CPU.
RowReading row_reading(const gpu::Capabilities* capabilities, DType type, const Shape& shape, const AxisMask& along);

}  // namespace weft::kernels
