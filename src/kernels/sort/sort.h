// What sort and top-k share with each other and their twin.
#pragma once

#include <optional>

#include "kernels/common/ordered_key.h"
#include "weft/cpu.h"

namespace weft::kernels {

// Rows of x, of which the first `keep` elements in the order of their keys are wanted.
struct SortProblem {
  View x;                              // raw, as `values` is
  std::optional<View> values, indices;
  KeyRule rule;
  Collapsed outer;                     // all axes but one; strides of x, values, indices, zeros for what is left out
  std::array<std::int64_t, 3> steps{};  // theirs along that axis
  std::int64_t rows = 1, length = 1, keep = 1;
  // Of one row, which is a part of a longer one: where its elements stood in that, one after another from `first_place`
  // on, or as a list says.
  std::int64_t first_place = 0;
  std::optional<View> given_places;
  bool in_place = false;               // x is `values`
};

// Rows of up to this many elements are sorted in workgroup memory, and as many at most of a longer row are its top.
inline constexpr std::int64_t kShortRow = 1024, kFewest = 256;

// What a list in scratch takes, so that the next one is aligned, as a binding too.
constexpr std::uint64_t list_size(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// Each: the bytes of scratch it needs, and the call.
std::uint64_t radix_scratch(const gpu::Capabilities& capabilities, const SortProblem& problem);
void radix_sort(gpu::Commands& commands, const SortProblem& problem, const View& scratch);
std::uint64_t select_scratch(const gpu::Capabilities& capabilities, const SortProblem& problem);
void select_top(gpu::Commands& commands, const SortProblem& problem, const View& scratch);
void sort_short(gpu::Commands& commands, const SortProblem& problem);

void sort_cpu(cpu::Executor& executor, const SortProblem& problem);

// Adds x and the outputs as far as the call needs them: operands, strides over `iterate`, steps, template variables
// has_values, has_indices, long_indices.
void add_input(Call& call, const SortProblem& problem);
void add_outputs(Call& call, const SortProblem& problem, bool wanted = true);

}  // namespace weft::kernels
