#include "kernels/reduce/reduce_cpu.h"

#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/reduce/cpu/forms.h"
#include "kernels/reduce/cpu/values.h"

namespace weft::kernels {

void store_by_epilogue(const ReduceProblem& problem, const std::vector<float>& results) {
  const CpuExpression epilogue(*problem.epilogue);
  CpuExpression::Registers registers(epilogue);
  const Collapsed& outer = problem.rows.outer;
  const auto memory = [](const View& v) { return v.buffer.data() + v.offset; };
  for_each_run(outer.shape, 0, problem.rows.count, [&](std::int64_t run, std::int64_t length) {
    for (std::int64_t row = run; row < run + length; row += CpuExpression::kBlock) {
      const int n = static_cast<int>(std::min<std::int64_t>(CpuExpression::kBlock, run + length - row));
      const auto place = [&](std::size_t k) {
        return std::pair(offset_of({outer.shape, outer.strides[k]}, row),
                         outer.shape.empty() ? 0 : outer.strides[k].back());
      };
      epilogue.load(registers, 0, 0, reinterpret_cast<const std::byte*>(results.data()), row, 1, n);
      for (std::size_t k = 0; k < problem.operands.size(); ++k) {
        const auto [offset, stride] = place(problem.y_index() + 1 + k);
        epilogue.load(registers, static_cast<int>(k) + 1, 0, memory(problem.operands[k]), offset, stride, n);
      }
      epilogue.run(registers, n);
      const auto [offset, stride] = place(problem.y_index());
      epilogue.store(registers, 0, 0, memory(problem.y), offset, stride, n);
    }
  });
}

void reduce_cpu(cpu::Executor& executor, const ReduceProblem& problem) {
  switch (problem.op) {
    case ReduceKind::min:
    case ReduceKind::max:
    case ReduceKind::any:
    case ReduceKind::all:
      return reduce_extremes(executor, problem);
    case ReduceKind::log_sum_exp:
    case ReduceKind::variance:
    case ReduceKind::deviation:
      return reduce_moments(executor, problem);
    default:
      return reduce_sums(executor, problem);
  }
}

}  // namespace weft::kernels
