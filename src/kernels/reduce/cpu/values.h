// The values that a reduction takes, from memory and from the expression that computes them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/cpu_loops.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/reduce/reduce_cpu.h"

namespace weft::kernels {

// Loads strided elements of a view's type as values, of `size` bytes each.
struct ValueLoad {
  void (*run)(const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, void* values);
  std::size_t size;
};
// The load of values of T, and the store of one.
template <class T>
struct Access {
  ValueLoad load;
  void (*store)(std::byte* base, std::int64_t offset, T value);
  T least, largest;  // of the view's type
};
// Of elements of that type: floats are values of float or double, integers of the largest integer of their kind or of
// their own type, complex numbers of std::complex<double>. `truth`: 1 for what is not zero, of any type, as
// std::uint64_t, and of booleans also as std::uint8_t.
template <class T>
Access<T> access(DType type, bool truth);

// Calls f(first, count) for each run of [begin, end) in row-major order along the last dimension.
template <class F>
void for_each_run(const Shape& shape, std::int64_t begin, std::int64_t end, F&& f) {
  const std::int64_t width = shape.empty() ? 1 : shape.back();
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t count = std::min(end - i, width - i % width);
    f(i, count);
    i += count;
  }
}

// The values to reduce: adjacent elements of a row, or a block of several rows. For one thread.
class Feed {
 public:
  Feed(const ReduceProblem& problem, const ValueLoad& load, const std::optional<CpuExpression>& prologue);

  // Loads `n` values from element `step` of row `row` on, within the last dimension, and stores the extra outputs.
  void load(std::int64_t row, std::int64_t step, std::int64_t n, void* values);

  // Where elements at…at+n-1 after element `step` of a row are as in memory of their type; null if nowhere. Of an
  // expression's results at most a block, of which those before `at` are computed.
  const std::byte* in_place(std::int64_t row, std::int64_t step, std::int64_t at, std::int64_t n);

  // Loads a block of at most kBlock values: those of `rows` rows from `row` on at `steps` steps from `step` on, step by
  // step or row by row, and stores the extra outputs.
  void load_block_of(std::int64_t row, std::int64_t rows, std::int64_t step, std::int64_t steps, bool by_rows,
                     void* values);

 private:
  // Computes the expression of elements at…at+count-1 after element `step` of a row, of which those before `at` are
  // computed, and stores the extra outputs.
  void compute(std::int64_t row, std::int64_t step, std::int64_t at, int count);
  // The elements that the prologue computed last, where they are or in memory for a block.
  const std::byte* reduced(std::byte* made, int count) const;
  // Operand k's elements of a block.
  CpuExpression::Row elements(std::size_t k, std::byte* memory, std::int64_t row, std::int64_t rows, std::int64_t step,
                              std::int64_t steps, bool by_rows);
  std::pair<std::int64_t, std::int64_t> place(std::size_t k, std::int64_t row, std::int64_t step) const;
  std::byte* memory(std::size_t k) const { return problem_.inputs[k].buffer.data() + problem_.inputs[k].offset; }
  std::byte* value(void* values, std::int64_t i) const {
    return static_cast<std::byte*>(values) + static_cast<std::size_t>(i) * load_.size;
  }

  const ReduceProblem& problem_;
  const ValueLoad& load_;
  const std::optional<CpuExpression>& prologue_;
  std::optional<CpuExpression::Registers> registers_;
  std::array<std::int64_t, CpuExpression::kBlock> offsets_;  // of one operand
};

}  // namespace weft::kernels
