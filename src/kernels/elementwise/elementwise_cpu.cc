// The CPU's elementwise kernels: blocks of the expression's registers, filled from rows.
#include "kernels/elementwise/elementwise.h"
#include "kernels/common/instruction_sets.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/cpu_loops.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kPiece = 16384;  // elements that are worth a task of their own

// Offsets of a row's first element in each operand.
using Offsets = std::vector<std::int64_t>;

class Rows {
 public:
  explicit Rows(const ElementwiseProblem& problem)
      : problem_(problem), index_(Dims::filled(problem.shape.rank() - 1, 0)), offsets_(problem.strides.size(), 0) {}

  const Offsets& offsets() const { return offsets_; }

  void go_to(std::int64_t row) {
    std::ranges::fill(offsets_, 0);
    for (int d = index_.rank() - 1; d >= 0; --d) {
      index_[d] = row % problem_.shape[d];
      row /= problem_.shape[d];
      for (std::size_t k = 0; k < offsets_.size(); ++k) offsets_[k] += index_[d] * problem_.strides[k][d];
    }
  }
  void next() {
    for (int d = index_.rank() - 1; d >= 0; --d) {
      const bool wraps = ++index_[d] == problem_.shape[d];
      const std::int64_t step = wraps ? 1 - problem_.shape[d] : 1;
      for (std::size_t k = 0; k < offsets_.size(); ++k) offsets_[k] += step * problem_.strides[k][d];
      if (!wraps) return;
      index_[d] = 0;
    }
  }

 private:
  const ElementwiseProblem& problem_;
  Dims index_;
  Offsets offsets_;
};

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
  const std::int64_t length = problem.shape.back();
  const std::int64_t rows = element_count(problem.shape) / length;
  auto memory = [&](int k) {
    const View& v = k < inputs ? problem.inputs[k] : problem.outputs[k - inputs];
    return v.buffer.data() + v.offset;
  };

  cpu::say_form([&] {
    const char* const form = length >= CpuExpression::kBlock / 4 ? "long_rows" : "short_rows";
    return std::pair(std::format("{}_{}", form, instruction_set_name()), std::format("{} rows of {}", rows, length));
  });
  if (length >= CpuExpression::kBlock / 4) {
    // Long rows: each is evaluated in pieces.
    const std::int64_t pieces = (length + kPiece - 1) / kPiece;
    parallel(executor, rows * pieces, std::max<std::int64_t>(1, kPiece / length),
             [&](std::int64_t begin, std::int64_t end) {
               CpuExpression::Registers registers(expression);
               std::vector<CpuExpression::Row> row(inputs + outputs);
               Rows walk(problem);
               for (std::int64_t i = begin; i < end; ++i) {
                 walk.go_to(i / pieces);
                 const std::int64_t first = i % pieces * kPiece;
                 for (int k = 0; k < inputs + outputs; ++k) {
                   const std::int64_t stride = problem.strides[k].back();
                   row[k] = {memory(k), walk.offsets()[k] + first * stride, stride};
                 }
                 expression.evaluate(registers, std::span(row).first(inputs), std::span(row).last(outputs),
                                     std::min(kPiece, length - first));
               }
             });
    return;
  }
  // Short rows: as many as fit in a block.
  const std::int64_t block_rows = CpuExpression::kBlock / length;
  const int n = static_cast<int>(length);
  parallel(executor, rows, std::max<std::int64_t>(1, kPiece / length), [&](std::int64_t begin, std::int64_t end) {
    CpuExpression::Registers registers(expression);
    Rows load(problem);
    load.go_to(begin);
    Rows store = load;
    for (std::int64_t first = begin; first < end; first += block_rows) {
      const int count = static_cast<int>(std::min(block_rows, end - first));
      for (int r = 0; r < count; ++r, load.next()) {
        for (int k = 0; k < inputs; ++k) {
          expression.load(registers, k, r * n, memory(k), load.offsets()[k], problem.strides[k].back(), n);
        }
      }
      expression.run(registers, count * n);
      for (int r = 0; r < count; ++r, store.next()) {
        for (int k = 0; k < outputs; ++k) {
          expression.store(registers, k, r * n, memory(inputs + k), store.offsets()[inputs + k],
                           problem.strides[inputs + k].back(), n);
        }
      }
    }
  });
}

}  // namespace weft::kernels
