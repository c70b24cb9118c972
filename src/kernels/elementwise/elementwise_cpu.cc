// The CPU's elementwise kernels: blocks of the expression's registers, filled from rows.
#include <algorithm>
#include <format>
#include <vector>

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
  const int inputs = static_cast<int>(problem.inputs.size() + problem.virtuals.size());
  const int outputs = static_cast<int>(problem.outputs.size());
  // The expression's inputs, then its outputs: their memory, none for ramps; where the first element is in it, or what
  // a ramp begins with; and their strides.
  struct Port {
    std::byte* data;
    std::int64_t first;
    const Strides& strides;
  };
  std::vector<Port> ports;
  for (std::size_t k = 0; k < problem.inputs.size(); ++k) {
    const View& v = problem.inputs[k];
    ports.push_back({v.buffer.data() + v.offset, 0, problem.strides[k]});
  }
  for (std::size_t k = 0; k < problem.virtuals.size(); ++k) {
    const Virtual& v = problem.virtuals[k];
    const Strides& strides = problem.strides[problem.inputs.size() + problem.outputs.size() + k];
    if (std::ranges::all_of(strides, [](std::int64_t s) { return s == 0; })) {
      ports.push_back({const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&v.bits)), 0, strides});
    } else {
      ports.push_back({nullptr, static_cast<std::int64_t>(v.bits), strides});
    }
  }
  for (std::size_t k = 0; k < problem.outputs.size(); ++k) {
    const View& v = problem.outputs[k];
    ports.push_back({v.buffer.data() + v.offset, 0, problem.strides[problem.inputs.size() + k]});
  }

  const ElementBlocks blocks(problem.shape, CpuExpression::kBlock, kPiece);
  cpu::say_form([&] {
    const std::int64_t length = problem.shape.back();
    return std::pair(std::format("{}_{}", blocks.has_long_rows() ? "long_rows" : "short_rows", instruction_set_name()),
                     std::format("{} rows of {}", element_count(problem.shape) / length, length));
  });
  std::vector<std::vector<std::int64_t>> offsets;
  for (const Port& port : ports) offsets.push_back(blocks.offsets(port.strides));
  const std::int64_t grain = std::max<std::int64_t>(1, kPiece / blocks.size());
  parallel(executor, blocks.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    CpuExpression::Registers registers(expression);
    std::vector<CpuExpression::Row> row(inputs + outputs);
    for (int k = 0; k < inputs + outputs; ++k) {
      row[k] = {ports[k].data, 0, ports[k].strides.back(), offsets[k].empty() ? nullptr : offsets[k].data()};
    }
    // Where the elements of each input begin that the registers hold, and their number.
    std::vector<std::pair<std::int64_t, std::int64_t>> loaded(inputs, {0, 0});
    for (std::int64_t i = begin; i < end; ++i) {
      const ElementBlocks::Block block = blocks[i];
      for (int k = 0; k < inputs + outputs; ++k) row[k].first = ports[k].first + blocks.offset(block, ports[k].strides);
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
