// An elementwise call on the CPU, with all made that does not depend on what is in memory.
#pragma once

#include <optional>
#include <vector>

#include "kernels/common/blocks_cpu.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/expression_cpu.h"

namespace weft::kernels {

class ElementwiseCpu {
 public:
  explicit ElementwiseCpu(const ElementwiseProblem& problem);
  ElementwiseCpu(const ElementwiseCpu&) = delete;
  ElementwiseCpu& operator=(const ElementwiseCpu&) = delete;

  // Computes on the memory that the buffers have now. One thread at a time.
  void run(cpu::Executor& executor);

 private:
  // An input or output of the expression: memory, a number, or a ramp, which begins at one.
  struct Port {
    Buffer buffer = {};
    std::uint64_t offset = 0;  // bytes
    std::uint64_t bits = 0;    // of the number
    bool ramp = false, number = false;
    Strides strides = {};
    std::vector<std::int64_t> offsets = {};  // ElementBlocks::offsets()
  };
  struct Worker {
    explicit Worker(const ElementwiseCpu& call);
    CpuExpression::Registers registers;
    std::vector<CpuExpression::Row> rows;
    std::vector<std::pair<std::int64_t, std::int64_t>> loaded;
  };
  static std::byte* memory(const Port& port);
  void compute(Worker& worker, std::int64_t begin, std::int64_t end) const;

  const CpuExpression expression_;
  const ElementBlocks blocks_;
  const std::size_t inputs_;
  const bool shares_bytes_;
  const std::int64_t length_, rows_count_;
  std::vector<Port> ports_;       // inputs first
  std::optional<Worker> worker_;  // of runs on one thread
};

}  // namespace weft::kernels
