// The CPU's elementwise kernels: blocks of the expression's registers, filled from rows.
#include "kernels/elementwise/elementwise_cpu.h"

#include <algorithm>
#include <format>

#include "kernels/common/instruction_sets.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kPiece = 16384;  // elements that are worth a task of their own

// Packed elements share bytes with those of other rows and pieces, unless all rows start at a byte.
bool shares_bytes(const ElementwiseProblem& problem) {
  for (std::size_t k = 0; k < problem.outputs.size(); ++k) {
    const int bits = weft::bits(problem.outputs[k].dtype);
    const Strides& strides = problem.strides[problem.inputs.size() + k];
    const auto whole_bytes = [&](std::int64_t stride) { return stride * bits % 8 == 0; };
    if (bits < 8 && (strides.back() != 1 || !std::all_of(strides.begin(), strides.end() - 1, whole_bytes))) return true;
  }
  return false;
}

}  // namespace

ElementwiseCpu::ElementwiseCpu(const ElementwiseProblem& problem)
    : expression_(problem.expression),
      blocks_(problem.shape, CpuExpression::kBlock, kPiece),
      inputs_(problem.inputs.size() + problem.virtuals.size()),
      shares_bytes_(shares_bytes(problem)),
      length_(problem.shape.back()),
      rows_count_(element_count(problem.shape) / length_) {
  const auto add = [&](Port port, const Strides& strides) {
    port.strides = strides;
    port.offsets = blocks_.offsets(strides);
    ports_.push_back(std::move(port));
  };
  ports_.reserve(inputs_ + problem.outputs.size());
  for (std::size_t k = 0; k < problem.inputs.size(); ++k) {
    add({.buffer = problem.inputs[k].buffer, .offset = problem.inputs[k].offset}, problem.strides[k]);
  }
  for (std::size_t k = 0; k < problem.virtuals.size(); ++k) {
    const Virtual& v = problem.virtuals[k];
    const Strides& strides = problem.strides[problem.inputs.size() + problem.outputs.size() + k];
    const bool grows = std::ranges::any_of(strides, [](std::int64_t s) { return s != 0; });
    add({.bits = v.bits, .ramp = grows, .number = !grows}, strides);
  }
  for (std::size_t k = 0; k < problem.outputs.size(); ++k) {
    const View& v = problem.outputs[k];
    add({.buffer = v.buffer, .offset = v.offset}, problem.strides[problem.inputs.size() + k]);
  }
}

std::byte* ElementwiseCpu::memory(const Port& port) {
  if (port.ramp) return nullptr;
  if (port.number) return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&port.bits));
  return port.buffer.data() + port.offset;
}

// A thread's registers and rows, which a prepared call keeps for its next run.
ElementwiseCpu::Worker::Worker(const ElementwiseCpu& call)
    : registers(call.expression_), rows(call.ports_.size()), loaded(call.inputs_, {0, 0}) {
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Port& port = call.ports_[k];
    rows[k] = {nullptr, 0, port.strides.back(), port.offsets.empty() ? nullptr : port.offsets.data()};
  }
}

void ElementwiseCpu::compute(Worker& worker, std::int64_t begin, std::int64_t end) const {
  std::vector<CpuExpression::Row>& rows = worker.rows;
  const auto inputs = std::span(rows).first(inputs_), outputs = std::span(rows).subspan(inputs_);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k].data = memory(ports_[k]);
  std::ranges::fill(worker.loaded, std::pair<std::int64_t, std::int64_t>(0, 0));
  for (std::int64_t i = begin; i < end; ++i) {
    const ElementBlocks::Block block = blocks_[i];
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const Port& port = ports_[k];
      rows[k].first = (port.ramp ? static_cast<std::int64_t>(port.bits) : 0) + blocks_.offset(block, port.strides);
    }
    if (blocks_.has_long_rows()) {
      expression_.evaluate(worker.registers, inputs, outputs, block.count);
      continue;
    }
    const int n = static_cast<int>(block.count);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      auto& [first, count] = worker.loaded[k];  // the elements that the registers hold
      if (first == inputs[k].first && count >= n) continue;
      expression_.load(worker.registers, static_cast<int>(k), inputs[k], 0, n);
      worker.loaded[k] = {inputs[k].first, n};
    }
    expression_.run(worker.registers, n);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      expression_.store(worker.registers, static_cast<int>(k), outputs[k], 0, n);
    }
  }
}

void ElementwiseCpu::run(cpu::Executor& all_cores) {
  cpu::Executor one_core(1);
  cpu::Executor& executor = shares_bytes_ ? one_core : all_cores;
  cpu::say_form([&] {
    return std::pair(std::format("{}_{}", blocks_.has_long_rows() ? "long_rows" : "short_rows", instruction_set_name()),
                     std::format("{} rows of {}", rows_count_, length_));
  });
  const std::int64_t count = blocks_.count();
  parallel(executor, count, std::max<std::int64_t>(1, kPiece / blocks_.size()),
           [&](std::int64_t begin, std::int64_t end) {
             if (end - begin < count) {
               Worker worker(*this);
               return compute(worker, begin, end);
             }
             if (!worker_) worker_.emplace(*this);
             compute(*worker_, begin, end);
           });
}

void elementwise_cpu(cpu::Executor& executor, const ElementwiseProblem& problem) {
  ElementwiseCpu(problem).run(executor);
}

}  // namespace weft::kernels
