// Shared by sort, top-k and the CPU's kernel.
#pragma once

#include <optional>

#include "cpu/executor.h"
#include "kernels/common/ordered_key.h"

namespace weft::kernels {

// Rows of x, of which the first `keep` elements in the order of their keys are requested.
struct SortProblem {
  View x;  // as unsigned bits, like `values`
  std::optional<View> values, indices;
  KeyRule rule;
  Collapsed outer;                      // all axes but one; strides of x, values, indices; zeros for absent ones
  std::array<std::int64_t, 3> steps{};  // their strides along that axis
  std::int64_t rows = 1, length = 1, keep = 1;
  // For a row that is part of a longer one: the indices of its elements there, consecutive from `first_place` on, or as
  // `given_places` lists them.
  std::int64_t first_place = 0;
  std::optional<View> given_places;
  bool in_place = false;  // x is `values`
};

// Rows of up to kShortRow elements are sorted in workgroup memory; the top of a longer row is selected if it has at
// most kFewest elements.
inline constexpr std::int64_t kShortRow = 1024, kFewest = 256;

// The size of a list in scratch, rounded up so that the next one is aligned as a binding.
constexpr std::uint64_t list_size(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// For each algorithm: the bytes of scratch that it needs, and the call.
std::uint64_t radix_scratch(const gpu::Capabilities& capabilities, const SortProblem& problem);
void radix_sort(gpu::Commands& commands, const SortProblem& problem, const View& scratch);
std::uint64_t select_scratch(const gpu::Capabilities& capabilities, const SortProblem& problem);
void select_top(gpu::Commands& commands, const SortProblem& problem, const View& scratch);
void sort_short(gpu::Commands& commands, const SortProblem& problem);

void sort_cpu(cpu::Executor& executor, const SortProblem& problem);

// Adds x and the outputs if the call needs them: operands, strides over `iterate`, steps, and the template variables
// has_values, has_indices, long_indices.
void add_input(Call& call, const SortProblem& problem);
void add_outputs(Call& call, const SortProblem& problem, bool wanted = true);

}  // namespace weft::kernels
