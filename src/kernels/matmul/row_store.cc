#include "kernels/matmul/row_store.h"

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
  for (std::int64_t i = 0; i < rows; ++i) {
    inputs[0] = {static_cast<std::byte*>(const_cast<void*>(values)), i * pitch, 1};
    for (std::size_t k = 0; k < p.operands.size(); ++k) inputs[k + 1] = at(p.operands[k], row + i);
    output = at(p.y, row + i);
    expression_.evaluate(registers, inputs, std::span(&output, 1), cols);
  }
}

}  // namespace weft::kernels
