// The CPU's elementwise kernels: blocks of the expression's registers, filled from rows.
#include "kernels/common/blocks_cpu.h"
#include "kernels/common/instruction_sets.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/expression_cpu.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kPiece = 16384;  // elements that are worth a task of their own

}  // namespace

void elementwise_cpu(cpu::Executor& all_cores, const ElementwiseProblem& problem) {
  // Packed elements share bytes with those of other rows and pieces, unless all rows start at a byte.
  cpu::Executor one_core(1);
  const auto shares_bytes = [&](std::size_t k) {
    const int bits = weft::bits(problem.outputs[k].dtype);
    const Strides& strides = problem.strides[problem.inputs.size() + k];
    const auto whole_bytes = [&](std::int64_t stride) { return stride * bits % 8 == 0; };
    return bits < 8 && (strides.back() != 1 || !std::all_of(strides.begin(), strides.end() - 1, whole_bytes));
  };
  bool packed = false;
  for (std::size_t k = 0; k < problem.outputs.size(); ++k) packed |= shares_bytes(k);
  cpu::Executor& executor = packed ? one_core : all_cores;
  const CpuExpression expression(problem.expression);
  const int inputs = static_cast<int>(problem.inputs.size());
  const int outputs = static_cast<int>(problem.outputs.size());
  auto memory = [&](int k) {
    const View& v = k < inputs ? problem.inputs[k] : problem.outputs[k - inputs];
    return v.buffer.data() + v.offset;
  };

  const ElementBlocks blocks(problem.shape, CpuExpression::kBlock, kPiece);
  cpu::say_form([&] {
    const std::int64_t length = problem.shape.back();
    return std::pair(std::format("{}_{}", blocks.has_long_rows() ? "long_rows" : "short_rows", instruction_set_name()),
                     std::format("{} rows of {}", element_count(problem.shape) / length, length));
  });
  std::vector<std::vector<std::int64_t>> offsets;
  for (int k = 0; k < inputs + outputs; ++k) offsets.push_back(blocks.offsets(problem.strides[k]));
  const std::int64_t grain = std::max<std::int64_t>(1, kPiece / blocks.size());
  parallel(executor, blocks.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    CpuExpression::Registers registers(expression);
    std::vector<CpuExpression::Row> row(inputs + outputs);
    for (int k = 0; k < inputs + outputs; ++k) {
      row[k] = {memory(k), 0, problem.strides[k].back(), offsets[k].empty() ? nullptr : offsets[k].data()};
    }
    // Where the elements of each input begin that the registers hold, and their number.
    std::vector<std::pair<std::int64_t, std::int64_t>> loaded(inputs, {0, 0});
    for (std::int64_t i = begin; i < end; ++i) {
      const ElementBlocks::Block block = blocks[i];
      for (int k = 0; k < inputs + outputs; ++k) row[k].first = blocks.offset(block, problem.strides[k]);
      if (blocks.has_long_rows()) {
        expression.evaluate(registers, std::span(row).first(inputs), std::span(row).last(outputs), block.count);
        continue;
      }
      const int n = static_cast<int>(block.count);
      for (int k = 0; k < inputs; ++k) {
        if (loaded[k].first == row[k].first && loaded[k].second >= n) continue;
        expression.load(registers, k, row[k], 0, n);
        loaded[k] = {row[k].first, n};
      }
      expression.run(registers, n);
      for (int k = 0; k < outputs; ++k) expression.store(registers, k, row[inputs + k], 0, n);
    }
  });
}

}  // namespace weft::kernels
