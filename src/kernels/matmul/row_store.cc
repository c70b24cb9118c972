#include "kernels/matmul/row_store.h"

#include <algorithm>

namespace weft::kernels {
namespace {

// The expression without an epilogue: a conversion to y's type.
Expression conversion(DType from, DType to) {
  Expression e;
  const int v = e.input(from);
  e.output(to == from ? v : e.cast(v, to));
  return e;
}

}  // namespace

std::int64_t batch_offset(const View& view, const Shape& batch, std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = batch.rank() - 1; d >= 0; --d) {
    offset += index % batch[d] * view.strides()[d];
    index /= batch[d];
  }
  return offset;
}

RowStore::RowStore(const MatmulProblem& problem, const Expression* expression)
    : problem_(problem), expression_(expression ? *expression : conversion(problem.sum_type(), problem.y.dtype)) {}

void RowStore::rows(const void* values, std::int64_t pitch, std::int64_t batch, std::int64_t row, std::int64_t rows,
                    std::int64_t col, std::int64_t cols) const {
  const MatmulProblem& p = problem_;
  CpuExpression::Registers registers(expression_);
  std::vector<CpuExpression::Row> inputs(p.operands.size() + 1);
  CpuExpression::Row output;
  const auto at = [&](const View& view, std::int64_t i) {
    return CpuExpression::Row{view.buffer.data() + view.offset,
                              batch_offset(view, p.batch, batch) + i * view.strides()[-2] + col * view.strides()[-1],
                              view.strides()[-1]};
  };
  // Short rows share a block, so that each operation takes many elements at a time.
  if (2 * cols <= CpuExpression::kBlock && rows > 1 && cols > 0) {
    const std::int64_t most = CpuExpression::kBlock / cols;
    const int length = static_cast<int>(cols);
    const bool adjacent = p.y.strides()[-1] == 1 && p.y.strides()[-2] == cols;
    for (std::int64_t i = 0; i < rows; i += most) {
      const std::int64_t count = std::min(most, rows - i);
      for (std::int64_t r = 0; r < count; ++r) {
        const int to = static_cast<int>(r) * length;
        expression_.load(registers, 0, to, static_cast<const std::byte*>(values), (i + r) * pitch, 1, length);
        for (std::size_t k = 0; k < p.operands.size(); ++k) {
          const CpuExpression::Row from = at(p.operands[k], row + i + r);
          expression_.load(registers, static_cast<int>(k) + 1, to, from.data, from.first, from.stride, length);
        }
      }
      expression_.run(registers, static_cast<int>(count) * length);
      for (std::int64_t r = 0; r < count; r += adjacent ? count : 1) {
        output = at(p.y, row + i + r);
        expression_.store(registers, 0, static_cast<int>(r) * length, output.data, output.first, output.stride,
                          adjacent ? static_cast<int>(count) * length : length);
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    inputs[0] = {static_cast<std::byte*>(const_cast<void*>(values)), i * pitch, 1};
    for (std::size_t k = 0; k < p.operands.size(); ++k) inputs[k + 1] = at(p.operands[k], row + i);
    output = at(p.y, row + i);
    expression_.evaluate(registers, inputs, std::span(&output, 1), cols);
  }
}

}  // namespace weft::kernels
