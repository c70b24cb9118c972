#include "kernels/reduce/cpu/values.h"

#include <algorithm>

#include "kernels/common/rows_cpu.h"

namespace weft::kernels {

Feed::Feed(const ReduceProblem& problem, const ValueLoad& load, const std::optional<CpuExpression>& prologue)
    : problem_(problem), load_(load), prologue_(prologue) {
  if (prologue) registers_.emplace(*prologue);
}

void Feed::load(std::int64_t row, std::int64_t step, std::int64_t n, void* values) {
  if (!prologue_) {
    const auto [offset, stride] = place(0, row, step);
    return load_.run(memory(0), offset, stride, n, values);
  }
  alignas(64) std::byte made[CpuExpression::kBlock * 8];
  for (std::int64_t at = 0; at < n; at += CpuExpression::kBlock) {
    const int count = static_cast<int>(std::min<std::int64_t>(CpuExpression::kBlock, n - at));
    compute(row, step, at, count);
    load_.run(reduced(made, count), 0, 1, count, value(values, at));
  }
}

const std::byte* Feed::in_place(std::int64_t row, std::int64_t step, std::int64_t at, std::int64_t n) {
  if (!prologue_) {
    const auto [offset, stride] = place(0, row, step);
    return stride == 1 ? memory(0) + (offset + at) * bits(problem_.inputs[0].dtype) / 8 : nullptr;
  }
  const int last = prologue_->output_count() - 1;
  if (!prologue_->has_result(last)) return nullptr;
  compute(row, step, at, static_cast<int>(n));
  return prologue_->result(*registers_, last);
}

void Feed::load_block_of(std::int64_t row, std::int64_t rows, std::int64_t step, std::int64_t steps, bool by_rows,
                         void* values) {
  const int n = static_cast<int>(rows * steps);
  if (!prologue_) {
    const CpuExpression::Row from = elements(0, memory(0), row, rows, step, steps, by_rows);
    if (!from.offsets) return load_.run(from.data, from.first, from.stride, n, values);
    for (int i = 0; i < n; ++i) load_.run(from.data, from.offsets[i], 0, 1, value(values, i));
    return;
  }
  alignas(64) std::byte made[CpuExpression::kBlock * 8];
  for (std::size_t k = 0; k < problem_.inputs.size(); ++k) {
    prologue_->load(*registers_, static_cast<int>(k), elements(k, memory(k), row, rows, step, steps, by_rows), 0, n);
  }
  prologue_->run(*registers_, n);
  for (std::size_t k = 0; k < problem_.extra_outputs.size(); ++k) {
    const View& v = problem_.extra_outputs[k];
    prologue_->store(
        *registers_, static_cast<int>(k) + 1,
        elements(problem_.extra_outputs_index() + k, v.buffer.data() + v.offset, row, rows, step, steps, by_rows), 0,
        n);
  }
  load_.run(reduced(made, n), 0, 1, n, values);
}

void Feed::compute(std::int64_t row, std::int64_t step, std::int64_t at, int count) {
  for (std::size_t k = 0; k < problem_.inputs.size(); ++k) {
    const auto [offset, stride] = place(k, row, step);
    if (at > 0 && stride == 0) continue;  // what repeats is there from the first block
    prologue_->load(*registers_, static_cast<int>(k), {memory(k), offset, stride}, at, count);
  }
  prologue_->run(*registers_, count);
  for (std::size_t k = 0; k < problem_.extra_outputs.size(); ++k) {
    const auto [offset, stride] = place(problem_.extra_outputs_index() + k, row, step);
    const View& v = problem_.extra_outputs[k];
    prologue_->store(*registers_, static_cast<int>(k) + 1, 0, v.buffer.data() + v.offset, offset + at * stride, stride,
                     count);
  }
}

const std::byte* Feed::reduced(std::byte* made, int count) const {
  const int last = prologue_->output_count() - 1;
  if (const std::byte* const there = prologue_->result(*registers_, last)) return there;
  prologue_->store(*registers_, last, 0, made, 0, 1, count);
  return made;
}

CpuExpression::Row Feed::elements(std::size_t k, std::byte* memory, std::int64_t row, std::int64_t rows,
                                  std::int64_t step, std::int64_t steps, bool by_rows) {
  const Collapsed &outer = problem_.rows.outer, &inner = problem_.rows.inner;
  // The stride of elements that are in one run of the last axis; a stride of fewer than two does not matter.
  const auto in_run = [](const Collapsed& dims, std::int64_t first, std::int64_t count) {
    return count == 1 || first % dims.shape.back() + count <= dims.shape.back();
  };
  const auto stride_of = [k](const Collapsed& dims) { return dims.shape.empty() ? 0 : dims.strides[k].back(); };
  const std::int64_t of_rows = stride_of(outer), of_steps = stride_of(inner);
  const bool even = in_run(outer, row, rows) && in_run(inner, step, steps) &&
                    (rows == 1 || steps == 1 || (by_rows ? of_rows == steps * of_steps : of_steps == rows * of_rows));
  if (even) {
    const std::int64_t first =
        offset_of({outer.shape, outer.strides[k]}, row) + offset_of({inner.shape, inner.strides[k]}, step);
    return {memory, first, rows == 1 || (by_rows && steps > 1) ? of_steps : of_rows};
  }
  std::int64_t row_offsets[CpuExpression::kBlock], step_offsets[CpuExpression::kBlock];
  offsets_of({outer.shape, outer.strides[k]}, row, rows, row_offsets);
  offsets_of({inner.shape, inner.strides[k]}, step, steps, step_offsets);
  std::int64_t* next = offsets_.data();
  if (by_rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < steps; ++j) *next++ = row_offsets[r] + step_offsets[j];
    }
  } else {
    for (std::int64_t j = 0; j < steps; ++j) {
      for (std::int64_t r = 0; r < rows; ++r) *next++ = row_offsets[r] + step_offsets[j];
    }
  }
  return {memory, 0, 0, offsets_.data()};
}

std::pair<std::int64_t, std::int64_t> Feed::place(std::size_t k, std::int64_t row, std::int64_t step) const {
  const Rows& rows = problem_.rows;
  return {offset_of({rows.outer.shape, rows.outer.strides[k]}, row) +
              offset_of({rows.inner.shape, rows.inner.strides[k]}, step),
          rows.inner.shape.empty() ? 0 : rows.inner.strides[k].back()};
}

}  // namespace weft::kernels
