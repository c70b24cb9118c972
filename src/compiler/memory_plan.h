// Places intermediates in memory. WebGPU forbids one buffer as read and as read_write in one dispatch, so there is no
// single arena: values are spread over a few buffers so that no step reads a buffer that it writes, except for a value
// that it computes in location.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::compiler {

// One intermediate, or a chain of them that replace each other in the same memory: `first` is the step that writes it,
// `last` the last step that reads it.
struct PlanItem {
  std::uint64_t bytes = 0;
  int first = 0, last = 0;
};

// The items that one step reads and writes; one in both lists is computed in location.
struct PlanStep {
  std::vector<int> reads, writes;
};

// Where an item is stored.
struct Location {
  int buffer = -1;
  std::uint64_t offset = 0;  // a multiple of kPlanAlignment
};

struct MemoryPlan {
  std::vector<Location> locations;     // of each item
  std::vector<std::uint64_t> buffers;  // sizes
  std::uint64_t bytes() const;
};

inline constexpr std::uint64_t kPlanAlignment = 256;

// Items alive at the same time never overlap, the buffer of what a step writes holds nothing else of that step, and no
// buffer is larger than `max_buffer`. Throws OutOfMemory if a single item is.
MemoryPlan plan_memory(std::span<const PlanItem> items, std::span<const PlanStep> steps, std::uint64_t max_buffer);

// The largest sum of items alive at once: a lower bound for every plan.
std::uint64_t liveness_bound(std::span<const PlanItem> items, std::size_t steps);

// The bytes of the items alive in each step; aligned_sizes: each rounded up to kPlanAlignment.
std::vector<std::uint64_t> live_bytes(std::span<const PlanItem> items, std::size_t steps, bool aligned_sizes = false);

}  // namespace weft::compiler
